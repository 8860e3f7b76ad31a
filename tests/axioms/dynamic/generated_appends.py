"""Random kernels whose threads find a key in a table, or a place for one, and append something by a ticket, right or wrong."""

from __future__ import annotations

from generated_searches import KEYS, OWN, WORDS, Writer

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out)
{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd5, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r4, %ntid.x;
 mad.lo.u32 %r4, %r1, %r4, %r2; setp.eq.u32 %p1, %r4, 0; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
 add.u32 %r5, %r4, 1; mov.u32 %r3, 0; and.b32 %r6, %r4, 1;
"""
#: Words of what is appended to: two counters, and places behind them.
_COUNTS, _PLACES, _LENGTH = 2, 2, 18


class AppendWriter(Writer):
    """Writes what the threads do: they look for keys, and append."""

    def append(self) -> list[str]:
        """A ticket, and stores at its place."""
        choose = self.choose
        size = choose.choice((1, 1, 1, 2))
        count = choose.choice((0, 0, 0, 1))
        scope = choose.choice((".relaxed.gpu", ".relaxed.gpu", "", ".acq_rel.sys", ".relaxed.cta"))
        taken = choose.choice((size, size, size, size, 1, 2))
        how = choose.choice(("", "", "", "", "", ".relaxed.gpu"))
        lines = [f"atom{scope}.global.add.u32 %r10, [%rd5+{4 * count}], {taken};"]
        if self._often(0.1):
            lines.append(f"and.b32 %r10, %r10, {choose.choice((1, 7))};")
        end = self._label()
        if self._often(0.15):
            lines.append(f"setp.ge.u32 %p4, %r10, {choose.choice((1, 4, 8))}; @%p4 bra {end};")
        lines.append(
            f"mul.wide.u32 %rd6, %r10, {choose.choice((4 * size // taken or 4, 4, 8))}; add.u64 %rd6, %rd6, %rd5;"
        )
        first = 4 * (_PLACES + choose.choice((0, 0, 0, 1)))
        value = choose.choice(("%r5", "7", "%r10"))
        lines.append(f"st{how}.global.u32 [%rd6+{first}], {value};")
        if size == 2 or self._often(0.1):
            lines.append(f"st.global.u32 [%rd6+{first + 4}], %r5;")
        return [*lines, f"{end}:"]

    def _put(self) -> list[str]:
        """A key into a table; who has found a place appends, or everybody does."""
        again, found, end = self._label(), self._label(), self._label()
        also = self._often(0.3)
        return [
            self._begins(),
            f"{again}: {self._at(KEYS)}",
            f"atom.global.cas.b32 %r8, [%rd2], 0, {self.key};",
            f"setp.eq.u32 %p2, %r8, 0; @%p2 bra {found};",
            f"setp.eq.u32 %p3, %r8, {self.key}; @%p3 bra {found if also else end};",
            f"add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {self.slots - 1}; bra {again};",
            f"{found}: ",
            *(self.append() if self._often(0.8) else []),
            f"{end}:",
        ]

    def _find(self) -> list[str]:
        again, found, end = self._label(), self._label(), self._label()
        return [
            self._begins(),
            f"{again}: {self._at(KEYS)}",
            "ld.global.u32 %r8, [%rd2];",
            f"setp.eq.u32 %p2, %r8, {self.key}; @%p2 bra {found};",
            f"setp.eq.u32 %p3, %r8, 0; @%p3 bra {end};",
            f"add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {self.slots - 1}; bra {again};",
            f"{found}:",
            *self.append(),
            f"{end}:",
        ]

    def _reads(self) -> list[str]:
        word = self.choose.choice((0, 0, 1, _PLACES, _PLACES + 1))
        use = self.choose.choice(
            ("st.global.u32 [%rd4+80], %r8;", f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * OWN}], %r8;")
        )
        return [f"ld.global.u32 %r8, [%rd5+{4 * word}];", use]

    def lines(self) -> list[str]:
        found = []
        if self._often(0.1):
            found += [f"@%p1 st.global.u32 [%rd5+{4 * self.choose.choice((0, _PLACES))}], 1;"]
            found += self.meet() if self._often(0.7) else []
        found += self._put()
        if self._often(0.6):
            found += [*(self.meet() if self._often(0.85) else []), *self._find()]
        if self._often(0.35):
            found += [*(self.meet() if self._often(0.8) else []), *self._reads()]
        return found


def append_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    writer = AppendWriter(seed)
    lines = writer.lines()
    text = "\n ".join([_HEAD, *lines, "ret;", "}"])
    observed = [f"x[{i}]" for i in (*range(KEYS, KEYS + 4), *range(OWN, OWN + writer.grid * writer.block))]
    observed += [f"out[{i}]" for i in range(_COUNTS + 8)]
    start = [0] * WORDS
    if writer._often(0.15):
        start[KEYS + writer.choose.randrange(2)] = writer.choose.choice((1, 2, 8))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": writer.block,
        "params": {
            "x": {"type": "u32", "elements": WORDS, "init": start},
            "out": {"type": "u32", "elements": _LENGTH, "init": [0, writer.choose.choice((0, 0, 3))]},
        },
        "check": {"forall": " && ".join(f"{o} < 4294967295" for o in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
