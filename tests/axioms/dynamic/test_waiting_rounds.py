"""Rounds that wait for what others have done: one run beside the formula."""

from __future__ import annotations

from collections import Counter
from typing import Any

import generated_task_rounds
import pytest
from by_runs import by_formula
from campaigns import lengths, share
from compared_rounds import compare_rounds, in_rounds
from generated_ticket_rounds import round_kernel
from generated_waiting_rounds import generated, waiting_round

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return compare_rounds(generated, seeds, monkeypatch, lambda _: "same")


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(5, 6), range(12)))
def test_what_is_said_of_rounds_that_wait_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_rounds_that_wait_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(1000)), monkeypatch)


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(2, 5), range(2, 14)))
def test_what_is_said_of_rounds_with_tasks_of_their_own_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_rounds(generated_task_rounds.generated, seeds, monkeypatch, lambda _: "same")


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_what_is_said_of_many_rounds_with_tasks_of_their_own_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(1000, 1000 + share(1000))
    compare_rounds(generated_task_rounds.generated, seeds, monkeypatch, lambda _: "same")


_ADDS = {"poll": "acquire", "signal": "add", "until": "ticket", "counter": True}
_RIGHT: dict[str, dict[str, Any]] = {
    "a flag": {},
    "a flag by additions": {"signal": "add"},
    "fences": {"poll": "fence", "signal": "fence"},
    "fences of all orders": {"poll": "fence", "signal": "threadfence"},
    "a counter": _ADDS,
    "a counter, by fences": {**_ADDS, "poll": "fence", "signal": "fence, add"},
    "the scope of the system": {"poll": "system"},
}
_WRONG: dict[str, dict[str, Any]] = {
    "a poll that is relaxed": {"poll": "relaxed"},
    "a poll of a narrow scope": {"poll": "cta"},
    "a signal that is relaxed": {"signal": "relaxed"},
    "an addition that is relaxed": {**_ADDS, "signal": "relaxed add"},
    "a narrow addition": {**_ADDS, "signal": "cta"},
    "a narrow fence": {"signal": "narrow fence"},
    "a weak signal": {"signal": "weak"},
    "a count that is passed too early": {**_ADDS, "put": "2", "tickets": 3},
    "a count that any round leads on": {**_ADDS, "until": "early", "tickets": 3},
    "no barrier behind the wait": {"bars": ("", "bar.sync 0;"), "block": 2},
    "no barrier before the signal": {"bars": ("bar.sync 0;", ""), "block": 2},
    "a round that waits for a larger ticket": {"later": True, "first": True},
    "a counter that rounds set back": {**_ADDS, "more": ("", "", "@%p2 st.global.u32 [%rd3+4], 0;")},
    "a sum of what goes along": {
        "more": ("add.u32 %r9, %r9, 1;", "", ""), "tickets": 3,
        "work": "ld.global.u32 %r6, [%rd1+60]; st.global.u32 [%rd4], %r6; @%p2 red.relaxed.gpu.global.add.u32 [%rd1+60], %r9;",
    },
    "what goes along in a register": {
        "more": ("add.u32 %r9, %r9, 1;", "", ""),
        "work": "ld.global.u32 %r6, [%rd6]; add.u32 %r6, %r6, %r9; st.global.u32 [%rd4], %r6;",
    },
}  # fmt: skip


def _kernel(block: int = 1, after: str = "", **how: Any) -> KernelTest:
    return round_kernel(waiting_round(**how), block=block, tickets=how.get("tickets", 2), after=after)


@pytest.mark.parametrize("name", _RIGHT)
@pytest.mark.parametrize("block", (1, 2))
def test_rounds_that_wait_are_right(name: str, block: int) -> None:
    found = in_rounds(_kernel(block, **_RIGHT[name]))
    assert found is not None and found.waits == 1 and not found.differing
    assert [found.state[f"x[{i}]"] for i in range(2 * block)] == [7] * (2 * block)


@pytest.mark.parametrize("name", _WRONG)
def test_rounds_that_wait_for_too_little_are_left_open(name: str) -> None:
    found = in_rounds(_kernel(**_WRONG[name]))
    assert found is None or found.differing


def test_what_a_worker_has_done_before_is_not_known_in_its_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CTA that has both rounds does them one behind the other."""
    test = round_kernel("ld.global.u32 %r6, [%rd4+4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd4], %r6;", block=1)
    assert in_rounds(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"


#: Rounds whose number in their worker says what orders them: `%r9` is 1 in every other one. What is done with the last two of
#: five tickets, of which the runs show the first one in rounds of both kinds, and the second one; and not both in any two.
_TURNS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[64];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 0;
LOOP: mov.u32 %r6, 0;
 @%p2 atom.relaxed.gpu.global.add.u32 %t0, [%rd3], 1; @%p2 st.shared.u32 [s], %t0; bar.sync 0; ld.shared.u32 %t0, [s];
 setp.ge.u32 %p3, %t0, 5; @%p3 bra END; xor.b32 %r9, %r9, 1;
 {work}
NEXT: bar.sync 0; bra LOOP;
END: ret;
}}"""
_IS = "setp.ne.u32 %p4, %t0, {}; @%p4 bra {}; "
_POLL = "{}: ld.acquire.gpu.global.u32 %r5, {}; setp.lt.u32 %p5, %r5, {}; @%p5 bra {};"
_READS = "@%p2 ld.global.u32 %r6, [%rd1+32]; @%p2 st.global.u32 [%rd1+36], %r6; NOT:"
#: The second of the two waits for the first round or for the first of the two, and that for the first round or for nobody.
_BY_TURNS = " ".join((
    _IS.format(0, "NOT0"), "st.global.u32 [%rd1+32], 7; red.release.gpu.global.add.u32 [%rd3+4], 1; NOT0:",
    _IS.format(3, "NOT3"), _POLL.format("P1", "[%rd3+4]", "%r9", "P1"), "red.release.gpu.global.add.u32 [%rd3+8], 1; NOT3:",
    _IS.format(4, "NOT"), _POLL.format("P2", "[%rd3+4]", "%r9", "P2"), _POLL.format("P3", "[%rd3+8]", "1", "P3"), _READS,
))  # fmt: skip
#: In both, each thread meets the next one or the one behind that; those hand over what the first thread has done.
_PAIRS = " ".join((
    "add.u32 %r10, %r9, 1; xor.b32 %r11, %r2, %r10; mov.u32 %r12, 1;"
    " shl.b32 %r13, %r12, %r2; shl.b32 %r14, %r12, %r11; or.b32 %r13, %r13, %r14;"
    " mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd4, %rd3; "
    " add.u32 %r10, %r2, 3; and.b32 %r10, %r10, 3; setp.lt.u32 %p1, %r10, 2;",
    _IS.format(2, "NOT2"), "@%p2 st.global.u32 [%rd1+32], 7;",
    "bar.warp.sync %r13; @%p1 st.release.gpu.global.u32 [%rd4], 1; NOT2:",
    _IS.format(4, "NOT"), "@!%p1 bra MEET;", _POLL.format("P1", "[%rd4]", "1", "P1"), "MEET: bar.warp.sync %r13;", _READS,
))  # fmt: skip


@pytest.mark.parametrize(("work", "block"), [(_BY_TURNS, 1), (_PAIRS, 4)])
def test_what_orders_a_round_is_the_same_in_rounds_of_all_kinds(work: str, block: int) -> None:
    """Each run has all tickets in one worker but for a few, and others wait for more than those of an execution need."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 3, "block": block,
        "params": {
            "x": {"type": "u32", "elements": 16, "init": [0]}, "c": {"type": "u32", "elements": 4, "init": [0]},
        },
        "check": {"race_free": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _TURNS.format(work=work)}).test()
    assert in_rounds(test) is None
    assert ptxmm.check(test).verdict == "no"
    same = KernelFile.of(tree, "k.toml", {"k.ptx": _TURNS.format(work=work.replace("%r9", "1"))}).test()
    assert in_rounds(same) is not None
