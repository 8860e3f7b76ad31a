"""A first repair, by smaller launches of the same kernel that go wrong in the same way: what mends one of them may mend the one
that was asked for, and each text is checked there in a fraction of the time.

Nothing is concluded from what a smaller launch says. What mends it is checked on the launch that was asked for; what holds
there is the first that the search knows, which takes away what is not needed and goes on for what is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.repair.building import REPAIR
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.led import LedTo
from ptxmm.repair.sites import EditSite, TextEdit, Vector
from ptxmm.repair.subjects import Subject, judging

#: The share of the time that is left for all smaller launches.
_SHARE = 0.3


def led_by_smaller(
    subject: Subject, base: Judgement, search: Callable[[Subject], Sequence[Sequence[TextEdit]]]
) -> LedTo | None:
    """What holds in the launch of a subject, by what was found for a smaller one that fails as it does; the smallest is looked
    at first. `search` gives the edits of each repair that it finds of a subject. Raises OutOfTime where no time is left."""
    left_out = subject.left_out
    limits = subject.how.hurried(_SHARE)
    for small in subject.smaller():
        small.how, small.judged.stages = limits, subject.judged.stages
        try:
            limits.left()
            if not _alike(base, small.judge(small.text)):
                continue
            found = search(small)
        except InputError:  # the module does not allow that launch: it has clusters, say
            continue
        except OutOfTime:
            break
        for edits in found:
            sites = subject.sites(REPAIR)
            vector = _vector_of(sites, edits)
            if vector is not None and judging(subject, sites, vector).holds:
                return LedTo(sites, vector)
            subject.left_out = left_out
    return None


def _alike(base: Judgement, small: Judgement) -> bool:
    """Whether a smaller launch fails in the same way, at the same lines as far as these are known."""
    same = (small.holds, small.wrong, small.waits, small.nonterminating, small.reason) == (
        base.holds, base.wrong, base.waits, base.nonterminating, base.reason,
    )  # fmt: skip
    return same and (not base.clues or bool(base.clues & small.clues))


def _vector_of(sites: Sequence[EditSite], edits: Sequence[TextEdit]) -> Vector | None:
    """The options that are just these edits; None where there are none."""
    left = set(edits)
    vector = []
    for site in sites:
        chosen = 0
        for number, option in enumerate(site.options):
            if option.edits and left.issuperset(option.edits):
                chosen = number
                break
        left.difference_update(site.options[chosen].edits)
        vector.append(chosen)
    return None if left else tuple(vector)


__all__ = ["led_by_smaller"]
