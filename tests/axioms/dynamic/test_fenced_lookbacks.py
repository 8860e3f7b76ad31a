"""Look-backs with fences between their looks, and threads of a warp that each look back for themselves: by a run, and by the
formula."""

from __future__ import annotations

from typing import Any

import generated_digits
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from axioms.dynamic.lookback import apart, confluent, lookbacks
from ptxcore.machine.run.watched import WatchedThread
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result


@pytest.mark.compares(0.9)
@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(n, n + 6) for n in range(0, 240, 6)], ids=lambda s: f"from{s.start}")
def test_runs_say_of_digits_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_digits.kernel, seeds, monkeypatch, may_be_undefined=True)


@pytest.mark.parametrize("count", lengths(9, 48))
def test_generated_digits_are_right_and_wrong(count: int) -> None:
    results = [by_runs(generated_digits.kernel(seed))[1] for seed in range(count)]
    assert sum(map(_is_look_back, results)) >= count / 3 and {r.verdict for r in results} >= {"ok", "no"}


def _is_look_back(result: Result) -> bool:
    return any("look-back" in note for note in result.notes)


#: CTA 0 publishes 5 and then 3; CTA 1 looks at another word, too, where it finds 3, and hands on what it wrote before.
_HANDS_ON = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 1; @%p bra FIRST; setp.eq.u32 %p, %r1, 2; @%p bra WAIT;
 {publishes}
 st.relaxed.gpu.global.u32 [%rd1+16], 1; st.relaxed.gpu.global.u32 [%rd1+4], 5; st.relaxed.gpu.global.u32 [%rd1+4], 3;
 ret;
FIRST: st.global.u32 [%rd1+8], 7;
LOOK: ld.relaxed.gpu.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p, %r2, 0; @%p bra LOOK; setp.eq.u32 %p, %r2, 5; @%p bra GOES;
 {between}
AGAIN: ld.relaxed.gpu.global.u32 %r3, [%rd1+16]; setp.eq.u32 %p, %r3, 0; @%p bra AGAIN;
 {one}
GOES: {behind}
 st.relaxed.gpu.global.u32 [%rd1+12], 1;
 ret;
WAIT: ld.acquire.gpu.global.u32 %r4, [%rd1+12]; setp.eq.u32 %p, %r4, 0; @%p bra WAIT;
 ld.global.u32 %r5, [%rd1+8]; st.global.u32 [%rd1], %r5;
 ret;
}}"""
_FENCE = "fence.acq_rel.gpu;"


def _hands_on(publishes: str = "", between: str = "", one: str = "", behind: str = "") -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 3, "block": 1, "params": {"x": {"type": "u32", "elements": 5, "init": [0]}},
        "check": {"forall": "x[0] == 7", "race_free": True, "terminates": True},
    }  # fmt: skip
    text = _HANDS_ON.format(publishes=publishes, between=between, one=one, behind=behind)
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


_BY_ONE_WAY, _BETWEEN = _hands_on(one=_FENCE), _hands_on(between=_FENCE)


@pytest.mark.parametrize("between", ["", _FENCE])
def test_a_fence_behind_the_last_look_hands_on(between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _hands_on(between=between, behind=_FENCE)
    open_, result = by_runs(test)
    assert (result.verdict, open_, _is_look_back(result)) == ("ok", "", True)
    assert by_formula(test, monkeypatch).verdict == "ok"


@pytest.mark.parametrize("test", [_BY_ONE_WAY, _BETWEEN], ids=["behind one way", "between looks"])
def test_a_fence_that_not_all_ways_come_by_hands_nothing_on(test: KernelTest, monkeypatch: pytest.MonkeyPatch) -> None:
    _, result = by_runs(test)
    assert result.verdict != "ok" and not _is_look_back(result)
    assert by_formula(test, monkeypatch).verdict == "no"


def test_what_a_fence_between_looks_orders_is_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with look-backs does not count on what their fences acquire, and so tells nothing of it."""
    test = _hands_on("st.global.u32 [%rd1+16], 0; fence.acq_rel.gpu;", between=_FENCE, behind=_FENCE)
    _, result = by_runs(test)
    assert [check.holds for check in result.checks if check.kind == "race_free"] != [False]
    assert by_formula(test, monkeypatch).verdict == "ok"


#: A warp of two threads, each of which has words of its own that hold 1 and then 2. `{vote}` is done with what one finds.
_DIGITS = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %on, %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1;
 setp.eq.u32 %p, %r1, 1; mov.u32 %r6, 3; mov.u32 %r4, 0; mov.u32 %r5, 0; @%p bra LOOK;
 st.relaxed.gpu.global.u32 [%rd2+8], 1; st.relaxed.gpu.global.u32 [%rd2+8], 2;
 ret;
LOOK: ld.relaxed.gpu.global.u32 %r3, [%rd2+8]; setp.eq.u32 %p, %r3, 0; @%p bra LOOK;
 setp.eq.u32 %on, %r3, 1;
 {vote}
 bar.sync 0; st.global.u32 [%rd2], %r4;
 ret;
}}"""
_ONCE_MORE = "@!%on bra OUT; add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 2; @%p bra LOOK; OUT:"
_RIGHT = f"vote.sync.ballot.b32 %r6, %on, %r6; {_ONCE_MORE}"
#: The result of a vote is data; a vote names somebody who has gone on; who votes no comes to the next vote.
_DATA = "vote.sync.ballot.b32 %r6, %on, 3; mov.u32 %r4, %r6;"
_GONE = f"vote.sync.ballot.b32 %r6, %on, 3; {_ONCE_MORE}"
_NO_VOTE = f"not.pred %p, %on; vote.sync.ballot.b32 %r6, %p, %r6; {_ONCE_MORE}"


def _digits(vote: str) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 2, "params": {"x": {"type": "u32", "elements": 4, "init": [0]}},
        "check": {"forall": "x[0] == 0 && x[1] == 0", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _DIGITS.format(vote=vote)}).test()


def test_threads_that_vote_who_looks_on_are_followed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookbacks.Ways, "check", _nothing_is_confluent)
    open_, result = by_runs(_digits(_RIGHT))
    assert (result.verdict, open_, _is_look_back(result)) == ("ok", "", True)
    assert by_formula(_digits(_RIGHT), monkeypatch).verdict == "ok"


def _nothing_is_confluent(_: lookbacks.Ways) -> None:
    raise lookbacks.NotConfluent


@pytest.mark.parametrize("vote", [_DATA, _GONE, _NO_VOTE], ids=["data", "somebody gone", "no"])
def test_votes_that_decide_more_are_not(vote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, result = by_runs(_digits(vote))
    assert result.verdict in ("no", "undefined", "undecided") and not _is_look_back(result)
    assert by_formula(_digits(vote), monkeypatch).verdict in ("no", "undefined")


def _without_fences(self: lookbacks._Reader, *_: Any) -> tuple[int, ...]:
    return ()


def _keeps_fences(self: confluent.Confluent, thread: WatchedThread, address: int, size: int) -> int | None:
    """As `reads`, and fences between looks count."""
    if id(thread.instruction.instruction) not in self.searched:
        self._ends(thread.number)
    for one, how in self._fences.pop(thread.number, ()):
        super(confluent.Confluent, self).other(one, confluent.FENCE, how)
    self._address = address
    return super(confluent.Confluent, self).reads(thread, address, size)


@pytest.mark.parametrize(
    ("test", "owner", "name", "wrong"),
    [
        pytest.param(_BY_ONE_WAY, lookbacks._Reader, "fences", property(_without_fences, lambda *_: None),
                     id="fences behind the last look"),
        pytest.param(_BETWEEN, confluent.Confluent, "reads", _keeps_fences, id="fences between looks"),
        pytest.param(_digits(_DATA), apart.Apart, "_voters", lambda *_: 3, id="a vote as data"),
        pytest.param(_digits(_GONE), apart.Apart, "_comes", lambda *_: None, id="a vote that names somebody gone"),
        pytest.param(_digits(_NO_VOTE), apart.Apart, "_comes", lambda *_: None, id="a vote of who said no"),
    ],
)  # fmt: skip
def test_each_condition_is_needed(
    test: KernelTest, owner: type, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong, raising=False)
    open_, result = by_runs(test)
    assert (result.verdict, open_, _is_look_back(result)) == ("ok", "", True)
