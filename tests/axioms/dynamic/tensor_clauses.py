"""Of each clause about order in sections 9.7.15 (`wgmma`) and 9.7.16 (`tcgen05`): a kernel that does what it asks for, and what
it must not be without.

`says` has the words of the manual from which both verdicts follow: what is asked for is there, so the kernel is `ok`; without
it nothing else orders the accesses, or the manual calls that undefined. The kernels are those of `warpgroup_kernels` and
`test_tensor_memory_patterns`, with other words at some places.
"""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import test_tensor_memory_pairs as pairs
import test_tensor_memory_patterns as one
from tensor_memory_cases import AFTER, BEFORE, WAIT, WAIT_LD, WAIT_ST
from tensor_memory_kernels import DEALLOC, changed
from tensor_memory_kernels import ring as tensor_ring
from warpgroup_kernels import COMMIT as GROUP
from warpgroup_kernels import FENCE, PRODUCT, tile
from warpgroup_kernels import WAIT as WAIT_GROUP
from warpgroup_kernels import ring as group_ring

from ptxmm.kernels.test import KernelTest


class Clause(NamedTuple):
    """`name` of its tests; `wrong`: what is not there, or not so, in each wrong kernel, with changes of words (old, new) and
    the verdict; `made` makes a kernel with such changes."""

    section: str
    name: str
    says: str
    made: Callable[..., KernelTest]
    wrong: tuple[tuple[str, tuple[tuple[str, str], ...], str], ...]


def _in(body: str) -> Callable[..., KernelTest]:
    """A body of a kernel of one CTA."""
    return lambda *changes: one.of(one.kernel(changed(body, changes)))


def _between(body: str) -> Callable[..., KernelTest]:
    """A body of a kernel of two CTAs."""
    return lambda *changes: pairs.kernel_test(changed(body, changes))


def _registers(*always: tuple[str, str]) -> Callable[..., KernelTest]:
    return lambda *changes: tile(*always, *changes)


def _without(*words: str) -> tuple[tuple[str, tuple[tuple[str, str], ...], str], ...]:
    """Without some words each: an instruction, or the wait for a commit."""
    said = ["nobody waits" if word == WAIT else f"no `{word.split()[0].rstrip(';')}`" for word in words]
    return tuple((missing, ((word, ""),), "undefined") for missing, word in zip(said, words, strict=True))


_PROXY = "fence.proxy.async.shared::cta;"
_AGAIN = "st.shared.v4.u32 [%r1], {%r14, %r15, %r16, %r17};"
#: A of a product in registers: zeros times B.
_HELD = (PRODUCT, PRODUCT.replace("%rd4", "{%r14, %r15, %r16, %r17}").replace("1, 1, 1, 0, 0;", "1, 1, 1, 0;"))
_SECOND = PRODUCT.replace("%f0, %f1, %f2, %f3", "%f4, %f5, %f6, %f7")
_MORE = ((".reg .f32 %f<4>;", ".reg .f32 %f<8>;"), ("mov.f32 %f3, %f0;", "mov.f32 %f3, %f0; mov.f32 %f4, %f0; mov.f32 %f5, "
         "%f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0;"))  # fmt: skip
_ONE_LEFT = WAIT_GROUP.replace(" 0;", " 1;")
_STORES = "mov.u32 %r10, %tid.x;"

WGMMA = (
    Clause("9.7.15.4", "wgmma_proxy", '"performed in the asynchronous proxy"; "Accessing the same memory location across '
           'multiple proxies needs a cross-proxy fence"', tile, (("no fence between the proxies", ((_PROXY, ""),), "undefined"),)),
    Clause("9.7.15.4", "wgmma_completion", '"The completion [...] is followed by an implicit generic-async proxy fence"; '
           '"wgmma.commit_group and wgmma.wait_group operations must be used to wait"',
           _registers((WAIT_GROUP, f"{WAIT_GROUP} {_AGAIN}")),
           (("a store before the wait", ((f"{WAIT_GROUP} {_AGAIN}", f"{_AGAIN} {WAIT_GROUP}"),), "undefined"),)),
    Clause("8.9.1.1", "wgmma_issue", '"ordered after prior instructions in the same thread (except in the case of '
           'wgmma.mma_async)"', group_ring,
           (("the fence stands before the wait for the bytes", ((FENCE, ""), ("CONSUME:", f"{FENCE}\nCONSUME:")), "undefined"),)),
    Clause("9.7.15.7.1", "wgmma_first_fence", '"must be issued by all warps of the warpgroup: Before the first '
           'wgmma.mma_async operation"; "Otherwise, the behavior is undefined"', tile, (("no wgmma.fence", ((FENCE, ""),),
           "undefined"),)),
    Clause("9.7.15.7.1", "wgmma_register_fence", '"Between a register access by a thread in the warpgroup and any '
           'wgmma.mma_async instruction that accesses the same registers"', tile,
           (("an accumulator is written behind the fence", ((FENCE, f"{FENCE} mov.f32 %f1, 0f3F800000;"),), "undefined"),)),
    Clause("9.7.15.7.1", "wgmma_one_shape", '"except when these are accumulator register accesses across multiple '
           'wgmma.mma_async instructions of the same shape"',
           _registers((PRODUCT, f"{PRODUCT}\n {PRODUCT.replace('%rd5, 1, 1', '%rd5, 1, -1')}\n {PRODUCT}")),
           (("a product of another shape", ((f"-1, 1, 0, 0;\n {PRODUCT}", "-1, 1, 0, 0;\n "
             "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, %rd4, %rd5, 1, 1, 1;"),), "undefined"),)),
    Clause("9.7.15.7.2", "wgmma_commit", '"batches all prior wgmma.mma_async instructions [...] not committed to any '
           'wgmma-group into the new wgmma-group"', tile,
           (("the group is closed before the product", ((f"{PRODUCT}\n {GROUP}", f"{GROUP}\n {PRODUCT}"),), "undefined"),)),
    Clause("9.7.15.7.3", "wgmma_wait", '"wait until only N or fewer of the most recent wgmma-groups are pending and all the prior '
           'wgmma-groups committed by the executing threads are complete"',
           _registers(*_MORE, (f"{GROUP}\n {WAIT_GROUP}", f"{GROUP}\n {_SECOND}\n {GROUP}\n {_ONE_LEFT}"),
                      (_STORES, f"{_STORES} mov.f32 %f3, %f3; {WAIT_GROUP}")),
           (("one group more is pending", ((_ONE_LEFT, _ONE_LEFT.replace(" 1;", " 2;")), (
             "mov.f32 %f3, %f3;", "add.f32 %f3, %f3, 0f00000000;")), "undefined"),)),
    Clause("9.7.15.7.3", "wgmma_accumulator_in_flight", '"Accessing the accumulator register [...] without first performing a '
           'wgmma.wait_group instruction that waits on a wgmma-group including that [...] is undefined behavior"', tile,
           (("the sums are read before the wait", ((WAIT_GROUP, f"add.f32 %f1, %f0, %f0; {WAIT_GROUP}"),), "undefined"),)),
    Clause("9.7.15.7.3", "wgmma_fragment_in_flight", '"or the input register containing the fragments of matrix A"',
           lambda *changes: _unsaid(tile(_HELD, ("WRITTEN:", "WRITTEN: mov.u32 %r14, 0; mov.u32 %r15, 0; mov.u32 %r16, 0; "
                                                 "mov.u32 %r17, 0;"), *changes)),
           (("A is written before the wait", ((WAIT_GROUP, f"add.u32 %r14, %r15, 7; {WAIT_GROUP}"),), "undefined"),)),
)  # fmt: skip


def _unsaid(test: KernelTest) -> KernelTest:
    """Without what it says of values."""
    return replace(test, checks=[c for c in test.checks if c.kind != "forall"])


_WEAK_ARRIVAL = "mbarrier.arrive.relaxed.cluster.shared.b64 _, [bar];"
_RELAXED = WAIT.replace("parity", "parity.relaxed.cluster")
_COPY_4 = "tcgen05.cp.cta_group::1.4x256b [%r2], %da;"
_MOVED = f"{one.STORE} {WAIT_ST} {one.LOAD}"
_DONE = f"@%px {one.MMA} @%px {one.COMMIT} {_RELAXED} {AFTER} {one.LOAD}"
_HANDED = f"@%px {one.COPY} @%px {BEFORE} @%px {_WEAK_ARRIVAL} {_RELAXED} {AFTER} @%py {one.MMA}"
_LOADED = f"{one.LOAD} {WAIT_LD} {BEFORE} bar.sync 0; {AFTER} @%py {one.MMA}"
_COMPOSED = f"@!%px bra N; {one.MMA} {one.COMMIT} {_RELAXED} {AFTER} {BEFORE} N: bar.sync 0; {AFTER} {one.LOAD}"
_USED = f"{one.LOAD} add.u32 %r1, %r0, 1; {WAIT_LD} {one.STORE}"
_WRITTEN = f"{one._WRITE} {_PROXY} bar.sync 0; {AFTER} {one._READ}"

TCGEN05 = (
    Clause("9.7.16.5", "tcgen05_pair", '"the Tensor Memory of both the CTAs within the CTA pair are accessed"',
           _between(f"@%px {pairs.MMA} @%px {pairs.COMMIT} {WAIT} {AFTER} {one.LOAD}"), _without(WAIT, AFTER)),
    Clause("9.7.16.6.1", "tcgen05_asynchronous", '"not inherently ordered with respect to other tcgen05 operations in the same '
           'thread"', _in(_MOVED), _without(WAIT_ST)),
    Clause("9.7.16.6.1", "tcgen05_synchronous", '"inherently ordered": .dealloc, behind the barrier without a fence, and .alloc',
           lambda *changes: tensor_ring((f" bar.sync 1, 128;\n {AFTER}", " bar.sync 1, 128;"), *changes),
           (("nothing before the barrier", ((f" {BEFORE}\n bar.sync 1", " bar.sync 1"),), "undefined"),)),
    Clause("9.7.16.6.2", "tcgen05_mma_mma", '"tcgen05.mma -> tcgen05.mma (same N and accumulator and shape)"',
           _in(f"@%px {one.MMA}\n@%px {one.MMA}"), (("another shape", ((f"\n@%px {one.MMA}", f"\n@%px {one.OTHER}"),),
           "undefined"),)),
    Clause("9.7.16.6.2", "tcgen05_cp_mma", '"tcgen05.copy -> tcgen05.mma"', _in(f"@%px {one.COPY} @%px {one.MMA}"),
           (("the other way round", ((f"@%px {one.COPY} @%px {one.MMA}", f"@%px {one.MMA} @%px {one.COPY}"),), "undefined"),)),
    Clause("9.7.16.6.2", "tcgen05_shift_mma", '"tcgen05.shift -> tcgen05.mma"', _in(f"@%px {one.SHIFT} @%px {one.MMA}"),
           (("a copy between", ((f"@%px {one.MMA}", f"@%px {one.COPY} @%px {one.MMA}"),), "undefined"),)),
    Clause("9.7.16.6.2", "tcgen05_shift_cp", '"tcgen05.shift -> tcgen05.cp.4x256b"', _in(f"@%px {one.SHIFT} @%px {_COPY_4}"),
           (("a copy of another shape", ((_COPY_4, one.COPY),), "undefined"),)),
    Clause("9.7.16.6.2", "tcgen05_mma_shift", '"tcgen05.mma -> tcgen05.shift"', _in(f"@%px {one.MMA} @%px {one.SHIFT}"),
           (("a copy, and a shift", ((one.MMA, one.COPY),), "undefined"),)),
    Clause("9.7.16.6.2.1", "tcgen05_commit_tracks", '"implicitly pipelined with respect to previously issued '
           'tcgen05.{mma, cp, shift} [...] that they track from the same thread"', _in(_DONE),
           (("another thread commits", ((f"@%px {one.COMMIT}", f"@%py {one.COMMIT}"),), "undefined"),
            ("the commit stands before the product", ((f"@%px {one.MMA} @%px {one.COMMIT}",
             f"@%px {one.COMMIT} @%px {one.MMA}"),), "undefined"))),
    Clause("9.7.16.6.2.2", "tcgen05_completion", '"observed through the mbarrier based waiting mechanism"', _in(_DONE),
           (("nobody waits", ((_RELAXED, ""),), "undefined"),)),
    Clause("9.7.16.6.2.3", "tcgen05_wait", '"tcgen05.ld -> tcgen05.wait::ld", "tcgen05.st -> tcgen05.wait::st"', _in(_MOVED),
           (("the wait for loads", ((WAIT_ST, WAIT_LD),), "undefined"),)),
    Clause("9.7.16.6.3", "tcgen05_fences", '"prior to a tcgen05.fence::before_thread_sync is ordered before all subsequent [...] '
           'execution ordering operations"; "subsequent to a tcgen05.fence::after_thread_sync [...] after all the prior"',
           _in(f"@%px {one.COPY} {BEFORE} bar.sync 0; {AFTER} @%py {one.MMA}"), _without(BEFORE, "bar.sync 0;", AFTER)),
    Clause("9.7.16.6.3", "tcgen05_flag", '"composes with execution ordering instructions, like morally strong ld/st/atom '
           'instructions"', _in(one._FLAG), _without(BEFORE, AFTER)),
    Clause("9.7.16.6.4.1", "tcgen05_pipelined_same_thread", '"no explicit ordering mechanism is needed"',
           _in(f"@%px {one.COPY} @%px {one.MMA} @%px {one.SHIFT}"),
           (("another thread's shift", ((f"@%px {one.SHIFT}", f"@%py {one.SHIFT}"),), "undefined"),)),
    Clause("9.7.16.6.4.2", "tcgen05_other_same_thread", '"explicit waiting mechanisms are used"; "the instruction '
           'tcgen05.fence::after_thread_sync is needed"', _in(_DONE), _without(AFTER)),
    Clause("9.7.16.6.4.3", "tcgen05_pipelined_threads", '"no explicit waiting mechanism is needed but proper synchronization '
           'between threads is needed"', _in(_HANDED), (("no tcgen05.fence::before_thread_sync", ((f"@%px {BEFORE}", ""),),
           "undefined"), ("nobody waits", ((_RELAXED, ""),), "undefined"), *_without(AFTER))),
    Clause("9.7.16.6.4.4", "tcgen05_loads_of_threads", '"must explicitly wait for the instructions\' completion before '
           'synchronizing with the consumer threads"', _in(_LOADED), _without(WAIT_LD, BEFORE, AFTER)),
    Clause("9.7.16.6.4.4", "tcgen05_composed", '"The synchronization mechanisms can also be composed with each other"',
           _in(_COMPOSED), (("nobody waits for the commit", ((_RELAXED, ""),), "undefined"),)),
    Clause("9.7.16.6.4.5", "tcgen05_register", '"an intra-thread ordering through true register dependency will be respected"; '
           '"does not imply any other form of ordering"', _in(_USED), _without(WAIT_LD)),
    Clause("9.7.16.6.5", "tcgen05_proxy", '"performed in the asynchronous proxy"; "fence.proxy.async should be used"',
           _in(_WRITTEN), (("no fence between the proxies", ((_PROXY, ""),), "undefined"),)),
    Clause("9.7.16.7.1", "tcgen05_leak", '"must be explicitly deallocated using tcgen05.dealloc before the kernel exits"',
           tensor_ring, (("columns are never given back", ((DEALLOC, ""),), "undefined"),)),
    Clause("9.7.16.7.1", "tcgen05_weak_store", '"The store operation in tcgen05.alloc is treated as a weak memory operation"',
           tensor_ring, (("no barrier behind the allocation", ((f" {BEFORE}\n bar.sync 0;", ""),), "undefined"),)),
    Clause("9.7.16.12.1", "tcgen05_commit_multicast", '"The mbarrier signal is multicast to the same offset as mbar in the shared '
           'memory of each destination CTA"', _between(f"@%px {pairs.MMA} @%px {pairs.COMMIT} {WAIT} {AFTER} {one.LOAD}"),
           (("the odd CTA does not wait for its own", ((WAIT, f"@%podd bra M; {WAIT} M:"),), "undefined"),)),
)  # fmt: skip

__all__ = ["TCGEN05", "WGMMA", "Clause"]
