"""Random kernels in several launches: threads claim nodes of a small graph, append those that they win to a frontier, and the
next launch reads the frontier, right or wrong."""

from __future__ import annotations

from random import Random
from typing import Any

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_MODULE = ".version 8.0\n.target sm_90\n.address_size 64"
_HEAD = """.visible .entry {name}(.param .u64 adj, .param .u64 x, .param .u64 out, .param .u64 n, .param .u64 f)
{{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<12>;
 ld.param.u64 %rd0, [adj]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [n]; ld.param.u64 %rd5, [f];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
"""
#: Nodes of the graph, edges of each, and the places of each of two frontiers.
NODES, PLACES, _EDGES = 4, 6, 2


class FrontierWriter:
    """Writes launches: each thread has a node, its own or one of the frontier, and goes along its edges."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.threads = self.choose.choice((2, 2, 3))
        self.grid = self.choose.choice((1, self.threads))
        self._labels = 0
        #: What right kernels do, most of the time.
        self.usual = self.choose.random() < 0.6

    def _often(self, share: float) -> bool:
        return self.choose.random() < share

    def _rarely(self, share: float) -> bool:
        return not self.usual and self._often(share)

    def _label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    @staticmethod
    def _at(register: str, base: str, to: str = "%rd6") -> str:
        return f"mul.wide.u32 {to}, {register}, 4; add.u64 {to}, {to}, {base};"

    def _claim(self, lost: str, node: str = "%r7") -> list[str]:
        """Goes on where the thread has won the node, and else elsewhere."""
        put = self.choose.choice(("1", "1", "%r6")) if self._often(0.5) else "2"
        if put == "%r6":
            put = "%r9"
        where = [self._at(node, "%rd1"), "add.u32 %r9, %r6, 1;"]
        kind = self.choose.choice(("cas", "cas", "exch", "look", "max", "or", "plain" if self._rarely(0.3) else "cas"))
        out = f"setp.ne.u32 %p2, %r8, 0; @%p2 bra {lost};"
        if kind == "plain":
            return [*where, f"ld.global.u32 %r8, [%rd6]; {out} st.global.u32 [%rd6], {put};"]
        if kind in ("exch", "max", "or"):
            width = "u32" if kind == "max" else "b32"
            return [*where, f"atom.global.{kind}.{width} %r8, [%rd6], {put}; {out}"]
        scope = ".relaxed.cta" if self._rarely(0.15) else ""
        claim = f"atom{scope}.global.cas.b32 %r8, [%rd6], 0, {put}; {out}"
        return [*where, *([f"ld.relaxed.gpu.global.u32 %r8, [%rd6]; {out}"] if kind == "look" else []), claim]

    def _append(self, to: int) -> list[str]:
        """A ticket, and a store at its place."""
        taken = 2 if self._rarely(0.15) else 1
        lines = [f"atom.global.add.u32 %r10, [%rd3+{4 * to}], {taken};", self._at("%r10", "%rd5", "%rd7")]
        value = self.choose.choice(("%r6", "3", "%r9")) if self._rarely(0.4) else "%r7"
        if not self._rarely(0.1):
            lines.append(f"st.global.u32 [%rd7+{4 * PLACES * to}], {value};")
        if self._rarely(0.1):
            lines.append(f"st.global.u32 [%rd7+{4 * PLACES * to}], 2;")
        return lines

    def _won(self, to: int) -> list[str]:
        lines = []
        if self._often(0.4):
            value = self.choose.choice(("7", "%r6", "%r7"))
            lines += [self._at("%r7", "%rd2"), f"st.global.u32 [%rd6], {value};"]
        if self._rarely(0.2):
            skip = self._label()
            lines += [f"setp.eq.u32 %p3, %r7, 1; @%p3 bra {skip};", *self._append(to), f"{skip}:"]
        else:
            lines += self._append(to) if self._often(0.85) else []
        if self._rarely(0.2):
            lines += self._append(to)
        if self._often(0.15):
            lines.append(f"red.relaxed.gpu.global.add.u32 [%rd3+8], {self.choose.choice((1, 1, 2))};")
        return lines

    def _edges(self, to: int) -> list[str]:
        """What a thread does with node %r6."""
        lines = []
        if self._often(0.3):
            lines += [
                self._at("%r6", "%rd2", "%rd8"),
                f"st.global.u32 [%rd8+{4 * NODES}], {self.choose.choice((5, '%r6'))};",
            ]
        again = self._rarely(0.15)
        for edge in range(self.choose.choice((1, 1, _EDGES))):
            lost = self._label()
            lines += [
                f"shl.b32 %r11, %r6, 1; {self._at('%r11', '%rd0', '%rd9')} ld.global.u32 %r7, [%rd9+{4 * edge}];",
                *self._claim(lost), *self._won(to), *(self._append(to) if again else []), f"{lost}:",
            ]  # fmt: skip
        return lines

    def launch(self, number: int, *, first: bool) -> str:
        """One launch: of nodes of the frontier that the one before has left, or of one that each thread has."""
        to = number % 2
        lines = list[str]()
        if first:
            lines.append("mov.u32 %r6, %r4;" if not self._rarely(0.2) else "mov.u32 %r6, 0;")
        else:
            before = 1 - to
            lines.append(f"ld.global.u32 %r5, [%rd3+{4 * before}];" if not self._rarely(0.2) else "mov.u32 %r5, 2;")
            lines.append("setp.ge.u32 %p1, %r4, %r5; @%p1 bra END;")
            if self._rarely(0.2):
                lines.append("and.b32 %r4, %r4, 1;")
            lines.append(f"{self._at('%r4', '%rd5')} ld.global.u32 %r6, [%rd6+{4 * PLACES * before}];")
            if self._rarely(0.2):
                lines.append(f"st.global.u32 [%rd6+{4 * PLACES * before}], {self.choose.choice((0, 3))};")
            if self._rarely(0.15):
                lines.append("setp.eq.u32 %p1, %r6, 2; @%p1 bra END;")
        return "\n ".join([*lines, *self._edges(to)])


def frontier_kernel(seed: int) -> KernelTest:
    """Two or three launches of 2 or 3 threads."""
    writer = FrontierWriter(seed)
    choose = writer.choose
    launches = [writer.launch(i, first=i == 0) for i in range(choose.choice((2, 2, 3)))]
    observed = [f"x[{i}]" for i in range(NODES)] + [f"out[{i}]" for i in range(2 * NODES)]
    observed += [f"n[{i}]" for i in range(3)] + [f"f[{i}]" for i in range(2 * PLACES)]
    start = {
        "adj": [choose.randrange(NODES) for _ in range(2 * NODES)],
        "x": [choose.choice((0, 0, 0, 1)) for _ in range(NODES)],
        "f": choose.choice((0, 0, 3)),
    }
    checks = {"forall": " && ".join(f"{o} < 4294967295" for o in observed), "race_free": True, "terminates": True}
    return launched(launches, writer.grid, writer.threads // writer.grid, checks, **start)


def launched(bodies: list[str], grid: int, block: int, checks: dict[str, Any], **start: Any) -> KernelTest:
    """A test of launches that do what `bodies` say."""
    text = [_HEAD.format(name=f"k{i}") + f" {body}\nEND: ret;\n}}" for i, body in enumerate(bodies)]
    names = {"adj": 2 * NODES, "x": NODES, "out": 2 * NODES, "n": 3, "f": 2 * PLACES}
    tree = {
        "ptx": "k.ptx",
        "kernel": [{"entry": f"k{i}", "args": list(names), "grid": grid, "block": block} for i in range(len(bodies))],
        "params": {
            name: {"type": "u32", "elements": size, "init": start.get(name, 9 if name == "out" else 0)}
            for name, size in names.items()
        },
        "check": checks,
    }
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n".join([_MODULE, *text])}).test()
