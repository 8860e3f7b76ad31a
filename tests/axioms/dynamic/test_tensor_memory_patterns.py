"""The canonical patterns of section 9.7.16.6.4 in launches that one run decides, each with what it may not be without; and
random sequences of such operations beside many orders of their threads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from by_runs import by_runs
from campaigns import lengths, some
from tensor_memory_cases import AFTER, BEFORE, COMMIT, HEAD, WAIT, WAIT_LD, WAIT_ST, module, run

import ptxmm
from ptxcore.machine.run.faults import KernelError
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_DECLARED = """.reg .b64 %da, %db; .reg .b32 %r<8>, %par; .reg .pred %px, %py, %pz;
.shared .align 8 .b64 fin; .shared .align 4 .b32 flag;"""
_ZERO = "0x400000080000"
_BEGIN = (
    "add.u32 %r2, %base, 0x80000; setp.eq.u32 %px, %t, 0; setp.eq.u32 %py, %t, 32; setp.eq.u32 %pz, 0, 0; mov.u32 %par, 0;"
    f"mov.b64 %da, {_ZERO}; mov.b64 %db, {_ZERO};\n"
)
MMA = "tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, 0x8040010, %pz;"
OTHER = MMA.replace("0x804", "0x404")
COPY = "tcgen05.cp.cta_group::1.128x128b [%base], %da;"
SHIFT = "tcgen05.shift.cta_group::1.down [%base];"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%mine];"
LANES = "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r0}, [%mine];"
STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%mine], {%t};"
#: Columns 16 to 19 hold the scales of A, and 20 those of B.
_SCALES = "add.u32 %r3, %base, 16; add.u32 %r4, %base, 20; add.u32 %r5, %mine, 16;\n"
SCALED = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%base], %da, %db, 0x8840000, [%r3], [%r4], %pz;"
COPY_SCALES = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3], %da;"
STORE_SCALES = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%par};"
#: B is kept: N = 64.
KEPT = "tcgen05.mma.ws.cta_group::1.kind::f16 [%base], %da, %db, 0x8100010, %pz;"
KEPT_OTHER = KEPT.replace("0x810", "0x410")
#: Both threads' operations are complete at the end, and what threads loaded and stored.
_END = (
    f"\n{BEFORE} bar.sync 0; {AFTER} @%px {COMMIT.replace('[bar]', '[fin]')} @%py {COMMIT.replace('[bar]', '[fin]')}\n"
    f"Z: mbarrier.try_wait.parity.shared.b64 %p1, [fin], 0; @!%p1 bra Z; {AFTER} {WAIT_LD} {WAIT_ST}\n"
)
_SYNC = f"{BEFORE} bar.sync 0; {AFTER}"
_RELAXED = WAIT.replace("parity", "parity.relaxed.cluster")
_FLAG = (
    f"@!%px bra F; {COPY} {BEFORE} st.relaxed.cta.shared.b32 [flag], 1; F: @!%py bra G;\n"
    f"H: ld.relaxed.cta.shared.b32 %r1, [flag]; setp.ne.u32 %p1, %r1, 1; @%p1 bra H; {AFTER} {MMA} G:"
)
#: Each with words that it is right without, and words that it is wrong without.
PATTERNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "products of one shape": (f"@%px {MMA}\n@%px {MMA}", (), ()),
    "a copy, a product, a shift": (f"@%px {COPY} @%px {MMA} @%px {SHIFT}", (), ()),
    "a shift, a copy of 4 rows": (f"@%px {SHIFT} @%px tcgen05.cp.cta_group::1.4x256b [%r2], %da;", (), ()),
    "a store, a load": (f"{STORE} {WAIT_ST} {LOAD}", (), (WAIT_ST,)),
    "a load, a store of other lanes": (f"{LANES} {WAIT_LD} {STORE}", (), (WAIT_LD,)),
    "a product, a load": (f"@%px {MMA} @%px {COMMIT} {_RELAXED} {AFTER} {LOAD}", (), (AFTER, _RELAXED)),
    "a copy, and another thread's product": (f"@%px {COPY} {_SYNC} @%py {MMA}", (), (BEFORE, "bar.sync 0;", AFTER)),
    "a copy, a flag, and another thread's product": (_FLAG, (), (BEFORE, AFTER)),
    "loads, and a product": (f"{LOAD} {WAIT_LD} {_SYNC} @%py {MMA}", (), (WAIT_LD, BEFORE, "bar.sync 0;", AFTER)),
    "a product, and others' loads, by a third": (
        f"@!%px bra N; {MMA} {COMMIT} {WAIT} {AFTER} {BEFORE} N: bar.sync 0; {AFTER} {LOAD}", (BEFORE,), (WAIT,)),
    "products of two shapes": (f"@%px {MMA} @%px {COMMIT} {WAIT} {AFTER} @%px {OTHER}", (), (AFTER, f"@%px {COMMIT} {WAIT}")),
    "a copy of scales, a product": (f"{_SCALES} @%px {COPY_SCALES} @%px {SCALED}", (), ()),
    "a copy of scales, and another thread's product": (
        f"{_SCALES} @%px {COPY_SCALES} {_SYNC} @%py {SCALED}", (), (BEFORE, "bar.sync 0;", AFTER)),
    "a product, a copy of other scales": (
        f"{_SCALES} @%px {SCALED} @%px {COMMIT} {WAIT} {AFTER} @%px {COPY_SCALES} @%px {SCALED}", (),
        (AFTER, f"@%px {COMMIT} {WAIT}")),
    "stores of scales, and a product": (
        f"{_SCALES} {STORE_SCALES} {WAIT_ST} {_SYNC} @%px {SCALED}", (), (WAIT_ST, BEFORE, "bar.sync 0;", AFTER)),
    "a product, and stores of other scales": (
        f"{_SCALES} @%px {SCALED} @%px {COMMIT} {WAIT} {AFTER} {STORE_SCALES}", (), (WAIT, AFTER)),
    "a product, and loads of its scales": (
        f"{_SCALES} {_SYNC} @%px {SCALED} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r0}}, [%r5];", (_SYNC,), ()),
    "products that keep B": (f"@%px {KEPT} @%px {KEPT} @%px {COMMIT} {WAIT} {AFTER} {LOAD}", (), (WAIT, AFTER)),
    "a copy, and another thread's product that keeps B": (
        f"@%px {COPY} {_SYNC} @%py {KEPT}", (), (BEFORE, "bar.sync 0;", AFTER)),
    "products of two shapes that keep B": (f"@%px {KEPT} @%px {COMMIT} {WAIT} {AFTER} @%px {KEPT_OTHER}", (), (AFTER,)),
    "a product, a copy": (f"@%px {MMA} @%px {COMMIT} {WAIT} {AFTER} @%px {COPY}", (), (AFTER,)),
}  # fmt: skip
CASES = [
    (name, text, verdict)
    for name, (_, right, wrong) in PATTERNS.items()
    for text, verdict in (("", "ok"), *((w, "ok") for w in right), *((w, "undefined") for w in wrong))
]


_SIZES = {"in": 2048, "cells": 8192, "out": 128, "more": 16}


def of(
    text: str, checks: dict[str, Any] | None = None, sizes: dict[str, int] | None = None, grid: int = 1
) -> KernelTest:
    """A test of a kernel of `tensor_memory_cases`."""
    params = {name: {"type": "u32", "elements": size} for name, size in (sizes or _SIZES).items()}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": grid, "block": 128, "params": params}
    return KernelFile.of({**tree, "check": checks or {"race_free": True}}, "k.toml", {"k.ptx": text}).test()


def kernel(body: str) -> str:
    """A kernel whose accumulators hold zeros at first, and its shared memory too."""
    filled = 64 if KEPT in body else 24 if SCALED in body else 16
    text = module(_BEGIN + body + _END, filled=filled, declared=_DECLARED, shared=8192)
    init = "@%p0 mbarrier.init.shared.b64 [bar], 1;"
    return text.replace(init, f"{init} @%p0 mbarrier.init.shared.b64 [fin], 2; @%p0 st.shared.b32 [flag], 0;")


def decided(body: str) -> Result:
    open_, result = by_runs(of(kernel(body)))
    assert not open_, open_
    return result


UNORDERED = "an access that nothing orders with that of an asynchronous operation"


@pytest.mark.part(5)
@pytest.mark.parametrize(("name", "left_out", "verdict"), some(8, CASES))
def test_patterns(name: str, left_out: str, verdict: str) -> None:
    body = PATTERNS[name][0]
    assert left_out in body
    if "try_wait" in left_out:  # the phase is over, and nobody has seen it
        body = body.replace(left_out, "", 1)
    else:
        at = body.rindex(left_out) if left_out == AFTER else body.index(left_out)
        body = body[:at] + body[at + len(left_out) :]
    result = decided(body)
    assert result.verdict == verdict, result.error
    assert verdict == "ok" or UNORDERED in str(result.error)


# Shared memory, which tcgen05 reads through the asynchronous proxy (section 9.7.16.6.5).

_PROXY = "fence.proxy.async.shared::cta;"
_WRITE = "mov.u32 %u, s; shl.b32 %r1, %t, 2; add.u32 %u, %u, %r1; st.shared.b32 [%u], 0;"
_COPIED = _WRITE.replace("st.shared.b32 [%u], 0;", "cp.async.ca.shared.global [%u], [%out], 4; cp.async.wait_all;")
_GLOBAL = "fence.proxy.async.global;"
_READ = f"@%px {MMA} @%px {COMMIT} {WAIT} {AFTER}"


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (f"{_WRITE} {_PROXY} bar.sync 0; {AFTER} {_READ}", "ok"),
        (f"{_WRITE} bar.sync 0; {_PROXY} {_READ}", "ok"),
        (f"{_WRITE} bar.sync 0; {AFTER} {_READ}", "undefined"),
        (f"{_WRITE} {_PROXY} {AFTER} {_READ}", "undefined"),
        (f"{_WRITE} {_GLOBAL} bar.sync 0; {AFTER} {_READ}", "undefined"),
        (f"{_WRITE} bar.sync 0; {AFTER} {_GLOBAL} {_READ}", "undefined"),
        (f"{_READ} {_PROXY} {_WRITE}", "ok"),
        (f"{_READ} {_WRITE}", "no"),  # a write behind a read, and no fence between their proxies
        (f"{_READ} {_PROXY} {_COPIED}", "ok"),
        (f"{_READ} {_COPIED}", "no"),  # cp.async writes through the proxy of its thread
        (f"@%px {MMA} @%px {COMMIT} {_COPIED} {WAIT} {AFTER}", "undefined"),
        (f"@%px {MMA} @%px {COMMIT} {_WRITE} {WAIT} {AFTER}", "undefined"),
    ],
)
def test_shared_memory_that_threads_write(body: str, verdict: str) -> None:
    found = decided(body)
    assert found.verdict == verdict, found.error
    if verdict == "no":
        assert [race["kind"] for race in found.races] == ["war"]


# One warp alone has fewer threads than the formula is asked for.

_FREE = " tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 32;"
_ONE = f"""{HEAD}.visible .entry k(.param .u64 in, .param .u64 cells, .param .u64 out, .param .u64 more)
{{ .shared .align 4 .b32 base; .reg .b32 %a, %b, %t; .reg .b64 %out, %q; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;
 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32; ld.shared.b32 %a, [base];
 tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {{%t}}; {WAIT_ST}
 tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%b}}, [%a]; {WAIT_LD}
 mul.wide.u32 %q, %t, 4; add.u64 %q, %q, %out; st.global.b32 [%q], %b;
{_FREE} ret; }}
"""


@pytest.mark.parametrize(("left_out", "verdict"), [("", "ok"), (WAIT_ST, "undefined"), (_FREE, "undefined")])
def test_a_launch_of_one_warp_is_run(left_out: str, verdict: str) -> None:
    text = _ONE.replace(left_out, "") if left_out else _ONE
    assert decided_of_one(text) == verdict


def decided_of_one(text: str) -> str:
    """The verdict on a launch of 32 threads, in the way that a user gets it."""
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 1, "block": 32,
            "params": {name: {"type": "u32", "elements": 32} for name in ("in", "cells", "out", "more")},
            "check": {"race_free": True, "forall": "out[0] == 0 && out[31] == 31"}}  # fmt: skip
    return ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()).verdict


# Random sequences.


_DRAWN = [(MMA, "%px"), (MMA, "%px"), (MMA, "%py"), (OTHER, "%px"), (COPY, "%px"), (COPY, "%py"), (SHIFT, "%px"),
          (LOAD, ""), (LANES, ""), (STORE, "")]  # fmt: skip


def drawn(rng: random.Random, choices: Sequence[tuple[str, str]] = _DRAWN, commit: str = COMMIT) -> str:
    """Operations of all threads or of two of them one after another, mostly with what orders them."""

    def keeps(often: float = 0.95) -> bool:
        return rng.random() < often

    parts = []
    for i in range(rng.randint(2, 4)):
        text, who = rng.choice(choices)
        parts.append(f"@{who} {text}" if who else text)
        if not who and keeps():
            parts.append(WAIT_ST if text == STORE else WAIT_LD)
        if who and keeps(0.6):
            wait = rng.choice((WAIT, _RELAXED)).replace("W", f"V{i}").replace("], 0", "], %par")
            parts += [f"@{who} {commit}", wait, "xor.b32 %par, %par, 1;", AFTER * keeps()]
        if keeps(0.75):
            parts += [BEFORE * keeps(), "bar.sync 0;" * keeps(), AFTER * keeps()]
    return "\n".join(parts)


def fails(text: str, seed: int | None, ctas: int = 1) -> bool:
    try:
        run(text, np.zeros(2048 * ctas, np.uint32), np.zeros((128 * ctas, 16), np.uint32), 1, seed=seed)
    except KernelError:
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("count", lengths(2, 8))
def test_what_is_right_goes_wrong_in_no_order(count: int) -> None:
    """Runs look for order in their schedules, in another way. What goes wrong in one of them is never right; what is said to be
    without a meaning mostly shows in one of a few."""
    found: Counter[tuple[str, bool]] = Counter()
    for seed in range(100, 100 + count):
        text = kernel(drawn(random.Random(seed)))
        open_, result = by_runs(of(text))
        wrong = any(fails(text, order) for order in (None, 0, 1))
        found["open" if open_ else result.verdict, wrong] += 1
        assert not wrong or result.verdict == "undefined", seed
    assert found["ok", False] and found["undefined", True] > found["undefined", False]
