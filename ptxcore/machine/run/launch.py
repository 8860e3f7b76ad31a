"""Kernels launched: arguments in, memory out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import prod
from typing import Any, TypedDict, Unpack

from ptxcore.check.module import accepted
from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.windows import GLOBAL_BITS, WINDOW_BITS
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import Code, ExecutableModule, FormalParameter
from ptxcore.machine.lower.references import samplers
from ptxcore.machine.run.codegen import Compiled
from ptxcore.machine.run.grid import GridLaunch, compile_program
from ptxcore.machine.run.memory import GlobalMemory, Segment
from ptxcore.machine.run.rounds import count_rounds
from ptxcore.machine.run.special import Triple
from ptxcore.records import dataclass


class UsageError(Exception):
    """A launch that cannot be made: no such kernel, wrong arguments, impossible sizes."""


class NoLoop(UsageError):
    """A bound for a loop that is not there: `place` is where it should be."""

    def __init__(self, entry: str, place: str) -> None:
        super().__init__(f"no loop of '{entry}' is at '{place}'")
        self.place = place


class Options(TypedDict, total=False):
    """What may be said of a launch besides. Threads take turns in an order that `seed` draws (None: round-robin); `limit`
    bounds the instructions; `progress(finished, all, executed)` is told of CTAs and instructions; `watcher`: see
    `ptxcore.machine.run.watched`, for which the module must have been loaded; `unwritten` is in every byte
    of shared memory at first, and of what threads take from lanes that do not take part, as one of the contents that these may
    have (None: nobody knows what)."""

    dynamic_shared: int
    seed: int | None
    limit: int | None
    progress: Callable[[int, int, int], None] | None
    watcher: Any
    unwritten: int | None


@dataclass(slots=True)
class Device:
    """A module loaded: its program, compiled, and its memory, which lasts over launches."""

    program: ExecutableModule
    compiled: Compiled
    path: str
    #: What the author of the module should know.
    warnings: tuple[Diagnostic, ...] = ()
    memory: GlobalMemory = field(default_factory=GlobalMemory)
    constants: Segment = field(default_factory=lambda: Segment(0, "constant memory"))
    #: What other machines made of its kernels, by name.
    kept: dict[str, Any] = field(default_factory=dict)
    #: Instructions that were executed of its kernels thread by thread to see whether others are worth making, by name.
    spent: dict[str, int] = field(default_factory=dict)

    def reset(self) -> None:
        """Memory as it is behind loading: the variables of the module with their first values, no other buffers."""
        layout = self.program.layout
        self.memory = GlobalMemory()
        self.constants = Segment(layout.const_bytes, "constant memory")
        for placed in layout.variables:
            if placed.space == "const":
                offset = placed.address & ((1 << WINDOW_BITS) - 1)
                self.constants.data[offset : offset + len(placed.data)] = placed.data
            else:
                segment = Segment(max(placed.size, len(placed.data)), placed.name)
                segment.data[: len(placed.data)] = placed.data
                self.memory.segments[placed.address >> GLOBAL_BITS] = segment
        self.memory.images.update(samplers(layout))
        self.constants.protect()

    def kernel(self, entry: str) -> list[FormalParameter]:
        """The parameters of a kernel. Raises UsageError where there is none of that name."""
        return kernel_of(self.program, entry).parameters

    def launch(
        self,
        entry: str,
        grid: Triple,
        block: Triple,
        arguments: Sequence[int | bytes],
        *,
        cluster: Triple | None = None,
        **options: Unpack[Options],
    ) -> GridLaunch:
        """Runs a kernel to its end. `arguments` are the bits of each parameter in order, or its bytes. Raises UsageError,
        and KernelError for what goes wrong in the kernel."""
        launch = self.prepare(entry, grid, block, arguments, cluster=cluster, **options)
        launch.run()
        return launch

    def prepare(
        self,
        entry: str,
        grid: Triple,
        block: Triple,
        arguments: Sequence[int | bytes],
        *,
        cluster: Triple | None = None,
        **options: Unpack[Options],
    ) -> GridLaunch:
        """A launch that is ready to run; see `launch`. Raises UsageError."""
        parameters = self.kernel(entry)
        check_count(entry, parameters, arguments)
        grid, shape = fitted(self.program, entry, grid, block, cluster)
        data = parameter_bytes(parameters, arguments)
        launch = GridLaunch(
            self.program, self.compiled, self.memory, entry, grid, block, shape, path=self.path, **options
        )  # fmt: skip
        launch.constants = self.constants
        launch.parameters = Segment(len(data), "kernel parameters")
        launch.parameters.data[:] = data
        launch.parameters.protect()
        return launch


def kernel_of(program: ExecutableModule, entry: str) -> Code:
    """A kernel of a module. Raises UsageError where there is none of that name."""
    code = program.functions.get(entry)
    if code is None or not code.entry:
        kernels = [name for name, c in program.functions.items() if c.entry]
        raise UsageError(f"the module has no kernel '{entry}'; it has {', '.join(kernels) or 'none'}")
    return code


def check_count(entry: str, parameters: Sequence[FormalParameter], arguments: Sequence[object]) -> None:
    """Raises UsageError where a kernel takes another number of arguments."""
    if len(arguments) != len(parameters):
        raise UsageError(f"'{entry}' takes {len(parameters)} arguments, not {len(arguments)}")


def fitted(
    program: ExecutableModule, entry: str, grid: Triple, block: Triple, cluster: Triple | None
) -> tuple[Triple, Triple]:
    """The grid in CTAs and the cluster with which a kernel is launched. Raises UsageError for a launch that cannot be made."""
    directives = program.functions[entry].directives
    shape = cluster or _dimensions(directives, "reqnctapercluster") or (1, 1, 1)
    if "blocksareclusters" in directives:  # the grid counts clusters
        grid = grid[0] * shape[0], grid[1] * shape[1], grid[2] * shape[2]
    _check_shape(grid, block, shape)
    _check_directives(entry, directives, block, shape)
    return grid, shape


def parameter_bytes(parameters: Sequence[FormalParameter], arguments: Sequence[int | bytes]) -> bytes:
    """The parameters of a kernel as they lie in memory. Raises UsageError for bytes that are too many."""
    found = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for parameter, argument in zip(parameters, arguments, strict=True):
        data = argument if isinstance(argument, bytes) else _bits(argument, parameter)
        if len(data) > parameter.size:
            raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, {len(data)} are given")
        found[parameter.offset : parameter.offset + len(data)] = data
    return bytes(found)


def _dimensions(directives: Mapping[str, tuple[int, ...]], name: str) -> Triple | None:
    """What a directive of a kernel says of three dimensions; None where it is not there."""
    given = directives.get(name)
    if not given:
        return None
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _check_directives(entry: str, directives: Mapping[str, tuple[int, ...]], block: Triple, cluster: Triple) -> None:
    """Raises UsageError for a launch that the kernel's directives exclude (PTX ISA 9.0, sections 11.4 and 11.7)."""
    for name, given, unit in (("reqntid", block, "threads"), ("reqnctapercluster", cluster, "CTAs")):
        wanted = _dimensions(directives, name)
        if wanted is not None and wanted != given:
            raise UsageError(f"'{entry}' has .{name} {_numbers(wanted)}, and is launched with {_numbers(given)} {unit}")
    most = _dimensions(directives, "maxntid")
    if most is not None and prod(block) > prod(most):
        raise UsageError(f"'{entry}' has .maxntid {_numbers(most)}, and is launched with {prod(block)} threads")
    ranks = directives.get("maxclusterrank")
    if ranks and prod(cluster) > ranks[0]:
        raise UsageError(
            f"'{entry}' has .maxclusterrank {ranks[0]}, and is launched in clusters of {prod(cluster)} CTAs"
        )


def _numbers(given: Triple) -> str:
    return ", ".join(map(str, given))


def _bits(value: int, parameter: FormalParameter) -> bytes:
    width = 8 * parameter.size
    return (value & ((1 << width) - 1)).to_bytes(parameter.size, "little")


def _check_shape(grid: Triple, block: Triple, cluster: Triple) -> None:
    threads = block[0] * block[1] * block[2]
    if min(*grid, *block, *cluster) < 1:
        raise UsageError("grid, block and cluster need at least 1 in each dimension")
    if threads > 1024:
        raise UsageError(f"a CTA has at most 1024 threads, not {threads}")
    if any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise UsageError(f"the grid {grid} is no multiple of the cluster {cluster}")
    if cluster[0] * cluster[1] * cluster[2] > 16:
        raise UsageError(f"a cluster has at most 16 CTAs, not {cluster[0] * cluster[1] * cluster[2]}")


def load(text: str, path: str = "<module>", *, watched: bool = False, fine: bool = False) -> Device:
    """A module from its text, ready to launch; what was made of a text before is used again. `watched`: with watchers. `fine`:
    turns may end between any two accesses to memory, also where no thread waits. Raises InputError with all that is wrong."""
    try:
        program, compiled, warnings, kept, spent = _made(text, watched, fine)
    except InputError as error:
        error.path, error.text = path, text
        raise
    device = Device(program, compiled, path, warnings, kept=kept, spent=spent)
    device.reset()
    return device


@lru_cache(maxsize=8)  # a process has few modules, and launches them again and again
def _made(
    text: str, watched: bool, fine: bool
) -> tuple[ExecutableModule, Compiled, tuple[Diagnostic, ...], dict[str, Any], dict[str, int]]:
    """A module, compiled, what its author should know, and where other machines keep what they make of it, and what was spent
    before. Raises InputError."""
    module, warnings = accepted(text)
    program = lower(module)
    if watched:
        count_rounds(program)
    return program, compile_program(program, watched, fine), tuple(warnings), {}, {}


def size_of(parameter: FormalParameter) -> int:
    """Bytes of one element of a parameter."""
    return max(1, WIDTHS.get(parameter.type, 64) // 8)


__all__: list[Any] = ["Device", "UsageError", "load", "size_of"]
