"""Launches by arrays: the same memory, errors and counts as thread by thread."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from generated_launches import drawn
from kernel_collection import Case, Expect, device
from test_collection_arrays import algebra, reductions
from test_collection_control import control, memory
from test_collection_floats import floats
from test_collection_integers import bits, sorting
from test_collection_threads import copies, threads

import ptxcore.machine.vector.launch as by_arrays
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.grid import GridLaunch
from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.vector.choice import launch, patience
from ptxcore.machine.vector.launch import blocks_of, executed
from ptxcore.machine.vector.watching import WatchedAccesses
from ptxmm.kernels.launch_arguments import LaunchArguments

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body: str, before: str = "", head: str = HEAD) -> Device:
    registers = ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .b16 %h<8>;"
    text = f"{head}{before}\n.visible .entry k(.param .u64 out)\n{{\n{registers}\nld.param.u64 %rd0, [out];\n{body}\nret;\n}}\n"
    return load(text, "k.ptx")


#: %r0 the number of the thread, %rd1 the address of its word.
PLACE = """
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;
"""


def both(
    machine: Device, entry: str, grid: Any, block: Any, arguments: Any, **others: Any
) -> tuple[str, GridLaunch | None]:
    """A launch by both machines, each from the same memory; asserts that they agree. Gives why arrays did not do, and the
    launch by arrays; the error that both found is raised."""
    segments = machine.memory.segments
    before = {number: bytes(s.data) for number, s in segments.items()}
    made = machine.prepare(entry, grid, block, arguments, **others)
    why = executed(made, blocks_of(machine, entry))
    after = {number: bytes(s.data) for number, s in segments.items()}
    for number, s in segments.items():
        if why:
            assert after[number] == before[number], "memory is as before where arrays do not do"
        s.data[:] = before[number]
    single = machine.prepare(entry, grid, block, arguments, **others)
    try:
        single.run()
    except KernelError:
        assert why, "arrays executed what is an error"
        raise
    if not why:
        assert {number: bytes(s.data) for number, s in segments.items()} == after
        assert not single.output
    return why, None if why else made


@pytest.mark.part(4)
@pytest.mark.parametrize("part", range(4))
def test_generated_kernels(part: int) -> None:
    compared = instructions = 0
    for seed in range(12 * part, 12 * part + 12):
        d = drawn(seed)
        machine = load(d.text, "k.ptx")
        out = machine.memory.allocate(4 * d.out, "out")
        given = machine.memory.allocate(4 * len(d.given), "in")
        machine.memory.at(given).data[:] = struct.pack(f"<{len(d.given)}I", *d.given)
        why, made = both(machine, "k", (d.grid, 1, 1), (d.block, 1, 1), [out, given, d.grid * d.block])
        assert made is not None, (seed, why)
        compared += 1
        instructions += made.executed
    assert compared == 12
    assert instructions > 50_000


@pytest.mark.long
def test_the_collections_of_small_kernels() -> None:
    found: Counter[str] = Counter()
    for collection in (algebra, reductions, control, memory, floats, bits, sorting, threads, copies):
        for case in collection.cases:
            found[_collected(case)] += 1
    assert found[""] > 60, found
    assert sum(found.values()) - found[""] < found[""]


def _collected(case: Case) -> str:
    machine = device(case.module)
    machine.reset()
    told = case.inputs(np.random.default_rng(len(case.name)))
    arguments = [a.array.copy() if isinstance(a, Expect) else a for a in told]
    given = LaunchArguments(machine, machine.kernel(case.entry), arguments)
    three = [(*sizes, 1, 1)[:3] for sizes in (case.grid, case.block, case.cluster or (1,))]
    try:
        why, _ = both(
            machine, case.entry, three[0], three[1], given.values,
            cluster=three[2] if case.cluster else None, dynamic_shared=case.dynamic_shared,
        )  # fmt: skip
    finally:
        given.free()
    return why


ERRORS = {
    "behind the end": (PLACE + "st.global.u32 [%rd1+8], %r0;", "out-of-bounds"),
    "misaligned": (PLACE + "mad.wide.u32 %rd1, %r0, 2, %rd0; ld.global.u32 %r3, [%rd1];", "misaligned"),
    "by zero": (PLACE + "sub.u32 %r3, %r0, 70; div.u32 %r4, %r0, %r3; st.global.u32 [%rd1], %r4;", "division-by-zero"),
    "a register": (PLACE + "setp.lt.u32 %p1, %r0, 90; @%p1 mov.u32 %r3, 1; st.global.u32 [%rd1], %r3;", "undefined-register"),
    "a trap": (PLACE + "setp.eq.u32 %p1, %r0, 65; @%p1 trap; st.global.u32 [%rd1], %r0;", "trap"),
    "half a barrier": (PLACE + "setp.lt.u32 %p1, %r0, 64; @%p1 bra L; bar.sync 0; L: bar.sync 1; bar.sync 2, 96;", "deadlock"),
    "no barrier": (
        ".shared .u32 s[256]; mov.u32 %r3, %tid.x; shl.b32 %r3, %r3, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3;"
        + PLACE + "st.shared.u32 [%r4], %r0; ld.shared.u32 %r5, [%r4+4]; st.global.u32 [%rd1], %r5;", "uninitialised",
    ),
    "spin loop": (PLACE + "setp.lt.u32 %p1, %r0, 100; L: @!%p1 bra L; st.global.u32 [%rd1], %r0;", "deadlock"),
    "a mask": (PLACE + "and.b32 %r3, %r0, 31; setp.lt.u32 %p1, %r3, 8; @%p1 bra L; vote.sync.any.pred %p2, %p1, 0xff; L:",
               "bad-mask"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_single_threads(name: str) -> None:
    body, kind = ERRORS[name]
    told = []
    for how in ("arrays", "threads"):
        machine = kernel(body)
        out = machine.memory.allocate(4 * 256, "out")
        with pytest.raises(KernelError) as caught:
            if how == "arrays":
                launch(machine, "k", (2, 1, 1), (128, 1, 1), [out], watcher=Told())
            else:
                machine.launch("k", (2, 1, 1), (128, 1, 1), [out])
        told.append((str(caught.value), bytes(machine.memory.at(out).data)))
        assert caught.value.kind == kind
    assert told[0] == told[1]


def test_what_arrays_cannot_do_leaves_memory_as_it_was() -> None:
    machine = kernel(PLACE + "st.global.u32 [%rd1], %r0; setp.eq.u32 %p1, %r0, 200; @%p1 trap;")
    out = machine.memory.allocate(4 * 256, "out")
    machine.memory.at(out).data[:] = bytes(range(256)) * 4
    made = machine.prepare("k", (2, 1, 1), (128, 1, 1), [out])
    assert executed(made, blocks_of(machine, "k")) == "trap"
    assert bytes(machine.memory.at(out).data) == bytes(range(256)) * 4


def test_a_limit_is_told_as_by_single_threads() -> None:
    machine = kernel(PLACE + "st.global.u32 [%rd1], %r0;")
    out = machine.memory.allocate(4 * 256, "out")
    with pytest.raises(KernelError, match="more than 1000 instructions"):
        launch(machine, "k", (2, 1, 1), (128, 1, 1), [out], limit=1000, watcher=Told())


class Told:
    """A watcher that takes everything down."""

    def __init__(self) -> None:
        self.accesses: list[WatchedAccesses] = []
        self.told: list[tuple[Any, ...]] = []

    def begin(self, first: int, ctas: Any, threads: int) -> None:
        self.told.append(("begin", first, len(ctas), threads))

    def access(self, accesses: WatchedAccesses) -> None:
        self.accesses.append(accesses)

    def fence(self, op: Any, threads: Any) -> None:
        self.told.append(("fence", op.name, threads.size))

    def arrive(self, op: Any, threads: Any, identity: int, count: int | None, waits: bool) -> None:
        self.told.append(("arrive", identity, count, threads.size, waits))

    def complete(self, identity: int, threads: Any, waited: Any) -> None:
        self.told.append(("complete", identity, threads.tolist()[::31], waited.size))

    def converge(self, op: Any, threads: Any, masks: Any) -> None:
        self.told.append(("converge", op.name, threads.size))

    def alone(self, op: Any, threads: Any, operands: Any, results: Any) -> None:
        self.told.append(("alone", op.name, threads.size))

    def exit(self, threads: Any) -> None:
        self.told.append(("exit", threads.size))

    def restart(self, why: str) -> None:
        self.told.append(("restart", why))


WATCHED = (
    ".shared .u32 s[64];" + PLACE + "mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;"
    "st.shared.u32 [%r5], %r0; fence.acq_rel.gpu; bar.sync 0; ld.shared.u32 %r6, [s+4]; atom.global.add.u32 %r7, [%rd0], %r3;"
    "setp.lt.u32 %p1, %r3, 32; @%p1 bra L; bar.arrive 1, 64; bra M; L: bar.sync 1, 64; M: bar.warp.sync 0xffffffff;"
)


def test_a_watcher_is_told_of_each_batch() -> None:
    machine = kernel(WATCHED)
    out = machine.memory.allocate(4 * 128, "out")
    watcher = Told()
    launch(machine, "k", (2, 1, 1), (64, 1, 1), [out], watcher=watcher)
    assert watcher.told == [
        ("begin", 0, 2, 64), ("fence", "fence.acq_rel.gpu", 128), ("arrive", 0, None, 128, True),
        ("complete", 0, [0, 31, 62, 93, 124], 128),
        ("arrive", 1, 64, 64, False), ("arrive", 1, 64, 64, True),
        ("complete", 1, [0, 31, 62, 93, 124], 64),
        ("converge", "bar.warp.sync", 128), ("exit", 128),
    ]  # fmt: skip
    stored, loaded, added = watcher.accesses
    assert (stored.kind, stored.size, stored.op.name) == ("write", 4, "st.shared.u32")
    assert stored.threads.tolist() == stored.written.tolist() == list(range(128))
    assert loaded.read.tolist() == [1] * 64 + [65] * 64
    assert added.kind == "atomic"
    assert added.read.tolist() == [sum(i % 64 for i in range(t)) for t in range(128)]
    assert (added.written - added.read).tolist() == [i % 64 for i in range(128)]


def test_a_watcher_learns_that_what_it_was_told_does_not_count() -> None:
    machine = kernel(PLACE + "st.global.u32 [%rd1], %r0; mov.u32 %r5, %clock;")
    out = machine.memory.allocate(4 * 64, "out")
    watcher = Told()
    launch(machine, "k", (1, 1, 1), (64, 1, 1), [out], watcher=watcher)
    assert watcher.told[-1] == ("restart", "mov.u32")


def test_a_barrier_of_some_threads_has_no_operand_at_their_places() -> None:
    machine = kernel(PLACE + "setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 0; @!%p1 bar.sync 0; st.global.u32 [%rd1], %r0;")
    out = machine.memory.allocate(4 * 64, "out")
    why, _ = both(machine, "k", (1, 1, 1), (64, 1, 1), [out])
    assert not why


def test_a_kernel_without_instructions() -> None:
    assert not both(load(f"{HEAD}.visible .entry k()\n{{\n}}\n", "k.ptx"), "k", (2, 1, 1), (64, 1, 1), [])[0]


def test_numbers_decide_which_machine_begins() -> None:
    machine = kernel(PLACE + "st.global.u32 [%rd1], %r0; // that nobody has launched")
    assert patience(machine, "k", ((1, 1, 1), (32, 1, 1), None)) is None
    assert patience(machine, "k", ((2048, 1, 1), (256, 1, 1), None)) == 0
    few = patience(machine, "k", ((1, 1, 1), (128, 1, 1), None))
    more = patience(machine, "k", ((1, 1, 1), (400, 1, 1), None))
    assert few is not None and more is not None and 0 < more < few
    machine.memory.allocate(1 << 30, "more than is copied in that time")
    assert patience(machine, "k", ((1, 1, 1), (128, 1, 1), None)) == 0


def test_launches_again_and_again_come_to_arrays() -> None:
    text = PLACE + "st.global.u32 [%rd1], %r0; // launched more than once"
    shape = (1, 1, 1), (128, 1, 1)
    left = patience(kernel(text), "k", (*shape, None))
    machine = kernel(text)
    out = machine.memory.allocate(4 * 128, "out")
    assert left is not None
    for _ in range(left + 1):
        if not patience(machine, "k", (*shape, None)):
            break
        launch(machine, "k", *shape, [out])
    assert patience(kernel(text), "k", (*shape, None)) == 0


ROUNDS = """
    atom.global.add.u32 %r4, [%rd0], 1;
    mov.u32 %r5, 0;
AGAIN:
    add.u32 %r5, %r5, 1;
    add.u32 %r3, %r3, %r0;
    setp.lt.u32 %p1, %r5, 2000;
    @%p1 bra AGAIN;
    st.global.u32 [%rd1+4], %r3;"""


def test_long_launches_begin_again_by_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done thread by thread until then is undone: the counter counts each thread once."""
    ran: list[int] = []
    monkeypatch.setattr(by_arrays, "executed", lambda launch, *a: ran.append(launch.executed) or executed(launch, *a))
    machine = kernel(PLACE + "mov.u32 %r3, 0;" + ROUNDS)
    out = machine.memory.allocate(4 * 257, "out")
    made = launch(machine, "k", (2, 1, 1), (128, 1, 1), [out])
    values = struct.unpack("<257I", machine.memory.at(out).data)
    assert values[0] == 256 and list(values[1:]) == [2000 * i for i in range(256)]
    assert ran == [0] and made.executed > 256 * 8000
    assert list(machine.memory.segments) == [out >> 32]


def test_what_does_not_fit_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A register that nothing wrote, with which arrays do not compute."""
    ran: list[str] = []
    monkeypatch.setattr(by_arrays, "executed", lambda *a: ran.append(executed(*a)) or ran[-1])
    machine = kernel(PLACE + ROUNDS.replace("%r3;", "%r5;").replace("2000", "20"))
    out = machine.memory.allocate(4 * 257, "out")
    for count in (1, 2):
        launch(machine, "k", (2, 1, 1), (128, 1, 1), [out])
        assert struct.unpack("<257I", machine.memory.at(out).data) == (256 * count, *[20] * 256)
    assert len(ran) == 1 and ran[0]


def test_small_launches_do_not_import_numpy() -> None:
    text = HEAD + ".visible .entry k() { .reg .b32 %r<4>; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; ret; }"
    code = (
        "import sys; from ptxcore.machine.run.launch import load; from ptxcore.machine.vector.choice import launch\n"
        f"launch(load({text!r}), 'k', (4, 1, 1), (64, 1, 1), [])\nprint('numpy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_a_text_is_compiled_once() -> None:
    text = HEAD + ".visible .entry once() { ret; }"
    one, other = load(text, "one.ptx"), load(text, "other.ptx")
    assert one.program is other.program and one.compiled is other.compiled and one.kept is other.kept
    assert one.memory is not other.memory and (one.path, other.path) == ("one.ptx", "other.ptx")


def test_schedules_that_are_drawn_are_of_single_threads() -> None:
    machine = kernel(PLACE + "st.global.u32 [%rd1], %r0;")
    out = machine.memory.allocate(4 * 64, "out")
    watcher = Told()
    launch(machine, "k", (1, 1, 1), (64, 1, 1), [out], seed=1, watcher=watcher)
    assert watcher.told == []
