"""Random kernels whose threads look for a place of their own by compare-and-swap, walk along links, or go where what others
left leads them, right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r4, %ntid.x;
 mad.lo.u32 %r4, %r1, %r4, %r2; setp.eq.u32 %p1, %r4, 0; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
 add.u32 %r5, %r4, 1; mov.u32 %r3, 0; and.b32 %r6, %r4, 1;
"""
#: Words of the buffer: keys, values, counts, links, one word that is claimed, data beside it, words of threads' own, flags.
KEYS, VALUES, COUNTS, LINKS, CLAIMED, DATA, OWN, FLAGS, WORDS = 0, 4, 8, 12, 16, 17, 20, 24, 28


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (1, 2), (1, 3), (3, 1)))
        self.labels = 0
        self.slots = self.choose.choice((2, 4, 4))
        self.key = self.choose.choice(("%r5", "%r5", "%r5", "%r5", "1"))

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _how(self) -> str:
        return self.choose.choice(("", "", "", "", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.cta"))

    def _at(self, first: int, index: str = "%r7") -> str:
        return f"mul.wide.u32 %rd2, {index}, 4; add.u64 %rd2, %rd2, %rd1; add.u64 %rd2, %rd2, {4 * first};"

    def _begins(self) -> str:
        return self.choose.choice(("mov.u32 %r7, 0;", "mov.u32 %r7, %r6;", f"and.b32 %r7, %r4, {self.slots - 1};"))

    def insert(self) -> list[str]:
        """A key into a table by linear probing."""
        again, found, end = self._label(), self._label(), self._label()
        also = self._often(0.7)
        value = self.choose.choice((
            f"{self._at(VALUES)} st.global.u32 [%rd2], {self.choose.choice(('7', '%r5'))};",
            f"{self._at(VALUES)} st.global.u32 [%rd2], {self.choose.choice(('7', '%r5'))};",
            f"{self._at(COUNTS)} red.relaxed.gpu.global.add.u32 [%rd2], 1;",
            f"{self._at(VALUES)} st.relaxed.gpu.global.u32 [%rd2], %r5;",
            "st.global.u32 [%rd4+80], %r7;",
            f"{self._at(KEYS)} st.global.u32 [%rd2], 9;" if self._often(0.2) else "",
            "add.u32 %r3, %r3, %r7;" if self._often(0.2) else "",
        ))  # fmt: skip
        early = f"{self._at(VALUES)} st.global.u32 [%rd2], 5;" if self._often(0.05) else ""
        return [
            self._begins(),
            f"{again}: {early} {self._at(KEYS)}",
            f"atom{self._how()}.global.cas.b32 %r8, [%rd2], 0, {self.key};",
            f"setp.eq.u32 %p2, %r8, 0; @%p2 bra {found};",
            f"setp.eq.u32 %p3, %r8, {self.key}; @%p3 bra {found if also else end};",
            f"add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {self.slots - 1}; bra {again};",
            f"{found}: {value}",
            f"{end}:",
        ]

    def look_up(self) -> list[str]:
        again, found, end = self._label(), self._label(), self._label()
        how = self.choose.choice(("", "", "", ".relaxed.gpu", ".volatile"))
        use = self.choose.choice(
            (f"{self._at(VALUES)} ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd4+80], %r9;",) * 3
            + (
                "st.global.u32 [%rd4+80], 3;",
                f"{self._at(COUNTS)} ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd4+80], %r9;",
            )
        )
        return [
            self._begins(),
            f"{again}: {self._at(KEYS)}",
            f"ld{how}.global.u32 %r8, [%rd2];",
            f"setp.eq.u32 %p2, %r8, {self.key}; @%p2 bra {found};",
            f"setp.eq.u32 %p3, %r8, 0; @%p3 bra {end};",
            f"add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {self.slots - 1}; bra {again};",
            f"{found}: {use}",
            f"{end}:",
        ]

    def unite(self) -> list[str]:
        """Two links are led to one root."""
        choose = self.choose
        again, end, swap = self._label(), self._label(), self._label()
        one, other = choose.choice(("%r6", "%r4", "2")), choose.choice(("1", "2", "3"))
        order = choose.choice(("lt", "lt", "lt", "gt"))
        step = choose.choice((
            [f"atom{self._how()}.global.min.u32 %r9, [%rd2], %r8; setp.eq.u32 %p3, %r9, %r7; @%p3 bra {end};",
             "mov.u32 %r7, %r9;"],
            [f"atom{self._how()}.global.cas.b32 %r9, [%rd2], %r7, %r8; setp.eq.u32 %p3, %r9, %r7; @%p3 bra {end};",
             "mov.u32 %r7, %r9;"],
            ["ld.relaxed.gpu.global.u32 %r9, [%rd2]; setp.ne.u32 %p3, %r9, %r7; @%p3 mov.u32 %r7, %r9;",
             f"@%p3 bra {again}; atom.global.cas.b32 %r9, [%rd2], %r7, %r8; setp.eq.u32 %p3, %r9, %r7; @%p3 bra {end};"],
        ))  # fmt: skip
        return [
            f"mov.u32 %r7, {one}; mov.u32 %r8, {other};",
            f"{again}: setp.eq.u32 %p2, %r7, %r8; @%p2 bra {end};",
            f"setp.{order}.u32 %p2, %r8, %r7; @%p2 bra {swap}; mov.u32 %r9, %r7; mov.u32 %r7, %r8; mov.u32 %r8, %r9;",
            f"{swap}: {self._at(LINKS)}",
            *step,
            f"bra {again};",
            f"{end}:",
        ]

    def claim(self) -> list[str]:
        """Who comes first writes something."""
        choose, end = self.choose, self._label()
        word = 4 * CLAIMED
        lost = choose.choice(("", "", "", f"add.u32 %r3, %r3, {choose.choice(('0', '1'))};"))
        return [
            f"atom{self._how()}.global.cas.b32 %r8, [%rd1+{word}], 0, {choose.choice(('1', '%r5', '%r5', '0'))};",
            f"setp.ne.u32 %p2, %r8, {choose.choice((0, 0, 0, 1))}; @%p2 bra {end};",
            f"st.global.u32 [%rd1+{4 * DATA}], {choose.choice(('%r5', '%r5', '7'))};",
            f"{end}: {lost}",
        ]

    def use(self) -> list[str]:
        choose = self.choose
        word = 4 * choose.choice((DATA, DATA, CLAIMED, KEYS, LINKS + 1))
        go = self._label()
        return [
            f"ld{choose.choice(('', '', '', '.relaxed.gpu'))}.global.u32 %r8, [%rd1+{word}];",
            choose.choice((
                "st.global.u32 [%rd4+80], %r8;",
                "st.global.u32 [%rd4+80], %r8;",
                f"setp.eq.u32 %p2, %r8, {choose.choice((1, 2, 7))}; @%p2 bra {go}; st.global.u32 [%rd4+80], 4; {go}:",
                f"setp.eq.u32 %p2, %r8, {choose.choice((1, 2, 7))}; @%p2 bra {go}; st.global.u32 [%rd1+72], 4; {go}:",
                f"and.b32 %r8, %r8, 1; {self._at(VALUES, '%r8')} ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd4+80], %r9;",
                f"{go}: ld.relaxed.gpu.global.u32 %r8, [%rd1+{word}]; setp.eq.u32 %p2, %r8, 2; @%p2 bra {go};",
            )),
        ]  # fmt: skip

    def plain(self) -> list[str]:
        word = self.choose.choice((KEYS, VALUES, COUNTS, LINKS + 1, CLAIMED, DATA))
        text = self.choose.choice((f"st.global.u32 [%rd1+{4 * word}], {self.choose.choice((0, 1))};",
                                   f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * word}], 1;"))  # fmt: skip
        return [f"@%p1 {text}" if self._often(0.8) else text]

    def meet(self) -> list[str]:
        """All threads of the grid meet."""
        if self.grid == 1:
            return ["bar.sync 0;"]
        again, word, count = self._label(), 4 * (FLAGS + self.labels % 4), self.grid * self.block
        return [f"bar.sync 0; fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1+{word}], 1;",
                f"{again}: ld.acquire.gpu.global.u32 %r8, [%rd1+{word}];",
                f"setp.ne.u32 %p5, %r8, {count}; @%p5 bra {again}; bar.sync 0;"]  # fmt: skip

    def lines(self) -> list[str]:
        found = []
        if self._often(0.15):
            found += [*self.plain(), *(self.meet() if self._often(0.8) else [])]
        first = self.choose.choice((self.insert, self.insert, self.unite, self.claim))
        found += first()
        if self._often(0.15):
            found += self.choose.choice((self.insert, self.claim, self.unite))()
        if self._often(0.6):
            found += self.meet() if self._often(0.85) else []
            behind = {self.insert: (self.look_up, self.look_up, self.use), self.claim: (self.use,)}
            found += self.choose.choice(behind.get(first, (self.use, self.plain)))()
        return found


def search_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    writer = Writer(seed)
    lines = writer.lines()
    text = "\n ".join([_HEAD, *lines, "END:", "setp.ne.u32 %p6, %r3, 0; @%p6 st.global.u32 [%rd4+80], %r3; ret;", "}"])
    observed = [*range(KEYS, DATA + 1), *range(OWN, OWN + writer.grid * writer.block)]
    start = [0] * WORDS
    start[LINKS:CLAIMED] = range(4)
    if writer._often(0.15):
        start[KEYS + writer.choose.randrange(2)] = writer.choose.choice((1, 2, 8))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": writer.block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": start}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
