"""What `wgmma` and `tcgen05` order, by runs as they decide launches and by the model of `tensor_order`: on the kernels of the
library, in several schedules of each, and on random sequences of operations of Tensor Memory."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import test_tensor_memory_pairs as pairs
import test_tensor_memory_patterns as one
from agreement import compared, pass_over
from by_runs import by_runs
from campaigns import lengths, share, some
from tensor_clauses import clauses
from tensor_order import TEXT, by_definition

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


@pytest.mark.part(6)
@pytest.mark.parametrize("name", some(8, TESTS))
def test_the_model_says_of_the_library_what_it_says(name: str) -> None:
    assert agrees(VERDICTS[name], by_definition(loaded(name)))


@pytest.mark.long
@pytest.mark.compares(1)
@pytest.mark.parametrize("name", TESTS)
def test_what_one_run_says_of_the_library_every_schedule_says(name: str) -> None:
    """As an engine has it that looks at executions one by one: what is right is ordered in each, what is wrong not in some."""
    assert agrees(VERDICTS[name], compared(by_definition(loaded(name), range(3))))


@pytest.mark.campaign
@pytest.mark.compares(1)
@pytest.mark.parametrize("name", TESTS)
def test_what_one_run_says_of_the_library_many_schedules_say(name: str) -> None:
    test = loaded(name)
    assert agrees(VERDICTS[name], compared(by_definition(test, range(1000, 1000 + share(100)))))


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
    assert agrees(result.verdict, by_definition(test, (None, 1))), (result.verdict, result.error, test.launches[0].text)
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


#: Mistakes in the model: what is written instead of what, and a test of the library that shows it.
MISTAKES: dict[str, tuple[str, str, str]] = {
    "nothing is pipelined": ("let pipeline = pairing &", "let pipeline = 0 &", "tcgen05+cp-mma:right"),
    "what is pipelined is so the other way round, too": ("MMA*SHIFT", "MMA*SHIFT | MMA*CP", "tcgen05+cp-mma:mma-cp"),
    "products of two shapes are pipelined": ("| accumulator", "| MMA*MMA", "tcgen05+mma-mma:another-shape"),
    "no fence is needed behind a synchronization": (
        "let behind-fence = [FA]; po; [TENSOR]", "let behind-fence = [TENSOR]", "tcgen05+other-same-thread:no-after"),
    "dealloc needs a fence": ("[DEALLOC]; as-one", "[FA]; po; [DEALLOC]; as-one", "tcgen05+synchronous:right"),
    "loads are released without a fence": (
        "waited; po; [FB]; x; ready", "waited; x; ready", "tcgen05+loads-of-threads:no-before"),
    "pipelines take no fences": (
        "in-one-thread | of-two-threads", "TENSOR*TENSOR", "tcgen05+pipelined-threads:no-before"),
    "the async proxy sees what threads write": ("s; [PF]; s; since", "s; since", "wgmma+proxy:unfenced"),
    "weak accesses do not race": ("empty of-allocation", "empty 0 & of-allocation", "tcgen05+weak-store:no-barrier"),
    "a product is over at once": ("let over = awaited;", "let over = awaited?;", "wgmma+completion:barrier-alone"),
    "all synchronization is strong": ("(strong+)?", "x?", "tcgen05+proxy:relaxed"),
}  # fmt: skip


@pytest.mark.part(6)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_relations_is_found(mistake: str) -> None:
    old, new, name = MISTAKES[mistake]
    assert old in TEXT
    test = loaded(name)
    assert agrees(VERDICTS[name], by_definition(test))
    assert not agrees(VERDICTS[name], by_definition(test, text=TEXT.replace(old, new)))
