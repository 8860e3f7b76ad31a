"""What the threads of a warp compute together: what an instruction's results look like, and what they are once it is known
who takes part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxcore.isa.data_movement import Lanes
from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value, concat, extract, symbol, symbols_of

#: The first part of the names of values that nothing says anything of: what `shfl` finds in a lane that is not there.
UNDETERMINED = "undetermined"


def name_of(instruction: Instruction) -> str:
    """An instruction with its qualifiers."""
    return ".".join((instruction.opcode, *instruction.modifiers))


def undetermined(lane: int, instruction: Instruction, result: Term) -> Term:
    """Such a value: what a lane finds where an instruction returns `result`. Its name has the lane and the instruction in
    it."""
    return symbol((UNDETERMINED, lane, name_of(instruction), result.args[0]), 32)


def mask_position(how: Use) -> int | None:
    """Which source of a collective instruction is the member mask; None where it has none."""
    if not how.form.mask:
        return None
    sources = [p for p in how.parameters if p.role != "destination"]
    return next(i for i, p in enumerate(sources) if p.name == how.form.mask)


def result_widths(how: Use) -> tuple[int, ...]:
    """The bits of each result; none for an instruction that only waits."""
    widths: list[int] = []
    for e in how.expected:
        if e is not None and e.parameter.role == "destination":
            widths.append(WIDTHS[e.type])
            if e.parameter.second is not None:
                widths.append(1)
    return tuple(widths)


def flows(how: Use, lanes: Mapping[int, tuple[Any, ...]]) -> dict[int, frozenset[int]]:
    """For each lane those from which data flows into what the instruction returns there."""
    if how.form.mnemonic not in _BRINGING:
        return {lane: frozenset() for lane in lanes}
    width = 1 if how.form.mnemonic == "vote" else how.width
    brought = {lane: (symbol(("brought", lane), width), *rest) for lane, (_, *rest) in lanes.items()}
    numbers = {first: lane for lane, (first, *_) in brought.items()}
    found = {}
    for lane, result in resolve(how, brought).items():
        symbols = symbols_of(result) if type(result) is Term else ()
        found[lane] = frozenset(numbers[s] for s in symbols if s in numbers)
    return found


#: Instructions whose result comes from the first operands of threads.
_BRINGING = frozenset(("shfl", "vote", "match", "redux"))


def taken_apart(how: Use, whole: Value) -> tuple[Value, ...]:
    """The results that one value has in it, the first one lowest."""
    results, low = [], 0
    for width in result_widths(how):
        results.append(extract(whole, low + width - 1, low))
        low += width
    return tuple(results)


def resolve(
    how: Use, lanes: Mapping[int, tuple[Any, ...]], undetermined: Callable[[int], Value] | None = None
) -> dict[int, Value]:
    """What the instruction returns in each lane (as the effect's `result` has it: all results in one value), given the
    operands of the lanes that take part. `undetermined` says what a lane finds where it looks for one that does not; without
    it, its own first operand."""
    widths = result_widths(how)
    joined: dict[int, Value] = {}
    brought: dict[int, tuple[Any, ...]] = dict(sorted(lanes.items()))
    together = brought if undetermined is None else Lanes(brought, undetermined)
    for lane, result in how.form.meaning(how, together).items():
        parts = result if isinstance(result, tuple) else (result,)
        whole, low = parts[0], widths[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            whole, low = concat(part, whole, width, low), low + width
        joined[lane] = whole
    return joined
