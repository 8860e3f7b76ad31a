"""Agreement tests: two ways to one answer. What one of them is not up to is passed over, and counted: a test that compared too
little fails, so that none is green for having compared nothing.

    @pytest.mark.compares(0.9)          # of what it looks at, at least this share must be compared
    def test_the_engines_agree() -> None:
        expected = brute_force(program, model)
        if expected is not None:        # passed over otherwise, which is counted
            assert ... == compared(expected)

Brute force gets a number of steps, not of seconds: what is compared is the same on every machine, however busy it is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import pytest

from axioms.cat.model import Model
from axioms.engine import decide
from axioms.errors import UnsupportedProgram
from axioms.oracle import liveness as liveness_oracle
from axioms.oracle import outcomes as enumerate_
from axioms.oracle.budget import BeyondBruteForce, Budget
from axioms.program import Program
from axioms.witness.result import Decision
from ptxcore.clock import OutOfTime

Answer = TypeVar("Answer")
#: Steps of brute force for one question, unless a test says otherwise.
STEPS = 2000


#: Seconds for a solver, which counts no steps: many times what it takes for nearly all that is asked here, on any machine.
_SOLVER = 120.0


class Count:
    """What a test compared, and what it passed over for which reason."""

    def __init__(self) -> None:
        self.compared = 0
        self.passed_over = Counter[str]()

    @property
    def all(self) -> int:
        return self.compared + self.passed_over.total()

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.passed_over.most_common())
        return f"{self.compared} of {self.all} compared" + (f" (passed over: {reasons})" if reasons else "")

    def check(self, share: float) -> None:
        """Fails where less was compared than `share` of what was looked at."""
        if self.compared < share * self.all or not self.compared:
            pytest.fail(f"{self}: at least {share:.0%} must be", pytrace=False)


_count = Count()


def begin() -> Count:
    """The count of the test that begins."""
    global _count
    _count = Count()
    return _count


def compared(answer: Answer) -> Answer:
    """`answer`, which is now compared with another one."""
    _count.compared += 1
    return answer


def pass_over(reason: str) -> None:
    """Says why something is not compared."""
    _count.passed_over[reason] += 1


def note(done: int, passed_over: Mapping[str, int]) -> None:
    """What somebody else has compared, and passed over for which reason."""
    _count.compared += done
    _count.passed_over.update(passed_over)


def either(ask: Callable[[], Answer]) -> Answer | None:
    """What `ask` gives, counted as compared; None, counted as passed over, where it takes too much or is refused."""
    try:
        answer = ask()
        if isinstance(answer, Decision) and answer.stopped is not None:
            raise answer.stopped
        if isinstance(answer, Decision) and not answer.listed_all:
            pass_over("has more outcomes than are listed")
            return None
        return compared(answer)
    except OutOfTime:
        pass_over("takes too many steps")
    except BeyondBruteForce:
        pass_over("too large for brute force")
    except UnsupportedProgram:
        pass_over("refused")
    return None


def deadline() -> float:
    """For what a solver is asked within `either`: the little that takes longer is passed over, and counted."""
    return time.monotonic() + _SOLVER


@contextmanager
def at_most(steps: int = STEPS) -> Iterator[None]:
    """Brute force gets so many steps, whoever asks it."""

    def budget(deadline: float | None = None, _: int | None = None) -> Budget:
        return Budget(deadline, steps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumerate_, "Budget", budget)
        patch.setattr(liveness_oracle, "Budget", budget)
        yield


def brute_force(program: Program, model: Model, steps: int = STEPS, races: bool = False) -> Decision | None:
    """What brute force says in so many steps; None, counted as passed over, where it is not up to it."""
    return either(lambda: decide(program, model, engine="enumerate", steps=steps, races=races))
