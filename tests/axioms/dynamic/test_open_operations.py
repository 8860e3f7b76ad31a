"""Tickets, locks, compare-and-swap: operations whose order is open, decided by several runs, beside the formula."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxcore.clock import OutOfTime
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.whole import FEWEST, threads_of

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; setp.eq.u32 %p1, %r2, 0;
"""
#: Bytes of the buffer: words of data, those that strong operations access, and what each thread found.
_DATA, _OPEN, _OUT = 0, 64, 128


@dataclass
class _Writer:
    """Writes what the threads do, all of them the same, or by CTA."""

    choose: random.Random
    lines: list[str] = field(default_factory=list)
    labels: int = 0

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _place(self) -> str:
        return f"[%rd1+{_OPEN + 4 * self.choose.choice((0, 0, 0, 1))}]"

    def _how(self, *sems: str) -> str:
        return f"{self.choose.choice(sems)}.{self.choose.choice(('gpu', 'gpu', 'gpu', 'gpu', 'cta'))}.global"

    def fence(self) -> None:
        sem = self.choose.choice(("acq_rel", "acq_rel", "sc", "acquire", "release"))
        self.lines.append(f"fence.{sem}.{self.choose.choice(('gpu', 'gpu', 'gpu', 'cta'))};")

    def data(self) -> None:
        word = self.choose.choice((0, 0, 4))
        if self.choose.random() < 0.5:
            self.lines.append(f"st.global.u32 [%rd1+{_DATA + word}], {self.choose.randint(1, 3)};")
        else:
            self.lines += [f"ld.global.u32 %r4, [%rd1+{_DATA + word}];", "mad.lo.u32 %r3, %r3, 5, %r4;"]

    def ticket(self) -> None:
        """Only who comes at one position goes on."""
        operation = self.choose.choice(
            ("add.u32 %r5, {}, 1", "add.u32 %r5, {}, 1", "inc.u32 %r5, {}, 1", "exch.b32 %r5, {}, 1")
        )
        sems = ("relaxed", "release", "acq_rel", "acq_rel", "acquire")
        text, end = f"atom.{self._how(*sems)}." + operation.format(self._place()), self._label()
        self.lines += [f"{text};", f"setp.ne.u32 %p2, %r5, {self.choose.choice((0, 1, 1, 2))};", f"@%p2 bra {end};"]
        self._inside()
        self.lines.append(f"{end}:")

    def lock(self) -> None:
        place, again = self._place(), self._label()
        take = self.choose.choice(("cas.b32 %r6, {}, 0, 1", "exch.b32 %r6, {}, 1"))
        self.lines += [
            f"{again}: atom.{self._how('acquire', 'acquire', 'acq_rel', 'relaxed')}.{take.format(place)};",
            f"setp.ne.u32 %p2, %r6, 0; @%p2 bra {again};",
        ]
        self._inside()
        release = self.choose.choice(("st.{}.u32 {}, 0;", "atom.{}.exch.b32 %r7, {}, 0;"))
        self.lines.append(release.format(self._how("release", "release", "relaxed"), place))

    def attempt(self) -> None:
        """Compares once, and goes on whether it took it or not."""
        end = self._label()
        self.lines += [
            f"atom.{self._how('acquire', 'acq_rel', 'relaxed')}.cas.b32 %r6, {self._place()}, 0, {self.choose.choice((1, 2))};",
            f"setp.ne.u32 %p2, %r6, {self.choose.choice((0, 0, 1))}; @%p2 bra {end};",
        ]
        self._inside()
        self.lines.append(f"{end}:")

    def look(self) -> None:
        self.lines += [
            f"ld.{self._how('relaxed', 'acquire')}.u32 %r8, {self._place()};",
            self.choose.choice(("mad.lo.u32 %r3, %r3, 3, %r8;", "setp.gt.u32 %p2, %r8, 1; @%p2 add.u32 %r3, %r3, 1;")),
        ]

    def wait(self) -> None:
        again = self._label()
        self.lines += [
            f"{again}: ld.{self._how('relaxed', 'acquire', 'acquire')}.u32 %r8, {self._place()};",
            f"setp.eq.u32 %p2, %r8, 0; @%p2 bra {again};",
        ]

    def change(self) -> None:
        text = self.choose.choice(
            (
                "st.{}.u32 {}, 2;",
                "red.{}.add.u32 {}, 1;",
                "red.{}.or.b32 {}, 2;",
                "atom.{}.add.u32 %r9, {}, 1; add.u32 %r3, %r3, %r9;",
            )
        )
        self.lines.append(text.format(self._how("relaxed", "release"), self._place()))

    def _inside(self) -> None:
        for _ in range(self.choose.randint(1, 2)):
            self.choose.choice((self.data, self.data, self.data, self.fence))()

    def part(self) -> None:
        many = (
            self.data,
            self.fence,
            self.ticket,
            self.ticket,
            self.lock,
            self.attempt,
            self.look,
            self.change,
            self.wait,
        )
        self.choose.choice(many)()


def _kernel(seed: int) -> KernelTest:
    choose = random.Random(seed)
    grid, block = choose.choice(((2, 1), (2, 1), (3, 1), (2, 2), (1, 2), (4, 1)))
    writer = _Writer(choose)
    alike = choose.random() < 0.5
    for _ in range(choose.randint(1, 3) if alike else choose.randint(1, 2)):
        writer.part()
        if block > 1 and choose.random() < 0.3:
            writer.lines.append("bar.sync 0;")
    if not alike:
        end, first = "END0", writer.lines
        writer.lines = []
        for _ in range(choose.randint(1, 2)):
            writer.part()
        writer.lines = [
            f"setp.eq.u32 %p3, %r{1 if grid > 1 else 2}, 0; @%p3 bra FIRST;",
            *writer.lines,
            f"bra {end};",
            "FIRST:",
            *first,
            f"{end}:",
        ]
    out = f"mad.lo.u32 %r10, %r1, {block}, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    text = "\n ".join([_HEAD, *writer.lines, out, f"st.global.u32 [%rd2+{_OUT}], %r3; ret;", "}"])
    wanted = [f"x[{_OUT // 4 + t}] < {choose.choice((1000, 1000, 4))}" for t in range(grid * block)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}},
        "check": {"forall": " && ".join([*wanted, "x[0] < 9", "x[1] < 9"]), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.long
@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(12), range(16)))
def test_several_runs_say_of_open_operations_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_kernel, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_several_runs_say_of_many_open_operations_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(5000)), monkeypatch)


def _beside(seed: int) -> KernelTest:
    """Two launches of one kernel in two streams, each of which knows which one it is."""
    choose = random.Random(seed)
    block, grid = choose.choice(((1, 1), (1, 1), (2, 1), (1, 2)))
    writer, first = _Writer(choose), _Writer(choose)
    for part in (first, writer):
        for _ in range(choose.randint(1, 2)):
            part.part()
    first.lines = [line.replace("L", "M") if re.search(r"\bL\d", line) else line for line in first.lines]
    head = _HEAD.replace(".param .u64 x", ".param .u64 x, .param .u32 rank").replace(
        "%ctaid.x;", "%ctaid.x; ld.param.u32 %r0, [rank];"
    )
    lines = ["setp.eq.u32 %p3, %r0, 0; @%p3 bra FIRST;", *writer.lines, "bra END0;", "FIRST:", *first.lines, "END0:"]
    out = (
        f"mad.lo.u32 %r10, %r0, {grid}, %r1; mad.lo.u32 %r10, %r10, {block}, %r2; "
        "mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    )
    text = "\n ".join([head, *lines, out, f"st.global.u32 [%rd2+{_OUT}], %r3; ret;", "}"])
    wanted = [f"x[{_OUT // 4 + t}] < {choose.choice((1000, 1000, 4))}" for t in range(2 * grid * block)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": 64, "init": [0]}, **{f"r{i}": {"type": "u32", "value": i} for i in range(2)},
        },
        "check": {"forall": " && ".join([*wanted, "x[0] < 9", "x[1] < 9"]), "race_free": True, "terminates": True},
        "kernel": [{"name": f"k{i}", "args": ["x", f"r{i}"], "stream": f"s{i}"} for i in range(2)],
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.long
@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(8), range(16)))
def test_several_runs_say_of_launches_at_the_same_time_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_beside, seeds, monkeypatch)
    assert verdicts["ok"] > 1 and verdicts["no"] > 1


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_several_runs_say_of_many_launches_at_the_same_time_what_the_formula_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compare(_beside, range(1000, 1000 + share(3000)), monkeypatch)


_START = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 part, .param .u64 out, .param .u64 count)
{{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<12>; .shared .align 4 .b8 last[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [part]; ld.param.u64 %rd3, [out]; ld.param.u64 %rd4, [count];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ntid.x; setp.ne.u32 %p1, %r2, 0;
 mad.lo.u32 %r5, %r1, %r4, %r2; mul.wide.u32 %rd5, %r5, 4; mul.wide.u32 %rd6, %r2, 4; mul.wide.u32 %rd7, %r1, 4;
"""
#: The last block adds up what the others left.
_LAST_BLOCK = (
    _START
    + """ add.u64 %rd8, %rd1, %rd5; ld.global.u32 %r6, [%rd8]; add.u64 %rd8, %rd2, %rd5;
 st.global.u32 [%rd8], %r6;
 {fence}
 {meet}
 @%p1 bra MET;
 atom.{sem}.{scope}.global.add.u32 %r7, [%rd4], 1; sub.u32 %r8, %r3, 1; setp.eq.u32 %p2, %r7, %r8;
 selp.u32 %r9, 1, 0, %p2; st.shared.u32 [last], %r9;
MET:
 bar.sync 0; ld.shared.u32 %r9, [last]; setp.eq.u32 %p2, %r9, 0; @%p2 bra END;
 {behind}
 mov.u32 %r10, 0; mov.u32 %r11, 0; add.u64 %rd8, %rd2, %rd6; mul.wide.u32 %rd9, %r4, 4;
SUM: ld.global.u32 %r12, [%rd8]; add.u32 %r10, %r10, %r12; add.u64 %rd8, %rd8, %rd9; add.u32 %r11, %r11, 1;
 setp.lt.u32 %p3, %r11, %r3; @%p3 bra SUM;
 add.u64 %rd8, %rd3, %rd6; st.global.u32 [%rd8], %r10;
 @%p1 bra END; st.global.u32 [%rd4], 0;
END: ret;
}}"""
)
#: Blocks add to the same tile, in their order, as the semaphore lets them.
_SPLIT_K = (
    _START
    + """ add.u64 %rd8, %rd1, %rd5; ld.global.u32 %r6, [%rd8]; add.u64 %rd9, %rd3, %rd6;
 @%p1 bra MET;
WAIT: ld.{acquire}.{scope}.global.u32 %r7, [%rd4]; setp.ne.u32 %p2, %r7, %r1; @%p2 bra WAIT;
MET: {meet}
 ld.global.u32 %r8, [%rd9]; add.u32 %r8, %r8, %r6; st.global.u32 [%rd9], %r8;
 {behind}
 @%p1 bra END; add.u32 %r9, %r1, 1;
 st.{release}.gpu.global.u32 [%rd4], %r9;
END: ret;
}}"""
)
#: Blocks add to the same tile, as they get the lock.
_LOCKED = (
    _START
    + """ add.u64 %rd8, %rd1, %rd5; ld.global.u32 %r6, [%rd8]; add.u64 %rd9, %rd3, %rd6;
 @%p1 bra MET;
 {lock}
MET: {meet}
 ld.global.u32 %r8, [%rd9]; add.u32 %r8, %r8, %r6; st.global.u32 [%rd9], %r8;
 {behind}
 @%p1 bra END;
 {unlock}
END: ret;
}}"""
)
_SPIN = "TRY: atom.{acquire}.{scope}.global.cas.b32 %r7, [%rd4], 0, 1; setp.ne.u32 %p2, %r7, 0; @%p2 bra TRY;"
_TICKET = (
    "atom.relaxed.gpu.global.add.u32 %r7, [%rd4], 1; "
    "TRY: ld.{acquire}.{scope}.global.u32 %r9, [%rd4+4]; setp.ne.u32 %p2, %r9, %r7; @%p2 bra TRY;"
)
_RIGHT = {
    "fence": "fence.acq_rel.gpu;", "meet": "bar.sync 0;", "behind": "bar.sync 0;", "sem": "acq_rel", "scope": "gpu",
    "acquire": "acquire", "release": "release",
}  # fmt: skip


def test_a_race_of_launches_at_the_same_time_names_both() -> None:
    text = "\n ".join([_HEAD, "st.global.u32 [%rd1], %r1; ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 1, "params": {"x": {"type": "u32", "elements": 1}},
        "check": {"race_free": True}, "kernel": [{"name": f"k{i}", "args": ["x"], "stream": f"s{i}"} for i in range(2)],
    }  # fmt: skip
    open_, found = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert not open_ and [event.thread.split()[-1] for event in found.races[0].events] == ["k0", "k1"]


def _at_size(text: str, grid: int, **changed: str) -> KernelTest:
    block, parts = 256, {**_RIGHT, **changed}
    parts["lock"] = parts.get("lock", "").format(**parts)
    parts["unlock"] = parts.get("unlock", "").format(**parts)
    count = grid * block
    sums = [sum(c * block + t for c in range(grid)) for t in (0, block - 1)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": count, "init": list(range(count))}, "part": {"type": "u32", "elements": count},
            "out": {"type": "u32", "elements": block}, "count": {"type": "u32", "elements": 2},
        },
        "check": {"forall": f"out[0] == {sums[0]} && out[{block - 1}] == {sums[1]}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text.format(**parts)}).test()


_UNLOCKS = {
    _SPIN: "atom.{release}.gpu.global.exch.b32 %r7, [%rd4], 0;",
    _TICKET: "add.u32 %r9, %r7, 1; st.{release}.gpu.global.u32 [%rd4+4], %r9;",
}
_LAUNCHES = {
    "last block": (_LAST_BLOCK, 5, {}, 5),
    "split K": (_SPLIT_K, 4, {}, 1),
    "spin lock": (_LOCKED, 3, {"lock": _SPIN, "unlock": _UNLOCKS[_SPIN]}, 6),
    "ticket lock": (_LOCKED, 3, {"lock": _TICKET, "unlock": _UNLOCKS[_TICKET]}, 6),
}


@pytest.mark.long
@pytest.mark.parametrize("name", _LAUNCHES)
def test_a_launch_with_open_operations_is_decided_at_its_size(name: str) -> None:
    text, grid, parts, runs = _LAUNCHES[name]
    open_, found = by_runs(_at_size(text, grid, **parts))
    assert not open_ and found.verdict == "ok" and [c.holds for c in found.checks] == [True] * 3
    assert found.notes[0].startswith(f"{runs} runs of all" if runs > 1 else "one run of all")


@pytest.mark.part(9)
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("last block", {"fence": "", "sem": "relaxed"}), ("last block", {"sem": "relaxed"}), ("last block", {"meet": ""}),
        ("last block", {"scope": "cta"}), ("split K", {"acquire": "relaxed"}), ("split K", {"release": "relaxed"}),
        ("split K", {"meet": ""}), ("split K", {"behind": ""}), ("split K", {"scope": "cta"}),
        ("spin lock", {"acquire": "relaxed"}), ("spin lock", {"release": "relaxed"}), ("spin lock", {"scope": "cta"}),
        ("spin lock", {"behind": ""}), ("ticket lock", {"acquire": "relaxed"}), ("ticket lock", {"release": "relaxed"}),
        ("ticket lock", {"meet": ""}),
    ],
    ids=str,
)  # fmt: skip
def test_a_mistake_in_a_launch_with_open_operations_is_found_at_its_line(name: str, changed: dict[str, str]) -> None:
    text, grid, parts, _ = _LAUNCHES[name]
    test = _at_size(text, min(grid, 4), **{**parts, **changed})
    open_, found = by_runs(test)
    assert not open_ and found.verdict == "no" and len(found.races) == 1
    lines = test.launches[0].text.splitlines()
    assert all("global" in lines[event.line - 1] for event in found.races[0].events)


def test_few_threads_are_decided_by_runs_where_the_formula_is_not_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise OutOfTime

    test = next(t for t in map(_kernel, range(50)) if not by_runs(t)[0])
    assert threads_of(test) < FEWEST
    found = by_runs(test)[1]
    monkeypatch.setattr(checking, "KernelQuestion", late)
    later = checking.check(test, model_named("ptx-9.0"), timeout=600)
    assert later.verdict == found.verdict and [c.holds for c in later.checks] == [c.holds for c in found.checks]
    without = checking.check(test, model_named("ptx-9.0"), timeout=600, engine="enumerate")
    assert without.verdict == "undecided" and without.error == "out of time after 600 s"
