"""A first repair of a subject, by what is seen to go wrong (`guided`): in a share of the time, the rest of which is for what
nothing that is seen leads to."""

from __future__ import annotations

import time
from collections.abc import Callable

from ptxcore.clock import OutOfTime
from ptxcore.records import NamedTuple
from ptxmm.repair.building import REPAIR
from ptxmm.repair.guided import guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.pace import Pace
from ptxmm.repair.sites import EditSite, Vector
from ptxmm.repair.subjects import Subject, judging

#: So many times its patience a text may take, and the share of the time for all of them: where objects are known, or not.
_PATIENT, _HASTY, _SHARE, _SHARE_NEAR = 10, 2, 0.6, 0.4
#: The share of what is left of that, for what costs less than what was found.
_CHEAPER = 0.25
#: What a text with mbarriers has.
_MBARRIER = "mbarrier."
#: And one with what hands over, which may come too early: accesses that release, commits, arrivals at barriers.
_HANDS_OVER = (".release.", "commit_group", ".arrive")


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
    by_object = base.stuck or bool(subject.objects(base.clues)) or _MBARRIER in subject.text
    sites = subject.sites(REPAIR, by_object or bool(base.between) or any(word in subject.text for word in _HANDS_OVER))

    end = subject.how.hurried(_SHARE if by_object else _SHARE_NEAR).deadline

    def judge(vector: Vector, patient: bool) -> Judgement:
        if end is not None and time.perf_counter() > end:  # what has begun is not cut off: it may be the one that holds
            raise OutOfTime
        asked()
        with pace.measured():
            return judging(subject, sites, vector, pace.wait(patience * (_PATIENT if patient else _HASTY)))

    vector: Vector | None = None
    try:
        for found in guided(subject.text, sites, judge, base, subject.objects, subject.guards, subject.glimpsed()):
            vector = found
            if end is None:  # nothing says how long the search for what is cheaper may take
                break
            now = time.perf_counter()
            end = min(end, now + _CHEAPER * max(end - now, 0))
    except OutOfTime:
        pass
    if vector is None:
        subject.left_out = left_out
        return None
    kept = [s for s, site in enumerate(sites) if vector[s] or not site.options[-1].far]
    return LedTo([sites[s] for s in kept], tuple(vector[s] for s in kept))
