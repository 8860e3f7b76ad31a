"""Mistakes planted in the harness, in its kernel and in its host's side, are found by what launches show."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, cast

import pytest
from harnessed import made, named, nothing_forbidden, shown

import ptxmm
from ptxcore.machine.run.dependence import GridDependence
from ptxcore.machine.run.grid import GridLaunch as Running
from ptxmm.gpu import layout, simulator
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.host import HostAccess, HostMove
from ptxmm.gpu.judging import judge
from ptxmm.gpu.layout import GpuLaunch, Tables
from ptxmm.gpu.module import checked, module
from ptxmm.gpu.order import LaunchNeeds, OrderOfKernels
from ptxmm.gpu.parameters import SIMULATED, Parameters


@cache
def of_library(name: str) -> GpuModule:
    of = made(named(name))
    assert of is not None
    return of


def planted(name: str, old: str, new: str) -> GpuModule:
    """The module with a mistake in it. `name`: of a test of the library, or its text."""
    of = of_library(name) if "\n" not in name else checked(module(ptxmm.parse(name)))
    assert re.search(old, of.text), old
    return replace(of, text=re.sub(old, new, of.text))


def first(mistakes: Iterable[str]) -> list[Any]:
    """Parameters of a test of mistakes of one kind: the first one is for every run."""
    return [pytest.param(name, marks=(pytest.mark.mutation,) if i else ()) for i, name in enumerate(mistakes)]


#: What is wrong, in which test it is looked for, and how it gets there.
PLACEMENTS = {
    "warps of half the size": ("MP+rel.cta+acq.cta-same-cta", r"shr\.u32 %h_warp, %h_tid, 5", "shr.u32 %h_warp, %h_tid, 4"),
    "two lanes for one": ("MP", r"and\.b32 %h_lane, %h_tid, 31", "and.b32 %h_lane, %h_tid, 30"),
    "always the first role": ("MP", r"rem\.u32 %h_k, %h_t, %h_own", "mov.u32 %h_k, 0"),
    "ranks the other way round": ("ISA2+cta+cluster", r"mov\.u32 %h_rank, %cluster_ctarank",
        "mov.u32 %h_rank, %cluster_ctarank;\nsub.u32 %h_rank, 1, %h_rank"),
    "a launch without its clusters": ("MP+rel.cluster+acq.cluster-same-cluster", r"\.reqnctapercluster 2", ""),
    "the wrong launch": ("streams+event", r"add\.u32 %h_k, %h_k, %h_t", "xor.b32 %h_k, %h_t, 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", PLACEMENTS)
def test_a_wrong_placement_is_found(what: str) -> None:
    of = planted(*PLACEMENTS[what])
    assert found_wrong(of, replace(SIMULATED, rotate=0))


def found_wrong(of: GpuModule, parameters: Parameters) -> bool:
    """Whether a launch shows that something is wrong: by where threads are, or by what they come to."""
    from ptxmm.gpu.simulator import NoEnd

    try:
        seen = shown(of, 1, parameters)
    except (NoEnd, ValueError, KeyError):
        return True
    return bool(seen.misplaced) or seen.not_started > 0 or bool(judge(of, seen, "ptx-9.0").forbidden)


#: Each instance counts to two in shared memory.
COUNTED = """PTX counted
{ .shared .u32 s = 0; }
 P0@cta 0,gpu 0                         | P1@cta 0,gpu 0                         ;
 atom.relaxed.cta.shared.add.u32 _, [s], 1 | atom.relaxed.cta.shared.add.u32 _, [s], 1 ;
~exists (s != 2)
"""
SHARED = {
    "one location for all": ("Atomicity+add+add", r"mad\.wide\.u32 (%P\d_at_\w+), %h_index, %h_t, %P\d_at_\w+;", ""),
    "one for each pair": (
        "Atomicity+add+add", r"ld\.global\.u32 %h_index, \[%h_a\];", r"ld.global.u32 %h_index, [%h_a];\n"
        "and.b32 %h_index, %h_index, -2;"
    ),
    "one slot of shared memory": (COUNTED, r"mad\.lo\.u32 %h_s, %h_slot, %h_t, %h_s;", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", first(SHARED))
def test_memory_that_two_instances_share_is_found(what: str) -> None:
    name, old, new = SHARED[what]
    assert not found_wrong(planted(name, "$", ""), SIMULATED)
    assert found_wrong(planted(name, old, new), SIMULATED)


def test_a_missing_barrier_at_the_start_is_found() -> None:
    uneven = replace(SIMULATED, pre_stress=400, jitter=0, instances=16)
    whole = shown(of_library("SB"), 12, uneven)
    without = planted("SB", r"(START_(\w+):\n)", r"bra GO_\2;\n\1")
    apart = shown(without, 12, uneven)
    both = (1, 1)
    assert whole.states[both] > 2 * apart.states[both]


def test_threads_start_together_or_not_at_all() -> None:
    """Where there is no time to wait for the others, instances are not counted; none goes on alone."""
    of = of_library("MP")
    seen = shown(of, 4, replace(SIMULATED, polls=1, pre_stress=200, instances=16))
    assert seen.not_started > 0 and seen.not_ended == 0
    nothing_forbidden(of, seen)


def test_values_in_the_wrong_column_are_found() -> None:
    of = of_library("MP")
    swapped = replace(of, stored=tuple(reversed(of.stored)))
    seen = shown(swapped, 10)
    assert judge(swapped, seen, "ptx-9.0").rows and set(seen.states) != set(shown(of, 10).states)


#: The last value of each instance belongs to its own registers: who came last read what the other one wrote.
LAST = """PTX last
{ x = 0; }
 P0@cta 0,gpu 0                        | P1@cta 1,gpu 0                        ;
 atom.relaxed.gpu.exch.b32 %r0, [x], 1 | atom.relaxed.gpu.exch.b32 %r0, [x], 2 ;
~exists (x = 2 /\\ 0:r0 = 2)
"""


def table(change: Callable[[list[int]], list[int]], which: str) -> Callable[[Tables], Tables]:
    """Tables with a mistake in those of instances or of clusters."""

    def changed(found: Tables) -> Tables:
        def one(data: bytes) -> bytes:
            return struct.pack(f"<{len(data) // 4}I", *change(list(struct.unpack(f"<{len(data) // 4}I", data))))

        if which == "instances":
            return found._replace(instances=one(found.instances))
        return found._replace(clusters=tuple(map(one, found.clusters)))

    return changed


#: Mistakes of the host: in which test they are looked for, and what the tables become.
TABLES = {
    "two instances with one memory": ("Atomicity+add+add", table(lambda n: [x & ~1 for x in n], "instances")),
    "two CTAs that are one": ("Atomicity+add+add", table(lambda n: [n[0], *n[:-1]], "clusters")),
    "CTAs that are none": ("MP+rel+acq", table(lambda n: [x + 1 for x in n], "clusters")),
}


@pytest.mark.parametrize("what", first(TABLES))
def test_tables_that_are_no_permutations_are_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, change = TABLES[what]
    of, own = of_library(name), GpuLaunch.tables
    assert not found_wrong(of, SIMULATED)
    monkeypatch.setattr(GpuLaunch, "tables", lambda self, seed: change(own(self, seed)))
    assert found_wrong(of, SIMULATED)


def test_last_values_of_another_instance_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = checked(module(ptxmm.parse(LAST)))
    many = replace(SIMULATED, instances=64, jitter=8)
    assert not judge(of, shown(of, 4, many), "ptx-9.0").forbidden
    own = layout._final
    monkeypatch.setattr(
        layout, "_final", lambda launch, v, indices, memory: own(launch, v, [*indices[1:], indices[0]], memory)
    )
    assert judge(of, shown(of, 4, many), "ptx-9.0").forbidden


def test_stress_in_the_memory_of_a_test_is_found() -> None:
    stressed = replace(SIMULATED, stress_ctas=4, stress_turns=40, stress_lines=8, pre_stress=4)
    of = of_library("MP+rel+acq")
    assert not found_wrong(of, stressed)
    assert found_wrong(
        planted("MP+rel+acq", r"(mad\.wide\.u32 %h_a, %h_t, %h_u), %h_scratch", r"\1, %h_memory"), stressed
    )


def test_a_kernel_that_begins_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = of_library("streams+event")
    assert not found_wrong(of, SIMULATED)
    monkeypatch.setattr(OrderOfKernels, "is_over", lambda self, number: True)
    assert found_wrong(of, SIMULATED)


def test_a_mapping_of_other_memory_is_found() -> None:
    name = "CoWR+fence.proxy.alias"
    assert not found_wrong(of_library(name), SIMULATED)
    of = of_library(name)
    moved = replace(
        of, text=of.text.replace("ld.param.u64 %h_mapping_1, [mapping_1]", "ld.param.u64 %h_mapping_1, [results]")
    )
    assert moved.text != of.text and found_wrong(moved, SIMULATED)


def test_a_kernel_that_nothing_lets_begin_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second kernel does not wait for the end of the first one, as it must by `griddepcontrol.wait`."""
    of = of_library("grids+wait")
    assert not any(found_wrong_in(of, seed) for seed in range(3))
    monkeypatch.setattr(GridDependence, "is_over", property(lambda self: True))
    assert any(found_wrong_in(of, seed) for seed in range(6))


def found_wrong_in(of: GpuModule, seed: int) -> bool:
    return bool(judge(of, shown(of, 4, seed=seed), "ptx-9.0").forbidden)


#: Each instance counts to one in what it reads and writes through a surface, and looks at what it did not write.
SURFACE = """PTX surface
{ x = 0; y = 5; s @ surface aliases x; t @ texture aliases y; }
P0@cta 0,gpu 0 {
    suld.b.1d.b32.trap %r0, [s, {0}];
    add.u32 %r1, %r0, 1;
    sust.b.1d.b32.trap [s, {0}], %r1;
    tex.1d.v4.u32.s32 {%r2, _, _, _}, [t, {0}];
}
~exists (0:r0 != 0 \\/ 0:r2 != 5 \\/ x != 1)
"""
IMAGES = {
    "one handle for all": (r"mad\.wide\.u32 %h_v, %h_index, 16", "mad.wide.u32 %h_v, %h_zero, 16"),
    "one for each pair": (
        r"mad\.wide\.u32 %h_v, %h_index, 16", "and.b32 %h_u, %h_index, -2;\nmad.wide.u32 %h_v, %h_u, 16"
    ),
    "one in place of the other": (r"_at_s, \[%h_v\+0\]", "_at_s, [%h_v+8]"),
}  # fmt: skip


@pytest.mark.parametrize("what", first(IMAGES))
def test_textures_and_surfaces_of_others_are_found(what: str) -> None:
    assert not found_wrong(planted(SURFACE, "$", ""), SIMULATED)
    assert found_wrong(planted(SURFACE, *IMAGES[what]), SIMULATED)


def test_a_host_that_accesses_the_memory_of_another_instance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = of_library("host+launch+sync")
    assert not found_wrong(of, SIMULATED)
    own = simulator.Host.do

    def missing(self: simulator.Host, step: HostAccess | HostMove) -> None:
        self.count -= 1
        own(self, step)
        self.count += 1

    monkeypatch.setattr(simulator.Host, "do", missing)
    assert found_wrong(of, SIMULATED)


def test_a_host_that_does_not_wait_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = of_library("host+launch+sync")
    monkeypatch.setattr(OrderOfKernels, "is_over", lambda self, number: True)
    assert any(found_wrong_in(of, seed) for seed in range(6))


def test_launches_begin_behind_those_that_they_need() -> None:
    """In every order that streams and events allow, and together where nothing keeps them apart."""
    behind = [
        LaunchNeeds(frozenset()),
        LaunchNeeds(frozenset({0})),
        LaunchNeeds(frozenset()),
        LaunchNeeds(frozenset({1, 2})),
    ]
    orders = set()
    for seed in range(40):
        launches = [cast(Running, Ended()) for _ in behind]
        order = OrderOfKernels(launches, behind, Random(seed))
        begun: list[int] = []
        for turn in range(5000):
            for n in [n for n in range(len(behind)) if n not in begun and order.may_begin(n)]:
                assert all(map(order.is_over, behind[n].needs))
                begun.append(n)
            if turn % 100 == 99:
                for n in begun:
                    if not order.is_over(n):
                        launches[n].dependence.ended((0, 0, 0))
                        break
        assert sorted(begun) == [0, 1, 2, 3]
        orders.add(tuple(begun))
    assert len(orders) > 2
    apart = OrderOfKernels([cast(Running, Ended()) for _ in range(3)], [LaunchNeeds(frozenset())] * 3, Random(1))
    assert all(apart.may_begin(n) for n in range(3))


class Ended:
    """A launch of one CTA, of which nothing runs."""

    def __init__(self) -> None:
        self.dependence = GridDependence(1)
