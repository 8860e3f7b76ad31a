"""Tests from cycles: what diy makes of the same cycles, what is refused, and what the names say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from litmus.cycles import cross, generate
from litmus.cycles import enumerate as every
from litmus.cycles.cycle import CycleLayout, laid_out, resolved
from litmus.cycles.edges import read_cycle
from litmus.cycles.names import name
from litmus.cycles.normal import family, normal
from litmus.formats.printer import write
from litmus.formats.reader import read
from ptxcore.diagnostics import InputError

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "herd" / "cycles.json"


@pytest.fixture(scope="session")
def recorded() -> dict[str, Any]:
    """Cycles and what diyone7 and diy7 make of them."""
    if not RECORDED.exists():
        pytest.skip(f"no recorded cycles at {RECORDED}")
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def layout(cycle: str) -> CycleLayout:
    return laid_out(normal(resolved(read_cycle(cycle))))


def program(found: CycleLayout) -> list[list[list[object]]]:
    """The accesses of each thread as the recorded cycles write them."""
    reads = dict(found.outcomes[0].reads)
    threads = []
    for events in found.threads:
        cells: list[list[object]] = []
        for i in events:
            event, edge = found.events[i], found.edges[i]
            if edge.kind == "Rmw":
                written = found.events[(i + 1) % len(found.events)].value
                cells.append(["RMW", event.location, reads.get(i), written])
            elif found.edges[i - 1].kind != "Rmw":
                cells.append([event.direction, event.location, event.value if event.direction == "W" else reads.get(i)])
            if edge.kind == "Fence":
                cells.append(["F"])
        threads.append(cells)
    return threads


def test_cycles_are_made_into_what_diy_makes_of_them(recorded: dict[str, Any]) -> None:
    for cycle in recorded["cycles"]:
        found = layout(cycle["edges"])
        assert name(found.edges) == cycle["name"]
        assert family(found.edges) == cycle["family"]
        assert " ".join(map(str, found.edges)) == cycle["normal"]
        assert (len(found.threads), found.locations) == (cycle["threads"], cycle["locations"])
        assert program(found) == cycle["program"]
        assert {str(place): value for place, value in found.outcomes[0].finals} == cycle["final"]
    assert len(recorded["cycles"]) > 40


def test_enumerations_are_those_of_diy(recorded: dict[str, Any]) -> None:
    for one in recorded["enumerations"]:
        edges = ",".join(one["relaxations"])
        tests = list(every(edges, size=(1, one["size"]), threads=one["nprocs"]))
        assert sorted(test.name for test in tests) == sorted(name for name, _ in one["tests"])
        assert {test.name: test.comments[0] for test in tests} == dict(one["tests"])
    assert len(recorded["enumerations"]) >= 4


def test_what_diy_refuses_is_refused(recorded: dict[str, Any]) -> None:
    for one in recorded["refused"]:
        with pytest.raises(InputError):
            generate(one["edges"])


@pytest.mark.parametrize(
    ("cycle", "column", "message"),
    [
        ("PodWW Rfe PodRR Fre PodRR", 21, "starts at a read"),
        ("PodWW Rfe PodRR Coe", 17, "starts at a write, and PodRR before it ends at a read"),
        ("Rfi PodRR Fri", 11, "never leaves its thread"),
        ("PodWW Rfe PosRR Fre", 1, "leads back to the same"),
        ("PodWW Rfx PodRR Fre", 7, "'Rfx' is no edge"),
        ("Pod** Pod** Rfe PodRR Fre", 7, "a read or a write before this edge is open"),
        ("PodWW.rel Rfe PodRR Fre", 1, "needs a scope"),
        ("PodWW.acq.gpu Rfe PodRR Fre", 1, "a write cannot be 'acq'"),
        ("PodWW.rel.gpu Rfe.rel.cta PodRR Fre", 15, "'rel.gpu' by the edge before and 'rel.cta' by this one"),
        ("Fence.seq.gpudWW Rfe PodRR Fre", 1, "no fence.seq"),
        ("DpDatadR Rfe PodRR Fre", 1, "leads to a write"),
        ("PodWW.red.foo Rfe PodRR Fre", 1, "'foo' says nothing"),
        ("", 1, "a cycle has edges"),
        ("PodWW Rfe Rmw.weak PodWR Fre", 11, "cannot be 'weak'"),
        ("Fence.*.gpudWW Rfe PodRR Fre", 1, "stands for several edges"),
        ("BardWR BardRW", 8, "wait for each other"),
        ("PodWW. Rfe PodRR Fre", 1, "'' says nothing"),
        ("PodRR.red Fre PodWW Rfe", 1, "a read cannot be a 'red'"),
        ("PodWW Rfe Proxy.aliasRR Fre", 11, "no proxy fence that a cycle has"),
        ("PodWW Rfe Fence.sc.warpdRR Fre", 11, "is no edge"),
        ("PodWW;Rfe PodRR", 1, "is no edge"),
        ("Coe Coe", 5, "communication alone"),
        ("PodWW Rfe PodRR Fre Fre", 21, "starts at a read, and Fre before it ends at a write"),
        ("PodWW.rel.gpu.acq.gpu.rlx.gpu Rfe PodRR Fre", 1, "more is said"),
    ],
)
def test_what_breaks_a_cycle_is_shown(cycle: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        generate(cycle)
    finding = caught.value.diagnostics[0]
    assert message in finding.message
    assert finding.span.column == column


@pytest.mark.parametrize(
    ("edges", "column", "message"),
    [
        ("", 1, "a list has edges"),
        ("Pod**,[Rfe Fre", 7, "this '[' has no other"),
        ("Pod**,Rfe]", 10, "this ']' has no other"),
        ("Pod**,[Rfe PodWW],Fre", 12, "does not start at a read, where Rfe"),
        ("Pod**,[],Fre", 7, "a sequence has edges"),
        ("Pod**,[Rfe Foo],Fre", 12, "'Foo' is no edge"),
        ("Pod**.foo,Rfe", 1, "'foo' says nothing"),
    ],
)
def test_what_is_wrong_with_a_list_is_shown(edges: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        every(edges)
    finding = caught.value.diagnostics[0]
    assert message in finding.message
    assert finding.span.column == column


def test_places_that_there_are_not() -> None:
    for places in ("foo", "01-1", "0-2", "ctas"):
        with pytest.raises(ValueError, match="does not place 2 threads"):
            generate("PodWW Rfe PodRR Fre", places=places)
        with pytest.raises(ValueError, match="does not place threads"):
            every(places=places)
    with pytest.raises(ValueError, match="at most 7 threads"):
        every(threads=8, places="all")
    # Places of three threads are those of the cycles of three threads.
    assert {len(test.threads) for test in every(places="01-2")} == {3}


@pytest.mark.parametrize(
    ("cycle", "places", "expected"),
    [
        ("PodWW.rel.gpu Rfe PodRR.acq.cta Fre", "cta", "MP+rel.gpu+acq.cta@cta"),
        ("PodRR Fre PodWW Rfe", "", "MP"),
        ("Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre", "sys", "SB+fence.sc.gpus@sys"),
        ("Rfe PosRR Fre", "", "CoRR"),
        ("PosWW Coe", "", "CoWW"),
        ("PosRW Rfe", "", "CoRW1"),
        ("Rfe PosRW Coe", "", "CoRW2"),
        ("Coe PosWR Fre", "", "CoWR"),
        ("PosWR Fre", "", "CoWR0"),
        ("Rfe.rel.gpu PodRW Rfe PodRR Fre", "01-2", "WRC+rel.gpu@01-2"),
        ("PodWR.rlx.gpu Fre PodWR.rlx.gpu Fre", "0--1", "SB+rlx.gpus@sys"),
    ],
)
def test_names(cycle: str, places: str, expected: str) -> None:
    assert [test.name for test in generate(cycle, places=places)] == [expected]


@pytest.mark.parametrize(
    ("cycle", "diy"),
    [
        ("Rfe PodRR Fre.rel.sys Rfe.rel.sys PodRR Fre", "NaL"),
        ("Rfe.rel.sys PodRR Fre.rel.sys Rfe.rel.sys PodRR Fre.rel.sys", "LL"),
        ("Rfe PodRW Rfe PodRR Fre.rel.sys", "L"),
        ("Rfe.rel.sys PodRR Fre Rfe PodRW Rfe PodRR Fre.rel.sys", "LNa"),
        ("Rfe PodRR.acq.sys Fre.rel.sys Rfe.rel.sys PodRR Fre", "NaL"),
    ],
)
def test_what_stands_alone_in_its_thread_is_told_last_as_diy_tells_it(cycle: str, diy: str) -> None:
    """`diy` is what diyone7 -norm says of it for AArch64, where L is a release, Na an access of which nothing is said."""
    (test,) = generate(cycle)
    last = test.name.split("+")[-1]
    assert [{"rel.sys": "L", "_": "Na"}[word] for word in last.split("-")] == re.findall("L|Na", diy)


def test_placements_are_counted_up_to_symmetry() -> None:
    # Partitions within partitions within partitions, by hand: two threads are in one CTA, cluster, GPU or none of them.
    assert len(list(generate("PodWR Fre PodWR Fre", places="all"))) == 4
    # With three threads: 4 where all pairs are alike; 6 pairs of levels with 3 choices of the pair that is nearer.
    three = 4 + 6 * 3
    assert len(list(generate("PodWW Rfe PodRW Rfe PodRR Fre", places="all"))) == three
    assert (
        len(list(generate("PodRW Rfe PodRW Rfe PodRW Rfe", places="all"))) == 4 + 6
    )  # rotation makes the three pairs one


@pytest.mark.long
@pytest.mark.parametrize(
    "edges",
    ["Pod**,Pos**,Rfe,Fre,Coe,Rmw,Fence.*.gpu", "Pod**.rel.*,Pod**.acq.gpu,Rfe,Fre,Rmw.acq_rel.cta,DpAddrd*,DpDatadW"],
)
def test_what_is_written_is_read_back_as_the_same_test_and_the_same_cycle(edges: str) -> None:
    tests = list(every(edges, size=(3, 5), threads=3, places="all"))[::7]
    assert len(tests) > 100
    for test in tests:
        assert read(write(test)) == test
        base, _, where = test.name.partition("@")
        cycle = dict(test.meta)["Cycle"]
        (again,) = generate(cycle, places=where)
        assert again.threads == test.threads and again.condition == test.condition
        assert base.startswith(again.name.partition("@")[0])
    assert len({test.name for test in tests}) == len(tests)


def test_no_cycle_comes_twice() -> None:
    names = [
        test.name for test in every("Pod**,Rfe,Fre,Coe,Fence.sc.*,Rfe.rel.gpu", size=(2, 5), threads=4, places="all")
    ]
    assert len(names) > 1000 and len(set(names)) == len(names)


#: A mode of diy7 7.56, a list for `-relax`, one for `-safe`, the greatest number of edges, and how many tests it makes of at
#: most 4 threads.
COUNTED = [
    ("sc", "PodWR,FencedWR", "PodRR,Rfe,Fre,PodWW,Coe", 4, 4),
    ("sc", "PodWR,FencedWR", "PodRR,Rfe,Fre,PodWW,Coe", 6, 25),
    ("sc", "Rfi,PodWR,PodRR", "Rfe,Fre,PodWW,Coe,PodRW", 5, 12),
    ("sc", "PodRR,PodRW,FencedRR", "Rfe,Fre,Coe,PodWW,PodRR", 5, 11),
    ("sc", "Rfi,PosWR,Fri", "Rfe,Fre,Coe,PodWW,PodRR,PodWR", 5, 0),
    ("sc", "[Rfe,PodRR],PodWR", "Rfe,Fre,Coe,PodWW,PodRW", 5, 14),
    ("ppo", "", "PodWR,PodWW,PodRR,PodRW,Rfe,Fre,Coe", 4, 9),
    ("ppo", "", "PodWR,PodWW,PodRR,PodRW,Rfe,Fre,Coe", 5, 33),
    ("ppo", "", "PodWR,FencedWR,PodRR,Rfe,Fre,PodWW,Coe", 5, 22),
    ("ppo", "", "Rfi,PodWR,PosRR,Rfe,Fre,Coe,PodRW,Fri", 5, 19),
    ("ppo", "", "PosWR,PosWW,PosRR,PosRW,PodRW,Rfe,Fre,Coe", 4, 1),
]


@pytest.mark.parametrize(("mode", "relaxed", "safe", "size", "count"), COUNTED)
def test_modes_and_relaxed_edges_are_those_of_diy(mode: str, relaxed: str, safe: str, size: int, count: int) -> None:
    names = [test.name for test in every(safe, size=(1, size), mode=mode, relaxed=relaxed)]
    assert len(names) == len(set(names)) == count


def test_each_cycle_has_one_of_the_relaxed_edges() -> None:
    """Where the mode looks at neighbours alone: the cycles of both lists in which one of the second is, and no other."""
    safe, relaxed = ["PodRR", "PodWW", "Rfe", "Fre"], ["PodWR", "PodRW", "FencedWR", "Coe"]
    both = [dict(t.meta)["Cycle"] for t in every(",".join(safe + relaxed), size=(1, 5), mode="free")]
    chosen = {cycle for cycle in both if len({*cycle.split()} & {*relaxed}) == 1}
    tests = every(",".join(safe), size=(1, 5), mode="free", relaxed=",".join(relaxed))
    found = [dict(test.meta)["Cycle"] for test in tests]
    assert len(found) == len(chosen) > 20 and set(found) == chosen < set(both)


@pytest.mark.parametrize(
    ("lists", "names"),
    [  # as diycross7 7.56 has them
        ("PodWW,FencedWW Rfe PodRR,FencedRR Fre", "MP MP+po+fence MP+fence+po MP+fences"),
        ("PodWR,FencedWR Fre PodWR,FencedWR Fre", "SB SB+fence+po SB+fences"),
        ("PodWW,PodWR Coe,Fre PodWR,PodWW Fre,Coe", "2+2W R SB"),
        ("PodRW,PodRR,FencedRW Rfe,Fre PodRW,PodWW Rfe,Coe", "LB LB+fence+po MP"),
    ],
)
def test_one_edge_of_each_list(lists: str, names: str) -> None:
    found = [test.name.replace("fence.sc.sys", "fence") for test in cross(lists.split())]
    assert len(found) == len(set(found)) and {_sorted(name) for name in found} == {
        _sorted(name) for name in names.split()
    }


def test_lists_of_which_there_is_no_cycle() -> None:
    assert list(cross(["PodWW", "Rfe", "PodWR", "Fre"])) == []
    with pytest.raises(ValueError, match="at least one list"):
        cross([])
    with pytest.raises(ValueError, match="does not place"):
        cross(["PodWR", "Fre"], places="here")
    with pytest.raises(InputError, match="'Frx' is no edge"):
        cross(["PodWR", "Fre,Frx"])


def _sorted(name: str) -> str:
    shape, *threads = name.split("+") if name != "2+2W" else [name]
    return "+".join([shape, *(sorted(threads) if shape in ("SB", "LB") else threads)])
