"""What `--find` finds is the smallest, and from what `--minimal` leaves nothing can be taken: both seen by brute force."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import pytest
from agreement import compared
from campaigns import some

import ptxmm
from litmus.relaxations import relaxations
from litmus.test import Test
from ptxmm.comparing.answers import answer_of
from ptxmm.comparing.columns import Case
from ptxmm.comparing.comparison import columns_for
from ptxmm.comparing.differences import ModelDifference, difference
from ptxmm.comparing.finding import DifferenceSearch
from ptxmm.comparing.shrinking import WAYS, shrunk, way_of
from ptxmm.comparing.universe import Family, Universe

#: Models that are told apart, and where the tests are from.
SAMPLE = [
    (
        "ptx-9.0",
        "ptx-9.0 --sc-not-acqrel",
        Family("Rfe,Fre,Coe,Fence.sc.gpudWW,PodWW.rel.gpu,PodRR.acq.gpu,PodWR,PodRW", 5),
    ),
    ("ptx-9.0", "ptx-9.0 --dep data", Family("Rfe,Fre,DpDatadW,DpCtrldW,PodRR", 5)),
    ("ptx-9.0", "ptx-9.0/-causality", Family("Rfe,Fre,Coe,PosWR,PosRR,PosWW", 4, mode="uni")),
    ("ptx-9.0", "ptx-9.0/-atomicity", Family("Rfe,Fre,Coe,Rmw,PodWW.rel.gpu,PodRR.acq.gpu", 4, mode="free")),
    ("ptx-9.0", "ptx-9.0/-no-thin-air", Family("Rfe,DpCtrldW,PodRW,PodRW.acq.gpu", 6)),
    ("ptx-7.5", "ptx-9.0", Family("Rfe,Fre,Coe,Streamd**,PodWW", 4)),
    ("ptx-6.0", "ptx-7.5", Family("Rfe,Fre,Coe,Pos**.alias", 3, mode="free")),
    ("ptx-9.0", "ptx-9.0 --bar-is-fence", Family("Rfe,Fre,BardWW,BardRR,PodWW.rel.cta,PodRR.acq.cta", 4, places="cta")),
]
NAMES = [f"{one}, {other}" for one, other, _ in SAMPLE]


def decided(test: Test, one: str, other: str) -> ModelDifference:
    """Each model asked by itself, with what no search passes over."""
    return difference(*(answer_of(ptxmm.check(test, model, witnesses=False), model) for model in (one, other)))


def cases(family: Family) -> Iterable[Case]:
    return Universe((family,), shipped=False).cases()


@pytest.mark.part(2)
@pytest.mark.compares(1.0)
@pytest.mark.parametrize(("one", "other", "family"), SAMPLE, ids=NAMES)
def test_no_smaller_test_tells_them_apart(one: str, other: str, family: Family) -> None:
    every = list(cases(family))
    sizes = []
    for case in every:
        assert isinstance(case.test, Test)
        compared(case.name)
        if decided(case.test, one, other).differs:
            sizes.append(case.size)
    search = DifferenceSearch(columns_for((one, other)), every)
    found = next(iter(search))
    assert found.row.case.size == min(sizes) and len(every) >= 2
    again = DifferenceSearch(columns_for((one, other)), every, most=len(every))
    assert len(list(again)) == len(sizes) and again.exhausted


@pytest.mark.long
@pytest.mark.compares(1.0)
@pytest.mark.parametrize(("one", "other", "family"), some(3, SAMPLE), ids=NAMES)
def test_from_a_minimal_test_nothing_can_be_taken(one: str, other: str, family: Family) -> None:
    columns = columns_for((one, other))
    search = DifferenceSearch(columns, cases(family), most=2)
    for found in search:
        whole = found.row.case.load()
        assert isinstance(whole, Test)
        least = shrunk(whole, columns)
        way = way_of(decided(least, one, other))
        assert way is not None
        for relaxation in relaxations(least):
            compared(f"{least.name}: {relaxation.what}")
            with suppress(ptxmm.InputError):  # what is no test any more tells nothing apart
                assert not WAYS[way](decided(relaxation.test, one, other)), relaxation.what
