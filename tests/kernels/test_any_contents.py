"""Buffers that may hold anything at first: the solver leaves their contents open, brute force tries all of them, and every
single content is a test of its own."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import lengths, share
from waiting import PATIENCE

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pf, .param .u64 px)
{
.reg .pred %p, %q; .reg .b32 %r<6>, %id; .reg .b64 %f, %x, %d;
ld.param.u64 %f, [pf]; ld.param.u64 %x, [px]; mov.u32 %id, %ctaid.x;
"""
#: A thread does some of these; %f is the buffer whose contents are open.
STATEMENTS = (
    "ld.relaxed.gpu.global.u8 %r1, [%f]; setp.eq.u32 %p, %r1, {k}; @%p bra {end};",
    "ld.relaxed.gpu.global.u8 %r1, [%f]; and.b32 %r2, %r1, 1; st.relaxed.gpu.global.u8 [%x], %r2;",
    "ld.acquire.gpu.global.u8 %r1, [%f]; and.b32 %r2, %r1, 1; cvt.u64.u32 %d, %r2; add.u64 %d, %x, %d; st.global.u8 [%d], {k};",
    "ld.relaxed.gpu.global.u8 %r1, [%f]; setp.gt.u32 %p, %r1, {k}; selp.u32 %r2, 3, 0, %p; st.global.u8 [%x+1], %r2;",
    "{wait}: ld.acquire.gpu.global.u8 %r1, [%f]; setp.eq.u32 %p, %r1, {k}; @%p bra {wait};",
    "st.release.gpu.global.u8 [%f], {k};",
    "st.relaxed.gpu.global.u8 [%f], {k};",
    "st.global.u8 [%x+1], {k};",
)


def generated(seed: int) -> KernelTest:
    """A kernel of one thread or two."""
    choose = random.Random(seed)
    count = choose.choice((1, 2, 2))
    lines = [HEAD]
    for t in range(count):
        lines.append(f"setp.ne.u32 %q, %id, {t}; @%q bra T{t + 1};")
        for i in range(choose.randint(1, 2 if count == 2 else 3)):
            lines.append(choose.choice(STATEMENTS).format(k=choose.randint(0, 2), wait=f"W{t}_{i}", end=f"E{t}"))
        lines.append(f"E{t}: ret;\nT{t + 1}:")
    lines.append("ret;\n}\n")
    asked = choose.choice(("x[0] != 1", "x[1] < 3", "x[0] == 0 || x[1] == 0", "x[0] + x[1] < 4"))
    made = ptxmm.Kernel(
        "\n".join(lines),
        grid=count,
        block=1,
        params={"f": {"type": "u8", "elements": 1, "init": "any"}, "x": {"type": "u8", "elements": 2}},
        forall=asked,
        exists="x[0] == 1",
        race_free=True,
        terminates=True,
    )
    return made.test


def holding(test: KernelTest, number: int) -> KernelTest:
    """The test with a number in the buffer whose contents are open."""

    def known(p: object) -> object:
        return replace(p, init=(number,), open=False) if isinstance(p, Buffer) and p.open else p

    launches = tuple(replace(l, params=tuple(map(known, l.params))) for l in test.launches)
    return replace(test, launches=launches, parameters=tuple(map(known, test.parameters)))


def answers(result: Result) -> list[bool | None]:
    return [check.holds for check in result.checks]


def states(result: Result) -> set[tuple[tuple[str, int], ...]]:
    return {tuple(sorted(state.items())) for state in result.states}


@pytest.mark.long
@pytest.mark.compares(0.9)
@pytest.mark.parametrize("count", lengths(2, 7))
def test_all_contents_are_what_brute_force_finds_with_each_of_them(count: int) -> None:
    for seed in range(count):
        test = generated(seed)
        solved, forced = ptxmm.check(test), ptxmm.check(test, engine="enumerate", timeout=PATIENCE)
        if forced.verdict == "undecided" or solved.verdict == "undecided":
            pass_over(f"{forced.error or solved.error}")
            continue
        assert compared(answers(solved)) == answers(forced), seed
        if solved.listed_all and forced.listed_all:
            assert states(solved) == states(forced), seed


@pytest.mark.campaign
@pytest.mark.compares(0.9)
def test_all_contents_of_many_kernels() -> None:
    for seed in range(100, 100 + share(300)):
        test = generated(seed)
        solved, forced = ptxmm.check(test), ptxmm.check(test, engine="enumerate", timeout=PATIENCE)
        if "undecided" in (forced.verdict, solved.verdict):
            pass_over(f"{forced.error or solved.error}")
        else:
            assert compared(answers(solved)) == answers(forced), seed


@pytest.mark.long
@pytest.mark.compares(1)
def test_what_holds_of_all_contents_holds_of_each_and_what_fails_fails_of_one() -> None:
    """`forall`, `race_free` and `terminates` hold of all contents where they hold of each; `exists`, where it holds of some."""
    for seed in range(20, 34):
        test = generated(seed)
        whole = ptxmm.check(test)
        assert whole.verdict in ("ok", "no")
        each = [ptxmm.check(holding(test, number)) for number in (0, 1, 2, 3, 4, 130, 255)]
        ending = [
            found for found in each if found.states
        ]  # of contents with which none ends, checks of all fail by themselves
        for i, some in ((0, ending), (2, ending), (3, each)):
            assert whole.checks[i].holds == all(found.checks[i].holds for found in some), (seed, whole.checks[i])
        assert whole.checks[1].holds == any(found.checks[1].holds for found in each), seed
        compared(None)


INDEX = (
    HEAD
    + "ld.global.u32 %r1, [%f]; BOUND mul.wide.u32 %d, %r1, 4; add.u64 %d, %x, %d; st.global.u32 [%d], 1; ret;\n}\n"
)


def index(bound: str, **checks: object) -> ptxmm.Kernel:
    word = {"type": "u32", "elements": 1, "init": "any"}
    params = {"f": word, "x": {"type": "u32", "elements": 4}}
    return ptxmm.Kernel(INDEX.replace("BOUND", bound), grid=1, block=1, params=params, **checks)  # type: ignore[arg-type]


def test_contents_that_are_an_index() -> None:
    result = index("and.b32 %r1, %r1, 3;", forall="x[0] + x[1] + x[2] + x[3] == 1 && x[2] == 0").check()
    assert result.verdict == "no" and result.checks[0].state == {"x[0]": 0, "x[1]": 0, "x[2]": 1, "x[3]": 0}
    first = result.checks[0].linearisation[0]
    assert first.startswith("at first f is ")
    assert int(first.rpartition(" ")[2]) % 4 == 2
    outside = index("", forall="x[0] == 0 || x[0] == 1").check()
    assert outside.verdict == "undefined"


LOCK = HEAD + "L: atom.exch.acquire.gpu.global.b32 %r1, [%f], 1; setp.ne.u32 %p, %r1, 0; @%p bra L;\nret;\n}\n"


@pytest.mark.parametrize("init", [0, "any"])
def test_a_lock_that_may_be_taken_at_first_may_never_be_free(init: object) -> None:
    params = {"f": {"type": "u32", "elements": 1, "init": init}, "x": {"type": "u32", "elements": 1}}
    result = ptxmm.Kernel(LOCK, grid=1, block=1, params=params, terminates=True).check()
    assert result.verdict == ("no" if init == "any" else "ok")
    if init == "any":
        (check,) = result.checks
        assert (
            check.linearisation
            and check.linearisation[0].startswith("at first f is ")
            and not check.linearisation[0].endswith(" 0")
        )
        assert result.notes == ["f may hold anything at first: executions begin with each of its contents"]


def test_what_is_not_decided_is_said() -> None:
    made = index("and.b32 %r1, %r1, 3;", forall="x[0] < 2")
    forced = made.check(engine="enumerate")
    assert forced.verdict == "undecided" and "32 bits" in str(forced.error)
    listed = index("and.b32 %r1, %r1, 3;", forall="f[0] == f[0]").check()
    assert listed.verdict == "ok" and not listed.listed_all


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('{type = "u32", elements = 1, init = "all"}', "5:41: error: 'all' is no contents of a buffer"),
        ('{type = "u32", init = "any"}', "5:1: error: is 'x' a buffer or a number?"),
        ('{type = "u32", elements = 0, init = "any"}', "5:31: error: 'elements' is a number from 1"),
        ('{type = "u32", value = "any"}', "5:28: error: 'any' is no pointer"),
    ],
)
def test_mistakes_are_told_by_place(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(
        f'ptx = "t.ptx"\ngrid = 1\nblock = 1\n[params]\nx = {table}\n[check]\nrace_free = true\n', encoding="utf-8"
    )
    with pytest.raises(InputError) as raised:
        ptxmm.load(str(path))
    assert f"{path}:{said}" in str(raised.value)
