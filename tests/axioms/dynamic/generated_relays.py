"""Generated kernels of what one order of the threads hides.

Flags that another thread sets anew, fences of rounds in vain, what stands behind an own write of the same bytes; in all scopes,
of two to four threads in as many CTAs or fewer, some of a cluster.
Each is a shape that is right in some of its ways and wrong in others, in the order of CTAs that the seed draws.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r9, 0;
"""
#: Words of the buffer of flags; behind them there is one for each thread's result.
_FLAGS, _OUT = (0, 4, 8), 16
#: How far scopes reach: the CTA, the cluster, all.
_SCOPES = ("cta", "cluster", "gpu", "sys")


class Way:
    """How a kernel is made: its choices, of which one is wrong, or none: of two mistakes one hides the other."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.wrong_at = choose.choice((None, *range(12)))
        self.made = 0
        #: Whether threads add to flags; then none waits for one number alone, which would be too much for the formula.
        self.adds = choose.random() < 0.4
        self.labels = 0

    def one(self, *right: str, wrong: tuple[str, ...] = ()) -> str:
        if not wrong:
            return self.choose.choice(right)
        self.made += 1
        return self.choose.choice(wrong if self.made == (self.wrong_at or 0) else right)

    def scope(self) -> str:
        return self.one("gpu", "gpu", "gpu", "sys", wrong=_SCOPES)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def fence(self, sem: str = "acq_rel") -> str:
        return f"fence.{self.choose.choice((sem, 'acq_rel', 'acq_rel', 'sc'))}.{self.scope()};"


def _flag(word: int) -> str:
    return f"[%rd1+{4 * word}]"


def _data(word: int = 0) -> str:
    return f"[%rd2+{4 * word}]"


def _write(way: Way, value: int = 7) -> str:
    return f"st.global.u32 {_data()}, {value};"


def _read(way: Way) -> str:
    return f"ld.global.u32 %r4, {_data()}; mad.lo.u32 %r9, %r9, 5, %r4;"


def _raise(way: Way, word: int, value: int, *, releases: bool = True) -> str:
    """A thread sets a flag, or adds to it, and hands on what it did or not."""
    kind = way.choose.choice(("st", "red", "red") if way.adds else ("st", "st", "st", "exch"))
    how = way.one("release", "fenced", wrong=("relaxed",)) if releases else way.one("relaxed", wrong=("release",))
    fence = f"{way.fence()} " if how == "fenced" else ""
    if kind != "st" and how == "release":
        how = way.choose.choice(("release", "acq_rel"))
    how, scope = "relaxed" if how == "fenced" else how, way.scope()
    if kind == "st":
        return f"{fence}st.{how}.{scope}.global.u32 {_flag(word)}, {value};"
    if kind == "red":
        how = "release" if how == "acq_rel" else how
        return f"{fence}red.{how}.{scope}.global.add.u32 {_flag(word)}, 1;"
    return f"{fence}atom.{how}.{scope}.global.exch.b32 %r7, {_flag(word)}, {value};"


def _vain(way: Way) -> str:
    """What a thread does in each round in which it did not find what it waits for."""
    return way.choose.choice(("", way.fence(), way.fence(), "mov.u32 %r7, 3;"))


def _wait(way: Way, word: int, value: int, *, acquires: bool = True, vain: str = "") -> str:
    """A thread waits for a flag, and takes in what comes with it or not."""
    how = way.one("acquire", "fenced", wrong=("relaxed",)) if acquires else way.one("relaxed", wrong=("acquire",))
    sem, scope, label = "relaxed" if how == "fenced" else how, way.scope(), way.label()
    looks = f"ld.{sem}.{scope}.global.u32 %r5, {_flag(word)};"
    if way.choose.random() < 0.12:
        looks = f"atom.{sem}.{scope}.global.add.u32 %r5, {_flag(word)}, 0;"
    below = f"setp.lt.u32 %p1, %r5, {value};"
    met = below if way.adds else way.choose.choice((below, f"setp.ne.u32 %p1, %r5, {value};"))
    met = "setp.eq.u32 %p1, %r5, 0;" if value == 1 and way.choose.random() < 0.7 else met
    behind = way.fence("acquire") if how == "fenced" else ""
    if vain:
        return f"{label}: {looks} {met} @!%p1 bra {label}_; {vain} bra {label}; {label}_: {behind}"
    return f"{label}: {looks} {met} @%p1 bra {label}; {behind}"


def _own(way: Way, word: int) -> str:
    """A thread writes a flag, and then looks at it."""
    writes = f"red.relaxed.{way.scope()}.global.add.u32 {_flag(word)}, 1;"
    if way.choose.random() < 0.3:
        writes = f"st.relaxed.{way.scope()}.global.u32 {_flag(word)}, 1;"
    looks = way.choose.choice(
        (f"ld.relaxed.{way.scope()}.global.u32 %r8, {_flag(word)};",
         f"ld.acquire.{way.scope()}.global.u32 %r8, {_flag(word)};",
         f"atom.relaxed.{way.scope()}.global.add.u32 %r8, {_flag(word)}, 0;",
         f"atom.acquire.{way.scope()}.global.max.u32 %r8, {_flag(word)}, 1;")
    )  # fmt: skip
    skip = f"S{way.label()}"
    uses = way.choose.choice(
        ("mad.lo.u32 %r9, %r9, 5, %r8;", f"setp.lt.u32 %p2, %r8, 2; @%p2 bra {skip}; {_read(way)} {skip}:")
    )
    return f"{writes} {looks} {uses}"


def _relayed(way: Way) -> list[str]:
    """A message whose flag one or two other threads set anew, or pass on by another flag."""
    anew, threads = way.choose.random() < 0.7, [_write(way) + _raise(way, 0, 1)]
    between = way.choose.choice((1, 1, 2))
    for n in range(between):
        word = 0 if anew else n
        raises = _raise(
            way, word if anew else n + 1, n + 2 if anew else 1, releases=not anew or way.choose.random() < 0.5
        )
        threads.append(_wait(way, word, n + 1 if anew else 1) + raises)
    last = way.choose.choice((1, 1, between + 1)) if anew else 1
    return [*threads, _wait(way, 0 if anew else between, last) + _read(way)]


def _carried(way: Way) -> list[str]:
    """A message whose flag another thread adds to without having looked, or sets by an atomic operation."""
    by = f"atom.relaxed.{way.scope()}.global.add.u32 %r7, {_flag(0)}, {way.choose.choice((0, 1))};"
    waits = _wait(way, 0, 1, acquires=False) if way.choose.random() < 0.7 else ""
    return [
        _write(way) + _raise(way, 0, 1),
        waits + by + _raise(way, 1, 1, releases=False),
        _wait(way, way.choose.choice((0, 1)), 1) + _read(way),
    ]


def _released_in_vain(way: Way) -> list[str]:
    """A fence that hands on what was written stands where a thread waits for something else."""
    gone_by = way.choose.random() < 0.3
    return [
        _write(way) + (way.fence() if gone_by else "")
        + _wait(way, 1, 1, acquires=False, vain=_vain(way)) + _raise(way, 0, 1, releases=False),
        _raise(way, 1, 1, releases=False),
        _wait(way, 0, 1) + _read(way),
    ]  # fmt: skip


def _acquired_in_vain(way: Way) -> list[str]:
    """A fence that takes in what was found stands where a thread waits for something else."""
    return [
        _wait(way, 0, 1, acquires=False) + _wait(way, 1, 1, acquires=False, vain=_vain(way)) + _read(way),
        _write(way) + _raise(way, 0, 1),
        _wait(way, 0, 1, acquires=way.choose.random() < 0.3) + _raise(way, 1, 1, releases=way.choose.random() < 0.3),
    ]


def _behind_own(way: Way) -> list[str]:
    """What a thread finds behind its own write, which another one waits for and adds to."""
    message = way.choose.random() < 0.5
    adds = f"red.{way.one('release', 'relaxed')}.{way.scope()}.global.add.u32 {_flag(0)}, {way.choose.choice((1, 10))};"
    other = _wait(way, 0, 1, acquires=way.choose.random() < 0.6) + (_write(way) if message else "") + adds
    more = [_raise(way, 0, 2, releases=False)] if way.choose.random() < 0.2 else []
    return [_own(way, 0), other, *more]


def _published_twice(way: Way) -> list[str]:
    """One thread sets a flag twice, and may write between; who waits may find either."""
    between = way.choose.choice(("", "", "st.global.u32 [%rd2+4], 3;"))
    first, second = _raise(way, 0, 1), _raise(way, 0, 2, releases=way.choose.random() < 0.4)
    waits = range(way.choose.choice((1, 1, 2)))
    return [
        _write(way) + first + between + second,
        *(_wait(way, 0, way.choose.choice((1, 1, 2))) + _read(way) for _ in waits),
    ]


def _gathered(way: Way) -> list[str]:
    """Threads count themselves; one waits for all, or for some."""
    count = way.choose.choice((2, 2, 3))
    sets = [f"st.global.u32 {_data(n)}, {n + 2};" for n in range(count)]
    adds = [
        way.one("fence.acq_rel.gpu; red.relaxed", "red.release", wrong=("red.relaxed",))
        + f".{way.scope()}.global.add.u32 {_flag(0)}, 1;"
        for _ in range(count)
    ]
    wanted = count - (way.wrong_at == 11)
    reads = "".join(f"ld.global.u32 %r4, {_data(n)}; mad.lo.u32 %r9, %r9, 5, %r4;" for n in range(count))
    return [
        *map("".join, zip(sets, adds, strict=True)),
        _wait(way, 0, max(wanted, 2), vain=_vain(way) * (way.choose.random() < 0.4)) + reads,
    ]


def _mixed(way: Way) -> list[str]:
    """A few parts of all that, in no order that means anything."""
    parts: list[Callable[[], str]] = [
        lambda: _write(way), lambda: _read(way), lambda: _raise(way, way.choose.randrange(2), way.choose.choice((1, 2))),
        lambda: _wait(way, way.choose.randrange(2), 1, acquires=way.choose.random() < 0.5), lambda: way.fence(),
        lambda: _own(way, 0), lambda: _raise(way, way.choose.randrange(2), 1, releases=False),
    ]  # fmt: skip
    return [
        " ".join(part() for part in way.choose.choices(parts, (1, 1, 3, 3, 1, 1, 2), k=way.choose.choice((1, 2, 2, 3))))
        for _ in range(way.choose.choice((2, 3)))
    ]


SHAPES: dict[str, Callable[[Way], list[str]]] = {
    "relayed": _relayed, "carried": _carried, "released in vain": _released_in_vain, "acquired in vain": _acquired_in_vain,
    "behind an own write": _behind_own, "published twice": _published_twice, "gathered": _gathered, "mixed": _mixed,
}  # fmt: skip


def kernel(seed: int, shape: str = "") -> KernelTest:
    """A kernel of one of the shapes."""
    choose = random.Random(seed)
    way = Way(choose)
    threads = SHAPES[shape or choose.choice(list(SHAPES))](way)
    block = choose.choice((1, 1, 1, 2))
    ctas = -(-len(threads) // block)
    places = choose.sample(range(block * ctas), len(threads))
    cluster = choose.choice((None, None, None, 2)) if ctas % 2 == 0 else None
    lines = [f"mad.lo.u32 %r3, %r1, {block}, %r2;"]
    for number, text in zip(places, threads, strict=True):
        result = f"st.global.u32 [%rd1+{4 * (_OUT + number)}], %r9;"
        lines.append(f"setp.ne.u32 %p3, %r3, {number}; @%p3 bra NEXT{number};\n {text} {result} ret;\nNEXT{number}:")
    wanted = " && ".join(f"x[{_OUT + t}] < {choose.choice((8, 100, 1000))}" for t in sorted(places))
    contents: object = "any" if choose.random() < 0.1 else [0]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": ctas, "block": block, **({"cluster": cluster} if cluster else {}),
        "params": {
            "x": {"type": "u32", "elements": 32, "init": [0]}, "y": {"type": "u32", "elements": 4, "init": contents}
        },
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *lines, "ret;", "}"])}).test()
