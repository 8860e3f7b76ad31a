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

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from axioms.errors import UnsupportedProgram
from axioms.events.event import Collector, Event, Maker, ProgramThread, tags_of
from axioms.events.event_kinds import GRID_WAIT, HOST_EVENT, ISSUE_EVENT, KERNEL_EVENT
from ptxcore.isa.effect_kinds import GRID, HOST
from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Immediate, Name
from ptxcore.values import terms
from ptxcore.values.terms import Value


class KernelThreads(NamedTuple):
    """`threads` by their numbers; `after` names kernels by whose ends an event makes this one wait."""

    name: str
    threads: frozenset[int]
    stream: int = 0
    after: tuple[str, ...] = ()


class HostLaunch(NamedTuple):
    """What a thread of the host does to kernels: the event, and those kernels, by number."""

    event: Event
    kernels: tuple[int, ...]


class Streams:
    """Who waits for whose end: kernels by their streams and events, threads of the host, and `griddepcontrol.wait`. Kernels by
    their numbers."""

    def __init__(self, kernels: Sequence[KernelThreads], threads: Sequence[ProgramThread]) -> None:
        self.kernels, self.threads = tuple(kernels), threads
        self.of_thread = {t: k for k, kernel in enumerate(self.kernels) for t in kernel.threads}
        #: By kernel, which threads of the host launch it, each with the effect.
        self.launches: dict[int, list[tuple[int, Effect]]] = {}
        for t, thread in enumerate(threads):
            for effect in thread.execution.effects:
                if _is_command(effect, "launch"):
                    for k in self.called(effect):
                        self.launches.setdefault(k, []).append((t, effect))

    def previous(self, k: int) -> int | None:
        """The kernel before k in its stream."""
        mates = [i for i in range(k) if self.kernels[i].stream == self.kernels[k].stream]
        return mates[-1] if mates else None

    def after(self, k: int) -> list[int]:
        """The kernels for whose ends an event makes k wait."""
        return [i for i, other in enumerate(self.kernels) if other.name in self.kernels[k].after]

    def before(self, k: int) -> list[int]:
        """The kernels for whose ends k waits before it begins, unless the one before it in its stream lets it begin early."""
        previous = self.previous(k)
        return sorted({*self.after(k), *(() if previous is None else (previous,))})

    def awaited(self, thread: int, effect: Effect, done: Iterable[Effect] | None = None) -> tuple[int, ...] | None:
        """The kernels for whose ends a thread waits by one of its effects; None where it waits for none by its kind. `done`:
        the effects before it, where they are not those of the thread here. Raises UnsupportedProgram where that is not
        decided."""
        if effect.kind is GRID and effect.operation == "wait":
            before = self.previous(self.of_thread[thread]) if thread in self.of_thread else None
            return () if before is None else (before,)
        if not _is_command(effect, "sync"):
            return None
        operand = effect.instruction.operands[0]
        if done is None:
            done = [e for e in self.threads[thread].execution.effects if e.index < effect.index]
        known = {k for e in done if _is_command(e, "launch") for k in self.called(e)}
        if isinstance(operand, Immediate):
            stream = [k for k, kernel in enumerate(self.kernels) if kernel.stream == operand.value]
            return tuple([k for k in stream if self._is_enqueued(k, f"stream {operand.value}", thread, known)][-1:])
        return tuple(k for k in self.called(effect) if self._is_enqueued(k, str(_name(effect)), thread, known))

    def letting(self, k: int) -> Iterator[tuple[list[int], list[tuple[int, Effect]]]]:
        """Of each CTA of a kernel its threads, and where they let the next kernel begin: thread and effect."""
        ctas: dict[int, list[int]] = {}
        for t in sorted(self.kernels[k].threads):
            ctas.setdefault(self.threads[t].place.cta, []).append(t)
        for some in ctas.values():
            effects = [(t, e) for t in some for e in self.threads[t].execution.effects]
            yield some, [(t, e) for t, e in effects if e.kind is GRID and e.operation == "launch_dependents"]

    def called(self, effect: Effect) -> tuple[int, ...]:
        """The kernels that a command of the host names."""
        return tuple(k for k, kernel in enumerate(self.kernels) if kernel.name == _name(effect))

    def _is_enqueued(self, k: int, waits: str, thread: int, launched: Container[int]) -> bool:
        """Whether kernel k has been launched when a thread of the host waits for it. Kernels that nobody launches are there
        from the beginning."""
        launches = self.launches.get(k, [])
        if any(t != thread for t, _ in launches):
            raise UnsupportedProgram(
                f"'sync {waits}' beside a launch of '{self.kernels[k].name}' by another host thread: whether it waits for that "
                "one is not decided"
            )
        return not launches or k in launched


def _is_command(effect: Effect, operation: str) -> bool:
    return effect.kind is HOST and effect.operation == operation


def _name(effect: Effect) -> str | None:
    operand = effect.instruction.operands[0]
    return operand.name if isinstance(operand, Name) else None


class Grids:
    """The kernels of a program with their events. `starts` and `ends` by the kernels' numbers. To be made when the collector
    has the events of all threads."""

    def __init__(self, collector: Collector, kernels: Sequence[KernelThreads]) -> None:
        self.collector, self.kernels = collector, tuple(kernels)
        self.streams = Streams(kernels, collector.threads)
        self.of_thread = self.streams.of_thread
        self.starts = [self._new(k, "KS", 1, "the start of kernel") for k in self.kernels]
        self.ends = [self._new(k, "KE", 1, "the end of kernel") for k in self.kernels]
        self.admissions = [self._admission(k) for k in range(len(self.kernels))]

    def _new(self, kernel: KernelThreads, tag: str, guard: Value, label: str) -> Event:
        event = self.collector.new(-1, KERNEL_EVENT, tags_of(tag), guard)
        event.label = f"{label} {kernel.name}"
        return event

    def _admission(self, k: int) -> Event | None:
        """That the kernel before k in its stream is over and it is k's turn: only unless it lets k begin early."""
        previous = self.streams.previous(k)
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
        matters = len(self.kernels) > 1 or any(e.kind in (HOST_EVENT, ISSUE_EVENT) for e in self.collector.events)
        if not self.kernels or not matters:
            return None
        rows = [0] * len(self.collector.events)
        inside = self._inside()
        for e in self.collector.events:
            k = self.of_thread.get(e.thread)
            if k is not None and e.in_po:
                rows[e.index] |= 1 << self.ends[k].index
        for k in range(len(self.kernels)):
            start, end = self.starts[k].index, self.ends[k].index
            rows[start] |= inside[k] | 1 << end
            self._stream(k, rows)
            for i in self.streams.after(k):
                rows[self.ends[i].index] |= 1 << start
        for launch in self._launches():
            for k in launch.kernels:
                rows[launch.event.index] |= 1 << self.starts[k].index
        for e in self.collector.events:
            if e.kind is HOST_EVENT and e.effect is not None:
                for k in self.streams.awaited(e.thread, e.effect) or ():
                    rows[self.ends[k].index] |= 1 << e.index
        return rows

    def _stream(self, k: int, rows: list[int]) -> None:
        """From the end of the kernel before k in its stream to its start, or to where its threads wait for it (8.9.4: "the
        following task")."""
        previous, admission = self.streams.previous(k), self.admissions[k]
        if previous is None:
            return
        for e in self._waits(k):
            rows[self.ends[previous].index] |= 1 << e.index
        if admission is not None:
            rows[admission.index] |= 1 << self.starts[k].index
            rows[self.ends[previous].index] |= 1 << admission.index

    def _inside(self) -> list[int]:
        """For each kernel the events in the program order of its threads."""
        found = [0] * len(self.kernels)
        for e in self.collector.events:
            k = self.of_thread.get(e.thread)
            if k is not None and e.in_po:
                found[k] |= 1 << e.index
        return found

    def _guards(self, k: int, operation: str) -> Iterator[Value]:
        for t in self.kernels[k].threads:
            for effect in self.collector.threads[t].execution.effects:
                if effect.kind is GRID and effect.operation == operation:
                    yield effect.guard

    def decided(self) -> Iterator[tuple[int, Dependencies, Value, int]]:
        """What decides that a kernel begins before the one before it in its stream is over: of each CTA of that one, how it
        came to let it begin, or to its end; thread, dependencies, the condition under which it does, and the kernel that
        begins.
        (Where several threads of a CTA let it, that one of them did is not said to hang on any.)"""
        for k in range(len(self.kernels)):
            previous = self.streams.previous(k)
            if previous is None or not any(self._guards(previous, "launch_dependents")):
                continue
            for threads, lets in self.streams.letting(previous):
                none: Value = 1
                for t, effect in lets:
                    if len({t for t, _ in lets}) == 1:
                        yield t, effect.control_dependencies, terms.conj(effect.guard, none), k
                    none = terms.conj(none, terms.negate(effect.guard))
                for t in threads:
                    yield t, self.collector.threads[t].execution.control, none, k

    def _waits(self, k: int) -> Iterator[Event]:
        for e in self.collector.events:
            if e.kind is GRID_WAIT and self.of_thread.get(e.thread) == k:
                yield e

    # The host.

    def _launches(self) -> Iterator[HostLaunch]:
        for e in self.collector.events:
            if e.kind is HOST_EVENT and e.effect is not None and e.effect.operation == "launch":
                yield HostLaunch(e, self.streams.called(e.effect))

    def refuse_uncertain_launches(self) -> None:
        """Raises UnsupportedProgram for a kernel whose launch is not executed exactly once, whatever happens."""
        launched: dict[int, Event] = {}
        for launch in self._launches():
            for k in launch.kernels:
                finishes = self.collector.threads[launch.event.thread].execution.finishes
                certain = terms.implies(finishes, launch.event.guard)
                if k in launched or not certain:
                    name = self.kernels[k].name
                    raise UnsupportedProgram(f"kernel '{name}' is launched under a condition or in a loop")
                launched[k] = launch.event


def _grid(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Waiting for the grids before is an event; letting the next one begin only changes what it waits for."""
    return [collector.new(thread, GRID_WAIT, tags_of(), effect.guard, effect)] if effect.operation == "wait" else []


def _host(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, HOST_EVENT, tags_of("HOST"), effect.guard, effect)] if effect.guard != 0 else []


#: Who makes the events of what threads do about kernels.
MAKERS: Mapping[str, Maker] = {GRID: _grid, HOST: _host}
