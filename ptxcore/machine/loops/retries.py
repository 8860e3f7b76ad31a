"""Loops that try a compare-and-swap again with what the last try found: they look again instead.

    old = load                                    again: old = load
    again: r = cas(old, f(old))                          r = cas(old, f(old))
    if r != old: old = r; goto again                     if r != old: goto again

So an iteration sees nothing of the one before it, and only the last one counts. An iteration that does not try may also look
again by the same load as stands before the loop, as a semaphore that is empty: it goes where the others go. Both sides do
the same where iterations only look: a load may read what a failing compare-and-swap has just read, if it orders no more than
that; and an iteration that fails can be left out of an execution of the right side, which is one of the left side then.
Compilers copy what stands between the load and the try (`turn`): then the copy must do what the original does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ptxcore.machine.ir.steps import Step
from ptxcore.machine.loops.control_flow import Shape, live_registers, only_looks_at, successors
from ptxcore.syntax.printer import print_operand

_REGISTER = re.compile(r"%[\w$.]+")
_SCOPES = frozenset(("cta", "cluster", "gpu", "sys"))
#: Copies of more blocks than this in a row are not compared.
_MOST_BLOCKS = 4

#: What a register holds: the register itself at first, then a number for each result, or ("not", number).
Held = object


class _Try(NamedTuple):
    """A compare-and-swap at the end of a block, and the way that the block takes when it fails. `found`: the registers that
    hold what it found there."""

    block: int
    step: Step
    fails: int
    found: frozenset[int]


def without_retries(shapes: Sequence[Shape], effect_free: Callable[[Step], bool]) -> list[Shape]:
    """The shapes with such loops looking again. `effect_free` knows the steps that change nothing for others, nor in memory
    of the thread's own."""
    made = list(shapes)
    tries = [t for b in range(len(made)) for t in _tries(made, b)]
    swaps = {id(t.step) for t in tries}

    def looks_or_tries(step: Step) -> bool:
        return id(step) in swaps or effect_free(step)

    for turn in dict.fromkeys(t.fails for t in tries):
        here = [t for t in tries if t.fails == turn]
        for candidate in _looking_again(made, turn, here):
            if only_looks_at(candidate, turn, looks_or_tries):
                made = candidate
                break
    return made


def _behind(shapes: Sequence[Shape], block: int | None) -> int | None:
    """The first block from here on that has anything in it but a jump."""
    seen: set[int | None] = set()
    while block is not None and block not in seen:
        seen.add(block)
        shape = shapes[block]
        if shape.steps or _is_conditional(shape) or block == len(shapes) - 1:
            break
        block = _only_way(shape)
    return block


def _is_conditional(shape: Shape) -> bool:
    return shape.target is not None and shape.follows is not None


def _only_way(shape: Shape) -> int | None:
    """Where a block goes that goes one way."""
    return shape.follows if shape.target is None else shape.target


def _before(shapes: Sequence[Shape], turn: int) -> set[int]:
    """The blocks, but for mere jumps, from which a block is entered."""
    reachable = {0}
    stack = [0]
    while stack:
        for s in successors(shapes[stack.pop()]):
            if s not in reachable:
                reachable.add(s)
                stack.append(s)
    return {
        b
        for b in reachable
        if _behind(shapes, b) == b and any(_behind(shapes, s) == turn for s in successors(shapes[b]))
    }


def _tries(shapes: Sequence[Shape], block: int) -> Iterator[_Try]:
    """The compare-and-swap that decides where a block goes."""
    shape = shapes[block]
    at = max((i for i, s in enumerate(shape.steps) if _is_swap(s)), default=-1)
    if at < 0 or shape.end is None or shape.end.sources or not _is_conditional(shape):
        return
    swap, rest = shape.steps[at], shape.steps[at + 1 :]
    (result,) = (t.register for t in swap.targets if t is not None)
    if any(s.kind != "value" or s.predicate is not None for s in rest):
        return
    found, expected = {result}, {swap.data_reads[0]}
    equal: dict[int, bool] = {}  # predicates that say that it succeeded, or that it failed
    for step in rest:
        written = {t.register for t in step.targets if t is not None}
        verdict = _compares(step, swap.width, found, expected)
        copied = _copied(step)
        known = None if copied is None else [values for values in (found, expected) if copied in values]
        for values in (found, expected):
            values -= written
        for register in written:
            equal.pop(register, None)
        if verdict is not None and step.targets[0] is not None:
            equal[step.targets[0].register] = verdict
        for values in known or ():
            values |= written
        if written & set(swap.address_reads):
            return
    if shape.end.predicate in equal:
        succeeds_when_taken = equal[shape.end.predicate] != shape.end.negated
        way = _behind(shapes, shape.follows if succeeds_when_taken else shape.target)
        if way is not None:
            yield _Try(block, swap, way, frozenset(found))


def _is_swap(step: Step) -> bool:
    """Whether it is a compare-and-swap that returns what it found and compares it with a register."""
    instruction = step.instruction
    if instruction.opcode != "atom" or "cas" not in instruction.modifiers or step.predicate is not None:
        return False
    named = len(instruction.operands) > 2 and _REGISTER.fullmatch(print_operand(instruction.operands[2]))
    return bool(named) and len(step.targets) == 1 and step.targets[0] is not None and step.width >= 32


def _compares(step: Step, width: int, found: set[int], expected: set[int]) -> bool | None:
    """Whether the first result of a comparison says that both are equal (True) or differ (False); None for other steps."""
    instruction = step.instruction
    if instruction.opcode != "setp" or len(instruction.modifiers) != 2 or len(step.reads) != 2:
        return None
    comparison, kind = instruction.modifiers
    a, b = step.reads
    both = (a in found and b in expected) or (b in found and a in expected)
    if not both or comparison not in ("eq", "ne") or kind not in (f"b{width}", f"u{width}", f"s{width}"):
        return None
    return comparison == "eq"


def _copied(step: Step) -> int | None:
    """The register that a step copies."""
    if step.instruction.opcode != "mov" or step.predicate is not None or len(step.reads) != 1 or len(step.targets) != 1:
        return None
    target = step.targets[0]
    plain = _REGISTER.fullmatch(print_operand(step.instruction.operands[1]))
    return step.reads[0] if plain and target is not None and target.from_width == target.width else None


# Looking again.


def _looking_again(shapes: Sequence[Shape], turn: int, tries: Sequence[_Try]) -> Iterator[list[Shape]]:
    """The shapes with a load where each failing try goes on, for each load that will do."""
    others = _before(shapes, turn) - {t.block for t in tries}
    found = frozenset.intersection(*[t.found for t in tries])
    if others:
        if turn not in others and not any(_is_conditional(shapes[b]) for b in others):
            yield from _entered(shapes, turn, sorted(others), tries, found)
        return
    for b, shape in enumerate(shapes):
        for at, step in enumerate(shape.steps):
            if b != turn and _is_conditional(shape) and all(_reads_alike(step, t.step) for t in tries):
                yield from _copied_turn(shapes, turn, b, at, found)


def _reads_alike(load: Step, swap: Step) -> bool:
    """Whether a load reads what a compare-and-swap compares, and orders no more than that does."""
    a, b = load.instruction, swap.instruction
    if a.opcode != "ld" or load.predicate is not None or len(load.targets) != 1 or load.targets[0] is None:
        return False
    if (load.space, load.width, load.address_reads) != (swap.space, swap.width, swap.address_reads):
        return False
    if print_operand(a.operands[1]) != print_operand(b.operands[1]):
        return False
    words, others = frozenset(a.modifiers), frozenset(b.modifiers)
    if words & {"volatile", "mmio", "nc", "const", "param"}:
        return False
    strong = words & {"relaxed", "acquire"}
    if not strong:
        return True
    if words & _SCOPES != (others & _SCOPES or {"gpu"}):
        return False
    return "acquire" not in words or bool(others & {"acquire", "acq_rel"})


def _entered(
    shapes: Sequence[Shape], turn: int, blocks: Sequence[int], tries: Sequence[_Try], found: frozenset[int]
) -> Iterator[list[Shape]]:
    """Where all other blocks that go to the iteration end with the same load (before the loop, and where an iteration that
    did not try at all looks again): the load goes there."""
    made, moved = list(shapes), list[list[Step]]()
    live = live_registers(shapes)[turn]
    for block in blocks:
        shape = shapes[block]
        loads = (i for i, step in enumerate(shape.steps) if all(_reads_alike(step, t.step) for t in tries))
        splits = (_without_load(shape.steps, at) for at in loads)
        split = next((s for s in splits if s is not None and _carried(s[1], live)), None)
        if split is None or not _carried(split[1], live) <= found:
            return
        stays, load = split
        made[block] = Shape(stays, None, None, turn, shape.label)
        moved.append(load)
    if all(list(map(_written, load)) == list(map(_written, moved[0])) for load in moved):
        made[turn] = made[turn]._replace(steps=(*moved[0], *made[turn].steps))
        yield made


def _carried(load: Sequence[Step], live: int) -> set[int]:
    """The registers with what is loaded that matter behind it."""
    return {t.register for step in load for t in step.targets if t is not None and live >> t.register & 1}


def _without_load(steps: Sequence[Step], at: int) -> tuple[tuple[Step, ...], list[Step]] | None:
    """The steps without a load and the copies of what it returns, and these. What stands behind it must have nothing to do with
    it, nor with its address."""
    address = {*steps[at].address_reads}
    holds = {t.register for t in steps[at].targets if t is not None}
    moved, stays = [steps[at]], list(steps[:at])
    for step in steps[at + 1 :]:
        written = {t.register for t in step.targets if t is not None}
        if _copied(step) in holds:
            holds |= written
            moved.append(step)
        elif (
            step.kind != "value" or step.predicate is not None or holds & ({*step.reads} | written) or address & written
        ):
            return None
        else:
            stays.append(step)
    return tuple(stays), moved


def _written(step: Step) -> tuple[object, ...]:
    """A step as it is written, with all that it depends on."""
    instruction = step.instruction
    operands = tuple(map(print_operand, instruction.operands))
    return instruction.opcode, instruction.modifiers, operands, step.reads, step.targets, step.space, step.width


def _copied_turn(
    shapes: Sequence[Shape], turn: int, block: int, at: int, found: frozenset[int]
) -> Iterator[list[Shape]]:
    """Where the iteration is a copy of what stands behind the load: the original takes its place."""
    shape = shapes[block]
    (target,) = shape.steps[at].targets
    assert target is not None
    live = live_registers(shapes)
    rest = shape._replace(steps=shape.steps[at + 1 :])
    carried = [r for r in found if live[turn] >> r & 1]
    if len(carried) == 1:
        copy: dict[int, Held] = {carried[0]: "found"}
        original: dict[int, Held] = {target.register: "found"}
        if _Comparison(shapes, live).same(shapes[turn], copy, rest, original, _MOST_BLOCKS):
            made = list(shapes)
            made[block] = Shape(shape.steps[:at], None, None, turn, shape.label)
            made[turn] = shape._replace(steps=shape.steps[at:], label=shapes[turn].label)
            yield made


class _Comparison:
    """Whether two ways through the shapes do the same and meet in the same state."""

    def __init__(self, shapes: Sequence[Shape], live: Sequence[int]) -> None:
        self.shapes, self.live = shapes, live
        self._numbers = itertools.count()

    def same(self, one: Shape, held: dict[int, Held], other: Shape, there: dict[int, Held], depth: int) -> bool:
        """`held` and `there` say what the registers of each hold that are not as both found them."""
        for a, b in itertools.zip_longest(self._without_copies(one, held), self._without_copies(other, there)):
            if a is None or b is None or not self._alike(a, held, b, there):
                return False
        if not depth or _is_conditional(one) != _is_conditional(other):
            return False
        if not _is_conditional(one):
            return self._meet(_only_way(one), held, _only_way(other), there, depth)
        return self._same_ways(one, held, other, there, depth)

    def _without_copies(self, shape: Shape, held: dict[int, Held]) -> Iterator[Step]:
        """The steps, while copies between them are made."""
        for step in shape.steps:
            source = _copied(step)
            if source is None:
                yield step
            else:
                (target,) = step.targets
                assert target is not None
                held[target.register] = held.get(source, source)

    def _alike(self, a: Step, held: dict[int, Held], b: Step, there: dict[int, Held]) -> bool:
        one, other = a.instruction, b.instruction
        if a.predicate is not None or b.predicate is not None or a.run is not b.run:
            return False
        if (a.kind, a.space, a.width, one.opcode) != (b.kind, b.space, b.width, other.opcode):
            return False
        if _skeleton(a) != _skeleton(b) or len(a.targets) != len(b.targets):
            return False
        if [held.get(r, r) for r in a.reads] != [there.get(r, r) for r in b.reads]:
            return False
        opposite = one.modifiers != other.modifiers
        if opposite and {one.modifiers[:1], other.modifiers[:1]} != {("eq",), ("ne",)}:
            return False
        if opposite and (
            one.opcode != "setp" or one.modifiers[1:] != other.modifiers[1:] or one.modifiers[1][0] == "f"
        ):
            return False
        for target, same in zip(a.targets, b.targets, strict=True):
            if (target is None) != (same is None):
                return False
            if target is not None and same is not None:
                if target[1:] != same[1:]:
                    return False
                number = next(self._numbers)
                held[target.register] = ("result", number)
                there[same.register] = ("not", number) if opposite else ("result", number)
        return True

    def _same_ways(self, one: Shape, held: dict[int, Held], other: Shape, there: dict[int, Held], depth: int) -> bool:
        end, same = one.end, other.end
        if (
            end is None
            or same is None
            or end.sources
            or same.sources
            or end.predicate is None
            or same.predicate is None
        ):
            return False
        a, b = held.get(end.predicate, end.predicate), there.get(same.predicate, same.predicate)
        if a != b and not (isinstance(a, tuple) and isinstance(b, tuple) and a[1] == b[1]):
            return False
        turned = (a != b) != (end.negated != same.negated)
        ways = (other.follows, other.target) if turned else (other.target, other.follows)
        return all(
            self._meet(x, dict(held), y, dict(there), depth)
            for x, y in zip((one.target, one.follows), ways, strict=True)
        )

    def _meet(
        self, one: int | None, held: dict[int, Held], other: int | None, there: dict[int, Held], depth: int
    ) -> bool:
        x, y = _behind(self.shapes, one), _behind(self.shapes, other)
        if x is None or y is None:
            return x is y
        if x == y:
            registers = {*held, *there}
            return all(held.get(r, r) == there.get(r, r) for r in registers if self.live[x] >> r & 1)
        return self.same(self.shapes[x], held, self.shapes[y], there, depth - 1)


def _skeleton(step: Step) -> list[str]:
    """The operands that are read, each register by where it stands first."""
    names: dict[str, str] = {}
    operands = step.instruction.operands[1:] if step.targets else step.instruction.operands
    return [_REGISTER.sub(lambda m: names.setdefault(m[0], f"%{len(names)}"), print_operand(o)) for o in operands]
