"""What `wgmma` and `tcgen05` order, by runs as they decide launches and by the relations of `tensor_order`: on the kernels of
the library, and on random sequences of operations of Tensor Memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import tensor_order
import test_tensor_memory_pairs as pairs
import test_tensor_memory_patterns as one
from agreement import compared, pass_over
from by_runs import by_runs
from campaigns import lengths, share, some
from tensor_clauses import clauses
from tensor_order import Definition, by_definition

from ptxmm.api import load_variant
from ptxmm.kernels.files import Variant
from ptxmm.kernels.test import KernelTest

TESTS = {f"{clause.name}:{test}": (clause.path, test) for clause in clauses() for test in clause.tests}
VERDICTS = {f"{clause.name}:{test}": verdict for clause in clauses() for test, (verdict, _) in clause.tests.items()}


def loaded(name: str) -> KernelTest:
    test = load_variant(Variant(*TESTS[name]))
    assert isinstance(test, KernelTest)
    return test


def agrees(verdict: str, found: set[str]) -> bool:
    """A launch may have a race, and be without a meaning, too."""
    return verdict in found if found else verdict == "ok"


@pytest.mark.part(3)
@pytest.mark.parametrize("name", some(8, TESTS))
def test_the_relations_say_of_the_library_what_it_says(name: str) -> None:
    assert agrees(VERDICTS[name], by_definition(loaded(name)))


def of_one_cta(seed: int) -> KernelTest:
    return one.of(one.kernel(one.drawn(random.Random(seed))))


def of_a_pair(seed: int) -> KernelTest:
    return pairs.kernel_test(one.drawn(random.Random(seed), pairs._DRAWN, pairs.COMMIT))


def compare(test: KernelTest) -> str:
    """The verdict of runs, or what leaves them open."""
    open_, result = by_runs(test)
    if open_:
        pass_over("left open by runs")
        return "open"
    assert agrees(result.verdict, by_definition(test)), (result.verdict, result.error, test.launches[0].text)
    compared(result.verdict)
    return result.verdict


@pytest.mark.long
@pytest.mark.compares(0.6)
@pytest.mark.parametrize("count", lengths(3, 12))
def test_random_sequences_are_judged_alike(count: int) -> None:
    assert len({compare(of_one_cta(seed)) for seed in range(2000, 2000 + count)}) > 1


@pytest.mark.long
@pytest.mark.compares(0.6)
@pytest.mark.parametrize("count", lengths(1, 3))
def test_random_sequences_of_pairs_are_judged_alike(count: int) -> None:
    assert {compare(of_a_pair(seed)) for seed in range(3000, 3000 + count)} <= {"ok", "undefined", "open"}


@pytest.mark.campaign
@pytest.mark.compares(0.6)
@pytest.mark.parametrize("made", [of_one_cta, of_a_pair])
def test_many_random_sequences_are_judged_alike(made: Callable[[int], KernelTest]) -> None:
    for seed in range(share(2000)):
        compare(made(10_000 + seed))


#: A product without an input D of other columns than copies and shifts have.
_FAR = one.MMA.replace("[%base]", "[%r6]").replace("%pz", "%p2")


@pytest.mark.parametrize(
    ("between", "verdict"), some(2, [(f"@%px {_FAR}", "undefined"), (f"@%px {one.MMA} @%px {_FAR}", "ok")])
)
def test_a_pipeline_leads_through_operations_on_the_same_cells(between: str, verdict: str) -> None:
    """A copy and a shift behind it are no pair: it takes a product between."""
    begin = "add.u32 %r6, %base, 16; setp.eq.u32 %p2, 0, 1;"
    test = one.of(one.kernel(f"{begin} @%px {one.COPY} {between} @%px {one.SHIFT}"))
    open_, result = by_runs(test)
    assert (open_, result.verdict) == ("", verdict) and agrees(verdict, by_definition(test))


#: Mistakes in the relations: where one is made, what is made of it, and a test of the library that shows it.
MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "nothing is pipelined": (tensor_order, "_PIPELINES", set(), "tcgen05+cp-mma:right"),
    "what is pipelined is so the other way round, too": (
        tensor_order, "_PIPELINES", {*tensor_order._PIPELINES, ("mma", "cp")}, "tcgen05+cp-mma:mma-cp"),
    "products of two shapes are pipelined": (
        tensor_order, "_pipelined", lambda one, two: one.kind == two.kind, "tcgen05+mma-mma:another-shape"),
    "no fence is needed behind a synchronization": (
        Definition, "_ready", lambda self, two, node: node, "tcgen05+other-same-thread:no-after"),
    "dealloc needs a fence": (
        Definition, "_ready", lambda self, two, node: max((f for f in self.behind[two.thread] if f < node), default=None),
        "tcgen05+synchronous:right"),
    "loads are released without a fence": (
        Definition, "_released", lambda self, one: (wait for wait, _ in self.waits_for[one.thread, one.kind]),
        "tcgen05+loads-of-threads:no-before"),
    "pipelines take no fences": (Definition, "_in_a_pipeline", lambda *_: True, "tcgen05+pipelined-threads:no-before"),
    "the async proxy sees what threads write": (Definition, "_fenced", lambda *_: True, "wgmma+proxy:unfenced"),
    "a product is over at once": (Definition, "_over", lambda *_: True, "wgmma+completion:too-early"),
    "weak accesses do not race": (Definition, "_races", lambda self: iter(()), "tcgen05+weak-store:no-barrier"),
    "all synchronization is strong": (Definition, "_s", Definition._x, "tcgen05+proxy:relaxed"),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_relations_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, made, name = MISTAKES[mistake]
    test = loaded(name)
    assert agrees(VERDICTS[name], by_definition(test))
    monkeypatch.setattr(where, what, made)
    assert not agrees(VERDICTS[name], by_definition(test))
