"""Errands: what threads do only where a ticket or a claim says so. One run beside the formula, each of its conditions with a
kernel that is wrong and would be taken for right without it, and patterns at their size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_errands import again_kernel, errand_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import claims, errands, imagined, tickets
from axioms.dynamic.tickets.imagined import settle_errands
from ptxcore.clock import OutOfTime


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(81, 89), range(100)))
def test_what_is_said_up_to_errands_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(errand_kernel, seeds, monkeypatch)
    assert min(counted["differing"], counted["same"]) > len(seeds) / 16


@pytest.mark.compares(0.1)
@pytest.mark.parametrize("seeds", lengths(range(40, 60), range(400)))
def test_what_is_said_of_claims_that_are_lost_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(again_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 16


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_up_to_errands_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(errand_kernel, range(1000, 1000 + share(20000)), monkeypatch)


#: A ticket of each thread, and where it leads.
_TAKE = "atom.global.add.u32 %t0, [%rd3], 1;"
_AT = "mul.wide.u32 %rd2, %t0, 4; add.u64 %rd2, %rd2, %rd1;"
_PUT = f"{_AT} st.global.u32 [%rd2], %r5;"
#: The first one to come goes on.
_ONCE = "atom.global.exch.b32 %t1, [%rd3+4], 1; setp.ne.u32 %p3, %t1, 0; @%p3 bra LOST;"


_GOES_WITH = imagined._Imagined._goes_with


def _none(*_: Any, **__: Any) -> None:
    return None


def _true(*_: Any, **__: Any) -> bool:
    return True


#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "another one writes what a thread reads": (
        f"{_TAKE} setp.lt.u32 %p3, %t0, 1; @%p3 bra NOT; st.global.u32 [%rd1], 7; NOT: setp.ne.u32 %p4, %r4, 1; "
        "@%p4 bra END; ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+32], %r6;", {},
        (imagined._Imagined, "_goes_with", _true),
    ),
    "who wins writes what another one reads": (
        f"{_ONCE} st.global.u32 [%rd1], 7; LOST: @%p1 ld.global.u32 %r6, [%rd1]; @%p1 st.global.u32 [%rd1+32], %r6;", {},
        (imagined._Imagined, "_goes_with", _true),
    ),
    "two claims of different bits": (
        "setp.eq.u32 %p4, %r4, 2; selp.u32 %r6, 2, 1, %p4; atom.global.or.b32 %t1, [%rd3+4], %r6; and.b32 %r7, %t1, %r6; "
        "setp.ne.u32 %p3, %r7, 0; @%p3 bra END; @%p1 bra END; st.global.u32 [%rd1], 7;", {"grid": 3},
        (imagined, "_excluded", _true),
    ),
    "what one puts another one looks for": (
        "setp.eq.u32 %p3, %r4, 2; selp.u32 %r6, 5, %r4, %p3; add.u32 %r7, %r6, 1; atom.global.cas.b32 %t1, [%rd3+4], %r6, %r7; "
        "setp.ne.u32 %p3, %t1, 2; @%p3 bra END; st.global.u32 [%rd1], 7;", {"grid": 3},
        (claims.ClaimedBytes, "is_sound", True),
    ),
    "a strong look at what is claimed": (
        "shl.b32 %r6, 1, %r4; atom.global.or.b32 %t1, [%rd3+4], %r6; st.global.u32 [%rd5+16], %t1; @!%p1 bra END; "
        "ld.relaxed.gpu.global.u32 %r8, [%rd3+4]; "
        "st.global.u32 [%rd1+32], %r8;", {}, (imagined._Imagined, "_check_claimed", _none),
    ),
    "what winners write is no constant": (
        f"{_ONCE} st.global.u32 [%rd1], %r5; LOST: bar.sync 0; @%p1 ld.global.u32 %r6, [%rd1]; "
        "@%p1 st.global.u32 [%rd1+32], %r6;", {"grid": 1, "block": 2},
        (imagined, "_wrote", lambda *_: ()),
    ),
    "who wins takes as many as it likes": (
        f"{_ONCE} atom.global.add.u32 %t0, [%rd3], %r5; {_PUT} LOST:", {}, (imagined, "_only", lambda *_: ()),
    ),
    "one who wins does not go on": (
        f"atom.global.exch.b32 %t1, [%rd3+4], 1; setp.eq.u32 %p4, %r4, 1; @%p4 bra END; setp.ne.u32 %p3, %t1, 0; @%p3 bra END; "
        f"{_TAKE} {_PUT}", {}, (imagined, "_once", _true),
    ),
    "it is kept who won": (
        f"{_ONCE} mov.u32 %r9, 1; LOST: setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd1], %r5;", {},
        (errands.Live, "of", lambda *_: ()),
    ),
    "a ticket that was put away": (
        f"{_TAKE} st.global.u32 [%rd5+48], %t0; {_ONCE} ld.global.u32 %r6, [%rd5+48]; mad.lo.u32 %r6, %r4, 2, %r6; "
        "mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], 1; LOST:", {},
        (tickets.Tickets, "_varies", lambda *_: False),
    ),
    "more than there is room for": (
        f"{_TAKE} setp.lt.u32 %p3, %t0, 1; @%p3 bra END; selp.u32 %r6, 4, 1, %p1; "
        f"atom.global.add.u32 %t0, [%rd3+8], %r6; {_PUT}",
        {"grid": 3, "words": 4, "start": (0, 0, 0)}, (imagined._Imagined, "_more", lambda _: {}),
    ),
    "what some have added is not what all have": (
        f"{_TAKE} mov.u32 %r7, 0; ROUND: setp.eq.u32 %p4, %r4, 2; selp.u32 %r8, 1, 0, %p4; setp.ne.u32 %p5, %r8, %r7; "
        "@%p5 bra NOT; setp.lt.u32 %p3, %t0, 1; @%p3 bra NOT; red.global.add.u32 [%rd3+8], 1; NOT: bar.sync 0; "
        "@%p1 ld.global.u32 %r6, [%rd3+8]; "
        "@%p1 st.global.u32 [%rd1+32], %r6; bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p5, %r7, 2; @!%p5 bra END; "
        "@%p1 st.global.u32 [%rd1+36], %r6; bra ROUND;", {"grid": 1, "block": 3, "start": (0, 0, 0)},
        (imagined._Imagined, "_goes_with", lambda self, a, b, settled: _GOES_WITH(self, a, b, dict.fromkeys(settled, 0))),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, size, (place, condition, none) = _WRONG[name]
    test = ticketed_kernel(body, **{"start": (0, 0), **size})
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert by_tickets(test) is not None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


#: Who comes first to one of 32 bits, of which two are taken, appends it; each thread comes twice.
_TWICE = """and.b32 %r6, %r4, 31; mov.u32 %r7, 1; shl.b32 %r7, %r7, %r6; mov.u32 %r9, 0;
ROUND: atom.global.or.b32 %t1, [%rd3+4], %r7; and.b32 %r8, %t1, %r7; setp.ne.u32 %p3, %r8, 0; @%p3 bra NOT; {appends}
NOT: add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 2; @%p4 bra ROUND;"""
#: A vertex gets its level from the first one who comes to it, and so does one that has a level already.
_LEVEL = """and.b32 %r6, %r4, 3; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd3; atom.global.{claim};
setp.gt.u32 %p3, %t1, 3; @!%p3 bra END; {appends}"""
_APPENDS = f"atom.global.add.u32 %t0, [%rd1+252], 1; {_AT} st.global.u32 [%rd2], %r6;"


@pytest.mark.parametrize(
    ("body", "start"),
    [
        pytest.param(_TWICE, (0, 0x101), id="bits"),
        pytest.param(_LEVEL.replace("{claim}", "min.u32 %t1, [%rd2], 3"), (9, 9, 1, 9), id="min"),
        pytest.param(_LEVEL.replace("{claim}", "cas.b32 %t1, [%rd2], 9, 3"), (9, 9, 1, 9), id="cas"),
    ],
)
@pytest.mark.parametrize(
    ("appends", "verdict"),
    [
        pytest.param(_APPENDS, "ok", id="right"),
        pytest.param(_APPENDS.replace("%t0, 4", "%r6, 0"), "no", id="all in one place"),
        pytest.param("ld.global.u32 %r5, [%rd1+252]; st.global.u32 [%rd1+252], %r5;", "no", id="no atomic"),
        pytest.param("st.global.u32 [%rd3+4], %r6;", "no", id="the claim itself"),
    ],
)  # fmt: skip
def test_who_claims_what_is_taken_does_nothing(body: str, start: tuple[int, ...], appends: str, verdict: str) -> None:
    test = ticketed_kernel(
        body.replace("{appends}", appends), grid=2, block=64, words=64, start=start, forall="c[0] < 999"
    )
    assert (by_tickets(test) is not None) is (verdict == "ok")
    assert by_runs(test)[1].verdict == verdict


def test_a_time_limit_that_ends_an_errand_is_no_errand_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[str] = []

    def out_of_time(*_: Any) -> Any:
        raise OutOfTime

    def settles(*given: Any) -> Any:
        try:
            return settle_errands(*given)
        except OutOfTime:
            came.append("time")
            raise

    monkeypatch.setattr(errands.Errands, "truths", out_of_time)
    monkeypatch.setattr(tickets, "settle_errands", settles)
    assert by_tickets(ticketed_kernel(f"{_TAKE} setp.lt.u32 %p3, %t0, 1; @%p3 bra END; {_PUT}", start=(0, 0))) is None
    assert came == ["time"]
