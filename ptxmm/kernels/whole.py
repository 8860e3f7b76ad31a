"""Whole launches: kernel tests decided by one run of all threads, where it stands for all executions (docs/whole-launches.md).

test -> a watched run -> every check answered from it, or a race shown, or what this way leaves open
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.confluent import Confluent
from axioms.dynamic.depends import Ran
from axioms.dynamic.determinate import Determinate
from axioms.dynamic.findings import Misuse, Open, Race
from axioms.dynamic.together import Together
from axioms.liveness.progress import progress_named
from axioms.models.options import OF_LAUNCHES
from ptxcore.clock import left, limited
from ptxmm.answers import Coverage, own_verdict_of, settle, verdict_of
from ptxmm.kernels.cancelled import cancels
from ptxmm.kernels.changing import NotAlike
from ptxmm.kernels.changing import Places as ChangingPlaces
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.numbers import Declared
from ptxmm.kernels.places import Places
from ptxmm.kernels.replayed import replayed
from ptxmm.kernels.runs import Runs, State, all_beside, truth
from ptxmm.kernels.several import Failed, OpenIn, RaceOf, Several, hunt, race_of, run_several
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.kernels.ticketed import decide_by_tickets
from ptxmm.kernels.watched_runs import WatchedRun, looking_back, watched_run
from ptxmm.kernels.whole_contents import FILLS, Contents
from ptxmm.kernels.whole_findings import Findings
from ptxmm.report import checks as words
from ptxmm.report import whole as told
from ptxmm.report.notes import held_at_first
from ptxmm.result import Checked, Result, observation_of

if TYPE_CHECKING:
    from axioms.cat.model import Model

#: Tests of fewer threads are decided event by event: that is as fast there, and lists executions.
FEWEST = 33
#: A run has buffers in full: with more bytes in all, only what is touched is looked at.
_MOST_BYTES = 1 << 28
#: Seeds of other orders, in which a race may show that an error hides in this one.
_OTHER_ORDERS = (1, 2)
#: What several runs may decide where one does not.
_EXPLORED = frozenset(("order", "unordered", "error"))
#: What leaves a run open that another order of threads may show to be a race: a thread uses what somebody is yet to write.
_HIDDEN = frozenset(("unknown",))
#: Errors that tell of themselves what is wrong: what has no meaning, and threads that wait for ever.
_MISUSED = frozenset((
    "bad-mbarrier", "bad-matrix", "bad-metadata", "bad-tensor-map", "unfenced-product", "unfinished-product",
    "tensor-allocation", "tensor-bounds", "tensor-lane", "bad-tensor-memory", "bad-descriptor", "barrier-count",
    "barrier-divergence", "bad-barrier",
))  # fmt: skip
_STUCK = "deadlock"
#: Errors that leave a launch without a meaning, which the formula tells where it can be asked.
_UNDEFINED = frozenset(("bad-mask", "bad-size", "misaligned", "out-of-bounds", "wrong-space"))
#: Instructions that runs follow and the formula does not.
BY_RUNS_ALONE = frozenset(("wgmma", "tcgen05", "clusterlaunchcontrol"))
_TELLING = _MISUSED | {_STUCK}
#: The part of a time limit that a run may take.
_SHARE = 0.5
#: Seconds that many runs may take to find something wrong where nothing is proven.
_HUNTING = 10.0
#: Where more runs than these are needed for all executions, something wrong is looked for before they are made.
_FEW = 32
#: Runs that look for something wrong before any are made that prove something: one of them has a read find what is older.
_AT_ONCE = 3
#: Readings of the manual that runs know; under others the formula decides.
READINGS = frozenset(("war-ok", *OF_LAUNCHES))


def threads_of(test: KernelTest) -> int:
    """How many threads all launches have, as far as the test says it itself."""
    return sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)


def may_be_whole(test: KernelTest, model: Model) -> bool:
    """Whether this way is tried first: it may be, and there are enough threads, or the formula may not know an instruction."""
    return (_may_be_alone(test) or threads_of(test) >= FEWEST) and may_be_run(test, model)


def _may_be_alone(test: KernelTest) -> bool:
    """Whether a kernel may have instructions that the formula does not know: their names stand somewhere in its text."""
    return any(word in launch.text for launch in test.launches for word in BY_RUNS_ALONE)


def must_be_run(test: KernelTest) -> bool:
    """Whether a kernel has instructions that the formula does not know. Raises InputError for a module that is wrong."""
    return _may_be_alone(test) and bool(by_runs_alone(Runs(test)))


def may_be_run(test: KernelTest, model: Model) -> bool:
    """Whether this way may be tried: launches come one after the other, or all at the same time; every thread is scheduled
    fairly (who waits at a barrier for somebody who need not be does not terminate), the theorem speaks of the model, and
    buffers are not too large."""
    in_order = len({launch.queue for launch in test.launches}) == 1 and not any(l.after for l in test.launches)
    fair = test.resident is None and (test.progress is None or progress_named(test.progress).is_fair)
    size = sum(p.elements * TYPES[p.type].width // 8 for p in test.parameters if isinstance(p, Buffer))
    spoken_of = bool(model.shipped) and model.readings <= READINGS
    return (in_order or all_beside(test)) and fair and spoken_of and size <= _MOST_BYTES


def by_runs_alone(runs: Runs) -> list[str]:
    """The instructions of a kernel that runs follow and the formula does not."""
    programs = [device.program for device in runs.devices.values()]
    codes = [code for program in programs for code in program.functions.values()]
    return sorted({op.use.form.mnemonic for code in codes for op in code.ops} & BY_RUNS_ALONE)


def tells_races(model: Model) -> bool:
    """Whether a model says which accesses race."""
    return any(flag.name == "data" for flag in model.flags)


def decide_whole(test: KernelTest, result: Result, deadline: float | None, model: Model) -> str:
    """Answers all checks of a test by one run and writes the answers into the result. Otherwise it leaves the result as it is,
    and says why. Raises InputError for a module that is wrong."""
    racing = tells_races(model)
    runs = Runs(test, watched=True)
    run = partial(watched_run, runs, readings=model.readings)
    places = Places(test)
    result.warnings = places.warnings(runs.warnings)
    if cancels(runs):
        from ptxmm.kernels.cancelled import decide_by_choices

        with limited(None if deadline is None else max(0.0, deadline - time.monotonic())):
            return decide_by_choices(runs, result, places, run, racing=racing)
    with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
        ran = looking_back(run, run(None))
        run = partial(run, searched=ran.searched)
        if racing:
            again = (run(seed, alone=True) for seed in _other_orders(ran))
            ran = next((other for other in again if isinstance(other.why, Race)), ran)
        certain = isinstance(ran.why, Race | Misuse)
        ones = run(None, FILLS[1]) if _open_ones(test) and not certain else None
        if ones is not None and isinstance(ones.why, Race | Misuse):
            ran = ones
    unsettled = Contents(test, ran.recorded, [], places).open_product() if ran.why is not None else ""
    if unsettled:
        return unsettled
    if _found(runs, result, ran, places, racing=racing):
        if _open_ones(test):
            held = told.holding(_open_ones(test), FILLS[ran is ones])
            result.notes += [*held_at_first(_open_ones(test)), held]
        return ""
    if isinstance(ran.why, Race | Misuse):
        return told.left_open("unordered", "")
    left = [(len(ran.watchers) - 1, ran.why)] if ran.why is not None else []
    left += [(i, w.unknown) for i, w in enumerate(ran.watchers) if w.unknown is not None]
    what = left[0][1].what if left else ""
    spoken_of = racing and not (_open_ones(test) or by_runs_alone(runs))  # of other models the theorem does not speak
    if what in _EXPLORED | _HIDDEN and spoken_of:
        with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
            if what in _HIDDEN:
                found = race_of(runs)
                several = None if found is not None and _tell_wrong(runs, result, places, found) else left[0]
            else:
                otherwise = partial(_decide_by_several, runs, result, places)
                several = decide_by_tickets(runs, result, places, otherwise, partial(_tell_all, test, result))
        if several is None:
            return ""
        left = [several]
    if left:
        number, open_ = left[0]
        party = open_.party
        place = str(places.of(number, party.op, runs.devices[test.launches[number].loaded].program)) if party else ""
        said = ran.error.message if open_.what == "error" and ran.error is not None else ""
        return told.left_open(open_.what, place, said)
    assert ran.state is not None
    states = [ran.state, *([] if ones is None or ones.state is None else [ones.state])]
    contents = Contents(test, ran.recorded, states, places)
    more = contents.open_decision()
    if not more and ones is not None and _differ(ran, ones):
        more = told.left_open("contents", "")
    if more:
        return more
    _tell(test, result, contents)
    accesses, meetings, waits = (sum(getattr(w, n) for w in ran.watchers) for n in ("accesses", "meetings", "waits"))
    copies = sum(w.copies.issued for w in ran.watchers if isinstance(w, Determinate))
    commuted = any(w.commuted for w in ran.watchers)
    result.notes.append(told.counted(threads_of(test), accesses, meetings, waits, copies, commuted=commuted))
    looking = [w for w in ran.watchers if isinstance(w, Confluent) and w.found]
    if looking:
        result.notes.append(told.looked_back(sum(len(w.found) for w in looking), sum(w.ways for w in looking)))
    result.notes += [contents.said(), *held_at_first(_open_ones(test))]
    return ""


def _found(runs: Runs, result: Result, ran: WatchedRun, places: Places, *, racing: bool) -> bool:
    """Whether what a run shows is wrong, whatever other executions do: then it is told."""
    if not ran.watchers:
        return False
    findings = Findings(runs, places, len(ran.watchers) - 1, ran.watchers[-1].indices, result)
    if isinstance(ran.why, Race):
        if racing:
            last = ran.watchers[-1]
            findings.race(ran.why, synchronized=not last.exact or last.waits > 0)
    elif isinstance(ran.why, Misuse):
        if racing:
            findings.misuse(ran.why)
    elif ran.error is not None and (
        ran.error.kind in _MISUSED or (ran.error.kind in _UNDEFINED and by_runs_alone(runs))
    ):
        findings.fault(ran.error)
    elif ran.error is not None and ran.error.kind == _STUCK:
        determined = all(map(_is_certain, ran.watchers)) and not any(_sums(r) for r in ran.recorded)
        findings.deadlock(ran.error, always=determined)
    if result.verdict not in ("no", "undefined") and racing:
        for number, watcher in enumerate(ran.watchers):
            overwriting = watcher.copies.overwriting if isinstance(watcher, Determinate) else None
            if overwriting is not None and result.verdict != "no":
                Findings(runs, places, number, watcher.indices, result).race(overwriting, synchronized=True)
    return result.verdict in ("no", "undefined")


def _sums(ran: Ran) -> bool:
    """Whether the manual leaves open what some sum of products is."""
    return any(op.use.form.first != "alloc" for op in ran.recording.products.values())


def _is_certain(watcher: Determinate | Together) -> bool:
    """Whether what a run did so far, every execution does."""
    return watcher.unknown is None and not (isinstance(watcher, Determinate) and watcher.phases.unsure)


def _other_orders(ran: WatchedRun) -> tuple[int | None, ...]:
    """Seeds of orders of single threads in which a race may show that did not in a run: where an error hides it, since
    somebody may have written what a thread read in vain; and where it may come before what was open."""
    if ran.error is not None and ran.error.kind not in _TELLING:
        return _OTHER_ORDERS
    if ran.why is None and any(w.unknown is not None and w.unknown.what == "instance" for w in ran.watchers):
        return _OTHER_ORDERS
    hidden = ran.why is None and any(isinstance(w, Together) and w.unknown for w in ran.watchers)
    return (None,) if hidden else ()


def _open_ones(test: KernelTest) -> list[str]:
    """The buffers that may hold anything at first."""
    return [p.name for p in test.parameters if isinstance(p, Buffer) and p.open]


def _differ(one: WatchedRun, other: WatchedRun) -> bool:
    """Whether two runs are not the same, as those are that differ in contents on which nothing depends."""
    counts = [[(w.accesses, w.meetings, w.waits, w.unknown is None) for w in ran.watchers] for ran in (one, other)]
    return other.why is not None or counts[0] != counts[1]


def _decide_by_several(
    runs: Runs, result: Result, places: Places, *, raceless: bool = False
) -> tuple[int, Open] | None:
    """Answers all checks by several runs, or by a race or a failed check of one; gives what is open, and in
    which launch. `raceless`: it is known that there is no race."""
    test = runs.test
    if not raceless and (found := race_of(runs)) is not None and _tell_wrong(runs, result, places, found):
        return None
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    broken = partial(_breaks, test, safe)
    with limited(_SHARE * _HUNTING):
        wrong = hunt(runs, broken, _AT_ONCE, ("",))
    if wrong is not None and _tell_wrong(runs, result, places, wrong):
        return None
    most = left()
    with limited(None if most is None else _SHARE * most):  # the rest is for bugs
        several = run_several(runs, broken, _FEW)
    if isinstance(several, OpenIn):
        too_many = several.open.what in ("runs", "time")
        alike = _by_alike_runs(runs, broken) if too_many else None
        if not isinstance(alike, Failed) and (alike is None or alike.differing):
            if _hunted(runs, result, places, broken):
                return None
            several = run_several(runs, broken) if too_many else several
        several = alike if alike is not None and isinstance(several, OpenIn) else several
    if isinstance(several, OpenIn):
        return several
    if isinstance(several, Failed):
        _tell_failed(test, result, several.state)
        return None if result.verdict == "no" else (0, Open("error"))
    if several.beyond and not _hold(test, several.states):
        return 0, Open("fence")
    _tell_all(test, result, several)
    note = told.several(several.runs, threads_of(test), several.accesses, changing=several.changing)
    result.notes.append(note)
    return None


def _by_alike_runs(runs: Runs, broken: Callable[[State], bool]) -> Several | Failed | None:
    """What runs show of which none is another one with its CTAs in other places; None where that is nothing."""
    try:
        found = run_several(runs, broken, places=ChangingPlaces(runs))
    except NotAlike:
        return None
    return None if isinstance(found, OpenIn) else found


def _breaks(test: KernelTest, safe: list[Check], state: State) -> bool:
    return not all(truth(test, check, state) for check in safe)


def _hunted(runs: Runs, result: Result, places: Places, broken: Callable[[State], bool]) -> bool:
    """Whether one of many runs, or one that does what goes wrong in a smaller launch, shows that the test fails; then it is
    told."""
    with limited(_HUNTING):
        again = replayed(runs, broken)
    if again is not None and _tell_wrong(runs, result, places, again.found):
        result.notes.append(told.replayed(again.ctas, again.threads))
        return True
    with limited(_HUNTING):
        wrong = hunt(runs, broken)
    return wrong is not None and _tell_wrong(runs, result, places, wrong)


def _tell_wrong(runs: Runs, result: Result, places: Places, wrong: RaceOf | Failed) -> bool:
    """Tells what a run shows that is wrong; whether the test fails by it."""
    if isinstance(wrong, Failed):
        _tell_failed(runs.test, result, wrong.state)
    else:
        findings = Findings(runs, places, wrong.launch, wrong.watcher.indices, result)
        findings.race(wrong.race, synchronized=not wrong.watcher.exact)
    return result.verdict == "no"


def _tell_all(
    test: KernelTest, result: Result, several: Several, differing: Callable[[str, list[str]], str] = told.of_places
) -> None:
    """All outcomes, in which all threads end: every check answers by them, but those that are about what may differ, of which
    `differing` says why. (Some may not be told that are as the checks want them.)"""
    states = several.states
    declared = Declared(p for p in test.parameters if isinstance(p, Buffer))
    shown = [declared.state(state) if declared.types else state for state in states]
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    for checked, check in zip(result.checks, test.checks, strict=True):
        truths = [truth(test, check, state) for state in states]
        wanted = check.kind == "exists"
        at = truths.index(wanted) if wanted in truths else 0
        if truths[at] is not wanted and check.elements() & several.differing:
            checked.message = differing(checked.text, sorted(check.elements() & several.differing))
        else:
            _answer(checked, check, truths[at], shown[at])
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    if result.verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)
    result.states, result.complete, result.runs = shown, True, several.runs
    result.listed_all = not (several.beyond or several.differing)
    asked = safe or [check for check in test.checks if check.kind == "exists"]
    if asked:
        holds = [all(truth(test, check, state) for check in asked) for state in states]
        result.satisfied, result.positive, result.negative = holds, holds.count(True), holds.count(False)
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(str(check.expression and check.expression.text) for check in asked)
        if result.listed_all or several.beyond or (result.positive and result.negative):
            result.observation = observation_of(result.positive, result.negative)


def _tell(test: KernelTest, result: Result, contents: Contents) -> None:
    """One outcome, or with open contents one of those with each, in which all threads end: every check answers by it."""
    declared = Declared(contents.buffers)
    states = [state for i, state in enumerate(contents.states) if state not in contents.states[:i]]
    truths = [truth(test, check, states[0]) for check in test.checks if check.expression is not None]
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    for checked, check in zip(result.checks, test.checks, strict=True):
        existential = check.kind == "exists" or not check.wanted
        state = next((s for s in states if truth(test, check, s) is existential), None)
        open_ = contents.open_in(check) if state is None else []
        if products := contents.products_in(check):
            checked.message = told.of_products(checked.text, products)
        elif addresses := contents.products_in(check, addresses=True):
            checked.message = told.of_addresses(checked.text, addresses)
        elif open_:
            checked.message = told.of_contents(checked.text, open_)
        else:
            shown = states[0] if state is None else state
            _answer(checked, check, truth(test, check, shown), declared.state(shown))
            if checked.holds is False and state is not None:
                checked.story = contents.begins(state)
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    if result.verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)
    result.listed_all = not any(
        contents.open_in(check) or contents.products_in(check) or contents.products_in(check, addresses=True)
        for check in test.checks
    )
    result.states, result.complete, result.runs = list(map(declared.state, states)), True, len(contents.states)
    if truths:
        asked = safe or [check for check in test.checks if check.kind == "exists"]
        result.satisfied = [all(truth(test, check, state) for check in asked) for state in states]
        result.positive, result.negative = result.satisfied.count(True), result.satisfied.count(False)
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(str(check.expression and check.expression.text) for check in asked)
        if result.listed_all or (result.positive and result.negative):
            result.observation = observation_of(result.positive, result.negative)


def _hold(test: KernelTest, states: list[State]) -> bool:
    """Whether no check asks for an execution, and none of the outcomes is against one."""
    universal = all(check.kind != "exists" and check.wanted for check in test.checks)
    return universal and all(truth(test, check, state) for check in test.checks for state in states)


def _tell_failed(test: KernelTest, result: Result, state: State | None) -> None:
    """One execution that is against a check, with its outcome where it terminates; of the others nothing is known."""
    declared = Declared(p for p in test.parameters if isinstance(p, Buffer))
    shown = {} if state is None else declared.state(state) if declared.types else state
    for checked, check in zip(result.checks, test.checks, strict=True):
        if state is None and check.kind == "terminates" and check.wanted:
            checked.holds, checked.message = False, told.waits_for_ever(checked.text)
        elif state is not None and check.kind in ("forall", "never") and not truth(test, check, state):
            _answer(checked, check, False, shown)
        else:
            checked.message = told.not_looked_at(checked.text)
    if verdict_of(result.checks) != "no":
        for checked in result.checks:
            checked.holds, checked.message = None, ""
        return
    result.verdict, result.own, result.runs = "no", own_verdict_of(result.checks), 1
    result.listed_all = False
    result.states = [shown] if state is not None else []


def _answer(checked: Checked, check: Check, holds: bool, state: State) -> None:
    existential = check.kind == "exists" or not check.wanted
    settle(checked, Coverage.COMPLETE, shown=holds is existential, existential=existential)
    if checked.holds:
        return
    if check.kind in ("forall", "never"):
        checked.state, checked.message = state, words.broken(checked, state)
    elif check.kind == "exists":
        checked.message, checked.story = words.unsatisfied(checked), [words.state_of(state)]
    elif check.kind == "race_free":
        checked.message = words.raceless(checked)
    else:
        checked.message = words.goes_on(checked)
