"""Concrete execution of one thread: one path, on numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ptxcore.machine.explore.symbolic import DEFAULT_UNROLL, thread_type
from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.effects import Effect, FinalRegister, Requirement
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Value


@dataclass(slots=True)
class Trace:
    """One path of a thread. Effects, registers and dependencies hold known numbers; an effect's `answer` is what it
    returned.

    `status`: `finished`; `cut`, where the loop bound stopped it; `waits`, where a loop went round without having done
    anything, so that another choice of what it reads is the execution that counts. Then, and where the iteration that was
    cut may be done again and again, `iteration` is its first effect, and `observes` are those of its effects that saw what
    others did; `goes_round` is an instruction of the loop.
    """

    effects: list[Effect]
    registers: dict[str, FinalRegister]
    status: str
    requirements: list[Requirement] = field(default_factory=list)
    control: Dependencies = field(default_factory=dict)
    iteration: int = -1
    observes: tuple[int, ...] = ()
    goes_round: Instruction | None = None


def run(code: ThreadCode, answer: Callable[[Effect], Value], *, unroll: int = DEFAULT_UNROLL) -> Trace:
    """Executes one path. `answer` is asked, in program order, what each load, atomic and reducing barrier returns: a
    number, or a symbol where nothing of the path depends on it.

    It may look at the effect's address, width and dependencies. It agrees with `explore`: with the same answers,
    exactly the effects whose guards hold, with the same values and dependencies. Raises InputError as `explore` does,
    and whatever `answer` raises.
    """

    def known(effect: Effect, width: int) -> Value:
        value = answer(effect)
        return value & ((1 << width) - 1) if type(value) is int else value

    thread = thread_type(code)(code, known, unroll)
    if code.private is not None:
        thread.counting.known = code.uncounted
    thread.run()
    status = "finished" if thread.finishes else "cut" if thread.cut else "waits"
    trace = Trace(thread.effects, thread.registers, status, thread.requirements, thread.control)
    rounds = {"waits": thread.stuck, "cut": thread.repeating}.get(status)
    if rounds:
        trace.iteration, trace.observes, trace.goes_round = rounds[-1].start, rounds[-1].reads, rounds[-1].instruction
    return trace
