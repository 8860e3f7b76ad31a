"""Fences and releases of a narrow scope beside wide ones: these count all the same, in whatever order they come."""

from __future__ import annotations

import generated_rounds
import pytest
from agreement import note
from by_runs import by_formula, by_runs, compare
from test_circles import _kernel, _wait

_DATA, _FLAG = "[%rd1+12]", "[%rd1]"
_WIDE, _NARROW = "fence.acq_rel.gpu;", "fence.acq_rel.cta;"
_STORE = f"st.relaxed.gpu.global.u32 {_FLAG}, 1;"
_RELEASES = {
    "wide, narrow": f"{_WIDE} {_NARROW} {_STORE}",
    "narrow, wide": f"{_NARROW} {_WIDE} {_STORE}",
    "narrow": f"{_NARROW} {_STORE}",
    "release and store": f"st.release.gpu.global.u32 {_FLAG}, 2; st.release.cta.global.u32 {_FLAG}, 2; {_STORE}",
    "no release": f"st.release.cta.global.u32 {_FLAG}, 2; {_STORE}",
    "before it": f"{_WIDE} st.release.cta.global.u32 {_FLAG}, 1;",
}
_ACQUIRES = {
    "narrow, wide": f"{_NARROW} {_WIDE}",
    "wide, narrow": f"{_WIDE} {_NARROW}",
    "narrow": _NARROW,
    "narrow thrice, wide": f"{_NARROW} {_NARROW} {_NARROW} {_WIDE}",
}


@pytest.mark.part(8)
@pytest.mark.parametrize("acquire", _ACQUIRES)
@pytest.mark.parametrize("release", _RELEASES)
@pytest.mark.compares(1)
def test_wide_fences_count_beside_narrow_ones(release: str, acquire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula says the same, of a wait, and of a ticket whose second taker goes on."""
    writer = f"st.global.u32 {_DATA}, 1; {_RELEASES[release]}"
    reader = f"{_ACQUIRES[acquire]} ld.global.u32 %r6, {_DATA}; st.global.u32 $0, %r6;"
    second = f"ld.relaxed.gpu.global.u32 %r5, {_FLAG}; setp.ne.u32 %p1, %r5, 1; @%p1 bra OUT; {reader} OUT:"
    for then in (f"{_wait(_FLAG)} {reader}", second):
        test = _kernel((writer,), (then,))
        _, found = by_runs(test)
        expected = by_formula(test, monkeypatch)
        decided = found.verdict != "undecided"
        assert not decided or found.verdict == expected.verdict
        assert decided or release == "release and store", "of several stores it may be open which one is found"
    note(1, {})


@pytest.mark.compares(0.3)
def test_a_barrier_of_a_grid_may_have_narrow_fences_beside_wide_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """In these a race was told that is none."""
    verdicts = compare(generated_rounds.kernel, range(5035, 5038), monkeypatch)
    assert verdicts["ok"] > 0
