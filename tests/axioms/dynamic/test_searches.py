"""Searches: what threads do until they meet again, where it hangs on the order of atomic operations which way they go. One run
up to these ways beside the formula, each condition with a kernel that is wrong and would be taken for right without it, and
structures without locks at their size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from by_runs import by_formula, by_runs, compare_right
from campaigns import lengths, share
from generated_searches import search_kernel
from ticketed_kernels import ticketed_kernel

from axioms.dynamic.searches import searching
from axioms.dynamic.searches.search_cells import SearchedBytes
from axioms.dynamic.searches.searches import Searches
from ptxcore.clock import limited
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.searched import SearchedLaunches, run_from_anywhere
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def by_searches(test: KernelTest) -> SearchedLaunches | None:
    with limited(5.0):
        return run_from_anywhere(Runs(test, watched=True))


def compare_up_to_searches(
    made: Callable[[int], KernelTest], seeds: range, monkeypatch: pytest.MonkeyPatch
) -> Counter[str]:
    return compare_up_to_searches_from(made, seeds, monkeypatch, by_searches)


def compare_up_to_searches_from(
    made: Callable[[int], KernelTest],
    seeds: range,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[KernelTest], SearchedLaunches | None],
) -> Counter[str]:
    def told(found: SearchedLaunches, states: list[dict[str, int]]) -> str:
        for state in states:
            differ = {label for label, value in state.items() if found.state[label] != value}
            assert differ <= found.differing, differ
        return "differing" if found.differing else "same"

    return compare_right(made, seeds, monkeypatch, run, told)


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(18, 20), range(100)))
def test_what_is_said_up_to_searches_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(search_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_up_to_searches_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(search_kernel, range(1000, 1000 + share(20000)), monkeypatch)


def _none(*_: Any, **__: Any) -> None:
    return None


def _never(*_: Any, **__: Any) -> Iterator[set[int]]:
    return iter(())


#: A claim of a word, and where who has lost goes on.
_CLAIM = "atom.global.cas.b32 %t0, [%rd3+{}], {}, %r5; setp.ne.u32 %p3, %t0, {}; @%p3 bra {};"
_FIRST = _CLAIM.format(0, 0, 0, "LOST")

#: Kernels that are wrong: what they do, how many CTAs and threads of each, and the condition without which they would be taken
#: for right.
_WRONG: dict[str, tuple[str, int, int, tuple[Any, str, Any]]] = {
    "who has lost writes what the winner does": (
        f"{_FIRST} LOST: st.global.u32 [%rd1], %r5;", 2, 1, (searching._HeldAgainst, "_pair", _none)
    ),
    "one who does not search reads what a winner writes": (
        f"@%p1 ld.global.u32 %r6, [%rd1]; @%p1 bra END; {_FIRST} st.global.u32 [%rd1], 7; LOST: mov.u32 %r6, 0;", 2, 1,
        (searching._HeldAgainst, "_beside", _none),
    ),
    "what others have left decides what a thread has behind the barrier": (
        f"{_FIRST} mov.u32 %r9, 5; LOST: bar.sync 0; @%p1 st.global.u32 [%rd1], %r9;", 1, 2,
        (searching, "_check_where_they_end", _none),
    ),
    "a thread waits without end for who has won": (
        f"{_FIRST} LOST: ld.relaxed.gpu.global.u32 %r6, [%rd3]; setp.eq.u32 %p4, %r6, 2; @%p4 bra LOST;", 2, 1,
        (searching, "check_ends", _none),
    ),
    "one thread has claimed all that another one passes": (
        f"{_CLAIM.format(0, 0, 0, 'LOST')} {_CLAIM.format(4, 2, 2, 'READ')} READ: ld.global.u32 %r6, [%rd1]; bra END; "
        f"LOST: {_CLAIM.format(4, 2, 2, 'BOTH')} bra END; BOTH: st.global.u32 [%rd1], 7;", 2, 1,
        (Searches, "claims_several", _none),
    ),
    "who has won sets the word back": (
        f"{_FIRST} st.global.u32 [%rd1], %r5; st.relaxed.gpu.global.u32 [%rd3], 0; LOST: mov.u32 %r6, 0;", 2, 1,
        (SearchedBytes, "is_claimed", _never),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_wrong_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, grid, block, (where, what, without) = _WRONG[name]
    test = ticketed_kernel(body, grid, block, words=4, forall="x[0] < 999 && x[0] != 5")
    assert by_searches(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict == "no", expected
    monkeypatch.setattr(where, what, without)
    found = by_searches(test)
    assert found is not None and found.state["x[0]"] not in found.differing


#: A table of words with linear probing: each thread puts a key of its own there and something beside it, and looks it up in the
#: next launch. `%r7`: where it begins.
_TABLE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry insert(.param .u64 keys, .param .u64 values)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [values];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1;
 mul.lo.u32 %r7, %r5, -1640531535; shr.u32 %r7, %r7, {shift}; and.b32 %r7, %r7, {mask};
AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd4, %rd2, %rd1; add.u64 %rd2, %rd2, %rd3;
 atom.global.cas.b32 %r8, [%rd4], 0, %r5;
 {early}
 setp.eq.u32 %p1, %r8, 0; @%p1 bra FOUND;
 add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {mask}; bra AGAIN;
FOUND: {late}
 ret;
}}
.visible .entry look(.param .u64 keys, .param .u64 values, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [values]; ld.param.u64 %rd5, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1;
 mul.wide.u32 %rd6, %r4, 4; add.u64 %rd5, %rd5, %rd6;
 mul.lo.u32 %r7, %r5, -1640531535; shr.u32 %r7, %r7, {shift}; and.b32 %r7, %r7, {mask};
AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd4, %rd2, %rd1; add.u64 %rd2, %rd2, %rd3;
 ld.global.u32 %r8, [%rd4];
 setp.eq.u32 %p1, %r8, %r5; @%p1 bra FOUND;
 setp.eq.u32 %p2, %r8, 0; @%p2 bra END;
 add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {mask}; bra AGAIN;
FOUND: ld.global.u32 %r8, [%rd2]; st.global.u32 [%rd5], %r8;
END: ret;
}}
"""


def _table(early: str = "", late: str = "st.global.u32 [%rd2], %r5;", grid: int = 2, block: int = 32) -> KernelTest:
    size = 2 * grid * block
    text = _TABLE.format(early=early, late=late, mask=size - 1, shift=9)
    shape = {"grid": grid, "block": block}
    tree = {
        "ptx": "k.ptx",
        "kernel": [
            {"entry": "insert", "args": ["keys", "values"], **shape},
            {"entry": "look", "args": ["keys", "values", "out"], **shape},
        ],
        "params": {name: {"type": "u32", "elements": size} for name in ("keys", "values", "out")},
        "check": {"race_free": True, "terminates": True, "no_trap": True},
    }
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_a_table_is_filled_in_any_order_and_read_behind_that() -> None:
    open_, found = by_runs(_table())
    assert (open_, found.verdict) == ("", "ok")


def test_who_ignores_what_a_claim_of_a_table_gave_races() -> None:
    open_, found = by_runs(_table(early="st.global.u32 [%rd2], %r5;", late=""))
    assert (open_, found.verdict) == ("", "no")
    assert [check.holds for check in found.checks if check.kind == "race_free"] == [False]


_LAUNCH = """.visible .entry {name}(.param .u64 x)
{{
 .reg .b32 %r<8>; .reg .b64 %rd<5>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; add.u32 %r5, %r1, 1; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd4, %rd4, %rd1;
 {body} ret;
}}
"""
#: Who came last, and what it found.
_LEAVES = "atom.relaxed.gpu.global.exch.b32 %r7, [%rd1], %r5; st.global.u32 [%rd4+8], %r7;"


@pytest.mark.parametrize(
    ("found", "where"),
    [
        pytest.param("ld.relaxed.gpu.global.u32 %r7, [%rd1];", ("x[0]", "x[9]"), id="strong"),
        pytest.param("ld.global.u32 %r7, [%rd1];", ("x[0]", "x[9]"), id="weak"),
        pytest.param("ld.global.u32 %r7, [%rd1+12];", ("x[3]", "x[9]"), id="what was found"),
        pytest.param("mov.u32 %r7, 0;", ("x[0]", "x[3]"), id="nothing"),
    ],
)
def test_what_a_launch_leaves_open_is_open_in_the_next_one(found: str, where: tuple[str, ...]) -> None:
    bodies = {"one": _LEAVES, "two": f"{found} st.global.u32 [%rd4+32], %r7;"}
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    text += "".join(_LAUNCH.format(name=name, body=body) for name, body in bodies.items())
    tree = {
        "ptx": "k.ptx", "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "kernel": [{"name": name, "entry": name, "grid": 2, "block": 1} for name in bodies],
        "check": {"forall": " && ".join(f"x[{i}] < 99" for i in range(16))},
    }  # fmt: skip
    ran = run_from_anywhere(Runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), watched=True))
    assert ran is None or set(where) <= ran.differing
