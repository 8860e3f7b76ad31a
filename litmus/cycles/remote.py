"""Edges that hand over what an asynchronous operation writes to shared memory of another CTA of the cluster, where its end is
told to an mbarrier object beside it: `st.async` (`StAsyncMbar`), a bulk copy with multicast (`MulticastMbar`).

The location and the object are those of the CTA of the thread that waits. All threads of the cluster begin with its barrier, so
that the object is there before the operation comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from litmus.cycles.code import WrittenThread, step
from litmus.cycles.copies import handed
from litmus.cycles.cycle import CycleLayout
from litmus.cycles.places import CyclePlacement
from litmus.test import Location
from ptxcore.syntax.tree import Address, AnyStatement, Immediate, Instruction, Label, Name, Sink

#: Bytes that an operation writes, of which its object is told.
_BYTES = {"StAsyncMbar": 4, "MulticastMbar": 16}


def hand_over(layout: CycleLayout, columns: Sequence[WrittenThread], placement: CyclePlacement) -> list[Location]:
    """Adds to the columns what such edges need, but for what threads begin with; gives the mbarrier objects. Threads stand
    where `copies.together` has them."""
    objects = []
    for number, (i, taker) in enumerate(handed(layout), 1):
        name, kind = f"n{number}", layout.edges[i].kind
        giver = layout.events[i].thread
        clustered = sorted({cta for cta, cluster, _ in placement if cluster == placement[taker][1]})
        rank = clustered.index(placement[taker][0])
        complete = _stored if kind == "StAsyncMbar" else _cast
        operation = columns[giver].statements.pop()
        assert isinstance(operation, Instruction)
        columns[giver].statements += complete(operation, name, rank)
        where, done, label = Address(Name(name)), Name(f"%p_{name}"), f"W_{name}"
        columns[taker].statements[:0] = [
            Label(label),
            step("mbarrier.try_wait.parity.acquire.cluster.shared.b64", done, where, Immediate(0)),
            Instruction("bra", (), (Name(label),), Name(done.name, "!")),
        ]
        objects.append(Location(name, ".u64", "shared"))
    return objects


def begin(layout: CycleLayout, columns: Sequence[WrittenThread], placement: CyclePlacement) -> None:
    """What threads begin with: objects are made, and then the clusters come together."""
    begins: dict[int, list[AnyStatement]] = {}
    for number, (i, taker) in enumerate(handed(layout), 1):
        where = Address(Name(f"n{number}"))
        for t in range(len(placement)):
            if placement[t][1] == placement[taker][1]:
                begins.setdefault(t, [])
        begins[taker] += [
            step("mbarrier.init.shared.b64", where, Immediate(1)),
            step("fence.mbarrier_init.release.cluster"),
            step("mbarrier.arrive.expect_tx.shared.b64", Sink(), where, Immediate(_BYTES[layout.edges[i].kind])),
        ]
    for t, statements in begins.items():
        meet = [step("barrier.cluster.arrive"), step("barrier.cluster.wait")]
        columns[t].statements[:0] = [*statements, *meet]


def _stored(store: Instruction, name: str, rank: int) -> list[AnyStatement]:
    """A store through the addresses that its location and the object have in the CTA of this rank."""
    address, value = store.operands
    assert isinstance(address, Address) and isinstance(address.base, Name)
    there, told = Name(f"%a_{name}"), Name(f"%o_{name}")
    return [
        step("mapa.shared::cluster.u32", there, address.base, Immediate(rank)),
        step("mapa.shared::cluster.u32", told, Name(name), Immediate(rank)),
        Instruction(store.opcode, store.modifiers, (Address(there), value, Address(told))),
    ]


def _cast(copy: Instruction, name: str, rank: int) -> list[AnyStatement]:
    """A copy to the CTA of this rank, at the same place as in one's own."""
    mask = Name(f"%s_{name}")
    return [
        step("mov.u16", mask, Immediate(1 << rank)),
        Instruction(copy.opcode, copy.modifiers, (*copy.operands, Address(Name(name)), mask)),
    ]
