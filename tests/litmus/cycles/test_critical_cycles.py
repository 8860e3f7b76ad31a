"""What is true of every critical cycle: SC forbids it, PTX with the strongest fences does, coherence alone does not."""

from __future__ import annotations

import re

import pytest

import ptxmm
from litmus.cycles import enumerate as every
from litmus.cycles import generate
from litmus.test import Test

SC = 'SC\ninclude "cos.cat"\nacyclic po | rf | co | fr as sc\n'
COHERENCE = 'Coherence\ninclude "cos.cat"\nacyclic po-loc | rf | co | fr as coherence\n'


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Sequential consistency, and coherence alone."""
    folder = tmp_path_factory.mktemp("models")
    paths = folder / "sc.cat", folder / "coherence.cat"
    for path, text in zip(paths, (SC, COHERENCE), strict=True):
        path.write_text(text, encoding="utf-8")
    return str(paths[0]), str(paths[1])


def allowed(test: Test, model: str) -> bool:
    """Whether there is an execution with the cycle."""
    observation = ptxmm.check(test, model, witnesses=False).observation
    assert observation in ("never", "sometimes", "always")
    return observation != "never"


def with_fences(test: Test) -> Test:
    """The same cycle with fence.sc.sys on each edge of program order, dependencies included, at the same places."""
    (cycle,) = test.comments
    cycle = re.sub(r"\bDp(?:Addr|Data|Ctrl)([sd])", r"Po\1R", cycle)
    (made,) = generate(re.sub(r"\bPo(?=[sd])", "Fence", cycle), places=test.name.partition("@")[2] or "gpu")
    return made


def holds(edges: str, size: tuple[int, int], places: str, models: tuple[str, str]) -> int:
    """How many critical cycles of these edges there are, each of which was looked at."""
    count = 0
    for test in every(edges, size=size, threads=6, mode="critical", places=places):
        sc, coherence = models
        assert not allowed(test, sc), test.name
        assert not allowed(with_fences(test), "ptx-9.0"), test.name
        assert allowed(test, coherence), test.name
        count += 1
    return count


def test_of_all_up_to_size_six(models: tuple[str, str]) -> None:
    assert holds("Pod**,Rfe,Fre,Coe", (2, 6), "", models) == 26


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("edges", "size", "count"),
    [
        ("Pod**,Rfe,Fre,Coe", (2, 4), 24),
        ("Pod**.weak,Pod**.rlx.cta,Rfe,Fre,Coe", (4, 4), 84),
        ("Pod**,Rfe,Fre,Coe,Rmw", (2, 5), 21),
        ("Pod**,DpAddrd*,DpDatadW,DpCtrld*,Rfe,Fre,Coe", (2, 4), 20),
        ("DpAddrdW,DpDatadW,DpCtrldW,Rfe", (2, 6), 17),
    ],
)
def test_of_some_at_all_places(edges: str, size: tuple[int, int], count: int, models: tuple[str, str]) -> None:
    one_place = "Rmw" in edges or "Dp" in edges
    assert holds(edges, size, "" if one_place else "all", models) == count


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("edges", "size", "places", "least"),
    [
        ("Pod**,Rfe,Fre,Coe", (2, 6), "all", 700),
        ("Pod**,Rfe,Fre,Coe,Rmw", (2, 7), "", 100),
        ("Pod**,DpAddrd*,DpDatadW,DpCtrld*,Rfe,Fre,Coe", (2, 6), "", 160),
        ("Pod**,Pos**,Rfe,Fre,Coe,Rmw", (2, 6), "all", 700),
        ("Pod**.rlx.gpu,Pod**.rlx.sys,Pod**.rel.gpu,Pod**.acq.gpu,Rfe,Fre,Coe", (2, 4), "", 50),
    ],
)
def test_of_all_at_all_places(
    edges: str, size: tuple[int, int], places: str, least: int, models: tuple[str, str]
) -> None:
    assert holds(edges, size, places, models) >= least


def test_both_engines_know_what_coherence_allows(models: tuple[str, str]) -> None:
    """Values that hang on nothing that is read, in a circle of dependencies: the engines find out by different ways."""
    count = 0
    for test in every("PodRW,DpAddrdW,DpDatadW,DpCtrldW,Rfe", size=(4, 6), mode="critical"):
        solved, listed = (ptxmm.check(test, models[1], engine=engine).states for engine in ("solve", "enumerate"))
        assert sorted(map(sorted, map(dict.items, solved))) == sorted(map(sorted, map(dict.items, listed))), test.name
        assert len(solved) == 2 ** len(test.threads), test.name
        count += 1
    assert count == 34
