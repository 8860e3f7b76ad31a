"""Generated kernels in which threads meet in rounds, by a counter that the last one sets back and a flag that turns over."""

from __future__ import annotations

import random
from collections.abc import Callable

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;
 mad.lo.u32 %r10, %r1, {block}, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;
 sub.u32 %r11, {last}, %r10; mul.wide.u32 %rd3, %r11, 4; add.u64 %rd3, %rd3, %rd1;
"""
#: Bytes of the buffer: the counter, the flag, a word of each thread's data, and what each has found.
_COUNT, _FLAG, _DATA, _OUT = 0, 4, 32, 64


class _Way:
    """How a kernel meets: right, or with a mistake in some of it."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.fence = choose.choice(("fence.acq_rel.gpu;", "fence.sc.gpu;"))
        self.wrong = choose.choice((0.0, 0.0, 0.1, 0.25))

    def mistaken(self) -> bool:
        return self.choose.random() < self.wrong

    def fenced(self) -> list[str]:
        return [] if self.mistaken() else [self.fence.replace("gpu", "cta") if self.mistaken() else self.fence]


def _round(way: _Way, number: int, threads: int) -> list[str]:
    """The threads meet once."""
    choose, turned = way.choose, str((number + 1) & 1)
    sem = choose.choice(("relaxed", "relaxed", "acq_rel"))
    last = threads - 1 - way.mistaken()
    operation, wraps = f"add.u32 %r5, [%rd1+{_COUNT}], 1", choose.random() < 0.4
    if wraps:  # to where it began
        operation = f"inc.u32 %r5, [%rd1+{_COUNT}], {threads - 1 + way.mistaken()}"
    back = [f"st.{choose.choice(('relaxed.gpu', 'weak', 'release.gpu'))}.global.u32 [%rd1+{_COUNT}], 0;"]
    if choose.random() < 0.2:
        back = [f"atom.relaxed.gpu.global.exch.b32 %r9, [%rd1+{_COUNT}], 0;"]
    back = [] if way.mistaken() or wraps else back
    reads = choose.random() < 0.3  # which way the flag turns
    asked = [f"ld.relaxed.gpu.global.u32 %r7, [%rd1+{_FLAG}]; xor.b32 %r7, %r7, 1;"] * reads
    early = [] if way.mistaken() else asked
    turned = "%r7" if reads else turned
    turn = f"st.{choose.choice(('relaxed', 'release'))}.gpu.global.u32 [%rd1+{_FLAG}], {turned};"
    behind = [turn, *way.fenced(), *back] if way.mistaken() else [*back, *way.fenced(), turn]
    look = "relaxed.cta" if way.mistaken() else choose.choice(("relaxed.gpu", "acquire.gpu"))
    return [
        *early, *way.fenced(), *(asked if asked != early else []), f"atom.{sem}.gpu.global.{operation};",
        f"setp.ne.u32 %p1, %r5, {last}; @%p1 bra WAIT{number};",
        *(way.fenced() if choose.random() < 0.3 else []), *behind, f"bra MET{number};",
        f"WAIT{number}: ld.{look}.global.u32 %r6, [%rd1+{_FLAG}]; setp.ne.u32 %p2, %r6, {turned}; @%p2 bra WAIT{number};",
        f"MET{number}:", *way.fenced(),
    ]  # fmt: skip


def kernel(seed: int) -> KernelTest:
    """Threads that write, meet, and read what another one has written."""
    choose = random.Random(seed)
    way = _Way(choose)
    grid, block, rounds = choose.choice(((2, 1, 1), (2, 1, 2), (2, 1, 2), (3, 1, 1), (1, 2, 2)))
    return _meeting(way, grid, block, rounds, _round)


def _meeting(way: _Way, grid: int, block: int, rounds: int, meet: Callable[[_Way, int, int], list[str]]) -> KernelTest:
    """Threads that meet in such a way."""
    choose, threads, lines = way.choose, grid * block, list[str]()
    for number in range(rounds):
        lines += [f"add.u32 %r3, %r3, 1; st.global.u32 [%rd2+{_DATA}], %r3;"] * (number == 0 or choose.random() < 0.4)
        lines += meet(way, number, threads)
        lines += [f"ld.global.u32 %r4, [%rd3+{_DATA}]; mad.lo.u32 %r3, %r3, 5, %r4;"] * (choose.random() < 0.8)
    text = "\n ".join(
        [
            _HEAD.replace("{block}", str(block)).replace("{last}", str(threads - 1)),
            *lines,
            f"st.global.u32 [%rd2+{_OUT}], %r3; ret;",
            "}",
        ]
    )
    wanted = [f"x[{_OUT // 4 + t}] < {choose.choice((1000, 1000, 7))}" for t in range(threads)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": " && ".join([*wanted, "x[0] < 9", "x[1] < 9", "x[2] < 9"]), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _generation(way: _Way, number: int, threads: int) -> list[str]:
    """The threads meet once: who waits, waits for another generation than that which it saw, and the last one bumps it."""
    choose = way.choose
    seen = f"ld.{choose.choice(('relaxed', 'relaxed', 'acquire'))}.gpu.global.u32 %r7, [%rd1+{_FLAG}]; add.u32 %r8, %r7, 1;"
    early = way.mistaken()
    arrives = choose.choice(("relaxed", "acquire", "release")) if way.mistaken() else "acq_rel"
    last = threads - 1 - way.mistaken()
    back = choose.choice(("st.relaxed.gpu", "st.relaxed.gpu", "st.weak", "st.release.gpu"))
    back = f"{back}.global.u32 [%rd1+{_COUNT}], 0;"
    if choose.random() < 0.2:
        back = f"atom.relaxed.gpu.global.exch.b32 %r9, [%rd1+{_COUNT}], 0;"
    releases = "relaxed" if way.mistaken() else "release"
    bump = choose.choice(
        (
            f"st.{releases}.gpu.global.u32 [%rd1+{_FLAG}], %r8;",
            f"red.{releases}.gpu.global.add.u32 [%rd1+{_FLAG}], 1;",
            f"atom.{releases}.gpu.global.add.u32 %r9, [%rd1+{_FLAG}], 1;",
        )
    )
    duty = choose.choice(("", "", "1", "%r10")) if choose.random() < 0.4 else ""
    duty = f"red.relaxed.gpu.global.add.u32 [%rd1+8], {duty};" if duty else ""
    behind = [bump, duty, back] if way.mistaken() else [duty, back, bump]
    spin = choose.choice(("relaxed.gpu", "acquire.cta")) if way.mistaken() else "acquire.gpu"
    arrival = f"atom.{arrives}.gpu.global.add.u32 %r5, [%rd1+{_COUNT}], 1;"
    return [
        *([arrival, seen] if early else [seen, arrival]),
        f"setp.ne.u32 %p1, %r5, {last}; @%p1 bra WAIT{number};", *(b for b in behind if b), f"bra MET{number};",
        f"WAIT{number}: ld.{spin}.global.u32 %r6, [%rd1+{_FLAG}]; setp.eq.u32 %p2, %r6, %r7; @%p2 bra WAIT{number};",
        f"MET{number}:",
    ]  # fmt: skip


def generations(seed: int) -> KernelTest:
    """Threads that meet without fences: they acquire and release by what they arrive with, and wait for a generation."""
    choose = random.Random(seed)
    way = _Way(choose)
    grid, block, rounds = choose.choice(((2, 1, 1), (2, 1, 2), (2, 1, 2), (2, 1, 3), (3, 1, 1), (1, 2, 2)))
    return _meeting(way, grid, block, rounds, _generation)
