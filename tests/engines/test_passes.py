"""Passes only make deciding faster: whichever are left out, answers are the same, as far as there are any."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from agreement import compared, pass_over
from campaigns import lengths, some

import ptxmm
from axioms import passes
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxcore.machine.loops.passes import PASSES as OF_CONTROL_FLOW
from ptxmm.kernels.test import KernelTest

ROOT = Path(__file__).resolve().parents[2]
NAMES = [p.name for p in passes.PASSES]
#: Seconds for an answer, after which nothing is compared.
PATIENCE = 30
#: Without these a loop may be cut at its bound that was a wait, or run longer than a test may take.
OF_LOOPS = frozenset(NAMES) - {"specialise", "symmetry", "slicing"}
LITMUS = sorted((ROOT / "litmus" / "library").rglob("*.litmus"))
KERNELS = sorted((ROOT / "tests" / "kernels" / "gate").glob("*/test.toml"))


def told(test: Test | KernelTest, without: list[str]) -> ptxmm.Result:
    return ptxmm.check(test, without=without, timeout=PATIENCE)


def difference(test: Test | KernelTest, without: list[str]) -> str:
    """What the answer without passes has otherwise than that with all; what is not known says nothing."""
    try:
        whole, other = told(test, []), told(test, without)
    except InputError as error:
        if "cannot be explored" not in str(error):
            raise
        pass_over("a whole launch is looked at in one way, without passes")
        return ""
    if "undecided" in (whole.verdict, other.verdict) or (
        other.verdict == "bounded" and not OF_LOOPS.isdisjoint(without)
    ):
        pass_over("undecided, or behind a bound")
        return ""
    compared(1)
    if whole.verdict != other.verdict:
        return f"{whole.verdict}, and {other.verdict} without"
    if not all(r.complete and r.listed_all for r in (whole, other)):
        return ""
    states, others = ({str(sorted(s.items())) for s in r.states} for r in (whole, other))
    return f"states {sorted(states ^ others)[:4]}" if states != others else ""


def subsets(count: int, seed: str) -> list[list[str]]:
    """No pass, each left out alone, and some sets drawn."""
    random = Random(seed)
    return [
        NAMES,
        *[[n] for n in NAMES],
        *[random.sample(NAMES, random.randrange(2, len(NAMES))) for _ in range(count)],
    ]


@pytest.mark.compares(0.8)
@pytest.mark.parametrize("files", lengths(1, 6))
def test_no_pass_changes_an_answer_of_the_library(files: int) -> None:
    for i, without in enumerate(subsets(6, "library")):
        for path in LITMUS[i :: max(1, len(LITMUS) // files)]:
            assert not difference(ptxmm.load(path), without), (path, without)


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("part", some(4, range(4)))
def test_no_pass_changes_an_answer_of_a_kernel(part: int) -> None:
    chosen = [p for p in KERNELS if p.stat().st_size < 1500][part::4]
    for i, without in list(enumerate(subsets(3, "kernels")))[part::4]:
        for path in Random(f"{part} {i}").sample(chosen, 1):
            for variant in ("fixed", "buggy"):
                assert not difference(ptxmm.load(f"{path}:{variant}"), without), (path, variant, without)


@pytest.mark.campaign
@pytest.mark.compares(0.3)
@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.parent.name)
def test_no_pass_changes_an_answer_of_any_kernel(path: Path) -> None:
    for without in subsets(2, path.parent.name):
        for variant in ("fixed", "buggy"):
            assert not difference(ptxmm.load(f"{path}:{variant}"), without), (variant, without)


def test_every_pass_is_listed_with_its_argument() -> None:
    assert [p.name for p in OF_CONTROL_FLOW] == [n for n in NAMES if n in {p.name for p in OF_CONTROL_FLOW}]
    assert set(passes.REDUCTIONS) < set(NAMES)
    for one in passes.PASSES:
        head = (ROOT / one.home).read_text(encoding="utf-8").split('"""')[1]
        assert len(head) > 80, f"{one.home} does not say why {one.name} is sound"


def test_what_is_no_pass_is_refused() -> None:
    test = ptxmm.load(LITMUS[0])
    with pytest.raises(ValueError, match=r"a pass must be one of mem2reg, .*, not 'inlining'"):
        ptxmm.check(test, without=["inlining"])


def test_a_pass_that_is_left_out_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name is looked at where its pass stands."""
    sources = "\n".join(
        p.read_text(encoding="utf-8") for d in ("axioms", "ptxcore", "ptxmm") for p in (ROOT / d).rglob("*.py")
    )
    looked_at = {n for n in NAMES if f'"{n}" not in ' in sources or f'"{n}" in ' in sources}
    assert looked_at | set(passes.REDUCTIONS) | {p.name for p in OF_CONTROL_FLOW} == set(NAMES)
