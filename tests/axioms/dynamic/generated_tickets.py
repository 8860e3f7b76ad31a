"""Random kernels whose threads take tickets and do with them what may be right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<8>; .reg .b64 %w<2>; .shared .align 8 .b8 s[64];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; setp.eq.u32 %p1, %r2, 0;
 mov.u32 %t0, 0; mov.u32 %t1, 0; mov.u32 %r9, 0;
"""
#: Words of the buffer: data that threads access by tickets and otherwise, counters (the third one has 8 bytes), flags, and
#: what each thread found.
DATA, COUNTERS, FLAGS, FOUND, WORDS = 0, 40, 44, 48, 56


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (3, 1), (1, 2), (1, 3), (2, 2), (2, 2)))
        self.labels = 0
        self.slopes: dict[int, int] = {}
        self.first: dict[int, int] = {}
        #: Registers that hold tickets, the counter of each; -1 for other contents.
        self.taken: dict[int, int] = {}

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _how(self) -> str:
        sem = self.choose.choice(("relaxed", "relaxed", "acq_rel", "release", "acquire"))
        return f"{sem}.{'cta' if self._often(0.08) else 'gpu'}"

    def _counter(self) -> int:
        return self.choose.choice((0, 0, 0, 1))

    def _addend(self, counter: int) -> str:
        return self.choose.choice(("1", "1", "2", "%r4", "0", "4")) if self._often(0.5) else "2" if counter else "1"

    def take(self) -> list[str]:
        """A thread, or the first one of each CTA, takes a ticket."""
        counter, to = self._counter(), self.choose.choice((0, 0, 1))
        self.taken[to] = counter
        where = f"[%rd1+{4 * (COUNTERS + counter)}]"
        lines = ["add.u32 %r4, %r2, 1;"]
        if self._often(0.1):
            where = f"[%rd1+{4 * (COUNTERS + 2)}]"
            return [
                f"atom.{self._how()}.global.add.u64 %w0, {where}, {self.choose.choice((1, 2))}; cvt.u32.u64 %t{to}, %w0;"
            ]
        atom = f"atom.{self._how()}.global.add.u32 %t{to}, {where}, {self._addend(counter)};"
        if self.block > 1 and self._often(0.3):
            atom = f"@%p1 {atom}"
            bar = "" if self._often(0.1) else "bar.sync 0;"
            told = [f"@%p1 st.shared.u32 [s], %t{to};", bar, f"ld.shared.u32 %t{to}, [s];", bar]
            if self._often(0.3):
                mask = (1 << self.block) - 1
                told = [f"shfl.sync.idx.b32 %t{to}|%p2, %t{to}, {self.choose.choice((0, 0, 1))}, 31, {mask};"]
            return [*lines, atom, *told]
        if self._often(0.1):
            return [*lines, f"@%p1 {atom}"]
        return [*lines, atom]

    def _address(self, to: int) -> list[str]:
        """%rd2 = where a ticket leads."""
        choose, counter = self.choose, self.taken.get(to, -1)
        slope = self.slopes.setdefault(counter, choose.choice((4, 4, 4, 8, 12)))
        first = self.first.setdefault(counter, choose.choice((0, 0, 4, 80, 80)))
        beside = choose.choice((0, 0, 0, 4, -4, 8)) if self._often(0.35) else 0
        if self._often(0.08):
            slope = choose.choice((4, 8, -4))
        if self._often(0.15):
            beside += 0
            own = ["shl.b32 %r6, %r2, 2;"] if self._often(0.5) else ["mov.u32 %r6, 4;"]
        else:
            own = ["mov.u32 %r6, 0;"]
        kind = choose.randrange(8)
        if slope == -4:
            sums = [f"mul.lo.u32 %r5, %t{to}, 4; sub.u32 %r5, 36, %r5; add.u32 %r5, %r5, {first};"]
        elif kind == 0:
            sums = [f"mul.lo.u32 %r5, %t{to}, {slope}; add.u32 %r5, %r5, {first};"]
        elif kind == 1:
            sums = [f"mad.lo.u32 %r5, %t{to}, {slope}, {first};"]
        elif kind == 2 and slope in (4, 8):
            sums = [f"shl.b32 %r5, %t{to}, {2 if slope == 4 else 3}; add.u32 %r5, %r5, {first};"]
        elif kind == 3:
            sums = [f"add.u32 %r5, %t{to}, -1; mul.lo.u32 %r5, %r5, {slope}; add.u32 %r5, %r5, {first + slope};"]
        elif kind == 4 and self._often(0.5):
            other = choose.choice(
                (
                    "shr.u32 %r5, %t{0}, 1;",
                    "and.b32 %r5, %t{0}, 3;",
                    "xor.b32 %r5, %t{0}, 1;",
                    "add.u32 %r5, %t0, %t1;",
                    "rem.u32 %r5, %t{0}, 3;",
                    "min.u32 %r5, %t{0}, 9;",
                    "sub.u32 %r5, %t0, %t1;",
                )
            )
            sums = [other.format(to), f"mad.lo.u32 %r5, %r5, {slope}, {first};"]
        else:
            sums = [f"mad.lo.u32 %r5, %t{to}, {slope}, {first};"]
        wide = choose.choice(("cvt.u64.u32", "cvt.s64.s32"))
        return [
            *own,
            *sums,
            "add.u32 %r5, %r5, %r6;",
            f"{wide} %rd2, %r5; add.u64 %rd2, %rd2, %rd1;",
            f"add.u64 %rd2, %rd2, {beside};",
        ]

    def _value(self) -> str:
        return self.choose.choice(("7", "%r2", "%r1", "%t0", "%r3", "5"))

    def access(self) -> list[str]:
        """An access where a ticket leads."""
        to = self.choose.choice(list(self.taken) or [0])
        lines, choose = self._address(to), self.choose
        text = choose.choice((f"st.global.u32 [%rd2], {self._value()};",) * 5 + (
            "ld.global.u32 %r7, [%rd2]; mad.lo.u32 %r3, %r3, 3, %r7;",
            "ld.global.u32 %r7, [%rd2]; mad.lo.u32 %r3, %r3, 3, %r7;",
            f"st.global.u8 [%rd2+{choose.choice((0, 1))}], {self._value()};",
            f"st.relaxed.gpu.global.u32 [%rd2], {self._value()};",
            f"st.global.v2.u32 [%rd2], {{{self._value()}, 3}};",
            f"red.relaxed.gpu.global.add.u32 [%rd2], {self._value()};",
            "ld.global.nc.u32 %r7, [%rd2]; mad.lo.u32 %r3, %r3, 3, %r7;",
        ))  # fmt: skip
        text = text.replace("st.global.u8 [%rd2+0], %", "st.global.u8 [%rd2], %")
        guard = choose.random()
        if guard < 0.2:
            test = choose.choice(("lt.u32", "lt.u32", "ge.s32", "lt.s32", "eq.u32", "ne.u32", "gt.u32"))
            lines.append(f"setp.{test} %p2, %t{to}, {choose.choice((0, 1, 2, 9, 12))};")
            if guard < 0.1:
                return [*lines, "".join(f"@%p2 {part.strip()};\n" for part in text.split(";") if part.strip())]
            end = self._label()
            return [*lines, f"@%p2 bra {end};", text, f"{end}:"]
        return [*lines, text]

    def plain(self) -> list[str]:
        """An access by plain addresses: data, a counter, or what the thread found."""
        choose = self.choose
        word = choose.choice((0, 0, 1, 2, 5, 20, 22, COUNTERS, COUNTERS, COUNTERS + 1))
        where = f"[%rd1+{4 * word}]"
        text = choose.choice((
            f"ld.global.u32 %r8, {where}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"ld.global.u32 %r8, {where}; mad.lo.u32 %r3, %r3, 5, %r8;",
            f"st.global.u32 {where}, {choose.choice(('0', '1', '%t0', '%r2'))};",
            f"ld.relaxed.gpu.global.u32 %r8, {where}; add.u32 %r3, %r3, %r8;",
            f"red.relaxed.gpu.global.add.u32 {where}, 1;",
            f"atom.relaxed.gpu.global.exch.b32 %r8, {where}, 1;",
            f"ld.global.u32 %r8, {where}; mul.wide.u32 %rd3, %r8, 4; add.u64 %rd3, %rd3, %rd1; "
            f"st.global.u32 [%rd3+{4 * FOUND}], 1;",
        ))  # fmt: skip
        if self._often(0.6):
            text = "".join(f"@%p1 {part.strip()};\n" for part in text.split(";") if part.strip())
        if self.grid > 1 and self._often(0.3):
            end = self._label()
            return [f"setp.ne.u32 %p3, %r1, 0; @%p3 bra {end};", text, f"{end}:"]
        return [text]

    def meet(self) -> list[str]:
        return ["bar.sync 0;"]

    def meet_all(self) -> list[str]:
        """All threads of the grid meet by a counter of their own."""
        again, word, count = self._label(), 4 * (FLAGS + self.labels % 4), self.grid * self.block
        return [f"fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1+{word}], 1;",
                f"{again}: ld.acquire.gpu.global.u32 %r8, [%rd1+{word}];",
                f"setp.ne.u32 %p3, %r8, {count}; @%p3 bra {again};"]  # fmt: skip

    def arithmetic(self) -> list[str]:
        """Something is computed from tickets, as data."""
        return [self.choose.choice((
            "mad.lo.u32 %r3, %t0, 3, %r3;", "setp.gt.u32 %p2, %t0, 1; selp.u32 %r3, %r3, 4, %p2;", "xor.b32 %r3, %r3, %t1;",
            "setp.lt.u32 %p2, %t0, 30; @!%p2 bra {0}; add.u32 %r3, %r3, 1; {0}:".format(self._label()),
            "mul.hi.u32 %r3, %t0, -5;", "cvt.rn.f32.u32 %r3, %t0;", "sub.u32 %t0, %t0, 1;", "add.u32 %t0, %t0, 1;",
        ))]  # fmt: skip

    def lines(self) -> list[str]:
        found = []
        if self._often(0.25):
            found += self.plain()
            if self._often(0.6):
                found += self.meet_all()
        found += self.take()
        parts = (self.access,) * 6 + (
            self.take,
            self.take,
            self.plain,
            self.meet,
            self.arithmetic,
            self.arithmetic,
            self.meet_all,
        )
        for _ in range(self.choose.randint(1, 3)):
            found += self.choose.choice(parts)()
        if self._often(0.3):
            found += self.meet_all() if self._often(0.7) else self.meet()
            found += self.plain()
        return found


def ticket_kernel(seed: int) -> KernelTest:
    """A kernel of 2 to 4 threads."""
    writer = Writer(seed)
    lines = writer.lines()
    grid, block = writer.grid, writer.block
    out = f"mad.lo.u32 %r10, %r1, {block}, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    text = "\n ".join([_HEAD, *lines, out, f"st.global.u32 [%rd2+{4 * FOUND}], %r3; ret;", "}"])
    observed = [0, 1, 2, 20, 21, COUNTERS, COUNTERS + 1, *range(FOUND, FOUND + grid * block)]
    start = [
        random.Random(seed).choice((0, 0, 0, 1, 3)) if COUNTERS <= i < COUNTERS + 3 else 7 * i * (i < COUNTERS)
        for i in range(WORDS)
    ]
    start[COUNTERS + 3] = 0
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": start}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
