"""What the threads of a warp compute together: what an instruction's results look like, and what they are once it is known
who takes part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ptxcore.isa.data_movement import ShuffleLanes
from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value, concat, extract, symbol, symbols_of

#: The threads of a warp.
WARP = 32
#: The first part of the names of values that nothing says anything of: what `shfl` finds in a lane that is not there.
UNDETERMINED = "undetermined"


def name_of(instruction: Instruction) -> str:
    """An instruction with its qualifiers."""
    return ".".join((instruction.opcode, *instruction.modifiers))


def undetermined(lane: int, instruction: Instruction, result: Term) -> Term:
    """Such a value: what a lane finds where an instruction returns `result`. Its name has the lane and the instruction in
    it."""
    return symbol((UNDETERMINED, lane, name_of(instruction), result.args[0]), 32)


#: The member mask of instructions that all threads of a warp execute together.
EVERYBODY = 0xFFFF_FFFF


@lru_cache(maxsize=1024)
def _brought(how: Use) -> tuple[int, ...]:
    """The positions of the sources whose values threads bring."""
    assert how.form.whole is not None
    names = [p.name for p in how.parameters if p.role != "destination"]
    return tuple(i for i, name in enumerate(names) if not how.form.whole.brings or name in how.form.whole.brings)


def brought(how: Use, sources: Sequence[Any]) -> tuple[Any, ...]:
    """What a thread brings of its sources."""
    if how.form.whole is None:
        return tuple(sources)
    found: list[Any] = []
    for position in _brought(how):
        source = sources[position]
        found += source if isinstance(source, tuple) else (source,)
    return tuple([value for value in found if value is not None])


@lru_cache(maxsize=1024)
def brought_widths(how: Use) -> tuple[int, ...]:
    """The bits of each value that a thread brings of an instruction of whole warps; addresses have 64."""
    kinds = [e for e in how.wanted if e.parameter.role != "destination"]
    found: list[int] = []
    for position in _brought(how):
        for e in kinds[position].parts or (kinds[position],):
            width = 64 if e.parameter.role in ("memory", "bracket") else WIDTHS[e.type]
            found += [width] * max(1, e.length)
    return tuple(found)


def mask_position(how: Use) -> int | None:
    """Which source of a collective instruction is the member mask; None where it has none."""
    if not how.form.mask:
        return None
    sources = [p for p in how.parameters if p.role != "destination"]
    return next(i for i, p in enumerate(sources) if p.name == how.form.mask)


def result_widths(how: Use) -> tuple[int, ...]:
    """The bits of each result, or of what a thread is told that goes on from there; none for an instruction that only
    waits."""
    if how.form.whole is not None and how.form.whole.told is not None:
        return how.form.whole.told(how)
    widths: list[int] = []
    for e in how.expected:
        if e is not None and e.parameter.role == "destination":
            widths += [WIDTHS[e.type]] * max(1, e.length)
            if e.parameter.second is not None:
                widths.append(1)
    return tuple(widths)


def flows(how: Use, lanes: Mapping[int, tuple[Any, ...]]) -> dict[int, frozenset[int]]:
    """For each lane those from which data flows into what the instruction returns there."""
    if how.form.whole is not None:
        return _flows_of_warps(how)
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


@lru_cache(maxsize=256)
def _flows_of_warps(how: Use) -> dict[int, frozenset[int]]:
    widths = brought_widths(how)
    names = {(lane, i): symbol(("brought", lane, i), w) for lane in range(WARP) for i, w in enumerate(widths)}
    lanes = {lane: tuple(names[lane, i] for i in range(len(widths))) for lane in range(WARP)}
    numbers = {name: lane for (lane, _), name in names.items()}
    return {
        lane: frozenset(
            numbers[s]
            for value in (result if isinstance(result, tuple) else (result,))
            for s in (symbols_of(value) if type(value) is Term else ())
            if s in numbers
        )
        for lane, result in how.form.meaning(how, lanes).items()
    }


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
    together = brought if undetermined is None else ShuffleLanes(brought, undetermined)
    for lane, result in how.form.meaning(how, together).items():
        parts = result if isinstance(result, tuple) else (result,)
        whole, low = parts[0], widths[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            whole, low = concat(part, whole, width, low), low + width
        joined[lane] = whole
    return joined
