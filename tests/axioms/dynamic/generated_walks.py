"""Random kernels whose threads make lists by atomic exchanges, and walk through them later, right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.visible .entry {name}(.param .u64 x)
{{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 add.u32 %r5, %r4, 1; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd4, %rd4, %rd1; setp.eq.u32 %p1, %r4, 0; mov.u32 %r6, 0;
 {body}
 ret;
}}
"""
#: Words of the buffer: heads of lists, links, values of nodes, results.
HEADS, LINKS, VALUES, FOUND, WORDS = 0, 2, 8, 14, 20


class Writer:
    """Writes what the threads do, all of them the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.labels = 0

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _one(self, *of: str) -> str:
        return self.choose.choice(of)

    def _push(self) -> list[str]:
        """A thread's node comes to the head of a list."""
        self.labels += 1
        one, head = self.labels, f"[%rd1+{4 * HEADS}]"
        lines = []
        if self._often(0.2):
            lines.append(f"st.global.u32 [%rd4+{4 * VALUES}], {self._one('%r5', '%r4', '3')};")
        link = f"[{self._one('%rd4', '%rd4', '%rd4', '%rd4', '%rd4', '%rd1')}+{4 * LINKS}]"
        if self._often(0.5):
            put = self._one("%r5", "%r5", "%r5", "%r4")
            how = self._one("relaxed.gpu", "relaxed.gpu", "acq_rel.gpu", "relaxed.cta")
            stored = self._one("%r7", "%r7", "%r7", "%r7", "%r5")
            return [*lines, f"atom.{how}.global.exch.b32 %r7, {head}, {put};", f"st.global.u32 {link}, {stored};"]
        return [*lines, f"ld.relaxed.gpu.global.u32 %r7, {head};", f"P{one}: st.global.u32 {link}, %r7;",
                f"atom.relaxed.gpu.global.cas.b32 %r8, {head}, %r7, %r5; setp.ne.u32 %p2, %r8, %r7; mov.u32 %r7, %r8;",
                f"@%p2 bra P{one};"]  # fmt: skip

    def _walk(self) -> list[str]:
        """A thread walks through the list; what it finds is in `%r6`."""
        self.labels += 1
        one = self.labels
        node = ["mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1;", f"ld.global.u32 %r8, [%rd2+{4 * VALUES}];"]
        does = self.choose.choice((
            ["add.u32 %r6, %r6, %r8;"], ["add.u32 %r6, %r6, %r8;"], ["add.u32 %r6, %r6, 1;"], ["max.u32 %r6, %r6, %r8;"],
            ["or.b32 %r6, %r6, %r8;"], ["mad.lo.u32 %r6, %r6, 2, %r8;"], ["mov.u32 %r6, %r8;"], ["sub.u32 %r6, %r8, %r6;"],
            [f"setp.eq.u32 %p3, %r8, {self._one('%r5', '2', '3')}; @%p3 bra X{one};"],
            [f"setp.ge.u32 %p3, %r8, {self._one('1', '2', '3')}; @%p3 bra X{one};"],
            ["add.u32 %r6, %r6, 1;", f"setp.eq.u32 %p3, %r8, 2; @%p3 bra X{one};"],
            ["add.u32 %r6, %r6, %r8; min.u32 %r6, %r6, 3;"], ["setp.gt.u32 %p3, %r8, %r6; selp.u32 %r6, %r8, %r6, %p3;"],
            [f"setp.lt.u32 %p3, %r8, 2; @%p3 bra N{one}; add.u32 %r6, %r6, %r8; N{one}:"],
            [f"setp.eq.u32 %p3, %r6, 2; @%p3 bra X{one}; add.u32 %r6, %r6, 1;"],
        ))  # fmt: skip
        link = [f"ld.global.u32 %r7, [%rd2+{4 * LINKS}];"]
        over = f"setp.{self._one('eq', 'eq', 'eq', 'eq', 'le')}.u32 %p4, %r7, {self._one('0', '0', '0', '0', '1')};"
        lines = [f"ld.{self._one('', '', '', 'relaxed.gpu.')}global.u32 %r7, [%rd1+{4 * HEADS}];"]
        if self._often(0.5):
            lines += [f"{over} @%p4 bra E{one};", f"W{one}:", *node, *does, *link, over, f"@!%p4 bra W{one};"]
        else:
            lines += [f"W{one}:", over, f"@%p4 bra E{one};", *node, *does, *link, f"bra W{one};"]
        found = self._one("7", "%r8", "%r5", "%r6")
        lines += [f"bra E{one};", f"X{one}:", f"mov.u32 %r6, {found};", f"E{one}:"]
        who = self._one("@%p1 ", "", "")
        return [*lines, f"{who}st.global.u32 [%rd4+{4 * FOUND}], {self._one('%r6', '%r6', '%r6', '%r7')};"]

    def kernel(self) -> KernelTest:
        """The kernel, with what stands in its buffer first."""
        choose = self.choose.choice
        push, walk = self._push(), self._walk()
        together = self._often(0.4)
        between = [choose(("bar.sync 0;", "bar.sync 0;", "bar.sync 0;", ""))]
        bodies = {"k": [*push, *between, *walk]} if together else {"k": push, "w": walk}
        grid, block = (1, choose((1, 2, 2, 2, 3))) if together else choose(((2, 1), (2, 1), (1, 2), (3, 1)))
        text = ".version 8.0\n.target sm_90\n.address_size 64\n"
        text += "".join(_HEAD.format(name=name, body="\n ".join(body)) for name, body in bodies.items())
        init = [choose((0, 0, 0, 9))] + [0] * (VALUES - 1) + [choose((0, 1, 2, 3)) for _ in range(VALUES, FOUND)]
        init += [0] * (WORDS - FOUND)
        launch = {"grid": grid, "block": block, "args": ["x"]}
        tree = {
            "ptx": "k.ptx",
            "params": {"x": {"type": "u32", "elements": WORDS, "init": init}},
            "kernel": [{"name": name, "entry": name, **launch} for name in bodies],
            "check": {
                "forall": " && ".join(f"x[{i}] < 999" for i in range(WORDS)), "race_free": True, "terminates": True,
            },
        }  # fmt: skip
        if not together and self._often(0.5):
            tree["kernel"][1] |= {"grid": 1, "block": 1}
        return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def walk_kernel(seed: int) -> KernelTest:
    return Writer(seed).kernel()
