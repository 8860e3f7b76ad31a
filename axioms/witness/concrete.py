"""Programs of one run of each thread: all that is left open is what memory does."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.events.event import ProgramThread
from axioms.program import Program, with_threads
from ptxcore.machine.explore.concrete import Trace
from ptxcore.machine.ir.effects import ThreadExecution


def assembled(program: Program, traces: Sequence[Trace]) -> Program:
    """A program of one run of each thread."""
    threads = [
        ProgramThread(t.name, t.place, t.code, _execution(trace))
        for t, trace in zip(program.threads, traces, strict=True)
    ]
    return with_threads(program, threads)


def _execution(trace: Trace) -> ThreadExecution:
    return ThreadExecution(trace.effects, trace.registers, 1, 0, trace.requirements, control=trace.control)
