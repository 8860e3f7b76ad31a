"""Warps and CTAs that have a ticket together, and hand over by flags at its place: one run beside the formula, each condition
with a kernel that is wrong without it, and queues at their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from by_runs import by_formula
from campaigns import lengths, share
from generated_shared_turns import shared_turn_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import handing, handovers
from axioms.dynamic.tickets.holders import Holders
from axioms.dynamic.tickets.turns import Turn
from ptxmm.kernels.test import KernelTest


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(4), range(300)))
def test_what_is_said_of_turns_of_several_threads_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = compare_up_to_tickets(shared_turn_kernel, seeds, monkeypatch)
    assert counted.total() > counted["open"]


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_turns_of_several_threads_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(shared_turn_kernel, range(1000, 1000 + share(20000)), monkeypatch)


#: Each two threads of even CTAs put two words into a place of a ring that has room for all, those of odd ones take them: words
#: 0 to 7 of `x`, flags from word 8 on, counters in `c`, and a sum in `c[1]`. Thread 0 takes tickets.
_EACH = "and.b32 %r6, %r1, 1; setp.ne.u32 %p3, %r6, 0; @%p3 bra ODD;"
_PLACE = (
    "mul.wide.u32 %rd2, %t0, 4; add.u64 %rd2, %rd2, %rd1; mad.lo.u32 %r7, %t0, 2, %r2; mul.wide.u32 %rd6, %r7, 4; "
    "add.u64 %rd6, %rd6, %rd1;"
)
_TICKET = (
    "mov.u32 %t0, 0; @%p2 atom.relaxed.gpu.global.add.u32 %t0, [%rd3+{at}], 1; shfl.sync.idx.b32 %t0, %t0, 0, 31, 3;"
)
_BY_MEMORY = (
    "@!%p2 bra M{at}; atom.relaxed.gpu.global.add.u32 %t0, [%rd3+{at}], 1; st.shared.u32 [s], %t0; M{at}: bar.sync 0; "
    "ld.shared.u32 %t0, [s];"
)
_MEET = "bar.warp.sync 3;"
_PUT = "st.global.u32 [%rd6], %r5;"
_FULL = "@%p2 st.release.gpu.global.u32 [%rd2+32], 1;"
_LOOK = "@!%p2 bra G; F: ld.acquire.gpu.global.u32 %r6, [%rd2+32]; setp.ne.u32 %p4, %r6, 1; @%p4 bra F; G:"
_GET = "ld.global.u32 %r9, [%rd6];"
_OUT = "st.global.u32 [%rd5+64], %r9;"
_SUM = "red.relaxed.gpu.global.add.u32 [%rd3+4], %r9;"
_NONE = ""


def _queue(
    put: str, get: str, *, grid: int = 2, block: int = 2, forall: str | list[str] = "", x: tuple[int, ...] = (0,)
) -> KernelTest:
    body = f"{_EACH} {put} bra END; ODD: {get}"
    return ticketed_kernel(body, grid=grid, block=block, words=32, start=(0, 0), forall=forall, x=x)


def _produces(ticket: str = _TICKET, meet: str = _MEET, put: str = _PUT, full: str = _FULL) -> str:
    return f"{ticket.format(at=0)} {_PLACE} {put} {meet} {full}"


def _consumes(ticket: str = _TICKET, look: str = _LOOK, meet: str = _MEET, get: str = _GET, out: str = _OUT) -> str:
    return f"{ticket.format(at=8)} {_PLACE} {look} {meet} {get} {out}"


_RIGHT: dict[str, tuple[str, str]] = {
    "one waits for both": (_produces(), _consumes()),
    "both wait": (_produces(), _consumes(look=_LOOK.replace("@!%p2 bra G;", ""), meet=_NONE)),
    "by shared memory": (_produces(_BY_MEMORY, "bar.sync 0;"), _consumes(_BY_MEMORY, meet="bar.sync 0;")),
    "the other one waits": (_produces(), _consumes(look=_LOOK.replace("@!%p2", "@%p2"))),
    "the other one posts": (_produces(full=_FULL.replace("@%p2", "@!%p2")), _consumes()),
    "by fences": (
        _produces(full="@%p2 fence.acq_rel.gpu; @%p2 st.relaxed.gpu.global.u32 [%rd2+32], 1;"),
        _consumes(look=_LOOK.replace("acquire", "relaxed").replace("bra F;", "bra F; fence.acq_rel.gpu;")),
    ),
    "one takes what the other has put": (
        _produces(), _consumes(get="xor.b32 %r8, %r2, 1; mad.lo.u32 %r7, %t0, 2, %r8; mul.wide.u32 %rd6, %r7, 4; "
                               "add.u64 %rd6, %rd6, %rd1;" + _GET),
    ),
    "a place among others between": (
        _produces(), _consumes(out="atom.relaxed.gpu.global.add.u32 %t1, [%rd3+4], 1; mov.u32 %r8, s; "
                               "mad.lo.u32 %r8, %t1, 4, %r8; st.shared.u32 [%r8], %r9; " + _OUT),
    ),
}  # fmt: skip
_WRONG: dict[str, tuple[str, str]] = {
    "nobody meets before it is told": (_produces(meet=_NONE), _consumes()),
    "nobody meets behind the wait": (_produces(), _consumes(meet=_NONE)),
    "a shuffle orders no memory": (_produces(meet="shfl.sync.idx.b32 %r8, %r2, 0, 31, 3;"), _consumes()),
    "they meet too early": (_produces(put=_NONE, full=f"{_PUT} {_FULL}"), _consumes()),
    "they meet before the wait": (_produces(), _consumes(look=_MEET, meet=_LOOK)),
    "nothing is released": (_produces(full=_FULL.replace("release", "relaxed")), _consumes()),
    "nothing is acquired": (_produces(), _consumes(look=_LOOK.replace("acquire", "relaxed"))),
    "a narrow scope": (_produces(full=_FULL.replace("gpu", "cta")), _consumes()),
    "the fence is another thread's": (
        _produces(full="@!%p2 fence.acq_rel.gpu; bar.warp.sync 3; @%p2 st.relaxed.gpu.global.u32 [%rd2+32], 1;"),
        _consumes(),
    ),
    "only one acquires": (
        _produces(), _consumes(look="F: ld.relaxed.gpu.global.u32 %r6, [%rd2+32]; setp.ne.u32 %p4, %r6, 1; @%p4 bra F; "
                               "@%p2 fence.acq_rel.gpu;", meet=_NONE),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _RIGHT)
def test_what_is_handed_over_together_is_decided_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _queue(*_RIGHT[name])
    assert by_tickets(test) is not None
    assert by_formula(test, monkeypatch).verdict in ("ok", "bounded")


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_what_is_handed_over_wrongly_together_is_not_taken_for_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _queue(*_WRONG[name])
    assert by_tickets(test) is None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


def _nothing(*_: Any, **__: Any) -> None:
    """A condition that is left out."""


def _comes_to(holders: Holders, number: int, holder: Any, index: int, taker: int) -> bool:
    return True


_meet = handing.Handing._meet


def _orders(watcher: Any, numbers: Any, *, orders: bool) -> None:
    _meet(watcher, numbers, orders=True)


def _taken_by_one(ticket: Any, holder: Any, index: int, taker: int, party: Any) -> Turn:
    return Turn(ticket, holder, index, 0, party)


#: Whoever takes ticket t waits for a flag at its place, and sets the one behind it.
_CHAIN = (
    "@!%p2 bra {1}; {0}: ld.acquire.gpu.global.u32 %r6, [%rd2+32]; setp.ne.u32 %p4, %r6, 1; @%p4 bra {0}; "
    "st.release.gpu.global.u32 [%rd2+36], 1; {1}:"
)
_OTHER = "@!%p2 atom.relaxed.gpu.global.add.u32 %t0, [%rd3], 1; shfl.sync.idx.b32 %t0, %t0, 1, 31, 3;"
_ONE = f"{_TICKET.format(at=0)} {_PLACE} {{0}} @%p2 {_PUT} {_FULL}"
_BOTH = "mov.u64 %rd7, %rd2; mov.u64 %rd8, %rd6; {0} mov.u64 %rd2, %rd7; mov.u64 %rd6, %rd8;"
#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_CONDITIONS: dict[str, tuple[str, int, tuple[Any, str, Callable[..., Any]]]] = {
    "a shuffle orders no memory": (
        f"{_EACH} {_WRONG['a shuffle orders no memory'][0]} bra END; ODD: {_consumes()}", 2,
        (handing.Handing, "_meet", _orders),
    ),
    "one of them does not meet": (
        f"{_EACH} setp.eq.u32 %p4, %r1, 2; {_produces(meet=f'@%p4 bra NOT; {_MEET} NOT:')} bra END; ODD: "
        f"{_consumes(get='setp.eq.u32 %p4, %r1, 1; @%p4 ' + _GET)}", 4, (handovers.Handovers, "_are_alike", _nothing),
    ),
    "one waits for what the other takes away": (
        f"{_EACH} {_produces()} bra END; ODD: {_TICKET.format(at=8)} {_PLACE} {_LOOK.replace('@!%p2 bra G;', '')} "
        f"@%p2 st.release.gpu.global.u32 [%rd2+32], 2;", 2, (handovers.Handovers, "_check_flag", _nothing),
    ),
    "an earlier ticket behind a later wait": (
        f"{_EACH} {_ONE.format(_NONE)} bra END; ODD: {_ONE.format(_BOTH.format(_consumes(get='@%p2 ' + _GET)))}", 2,
        (Holders, "comes_to", _comes_to),
    ),
    "two that take tickets of one counter": (
        f"{_TICKET.format(at=0)} {_PLACE} {_CHAIN.format('A', 'B')} {_OTHER} {_PLACE} {_CHAIN.format('C', 'D')}", 1,
        (handing, "Turn", _taken_by_one),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CONDITIONS)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, grid, (place, condition, none) = _CONDITIONS[name]
    test = ticketed_kernel(body, grid=grid, block=2, words=32, start=(0, 0), x=(*[0] * 8, int(grid == 1)))
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert by_tickets(test) is not None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


#: What consumers add up, what a checker would like of that, and whether it is the same in each order.
_SUMS: dict[str, tuple[str, str, bool]] = {
    "what they find": (_produces(), _consumes(out=_SUM), True),
    "what both find": (
        _produces(), _consumes(out=f"shfl.sync.idx.b32 %r8, %r9, 0, 31, 3; add.u32 %r9, %r9, %r8; {_SUM}"), True,
    ),
    "twice that": (_produces(), _consumes(out=f"shl.b32 %r9, %r9, 1; add.u32 %r9, %r9, %r1; {_SUM}"), True),
    "of what only one finds": (_produces(), _consumes(out=f"setp.eq.u32 %p4, %r1, 1; @%p4 {_SUM}"), False),
    "what one finds more often": (
        _produces(), _consumes(out=f"setp.eq.u32 %p4, %r1, 1; @%p4 shl.b32 %r9, %r9, 1; {_SUM}"), False,
    ),
    "what some put beside": (
        _produces(), f"setp.eq.u32 %p4, %r1, 9; @%p4 st.global.u32 [%rd1+28], 1; {_consumes(out=_SUM)}", True,
    ),
    "what hangs on who puts it": (_produces(put="mul.lo.u32 %r5, %r5, %t0; " + _PUT), _consumes(out=_SUM), False),
}  # fmt: skip


@pytest.mark.part(4)
@pytest.mark.parametrize("name", _SUMS)
def test_sums_of_what_is_handed_over_are_known_where_they_are_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, get, same = _SUMS[name]
    found = by_tickets(_queue(put, get, grid=4, forall="c[1] < 999"))
    assert found is not None and ("c[1]" in found.differing) is not same
    alone = _queue(
        *(of.replace("31, 3", "31, 1").replace("sync 3", "sync 1") for of in (put, get)),
        grid=4,
        block=1,
        forall="c[1] < 999",
    )
    found, states = by_tickets(alone), {state["c[1]"] for state in by_formula(alone, monkeypatch).states}
    assert found is not None and ("c[1]" in found.differing) is not same
    assert states == {found.state["c[1]"]} if same else len(states) > 1


def test_sums_of_what_all_threads_of_a_warp_find_are_known() -> None:
    tree = "".join(f"shfl.sync.bfly.b32 %r8, %r9, {1 << i}, 31, -1; add.u32 %r9, %r9, %r8;" for i in range(5))
    put, get = (
        of.replace("31, 3", "31, -1").replace("sync 3", "sync -1")
        for of in (_produces(), _consumes(out=f"{tree} {_SUM}"))
    )
    body = f"{_EACH} {put} bra END; ODD: {get}".replace("%t0, 2, %r2", "%t0, 32, %r2").replace("%rd2+32", "%rd2+512")
    test = ticketed_kernel(body, grid=4, block=32, words=132, start=(0, 0), forall="c[1] > 0")
    found = by_tickets(test)
    assert found is not None and not found.differing
    assert found.state["c[1]"] == 32 * (sum(range(1, 33)) + sum(range(65, 97)))


@pytest.mark.parametrize("around", [False, True])
def test_what_may_go_around_before_it_is_widened_is_no_part_of_a_sum(around: bool) -> None:
    out = f"{'add.u32 %r9, %r9, %r9;' * around} cvt.u64.u32 %rd5, %r9; red.relaxed.gpu.global.add.u64 [%rd1+112], %rd5;"
    found = by_tickets(_queue(_produces(), _consumes(out=out), grid=4, forall="x[28] < 999"))
    assert found is not None and ("x[28]" in found.differing) is around


#: What turns a queue of four CTAs of 64 threads that has room for all into one that is wrong.
_PLANTED: dict[str, tuple[str, str]] = {
    "": ("", ""),
    "nothing is released": ("st.release.gpu", "st.relaxed.gpu"),
    "nothing is acquired": ("ld.acquire.gpu", "ld.relaxed.gpu"),
    "nobody meets before it is told": (f"{_PUT} bar.sync 0;", _PUT),
    "a warp meets only": (f"{_PUT} bar.sync 0;", f"{_PUT} bar.warp.sync -1;"),
    "they meet too early": (f"{_PUT} bar.sync 0;", f"bar.sync 0; {_PUT}"),
    "the place beside": (_GET, _GET.replace("%rd6", "%rd6+4")),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _PLANTED)
def test_a_queue_of_whole_ctas_is_decided_and_none_with_a_mistake(name: str) -> None:
    put = _produces(_BY_MEMORY, "bar.sync 0;")
    get = _consumes(_BY_MEMORY, meet="bar.sync 0;", out=_SUM)
    body = f"{_EACH} {put} bra END; ODD: {get}".replace("%t0, 2, %r2", "%t0, 64, %r2").replace("%rd2+32", "%rd2+1024")
    test = ticketed_kernel(
        body.replace(*_PLANTED[name]), grid=4, block=64, words=260, start=(0, 0), forall="c[0] == 2 && c[1] > 0"
    )
    found = by_tickets(test)
    assert (found is None) is bool(name)
    assert found is None or (not found.differing and found.state["c[1]"] == sum(range(1, 65)) + sum(range(129, 193)))
