"""Generated kernels whose threads access a few bytes one after the other, in accesses of several sizes: where two conflict, the
second one comes behind the first by one of the many ways to that, mostly in a scope as narrow as may be.

Ways are barriers of the CTA, the warp and the cluster, flags and counts by each strong write, and phases of mbarrier objects,
here and in the other CTA of a cluster; each with fences, or with semantics of its own. Atomic operations that commute are not
ordered, and some results are used.
"""

from __future__ import annotations

import random

from ptxcore.records import NamedTuple
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 8 .b64 m[8];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r9, 0;
 mov.u32 %r3, %ntid.x; mad.lo.u32 %r3, %r1, %r3, %r2;
"""
#: Words of the buffer of flags, of which the first one counts, and behind which there is one for each thread's result.
_FLAGS, _OUT = 12, 16
_OBJECTS = 6
_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


class _Access(NamedTuple):
    thread: int
    kind: str
    first: int
    size: int
    adds: str = ""

    def meets(self, other: _Access) -> bool:
        """Whether two accesses conflict, of which nothing is known."""
        apart = self.first + self.size <= other.first or other.first + other.size <= self.first
        return self.thread != other.thread and not apart and (self.kind, other.kind) != ("ld", "ld")

    def commutes(self, other: _Access) -> bool:
        return self.kind == other.kind == "red" and self[2:] == other[2:]


class _Writer:
    """Writes what the threads do, in the order in which they do it. `knows`: the accesses that come before what a thread does
    next."""

    def __init__(self, seed: int) -> None:
        choose = self.choose = random.Random(seed)
        self.block, self.ctas = choose.choice(((1, 2), (1, 3), (2, 1), (2, 2), (2, 2), (3, 1), (2, 2)))
        self.threads = self.block * self.ctas
        self.cluster = self.ctas == 2 and self._often(0.6)
        self.spoilt, self.narrow, self.counts = choose.choice((0.0, 0.0, 0.05)), self._often(0.7), self._often(0.4)
        self.code: list[list[str]] = [[] for _ in range(self.threads)]
        self.knows: list[set[_Access]] = [set() for _ in range(self.threads)]
        self.done: list[_Access] = []
        self.labels = self.flags = self.count = 0
        #: How many arrive at each object of a CTA.
        self.arrivals: dict[tuple[int, int], int] = {}

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _beside(self, one: int, other: int) -> bool:
        return one // self.block == other // self.block

    def _scope(self, one: int, other: int) -> str:
        if self._often(self.spoilt):
            return self.choose.choice(("cta", "cluster", "gpu"))
        if self.narrow and self._beside(one, other) and self._often(0.7):
            return "cta"
        return (
            "cluster"
            if self.narrow and self.cluster and self._often(0.5)
            else self.choose.choice(("gpu", "gpu", "sys"))
        )

    def _fence(self, scope: str) -> str:
        return f"fence.{self.choose.choice(('acq_rel', 'acq_rel', 'sc'))}.{scope};"

    def _how(self, word: str) -> str:
        """By its own semantics, a fence, or not at all."""
        return "relaxed" if self._often(self.spoilt) else self.choose.choice((word, "fence"))

    # Ways by which one thread comes behind another one.

    def order(self, one: int, other: int) -> None:
        if self._often(self.spoilt):
            return
        near = self._beside(one, other)
        if near and self.block == 2 and self._often(0.35):
            self._meet(one, other, self.choose.choice(("bar.sync 0;", "bar.sync 1;", "bar.warp.sync 3;")))
        elif (near or self.cluster) and len(self.arrivals) < _OBJECTS and self._often(0.55):
            self._phase(one, other)
        elif self.cluster and self.threads == 2 and self._often(0.3):
            self._meet(one, other, "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;")
        else:
            self._flag(one, other)

    def _meet(self, one: int, other: int, barrier: str) -> None:
        both = self.knows[one] | self.knows[other]
        for thread in (one, other):
            self.code[thread].append(barrier)
            self.knows[thread] = set(both)

    def _flag(self, one: int, other: int) -> None:
        how, scope = self._how("release"), self._scope(one, other)
        if self.counts and self._often(0.6):
            self.count += 1
            word, value, kind = 0, self.count, self.choose.choice(("red", "red", "atom"))
        else:
            self.flags = min(self.flags + 1, _FLAGS - 1)
            word, value, kind = self.flags, 1, self.choose.choice(("st", "st", "red", "exch", "max", "volatile"))
        sem, at = "release" if how == "release" and kind != "volatile" else "relaxed", f"[%rd1+{4 * word}]"
        raises = {
            "st": f"st.{sem}.{scope}.global.u32 {at}, 1;", "red": f"red.{sem}.{scope}.global.add.u32 {at}, 1;",
            "atom": f"atom.{sem}.{scope}.global.add.u32 %r7, {at}, 1;", "max": f"red.{sem}.{scope}.global.max.u32 {at}, 1;",
            "exch": f"atom.{sem}.{scope}.global.exch.b32 %r7, {at}, 1;", "volatile": f"st.volatile.global.u32 {at}, 1;",
        }[kind]  # fmt: skip
        fenced = how == "fence" or (kind == "volatile" and how == "release")
        self.code[one].append((self._fence(self._scope(one, other)) if fenced else "") + raises)
        how, label = self._how("acquire"), self._label()
        sem = "acquire" if how == "acquire" else "relaxed"
        looks = f"ld.{sem}.{self._scope(one, other)}.global.u32 %r5, {at};"
        behind = self._fence(self._scope(one, other)) if how == "fence" else ""
        self.code[other].append(f"{label}: {looks} setp.lt.u32 %p1, %r5, {value}; @%p1 bra {label}; {behind}")
        self.knows[other] |= self.knows[one]

    def _phase(self, one: int, other: int) -> None:
        """The second one waits at an object of its CTA, at which the first one arrives, and maybe somebody else."""
        number, arrive = len(self.arrivals), {one}
        more = [t for t in range(self.threads) if t not in (one, other) and (self.cluster or self._beside(t, other))]
        if more and self._often(0.3):
            arrive.add(self.choose.choice(more))
        self.arrivals[other // self.block, number] = len(arrive)
        for thread in sorted(arrive):
            here = self._beside(thread, other)
            scope = self.choose.choice(
                ("cta", "cta", "cluster") if here and not self._often(self.spoilt) else ("cluster",)
            )
            how = self._how("release")
            fence = (
                self._fence(self.choose.choice(("cta", "gpu") if here else ("cluster", "gpu")))
                if how == "fence"
                else ""
            )
            arrives = f"mbarrier.arrive.{'release' if how == 'release' else 'relaxed'}.{scope}"
            there = f"mov.u32 %r7, m; mapa.shared::cluster.u32 %r8, %r7, {other // self.block};"
            at = f".shared.b64 _, [m+{8 * number}];" if here else f".shared::cluster.b64 _, [%r8+{8 * number}];"
            self.code[thread].append(f"{fence} {'' if here else there} {arrives}{at}")
        far = not all(self._beside(thread, other) for thread in arrive)
        how, label, scope = (
            self._how("acquire"),
            self._label(),
            "cluster" if far else self.choose.choice(("cta", "cluster")),
        )
        sem, kind = "acquire" if how == "acquire" else "relaxed", self.choose.choice(("try_wait", "test_wait"))
        waits = f"mbarrier.{kind}.parity.{sem}.{scope}.shared.b64 %p2, [m+{8 * number}], 0;"
        behind = (
            self._fence(self.choose.choice(("cluster", "gpu") if far else ("cta", "gpu"))) if how == "fence" else ""
        )
        self.code[other].append(f"{label}: {waits} @!%p2 bra {label}; {behind}")
        for thread in arrive:
            self.knows[other] |= self.knows[thread]

    # Accesses.

    def access(self) -> None:
        choose, thread = self.choose, self.choose.randrange(self.threads)
        kind = choose.choice(("ld", "ld", "ld", "st", "st", "red", "red", "red"))
        size = choose.choice((4, 4, 8) if kind == "red" else (4, 4, 4, 4, 8, 2, 1))
        first = choose.choice((0, 8) if size == 8 else (0, 0, 0, 4, 8)) + (
            choose.choice(range(0, 4, size)) if size < 4 else 0
        )
        new = _Access(thread, kind, first, size, choose.choice(("add", "add", "or", "max")) if kind == "red" else "")
        for before in self.done:
            if (
                before.meets(new)
                and before not in self.knows[thread]
                and not (before.commutes(new) and self._often(0.9))
            ):
                self.order(before.thread, thread)
        beside = [a.thread for a in self.done if a.meets(new) and a not in self.knows[thread]]
        near = self.narrow and all(self._beside(thread, other) for other in beside)
        self.code[thread].append(self._text(new, choose.choice(("cta", "cta", "gpu") if near else ("gpu", "sys"))))
        self.done.append(new)
        self.knows[thread].add(new)

    def _text(self, access: _Access, scope: str) -> str:
        choose, at, width = self.choose, f"[%rd2+{access.first}]", _TYPES[access.size]
        sem = choose.choice(("", "", "", "volatile.", f"relaxed.{scope}."))
        if access.kind == "ld":
            uses = choose.choice(("mad.lo.u32 %r9, %r9, 3, %r4;", "mov.u32 %r9, %r4;", ""))
            if access.size < 8:
                return f"ld.{sem}global.{width} %r4, {at}; {uses}"
            if not sem and self._often(0.5):
                return f"ld.global.v2.u32 {{%r4, %r6}}, {at}; add.u32 %r4, %r4, %r6; {uses}"
            return f"ld.{sem}global.u64 %rd4, {at}; cvt.u32.u64 %r4, %rd4; {uses}"
        if access.kind == "st":
            value = f"mov.u32 %r8, {choose.choice(('1', '2', '%r3', '%r9'))};"
            if access.size < 8:
                return f"{value} st.{sem}global.{width} {at}, %r8;"
            if not sem and self._often(0.5):
                return f"{value} st.global.v2.u32 {at}, {{%r8, %r8}};"
            return f"{value} cvt.u64.u32 %rd4, %r8; st.{sem}global.u64 {at}, %rd4;"
        how, width = (
            choose.choice(("relaxed", "relaxed", "release")),
            width.replace("u", "b") if access.adds == "or" else width,
        )
        if access.size == 4 and self._often(0.3):
            uses = choose.choice(("", "", "mov.u32 %r9, %r4;"))
            return f"atom.{how}.{scope}.global.{access.adds}.{width} %r4, {at}, {choose.choice((1, 2))}; {uses}"
        return f"mov.u64 %rd5, {choose.choice((1, 2))}; cvt.u32.u64 %r8, %rd5; " + (
            f"red.{how}.{scope}.global.{access.adds}.{width} {at}, {'%rd5' if access.size == 8 else '%r8'};"
        )

    def text(self) -> str:
        lines = [_HEAD]
        for (cta, number), count in self.arrivals.items():
            lines.append(
                f"setp.eq.u32 %p3, %r3, {cta * self.block}; @%p3 mbarrier.init.shared.b64 [m+{8 * number}], {count};"
            )
        if self.arrivals:
            meets = "fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;"
            lines.append(meets if self.cluster else "bar.sync 0;")
        for thread, code in enumerate(self.code):
            result = f"st.global.u32 [%rd1+{4 * (_OUT + thread)}], %r9;" if any("%r9" in line for line in code) else ""
            lines.append(f"setp.ne.u32 %p0, %r3, {thread}; @%p0 bra N{thread};")
            lines += [*code, f"{result} ret;", f"N{thread}:"]
        return "\n ".join([*lines, "ret;", "}"])


def kernel(seed: int) -> KernelTest:
    """Three to six accesses of two to four threads."""
    writer = _Writer(seed)
    for _ in range(writer.choose.choice((3, 4, 5, 6))):
        writer.access()
    wanted = " && ".join(f"x[{_OUT + t}] < {writer.choose.choice((2, 4, 100))}" for t in range(writer.threads))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.ctas, "block": writer.block, **({"cluster": 2} if writer.cluster else {}),
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}, "y": {"type": "u32", "elements": 8, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": writer.text()}).test()
