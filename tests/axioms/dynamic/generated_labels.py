"""Random kernels whose threads spread labels along edges in place, right or wrong: each begins with a strong read."""

from __future__ import annotations

from generated_searches import Writer

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r4, %ntid.x;
 mad.lo.u32 %r4, %r1, %r4, %r2; setp.eq.u32 %p1, %r4, 0; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
"""
#: Words of the buffer: labels, what tells of a change, words of threads' own; flags stand as in `generated_searches`.
LABELS, CHANGED, OWN, WORDS = 0, 16, 20, 28
_COUNT = 3


class LabelWriter(Writer):
    """Writes what the threads do, each with an edge of its own."""

    def _edge(self) -> list[str]:
        """Of each thread other ends: `%rd5` and `%rd6`."""
        one, other = self.choose.randrange(_COUNT), self.choose.randrange(1, _COUNT)
        return [
            f"add.u32 %r5, %r4, {one}; rem.u32 %r5, %r5, {_COUNT}; add.u32 %r6, %r5, {other}; rem.u32 %r6, %r6, {_COUNT};",
            "mul.wide.u32 %rd5, %r5, 4; add.u64 %rd5, %rd5, %rd1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd1;",
        ]

    def _load(self) -> str:
        return self.choose.choice(
            (".relaxed.gpu",) * 8 + (".volatile", ".relaxed.sys", ".relaxed.cta") + ("",) * self._often(0.1)
        )

    def _lower(self, at: str, label: str) -> list[str]:
        """A label, where it is less than the one that stands there."""
        choose, op = self.choose, self.choose.choice(("min", "min", "min", "min", "max"))
        scope = choose.choice((".relaxed.gpu",) * 8 + ("", ".relaxed.cta"))
        told = choose.choice((
            f"st.relaxed.gpu.global.u32 [%rd1+{4 * CHANGED}], 1;",
            f"red.relaxed.gpu.global.or.b32 [%rd1+{4 * CHANGED}], 1;",
            f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * CHANGED}], 1;",
            f"st.global.u32 [%rd4+{4 * OWN}], 1;",
            f"st.global.u32 [%rd1+{4 * CHANGED}], 1;" if self._often(0.3) else "",
        ))  # fmt: skip
        if self._often(0.5):
            return [f"red{scope or '.relaxed.gpu'}.global.{op}.u32 [{at}], {label};"]
        if self._often(0.1):
            return [f"st.relaxed.gpu.global.u32 [{at}], {label};"]
        end = self._label()
        return [
            f"atom{scope}.global.{op}.u32 %r9, [{at}], {label};",
            f"setp.le.u32 %p3, %r9, {label}; @%p3 bra {end}; {told}",
            f"{end}:",
        ]

    def push(self) -> list[str]:
        """The less one of two labels is given to the other end."""
        less, end = self._label(), self._label()
        order = self.choose.choice(("lt", "lt", "lt", "gt"))
        return [
            f"ld{self._load()}.global.u32 %r7, [%rd5]; ld{self._load()}.global.u32 %r8, [%rd6];",
            f"setp.{order}.u32 %p2, %r7, %r8; @%p2 bra {less};",
            *(self._lower("%rd5", "%r8") if self._often(0.8) else []),
            f"bra {end}; {less}:",
            *self._lower("%rd6", "%r7"),
            f"{end}:",
        ]

    def jump(self) -> list[str]:
        """The label of a label."""
        return [
            f"ld{self._load()}.global.u32 %r7, [%rd5]; mul.wide.u32 %rd7, %r7, 4; add.u64 %rd7, %rd7, %rd1;",
            f"ld{self._load()}.global.u32 %r8, [%rd7];",
            *self._lower("%rd5", "%r8"),
        ]

    def _reads(self) -> list[str]:
        word = self.choose.choice((0, 1, CHANGED))
        return [f"ld.global.u32 %r7, [%rd1+{4 * word}]; st.global.u32 [%rd4+{4 * OWN}], %r7;"]

    def lines(self) -> list[str]:
        found = self._edge()
        for _ in range(self.choose.choice((1, 1, 2))):
            found += self.choose.choice((self.push, self.push, self.jump))()
            found += self.meet() if self._often(0.8) else []
        return [*found, *(self._reads() if self._often(0.4) else [])]


def label_kernel(seed: int) -> KernelTest:
    """A kernel of 2 or 3 threads."""
    writer = LabelWriter(seed)
    text = "\n ".join([_HEAD, *writer.lines(), "ret;", "}"])
    observed = [*range(_COUNT), CHANGED, *range(OWN, OWN + writer.grid * writer.block)]
    start = [*writer.choose.sample(range(_COUNT), _COUNT), *[0] * (WORDS - _COUNT)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": writer.block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": start}},
        "check": {"forall": " && ".join(f"x[{i}] < 4294967295" for i in observed), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
