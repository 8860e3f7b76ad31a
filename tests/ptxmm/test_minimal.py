"""Minimal tests: nothing can be taken from them, and the suite has some of all that keeps threads in order."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from campaigns import some

from litmus import cycles
from litmus.cycles.suite import GROUPS, suite
from litmus.test import Test
from ptxcore.syntax.tree import Instruction
from ptxmm.cli.main import main
from ptxmm.minimal import minimal, minimal_tests
from ptxmm.weakened import forbids, weakened

#: Cycles as strong as they can be, and what stands in the minimal test in the order of its threads.
STRONG = {
    "PodWW.rel.sys Rfe PodRR.acq.sys Fre": "st.weak.u32 st.release.gpu.u32 ld.acquire.gpu.u32 ld.weak.u32",
    "Fence.sc.sysdWR Fre Fence.sc.sysdWR Fre": "st.weak.u32 fence.sc.gpu ld.weak.u32 st.weak.u32 fence.sc.gpu ld.weak.u32",
    "DpDatadW Rfe DpDatadW Rfe": "ld.weak.u32 st.weak.u32 ld.weak.u32 st.weak.u32",
}


def nothing_can_be_taken(test: Test) -> int:
    """Asserts that whatever is weaker is not forbidden: it is allowed, or has no meaning; how many ways there are."""
    assert forbids(test, "ptx-9.0", 20)
    count = 0
    for one in weakened(test):
        assert forbids(replace(one.test, condition=test.condition), "ptx-9.0", 20) is not True, (test.name, one.what)
        count += 1
    return count


@pytest.mark.parametrize("cycle", STRONG)
def test_a_minimal_test_has_no_more_than_its_outcome_needs(cycle: str) -> None:
    (test,) = cycles.generate(cycle)
    found = minimal(test, "ptx-9.0")
    assert found is not None and found.condition == test.condition
    opcodes = [
        ".".join((s.opcode, *s.modifiers)) for t in found.threads for s in t.statements if isinstance(s, Instruction)
    ]
    assert [o for o in opcodes if not o.startswith(("xor", "add"))] == STRONG[cycle].split()
    assert nothing_can_be_taken(found) >= 0


def test_what_the_model_allows_has_no_minimal_test() -> None:
    (test,) = cycles.generate("PodWW Rfe PodRR Fre")
    assert minimal(test, "ptx-9.0") is None


def test_each_minimal_test_comes_once_and_by_its_cycle() -> None:
    given = [test for text in STRONG for test in cycles.generate(text)]
    given += cycles.generate("PodWW.rel.gpu Rfe PodRR.acq.sys Fre")
    found = list(minimal_tests(given, "ptx-9.0"))
    assert [test.name for test in found] == ["MP+weak.rel.gpu+acq.gpu.weak", "SB+fence.sc.gpu.weaks", "LB+data.weaks"]
    assert {dict(test.meta)["Expect"] for test in found} == {"no"}


@pytest.mark.long
@pytest.mark.parametrize("what", some(3, [group.what for group in GROUPS]))
def test_every_group_of_the_suite_has_minimal_tests(what: str) -> None:
    made = (test for group, test in suite(4, 3, "all") if group.what == what)
    found = list(islice(minimal_tests(islice(made, 60), "ptx-9.0"), 2))
    assert found, what
    for test in found:
        nothing_can_be_taken(test)


def test_the_command_writes_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--suite", "--places", "cta", "--size", "1..2", "--limit", "2"]) == 0
    assert capsys.readouterr().out.count("Expect=no") == 2
    assert main(["generate", "PodWW Rfe PodRR Fre", "--minimal"]) == 0
    assert "forbids the outcome of none" in capsys.readouterr().err
    assert main(["generate", "--suite", "--inner", "2"]) == 2
    assert "--inner says nothing of --suite" in capsys.readouterr().err
