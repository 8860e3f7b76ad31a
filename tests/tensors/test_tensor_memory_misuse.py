"""What goes wrong with Tensor Memory is told at the line: allocation, lanes, descriptors, and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import ptxas
import pytest
from tensor_memory_cases import (
    AFTER,
    BEFORE,
    COMMIT,
    DEALLOC,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    module,
    run,
)

from ptxcore.machine.run.faults import KernelError

DECLARED = ".reg .b64 %da, %db; .reg .b32 %r<8>, %b2; .shared .align 4 .b32 base2; .shared .align 8 .b64 another;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%mine];"
STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%mine], {%t};"
OTHERS = "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r0}, [%mine];"
MMA = "tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, 0x8040010, %p2;"
FIRST = f"@!%p0 bra N; mov.b64 %da, 0x400000080000; mov.b64 %db, 0x400000080000; setp.ne.u32 %p2, 0, 0; {MMA}"
SECOND = "tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, 0x8080010, %p2;"
COPY = "tcgen05.cp.cta_group::1.128x128b [%base], %da;"
ANOTHER = "mbarrier.init.shared::cta.b64 [another], 1; " + COMMIT.replace("[bar]", "[another]")
LATER = WAIT.replace("[bar]", "[another]").replace("W", "V")
END = f"{COMMIT} N: {WAIT} {AFTER}"
TAKEN = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"

RIGHT = {
    "store, wait, load": f"{STORE} {WAIT_ST} {LOAD} {WAIT_LD}",
    "store, wait, load of another shape": f"{STORE} {WAIT_ST} {OTHERS} {WAIT_LD}",
    "load, wait, store": f"{LOAD} {WAIT_LD} {STORE} {WAIT_ST}",
    "a register of a load before its wait": f"{LOAD} add.u32 %r1, %r0, 1; {WAIT_LD}",
    "product, product of the same shape": f"{FIRST} {MMA} {END}",
    "copy, product": f"{FIRST.replace(MMA, COPY)} {MMA} {END}",
    "product, load": f"{FIRST} {END} {LOAD} {WAIT_LD}",
    "two commits, a fence after the wait for one": f"{FIRST} {COMMIT} {ANOTHER} N: {WAIT} {AFTER} {LATER} {LOAD} {WAIT_LD}",
    "fences": f"{STORE} {WAIT_ST} {BEFORE} bar.sync 0; {AFTER} {FIRST} {END}",
    "loads of others behind fences": f"{LOAD} {WAIT_LD} {BEFORE} bar.sync 0; {AFTER} {FIRST} {END}",
}

WRONG = {
    "a store without a wait": (f"{STORE} {LOAD} {WAIT_LD} {WAIT_ST}", "tensor-order", "tcgen05.wait::st is missing"),
    "a load without a wait": (f"{LOAD} {STORE} {WAIT_LD} {WAIT_ST}", "tensor-order", "tcgen05.wait::ld is missing"),
    "a product without a wait": (f"{FIRST} {COMMIT} N: bar.sync 0; {AFTER} {LOAD} {WAIT_LD} {WAIT}", "tensor-order",
                                 "it is not complete"),
    "a product without a commit": (f"{FIRST} N: bar.sync 0; {AFTER} {LOAD} {WAIT_LD}", "tensor-order", "tcgen05.commit"),
    "no fence behind a wait": (f"{FIRST} {COMMIT} N: {WAIT} {LOAD} {WAIT_LD}", "tensor-order", "fence::after_thread_sync"),
    "no fence before a product": (f"{STORE} {WAIT_ST} bar.sync 0; {FIRST} {END}", "tensor-order", "fence::before_thread_sync"),
    "products of two shapes": (f"{FIRST} {SECOND} {END}", "tensor-order", "it is not complete"),
    "a copy behind a product": (f"{FIRST} {COPY} {END}", "tensor-order", "it is not complete"),
    "deallocated too early": (f"{FIRST} {COMMIT} N: setp.ge.u32 %p1, %t, 32; @%p1 bra M; {DEALLOC} M:",
                              "tensor-order", "it is not complete"),
    "another warp's lanes": (f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r0}}, [%base]; {WAIT_LD}", "tensor-lane",
                             "warp 1 has lanes 32 to 63"),
    "a column that is none": (f"add.u32 %mine, %mine, 512; {LOAD}", "tensor-bounds", "no column 512"),
    "different addresses": (f"add.u32 %mine, %mine, %t; {LOAD}", "bad-tensor-memory", "different addresses"),
    "an address that was not allocated": (DEALLOC.replace("%base, 512", "32, 512"), "tensor-allocation", "512 at 0x0"),
    "more columns than before": (f"{DEALLOC.replace('512', '512')}", "tensor-allocation", "none"),
    "a swizzling mode that is none": (FIRST.replace("0x4000", "0x60004000") + END, "bad-descriptor", "swizzling mode 3"),
    "a type that is none": (FIRST.replace("0x8040010", "0x8040030") + END, "bad-descriptor", "type 3 for matrix D"),
    "M that is none": (FIRST.replace("0x8040010", "0x2040010") + END, "bad-descriptor", "M = 32"),
}  # fmt: skip


def tried(text: str, seed: int | None = None) -> None:
    run(text, np.zeros(32768, np.uint8), np.zeros((128, 32), np.uint32), 0, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    text = module(RIGHT[name], filled=32, declared=DECLARED)
    if ptxas.executable() is not None:
        assert not ptxas.check_module(text)
    for seed in (None, *range(6)):
        tried(text, seed)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    body, kind, words = WRONG[name]
    with pytest.raises(KernelError) as told:
        tried(module(body, filled=32, declared=DECLARED))
    assert (told.value.kind, words in told.value.message) == (kind, True), told.value.message
    assert told.value.instruction is not None


def allocating(lines: str) -> str:
    return f""".version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 cells, .param .u64 out, .param .u64 more)
{{ .shared .align 4 .b32 base, other; .reg .b32 %a, %b; {lines} ret; }}
"""


FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"


@pytest.mark.parametrize(
    ("lines", "kind", "words"),
    [
        (f"{TAKEN} [base], 64;", "tensor-leak", "64 columns"),
        (f"{TAKEN} [base], 32; {TAKEN} [other], 64;", "tensor-allocation", "must not increase"),
        (f"{RELINQUISH} {TAKEN} [base], 32;", "tensor-allocation", "relinquished"),
        (f"{TAKEN} [base], 512; {TAKEN} [other], 32;", "deadlock", "waits for 32 columns of tensor memory"),
        (f"{TAKEN} [base], 64; {FREE} 0, 32;", "tensor-allocation", "64 at 0x0"),
        (f"{TAKEN} [base], 64; {FREE} 0, 64; {FREE} 0, 64;", "tensor-allocation", "allocated are none"),
        (f"{TAKEN} [base], 32; mov.u32 %b, 32; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%a}}, [%b];", "tensor-bounds",
         "column 32 of tensor memory is not allocated"),
        (f"{TAKEN} [base], 32; mov.u32 %b, 0; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%a}}, [%b]; "
         "st.shared.b32 [%a], %b;", "uninitialised", "tensor memory was read before a write"),
        (f"{TAKEN} [base], 32;".replace("group::1", "group::2"), "tensor-pair", "no peer CTA"),
    ],
)  # fmt: skip
def test_allocation(lines: str, kind: str, words: str) -> None:
    with pytest.raises(KernelError) as told:
        run_one_warp(allocating(lines))
    assert (told.value.kind, words in told.value.message) == (kind, True), told.value.message


def test_allocation_waits() -> None:
    """The second warp waits until the first one gives its columns back."""
    text = allocating(
        ".reg .pred %p; mov.u32 %a, %tid.x; setp.ge.u32 %p, %a, 32; @%p bra S;\n"
        f"{TAKEN} [base], 512; bar.sync 0; {FREE} 0, 512; bra E;\n"
        f"S: bar.sync 0; {TAKEN} [other], 256; ld.shared.b32 %b, [other]; {FREE} %b, 256;\nE:"
    )
    for seed in (None, 0, 1, 2):
        run_one_warp(text, 64, seed)


def run_one_warp(text: str, threads: int = 32, seed: int | None = None) -> Any:
    from ptxcore.machine.run.launch import load

    return load(text, "k.ptx").launch("k", (1, 1, 1), (threads, 1, 1), [0, 0, 0, 0], seed=seed, limit=1_000_000)
