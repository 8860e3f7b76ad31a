"""Locks that readers share, beside writers: one run beside the formula, each condition with a kernel that is wrong without it,
and patterns at their size."""

from __future__ import annotations

import pytest
from by_runs import by_formula, by_runs
from test_sections import _ADD, _GIVE, _TAKEN, _but_open, _kernel, _up_to_sections

_ALONE = 0x80000000
_WRITES = (_TAKEN.replace("0, 1;", f"0, {_ALONE};"), _ADD, _GIVE)
_COUNTS_IN = (
    "T1: ld.relaxed.gpu.global.u32 %r9, [%rd1]; setp.ge.u32 %p2, %r9, 0x80000000; @%p2 bra T1; add.u32 %r10, %r9, 1; "
    "atom.acquire.gpu.global.cas.b32 %r6, [%rd1], %r9, %r10; setp.ne.u32 %p2, %r6, %r9; @%p2 bra T1;"
)
_LOOKS = "ld.global.u32 %v0, [%rd1+16]; st.global.u32 [%rd3+32], %v0;"
_COUNTS_OUT = "atom.release.gpu.global.add.u32 %r7, [%rd1], -1;"
_READS = (_COUNTS_IN, _LOOKS, _COUNTS_OUT)


def _beside(writer: tuple[str, ...], reader: tuple[str, ...]) -> tuple[str, ...]:
    """What the thread of the first CTA does, and what those of others do."""
    return ("setp.ne.u32 %p4, %r1, 0; @%p4 bra OTHER;", *writer, "bra END; OTHER:", *reader)


_LOOK = "ld.global.u32 %v0, [%rd1+16];"
_COUNTS_BESIDE = _COUNTS_IN.replace("@%p2 bra T1; add", "add")
_RIGHT: dict[str, tuple[int, tuple[str, ...]]] = {
    "a writer and a reader": (2, _beside(_WRITES, _READS)),
    "readers alone": (2, _READS),
    "a reader that writes": (2, (*_READS, *_WRITES)),
    "a writer and two readers": (3, _beside(_WRITES, (_COUNTS_IN, "ld.global.u32 %v0, [%rd1+16];", _COUNTS_OUT))),
    "by fences": (
        2,
        _beside(
            _WRITES,
            (_COUNTS_IN.replace("acquire", "relaxed"), "fence.acq_rel.gpu;", _LOOKS, "fence.acq_rel.gpu;",
             _COUNTS_OUT.replace("release", "relaxed")),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _RIGHT)
def test_locks_that_readers_share_are_decided_as_the_formula_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, body = _RIGHT[name]
    test = _kernel(*body, grid=grid)
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert found is not None and expected.verdict in ("ok", "bounded")
    assert all(_but_open(state, found) == _but_open(found.state, found) for state in expected.states)


_WRONG: dict[str, tuple[int, tuple[str, ...]]] = {
    "a reader writes what others read": (2, (_COUNTS_IN, _ADD, _COUNTS_OUT)),
    "a reader writes if it finds something": (
        3, _beside(_WRITES, (_COUNTS_IN, f"{_LOOK} setp.eq.u32 %p3, %v0, 9; @!%p3 st.global.u32 [%rd1+20], %v0;", _COUNTS_OUT)),
    ),
    "readers release nothing": (2, _beside(_WRITES, (_COUNTS_IN, _LOOKS, _COUNTS_OUT.replace("release", "relaxed")))),
    "readers acquire nothing": (2, _beside(_WRITES, (_COUNTS_IN.replace("acquire", "relaxed"), _LOOKS, _COUNTS_OUT))),
    "the writer releases nothing": (2, _beside((*_WRITES[:2], _GIVE.replace("release", "relaxed")), _READS)),
    "readers set the lock free": (3, _beside(_WRITES, (_COUNTS_IN, _LOOKS, _GIVE))),
    "readers count themselves beside the writer": (2, _beside(_WRITES, (_COUNTS_BESIDE, _LOOKS, _COUNTS_OUT))),
    "the writer takes it beside readers": (
        2, _beside(("mov.u32 %r9, 0;", _TAKEN.replace("cas.b32 %r6, [%rd1], 0, 1", "exch.b32 %r6, [%rd1], 0x80000000").replace(
            "setp.ne.u32 %p2, %r6, 0", "setp.ge.u32 %p2, %r6, 0x80000000"), _ADD, _GIVE), _READS),
    ),
    "how many readers there are is told": (
        3, (_COUNTS_IN, _LOOK, _COUNTS_OUT, "setp.eq.u32 %p3, %r9, 1; @%p3 st.global.u32 [%rd1+32], 1;"),
    ),
    "one look, and no other": (2, _beside(_WRITES, (_COUNTS_IN.replace("@%p2 bra T1;", "@%p2 bra END;"), _LOOKS, _COUNTS_OUT))),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_locks_that_are_shared_wrong_are_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, body = _WRONG[name]
    test = _kernel(*body, grid=grid)
    assert _up_to_sections(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


def test_readers_and_writers_are_decided_at_their_size() -> None:
    turns, *body = _beside(_WRITES, (_COUNTS_IN, _LOOK, _COUNTS_OUT))
    turns = turns.replace("setp.ne.u32 %p4, %r1, 0", "and.b32 %r8, %r1, 3; setp.ne.u32 %p4, %r8, 0")
    open_, found = by_runs(_kernel("@%p1 bra END;", turns, *body, grid=8, block=64, checks="x[4] == 1 + 257"))
    assert not open_ and found.verdict == "ok"
