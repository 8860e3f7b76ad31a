"""Threads that hand data over by flags and counters, decided by one run of all threads, beside the formula."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;
"""
#: Bytes of the buffer: words of data, flags, and what each thread read.
_DATA, _FLAGS, _OUT = 0, 64, 128


@dataclass
class _Writer:
    """Writes what CTAs do, one after the other: each waits for what those before it signal."""

    choose: random.Random
    block: int
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    #: Of each flag: how it is signalled, and how often so far.
    flags: dict[int, tuple[str, int]] = field(default_factory=dict)

    def guard(self) -> str:
        return "@%p1 " if self.block > 1 and self.choose.random() < 0.7 else ""

    def access(self) -> None:
        word = self.choose.choice((0, 0, 4))
        if self.choose.random() < 0.5:
            self.lines.append(f"{self.guard()}st.global.u32 [%rd1+{_DATA + word}], {self.choose.randint(1, 3)};")
        else:
            self.lines += [f"ld.global.u32 %r4, [%rd1+{_DATA + word}];", "mad.lo.u32 %r3, %r3, 5, %r4;"]

    def signal(self) -> None:
        flag = self.choose.choice((0, 0, 1))
        how, count = self.flags.get(flag, (self.choose.choice(("st", "red", "red")), 0))
        if self.choose.random() < 0.3:
            self.lines.append(
                f"fence.{self.choose.choice(('acq_rel', 'sc', 'release'))}.{self.choose.choice(('gpu', 'gpu', 'cta'))};"
            )
        sem, scope = (
            self.choose.choice(("release", "release", "relaxed")),
            self.choose.choice(("gpu", "gpu", "gpu", "cta")),
        )
        guard, place = "@%p1 " if self.block > 1 else "", f"[%rd1+{_FLAGS + 4 * flag}]"
        text = (
            f"st.{sem}.{scope}.global.u32 {place}, {count + 1};"
            if how == "st"
            else f"red.{sem}.{scope}.global.add.u32 {place}, 1;"
        )
        self.lines.append(guard + text)
        self.flags[flag] = how, count + 1

    def wait(self) -> None:
        if not self.flags:
            return
        flag = self.choose.choice([*self.flags])
        _, count = self.flags[flag]
        wanted = self.choose.randint(max(1, count - 1), count)
        sem, scope = (
            self.choose.choice(("acquire", "acquire", "relaxed")),
            self.choose.choice(("gpu", "gpu", "gpu", "cta")),
        )
        again = self.choose.choice(("lt", "lt", "ne"))
        self.labels += 1
        self.lines += [
            f"W{self.labels}: ld.{sem}.{scope}.global.u32 %r5, [%rd1+{_FLAGS + 4 * flag}];",
            f"setp.{again}.u32 %p2, %r5, {wanted}; @%p2 bra W{self.labels};",
        ]
        if self.choose.random() < 0.4:
            self.lines.append(
                f"fence.{self.choose.choice(('acq_rel', 'sc', 'acquire'))}.{self.choose.choice(('gpu', 'gpu', 'cta'))};"
            )

    def look(self) -> None:
        """Reads a flag once, and uses what it finds without a branch."""
        scope, place = self.choose.choice(("gpu", "gpu", "cta")), f"[%rd1+{_FLAGS + 4 * self.choose.choice((0, 1))}]"
        used = self.choose.choice(
            (
                "mad.lo.u32 %r3, %r3, 5, %r5;",
                "setp.gt.u32 %p2, %r5, 1; @%p2 add.u32 %r3, %r3, 1;",
                f"st.global.u32 [%rd1+{_DATA + 4}], %r5;",
                "add.cc.u32 %r5, %r5, -1; addc.u32 %r3, %r3, 0;",
                "and.b32 %r5, %r5, 0; add.u32 %r3, %r3, %r5;",
            )
        )
        self.lines += [f"ld.relaxed.{scope}.global.u32 %r5, {place};", used]

    def cta(self, number: int) -> str:
        self.lines = []
        if number:
            self.wait()
        for _ in range(self.choose.randint(1, 3)):
            self.choose.choice((self.access, self.access, self.signal, self.wait, self.meet, self.look))()
        if self.choose.random() < 0.7:
            self.signal()
        return "\n ".join([f"C{number}:", *self.lines, "bra END;"])

    def meet(self) -> None:
        if self.block > 1:
            self.lines.append("bar.sync 0;")


def _kernel(seed: int) -> KernelTest:
    choose = random.Random(seed)
    grid, block = choose.choice((2, 2, 3)), choose.choice((1, 1, 2))
    writer = _Writer(choose, block)
    ctas = [writer.cta(c) for c in range(grid)]
    goes = [f"setp.eq.u32 %p3, %r1, {c}; @%p3 bra C{c};" for c in range(grid)]
    end = f"END: mad.lo.u32 %r6, %r1, {block}, %r2; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd1;"
    text = "\n ".join(
        [_HEAD, "setp.eq.u32 %p1, %r2, 0;", *goes, *ctas, end, f"st.global.u32 [%rd2+{_OUT}], %r3; ret;", "}"]
    )
    threads = grid * block
    wanted = " && ".join([f"x[{_OUT // 4 + t}] < 1000" for t in range(threads)] + ["x[0] < 9", "x[1] < 9"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.1)
@pytest.mark.parametrize("count", lengths(8, 100))
def test_one_run_says_of_threads_that_wait_what_the_formula_says(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(_kernel, range(count), monkeypatch)["ok"] > count / 20


@pytest.mark.campaign
@pytest.mark.compares(0.1)
def test_one_run_says_of_many_threads_that_wait_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(5000)), monkeypatch)


_BARRIER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 count)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [count];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ntid.x;
 mad.lo.u32 %r5, %r1, %r4, %r2; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd5, %rd1, %rd4;
 st.global.u32 [%rd5], %r5;
 {before}
 setp.ne.u32 %p1, %r2, 0; @%p1 bra MET;
 red.{release}.{scope}.global.add.u32 [%rd3], 1;
L: ld.{acquire}.gpu.global.u32 %r6, [%rd3]; setp.lt.u32 %p2, %r6, {wanted}; @%p2 bra L;
MET:
 {behind}
 mul.lo.u32 %r7, %r3, %r4; sub.u32 %r7, %r7, 1; sub.u32 %r7, %r7, %r5; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1;
 ld.global.u32 %r8, [%rd6]; add.u64 %rd7, %rd2, %rd4; st.global.u32 [%rd7], %r8; ret;
}}
"""


def _grid_barrier(grid: int, block: int, **changed: str) -> KernelTest:
    parts = {
        "before": "bar.sync 0;",
        "behind": "bar.sync 0;",
        "release": "release",
        "acquire": "acquire",
        "scope": "gpu",
    }
    count = grid * block
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": count}, "y": {"type": "u32", "elements": count},
            "count": {"type": "u32", "elements": 1},
        },
        "check": {"forall": f"y[0] == {count - 1} && y[{count - 1}] == 0", "race_free": True, "terminates": True},
    }  # fmt: skip
    text = _BARRIER.format(**{"wanted": str(grid), **parts, **changed})
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_a_barrier_of_a_whole_grid_is_decided_at_its_size() -> None:
    open_, found = by_runs(_grid_barrier(8, 64))
    assert not open_ and found.verdict == "ok" and "8 waits for what others write" in found.notes[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"before": ""}, {"behind": ""}, {"release": "relaxed"}, {"acquire": "relaxed"}, {"scope": "cta"}, {"wanted": "3"},
    ],
    ids=str,
)  # fmt: skip
def test_a_barrier_of_a_grid_with_a_mistake_is_not_taken_for_one(changed: dict[str, str]) -> None:
    open_, found = by_runs(_grid_barrier(4, 32, **changed))
    assert open_ or found.verdict == "no", changed


_COUNTED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r3, 7; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOKS;
 red.relaxed.gpu.global.add.u32 [%rd1], 1; ret;
LOOKS:
 ld.relaxed.gpu.global.u32 %r2, [%rd1]; {behind} ret;
}}
"""


@pytest.mark.parametrize(
    "behind",
    [
        "st.global.u32 [%rd1+4], %r2;",
        "add.cc.u32 %r4, %r2, -1; addc.u32 %r5, 0, 0; bra ON; ON: st.global.u32 [%rd1+4], %r5;",
        "add.cc.u32 %r4, %r2, -1; bra ON; ON: addc.u32 %r5, 0, 0; st.global.u32 [%rd1+4], %r5;",
        "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+8], %r3;",
        "setp.ne.u32 %p2, %r2, 0; @%p2 st.global.u32 [%rd1+4], %r3;",
    ],
)
def test_a_value_that_is_used_behind_the_read_is_no_determinate_wait(
    behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where what others see stands in the same basic block, nor where only the carry flag tells."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 3, "block": 1, "params": {"x": {"type": "u32", "elements": 8}},
        "check": {"forall": "x[1] < 9 && x[2] < 9 && x[3] < 9 && x[4] < 9"},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _COUNTED.format(behind=behind)}).test()
    expected = by_formula(test, monkeypatch).states
    assert len(expected) > 1
    open_, found = by_runs(test)
    assert open_ or sorted(map(str, found.states)) == sorted(map(str, expected))


def test_threads_alike_whose_dependencies_carry_no_value_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = "and.b32 %r2, %r2, 0; red.relaxed.gpu.global.add.u32 [%rd1+4], %r2;"
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 3, "block": 1, "params": {"x": {"type": "u32", "elements": 8}},
        "check": {"forall": "x[1] == 0", "race_free": True},
    }  # fmt: skip
    text = _COUNTED.format(behind=behind).replace("setp.eq.u32 %p1, %r1, 0;", "setp.ne.u32 %p1, %r1, 9;")
    assert by_formula(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), monkeypatch).verdict == "ok"


_BACK_OFF = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p, %q; .reg .b32 %r<6>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 1; mov.u32 %r3, 8; mov.u32 %r4, 7; @%p bra LOOK;
 st.global.u32 [%rd1], 5; st.release.gpu.global.u32 [%rd1+4], 1;
 ret;
LOOK: ld.acquire.gpu.global.u32 %r2, [%rd1+4]; setp.ne.u32 %p, %r2, 0; @%p bra FOUND;
 nanosleep.u32 %r3; setp.lt.u32 %q, %r3, 256; @%q shl.b32 %r3, %r3, 1; {also}
 bra LOOK;
FOUND: ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+8], %r5; st.global.u32 [%rd1+12], %r4;
 ret;
}}"""


@pytest.mark.parametrize(
    ("also", "decided"), [("", True), ("add.u32 %r4, %r4, %r3;", False), ("add.cc.u32 %r5, %r2, 1;", True)]
)
def test_how_long_who_waits_sleeps_is_of_no_matter(also: str, decided: bool) -> None:
    """Unless the number goes elsewhere: then each round in vain leads to something else."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1, "params": {"x": {"type": "u32", "elements": 4, "init": [0]}},
        "check": {"forall": "x[2] == 5 && x[3] == 7", "race_free": True, "terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _BACK_OFF.format(also=also)}).test()
    open_, result = by_runs(test)
    assert (result.verdict == "ok" and not open_) is decided
