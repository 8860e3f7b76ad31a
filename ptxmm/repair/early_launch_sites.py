"""Waits for the launch before that may be missing: `griddepcontrol.wait` (PTX ISA 9.0, section 9.7.13.13).

A kernel that lets the next one of its stream begin early has its effects there behind that wait, and only there. The wait takes
executions away, and orders what comes behind it. Where the launch before waits for this one in turn, both wait for ever: so it
counts as what alters how others meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.syntax.tree import AnyStatement, Instruction
from ptxmm.repair import costs
from ptxmm.repair.building import Place
from ptxmm.repair.layout import Layout
from ptxmm.repair.order import begun_at, gaps, loops_around, matters, orders, start_of
from ptxmm.repair.sites import EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

#: What is put in.
DEPENDENCE_WAIT = "griddepcontrol.wait"
_TWO = (frozenset({0}), frozenset({0, 1}))


def early_launch_sites(
    body: Sequence[AnyStatement], place: Place, layout: Layout, source: SourceWords
) -> Iterator[EditSite]:
    """A site before the first access of a body, and in each gap between accesses."""
    first = next((i for i, s in enumerate(body) if orders(s) and start_of(s)[0]), None)
    if first is None:
        return
    for i in sorted({begun_at(body, gap) for gap in (first, *gaps(body))}):
        start = start_of(body[i])
        offset, new = layout.put(start, DEPENDENCE_WAIT)
        behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
        before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
        price = costs.LAUNCH_WAIT + costs.EDIT + loops_around(body, i) * costs.IN_A_LOOP
        waits = Option(
            (TextEdit(offset, offset, new),), price, (1,), f"{DEPENDENCE_WAIT} is put in before this",
            source.of_new(start[0], DEPENDENCE_WAIT), meets=True, alters=True, sure=True,
            wanted=Wanted("put", behind, before, "", DEPENDENCE_WAIT),
        )  # fmt: skip
        yield EditSite(place.who, start[0], (Option((), 0, (0,)), waits), _TWO)
