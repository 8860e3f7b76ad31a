"""Pairs of CTAs that use their Tensor Memories together (`.cta_group::2`), in launches that one run decides: the canonical
patterns of section 9.7.16.6.4 between two CTAs, each with what it may not be without; the shared memory of the peer; and
allocation."""

from __future__ import annotations

import random
from collections import Counter

import ptxas
import pytest
from by_runs import by_runs
from campaigns import some
from tensor_memory_cases import AFTER, BEFORE, HEAD, WAIT, WAIT_LD, WAIT_ST, module
from tensor_memory_kernels import changed
from test_tensor_memory_patterns import LOAD, STORE, UNORDERED, drawn, fails, of

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_DECLARED = """.reg .b64 %da, %db; .reg .b32 %r<8>, %par, %rank; .reg .b16 %all, %even; .reg .pred %px, %py, %pz, %podd;
.shared .align 8 .b64 fin;"""
_ZERO = "0x400000080000"
#: `%px` is true in a thread of the even CTA, `%py` in one of the odd CTA.
_BEGIN = (
    "fence.proxy.async; mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %podd, %rank, 1; setp.eq.u32 %pz, %t, 0;"
    "and.pred %py, %pz, %podd; not.pred %px, %podd; and.pred %px, %px, %pz;"
    "mov.u32 %par, 0; mov.b16 %all, 3; mov.b16 %even, 1; setp.eq.u32 %pz, 0, 0;"
    f"mov.b64 %da, {_ZERO}; mov.b64 %db, {_ZERO};\n"
)
MMA = "tcgen05.mma.cta_group::2.kind::f16 [%base], %da, %db, 0x10040010, %pz;"  # M = 256, N = 16
OTHER = MMA.replace("0x10040010", "0x8040010")
COPY = "tcgen05.cp.cta_group::2.128x128b [%base], %da;"
SHIFT = "tcgen05.shift.cta_group::2.down [%base];"
COMMIT = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %all;"
_SYNC = f"{BEFORE} bar.sync 0; {AFTER}"  # of both CTAs: it becomes a barrier of the cluster
_RELAXED = WAIT.replace("parity", "parity.relaxed.cluster")
_END = (
    f"\n{BEFORE} bar.sync 0; {AFTER} @%px {COMMIT.replace('[bar]', '[fin]')} @%py {COMMIT.replace('[bar]', '[fin]')}\n"
    f"Z: mbarrier.try_wait.parity.shared.b64 %p1, [fin], 0; @!%p1 bra Z; {AFTER} {WAIT_LD} {WAIT_ST}\n"
)
#: Each with words that it is right without, and words that it is wrong without.
PATTERNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "products of one shape": (f"@%px {MMA}\n@%px {MMA}", (), ()),
    "a copy, a product, a shift": (f"@%px {COPY} @%px {MMA} @%px {SHIFT}", (), ()),
    "a product, loads of both": (f"@%px {MMA} @%px {COMMIT} {_RELAXED} {AFTER} {LOAD}", (), (AFTER, _RELAXED)),
    "a product of the odd CTA, loads of both": (f"@%py {MMA} @%py {COMMIT} {WAIT} {AFTER} {LOAD}", (), (AFTER, WAIT)),
    "a copy, and the peer's product": (f"@%px {COPY} {_SYNC} @%py {MMA}", (), (BEFORE, "bar.sync 0;", AFTER)),
    "loads of both, and a product": (f"{LOAD} {WAIT_LD} {_SYNC} @%px {MMA}", (), (WAIT_LD, BEFORE, "bar.sync 0;", AFTER)),
    "stores of both, and a product": (f"{STORE} {WAIT_ST} {_SYNC} @%px {MMA}", (), (WAIT_ST, BEFORE, AFTER)),
    "a product, and loads of both, by a third": (
        f"@!%px bra N; {MMA} {COMMIT} {WAIT} {AFTER} {BEFORE} N: bar.sync 0; {AFTER} {LOAD}", (BEFORE,), (WAIT,)),
    "products of two shapes": (f"@%px {MMA} @%px {COMMIT} {WAIT} {AFTER} @%px {OTHER}", (),
                               (AFTER, f"@%px {COMMIT} {WAIT}")),
}  # fmt: skip
CASES = [
    (name, text, verdict)
    for name, (_, right, wrong) in PATTERNS.items()
    for text, verdict in (("", "ok"), *((w, "ok") for w in right), *((w, "undefined") for w in wrong))
]


def kernel(body: str) -> str:
    """A kernel of a cluster of two CTAs whose accumulators hold zeros at first, and their shared memories too."""
    text = module(_BEGIN + body + _END, filled=16, declared=_DECLARED, shared=8192, pair=True)
    init = "@%p0 mbarrier.init.shared.b64 [bar], 1;"
    assert init in text
    return text.replace(init, f"{init} @%p0 mbarrier.init.shared.b64 [fin], 2; fence.mbarrier_init.release.cluster;")


def kernel_test(body: str) -> KernelTest:
    return of(kernel(body), sizes={"in": 4096, "cells": 4096, "out": 128, "more": 16}, grid=2)


def decided(body: str) -> tuple[str, Result]:
    return by_runs(kernel_test(body))


@pytest.mark.long
@pytest.mark.parametrize(("name", "left_out", "verdict"), some(18, CASES))
def test_patterns_between_two_ctas(name: str, left_out: str, verdict: str) -> None:
    body = PATTERNS[name][0]
    assert left_out in body
    if "try_wait" in left_out:  # the phase is over, and nobody has seen it
        body = body.replace(left_out, "", 1)
    else:
        at = body.rindex(left_out) if left_out == AFTER else body.index(left_out)
        body = body[:at] + body[at + len(left_out) :]
    open_, result = decided(body)
    assert (open_, result.verdict) == ("", verdict), result.error
    assert verdict == "ok" or UNORDERED in str(result.error)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arrival", "wait", "verdict"),
    some(3, [("cluster", "cluster", "ok"), ("cta", "cluster", "undefined"), ("cluster", "cta", "undefined")]),
)
def test_scopes_reach_the_peer(arrival: str, wait: str, verdict: str) -> None:
    arrives = (
        f"mapa.shared::cluster.u32 %r1, %r2, 1; @%px mbarrier.arrive.relaxed.{arrival}.shared::cluster.b64 _, [%r1];"
    )
    waits = WAIT.replace("parity", f"parity.relaxed.{wait}")
    body = f"mov.u32 %r2, bar; @%px {COPY} {BEFORE} {arrives} @!%py bra N; {waits} {AFTER} {MMA} N:"
    open_, result = decided(body)
    assert (open_, result.verdict) == ("", verdict), result.error


# Shared memory, of which such a product reads what its operands' descriptors say in both CTAs.

_ALL, _MINE = "fence.proxy.async;", "fence.proxy.async.shared::cta;"
_WRITE = "mov.u32 %u, s; shl.b32 %r1, %t, 2; add.u32 %u, %u, %r1; @%podd st.shared.b32 [%u], 0;"
_READ = f"@%px {MMA} @%px {COMMIT} {WAIT} {AFTER}"
_OPEN = "in whose name it is read"


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "verdict"),
    some(4, [
        # Threads of the odd CTA write, and a product of the even one reads.
        (f"{_WRITE} {_MINE} bar.sync 0; {_ALL} {AFTER} {_READ}", "ok"),
        (f"{_WRITE} {_MINE} bar.sync 0; {AFTER} {_READ}", _OPEN),
        (f"{_WRITE} bar.sync 0; @%px {_ALL} {AFTER} {_READ}", _OPEN),
        (f"{_WRITE} bar.sync 0; {AFTER} {_READ}", "undefined"),
        (f"{_WRITE} {_ALL} {AFTER} {_READ}", "undefined"),
        # And they write behind such a read.
        (f"{_READ} {_MINE} {_WRITE}", _OPEN),
        (f"{_READ} {_WRITE}", "no"),  # nothing but the fence is missing
        (f"{_READ} {_ALL} bar.sync 0; {_MINE} {_WRITE}", "ok"),
        (f"{_READ} {_ALL} bar.sync 0; {_WRITE}", _OPEN),  # the fence of the odd CTA need not come behind that of the even one
        (f"{_READ} @%px {_ALL} bar.sync 0; {_WRITE}", _OPEN),
        (f"@%px {MMA} @%px {COMMIT} {_WRITE} {WAIT} {AFTER}", "undefined"),
        (f"@%px {MMA} @%px {COMMIT} {_RELAXED} {AFTER} {_MINE} {_WRITE}", "undefined"),
    ]),
)  # fmt: skip
def test_shared_memory_of_the_peer(body: str, verdict: str) -> None:
    open_, result = decided(body)
    if verdict == _OPEN:
        assert _OPEN in open_ and result.verdict == "undecided"
        return
    assert (open_, result.verdict) == ("", verdict), result.error
    if verdict == "no":
        assert [race["kind"] for race in result.races] == ["war"]


# Allocation, which a warp of each CTA does together; here there are no others.

ALLOC, FREE = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32", "tcgen05.dealloc.cta_group::2.sync.aligned.b32"
_CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
_ONE = f"""{HEAD}.visible .entry k(.param .u64 in, .param .u64 cells, .param .u64 out, .param .u64 more)
.reqnctapercluster 2, 1, 1
{{ .shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
 .reg .b32 %a, %b, %t, %rank, %u, %v, %w; .reg .b64 %out, %q, %da; .reg .pred %p, %p1, %one; .reg .b16 %all;
 ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; mov.b16 %all, 3; setp.eq.u32 %p, %t, 0;
 setp.eq.and.u32 %one, %rank, 0, %p; mov.b64 %da, {_ZERO};
 @%p mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
 mov.u32 %w, s; mov.u32 %u, %t;
 C: mad.lo.u32 %v, %u, 4, %w; st.shared.b32 [%v], 0; add.u32 %u, %u, 32; setp.lt.u32 %p1, %u, 1024; @%p1 bra C;
 fence.proxy.async; {_CLUSTER} fence.proxy.async;
 {ALLOC} [base], 32; ld.shared.b32 %a, [base];
 @%one tcgen05.cp.cta_group::2.128x128b [%a], %da;
 @%one {COMMIT}
 {WAIT} {AFTER}
 tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%b}}, [%a]; {WAIT_LD}
 mad.lo.u32 %u, %rank, 32, %t; mul.wide.u32 %q, %u, 4; add.u64 %q, %q, %out; st.global.b32 [%q], %b;
 {FREE} %a, 32; ret; }}
"""


_WAITED = f"{WAIT} {AFTER}\n"
_LOADED = f"{_WAITED} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%b}}, [%a]; {WAIT_LD}"
_EVEN = f"mov.u32 %b, 0; setp.eq.u32 %p, %rank, 1; @%p bra N; {WAIT} N:"
_FREED = f"{FREE} %a, 32;"


@pytest.mark.parametrize(
    ("changes", "verdict", "said"),
    some(4, [
        ([], "ok", ""),
        ([("ld.shared.b32 %a, [base];", "mov.u32 %a, 0;")], "undefined", "column 0 of tensor memory is not allocated"),
        ([(_FREED, "")], "undefined", "that are allocated when the CTA ends"),
        ([(_FREED, f"setp.eq.u32 %p, %rank, 1; @%p bra E; {_FREED} E:")], "undefined", "that are allocated when the CTA ends"),
        ([(WAIT_LD, "")], "undefined", "tcgen05.wait::ld is missing"),
        ([("[base], 32;", "[base], 64;")], "undefined", "allocated are 64"),
        ([(_WAITED, f"setp.eq.u32 %p, %rank, 1; @%p bra N; {WAIT} N: {AFTER}")], "undefined", "need not be complete"),
        ([("mov.b16 %all, 3;", "mov.b16 %all, 1;")], "no", ""),  # the odd CTA deadlocks
        ([(AFTER, "")], "undefined", "fence::after_thread_sync"),
        # One CTA alone waits; who gives columns back comes behind what the other warp is behind. The other one may end before
        # its object is told.
        ([(_LOADED, _EVEN), ("mov.b16 %all, 3;", "mov.b16 %all, 1;")], "ok", ""),
        ([(_LOADED, _EVEN)], "undefined", "may have ended"),
        ([(_LOADED, "mov.u32 %b, 0;"), ("mov.b16 %all, 3;", "mov.b16 %all, 1;")], "undefined", "need not be complete"),
    ]),
)  # fmt: skip
def test_allocation_of_pairs(changes: list[tuple[str, str]], verdict: str, said: str) -> None:
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 32, "check": {"race_free": True, "terminates": True},
            "params": {name: {"type": "u32", "elements": 64} for name in ("in", "cells", "out", "more")}}  # fmt: skip
    text = changed(_ONE, tuple(changes))
    open_, result = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert (open_, result.verdict) == ("", verdict), (open_, result.error)
    assert said in " ".join([result.error or "", *(c.message for c in result.checks)])


def test_ptxas_accepts_it() -> None:
    assert ptxas.executable() is None or not ptxas.check_module(_ONE)


# Random sequences.

_DRAWN = [(MMA, "%px"), (MMA, "%px"), (MMA, "%py"), (OTHER, "%px"), (COPY, "%px"), (COPY, "%py"), (SHIFT, "%px"),
          (SHIFT, "%py"), (LOAD, ""), (LOAD, ""), (STORE, "")]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("count", [4])
def test_what_is_right_goes_wrong_in_no_order(count: int) -> None:
    """As for one CTA: what goes wrong in some order of a run is never right."""
    found: Counter[tuple[str, bool]] = Counter()
    for seed in range(504, 504 + count):
        body = drawn(random.Random(seed), _DRAWN, COMMIT)
        open_, result = decided(body)
        wrong = any(fails(kernel(body), order, 2) for order in (None, 0, 1))
        found["open" if open_ else result.verdict, wrong] += 1
        assert not wrong or result.verdict in ("undefined", "undecided"), (seed, open_, result.error)
    assert found["ok", False] and found["undefined", True] > found["undefined", False]
