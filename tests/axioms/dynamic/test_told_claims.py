"""Tables in which whoever claims a key writes something beside it and tells so by a flag: one run up to who searches where
beside the formula, conditions with kernels that are wrong and would be taken for right without, and a table at its size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_told_claims import told_kernel
from test_searches import by_searches, compare_up_to_searches
from ticketed_kernels import ticketed_kernel

from axioms.dynamic.searches import searching
from axioms.dynamic.searches.search_handed import HandedCells
from axioms.dynamic.searches.search_handovers import comes_behind
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(14, 20), range(150)))
def test_what_is_said_of_claims_that_are_told_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(told_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_claims_that_are_told_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(told_kernel, range(1000, 1000 + share(20000)), monkeypatch)


#: The key is word 0 of `c`, its flag word 1; word 0 of `x` is beside it.
_CLAIM = "atom.global.cas.b32 %t0, [%rd3], 0, 1; setp.ne.u32 %p3, %t0, 0; @%p3 bra LOST;"
_PUT, _TELL = "st.global.u32 [%rd1], 7;", "st.release.gpu.global.u32 [%rd3+4], 1;"
_WAIT = "LOST: ld.acquire.gpu.global.u32 %r6, [%rd3+4]; setp.eq.u32 %p4, %r6, 0; @%p4 bra LOST;"
_USE = "ld.global.u32 %r6, [%rd1];"
_STRONG = "st.relaxed.gpu.global.u32 [%rd1], 7;"
_FENCE = "fence.acq_rel.gpu;"


def _weak(text: str) -> str:
    return text.replace("release", "relaxed").replace("acquire", "relaxed")


def _told(*lines: str) -> KernelTest:
    return ticketed_kernel(" ".join(lines), words=4, start=(0, 0), forall="x[0] == 7")


_RIGHT = {
    "told": (_CLAIM, _PUT, _TELL, "bra END;", _WAIT, _USE),
    "told by fences": (_CLAIM, _PUT, _FENCE, _weak(_TELL), "bra END;", _weak(_WAIT), _FENCE, _USE),
    "put strongly": (_CLAIM, _STRONG, _FENCE, _weak(_TELL), "bra END;", _WAIT, _USE),
    "looked at once": (_CLAIM, _PUT, _TELL, "bra END;", _WAIT.replace("@%p4 bra LOST", "@%p4 bra END"), _USE),
}
_WRONG = {
    "nothing is released": (_CLAIM, _PUT, _weak(_TELL), "bra END;", _WAIT, _USE),
    "nothing is acquired": (_CLAIM, _PUT, _TELL, "bra END;", _weak(_WAIT), _USE),
    "told in a narrow scope": (_CLAIM, _PUT, _TELL.replace("gpu", "cta"), "bra END;", _WAIT, _USE),
    "told weakly": (_CLAIM, _PUT, _FENCE, _TELL.replace(".release.gpu", ""), "bra END;", _WAIT, _USE),
    "told too early": (_CLAIM, _TELL, _PUT, "bra END;", _WAIT, _USE),
    "a fence too early": (_CLAIM, _FENCE, _PUT, _weak(_TELL), "bra END;", _WAIT, _USE),
    "not waited for": (_CLAIM, _PUT, _TELL, "bra END; LOST:", _USE),
    "nobody tells": (_CLAIM, _PUT, "bra END;", _WAIT, _USE),
    "who waits tells, too": (_CLAIM, _PUT, _TELL, "bra END; LOST:", _TELL, _USE),
    "changed behind": (_CLAIM, _PUT, _TELL, _PUT, "bra END;", _WAIT, _USE),
    "put strongly behind the fence": (_CLAIM, _FENCE, _STRONG, _weak(_TELL), "bra END;", _WAIT, _USE),
    "added behind the fence": (
        _CLAIM, _FENCE, "red.relaxed.gpu.global.add.u32 [%rd1], 7;", _weak(_TELL), "bra END;", _WAIT, _USE,
    ),
    "looked at behind the fence": (
        _CLAIM, _FENCE, "ld.relaxed.gpu.global.u32 %r6, [%rd1];", _weak(_TELL), "bra END;", _WAIT, _PUT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _RIGHT)
def test_who_waits_for_the_winner_comes_behind_what_that_has_done(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _told(*_RIGHT[name])
    assert by_searches(test) is not None
    assert by_formula(test, monkeypatch).verdict in ("ok", "bounded")


@pytest.mark.parametrize("name", _WRONG)
def test_who_is_told_wrongly_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _told(*_WRONG[name])
    assert by_searches(test) is None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


def _any_store(nodes: Any, _: Any) -> dict[Any, Any]:
    return {put.cell: put.won for node in nodes for put in node.stores if put.won}


def _all(_: Any, told: dict[Any, Any]) -> dict[Any, Any]:
    return told


def _whenever(one: Any, other: Any, told: Any) -> bool:
    """As if the winner did all before it tells."""
    return any(one.won & told.get(cell, frozenset()) for cell in other.behind)


def _behind_any_fence(one: Any, other: Any, told: Any) -> bool:
    """As if a fence released what comes behind it."""
    return comes_behind(one._replace(late=False), other, told)


#: What is wrong, and the condition without which it would be taken for right.
_CONDITIONS: dict[str, tuple[Any, str, Any]] = {
    "nothing is released": (searching, "telling", _any_store),
    "nothing is acquired": (HandedCells, "finds", lambda self, cell, **_: self._replace(behind=self.behind | {cell})),
    "changed behind": (searching, "comes_behind", _whenever),
    "put strongly behind the fence": (searching, "comes_behind", _behind_any_fence),
    "a fence too early": (HandedCells, "accesses", lambda self: self),
}


@pytest.mark.parametrize("name", _CONDITIONS)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*_CONDITIONS[name])
    assert by_searches(_told(*_WRONG[name])) is not None


def test_a_winner_that_may_not_tell_leaves_open_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    unless = "ld.relaxed.gpu.global.u32 %r6, [%rd3+8]; setp.ne.u32 %p4, %r6, 0; @%p4 bra END;"
    wait = f"LOST: st.relaxed.gpu.global.u32 [%rd3+8], 1; {_WAIT.replace('LOST', 'WAIT')}"
    test = _told(_CLAIM, _PUT, unless, _TELL, "bra END;", wait, _USE)
    assert by_searches(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"
    monkeypatch.setattr(searching, "promised", _all)
    assert by_searches(test) is not None


#: Two CTAs of 64 threads, or four; two threads have each key, which lies where they find it by linear probing.
_TABLE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 keys, .param .u64 full, .param .u64 values, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
 ld.param.u64 %rd1, [keys]; ld.param.u64 %rd2, [full]; ld.param.u64 %rd3, [values]; ld.param.u64 %rd4, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 and.b32 %r5, %r4, {half}; add.u32 %r5, %r5, 1; mul.wide.u32 %rd5, %r4, 4; add.u64 %rd4, %rd4, %rd5;
 mul.lo.u32 %r6, %r5, -1640531535; shr.u32 %r6, %r6, 7; and.b32 %r6, %r6, 255;
AGAIN: mul.wide.u32 %rd5, %r6, 4; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd2, %rd5; add.u64 %rd8, %rd3, %rd5;
 atom.global.cas.b32 %r7, [%rd6], 0, %r5;
 setp.eq.u32 %p1, %r7, 0; @%p1 bra WON; setp.eq.u32 %p1, %r7, %r5; @%p1 bra LOST;
 add.u32 %r6, %r6, 1; and.b32 %r6, %r6, 255; bra AGAIN;
WON: {won} bra DONE;
LOST: {lost} ld.global.u32 %r8, [%rd8];
DONE: st.global.u32 [%rd4], %r8; ret;
}}
"""
_WON = "mad.lo.u32 %r8, %r5, 7, 3; st.global.u32 [%rd8], %r8; st.release.gpu.global.u32 [%rd7], 1;"
_LOST = "ld.acquire.gpu.global.u32 %r9, [%rd7]; setp.eq.u32 %p2, %r9, 0; @%p2 bra LOST;"


def _table(won: str = _WON, lost: str = _LOST, grid: int = 4) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": 64,
        "params": {name: {"type": "u32", "elements": 256} for name in ("keys", "full", "values", "out")},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TABLE.format(won=won, lost=lost, half=32 * grid - 1)}).test()


@pytest.mark.parametrize("grid", lengths(2, 4))
def test_a_table_with_flags_of_many_threads_is_decided(grid: int) -> None:
    open_, found = by_runs(_table(grid=grid))
    assert (open_, found.verdict) == ("", "ok")


@pytest.mark.parametrize(
    ("won", "lost"),
    [
        (_WON.replace("release", "relaxed"), _LOST),
        (_WON, _LOST.replace("acquire", "relaxed")),
        (_WON, ""),
        (_WON.replace("[%rd7], 1", "[%rd7+4], 1"), _LOST),
    ],
)
def test_a_table_with_flags_that_is_wrong_is_not_taken_for_right(won: str, lost: str) -> None:
    assert by_searches(_table(won, lost)) is None
