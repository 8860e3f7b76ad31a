"""Where the threads of a litmus test run: in which launch, cluster, CTA, warp and lane of the CTAs that one instance has.

A test without kernels is one launch on each of its GPUs, and one with kernels a launch for each: its *parts*. A thread of the
host has no place (`ptxmm.gpu.host`). What launches cannot place is refused where it stands (`ptxmm.gpu.refusals`).
"""

from __future__ import annotations

from collections.abc import Iterator

from litmus.test import LaunchedKernel, Test
from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Instruction, names_in
from ptxmm.gpu.images import root_of
from ptxmm.gpu.refusals import refusals

#: CTAs that every GPU with clusters can have in one (PTX ISA 9.0, section 11.4.3).
MOST_CTAS = 8
WARP = 32
#: Warps of a CTA.
MOST_WARPS = 32
#: What the threads of a warp, a CTA or a cluster do together: then a CTA holds one instance only.
_TOGETHER = frozenset(("bar", "barrier", "shfl", "vote", "match", "redux", "elect", "activemask", "griddepcontrol"))
_OF_PLACES = ("%lane", "%cluster")


class PlacedLaunch(NamedTuple):
    """A launch among those that a test is made of: on which of its GPUs, in which stream, and which of the instance's clusters
    it has (`clusters` of them from `first` on). `needs`: the parts that end before it begins; `follows`: the one that lets it
    begin before it ends, if one does. `kernel` is the number of its kernel, by which its threads meet, and `threads` how many
    threads of an instance do."""

    gpu: int
    stream: int
    first: int
    clusters: int
    needs: frozenset[int]
    kernel: int
    threads: int
    follows: int | None = None


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
class GpuPlacement:
    """`threads` are those of a test that have a place on a GPU, by their numbers; the seats of these, in this order, and the
    launches. An instance has `clusters` clusters of `ctas` CTAs each, of up to `warps` warps, of up to `lanes` lanes, in all
    launches together. `alone`: a CTA holds no other instance. `leaders` are those of these threads that come first in their
    CTAs, `warp_counts` says how many warps the CTA of each seat has."""

    threads: tuple[int, ...]
    seats: tuple[Seat, ...]
    parts: tuple[PlacedLaunch, ...]
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

    def followers(self, part: int) -> list[int]:
        """The launches that may begin before one ends: that which it lets begin, that which this one lets, and so on."""
        found: list[int] = []
        while (number := next((n for n, p in enumerate(self.parts) if p.follows == part), None)) is not None:
            found.append(number)
            part = number
        return found

    @property
    def needs_clusters(self) -> bool:
        """Whether threads of different CTAs share a cluster."""
        return self.ctas > 1


#: Threads by kernel and GPU, cluster, CTA and warp.
ClusterMembers = dict[tuple[int, int], dict[int, dict[int, dict[int, list[int]]]]]


def placed(test: Test) -> GpuPlacement:
    """Where its threads run. Raises InputError for what cannot be placed, with every reason."""
    found = refusals(test)
    if found:
        raise InputError(found, test.path, test.text)
    own = [number for number, thread in enumerate(test.threads) if not thread.place.host]
    on_gpu = [test.threads[number] for number in own]
    members: ClusterMembers = {}
    kernel_of = {name: number for number, kernel in enumerate(test.kernels) for name in kernel.threads}
    for number, thread in enumerate(on_gpu):
        place = thread.place
        ctas = members.setdefault((kernel_of.get(thread.name, 0), place.gpu), {}).setdefault(place.cluster, {})
        ctas.setdefault(place.cta, {}).setdefault(place.warp, []).append(number)
    seats: dict[int, Seat] = {}
    parts: list[PlacedLaunch] = []
    leaders, counts, number, k = set(), {}, 0, 0
    gpus = list(dict.fromkeys(thread.place.gpu for thread in on_gpu))
    for which in sorted(members, key=lambda key: (key[0], gpus.index(key[1]))):
        kernel, gpu = which
        meeting = sum(kernel_of.get(t.name, 0) == kernel for t in on_gpu)
        stream = test.kernels[kernel].stream if test.kernels else 0
        of_part = members[which].values()
        parts.append(PlacedLaunch(gpus.index(gpu), stream, k, len(of_part), frozenset(), kernel, meeting))
        for ctas in of_part:
            for rank, cta in enumerate(sorted(ctas)):  # as %cluster_ctarank counts
                warps = ctas[cta]
                leaders.add(min(t for threads in warps.values() for t in threads))
                for w, threads in enumerate(warps.values()):
                    for lane, t in enumerate(threads):
                        seats[t] = Seat(len(parts) - 1, k, rank, w, lane, number)
                        counts[t] = len(warps)
                    number += 1
            k += 1
    order = range(len(on_gpu))
    clusters = [ctas for of_part in members.values() for ctas in of_part.values()]
    placement = GpuPlacement(
        threads=tuple(own),
        seats=tuple(seats[t] for t in order),
        parts=tuple(_in_order(test, parts)),
        clusters=k,
        ctas=max(map(len, clusters)),
        warps=max(counts.values()),
        lanes=1 + max(seat.lane for seat in seats.values()),
        alone=any(_takes_the_cta(s) for t in on_gpu for s in t.statements),
        leaders=frozenset(leaders),
        warp_counts=tuple(counts[t] for t in order),
    )
    _check_sizes(test, placement, clusters)
    return placement


def _in_order(test: Test, parts: list[PlacedLaunch]) -> Iterator[PlacedLaunch]:
    """The launches, with those that end before each begins: the one before it in its stream, unless that lets it begin early,
    and those that an event waits for. (Behind an event the driver lets nothing begin early.)"""
    if not test.kernels:
        yield from parts
        return
    kernels = [test.kernels[part.kernel] for part in parts]
    for number, part in enumerate(parts):
        needs = {n for n in range(number) if kernels[n].name in kernels[number].after}
        before = next((n for n in reversed(range(number)) if parts[n].stream == part.stream), None)
        if before is not None and not needs and _lets_begin(test, kernels[before]):
            yield part._replace(follows=before)
        else:
            yield part._replace(needs=frozenset(needs | ({before} if before is not None else set())))


def _lets_begin(test: Test, kernel: LaunchedKernel) -> bool:
    """Whether a kernel lets the next one of its stream begin before it ends."""
    return any(
        isinstance(s, Instruction) and s.opcode == "griddepcontrol" and "launch_dependents" in s.modifiers
        for t in test.threads
        if t.name in kernel.threads
        for s in t.statements
    )


def _check_sizes(test: Test, placement: GpuPlacement, clusters: list[dict[int, dict[int, list[int]]]]) -> None:
    first = test.threads[0].span
    problem = None
    if placement.ctas > MOST_CTAS:
        problem = f"a cluster has {placement.ctas} CTAs here, and {MOST_CTAS} is what every GPU with clusters can have"
    elif placement.warps > MOST_WARPS:
        problem = f"a CTA has {placement.warps} warps here, and at most {MOST_WARPS} on a GPU"
    elif placement.lanes > WARP:
        problem = f"a warp has {placement.lanes} threads here, and {WARP} on a GPU"
    if problem is not None:
        raise InputError([Diagnostic(first, problem)], test.path, test.text)
    if len({len(ctas) for ctas in clusters}) > 1:
        for t in test.threads:
            for s in t.statements:
                if isinstance(s, Instruction) and any(n.startswith("%cluster_nctarank") for n in names_in(*s.operands)):
                    message = (
                        "clusters of a launch have one size, and those of this test, which asks for it, have several"
                    )
                    raise InputError([Diagnostic(s.span, message)], test.path, test.text)


def mappings(test: Test) -> dict[str, int]:
    """By which mapping of memory each location is seen: 0, or for another virtual address of one 1 and so on."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    for l in test.locations:
        root = root_of(test, l).name
        found[l.name] = 0 if l.alias_of is None or l.proxy != "generic" else counts.get(root, 0) + 1
        counts[root] = max(counts.get(root, 0), found[l.name])
    return found


def _takes_the_cta(statement: object) -> bool:
    """Whether an instruction needs that the CTA and its warps have no threads of other instances."""
    if not isinstance(statement, Instruction):
        return False
    return statement.opcode in _TOGETHER or any(n.startswith(_OF_PLACES) for n in names_in(*statement.operands))
