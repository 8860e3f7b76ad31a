"""Values that nothing determines, in the memory of a CTA: they lie there, and decide nothing, or the launch is left open.
Beside the formula, which tries what may be there at first."""

from __future__ import annotations

import random
from functools import partial

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<20>, %u<3>; .reg .b64 %rd<20>;
 .shared .align 8 .b8 s[64];
 ld.param.u64 %rd1, [x];
 mov.u32 %r1, %tid.x; mov.u32 %r3, %ntid.x; mov.u64 %rd2, s;
 mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; add.u64 %rd5, %rd1, %rd3;
 setp.eq.u32 %p1, %r1, 0; mov.u32 %r7, 1; mov.u32 %r8, %r1; mov.u32 %r9, 0;
 setp.eq.u32 %p2, %r1, 9; """
#: Where values that nothing determines come from: memory that nothing wrote, or a lane that does not take part.
_UNWRITTEN = "ld.shared.u32 %u1, [s+48]; ld.shared.u32 %u2, [s+52];"
_OF_NOBODY = "shfl.sync.idx.b32 %u1, %r1, 9, 31, {mask}; shfl.sync.bfly.b32 %u2, %r1, 8, 31, {mask};"
#: What puts something in memory, takes it from there, computes with it, or lets it decide something.
_PUT = (
    "st.shared.u32 [{at}], {value};", "@%p1 st.shared.u32 [{at}], {value};", "@!%p1 st.shared.u32 [{at}], {value};",
    "st.shared.u16 [{at}], {value};", "st.shared.v2.u32 [s+{even}], {{{value}, %r8}};",
    "st.volatile.shared.u32 [{at}], {value};", "st.global.u32 [%rd5+32], {value};",
)  # fmt: skip
_TAKE = (
    "ld.shared.u32 {to}, [{at}];", "@%p1 ld.shared.u32 {to}, [{at}];", "ld.shared.u16 {to}, [{at}];",
    "ld.shared.v2.u32 {{{to}, %r9}}, [s+{even}];", "atom.shared.add.u32 {to}, [{at}], 1;",
    "ld.volatile.shared.u32 {to}, [{at}];",
)  # fmt: skip
_COMPUTE = (
    "and.b32 {to}, {value}, 1;", "and.b32 {to}, {value}, 0;", "xor.b32 {to}, {value}, {value};", "or.b32 {to}, {value}, -1;",
    "add.u32 {to}, {value}, %r8;", "shl.b32 {to}, {value}, 16;", "selp.b32 {to}, %r8, {value}, %p1;",
    "min.u32 {to}, {value}, 0;", "mov.u32 {to}, {value};",
)  # fmt: skip
_DECIDE = (
    "setp.eq.u32 %p2, {value}, 0; @%p2 st.shared.u32 [%rd4], 7;",
    "setp.lt.u32 %p2, {value}, 2;",
    "@%p2 st.shared.u32 [%rd4], 1;",
)


def _statement(choose: random.Random, threads: int) -> str:
    kind = choose.choice((_PUT, _PUT, _TAKE, _TAKE, _COMPUTE, _COMPUTE, _DECIDE, ("bar.sync 0;",), ("bar.sync 0;",)))
    weights = [1 if any(word in one for word in ("volatile", "atom", "global", "v2")) else 4 for one in kind]
    (form,) = choose.choices(kind, weights)
    at = choose.choice(("%rd4", "%rd4", "%rd4", f"s+{4 * choose.randrange(threads)}"))
    value = choose.choice(("%r7", "%r7", "%r8", "%u1", "%u2"))
    return form.format(at=at, even=8 * choose.randrange(2), value=value, to=choose.choice(("%r7", "%r7", "%r8")))


def _kernel(seed: int, source: str = _UNWRITTEN) -> KernelTest:
    """Statements by two to four threads, of which some registers and some shared memory hold anything."""
    choose = random.Random(seed)
    threads = choose.choice((2, 3, 4))
    body = [_statement(choose, threads) for _ in range(choose.randint(3, 9))]
    last = choose.choice(("and.b32 %r7, %r7, 1;", "and.b32 %r7, %r7, 0;", "mov.u32 %r7, %r1;", "mov.u32 %r7, %r8;", ""))
    text = "\n ".join(
        [_HEAD, source.format(mask=(1 << threads) - 1), *body, last, "st.global.u32 [%rd5], %r7; ret;\n}"]
    )
    wanted = " && ".join(f"x[{i}] < {choose.choice((2, 3, 100))}" for i in range(threads))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": threads,
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(10, 15), range(60)))
def test_one_run_says_of_open_values_in_memory_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_kernel, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"]) > len(seeds) / 12


@pytest.mark.campaign
@pytest.mark.compares(0.4)
def test_one_run_says_of_many_kernels_with_open_values_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(10, 13), range(40)))
def test_one_run_says_of_values_of_lanes_that_do_not_take_part_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(partial(_kernel, source=_OF_NOBODY), seeds, monkeypatch, may_be_undefined=True)


@pytest.mark.campaign
@pytest.mark.compares(0.4)
def test_one_run_says_of_many_kernels_with_such_lanes_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made = partial(_kernel, source=_OF_NOBODY)
    compare(made, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)


def _sorted(*, mistake: str = "") -> KernelTest:
    """Threads of which some have no item put what they have in shared memory, and take the items in the reverse order; what is
    no item goes nowhere. `mistake`: a statement behind what is taken."""
    text = f"""{_HEAD}
 mov.u32 %r9, 200; setp.lt.u32 %p2, %r1, %r9; @%p2 ld.global.u32 %u1, [%rd5];
 mov.u64 %rd6, t; add.u64 %rd6, %rd6, %rd3; st.shared.u32 [%rd6], %u1; bar.sync 0;
 sub.u32 %r10, 255, %r1; mul.wide.u32 %rd7, %r10, 4; mov.u64 %rd8, t; add.u64 %rd7, %rd8, %rd7; ld.shared.u32 %r11, [%rd7];
 {mistake}
 setp.lt.u32 %p3, %r10, %r9; @%p3 st.global.u32 [%rd5+1024], %r11; ret;
}}"""
    text = text.replace(".shared .align 8 .b8 s[64];", ".shared .align 8 .b8 s[64]; .shared .align 4 .b8 t[1024];")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 256,
        "params": {"x": {"type": "u32", "elements": 512, "init": list(range(256))}},
        "check": {
            "forall": "x[256] == 0 && x[311] == 0 && x[312] == 199 && x[511] == 0", "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_padding_that_is_sorted_with_the_items_is_no_matter_and_said() -> None:
    result = checking.check(_sorted(), model_named("ptx-9.0"))
    assert result.verdict == "ok" and [c.holds for c in result.checks] == [True] * 3
    assert any("values that nothing determines" in note for note in result.notes)


def test_a_race_about_padding_is_one() -> None:
    result = checking.check(_sorted(mistake="st.shared.u32 [%rd6], %u1;"), model_named("ptx-9.0"))
    assert result.verdict == "no" and [c.holds for c in result.checks if c.kind == "race_free"] == [False]


_EXCLUSIVE = "add.u32 %r12, %r11, %r1; sub.u32 %r12, %r12, %r11; st.global.u32 [%rd5+1024], %r12;"


def test_what_is_added_and_taken_off_again_is_no_matter() -> None:
    """An exclusive scan takes each element off the inclusive one, also those that nobody has given it."""
    (check,) = [c for c in checking.check(_exclusive(_EXCLUSIVE), model_named("ptx-9.0")).checks if c.kind == "forall"]
    assert check.holds is True
    for wrong in (
        _EXCLUSIVE.replace("sub.u32 %r12, %r12, %r11;", "ld.shared.u32 %r11, [%rd7]; sub.u32 %r12, %r12, %r11;"),
        _EXCLUSIVE.replace("add.u32 %r12, %r11, %r1;", "mad.lo.u32 %r12, %r11, 3, %r1;"),
    ):
        assert by_runs(_exclusive(wrong))[0]


def _exclusive(behind: str) -> KernelTest:
    test = _sorted(mistake=behind)
    text = test.launches[0].text.replace("@%p3 st.global.u32 [%rd5+1024], %r11;", "")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 256,
        "params": {"x": {"type": "u32", "elements": 512, "init": list(range(256))}},
        "check": {"forall": "x[256] == 0 && x[311] == 55 && x[511] == 255", "race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.part(6)
@pytest.mark.parametrize(
    "mistake",
    [
        "setp.eq.u32 %p1, %r11, 0; @%p1 st.global.u32 [%rd5+1024], %r1;",
        "and.b32 %r12, %r11, 4; cvt.u64.u32 %rd9, %r12; add.u64 %rd9, %rd6, %rd9; ld.shared.u32 %r13, [%rd9];",
        "st.volatile.shared.u32 [%rd6], %r11;",
        "atom.shared.add.u32 %r13, [%rd7], 1;",
        "and.b32 %r12, %r11, 1; st.global.u32 [%rd5+1024], %r12;",
        "mov.u64 %rd9, t; fence.proxy.async; bar.sync 0; @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd9], 1024;"
        " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ],
)
def test_an_open_value_that_decides_something_leaves_the_launch_open(mistake: str) -> None:
    open_, result = by_runs(_sorted(mistake=mistake))
    assert open_ and result.verdict == "undecided"


def test_an_address_from_a_lane_that_does_not_take_part_is_no_defect_of_the_formula() -> None:
    """The formula is laid out for one number at first; another one leads elsewhere."""
    text = f"""{_HEAD} {_OF_NOBODY.format(mask=3)}
 and.b32 %r7, %u2, 4; cvt.u64.u32 %rd6, %r7; add.u64 %rd6, %rd2, %rd6; st.shared.u32 [%rd6+32], 3; ret;\n}}"""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 2,
        "params": {"x": {"type": "u32", "elements": 2, "init": [0]}}, "check": {"forall": "x[0] == 0"},
    }  # fmt: skip
    assert checking.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), model_named("ptx-9.0")).verdict == "ok"
