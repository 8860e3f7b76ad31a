"""Appending in searches: who finds a key, or a place for one, takes a ticket, and stores at its place. One run up to that
beside the formula, conditions each with a kernel that is wrong and would be taken for right without it, and a join."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_appends import append_kernel
from test_searches import by_searches, compare_up_to_searches
from ticketed_kernels import ticketed_kernel

from axioms.dynamic.searches import search_appends, searching
from axioms.dynamic.searches.search_cells import SearchedBytes
from axioms.dynamic.tickets.slots import Slots
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(6), range(100)))
def test_what_is_said_of_appending_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(append_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_of_appending_in_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(append_kernel, range(1000, 1000 + share(40_000)), monkeypatch)


def _none(*_: Any, **__: Any) -> None:
    return None


#: Who comes first, by a word of `c`; a ticket of another one, and a store at its place.
_TAKES = "atom.relaxed.gpu.global.add.u32 %t1, [%rd3+4], {}; mul.wide.u32 %rd6, %t1, {}; add.u64 %rd6, %rd6, %rd1;"
_SEARCH = "atom.global.cas.b32 %t0, [%rd3], 0, %r5; "
_PLACES = _SEARCH + _TAKES + " st.global.u32 [%rd6], %r5;"

#: Kernels that are wrong: what they do, with what they check, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, str, tuple[Any, str, Any]]] = {
    "two tickets lead to one place": (
        f"{_PLACES.format(2, 4)} st.global.u32 [%rd6+8], 9;", "x[2] < 999", (Slots, "problem", _none)
    ),
    "the counter is written otherwise, too": (
        f"{_PLACES.format(1, 4)} st.relaxed.gpu.global.u32 [%rd3+4], 2;", "x[0] < 999",
        (SearchedBytes, "summed", property(lambda _: True, lambda *_: None)),
    ),
    "somebody reads what others append": (
        f"@%p1 ld.global.u32 %r6, [%rd1+8]; @%p1 bra END; {_PLACES.format(1, 4)}", "x[0] < 999",
        (searching._HeldAgainst, "_beside", _none),
    ),
    "places of two counters are the same": (
        f"{_PLACES.format(1, 4)} atom.relaxed.gpu.global.add.u32 %t2, [%rd3+8], 1; mul.wide.u32 %rd6, %t2, 4; "
        "add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6+8], 3;", "x[0] < 999",
        (search_appends, "_marked", lambda *_: 0),
    ),
    "not all ways add as much": (
        f"{_SEARCH} setp.ne.u32 %p3, %t0, 2; @%p3 bra END; red.relaxed.gpu.global.add.u32 [%rd3+4], 1;", "c[1] == 2",
        (search_appends, "_same", lambda *_: True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_wrong_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, forall, (where, what, without) = _WRONG[name]
    test = ticketed_kernel(body, 2, 1, words=8, start=(0, 2), forall=forall)
    before = by_searches(test)
    assert before is None or before.differing
    expected = by_formula(test, monkeypatch)
    assert expected.verdict == "no", expected
    monkeypatch.setattr(where, what, without)
    found = by_searches(test)
    assert found is not None and (before is None or not found.differing)


def test_a_store_behind_a_branch_is_at_the_place_of_any_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread takes a ticket and stores nothing, so that the other one has the first place or the second one."""
    body = _PLACES.format(1, 4).replace("mul.wide", "@%p1 bra END; mul.wide")
    test = ticketed_kernel(body, 2, 1, words=8, start=(0, 0), forall="x[0] < 999 && x[1] < 999")
    found, expected = by_searches(test), by_formula(test, monkeypatch)
    assert found is not None and len(expected.states) == 2
    assert found.differing >= {name for state in expected.states for name, n in state.items() if found.state[name] != n}


#: Keys of one table are put into another one; in the next launch each thread looks for a key, and appends what it has found.
_JOIN = """.version 8.0
.target sm_90
.address_size 64
.visible .entry build(.param .u64 a, .param .u64 keys, .param .u64 values)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [values];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 mul.wide.u32 %rd2, %r4, 4; add.u64 %rd0, %rd0, %rd2; ld.global.u32 %r5, [%rd0];
 mul.lo.u32 %r7, %r5, -1640531535; shr.u32 %r7, %r7, 12; and.b32 %r7, %r7, {mask};
AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd4, %rd2, %rd1; add.u64 %rd2, %rd2, %rd3;
 {claim}
 setp.eq.u32 %p1, %r8, 0; @%p1 bra FOUND;
 add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {mask}; bra AGAIN;
FOUND: st.global.u32 [%rd2], %r4; ret;
}}
.visible .entry probe(.param .u64 b, .param .u64 keys, .param .u64 values, .param .u64 out, .param .u64 n)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd0, [b]; ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [values]; ld.param.u64 %rd5, [out];
 ld.param.u64 %rd6, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 mul.wide.u32 %rd2, %r4, 4; add.u64 %rd0, %rd0, %rd2; ld.global.u32 %r5, [%rd0];
 mul.lo.u32 %r7, %r5, -1640531535; shr.u32 %r7, %r7, 12; and.b32 %r7, %r7, {mask};
AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd4, %rd2, %rd1; add.u64 %rd2, %rd2, %rd3;
 ld.global.u32 %r8, [%rd4];
 setp.eq.u32 %p1, %r8, %r5; @%p1 bra FOUND;
 setp.eq.u32 %p2, %r8, 0; @%p2 bra END;
 add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {mask}; bra AGAIN;
FOUND: {ticket}
 mul.wide.u32 %rd7, %r9, 8; add.u64 %rd5, %rd5, %rd7; ld.global.u32 %r8, [%rd2];
 st.global.v2.u32 [%rd5], {{%r4, %r8}};
 {late}
END: ret;
}}
"""
_CLAIM = "atom.global.cas.b32 %r8, [%rd4], 0, %r5;"
_TICKET = "atom.global.add.u32 %r9, [%rd6], 1;"


def _join(claim: str = _CLAIM, ticket: str = _TICKET, late: str = "", grid: int = 2, block: int = 32) -> KernelTest:
    threads = grid * block
    text = _JOIN.format(claim=claim, ticket=ticket, late=late, mask=2 * threads - 1)
    tree = {
        "ptx": "k.ptx",
        "kernel": [
            {"entry": "build", "args": ["a", "keys", "values"], "grid": grid, "block": block},
            {"entry": "probe", "args": ["b", "keys", "values", "out", "n"], "grid": grid, "block": block},
        ],
        "params": {
            "a": {"type": "u32", "elements": threads, "init": [3 * i + 1 for i in range(threads)]},
            "b": {"type": "u32", "elements": threads, "init": [2 * i + 1 for i in range(threads)]},
            **{name: {"type": "u32", "elements": 2 * threads} for name in ("keys", "values", "out")},
            "n": {"type": "u32", "elements": 1},
        },
        "check": {"race_free": True, "terminates": True},
    }
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_a_join_of_two_tables_is_right_whatever_order_it_has() -> None:
    open_, found = by_runs(_join())
    assert (open_, found.verdict) == ("", "ok")


@pytest.mark.parametrize(
    ("mistake", "lines"),
    [
        pytest.param({"claim": "ld.global.u32 %r8, [%rd4]; st.global.u32 [%rd4], %r5;"}, {11, 12}, id="no claim"),
        pytest.param({"ticket": "ld.global.u32 %r9, [%rd6]; st.global.u32 [%rd6], %r9;"}, {29}, id="no ticket"),
        pytest.param({"ticket": "atom.relaxed.cta.global.add.u32 %r9, [%rd6], 1;"}, {29}, id="a narrow scope"),
        pytest.param({"ticket": f"{_TICKET} and.b32 %r9, %r9, 7;"}, {31}, id="a place of several"),
        pytest.param({"late": "st.global.u32 [%rd5+8], %r4;"}, {31, 32}, id="a store beside the place"),
        pytest.param({"late": "ld.global.u32 %r8, [%rd5+8];"}, {31, 32}, id="a look beside the place"),
    ],
)
def test_a_join_with_one_mistake_is_told_at_its_line(mistake: dict[str, str], lines: set[int]) -> None:
    open_, found = by_runs(_join(**mistake))
    assert (open_, found.verdict) == ("", "no")
    assert {event.line for race in found.races for event in race.events} & lines, found.races


#: Values are added up by their keys in a table; in the next launch sums are added to one, and keys appended.
_GROUPS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry group(.param .u64 keys, .param .u64 sums)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [sums];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 and.b32 %r5, %r4, 31; add.u32 %r5, %r5, 1; mul.lo.u32 %r7, %r5, -1640531535; shr.u32 %r7, %r7, 12; and.b32 %r7, %r7, {mask};
AGAIN: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd4, %rd2, %rd1; add.u64 %rd2, %rd2, %rd3;
 atom.global.cas.b32 %r8, [%rd4], 0, %r5;
 setp.eq.u32 %p1, %r8, 0; @%p1 bra FOUND; setp.eq.u32 %p1, %r8, %r5; @%p1 bra FOUND;
 add.u32 %r7, %r7, 1; and.b32 %r7, %r7, {mask}; bra AGAIN;
FOUND: {sum}
 ret;
}}
.visible .entry reduce(.param .u64 keys, .param .u64 sums, .param .u64 list, .param .u64 n)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [keys]; ld.param.u64 %rd3, [sums]; ld.param.u64 %rd5, [list]; ld.param.u64 %rd6, [n];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2; add.u64 %rd3, %rd3, %rd2;
 ld.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra END;
 ld.global.u32 %r7, [%rd3];
 {total}
 atom.global.add.u32 %r8, [%rd6], 1; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd5, %rd5, %rd7; st.global.u32 [%rd5], %r5;
END: ret;
}}
"""
_ADDED = {
    "sum": "red.relaxed.gpu.global.add.u32 [%rd2], %r4;",
    "total": "red.relaxed.gpu.global.add.u32 [%rd6+4], %r7;",
}


def _groups(**mistake: str) -> KernelTest:
    grid, block = 2, 32
    text = _GROUPS.format(**(_ADDED | mistake), mask=grid * block - 1)
    shape = {"grid": grid, "block": block}
    tree = {
        "ptx": "k.ptx",
        "kernel": [
            {"entry": "group", "args": ["keys", "sums"], **shape},
            {"entry": "reduce", "args": ["keys", "sums", "list", "n"], **shape},
        ],
        "params": {name: {"type": "u32", "elements": grid * block} for name in ("keys", "sums", "list", "n")},
        "check": {"race_free": True, "terminates": True},
    }
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_sums_of_groups_are_added_up_whatever_order_they_have() -> None:
    open_, found = by_runs(_groups())
    assert (open_, found.verdict) == ("", "ok")


@pytest.mark.parametrize(
    ("mistake", "line"),
    [
        pytest.param(
            {"sum": "ld.global.u32 %r9, [%rd2]; add.u32 %r9, %r9, %r4; st.global.u32 [%rd2], %r9;"}, 14, id="a sum"
        ),
        pytest.param({"sum": _ADDED["sum"].replace(".gpu", ".cta")}, 14, id="a scope"),
        pytest.param({"total": "ld.global.u32 %r9, [%rd6+4]; st.global.u32 [%rd6+4], %r7;"}, 25, id="the total"),
    ],
)
def test_one_mistake_with_groups_is_told_at_its_line(mistake: dict[str, str], line: int) -> None:
    open_, found = by_runs(_groups(**mistake))
    assert (open_, found.verdict) == ("", "no")
    assert line in {event.line for race in found.races for event in race.events}, found.races
