"""Repairs and weakenings of a subject: what was found, and what was proven of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from axioms.errors import EngineDefect
from axioms.program import UnsupportedProgram
from ptxcore.clock import OutOfTime
from ptxmm.repair.arrivals import not_put_in
from ptxmm.repair.building import REPAIR
from ptxmm.repair.found import Answer, Change, Found, Need
from ptxmm.repair.grid_sites import is_of_grid
from ptxmm.repair.judgement import Judgement, Solution, Weakening
from ptxmm.repair.led import led_to
from ptxmm.repair.meeting import met
from ptxmm.repair.moves import is_move
from ptxmm.repair.pace import Pace
from ptxmm.repair.party_sites import is_of_some
from ptxmm.repair.search import Search
from ptxmm.repair.sites import EditSite, Option, TextEdit, Vector, edited, edits_of
from ptxmm.repair.small_first import led_by_smaller
from ptxmm.repair.stages import Stage
from ptxmm.repair.subjects import Larger, Subject, judging

#: Why a search stopped.
_LATE = "out of time"
#: How long a text is looked at that is only tried to rule out more: seconds of computing, or so many times what the first
#: check took.
_SOON, _TIMES = 0.3, 3
#: And in a search of weakenings, which begins with what is weakest and takes longest: one failure that is learned from what is
#: stronger spares many.
_SOON_WEAKER = 1.0
#: The share of the time for what is no arrival, where no execution ends.
_BEFORE_ARRIVALS = 0.4
#: What is not tried again where nothing was found.
_MOVES = "what hands over that comes later, but where the lines of the fault led to it first"
_OF_SOME = "barriers of those threads alone who come by a place, but where the lines of the fault led to one first"
#: And one that is as strong as can be, which may be the first that holds, and so takes longer than the text as it is: a share
#: of the time that is left.
_AMPLE = 1 / 16


def answered(
    subject: Subject, mode: str, *, every: bool, most: int | None, told: Callable[[str], None] = lambda _: None
) -> Answer:
    """Searches repairs (`mode`), or weakenings, of a subject: the first, or `every` one, of up to `most` changed statements.
    What was found when the time ran out, or somebody interrupted, is in the answer. The search has a share of the time; the
    rest is for proving its solutions in the source, and for larger launches; where it found none, that is time for it, too."""
    how, stages, began = subject.how, subject.judged.stages, time.perf_counter()
    subject.how = how.hurried(subject.search_share)
    try:
        answer = _searched(subject, mode, every=every, most=most, told=told)
    finally:
        subject.how = how
    if mode == REPAIR and answer.stopped == _LATE and not answer.found and subject.search_share < 1:
        # what was judged is known: it goes on where it ended
        again = _searched(subject, mode, every=every, most=most, told=told)
        answer = answer if again.base.holds is None else again
    answer.tried, answer.seconds = stages.tried(), time.perf_counter() - began
    if answer.stopped != "interrupted":  # who interrupts waits for nothing more
        for found in answer.found:
            _look_further(subject, found, mode)
    if mode != REPAIR:  # what the search had no time for may be refuted now; then it was no answer, and others may be
        kept = [found for found in answer.found if found.larger.holds is not False]
        answer.complete = answer.complete and len(kept) == len(answer.found)
        answer.found = kept
    return answer


def _searched(subject: Subject, mode: str, *, every: bool, most: int | None, told: Callable[[str], None]) -> Answer:
    """What is found in the time of the search, of the first also what follows from it as far as there is time."""
    try:
        base = subject.judge(subject.text)
        pace = Pace()
        with pace.measured():
            subject.judge(subject.text)  # again: the first one loads what it needs
        if base.holds and mode != REPAIR:
            with pace.measured():
                subject.judge_weaker(subject.text)
    except OutOfTime:
        return Answer(mode=mode, subject=subject, base=Judgement(None), most=most, stopped=_LATE)
    answer = Answer(mode=mode, subject=subject, base=base, most=most, asked=1)
    if base.holds is None or base.holds == (mode == REPAIR):
        return answer
    how, left_out = subject.how, subject.left_out
    try:
        return _of_wrong(answer, pace, every=every, told=told)
    except OutOfTime:  # while it was looked up what may be changed
        subject.how, subject.left_out, answer.stopped = how, left_out, _LATE
        return answer


def _of_wrong(answer: Answer, pace: Pace, *, every: bool, told: Callable[[str], None]) -> Answer:
    """What is found for a text that is wrong, or may be weaker; `pace` knows how long it took to see that. Raises OutOfTime."""
    subject, mode, base = answer.subject, answer.mode, answer.base
    once, how = pace.computed, subject.how
    if mode == REPAIR and _by_clues(answer, pace, once, every=every, told=told):
        return answer
    sites = subject.sites(mode)
    if base.nonterminating and mode == REPAIR:  # what is missing may well be an arrival: time is kept for that
        subject.how = how.hurried(_BEFORE_ARRIVALS)
    try:
        stuck = _among_sites(answer, sites, pace, once, every=every, told=told)
        if mode == REPAIR and not (answer.found or answer.stopped):
            answer, waiting = _each_call(answer, sites, pace, once, every=every, told=told)
            stuck = stuck or waiting
    finally:
        subject.how = how
    stopped = answer.stopped and not (base.nonterminating and answer.stopped != "interrupted")
    if mode != REPAIR or answer.found or stopped:
        return answer  # what is put in makes nothing weaker
    left_out, every_site = subject.left_out, subject.sites(mode, True)
    with_moves = [site for site in every_site if not is_of_grid(site.options[-1])]
    of_grid = [site for site in every_site if is_of_grid(site.options[-1])]
    with_arrivals = [site for site in with_moves if not is_move(site.options[-1])]
    moves = [_MOVES] * (len(with_arrivals) < len(with_moves))
    if not stuck:
        subject.left_out = [*left_out, *_passed_over(with_arrivals, len(sites)), *moves]
        return _of_the_grid(answer, of_grid, pace, once, every=every, told=told)
    subject.left_out += moves
    if len(with_arrivals) > len(sites):  # some thread waits for what nobody does
        if base.nonterminating:  # what has more barriers does not end either
            many = len(with_arrivals)
            with_arrivals = [s for s in with_arrivals if not any(o.meets for o in s.options)]
            subject.left_out += ["barriers together with more arrivals"] * (len(with_arrivals) < many)
        again = replace(answer, stopped="", reasons=[])
        try:
            _among_sites(again, with_arrivals, pace, once, every=every, told=told)
        except OutOfTime:
            again.stopped = _LATE
        answer = _both(answer, again)
    return _of_the_grid(answer, of_grid, pace, once, every=every, told=told)


def _of_the_grid(
    answer: Answer, sites: list[EditSite], pace: Pace, once: float, *, every: bool, told: Callable[[str], None]
) -> Answer:
    """Where nothing was found: the answer with barriers of the whole grid, which take long to check, and nothing else."""
    if answer.found or answer.stopped or not sites:
        return answer
    again = replace(answer, reasons=[])
    try:
        _among_sites(again, sites, pace, once, every=every, told=told)
    except OutOfTime:
        again.stopped = _LATE
    return _both(answer, again)


def _passed_over(with_arrivals: Sequence[EditSite], others: int) -> list[str]:
    """Which sites beside so many others are not tried where every execution that was seen terminates, in words."""
    by_all = [site for site in with_arrivals if not is_of_some(site.options[-1])]
    return [*not_put_in(by_all, len(by_all) - others), *[_OF_SOME] * (len(by_all) < len(with_arrivals))]


def _by_clues(answer: Answer, pace: Pace, once: float, *, every: bool, told: Callable[[str], None]) -> bool:
    """Whether something that holds was found by what is seen to go wrong; then also what is cheaper was searched. Or whether
    there is no time left for anything else."""

    def asked() -> None:
        answer.asked += 1
        told(f"{answer.asked} texts checked")

    def smaller(small: Subject) -> list[tuple[TextEdit, ...]]:
        also = _searched(
            small, REPAIR, every=False, most=answer.most, told=lambda _: told(f"{answer.asked} texts checked")
        )
        answer.asked += also.asked
        return [found.edits for found in also.found]

    stages = answer.subject.judged.stages
    try:
        with stages.at(Stage.SMALLER):
            known = led_by_smaller(answer.subject, answer.base, smaller)
    except OutOfTime:
        answer.stopped = _LATE
        return True
    if known is None:
        with stages.at(Stage.LINES):
            known = led_to(answer.subject, answer.base, pace, max(_SOON, _TIMES * once), asked)
    if known is not None:
        _among_sites(answer, known.sites, pace, once, every=every, told=told, known=known.vector)
    return known is not None


def _each_call(
    answer: Answer, sites: list[EditSite], pace: Pace, once: float, *, every: bool, told: Callable[[str], None]
) -> tuple[Answer, bool]:
    """Where nothing was found: the answer with each call of a function of the source changed by itself, since what is wrong at
    one of them may be right at another; and whether threads wait in some text then."""
    subject = answer.subject
    left_out = subject.left_out
    finer = subject.sites(answer.mode, apart=True)
    if len(finer) <= len(sites):
        subject.left_out = left_out
        return answer, False
    again = replace(answer, reasons=[])
    stuck = _among_sites(again, finer, pace, once, every=every, told=told)
    return _both(answer, again), stuck


def _both(first: Answer, again: Answer) -> Answer:
    """Of two searches that one went on where the other had found nothing: that there are none is known only where both know."""
    again.complete = again.complete and first.complete
    again.undecided, again.upside_down = again.undecided + first.undecided, again.upside_down or first.upside_down
    again.reasons = list(dict.fromkeys((*first.reasons, *again.reasons)))
    again.stopped = again.stopped or ("" if again.found else first.stopped)
    return again


def _among_sites(
    answer: Answer, sites: list[EditSite], pace: Pace, once: float, *, every: bool, told: Callable[[str], None],
    known: Vector | None = None,
) -> bool:  # fmt: skip
    """Searches solutions among the changes of these sites, into the answer; `known` is a vector that holds. Gives whether in
    some text threads do not terminate, or no execution ends."""
    subject, mode, base, most = answer.subject, answer.mode, answer.base, answer.most
    stages = subject.judged.stages
    limit = most if mode == REPAIR else None
    patience = max(_SOON if mode == REPAIR else _SOON_WEAKER, _TIMES * once)
    start = base if mode == REPAIR else None  # what a weakening begins with changes everything

    def searching(sites: list[EditSite]) -> Search:
        check = partial(judging, subject, sites, weaker=mode != REPAIR)
        try:
            left = subject.how.left()
        except OutOfTime:  # of what is known something is told all the same
            left = 0.0
        ample = 0.0 if left is None else pace.work(left) * _AMPLE
        return Search(
            sites, check, patience, subject.how.left, ample, limit, every or mode != REPAIR, told=told, pace=pace, base=start
        )  # fmt: skip

    every_site = sites
    best: Solution | None = None

    def held(vector: Vector) -> None:
        """Keeps what one barrier alone is, of these sites."""
        nonlocal best
        single = searching(every_site)
        try:
            single.keep_least_of(vector)
        finally:
            best = single.best or best

    alone = searching(sites if known else [s for s in sites if not any(o.meets for o in s.options)])
    try:
        with stages.at(Stage.ABOVE):
            if known is not None:
                alone.keep_least_of(known)
            elif mode == REPAIR:  # each barrier is tried by itself below, which takes long where there are many
                alone.look_from_above()
        best = _among(alone.best, alone.sites, sites) if alone.best else None
        if not base.nonterminating:  # else what is stronger does not end either, and takes long to try
            wait = pace.wait(patience)
            with stages.at(Stage.BARRIERS):
                sites = met(subject, sites, best, every=every, patience=wait, clues=base.clues, held=held)
    except OutOfTime:
        answer.stopped = _LATE
        answer.sites, answer.options = len(sites), sum(len(s.options) - 1 for s in sites)
        if best is None and alone.best is not None:
            best = _among(alone.best, alone.sites, every_site)
        if best is not None:
            answer.found.append(_found(subject, every_site, best, mode, cheapest=False))
        return alone.stuck
    answer.sites, answer.options = len(sites), sum(len(s.options) - 1 for s in sites)
    search = searching(sites)
    if best is not None:
        search.best = _among(best, every_site, sites)
    weakest: list[tuple[Answer | Found, Solution]] = []
    stage = Stage.ARRIVALS if any(s.options[-1].arrives for s in sites) else Stage.CHEAPEST
    try:
        with stages.at(stage):
            for solution in search.solutions():
                if mode == REPAIR or any(o.words for o in _chosen(sites, solution)):
                    known_least = not (search.undecided or search.upside_down)
                    answer.found.append(_found(subject, sites, solution, mode, cheapest=known_least))
                    weakest.append((answer.found[-1], solution))
                    if len(answer.found) == 1:
                        if mode == REPAIR and not every:
                            spread = _among(solution, sites, every_site)
                            answer.found[:0] = _wider(subject, every_site, answer.found[0], spread.vector)
                        _look_further(subject, answer.found[0], mode)
                else:
                    answer.needs = _needs(sites, solution)
                    weakest.append((answer, solution))
                if not every and mode == REPAIR:
                    break
            if mode != REPAIR:
                _tell_needs(sites, search, weakest)
    except OutOfTime:
        search.exhausted = search.exhausted or (search.none_with > 0 and search.best is None and not answer.found)
        answer.stopped = "" if search.exhausted else _LATE
    except KeyboardInterrupt:
        answer.stopped = "interrupted"
    if search.best is not None and (every or not answer.found):
        answer.found.append(_found(subject, sites, search.best, mode, cheapest=False))
    answer.asked += alone.asked + search.asked
    answer.complete, answer.undecided = search.exhausted, search.undecided
    if answer.complete and any(s.options[-1].arrives for s in sites):
        answer.arrivals = search.none_with
    answer.upside_down, answer.reasons = search.upside_down, search.reasons
    return alone.stuck or search.stuck


def _among(solution: Solution, few: Sequence[EditSite], sites: Sequence[EditSite]) -> Solution:
    """A solution over a few of the sites, or some of their options, as one over all: nothing changes at the others."""
    places = {
        (site.where, site.line, id(option)): (number, index)
        for number, site in enumerate(sites)
        for index, option in enumerate(site.options)
    }

    def place(number: int, option: int) -> tuple[int, int]:
        site = few[number]
        return places[site.where, site.line, id(site.options[option])]

    chosen = dict(place(number, option) for number, option in enumerate(solution.vector) if option)
    needs = tuple(
        step._replace(site=number, option=option)
        for step in solution.needs
        for number, option in [place(step.site, step.option)]
    )
    return replace(solution, vector=tuple(chosen.get(number, 0) for number in range(len(sites))), needs=needs)


def _chosen(sites: list[EditSite], solution: Solution) -> Iterator[Option]:
    return (site.options[o] for site, o in zip(sites, solution.vector, strict=True))


def _found(subject: Subject, sites: list[EditSite], solution: Solution, mode: str, cheapest: bool = True) -> Found:
    changes = tuple(
        Change(who, line, site.told(chosen), option.source_words, subject.place(line))
        for site, chosen in zip(sites, solution.vector, strict=True)
        for option in [site.options[chosen]]
        for who, line in [option.spot or (site.where, site.line)]
        if option.words
    )
    edits = edits_of(sites, solution.vector)
    text = edited(subject.text, edits)
    return Found(
        changes=changes,
        needs=_needs(sites, solution),
        text=text,
        cost=solution.cost,
        bounded=solution.bounded,
        minimal=solution.minimal,
        cheapest=cheapest,
        edits=tuple(edits),
        wanted=tuple(o.wanted for o in _chosen(sites, solution) if o.words and o.wanted is not None),
    )


def _tell_needs(sites: list[EditSite], search: Search, weakest: list[tuple[Answer | Found, Solution]]) -> None:
    """What each weakest text rests on, or the text as it is, with all checks that fail. Raises OutOfTime."""
    for where, solution in weakest:
        steps: list[Weakening] = []
        for step in solution.needs:
            steps.append(search.told_fully(step, solution.vector))
            told = replace(solution, needs=(*steps, *solution.needs[len(steps) :]))
            where.needs = _needs(sites, told)


def _needs(sites: list[EditSite], solution: Solution) -> tuple[Need, ...]:
    made = []
    for step in solution.needs:
        site = sites[step.site]
        words = _step(site, solution.vector[step.site], step.option)
        made.append(Need(site.where, site.line, words, step.failed, step.undecided, step.launch))
    return tuple(made)


def _look_further(subject: Subject, found: Found, mode: str) -> None:
    """What becomes of a solution in the source, and then in a larger launch, each until the time was enough."""
    if subject.is_smaller:
        return
    if found.source is None or found.source.late:
        found.source = subject.in_source(found.wanted, weaker=mode != REPAIR)
    _enlarge(subject, found, subject.larger if mode == REPAIR else subject.weaker_in_larger)


def _enlarge(subject: Subject, found: Found, asked: Callable[[str], Larger] | None = None) -> None:
    if not found.enlarged:
        try:
            found.larger, found.enlarged = (asked or subject.larger)(found.text), True
        except OutOfTime:
            found.larger = Larger("a larger launch was not tried: out of time")
        except (EngineDefect, UnsupportedProgram) as error:  # of that launch: the one given is decided
            found.larger = Larger(f"a larger launch is not decided: {error}")


def _wider(subject: Subject, sites: list[EditSite], found: Found, vector: Vector) -> list[Found]:
    """Where a repair by barriers of a warp fails with more warps, or is not decided there, and barriers of the CTA in their
    places hold in both launches, or in the one that is decided: that. What a barrier of a warp rests on is that the block is
    one, which is rarely what its author launches."""
    wide = _of_the_cta(sites, vector)
    if wide is None:
        return []

    def both(tried: Vector, patience: float | None) -> Judgement:
        judged = judging(subject, sites, tried, patience)
        if not judged.holds:
            return judged
        return subject.judge_on(found.larger, edited(subject.text, edits_of(sites, tried)), patience)

    try:
        made = _least(sites, partial(judging, subject, sites), wide)  # first: a larger launch may take all the time
        if made is None:
            return []
        _enlarge(subject, found)
        if found.larger.holds is False:
            made = _least(sites, both, wide)
    except (EngineDefect, UnsupportedProgram, OutOfTime):
        return []
    if made is None or found.larger.holds:
        return []
    wider = _found(subject, sites, made, REPAIR, cheapest=False)
    wider.wide, wider.both = True, found.larger.holds is False
    return [wider]


def _least(
    sites: list[EditSite], check: Callable[[Vector, float | None], Judgement], vector: Vector
) -> Solution | None:
    """Of a vector that holds what is needed of it; None where it does not hold. Raises OutOfTime."""
    return Search(sites, check).least_of(vector) if check(vector, None).holds else None


def _of_the_cta(sites: list[EditSite], vector: Vector) -> Vector | None:
    """The vector with a barrier of the CTA for each of a warp that is put in; None where none is, or has no such place."""
    wide = list(vector)
    for number, option in enumerate(vector):
        if not _puts(sites[number].options[option], "bar.warp.sync"):
            continue
        at = sites[number].options[option].edits[0].start
        there = (s for s, site in enumerate(sites) if _puts(site.options[-1], "bar.sync"))
        other = next((s for s in there if sites[s].options[-1].edits[0].start == at), None)
        if other is None:
            return None
        wide[number], wide[other] = 0, len(sites[other].options) - 1
    return tuple(wide) if tuple(wide) != vector else None


def _puts(option: Option, statement: str) -> bool:
    wanted = option.wanted
    return wanted is not None and wanted.kind == "put" and wanted.new.split(" ")[0] == statement


def _step(site: EditSite, now: int, then: int) -> str:
    """A step weaker, in words."""
    return site.told(then) or f"without: {site.told(now)}"
