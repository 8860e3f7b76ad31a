"""Why a state is allowed here and forbidden there: the axioms that forbid it, and pictures of both sides."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from litmus.test import Condition, Test
from ptxcore.records import dataclass
from ptxmm.comparing.answers import AnsweredTest, FinalState
from ptxmm.comparing.differences import ModelDifference
from ptxmm.comparing.shrinking import proposition_of

if TYPE_CHECKING:
    from ptxmm.result import Result

#: Seconds for a reason or a picture, where no limit is given: a difference stands without them.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class DifferenceReason:
    """`allows` and `forbids` are names of models, `state` is what they differ in (empty where one of them gives the test no
    meaning, or finds a race that the other does not). `axioms` are those without which it would be allowed: all of them are
    needed, or with `each` any one of them is enough. `text` is what is said where no axiom is named.

    `allowed` is the picture of an execution that ends so, `forbidden` of the way in which it would break an axiom, as SVG;
    empty where there is none, or none was asked for."""

    allows: str
    forbids: str
    state: FinalState = field(default_factory=dict)
    axioms: tuple[str, ...] = ()
    each: bool = False
    text: str = ""
    allowed: str = ""
    forbidden: str = ""


def reasons(
    test: Test, found: ModelDifference, *, pictures: bool = False, timeout: float | None = None
) -> list[DifferenceReason]:
    """One reason for the first state that is lost, and one for the first that is won; or for an execution that one of the two
    gives no meaning. `pictures`: whether they are drawn."""
    limit = PATIENCE if timeout is None else timeout
    sides = [(found.one, found.other, found.lost), (found.other, found.one, found.won)]
    told = [_of_state(test, a, b, states[0], pictures, limit) for a, b, states in sides if states]
    if found.undefined:
        told.append(_of_undefined(test, found, pictures, limit))
    return told


def _of_state(
    test: Test, allows: AnsweredTest, forbids: AnsweredTest, state: FinalState, pictures: bool, limit: float
) -> DifferenceReason:
    asked = replace(test, condition=Condition("exists", proposition_of(state, test)), checks=(), meta=())
    reason = DifferenceReason(allows.of, forbids.of, state)
    if forbids.verdict != "absent" and not _is_log(forbids.of):
        result = _checked(asked, forbids.of, limit, explain=True)
        if result is not None:
            reason = replace(reason, axioms=result.forbidding, each=result.forbidding_each)
            if not reason.axioms or pictures:
                reason = _explained(reason, asked, limit, pictures)
    if pictures and not _is_log(allows.of):
        result = _checked(asked, allows.of, limit, witnesses=True)
        shown = () if result is None else zip(result.witnesses, result.satisfied, strict=False)
        witness = next((w for w, holds in shown if holds), None)
        reason = replace(reason, allowed=witness.svg() if witness else "")
    return reason


def _explained(reason: DifferenceReason, asked: Test, limit: float, pictures: bool) -> DifferenceReason:
    result = _checked(asked, reason.forbids, limit, why=True)
    if result is None:
        return reason
    if not reason.axioms:
        reason = replace(reason, axioms=result.forbidding, each=result.forbidding_each)
    text = "" if reason.axioms or not result.why else " ".join(result.why["text"][:1]).removesuffix(":")
    drawn = result.why_witness.svg() if pictures and result.why_witness else ""
    return replace(reason, text=text, forbidden=drawn)


def _of_undefined(test: Test, found: ModelDifference, pictures: bool, limit: float) -> DifferenceReason:
    """The one that gives the test no meaning is said to allow: anything may be then."""
    without, with_one = (found.one, found.other) if found.one.verdict == "undefined" else (found.other, found.one)
    reason = DifferenceReason(without.of, with_one.of, text=without.message)
    if pictures and not _is_log(without.of):
        result = _checked(test, without.of, limit, witnesses=True)
        drawn = result.race_witnesses[:1] if result is not None else []
        reason = replace(reason, allowed=drawn[0].svg() if drawn else "")
    return reason


def _is_log(name: str) -> bool:
    from ptxmm.comparing.logs import is_log

    return is_log(name)


def _checked(
    test: Test, model: str, limit: float, *, explain: bool = False, why: bool = False, witnesses: bool = False
) -> Result | None:
    """None where it cannot be decided any more: then a difference stands without its reason."""
    from axioms.errors import UnsupportedProgram
    from ptxcore.diagnostics import InputError
    from ptxmm import api

    try:
        return api.check(test, model, timeout=limit, explain=explain, why=why, witnesses=witnesses)
    except (InputError, UnsupportedProgram):
        return None
