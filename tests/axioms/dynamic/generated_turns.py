"""Random kernels whose threads take tickets, and hand over to each other by flags at the places of these, rightly or not."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;
"""
#: Words of the buffer: what is handed over, flags, counters, and what each thread found.
DATA, FLAGS, COUNTERS, FOUND, WORDS = 0, 16, 32, 40, 48


class Writer:
    """Writes what the threads do: those of even numbers one thing, the others another one, or all both."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (4, 1), (3, 1), (1, 2), (2, 2)))
        self.ring = self.choose.choice((2, 2, 4, 4))
        self.waits = self.choose.random() < 0.6  # who puts something there waits until it is empty
        self.empties = self.waits or self.choose.random() < 0.2
        self.fenced = self.choose.random() < 0.3
        #: How likely something is wrong.
        self.wrong = self.choose.choice((0.0, 0.0, 0.05, 0.1))
        self.labels = 0

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _scope(self) -> str:
        return "cta" if self._often(self.wrong) else self.choose.choice(("gpu", "gpu", "sys"))

    def _fence(self, sem: str) -> list[str]:
        if not self.fenced or self._often(self.wrong):
            return []
        return [f"fence.{self.choose.choice(('acq_rel', 'sc', sem))}.{self._scope()};"]

    def _places(self) -> list[str]:
        """%r4 = the place of a ticket, %r5 = twice how often the ring was full before it; %rd2 where its place is."""
        shift = self.ring.bit_length() - 1
        beside = f"add.u32 %r6, %t0, {self.choose.choice((1, 2))};" if self._often(self.wrong) else "mov.u32 %r6, %t0;"
        return [
            beside,
            f"and.b32 %r4, %r6, {self.ring - 1}; shr.u32 %r5, %r6, {shift}; shl.b32 %r5, %r5, 1;",
            "mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd2, %rd1;",
        ]

    def _take(self, counter: int) -> list[str]:
        if self._often(self.wrong / 2):
            counter ^= 1
        addend = 2 if self._often(self.wrong / 2) else 1
        sem = self.choose.choice(("relaxed", "relaxed", "acq_rel"))
        return [f"atom.{sem}.{self._scope()}.global.add.u32 %t0, [%rd1+{4 * (COUNTERS + counter)}], {addend};"]

    def _wait(self, more: int) -> list[str]:
        """The thread waits until the flag has its number, or in some kernels any that is no less, or other than before."""
        if self._often(self.wrong):
            return []
        self.labels += 1
        test = self.choose.choice(("ne.u32", "ne.u32", "ne.u32", "lt.u32")) if self._often(0.5) else "ne.u32"
        sem = "relaxed" if self.fenced or self._often(self.wrong) else "acquire"
        label = f"L{self.labels}"
        off = self.choose.choice((-1, 1)) if self._often(self.wrong) else 0
        sleep = "nanosleep.u32 20;" if self._often(0.1) else ""
        return [
            f"add.u32 %r7, %r5, {more + off};",
            f"{label}: ld.{sem}.{self._scope()}.global.u32 %r8, [%rd2+{4 * FLAGS}];",
            f"setp.{test} %p1, %r8, %r7; {sleep} @%p1 bra {label};",
            *self._fence("acquire"),
        ]

    def _post(self, more: int) -> list[str]:
        if self._often(self.wrong / 2):
            return []
        sem = "relaxed" if self.fenced or self._often(self.wrong) else "release"
        how = "st.global" if self._often(self.wrong / 2) else f"st.{sem}.{self._scope()}.global"
        value = f"add.u32 %r9, %r5, {more};" if self.ring < 4 or self._often(0.5) else f"mov.u32 %r9, {more};"
        return [*self._fence("release"), value, f"{how}.u32 [%rd2+{4 * FLAGS}], %r9;"]

    def produce(self) -> list[str]:
        put = [f"add.u32 %r10, %r2, 5; st.global.u32 [%rd2+{4 * DATA}], %r10;"]
        wait = self._wait(0) if self.waits else []
        post = self._post(1)
        rest = [*post, *put] if self._often(self.wrong) else [*put, *post]
        return [*self._take(0), *self._places(), *wait, *rest]

    def consume(self) -> list[str]:
        get = [f"ld.global.u32 %r10, [%rd2+{4 * DATA}]; mad.lo.u32 %r3, %r3, 3, %r10;"]
        post = self._post(2) if self.empties else []
        rest = [*post, *get] if self._often(self.wrong) else [*get, *post]
        return [*self._take(1), *self._places(), *self._wait(1), *rest]

    def _beside(self) -> list[str]:
        """An access by the plain address of a place."""
        where = f"[%rd1+{4 * self.choose.choice((DATA, DATA + 1, FLAGS, COUNTERS))}]"
        return [self.choose.choice((f"ld.global.u32 %r10, {where};", f"st.global.u32 {where}, 3;"))]

    def _some(self) -> list[str]:
        return self._beside() if self._often(self.wrong) else []

    def lines(self) -> list[str]:
        choose = self.choose
        times = choose.choice((1, 1, 1, 2)) if self.grid * self.block < 4 else 1
        meets = ["bar.sync 0;"] if self.block > 1 and self._often(0.3) else []
        if self._often(0.3):  # all do both
            both = [*self.produce(), *(meets if self._often(self.wrong) else []), *self.consume()]
            if self._often(self.wrong):
                both = [*self.consume(), *self.produce()]
            return [*self._some(), *meets, *both, *meets, *self._some()]
        odd = "%r1" if self.block == 1 else "%r2"
        producing = [line for _ in range(times) for line in self.produce()]
        consuming = [line for _ in range(times) for line in self.consume()]
        return [
            *meets,
            f"and.b32 %r11, {odd}, 1; setp.ne.u32 %p2, %r11, 0; @%p2 bra ODD;",
            *producing,
            *self._some(),
            "bra DONE;",
            "ODD:",
            *consuming,
            *self._some(),
            "DONE:",
            *meets,
        ]


def turn_kernel(seed: int) -> KernelTest:
    """A kernel of 2 to 4 threads."""
    writer = Writer(seed)
    lines = writer.lines()
    grid, block = writer.grid, writer.block
    out = f"mad.lo.u32 %r10, %r1, {block}, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    text = "\n ".join([_HEAD, *lines, out, f"st.global.u32 [%rd2+{4 * FOUND}], %r3; ret;", "}"])
    observed = [DATA, DATA + 1, FLAGS, FLAGS + 1, COUNTERS, COUNTERS + 1, *range(FOUND, FOUND + grid * block)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": [0]}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
