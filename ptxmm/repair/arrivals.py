"""Arrivals that may be missing: at an mbarrier, at a barrier that others wait at, at the barrier of a cluster.

They are tried where threads were seen that do not terminate, and nothing else mends that. One more arrival is neither stronger
nor weaker: a phase ends earlier, and another one begins. So nothing is concluded from a text with one for a text without it, or
with another one besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Instruction, Name
from ptxmm.repair import costs
from ptxmm.repair.counts import copied, value_of
from ptxmm.repair.objects import ObjectPlace
from ptxmm.repair.sites import EditSite, Option, TextEdit, Wanted

_ADDRESS = re.compile(r"\[\s*([^\]\s]+)\s*\]")
_REGISTER = re.compile(r"%[\w$]+")
_GUARD = re.compile(r"^@\s*+!?\s*+\S++\s++")
#: What accesses memory, and nothing that threads wait at by itself.
_PLAIN = ("ld", "st", "atom", "red")
#: So many arrivals at most are put in together. Nothing is concluded from one set of them for another, so that each is tried.
MOST_ARRIVALS = 3
#: So many places with an arrival are considered.
MOST = 96


class Arrival(NamedTuple):
    """A statement that arrives, what it costs, and the register that holds where its barrier is (or nothing)."""

    statement: str
    price: int
    register: str = ""

    @property
    def waits(self) -> bool:
        """Whether who arrives so waits, too, for the others."""
        return ".sync" in self.statement.split(" ")[0]

    def by_name(self, name: str) -> Arrival:
        """The same with the name of the object in the place of a register that holds where it is."""
        return Arrival(_ADDRESS.sub(f"[{name}]", self.statement), self.price) if self.register else self


class InsertedArrival(NamedTuple):
    """An arrival with the edit that puts it in: whose statement, at which line, in words, and for who writes the source.
    `about` names its barrier; `far`: others are nearer, and it is tried only where that barrier is waited for; `apart`: so many
    statements from the one that it is like; `evident`: nothing arrives at what is waited for (1), and who comes by here does
    not wait there (2)."""

    arrival: Arrival
    edit: TextEdit
    who: str
    line: int
    words: str
    loops: int
    said: str = ""
    wanted: Wanted | None = None
    about: str = ""
    far: bool = False
    apart: int = 0
    evident: int = 0


def arrivals(statements: Iterable[AnyStatement], body: Sequence[AnyStatement]) -> list[Arrival]:
    """The arrivals that may be missing: at each barrier that some of these statements are about. `body`: where numbers in
    registers are looked up."""
    done = [s for s in statements if isinstance(s, Instruction)]
    sizes = [size for s in done if (size := copied(s, body)) is not None]
    found: dict[Arrival, None] = {}
    for statement in done:
        words = set(statement.modifiers)
        made: Iterator[Arrival] = iter(())
        if statement.opcode == "mbarrier" or "mbarrier" in words:
            made = _of_mbarrier(statement, [*sizes, sum(sizes)] if sizes else [])
        elif statement.opcode in ("bar", "barrier") and "cluster" in words:
            made = iter([Arrival("barrier.cluster.arrive", costs.CLUSTER_BARRIER)] if "wait" in words else [])
        elif statement.opcode in ("bar", "barrier") and {"sync", "arrive"} & words and "warp" not in words:
            made = _of_barrier(statement, body)
        found |= dict.fromkeys(made)
    return list(found)


def _of_mbarrier(statement: Instruction, sizes: Sequence[int]) -> Iterator[Arrival]:
    """At the object that a statement is about: as it arrives there itself, else by one that may be told bytes."""
    words, match = set(statement.modifiers), _ADDRESS.search(_bare(statement))
    if match is None or {"inval", "pending_count"} & words:
        return
    register = next(iter(_REGISTER.findall(match[1])), "")
    if {"arrive", "expect_tx"} & words and len(_REGISTER.findall(_bare(statement))) <= bool(register):
        yield Arrival(_bare(statement), costs.CTA_BARRIER, register)
    if "shared::cluster" in words or statement.opcode != "mbarrier":
        return
    space = ".shared" if any(word.startswith("shared") for word in words) else ""
    yield Arrival(f"mbarrier.arrive{space}.b64 _, [{match[1]}]", costs.CTA_BARRIER, register)
    for size in dict.fromkeys(sizes):
        told = f"mbarrier.arrive.expect_tx{space}.b64 _, [{match[1]}], {size}"
        yield Arrival(told, costs.CTA_BARRIER, register)
        if space:
            alone = f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{match[1]}], {size}"
            yield Arrival(alone, costs.CTA_BARRIER, register)


def _of_barrier(statement: Instruction, body: Sequence[AnyStatement]) -> Iterator[Arrival]:
    """At a barrier of the CTA that has a number, or a register that holds one: as others do, or without waiting where the
    threads are counted."""
    numbers = [value_of(operand, body) for operand in statement.operands]
    if not numbers or None in numbers:
        return
    which = ", ".join(map(str, numbers))
    yield Arrival(f"{statement.name} {which}", costs.CTA_BARRIER)
    if len(numbers) > 1:
        name = "barrier.cta.arrive" if statement.opcode == "barrier" else "bar.arrive"
        yield Arrival(f"{name} {which}", costs.CTA_BARRIER)


def to_the_peer(statement: Instruction, place: ObjectPlace) -> Arrival | None:
    """An arrival at an object of another CTA of the cluster as one at that of the peer: the CTA whose number differs in the
    last bit."""
    if statement.opcode != "mbarrier" or "arrive" not in statement.modifiers or not place.remote:
        return None
    if len(statement.operands) != 2:
        return None
    peer = "mov.u32 peer, %cluster_ctarank; xor.b32 peer, peer, 1; mapa.shared::cluster.u32 peer"
    told = f"{{ .reg .b32 peer; {peer}, {place.name}, peer; {statement.name} _, [peer]; }}"
    return Arrival(told, costs.CTA_BARRIER, "" if place.variable else place.base)


def _bare(statement: Instruction) -> str:
    """A statement without its guard and its end."""
    return " ".join(_GUARD.sub("", statement.text.strip()).rstrip("; \t\n").split())


def written_before(register: str, body: Sequence[AnyStatement], i: int) -> bool:
    """Whether a register is written in the text before a statement, as far as that can be seen there."""
    if not register:
        return True
    return any(
        isinstance(s, Instruction) and s.operands and isinstance(s.operands[0], Name) and s.operands[0].name == register
        for s in body[:i]
    )


def may_stand(arrival: Arrival, statement: AnyStatement) -> bool:
    """Whether an arrival before a statement is not one behind it as well: an access of memory alone ends nothing that others
    wait for. Behind it an arrival releases that, too. Who waits there orders what comes behind it, and may stand anywhere."""
    return arrival.waits or not (isinstance(statement, Instruction) and statement.opcode in _PLAIN)


def arrival_sites(spots: Sequence[InsertedArrival], left_out: list[str]) -> Iterator[EditSite]:
    """A site for each place where an arrival may be put in, once or several times; `left_out` takes in words that there are too
    many."""
    near = [spot for spot in spots if not spot.far]
    if len(near) > MOST:
        left_out.append(f"{len(near) - MOST} more places of an arrival")
    for spot in (*near[:MOST], *(spot._replace(far=True) for spot in (*near[MOST:], *(s for s in spots if s.far)))):
        options = [Option((), 0, (0,)), *(_times(spot, times) for times in range(1, MOST_ARRIVALS + 1))]
        yield EditSite(spot.who, spot.line, tuple(options), tuple(frozenset(range(k + 1)) for k in range(len(options))))


def _times(spot: InsertedArrival, times: int) -> Option:
    price = times * (spot.arrival.price + spot.loops * costs.IN_A_LOOP) + costs.EDIT
    often = f", {times} times" * (times > 1)
    wanted = spot.wanted
    if wanted is not None and times > 1:
        wanted = wanted._replace(new=";\n\t".join([wanted.new] * times))
    edit = spot.edit._replace(new=spot.edit.new * times)
    said = f"{spot.said}{often}" if spot.said else ""
    return Option(
        (edit,), price, (times,), spot.words + often, said, alters=True, wanted=wanted, spot=(spot.who, spot.line),
        arrives=times, about=spot.about, far=spot.far, apart=spot.apart, evident=spot.evident,
    )  # fmt: skip


def not_put_in(sites: Sequence[EditSite], more: int) -> list[str]:
    """What is not tried, in words, where every execution that was seen terminates: `more` of the sites are those of arrivals
    and of waits for mbarriers."""
    arrivals = sum(any(option.arrives for option in site.options) for site in sites)
    return [
        *["more arrivals at barriers: every execution that was seen terminates"] * (arrivals > 0),
        *["waits for mbarriers that are put in, but those which the lines of the fault led to first"]
        * (more > arrivals),
    ]
