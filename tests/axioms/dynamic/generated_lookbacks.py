"""Generated kernels that add up what others publish, by decoupled look-back: each CTA publishes what it has, adds what those
before it have published, as far back as it must, and publishes the sum.

How far, in how many words, with which scopes and what else hangs on it are drawn; some are right. Threads look back on their
own, or two of a warp at a time, who exchange what they have found.
"""

from __future__ import annotations

import random
import re

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 d)
{
 .reg .pred %p, %q, %any, %t0; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b64 %v<4>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [d]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.eq.u32 %t0, %r2, 0;
 mul.wide.u32 %rd3, %r1, 8; add.u64 %rd3, %rd3, %rd2; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r9, 0;
 add.u32 %r3, %r1, 1;
"""
#: Where in `d` the first tile has its word: before it stand words of tiles that are not there.
_FIRST = 2


class _Way:
    """How a kernel is made: right, or with mistakes in some of it."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.wrong = choose.choice((0.0, 0.0, 0.05, 0.2))

    def wrongly(self) -> bool:
        return self.choose.random() < self.wrong

    def scope(self) -> str:
        return "cta" if self.wrongly() else "gpu"

    def load(self) -> str:
        sem = self.choose.choice(("relaxed", "relaxed", "acquire"))
        return "ld.global.u64" if self.wrongly() and self.wrongly() else f"ld.{sem}.{self.scope()}.global.u64"

    def publish(self, status: int, number: str) -> str:
        """A status in the high half of a word, and a number in the low one."""
        status = 3 - status if self.wrongly() else status
        sem = self.choose.choice(("relaxed", "relaxed", "release"))
        store = "st.global.u64" if self.wrongly() and self.wrongly() else f"st.{sem}.{self.scope()}.global.u64"
        return f"@%t0 mov.b64 %v1, {{{number}, {status}}}; @%t0 {store} [%rd3+{8 * _FIRST}], %v1;"


def _alone(way: _Way) -> list[str]:
    """Thread 0 goes back tile by tile."""
    counts = "add.u32 %r9, %r9, 1;" if way.wrongly() else ""
    stops = "ne" if way.wrongly() and way.wrongly() else "eq"
    waits = "" if way.wrongly() else "setp.eq.u32 %q, %r8, 0; @%q bra AGAIN;"
    return [
        "mov.u64 %rd4, %rd3;", "@!%t0 bra DONE;",
        "LOOK: setp.eq.u64 %p, %rd4, %rd2; @%p bra DONE; sub.u64 %rd4, %rd4, 8;",
        f"AGAIN: {way.load()} %v2, [%rd4+{8 * _FIRST}]; mov.b64 {{%r7, %r8}}, %v2; {waits}",
        f"add.u32 %r5, %r5, %r7; {counts} setp.{stops}.u32 %p, %r8, 2; @!%p bra LOOK;",
        "DONE:",
    ]  # fmt: skip


def _together(way: _Way) -> list[str]:
    """Two threads look at the last two tiles, and at the two before these, until one has the sum of all before it."""
    stop = way.choose.choice(("bra NEXT;", "bra NEXT;", "bra END;" if way.wrongly() else "bra NEXT;"))
    first = "setp.eq.u32 %q, %r8, 2;" if not way.wrongly() else "setp.ne.u32 %q, %r8, 0;"
    return [
        "mul.wide.u32 %rd5, %r2, 8; sub.u64 %rd4, %rd3, %rd5; sub.u64 %rd4, %rd4, 8;",
        "setp.eq.u32 %p, %r1, 0; @%p bra END;",
        f"LOOK: {way.load()} %v2, [%rd4+{8 * _FIRST}]; mov.b64 {{%r7, %r8}}, %v2; setp.eq.u32 %p, %r8, 0; @%p bra LOOK;",
        "shfl.sync.idx.b32 %r10, %r8, 0, 31, 3;" + f" {first}",
        f"setp.eq.u32 %p, %r10, {1 if way.wrongly() else 2}; setp.eq.u32 %any, %r2, 1; and.pred %p, %p, %any;",
        "@%p mov.u32 %r7, 0;",
        "shfl.sync.bfly.b32 %r11, %r7, 1, 31, 3; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r11;",
        f"vote.sync.any.pred %p, %q, 3; @%p {stop}",
        "sub.u64 %rd4, %rd4, 16; bra LOOK;", "NEXT:", "add.u32 %r9, %r9, 1;" if way.wrongly() else "", "END:",
    ]  # fmt: skip


def kernel(seed: int, most: int = 3, *, vectors: bool = False) -> KernelTest:
    """Tiles that add up 1, 2, 3 ..., `most` at most. `vectors`: their words are vectors of two elements."""
    choose = random.Random(seed)
    way = _Way(choose)
    together = choose.random() < 0.4
    tiles = min(3 if together else choose.choice((2, 3, 3, 4)), most)
    early = choose.random() < 0.8
    first = way.publish(2, "%r3")
    lines = [
        f"setp.eq.u32 %p, %r1, 0; @!%p bra OTHERS;\n {first} bra LOOKS;\nOTHERS:",
        way.publish(1, "%r3") if early else "",
        "LOOKS:",
        *(_together(way) if together else _alone(way)),
        "setp.eq.u32 %p, %r1, 0; @%p bra OUT;", "add.u32 %r6, %r5, %r3;", "" if way.wrongly() else way.publish(2, "%r6"),
        "OUT:", "mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd6, %rd1; add.u32 %r5, %r5, %r9;",
        "@%t0 st.global.u32 [%rd6], %r5; ret;", "}",
    ]  # fmt: skip
    sums = [sum(range(1, tile + 1)) for tile in range(tiles)]
    if way.wrongly():
        sums[-1] += 1
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": 2 if together else choose.choice((1, 1, 2)),
        "params": {
            "x": {"type": "u32", "elements": tiles, "init": [0]},
            "d": {"type": "u64", "elements": _FIRST + tiles, "init": [2 << 32, 2 << 32]},
        },
        "check": {
            "forall": " && ".join(f"x[{tile}] == {found}" for tile, found in enumerate(sums)),
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    text = "\n ".join([_HEAD, *filter(None, lines)])
    if vectors:
        text = re.sub(r"@%t0 mov\.b64 %v1, (\{.*?\}); (.*?)\.u64 (\[.*?\]), %v1;", r"\2.v2.u32 \3, \1;", text)
        text = re.sub(r"\.u64 %v2, (\[.*?\]); mov\.b64 (\{.*?\}), %v2;", r".v2.u32 \2, \1;", text)
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
