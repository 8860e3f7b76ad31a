"""Cycles found again in tests: those that were generated come back to their names, by program and condition alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from litmus.cycles import enumerate as every
from litmus.cycles import generate
from litmus.cycles.accesses import Unread
from litmus.cycles.normal import CLASSIC
from litmus.cycles.recognise import recognised
from litmus.formats import read
from litmus.test import Test

CLASSIC_THREADS = {called: shape.count("+") + 1 for shape, called in CLASSIC.items()}
LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"


def bare(test: Test) -> Test:
    """A test that does not say what it is."""
    return replace(test, name="unknown", meta=(), comments=())


def unnumbered(test: Test) -> str:
    """The name of a test, without the number that tells it from others of the same name."""
    base, at, where = test.name.partition("@")
    return (base[:-3] if base[-3:].isdecimal() else base) + at + where


def same(cycle: str, places: str, test: Test) -> bool:
    (made,) = generate(cycle, places=places or "gpu")
    return made.threads == test.threads and made.condition == test.condition


@pytest.mark.long
@pytest.mark.parametrize(
    ("edges", "options", "least"),
    [
        ("Pod**,Rfe,Fre,Coe", {"size": (2, 6), "threads": 6, "places": "all"}, 700),
        ("Pod**.rlx.cta,Pod**.rel.gpu,Pod**.acq.*,Pod**.weak,Rfe,Fre,Coe", {"size": (2, 4), "threads": 3}, 120),
        ("Pod**.atom,PodW*.red,Rfe,Fre,Coe,Rmw.acq_rel.gpu,Proxy.aliasd**.alias,Proxy.aliass**", {"size": (2, 4)}, 30),
        ("Pod**,Rfe,Fre,Coe,Bard**,Mbard**,ClusterBars**,Streamd**", {"size": (2, 4), "mode": "free"}, 300),
        ("Pod**,Rfe,Fre,Coe,Fence.*.gpu,DpAddrd*,DpDatadW,DpCtrldR", {"size": (2, 4), "threads": 3}, 60),
        ("Pos**,Rfe,Fre,Coe,Rfi,Fri", {"size": (2, 4), "mode": "uni", "one_location": True}, 25),
    ],
)
def test_a_generated_test_comes_back_to_its_name(edges: str, options: dict[str, object], least: int) -> None:
    count = 0
    for test in every(edges, **options):  # type: ignore[arg-type]
        assert unnumbered(test) in [one.name for one in recognised(bare(test))], test.comments
        count += 1
    assert count >= least


def test_where_a_test_has_two_names_the_other_is_of_the_same_test() -> None:
    kinds: Counter[str] = Counter()
    for test in every("Pod**,Pos**,Rfe,Rfi,Fre,Fri,Coe,Coi,Rmw,Fence.sc.sys", size=(2, 4), threads=3, mode="free"):
        found = recognised(bare(test))
        if unnumbered(test) in [one.name for one in found]:
            kinds["own name"] += 1
        else:
            assert all(one.exact for one in found)
            assert any(same(one.cycle, one.name.partition("@")[2], test) for one in found)
            kinds["another"] += 1
        assert [one.name for one in recognised(test)] == [unnumbered(test)]  # by its own Cycle=
    assert min(kinds["own name"], kinds["another"]) > 50


def recognised_in(text: str) -> list[str]:
    return [f"{one.name}: {one.cycle}" for one in recognised(read(text))]


WRITTEN_BY_HAND = """PTX hand
{{ data=0; flag=0; other=0; }}
 P0@cta 0,gpu 0{gap}| P1@cta 1,gpu 0 ;
 st.weak.u32 [data], 42 | ld.acquire.gpu.u32 %r0, [flag] ;
 {middle} | ld.weak.u32 %r1, [other] ;
 st.release.gpu.u32 [flag], 1 | ld.weak.u32 %r2, [data] ;
{condition}
"""


def hand(condition: str, middle: str = "", gap: str = " ") -> Iterator[str]:
    yield from recognised_in(WRITTEN_BY_HAND.format(condition=condition, middle=middle, gap=gap))


def test_tests_written_by_hand() -> None:
    # P1 also reads a location that has no part in the cycle.
    (found,) = hand("exists (1:r0 == 1 /\\ 1:r2 == 0)")
    assert found == "MP+weak.rel.gpu+acq.gpu.weak: PodWW.weak.rel.gpu Rfe PodRR.acq.gpu.weak Fre"
    (found,) = hand("~exists (1:r0 == 1 /\\ 1:r2 == 0)", "fence.sc.gpu")
    assert found.startswith("MP+fence.sc.gpu.weak.rel.gpu+")
    (found,) = hand("forall (not (1:r0 == 1 /\\ 1:r2 == 0))", "membar.gl")
    assert found.startswith("MP+fence.sc.gpu.weak.rel.gpu+")


@pytest.mark.parametrize(
    ("condition", "middle", "why"),
    [
        ("exists (1:r0 == 1 /\\ 1:r2 == 42)", "", "asks for no cycle"),
        ("exists (1:r0 != 1)", "", "does not say what is read"),
        ("exists (1:r0 == 1 /\\ 1:r2 == 0)", "L0: ld.weak.u32 %r9, [data]; bra L0", "P0 has a loop"),
    ],
)
def test_why_there_is_none(condition: str, middle: str, why: str) -> None:
    with pytest.raises(Unread, match=why):
        list(hand(condition, middle))


def test_values_that_are_computed_from_what_was_read() -> None:
    (found,) = recognised_in(
        "PTX copied\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
        " ld.relaxed.sys.u32 %r0, [x] | ld.relaxed.sys.u32 %r0, [y] ;\n"
        " st.relaxed.sys.u32 [y], %r0 | add.u32 %r1, %r0, 0 ;\n"
        " | st.relaxed.sys.u32 [x], %r1 ;\n"
        "exists (0:r0 == 42 /\\ 1:r0 == 42)\n"
    )
    assert found == "LB+datas@cta: DpDatadW Rfe DpDatadW Rfe"


def test_the_library_is_told_or_it_is_said_why_not() -> None:
    told: Counter[bool] = Counter()
    seen: Counter[str] = Counter()
    for path in sorted(LIBRARY.rglob("*.litmus")):
        test = read(path.read_text(encoding="utf-8"))
        try:
            found = recognised(test)
        except Unread as unread:
            assert str(unread)
            told[False] += 1
            continue
        told[True] += 1
        called = test.name.split("+")[0]
        if called in CLASSIC.values() and found[0].whole and len(test.threads) == CLASSIC_THREADS[called]:
            seen[called] += 1
            others = ("Bar", ".red")  # a barrier in the place of communication, a reduction in that of a read
            assert found[0].family == called or any(word in found[0].cycle for word in others), (test.name, found[0])
    assert told[True] > 150 and told[False] > 0
    assert len(seen) > 8 and seen.total() > 50
