"""What models say of all critical cycles: the cycles are what SC forbids, and what coherence alone does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ptxmm
from litmus.cycles import enumerate as every
from litmus.test import Test

SC = '"SC, with coherence total"\nacyclic po | rf | fr | co as sc\nempty ([W] ; loc ; [W]) \\ (co | co^-1 | id) as total\n'
COHERENCE = '"coherence alone"\nacyclic (po & loc) | rf | fr | co as coherence\n'
#: Every so many tests where not all are looked at.
SHARE = 3


def observations(model: str, tests: Iterator[Test], step: int) -> dict[str, str | None]:
    return {
        test.name: ptxmm.check(test, model, witnesses=False).observation
        for number, test in enumerate(tests)
        if number % step == 0
    }


def critical(edges: str, **more: str) -> Iterator[Test]:
    return every(edges, size=(2, 6), threads=6, mode="critical", **more)


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    paths = {}
    for name, text in (("sc", SC), ("coherence", COHERENCE)):
        (tmp_path / f"{name}.cat").write_text(text, encoding="utf-8")
        paths[name] = str(tmp_path / f"{name}.cat")
    return paths


@pytest.mark.parametrize("step", [SHARE, pytest.param(1, marks=pytest.mark.campaign)])
def test_critical_cycles_are_what_sc_forbids_and_coherence_does_not(models: dict[str, str], step: int) -> None:
    forbidden = observations(models["sc"], critical("Pod**,Rfe,Fre,Coe"), step)
    assert len(forbidden) >= 26 // step and set(forbidden.values()) == {"never"}
    allowed = observations(models["coherence"], critical("Pod**,Rfe,Fre,Coe"), step)
    assert len(allowed) == len(forbidden) and set(allowed.values()) == {"sometimes"}


@pytest.mark.parametrize("step", [SHARE, pytest.param(1, marks=pytest.mark.campaign)])
def test_fences_of_sc_between_all_accesses_forbid_every_critical_cycle(step: int) -> None:
    found = observations("ptx-9.0", critical("Fence.sc.sysd**,Rfe,Fre,Coe"), step)
    assert len(found) >= 26 // step and set(found.values()) == {"never"}


@pytest.mark.campaign
def test_so_they_do_wherever_the_threads_are_and_with_dependencies_beside(models: dict[str, str]) -> None:
    found = observations("ptx-9.0", critical("Fence.sc.sysd**,Rfe,Fre,Coe", places="all"), 1)
    assert len(found) > 500 and set(found.values()) == {"never"}
    edges = "Pod**,DpAddrd*,DpDatadW,DpCtrld*,Rfe,Fre,Coe,Rmw"
    forbidden = observations(models["sc"], critical(edges), 1)
    assert len(forbidden) > 100 and set(forbidden.values()) == {"never"}
