"""Waits for the state that an arrival at an mbarrier gives, where nothing waits for it: who arrives and forgets to wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.syntax.tree import Address, AnyStatement, Immediate, Instruction, Name
from ptxmm.repair.layout import Layout
from ptxmm.repair.objects import object_of
from ptxmm.repair.order import loops_around, start_of
from ptxmm.repair.roles import Roles
from ptxmm.repair.sites import STATE, EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords
from ptxmm.repair.waits import arrivals_at, places_of_waits, price_of_wait

_BOTH = (frozenset({0}), frozenset({0, 1}))


def sites_of_states(body: Sequence[AnyStatement], who: str, layout: Layout, source: SourceWords) -> Iterator[EditSite]:
    """A site behind each arrival whose state nothing waits for, nor for a parity of its object, with a wait for it. Where
    others come by who never arrive there, it is rather these that lack a wait."""
    roles, arrived, places = Roles(body), arrivals_at(body), list(places_of_waits(body))
    awaited = {
        o.name for s in body if isinstance(s, Instruction) and {"try_wait", "test_wait"} & set(s.modifiers)
        for o in s.operands if isinstance(o, Name)
    }  # fmt: skip
    by_parity = {
        object_of(s, k, body) for k, s in enumerate(body) if isinstance(s, Instruction) and "parity" in s.modifiers
    }
    for k, statement in enumerate(body[:-1]):
        state = _state(statement)
        start = start_of(body[k + 1])
        if not state or state in awaited or not isinstance(statement, Instruction) or not start[0]:
            continue
        if (about := object_of(statement, k, body)) in by_parity:
            continue
        place = next(o for o in statement.operands if isinstance(o, Address) and o.bracketed)
        written = f"{getattr(place.base, 'name', getattr(place.base, 'value', ''))}" + (
            f"+{place.offset}" if place.offset else ""
        )
        name = (
            statement.name.replace("arrive.expect_tx", "arrive").replace("arrive", "try_wait").replace(".release", "")
        )
        loop = f"{{ .reg .pred waited; again: {name} waited, [{written}], {state}; @!waited bra again; }}"
        offset, new = layout.put(start, loop)
        behind = next((s.span.line for s in body[k + 1 :] if isinstance(s, Instruction)), 0)
        waits = Option(
            (TextEdit(offset, offset, new),), price_of_wait(loops_around(body, k + 1)), (1,),
            f"a loop of {name} [{written}], {state} is put in behind this", source.of_new(statement.span.line, loop),
            meets=True, alters=True, sure=True, about=about,
            evident=1 if any(roles.apart(i, arrived[about]) for i in places) else 3,
            wanted=Wanted("put", behind, statement.span.line, "", loop, family=STATE), spot=(who, statement.span.line),
        )  # fmt: skip
        yield EditSite(who, start[0], (Option((), 0, (0,)), waits), _BOTH)


def _state(statement: AnyStatement) -> str:
    """The register that an arrival gives a state in, where others may wait for that; empty for none."""
    if not isinstance(statement, Instruction) or statement.opcode != "mbarrier" or "arrive" not in statement.modifiers:
        return ""
    first = statement.operands[0] if statement.operands else Immediate(0)
    known = isinstance(first, Name) and first.name.startswith("%") and "noComplete" not in statement.modifiers
    return first.name if known and isinstance(first, Name) else ""
