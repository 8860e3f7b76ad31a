"""Small kernels whose CTAs take tickets in rounds that wait for what rounds before them have done; many are wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from generated_ticket_rounds import TICKETS, round_kernel

from ptxmm.kernels.test import KernelTest

#: The flag of the round before; flags and counters are words of `c` behind the one from which tickets are taken.
FLAG = "mul.wide.u32 %rd5, %t0, 4; add.u64 %rd5, %rd5, %rd3;"
#: A poll of the round before, by the address of its flag (that of the first one is behind the tickets' counter).
_POLLS = {
    "acquire": "ld.acquire.gpu.global.u32 %r5, {at};",
    "relaxed": "ld.relaxed.gpu.global.u32 %r5, {at};",
    "cta": "ld.acquire.cta.global.u32 %r5, {at};",
    "fence": "ld.relaxed.gpu.global.u32 %r5, {at};",
    "inner fence": "ld.relaxed.gpu.global.u32 %r5, {at}; fence.acq_rel.gpu;",
    "system": "ld.acquire.sys.global.u32 %r5, {at};",
}
_BEHIND = {"fence": "fence.acq_rel.gpu;"}
_SIGNALS = {
    "release": ("", "st.release.gpu.global.u32 {at}, {put};"),
    "add": ("", "red.release.gpu.global.add.u32 {at}, {put};"),
    "fence": ("fence.acq_rel.gpu;", "st.relaxed.gpu.global.u32 {at}, {put};"),
    "fence, add": ("fence.acq_rel.gpu;", "red.relaxed.gpu.global.add.u32 {at}, {put};"),
    "threadfence": ("fence.sc.gpu;", "red.relaxed.gpu.global.add.u32 {at}, {put};"),
    "relaxed": ("", "st.relaxed.gpu.global.u32 {at}, {put};"),
    "relaxed add": ("", "red.relaxed.gpu.global.add.u32 {at}, {put};"),
    "cta": ("", "red.release.cta.global.add.u32 {at}, {put};"),
    "narrow fence": ("fence.acq_rel.cta;", "st.relaxed.gpu.global.u32 {at}, {put};"),
    "weak": ("", "st.global.u32 {at}, {put};"),
}
#: What leads a wait on: by the ticket, in `%t0`.
_UNTIL = {
    "set": "setp.eq.u32 %p5, %r5, 0;",
    "ticket": "setp.lt.u32 %p5, %r5, %t0;",
    "just so": "setp.ne.u32 %p5, %r5, %t0;",
    "early": "setp.eq.u32 %p5, %r5, 0;",
    "all": "setp.lt.u32 %p5, %r5, {tickets};",
}
READ = "ld.global.u32 %r6, [%rd6];"
WRITE = "st.global.u32 [%rd4], %r6;"
#: More that a round does before it waits, between, and behind its signal.
_MORE = (
    "", "", "", "st.global.u32 [%rd4+32], %t0;", "fence.acq_rel.gpu;", "st.shared.u32 [s+8], %t0;",
    "red.relaxed.gpu.global.add.u32 [%rd1+60], 1;", "ld.global.u32 %r10, [%rd1+40]; st.global.u32 [%rd4+32], %r10;",
    "@%p2 st.global.u32 [%rd1+40], %t0;", "add.u32 %r9, %r9, 1; st.global.u32 [%rd4+32], %r9;",
    "mov.u32 %r10, %r5; st.global.u32 [%rd4+32], %r10;",
)  # fmt: skip
#: What workers do before their first round, and in the last one.
_BEFORE = ("", "", "bar.sync 0;", "st.global.u32 [%rd1+40], 1;", "@%p2 st.relaxed.gpu.global.u32 [%rd3+4], 1;")
_AFTER = ("", "", "", "@%p2 st.global.u32 [%rd3+4], 0;", "@%p2 red.relaxed.gpu.global.add.u32 [%rd3+4], 1;")


def waiting_round(
    poll: str = "acquire", signal: str = "release", until: str = "set", *, counter: bool = False, put: str = "1",
    bars: tuple[str, str] = ("bar.sync 0;", "bar.sync 0;"), more: tuple[str, str, str] = ("", "", ""), first: bool = False,
    tickets: int = TICKETS, later: bool = False, work: str = f"{READ} {WRITE}",
) -> str:  # fmt: skip
    """What a round does: waits for the round before it, reads what that wrote, writes its own and signals. `counter`: all
    rounds signal by one word; `first`: the first round waits, too; `later`: each waits for the next one."""
    at, own = ("[%rd3+4]", "[%rd3+4]") if counter else ("[%rd5+4]" if later else "[%rd5]", "[%rd5+4]")
    before, by = _SIGNALS[signal]
    return " ".join((
        FLAG, "mul.wide.u32 %rd6, %r3, 4; sub.u64 %rd6, %rd4, %rd6; mov.u32 %r6, 7; mov.u32 %r5, 0;", more[0],
        "setp.ne.u32 %p4, %r2, 0; @%p4 bra GOT;", "" if first else "setp.eq.u32 %p4, %t0, 0; @%p4 bra GOT;",
        f"POLL: {_POLLS[poll].format(at=at)} {_UNTIL[until].format(tickets=tickets)} @%p5 bra POLL; {_BEHIND.get(poll, '')}",
        f"GOT: {bars[0]} setp.eq.u32 %p4, %t0, 0; @%p4 bra FIRST; {work.partition(';')[0]};",
        f"FIRST: {more[1]} {work.partition(';')[2]} {bars[1]} setp.ne.u32 %p4, %r2, 0; @%p4 bra DONE;",
        f"{before} {by.format(at=own, put=put)} DONE: {more[2]}",
    ))  # fmt: skip


def generated(seed: int) -> KernelTest:
    """A kernel of two CTAs, mostly of one thread: one that is right but for up to two changes."""
    choose = random.Random(seed)
    counter, tickets = choose.random() < 0.5, choose.choice((2, 2, 2, 3))
    how: dict[str, Any] = {
        "poll": choose.choice(("acquire", "fence")), "until": choose.choice(("ticket", "just so")) if counter else "set",
        "signal": choose.choice(("add", "fence, add", "threadfence") if counter else ("release", "fence", "add")),
    }  # fmt: skip
    changes: dict[str, Sequence[Any]] = {
        "poll": [*_POLLS], "signal": [*_SIGNALS], "until": [*_UNTIL], "put": ["2"], "first": [True], "later": [True],
        "bars": (("", "bar.sync 0;"), ("bar.sync 0;", "")), "more": [(a, b, c) for a in _MORE for b in _MORE for c in _MORE],
    }  # fmt: skip
    around: dict[str, Sequence[Any]] = {"before": _BEFORE, "after": _AFTER, "seal": ("",), "block": (2,)}
    kernel: dict[str, Any] = {"block": 1}
    for _ in range(choose.choice((0, 1, 1, 1, 2, 2))):
        name = choose.choice([*changes, *around, "more", "more"])
        of, into = (changes, how) if name in changes else (around, kernel)
        into[name] = choose.choice(of[name])
    return round_kernel(waiting_round(counter=counter, tickets=tickets, **how), tickets=tickets, **kernel)
