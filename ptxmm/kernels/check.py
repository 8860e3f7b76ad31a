"""Kernel tests decided: one program, and each check a question to it.

launches -> program (see `build`) -> outcomes -> each check on each outcome -> verdict, with an execution for what fails
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from axioms.errors import UnsupportedProgram
from axioms.liveness.search import may_fail_assertions
from axioms.models.options import LENIENT, OF_RUNS
from axioms.witness.result import Decision, Undefined
from axioms.witness.undefined import located
from ptxcore import clock
from ptxcore.clock import OutOfTime, deadline_of_all
from ptxcore.collection import collection_rare
from ptxcore.diagnostics import InputError, NotExplored
from ptxmm.answers import OUT_OF_TIME, TOO_LARGE, own_verdict_of, told, verdict_of
from ptxmm.kernels.by_readings import by_readings, hangs_on_a_reading, in_warps, tells_leniently
from ptxmm.kernels.counterexamples import UNTOLD, shown_beside, shown_by_runs
from ptxmm.kernels.determinism import compared_with_a_run
from ptxmm.kernels.explored import TooLargeLaunch
from ptxmm.kernels.extent import extent, too_large
from ptxmm.kernels.judging import JUDGES, asked_for_itself
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.modules import has_dynamic
from ptxmm.kernels.question import SAFE, KernelQuestion
from ptxmm.kernels.replayed import redone
from ptxmm.kernels.runs import Runs, threads_of
from ptxmm.kernels.smaller import SHARE, may_be_smaller, told_of_smaller
from ptxmm.kernels.streams import one_by_one
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.kernels.watched_run import by_runs_alone
from ptxmm.kernels.whole import (
    decide_on_devices,
    decide_whole,
    may_be_hunted,
    may_be_run,
    may_be_whole,
    must_be_run,
    shows_bugs,
    tells_races,
)
from ptxmm.races import entry
from ptxmm.result import ASSERTIONS, Checked, Loop, Result, Witness, observation_of, out_of_time
from ptxmm.undefined import sentence
from ptxmm.words import notes
from ptxmm.words.checks import open_for
from ptxmm.words.whole import LeftOpen, SumOrders
from ptxmm.words.whole import by_runs_alone as told_by_runs_alone

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from axioms.witness.execution import ExecutedEvent

__all__ = ["KernelQuestion", "check"]


@collection_rare()
@compared_with_a_run
def check(
    test: KernelTest,
    model: Model,
    *,
    unroll: int = 4,
    engine: str = "solve",
    backend: str | None = None,
    timeout: float | None = None,
    all_elements: bool = False,
    asked: tuple[str, ...] = (),
    why: bool = False,
    explain: bool = False,
    options: frozenset[str] = frozenset(),
    model_name: str = "",
    progress: str | None = None,
    resident: int | None = None,
) -> Result:
    """Decides a kernel test; `asked`: properties to check besides what it says of others itself; with `why` or `explain`,
    what the checks forbid comes with its reason. Raises InputError, and UnsupportedProgram for what is not decided."""
    own = test.checks
    more = (kind for kind in asked if all(c.kind != kind for c in own))
    test = replace(test, checks=(*own, *(Check(kind, spot=own[0].spot) for kind in more)))
    test = one_by_one(_scheduled(test, progress, resident, unroll))
    result = _begun(test, len(own), model_name or model.name)
    start = time.perf_counter()
    deadline = deadline_of_all(timeout)
    open_, of_run, question = "", None, None
    by_runs = engine == "solve" and not (all_elements or options - OF_RUNS) and (not why or must_be_run(test))
    of_runs = _reading(model, options & OF_RUNS)
    by_runs_later = by_runs and _is_small(test, model)
    later = deepcopy(result) if by_runs_later and timeout is not None else None
    blank = deepcopy(result)
    smaller = by_runs and timeout is not None and may_be_whole(test, model) and may_be_smaller(test)
    try:
        if by_runs and may_be_whole(test, model):
            by_run = deepcopy(result)
            open_ = decide_whole(test, by_run, deadline, of_runs)
            result.warnings = by_run.warnings
            if hangs_on_a_reading(open_):
                by_run, open_ = by_readings(test, deepcopy(result), deadline, of_runs, open_)
            if not open_:
                undecided = by_run.verdict == "undecided"
                shown_too = undecided and shown_beside(test, by_run, deadline)
                if shown_too or not undecided or _is_final(by_run, test, timeout):
                    if not shown_too:
                        tells_leniently(test, by_run, blank, deadline, of_runs)
                    result = by_run
                    return result
                of_run = by_run
            elif _ends_so(test, result, deadline, of_runs, open_):
                return result
        elif by_runs and may_be_hunted(test, model):
            shown = deepcopy(result)
            if decide_on_devices(test, shown, deadline, of_runs) or shows_bugs(test, shown, deadline, of_runs):
                result = shown
                return result
        until = _earlier(deadline, _SHARE if later is not None else SHARE * smaller)
        with clock.limited(_at_most(until)) if until is not None else nullcontext():
            question = KernelQuestion(
                test, model, engine=engine, backend=backend, deadline=until, all_elements=all_elements, why=why,
                explain=explain, options=options,
            )  # fmt: skip
            if by_runs_later and len(question.program.events) >= _MANY_EVENTS:
                sooner = deepcopy(result)
                if _decided_by_runs(test, sooner, _sooner(deadline), of_runs):
                    result = sooner
                    return result
            _add_assertions(question, result)
            # What is raised leaves no answer behind: zeros in memory may have been asked, and nothing else yet.
            result = _answer_for_all_contents(question, deepcopy(result))
    except (OutOfTime, TimeoutError) as error:  # before anything was looked at
        result.error, result.stopped = told(error), True
    except TooLargeLaunch as error:
        result.error = TOO_LARGE
        result.notes.append(too_large(test, error))
    except UnsupportedProgram:
        if of_run is None:
            raise
    except InputError as error:
        alone = by_runs_alone(Runs(test)) if open_ or of_run is not None else []
        if alone:
            result.error, open_ = told_by_runs_alone(alone, open_), ""
        elif isinstance(error, NotExplored) and (
            open_ or of_run is not None
        ):  # a run has executed it: it is no bad input
            result.error = error.diagnostics[0].message
        else:
            raise
    finally:
        if question is not None:
            result.threads = question.who()
        result.seconds = time.perf_counter() - start
    if result.error == OUT_OF_TIME and later is not None and _decided_by_runs(test, later, deadline, of_runs):
        later.seconds = time.perf_counter() - start
        return later
    if result.error == OUT_OF_TIME:
        result.error = out_of_time(timeout)
        result.notes.append(extent(test, question))
        untold = smaller
    else:
        untold = by_runs and result.error == TOO_LARGE and may_be_smaller(test)
    decide = partial(_decide_smaller, model, unroll, options)
    if untold and _wrong_as_a_smaller_one(test, result, blank, decide, deadline, of_runs):
        blank.seconds = time.perf_counter() - start
        return blank
    if result.verdict == "undecided" and of_run is not None:  # it has answered some checks
        of_run.seconds = result.seconds
        return of_run
    if open_ and result.verdict == "undecided":
        result.notes.append(in_warps(test, blank, deadline, of_runs, open_) if by_runs else open_)
    return result


def _begun(test: KernelTest, own: int, model: str) -> Result:
    """The result of a test of which nothing is known; the first checks are its `own`."""
    return Result(
        path=test.identity,
        name=test.name,
        model=model,
        verdict="undecided",
        expectation="|".join(test.expect),
        spot=test.checks[0].spot if test.checks else None,
        of_kernel=True,
        kept=[*dict.fromkeys(launch.kept for launch in test.launches if launch.kept)],
        checks=[
            Checked(kind=c.kind, text=str(c), spot=c.spot, place=str(c), besides=i >= own)
            for i, c in enumerate(test.checks)
        ],
    )


def _scheduled(test: KernelTest, progress: str | None, resident: int | None, unroll: int) -> KernelTest:
    """A test with who is scheduled fairly, how many CTAs run at once, and the bounds of loops, as whoever asks says."""
    launches = test.launches if test.bounded else tuple(replace(launch, unroll=unroll) for launch in test.launches)
    return replace(
        test,
        launches=launches,
        progress=test.progress if progress is None else progress,
        resident=test.resident if resident is None else resident,
    )


def _ends_so(test: KernelTest, result: Result, deadline: float | None, model: Model, open_: str) -> bool:
    """Whether there is no more to say of a test that one run left open: other runs show what is wrong, or a reading is followed
    by runs alone."""
    if model.readings & {*LENIENT}:
        result.error = open_
        return True
    return not (isinstance(open_, LeftOpen) and open_.what in UNTOLD) and shown_by_runs(test, result, deadline)


def _reading(model: Model, options: frozenset[str]) -> Model:
    """A model with readings that runs follow, too."""
    if not options:
        return model
    read = copy(model)
    read.readings = model.readings | options
    return read


#: The part of a time limit that is left for runs where they are tried after the formula.
_SHARE = 0.5
#: Seconds for smaller launches of one that is too large, where there is no time limit.
_FOR_SMALLER = 30.0


#: A formula of so many events, or more, may take long: a bug must not wait for it, and runs are tried before it is asked. They
#: have so many seconds, and such a part of a time limit, at most. (A queue of four threads: 2,191 events and no answer in ten
#: seconds; by runs 0.2 s. Tests of up to 130 events take the formula two seconds at most.)
_MANY_EVENTS = 200
#: Seconds that are left when no more races are told of those that were found.
_TO_TELL = 2.0
_BEFORE, _SHARE_BEFORE = 10.0, 0.25
#: What of its time the formula may take where it does not look at its deadline.
_PATIENCE = 1.1


def _is_small(test: KernelTest, model: Model) -> bool:
    """Whether runs are tried only where the formula does not answer in time."""
    return may_be_run(test, model) and not may_be_whole(test, model)


def _sooner(deadline: float | None) -> float:
    """When runs must have ended that are made before the formula is asked."""
    until = time.monotonic() + _BEFORE
    return until if deadline is None else min(until, cast(float, _earlier(deadline, 1 - _SHARE_BEFORE)))


def _decided_by_runs(test: KernelTest, result: Result, deadline: float | None, model: Model) -> bool:
    """Whether runs decide a test of few threads, before the formula is asked, or where it has not answered in time."""
    try:
        return not decide_whole(test, result, deadline, model) and result.verdict != "undecided"
    except (OutOfTime, TimeoutError, UnsupportedProgram):
        return False


def _decide_smaller(model: Model, unroll: int, options: frozenset[str], test: KernelTest, seconds: float) -> Result:
    return check(test, model, unroll=unroll, timeout=seconds, options=options)


def _at_most(until: float | None) -> float | None:
    """After how many seconds what does not end by itself is ended."""
    return None if until is None else _PATIENCE * max(0.0, until - time.monotonic())


def _wrong_as_a_smaller_one(
    test: KernelTest,
    result: Result,
    blank: Result,
    decide: Callable[[KernelTest, float], Result],
    deadline: float | None,
    model: Model,
) -> bool:
    """Whether a launch that is not decided shows what goes wrong in a smaller one: then `blank` has the answer; else the result
    tells of smaller ones."""
    until = time.monotonic() + _FOR_SMALLER if deadline is None else deadline
    of_smaller = told_of_smaller(test, decide, until)
    if (
        of_smaller.wrong is not None
        and tells_races(model)
        and redone(test, blank, *of_smaller.wrong, until, model.readings)
    ):
        blank.warnings = result.warnings
        return True
    result.notes += of_smaller.notes
    return False


def _earlier(deadline: float | None, share: float) -> float | None:
    """When the formula must have ended, so that a share of the time is left for what is tried after it."""
    if deadline is None or not share:
        return deadline
    now = time.monotonic()
    return now + (1 - share) * max(0.0, deadline - now)


#: With more threads than this, what one run of all has left open is not asked of the formula, unless there is a limit of time.
_MOST_THREADS = 128


def _is_final(result: Result, test: KernelTest, timeout: float | None) -> bool:
    """Whether the formula is not asked what one run of all threads has left open: it would not know more."""
    hopeless = all(isinstance(checked.message, SumOrders) for checked in result.checks if checked.holds is None)
    return hopeless or (timeout is None and threads_of(test) > _MOST_THREADS)


def _add_assertions(question: KernelQuestion, result: Result) -> None:
    """What a kernel asserts itself is a check too, where it may be wrong and nobody asks of traps."""
    test = question.test
    if may_fail_assertions(question.built.program) and all(c.kind != "no_trap" for c in test.checks):
        question.test = replace(test, checks=(*test.checks, Check(ASSERTIONS)))
        result.checks.append(Checked(kind=ASSERTIONS, text=ASSERTIONS, spot=result.spot))


#: What memory holds that nothing wrote, as far as anybody can try.
_CONTENTS = {"1 in every word": b"\1\0\0\0", "every bit set": b"\xff", "0xa7 in every byte": b"\xa7"}


def _answer_for_all_contents(question: KernelQuestion, result: Result) -> Result:
    """The answer with zeros in memory that may hold anything at first; where a read may find there what nothing wrote, the
    answer must be the same with other things in it, and is told with the first that changes it, or breaks a promise about
    final contents that zeros do not break."""
    blank = deepcopy(result)
    decision = _answer(question, result)
    found = _unset(question, decision)
    wanted = ["ok"] if all(c.kind == "exists" for c in question.test.checks) else ["no", "undefined"]
    if not found or (result.verdict in wanted and not _may_break_more(result)):
        result.notes += found
        return result
    worst = result
    for what, contents in _CONTENTS.items():
        other = deepcopy(blank)
        question.built.program = question.built.holding(contents)
        try:
            _answer(question, other)
        except (OutOfTime, TimeoutError) as error:
            other.error, other.stopped = told(error), True
        worst = max(worst, other, key=_openness)
        if other.verdict in wanted and (result.verdict not in wanted or _broken(result) < _broken(other)):
            other.notes += [*found, notes.held(what)]
            return other
    if worst is not result and result.verdict not in (wanted or ["no"]) and result.verdict != "undefined":
        worst.notes += found  # with what these contents leave open, nothing is known of all
        return worst
    result.notes += [*found, notes.alike(_CONTENTS)]
    return result


def _openness(result: Result) -> int:
    """How little a result says."""
    return {"undecided": 2, "bounded": 1}.get(result.verdict, 0)


def _may_break_more(result: Result) -> bool:
    """Whether something is wrong, and yet a promise about final contents is kept."""
    return result.verdict == "no" and any(c.holds and c.kind in ("forall", "never") for c in result.checks)


def _broken(result: Result) -> set[int]:
    """Which checks do not hold."""
    return {i for i, c in enumerate(result.checks) if c.holds is False}


def _answer(question: KernelQuestion, result: Result) -> Decision:
    test = question.test
    decision = question.decide()
    _take(question, decision, result)
    if decision.undefined:
        _tell_undefined(question, result, decision.undefined)
        return decision
    open_: Decision | None = None
    for checked, wanted in zip(result.checks, test.checks, strict=True):
        own = asked_for_itself(question, decision, wanted)
        if own is not None and own.undefined:
            checked.message, open_ = open_for(checked, sentence(own.undefined)), own
        else:
            JUDGES[wanted.kind](question, decision if own is None else own, wanted, checked)
    verdict = verdict_of(result.checks)
    misuse = question.misuse or (open_.undefined if open_ else None)
    if verdict != "no" and misuse is not None:
        _tell_undefined(question, result, misuse)
        return decision
    result.verdict, result.own = verdict, own_verdict_of(result.checks)
    if verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)
    return decision


def _tell_undefined(question: KernelQuestion, result: Result, undefined: Undefined) -> None:
    found = result.undefined = question.named(located(question.program, undefined))
    result.verdict, result.error = "undefined", sentence(found)
    does = [(site, f"{site.name}: {site.instruction}") for site in found.culprits if site.thread >= 0]
    result.places = [question.pointed(site.thread, site.line, what) for site, what in does]
    bare = [l for l in question.test.launches if not l.dynamic_shared and has_dynamic(l.text)]
    if found.beside is not None and bare:
        result.notes.append(notes.NO_DYNAMIC)


def _take(question: KernelQuestion, decision: Decision, result: Result) -> None:
    """What is true of all checks together."""
    test = question.test
    result.states, result.satisfied = decision.states, decision.satisfied
    result.complete, result.listed_all = decision.complete, decision.listed_all
    result.stopped = decision.stopped is not None
    result.loops = [loop for loop in _loops(question) if loop.kind == "waiting" or not decision.complete]
    result.notes = [notes.ASSUMED[name] for name in question.built.assumed]
    result.notes += notes.held_at_first([p.name for p in test.parameters if isinstance(p, Buffer) and p.open])
    result.warnings = question.places.warnings(question.built.warnings)
    result.races, result.race_witnesses = [], []
    for race in decision.races:
        left = clock.left()
        if result.races and left is not None and left < _TO_TELL:  # each is as long as the launch is large
            result.notes.append(notes.races_untold(len(decision.races) - len(result.races)))
            break
        result.races.append(entry(race, question.cast))
        named = replace(question.renamed(race.execution), title=f"{result.name}  ({result.model})  {race.kind} race")
        result.race_witnesses.append(Witness(named))
    result.forbidding, result.forbidding_each = decision.forbidding, decision.forbidding_each
    if decision.why is not None:
        from ptxmm.words.why import Telling

        telling = Telling(decision.why, question.cast, complete=decision.complete)
        result.why, result.why_edges = telling.document(), telling.edges()
        title = f"{result.name}  ({result.model})  forbidden by {decision.why.axiom}"
        result.why_witness = Witness(replace(question.renamed(decision.why.execution), title=title))
    elif question.why and decision.unreachable is not None and any(c.expression for c in test.checks):
        from ptxmm.words.why import document, unexplained

        result.why = document(unexplained(decision.unreachable, question.cast, complete=decision.complete))
    result.witnesses = [
        Witness(replace(question.renamed(w), title=f"{result.name}  ({result.model})")) for w in decision.witnesses
    ]
    safe = [c for c in test.checks if c.kind in SAFE]
    asked = safe or [c for c in test.checks if c.kind == "exists"]
    if asked:
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(_written(c, len(asked) > 1) for c in asked)
        result.positive, result.negative = decision.positive, decision.negative
        if decision.ends or decision.complete:
            result.observation = observation_of(result.positive, result.negative)


#: So many places that read what nothing wrote are named.
_MOST_UNSET = 3


def _unset(question: KernelQuestion, decision: Decision) -> list[str]:
    """Reads of memory to which nothing was written: each place with the first of those who read there."""
    found: dict[str, dict[tuple[int, str], ExecutedEvent]] = {}  # a read is one, however many pieces of memory it is of
    for race in decision.unset:
        for _, r in race.execution.relations["race"]:
            read = race.execution.events[r]
            found.setdefault(question.cast.place(read), {}).setdefault((read.thread, read.location or ""), read)
    told = [notes.unset(next(iter(reads.values())), len(reads) - 1, question.cast) for reads in found.values()]
    return [*told[:_MOST_UNSET], *notes.unset_elsewhere(len(told) - _MOST_UNSET)]


def _written(check: Check, several: bool) -> str:
    text = check.condition
    if check.kind == "never":
        return f"!({text})"
    return f"({text})" if several else text


def _loops(question: KernelQuestion) -> list[Loop]:
    found = []
    for note in question.built.loops:
        source = question.places.source_spot(note.launch, note.source) if note.source else None
        spot = question.places.launch_spot(note.launch, note.line)
        threads = tuple(map(question.cast.name, note.threads))
        look = question.places.look(note.launch, note.line, source)
        found.append(Loop(note.kind, spot, source, note.label, note.iterations, threads, look))
    return found
