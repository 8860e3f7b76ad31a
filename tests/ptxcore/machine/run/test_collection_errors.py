"""Kernels that go wrong: the error names the kind, the thread, the instruction and the line of the source."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_collection import SEEDS, device

from ptxcore.machine.run.faults import KernelError
from ptxmm.running import launch


class Wrong(NamedTuple):
    """A launch that goes wrong. `thread` and `cta` are x coordinates, None where the schedule decides."""

    entry: str
    kind: str
    instruction: str
    line: int | None
    words: str
    thread: int | None = 0
    cta: int | None = 0
    grid: int = 1
    block: int = 32
    args: tuple[Any, ...] = ()
    dynamic_shared: int = 0


def zeros(count: int) -> Any:
    return np.zeros(count, np.int32)


DIVISORS = np.array([5, 4, 3, 0, 1, 2, 9, 0], np.int32)

CASES = [
    Wrong("beyond", "out-of-bounds", "st.global.u32 [%rd2], %r4", 4, "offset 124 of 'out', which has 124 bytes",
          15, 1, 2, 16, (zeros(31),)),
    Wrong("before", "out-of-bounds", "ld.global.u32 %r3, [%rd3]", 10, "4 bytes before the start of 'out'",
          args=(zeros(32), zeros(32))),
    Wrong("too_little_shared", "out-of-bounds", "st.shared.v2.u32 [%r2], {%r1, %r1}", 17,
          "8 bytes at offset 96 of 'shared memory', which has 96 bytes", 12, block=13, dynamic_shared=96),
    Wrong("local_overrun", "out-of-bounds", "st.local.u32 [%rd2], %r1", 23, "4 bytes at offset 40", block=1),
    Wrong("quotient", "division-by-zero", "div.s32 %r3, 1000, %r2", 30, "division by zero; 'st.global.s32'", 7, block=8,
          args=(DIVISORS, zeros(8))),
    Wrong("apart", "deadlock", "bar.sync 2", 38, "waits at barrier 2, where 48 of 64", block=64),
    Wrong("apart", "deadlock", "bar.sync 2", 38, "waits at barrier 1, where 16 of 64", block=64),
    Wrong("divergent", "barrier-divergence", "bar.sync 0", None, "by different instructions", None),
    Wrong("unreleased", "deadlock", "atom.acquire.gpu.global.cas.b32 %r1, [lock], 0, 1", 50,
          "spins at 'atom.acquire.gpu.global.cas.b32'", None, None, 2),
    Wrong("waits_for_next", "deadlock", "ld.acquire.gpu.global.u32 %r2, [flag]", None, "spins at"),
    Wrong("one_missing", "deadlock", "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1", None, "spins at"),
    Wrong("recursion", "stack-overflow", "call endless, (m)", 80, "stack overflow", block=1),
    Wrong("absent", "deadlock", "shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffff", 96, "waits for lanes 0xffff"),
    Wrong("sometimes", "undefined-register", "st.global.u32 [%rd1], %r2", 90, "%r2", None, args=(zeros(32),)),
    Wrong("after_free", "out-of-bounds", "st.u32 [%rd1], 1", 112, "no memory at address", block=1, args=(0,)),
    Wrong("after_free", "bad-free", "call free, (p)", 110, "no buffer begins", block=1, args=(1,)),
]  # fmt: skip


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.entry}-{case.kind}")
def test_errors_name_what_goes_wrong_and_where(case: Wrong, seed: int | None) -> None:
    machine = device("errors")
    machine.reset()
    with pytest.raises(KernelError) as caught:
        launch(
            machine, case.entry, case.grid, case.block, case.args, seed=seed, dynamic_shared=case.dynamic_shared,
            limit=3_000_000,
        )  # fmt: skip
    error = caught.value
    assert error.kind == case.kind
    assert case.words in str(error)
    assert error.instruction is not None
    assert " ".join(error.instruction.text.split()).rstrip(";") == case.instruction
    assert case.line is None or error.source == ("errors.cu", case.line)
    assert error.thread is not None
    if case.thread is not None:
        assert error.thread.thread == (case.thread, 0, 0)
    if case.cta is not None:
        assert error.thread.cta == (case.cta, 0, 0)


def test_a_read_that_comes_too_early_is_found_in_turns() -> None:
    """In random schedules the neighbour may have written already."""
    machine = device("errors")
    machine.reset()
    with pytest.raises(KernelError, match=r"offset 4 of 'shared memory' were read before a write") as caught:
        launch(machine, "early_read", 1, 32, [zeros(32)])
    assert caught.value.kind == "uninitialised"
    assert caught.value.source is not None
    assert caught.value.source[0] == "errors.cu"


def test_what_waits_for_another_cta_ends_when_there_is_one() -> None:
    for seed in SEEDS:
        machine = device("errors")
        machine.reset()
        launch(machine, "waits_for_next", 2, 32, seed=seed, limit=3_000_000)


def test_what_lies_unused_may_be_undefined() -> None:
    machine = device("errors")
    machine.reset()
    out = zeros(8)
    divisors = DIVISORS.copy()
    divisors[7] = 10
    launch(machine, "quotient", 1, 8, [divisors, out])
    assert out.tolist() == [200, 250, 333, -1, 1000, 500, 111, 100]
