"""Launches that begin before the one before them in their stream is over, and wait for it (`griddepcontrol`)."""

from __future__ import annotations

import random

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.visible .entry k{number}(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[16];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %r5, %ntid.x;
 mad.lo.u32 %r4, %r1, %r5, %r2; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd2, %rd1;
 setp.ne.u32 %p0, %r4, 0; setp.eq.u32 %p1, %r4, 0;
"""
_LETS, _WAITS = "griddepcontrol.launch_dependents;", "griddepcontrol.wait;"
#: What may be done before the wait, to words that nobody accesses but so.
_EARLY = (
    "ld.global.u32 %r8, [%rd1+{at}]; add.u32 %r3, %r3, %r8;", "ld.global.u32 %r8, [%rd1+{at}]; add.u32 %r3, %r3, %r8;",
    "@%p1 st.global.u32 [%rd1+{at}], 2;", "ld.relaxed.gpu.global.u32 %r8, [%rd1+{at}];",
    "red.relaxed.gpu.global.add.u32 [%rd1+{at}], 1;", "ld.global.u32 %r8, [%rd1];",
    "cp.async.ca.shared.global [s+8], [%rd1+{at}], 4; cp.async.wait_all; ld.shared.u32 %r8, [s+8];",
)  # fmt: skip


def _kernel(choose: random.Random, number: int, wrong: float) -> str:
    """Reads what another thread of the launch before has left, or what its own has, or adds to a word of all; each launch has
    four words of its own, and one more."""
    behind, other = 4 * choose.randrange(2), choose.random()
    access = [f"ld.global.u32 %r6, [%rd1+{20 * (number - 1) + behind}]; add.u32 %r3, %r3, %r6;"] if number else []
    if number > 1 and choose.random() < 0.5:
        access.append(f"ld.global.u32 %r6, [%rd1+{20 * (number - 2) + behind}]; add.u32 %r3, %r3, %r6;")
    access.append(f"add.u32 %r3, %r3, {number + 1}; st.global.u32 [%rd2+{20 * number}], %r3;")
    if other < 0.3:
        access.append(f"red.relaxed.gpu.global.add.u32 [%rd1+{20 * number + 16}], %r3;")
    elif other < 0.4:
        access.append(
            f"atom.relaxed.gpu.global.add.u32 %r7, [%rd1+{20 * number + 16}], 1; st.global.u32 [%rd2+64], %r7;"
        )
    first = []
    if choose.random() < 0.3:  # nobody else sees it
        first.append("mov.u64 %rd3, s; st.shared.u32 [s+4], 3;" if choose.random() < 0.5 else "bar.sync 0;")
    if choose.random() < 0.15:
        first.append("@%p0 ret;")
    waits = (
        []
        if choose.random() < wrong
        else [f"@{choose.choice(('%p0', '%p1'))} {_WAITS}" if choose.random() < wrong else _WAITS]
    )
    if choose.random() < 0.15:
        waits = [f"@%p1 {_WAITS} bar.sync 0;"]
    early = [choose.choice(_EARLY).format(at=60 + 4 * choose.randrange(5)) for _ in range(choose.choice((0, 0, 1, 2)))]
    body = [*first, *early, *waits, *access]
    if choose.random() < wrong:
        body = [*access, *first, *waits]
    lets = choose.random()
    if lets < 0.6:
        body.insert(
            choose.randrange(len(body) + 1), f"@{choose.choice(('%p0', '%p1'))} {_LETS}" if lets < 0.15 else _LETS
        )
    return "\n ".join([_HEAD.format(number=number), *body, "ret;\n}"])


def _test(seed: int) -> KernelTest:
    choose = random.Random(seed)
    wrong, number = choose.choice((0.0, 0.0, 0.0, 0.25)), choose.choice((2, 3, 3))
    kernels = [_kernel(choose, n, wrong) for n in range(number)]
    shape = choose.choice(((1, 2), (2, 1), (1, 1)))
    least = choose.choice((1, 1, 1, number + 1))
    tree = {
        "ptx": "k.ptx",
        "params": {"x": {"type": "u32", "elements": 20}},
        "kernel": [{"entry": f"k{n}", "grid": shape[0], "block": shape[1]} for n in range(number)],
        "check": {
            "race_free": True,
            "terminates": True,
            "forall": f"x[{5 * number - 5}] >= {least}",
        },
    }
    text = ".version 8.0\n.target sm_90\n.address_size 64\n" + "\n".join(kernels)
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(40), range(40, 440)))
def test_runs_say_of_launches_that_begin_early_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_test, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"]) > 0


_THREE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry put(.param .u64 x)
{
 .reg .b32 %r<4>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;
 griddepcontrol.launch_dependents;
 st.global.u32 [%rd2], 7;
 ret;
}
.visible .entry middle(.param .u64 x)
{
 .reg .pred %p; .reg .b32 %r;
 mov.u32 %r, %tid.x; setp.ne.u32 %p, %r, 0;
 @%p ret;
 MIDDLE
 ret;
} .global .u32 variable;
.visible .entry get(.param .u64 x)
{
 .shared .align 4 .b8 s[256]; .reg .b32 %r<4>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;
 LAST
 ld.global.u32 %r2, [%rd2+4]; st.global.u32 [%rd2+2048], %r2;
 ret;
}
"""


def _three(block: int, middle: str = _WAITS, last: str = "") -> KernelTest:
    text = _THREE.replace("MIDDLE", middle).replace("LAST", last)
    kernels = [{"entry": name, "grid": 1, "block": block} for name in ("put", "middle", "get")]
    tree = {"ptx": "k.ptx", "params": {"x": {"type": "u32", "elements": 1024}}, "kernel": kernels}
    check = {"race_free": True, "terminates": True, "forall": "x[512] == 7"}
    return KernelFile.of(tree | {"check": check}, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("block", [2, 256])
def test_what_comes_behind_a_launch_comes_behind_what_that_waited_for(block: int) -> None:
    """Whoever of it waits; the launch behind it need not."""
    open_, found = by_runs(_three(block))
    assert (open_, found.verdict) == ("", "ok")


def test_a_launch_that_does_not_wait_hands_on_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one that lets the next one begin, which waits for it alone."""
    for middle, last in (("", ""), ("", _WAITS), (_LETS, _WAITS)):
        open_, _ = by_runs(_three(64, middle, last))
        assert open_
        assert by_formula(_three(2, middle, last), monkeypatch).verdict == "no"


_COPIES = (
    "mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd0, s; add.u64 %rd3, %rd3, %rd0; cp.async.ca.shared.global [%rd3], [%rd2], 4;"
)
_FIRST = ".reg .pred %p; setp.eq.u32 %p, %r1, 0;"


@pytest.mark.parametrize("last", ["", f"{_FIRST} @%p {_WAITS}", f"ld.global.u32 %r3, [%rd1]; {_WAITS}"])
def test_a_launch_that_accesses_memory_before_it_waits_is_told(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its line, and what it does not wait for."""
    middle = f"{_WAITS} {_LETS}"
    open_, found = by_runs(_three(64, middle, last))
    assert (open_, found.verdict) == ("", "no")
    (race,) = found.races
    assert [event.line for event in race.events] == [9, 24 if last.startswith("ld") else 25]
    assert [cause.spot.line for cause in race.causes] == [race.events[1].line]
    assert by_formula(_three(3, middle, last), monkeypatch).verdict == "no"
    assert by_runs(_three(64, middle, _WAITS))[1].verdict == "ok"


@pytest.mark.parametrize(
    "last",
    [
        f"{_FIRST} @%p {_WAITS} bar.sync 0;",
        f"st.global.u32 [%rd2+2048], 3; {_WAITS}",  # nobody else is there
        f"ld.relaxed.gpu.global.u32 %r3, [%rd2+3072]; {_WAITS}",
        f"{_COPIES.replace('[%rd2]', '[%rd2+3072]')} {_WAITS} cp.async.wait_all;",
    ],
)
def test_what_comes_early_and_meets_nobody_is_as_if_it_came_late(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    middle = f"{_WAITS} {_LETS}"
    assert by_runs(_three(64, middle, last))[1].verdict == "ok"
    assert by_formula(_three(2, middle, last), monkeypatch).verdict == "ok"


@pytest.mark.parametrize(
    ("middle", "last"),
    [
        # its reads may come before the first launch writes: the one between lets it begin before it has waited itself
        (f"{_LETS} {_WAITS}", f"ld.relaxed.gpu.global.u32 %r3, [%rd2]; {_WAITS}"),
        # what it writes may be overwritten
        (f"{_WAITS} {_LETS}", f"st.relaxed.gpu.global.u32 [%rd2], 3; {_WAITS}"),
        # it copies before it waits, and the copy is complete behind that
        (f"{_LETS} {_WAITS}", f"{_COPIES} {_WAITS} cp.async.wait_all;"),
        # a variable of the module
        (f"{_WAITS} {_LETS}", f"ld.global.u32 %r3, [variable]; {_WAITS}"),
        # a launch does not wait, and comes behind the first one for no other reason
        (f"{_LETS}", f"ld.global.u32 %r3, [%rd2+3072]; {_WAITS}"),
    ],
)
def test_what_comes_early_and_may_meet_others_stays_open_or_is_wrong(middle: str, last: str) -> None:
    assert by_runs(_three(64, middle, last))[1].verdict in ("undecided", "no")
