"""Random kernels whose threads take what stands in some bytes by loops of compare-and-swap, right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 add.u32 %r5, %r4, 1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1; setp.eq.u32 %p1, %r4, 0; mov.u32 %r6, 0;
"""
#: Words of the buffer: the bytes that are swapped, a table of what follows what, words of threads' own, places of what was
#: taken, results.
HEADS, TABLE, OWN, PLACES, FOUND, WORDS = 0, 2, 10, 14, 22, 26


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (3, 1), (1, 2), (2, 1), (1, 3)))
        self.labels = 0

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _loop(self) -> list[str]:
        """What is taken is in `%r6`."""
        self.labels += 1
        one, choose = self.labels, self.choose.choice
        head = f"[%rd1+{4 * (HEADS + choose((0, 0, 0, 1)))}]"
        first = f"ld.{choose(('relaxed.gpu', 'relaxed.gpu', 'acquire.gpu', 'relaxed.cta'))}.global.u32 %r6, {head};"
        kind = choose(("push", "push", "push", "pop", "pop", "pop", "add", "add", "other"))
        body = []
        if kind == "push":
            own = choose(("%rd4", "%rd4", "%rd4", "%rd4", "%rd1"))
            body = (
                [f"st.global.u32 [{own}+{4 * OWN}], {choose(('%r6', '%r6', '%r6', '%r5'))};"]
                if self._often(0.8)
                else []
            )
            body.append(f"mov.u32 %r7, {choose(('%r5', '%r5', '%r5', '%r4', '7', '8'))};")
        elif kind == "pop":
            body = ["mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd1;", f"ld.global.u32 %r7, [%rd2+{4 * TABLE}];"]
        elif kind == "add":
            body = [f"add.u32 %r7, %r6, {choose(('1', '1', '1', '2', '%r5'))};"]
        else:
            body = [
                choose(("shl.b32 %r7, %r6, 1;", "mov.u32 %r7, %r6;", "or.b32 %r7, %r6, 1;", "xor.b32 %r7, %r6, 3;"))
            ]
        if self._often(0.15):
            body.insert(0, f"setp.{choose(('eq', 'ge'))}.u32 %p2, %r6, {choose(('0', '2', '3'))}; @%p2 bra OUT{one};")
        if self._often(0.15):
            body.insert(choose((0, len(body))), choose(("membar.gl;", "fence.acq_rel.gpu;")))
        how = choose(("relaxed.gpu", "relaxed.gpu", "acq_rel.gpu", "release.gpu", "relaxed.cta"))
        swap = f"atom.{how}.global.cas.b32 %r8, {head}, %r6, %r7; setp.ne.u32 %p2, %r8, %r6;"
        again = choose(("mov.u32 %r6, %r8;", "mov.u32 %r6, %r8;", first, ""))
        if again == first:  # looks anew each time
            return [f"L{one}:", first, *body, swap, f"@%p2 bra L{one};", f"OUT{one}:"]
        return [first, f"L{one}:", *body, swap, f"@!%p2 bra OUT{one};", again, f"bra L{one};", f"OUT{one}:"]

    def _uses(self) -> list[str]:
        """What is done with that."""
        choose = self.choose.choice
        place = ["mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd3, %rd1;"]
        self.labels += 1
        return choose((
            [],
            [f"st.global.u32 [%rd4+{4 * FOUND}], %r6;"],
            [*place, f"st.global.u32 [%rd3+{4 * PLACES}], {choose(('7', '%r5', '%r6'))};"],
            [*place, f"ld.global.u32 %r9, [%rd3+{4 * PLACES}]; add.u32 %r9, %r9, 1; st.global.u32 [%rd3+{4 * PLACES}], %r9;"],
            [f"setp.{choose(('eq', 'lt'))}.u32 %p3, %r6, {choose(('0', '1', '2'))}; @%p3 bra N{self.labels};",
             f"st.global.u32 [%rd{choose(('4', '1'))}+{4 * FOUND}], 5;", f"N{self.labels}:"],
            ["bar.sync 0;", f"@%p1 ld.global.u32 %r9, [%rd1+{4 * choose((HEADS, OWN, PLACES))}];",
             f"@%p1 st.global.u32 [%rd1+{4 * FOUND}], %r9;"],
        ))  # fmt: skip

    def kernel(self) -> KernelTest:
        """The kernel, with what stands in its buffer first."""
        choose = self.choose.choice
        lines = [f"st.global.u32 [%rd4+{4 * OWN}], %r4;"] if self._often(0.2) else []
        lines += self._loop() + self._uses()
        if self._often(0.2):
            lines += ["bar.sync 0;"] if self._often(0.5) else []
            lines += self._loop() + self._uses()
        table = choose(
            ([1, 2, 3, 4, 5, 6, 7, 0], [2, 4, 1, 0, 3, 7, 5, 6], [1, 0, 1, 2, 2, 3, 3, 0], [3, 2, 1, 5, 6, 4, 0, 0])
        )
        init = [choose((0, 0, 1, 2)), choose((0, 0, 1)), *table] + [0] * (WORDS - 10)
        text = "\n ".join([_HEAD, *lines, "ret;", "}"])
        tree = {
            "ptx": "k.ptx", "entry": "k", "grid": self.grid, "block": self.block,
            "params": {"x": {"type": "u32", "elements": WORDS, "init": init}},
            "check": {
                "forall": " && ".join(f"x[{i}] < 999" for i in range(WORDS)), "race_free": True, "terminates": True,
            },
        }  # fmt: skip
        return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def swap_kernel(seed: int) -> KernelTest:
    return Writer(seed).kernel()
