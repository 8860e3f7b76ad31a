"""Generated kernels in which each thread of a warp looks back for itself, as digits of a radix sort do: it adds up what the
tiles before have published for its digit. The warp votes who looks further, and those meet at the next vote.

Fences between looks, which word a tile publishes when, what else hangs on votes, and mistakes in some of it are drawn.
"""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_DIGITS = 2
_ALL = (1 << _DIGITS) - 1
_HEAD = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 d)
{{
 .reg .pred %p, %q, %on; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [d]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mad.lo.u32 %r3, %r1, {_DIGITS}, %r2; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd5, %rd1, %rd3; add.u64 %rd3, %rd3, %rd2;
 add.u32 %r4, %r3, 1; mov.u32 %r5, 0; mov.u32 %r6, {_ALL}; mov.u32 %r9, 0; mov.u64 %rd4, %rd3; mov.u32 %r10, %r1;
"""
#: Bits of a word that say what it is: the sum of a tile, or of all up to it.
_PART, _WHOLE = 1 << 30, 1 << 31


def kernel(seed: int) -> KernelTest:
    """Two or three tiles of two digits."""
    choose = random.Random(seed)
    wrong = choose.choice((0.0, 0.0, 0.08, 0.25))

    def wrongly() -> bool:
        return choose.random() < wrong

    def scope() -> str:
        return "cta" if wrongly() else "gpu"

    def publishes(status: int, number: str) -> str:
        status ^= (_PART | _WHOLE) * wrongly()
        store = "st.global.u32" if wrongly() and wrongly() else f"st.relaxed.{scope()}.global.u32"
        return f"or.b32 %r8, {number}, {status}; {store} [%rd3], %r8;"

    tiles = choose.choice((2, 2, 3))
    fence = choose.choice(("", "fence.acq_rel.cta;", "membar.cta;", "fence.acq_rel.gpu;"))
    behind = choose.choice(("", "", "fence.acq_rel.gpu;"))
    who = "%on" if not wrongly() else "!%on"
    mask = "%r6" if not wrongly() else str(_ALL)
    goes_on = "ge" if not wrongly() else "lt"
    more = "add.u32 %r9, %r9, %r6;" if wrongly() else ""
    early = choose.random() < 0.8
    lines = [
        publishes(_PART, "%r4") if early else "",
        "setp.eq.u32 %p, %r1, 0; @%p bra SUM;",
        f"LOOK: sub.u64 %rd4, %rd4, {4 * _DIGITS};",
        f"AGAIN: {fence} ld.relaxed.{scope()}.global.u32 %r7, [%rd4]; {behind}",
        "" if wrongly() and wrongly() else "setp.eq.u32 %q, %r7, 0; @%q bra AGAIN;",
        f"and.b32 %r8, %r7, {_PART - 1}; add.u32 %r5, %r5, %r8; setp.{goes_on}.s32 %on, %r7, 0;",
        f"vote.sync.ballot.b32 %r6, {who}, {mask}; {more} @!%on bra SUM;",
        "sub.u32 %r10, %r10, 1; setp.ne.u32 %p, %r10, 0; @%p bra LOOK;",
        "SUM: add.u32 %r5, %r5, %r9; add.u32 %r11, %r5, %r4;", publishes(_WHOLE, "%r11"),
        "st.global.u32 [%rd5], %r5; ret;", "}",
    ]  # fmt: skip
    sums = [sum(_DIGITS * before + digit + 1 for before in range(tile)) for tile in range(tiles) for digit in (0, 1)]
    if wrongly():
        sums[-1] += 1
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": _DIGITS,
        "params": {name: {"type": "u32", "elements": _DIGITS * tiles} for name in ("x", "d")},
        "check": {
            "forall": " && ".join(f"x[{place}] == {found}" for place, found in enumerate(sums)),
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *filter(None, lines)])}).test()
