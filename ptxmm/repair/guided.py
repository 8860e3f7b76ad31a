"""A first repair, by what is seen to go wrong: where threads are seen waiting, what feeds exactly that object is tried first.

Each text that fails says where: at the lines at which threads wait, or at those of what races. What is put in, or counted, at
the object of such a line is tried, and what may be changed or put in near to it; where the threads then wait for something
else, or other accesses race, what mends that is tried besides. Nothing is concluded from what fails here, and what holds is
only the first that the search knows: it goes on for what is cheaper.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush

from ptxcore.records import NamedTuple
from ptxmm.repair.building import Lines
from ptxmm.repair.grid_sites import is_of_grid
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.moves import is_move
from ptxmm.repair.repeated import AlikeSites, shape
from ptxmm.repair.sites import COMPUTED, EditSite, Option, TextEdit, Vector, edits_of, separate

#: What may be what lacks where threads should have synchronized is so much earlier; a fence or a barrier for that stands within
#: so many lines of their statements, on one side, and one by which not all may come is so much later.
_LACKED, _CLOSE = 2000, 12
_SIDE = {"release": -1, "acquire": 1}
_BARRIER, _UNSURE = "bar.sync", 2
_ORDERS = {"release": ("release", "acq_rel", "sc"), "acquire": ("acquire", "acq_rel", "sc")}
#: So many kinds of edits are put together at most, and so many edits.
_DEEPEST, _MOST = 4, 8
#: What is tried where nobody got further is so much later; by how much else: what is about objects of which no line says
#: anything, and a wait so many lines away from what is wrong.
_ASIDE, _OTHER, _FAR = 1000, 5, 30
#: What is put in and is about no object is tried so many places away from what is wrong at most, and is so much later for each
#: of them; and by so much where what is wrong is about an object. It is so much earlier where a reason names it, which says
#: nothing of who executes it together.
_NEAR, _EACH, _LATER, _FIRST = 6, 1, 12, 1000
_TOGETHER = ".sync.aligned"
#: What a reason says of asynchronous operations, and what is about these: it comes then as if it cost no more than a number,
#: just before a barrier of a warp at the same place.
_ASYNC, _OF_ASYNC, _CHEAP = "an asynchronous operation", ("fence.proxy.async", "cp.async."), 3
#: What operations have in their names that are asynchronous.
_ASYNCHRONOUS = (".async", "_async", "tcgen05.")
#: Reasons that say that a phase was over too soon: it counted too few arrivals.
_TOO_SOON = ("an arrival in a phase of an mbarrier object before any wait", "more arrivals than the mbarrier object")
#: The words of a number of arrivals.
_COUNT = " of mbarrier.init"
#: What a reason says that names an mbarrier, though the lines are about none: a wait for it may be missing.
_WAITED_FOR = "mbarrier object"

#: What the text itself shows to be lacking is so much earlier, or later where it shows that to be right; another number is so
#: much later where an access races with a copy; and what was seen to mend nothing at one place is so much later tried at all
#: that look like it.
_LACKING, _GUESS, _COPIES = 6, 4, 4
#: What was not decided soon is judged with more patience at once, as long as that takes no more time than all else, and so much
#: later then; what is as what ended one fault of several is so much
#: earlier; and a wait that is evidently lacking is tried where it is within so many lines of what is wrong, the nearest first.
_AT_ONCE, _AGAIN, _ALIKE, _WITHIN = -1_000_000, 1, 4, 10
#: And what goes on from edits is later by this share of what they cost: what costs less may do.
_DEAR = 4

#: And another number of threads at a barrier of the CTA: what is lacking there is a warp. And any number where what is wrong is
#: about no object.
_RARELY = 20

#: Which objects lines of the text are about: what is waited for there, or what tells that a copy is complete; or what is waited
#: for before them.
Objects = Callable[[frozenset[int]], frozenset[str]]
#: The judgement of a vector, and whether to be patient.
Judge = Callable[[Vector, bool], Judgement]


#: Between whom barriers bring order by themselves; who races that no block takes in, and how much later narrower ones are then.
_MEET = {"bar.warp.sync": ("", "warp"), "bar.sync": ("", "warp", "cta")}
_GRID, _VAIN = "grid", 30
#: A barrier of the grid is so much later where not all may come by: a check of it takes long.
_SOME = 8


class _Next(NamedTuple):
    """What is tried, the lowest rank first: a vector, after another one was seen, from which it differs at a site first. It is
    `patient`: with all the time that one text has."""

    rank: tuple[int, ...]
    number: int
    before: _Seen
    site: int
    vector: Vector
    patient: bool


class _Fault(NamedTuple):
    """What is wrong with a text, as its reason says that, and at which lines."""

    reason: str
    lines: frozenset[int]


class _Seen(NamedTuple):
    """What a text with some edits was seen to do: at which lines of the text without them, and at which objects; where threads
    wait at what was put in, the line of it is that of its site, negative. Some execution `ends`, as far as is known; the
    `reason` is why it has no meaning, which may name what is missing; `guards` is what is waited for last before the lines.
    `between`: who the threads of a race are all of; `copies`: asynchronous operations are among what is wrong;
    `mended`: the changes of these shapes ended one fault, and another one of its kind is there; a single one was near to the
    line of what was wrong that stands `behind` the other (None: of several). `fault`: what was wrong, and where, before a count
    was raised that threads now wait for, with the `since` shapes of what was changed then."""

    vector: Vector
    waits: bool
    lines: frozenset[int]
    about: frozenset[str]
    ends: bool
    reason: str
    guards: frozenset[str]
    between: str
    copies: bool
    lacking: frozenset[tuple[int, str]] = frozenset()
    mended: frozenset[str] = frozenset()
    behind: bool | None = False
    fault: _Fault | None = None
    since: frozenset[str] = frozenset()


def guided(
    text: str, sites: Sequence[EditSite], judge: Judge, base: Judgement, objects: Objects,
    guards: Objects = lambda _: frozenset(), glimpsed: Judgement | None = None,
) -> Iterator[Vector]:  # fmt: skip
    """Vectors that hold, each of which costs less than those before; none where what the lines say leads to none. `judge` is
    told whether to be patient: what is not decided soon is judged again later. `glimpsed` is what a few runs of the text as it
    is show, as of each changed one, where these show anything. Raises OutOfTime."""
    lines = Lines(text)
    lacking = base.lacking if glimpsed is None else base.lacking | glimpsed.lacking
    first = _Seen(
        (0,) * len(sites), base.stuck, base.clues, objects(base.clues), not base.nonterminating, base.reason,
        guards(base.clues), base.between, _copies(base, base.clues, lines), lacking,
    )  # fmt: skip
    repeated = AlikeSites(text, sites)
    waiting: list[_Next] = []
    seen, number = {first.vector: True}, 0
    spent = {False: 0.0, True: 0.0}
    least = math.inf  # what costs as much is no answer any more

    def put(rank: tuple[int, ...], before: _Seen, s: int, vector: Vector, *, patient: bool = False) -> None:
        nonlocal number
        number += 1
        heappush(waiting, _Next(rank, number, before, s, vector, patient))

    def follow(after: _Seen, behind: int) -> None:
        """What may be tried next; `behind` is how much later that is."""
        edits = sum(map(bool, after.vector))
        for rank, s, o in _tries(sites, after):
            if not after.vector[s] or _supplies(sites[s], sites[s].options[o], after):
                with_it = _goes_with(sites, after, s, o)
                later = 0 if after.mended and with_it > 0 else behind  # one mistake at several places is one
                first = (rank[0] + later - _ALIKE * with_it, -edits, *rank[1:])
                vector = (*after.vector[:s], o, *after.vector[s + 1 :])
                put(first, after, s, vector, patient=with_it > 0)

    follow(first, 0)
    while waiting:
        rank, _, before, s, vector, patient = heappop(waiting)
        if (vector in seen and seen[vector] >= patient) or not separate(edits_of(sites, vector)):
            continue
        if (price := _cost(sites, vector)) >= least:
            continue
        seen[vector] = patient
        started = time.perf_counter()
        judged = judge(vector, patient)
        spent[patient] += time.perf_counter() - started
        if judged.holds:
            least = price
            yield vector
            continue
        if judged.holds is None:
            if not patient:  # the few runs that come first show nothing wrong, as of most they do: it may well hold
                at_once = spent[True] <= spent[False]
                put((_AT_ONCE if at_once else rank[0] + _AGAIN, *rank[1:]), before, s, vector, patient=True)
            continue
        option, edits = sites[s].options[vector[s]], sum(map(bool, vector))
        kinds = len({shape(sites[t].options[o].words) for t, o in enumerate(vector) if o})
        became = _told(vector, judged, before, sites, lines, objects, guards)
        # something is no longer wrong, and nothing is wrong in another way
        same = shape(judged.reason) == shape(before.reason)  # whatever lines it names: what is put in moves them
        fault = before.fault if before.waits else _Fault(before.reason, before.lines)
        if before is first and glimpsed is not None and glimpsed.clues and fault is not None:
            fault = fault._replace(lines=glimpsed.clues)
        like = fault is not None and shape(judged.reason) == shape(fault.reason)
        mended = judged.wrong and fault is not None and like and not fault.lines <= became.lines
        named = not same and _named(option, before.reason)  # what the reason named is there, and it names it no more
        mended = mended or (named and judged.wrong)
        if (spread := repeated.everywhere(vector, s)) is not None:
            later = (_cost(sites, spread) - price) // _DEAR
            each_round = option.far and option.meets  # where it is lacking in each round, one ends no fault by itself
            put((rank[0] + later + _COPIES * (not (mended or each_round)), -edits, *rank[2:]), before, s, spread)
        if mended:
            behind = None if before.since else _behind(sites[s], before)
            became = became._replace(mended=before.since | {shape(option.words)}, behind=behind)
        elif became.waits and (before.waits or _raises(option)):  # what is counted is lacking, beside what was wrong
            became = became._replace(fault=fault, since=before.since | {shape(option.words)})
        progress = named or not (same or judged.reason)
        progress = progress or (before.lacking != became.lacking and _supplies(sites[s], option, before))
        fed = bool(option.arrives) and option.evident > 1 and before.waits and not judged.waits
        progress = progress or fed  # who had not arrived may have been ahead of others, too
        if _goes_on(judged, kinds, progress or mended) and edits < _MOST:
            if judged.wrong:
                if _strangers(before) and _too_narrow(option, _GRID) and not option.about:
                    continue
                if judged.reason or mended or progress:  # an arrival elsewhere may be right by itself
                    follow(became, rank[0] if option.arrives else price // _DEAR)
                continue
            stuck = before.waits and became.lines == before.lines
            follow(became, rank[0] + _ASIDE * stuck)


def _goes_on(judged: Judgement, kinds: int, progress: bool) -> bool:
    """Whether more edits may mend what a text with some lacks: threads wait, or accesses race; or it has no meaning, which is
    `progress`."""
    more = judged.stuck != judged.wrong and bool(judged.clues) and kinds < _DEEPEST
    return more and (progress or not judged.reason)


def _told(
    vector: Vector, judged: Judgement, before: _Seen, sites: Sequence[EditSite], lines: Lines, objects: Objects,
    guards: Objects,
) -> _Seen:  # fmt: skip
    """What a text was seen to do, by the lines of the text without its edits. Where no execution of the one before it ended,
    and threads still wait, none is taken to end: a run was seen to wait, and nobody looked for one that does not."""
    edits = sorted(
        ((edit, s) for s, o in enumerate(vector) for edit in sites[s].options[o].edits), key=lambda pair: pair[0].start
    )
    there, put = set[int](), set[str]()
    for line in judged.clues:
        by = _place(line, [edit for edit, _ in edits], lines)
        if by < 0:
            s = edits[-by - 1][1]
            put.add(sites[s].options[vector[s]].about)
            by = -s - 1
        there.add(by)
    return _Seen(
        vector,
        judged.stuck,
        frozenset(there),
        objects(frozenset(there)) | put,
        not judged.nonterminating and (before.ends or not judged.waits),
        judged.reason,
        guards(frozenset(there)),
        judged.between,
        _copies(judged, there, lines),
        frozenset((_place(line, [edit for edit, _ in edits], lines), what) for line, what in judged.lacking),
    )


def _copies(judged: Judgement, there: Iterable[int], lines: Lines) -> bool:
    """Whether asynchronous operations are among what is wrong: by the reason, or by one of the lines."""
    wrong = (lines.of(line) for line in there if line > 0)
    return _ASYNC in judged.reason or any(word in text for text in wrong for word in _ASYNCHRONOUS)


def _place(line: int, edits: Sequence[TextEdit], lines: Lines) -> int:
    """The line of the text that is a line of the changed one; where an edit put it in, that one's number from -1 down."""
    more = 0
    for number, edit in enumerate(edits):
        at, grown = lines.line(edit.start), edit.new.count("\n") - lines.text.count("\n", edit.start, edit.end)
        if line - more < at:
            break
        if line - more < at + grown:
            return -number - 1
        more += grown
    return line - more


def _tries(sites: Sequence[EditSite], seen: _Seen) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """The options that may mend what is wrong, the likeliest first: where threads wait, those that feed what they wait for;
    else waits and numbers, at first those of what the lines of the fault are about, and near to them; and what is about no
    object, near to these lines. One number is another at most: what a second one mends is mostly what the first one broke."""
    counted = any(_number(sites[s].options[o]) for s, o in enumerate(seen.vector))
    # where an mbarrier counts more arrivals by now, one of those that arrive there may be it
    raised = {option.about for s, o in enumerate(seen.vector) if o and _raises(option := sites[s].options[o])}
    apart = places_apart(sites, seen.lines)
    for s, site in enumerate(sites):
        for o, option in enumerate(site.options):
            if o and _supplies(site, option, seen):
                unsure = option.meets and not option.sure
                yield (option.cost - _LACKED + _missed(site, seen) + _UNSURE * unsure, 0, site.line), s, o
            elif is_move(option):
                if seen.ends and not seen.waits:
                    yield _rank_of_move(sites, option, o, seen), s, o
            elif not option.about:
                earlier, of_grid = _earlier(option, seen), is_of_grid(option)
                if of_grid and not _strangers(seen):  # what blocks lack that find what others wrote is an order
                    continue
                if o and seen.ends and _put_in(option) and (earlier == _FIRST or apart[s] <= _NEAR):
                    narrow = _too_narrow(option, seen.between)
                    later = _LATER * (bool(seen.about) or narrow) + _VAIN * (narrow and _strangers(seen)) - earlier
                    later += _SOME * (of_grid and not option.sure)
                    yield (option.cost + _EACH * apart[s] + later, apart[s], site.line), s, o
            elif _mends(option, seen) and not (counted and _is_guess(option, seen)):
                yield _rank(site, option, seen, fed=bool(option.arrives) and option.about in raised), s, o


def _supplies(site: EditSite, option: Option, seen: _Seen) -> bool:
    """Whether an option may be what lacks where threads should have synchronized: an order or scope of the statement there, or
    a fence just before one that releases nothing, or just behind one that acquires nothing; or a barrier just before one that
    releases what others of the CTA have done."""
    wanted = option.wanted
    if wanted is not None and wanted.kind == "put" and option.meets and not option.about:
        return wanted.new.startswith(_BARRIER) and _missed(site, seen) > 0
    if wanted is None or option.about or (seen.between == "grid" and wanted.scope == "cta"):
        return False
    if wanted.family == "fence":
        return any(0 <= (site.line - line) * _SIDE[what] <= _CLOSE for line, what in seen.lacking if what in _SIDE)
    wider = wanted.scope != wanted.old_scope
    return wanted.kind == "order" and any(
        site.line == line and (wanted.order in _ORDERS[what] if what in _ORDERS else wider)
        for line, what in seen.lacking
    )


def _missed(site: EditSite, seen: _Seen) -> int:
    """How far behind a place a statement is before which a barrier of the CTA lacks, from 1; 0 where there is none so near."""
    away = [line - site.line + 1 for line, what in seen.lacking if what == "barrier"]
    return min((lines for lines in away if 0 < lines <= _CLOSE + 1), default=0)


def _goes_with(sites: Sequence[EditSite], seen: _Seen, s: int, o: int) -> int:
    """Whether an option is as what ended one fault of several (1), and no barrier; or a wait for what the other faults are
    about where one of their kind ended (1), or that goes with those for the same object further up, which is for the other
    parity (1), or does not (-1)."""
    option = sites[s].options[o]
    if option.evident < 1 or not option.meets:
        alike = shape(option.words) in seen.mended and not option.meets
        return int(alike and seen.behind in (None, _behind(sites[s], seen)))
    put = [(sites[t].line, sites[t].options[p]) for t, p in enumerate(seen.vector) if p]
    above = [
        (line, other.words)
        for line, other in put
        if line < sites[s].line and other.about == option.about and other.meets
    ]
    if seen.about and option.about not in seen.about:
        return 0
    return int(bool(seen.mended)) if not above else 1 if max(above)[1] != option.words else -1


def _cost(sites: Sequence[EditSite], vector: Vector) -> int:
    return sum(site.options[o].cost for site, o in zip(sites, vector, strict=True))


def _behind(site: EditSite, seen: _Seen) -> bool:
    """Whether a place is nearer to the last line of what is wrong than to the first."""
    lines = [line for line in seen.lines if line > 0] or [0]
    return abs(site.line - max(lines)) < abs(site.line - min(lines))


def _named(option: Option, reason: str) -> bool:
    """Whether a reason names the statement that an option puts in, or an mbarrier that it waits for."""
    wanted = option.wanted
    if wanted is None or wanted.kind != "put":
        return False
    waits = bool(option.about) and option.meets and _WAITED_FOR in reason
    return waits or wanted.new.split(" ")[0].removesuffix(_TOGETHER) in reason


def _earlier(option: Option, seen: _Seen) -> int:
    """How much earlier an option is that the reason names, or that is about asynchronous operations as what is wrong is."""
    if _named(option, seen.reason):
        return _FIRST
    new = option.wanted.new if option.wanted is not None else ""
    if not new.startswith(_OF_ASYNC):
        return 0
    return option.cost - _CHEAP + _LATER * bool(seen.about) if seen.copies else -_LATER


def _too_narrow(option: Option, between: str) -> bool:
    """Whether a barrier brings together fewer than those between whom accesses race: what it orders is not these by itself."""
    name = option.wanted.new.split(" ")[0] if option.wanted is not None else ""
    return between not in _MEET.get(name, (between,))


def _strangers(seen: _Seen) -> bool:
    """Whether blocks race of which none was seen to find what the other one wrote: no barrier of one of them orders that."""
    return seen.between == _GRID and not seen.lacking


def _put_in(option: Option) -> bool:
    """Whether an option is a statement that is put in, and no fence of memory: these, and orders, are soon found from above."""
    put = all(edit.start == edit.end for edit in option.edits)
    return put and not option.arrives and option.level[0] != "fence"


def _mends(option: Option, seen: _Seen) -> bool:
    """Whether what is about an object may mend what was seen: where no execution ends, no further wait does."""
    if not seen.ends and option.meets and not option.arrives:
        return False
    return option.concerns(seen.about) if seen.waits else not option.arrives


def places_apart(sites: Sequence[EditSite], lines: Iterable[int]) -> list[int]:
    """For each site how many places of others lie between it and the nearest of these lines; a negative one is the place of the
    site of this number, from -1 down. Where there is no line, all are equally far."""
    places = sorted({site.line for site in sites})
    found = [bisect_left(places, line if line > 0 else sites[-line - 1].line) for line in lines]
    return [min((abs(bisect_left(places, site.line) - at) for at in found), default=len(places)) for site in sites]


def _number(option: Option) -> bool:
    """Whether an option counts otherwise, and puts nothing in."""
    return bool(option.about) and not option.arrives and not option.meets


def _is_guess(option: Option, seen: _Seen) -> bool:
    """Whether an option is another number that nothing tells of: neither the text, nor what ended a fault of the same kind."""
    return _number(option) and option.evident <= 0 and shape(option.words) not in seen.mended


def _raises(option: Option) -> bool:
    """Whether with an option an mbarrier counts more arrivals."""
    wanted = option.wanted
    counts = wanted is not None and wanted.kind in ("number", COMPUTED) and _COUNT in option.words
    return counts and wanted is not None and int(wanted.new) > int(wanted.old)


def _rank(site: EditSite, option: Option, seen: _Seen, *, fed: bool) -> tuple[int, ...]:
    later = _RARELY * (option.about.startswith("barrier") and not (option.arrives or option.meets))
    if seen.waits:
        if fed:
            return _CHEAP * option.arrives - _LACKING, option.apart, site.line
        if option.arrives:  # it is evident that one is lacking, and who it is that does not arrive
            later -= _LACKING * (option.evident > 1)
        return option.cost + later + _LACKING * ((option.evident < 0) - (option.evident > 2)), option.apart, site.line
    # what is waited for before what is wrong may be over too soon: it counts too few
    guards = option.about in seen.guards - seen.about and _raises(option)
    if option.about in seen.about and _raises(option) and any(words in seen.reason for words in _TOO_SOON):
        return option.cost - _LACKING, 0, site.line
    if _number(option) and not guards:  # accesses race: orders, barriers and what comes too early are tried first
        later += _GUESS * seen.copies if seen.about else _RARELY
    apart = min((abs(line - site.line) for line in seen.lines), default=0)
    other = _OTHER * (bool(seen.about) and option.about not in seen.about and not guards)
    later = other - _LACKING if option.evident > 0 else later + other - _LACKING * option.evident
    if option.evident > 2:  # who arrives may well be in a loop, which costs, but tells nothing
        return 0, 0, site.line
    if option.evident > 1:
        return option.cost + later, min(apart, _WITHIN), site.line
    later += min(apart, _FAR) // 2 if _waits_anew(option) else 0
    return option.cost + later, apart, site.line


def _waits_anew(option: Option) -> bool:
    """Whether an option is a wait that is put in: of a statement that is there the place is known."""
    return option.meets and option.wanted is not None and option.wanted.kind == "put"


def _rank_of_move(sites: Sequence[EditSite], option: Option, number: int, seen: _Seen) -> tuple[int, ...]:
    """What is moved comes the earlier the nearer what is wrong is to where it comes from, or to where it goes; or, where what
    is wrong stands behind a wait for what it tells of, the nearer these two are."""
    assert option.wanted is not None
    ends = (option.wanted.before, option.wanted.line)
    places = sorted({site.line for site in sites} | set(ends))
    wrong = [line if line > 0 else sites[-line - 1].line for line in seen.lines]
    apart = min(
        (abs(bisect_left(places, end) - bisect_left(places, line)) for end in ends for line in wrong), default=0
    )
    if option.about in seen.guards:
        apart = min(apart, number)
    return option.cost + apart, apart, option.wanted.line
