"""Small kernels that use the whole machine, generated from a seed: what engines and runs are compared on.

Threads of some CTAs, in one cluster or not, share a few words of global and of shared memory. Each does a few things of its
own; in between all come to the same place: a barrier, an instruction of the warp, an mbarrier object. What a thread reads it
gathers in a number, which it writes at its end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import ptxmm

#: Words of global memory that threads share; behind them there is one for each thread.
WORDS = 2
_SCOPES = ("cta", "cluster", "gpu", "sys")


@dataclass(slots=True)
class Shape:
    """CTAs, threads of each, CTAs of a cluster, and what the kernel is about."""

    grid: int
    block: int
    cluster: int
    topics: tuple[str, ...]
    #: The threads of a CTA that do something; others end at once.
    busy: tuple[int, ...] = ()


HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<6>;
    .shared .align 8 .b64 m;
    .shared .align 4 .b32 s[2];
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mov.u32 %r9, 0;
    mov.u32 %r10, s;
    mov.u32 %r11, m;
"""


@dataclass(slots=True)
class Writer:
    """Writes the code of one thread, or of all."""

    random: random.Random
    shape: Shape
    labels: list[int] = field(default_factory=lambda: [0])
    lines: list[str] = field(default_factory=list)

    def choose(self, **weights: int) -> str:
        return self.random.choices([*weights], [*weights.values()])[0]

    def label(self) -> str:
        self.labels[0] += 1
        return f"L{self.labels[0]}"

    def place(self) -> tuple[str, str]:
        """A shared word: its space and how it is written."""
        if "shared" in self.shape.topics and self.random.random() < 0.4:
            return "shared", f"[%r10+{4 * self.random.randrange(2)}]"
        return "global", f"[%rd2+{4 * self.random.randrange(WORDS)}]"

    def scope(self) -> str:
        return self.random.choice(_SCOPES)

    def gather(self) -> None:
        """Takes what was read into the number that the thread writes at its end."""
        self.lines.append("mad.lo.u32 %r9, %r9, 4, %r5;")

    # What a thread does alone.

    def store(self) -> None:
        space, place = self.place()
        how = self.choose(weak=3, relaxed=2, release=2, volatile=1)
        scoped = f".{self.scope()}" if how in ("relaxed", "release") else ""
        how = "" if how == "weak" else f".{how}"
        self.lines.append(f"st{how}{scoped}.{space}.u32 {place}, {self.random.choice((1, 1, 2, 0))};")

    def load(self, gathered: bool = True) -> None:
        space, place = self.place()
        how = self.choose(weak=3, relaxed=2, acquire=2, volatile=1)
        scoped = f".{self.scope()}" if how in ("relaxed", "acquire") else ""
        how = "" if how == "weak" else f".{how}"
        self.lines.append(f"ld{how}{scoped}.{space}.u32 %r5, {place};")
        if gathered:
            self.gather()

    def atom(self) -> None:
        space, place = self.place()
        how = self.choose(relaxed=2, acquire=1, release=1, acq_rel=1)
        operation = self.random.choice(("add.u32 %r5, {}, 1", "exch.b32 %r5, {}, 1", "cas.b32 %r5, {}, 0, 1"))
        name, _, rest = operation.partition(" ")
        verb, _, kind = name.partition(".")
        self.lines.append(f"atom.{how}.{self.scope()}.{space}.{verb}.{kind} {rest.format(place)};")
        self.gather()

    def red(self) -> None:
        space, place = self.place()
        how = self.choose(relaxed=2, release=1)
        self.lines.append(f"red.{how}.{self.scope()}.{space}.add.u32 {place}, 1;")

    def fence(self) -> None:
        self.lines.append(f"fence.{self.choose(acq_rel=3, sc=1)}.{self.scope()};")

    def spin(self) -> None:
        """Waits until a word is written."""
        label = self.label()
        space, place = self.place()
        how = self.choose(relaxed=1, acquire=2)
        self.lines += [
            f"{label}: ld.{how}.{self.scope()}.{space}.u32 %r5, {place};",
            f"setp.{self.choose(eq=4, ne=1)}.u32 %p1, %r5, {self.choose(_0=4, _1=1)[1:]};",
            f"@%p1 bra {label};",
        ]

    def lock(self) -> None:
        """Tries until it succeeds."""
        label = self.label()
        space, place = self.place()
        verb, operands = self.random.choice((("cas", "0, 1"), ("cas", "0, 1"), ("exch", "1")))
        self.lines += [
            f"{label}: atom.acquire.{self.scope()}.{space}.{verb}.b32 %r5, {place}, {operands};",
            "setp.ne.u32 %p1, %r5, 0;",
            f"@%p1 bra {label};",
        ]
        if self.random.random() < 0.7:
            self.lines.append(f"st.release.{self.scope()}.{space}.u32 {place}, 0;")

    def timed(self) -> None:
        """Waits until a word is written, or for so long."""
        label = self.label()
        space, place = self.place()
        self.lines += [
            f"{label}: mov.u32 %r6, %clock;",
            f"ld.relaxed.gpu.{space}.u32 %r5, {place};",
            "setp.gt.u32 %p1, %r6, 1000;",
            "setp.ne.or.u32 %p1, %r5, 0, %p1;",
            f"@!%p1 bra {label};",
        ]
        self.gather()

    def turns(self) -> None:
        """A loop of two turns, or of as many as a word says."""
        label = self.label()
        if self.random.random() < 0.5:
            self.lines.append("mov.u32 %r7, 2;")
        else:
            self.load(gathered=False)
            self.lines.append("and.b32 %r7, %r5, 1;")
        self.lines.append(f"{label}:")
        self.random.choice((self.store, self.red, self.load))()
        self.lines += ["sub.u32 %r7, %r7, 1;", "setp.gt.s32 %p2, %r7, 0;", f"@%p2 bra {label};"]

    def perhaps(self) -> None:
        """Something under a condition that memory decides."""
        self.load(gathered=self.random.random() < 0.5)
        self.lines.append(f"setp.{self.choose(ne=1, eq=1)}.u32 %p1, %r5, 0;")
        kind = self.choose(exit=2, trap=1, barrier=2, other=3)
        if kind in ("exit", "trap"):
            self.lines.append(f"@%p1 {kind};")
            return
        label = self.label()
        self.lines.append(f"@%p1 bra {label};")
        if kind == "barrier" and "barriers" in self.shape.topics:
            self.barrier()
        else:
            self.random.choice((self.store, self.load, self.atom, self.fence))()
        self.lines.append(f"{label}:")

    def barrier(self) -> None:
        number = self.random.randrange(2)
        warps = 1 + (max(self.shape.busy, default=0) >= 32)
        count = f", {32 * self.random.randint(1, warps)}" if self.random.random() < 0.3 else ""
        kind = self.choose(sync=4, arrive=1)
        if kind == "arrive":
            count = count or f", {32 * warps}"
        self.lines.append(f"barrier.{kind} {number}{count};")

    def warp_barrier(self) -> None:
        self.lines.append(f"bar.warp.sync {self.random.choice((-1, -1, 3, 1))};".replace("-1", "0xffffffff"))

    def mbarrier(self) -> None:
        kind = self.choose(arrive=3, wait=3, test=1)
        label = self.label()
        if kind == "arrive":
            how = self.choose(release=3, relaxed=1)
            self.lines.append(f"mbarrier.arrive.{how}.cta.shared::cta.b64 _, [%r11];")
        elif kind == "wait":
            self.lines += [
                f"{label}: mbarrier.{self.choose(test_wait=1, try_wait=2)}.parity.shared::cta.b64 %p1, [%r11], 0;",
                f"@!%p1 bra {label};",
            ]
        else:
            self.lines += [
                "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r11], 0;",
                "selp.u32 %r5, 1, 2, %p1;",
            ]
            self.gather()

    def cluster_barrier(self) -> None:
        how = self.random.choice(("", "", ".relaxed"))
        kind = self.choose(both=4, arrive=1, wait=1)
        if kind != "wait":
            self.lines.append(f"barrier.cluster.arrive{how};")
        if kind != "arrive":
            self.lines.append("barrier.cluster.wait;")

    def warp(self) -> None:
        """What the threads of a warp compute together."""
        mask = self.random.choice(("0xffffffff", "3" if len(self.shape.busy) < 3 else "7"))
        self.lines.append(
            self.random.choice(
                (
                    f"shfl.sync.idx.b32 %r5, %r9, 0, 31, {mask};",
                    f"shfl.sync.bfly.b32 %r5, %r9, 1, 31, {mask};",
                    f"setp.ne.u32 %p3, %r9, 0; vote.sync.ballot.b32 %r5, %p3, {mask};",
                    f"redux.sync.add.u32 %r5, %r9, {mask};",
                )
            )
        )
        self.gather()

    def one(self) -> None:
        """Something, of what the kernel is about."""
        kinds: dict[Callable[[], None], int] = {
            self.store: 4, self.load: 4, self.atom: 2, self.red: 1, self.fence: 2, self.spin: 2, self.perhaps: 2,
            self.turns: 1,
        }  # fmt: skip
        topics = {
            "barriers": self.barrier, "warps": self.warp_barrier, "mbarrier": self.mbarrier, "locks": self.lock,
            "cluster": self.cluster_barrier, "clocks": self.timed,
        }  # fmt: skip
        kinds |= {write: 6 for topic, write in topics.items() if topic in self.shape.topics}
        self.random.choices([*kinds], [*kinds.values()])[0]()

    # What all do.

    def together(self) -> None:
        kinds: list[Callable[[], None]] = [lambda: self.lines.append("bar.sync 0;")]
        if "warps" in self.shape.topics:
            kinds += [self.warp, self.warp, self.warp_barrier]
        if "cluster" in self.shape.topics:
            kinds += [self.cluster_barrier] * 2
        if "mbarrier" in self.shape.topics:
            kinds += [self.mbarrier] * 2
        self.random.choice(kinds)()


_TOPICS = ("shared", "barriers", "warps", "mbarrier", "cluster", "clocks", "locks")


def shape(random_: random.Random) -> Shape:
    grid, block, cluster = random_.choice([(1, 2, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1), (1, 3, 1), (2, 1, 2), (3, 1, 1)])
    topics = tuple(t for t in _TOPICS[:6] if random_.random() < 0.3 and (t != "cluster" or cluster > 1 or block > 1))
    if random_.random() < 0.1:
        topics = (*topics, "locks")
    if block == 2 and random_.random() < 0.15:
        return Shape(grid, 33, cluster, topics, (0, 32))
    return Shape(grid, block, cluster, topics, tuple(range(block)))


def text(seed: int) -> tuple[str, Shape]:
    """The module of a kernel."""
    random_ = random.Random(seed)
    made = shape(random_)
    labels = [0]
    lines = [HEAD.rstrip()]

    def written(write: Callable[[Writer], None]) -> None:
        writer = Writer(random_, made, labels)
        write(writer)
        lines.extend(f"    {line}" for line in writer.lines)

    if len(made.busy) < made.block:
        lines += ["    and.b32 %r8, %r3, 31;", "    setp.ne.u32 %p1, %r8, 0;", "    @%p1 exit;"]
    if "mbarrier" in made.topics:
        count = random_.randint(1, len(made.busy))
        lines += [
            "    setp.ne.u32 %p1, %r3, 0;",
            f"    @!%p1 mbarrier.init.shared::cta.b64 [%r11], {count};",
            "    barrier.sync 0;",
        ]
    threads = [cta * made.block + t for cta in range(made.grid) for t in made.busy]
    for number in range(random_.choice((1, 1, 2))):
        if number or random_.random() < 0.15:
            written(Writer.together)
        for thread in threads:
            label = f"N{number}_{thread}"
            lines += [f"    setp.ne.u32 %p1, %r4, {thread};", f"    @%p1 bra {label};"]
            for _ in range(random_.choice((1, 1, 2, 2, 3) if len(threads) < 4 else (0, 1, 1, 2))):
                written(Writer.one)
            lines.append(f"{label}:")
    if random_.random() < 0.2:
        written(Writer.together)
    lines += [
        "    mul.wide.u32 %rd3, %r4, 4;", "    add.s64 %rd4, %rd2, %rd3;",
        f"    st.global.u32 [%rd4+{4 * WORDS}], %r9;", "    ret;", "}", "",
    ]  # fmt: skip
    return "\n".join(lines), made


def expression(random_: random.Random, elements: list[int]) -> str:
    """A proposition about the final contents of the words."""
    parts = [
        f"a[{random_.choice(elements)}] {random_.choice(('==', '!=', '<=', '>'))} {random_.randrange(4)}"
        for _ in range(random_.randint(1, 2))
    ]
    return random_.choice((" && ", " || ")).join(parts)


def kernel(seed: int, source: str | None = None) -> ptxmm.Kernel:
    """A kernel with a test of everything that can be asked of one; with `source` instead of its own text."""
    written, made = text(seed)
    random_ = random.Random(-1 - seed)
    threads = [cta * made.block + t for cta in range(made.grid) for t in made.busy]
    elements = [*range(WORDS), *(WORDS + t for t in threads)]
    seen = " + ".join(f"a[{e}]" for e in elements)  # so that states list all of them
    checks = {
        "forall": [expression(random_, elements), f"{seen} >= 0"], "never": [expression(random_, elements)],
        "exists": [expression(random_, elements)],
    }  # fmt: skip
    return ptxmm.Kernel(
        source or written, params={"a": {"type": "u32", "elements": WORDS + made.grid * made.block}}, grid=made.grid,
        block=made.block, cluster=made.cluster, race_free=True, terminates=True, no_deadlock=True, no_trap=True,
        bounds={"default": 2}, **checks,
    )  # fmt: skip
