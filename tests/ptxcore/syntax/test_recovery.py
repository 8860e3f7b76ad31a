"""Reading and checking go on behind a mistake, and what follows from it alone is not told."""

from __future__ import annotations

import pytest

from ptxcore.check.module import check_text

HEADER = ".version 9.0\n.target sm_90\n"

#: A module behind its header, which has two lines; and the line and the beginning of the message of each finding.
CASES = {
    "a list of parameters": (
        ".entry k(.param .u32 a,\n  .param u32 b,\n  .param .u32 c)\n{\n.reg .b32 r;\nld.param.b32 r, [c];\nfoo;\n}\n"
        ".global .pred g;",
        [
            (4, "a declaration in .param needs a type"),
            (9, "unknown instruction 'foo'"),
            (11, "predicates lie in registers"),
        ],
    ),
    "a directive in a head": (
        ".entry k() .maxnreg\n.maxntid 8\n{ ret; }\n.func f() { foo; }",
        [(4, "the number of .maxnreg is missing"), (6, "unknown instruction")],
    ),
    "a declaration without its end": (
        ".entry k()\n{\n.reg .b32 r\n.reg .b32 s;\nmov.b32 r, s;\nmov.b32 r, t;\n}",
        [(6, "',' or ';' is missing before '.reg'"), (8, "'t' is not declared")],
    ),
    "a body that ends too early": (
        ".entry k()\n{\nret; }\nret;\nret;\n}\n.entry l() { foo; }\nret;",
        [(6, "'ret' cannot stand outside"), (9, "unknown instruction"), (10, "'ret' cannot stand outside")],
    ),
    "a head that is none": (
        ".visible entry k()\n{\n.reg .b32 r;\nmov.b32 r, 0; { }\nret;\n}\n.entry l() { foo; }",
        [(3, "a state space, .entry or .func is missing behind .visible"), (9, "unknown instruction")],
    ),
    "a body without its beginning": (
        ".entry k()\nret;\nret;\n}\n.entry l() { foo; }",
        [(4, "'{' or ';' is missing behind the head"), (7, "unknown instruction")],
    ),
    "an initial value that does not end": (
        ".global .b8 a[3] = {1, 2;\n.global .pred p;\n.global .b8 b[2] = {{1}, 2 3};\n.global .pred q;",
        [
            (3, "',' or '}' is missing"),
            (4, "predicates lie in registers"),
            (5, "',' or '}' is missing"),
            (6, "predicates lie"),
        ],
    ),
    "a name that is not declared, twice in a statement": (
        ".entry k() { .reg .b32 r; add.s32 r, x, x;\nadd.s32 r, x, x; }",
        [(3, "'x' is not declared"), (4, "'x' is not declared")],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_follows_from_a_mistake_is_not_told(what: str) -> None:
    text, expected = CASES[what]
    found = check_text(HEADER + text)
    assert [d.span.line for d in found] == [line for line, _ in expected]
    for finding, (_, message) in zip(found, expected, strict=True):
        assert finding.message.startswith(message)


@pytest.mark.parametrize("line", [".version 9", ".version9.0", "/ a comment", "\xe9"])
def test_a_header_that_cannot_be_read_is_not_missing(line: str) -> None:
    assert [d.span.line for d in check_text(f"{line}\n.target sm_90\n.entry k() {{ ret; }}")] == [1]
