"""Tickets: one run beside the formula, each of its conditions with a kernel that is wrong and would be taken for right
without it, and patterns at their size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_tickets import ticket_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.code import linear as forms
from axioms.dynamic.core.findings import Open
from axioms.dynamic.tickets import slots, tickets
from ptxmm.kernels import whole


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(10), range(100)))
def test_what_is_said_up_to_tickets_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(ticket_kernel, seeds, monkeypatch)
    assert min(counted["differing"], counted["same"]) > len(seeds) / 16


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_up_to_tickets_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(ticket_kernel, range(1000, 1000 + share(20000)), monkeypatch)


_TAKE = "atom.global.add.u32 %t0, [%rd3], {};"
_AT = "mul.wide.u32 %rd2, %t0, 4; add.u64 %rd2, %rd2, %rd1;"
_PUT = "st.global.u32 [%rd2], %r5;"


def _nothing(*_: Any) -> Any:
    return iter(())


def _wrapped(form: forms.Linear, width: int, ranges: forms.Ranges, **_: Any) -> forms.Linear:
    """As if the whole range had the same multiples of 2**width in it as its end."""
    return form._replace(start=form.start - (form.bounds(ranges)[1] >> width << width))


def _true(*_: Any) -> bool:
    return True


def _inside(one: Any) -> Any:
    return one._outside_slots() if one.writes else iter(())


#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Callable[..., Any]]]] = {
    "beside its place": (
        f"{_TAKE.format(1)} {_AT} add.u64 %rd2, %rd2, %rd4; {_PUT}", {}, (slots._Class, "_outside_slots", _nothing),
    ),
    "a plain store in between": (
        f"@%p1 st.global.u32 [%rd1], 9; {_TAKE.format(1)} {_AT} {_PUT}", {}, (slots.Slots, "_apart", _nothing),
    ),
    "two counters": (
        "setp.eq.u32 %p3, %r4, 1; selp.u64 %rd6, 4, 0, %p3; add.u64 %rd3, %rd3, %rd6; "
        f"{_TAKE.format('%r5')} {_AT} {_PUT}", {"grid": 3}, (slots.Slots, "_apart", _nothing),
    ),
    "behind the end": (f"{_TAKE.format('%r5')} {_AT} {_PUT}", {"words": 2}, (slots._Class, "problems", _inside)),
    "not aligned": (
        f"add.u32 %r5, %r5, 1; {_TAKE.format('%r5')} {_AT} st.global.v2.u32 [%rd2], {{%r5, %r5}};", {},
        (slots._Class, "problems", _inside),
    ),
    "a strong look at the counter": (
        f"{_TAKE.format(1)} ld.relaxed.gpu.global.u32 %r6, [%rd3]; st.global.u32 [%rd5], %r6; "
        "st.global.u32 [%rd5+32], %t0;", {},
        (slots, "_is_only_added_to", _true),
    ),
    "a ticket from memory is compared": (
        f"{_TAKE.format(1)} st.global.u32 [%rd5], %t0; ld.global.u32 %r6, [%rd5]; setp.eq.u32 %p3, %r6, 0; "
        "@%p3 st.global.u32 [%rd5+16], 1;", {}, (tickets.Carried, "found", lambda *_: None),
    ),
    "a counter that begins again": (
        f"{_TAKE.format(1)} bar.sync 0; @%p1 st.global.u32 [%rd3], 5; bar.sync 0; @%p1 st.global.u32 [%rd1+20], 7; "
        f"{_TAKE.format(1)} {_AT} {_PUT}", {"grid": 1, "block": 2}, (tickets.Tickets, "_ends", lambda *_: None),
    ),
    "below zero": (
        f"{_TAKE.format(1)} @%p1 bra END; add.u32 %t0, %t0, -1; {_AT} st.global.u32 [%rd2+16], 1;", {},
        (forms, "exact", _wrapped),
    ),
    "a place within one that is too small": (
        "@%p2 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %t1, [s], 1; bar.sync 0; sub.u32 %r6, 2, %r1; "
        f"@%p2 atom.global.add.u32 %t0, [%rd3], %r6; @%p2 st.shared.u32 [s+4], %t0; bar.sync 0; ld.shared.u32 %t0, [s+4]; "
        f"add.u32 %t0, %t0, %t1; {_AT} {_PUT}", {"grid": 2, "block": 2},
        (slots.Slots, "_nested", staticmethod(lambda found: tuple(found))),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, size, (place, condition, none) = _WRONG[name]
    test = ticketed_kernel(body, **size)
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert by_tickets(test) is not None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


def test_what_is_read_where_tickets_lead_is_open() -> None:
    """A plain read finds what any of them may have written; without a barrier it races."""
    body = (
        f"{_TAKE.format(1)} {_AT} {_PUT} bar.sync 0; @%p1 ld.global.u32 %r6, [%rd1]; @%p1 st.global.u32 [%rd1+32], %r6;"
    )
    found = by_tickets(ticketed_kernel(body, grid=1, block=2))
    assert found is not None and found.differing == {"x[0]", "x[1]", "x[8]"} and found.state["c[0]"] == 2
    assert by_tickets(ticketed_kernel(body.replace("bar.sync 0;", ""), grid=1, block=2)) is None


#: Ways in which the order of tickets matters to more than where threads access memory, or nothing is known of them.
_OPEN = {
    "a bit turned as an address": "xor.b32 %r6, %t0, 1; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd1, %rd2; "
    "st.global.u32 [%rd2], 1;",
    "half of it": "shr.u32 %r6, %t0, 1; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], 1;",
    "an operand": "red.global.add.u32 [%rd3+4], %t0;",
    "an atomic operation there": f"{_AT} red.global.add.u32 [%rd2], 1;",
    "a strong store to half of its place": f"{_AT} st.relaxed.gpu.global.u16 [%rd2+2], %r4; {_PUT}",
    "a store to what is waited for": "st.relaxed.gpu.global.u32 [%rd3+8], %t0;",
    "what is found there": f"{_AT} ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p3, %r6, 0; @%p3 st.global.u32 [%rd5], 1;",
    "a vote": "vote.sync.any.pred %p3, %p1, 1; setp.eq.u32 %p4, %t0, 0; vote.sync.any.pred %p3, %p4, 1;",
    "a lane": "shfl.sync.idx.b32 %r6, %r4, %t0, 31, 1; st.global.u32 [%rd5], %r6;",
    "a barrier": "setp.eq.u32 %p4, %t0, 0; barrier.red.popc.u32 %r6, 0, %p4; st.global.u32 [%rd5], %r6;",
    "a half of what was stored": "st.global.u32 [%rd5], %t0; ld.global.u16 %r6, [%rd5]; setp.eq.u32 %p3, %r6, 0; "
    "@%p3 st.global.u32 [%rd5+32], 1;",
    "one added over another": "st.global.u32 [%rd5], %t0; atom.global.add.u32 %r6, [%rd5], 1; st.global.u32 [%rd5+32], %r6;",
}  # fmt: skip


@pytest.mark.parametrize("name", _OPEN)
def test_what_hangs_on_the_order_of_tickets_is_left_open(name: str) -> None:
    assert by_tickets(ticketed_kernel(f"{_TAKE.format(1)} {_OPEN[name]}", words=32)) is None


@pytest.mark.parametrize("how", ["atom.cta.global.add.u32", "atom.global.exch.b32", "atom.global.max.u32"])
def test_other_operations_take_no_tickets(how: str) -> None:
    assert by_tickets(ticketed_kernel(f"{how} %t0, [%rd3], 1; {_AT} {_PUT}")) is None


def test_what_a_later_launch_finds_is_left_open() -> None:
    """Of launches one after the other only the last one may leave what hangs on tickets; a counter is what it is."""
    once = ticketed_kernel(f"{_TAKE.format(1)} {_AT} {_PUT}")
    assert by_tickets(once) is not None
    assert by_tickets(replace(once, launches=once.launches * 2)) is None
    counts = ticketed_kernel(f"{_TAKE.format(1)} setp.lt.u32 %p3, %t0, 9; @%p3 st.global.u32 [%rd5], 1;")
    found = by_tickets(replace(counts, launches=counts.launches * 2))
    assert found is not None and not found.differing and found.state["c[0]"] == 4


#: Patterns that people write: `many` threads in all, the text of a CTA, and one mistake each.
_APPEND = """ and.b32 %r6, %r4, 1; setp.eq.u32 %p3, %r6, 1; @!%p3 bra END;
 atom.global.add.u32 %t0, [%rd3], 1; {guard} add.u32 %t0, %t0, {first}; mul.wide.s32 %rd2, %t0, 4; add.s64 %rd2, %rd1, %rd2;
 st.global.u32 [%rd2], %r4;"""
_TWO = " and.b32 %r7, %r1, 1; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd3, %rd3, %rd6;"
#: A warp takes as many places as lanes keep something.
_COMPACT = """ mov.u32 %r6, %laneid; and.b32 %r7, %r4, 3; setp.ne.u32 %p3, %r7, 0; vote.sync.ballot.b32 %r8, %p3, -1;
 setp.ne.u32 %p4, %r6, 0; popc.b32 %r9, %r8; mov.u32 %t0, 0; @%p4 bra GOT; atom.global.add.u32 %t0, [%rd3], %r9;
GOT: shfl.sync.idx.b32 %t1, %t0, 0, 31, -1; mov.u32 %r10, %lanemask_{mask}; and.b32 %r10, %r10, %r8; popc.b32 %r10, %r10;
 @!%p3 bra END; add.u32 %t1, %t1, %r10; mul.wide.u32 %rd2, %t1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r4;"""
#: Threads count within their CTA, which takes as many places as they are.
_BLOCK = """ @%p2 st.shared.u32 [s], 0; bar.sync 0; and.b32 %r7, %r4, 3; setp.ne.u32 %p3, %r7, 0;
 @%p3 atom.shared.add.u32 %t1, [s], 1; bar.sync 0; @!%p2 bra HAS;
 ld.shared.u32 %r8, [s]; atom.global.add.u32 %t0, [{counter}], %r8; st.shared.u32 [s+4], %t0;
HAS: {meet} ld.shared.u32 %t0, [s+4]; @!%p3 bra END; add.u32 %t0, %t0, %t1; mul.wide.u32 %rd2, %t0, 4;
 add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r4;"""
_FIELDS = """ atom.global.add.u64 %rd6, [%rd3], 1; shl.b64 %rd6, %rd6, 3; add.u64 %rd2, %rd1, %rd6;
 st.global.u32 [%rd2], %r4; st.global.u32 [%rd2+{at}], 5;"""
_GUARD = "setp.ge.s32 %p4, %t0, {}; @%p4 bra END;"
_PATTERNS: dict[str, tuple[str, int, int, int, bool]] = {
    "append": (_APPEND.format(guard="", first=0), 4, 64, 128, True),
    "append with a capacity": (_APPEND.format(guard=_GUARD.format(128), first=0), 4, 64, 128, True),
    "append with a capacity that may be too small": (_APPEND.format(guard=_GUARD.format(100), first=0), 4, 64, 128, False),
    "append behind the end": (_APPEND.format(guard="", first=1), 4, 64, 128, False),
    "append by two counters": (_TWO + _APPEND.format(guard="", first=0), 4, 64, 128, False),
    "compaction": (_COMPACT.format(mask="lt"), 4, 128, 384, True),
    "compaction, each one place further": (_COMPACT.format(mask="le"), 4, 128, 386, True),
    "compaction by other lanes": (_COMPACT.format(mask="ge"), 4, 128, 416, True),
    "compaction by too many lanes": (_COMPACT.format(mask="lt").replace("%r9, %r8;", "%r9, %r8; sub.u32 %r9, %r9, 1;"),
                                     4, 128, 416, False),
    "block append": (_BLOCK.format(counter="%rd3", meet="bar.sync 0;"), 4, 128, 384, True),
    "block append without a barrier": (_BLOCK.format(counter="%rd3", meet=""), 4, 128, 384, False),
    "fields": (_FIELDS.format(at=4), 4, 64, 512, True),
    "fields of the next one": (_FIELDS.format(at=8), 4, 64, 514, False),
}  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("name", _PATTERNS)
def test_patterns_at_their_size(name: str) -> None:
    body, grid, block, words, right = _PATTERNS[name]
    test = ticketed_kernel(body, grid, block, words, (0,))
    found = by_tickets(test)
    assert (found is not None) is right
    if found is not None:
        assert "c[0]" not in found.differing and "x[9]" in found.differing


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "name",
    [
        "block append",
        "block append without a barrier",
        "compaction by too many lanes",
        "append by two counters",
        "fields",
    ],
)
def test_patterns_are_decided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contents of what is appended to are left open, with the reason; the rest is answered. A mistake is told."""
    body, grid, block, words, right = _PATTERNS[name]
    if right:  # nothing is looked for in other orders
        monkeypatch.setattr(whole, "_decide_by_several", lambda *_, **__: (0, Open("order")))
    open_, result = by_runs(ticketed_kernel(body, grid, block, words, (0,)))
    holds = {checked.kind: checked.holds for checked in result.checks}
    assert not open_
    if right:
        assert (holds["race_free"], holds["terminates"]) == (True, True)
        counted = "256 tickets of c (k." if name == "fields" else "384 tickets of shared memory (k."
        assert counted in result.notes[-1]
        assert "may have other values where atomic operations come in another order" in result.error
    else:
        assert result.verdict == "no" and holds["race_free"] is False
