"""Generated kernels that add up what others publish in words of their own: a flag says that a sum stands there, of a tile
(1), or of all up to it (2).

How a flag is released and acquired, in which scopes, whether sums are stored weakly, and in which words, is drawn; some are
right. Threads look back on their own, or two of a warp at a time, who exchange what they have found.
"""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 f, .param .u64 a, .param .u64 b)
{
 .reg .pred %p, %q, %t0; .reg .b32 %r<16>; .reg .b64 %rd<16>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [f]; ld.param.u64 %rd3, [a]; ld.param.u64 %rd4, [b];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.eq.u32 %t0, %r2, 0; mov.u32 %r5, 0; add.u32 %r3, %r1, 1;
 mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd5, %rd2; add.u64 %rd7, %rd5, %rd3; add.u64 %rd8, %rd5, %rd4;
"""
#: Where in the buffers the first tile has its words: before it stand words of tiles that are not there.
_FIRST = 2


class _Way:
    """How a kernel is made: right, or with mistakes in some of it."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.wrong = choose.choice((0.0, 0.0, 0.1, 0.25))

    def wrongly(self) -> bool:
        return self.choose.random() < self.wrong

    def scope(self) -> str:
        return "cta" if self.wrongly() else "gpu"

    def value(self) -> str:
        return self.choose.choice(("", "", ".relaxed.gpu"))

    def fence(self) -> str:
        return f"fence.{self.choose.choice(('acq_rel', 'acq_rel', 'sc'))}.{self.scope()};"

    def publish(self, flag: int, number: str, where: str) -> str:
        """A sum, and then a flag."""
        value = f"@%t0 st{self.value()}.global.u32 [{where}+{4 * _FIRST}], {number};"
        address = f"[%rd6+{4 * _FIRST}]"
        if self.choose.random() < 0.5:
            flags = f"@%t0 st.{'relaxed' if self.wrongly() else 'release'}.{self.scope()}.global.u32 {address}, {flag};"
        else:
            fence = "" if self.wrongly() else f"@%t0 {self.fence()} "
            flags = f"{fence}@%t0 st.relaxed.{self.scope()}.global.u32 {address}, {flag};"
        return f"{flags} {value}" if self.wrongly() and self.wrongly() else f"{value} {flags}"

    def looks(self, at: str, label: str) -> str:
        """Waits for the flag of a tile (its value is %r8), and reads the sum that it is about (%r7)."""
        acquires = self.choose.random() < 0.5
        sem = "acquire" if acquires and not self.wrongly() else "relaxed"
        fence = "" if acquires or self.wrongly() else self.fence()
        wait = f"{label}: ld.{sem}.{self.scope()}.global.u32 %r8, [{at}+{4 * _FIRST}]; setp.eq.u32 %p, %r8, 0; @%p bra {label};"
        offsets = f"sub.u64 %rd10, {at}, %rd2; add.u64 %rd11, %rd10, %rd3; add.u64 %rd12, %rd10, %rd4;"
        value = f"ld{self.value()}.global.u32 %r7,"
        reads = f"@%q {value} [%rd12+{4 * _FIRST}]; @!%q {value} [%rd11+{4 * _FIRST}];"
        late = self.wrongly()  # the fence stands behind the value
        return " ".join([wait, "setp.eq.u32 %q, %r8, 2;", offsets, *((reads, fence) if late else (fence, reads))])


def _alone(way: _Way) -> list[str]:
    """Thread 0 goes back tile by tile."""
    return [
        "mov.u64 %rd9, %rd6;", "@!%t0 bra DONE;",
        "LOOK: setp.eq.u64 %p, %rd9, %rd2; @%p bra DONE; sub.u64 %rd9, %rd9, 4;",
        way.looks("%rd9", "AGAIN"), "add.u32 %r5, %r5, %r7; @!%q bra LOOK;", "DONE:",
    ]  # fmt: skip


def _together(way: _Way) -> list[str]:
    """Two threads look at the last two tiles, and at the two before these, until one has the sum of all before it."""
    return [
        "mul.wide.u32 %rd13, %r2, 4; sub.u64 %rd9, %rd6, %rd13; sub.u64 %rd9, %rd9, 4;",
        "setp.eq.u32 %p, %r1, 0; @%p bra END;",
        "LOOK:", way.looks("%rd9", "AGAIN"),
        "shfl.sync.idx.b32 %r10, %r8, 0, 31, 3; setp.ne.u32 %p, %r2, 0; setp.eq.and.u32 %p, %r10, 2, %p; @%p mov.u32 %r7, 0;",
        "shfl.sync.bfly.b32 %r11, %r7, 1, 31, 3; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r11;",
        "vote.sync.any.pred %p, %q, 3; @%p bra END; sub.u64 %rd9, %rd9, 8; bra LOOK;", "END:",
    ]  # fmt: skip


def kernel(seed: int, most: int = 3) -> KernelTest:
    """Tiles that add up 1, 2, 3 ..., `most` at most."""
    choose = random.Random(seed)
    way = _Way(choose)
    together = choose.random() < 0.3
    tiles = min(choose.choice((2, 3, 3)), most)
    pre = "%rd7" if way.wrongly() else "%rd8"  # where the sum of all goes
    lines = [
        f"setp.eq.u32 %p, %r1, 0; @!%p bra OTHERS;\n {way.publish(2, '%r3', '%rd8')} bra LOOKS;\nOTHERS:",
        way.publish(1, "%r3", "%rd7") if choose.random() < 0.8 else "",
        "LOOKS:",
        *(_together(way) if together else _alone(way)),
        "setp.eq.u32 %p, %r1, 0; @%p bra OUT;", "add.u32 %r6, %r5, %r3;", way.publish(2, "%r6", pre),
        "OUT:", "add.u64 %rd14, %rd5, %rd1; @%t0 st.global.u32 [%rd14], %r5; ret;", "}",
    ]  # fmt: skip
    sums = [sum(range(1, tile + 1)) for tile in range(tiles)]
    words = {"type": "u32", "elements": _FIRST + tiles}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": 2 if together else choose.choice((1, 1, 2)),
        "params": {
            "x": {"type": "u32", "elements": tiles, "init": [0]}, "f": {**words, "init": [2, 2]},
            "a": {**words, "init": [0]}, "b": {**words, "init": [0]},
        },
        "check": {
            "forall": " && ".join(f"x[{tile}] == {found}" for tile, found in enumerate(sums)),
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *filter(None, lines)])}).test()
