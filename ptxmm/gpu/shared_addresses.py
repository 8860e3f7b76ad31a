"""Where addresses of shared memory go in a test. On a GPU they are other numbers than the model has, and only the thread knows
which: a state that lists one says nothing, and is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from litmus.test import TYPE_WIDTHS, AddressOf, LocationTerm, RegisterTerm, Test
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail
from ptxcore.syntax.tree import Address, Bracket, Instruction, Name, Operand, Pair, Vector
from ptxmm.gpu.conditions import ConditionTerm, comparisons

#: What a register with an address has at least.
_BITS = 32
#: Stands for all of memory, and for what threads bring to each other.
_MEMORY = ("", "")
#: Answers that are the same whatever number an address is: the space that it is in, and the rank of a CTA.
_NO_ADDRESS = frozenset(("isspacep", "getctarank"))
#: What brings values from one thread to another without memory.
_BRINGING = frozenset(("shfl", "redux"))
#: A register by its thread and its name.
SharedName = tuple[str, str]


def refuse_shared_addresses(test: Test, observed: Sequence[tuple[ConditionTerm, int]]) -> None:
    """Raises InputError where a state lists what may hold an address of shared memory, or a condition speaks of one.
    `observed`: what states list, and its bits."""
    shared = {l.name for l in test.locations if l.space == "shared"}
    for compared in comparisons(test):
        if isinstance(compared.right, AddressOf) and compared.right.location in shared:
            line = test.condition.line or 1
            raise fail(
                Span(line, 1, 2), f"the address of '{compared.right.location}' is compared, which lies in shared memory"
            )
    if not shared:
        return
    holding = _holding(test, shared)
    spans = {thread.name: thread.span for thread in test.threads}
    found = []
    for term, width in observed:
        if width < _BITS:
            continue
        if isinstance(term, RegisterTerm) and (term.thread, term.register.lstrip("%")) in holding:
            what, where = f"register '{term.register}' of {term.thread}", spans[term.thread]
        elif isinstance(term, LocationTerm) and _MEMORY in holding and _may_hold(test, term.location):
            what, where = f"'{term}'", next(l.span for l in test.locations if l.name == term.location)
        else:
            continue
        message = f"states list {what}, which may hold an address of shared memory: on a GPU that is another number"
        found.append(Diagnostic(where, message))
    if found:
        raise InputError(found, test.path, test.text)


def _may_hold(test: Test, location: str) -> bool:
    return any(l.name == location and TYPE_WIDTHS[l.type] >= _BITS for l in test.locations)


def _holding(test: Test, shared: set[str]) -> set[SharedName]:
    """The registers, and memory, that may hold an address of shared memory: by their first values, by what instructions name
    such a location as a value, and by what comes of these. Whatever a load reads may be what anybody stored."""
    found: set[SharedName] = {
        (thread.name, name.lstrip("%"))
        for thread in test.threads
        for name, value in thread.registers
        if isinstance(value, AddressOf) and value.location in shared
    }
    if any(isinstance(v, AddressOf) and v.location in shared for l in test.locations for v in l.initial):
        found.add(_MEMORY)
    while True:
        new = set(_gets(test, shared, found)) - found
        if not new:
            return found
        found |= new


def _gets(test: Test, shared: set[str], holding: set[SharedName]) -> Iterator[SharedName]:
    for thread in test.threads:
        for s in thread.statements:
            if not isinstance(s, Instruction) or s.opcode in _NO_ADDRESS:
                continue
            written, sources = _parts(s)
            takes = any(name in shared or (thread.name, name) in holding for name in sources)
            accesses = s.opcode in _BRINGING or any(isinstance(o, Address) and o.bracketed for o in s.operands)
            if takes or (accesses and _MEMORY in holding):
                yield from ((thread.name, name) for name in written)
            if takes and accesses:
                yield _MEMORY


def _parts(s: Instruction) -> tuple[list[str], list[str]]:
    """The registers that an instruction may write, and the names whose values it takes. An address that it accesses memory by
    is none of these."""
    first, *rest = s.operands or (None,)
    if first is None:
        return [], []
    written = [] if isinstance(first, Address) and first.bracketed else list(_values(first))
    return written, [name for operand in (s.operands if not written else rest) for name in _values(operand)]


def _values(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Name):
        yield operand.name.lstrip("%")
    elif isinstance(operand, Address) and not operand.bracketed:
        yield from _values(operand.base)
    elif isinstance(operand, Vector | Bracket):
        for element in operand.elements:
            yield from _values(element)
    elif isinstance(operand, Pair):
        yield from _values(operand.first)
        yield from _values(operand.second)
