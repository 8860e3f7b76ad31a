"""Small kernels whose CTAs or threads fetch the next ticket while they do a round; some are wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: Words of data; from the last ones on, one that all add to.
WORDS, SUM = 16, 15
_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[64];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 0; mov.u32 %r7, s;
"""
_PLACE = "mad.lo.u32 %r4, %t0, %r3, %r2; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;"
_TAKE = "@%p2 atom.relaxed.gpu.global.add.u32 %t1, [%rd3], 1;"
_SLOT = "shl.b32 %r8, %r9, 2; add.u32 %r8, %r8, %r7;"


def early_kernel(
    work: str, *, begin: str = "ticket", slots: bool = True, take: str = _TAKE, turn: str = "xor.b32 %r9, %r9, 1;",
    bars: tuple[str, str, str] = ("bar.sync 0;", "bar.sync 0;", ""), rotated: bool = False, block: int = 2, tickets: int = 2,
    grid: int = 2, before: str = "", words: int = WORDS,
) -> KernelTest:  # fmt: skip
    """A kernel that takes a ticket and does `work` with the one before, with the address of its own word in `%rd4`. `begin`:
    the first one is a ticket, or the number of the CTA, from which tickets count on then; `slots`: by turns in one of two
    slots; `bars`: behind the first ticket, behind the work, and behind the next one is read; `rotated`: a loop that asks at its
    end."""
    ends = f"setp.ge.u32 %p3, %t0, {tickets};"
    count = "" if begin == "ticket" else f"@%p2 add.u32 %t1, %t1, {grid};"
    first = (
        f"{take} @%p2 st.shared.u32 [s], %t1; {bars[0]} ld.shared.u32 %t0, [s]; {'mov.u32 %r9, 1;' if slots else ''}"
        if begin == "ticket"
        else "mov.u32 %t0, %r1;"
    )
    round_ = [
        _SLOT, take, count, "@%p2 st.shared.u32 [%r8], %t1;", _PLACE, work, bars[1], "ld.shared.u32 %t0, [%r8];", bars[2],
        turn if slots else "",
    ]  # fmt: skip
    lines = [_HEAD, before, first]
    lines += [f"{ends} @%p3 bra END;", "LOOP:", *round_, f"{ends} @!%p3 bra LOOP;"] if rotated else [
        "LOOP:", f"{ends} @%p3 bra END;", *round_, "bra LOOP;",
    ]  # fmt: skip
    return _kernel(lines, grid, block, words)


def _kernel(lines: list[str], grid: int, block: int, words: int = WORDS) -> KernelTest:
    text = "\n ".join([*lines, "END: ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": words, "init": [0]}, "c": {"type": "u32", "elements": 4, "init": [0]},
        },
        "check": {
            "forall": " && ".join(f"x[{i}] < 9999" for i in range(WORDS)) + " && c[0] < 999",
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


#: Sixty-four turns of a loop in which nobody sees anything.
_LONG = """mov.u32 %r5, 200; TURN: sub.u32 %r5, %r5, 1; and.b32 %r12, %r5, 1; setp.eq.u32 %p5, %r12, 0; @%p5 bra EVEN;
 add.u32 %r13, %r13, 1; EVEN: setp.ne.u32 %p4, %r5, 0; @%p4 bra TURN;"""


def first_in_a_register() -> KernelTest:
    """The first round of a CTA writes something else than others do, behind a long loop before which nobody sees anything."""
    fetch = f"{_TAKE} @%p2 st.shared.u32 [s], %t1;"
    return _kernel([
        _HEAD, f"mov.u32 %r10, 1; {fetch} bar.sync 0; ld.shared.u32 %t0, [s];",
        "LOOP: setp.ge.u32 %p3, %t0, 2; @%p3 bra END;",
        f"mov.u32 %r13, 0; {_LONG} {fetch} {_PLACE} st.global.u32 [%rd4], %r10; mov.u32 %r10, 0;",
        "bar.sync 0; ld.shared.u32 %t0, [s]; bar.sync 0; bra LOOP;",
    ], 2, 1)  # fmt: skip


def handed_on_late() -> KernelTest:
    """While one thread of a CTA has begun a round, another one puts its ticket where the round before it says, one of two
    words; in the round it is read where its own ticket says."""
    word = "and.b32 %r10, %r10, 1; shl.b32 %r10, %r10, 2; add.u32 %r10, %r10, %r7;"
    fetch = f"{_TAKE} @%p2 st.shared.u32 [s], %t1; bar.sync 0;"
    wait = """mov.u32 %r15, 6; TURN: add.u32 %r14, %t0, %r15; sub.u32 %r15, %r15, 1; setp.ne.u32 %p5, %r15, 0; @%p5 bra TURN;
 bra PUT; PUT: sub.u32 %r14, %r14, 1;"""
    return _kernel([
        _HEAD, f"@%p2 st.shared.u32 [s+16], 77; @%p2 st.shared.u32 [s+20], 77; bar.sync 0; mov.u32 %r10, %r1; {word} {fetch}",
        "LOOP: ld.shared.u32 %t0, [s]; @%p2 bra LATE; setp.ge.u32 %p3, %t0, 1000; @%p3 bra END; bra MEET;",
        f"LATE: {wait} st.shared.u32 [%r10+16], %r14;",
        f"MEET: bar.sync 0; setp.ge.u32 %p3, %t0, 3; @%p3 bra END; mov.u32 %r10, %t0; {word}",
        f"ld.shared.u32 %r5, [%r10+16]; {_PLACE} st.global.u32 [%rd4], %r5; {fetch} bra LOOP;",
    ], 2, 2)  # fmt: skip


#: What a round may do.
_WORK = (
    "st.global.u32 [%rd4], %t0;",
    "st.global.u32 [%rd4], %t0;",
    "st.global.u32 [%rd4], 7;",
    "ld.global.u32 %r5, [%rd4]; add.u32 %r5, %r5, 3; st.global.u32 [%rd4], %r5;",
    f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * SUM}], %t0;",
    f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * SUM}], %r9;",
    "st.global.u32 [%rd4], %r9;",
    "st.global.u32 [%rd4], %r1;",
    "@%p2 st.global.u32 [%rd4], %t1;",
    "@%p2 st.shared.u32 [s+8], %t0; @%p2 ld.shared.u32 %r5, [s+8]; @%p2 st.global.u32 [%rd4], %r5;",
    "st.shared.u32 [%r8+8], %r2;",
    "ld.shared.u32 %r5, [s+8]; st.global.u32 [%rd4], %r5;",
    "bar.sync 0;",
    "setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd1+44], 3;",
    "setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd4], 3; @!%p4 st.global.u32 [%rd4], 3;",
    "setp.eq.u32 %p4, %t0, 0; @%p4 bra END;",
    "@%p2 setp.eq.u32 %p4, %t1, 1; @%p2 selp.u32 %t1, 5, %t1, %p4;",
)
_BEFORE = ("", "", "st.shared.u32 [s+8], 9;", "st.shared.u32 [s+8], %r1;", "bar.sync 0;")


def generated(seed: int) -> KernelTest:
    """A kernel of two CTAs of one or two threads."""
    choose = random.Random(seed)
    work = " ".join(choose.choice(_WORK) for _ in range(choose.choice((1, 1, 1, 2))))
    bars = tuple(choose.choice(("bar.sync 0;",) * n + ("",)) for n in (6, 6, 1))
    return early_kernel(
        work,
        begin=choose.choice(("ticket", "cta")),
        slots=choose.random() < 0.6,
        turn=choose.choice(("xor.b32 %r9, %r9, 1;",) * 4 + ("",)),
        bars=(bars[0], bars[1], bars[2]),
        rotated=choose.random() < 0.5,
        block=choose.choice((1, 2, 2)),
        tickets=choose.choice((1, 2, 2, 3)),
        before=choose.choice(_BEFORE),
    )
