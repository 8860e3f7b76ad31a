"""Random kernels whose threads take a word from one value to another one by compare-and-swap, and write where that allows it:
states that come one behind the other, bits that are taken, states that come again, right or wrong."""

from __future__ import annotations

import random

from ticketed_kernels import ticketed_kernel

from ptxmm.kernels.test import KernelTest


class _Mover:
    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (1, 2), (3, 1), (1, 3)))
        self.labels = 0

    def often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def how(self) -> str:
        return self.choose.choice(("", "", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.cta" if self.often(0.3) else ""))

    def state(self) -> list[str]:
        """From one state to another one; who does so writes a word, and may go on from there."""
        found = self.choose.choice((0, 0, 1, 1, 2))
        put = self.choose.choice((found + 1, found + 1, found + 2, 3, 0, 2))
        lost = self.label()
        word = self.choose.choice((found, found, put, 0))
        store = f"st.global.u32 [%rd1+{4 * word}], {self.choose.choice(('%r5', '7'))};"
        if self.often(0.1):
            store = f"ld.global.u32 %r9, [%rd1+{4 * word}];"
        lines = [f"atom{self.how()}.global.cas.b32 %t0, [%rd3], {found}, {put};"]
        return [*lines, f"setp.ne.u32 %p3, %t0, {found}; @%p3 bra {lost};", store, f"{lost}:"]

    def takes(self) -> list[str]:
        """A function of what was found, tried again until nobody was between; at most two bits are taken."""
        again, done, full = self.label(), self.label(), self.label()
        change = self.choose.choice((
            "add.u32 %r8, %r7, 1; or.b32 %r8, %r8, %r7;", "add.u32 %r8, %r7, 1; or.b32 %r8, %r8, %r7;",
            "shl.b32 %r8, %r7, 1; add.u32 %r8, %r8, 1;", "xor.b32 %r8, %r7, 1;", "add.u32 %r8, %r7, 1; and.b32 %r8, %r8, 3;",
            "or.b32 %r8, %r7, %r5;",
        ))  # fmt: skip
        index = self.choose.choice(("%r7", "%r7", "%r8", "%r8"))
        stale = self.often(0.05)
        guard = f"setp.ge.u32 %p2, %r7, {self.choose.choice((3, 3, 7))}; @%p2 bra {full};"
        store = f"mul.wide.u32 %rd6, {index}, 4; add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r5;"
        return [
            "ld.relaxed.gpu.global.u32 %r7, [%rd3];", f"{again}: {guard} {change}",
            f"atom{self.how()}.global.cas.b32 %t0, [%rd3], %r7, %r8; setp.eq.u32 %p3, %t0, %r7; @%p3 bra {done};",
            f"bra {again};" if stale else f"mov.u32 %r7, %t0; bra {again};", f"{done}: {store}", f"{full}:",
        ]  # fmt: skip

    def beside(self) -> list[str]:
        text = self.choose.choice((
            "@%p1 st.relaxed.gpu.global.u32 [%rd3], 0;", "atom.global.max.u32 %t1, [%rd3], 2;",
            "@%p1 atom.global.exch.b32 %t1, [%rd3], 0;", "atom.global.or.b32 %t1, [%rd3], 1;",
            "atom.global.add.u32 %t1, [%rd3], 1;", "atom.global.and.b32 %t1, [%rd3], 1;",
        ))  # fmt: skip
        return [text]

    def lines(self) -> list[str]:
        found: list[str] = []
        for _ in range(self.choose.choice((1, 2, 2, 3))):
            found += self.state() if self.often(0.55) else self.takes()
        if self.often(0.12):
            found = self.beside() + found if self.often(0.5) else found + self.beside()
        return found


def moving_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    made = _Mover(seed)
    forall = " && ".join([*(f"x[{i}] < 999" for i in range(16)), "c[0] != 999"])
    return ticketed_kernel("\n ".join(made.lines()), made.grid, made.block, 16, (0, 0), forall)
