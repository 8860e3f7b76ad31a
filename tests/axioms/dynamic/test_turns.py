"""Threads that hand over by flags at the places of their tickets: one run beside the formula, each condition with a kernel that
is wrong without it, and queues at their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from by_runs import by_formula
from campaigns import lengths, share
from generated_turns import turn_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import handing, handovers
from ptxmm.kernels.test import KernelTest


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(12), range(200)))
def test_what_is_said_up_to_turns_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(turn_kernel, seeds, monkeypatch)
    assert counted["differing"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_up_to_turns_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(turn_kernel, range(1000, 1000 + share(20000)), monkeypatch)


#: Odd CTAs take what even ones put into a ring of two: word 0 and 1 of `x`, flags from word 4 on, counters in `c`.
_EACH = "and.b32 %r6, %r1, 1; setp.ne.u32 %p3, %r6, 0; @%p3 bra ODD;"
_PLACE = "and.b32 %r7, %t0, 1; shr.u32 %r8, %t0, 1; shl.b32 %r8, %r8, 1; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1;"
_PUT_TICKET = f"atom.relaxed.gpu.global.add.u32 %t0, [%rd3], 1; {_PLACE}"
_GET_TICKET = f"atom.relaxed.gpu.global.add.u32 %t0, [%rd3+8], 1; {_PLACE}"
_EMPTY = "E: ld.acquire.gpu.global.u32 %r6, [%rd2+16]; setp.ne.u32 %p4, %r6, %r8; @%p4 bra E;"
_PUT = "st.global.u32 [%rd2], %r5;"
_FULL = "add.u32 %r8, %r8, 1; st.release.gpu.global.u32 [%rd2+16], %r8;"
_LOOK = "add.u32 %r8, %r8, 1; F: ld.acquire.gpu.global.u32 %r6, [%rd2+16]; setp.ne.u32 %p4, %r6, %r8; @%p4 bra F;"
_GET = "ld.global.u32 %r9, [%rd2];"
_FREE = "add.u32 %r8, %r8, 1; st.release.gpu.global.u32 [%rd2+16], %r8;"
_FENCE = "fence.acq_rel.gpu;"
_OUT = "st.global.u32 [%rd5+32], %r9;"


def _queue(put: str, get: str, *, behind: str = "", grid: int = 2, block: int = 1) -> KernelTest:
    body = f"{_EACH} {put} bra DONE; ODD: {get} {_OUT} DONE: {behind}"
    return ticketed_kernel(body, grid=grid, block=block, start=(0, 0))


_PRODUCER = f"{_PUT_TICKET} {_EMPTY} {_PUT} {_FULL}"
_CONSUMER = f"{_GET_TICKET} {_LOOK} {_GET} {_FREE}"


def test_strong_stores_at_the_places_of_tickets_are_decided() -> None:
    body = f"{_PUT_TICKET} st.relaxed.gpu.global.u32 [%rd2+16], 1;"
    found = by_tickets(ticketed_kernel(body, start=(0, 0)))
    assert found is not None and not found.differing and found.state["x[4]"] == found.state["x[5]"] == 1


def _weak(text: str) -> str:
    return text.replace("acquire", "relaxed").replace("release", "relaxed")


_RIGHT: dict[str, tuple[str, str]] = {
    "a ring": (_PRODUCER, _CONSUMER),
    "by fences": (
        f"{_PUT_TICKET} {_weak(_EMPTY)} {_FENCE} {_PUT} {_FENCE} {_weak(_FULL)}",
        f"{_GET_TICKET} {_weak(_LOOK)} {_FENCE} {_GET} {_FENCE} {_weak(_FREE)}",
    ),
    "as large as all": (f"{_PUT_TICKET} {_PUT} {_FULL}", f"{_GET_TICKET} {_LOOK} {_GET}"),
    "anything but empty": (
        f"{_PUT_TICKET} {_PUT} st.release.gpu.global.u32 [%rd2+16], 7;",
        f"{_GET_TICKET} F: ld.acquire.gpu.global.u32 %r6, [%rd2+16]; setp.eq.u32 %p4, %r6, 0; @%p4 bra F; {_GET}",
    ),
    "it sleeps": (_PRODUCER.replace("setp.ne", "nanosleep.u32 20; setp.ne"), _CONSUMER),
    "its place is computed in the loop": (
        _PRODUCER,
        _CONSUMER.replace("F: ", "F: mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1; "),
    ),
}
_WRONG: dict[str, tuple[str, str]] = {
    "nothing is released": (_PRODUCER.replace("release", "relaxed"), _CONSUMER),
    "nothing is acquired": (_PRODUCER, _CONSUMER.replace("acquire", "relaxed")),
    "released in a narrow scope": (_PRODUCER.replace("release.gpu", "release.cta"), _CONSUMER),
    "acquired in a narrow scope": (_PRODUCER, _CONSUMER.replace("acquire.gpu", "acquire.cta")),
    "put there weakly": (_PRODUCER.replace(".release.gpu", ""), _CONSUMER),
    "told before it is put": (f"{_PUT_TICKET} {_EMPTY} {_FULL} {_PUT}", _CONSUMER),
    "taken before it waits": (_PRODUCER, f"{_GET_TICKET} {_GET} {_LOOK} {_FREE}"),
    "another place": (_PRODUCER, _CONSUMER.replace(_GET, _GET.replace("[%rd2]", "[%rd2+4]"))),
    "another flag": (_PRODUCER, _CONSUMER.replace("%r6, [%rd2+16]", "%r6, [%rd2+20]")),
    "a number that never comes": (_PRODUCER, _CONSUMER.replace("add.u32 %r8, %r8, 1; F:", "add.u32 %r8, %r8, 3; F:")),
    "the fence comes too early": (f"{_PUT_TICKET} {_FENCE} {_PUT} {_weak(_FULL)}", _CONSUMER),
    "the fence comes too late": (_PRODUCER, f"{_GET_TICKET} {_weak(_LOOK)} {_GET} {_FENCE} {_FREE}"),
    "a fence of a CTA": (f"{_PUT_TICKET} {_PUT} fence.acq_rel.cta; {_weak(_FULL)}", _CONSUMER),
    "all take first": (f"{_CONSUMER} {_PRODUCER}", f"{_CONSUMER} {_PRODUCER}".replace("E", "G").replace("F", "H")),
}
#: Of those, what is wrong only where several threads put something there.
_WRONG_OF_TWO = {"another place"}


@pytest.mark.parametrize("name", _RIGHT)
def test_what_is_handed_over_by_tickets_is_decided_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _queue(*_RIGHT[name])
    assert by_tickets(test) is not None
    assert by_formula(test, monkeypatch).verdict in ("ok", "bounded")


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_handed_over_wrongly_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _queue(*_WRONG[name], grid=4 if name in _WRONG_OF_TWO else 2)
    assert by_tickets(test) is None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


def _who_waits_last(of: Any) -> Any:
    return sorted(of.turns, key=lambda turn: any(step.does == "waits" for step in turn.steps))


def _nothing(*_: Any, **__: Any) -> None:
    """A condition that is left out."""


#: The ring has four places: there is room for all.
_PUT_ONE, _GET_ONE = (
    text.replace("%t0, 1; shr.u32 %r8, %t0, 1;", "%t0, 3; shr.u32 %r8, %t0, 2;")
    for text in (f"{_PUT_TICKET} {_PUT} {_FULL}", f"{_GET_TICKET} {_LOOK} {_GET}")
)
#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_CONDITIONS: dict[str, tuple[str, dict[str, int], tuple[Any, str, Callable[..., Any]]]] = {
    "a plain store beside": (
        f"@%p1 st.global.u32 [%rd1], 9; {_EACH} {_PRODUCER} bra END; ODD: {_CONSUMER}", {"grid": 4},
        (handovers.Handovers, "_check_outside", _nothing),
    ),
    "who waits also provides": (
        f"setp.eq.u32 %p3, %r1, 1; setp.eq.u32 %p5, %r1, 2; @%p5 bra TWO; {_GET_ONE} @%p3 bra END; TWO: {_PUT_ONE}",
        {"grid": 3}, (handovers.Handovers, "_in_order", _who_waits_last),
    ),
    "one of them releases nothing": (
        f"{_EACH} {_PUT_TICKET} {_PUT} add.u32 %r8, %r8, 1; setp.eq.u32 %p4, %r1, 2; @%p4 bra TWO; "
        "st.release.gpu.global.u32 [%rd2+16], %r8; bra END; TWO: st.relaxed.gpu.global.u32 [%rd2+16], %r8; bra END; "
        f"ODD: {_GET_TICKET} {_LOOK} setp.eq.u32 %p4, %r1, 1; @%p4 {_GET}",
        {"grid": 4}, (handovers.Handovers, "_are_alike", _nothing),
    ),
    "a meeting in between": (
        f"setp.eq.u32 %p3, %r1, 2; setp.eq.u32 %p5, %r2, 1; @%p3 bra TWO; @%p5 bra BAR; GET: {_GET_ONE} @%p3 bra END; "
        f"BAR: bar.sync 0; @!%p5 bra END; PUT: {_PUT_ONE} @%p3 bra GET; bra END; TWO: @!%p2 bra END; bra PUT;",
        {"grid": 3, "block": 2}, (handing.Handing, "_meets_others", _nothing),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CONDITIONS)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, size, (place, condition, none) = _CONDITIONS[name]
    test = ticketed_kernel(body, start=(0, 0), **size)
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert by_tickets(test) is not None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


#: What turns one thread of 64 in each of four CTAs has in a queue that has room for all into one that is wrong.
_PLANTED: dict[str, tuple[str, str]] = {
    "": ("", ""),
    "nothing is released": ("st.release.gpu", "st.relaxed.gpu"),
    "nothing is acquired": ("ld.acquire.gpu", "ld.relaxed.gpu"),
    "a narrow scope": ("st.release.gpu", "st.release.cta"),
    "the place beside": (_GET, _GET.replace("%rd2", "%rd2+4")),
    "told before it is put": (f"{_PUT} {_FULL}", f"{_FULL} {_PUT}"),
}


@pytest.mark.parametrize("name", _PLANTED)
def test_a_queue_of_256_threads_is_decided_and_none_with_a_mistake(name: str) -> None:
    large = "%t0, 127; shr.u32 %r8, %t0, 7;"
    body = f"{_EACH} {_PUT_ONE} bra END; ODD: {_GET_ONE}".replace("%t0, 3; shr.u32 %r8, %t0, 2;", large)
    body = body.replace(*_PLANTED[name]).replace("%rd2+16", "%rd2+512")
    test = ticketed_kernel(body, grid=4, block=64, words=257, start=(0, 0), forall="c[0] == 128 && c[2] == 128")
    assert (by_tickets(test) is None) is bool(name)
