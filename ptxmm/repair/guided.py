"""A first repair, by what is seen to go wrong: where threads are seen waiting, what feeds exactly that object is tried first.

Each text that fails says where: at the lines at which threads wait, or at those of what races. What is put in, or counted, at
the object of such a line is tried, and what may be changed or put in near to it; where the threads then wait for something
else, or other accesses race, what mends that is tried besides. Nothing is concluded from what fails here, and what holds is
only the first that the search knows: it goes on for what is cheaper.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush

from ptxcore.clock import OutOfTime
from ptxcore.records import NamedTuple
from ptxmm.repair.building import REPAIR, Lines
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.pace import Pace
from ptxmm.repair.sites import EditSite, Option, TextEdit, Vector
from ptxmm.repair.subjects import Subject, judging

#: So many times its patience a text may take, and the share of the time for all of them: where objects are known, or not.
_PATIENT, _SHARE, _SHARE_NEAR = 4, 0.5, 0.2
#: So many edits are put together at most.
_DEEPEST = 4
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
#: What a reason says that names an mbarrier, though the lines are about none: a wait for it may be missing.
_WAITED_FOR = "mbarrier object"

#: And another number of threads at a barrier of the CTA: what is lacking there is a warp. And any number where what is wrong is
#: about no object.
_RARELY = 20

#: Which objects lines of the text are about: what is waited for there, or what tells that a copy is complete.
Objects = Callable[[frozenset[int]], frozenset[str]]


class _Seen(NamedTuple):
    """What a text with some edits was seen to do: at which lines of the text without them, and at which objects; where threads
    wait at what was put in, the line of it is that of its site, negative. Some execution `ends`, as far as is known; the
    `reason` is why it has no meaning, which may name what is missing."""

    vector: Vector
    waits: bool
    lines: frozenset[int]
    about: frozenset[str]
    ends: bool
    reason: str


def guided(
    text: str, sites: Sequence[EditSite], judge: Callable[[Vector], Judgement], base: Judgement, objects: Objects
) -> Vector | None:
    """A vector that holds; None where what the lines say leads to none. Raises OutOfTime."""
    lines = Lines(text)
    first = _Seen(
        (0,) * len(sites), _stuck(base), base.clues, objects(base.clues), not base.nonterminating, base.reason
    )
    waiting: list[tuple[tuple[int, ...], int, _Seen, int, int]] = []
    seen, number = {first.vector}, 0

    def follow(after: _Seen, behind: int) -> None:
        """What may be tried next; `behind` is how much later that is."""
        nonlocal number
        edits = sum(map(bool, after.vector))
        for rank, s, o in _tries(sites, after):
            if not after.vector[s]:
                number += 1
                heappush(waiting, ((rank[0] + behind, -edits, *rank[1:]), number, after, s, o))

    follow(first, 0)
    while waiting:
        (rank, *_), _, before, s, o = heappop(waiting)
        vector = (*before.vector[:s], o, *before.vector[s + 1 :])
        if vector in seen:
            continue
        seen.add(vector)
        judged = judge(vector)
        if judged.holds:
            return vector
        progress = _named(sites[s].options[o], before.reason) and judged.reason != before.reason
        if _goes_on(judged, sum(map(bool, vector)), progress):
            became = _told(vector, judged, sites, lines, objects)
            if judged.wrong:
                if judged.reason or not before.lines <= became.lines:  # something is no longer wrong
                    follow(became, 0)
                continue
            stuck = before.waits and became.lines == before.lines
            follow(became, rank + _ASIDE * stuck)
    return None


class LedTo(NamedTuple):
    """A vector over sites that holds."""

    sites: list[EditSite]
    vector: Vector


def led_to(subject: Subject, base: Judgement, pace: Pace, patience: float, asked: Callable[[], None]) -> LedTo | None:
    """What holds, by what is seen to go wrong with the text of a subject as it is; with the sites that are near, and its own.
    `asked` is called before each text, of which each has some times the patience."""
    if not base.clues:
        return None
    left_out = subject.left_out
    by_object = _stuck(base) or bool(subject.objects(base.clues)) or _WAITED_FOR in base.reason
    sites = subject.sites(REPAIR, by_object)

    end = subject.how.hurried(_SHARE if by_object else _SHARE_NEAR).deadline

    def judge(vector: Vector) -> Judgement:
        if end is not None and time.perf_counter() > end:  # what has begun is not cut off: it may be the one that holds
            raise OutOfTime
        asked()
        with pace.measured():
            return judging(subject, sites, vector, pace.wait(patience * _PATIENT))

    try:
        vector = guided(subject.text, sites, judge, base, subject.objects)
    except OutOfTime:
        vector = None
    if vector is None:
        subject.left_out = left_out
        return None
    kept = [s for s, site in enumerate(sites) if vector[s] or not site.options[-1].far]
    return LedTo([sites[s] for s in kept], tuple(vector[s] for s in kept))


def _goes_on(judged: Judgement, edits: int, progress: bool) -> bool:
    """Whether more edits may mend what a text with some lacks: threads wait, or accesses race; or it has no meaning, which is
    `progress`."""
    more = _stuck(judged) != judged.wrong and bool(judged.clues) and edits < _DEEPEST
    return more and (progress or not judged.reason)


def _stuck(judged: Judgement) -> bool:
    """Whether threads wait in some execution, or in all."""
    return judged.waits or judged.nonterminating


def _told(vector: Vector, judged: Judgement, sites: Sequence[EditSite], lines: Lines, objects: Objects) -> _Seen:
    """What a text was seen to do, by the lines of the text without its edits."""
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
        _stuck(judged),
        frozenset(there),
        objects(frozenset(there)) | put,
        not judged.nonterminating,
        judged.reason,
    )


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
    apart = places_apart(sites, seen.lines)
    for s, site in enumerate(sites):
        for o, option in enumerate(site.options):
            if not option.about:
                earlier = _earlier(option, seen.reason)
                if o and seen.ends and _put_in(option) and (earlier == _FIRST or apart[s] <= _NEAR):
                    later = _LATER * bool(seen.about) - earlier
                    yield (option.cost + _EACH * apart[s] + later, apart[s], site.line), s, o
            elif _mends(option, seen) and not (counted and _number(option)):
                yield _rank(site, option, seen), s, o


def _named(option: Option, reason: str) -> bool:
    """Whether a reason names the statement that an option puts in, or an mbarrier that it waits for."""
    wanted = option.wanted
    if wanted is None or wanted.kind != "put":
        return False
    waits = bool(option.about) and option.meets and _WAITED_FOR in reason
    return waits or wanted.new.split(" ")[0].removesuffix(_TOGETHER) in reason


def _earlier(option: Option, reason: str) -> int:
    """How much earlier an option is that a reason names, or that is about asynchronous operations as the reason is."""
    if _named(option, reason):
        return _FIRST
    new = option.wanted.new if option.wanted is not None else ""
    return option.cost - _CHEAP if _ASYNC in reason and new.startswith(_OF_ASYNC) else 0


def _put_in(option: Option) -> bool:
    """Whether an option is a statement that is put in, and no fence of memory: these, and orders, are soon found from above."""
    put = all(edit.start == edit.end for edit in option.edits)
    return put and not option.arrives and option.level[0] != "fence"


def _mends(option: Option, seen: _Seen) -> bool:
    """Whether what is about an object may mend what was seen: where no execution ends, no further wait does."""
    if not seen.ends and option.meets and not option.arrives:
        return False
    return option.about in seen.about if seen.waits else not option.arrives


def places_apart(sites: Sequence[EditSite], lines: Iterable[int]) -> list[int]:
    """For each site how many places of others lie between it and the nearest of these lines; a negative one is the place of the
    site of this number, from -1 down. Where there is no line, all are equally far."""
    places = sorted({site.line for site in sites})
    found = [bisect_left(places, line if line > 0 else sites[-line - 1].line) for line in lines]
    return [min((abs(bisect_left(places, site.line) - at) for at in found), default=len(places)) for site in sites]


def _number(option: Option) -> bool:
    """Whether an option counts otherwise, and puts nothing in."""
    return bool(option.about) and not option.arrives and not option.meets


def _rank(site: EditSite, option: Option, seen: _Seen) -> tuple[int, ...]:
    later = _RARELY * (option.about.startswith("barrier") and not option.arrives)
    if seen.waits:
        return option.cost + later, option.apart, site.line
    if not seen.about and _number(option):  # plain accesses race: orders and barriers come first
        later += _RARELY
    apart = min((abs(line - site.line) for line in seen.lines), default=0)
    if option.meets:
        later += min(apart, _FAR) // 2
    return option.cost + later + _OTHER * (bool(seen.about) and option.about not in seen.about), apart, site.line
