"""Whole launches: kernel tests decided by one run of all threads, where it stands for all executions (docs/whole-launches).

test -> a watched run -> every check answered from it, or a race shown, or what this way leaves open
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Party
from axioms.dynamic.ctas.numbered import Numbered
from axioms.dynamic.lookback.confluent import Confluent
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.one_run.together import Together
from axioms.dynamic.sections.emulated import Emulating
from axioms.dynamic.several.plan import StrongBytes
from axioms.liveness.progress import progress_named
from axioms.models.options import LENIENT, OF_LAUNCHES, OF_RUNS
from ptxcore.clock import left, limited
from ptxmm.kernels.any_contents import decide_for_any_contents
from ptxmm.kernels.apart import SeparateGroups
from ptxmm.kernels.bugs import MANY, BugSearch
from ptxmm.kernels.cancelled import cancels, decide_by_choices
from ptxmm.kernels.changing import ChangingCtas as ChangingPlaces
from ptxmm.kernels.changing import NotAlike
from ptxmm.kernels.climbed import decide_by_climbs
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.overtaken import begins_early, overtaking_launch
from ptxmm.kernels.persistent import decide_by_rounds, decides_in_rounds, run_in_rounds
from ptxmm.kernels.places import Places
from ptxmm.kernels.provenance import tell_provenance
from ptxmm.kernels.runs import FinalValues, Runs, all_beside, side_by_side, threads_of
from ptxmm.kernels.searched import decide_by_searches
from ptxmm.kernels.sectioned import decide_by_sections
from ptxmm.kernels.several import UNWRITTEN, FailedExecution, FinalStates, OpenIn, run_several
from ptxmm.kernels.streams import are_partly_ordered, decide_streams
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.ticketed import decide_by_tickets
from ptxmm.kernels.unwritten import fails_with_contents
from ptxmm.kernels.watched_run import (
    BY_RUNS_ALONE,
    TELLING,
    WatchedRun,
    by_runs_alone,
    emulates,
    gathering,
    looking_back,
    numbers,
    open_buffers,
    shows,
    watched_run,
)
from ptxmm.kernels.whole_answers import all_hold, tell, tell_all
from ptxmm.kernels.whole_contents import FILLS, ContentsOfRuns
from ptxmm.kernels.wrong import breaking, tell_wrong
from ptxmm.result import Result
from ptxmm.words import whole as told
from ptxmm.words.notes import ASSUMED, held_at_first

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
#: What is open where more runs would be needed than can be made.
_BEYOND = frozenset(("runs", "time"))
#: What several runs do not decide, though one of them may show that something is wrong: they follow the operation in its order.
_HUNTED = frozenset(("asynchronous", "cluster", "instance", "mbarrier"))
#: What leaves a run open that another order of threads may show to be a race: a thread uses what somebody is yet to write.
_HIDDEN = frozenset(("unknown",))
#: What is open, and in which launch; None where nothing is.
_Left = tuple[int, Open] | None
#: Threads of launches that are run many times: with more of them that takes longer than anybody waits for.
_MOST_AGAIN = 1 << 16
#: The part of a time limit that a run may take; and of a launch of which no formula is made, by its threads.
_SHARE, _SHARE_OF_LARGE, _LARGE = 0.5, 0.8, 1024
#: Where more runs than these are needed for all executions, something wrong is looked for before they are made.
_FEW = 32
#: Seconds in which a run may show that the order of operations decides nothing, or runs be made that stand for all executions
#: where so many are enough: before any other argument, which takes as long as some of them.
_BRIEFLY, _SOME = 20.0, 16
#: Seconds for who wrote a value that is against a check, where a run shows it that does not stand for all.
_PROVENANCE = 5.0
#: Readings of the manual that runs know; under others the formula decides.
READINGS = frozenset(("war-ok", *OF_LAUNCHES, *OF_RUNS))


def may_be_whole(test: KernelTest, model: Model) -> bool:
    """Whether this way is tried first: it may be, and there are enough threads, or the formula may not know an instruction."""
    by_run = _may_be_alone(test) or threads_of(test) >= FEWEST or bool(model.readings & {*LENIENT})
    return by_run and may_be_run(test, model)


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
    return (in_order or all_beside(test) or are_partly_ordered(test)) and _may_be_followed(test, model)


def may_be_hunted(test: KernelTest, model: Model) -> bool:
    """Whether runs may show that something is wrong with launches of which they prove nothing: at the same time, on several
    devices or with CTAs of several sizes."""
    several = side_by_side(test) and not all_beside(test) and FEWEST <= threads_of(test) <= _MOST_AGAIN
    return several and tells_races(model) and _may_be_followed(test, model)


def _may_be_followed(test: KernelTest, model: Model) -> bool:
    fair = test.resident is None and (test.progress is None or progress_named(test.progress).is_fair)
    size = sum(p.elements * TYPES[p.type].width // 8 for p in test.parameters if isinstance(p, Buffer))
    spoken_of = bool(model.shipped) and model.readings <= READINGS
    return fair and spoken_of and size <= _MOST_BYTES


def tells_races(model: Model) -> bool:
    """Whether a model says which accesses race."""
    return any(flag.name == "data" for flag in model.flags)


def shows_bugs(test: KernelTest, result: Result, deadline: float | None, model: Model) -> bool:
    """Whether some run shows that something is wrong; then it is told. Raises InputError for a module that is wrong."""
    runs, places = Runs(test, watched=True, readings=model.readings), Places(test)
    if _have_variables(runs):
        return False
    bugs = BugSearch(runs, result, places)
    with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
        if bugs.in_orders() or bugs.everywhere():
            result.warnings = places.warnings(runs.warnings)
            result.notes += _held(test, FILLS[0])
            return True
    return False


def decide_on_devices(test: KernelTest, result: Result, deadline: float | None, model: Model) -> bool:
    """Answers all checks of launches at the same time, on several devices and with CTAs of one size, by one run; whether that
    stands for all executions. Raises InputError for a module that is wrong."""
    runs, places = Runs(test, watched=True, readings=model.readings), Places(test)
    if len({launch.block for launch in test.launches}) > 1 or _have_variables(runs):
        return False
    run = partial(watched_run, runs, readings=model.readings, alone=True)
    with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
        ran = gathering(run, run(None))
        filled = partial(run, polling=ran.polling)
        made = [ran, *([filled(None, FILLS[1])] if open_buffers(test) else [])]
    for one in made:
        open_ = one.why is not None or one.state is None or any(w.unknown is not None for w in one.watchers)
        if open_ or any(isinstance(w, Determinate) and w.agents.issued for w in one.watchers):
            return False
    result.warnings = places.warnings(runs.warnings)
    return not _by_one_run(test, result, places, ran, made[1] if len(made) > 1 else None)


def _have_variables(runs: Runs) -> bool:
    """Whether there are variables of a module on several devices, each of which has its own."""
    programs = [device.program for device in runs.devices.values()]
    return len(programs) > 1 and any(program.layout.variables for program in programs)


def decide_whole(test: KernelTest, result: Result, deadline: float | None, model: Model) -> str:
    """Answers all checks of a test by one run and writes the answers into the result. Otherwise it leaves the result as it is,
    and says why. Raises InputError for a module that is wrong."""
    runs = Runs(test, watched=True, readings=model.readings)
    open_ = _decide(test, runs, result, deadline, model)
    codes = [code for device in runs.devices.values() for code in device.program.functions.values()]
    if not open_ and any(op.use.form.mnemonic == "activemask" for code in codes for op in code.ops):
        result.notes.append(ASSUMED["activemask"])
    return open_


def _decide(test: KernelTest, runs: Runs, result: Result, deadline: float | None, model: Model) -> str:
    """The same."""
    racing = tells_races(model)
    run = partial(watched_run, runs, readings=model.readings)
    places = Places(test)
    result.warnings = places.warnings(runs.warnings)
    if cancels(runs):
        if (early := overtaking_launch(runs)) is not None:
            return told.left_open("grid", places.of_party(early[0], early[1].party, runs.program_of(early[0])))
        with limited(None if deadline is None else max(0.0, deadline - time.monotonic())):
            return decide_by_choices(runs, result, places, run, racing=racing)
    if are_partly_ordered(test):
        with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
            by_one = partial(_by_one_run, test, result, places)
            make = partial(partial, watched_run, readings=model.readings)
            return decide_streams(runs, result, places, by_one, make, racing=racing)
    share = _SHARE_OF_LARGE if threads_of(test) > _LARGE else _SHARE
    with limited(None if deadline is None else max(0.0, share * (deadline - time.monotonic()))):
        ran = gathering(run, run(None))
        run = partial(run, polling=ran.polling)
        ran = numbers(runs, run, emulates(run, looking_back(run, ran)))
        run = partial(run, searched=ran.searched, emulated=ran.emulated, numbered=ran.numbered)
        if racing:
            ran = next((other for other in _again(test, run, ran) if isinstance(other.why, ByteRace)), ran)
        ones = run(None, FILLS[1]) if open_buffers(test) and not isinstance(ran.why, ByteRace | Misuse) else None
        if ones is not None and isinstance(ones.why, ByteRace | Misuse):
            ran = ones
    unsettled = ContentsOfRuns(test, ran.recorded, [], places).open_product() if ran.why is not None else ""
    if unsettled:
        return unsettled
    if shows(runs, result, ran, places, racing=racing):
        result.notes += told.shared_at_first(ran.unwritten)
        result.notes += _held(test, FILLS[ran is ones])
        return ""
    if isinstance(ran.why, ByteRace | Misuse):
        return told.left_open("unordered", "")
    ended = None if open_buffers(test) else ran.ended
    if ended is not None and tell_wrong(runs, result, places, FailedExecution(ended)):
        return ""
    if (open_ := begins_early(runs, result, places, run, ran, racing=racing)) is not None:
        return open_
    left = [(len(ran.watchers) - 1, ran.why)] if ran.why is not None else []
    left += [(i, w.unknown) for i, w in enumerate(ran.watchers) if w.unknown is not None]
    first = left[0] if left else (0, Open(""))
    what = first[1].what
    bugs = BugSearch(runs, result, places)
    again = racing and threads_of(test) <= _MOST_AGAIN  # of other models the theorem does not speak
    spoken_of = again and not (open_buffers(test) or by_runs_alone(runs))
    if what in _EXPLORED | _HIDDEN and spoken_of:
        with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
            telling, known, apart = partial(tell_all, test, result), StrongBytes(), SeparateGroups(runs)
            by_orders = partial(_decide_by_several, runs, result, places, bugs, known, apart)
            if bugs.suspected(ran.suspects):
                return ""
            if what in _HIDDEN:
                several = None if bugs.in_orders() else left[0]
            elif (
                decide_by_climbs(runs, result, places, telling)
                or _decided_in_any_order(runs, result, places, known, apart)
                or decide_by_sections(runs, result, places, by_orders, telling)
                or decides_in_rounds(rounds := run_in_rounds(runs), runs, result, places, telling)
                or bugs.soon()
            ):
                several = None
            else:
                by_rounds = partial(decide_by_rounds, rounds, runs, result, places, by_orders, telling)
                by_searches = partial(_by_searches, runs, result, places, bugs, first[1].party, by_rounds)
                by_tickets = partial(decide_by_tickets, runs, result, places, by_orders, telling, by_searches)
                several = _whatever_order(run, test, result, places, by_tickets)
        if several is None:
            return ""
        left = left if several[1] == Open("time") else [several]
    elif what == "vector" and again and bugs.with_torn_reads():
        result.notes += _held(test, FILLS[0])
        return ""
    elif what in _EXPLORED | _HIDDEN | _HUNTED and again:
        with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
            if bugs.first() or bugs.in_orders():
                result.notes += _held(test, FILLS[0])
                return ""
            if what in _EXPLORED and decide_for_any_contents(runs, result, places, breaking(test), _FEW):
                return ""
            if bugs.everywhere():
                result.notes += _held(test, FILLS[0])
                return ""
    if left and racing and fails_with_contents(runs, result, places, run, ran):
        return ""
    if left:
        number, found = left[0]
        said = ran.error.message if found.what == "error" and ran.error is not None else ""
        if found.what in _BEYOND and first[1].what not in _BEYOND:
            said = told.open_at(first[1].what, places.of_party(first[0], first[1].party, runs.program_of(first[0])))
        return told.left_open(found.what, places.of_party(number, found.party, runs.program_of(number)), said)
    said = _by_one_run(test, result, places, ran, ones)
    if result.verdict == "no" and not said and ran.state is not None:
        with limited(None if deadline is None else max(0.0, _SHARE * (deadline - time.monotonic()))):
            tell_provenance(runs, result, places, ran.state)
    return said


def _held(test: KernelTest, fill: int) -> list[str]:
    """What is said of the contents of buffers that may hold anything, where a run shows something with these."""
    found = open_buffers(test)
    return [*held_at_first(found), told.holding(found, fill)] if found else []


def _by_one_run(test: KernelTest, result: Result, places: Places, ran: WatchedRun, ones: WatchedRun | None) -> str:
    """Answers all checks by a run that left nothing open, and by one with other contents; else says what that leaves open."""
    assert ran.state is not None
    states = [ran.state, *([] if ones is None or ones.state is None else [ones.state])]
    contents = ContentsOfRuns(test, ran.recorded, states, places)
    more = contents.open_decision()
    if not more and ones is not None and _differ(ran, ones):
        more = told.left_open("contents", "")
    if more:
        return more
    tell(test, result, contents, min(filter(None, (w.sums.hanging for w in ran.watchers)), default=0))
    accesses, meetings, waits = (sum(getattr(w, n) for w in ran.watchers) for n in ("accesses", "meetings", "waits"))
    copies = sum(w.agents.issued for w in ran.watchers if isinstance(w, Determinate))
    commuted = any(w.commuted for w in ran.watchers)
    result.notes.append(
        told.counted(threads_of(test), accesses, meetings, waits, copies, commuted=commuted, hanging=contents.hanging())
    )
    put = [
        str(places.of(i, party.op, ran.recorded[i].program))
        for i, w in enumerate(ran.watchers)
        if isinstance(w, Determinate)
        for party in w.open_values.by.values()
    ]
    if put:
        result.notes.append(told.carried(put))
    looking = [w for w in ran.watchers if isinstance(w, Confluent) and w.found]
    if looking:
        result.notes.append(told.looked_back(sum(len(w.found) for w in looking), sum(w.ways for w in looking)))
    for number, watcher in enumerate(ran.watchers):
        if isinstance(watcher, Numbered) and watcher.takers:
            spot = places.of(number, watcher.takers[0].op, ran.recorded[number].program)
            result.notes.append(told.numbered(len(watcher.takers), str(spot)))
    emulations = [w for w in ran.watchers if isinstance(w, Emulating) and w.groups]
    if emulations:
        number, asks = sum(w.emulations for w in emulations), emulations[0].groups[0].asks
        place = str(places.of(ran.watchers.index(emulations[0]), asks, ran.recorded[0].program))
        result.notes.append(told.emulated(number, place, hangs=any(w.sums.hanging for w in emulations)))
    result.notes += [contents.said(), *held_at_first(open_buffers(test))]
    return ""


def _whatever_order(
    run: Callable[..., WatchedRun], test: KernelTest, result: Result, places: Places, further: Callable[[], _Left]
) -> _Left:
    """Answers all checks by a run of which the order of strong writes and emulations decides nothing but what they leave in
    memory; what hangs on that `further` runs may decide, which gives what is open."""
    run = partial(run, mixes=True)
    ran = emulates(run, run(None))
    told_so = copy.deepcopy(result)
    if not ran.is_one or _by_one_run(test, told_so, places, ran, None):
        return further()
    return _unless_decided(result, told_so, further)


def _by_searches(
    runs: Runs,
    result: Result,
    places: Places,
    bugs: BugSearch,
    begins: Party | None,
    further: Callable[[], _Left],
) -> _Left:
    """Answers all checks by a run up to the ways of its searches; what hangs on these `further` runs may decide. With many
    threads what follows may take long, so bugs are looked for first."""
    if threads_of(runs.test) >= MANY and bugs.first():
        return None
    told_so = copy.deepcopy(result)
    if not decide_by_searches(runs, told_so, places, begins):
        return further()
    return _unless_decided(result, told_so, further)


def _unless_decided(result: Result, told_so: Result, further: Callable[[], _Left]) -> _Left:
    """Takes the answers that were told, unless these leave a check open and `further` runs decide it."""
    open_ = further() if told_so.verdict == "undecided" else None
    if open_ is not None or told_so.verdict != "undecided":
        for field in dataclasses.fields(result):
            setattr(result, field.name, getattr(told_so, field.name))
    return None


def _again(test: KernelTest, run: Callable[..., WatchedRun], ran: WatchedRun) -> Iterator[WatchedRun]:
    """More runs, in which a race may show that did not in a run. What nobody had written yet when a thread let it decide may be
    anything, and the run can go on with some of it. Who may wait, and goes on with any answer, may do so with none."""
    unwritten = 0 if ran.error is not None and ran.error.kind == UNWRITTEN else None
    if unwritten is not None:
        yield run(None, unwritten=unwritten)
    if ran.why is None and any(w.unknown is not None and w.unknown.what == "mbarrier" for w in ran.watchers):
        yield run(None, alone=True, gives_up=True, unwritten=0)
    for seed in _other_orders(ran) if threads_of(test) <= _MOST_AGAIN else ():
        yield run(seed, alone=True, unwritten=unwritten)


def _other_orders(ran: WatchedRun) -> tuple[int | None, ...]:
    """Seeds of orders of single threads in which a race may show that did not in a run: where an error hides it, since
    somebody may have written what a thread read in vain; and where it may come before what was open."""
    if ran.error is not None and ran.error.kind not in TELLING:
        return _OTHER_ORDERS
    if ran.why is None and any(w.unknown is not None and w.unknown.what == "instance" for w in ran.watchers):
        return _OTHER_ORDERS
    hidden = any(isinstance(w, Together) and w.unknown for w in ran.watchers)  # where each thread goes as far as it can
    return (None,) if hidden else ()


def _differ(one: WatchedRun, other: WatchedRun) -> bool:
    """Whether two runs are not the same, as those are that differ in contents on which nothing depends."""
    counts = [[(w.accesses, w.meetings, w.waits, w.unknown is None) for w in ran.watchers] for ran in (one, other)]
    return other.why is not None or counts[0] != counts[1]


def _decided_in_any_order(
    runs: Runs, result: Result, places: Places, known: StrongBytes, apart: SeparateGroups
) -> bool:
    """Answers all checks by a run of which the order of operations decides nothing, or by a few; whether there are such. What
    runs show of strong operations is added to what is known."""
    broken = breaking(runs.test)
    with limited(_BRIEFLY):
        found = run_several(runs, broken, 1, known=known, apart=apart)
        if isinstance(found, OpenIn) and found.open.what == "runs":
            if apart.find():
                found = run_several(runs, broken, known=known, apart=apart)
            else:
                found = run_several(runs, broken, _SOME, known=known, brief=True)
    if isinstance(found, FailedExecution):
        return tell_wrong(runs, result, places, found)
    if isinstance(found, OpenIn) or found.beyond:
        return False
    _tell_several(runs.test, result, found)
    return True


def _tell_several(test: KernelTest, result: Result, several: FinalStates) -> None:
    tell_all(test, result, several)
    how = {"changing": several.changing, "exchanged": several.exchanged}
    note = told.several(several.runs, threads_of(test), several.accesses, groups=several.groups, **how)
    result.notes.append(note)


def _decide_by_several(
    runs: Runs,
    result: Result,
    places: Places,
    bugs: BugSearch,
    known: StrongBytes,
    apart: SeparateGroups,
    *,
    raceless: bool = False,
) -> _Left:
    """Answers all checks by several runs, or by a race or a failed check of one; gives what is open, and in which launch.
    `known`: what runs have shown of strong operations; `apart`: which CTAs are apart by these; `raceless`: there is no race."""
    test = runs.test
    if (not raceless and bugs.in_orders()) or bugs.at_once():
        return None
    broken = breaking(test)
    most = left()
    with limited(None if most is None else _SHARE * most):  # the rest is for bugs
        if apart.are_several:
            several = run_several(runs, broken, known=known, apart=apart)
        else:
            several = run_several(runs, broken, _FEW, known=known)
    if isinstance(several, OpenIn):
        too_many = several.open.what in ("runs", "time")
        alike = _by_alike_runs(runs, broken) if too_many else None
        if not isinstance(alike, FailedExecution) and (alike is None or alike.differing):
            if bugs.everywhere():
                return None
            several = run_several(runs, broken, known=known) if too_many else several
        several = alike if alike is not None and isinstance(several, OpenIn) else several
    if isinstance(several, OpenIn):
        return several
    if isinstance(several, FailedExecution):
        return None if tell_wrong(runs, result, places, several) else (0, Open("error"))
    if several.beyond and not all_hold(test, several.states):
        return 0, Open("fence")
    _tell_several(test, result, several)
    return None


def _by_alike_runs(runs: Runs, broken: Callable[[FinalValues], bool]) -> FinalStates | FailedExecution | None:
    """What runs show of which none is another one with its CTAs in other places; None where that is nothing."""
    try:
        found = run_several(runs, broken, places=ChangingPlaces(runs))
    except NotAlike:
        return None
    return None if isinstance(found, OpenIn) else found
