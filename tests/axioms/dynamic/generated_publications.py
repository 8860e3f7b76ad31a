"""Random kernels in which one thread, whichever comes first, prepares something that all others wait for, right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %r4, %ntid.x; mov.u32 %r7, 0;
 mad.lo.u32 %r4, %r1, %r4, %r2; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r2, 0; mov.u32 %r8, 0; mov.u32 %t0, 0;
 mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1; add.u32 %r12, %r4, 1;
"""
#: Words of the buffer: flags, data, words of threads' own, results, a word by which threads meet.
FLAGS, DATA, OWN, FOUND, MET, WORDS = 0, 4, 8, 12, 16, 20


class Writer:
    """Writes what the threads do, all of them the same. `careful`: how often each part is right."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (3, 1), (1, 2), (1, 2), (1, 3)))
        self.labels = 0
        self.careful = self.choose.choice((0.75, 0.9, 0.97, 1.0))

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _right(self, right: tuple[str, ...], wrong: tuple[str, ...]) -> str:
        return self.choose.choice(right if self._often(self.careful) else wrong)

    def _fence(self) -> list[str]:
        return [self._right(("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", "fence.sc.gpu;", "membar.gl;"),
                            ("", "", "fence.acq_rel.cta;", "membar.cta;"))]  # fmt: skip

    def _data(self) -> str:
        return f"[%rd1+{4 * (DATA + self.choose.choice((0, 0, 1)))}]"

    def _init(self) -> list[str]:
        parts = (
            lambda: f"st.global.u32 {self._data()}, {self._right(('7', '9'), ('%r4', '%r12'))};",
            lambda: f"st.global.u32 {self._data()}, 7;",
            lambda: f"ld.global.u32 %r6, [%rd4+{4 * OWN}]; st.global.u32 {self._data()}, 7;",
            lambda: f"st.global.u32 [%rd4+{4 * OWN}], 5;",
            lambda: f"red.relaxed.gpu.global.add.u32 {self._data()}, 1;",
        )  # fmt: skip
        return [self.choose.choice(parts)() for _ in range(self.choose.choice((0, 1, 1, 1, 2)))]

    def _publish(self, flag: str) -> list[str]:
        value = self._right(("2",), ("1", "3", "%r12"))
        strong = self.choose.choice((
            f"st.relaxed.gpu.global.u32 {flag}, {value};", f"st.volatile.global.u32 {flag}, {value};",
            f"atom.global.exch.b32 %r9, {flag}, {value};", f"red.relaxed.gpu.global.add.u32 {flag}, 1;",
        ))  # fmt: skip
        released = self.choose.choice((f"st.release.gpu.global.u32 {flag}, {value};",
                                       f"atom.release.gpu.global.exch.b32 %r9, {flag}, {value};"))  # fmt: skip
        weak = f"st.global.u32 {flag}, {value};"
        if self._often(0.5):
            return [*self._fence(), self._right((strong, strong, strong, released), (weak,))]
        return [self._right((released,), (strong, weak, f"st.release.cta.global.u32 {flag}, {value};"))]

    def _wait(self, flag: str, *, first: bool) -> list[str]:
        again, end = self._label(), self._label()
        test = self._right(("setp.ne.u32 %p4, %r8, 2;", "setp.ne.u32 %p4, %r8, 2;", "setp.lt.u32 %p4, %r8, 2;"),
                           ("setp.eq.u32 %p4, %r8, 0;", "setp.ne.u32 %p4, %r8, 1;", "setp.eq.u32 %p4, %r8, 2;",
                            "setp.eq.u32 %p4, %r8, 1;"))  # fmt: skip
        acquires = self._often(0.5)
        looks = ("ld.acquire.gpu.global.u32 %r8, F;", "atom.acquire.gpu.global.add.u32 %r8, F, 0;") if acquires else (
            "ld.relaxed.gpu.global.u32 %r8, F;", "ld.volatile.global.u32 %r8, F;", "atom.global.add.u32 %r8, F, 0;",
            "atom.global.or.b32 %r8, F, 0;",
        )  # fmt: skip
        look = self._right(looks, ("ld.relaxed.gpu.global.u32 %r8, F;", "ld.global.u32 %r8, F;",
                                   "ld.acquire.cta.global.u32 %r8, F;")).replace("F", flag)  # fmt: skip
        inner = ["fence.acq_rel.gpu;"] if self._often(0.1) else []
        found = [f"{again}: {look}", *inner, test, f"@%p4 bra {again};", f"{end}:"]
        if first:  # what the claim has found may be enough
            found = [test, f"@!%p4 bra {end};", *found]
        return found + ([] if acquires else self._fence() if self._often(0.6) else [])

    def _claim(self, flag: str) -> list[str]:
        how = self.choose.choice(("", "", ".relaxed.gpu", ".acq_rel.gpu", ".acquire.gpu"))
        if not self._often(self.careful):
            how = ".relaxed.cta"
        expected, put = self._right(("0, 1",), ("1, 1", "0, %r12", "0, 2", "0, %r4")).split(", ")
        test = self._right(("setp.ne.u32 %p3, %t0, 0;",), ("setp.ne.u32 %p3, %t0, 1;", "setp.eq.u32 %p3, %t0, 2;"))
        kind = self._right((f"atom{how}.global.cas.b32 %t0, {flag}, {expected}, {put};",),
                           (f"atom{how}.global.exch.b32 %t0, {flag}, 1;",))  # fmt: skip
        return [kind, test]

    def once(self, number: int) -> list[str]:
        """One phase: a claim, what the winner does, and what others wait for."""
        flag = f"[%rd1+{4 * (FLAGS + number)}]"
        lost, end, skip = self._label(), self._label(), self._label()
        kind = self.choose.choice(("else", "else", "else", "claim", "behind", "behind", "none"))
        body = [*self._init(), *self._publish(flag)]
        if not self._often(self.careful):
            self.choose.shuffle(body)
        if self._often(0.15):
            body += self._init()
        if not self._often(self.careful):
            body = [f"@%p1 bra {end};", *body]
        some = self._often(0.12)
        found = [*([f"@!%p2 bra {skip};"] if some else []), *self._claim(flag), f"@%p3 bra {lost};", *body]
        if kind in ("else", "claim"):
            wait = self._wait(flag, first=kind == "claim")
            if kind == "claim":
                wait = ["mov.u32 %r8, %t0;", *wait]
            use = [f"ld.global.u32 %r6, {self._data()};"] if self._often(0.1) else []
            found += [f"bra {end};", f"{lost}:", *wait, *use, f"{end}:"]
        else:
            found += [f"{lost}:", f"{end}:"]
        if some:
            found += [f"{skip}:"]
        if kind == "behind":
            found += self._wait(flag, first=False)
        return found

    def uses(self) -> list[str]:
        choose = self.choose
        text = choose.choice((
            f"ld.global.u32 %r8, {self._data()}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {self._data()}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {self._data()}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {self._data()}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"st.global.u32 {self._data()}, 1;",
            f"ld.global.u32 %r8, [%rd1+{4 * FLAGS}]; mad.lo.u32 %r3, %r3, 5, %r8;",
        ))  # fmt: skip
        if self._often(0.2):
            text = "".join(f"@%p1 {part.strip()};\n" for part in text.split(";") if part.strip())
        return [text]

    def meet(self) -> list[str]:
        """All threads of the grid meet, or hand on what they know by relaxed operations."""
        if self.grid == 1:
            return ["bar.sync 0;"]
        again, word, count = self._label(), 4 * (MET + self.labels % 4), self.grid * self.block
        return [*self._fence(), f"red.relaxed.gpu.global.add.u32 [%rd1+{word}], 1;",
                f"{again}: ld.acquire.gpu.global.u32 %r8, [%rd1+{word}];",
                f"setp.ne.u32 %p5, %r8, {count}; @%p5 bra {again};"]  # fmt: skip

    def lines(self) -> list[str]:
        found = []
        if self._often(0.15):
            found += [*self.uses(), *self.meet()]
        found += self.once(0)
        if self._often(0.25):
            found += self._fence()
        if self._often(0.3):
            found += self.meet()
        if self._often(0.85):
            found += self.uses()
        if self._often(0.2):
            if self._often(0.6):  # the flag is used once more
                found += [*self.meet(), f"@%p1 st.global.u32 [%rd1+{4 * FLAGS}], 0;", *self.meet(), *self.once(0)]
            else:
                found += self.once(1)
            found += self.uses()
        return found


def publishing_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    writer = Writer(seed)
    lines = writer.lines()
    grid, block = writer.grid, writer.block
    text = "\n ".join([_HEAD, *lines, f"st.global.u32 [%rd4+{4 * FOUND}], %r3; ret;", "}"])
    observed = [FLAGS, FLAGS + 1, DATA, DATA + 1, OWN, OWN + 1, *range(FOUND, FOUND + grid * block)]
    start = [100 + i if DATA <= i < FOUND else 0 for i in range(WORDS)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": start}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
