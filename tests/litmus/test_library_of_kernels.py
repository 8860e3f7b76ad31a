"""The kernels of the library: each clause about the order of `wgmma` and `tcgen05` (sections 9.7.15 and 9.7.16) has one that
does what it asks for and some that do not; and no sentence of these sections is left out."""

from __future__ import annotations

from pathlib import Path

import ptxas
import pytest
from by_runs import by_runs
from campaigns import some
from tensor_clauses import ABOUT_ORDER, LEADS_OVER, MANUAL, QUOTED_BY_NONE, Clause, clauses, plain, sentences

import ptxmm
from ptxmm.api import load_variant
from ptxmm.kernels.files import Variant
from ptxmm.kernels.test import KernelTest

CLAUSES = {clause.name: clause for clause in clauses()}
TESTS = {f"{clause.name}:{test}": (clause, test) for clause in clauses() for test in clause.tests}
_manual = pytest.mark.skipif(not MANUAL.is_file(), reason="no manual here")


@pytest.mark.part(3)
@pytest.mark.parametrize("name", some(16, TESTS))
def test_a_kernel_is_decided_as_it_says(name: str) -> None:
    """By one run that stands for all; the other ways to these answers are in tests/axioms/dynamic/test_tensor_order.py."""
    clause, test = TESTS[name]
    loaded = load_variant(Variant(clause.path, test))
    assert isinstance(loaded, KernelTest)
    open_, result = by_runs(loaded)
    assert (open_, result.verdict) == ("", clause.tests[test][0]), result.error


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=list(CLAUSES))
def test_a_kernel_says_why_and_what_it_must_not_be_without(clause: Clause) -> None:
    assert clause.about.endswith((".", ")")) and clause.says
    assert clause.name.startswith(f"{clause.folder}+")
    right, *others = clause.tests
    assert right == "right" and clause.tests[right] == ("ok", "")
    assert all(what for _, what in (clause.tests[other] for other in others))
    assert any(clause.tests[other][0] in ("undefined", "no") for other in others)


@pytest.mark.part(4)
@_manual
@pytest.mark.parametrize("clause", CLAUSES.values(), ids=list(CLAUSES))
def test_the_words_of_a_kernel_stand_in_the_manual(clause: Clause) -> None:
    said = plain(MANUAL.read_text(encoding="utf-8"))
    assert [words for words in clause.says if words not in said] == []


@_manual
@pytest.mark.parametrize("section", ABOUT_ORDER)
def test_each_sentence_about_order_has_a_kernel(section: str) -> None:
    quoted = [words for clause in clauses() for words in clause.says]
    missing = [
        sentence
        for sentence in sentences(section)
        if not any(words in sentence or sentence in words for words in quoted)
        and not LEADS_OVER.fullmatch(sentence)
        and not sentence.startswith(tuple(QUOTED_BY_NONE))
    ]
    assert missing == []


@_manual
def test_what_no_kernel_quotes_is_still_there() -> None:
    found = [sentence for section in ABOUT_ORDER for sentence in sentences(section)]
    assert len(found) > 80
    assert [begins for begins in QUOTED_BY_NONE if not any(s.startswith(begins) for s in found)] == []


def test_the_sections_have_kernels_enough() -> None:
    folders = [clause.folder for clause in clauses()]
    assert folders.count("wgmma") >= 12 and folders.count("tcgen05") >= 28 and len(TESTS) >= 90


def test_who_asks_why_gets_the_answer_that_runs_give() -> None:
    """There is no reason to tell: an axiom forbids executions of a formula, and runs have none."""
    test = load_variant(Variant(CLAUSES["wgmma+proxy"].path, "right"))
    result = ptxmm.check(test, why=True)
    assert (result.verdict, result.runs, result.why) == ("ok", 1, None)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
@pytest.mark.parametrize("name", some(8, CLAUSES))
def test_ptxas_accepts_a_kernel(name: str) -> None:
    text = Path(CLAUSES[name].path).read_text(encoding="utf-8")
    assert ptxas.check_module(text) == []
