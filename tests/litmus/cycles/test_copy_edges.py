"""Cycles in which asynchronous copies make accesses: what models say of them, and that conditions tell the executions that have
them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from campaigns import some

import ptxmm
from litmus.cycles import enumerate as every
from litmus.cycles import generate
from litmus.cycles.cycle import CycleLayout, laid_out, resolved
from litmus.cycles.edges import read_cycle
from litmus.cycles.normal import normal
from litmus.cycles.recognise import Unread, recognised
from litmus.formats.printer import write
from litmus.formats.reader import read
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxmm.cli.main import main
from ptxmm.result import Witness

#: Of all bytes of a location one order, as of those that the condition looks at; what is read comes from one write of them, and
#: a reduction adds to what is there.
MODEL = """"PTX 9.0, with coherence total"
include "ptx-9.0.cat"
empty ([W]; loc; [W]) \\ (co | co^-1 | id) as total
empty ((rf; rf^-1) & loc) \\ id as whole
irreflexive rf; fr; co as at-once
empty rmw & (fr; co) as atomic
"""
EDGES = (
    "Pod**,Rfe,Fre,Coe,CpAsyncd**,CpAsyncMbard**,PodW*._.cp",
    "Pod**,Rfe,Fre,Coe,Bulkd**,BulkMbard**,Proxy.asyncd**._.bulk",
    "Pod**,Rfe,Fre,Coe,CpAsync.1d**,PodW*.cp",
    "Pod**,Rfe,Fre,Coe,Bulk.1d**,BulkReduced**,Bulk.readd**,PodW*.reduce",
    "Pod**,Rfe,Fre,Coe,DpDatadW,StAsyncMbard**,StAsyncMbars**,MulticastMbard**,MulticastMbars**",
)


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("cycle", "expected"),
    [
        # Who waits for a copy and releases, publishes what it wrote; who does not wait, does not.
        ("CpAsyncdWW.rel.cta Rfe PodRR.acq.cta Fre", "never"),
        ("PodWW.cp.rel.cta Rfe PodRR.acq.cta Fre", "sometimes"),
        ("BulkdWW.rel.gpu Rfe PodRR.acq.gpu Fre", "never"),
        ("PodWW.bulk.rel.gpu Rfe PodRR.acq.gpu Fre", "sometimes"),
        # A fence is no wait.
        ("Fence.sc.sysdWW.cp._ Rfe Fence.sc.sysdRR Fre", "sometimes"),
        # A copy follows what its issue follows: through another proxy only behind a fence.
        ("PodWW.rel.gpu Rfe PodRR.acq.gpu.cp Fre", "never"),
        ("PodWW.rel.gpu Rfe PodRR.acq.gpu.bulk Fre", "sometimes"),
        ("PodWW.rel.gpu Rfe Proxy.asyncdRR.acq.gpu.bulk Fre", "never"),
        # The end of a copy is handed over, and what else its thread did before is not.
        ("CpAsyncMbarsWR Fre", "never"),
        ("BulkMbarsWR Fre", "never"),
        ("PodWW.weak.cp CpAsyncMbardWR Fre", "sometimes"),
        ("PodWW.weak.bulk BulkMbardWR Fre", "sometimes"),
        ("MbarsWR Fre", "never"),
        # A wait that leaves a group is for the copies before that only.
        ("PodWW.cp CpAsync.1dWW.rel.cta Rfe PodRR.acq.cta Fre", "never"),
        ("CpAsync.1dWW.rel.cta Rfe PodRR.acq.cta Fre", "sometimes"),
        ("PodWW.bulk Bulk.1dWW.rel.gpu Rfe PodRR.acq.gpu Fre", "never"),
        ("PodWW.bulk.reduce BulkReduce.1dWW.rel.gpu Rfe PodRR.acq.gpu Fre", "never"),
        ("PodWW.bulk Bulk.2dWW.rel.gpu Rfe PodRR.acq.gpu Fre", "sometimes"),
        # What was read is over, what is written is not.
        ("Bulk.readdRW.rel.cta Rfe PodRW.acq.cta Rfe", "never"),
        ("PodRW.bulk.rel.cta Rfe PodRW.acq.cta Rfe", "sometimes"),
        ("Bulk.readdWW.rel.gpu Rfe PodRR.acq.gpu Fre", "sometimes"),
        # A reduction by a copy is waited for as a copy is.
        ("BulkReducedWW.rel.gpu Rfe PodRR.acq.gpu Fre", "never"),
        ("PodWW.reduce.rel.gpu Rfe PodRR.acq.gpu Fre", "sometimes"),
        ("BulkReducesWR Fre", "never"),
        # What is stored in another CTA is handed over, and what else its thread did before is not.
        ("StAsyncMbarsWR Fre", "never"),
        ("MulticastMbarsWR Fre", "never"),
        ("StAsyncMbarsWW Coe", "never"),
        ("PodWW StAsyncMbardWR Fre", "sometimes"),
        ("PodWW MulticastMbardWR Fre", "sometimes"),
        # Waiting for a copy orders it before what follows.
        ("CpAsyncsWR Fre", "never"),
        ("BulksWW Coe", "never"),
    ],
)
def test_what_models_say_of_copies(cycle: str, expected: str) -> None:
    (test,) = generate(cycle)
    assert ptxmm.check(test, witnesses=False).observation == expected
    assert ptxmm.check(test, engine="enumerate", witnesses=False).observation == expected


def layout_of(test: Test) -> CycleLayout:
    return laid_out(normal(resolved(read_cycle(dict(test.meta)["Cycle"]))))


def events_of(layout: CycleLayout, witness: Witness) -> list[int]:
    """The events of an execution that are those of a layout, by the thread, the location and the order in the thread."""
    found = [-1] * len(layout.events)
    of_reductions = {read for read, _ in witness.evaluate("rmw")}
    for t, events in enumerate(layout.threads):
        own = [
            e
            for e in witness.events
            if e.thread == t and e.kind in "RW" and FIRST.match(e.location) and e.index not in of_reductions
        ]
        assert len(own) == len(events)
        for i, e in zip(events, own, strict=True):
            assert e.kind == layout.events[i].direction
            found[i] = e.index
    return found


LIBRARY = Path(ptxmm.__file__).parents[1] / "litmus" / "library"
#: A location of a cycle, or the first word of one, in whichever CTA.
FIRST = re.compile(r"[xyzabc](\[0(\.\.\d+)?\])?(@\w+)?$")


def has_cycle(layout: CycleLayout, witness: Witness) -> bool:
    events = events_of(layout, witness)
    for i, edge in enumerate(layout.edges):
        if edge.communicates:
            pair = events[i], events[(i + 1) % len(events)]
            if pair not in witness.evaluate(edge.kind.lower()):
                return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("edges", some(6, EDGES))
def test_a_condition_is_true_in_the_executions_that_have_the_cycle(edges: str, tmp_path: Path) -> None:
    model = tmp_path / "total.cat"
    model.write_text(MODEL, encoding="utf-8")
    found = looked = 0
    tests = list(every(edges, size=(2, 4), threads=3, mode="free"))
    for test in tests[:: max(7, len(tests) // 36)]:
        layout = layout_of(test)
        for witness in islice(ptxmm.executions(test, str(model)), 60):
            assert has_cycle(layout, witness) == witness.satisfied, test.name
            found += bool(witness.satisfied)
            looked += 1
    assert found >= 5 and looked >= 20


@pytest.mark.part(3)
@pytest.mark.parametrize("edges", EDGES)
def test_tests_with_copies_are_read_back_and_recognised(edges: str) -> None:
    count = 0
    tests = list(every(edges, size=(2, 4), threads=3))
    for test in tests[:: max(1, len(tests) // 60)]:
        assert read(write(test)) == test
        names = [one.name for one in recognised(replace(test, meta=()))]
        assert test.name in names, test.name
        count += 1
    assert count >= 30


@pytest.mark.parametrize(
    ("cycle", "column", "message"),
    [
        ("PosWR.cp._ Fre", 1, "without waiting for its copy"),
        ("PosWW._.bulk Coe", 1, "through another proxy"),
        ("PodWW Rfe DpDatadW._.cp Coe", 11, "no data depends"),
        ("PodWW Rfe DpAddrdR.cp._ Fre", 11, "in no register"),
        ("CpAsyncdWW.rel.gpu._ Rfe PodRR Fre", 1, "made by a copy"),
        ("PodWW._.cp Rfe PodRR.cp._ Fre", 16, "another state space"),
        ("PodWW._.cp Rfe PodRR.alias._ Fre", 16, "by its own name"),
        ("CpAsyncMbardWW StreamdWW Rfe PodRR Fre", 16, "kernel of its own"),
        ("Rmw.cp Coe", 1, "made by a copy"),
        ("CpAsyncWW Coe", 1, "is no edge"),
        ("CpAsync.1sWR Fre", 1, "without waiting for its copy"),
        ("Bulk.readsWR Fre", 1, "without waiting for its copy"),
        ("CpAsync.readdRW Rfe PodRW Rfe", 1, "only a bulk copy"),
        ("Bulk.0dRW Rfe PodRW Rfe", 1, "is no edge"),
        ("BulkReducesWW.reduce Coe", 1, "two reductions"),
        ("PodWW Rfe PodRR.reduce._ Fre", 11, "cannot be a 'reduce'"),
        ("PodWW Rfe StAsyncMbardRW Coe", 11, "cannot be a 'stasync'"),
        ("PodWW Rfe MulticastMbardRW Coe", 11, "this is a read"),
        ("PodWW.stasync Rfe PodRR Fre", 1, "tells an mbarrier object"),
        ("DpAddrdW StAsyncMbarsWR PodRW Rfe", 1, "depends on no read"),
    ],
)
def test_copies_of_which_there_is_no_test_are_refused(cycle: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        generate(cycle)
    finding = caught.value.diagnostics[0]
    assert (message in finding.message, finding.span.column) == (True, column), str(caught.value)


def test_threads_that_share_memory_of_their_cta_stand_there() -> None:
    cycle = "CpAsyncdWW Rfe PodRR Fre"
    assert [test.name for test in generate(cycle)] == ["MP+cpasync+po@cta"]
    assert [test.name for test in generate(cycle, places="all")] == ["MP+cpasync+po@cta"]
    with pytest.raises(InputError, match="share memory of a CTA"):
        generate(cycle, places="gpu")


def test_threads_that_hand_over_across_ctas_stand_in_one_cluster() -> None:
    def names(cycle: str, places: str) -> list[str]:
        return [test.name for test in generate(cycle, places=places)]

    for kind in ("StAsyncMbar", "MulticastMbar"):
        called = f"W+R+{kind.lower()}"
        assert names(f"{kind}sWR Fre", "") == [f"{called}@cluster"]
        assert sorted(names(f"{kind}sWR Fre", "all")) == [f"{called}@cluster", f"{called}@cta"]
        assert names(f"{kind}sWW Coe", "") == [f"W+W+{kind.lower()}@cta"], "the last value is that of one CTA's memory"
        with pytest.raises(InputError, match="threads of one cluster"):
            generate(f"{kind}sWR Fre", places="gpu")
    # Who reads what was stored stands in the CTA where it lies.
    assert names("StAsyncMbarsWR PodRW.rel.cluster Rfe PodRR.acq.cluster Fre", "") == [
        "WRC+stasyncmbar+rel.cluster+acq.cluster@0_12"
    ]
    with pytest.raises(InputError, match="kernel of its own"):
        generate("StAsyncMbardWW StreamdWW Rfe PodRR Fre")


def test_the_search_for_what_tells_models_apart_sees_hand_overs_of_copies(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--find", "--edges", "Fre,CpAsyncMbars**,BulkMbars**", "--places", "cta", "--mode", "free", "--size", "2"]
    assert main(["compare", "--model", "ptx-9.0", "--model", "ptx-9.0/-causality", *words]) == 1
    assert "Mbars" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("model/st.async+release", "st.async.release.gpu.global"),
        ("asynchronous/red.async+object", "red.async"),
        ("asynchronous/bulk+reductions", "accessed elsewhere"),
    ],
)
def test_operations_that_no_edge_makes_are_told_by_their_names(name: str, reason: str) -> None:
    with pytest.raises(Unread, match=re.escape(reason)):
        recognised(ptxmm.load(LIBRARY / f"{name}.litmus"))


def test_names_tell_a_wait_from_none() -> None:
    cycles = ("BulkdWW.rel.gpu Rfe PodRR Fre", "PodWW.bulk.rel.gpu Rfe PodRR Fre")
    names = [test.name for cycle in cycles for test in generate(cycle)]
    assert names == ["MP+bulk.rel.gpu+po", "MP+po.bulk.rel.gpu+po"]
