"""One execution's phases, complete and concrete: what orders of the operations on mbarrier objects, and barriers of clusters,
come to. For re-checking an execution, whoever proposes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from axioms.cat.evaluate import bits
from axioms.cat.nodes import Rows
from axioms.events.barrier_events import COUNTED, early_no
from axioms.events.event import Event
from axioms.events.event_kinds import MBARRIER_EVENT
from axioms.program import Program
from axioms.sync.mbarrier_states import START, next_state
from ptxcore.isa.effect_kinds import BARRIER, MBARRIER
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


def states_found(program: Program, sequences: Sequence[Sequence[int]]) -> Iterator[tuple[Term, Value]]:
    """What each operation and wait returns, as a symbol, and what stands in the object before it, as an operation wrote it."""
    for sequence in sequences:
        content: Value = START.content
        for i in sequence:
            event = program.events[i]
            assert event.effect is not None
            if type(event.value) is Term:
                yield event.value, content
            if event.effect.value is not None:
                content = event.effect.value


class MbarrierPhases:
    """`mbo`, `mbrf` and `denied` of an execution, and what is wrong with it. `sequences` are the operations and waits of each
    mbarrier object in their order."""

    def __init__(
        self, program: Program, alive: int, sequences: Sequence[Sequence[int]], symbols: Mapping[Term, int]
    ) -> None:
        self.program, self.symbols = program, symbols
        self.mbo: Rows = [0] * program.size
        self.mbrf: Rows = [0] * program.size
        self.denied: Rows = [0] * program.size
        self.defects: list[str] = []
        self._in_sequence = 0
        for sequence in sequences:
            self._object(sequence)
        missing = alive & ~self._in_sequence
        for i in bits(missing):
            e = program.events[i]
            if e.kind is MBARRIER_EVENT and e.effect is not None and e.effect.kind is MBARRIER:
                self.defects.append(f"the place of event {i} among the operations on its mbarrier object")
        self._clusters(alive)
        po = program.relations["po"]
        if any(self.mbo[j] >> i & 1 for i in bits(alive) for j in bits(po[i] & alive)):
            self.defects.append("the order of operations on an mbarrier object against program order")

    def _object(self, sequence: Sequence[int]) -> None:
        events = self.program.events
        state = START
        earlier, operations = 0, 0  # all before; those before the waits that follow each other
        begun = -1  # the operation with which the phase began
        counted: dict[tuple[int, int], int] = {}
        for i in sequence:
            event = events[i]
            effect = event.effect
            assert effect is not None
            self._in_sequence |= 1 << i
            if terms.evaluate(event.value, self.symbols) != state.content:
                self.defects.append(f"the state that event {i} finds")
            if effect.value is None:
                self._before(operations, i)
                if "MW" in event.tags:
                    for a in bits(counted.get((state.life, state.phase - 1), 0)):
                        self.mbrf[a] |= 1 << i
                elif begun >= 0 and self._is_over(event):
                    self.denied[begun] |= 1 << i
            else:
                self._before(earlier, i)
                if effect.operation in COUNTED:
                    counted[state.epoch] = counted.get(state.epoch, 0) | 1 << i
                before = state
                state = next_state(state, effect.operation, terms.evaluate(effect.value, self.symbols))
                begun = begun if state.epoch == before.epoch else i
            earlier |= 1 << i
            if effect.value is not None:
                operations = earlier

    def _is_over(self, wait: Event) -> bool:
        """Whether the phase is over that a wait asks for which returned false."""
        assert wait.effect is not None
        no = early_no(wait.effect, self.program.threads[wait.thread].execution.effects)
        return no is not None and bool(terms.evaluate(no.guard, self.symbols))

    def _before(self, earlier: int, i: int) -> None:
        for j in bits(earlier):
            self.mbo[j] |= 1 << i

    def _clusters(self, alive: int) -> None:
        """The barrier of each cluster: everybody's first arrival, everybody's first wait, and so on."""
        steps: dict[int, dict[int, list[Event]]] = {}
        counts: dict[tuple[int, bool], int] = {}
        for i in bits(alive):
            e = self.program.events[i]
            if e.effect is None or e.effect.kind is not BARRIER or e.effect.level != "cluster":
                continue
            waits = "MW" in e.tags
            k = counts.get((e.thread, waits), 0)
            counts[e.thread, waits] = k + 1
            place = self.program.threads[e.thread].place
            steps.setdefault(place.cluster, {}).setdefault(2 * k + waits, []).append(e)
        for cluster in steps.values():
            earlier = 0
            for step, events in sorted(cluster.items()):
                for e in events:
                    self._before(earlier, e.index)
                    if step % 2:
                        for a in cluster.get(step - 1, ()):
                            self.mbrf[a.index] |= 1 << e.index
                earlier |= sum(1 << e.index for e in events)
