"""Threads that look back at what others publish: by a run whose look-backs are followed on all ways, and by the formula."""

from __future__ import annotations

from collections.abc import Iterator

import generated_lookbacks
import pytest
from by_runs import by_runs, compare
from campaigns import lengths

import ptxmm
from axioms.dynamic.lookback import lookbacks
from axioms.dynamic.lookback.sightings import Sightings, WeakWrites
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def test_brute_force_says_where_it_comes_to_what_no_execution_does() -> None:
    """It tries each value at each read, and one of them leads in front of the first word."""
    test = generated_lookbacks.kernel(1092, most=4)
    result = ptxmm.check(test, engine="enumerate", unroll=2)
    assert (result.verdict, result.error) == ("undecided", "brute force comes to bytes that no execution accesses")


#: What CTA 0 publishes: 3, and then 5.
_PUBLISHES = "st.relaxed.gpu.global.u32 [%rd1+4], 3; st.relaxed.gpu.global.u32 [%rd1+4], 5;"


@pytest.mark.compares(0.9)
@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(n, n + 3) for n in range(0, 120, 3)], ids=lambda s: f"from{s.start}")
def test_runs_say_of_look_backs_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_lookbacks.kernel, seeds, monkeypatch)


@pytest.mark.parametrize("count", lengths(12, 24))
def test_generated_kernels_look_back_rightly_and_wrongly(count: int) -> None:
    results = [by_runs(generated_lookbacks.kernel(seed))[1] for seed in range(count)]
    looking = [r for r in results if any("look-back" in note for note in r.notes)]
    assert len(looking) >= count / 3 and {r.verdict for r in results} >= {"ok", "no"}


def _test(found: str, publishes: str = _PUBLISHES) -> KernelTest:
    """CTA 0 publishes 3 and then 5, CTA 1 waits for either and stores what it makes of it."""
    ptx = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 1; mov.u32 %r3, 0; @%p bra LOOK;
 {publishes}
 ret;
LOOK: ld.relaxed.gpu.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p, %r2, 0; @%p bra LOOK;
 {found}
 st.global.u32 [%rd1], %r3;
 ret;
}}"""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1, "params": {"x": {"type": "u32", "elements": 4, "init": [0]}},
        "check": {"forall": "x[0] == 1", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


#: 1 for 3 and for 5, 0 for all else.
_EITHER = "sub.u32 %r3, %r2, 3; and.b32 %r3, %r3, 0xfffffffd; setp.eq.u32 %p, %r3, 0; selp.u32 %r3, 1, 0, %p;"
_AGAIN = "AGAIN: ld.relaxed.gpu.global.u32 %r4, [%rd1+4]; setp.eq.u32 %p, %r4, 0; @%p bra AGAIN;"


def _looks_back(test: KernelTest) -> tuple[str, str, bool]:
    open_, result = by_runs(test)
    return result.verdict, open_, any("look-back" in note for note in result.notes)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(_EITHER, id="what it finds is looked at"),
        pytest.param(f"{_EITHER} @%p bra ONCE; bra LOOK; ONCE:", id="and decides where it goes on"),
        pytest.param("setp.eq.u32 %p, %r2, 5; @!%p bra LOOK; mov.u32 %r3, 1;", id="one value leads back"),
        pytest.param(f"{_AGAIN} mov.u32 %r2, %r4; {_EITHER}", id="what a second read finds"),
    ],
)
def test_what_comes_to_the_same_is_decided(found: str) -> None:
    verdict, open_, _ = _looks_back(_test(found))
    assert (verdict, open_) == ("ok", "")


#: What hangs on the value, on the way, and on two reads that find one value or two.
_OTHERWISE = (
    "setp.eq.u32 %p, %r2, 5; selp.u32 %r3, 1, 0, %p;",
    "setp.eq.u32 %p, %r2, 3; @%p bra ELSE; mov.u32 %r3, 1; ELSE:",
    f"{_AGAIN} setp.eq.u32 %p, %r2, %r4; selp.u32 %r3, 1, 0, %p;",
)


@pytest.mark.parametrize("found", _OTHERWISE)
def test_what_does_not_is_no_look_back(found: str) -> None:
    """Several runs decide it, and find the outcome."""
    verdict, open_, looking = _looks_back(_test(found))
    assert (verdict, open_, looking) == ("no", "", False)


#: Who finds 3 reads what CTA 0 wrote plainly; in the run, nobody does.
_ELSEWHERE = (
    "setp.eq.u32 %p, %r2, 3; @%p add.u64 %rd1, %rd1, 4; @%p bra LOOK; ld.param.u64 %rd1, [x]; mov.u32 %r3, 1;",
    "st.global.u32 [%rd1+8], 7; st.relaxed.gpu.global.u32 [%rd1+8], 9; st.relaxed.gpu.global.u32 [%rd1+4], 3; "
    "st.relaxed.gpu.global.u32 [%rd1+4], 5;",
)


def test_a_read_that_the_run_does_not_do_may_race() -> None:
    verdict, _, looking = _looks_back(_test(*_ELSEWHERE))
    assert verdict == "no" and not looking


def _last_values_alone(self: lookbacks.Alone, at: lookbacks.At) -> Iterator[tuple[lookbacks.At | lookbacks.Stop, bool]]:
    """As `_behind`, and reads find the last value alone."""
    try:
        yield self.executes(at), True
    except lookbacks._Asks as asks:
        found = self.sight.finds(*asks.args, at.seen)[-1]
        yield self.executes(at, found.value, found), True


def test_all_values_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookbacks.Alone, "_behind", _last_values_alone)
    assert _looks_back(_test(*_OTHERWISE[:1])) == ("ok", "", True)


def test_plain_writes_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sightings, "_is_strongly_written", lambda *_: True)
    monkeypatch.setattr(WeakWrites, "at", lambda *_: None)
    assert _looks_back(_test(*_ELSEWHERE)) == ("ok", "", True)
