"""One watched run of all launches of a kernel test, and what it shows that is wrong whatever other executions do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from axioms.dynamic.code.depends import Ran
from axioms.dynamic.code.recording import Batches, Recording
from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Stopped, in_time
from axioms.dynamic.ctas.numbered import Numbered, interchangeable
from axioms.dynamic.lookback.confluent import Confluent, may_look_back, summed_reads
from axioms.dynamic.lookback.sightings import Sighting
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.one_run.polls import Polling, polled_otherwise
from axioms.dynamic.one_run.together import Together
from axioms.dynamic.sections.emulated import Emulating, emulating
from axioms.dynamic.wrong.unsynchronized import unsynchronized
from ptxcore.machine.lower.ops import Code, ExecutableModule
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import FinalValues, Runs, Watchers
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.whole_findings import ADDRESSED, FAULTS, Findings
from ptxmm.result import Result

#: Instructions after which a run of a test without a time limit is given up.
_LIMIT = 100_000_000
STUCK = "deadlock"
#: Instructions that runs follow and the formula does not.
BY_RUNS_ALONE = frozenset(("wgmma", "tcgen05", "clusterlaunchcontrol"))
#: What releases tensor maps in memory, by which the formula has no copies.
OF_MAPS = "tensormap::generic"
#: Errors behind which no other one hides: where a thread comes too early to an address, a race may.
TELLING = FAULTS - ADDRESSED | {STUCK}


class WatchedRun(NamedTuple):
    """What became of a run: who watched its launches, the last one last; the final values where it ended, else why not."""

    watchers: list[Determinate | Together]
    state: FinalValues | None
    why: ByteRace | Misuse | Open | None
    recorded: list[Ran]
    error: KernelError | None = None
    searched: frozenset[int] = frozenset()  # the instructions that were taken for look-backs
    unwritten: int | None = None  # what was put into every byte of shared memory that nothing wrote
    emulated: frozenset[int] = frozenset()  # and those of emulations
    numbered: frozenset[int] = frozenset()  # and those by which CTAs take their numbers
    polling: Polling = Polling()  # what was known of how threads poll
    ended: FinalValues | None = None  # the final values of a run that ended, whatever it leaves open
    suspects: tuple[tuple[Sighting, ...], ...] = ()  # what threads find on ways of look-backs that may be wrong

    @property
    def is_one(self) -> bool:
        """Whether the run stands for all executions of launches one after the other."""
        return self.why is None and all(w.unknown is None for w in self.watchers)


def watched_run(
    runs: Runs,
    seed: int | None,
    fill: int = 0,
    *,
    alone: bool = False,
    readings: frozenset[str] = frozenset(),
    clusters: Any = None,
    searched: frozenset[int] = frozenset(),
    emulated: frozenset[int] = frozenset(),
    numbered: frozenset[int] = frozenset(),
    polling: Polling = Polling(),  # noqa: B008 - never changed
    mixes: bool = False,
    unwritten: int | None = None,
    gives_up: bool = False,
    watching: Callable[[int], Determinate] = Determinate,
) -> WatchedRun:
    """One watched run, in an order that a seed draws; `alone`: thread by thread; `fill` is in every byte of buffers that may
    hold anything; `readings`: those of the manual that it follows; `clusters`: what makes those of a launch; `searched`: the
    instructions by which threads look back, by their identity; `emulated`: those by which they emulate atomic operations;
    `numbered`: those by which CTAs that are alike take their numbers; `polling`: what is known of polls;
    `mixes`: what strong writes and emulations leave may hang on their order; `unwritten` is in all shared memory at first;
    `gives_up`: threads that may wait at mbarrier objects, and go on with any answer, are told no; `watching`: who watches
    single threads, by the size of a CTA, where nothing above asks for somebody else."""
    watchers: list[Determinate | Together] = []
    recorded: list[Ran] = []

    def watch(launch: Launch, program: ExecutableModule) -> Watchers:
        size, number = prod(launch.block), len(watchers)
        for before in watchers:  # while memory is as the launches before have left it
            if isinstance(before, Confluent):
                before.settle()
        recorded.append(Ran(Recording(None), program, {}, searched | emulated))

        def single() -> Recording:
            watcher = Confluent(size, searched) if searched else watching(size)
            watcher = Numbered(size, searched, numbered) if numbered else watcher
            watcher = Emulating(size, emulated, hangs=mixes) if emulated else watcher
            watcher.polls_of.polling, watcher.polls_of.suspects = polling, True
            watcher.polls_of.unrolls = not (searched or numbered or emulated)
            watcher.clocks.devices = runs.devices_of_ctas
            watcher.readings, watcher.mixes = readings, mixes and not (emulated or numbered)
            watcher.gives_up = gives_up
            watcher.open_values.allowed, watcher.keeps_executed = not emulated, polling.executed
            watchers[number:] = [watcher]
            recording = Recording(watcher)
            watcher.sums.noted = recording.products
            recording.makes_clusters = clusters
            recorded[number] = recorded[number]._replace(recording=recording)
            return recording

        if alone or searched or emulated or numbered or mixes or any(polling) or launch.entry not in program.functions:
            return Watchers(None, single)
        together = Together(program, launch.entry, size)
        watchers.append(together)
        batches = Batches(together)
        together.sums.noted = batches.products
        recorded[number] = recorded[number]._replace(recording=batches)
        return Watchers(batches, single)

    def placed(names: dict[int, str]) -> None:
        recorded[-1] = recorded[-1]._replace(buffers=names)

    state = None
    try:
        state = runs.run(
            seed, limit=_LIMIT, watch=watch, progress=in_time, placed=placed, fill=fill, unwritten=unwritten
        )
        for watcher in watchers:
            if isinstance(watcher, Confluent | Emulating):
                watcher.settle()
        if mixes:
            recorded = [ran._replace(emulated=emulated) for ran in recorded]
        return WatchedRun(watchers, state, None, recorded, searched=searched, polling=polling)
    except Stopped as stopped:
        return WatchedRun(watchers, None, stopped.why, recorded, unwritten=unwritten, polling=polling, ended=state)
    except KernelError as error:
        return WatchedRun(watchers, None, Open("limit" if error.kind == "limit" else "error"), recorded, error)
    except UsageError:  # who builds the launch tells what is wrong
        return WatchedRun(watchers, None, Open("launch"), recorded)


def gathering(run: Callable[..., WatchedRun], ran: WatchedRun) -> WatchedRun:
    """The run again, with more known of how threads poll; as it is where that decides nothing."""
    again = ran
    while isinstance(again.why, Open) and again.why.what in ("order", "unordered"):
        last = again.watchers[-1]
        codes = again.recorded[-1].program.functions.values()
        polling = polled_otherwise(last, codes, again.polling) if isinstance(last, Determinate) else again.polling
        if polling == again.polling:
            break
        further = run(None, polling=polling)
        if further.error is not None and further.error.kind == STUCK and not is_stuck(further):
            break  # threads wait for others since this asks it of them
        again = further
    return again


def looking_back(run: Callable[..., WatchedRun], ran: WatchedRun) -> WatchedRun:
    """The run again, with the reads that lead on in several ways taken for look-backs; as it is where that decides nothing."""
    again = ran
    while isinstance(again.why, Open) and again.why.what in ("order", "unordered"):
        last = again.watchers[-1]
        more = may_look_back(last) - again.searched if isinstance(last, Determinate) else set()
        if not more:
            return ran._replace(suspects=_suspects(again))
        again = run(None, searched=again.searched | more)._replace(searched=again.searched | more)
    return _decisive(ran, again)


def _decisive(ran: WatchedRun, again: WatchedRun) -> WatchedRun:
    """The second one of two runs, if it decides something; else the first one, with what the second one came to."""
    faulty = again.error is not None and (again.error.kind in FAULTS or is_stuck(again))
    if not isinstance(again.why, Open) or faulty:
        return again
    return ran._replace(ended=ran.ended or again.ended, suspects=ran.suspects or _suspects(again))


def is_stuck(ran: WatchedRun) -> bool:
    """Whether a run shows that threads do not terminate: it came to where nobody gets on, and held none back."""
    held = any(isinstance(w, Determinate) and w.polls_of.holds for w in ran.watchers)
    return ran.error is not None and ran.error.kind == STUCK and not held


def _suspects(ran: WatchedRun) -> tuple[tuple[Sighting, ...], ...]:
    last = ran.watchers[-1]
    return ran.suspects or (tuple(last.suspects) if isinstance(last, Confluent) else ())


def _looks_back(run: Callable[..., WatchedRun], code: Code) -> WatchedRun:
    """A run, with the reads taken for look-backs that are likely to be some, if there are; else with those that must be."""
    likely = frozenset(summed_reads(code))
    if not likely:
        return _polls(run)
    found = run(None, searched=likely)._replace(searched=likely)
    if not isinstance(found.why, Open) or found.error is not None:
        return found
    ran = _polls(run)
    return ran._replace(ended=found.ended) if ran.ended is None else ran


def _polls(run: Callable[..., WatchedRun]) -> WatchedRun:
    """A run, with what has to be known of polls, and reads taken for look-backs that must be some."""
    ran = gathering(run, run(None))
    return looking_back(partial(run, polling=ran.polling), ran)


def numbers(runs: Runs, run: Callable[..., WatchedRun], ran: WatchedRun) -> WatchedRun:
    """The run again, with tickets for the numbers of CTAs that are alike; as it is where that decides nothing, but for what is
    open then."""
    again, taken = ran, frozenset[int]()
    one_by_one = len({launch.queue for launch in runs.test.launches}) == 1 and not any(
        l.after for l in runs.test.launches
    )
    while one_by_one and isinstance(again.why, Open) and again.why.what == "order" and again.why.party is not None:
        launch = runs.test.launches[len(again.watchers) - 1]
        code = again.recorded[-1].program.functions.get(launch.entry)
        op = again.why.party.op
        more = {id(op.instruction)} - taken if op.use.form.mnemonic == "atom" else set()
        if not more or code is None or launch.cluster is not None or not interchangeable(code):
            break
        taken |= more
        again = _looks_back(partial(run, numbered=taken), code)._replace(numbered=taken)
    found = _decisive(ran, again)
    further = isinstance(again.why, Open) and again.why.what == "order" and again.why.party is not None
    same_launch = len(again.watchers) == len(ran.watchers)
    return found._replace(why=again.why) if further and same_launch else found


def emulates(run: Callable[..., WatchedRun], ran: WatchedRun) -> WatchedRun:
    """The run again, with loops of compare-and-swap taken for atomic operations; as it is where that decides nothing."""
    again, found = ran, frozenset[int]()
    while isinstance(again.why, Open) and again.why.what == "order":
        last = again.watchers[-1]
        functions = again.recorded[-1].program.functions.values()
        more = emulating(last, again.why, functions) - found if isinstance(last, Determinate) else set()
        if not more:
            return ran
        found |= more
        again = run(None, emulated=found)._replace(emulated=found)
    return ran if isinstance(again.why, Open) else again


def shows(runs: Runs, result: Result, ran: WatchedRun, places: Places, *, racing: bool) -> bool:
    """Whether what a run shows is wrong, whatever other executions do: then it is told."""
    if not ran.watchers:
        return False
    findings = Findings(runs, places, len(ran.watchers) - 1, ran.watchers[-1].indices, result)
    if isinstance(ran.why, ByteRace):
        if racing:
            last = ran.watchers[-1]
            between = unsynchronized(last, ran.why) if isinstance(last, Determinate) else None
            findings.race(ran.why, synchronized=not last.exact or last.waits > 0, between=between)
    elif isinstance(ran.why, Misuse):
        if racing:
            findings.misuse(ran.why)
    elif ran.error is not None and ran.error.kind in FAULTS:
        findings.fault(ran.error)
    elif ran.error is not None and is_stuck(ran):
        determined = ran.unwritten is None and all(map(is_certain, ran.watchers))
        determined = determined and not any(_sums(r) for r in ran.recorded)
        findings.deadlock(ran.error, always=determined)
    if result.verdict not in ("no", "undefined") and racing:
        for number, watcher in enumerate(ran.watchers):
            overwriting = watcher.agent_accesses.overwriting if isinstance(watcher, Determinate) else None
            if overwriting is not None and result.verdict != "no":
                Findings(runs, places, number, watcher.indices, result).race(overwriting, synchronized=True)
    return result.verdict in ("no", "undefined")


def _sums(ran: Ran) -> bool:
    """Whether the manual leaves open what some sum of products is."""
    return any(op.use.form.first != "alloc" for op in ran.recording.products.values())


def is_certain(watcher: Determinate | Together) -> bool:
    """Whether what a run did so far, every execution does."""
    if isinstance(watcher, Confluent):  # some threads may find something else
        return False
    if watcher.unknown is not None:
        return False
    return not (isinstance(watcher, Determinate) and (watcher.phases.unsure or watcher.polls_of.may_go_on))


def by_runs_alone(runs: Runs) -> list[str]:
    """The instructions of a kernel that runs follow and the formula does not."""
    programs = [device.program for device in runs.devices.values()]
    codes = [code for program in programs for code in program.functions.values()]
    uses = [op.use for code in codes for op in code.ops]
    maps = {OF_MAPS for use in uses if use.words.get("between") == OF_MAPS}
    return sorted({use.form.mnemonic for use in uses} & BY_RUNS_ALONE | maps)


def open_buffers(test: KernelTest) -> list[str]:
    """The buffers that may hold anything at first."""
    return [p.name for p in test.parameters if isinstance(p, Buffer) and p.open]
