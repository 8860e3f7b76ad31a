"""The codes of findings: all that are given are listed, and all that are listed are given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxcore.check.module import check_text
from ptxcore.findings import ERRORS, WARNINGS
from ptxmm.linting import lint_text

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
REJECTS = sorted(SHARED.glob("spec/rejects/*.ptx"))

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
BODY = ".entry k()\n{\n.reg .pred p;\n.reg .b32 r;\n.reg .u64 d;\n.global .u32 g;\n"

#: A module with one mistake of each kind. What begins with a dot stands at module level, `+` with what is a whole module.
EXAMPLES = {
    "encoding": "// caf\xe9",
    "syntax": "mov.b32 r 1;",
    "header": "+.target sm_90",
    "version": ".global .b128 x;",
    "target": "setmaxnreg.inc.sync.aligned.u32 64;",
    "directive": ".foo 1",
    "declaration": ".global .pred p;",
    "function": ".func (.param .u32 a, .param .u32 b) f() { ret; }",
    "initialiser": ".global .u32 x = 1.5;",
    "alignment": ".global .align 3 .u32 x;",
    "redeclared": ".global .u32 x; .global .u32 x;",
    "undeclared": "mov.b32 r, s;",
    "label": "bra L;",
    "unknown-instruction": "foo r, r;",
    "unknown-modifier": "add.foo.u32 r, r, r;",
    "modifiers": "mul.u32 r, r, r;",
    "operands": "add.u64 r, d, d;",
    "value": "bar.sync 99;",
    "call": ".func f(.reg .u32 a) { ret; } .func h() { call f; ret; }",
    "debugging": '.file 1 "a" .file 1 "b"',
}


def module(text: str) -> str:
    if text.startswith("+"):
        return text[1:]
    return HEADER + (text if text.startswith(".") else f"{BODY}{text}\nret;\n}}\n")


def codes(text: str) -> list[str]:
    return [d.code for d in check_text(text)]


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_code_is_given(code: str) -> None:
    assert codes(module(EXAMPLES[code])) == [code]


def test_every_code_of_an_error_has_an_example() -> None:
    assert EXAMPLES.keys() == ERRORS.keys()


@pytest.mark.skipif(not REJECTS, reason="the folder `shared` is not beside the repository")
@pytest.mark.parametrize("mode", ["ptxas", "manual"])
def test_codes_over_the_modules_that_ptxas_rejects_are_listed(mode: str) -> None:
    found = [d for path in REJECTS for d in lint_text(path.read_text(), mode=mode)]
    assert {d.code for d in found if d.severity == "error"} <= ERRORS.keys()
    assert {d.code for d in found if d.severity == "warning"} <= WARNINGS.keys()


def test_codes_are_words_with_dashes_and_explained_in_a_phrase() -> None:
    for code, meaning in (ERRORS | WARNINGS).items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert meaning and not meaning[0].isupper() and not meaning.endswith(".")
    assert not ERRORS.keys() & WARNINGS.keys()
