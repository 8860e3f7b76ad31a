"""Where the threads of a litmus test run: in which cluster, CTA, warp and lane of the CTAs that one instance has.

What a launch of one kernel on one GPU cannot place is refused where it stands: kernels, threads of the host, several GPUs,
other virtual addresses of a location, textures and surfaces, constant memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from litmus.test import Test
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.syntax.tree import Address, Bracket, Instruction, Name, Vector

#: CTAs that every GPU with clusters can have in one (PTX ISA 9.0, section 11.4.3).
MOST_CTAS = 8
WARP = 32
#: Warps of a CTA.
MOST_WARPS = 32
#: What the threads of a warp, a CTA or a cluster do together: then a CTA holds one instance only.
_TOGETHER = frozenset(("bar", "barrier", "shfl", "vote", "match", "redux", "elect", "activemask"))
_OF_PLACES = ("%lane", "%cluster")
#: Instructions that a kernel must not execute here, and why.
_REFUSED = {
    "trap": "'trap' ends the whole launch, with all other instances",
    "brkpt": "'brkpt' stops the whole launch",
    "griddepcontrol": "'griddepcontrol' is about another kernel, and a test is launched as one",
}


class Seat(NamedTuple):
    """Where a thread runs: the cluster of the instance, the CTA's rank in it, the warp in the CTA, the lane in the warp.
    `warp_number` counts the warps of the whole instance."""

    cluster: int
    rank: int
    warp: int
    lane: int
    warp_number: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The seats of a test's threads, in their order. An instance has `clusters` clusters of `ctas` CTAs each, of up to `warps`
    warps, of up to `lanes` lanes. `alone`: a CTA holds no other instance. `leaders` are the threads that come first in their
    CTAs, `warp_counts` says how many warps the CTA of each seat has."""

    seats: tuple[Seat, ...]
    clusters: int
    ctas: int
    warps: int
    lanes: int
    alone: bool
    leaders: frozenset[int]
    warp_counts: tuple[int, ...]

    @property
    def all_warps(self) -> int:
        return 1 + max(seat.warp_number for seat in self.seats)

    @property
    def needs_clusters(self) -> bool:
        """Whether threads of different CTAs share a cluster."""
        return self.ctas > 1


def placed(test: Test) -> Placement:
    """Where its threads run. Raises InputError for what cannot be placed, with every reason."""
    found = list(_refusals(test))
    if found:
        raise InputError(sorted(found, key=lambda d: d.span), test.path, test.text)
    members: dict[int, dict[int, dict[int, list[int]]]] = {}  # threads by cluster, CTA and warp
    for number, thread in enumerate(test.threads):
        place = thread.place
        ctas = members.setdefault(place.cluster, {})
        ctas.setdefault(place.cta, {}).setdefault(place.warp, []).append(number)
    seats: dict[int, Seat] = {}
    leaders, counts, number = set(), {}, 0
    for k, cluster in enumerate(members):
        for rank, cta in enumerate(sorted(members[cluster])):  # as %cluster_ctarank counts
            warps = members[cluster][cta]
            leaders.add(min(t for threads in warps.values() for t in threads))
            for w, threads in enumerate(warps.values()):
                for lane, t in enumerate(threads):
                    seats[t] = Seat(k, rank, w, lane, number)
                    counts[t] = len(warps)
                number += 1
    order = range(len(test.threads))
    placement = Placement(
        seats=tuple(seats[t] for t in order),
        clusters=len(members),
        ctas=max(map(len, members.values())),
        warps=max(counts.values()),
        lanes=1 + max(seat.lane for seat in seats.values()),
        alone=any(_takes_the_cta(s) for t in test.threads for s in t.statements),
        leaders=frozenset(leaders),
        warp_counts=tuple(counts[t] for t in order),
    )
    _check_sizes(test, placement, members)
    return placement


def _check_sizes(test: Test, placement: Placement, members: dict[int, dict[int, dict[int, list[int]]]]) -> None:
    first = test.threads[0].span
    trouble = None
    if placement.ctas > MOST_CTAS:
        trouble = f"a cluster has {placement.ctas} CTAs here, and {MOST_CTAS} is what every GPU with clusters can have"
    elif placement.warps > MOST_WARPS:
        trouble = f"a CTA has {placement.warps} warps here, and at most {MOST_WARPS} on a GPU"
    elif placement.lanes > WARP:
        trouble = f"a warp has {placement.lanes} threads here, and {WARP} on a GPU"
    if trouble is not None:
        raise InputError([Diagnostic(first, trouble)], test.path, test.text)
    if len({len(ctas) for ctas in members.values()}) > 1:
        for t in test.threads:
            for s in t.statements:
                if isinstance(s, Instruction) and any(n.startswith("%cluster_nctarank") for n in names(s)):
                    message = (
                        "clusters of a launch have one size, and those of this test, which asks for it, have several"
                    )
                    raise InputError([Diagnostic(s.span, message)], test.path, test.text)


def _refusals(test: Test) -> list[Diagnostic]:
    found = []
    lines = dict(test.lines)

    def refuse(span: Span, message: str, hint: str | None = None) -> None:
        found.append(Diagnostic(span, message, hint))

    if not test.threads:
        refuse(Span(1, 1, 2), "a test without threads cannot be launched")
    hosts = [t for t in test.threads if t.place.host]
    for t in hosts:
        refuse(t.span, f"{t.name} is a thread of the host, and a test is launched as one kernel")
    if test.kernels and not hosts:
        line = lines.get("kernel", 0)
        where = Span(line, 1, 2) if line else test.threads[0].span
        refuse(where, "this test has kernels of its own, and a test is launched as one kernel")
    if not test.kernels:
        for t in test.threads:
            if not t.place.host and t.place.gpu != test.threads[0].place.gpu:
                refuse(t.span, f"{t.name} is on another GPU than {test.threads[0].name}, and a launch is on one")
    for l in test.locations:
        if l.alias_of is not None and l.proxy == "generic":
            refuse(l.span, f"'{l.name}' is another virtual address of '{l.alias_of}', and the harness maps memory once")
        elif l.alias_of is not None:
            refuse(
                l.span,
                f"'{l.name}' is an address through the {l.proxy} proxy, and the harness binds no textures or surfaces",
            )
        elif l.space not in ("global", "shared"):
            refuse(l.span, f"'{l.name}' is in .{l.space}, which is the same for all instances")
    for t in test.threads:
        if t.dialect != "typed":
            refuse(
                t.span,
                f"{t.name} is in the short dialect, which says no types",
                "write its instructions as PTX has them",
            )
            continue
        for s in t.statements:
            if isinstance(s, Instruction) and s.opcode in _REFUSED:
                refuse(s.span, _REFUSED[s.opcode])
    return found


def _takes_the_cta(statement: object) -> bool:
    """Whether an instruction needs that the CTA and its warps have no threads of other instances."""
    if not isinstance(statement, Instruction):
        return False
    return statement.opcode in _TOGETHER or any(n.startswith(_OF_PLACES) for n in names(statement))


def names(instruction: Instruction) -> list[str]:
    """The names in its operands."""
    found, waiting = [], list(instruction.operands)
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Name):
            found.append(operand.name)
        elif isinstance(operand, Address):
            waiting.append(operand.base)
        elif isinstance(operand, Vector | Bracket):
            waiting += operand.elements
    return found
