"""From launches to a program: the interface between what a kernel test says and what is decided.

built = build([launch], [("x", 0)], lambda final: eq(final("x", 0).value, 2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from axioms.errors import TooLarge
from axioms.events.memory import RepeatedBytes
from axioms.program import AskedValues, Observable, Program, ProgramSource
from axioms.program import build as assembled
from ptxcore.diagnostics import Diagnostic
from ptxcore.isa.effect_kinds import ISSUE
from ptxcore.records import dataclass
from ptxcore.values.terms import Value
from ptxmm.kernels.explored import ExploredKernels, LoopNote, ThreadInfo, TooLargeLaunch, explored
from ptxmm.kernels.launch import Buffer, Final, Launch


@dataclass(slots=True)
class Built:
    """A program, and who is who in it. `lines` has for each launch, by line of the PTX, file and line of the source."""

    program: Program
    threads: list[ThreadInfo]
    loops: list[LoopNote]
    #: The same program, its shared memory holding these bytes again and again at first.
    holding: Callable[[bytes], Program]
    lines: list[dict[int, tuple[str, int]]] = field(default_factory=list)
    #: Sentences about what was assumed or left out.
    assumed: list[str] = field(default_factory=list)
    #: What the authors of modules should know, by the number of the first launch of each.
    warnings: dict[int, tuple[Diagnostic, ...]] = field(default_factory=dict)


def build(
    launches: Sequence[Launch],
    observe: Sequence[tuple[str, int]] = (),
    condition: Callable[[Final], Value] = lambda final: 1,
    options: frozenset[str] = frozenset(),
    buffers: Sequence[Buffer] = (),
) -> Built:
    """The program of launches. States list the elements `observe` (buffer and number); `condition` makes the question's
    truth value of final elements; `options` are those of `axioms.models.options.OF_PROGRAMS`. `buffers` are all that there are:
    those that no launch is given keep what they hold.

    Raises InputError for modules that are wrong, `ptxcore.machine.run.launch.UsageError` for launches that cannot be made,
    UnsupportedProgram for what is not decided.
    """
    found = explored(launches, options)
    memory = found.memory
    wanted = {name for name, _ in observe}
    for buffer in buffers:  # those that no launch is given keep what they hold
        if buffer.name in wanted:
            memory.buffer(buffer)
    observed = tuple(
        Observable(e.label, e.value, e.width, e.signed)
        for e in (memory.final(name, number) for name, number in observe)
    )
    asked = AskedValues(observed, condition(memory.final))
    unroll = max((launch.unroll for launch in launches), default=4)
    kernels = tuple(found.kernels) if _ends_matter(found) else ()

    def holding(contents: bytes) -> Program:
        objects = [o._replace(initial=RepeatedBytes(contents, o.size)) if o.unset else o for o in memory.objects]
        source = ProgramSource(
            found.threads, objects, memory.views, lambda threads: asked, unroll, found.definitions, kernels, options
        )
        try:
            return assembled(source)
        except TooLarge as error:
            raise TooLargeLaunch(error, found.info) from None

    return Built(holding(b"\0"), found.info, found.loops(), holding, found.lines, list(found.assumed), found.warnings)


def _ends_matter(found: ExploredKernels) -> bool:
    """Whether something comes after the end of a kernel, or may be under way then."""
    several = len(found.kernels) > 1
    return several or any(e.kind is ISSUE for thread in found.threads for e in thread.execution.effects)


__all__ = ["Built", "LoopNote", "ThreadInfo", "build"]
