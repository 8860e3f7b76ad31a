"""Generated kernels that look at a phase of an mbarrier object once before they wait for it, in a CTA or over a cluster.

What the look takes in, how far, of which phase and object, and what is done with its answer are drawn; some are right.
"""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p0, %tok, %q, %p1; .reg .b32 %r<16>; .reg .b64 %rd<4>; .shared .align 8 .b64 m[2]; .shared .align 4 .b32 s[2];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r9, 0; mov.u32 %r7, m;
"""
_OUT = 16


class _Way:
    """How a kernel is made: right, or with mistakes in some of it."""

    def __init__(self, choose: random.Random, wide: bool) -> None:
        self.choose, self.wide = choose, wide
        self.wrong = choose.choice((0.0, 0.1, 0.3))

    def wrongly(self) -> bool:
        return self.choose.random() < self.wrong

    def scope(self) -> str:
        enough = ("cluster",) if self.wide else ("cta", "cta", "cluster")
        return "cta" if self.wrongly() else self.choose.choice(enough)

    def sem(self, right: str) -> str:
        return "relaxed" if self.wrongly() else right


def _wait(way: _Way, at: int, parity: int, out: str) -> str:
    how = way.choose.choice(("try_wait", "try_wait", "test_wait"))
    return f"mbarrier.{how}.parity.{way.sem('acquire')}.{way.scope()}.shared::cta.b64 {out}, [%r7+{at}], {parity};"


def _written(way: _Way, number: int) -> str:
    """Data that one thread hands over, in global memory or in that of the other's CTA."""
    place = f"[%rd1+{4 * number}]"
    return f"st.global.u32 {place}, {number + 5};"


def _arrives(way: _Way, at: int) -> str:
    fence = f"fence.acq_rel.{way.scope()}; " if way.choose.random() < 0.2 else ""
    sem = "relaxed" if fence else way.sem("release")
    if not way.wide:
        return f"{fence}mbarrier.arrive.{sem}.{way.scope()}.shared.b64 _, [m+{at}];"
    return f"{fence}mbarrier.arrive.{sem}.{way.scope()}.shared::cluster.b64 _, [%r8+{at}];"


def _round(way: _Way, number: int, at: int, parity: int) -> str:
    """Looks, does something else, waits where the answer was no, and reads."""
    other = way.choose.random() < way.wrong / 3
    looked = _wait(way, at ^ 8 if other else at, parity ^ (way.choose.random() < way.wrong / 3), "%tok")
    between = way.choose.choice(("", "mul.lo.u32 %r10, %r2, 3;", "selp.u32 %r10, 1, 0, %tok;"))
    between += " mad.lo.u32 %r9, %r9, 2, %r10;" * (way.choose.random() < way.wrong / 3 and "%tok" in between)
    again = (
        f"A{number}: {_wait(way, at, parity, '%q')} @!%q bra A{number};"
        if not (way.wrongly() and way.wrongly())
        else ""
    )
    read = f"ld.global.u32 %r4, [%rd1+{4 * number}]; mad.lo.u32 %r9, %r9, 5, %r4;"
    early = read if way.choose.random() < way.wrong / 4 else ""
    return f"{looked} {between} {early} @%tok bra R{number}; {again} R{number}: {read}"


def kernel(seed: int) -> KernelTest:
    """One thread writes and arrives, round after round; the others look, wait and read."""
    choose = random.Random(seed)
    wide = choose.random() < 0.4
    way = _Way(choose, wide)
    block = 1 if wide else choose.choice((2, 2, 3))
    rounds, one = choose.choice((1, 1, 2)), choose.random() < 0.4
    places = [(0, n & 1) if one else (8 * n, 0) for n in range(rounds)]
    made = "mbarrier.init.shared.b64 [m], 1; mbarrier.init.shared.b64 [m+8], 1;"
    writes, reads = [], []
    for n, (at, parity) in enumerate(places):
        writes += [*[_written(way, n)] * (not way.wrongly() or n == 0), _arrives(way, at)]
        if one and n + 1 < rounds:  # the object is used again only when all have read
            writes.append("barrier.cluster.arrive; barrier.cluster.wait;" if wide else "bar.sync 0;")
        reads.append(_round(way, n, at, parity))
        if one and n + 1 < rounds:
            reads.append("barrier.cluster.arrive; barrier.cluster.wait;" if wide else "bar.sync 0;")
    meet = "barrier.cluster.arrive; barrier.cluster.wait;" if wide else "bar.sync 0;"
    who = "%r1" if wide else "%r2"
    writer = choose.choice((0, 1))
    lines = [
        f"setp.ne.u32 %p0, {who}, {writer};",
        f"@{'' if wide else '!'}%p0 bra I; bra J;\nI: {made}\nJ: {meet}",
        f"mov.u32 %r8, m; mapa.shared::cluster.u32 %r8, %r8, {1 - writer};" if wide else "",
        "@%p0 bra READ;", *writes, "bra END;\nREAD:", *reads, "END:",
        f"mad.lo.u32 %r3, %r1, {block}, %r2; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd2, %rd1;",
        f"st.global.u32 [%rd2+{4 * _OUT}], %r9; {meet if wide else ''} ret;", "}",
    ]  # fmt: skip
    ctas = 2 if wide else 1
    wanted = " && ".join(f"x[{_OUT + t}] < {choose.choice((100, 100, 5))}" for t in range(ctas * block))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": ctas, "block": block, **({"cluster": 2} if wide else {}),
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *filter(None, lines)])}).test()
