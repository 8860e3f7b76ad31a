"""Frontiers of breadth-first search: who claims a node appends it, and the next launch goes on from what was appended. One
run up to that beside the formula, conditions each with a kernel that is wrong and would be taken for right without it, and
levels of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_frontiers import frontier_kernel, launched
from test_searches import by_searches, compare_up_to_searches

from axioms.dynamic.searches.search_claims import CertainClaims
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(6), range(100)))
def test_what_is_said_of_frontiers_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(frontier_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 4


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_what_is_said_of_many_frontiers_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(frontier_kernel, range(1000, 1000 + share(20_000)), monkeypatch)


def _yes(*_: Any) -> bool:
    return True


def _reads_alone(self: CertainClaims) -> None:
    self._written = set()


def _all(self: CertainClaims) -> None:
    self._certain = set(self.searches.cells.values())


#: Thread t claims node t, and stores something at the place of a ticket; it claims node 0, and goes on if it has won.
_WINS = "atom.global.cas.b32 %r8, [{}], 0, 2; setp.ne.u32 %p1, %r8, 0; @%p1 bra END;"
_OWN = f"mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd1; {_WINS.format('%rd6')}"
_FIRST = _WINS.format("%rd1")
_AT = "atom.global.add.u32 %r10, [%rd3], 1; mul.wide.u32 %rd7, %r10, 4; add.u64 %rd7, %rd7, %rd5; st.global.u32 [%rd7], {};"
#: Goes on if node 1 is claimed.
_SEES_IT = "ld.relaxed.gpu.global.u32 %r8, [%rd1+4]; setp.eq.u32 %p1, %r8, 0; @%p1 bra END;"
#: Stores where the element that a thread has found says.
_ROLE = "ld.global.u32 %r6, [%rd6]; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd8, %rd8, %rd2; st.global.u32 [%rd8], %r4;"
_MINE = "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd5;"

#: Kernels that are wrong: what two launches do, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[list[str], str, str, Callable[..., Any]]] = {
    "two threads read one place": (
        [f"{_OWN} {_AT.format('%r4')}", f"mov.u64 %rd6, %rd5; {_ROLE}"], "n[0] == 3", "_look_at_roles", _reads_alone
    ),
    "two threads append one value": (
        [f"and.b32 %r11, %r4, 1; {_OWN} {_AT.format('%r11')}", f"{_MINE} {_ROLE}"], "n[0] == 3", "_is_one_winners", _yes
    ),
    "who has won does not always add": (
        [f"{_FIRST} setp.eq.u32 %p2, %r4, 1; @%p2 bra END; {_AT.format(1)}"], "n[0] == 1", "_adds_always", _yes
    ),
    "nobody need claim it": (
        [f"setp.eq.u32 %p2, %r4, 0; @%p2 bra OTHER; {_SEES_IT} {_FIRST} {_AT.format(1)} bra END; "
         f"OTHER: {_WINS.format('%rd1+4')}"],
        "n[0] == 1", "_done_for_certain", _all,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_wrong_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies, forall, condition, without = _WRONG[name]
    test = launched(bodies, 3, 1, {"forall": forall, "race_free": True, "terminates": True})
    before = by_searches(test)
    assert before is None or before.differing
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")
    monkeypatch.setattr(CertainClaims, condition, without)
    found = by_searches(test)
    assert found is not None and not found.differing


def test_who_puts_what_it_compares_with_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread 0 does so at node 0; the others claim that where they find node 1 claimed, and may not find it."""
    looks = "atom.global.cas.b32 %r8, [%rd1], 0, 0;"
    body = (
        f"setp.eq.u32 %p2, %r4, 0; @%p2 bra OTHER; {_SEES_IT} {_FIRST} bra END; OTHER: {looks} {_WINS.format('%rd1+4')}"
    )
    test = launched([body], 2, 1, {"forall": "x[0] == 0", "race_free": True, "terminates": True})
    found = by_searches(test)
    assert by_formula(test, monkeypatch).verdict == "no" and (found is None or found.differing == {"x[0]"})


#: One level: each thread goes along the edges of a node of the frontier.
_LEVEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry level(.param .u64 adj, .param .u64 dist, .param .u64 front, .param .u64 n, .param .u64 next, .param .u64 m,
 .param .u32 depth)
{{
 .reg .pred %p<4>; .reg .b32 %r<14>; .reg .b64 %rd<12>;
 ld.param.u64 %rd0, [adj]; ld.param.u64 %rd1, [dist]; ld.param.u64 %rd2, [front]; ld.param.u64 %rd3, [n];
 ld.param.u64 %rd4, [next]; ld.param.u64 %rd5, [m]; ld.param.u32 %r0, [depth];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 ld.global.u32 %r5, [%rd3]; setp.ge.u32 %p1, %r4, %r5; @%p1 bra END;
 mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2; {node}
 mul.wide.u32 %rd6, %r6, 12; add.u64 %rd0, %rd0, %rd6; mov.u32 %r7, 0;
AGAIN: ld.global.u32 %r8, [%rd0]; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd7, %rd7, %rd1;
 {claim}
 setp.ne.u32 %p2, %r9, -1; @%p2 bra LOST;
 {ticket}
 mul.wide.u32 %rd8, %r10, 4; add.u64 %rd8, %rd8, %rd4;
 st.global.u32 [%rd8], %r8;
LOST: add.u64 %rd0, %rd0, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 3; @%p3 bra AGAIN;
END: ret;
}}
"""
_NODE = "ld.global.u32 %r6, [%rd6];"
_CLAIM = "atom.global.cas.b32 %r9, [%rd7], -1, %r0;"
_NO_TICKET = "ld.global.u32 %r10, [%rd5]; add.u32 %r11, %r10, 1; st.global.u32 [%rd5], %r11;"
_LOOK = f"ld.relaxed.gpu.global.u32 %r9, [%rd7]; setp.ne.u32 %p2, %r9, -1; @%p2 bra LOST; {_CLAIM}"
_TICKET = "atom.global.add.u32 %r10, [%rd5], 1;"


def _levels(node: str = _NODE, claim: str = _CLAIM, ticket: str = _TICKET, more: int | None = 0) -> KernelTest:
    """Three levels of a tree, by 8 x 8 threads, in which two nodes have the same edges; `more`: how many nodes there are more
    than that, as is checked."""
    forall = {} if more is None else {"forall": f"n3[0] == {24 + more} && dist[13] == 3"}
    nodes = 40
    adjacent = [(3 * i + k + 1) % nodes for i in range(nodes) for k in range(3)]
    adjacent[3 * 6 : 3 * 7] = [13, 14, 15]  # as those of node 4
    word = {"type": "u32", "elements": 1}
    tree = {
        "ptx": "k.ptx", "entry": "level", "grid": 8, "block": 8,
        "kernel": [{"args": ["adj", "dist", f"f{i}", f"n{i}", f"f{i + 1}", f"n{i + 1}", f"d{i + 1}"]} for i in range(3)],
        "params": {
            "adj": {"type": "u32", "elements": 3 * nodes, "init": adjacent},
            "dist": {"type": "u32", "elements": nodes, "init": [0, *([0xFFFFFFFF] * (nodes - 1))]},
            **{f"f{i}": {"type": "u32", "elements": nodes} for i in range(4)},
            **{f"n{i}": {**word, "init": int(not i)} for i in range(4)},
            **{f"d{i}": {"type": "u32", "value": i} for i in range(1, 4)},
        },
        "check": {"race_free": True, "terminates": True, **forall},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _LEVEL.format(node=node, claim=claim, ticket=ticket)}).test()


@pytest.mark.parametrize("claim", [
    pytest.param(_CLAIM, id="compare-and-swap"),
    pytest.param(_LOOK, id="a look before it"),
    pytest.param("atom.global.exch.b32 %r9, [%rd7], 3;", id="exchange"),
    pytest.param("atom.global.min.u32 %r9, [%rd7], %r0;", id="least"),
])  # fmt: skip
def test_levels_of_a_search_are_right_whoever_claims_a_node(claim: str) -> None:
    open_, found = by_runs(_levels(claim=claim))
    assert (open_, found.verdict) == ("", "ok")


@pytest.mark.parametrize(
    ("mistake", "lines"),
    [
        pytest.param({"claim": "ld.global.u32 %r9, [%rd7]; st.global.u32 [%rd7], %r0;"}, {15, 16}, id="no claim"),
        pytest.param({"ticket": _NO_TICKET}, {17}, id="no ticket"),
        pytest.param({"ticket": "atom.relaxed.cta.global.add.u32 %r10, [%rd5], 1;"}, {17}, id="a narrow scope"),
        pytest.param({"ticket": f"{_TICKET} and.b32 %r10, %r10, 3;"}, {19}, id="a place of several"),
        pytest.param({"node": f"{_NODE} st.global.u32 [%rd2], %r4;"}, {12}, id="a store to the frontier"),
    ],
)  # fmt: skip
def test_a_level_with_one_mistake_is_told_at_its_line(mistake: dict[str, str], lines: set[int]) -> None:
    open_, found = by_runs(_levels(**mistake, more=None))
    assert (open_, found.verdict) == ("", "no")
    assert {event.line for race in found.races for event in race.events} & lines, found.races


def test_a_count_that_is_wrong_is_told() -> None:
    open_, found = by_runs(_levels(more=1))
    assert (open_, found.verdict) == ("", "no")
