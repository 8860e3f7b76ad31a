"""Random kernels in which whoever claims a key writes something beside it and tells so by a flag, for which others wait, right
or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r4, %ntid.x;
 mad.lo.u32 %r4, %r1, %r4, %r2; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1; mov.u32 %r3, 0;
"""
#: Words of the buffer: keys, what is beside them, flags, what threads found.
KEYS, VALUES, FLAGS, OWN, WORDS = 0, 2, 4, 8, 12


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (1, 2), (3, 1)))
        #: How likely something is wrong.
        self.wrong = self.choose.choice((0.0, 0.0, 0.06, 0.12))
        self.fenced = self._often(0.4)

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _scope(self) -> str:
        return "cta" if self._often(self.wrong) else self.choose.choice(("gpu", "gpu", "sys"))

    def _fence(self, sem: str) -> list[str]:
        if not self.fenced or self._often(self.wrong):
            return []
        return [f"fence.{self.choose.choice(('acq_rel', 'sc', sem))}.{self._scope()};"]

    def _sem(self, sem: str) -> str:
        return "relaxed" if self.fenced or self._often(self.wrong) else sem

    def _tell(self) -> list[str]:
        """Who has won."""
        choose = self.choose
        value = choose.choice(("7", "%r5", "%r4"))
        put = [f"st.global.u32 [%rd2+{4 * VALUES}], {value};"]
        flag = choose.choice(("1", "1", "%r5"))
        how = "st.global" if self._often(self.wrong / 2) else f"st.{self._sem('release')}.{self._scope()}.global"
        tells = [*self._fence("release"), f"{how}.u32 [%rd2+{4 * FLAGS}], {flag};"]
        if self._often(self.wrong):
            tells = [] if self._often(0.3) else [*tells, f"{how}.u32 [%rd2+{4 * FLAGS}], 2;"]
        lines = [*tells, *put] if self._often(self.wrong) else [*put, *tells]
        if self._often(self.wrong / 2):
            lines += [f"ld.global.u32 %r9, [%rd2+{4 * VALUES}]; add.u32 %r3, %r3, %r9;", *put]
        elif self._often(0.3):
            lines += [f"ld.global.u32 %r9, [%rd2+{4 * VALUES}]; add.u32 %r3, %r3, %r9;"]
        return lines

    def _hear(self) -> list[str]:
        """Who has found that others have claimed the key."""
        beside = 4 if self._often(self.wrong) else 0
        poll = f"W: ld.{self._sem('acquire')}.{self._scope()}.global.u32 %r9, [%rd2+{4 * FLAGS + beside}];"
        test = self.choose.choice(("eq.u32 %p4, %r9, 0",) * 3 + ("ne.u32 %p4, %r9, 1", "lt.u32 %p4, %r9, 1"))
        wait = [poll, f"setp.{test}; @%p4 bra W;", *self._fence("acquire")]
        if self._often(self.wrong):
            wait = []
        elif self._often(0.15):  # it looks once
            wait = [poll, f"setp.{test}; @%p4 bra END;", *self._fence("acquire")]
        use = [f"ld.global.u32 %r9, [%rd2+{4 * VALUES}]; add.u32 %r3, %r3, %r9;"]
        if self._often(self.wrong):
            use += [f"st.global.u32 [%rd2+{4 * VALUES}], 9;"]
        return [*use, *wait] if self._often(self.wrong) else [*wait, *use]

    def lines(self) -> list[str]:
        choose = self.choose
        key = choose.choice(("mov.u32 %r5, 1;", "mov.u32 %r5, 1;", "shr.u32 %r5, %r4, 1; add.u32 %r5, %r5, 1;"))
        slots = choose.choice((1, 2, 2))
        passes = "bra END;" if slots == 1 else f"add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {slots - 1}; bra AGAIN;"
        how = choose.choice(("", "", ".relaxed.gpu", ".acq_rel.gpu", ".acquire.gpu"))
        return [
            f"{key} and.b32 %r7, %r5, {slots - 1};",
            "AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1;",
            f"atom{how}.global.cas.b32 %r8, [%rd2], 0, %r5;",
            "setp.eq.u32 %p2, %r8, 0; @%p2 bra WON; setp.eq.u32 %p3, %r8, %r5; @%p3 bra LOST;",
            passes,
            "WON:",
            *self._tell(),
            "bra END;",
            "LOST:",
            *self._hear(),
            "bra END;",
        ]


def told_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    writer = Writer(seed)
    text = "\n ".join([_HEAD, *writer.lines(), "END:", f"st.global.u32 [%rd4+{4 * OWN}], %r3; ret;", "}"])
    observed = [*range(OWN), *range(OWN, OWN + writer.grid * writer.block)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": writer.block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": [0]}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
