"""The threads of launches, explored: each in its place, on the memory that it shares with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from typing import Any

from axioms.analysis.noop_updates import Noops, holds, noop_places
from axioms.errors import MOST_EVENTS, TooLarge, UnsupportedProgram
from axioms.events.event import ProgramThread
from axioms.events.launches import KernelThreads
from axioms.models.options import passes_off
from axioms.sat.proving import impossible
from ptxcore.check.module import accepted
from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.isa.effect_kinds import COLLECTIVE, INPUT, MALLOC
from ptxcore.machine.explore.actions import MAPA_ALIAS
from ptxcore.machine.explore.explorable import Explorable, explorable
from ptxcore.machine.explore.images import SUM, TEXEL
from ptxcore.machine.explore.instances import SHARED_BASE
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.explore.warps import Lane, explore_warp
from ptxcore.machine.ir.effects import WHOLE_VECTORS, Effect, ThreadExecution
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.machine.ir.windows import SHARED, SHARED_BITS
from ptxcore.machine.lower.layout import ModuleLayout as ModuleLayout
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import ExecutableModule as LoweredProgram
from ptxcore.machine.run.launch import NoLoop, check_count, fitted, kernel_of, parameter_bytes
from ptxcore.machine.run.special import OF_RESERVED, WARP, LaunchShape, of_cta, places
from ptxcore.places import Placement
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value
from ptxmm.kernels.launch import Dimensions, Launch
from ptxmm.kernels.memory import Memory
from ptxmm.kernels.source import in_source


class ThreadInfo(NamedTuple):
    """Who a thread of the program is: `name` as the program has it."""

    name: str
    launch: int
    cta: Dimensions
    thread: Dimensions


class TooLargeLaunch(UnsupportedProgram):
    """A formula of launches would have too many events. `line`: that of the instruction of which most of the `events` are,
    `most`, in the kernel of `launch`; 0 where none is."""

    def __init__(self, error: TooLarge, info: Sequence[ThreadInfo]) -> None:
        super().__init__(str(error))
        self.threads, self.events = error.threads, error.events
        lines: Counter[tuple[int, int]] = Counter()
        for (thread, line), count in error.lines.items():
            lines[info[thread].launch, line] += count
        (self.launch, self.line), self.most = lines.most_common(1)[0] if lines else ((0, 0), 0)


class LoopNote(NamedTuple):
    """A loop that was not followed to its end, or was reduced to its last iteration.

    `kind`: `bounded` (cut after so many `iterations`), `waiting` (all but the last were left out, which changes no outcome).
    `label` is where it begins, `line` the line of the PTX, `source` file and line of the source where the module has them.
    `threads` are the numbers of those threads to which it happened.
    """

    kind: str
    launch: int
    label: str
    line: int
    source: tuple[str, int] | None
    iterations: int
    threads: tuple[int, ...]


#: A module made ready, by its text and its number; texts of several launches and variants are often the same.
@lru_cache(maxsize=8)
def _lowered(text: str, number: int) -> tuple[LoweredProgram, tuple[Diagnostic, ...]]:
    module, warnings = accepted(text)
    return lower(module, number), tuple(warnings)


class _One(NamedTuple):
    """A thread of a launch, explored. `source` is equal for threads that do the same."""

    code: ThreadCode
    execution: ThreadExecution
    source: Hashable


#: The proxy of accesses to surfaces.
_SURFACE = "surface"


class ExploredKernels:
    """The threads of all launches, explored; the memory that they share; what was cut and assumed."""

    def __init__(
        self, launches: Sequence[Launch], noops: Noops | None = None, options: frozenset[str] = frozenset()
    ) -> None:
        """`noops`: see `axioms.analysis.noop_updates`. Raises what `ptxmm.kernels.build.build` raises."""
        self.launches, self.noops = launches, noops or {}
        self.own_aliases, self.off = "mapa-alias" in options, passes_off(options)
        self.readings = {MAPA_ALIAS: 1} if self.own_aliases else {}
        self.readings |= {WHOLE_VECTORS: 1} if "whole-vectors" in options else {}
        self.memory = Memory()
        self.threads: list[ProgramThread] = []
        self.info: list[ThreadInfo] = []
        self.kernels: list[KernelThreads] = []
        self.definitions: dict[Term, Value] = {}
        self.lines: list[dict[int, tuple[str, int]]] = []
        #: Of each module, by the first launch of it.
        self.warnings: dict[int, tuple[Diagnostic, ...]] = {}
        self.assumed: dict[str, None] = {}  # of `ptxmm.words.notes.ASSUMED`
        self.ctas = self.clusters = self.warps = self.effects = 0
        for number, launch in enumerate(launches):
            try:
                self.launch(number, launch)
            except InputError as error:
                if error.text:
                    raise
                error.path, error.text = launch.path, launch.text
                raise (in_source(error, launch) if launch.source else error) from None
        self.on_heap()
        if self.memory.images or self.memory.multimem:
            inputs = {e.operation for t in self.threads for e in t.execution.effects if e.kind is INPUT}
            self.assumed |= dict.fromkeys(what for what in (TEXEL, SUM) if what in inputs)
        if any(map(self.reads_its_surfaces, self.kernels)):
            self.assumed[_SURFACE] = None

    def launch(self, number: int, launch: Launch) -> None:
        """The threads of a launch."""
        program, warnings = _lowered(launch.text, self.memory.module(launch.loaded))
        if all(launch.text != before.text for before in self.launches[:number]):
            self.warnings[number] = warnings
        code = kernel_of(program, launch.entry)
        check_count(launch.entry, code.parameters, launch.params)
        grid, cluster = fitted(program, launch.entry, launch.grid, launch.block, launch.cluster)
        arguments = [self.memory.passed(p) for p in launch.params]
        kernel = explorable(program, launch.entry, parameter_bytes(code.parameters, arguments), impossible, self.off)
        self.memory.variables(launch.loaded, program.layout, kernel.constant)
        self.memory.bind(program.layout, launch.references)
        self.lines.append(kernel.lines)
        kernel = self.bounded(kernel, launch)
        if "smid" in kernel.special:
            self.assumed["smid"] = None
        if any(name.startswith("envreg") for name in kernel.special):
            workspace = self.memory.workspace(number)
        else:
            workspace = 0
        shared = program.layout.dynamic(launch.entry) + launch.dynamic_shared
        shape = LaunchShape(grid, launch.block, cluster, shared, launch.dynamic_shared, workspace, program.target)
        first = len(self.threads)
        for ctas in _clusters(grid, cluster):
            self.cluster(number, launch, kernel, shape, program.layout, ctas)
        stream = sorted({l.queue for l in self.launches}).index(launch.queue)
        name = launch.name or (f"{launch.entry} #{number + 1}" if len(self.launches) > 1 else launch.entry)
        self.kernels.append(KernelThreads(name, frozenset(range(first, len(self.threads))), stream, launch.after))

    def bounded(self, kernel: Explorable, launch: Launch) -> Explorable:
        try:
            return kernel.bounded(launch.loops) if launch.loops else kernel
        except KeyError as error:
            raise NoLoop(launch.entry, error.args[0]) from None

    def cluster(
        self,
        number: int,
        launch: Launch,
        kernel: Explorable,
        shape: LaunchShape,
        layout: ModuleLayout,
        ctas: list[Dimensions],
    ) -> None:
        size = shape.block[0] * shape.block[1] * shape.block[2]
        members = frozenset(range(len(self.threads), len(self.threads) + size * len(ctas)))
        several = shape.grid != (1, 1, 1) or len(self.launches) > 1
        reserved = not OF_RESERVED.isdisjoint(kernel.special)
        for rank, cta in enumerate(ctas):
            owner = f"@{_name(number if len(self.launches) > 1 else None, cta)}" if several else ""
            own = frozenset(range(len(self.threads), len(self.threads) + size)) if self.own_aliases else None
            self.memory.shared(
                layout, launch.entry, launch.dynamic_shared, self.ctas, rank, owner, members, own, reserved
            )
            known = {**of_cta(shape, cta), **self.readings, SHARED_BASE: SHARED | rank << SHARED_BITS}
            lanes: list[tuple[ThreadInfo, Lane]] = []
            for place in places(shape.block):
                name = f"{_name(number if len(self.launches) > 1 else None, cta)}t{_dots(place.at)}"
                code = self.code(kernel, {**known, **place.special}, name)
                lanes.append((ThreadInfo(name, number, cta, place.at), Lane(place.lane, code, name)))
            for begin in range(0, size, WARP):
                self.warp(launch, lanes[begin : begin + WARP])
            self.ctas += 1
        self.clusters += 1

    def code(self, kernel: Explorable, special: dict[str, int], name: str) -> ThreadCode:
        try:
            code = kernel.thread(special, partial(self.memory.heap.address, name))
            if self.memory.images or self.memory.multimem:
                return code._replace(images=self.memory.images, multimem=self.memory.multimem)
            return code
        except KeyError as error:
            raise UnsupportedProgram(f"the kernel reads %{error.args[0]}, of which nothing is known") from None

    def warp(self, launch: Launch, lanes: list[tuple[ThreadInfo, Lane]]) -> None:
        """Explores the threads of a warp."""
        place = Placement(self.warps, self.ctas, self.clusters, launch.device)
        self.warps += 1
        alone = [_alone(lane, launch.unroll, self.noops) for _, lane in lanes]
        if any(e.kind is COLLECTIVE for x in alone for e in x.execution.effects):
            executions, definitions = explore_warp([lane for _, lane in lanes], launch.unroll, noops=self.noops)
            self.definitions |= definitions
            if any(e.how is not None and not e.how.form.waits for x in executions for e in x.effects):
                self.assumed["activemask"] = None
            alone = [_One(_known_of(x.code, e), e, None) for x, e in zip(alone, executions, strict=True)]
        for (info, _), x in zip(lanes, alone, strict=True):
            self.threads.append(ProgramThread(info.name, place, x.code, x.execution, x.source))
            self.info.append(info)
            self.effects += len(x.execution.effects)
        if self.effects > MOST_EVENTS:
            lines = Counter(
                (number, e.instruction.span.line)
                for number, thread in enumerate(self.threads)
                for e in thread.execution.effects
                if e.instruction is not None
            )
            raise TooLargeLaunch(TooLarge(len(self.threads), self.effects, lines), self.info)

    def on_heap(self) -> None:
        """What the threads' calls of `malloc` gave."""
        effects = [(t, e) for t in self.threads for e in t.execution.effects if e.kind.heap]
        calls = [(t, e) for t, e in effects if e.kind is MALLOC]
        for thread, e in calls:
            if type(e.size) is not int or type(e.address) is not int:
                line = e.instruction.span.line
                raise UnsupportedProgram(f"line {line}: a call of 'malloc' whose size is not known is not supported")
            self.memory.given(e.address, e.size, f"@{thread.name}" if len(self.threads) > 1 else "")
        if calls:
            self.assumed["malloc"] = None
        if len(calls) > 1 and len(calls) < len(effects):
            self.assumed["free"] = None

    def reads_its_surfaces(self, kernel: KernelThreads) -> bool:
        """Whether a kernel both reads and writes surfaces."""
        effects = (e for number in kernel.threads for e in self.threads[number].execution.effects)
        kinds = {e.kind for e in effects if e.proxy == _SURFACE}
        return any(kind.observes for kind in kinds) and any(kind.writes for kind in kinds)

    def loops(self) -> list[LoopNote]:
        """What was cut, and what was reduced, by loop."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for t, (info, thread) in enumerate(zip(self.info, self.threads, strict=True)):
            execution = thread.execution
            for cut in execution.cuts:
                found.setdefault(
                    ("bounded", info.launch, cut.label, _line(cut.instruction), cut.iterations), []
                ).append(t)
            for stuck in execution.stuck:
                found.setdefault(("waiting", info.launch, stuck.label, _line(stuck.instruction), 1), []).append(t)
        return [
            LoopNote(kind, number, label, line, self.lines[number].get(line), iterations, tuple(dict.fromkeys(names)))
            for (kind, number, label, line, iterations), names in found.items()
        ]


def explored(launches: Sequence[Launch], options: frozenset[str] = frozenset()) -> ExploredKernels:
    """The threads of all launches; where a bound cut loops that may only look, they are taken to do no more. Raises what
    `ptxmm.kernels.build.build` raises."""
    plain = ExploredKernels(launches, options=options)
    if any(thread.execution.cuts for thread in plain.threads):
        noops = {} if "noop-updates" in plain.off else noop_places(plain.threads, plain.memory)
        if noops:
            found = ExploredKernels(launches, noops, options)
            if holds(found.threads, found.memory, noops):
                return found
    return plain


def _alone(lane: Lane, unroll: int, noops: Noops) -> _One:
    """A thread by itself. Under a name that all have, what it does is the same term for all that do the same."""
    common = explore(lane.code, unroll=unroll, name="thread", noops=noops)
    own = explore(lane.code, unroll=unroll, name=lane.name, noops=noops)
    return _One(_known_of(lane.code, own), own, _essence(common))


def _known_of(code: ThreadCode, execution: ThreadExecution) -> ThreadCode:
    """The code, with what was found out of its loops."""
    return code._replace(uncounted=execution.uncounted) if any(execution.uncounted) else code


def _essence(execution: ThreadExecution) -> Hashable:
    """Equal for executions that are the same; None for what cannot be compared."""
    effects = []
    for e in execution.effects:
        if e.combine is not None or e.how is not None:
            return None
        values = (getattr(e, name) for name in _COMPARED)
        effects.append(tuple(tuple(v.items()) if isinstance(v, Mapping) else v for v in values))
    return (
        tuple(effects), execution.finishes, execution.cut, tuple(execution.requirements), tuple(execution.cuts),
        tuple(execution.stuck), tuple(execution.repeating), tuple(execution.control.items()),
    )  # fmt: skip


_COMPARED = [f.name for f in fields(Effect) if f.name not in ("combine", "how")]


def _line(instruction: Instruction | None) -> int:
    return 0 if instruction is None else instruction.span.line


def _indices(shape: Dimensions) -> Iterator[Dimensions]:
    """All indices, x fastest."""
    for z in range(shape[2]):
        for y in range(shape[1]):
            for x in range(shape[0]):
                yield x, y, z


def _clusters(grid: Dimensions, cluster: Dimensions) -> Iterator[list[Dimensions]]:
    """The CTAs of each cluster, by rank."""
    (gx, gy, gz), (kx, ky, kz) = grid, cluster
    for bx, by, bz in _indices((gx // kx, gy // ky, gz // kz)):
        yield [(bx * kx + x, by * ky + y, bz * kz + z) for x, y, z in _indices(cluster)]


def _dots(index: Dimensions) -> str:
    """An index without the zeros at its end."""
    x, y, z = index
    return f"{x}.{y}.{z}" if z else f"{x}.{y}" if y else str(x)


def _name(launch: int | None, cta: Dimensions) -> str:
    return f"{'' if launch is None else f'k{launch + 1}'}c{_dots(cta)}"
