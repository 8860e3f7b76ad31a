"""Value numbering over basic blocks: two ways through a control-flow graph do the same where their effects are the same terms.

A register that nothing has written yet holds a symbol, and what the n-th effect returns is a symbol as well; everything else
is computed. Terms are hash-consed, so equal values are one object however they were computed: copies between registers, other
names, comparisons turned round and branches that go the other way then make no difference, and no text is compared.

Each value comes with what it depends on, for the model asks for that beside the value: `x & 0` is a constant that depends on x.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from copy import copy
from typing import Any

from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.loops.control_flow import BasicBlock, first_filled, is_conditional, live_registers, only_way
from ptxcore.values.terms import Value, conj, extract, ite, negate, sext, symbol, zext

#: Ways of more blocks than this in a row are not compared.
_MOST_BLOCKS = 4


class RegisterTerms(dict[int, Value]):
    """What registers hold, by their numbers."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = widths

    def __missing__(self, register: int) -> Value:
        return symbol(("register", register), self.widths[register])


def result(effect: Hashable, width: int, number: int = 0) -> Value:
    """What an effect returns, by its place among those on the way."""
    return symbol((effect, number), width)


class KnownState:
    """What is known of a thread on its way: `effects` are the steps behind it that are more than computation."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.values = RegisterTerms(widths)
        self.effects: list[InstructionStep] = []
        self._depends: dict[int, frozenset[Hashable]] = {}

    def copy(self) -> KnownState:
        """The same, to go on from separately."""
        made = KnownState(self.values.widths)
        made.values.update(self.values)
        made.effects, made._depends = list(self.effects), dict(self._depends)
        return made

    @property
    def written(self) -> Collection[int]:
        """The registers that were written on the way."""
        return self.values.keys()

    def held(self, register: int) -> tuple[Value, frozenset[Hashable]]:
        """What a register holds, and what that depends on."""
        return self.values[register], self.depends((register,))

    def depends(self, registers: Collection[int]) -> frozenset[Hashable]:
        """What the values of some registers depend on: the numbers of registers at the start, and results of effects."""
        return frozenset().union(*[self._depends.get(r, frozenset((r,))) for r in registers])

    def same_in(self, other: KnownState, live: int) -> bool:
        """Whether no register that matters tells two states apart."""
        written = {*self.written, *other.written}
        return all(self.held(r) == other.held(r) for r in written if live >> r & 1)

    def condition(self, step: InstructionStep) -> Value:
        """The condition under which a step is done, or a branch taken."""
        when: Value = 1
        if step.predicate is not None:
            when = self.values[step.predicate]
            when = negate(when) if step.negated else when
        if step.kind == "branch" and step.sources:
            when = conj(when, step.run(step.how, *self.sources(step)))
        return when

    def sources(self, step: InstructionStep) -> list[Any]:
        """The values that a step reads."""
        return [None if f is None else f(self.values) for f in step.sources]

    def execute(self, step: InstructionStep) -> list[object] | None:
        """Goes on behind a step; of an effect, gives what tells it from others."""
        if step.kind == "value":
            result = step.run(step.how, *self.sources(step))
            self.write(step, result if len(step.targets) > 1 else (result,), self.depends(step.reads))
            return None
        i, parts = step.instruction, (step.address_reads, step.data_reads, *step.element_reads)
        done: list[object] = [
            step.kind, step.run, i.opcode, i.modifiers, step.how.words, step.space, step.width, self.condition(step),
            self.sources(step), [t and t[1:] for t in step.targets],
            [self.depends(() if step.predicate is None else (step.predicate,)), *map(self.depends, parts)],
            [(source, self.depends(reads)) for source, reads in step.memory_reads],
        ]  # fmt: skip
        self.returned(step, len(self.effects))
        self.effects.append(step)
        return done

    def returned(self, step: InstructionStep, name: Hashable) -> None:
        """Writes new symbols under a name where a step writes what it returns."""
        results = [t and result(name, t.from_width, k) for k, t in enumerate(step.targets)]
        self.write(step, results, frozenset((("result", name),)))

    def write(self, step: InstructionStep, results: Sequence[Value | None], depends: frozenset[Hashable]) -> None:
        """Writes the results of a step, as far as it is done."""
        when = self.condition(step)
        for target, value in zip(step.targets, results, strict=False):
            if target is None or value is None:
                continue
            register, from_width, width, signed = target
            if width < from_width:
                value = extract(value, width - 1, 0)
            elif width > from_width:
                value = sext(value, from_width, width) if signed else zext(value, width)
            own = depends
            if step.predicate is not None:
                own = depends | self.depends((register, step.predicate))
                value = ite(when, value, self.values[register], width)
            self.values[register], self._depends[register] = value, own


class Numbering:
    """The value numbers of the blocks of a kernel's thread. Only those steps are compared that `is_pure` knows: of what is seen
    by others, such as barriers, it matters where it stands."""

    def __init__(
        self, shapes: Sequence[BasicBlock], widths: Sequence[int], is_pure: Callable[[InstructionStep], bool]
    ) -> None:
        self.shapes, self.widths, self.is_pure = shapes, widths, is_pure
        self.live = live_registers(shapes)

    def before(self, made: Sequence[BasicBlock]) -> Numbering:
        """The same, where registers matter too that will matter when control goes elsewhere, as in `made`."""
        found = copy(self)
        found.live = [a | b for a, b in zip(self.live, live_registers(made), strict=True)]
        return found

    def sent(self, block: int, other: int, again: bool = False) -> list[BasicBlock] | None:
        """The shapes with a block that goes to another one where it does what that does; None where it does not to its end.
        `again`: an iteration that comes to that other block may be left out (`_left_out`)."""
        steps, wanted = self.shapes[block].steps, [s for s in self.shapes[other].steps if s.kind != "value"]
        found = [-1, *(i for i, s in enumerate(steps) if s.kind != "value")]
        first = len(found) - len(wanted)
        if first < 1 or any(steps[i].run is not s.run for i, s in zip(found[first:], wanted, strict=True)):
            return None
        for at in range(found[first] if wanted else len(steps), found[first - 1], -1):
            made = list(self.shapes)
            made[block] = BasicBlock(steps[:at], None, None, other, made[block].label)
            here, start = self.shapes[block]._replace(steps=steps[at:]), KnownState(self.widths)
            ways = here, start, self.shapes[other], start, other if again else None
            if self.same(*ways) and self.before(made).same(*ways):
                return made
        return None

    def same(
        self,
        one: BasicBlock,
        here: KnownState,
        other: BasicBlock,
        there: KnownState,
        again: int | None = None,
        depth: int = _MOST_BLOCKS,
    ) -> bool:
        """Whether two ways do the same and meet in the same state, or come to the block `again` by an iteration that may be
        left out."""
        if not all(map(self.is_pure, one.steps)):
            return False
        here, there = here.copy(), there.copy()
        done = [key for step in one.steps if (key := here.execute(step)) is not None]
        if done != [key for step in other.steps if (key := there.execute(step)) is not None]:
            return False
        if is_conditional(one) != is_conditional(other):
            return False
        ways = self._ways(one, here, other, there)
        return ways is not None and all(self.meet(x, here, y, there, again, depth) for x, y in ways)

    def _ways(
        self, one: BasicBlock, here: KnownState, other: BasicBlock, there: KnownState
    ) -> Sequence[tuple[int | None, int | None]] | None:
        """The ways that two blocks go together; None where they decide otherwise."""
        if not is_conditional(one):
            return [(only_way(one), only_way(other))]
        end, same = one.end, other.end
        if end is None or same is None or end.kind != same.kind:
            return None
        read, there_read = ((*e.reads, *(() if e.predicate is None else (e.predicate,))) for e in (end, same))
        when, where = here.condition(end), there.condition(same)
        if here.depends(read) != there.depends(there_read) or when not in (where, negate(where)):
            return None
        goes = (other.target, other.follows) if when == where else (other.follows, other.target)
        return list(zip((one.target, one.follows), goes, strict=True))

    def meet(
        self, one: int | None, here: KnownState, other: int | None, there: KnownState, again: int | None = None,
        depth: int = _MOST_BLOCKS,
    ) -> bool:  # fmt: skip
        """Whether two ways have come to the same block in the same state, or do the same from these blocks on."""
        x, y = first_filled(self.shapes, one), first_filled(self.shapes, other)
        if x is None or y is None:
            return x is y
        if x == again:
            return self._left_out(x, here, y, there)
        if x == y:
            return here.same_in(there, self.live[x])
        return depth > 0 and self.same(self.shapes[x], here, self.shapes[y], there, again, depth - 1)

    def _left_out(self, again: int, here: KnownState, other: int, there: KnownState) -> bool:
        """Whether an iteration may be left out that comes to a block where the same is done once more: it only reads (`same`),
        and leaves what matters as it was. Where it is not part of a loop, each execution without it must also be one with it:
        one read may be done twice at once, but not where something behind it orders what the second one finds."""
        start, live = KnownState(self.widths), self.live[again]
        goes_round = other == again and there.same_in(start, live)
        return here.same_in(start, live) and (goes_round or not any(any(s.targets) for s in here.effects[:-1]))
