"""Kernels, streams and the host program (PTX ISA 9.0, section 8.9.4): what starts and ends of kernels order.

Each kernel has two events of its own, in no thread. `api` relates

    KS(k)    to every event of the kernel's threads, and those to KE(k)
    KE(k)    to KS of the next kernel of its stream, of each kernel declared `after` it, and to waits of the host for it
    launch   by a thread of the host to KS(k)

A kernel that executes `griddepcontrol.launch_dependents` lets the next one of its stream begin at once: then KE(k) is only
before the `griddepcontrol.wait` of that one, and a kernel whose threads do not wait passes nothing of it on to later ones.
Whether it does is an event between KE and KS.

The host waits for the last kernel that was launched into a stream, if any; for a kernel that it has not launched yet, it waits
for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from axioms.events import Collector, Event, Maker, UnsupportedProgram, tags_of
from ptxcore.machine.effects import Effect
from ptxcore.syntax.tree import Immediate, Name
from ptxcore.values import terms
from ptxcore.values.terms import Value


class Kernel(NamedTuple):
    """`threads` by their numbers; `after` names kernels by whose ends an event makes this one wait."""

    name: str
    threads: frozenset[int]
    stream: int = 0
    after: tuple[str, ...] = ()


class Launch(NamedTuple):
    """What a thread of the host does to kernels: the event, and those kernels, by number."""

    event: Event
    kernels: tuple[int, ...]


class Grids:
    """The kernels of a program with their events. `starts` and `ends` by the kernels' numbers. To be made when the collector
    has the events of all threads."""

    def __init__(self, collector: Collector, kernels: Sequence[Kernel]) -> None:
        self.collector, self.kernels = collector, tuple(kernels)
        self.of_thread = {t: k for k, kernel in enumerate(self.kernels) for t in kernel.threads}
        self.starts = [self._new(k, "KS", 1, "the start of kernel") for k in self.kernels]
        self.ends = [self._new(k, "KE", 1, "the end of kernel") for k in self.kernels]
        self.turns = [self._turn(k) for k in range(len(self.kernels))]

    def _new(self, kernel: Kernel, tag: str, guard: Value, label: str) -> Event:
        event = self.collector.new(-1, "K", tags_of(tag), guard)
        event.label = f"{label} {kernel.name}"
        return event

    def _turn(self, k: int) -> Event | None:
        """That the kernel before k in its stream is over and it is k's turn: only unless it lets k begin early."""
        previous = self._previous(k)
        if previous is None:
            return None
        early = terms.any_of(self._guards(previous, "launch_dependents"))
        return self._new(self.kernels[k], "", terms.negate(early), "the turn of kernel") if early != 1 else None

    def end_of(self, thread: int) -> Event | None:
        """The end of a thread's kernel, if it is in one."""
        k = self.of_thread.get(thread)
        return None if k is None else self.ends[k]

    def api(self) -> list[int] | None:
        """The relation, as rows of bitsets; None where it says nothing of anybody: there is nothing before or after the only
        kernel, and nothing under way when it ends."""
        matters = len(self.kernels) > 1 or any(e.kind in ("H", "I") for e in self.collector.events)
        if not self.kernels or not matters:
            return None
        rows = [0] * len(self.collector.events)
        inside = self._inside()
        for e in self.collector.events:
            k = self.of_thread.get(e.thread)
            if k is not None and e.in_po:
                rows[e.index] |= 1 << self.ends[k].index
        for k, kernel in enumerate(self.kernels):
            start, end = self.starts[k].index, self.ends[k].index
            rows[start] |= inside[k] | 1 << end
            self._stream(k, rows)
            for i, other in enumerate(self.kernels):
                if other.name in kernel.after:
                    rows[self.ends[i].index] |= 1 << start
        for launch in self._commands("launch"):
            for k in launch.kernels:
                rows[launch.event.index] |= 1 << self.starts[k].index
        for sync in self._commands("sync"):
            for k in sync.kernels:
                rows[self.ends[k].index] |= 1 << sync.event.index
        return rows

    def _stream(self, k: int, rows: list[int]) -> None:
        """From the end of the kernel before k in its stream to its start, or to where its threads wait for it (8.9.4: "the
        following task")."""
        previous, turn = self._previous(k), self.turns[k]
        if previous is None:
            return
        for e in self._waits(k):
            rows[self.ends[previous].index] |= 1 << e.index
        if turn is not None:
            rows[turn.index] |= 1 << self.starts[k].index
            rows[self.ends[previous].index] |= 1 << turn.index

    def _inside(self) -> list[int]:
        """For each kernel the events in the program order of its threads."""
        found = [0] * len(self.kernels)
        for e in self.collector.events:
            k = self.of_thread.get(e.thread)
            if k is not None and e.in_po:
                found[k] |= 1 << e.index
        return found

    def _previous(self, k: int) -> int | None:
        """The kernel before k in its stream."""
        mates = [i for i in range(k) if self.kernels[i].stream == self.kernels[k].stream]
        return mates[-1] if mates else None

    def _guards(self, k: int, operation: str) -> Iterator[Value]:
        for t in self.kernels[k].threads:
            for effect in self.collector.threads[t].execution.effects:
                if effect.kind == "grid" and effect.operation == operation:
                    yield effect.guard

    def _waits(self, k: int) -> Iterator[Event]:
        for e in self.collector.events:
            if e.kind == "G" and self.of_thread.get(e.thread) == k:
                yield e

    # The host.

    def _commands(self, operation: str) -> Iterator[Launch]:
        for e in self.collector.events:
            if e.kind == "H" and e.effect is not None and e.effect.operation == operation:
                yield Launch(e, self._named(e, e.effect))

    def _named(self, event: Event, effect: Effect) -> tuple[int, ...]:
        """The kernels that a launch or a wait of the host is about."""
        operand = effect.instruction.operands[0]
        if isinstance(operand, Immediate):
            stream = [k for k, kernel in enumerate(self.kernels) if kernel.stream == operand.value]
            return tuple([k for k in stream if self._is_enqueued(k, f"stream {operand.value}", event)][-1:])
        assert isinstance(operand, Name)
        named = [k for k, kernel in enumerate(self.kernels) if kernel.name == operand.name]
        if effect.operation == "launch":
            return tuple(named)
        return tuple(k for k in named if self._is_enqueued(k, operand.name, event))

    def _is_enqueued(self, k: int, waits: str, event: Event) -> bool:
        """Whether kernel k has been launched when the event waits for it. Kernels that nobody launches are there from the
        beginning."""
        launches = [l.event for l in self._commands("launch") if k in l.kernels]
        if any(l.thread != event.thread for l in launches):
            raise UnsupportedProgram(
                f"'sync {waits}' beside a launch of '{self.kernels[k].name}' by another host thread: whether it waits for that "
                "one is not decided"
            )
        return all(l.index < event.index for l in launches)

    def refuse_uncertain_launches(self) -> None:
        """Raises UnsupportedProgram for a kernel whose launch is not executed exactly once, whatever happens."""
        launched: dict[int, Event] = {}
        for launch in self._commands("launch"):
            for k in launch.kernels:
                finishes = self.collector.threads[launch.event.thread].execution.finishes
                certain = terms.conj(finishes, terms.negate(launch.event.guard)) == 0
                if k in launched or not certain:
                    name = self.kernels[k].name
                    raise UnsupportedProgram(f"kernel '{name}' is launched under a condition or in a loop")
                launched[k] = launch.event


def _grid(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Waiting for the grids before is an event; letting the next one begin only changes what it waits for."""
    return [collector.new(thread, "G", tags_of(), effect.guard, effect)] if effect.operation == "wait" else []


def _host(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, "H", tags_of("HOST"), effect.guard, effect)]


#: Who makes the events of what threads do about kernels.
MAKERS: Mapping[str, Maker] = {"grid": _grid, "host": _host}
