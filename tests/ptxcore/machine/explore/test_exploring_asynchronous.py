"""What exploring a thread yields for asynchronous operations: an issue in program order, and what happens in its name."""

from __future__ import annotations

from typing import Any

import pytest
from exploring import M, S, X, code, effects, explored, returned, said

from ptxcore.diagnostics import InputError
from ptxcore.machine.explore.symbolic import explore
from ptxcore.values.terms import add, evaluate, symbol

BYTES = "mbarrier::complete_tx::bytes"
DONE = {
    "kind": "mbarrier", "operation": "complete_tx", "semantics": "release", "scope": "cluster", "space": "shared::cluster",
    "width": 64, "address": M, "agent": 0,
}  # fmt: skip
COPY = {"kind": "copy", "agent": 0, "width": 8, "space": "shared", "address": S, "source": X}
BULK = {**COPY, "proxy": "async", "size": 16}
OUT = ("global", "shared::cta")
REDUCED = {name: value for name, value in BULK.items() if name != "width"}  # 32 bits


def issue(mechanism: str = "") -> dict[str, Any]:
    return {"kind": "issue", "mechanism": mechanism} if mechanism else {"kind": "issue"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cp.async.ca.shared.global [s], [x], 8;", [issue("group"), {**COPY, "size": 8, "spaces": ("shared", "global")}]),
        ("cp.async.ca.shared.global [s], [x], 8, 2;",
         [issue("group"), {**COPY, "size": 2, "fill": 6, "spaces": ("shared", "global")}]),
        ("cp.async.commit_group;", [{"kind": "commit", "mechanism": "group"}]),
        ("cp.async.wait_group 2;", [{"kind": "wait_group", "mechanism": "group", "pending": 2}]),
        ("cp.async.wait_all;", [{"kind": "commit", "mechanism": "group"}, {"kind": "wait_group", "mechanism": "group"}]),
        (f"cp.async.bulk.shared::cta.global.{BYTES} [s], [x], 16, [m];",
         [issue("mbarrier"), {**BULK, "spaces": ("shared::cta", "global")}, DONE]),
        ("cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16;",
         [issue("bulk_group"), {**BULK, "space": "global", "address": X, "source": S, "spaces": OUT}]),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [x], [s], 16, 7;",
         [issue("bulk_group"), {**BULK, "space": "global", "address": X, "source": S, "selected": 7, "spaces": OUT}]),
        ("cp.async.bulk.commit_group;", [{"kind": "commit", "mechanism": "bulk_group"}]),
        ("cp.async.bulk.wait_group.read 1;", [{"kind": "wait_group", "mechanism": "bulk_group", "pending": 1, "reads": True}]),
        (f"cp.reduce.async.bulk.shared::cluster.shared::cta.{BYTES}.add.u32 [s], [n], 16, [m];",
         [issue("mbarrier"), {**REDUCED, "source": S + 0x200, "semantics": "relaxed", "scope": "gpu",
           "spaces": ("shared::cluster", "shared::cta")}, DONE]),
        (f"st.async.shared::cluster.{BYTES}.u32 [s], 7, [m];",
         [issue("mbarrier"), {"kind": "store", "agent": 0, "space": "shared::cluster", "address": S}, DONE]),
        (f"st.async.weak.shared::cluster.{BYTES}.v2.u32 [s], {{7, 8}}, [m];",
         [issue("mbarrier"), *({"kind": "store", "agent": 0, "group": 1, "space": "shared::cluster", "address": S + i}
                               for i in (0, 4)), DONE]),
        ("st.async.release.gpu.global.u32 [x], 7;",
         [issue(), {"kind": "store", "agent": 0, "space": "global", "address": X, "semantics": "release", "scope": "gpu"}]),
        (f"red.async.relaxed.cluster.shared::cluster.{BYTES}.add.u32 [s], 7, [m];",
         [issue("mbarrier"), {"kind": "red", "operation": "add", "type": "u32", "agent": 0, "space": "shared::cluster",
                              "address": S, "semantics": "relaxed", "scope": "cluster", "returns": False}, DONE]),
        ("cp.async.bulk.prefetch.L2.global [x], 16;", []),
    ],
)  # fmt: skip
def test_asynchronous_operations(text: str, expected: list[dict[str, Any]]) -> None:
    assert effects(text) == expected


def test_bytes_that_arrive_are_counted() -> None:
    done = explored(f"st.async.shared::cluster.{BYTES}.v4.u32 [s], {{1, 2, 3, 4}}, [m];")
    signal = done.effects[-1]
    assert signal.value is not None
    after = evaluate(signal.value, {returned(done, signal.index): 1 << 63 | 16 << 40 | 1 << 20})
    assert after == 1 << 63 | 1 << 61 | 1 << 20 | 1  # the phase is over


def test_what_is_reduced_is_said_element_by_element() -> None:
    done = explored("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [x], [s], 16;")
    copy = done.effects[1]
    assert copy.width == 64 and copy.combine is not None
    old, new = symbol("old", 64), symbol("new", 64)
    assert copy.combine(old, new) is add(old, new, 64)


def test_a_multicast_copies_to_each_cta_whose_bit_is_set() -> None:
    text = f"""ld.u16 %mask, [x];
        cp.async.bulk.shared::cluster.global.{BYTES}.multicast::cluster [s], [x], 16, [m], %mask;"""
    done = explored(text)
    kinds = [e.kind for e in done.effects]
    assert kinds == ["load", "issue", "copy", "mbarrier", "copy", "mbarrier"]
    assert {e.agent for e in done.effects[2:]} == {1}
    assert [e.address for e in done.effects[2:]] == [S, M, S | 1 << 24, M | 1 << 24]
    for mask in range(4):
        there = [evaluate(e.guard, {returned(done, 0): mask}) for e in done.effects[2:]]
        assert there == [mask & 1, mask & 1, mask >> 1, mask >> 1]


def test_a_copy_that_is_ignored_writes_zeros() -> None:
    done = explored(".reg .pred %p; ld.u32 %r, [x]; setp.ne.u32 %p, %r, 0; cp.async.ca.shared.global [s], [x], 4, %p;")
    copy = done.effects[2]
    assert said(copy)["data_dependencies"] == (0,)
    assert copy.size is not None
    for loaded, size in ((0, 4), (1, 0)):
        known = {returned(done, 0): loaded}
        assert (evaluate(copy.size, known), evaluate(copy.fill, known)) == (size, 4 - size)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cp.async.ca.shared.global [s], [x], 8, %r;", "the source of cp.async is longer than the copy"),
        ("mov.u64 %a, s; ld.u32 %r, [x]; cvt.u64.u32 %b, %r; add.u64 %a, %a, %b;"
         "cp.async.ca.shared.global [%a], [x], 8;", "the address of an asynchronous copy is no multiple of 8"),
        (f"cp.async.bulk.shared::cta.global.{BYTES} [s], [x], %r, [m];", "the size of a bulk copy is a multiple of 16"),
    ],
)  # fmt: skip
def test_what_copies_ask(text: str, message: str) -> None:
    load = "" if "ld.u32" in text else "ld.u32 %r, [x];"
    done = explored(load + text)
    asked = [r for r in done.requirements if r.message == message]
    assert len(asked) == 1
    assert [evaluate(asked[0].condition, {returned(done, 0): n}) for n in (0, 33)] == [1, 0]


def test_a_loop_that_issues_is_bounded() -> None:
    text = "W: cp.async.ca.shared.global [s], [x], 4; ld.u32 %r, [x]; setp.eq.u32 %p, %r, 0; @%p bra W;"
    assert explored(text, unroll=2).cut != 0


def test_ranks_must_be_known() -> None:
    text = f"cp.async.bulk.shared::cluster.global.{BYTES}.multicast::cluster [s], [x], 16, [m], 3;"
    with pytest.raises(InputError, match="needs '%cluster_nctarank', which nothing says here"):
        explore(code(text, special={}))
