"""What a run of all threads shows that is wrong: a race, misuse, or threads that do not terminate (docs/whole-launches)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import ByteRace, Misuse, Party
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.wrong.torn import Torn
from axioms.dynamic.wrong.unsynchronized import OF_WRITER, Unmet, Unsynchronized
from axioms.witness.execution import Execution
from axioms.witness.races import UNDEFINED
from axioms.witness.result import Site, Undefined
from ptxcore.machine.run.faults import KernelError, ThreadName
from ptxcore.machine.run.launch import fitted
from ptxcore.machine.run.special import WARP, Triple
from ptxcore.places import Placement
from ptxcore.records import NamedTuple
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import Instruction
from ptxmm.answers import Coverage, own_verdict_of, settle, verdict_of
from ptxmm.graphs.waiting import Stays
from ptxmm.kernels.places import Places
from ptxmm.kernels.run_pictures import SeenEvent, pictured
from ptxmm.kernels.runs import Runs, side_by_side
from ptxmm.kernels.warp_order import WARP_SYNC_ORDERS
from ptxmm.result import Cause, RaceEntry, RaceEvent, Result, Spot, Witness
from ptxmm.undefined import sentence
from ptxmm.words import checks as words
from ptxmm.words import whole as told
from ptxmm.words.provenance import written
from ptxmm.words.unordered import (
    constant_read,
    found_older,
    part,
    unawaited,
    unfenced_read,
    unmet,
    unordered,
    unsynchronized,
    unwaited,
)  # fmt: skip

#: Threads that wait, of different kinds, in one picture.
_MOST_STOPPED = 8
#: Checks that fail where a thread does not terminate.
_ENDING = ("terminates", "no_deadlock")
#: What lacks as repairs look for it, by what lacks of who should have synchronized, where that is another word.
_LACKING = {"arrival": "release", "scope of the release": "scope of the writer"}
#: What a thread does that waits at an instruction, by its opcode; else it spins.
_WAITING = {"bar": "barrier", "barrier": "barrier", "mbarrier": "mbarrier"}
#: Errors of a run that leave a launch without a meaning, by what they are about: an address or a mask, which a thread may have
#: from somebody who has not come yet, and else.
ADDRESSED = frozenset(("bad-mask", "bad-size", "misaligned", "out-of-bounds", "wrong-space"))
FAULTS = ADDRESSED | {
    "bad-mbarrier", "bad-matrix", "bad-metadata", "bad-tensor-map", "unfenced-product", "unfinished-product",
    "tensor-allocation", "tensor-bounds", "tensor-lane", "bad-tensor-memory", "bad-descriptor", "barrier-count",
    "barrier-divergence", "bad-barrier",
}  # fmt: skip


def _linear(index: Sequence[int], shape: Sequence[int]) -> int:
    (x, y, z), (nx, ny, _) = index, shape
    return x + nx * (y + ny * z)


class _Located(NamedTuple):
    """Where a thread is: the number of its launch, the index of its CTA, its number in that."""

    launch: int
    cta: Triple
    thread: int


class Findings:
    """Writes what launch `number` of a test shows into its result; `indices` are those of its CTAs, in the order of their
    threads' numbers."""

    def __init__(self, runs: Runs, places: Places, number: int, indices: Sequence[Triple], result: Result) -> None:
        self.runs, self.places, self.number, self.indices, self.result = runs, places, number, indices, result

    def race(self, race: ByteRace, *, synchronized: bool, between: Unsynchronized | Unmet | None = None) -> None:
        """A race, which decides whether there is one; of other checks nothing is known. One of an asynchronous operation leaves
        the launch without a meaning. `synchronized`: threads synchronized with each other by more than barriers; `between`:
        those who should have."""
        events = (self._event(race.before), self._event(race.after))
        reason = unordered(
            race.kind,
            race.where,
            race.first,
            race.last,
            synchronized=synchronized,
            missing=race.missing,
            reading=race.reading,
        )
        found = [RaceEntry(race.kind, events, reason, reading=race.reading or self._of_a_warp(race))]
        if isinstance(between, Unmet):
            line = between.after.op.instruction.span.line
            found = [replace(found[0], causes=[self._unmet(between)], lacking=((line, "barrier"),))]
        elif between is not None:
            of_writer = between.lacks in OF_WRITER
            lacks = _LACKING.get(between.lacks, between.lacks)
            line = (between.writes if of_writer else between.reads).op.instruction.span.line
            found = [replace(found[0], causes=[self._cause(between)], lacking=((line, lacks),))]
        elif by_proxy := [party for party in (race.before, race.after) if scope_of(party.op.use) == CONSTANT]:
            (party, *_), read = by_proxy, self._event(by_proxy[0]).instruction
            found = [replace(found[0], causes=[Cause(self._where(party), constant_read(), read)])]
        elif race.lacks and race.kind == "async":
            found = [replace(found[0], causes=[self._unawaited(race)])]
        elif race.kind == "war" and not race.missing:
            what = unfenced_read(race.after.op.name, str(self._where(race.after)))
            found = [replace(found[0], causes=[Cause(self._where(race.before), what, events[0].instruction)])]
        if race.kind in UNDEFINED:
            more = f": {told.missing(race.missing)}" if race.missing else ""
            self._undefined(UNDEFINED[race.kind] + more, race.kind, (race.before, race.after))
        else:
            self._fails(("race_free",), words.raced(1), told.with_a_race)
        if self.result.verdict in ("no", "undefined"):
            self.result.races, self.result.race_witnesses = found, [self._picture(race, between)]

    def _picture(self, race: ByteRace, between: Unsynchronized | Unmet | None) -> Witness:
        """The execution of the run, as far as the race goes."""
        by = (between.writes, between.reads) if isinstance(between, Unsynchronized) else tuple(between or ())
        named = {(party.thread, id(party.op)): party for party in (race.before, *by, race.after)}
        parties, names = list(named.values()), list(named)
        at = [names.index((party.thread, id(party.op))) for party in (race.before, *by, race.after)]
        where = f"{race.where}, {part(race.first, race.last, 'column' if race.missing else 'byte')}"
        seen = [self._seen(party, where if i in (at[0], at[-1]) else "") for i, party in enumerate(parties)]
        relations: dict[str, list[tuple[int, int]]] = {"race": [(at[0], at[-1])]}
        if by:
            relations["why"] = [(at[1], at[2])]
        if isinstance(between, Unsynchronized) and len(parties) == 4:
            relations["obs"] = [(1, 2)]
            for first, second in [(0, 1), *([(2, 3)] if between.last else [])]:
                name = "po" if parties[first].thread == parties[second].thread else "cause"
                relations.setdefault(name, []).append((first, second))
        title = f"{self.result.name}  ({self.result.model})  {told.race_shown(race.kind)}"
        return Witness(lambda: pictured(seen, relations, title))

    def _of_a_warp(self, race: ByteRace) -> str:
        """The reading under which a race may be none, where it is one of two threads of a warp."""
        size = prod(self.runs.test.launches[self.number].block)
        one, two = (divmod(party.thread, size) for party in (race.before, race.after))
        alike = one[0] == two[0] and one[1] // WARP == two[1] // WARP
        return WARP_SYNC_ORDERS if alike and WARP_SYNC_ORDERS not in self.runs.readings else ""

    def overtaking(self, race: ByteRace, before: Findings, says: Callable[[str, str], str] = unwaited) -> None:
        """An access of this launch, the second one of the race, before it waits for the launch before; `says`: what of whom and
        where is told."""
        events = (before._event(race.before), self._event(race.after))
        what = says(events[0].thread, str(before._where(race.before)))
        cause = Cause(self._where(race.after), what, events[1].instruction)
        reason = unordered(race.kind, race.where, race.first, race.last, synchronized=True)
        self._fails(("race_free",), words.raced(1), told.with_a_race)
        if self.result.verdict == "no":
            self.result.races = [RaceEntry(race.kind, events, reason, causes=[cause])]

    def misuse(self, misuse: Misuse) -> None:
        """What leaves the launch without a meaning."""
        rule = misuse.rule
        self._undefined(UNDEFINED.get(rule, rule), rule if rule in UNDEFINED else "", misuse.parties)

    def fault(self, error: KernelError) -> None:
        """An instruction does what leaves the launch without a meaning."""
        sites = []
        if error.thread is not None and error.instruction is not None:
            name = self.places.thread(self.number, error.thread.cta, error.thread.thread)
            sites = [Site(0, name, error.instruction.span.line, print_statement(error.instruction))]
            self.result.places = [self._spot(error, f"{name}: {sites[0].instruction}")]
        self._without_meaning(Undefined(error.message, tuple(sites)))

    def out_of_date(self, pair: ByteRace, between: Unsynchronized | Unmet) -> None:
        """A strong read finds something older than a write, and so some checks fail."""
        reads, writes = self._event(pair.after), self._event(pair.before)
        what = found_older(reads.thread, reads.instruction.split()[0], writes.thread, str(self._where(pair.before)))
        cause = self._unmet(between) if isinstance(between, Unmet) else self._cause(between)
        for checked in self.result.checks:
            if checked.holds is False and not checked.spots and not checked.causes:
                checked.causes, checked.spots = [cause], [(self._where(pair.after), what)]

    def last(self, label: str, party: Party) -> tuple[Spot, str]:
        """Who wrote an element last."""
        return self._where(party), written(label, self._event(party).thread)

    def torn(self, torn: Torn) -> None:
        """A read of a vector finds some elements of a write and misses others, and so some checks fail, or there is a fault."""
        reads, writes = self._event(torn.reader), self._event(torn.writer)
        found, missed = ([e for e in torn.elements if e.is_new is which] for which in (True, False))
        at = self._where(torn.reader)
        for checked in self.result.checks:
            if checked.holds is False and not checked.spots:
                checked.spots = [(at, told.read_torn(reads.instruction.split()[0]))]
        by = str(self._where(torn.writer))
        self.result.notes.append(told.torn(reads.thread, str(at), writes.thread, by, torn.segment, found, missed))

    def deadlock(self, error: KernelError, *, always: bool) -> None:
        """Threads do not terminate; `always`: in every execution."""
        self._fails(_ENDING, "", told.with_a_deadlock)
        for checked in self.result.checks:
            if checked.holds is False:
                checked.hangs = always
        self.waiting(error)

    def waiting(self, error: KernelError) -> None:
        """Where threads wait, of checks that fail since these do not terminate."""
        first, *waits = (line.strip() for line in error.message.splitlines())
        for checked in self.result.checks:
            if checked.holds is False:
                checked.message = told.deadlocked(first, waits)
                checked.waits = [self._wait(*who) for who in error.blocked]
                checked.witness = self._stopped(error)
                checked.spots += [self._spot(error, told.STOPS_HERE if waits else first)]

    def _wait(self, who: ThreadName, instruction: Instruction) -> dict[str, Any]:
        """Who waits where, for programs."""
        return {
            "kind": _WAITING.get(instruction.opcode, "loop"),
            "thread": self.places.thread(self.number, who.cta, who.thread),
            "line": instruction.span.line,
            "instruction": print_statement(instruction),
        }

    def _stopped(self, error: KernelError) -> Witness | None:
        """A picture of those who wait; None where it is not known where they do."""
        blocked = error.blocked[:_MOST_STOPPED]
        if not blocked:
            return None
        bx, by, _ = self.runs.test.launches[self.number].block
        threads, stays = [], []
        for number, (who, instruction) in enumerate(blocked):
            x, y, z = who.thread
            place = self._place(_Located(self.number, who.cta, x + bx * (y + by * z)))
            threads.append((self.places.thread(self.number, who.cta, who.thread), place))
            stays.append(Stays(number, print_statement(instruction), instruction.span.line, told.STOPS))
        left = told.others_stop(len(error.blocked) - len(blocked))
        title = f"{self.result.name}  ({self.result.model})  {told.STOPPED}{left}"
        return Witness(Execution((), {}, tuple(threads), title=title), stays)

    def _spot(self, error: KernelError, what: str) -> tuple[Spot, str]:
        line = error.instruction.span.line if error.instruction is not None else 0
        source = self.places.source_spot(self.number, error.source) if error.source else None
        return self.places.look(self.number, line, source), what

    def _fails(self, kinds: Sequence[str], message: str, otherwise: Any) -> None:
        """Checks of some kinds do not hold, of the others nothing is known; nothing is written where none is asked for."""
        result, test = self.result, self.runs.test
        for checked, check in zip(result.checks, test.checks, strict=True):
            if check.kind in kinds:
                settle(checked, Coverage.COMPLETE, shown=True, existential=not check.wanted)
                checked.message = message if checked.holds is False else ""
            else:
                checked.message = otherwise(checked.text)
        if verdict_of(result.checks) == "no":
            result.verdict, result.own, result.runs = "no", own_verdict_of(result.checks), 1
            result.listed_all = False
            return
        for checked in result.checks:
            checked.holds, checked.message = None, ""

    def _undefined(self, rule: str, flag: str, parties: Sequence[Party]) -> None:
        sites = []
        for party in parties:
            event = self._event(party)
            sites.append(Site(party.thread, event.thread, event.line, event.instruction))
            if event.at is not None:
                self.result.places.append((event.at, f"{event.thread}: {event.instruction}"))
        self._without_meaning(Undefined(rule, tuple(sites), flag))

    def _without_meaning(self, undefined: Undefined) -> None:
        result = self.result
        result.undefined, result.verdict, result.error, result.runs = undefined, "undefined", sentence(undefined), 1

    def _cause(self, between: Unsynchronized) -> Cause:
        """At whom of those who should have synchronized to look, and what lacks."""
        writes, reads = self._event(between.writes), self._event(between.reads)
        of_writer = between.lacks in OF_WRITER
        event, other = (writes, reads) if of_writer else (reads, writes)
        party = between.writes if of_writer else between.reads
        at, by = self._where(party), self._where(between.reads if of_writer else between.writes)
        what = unsynchronized(between.lacks, between.scope, other.thread, str(by))
        return Cause(at, what, event.instruction)

    def _unmet(self, between: Unmet) -> Cause:
        """Before what a barrier lacks."""
        other, here = self._event(between.before), self._event(between.after)
        return Cause(
            self._where(between.after), unmet(other.thread, str(self._where(between.before))), here.instruction
        )

    def _unawaited(self, race: ByteRace) -> Cause:
        """At which of the accesses of an asynchronous operation and another one to look, and what lacks there."""
        here, there = (
            (race.after, race.before) if race.lacks in ("wait", "fence", "either") else (race.before, race.after)
        )
        operation = (here if race.lacks == "fence" else there).op.name
        what = unawaited(race.lacks, operation, str(self._where(there)))
        return Cause(self._where(here), what, self._event(here).instruction)

    def _where(self, party: Party) -> Spot:
        program = self.runs.program_of(self.number)
        return self.places.of(self.number, party.op, program)

    def _seen(self, party: Party, location: str) -> SeenEvent:
        """Who does something, for a picture."""
        at = self._located(party)
        program = self.runs.devices[self.runs.test.launches[at.launch].loaded].program
        source = self.places.source_of(self.number, party.op, program)
        return SeenEvent(self._event(party).thread, self._place(at), party.op, location, str(source or ""))

    def _place(self, at: _Located) -> Placement:
        """Numbers of what a thread shares with others; those of other launches are others."""
        launches = self.runs.test.launches
        launch, program = launches[at.launch], self.runs.devices[launches[at.launch].loaded].program
        grid, shape = fitted(program, launch.entry, launch.grid, launch.block, launch.cluster)
        before = sum(prod(one.grid) for one in launches[: at.launch])
        cta = before + _linear(at.cta, grid)
        of_clusters = [[i // n for i, n in zip(some, shape, strict=True)] for some in (at.cta, grid)]
        warp = cta * -(-prod(launch.block) // WARP) + at.thread // WARP
        return Placement(warp, cta, before + _linear(*of_clusters), launch.device)

    def _located(self, party: Party) -> _Located:
        launches = self.runs.test.launches
        size = self.runs.most_threads if side_by_side(self.runs.test) else prod(launches[self.number].block)
        cta, thread = divmod(party.thread, size)
        return _Located(self.runs.launch_of(self.number, cta), self.indices[cta], thread)

    def _event(self, party: Party) -> RaceEvent:
        line = party.op.instruction.span.line
        of, index, thread = self._located(party)
        launch = self.runs.test.launches[of]
        bx, by, _ = launch.block
        name = self.places.thread(of, index, (thread % bx, thread // bx % by, thread // (bx * by)))
        spot = self.places.launch_spot(self.number, line)
        program = self.runs.devices[launch.loaded].program
        source = self.places.source_of(self.number, party.op, program)
        at = self._where(party)
        return RaceEvent(name, line, print_statement(party.op.instruction), spot.path, source, at)
