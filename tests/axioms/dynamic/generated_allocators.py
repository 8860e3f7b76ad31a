"""Random kernels whose threads allocate by compare-and-swap: each takes so many words beyond the top, if there is room, and
writes to them, right or wrong."""

from __future__ import annotations

import random

from ticketed_kernels import ticketed_kernel

from ptxmm.kernels.test import KernelTest


class _Allocator:
    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (1, 2), (3, 1), (1, 3)))
        self.size = self.choose.choice((1, 1, 2, "odd"))
        self.first = self.choose.choice((0, 0, 0, 1, 3))
        self.all = sum(
            1 + thread % 2 if self.size == "odd" else int(self.size) for thread in range(self.grid * self.block)
        )
        self.words = self.first + self.all + self.choose.choice((0, 0, 0, -1, -1, 1))

    def often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def swap(self) -> str:
        scope = self.choose.choice(
            ("", "", "", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.cta" if self.often(0.3) else "")
        )
        put = "%r8"
        if self.often(0.06):
            put = self.choose.choice(("5", "%r7", "%r5"))
        return f"atom{scope}.global.cas.b32 %t0, [%rd3], %r7, {put};"

    def look(self) -> str:
        how = self.choose.choice(
            (".relaxed.gpu", ".relaxed.gpu", ".volatile", ".acquire.gpu", "" if self.often(0.3) else ".volatile")
        )
        return f"ld{how}.global.u32 %r7, [%rd3];"

    def guard(self, label: str) -> list[str]:
        """Whether there is room; by chance for one word more, or fewer."""
        if self.often(0.25):
            return []
        room = self.words + (self.choose.choice((1, -1)) if self.often(0.15) else 0)
        test = self.choose.choice((f"setp.gt.u32 %p2, %r8, {room};", f"setp.lt.u32 %p2, {room}, %r8;"))
        if self.often(0.2):
            test = f"setp.ge.u32 %p2, %r7, {room};"
        return [f"{test} @%p2 bra {label};"]

    def takes(self) -> list[str]:
        """A loop in one of several shapes; the place is in %r7."""
        add = "add.u32 %r8, %r7, %r6;"
        stale = self.often(0.06)
        shape = self.choose.choice(("keeps", "keeps", "looks again", "guesses", "adds"))
        if shape == "adds" and self.often(0.7):
            return ["atom.global.add.u32 %r7, [%rd3], %r6;", add, *self.guard("FULL")]
        again = "bra AGAIN;" if stale else "mov.u32 %r7, %t0; bra AGAIN;"
        done = "setp.eq.u32 %p3, %t0, %r7; @%p3 bra DONE;"
        if shape == "looks again":
            return [f"AGAIN: {self.look()} {add}", *self.guard("FULL"), self.swap(), done, "bra AGAIN;", "DONE:"]
        begin = f"mov.u32 %r7, {self.first};" if shape == "guesses" else self.look()
        return [begin, f"AGAIN: {add}", *self.guard("FULL"), self.swap(), done, again, "DONE:"]

    def stores(self) -> list[str]:
        """To the words that were taken; by chance to one more."""
        lines = ["mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1;"]
        how = self.choose.choice((".relaxed.gpu",)) if self.often(0.05) else ""
        lines.append(f"st{how}.global.u32 [%rd6], %r5;")
        if self.size == 2:
            lines.append("st.global.u32 [%rd6+4], %r5;")
        if self.size == "odd":
            lines.append("setp.ne.u32 %p4, %r6, 2; @%p4 bra ONE; st.global.u32 [%rd6+4], %r5; ONE:")
        if self.often(0.1):
            lines.append(f"st.global.u32 [%rd6+{self.choose.choice((4, 8))}], 9;")
        return lines

    def beside(self) -> list[str]:
        """What else is done to the top or the heap, mostly nothing."""
        if self.often(0.88):
            return []
        return [self.choose.choice((
            "red.relaxed.gpu.global.add.u32 [%rd3], 1;", "@%p1 st.relaxed.gpu.global.u32 [%rd3], 0;",
            "@%p1 atom.global.exch.b32 %t1, [%rd3], 0;", "@%p1 st.global.u32 [%rd1], 7;",
            "atom.global.add.u32 %t1, [%rd3], -1;", "@%p1 ld.global.u32 %t1, [%rd1];",
            "atom.global.max.u32 %t1, [%rd3], 2;", "atom.global.add.u32 %t1, [%rd3], 1;",
        ))]  # fmt: skip

    def lines(self) -> list[str]:
        size = "and.b32 %r6, %r4, 1; add.u32 %r6, %r6, 1;" if self.size == "odd" else f"mov.u32 %r6, {self.size};"
        before, after = (self.beside(), []) if self.often(0.5) else ([], self.beside())
        return [size, *before, *self.takes(), *self.stores(), *after, "FULL:"]


def allocator_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    made = _Allocator(seed)
    words = max(1, made.words)
    forall = " && ".join([*(f"x[{i}] < 999" for i in range(words)), "c[0] != 999"])
    return ticketed_kernel("\n ".join(made.lines()), made.grid, made.block, words, (made.first, 0), forall)
