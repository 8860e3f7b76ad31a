"""What one model, or one log, says of one test: the states that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ptxcore.records import dataclass

if TYPE_CHECKING:
    from ptxmm.result import Result

#: What a location or a register holds in a state: a number, or what a log says that it points to.
FinalValue = int | str
FinalState = Mapping[str, FinalValue]


@dataclass(frozen=True, slots=True)
class AnsweredTest:
    """`of` names the model or the log, `test` the test. `verdict` is one of `ptxmm.result.VERDICTS`, or `absent` where a log
    says nothing of the test. `kind` is what the condition asks, as a `Result` says it.

    `states` are those that are allowed. `exact`: no other one is. `runs`: they were seen in runs, and what was not seen may be
    allowed. `races` are the kinds of races, where these were asked for. `observation` is of the condition. `message` says why
    there are no states, or why they are not exact; `digest` is of the test, where a log has one."""

    of: str
    test: str
    verdict: str
    kind: str | None = None
    states: tuple[FinalState, ...] = ()
    exact: bool = True
    runs: bool = False
    races: tuple[str, ...] = ()
    observation: str | None = None
    message: str = ""
    digest: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def known(self) -> bool:
        """Whether there is an answer at all."""
        return self.verdict not in ("error", "absent")

    @property
    def word(self) -> str:
        """The answer in a word, as logs have it: of the condition, where it has one."""
        return WORDS.get(self.verdict, self.verdict)


WORDS = {"ok": "Ok", "no": "No", "undefined": "Undef", "bounded": "Loop Ok", "undecided": "??", "absent": "---"}


def answer_of(result: Result, of: str) -> AnsweredTest:
    """What a check says of a test."""
    exact = result.complete and result.listed_all and not result.stopped
    return AnsweredTest(
        of=of,
        test=result.name,
        verdict=result.verdict,
        kind=result.kind,
        states=tuple(result.states),
        exact=exact,
        races=tuple(sorted({race.kind for race in result.races})),
        observation=result.observation,
        message=result.trouble or ("" if exact else _why_not(result)),
        seconds=result.seconds,
    )


def _why_not(result: Result) -> str:
    if not result.complete:
        return "loops were cut"
    return "the search ended early" if result.stopped else "there are more states than are listed"


def absent(of: str, test: str) -> AnsweredTest:
    """Of a test that a log does not have."""
    return AnsweredTest(of=of, test=test, verdict="absent", exact=False, message="not in the log")


def names_in(states: Sequence[FinalState]) -> frozenset[str]:
    """The registers and locations that all of some states speak of."""
    if not states:
        return frozenset()
    return frozenset.intersection(*(frozenset(state) for state in states))
