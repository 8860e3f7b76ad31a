"""Sites of barriers that take in just those threads who come by a place, where not all of a CTA do (`parties.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Instruction, Label
from ptxmm.repair import costs
from ptxmm.repair.layout import Layout
from ptxmm.repair.objects import object_of
from ptxmm.repair.order import begun_at, gaps, loops_around, matters, orders, start_of
from ptxmm.repair.sites import EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

#: As much as a wait that is lacking for the state that an arrival gives.
_EVIDENT = 3
_TWO = (frozenset({0}), frozenset({0, 1}))


class BarrierOfSome(NamedTuple):
    """A barrier of those who come by a place, and what it costs. `evident`: some of them hand over next, alone, what all of
    them may still use."""

    statement: str
    price: int
    evident: bool = False


#: By the line of the module before whose statement it may be put in.
BarriersOfSome = Mapping[int, BarrierOfSome]


def party_sites(
    body: Sequence[AnyStatement], who: str, layout: Layout, source: SourceWords, parties: BarriersOfSome
) -> Iterator[EditSite]:
    """A site for each place of a body with such a barrier. It is about what is waited for last before it: who waits there again
    is ahead of others who came by with it."""
    for i in sorted({begun_at(body, gap) for gap in gaps(body)}):
        start = start_of(body[i])
        party = parties.get(start[0])
        if party is None or _spins(body, i):
            continue
        offset, new = layout.put(start, party.statement)
        behind = next((s.span.line for s in body[i:] if isinstance(s, Instruction)), 0)
        before = next((s.span.line for s in reversed(body[:i]) if isinstance(s, Instruction) and matters(s)), 0)
        price = party.price + costs.EDIT + loops_around(body, i) * costs.IN_A_LOOP
        option = Option(
            (TextEdit(offset, offset, new),), price, (1,), f"{party.statement} is put in before this",
            source.of_new(start[0], party.statement), meets=True, alters=True, about=_waited(body, i), far=True,
            evident=_EVIDENT * party.evident, wanted=Wanted("put", behind, before, "", party.statement),
        )  # fmt: skip
        yield EditSite(who, start[0], (Option((), 0, (0,)), option), _TWO)


def is_of_some(option: Option) -> bool:
    """Whether an option is a barrier of those alone who come by."""
    put = option.wanted is not None and option.wanted.kind == "put" and option.wanted.new.startswith("bar.")
    return put and option.far and option.meets and not option.arrives


def _spins(body: Sequence[AnyStatement], i: int) -> bool:
    """Whether a place is in a loop that does nothing but wait."""
    labels = {s.name: k for k, s in enumerate(body) if isinstance(s, Label)}
    for k in range(i, len(body)):
        statement = body[k]
        if not isinstance(statement, Instruction) or statement.opcode != "bra":
            continue
        first = next((labels[n] for o in statement.operands if (n := getattr(o, "name", "")) in labels), i)
        if first < i and all(map(_waits, body[first:k])):
            return True
    return False


def _waits(statement: AnyStatement) -> bool:
    """Whether a statement accesses nothing that others see, but looks whether a phase is over."""
    return not orders(statement) or bool({"try_wait", "test_wait"} & set(getattr(statement, "modifiers", ())))


def _waited(body: Sequence[AnyStatement], i: int) -> str:
    """The object that is waited for last in the text before a statement; where there is none, what is handed over next."""
    words = {"try_wait", "test_wait"}, {"arrive", "arrive_drop"}
    for wanted, range_ in zip(words, (range(i - 1, -1, -1), range(i, len(body))), strict=True):
        for k in range_:
            statement = body[k]
            if isinstance(statement, Instruction) and wanted & set(statement.modifiers):
                return object_of(statement, k, body)
    return ""
