"""Random kernels whose threads do something only where a ticket or a claim says so, right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %r4, %ntid.x; mov.u32 %r7, 0;
 mad.lo.u32 %r4, %r1, %r4, %r2; setp.eq.u32 %p1, %r4, 0; mov.u32 %t0, 0; mov.u32 %t1, 0; mov.u32 %t2, 0;
 and.b32 %r5, %r4, 1; shl.b32 %r9, 1, %r5; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1; add.u32 %r12, %r4, 1;
"""
#: Words of the buffer: places of tickets, of two counters, plain data, claimed words, flags, words of threads' own, results.
PLACES, COUNTERS, DATA, CLAIMED, FLAGS, OWN, FOUND, WORDS = 0, 12, 16, 20, 24, 28, 32, 36


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (3, 1), (1, 2), (1, 3), (2, 2)))
        self.labels = 0
        self.counter = self.choose.choice((0, 0, 1))

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _one(self, *of: int | str) -> int | str:
        return self.choose.choice(of)

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _take(self, to: int, counter: int) -> str:
        add = self.choose.choice(("1", "1", "1", "1", "1", "2", "%r12"))
        how = self.choice_of_order()
        return f"atom{how}.global.add.u32 %t{to}, [%rd1+{4 * (COUNTERS + counter)}], {add};"

    def choice_of_order(self) -> str:
        return self.choose.choice(("", "", "", "", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.cta"))

    def _put(self, to: int, first: int) -> list[str]:
        value = self.choose.choice(("7", "%r4", "%r12", f"%t{to}"))
        beside = self.choose.choice((0, 0, 0, 0, 0, 4))
        return [f"mul.wide.u32 %rd2, %t{to}, 4; add.u64 %rd2, %rd2, %rd1;",
                f"st.global.u32 [%rd2+{4 * (PLACES + first) + beside}], {value};"]  # fmt: skip

    def _errand(self, to: int, depth: int = 0) -> list[str]:
        """What is done only sometimes."""
        found = []
        other = 1 - self.counter
        parts = (
            lambda: self._put(to, 0) if to >= 0 else [f"st.global.u32 [%rd1+{4 * DATA}], 7;"],
            lambda: self._put(to, 0) if to >= 0 else [f"st.global.u32 [%rd1+{4 * DATA}], 7;"],
            lambda: [self._take(2, other), *self._put(2, 6)],
            lambda: [self._take(2, other), *self._put(2, 6)],
            lambda: [f"st.global.u32 [%rd1+{4 * self._one(DATA, DATA + 1)}], {self._one('5', '%r4', '%r12')};"],
            lambda: [f"st.global.u32 [%rd4+{4 * OWN}], {self.choose.choice(('5', '%r4', '%t0'))};"],
            lambda: [f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * (COUNTERS + 2)}], {self._one('1', '1', '1', '%r12')};"],
            lambda: [f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * (COUNTERS + 2)}], 1;"],
            lambda: [f"ld.global.u32 %r6, [%rd1+{4 * self.choose.choice((DATA, DATA + 1, COUNTERS + 3))}];",
                     f"st.global.u32 [%rd4+{4 * OWN}], %r6;"],
            lambda: [f"ld.global.u32 %r6, [%rd4+{4 * OWN}];", f"st.global.u32 [%rd1+{4 * DATA}], %r6;"],
            lambda: ["add.u32 %r3, %r3, 1;"],
            lambda: ["fence.acq_rel.gpu;"],
            lambda: [f"st.relaxed.gpu.global.u32 [%rd1+{4 * DATA}], 5;"],
            lambda: [self._take(2, other), *self._branch(self._ticket_test(2), self._errand(2, depth + 1), depth)]
            if depth < 1 else self._put(2, 6) if self._often(0.2) else ["mov.u32 %r7, 1;"],
        )  # fmt: skip
        for _ in range(self.choose.choice((1, 1, 1, 2, 2))):
            found += self.choose.choice(parts)()
        return found

    def _ticket_test(self, to: int) -> str:
        test = self.choose.choice(("ge.u32", "ge.u32", "lt.u32", "eq.u32", "ne.u32", "gt.s32"))
        return f"setp.{test} %p2, %t{to}, {self.choose.choice((0, 1, 1, 2, 2, 3, 5))};"

    def _branch(self, test: str, errand: list[str], depth: int = 0) -> list[str]:
        skip, end = self._label(), self._label()
        p = "%p2" if not depth else "%p4"
        test = test.replace("%p2", p)
        lines = [test, f"@{'!' * self._often(0.4)}{p} bra {skip};", *errand]
        if self._often(0.25):
            return [*lines, f"bra {end};", f"{skip}:", *self._errand(-1, 2), f"{end}:"]
        if self._often(0.1):
            return [*lines, "bra END;", f"{skip}:"]
        return [*lines, f"{skip}:"]

    def by_ticket(self) -> list[str]:
        kept = [f"st.global.u32 [%rd4+{4 * OWN}], %t0;"] if self._often(0.15) else []
        return [self._take(0, self.counter), *kept, *self._branch(self._ticket_test(0), self._errand(0))]

    def by_claim(self) -> list[str]:
        choose = self.choose
        word = 4 * (CLAIMED + choose.choice((0, 0, 0, 1)))
        where = f"[%rd1+{word}]"
        how = self.choice_of_order().replace(".acq_rel.gpu", ".relaxed.gpu")
        kind = choose.randrange(4)
        if kind == 0:
            bit = choose.choice(("%r9", "%r9", "1", "2", "3"))
            claim = [f"atom{how}.global.or.b32 %t1, {where}, {bit};", f"and.b32 %r6, %t1, {self._one(bit, bit, bit, '1')};",
                     f"setp.{choose.choice(('eq', 'ne'))}.u32 %p2, %r6, 0;"]  # fmt: skip
        elif kind == 1:
            claim = [f"atom{how}.global.exch.b32 %t1, {where}, {choose.choice(('1', '1', '1', '%r12', '%r4'))};",
                     f"setp.{choose.choice(('eq', 'ne'))}.u32 %p2, %t1, {choose.choice((0, 0, 0, 1))};"]  # fmt: skip
        else:
            puts = self._one(0, 0, 0, 0, 1), self._one(1, 1, 1, "%r12", 0)
            claim = [f"atom{how}.global.cas.b32 %t1, {where}, {puts[0]}, {puts[1]};",
                     f"setp.{choose.choice(('eq', 'ne'))}.u32 %p2, %t1, {choose.choice((0, 0, 0, 0, 1))};"]  # fmt: skip
        if self._often(0.1):
            claim[0] = f"@{'!' * self._often(0.5)}%p1 {claim[0]}"
        found = [*claim, *self._branch("", self._errand(-1))]
        if self._often(0.15):
            found += self._branch(claim[-1], self._errand(-1, 1), 1)
        return found

    def plain(self) -> list[str]:
        choose = self.choose
        word = choose.choice(
            (DATA, DATA, DATA + 1, CLAIMED, COUNTERS, COUNTERS + 2, COUNTERS + 1, PLACES, PLACES + 7, OWN)
        )
        where = f"[%rd1+{4 * word}]"
        text = choose.choice((
            f"ld.global.u32 %r8, {where}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {where}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {where}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"st.global.u32 {where}, {choose.choice(('0', '1', '%r4'))};",
            f"ld.relaxed.gpu.global.u32 %r8, {where}; add.u32 %r3, %r3, %r8;",
            f"red.relaxed.gpu.global.add.u32 {where}, 1;",
        ))  # fmt: skip
        if self._often(0.6):
            text = "".join(f"@%p1 {part.strip()};\n" for part in text.split(";") if part.strip())
        return [text]

    def meet(self) -> list[str]:
        """All threads of the grid meet."""
        if self.grid == 1:
            return ["bar.sync 0;"]
        again, word, count = self._label(), 4 * (FLAGS + self.labels % 4), self.grid * self.block
        return [f"fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1+{word}], 1;",
                f"{again}: ld.acquire.gpu.global.u32 %r8, [%rd1+{word}];",
                f"setp.ne.u32 %p5, %r8, {count}; @%p5 bra {again};"]  # fmt: skip

    def lines(self) -> list[str]:
        found = []
        if self._often(0.2):
            found += [*self.plain(), *(self.meet() if self._often(0.8) else [])]
        found += self.choose.choice((self.by_ticket, self.by_claim, self.by_claim))()
        if self._often(0.25):
            found += self.choose.choice((self.by_ticket, self.by_claim))()
        if self._often(0.5):
            found += [*(self.meet() if self._often(0.85) else []), *self.plain()]
        return found


class ClaimsAgain(Writer):
    """Threads that claim what they have claimed before, or what is taken already, and claim by minima and maxima."""

    def by_claim(self) -> list[str]:
        choose = self.choose
        where = f"[%rd1+{4 * (CLAIMED + self._one(0, 0, 0, 1))}]"
        how = self._one("", "", "", ".relaxed.cta")
        kind = choose.randrange(4)
        if kind == 0:
            bit = self._one("%r9", "%r9", "1", "2", "3", "0")
            claim = [f"atom{how}.global.or.b32 %t1, {where}, {bit};", f"and.b32 %r6, %t1, {bit};",
                     f"setp.{self._one('eq', 'ne')}.u32 %p2, %r6, 0;"]  # fmt: skip
        elif kind == 1:
            claim = [f"atom{how}.global.cas.b32 %t1, {where}, {self._one(0, 0, 0, 1, 2)}, {self._one(1, 1, 2, 0)};",
                     f"setp.{self._one('eq', 'ne')}.u32 %p2, %t1, {self._one(0, 0, 0, 1, 2)};"]  # fmt: skip
        else:
            op, sign = self._one("min", "min", "max"), self._one("u32", "u32", "s32")
            level = self._one(1, 1, 1, 2, 0)
            test = self._one("gt", "le") if op == "min" else self._one("lt", "ge")
            asks = self._one(sign, sign, sign, "u32")
            claim = [f"atom{how}.global.{op}.{sign} %t1, {where}, {level};",
                     f"setp.{test}.{asks} %p2, %t1, {self._one(level, level, level, 0)};"]  # fmt: skip
        return [*claim, *self._branch("", self._errand(-1))]

    def lines(self) -> list[str]:
        first = self.by_claim()
        found = [*first, *(self.meet() if self._often(0.15) else [])]
        for _ in range(self.choose.choice((1, 1, 2))):
            if self._often(0.5):  # the same again, with another errand
                claim = [line for line in first if line.startswith(("atom", "and", "setp"))][
                    : 3 if "or" in first[0] else 2
                ]
                found += [*claim, *self._branch("", self._errand(-1))]
            else:
                found += self.by_claim()
        return [*found, *(self.meet() if self._often(0.5) else []), *(self.plain() if self._often(0.5) else [])]


def again_kernel(seed: int) -> KernelTest:
    """A kernel of 2 to 4 threads that claim several times."""
    choose = random.Random(seed)
    return _kernel(ClaimsAgain(seed), seed, [choose.choice((0, 0, 0, 1, 2, 3, 0x7FFFFFFF)) for _ in range(2)])


def errand_kernel(seed: int) -> KernelTest:
    """A kernel of 2 to 4 threads."""
    return _kernel(Writer(seed), seed, [0, 0])


def _kernel(writer: Writer, seed: int, claimed: list[int]) -> KernelTest:
    lines = writer.lines()
    grid, block = writer.grid, writer.block
    text = "\n ".join([_HEAD, *lines, "END:", f"st.global.u32 [%rd4+{4 * FOUND}], %r3; ret;", "}"])
    observed = [0, 1, 6, 7, *range(COUNTERS, COUNTERS + 3), DATA, DATA + 1, CLAIMED, OWN, OWN + 1]
    observed += range(FOUND, FOUND + grid * block)
    start = [100 + i if i < COUNTERS or DATA <= i < CLAIMED else 0 for i in range(WORDS)]
    start[COUNTERS] = random.Random(seed).choice((0, 0, 0, 1))
    start[CLAIMED : CLAIMED + len(claimed)] = claimed
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": start}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
