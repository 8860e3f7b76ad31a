"""Barriers of the whole grid that may be missing, where a launch has several blocks that no cluster takes in.

All threads of the grid meet there, as those of a block do at `bar.sync`: where all of them come by equally often, that takes
executions away, and orders what comes behind. What it adds to memory is in a word that nothing else accesses. Where not all
come by, threads wait for ever, or others are met than without it, and nothing is concluded from a text with one for a text
without it. A check of a text with one takes long, since its threads look again and again whether all have come: so it is tried
where what is wrong leads to it, and where nothing else mends that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.syntax.tree import AnyStatement, Instruction
from ptxmm.kernels.launch import Launch
from ptxmm.repair import costs
from ptxmm.repair.building import Place
from ptxmm.repair.divergence import Divergence
from ptxmm.repair.grid_barrier import GRID_BARRIER, TOLD
from ptxmm.repair.layout import Layout
from ptxmm.repair.order import alters, begun_at, gaps, loops_around, matters, start_of
from ptxmm.repair.sites import EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

_TWO = (frozenset({0}), frozenset({0, 1}))


def grid_sites(
    body: Sequence[AnyStatement], place: Place, layout: Layout, source: SourceWords, *, called: bool
) -> Iterator[EditSite]:
    """A site for each gap between accesses of a body; `called`: who comes by, and where from, is not known. Raises
    OutOfTime."""
    way, unlike = Divergence(body, of="grid"), called or alters(body, "cta")
    for i in dict.fromkeys(begun_at(body, gap) for gap in gaps(body)):
        start = start_of(body[i])
        offset, new = layout.put(start, GRID_BARRIER)
        behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
        before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
        price = costs.GRID_BARRIER + costs.EDIT + loops_around(body, i) * costs.IN_A_LOOP
        altered = unlike or way.parts(i)
        met = Option(
            (TextEdit(offset, offset, new),), price, (1,), f"{TOLD} is put in before this",
            source.of_new(start[0], GRID_BARRIER), meets=True, alters=altered, sure=not altered, far=True,
            wanted=Wanted("put", behind, before, "", GRID_BARRIER),
        )  # fmt: skip
        yield EditSite(place.who, start[0], (Option((), 0, (0,)), met), _TWO)


def several_blocks(launch: Launch) -> bool:
    """Whether a launch has several blocks that no cluster takes in."""
    return launch.grid != (launch.cluster or (1, 1, 1))


def is_of_grid(option: Option) -> bool:
    """Whether an option is a barrier of the whole grid."""
    return option.wanted is not None and option.wanted.new == GRID_BARRIER
