"""Where two answers to one test disagree. This is the only definition: whoever counts disagreements uses it.

A state that one allows and the other certainly does not is a difference. Where the other one's states are not exact (a loop was
cut, the time ran out), the state may be among those that were not looked at: that is `open`, and neither the same nor a
difference. Where the other one's states were seen in runs, it was not seen, which is no difference: hardware need not do all
that a model allows. Two logs of runs are compared by what they saw.
"""

from __future__ import annotations

from ptxcore.records import dataclass
from ptxmm.comparing.answers import AnsweredTest, FinalState, names_in


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """Two answers, `one` and `other`, and how they compare. `lost` are states of `one` that `other` certainly does not allow,
    `won` those of `other` that `one` does not, `unseen` those that one allows and runs did not show. `open`: it is not
    known, and why. `undefined`: exactly one of them gives the test no meaning. `races_lost`, `races_won`: kinds of races."""

    one: AnsweredTest
    other: AnsweredTest
    lost: tuple[FinalState, ...] = ()
    won: tuple[FinalState, ...] = ()
    unseen: tuple[FinalState, ...] = ()
    open: str = ""
    undefined: bool = False
    races_lost: tuple[str, ...] = ()
    races_won: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether both have an answer."""
        return self.one.known and self.other.known

    @property
    def differs(self) -> bool:
        return bool(self.lost or self.won or self.undefined or self.races_lost or self.races_won)

    @property
    def status(self) -> str:
        """`unanswered`, `differ`, `open` or `same`."""
        if not self.answered:
            return "unanswered"
        return "differ" if self.differs else "open" if self.open else "same"


def difference(one: AnsweredTest, other: AnsweredTest) -> ModelDifference:
    """How two answers to a test compare."""
    if not (one.known and other.known):
        return ModelDifference(one, other, open=next(a.message or a.verdict for a in (one, other) if not a.known))
    if "undefined" in (one.verdict, other.verdict):
        return _of_undefined(one, other)
    common = _common(one, other)
    if common is None:
        return ModelDifference(one, other, open="their states have no register and no location in common")
    lost, won = _missing(one, other, common), _missing(other, one, common)
    reasons = [f"{a.of}: {a.message or 'not all states are known'}" for a in (one, other) if not (a.exact or a.runs)]
    both = one.runs and other.runs  # seen here and not there: whoever compares two machines asks for that
    gone, come = tuple(lost if other.exact or both else ()), tuple(won if one.exact or both else ())
    unseen = () if both else (*(lost if other.runs else ()), *(won if one.runs else ()))
    return ModelDifference(
        one, other, gone, come, unseen, "; ".join(reasons), False,
        _less(one.races, other.races), _less(other.races, one.races),
    )  # fmt: skip


def _of_undefined(one: AnsweredTest, other: AnsweredTest) -> ModelDifference:
    """Where a program has no meaning, there are no states to compare."""
    if one.verdict == other.verdict:
        return ModelDifference(one, other)
    defined = other if one.verdict == "undefined" else one
    if defined.verdict == "undecided" and not defined.exact:
        return ModelDifference(one, other, open=f"{defined.of}: {defined.message or 'undecided'}")
    return ModelDifference(one, other, undefined=True)


def _common(one: AnsweredTest, other: AnsweredTest) -> frozenset[str] | None:
    """What the states of both speak of; None where there is nothing to compare them by."""
    if not one.states or not other.states:
        return names_in(one.states or other.states)
    named, others = names_in(one.states), names_in(other.states)
    common = named & others
    return common if common or not (named or others) else None


def _missing(one: AnsweredTest, other: AnsweredTest, common: frozenset[str]) -> list[FinalState]:
    """The states of one that the other does not have, seen through what both speak of."""
    there = {_seen(state, common) for state in other.states}
    found: dict[frozenset[tuple[str, object]], FinalState] = {}
    for state in one.states:
        seen = _seen(state, common)
        if seen not in there:
            found.setdefault(seen, {name: value for name, value in state.items() if name in common})
    return list(found.values())


def _seen(state: FinalState, common: frozenset[str]) -> frozenset[tuple[str, object]]:
    return frozenset((name, value) for name, value in state.items() if name in common)


def _less(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in some if kind not in others)
