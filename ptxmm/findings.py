"""What is wrong with a test, finding by finding: what gates show, annotate, and may accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.records import dataclass
from ptxmm.result import Checked, RaceEvent, Result, Spot, Step, event_text, undefined_by_race
from ptxmm.undefined import place as place_of
from ptxmm.undefined import shape
from ptxmm.words.notes import followed

#: The kinds of finding, with what each means: rules to a tool that lists them.
KINDS = {
    "condition": "the final condition of a litmus test does not hold as its quantifier says",
    "forall": "an execution ends with buffers that break a condition which all must satisfy",
    "exists": "no execution ends with buffers that satisfy a condition which some must",
    "never": "an execution ends with buffers that satisfy a condition which none must",
    "data-race": "conflicting accesses that nothing orders: weak ones, or out of each other's scope",
    "mixed-size-race": "conflicting accesses of different sizes that nothing orders, which have no defined meaning",
    "proxy-race": "conflicting accesses through different proxies without a proxy fence between them",
    "async-race": "an asynchronous operation and an access that its completion does not order, which have no defined meaning",
    "initialisation-race": "an operation on an mbarrier object before which its initialisation does not certainly come",
    "war-race": "a write through another proxy that may overtake an earlier read",
    "race_free": "a kernel has races, or has none, other than its test says",
    "no_deadlock": "a deadlock: a thread may be blocked without end at a barrier or at an mbarrier object",
    "terminates": "an execution may not terminate: a deadlock, a spin loop that nothing ends, or a livelock",
    "no_trap": "a thread may execute a trap, or fail an assertion",
    "assertions": "a thread may fail an assertion",
    "undefined": "the model gives the program no meaning",
    "expectation": "a test that was expected to fail does not",
    "assumption": "what the answer takes for granted",
    "undecided": "the question was not decided in the time allowed",
    "bounded": "what is claimed holds within the bounds of loops, and was not looked at beyond them",
    "error": "a test that cannot be read or decided",
}
#: Where the list of outcomes was cut. The verdict counts all of them.
NOT_ALL = "there may be more outcomes than are listed"
NOT_ALL_EXECUTIONS = "there may be more executions than were counted"
#: Races that leave a program without a meaning.
_MEANINGLESS = ("mixed-size", "async")
#: Findings that no baseline accepts: they say nothing of the test.
_NEVER_KNOWN = frozenset({"assumption", "undecided", "bounded", "error"})
#: What a finding makes of the exit status, where it is not a failure.
_STATUS = {"error": 2, "undecided": 3, "bounded": 3}


@dataclass(frozen=True, slots=True)
class Finding:
    """`test` is what every report calls it, `kind` one of `KINDS`. `message` is one line, `details` are further lines;
    `spots` say where, each with what happens there, and never are empty. `place` tells it from others of its kind in
    its test, and stays the same when unrelated lines change. `known`: a baseline accepts it. `steps`: an execution that shows
    it, each step with where, who and what."""

    test: str
    kind: str
    message: str
    spots: tuple[tuple[Spot, str], ...]
    place: str = ""
    details: tuple[str, ...] = ()
    known: bool = False
    steps: tuple[tuple[Spot, str, str], ...] = ()

    @property
    def may_be_known(self) -> bool:
        return self.kind not in _NEVER_KNOWN

    @property
    def status(self) -> int:
        """The exit status that it asks for by itself."""
        return 0 if self.known else _STATUS.get(self.kind, 1)


def findings(result: Result) -> list[Finding]:
    """What is wrong with a test, one by one, so that each may be known by itself: every check that does not hold, every race,
    what has no meaning; and what is not known of it: every check that is open, or rests on a bound. Nothing, where the test
    answers as it says it should."""
    if result.verdict == "error":
        return [_error(result)]
    if result.verdict == "undecided":
        return [_of(result, "undecided", result.error or "undecided")]
    if result.passed:
        return []
    if result.verdict == "bounded":
        return [_bounded(result)]
    found = [*_unexpected(result)]
    if result.verdict == "undefined" and not undefined_by_race(result):
        found.append(_undefined(result))
    found += [*_checks(result), *_races(result)]
    if result.verdict == "no":
        found += _left_open(result)
    return found or [_expectation(result)]


def _unexpected(result: Result) -> Iterator[Finding]:
    """Where a test says that something is wrong with it, and that is not so."""
    if "ok" not in result.expectation.split("|"):
        yield _expectation(result)


def _expectation(result: Result) -> Finding:
    verdict = result.own or result.verdict
    message = f"the verdict is {verdict}{besides(result)}, and {result.expectation.replace('|', ' or ')} was expected"
    return _of(result, "expectation", message, place=f"{verdict}, not {result.expectation}")


def besides(result: Result) -> str:
    """What is said where the verdict is another one than that of what the test itself asks."""
    return " without what was asked besides" if result.own not in ("", result.verdict) else ""


def _left_open(result: Result) -> Iterator[Finding]:
    """What nobody knows of a test, beside what is wrong with it: it must not pass because the rest is known."""
    for check in result.checks:
        if check.holds is None:
            yield _of(result, "undecided", f"{check.text}: {check.message or 'undecided'}")
    accepted = result.bounded_ok or "bounded" in result.expectation.split("|")
    if not accepted and any(check.bounded for check in result.checks):
        yield _bounded(result)


def assumptions(result: Result) -> list[Finding]:
    """What the answer rests on, as far as nobody asked for more: bounds of loops, and what was assumed."""
    found = []
    if not result.complete:
        found.append(_bounded(result))
    found += [_of(result, "assumption", message, spots=[(spot, "")]) for spot, message in result.warnings]
    return found + [_of(result, "assumption", note) for note in result.notes]


def _bounded(result: Result) -> Finding:
    cut = [(loop.at, followed(loop)) for loop in result.loops if loop.kind == "bounded"]
    return _of(result, "bounded", bound_of(result), spots=cut)


def bound_of(result: Result) -> str:
    """How far loops were followed, in words; empty for a complete answer."""
    if result.complete:
        return ""
    cut = [followed(loop) for loop in result.loops if loop.kind == "bounded"]
    return "; ".join(cut) or "loops were cut at their bounds"


def home(result: Result) -> Spot:
    """Where to point when nothing better is known: the condition, or the file."""
    return result.spot or Spot(file_of(result))


def file_of(result: Result) -> str:
    """The file of a test, without the name of a variant."""
    if result.spot is not None:
        return result.spot.path
    name = result.name.rpartition(":")[2]
    return result.path.removesuffix(f":{name}") if ":" in result.name else result.path


def _of(
    result: Result,
    kind: str,
    message: str,
    *,
    spots: list[tuple[Spot, str]] | None = None,
    place: str = "",
    details: list[str] | None = None,
    steps: tuple[tuple[Spot, str, str], ...] = (),
) -> Finding:
    spotted = tuple(spots or [(home(result), "")])
    return Finding(result.path, kind, message, spotted, place, tuple(details or ()), steps=steps)


def _steps(lines: Sequence[str], steps: Sequence[Step]) -> tuple[tuple[Spot, str, str], ...]:
    """The steps of a linearisation that stand somewhere, each with its line."""
    return tuple((step.spot, step.who, line) for line, step in zip(lines, steps, strict=False) if step.spot is not None)


def _error(result: Result) -> Finding:
    refusal = result.refusal
    if refusal is None:
        return _of(result, "error", result.error or "error")
    spots = [(refusal.spot, "")] if refusal.spot else None
    return _of(result, "error", refusal.message, spots=spots, details=[*refusal.details])


def _undefined(result: Result) -> Finding:
    reason = result.trouble or KINDS["undefined"]
    same = reason if result.undefined is None else place_of(result.undefined)
    return _of(result, "undefined", reason, spots=result.places, place=same)


def _condition(result: Result, check: Checked) -> Finding:
    """The condition of a litmus test, which does not hold."""
    telling = result.kind != "forall"
    states = [s for s, holds in zip(result.states, result.satisfied, strict=False) if holds == telling]
    details = [", ".join(f"{name} = {value}" for name, value in state.items()) for state in states[:5]]
    details += [*check.linearisation, *(result.why["text"] if result.why else [])]
    steps = _steps(check.linearisation, check.steps) or _steps(
        result.why["text"] if result.why else (), result.why_steps
    )
    return _of(result, "condition", check.message, spots=check.spots, place=check.text, details=details, steps=steps)


def _checks(result: Result) -> Iterator[Finding]:
    for check in result.checks:
        if check.holds is False and check is result.checks[0] and not result.of_kernel:
            yield _condition(result, check)
        elif check.holds is False and not (check.kind == "race_free" and result.races):
            spots = check.spots or check.keeps or ([(check.spot, "")] if check.spot else None)
            yield _of(
                result, check.kind, check.message, spots=spots, place=check.place or check.text, details=check.linearisation,
                steps=_steps(check.linearisation, check.steps),
            )  # fmt: skip


def _races(result: Result) -> Iterator[Finding]:
    """A finding for each pair of instructions that race, whichever threads execute them; none where races are right."""
    if any(check.kind == "race_free" and check.holds for check in result.checks):
        return
    seen: set[tuple[object, ...]] = set()
    for race in result.races:
        pair = (race.kind, *sorted((str(e.file), str(e.line), e.instruction) for e in race.events))
        if pair in seen:
            continue
        seen.add(pair)
        spots = [(_event_spot(result, e), event_text(e)) for e in race.events]
        place = " / ".join(sorted(shape(e.instruction) for e in race.events))
        message = f"{race.kind} race between {' and '.join(event_text(e) for e in race.events)}"
        if result.verdict == "undefined" and race.kind in _MEANINGLESS:
            message += "; the behaviour is undefined"
        details = [text for text in (*race.execution, race.reason) if text]
        steps = _steps(race.execution, race.steps)
        yield _of(result, f"{race.kind}-race", message, spots=spots, place=place, details=details, steps=steps)


def _event_spot(result: Result, event: RaceEvent) -> Spot:
    at = event.at or Spot(event.file or "", event.line)
    return Spot(at.path or file_of(result), at.line)
