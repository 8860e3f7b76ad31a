"""Random kernels of two threads a CTA that have tickets together, and hand over to other CTAs by flags, rightly or not."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b32 %t<4>; .reg .b64 %rd<8>; .shared .align 4 .b8 s[16];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %t0, 0;
 setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; xor.b32 %r12, %r2, 1;
"""
#: Words of the buffer: what is handed over, flags, counters, a sum, and what each thread found.
DATA, FLAGS, COUNTERS, SUM, FOUND, WORDS = 0, 16, 24, 28, 32, 48


class SharingWriter:
    """Writes what CTAs do: those of even numbers produce, the others consume."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid = self.choose.choice((2, 2, 2, 3))
        self.ring = self.choose.choice((2, 2, 4))
        #: How likely something is wrong.
        self.wrong = self.choose.choice((0.0, 0.0, 0.05, 0.1))
        self.waits = self.ring < 4 or self.choose.random() < 0.2
        self.fenced = self.choose.random() < 0.25
        self.adds = self.choose.random() < 0.6
        self.labels = 0

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _scope(self) -> str:
        return "cta" if self._often(self.wrong / 2) else self.choose.choice(("gpu", "gpu", "sys"))

    def _lane(self) -> str:
        return self.choose.choice(("%p1", "%p1", "%p2"))

    def _meet(self, *, orders: bool = True) -> list[str]:
        if orders and self._often(self.wrong):
            return self.choose.choice(([], ["shfl.sync.idx.b32 %r13, %r2, 0, 31, 3;"]))
        return [self.choose.choice(("bar.warp.sync 3;", "bar.sync 0;"))]

    def _fence(self, sem: str) -> list[str]:
        if not self.fenced or self._often(self.wrong):
            return []
        return [f"fence.{self.choose.choice(('acq_rel', 'sc', sem))}.{self._scope()};"]

    def _take(self, counter: int) -> list[str]:
        """%t0 = the ticket of both; %r4 = its place, %r5 = twice how often the ring was full before it."""
        taker = self._lane()
        number = int(taker == "%p2")
        take = f"@{taker} atom.relaxed.{self._scope()}.global.add.u32 %t0, [%rd1+{4 * (COUNTERS + counter)}], 1;"
        shift = self.ring.bit_length() - 1
        if self._often(0.6):
            hand = [f"shfl.sync.idx.b32 %t0, %t0, {number}, 31, 3;"]
        else:
            hand = [
                f"@{taker} st.shared.u32 [s+{4 * counter}], %t0;",
                *self._meet(),
                f"ld.shared.u32 %t0, [s+{4 * counter}];",
            ]
            hand += self._meet() if self._often(0.5) else []
        return [
            take, *hand,
            f"and.b32 %r4, %t0, {self.ring - 1}; shr.u32 %r5, %t0, {shift}; shl.b32 %r5, %r5, 1;",
            "mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd2, %rd1; mul.wide.u32 %rd3, %r4, 8; add.u64 %rd3, %rd3, %rd1;",
            "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd4, %rd3; mul.wide.u32 %rd5, %r12, 4; add.u64 %rd5, %rd5, %rd3;",
        ]  # fmt: skip

    def _wait(self, more: int) -> list[str]:
        """One of the threads waits, or both do."""
        if self._often(self.wrong):
            return []
        self.labels += 1
        label, sem = f"L{self.labels}", "relaxed" if self.fenced or self._often(self.wrong) else "acquire"
        who = self.choose.choice(("%p1", "%p1", "%p2", ""))
        skip = [f"@!{who} bra {label}_;"] if who else []
        return [
            f"add.u32 %r7, %r5, {more};", *skip,
            f"{label}: ld.{sem}.{self._scope()}.global.u32 %r8, [%rd2+{4 * FLAGS}];",
            f"setp.ne.u32 %p3, %r8, %r7; @%p3 bra {label};",
            *self._fence("acquire"),
            f"{label}_:",
            *(self._meet() if who or self._often(0.5) else []),
        ]  # fmt: skip

    def _post(self, more: int) -> list[str]:
        if self._often(self.wrong / 2):
            return []
        sem = "relaxed" if self.fenced or self._often(self.wrong) else "release"
        fence = self._fence("release")
        meet = self._meet()
        before = [*fence, *meet] if fence and self._often(0.3) else [*meet, *fence]
        return [
            *before, f"add.u32 %r9, %r5, {more};",
            f"@{self._lane()} st.{sem}.{self._scope()}.global.u32 [%rd2+{4 * FLAGS}], %r9;",
        ]  # fmt: skip

    def produce(self) -> list[str]:
        who = self.choose.choice(("", "", "@%p1 "))
        put = [
            "shl.b32 %r10, %r1, 1; add.u32 %r10, %r10, %r2; add.u32 %r10, %r10, 5;",
            f"{who}st.global.u32 [%rd4], %r10;",
        ]
        put += [f"{who}st.global.u32 [%rd5], %r10;"] if who else []
        wait = self._wait(0) if self.waits else []
        post = self._post(1)
        rest = [*post, *put] if self._often(self.wrong / 2) else [*put, *post]
        return [*self._take(0), *wait, *rest]

    def consume(self) -> list[str]:
        at = self.choose.choice(("%rd4", "%rd4", "%rd5"))
        get = [f"ld.global.u32 %r10, [{at}];"]
        get += (
            [f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * SUM}], %r10;"]
            if self.adds
            else ["mad.lo.u32 %r3, %r3, 3, %r10;"]
        )
        post = self._post(2) if self.waits else []
        rest = [*post, *get] if self._often(self.wrong / 2) else [*get, *post]
        return [*self._take(1), *self._wait(1), *rest]

    def lines(self) -> list[str]:
        between = self._meet(orders=False) if self._often(0.5) else []
        times = self.choose.choice((1, 1, 1, 2, 3)) if self.grid == 2 else 1  # a ring of two is full, or empty again
        if self._often(0.15):  # all do both
            both = [*self.produce(), *between, *self.consume()]
            return both
        producing = [line for _ in range(times) for line in (*self.produce(), *between)]
        consuming = [line for _ in range(times) for line in (*self.consume(), *between)]
        odd = "and.b32 %r11, %r1, 1; setp.ne.u32 %p4, %r11, 0; @%p4 bra ODD;"
        return [odd, *producing, "bra DONE;", "ODD:", *consuming, "DONE:", *between]


def shared_turn_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 CTAs of two threads."""
    writer = SharingWriter(seed)
    lines = writer.lines()
    out = "shl.b32 %r10, %r1, 1; add.u32 %r10, %r10, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    text = "\n ".join([_HEAD, *lines, out, f"st.global.u32 [%rd2+{4 * FOUND}], %r3; ret;", "}"])
    observed = [DATA, DATA + 1, FLAGS, COUNTERS, COUNTERS + 1, SUM, *range(FOUND, FOUND + 2 * writer.grid)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": 2,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": [0]}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
