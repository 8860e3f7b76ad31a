"""Rounds that carry something along: one run beside the formula, each condition with a kernel that is wrong, or has other
values, and would be taken for right without it, and kernels at their size with mistakes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from compared_rounds import compare_rounds, in_rounds
from generated_carried_rounds import ALL_ADD, generated
from generated_ticket_rounds import round_kernel

from axioms.dynamic.tickets.carried_rounds import CarriedAlong, CarryingRounds, Scouting
from axioms.dynamic.tickets.round_kinds import RoundKinds
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return compare_rounds(generated, seeds, monkeypatch, lambda found: "carried" if found.carries else "same")


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(3), range(24)))
def test_what_is_said_of_carried_rounds_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_carried_rounds_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _compare(range(1000, 1000 + share(4000)), monkeypatch)
    assert counted["carried"] > counted["same"] / 4


_RED = f"red.relaxed.gpu.global.add.u32 {ALL_ADD},"
_COUNTED = "add.u32 %r9, %r9, %t0;"
_IN_SHARED = "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 OP; @%p2 st.shared.u32 [s+8], %r5;"
_FROM_SHARED = f"@%p2 ld.shared.u32 %r5, [s+8]; @%p2 {_RED} %r5;"
_ZERO = "st.shared.u32 [s+8], 0;"


def _loses_nothing(*_: Any) -> None:
    pass


#: Kernels of which the sum has several outcomes: what a round does, more of the kernel, and what to leave out for it to have
#: one.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "what a register had is multiplied": (
        "mad.lo.u32 %r9, %r9, 3, 1;", {"after": f"{_RED} %r9;"}, (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "a register is set anew": (
        "setp.eq.u32 %p4, %t0, 1; @%p4 mov.u32 %r9, 5; @!%p4 add.u32 %r9, %r9, 9;", {"after": f"{_RED} %r9;"},
        (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "what shared memory had is multiplied": (
        _IN_SHARED.replace("OP", "mad.lo.u32 %r5, %r5, 3, 1"), {"before": _ZERO, "after": _FROM_SHARED},
        (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "it is given in rounds that are not the last": (
        f"add.u32 %r9, %r9, 1; {_RED} %r9;", {}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "one worker gives what it has": (
        _COUNTED, {"after": f"setp.eq.u32 %p4, %t0, 2; @%p4 {_RED} %r9;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "workers give several times as much": (
        _COUNTED, {"after": f"mul.lo.u32 %r5, %r9, %t0; {_RED} %r5;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "what it gives is no sum": (
        "add.u32 %r9, %r9, 1;", {"after": f"and.b32 %r5, %r9, 1; {_RED} %r5;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_a_sum_open_that_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _WRONG[name]
    test = round_kernel(work, block=1, **more)
    found = in_rounds(test)
    assert found is not None and found.differing == {"x[15]"}
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        taken = in_rounds(test)
    assert taken is not None and not taken.differing
    assert len({state["x[15]"] for state in by_formula(test, monkeypatch).states}) > 1


@pytest.mark.parametrize("wide", [False, True])
def test_a_sum_that_goes_around_in_fewer_bits_than_it_is_given_to_is_open(
    wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    give = "cvt.u64.u32 %rd5, %r9; red.relaxed.gpu.global.add.u64 [%rd1+56], %rd5;" if wide else f"{_RED} %r9;"
    test = round_kernel("add.u32 %r9, %r9, 0x80000000;", block=1, after=give)
    found = in_rounds(test)
    assert found is not None and ("x[15]" in found.differing) is wide
    assert len({state["x[15]"] for state in by_formula(test, monkeypatch).states}) == 1 + wide


#: Kernels that do several things, or race: likewise.
_OPEN: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "it decides a branch": (
        "setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd1+40], 1; add.u32 %r9, %r9, 1;", {},
        (CarryingRounds, "_varies", lambda self, thread, value: value.number),
    ),
    "it is an address": (
        "mul.wide.u32 %rd5, %r9, 16; add.u64 %rd5, %rd5, %rd4; st.global.u32 [%rd5], 1; add.u32 %r9, %r9, 1;", {},
        (CarryingRounds, "_varies", lambda self, thread, value: value.number),
    ),
    "something has to be there before": (
        "setp.eq.u32 %p4, %t0, 0; @%p4 ld.shared.u32 %r5, [s+8]; @%p4 add.u32 %r5, %r5, 1; @%p4 st.shared.u32 [s+8], %r5; "
        "@%p4 st.global.u32 [%rd4], %r5;", {"before": "setp.eq.u32 %p4, %r1, 1; @%p4 st.shared.u32 [s+8], 0;"},
        (CarryingRounds, "_check_first", _loses_nothing),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _OPEN)
def test_each_condition_leaves_open_what_is_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _OPEN[name]
    test = round_kernel(work, block=1, **more)
    assert in_rounds(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        taken = in_rounds(test)
    expected = by_formula(test, monkeypatch)
    assert taken is not None
    others = {label for state in expected.states for label in state if state[label] != taken.state[label]}
    assert expected.verdict not in ("ok", "bounded") or not others <= taken.differing


_AT_SIZE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 in, .param .u64 out)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 4 .b8 s[32];
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [in]; ld.param.u64 %rd3, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;
 setp.ne.u32 %p1, %r1, 0; and.b32 %r3, %r1, 31; setp.ne.u32 %p2, %r3, 0; mov.u32 %r4, 0; mov.u32 %r9, s;
LOOP: SECOND @%p1 bra GOT;
 atom.global.add.u32 %r5, [%rd1], 1; st.shared.u32 [s], %r5;
GOT: FIRST ld.shared.u32 %r5, [s]; setp.ge.u32 %p3, %r5, 6; @%p3 bra END;
 mad.lo.u32 %r6, %r5, %r2, %r1; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd2;
 ld.global.u32 %r6, [%rd4]; add.u32 %r4, %r4, %r6; bra LOOP;
END:
SUM
 shr.u32 %r6, %r1, 3; add.u32 %r6, %r6, %r9; @!%p2 st.shared.u32 [%r6+8], %r4; THIRD @%p1 bra DONE;
 ld.shared.u32 %r4, [s+8]; ld.shared.u32 %r6, [s+12]; add.u32 %r4, %r4, %r6; GIVE
DONE: ret;
}
"""
_SHUFFLES = "\n".join(f" shfl.sync.bfly.b32 %r6, %r4, {n}, 31, -1; add.u32 %r4, %r4, %r6;" for n in (16, 8, 4, 2, 1))
_RIGHT = {
    "FIRST": "bar.sync 0;", "SECOND": "bar.sync 0;", "THIRD": "bar.sync 0;", "SUM": _SHUFFLES,
    "GIVE": "red.global.add.u32 [%rd3], %r4;",
}  # fmt: skip
_MISTAKES = {
    "no barrier behind the ticket": {"FIRST": ""},
    "no barrier before it": {"SECOND": ""},
    "no barrier before the parts are read": {"THIRD": ""},
    "no atomic operation": {"GIVE": "ld.global.u32 %r6, [%rd3]; add.u32 %r4, %r4, %r6; st.global.u32 [%rd3], %r4;"},
    "a part of the sum": {"SUM": _SHUFFLES.replace("4, 8, 31", "4, 4, 31")},
}


def _at_size(mistake: dict[str, str]) -> KernelTest:
    text = _AT_SIZE
    for word, put in {**_RIGHT, **mistake}.items():
        text = text.replace(word, put)
    words = {"c": 1, "in": 6 * 64, "out": 1}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64,
        "params": {name: {"type": "u32", "elements": n, "init": [*range(n)]} for name, n in words.items()},
        "check": {"forall": f"out[0] == {sum(range(6 * 64))} && c[0] == 8", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_sums_of_blocks_are_as_in_the_run() -> None:
    """What 64 threads have is added up by shuffles and in shared memory."""
    found = in_rounds(_at_size({}))
    assert found is not None and found.carries and not found.differing
    assert found.state["out[0]"] == sum(range(6 * 64))


@pytest.mark.long
@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_with_a_sum_is_told(name: str) -> None:
    _, result = by_runs(_at_size(_MISTAKES[name]))
    assert result.verdict == "no"


def test_what_another_launch_carries_along_is_no_matter() -> None:
    along = CarriedAlong(registers={21})
    Scouting(32, 32, RoundKinds(), along).settle()
    assert along == CarriedAlong(registers={21})
