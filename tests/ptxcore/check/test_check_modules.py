"""Whole modules: what is accepted and what is rejected, as ptxas 13.0 was seen to do it, and what is said."""

from __future__ import annotations

import pytest
from judged_modules import TABLES

from ptxcore.check.module import check_text
from ptxcore.diagnostics import Diagnostic

_KERNEL = (
    ".global .u32 g[8]; .shared .u32 s[8];\n.visible .entry k() {.reg .pred p,q; .reg .b16 h0,h1; .reg .b32 r0,r1,r2,r3; "
    ".reg .b64 d0,d1,d2; .reg .f32 f0,f1; .reg .f64 x0,x1;\n{}\n}\n"
)


def module(table: str, gate: str, text: str) -> str:
    """The text of one line of a table, with its header."""
    if table == "header":
        return text + "\n"
    version, _, target = (gate or "9.0 sm_90").partition(" ")
    size = ".address_size 64\n" if tuple(map(int, version.split("."))) >= (2, 3) else ""
    body = _KERNEL.replace("{}", text) if table == "operands" else text + "\n"
    return f".version {version}\n.target {target}\n{size}{body}"


def findings(text: str, manual: bool = False) -> list[Diagnostic]:
    return [d for d in check_text(text, manual=manual) if d.severity == "error"]


@pytest.mark.parametrize("table", TABLES)
def test_modules_are_judged_as_ptxas_does(table: str) -> None:
    wrong = []
    for gate, text, expected in TABLES[table]:
        found = findings(module(table, gate, text))
        first = found[0].message if found else None
        if (first is None) != (expected is None) or (expected and first != expected):
            wrong.append((gate, text, expected, first))
    assert not wrong


@pytest.mark.parametrize("table", TABLES)
def test_findings_have_a_place(table: str) -> None:
    for gate, text, _ in TABLES[table]:
        whole = module(table, gate, text)
        lines = whole.split("\n")
        for found in findings(whole):
            assert 1 <= found.span.line <= len(lines)
            assert 1 <= found.span.column <= found.span.end
