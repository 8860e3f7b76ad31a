"""Where the threads of a litmus test run: in which launch, cluster, CTA, warp and lane of the CTAs that one instance has.

A test without kernels is one launch on each of its GPUs, and one with kernels a launch for each: its *parts*. What launches
cannot place is refused where it stands: threads of the host, kernels that begin before another one ends (`griddepcontrol`),
kernels on several GPUs, textures and surfaces, constant memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from litmus.test import Location, Test
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
    "griddepcontrol": "'griddepcontrol' is about a kernel that begins before another one ends, and the harness launches none",
}
#: Kernels of a test: each has a word of the counters at which threads meet.
MOST_KERNELS = 32


class Part(NamedTuple):
    """A launch among those that a test is made of: on which of its GPUs, in which stream, and which of the instance's clusters
    it has (`clusters` of them from `first` on). `needs`: the parts that end before it begins. `kernel` is the number of its
    kernel, by which its threads meet, and `threads` how many threads of an instance do."""

    gpu: int
    stream: int
    first: int
    clusters: int
    needs: frozenset[int]
    kernel: int
    threads: int


class Seat(NamedTuple):
    """Where a thread runs: the launch, the cluster of the instance, the CTA's rank in it, the warp in the CTA, the lane in the
    warp. `warp_number` counts the warps of the whole instance."""

    part: int
    cluster: int
    rank: int
    warp: int
    lane: int
    warp_number: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The seats of a test's threads, in their order, and its launches. An instance has `clusters` clusters of `ctas` CTAs
    each, of up to `warps` warps, of up to `lanes` lanes, in all launches together. `alone`: a CTA holds no other instance.
    `leaders` are the threads that come first in their CTAs, `warp_counts` says how many warps the CTA of each seat has."""

    seats: tuple[Seat, ...]
    parts: tuple[Part, ...]
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
    def gpus(self) -> int:
        """How many GPUs the test is on."""
        return len({part.gpu for part in self.parts})

    @property
    def needs_clusters(self) -> bool:
        """Whether threads of different CTAs share a cluster."""
        return self.ctas > 1


#: Threads by kernel and GPU, cluster, CTA and warp.
Members = dict[tuple[int, int], dict[int, dict[int, dict[int, list[int]]]]]


def placed(test: Test) -> Placement:
    """Where its threads run. Raises InputError for what cannot be placed, with every reason."""
    found = list(_refusals(test))
    if found:
        raise InputError(sorted(found, key=lambda d: d.span), test.path, test.text)
    members: Members = {}
    kernel_of = {name: number for number, kernel in enumerate(test.kernels) for name in kernel.threads}
    for number, thread in enumerate(test.threads):
        place = thread.place
        ctas = members.setdefault((kernel_of.get(thread.name, 0), place.gpu), {}).setdefault(place.cluster, {})
        ctas.setdefault(place.cta, {}).setdefault(place.warp, []).append(number)
    seats: dict[int, Seat] = {}
    parts: list[Part] = []
    leaders, counts, number, k = set(), {}, 0, 0
    gpus = list(dict.fromkeys(thread.place.gpu for thread in test.threads))
    for which in sorted(members, key=lambda key: (key[0], gpus.index(key[1]))):
        kernel, gpu = which
        meeting = sum(kernel_of.get(t.name, 0) == kernel for t in test.threads)
        stream = test.kernels[kernel].stream if test.kernels else 0
        own = members[which].values()
        parts.append(Part(gpus.index(gpu), stream, k, len(own), frozenset(), kernel, meeting))
        for ctas in own:
            for rank, cta in enumerate(sorted(ctas)):  # as %cluster_ctarank counts
                warps = ctas[cta]
                leaders.add(min(t for threads in warps.values() for t in threads))
                for w, threads in enumerate(warps.values()):
                    for lane, t in enumerate(threads):
                        seats[t] = Seat(len(parts) - 1, k, rank, w, lane, number)
                        counts[t] = len(warps)
                    number += 1
            k += 1
    order = range(len(test.threads))
    clusters = [ctas for own in members.values() for ctas in own.values()]
    placement = Placement(
        seats=tuple(seats[t] for t in order),
        parts=tuple(part._replace(needs=needs) for part, needs in zip(parts, _needs(test, parts), strict=True)),
        clusters=k,
        ctas=max(map(len, clusters)),
        warps=max(counts.values()),
        lanes=1 + max(seat.lane for seat in seats.values()),
        alone=any(_takes_the_cta(s) for t in test.threads for s in t.statements),
        leaders=frozenset(leaders),
        warp_counts=tuple(counts[t] for t in order),
    )
    _check_sizes(test, placement, clusters)
    return placement


def _needs(test: Test, parts: list[Part]) -> Iterator[frozenset[int]]:
    """For each launch those that end before it begins: earlier ones of its stream, and those that an event waits for."""
    names = [test.kernels[part.kernel].name if test.kernels else "" for part in parts]
    for number, part in enumerate(parts):
        after = test.kernels[part.kernel].after if test.kernels else ()
        yield frozenset(
            n for n in range(number)
            if test.kernels and (parts[n].stream == part.stream or names[n] in after)
        )  # fmt: skip


def _check_sizes(test: Test, placement: Placement, clusters: list[dict[int, dict[int, list[int]]]]) -> None:
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
    if len({len(ctas) for ctas in clusters}) > 1:
        for t in test.threads:
            for s in t.statements:
                if isinstance(s, Instruction) and any(n.startswith("%cluster_nctarank") for n in names(s)):
                    message = (
                        "clusters of a launch have one size, and those of this test, which asks for it, have several"
                    )
                    raise InputError([Diagnostic(s.span, message)], test.path, test.text)


def _refusals(test: Test) -> list[Diagnostic]:
    found = []

    def refuse(span: Span, message: str, hint: str | None = None) -> None:
        found.append(Diagnostic(span, message, hint))

    if not test.threads:
        refuse(Span(1, 1, 2), "a test without threads cannot be launched")
    hosts = [t for t in test.threads if t.place.host]
    for t in hosts:
        refuse(t.span, f"{t.name} is a thread of the host, and the harness runs threads of kernels")
    if test.kernels and not hosts:
        found += _refused_kernels(test)
    for l in test.locations:
        if l.alias_of is not None and l.proxy != "generic":
            refuse(
                l.span,
                f"'{l.name}' is an address through the {l.proxy} proxy, and the harness binds no textures or surfaces",
            )
        elif l.space not in ("global", "shared"):
            refuse(l.span, f"'{l.name}' is in .{l.space}, which is the same for all instances")
        elif l.alias_of is not None and root_of(test, l).space != "global":
            refuse(l.span, f"'{l.name}' is another address of shared memory, which a launch cannot map")
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


def _refused_kernels(test: Test) -> Iterator[Diagnostic]:
    line = dict(test.lines).get("kernel", 0)
    if len(test.kernels) > MOST_KERNELS:
        where = Span(line, 1, 2) if line else test.threads[0].span
        yield Diagnostic(where, f"{len(test.kernels)} kernels are more than {MOST_KERNELS}")
    kernel_of = {name: kernel for kernel in test.kernels for name in kernel.threads}
    for t in test.threads:
        if t.name not in kernel_of:
            yield Diagnostic(t.span, f"{t.name} is in no kernel, and others are")
    for a, b in combinations([t for t in test.threads if t.name in kernel_of], 2):
        if a.place.cluster == b.place.cluster and kernel_of[a.name] != kernel_of[b.name]:
            yield Diagnostic(b.span, f"{b.name} shares a cluster with {a.name}, which is in another kernel")
    for gpu in {t.place.gpu for t in test.threads} - {test.threads[0].place.gpu}:
        t = next(t for t in test.threads if t.place.gpu == gpu)
        yield Diagnostic(t.span, f"{t.name} is on another GPU, and the harness launches kernels in streams of one")


def root_of(test: Test, location: Location) -> Location:
    """The location whose bytes a location is."""
    named = {l.name: l for l in test.locations}
    while location.alias_of is not None:
        location = named[location.alias_of]
    return location


def mappings(test: Test) -> dict[str, int]:
    """By which mapping of memory each location is seen: 0, or for another virtual address of one 1 and so on."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    for l in test.locations:
        root = root_of(test, l).name
        found[l.name] = 0 if l.alias_of is None else counts.get(root, 0) + 1
        counts[root] = max(counts.get(root, 0), found[l.name])
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
