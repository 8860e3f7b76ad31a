"""Edges that synchronise two threads: what each of the two does for it, where they have to stand, and in which kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from litmus.cycles import copies, remote
from litmus.cycles.code import WrittenThread, step
from litmus.cycles.cycle import CycleLayout, RefusedCycle
from litmus.cycles.edges import REMOTE, SYNCHRONISATION
from litmus.cycles.places import CyclePlacement
from litmus.test import LaunchedKernel, Location
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Address, AnyStatement, Immediate, Instruction, Label, Name, Operand, Sink

#: The threads that a barrier between two of them waits for, each a warp; and how many barriers a CTA has.
_TWO_WARPS, _BARRIERS = 64, 16
#: How far apart the two threads of an edge may be.
_REACH = {"Bar": "cta", "Mbar": "cta", "ClusterBar": "cluster", "CpAsyncMbar": "cta", "BulkMbar": "cta"}
_REACH |= dict.fromkeys(REMOTE, "cluster")


@dataclass(slots=True)
class Synchronisation:
    """What synchronises the threads of a test, beside their own accesses: mbarrier objects, kernels."""

    locations: list[Location] = field(default_factory=list)
    kernels: tuple[LaunchedKernel, ...] = ()


def is_synchronised(layout: CycleLayout) -> bool:
    """Whether any edge of a cycle is one of synchronisation, or threads share memory of their CTA."""
    return any(edge.kind in SYNCHRONISATION for edge in layout.edges) or bool(copies.copied(layout))


def together(layout: CycleLayout) -> list[tuple[int, int, str]]:
    """Pairs of threads that have to share a CTA or a cluster, as their edges need it."""
    count = len(layout.threads)
    kinds = [layout.edges[events[-1]].kind for events in layout.threads]
    meeting = [(t, (t + 1) % count, _REACH[kind]) for t, kind in enumerate(kinds) if kind in _REACH]
    return [*meeting, *copies.together(layout)]


def synchronise(layout: CycleLayout, columns: Sequence[WrittenThread], placement: CyclePlacement) -> Synchronisation:
    """Adds to the columns what their edges of synchronisation need.

    Raises `RefusedCycle` where threads stand so that they cannot meet, or would deadlock.
    """
    outward = [(events[-1], t, (t + 1) % len(layout.threads)) for t, events in enumerate(layout.threads)]
    kinds = [layout.edges[at].kind for at, _, _ in outward]
    if all(kind in SYNCHRONISATION for kind in kinds):
        raise RefusedCycle(
            outward[-1][0],
            "the threads would wait for each other in a circle",
            "one edge is to communicate, as Fre does",
        )
    for a, b, _ in copies.together(layout):
        if placement[a][0] != placement[b][0]:
            at = next(i for i, event in enumerate(layout.events) if event.location in copies.spaces(layout))
            raise RefusedCycle(
                at, f"a copy has P{a} and P{b} share memory of a CTA, and they are apart", "say where, as in @cta"
            )
    meeting = Synchronisation()
    _refuse_apart(outward, kinds, placement)
    meeting.locations += remote.hand_over(layout, columns, placement)
    barrier = 0
    for (at, a, b), kind in zip(outward, kinds, strict=True):
        if kind not in _REACH or kind in REMOTE:
            continue
        if kind == "ClusterBar":
            _cluster_barrier(placement, columns, a, b, at)
            continue
        barrier += 1
        if barrier >= _BARRIERS:
            raise RefusedCycle(at, f"a CTA has {_BARRIERS} barriers, and this cycle needs more")
        both = step("bar.sync", Immediate(barrier), Immediate(_TWO_WARPS))
        if kind == "Bar":
            columns[a].statements.append(both)
            columns[b].statements.insert(0, both)
        else:
            meeting.locations.append(_object(kind, columns[a], columns[b], both, f"m{barrier}"))
    remote.begin(layout, columns, placement)
    meeting.kernels = _kernels(outward, kinds, placement)
    return meeting


def _refuse_apart(outward: Sequence[tuple[int, int, int]], kinds: Sequence[str], placement: CyclePlacement) -> None:
    """Raises `RefusedCycle` where two threads stand too far apart for what synchronises them."""
    for (at, a, b), kind in zip(outward, kinds, strict=True):
        reach = _REACH.get(kind)
        level = 0 if reach == "cta" else 1
        if reach is not None and placement[a][level] != placement[b][level]:
            where = "CTA" if reach == "cta" else "cluster"
            message = f"{kind} is between threads of one {where}, and P{a} and P{b} are not"
            raise RefusedCycle(at, message, f"say where, as in @{reach}")


def _cluster_barrier(placement: CyclePlacement, columns: Sequence[WrittenThread], a: int, b: int, at: int) -> None:
    cluster = placement[a][1]
    if [t for t in range(len(placement)) if placement[t][1] == cluster] != sorted({a, b}):
        raise RefusedCycle(
            at,
            "a cluster's barrier is of all its threads, and more than these two are in it",
            "a Bar is of two threads",
        )
    steps = [step("barrier.cluster.arrive"), step("barrier.cluster.wait")]
    columns[a].statements += steps
    columns[b].statements[:0] = steps


def _object(kind: str, giver: WrittenThread, taker: WrittenThread, ready: Instruction, name: str) -> Location:
    """Adds a hand-over through an mbarrier object that the giver makes: he arrives there, or his copies do."""
    where: Operand = Address(Name(name))
    first = [step("mbarrier.init.shared.b64", where, Immediate(1))]
    if kind == "BulkMbar":  # he arrives before, so that nothing but the copy is waited for
        copy = giver.statements.pop()
        assert isinstance(copy, Instruction)
        size = copy.operands[-1]
        first.append(step("fence.mbarrier_init.release.cluster"))
        first.append(step("mbarrier.arrive.expect_tx.shared.b64", Sink(), where, size))
        giver.statements.append(Instruction(copy.opcode, copy.modifiers, (*copy.operands, where)))
    elif kind == "CpAsyncMbar":
        giver.statements.append(step("cp.async.mbarrier.arrive.noinc.shared.b64", where))
    else:
        giver.statements.append(step("mbarrier.arrive.shared.b64", Sink(), where))
    giver.statements[:0] = [*first, ready]
    done, label = Name(f"%p_{name}"), f"W_{name}"
    wait: list[AnyStatement] = [
        ready,
        Label(label),
        step("mbarrier.try_wait.parity.shared.b64", done, where, Immediate(0)),
        Instruction("bra", (), (Name(label),), Name(done.name, "!")),
    ]
    taker.statements[:0] = wait
    return Location(name, ".u64", "shared")


def _kernels(
    outward: Sequence[tuple[int, int, int]], kinds: Sequence[str], placement: CyclePlacement
) -> tuple[LaunchedKernel, ...]:
    """A kernel for each thread, those in one stream that a `Stream` leads through."""
    if "Stream" not in kinds:
        return ()
    at = next(at for (at, _, _), kind in zip(outward, kinds, strict=True) if kind == "Stream")
    if len({cluster for _, cluster, _ in placement}) < len(placement) or len({gpu for _, _, gpu in placement}) > 1:
        raise RefusedCycle(
            at, "with Stream each thread is a kernel of its own on one GPU", "leave out where they stand"
        )
    count = len(kinds)
    # From a thread that no kernel comes before, so that streams are in the order of their kernels.
    first = next(b for (_, _, b), kind in zip(outward, kinds, strict=True) if kind != "Stream")
    kernels = []
    stream = 0
    for turn in range(count):
        t = (first + turn) % count
        if turn and kinds[t - 1] != "Stream":
            stream += 1
        kernels.append(LaunchedKernel(f"k{t}", (f"P{t}",), stream))
    return tuple(kernels)
