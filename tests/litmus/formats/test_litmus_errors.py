"""What is wrong with a litmus file is said with its place, and what would be right."""

from __future__ import annotations

import pytest

from litmus.formats import read
from ptxcore.diagnostics import Diagnostic, InputError

HEAD = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;"
SHORT = "st.weak x, 1 | ld.weak r0, x ;"
TYPED = "st.weak.u32 [x], 1 | ld.weak.u32 %r0, [x] ;"
END = "exists (1:r0 == 1)"


def findings(text: str | bytes) -> tuple[Diagnostic, ...]:
    with pytest.raises(InputError) as caught:
        read(text, "t.litmus")
    assert caught.value.path == "t.litmus"
    assert caught.value.render()
    return caught.value.diagnostics


def file(init: str = "{ x=0; }", head: str = HEAD, rows: str = SHORT, tail: str = END) -> str:
    """Line 1 the name, 2 the init block, 3 the header, 4 the rows, 5 the tail."""
    return f"PTX t\n{init}\n{head}\n{rows}\n{tail}\n"


# Each case: the text, where its finding starts, what the message says, what the hint says.
WHOLE = [
    ("", "1:1", "the file is empty", ""),
    ("X86 MP\n", "1:1", "starts with 'PTX'", "programs are PTX here"),
    ("PTY MP\n", "1:1", "starts with 'PTX'", ""),
    ("Test MP Allowed\n", "1:1", "starts with 'PTX'", "compare' takes where it takes models"),
    ("PTX\n{ }\n", "1:1", "no name", ""),
    ("PTX t\n", "2:1", "init block is missing", ""),
    ("PTX two words\n{ }", "1:9", "quoted comment", "one word"),
    ('PTX t\n"abc\n{ }', "2:1", "never closed", ""),
    ("PTX t (* a (* b *)\n{ }", "1:7", "comment is never closed", "*)"),
    ("PTX t\n{ x=0; (* \n}", "2:8", "comment is never closed", "*)"),
    ("PTX t\n{ x=0;", "2:1", "init block is never closed", ""),
    ("PTX t\nExpect=okay\n{ }\nP0;\n", "2:8", "'okay' is no verdict", "'ok'"),
    ("PTX t\nExpect=ok\nExpect=no\n{ }\nP0;\n", "3:1", "twice", ""),
    (b"PTX t\n{ x=\xff; }", "2:5", "byte 0xff is not UTF-8", ""),
    ("PTX t\n{ x=0; }\n", "3:1", "program is empty", ""),
    ("PTX t\n{ x=0; }\nexists (x == 0)", "3:1", "program is empty", ""),
    ("PTX t\n{ x=0; }\nP0 | P1\n", "3:5", "never closed", ""),
    ("PTX t\n{ x=0; }\nP0 { st.u32 [x], 1;\n", "3:4", "block is never closed", ""),
    ("PTX t\n{ x=0; }\nP0 { bar.sync 0; }\nP0 { bar.sync 0; }", "4:1", "thread P0 is there twice", ""),
    ("PTX t\n{ x=0; }\nP0 { bar.sync 0; }\nfoo", "4:1", "expected a thread's block", ""),
]
INIT = [
    ("x=1y;", "2:5", "'1y' is no value", "decimal"),
    ("x=010;", "2:5", "'010' is no value", "leading zeros"),
    ("x=0x;", "2:5", "'0x' is no value", ""),
    ("x=-4.5;", "2:5", "'-4.5' is no value", "-4.5 is 0xc0900000 as .f32, 0xc012000000000000 as .f64"),
    ("x=1.0e300;", "2:5", "'1.0e300' is no value", "0x7f800000 as .f32, 0x7e37e43c8800759c as .f64"),
    ("x=4294967296;", "2:5", "out of the range of .u32", ""),
    ("x=" + "9" * 5000 + ";", "2:5", "is no value", ""),
    (".u8 x=256;", "2:9", "out of the range of .u8", ""),
    (".s8 x=-129;", "2:9", "out of the range of .s8", ""),
    ("x=0; .u8 b[2]={1,2,3};", "2:17", "2 elements, but 3 values", ""),
    ("x=0; .u8 b={};", "2:14", "1 element, but 0 values", ""),
    ("x=0; .u8 b[2]=1;", "2:17", "takes a list", "{1, 2}"),
    ("x=0; .u8 b[0];", "2:14", "1 to 65536 elements", ""),
    ("x=0; .u8 b[999999999];", "2:14", "1 to 65536 elements", ""),
    ("x=0; .align 3 .u8 b;", "2:8", "power of two", ""),
    ("x=0; x=1;", "2:8", "declared twice", ""),
    ("x=0; y @ generic aliases z;", "2:28", "'z' is not declared", "declare it"),
    ("flag=0; y @ generic aliases flagg; x=0;", "2:31", "'flagg' is not declared", "'flag'"),
    ("x=0; y @ surfac aliases x;", "2:12", "unknown proxy 'surfac'", "'surface'"),
    ("x=0; y @ surface alias x;", "2:20", "expected 'aliases'", ""),
    ("x=0; a @ generic aliases b; b @ generic aliases a;", "2:8", "aliases itself", ""),
    ("x=0; .u33 y;", "2:8", "unknown type or space '.u33'", "'.u32'"),
    ("x=0; .shard .u32 y;", "2:8", "unknown type or space '.shard'", "'.shared'"),
    ("x=0; .u32 .shared y;", "2:13", "wrong place", ""),
    ("x=0; .global y;", "2:16", "the type of 'y' is missing", ""),
    ("inr x = 0;", "2:3", "unknown type 'inr'", "'int'"),
    ("int *x = 5 6;", "2:14", "unexpected '6'", "';'"),
    ("x = y;", "2:7", "'y' is not declared", "declare it"),
    ("0:.reg .s31 r0;", "2:10", "'.s31' is no type of a register", "'.s32'"),
    ("0:.reg .s32;", "2:14", "ends too early", ""),
    ("0:.reg .s32 r0; 0:.reg .b32 r0;", "2:19", "r0 of P0 is declared twice", ""),
    ("0:.reg .s32 r0;", "2:3", "P0 is in the short dialect", "'0:r0 = 1'"),
    ("x=0; .u8 p=&x;", "2:14", "does not fit into .u8", ".u64"),
    ("x=0; p=&z;", "2:11", "'z' is not declared", ""),
    ("flag=0; x=0; 1:r0=flagg;", "2:21", "'flagg' is not declared", "'flag'"),
    ("x=0; 7:r0=1;", "2:10", "no thread P7", "P0, P1"),
    ("x=0; 1:r0=1; P1:%r0=2;", "2:20", "r0 of P1 is given a value twice", ""),
    ("x=0 y=0;", "2:7", "unexpected 'y'", "';'"),
    ("x=0; kernel k=[P9];", "2:15", "no thread P9", ""),
    ("x=0; kernel k=[P0]; kernel l=[P0];", "2:30", "belongs to kernel 'k' already", ""),
    ("x=0; kernel k=[P0] after l;", "2:15", "kernel 'l' is not declared before", ""),
]
HEADS = [
    ("P0@ctta 0 | P1 ;", "3:4", "unknown level 'ctta'", "'cta'"),
    ("P0@cta | P1 ;", "3:4", "cta needs a number", ""),
    ("P0@cta 0,cta 1 | P1 ;", "3:10", "cta is given twice", ""),
    ("P0@warp 0 | P1 ;", "3:4", "give its cta too", ""),
    ("P0@host,cta 0 | P1 ;", "3:4", "host stands alone", ""),
    ("P0 cta 0 | P1 ;", "3:4", "unexpected 'cta 0'", "@cta"),
    ("P0 | P0 ;", "3:6", "P0 is there twice", ""),
    ("P0 | Q1 ;", "3:6", "'Q1' is no thread", ""),
    ("P0 | ;", "3:6", "a thread is missing", ""),
    ("P0@cta 0,cluster 0,gpu 0 | P1@cta 0,gpu 0 ;", "3:1", "in a cluster for one", ""),
]
ROWS = [
    ("st.weak x, 1 | ld.weak r0, x | fence.sc.gpu ;", "4:31", "more cells than the 2 threads", ""),
    (
        "st.weak.u32 [x], 1 | ld.weak r0, x ;\nst.weak x, 1 | ;",
        "5:1",
        "a short cell among the typed ones of P0",
        "type",
    ),
    ("st.weak x, 1 | ld.weak r0, x ;\nst.weak [x], 1 | ;", "5:1", "a typed cell among the short ones of P0", "type"),
    ("st.weak.v2.u32 [z], {1, 2} | ld.weak.u32 %r0, [x] ;", "4:17", "'z' is not declared", "'z = 0;'"),
    ("exsts (x == 1)", "4:1", "unknown word 'exsts'", "'exists'"),
    ("~exist (x == 1)", "4:1", "unknown word '~exist'", "'~exists'"),
]
TAILS = [
    ("exists", "5:6", "ends too early", ""),
    ("exists (1:r0 == 1", "5:8", "'(' is never closed", ""),
    ("exists 1:r0 == 1)", "5:17", "')' without '('", ""),
    ("exists (1:r0)", "5:13", "a comparison is wanted", ""),
    ("exists (1:r0 ==)", "5:16", "right side", ""),
    ("exists (1:r0 == 4.0)", "5:17", "'4.0' is no value", "4.0 is 0x40800000 as .f32"),
    ("exists (x == 1) foo", "5:17", "after the final condition", ""),
    ("exists true (x == 1)", "5:13", "after the final condition", "another condition"),
    ("exists true filter true", "5:13", "after the final condition", ""),
    ("exists true forrall true", "5:13", "after the final condition", "'forall'"),
    ("(x == 1) /\\ x == 0", "5:9", "unexpected text after the condition", "write 'exists'"),
    ("(x == 1", "5:1", "'(' is never closed", ""),
    ("exists x == 0 \\/ \\/ x == 1", "5:18", "unexpected", ""),
    ("exists (2:r0 == 1)", "5:9", "no thread P2", "P0, P1"),
    ("exists (z == 1)", "5:9", "'z' is not declared", ""),
    ("exists (x == z)", "5:14", "'z' is not declared", ""),
    ("exists (x == 4294967296)", "5:14", "out of the range of .u32", ""),
    ("exists (-3000000000 == x)", "5:9", "out of the range of .u32", ""),
    ("exists (x[0] == 1)", "5:9", "'x' is no array", ""),
    ("exists (x.u16[2] == 1)", "5:9", "beyond the 4 bytes", ""),
    ("exists (x.u17[0] == 1)", "5:10", "unknown type '.u17'", "'.u16'"),
    ("exists " + "~" * 300 + "(x == 0)", "5:107", "nests more than 200", ""),
    ("locations x", "5:9", "'[' is missing", ""),
    ("locations [x 1:r0]", "5:14", "separated by ';'", ""),
    ("locations [x;", "5:11", "never closed", ""),
    ("filter true filter true", "5:13", "filter is there twice", ""),
    ("scopes: (gpu (cta P0) (cta P1)", "5:9", "not closed", ""),
    ("scopes: (gpu (cta P0 P1))", "5:22", "contradicts the cta", ""),
    ("scopes: (sys (gpu P0) (gpu P1))", "5:28", "contradicts the gpu", ""),
    ("scopes: (cta (gpu P0 P1))", "5:15", "a gpu does not lie inside a cta", ""),
    ("scopes: (gpu (clster P0 P1))", "5:15", "unknown level 'clster'", "'cluster'"),
    ("scopes: (gpu (cta P0))", "5:19", "leaves out P1", ""),
    ("scopes: (gpu (cta P0) (cta P1 P2))", "5:31", "no thread P2", ""),
    ("scopes: (gpu (cta P0) (cta P1 P1))", "5:31", "P1 stands twice", ""),
]
CASES = [
    *WHOLE,
    *((file(init=f"{{ {init} }}"), *rest) for init, *rest in INIT),
    *((file(head=head), *rest) for head, *rest in HEADS),
    *((file(rows=rows), *rest) for rows, *rest in ROWS),
    *((file(tail=tail), *rest) for tail, *rest in TAILS),
    (file(rows=TYPED, tail="exists (1:r1 == 1)"), "5:9", "P1 never writes the register r1", ""),
    (file(rows=TYPED, tail="exists (0:r0 == 1)"), "5:9", "P0 never writes the register r0", ""),
    (file("{ x=0; .u8 b[2]; }", tail="exists (b == 1)"), "5:9", "'b' is an array", "b[0]"),
    (file("{ x=0; .u8 b[2]; }", tail="exists (b[2] == 1)"), "5:9", "2 elements", ""),
]


@pytest.mark.parametrize(("text", "place", "message", "hint"), CASES, ids=[case[2] for case in CASES])
def test_one_finding(text: str | bytes, place: str, message: str, hint: str) -> None:
    (finding,) = findings(text)
    assert f"{finding.span.line}:{finding.span.column}" == place
    assert message in finding.message
    assert hint in (finding.hint or "")
    assert finding.severity == "error"


def test_faults_in_declarations_and_cells_are_reported_together() -> None:
    text = file("{ x=1y; y=0; y=1; }", rows="st.weak x, | ld.weak r0 x ;\nst.weak y, 1 | st.weak y, ;")
    assert [tuple(f.span)[:2] for f in findings(text)] == [(2, 5), (2, 14), (4, 11), (4, 25), (5, 26)]


def test_a_register_of_the_condition_may_be_unwritten_in_the_short_dialect() -> None:
    assert read(file(tail="exists (1:r7 == 0)")).condition


def test_a_register_of_the_condition_may_get_its_value_in_the_init_block() -> None:
    assert read(file("{ x=0; 1:r7=1; }", rows=TYPED, tail="exists (1:%r7 == 1)")).condition


def test_a_file_of_faults_reports_a_bounded_number() -> None:
    assert len(findings("PTX t\n{ " + "1;" * 10_000 + " }\nP0 ;\n")) == 50


def test_a_caret_stands_under_the_fault() -> None:
    with pytest.raises(InputError) as caught:
        read(file(tail="exists (2:r0 == 1)"), "mp.litmus")
    lines = caught.value.render().splitlines()
    assert lines[0] == "mp.litmus:5:9: error: the test has no thread P2"
    assert lines[2].index("^") == lines[1].index("2:r0")
    assert lines[2].count("^") == len("2:r0")


#: How other languages write operators of conditions, and what is meant.
FOREIGN = [
    *(
        (f"{left}x=0 {word} x=1{right}", word, "/\\")
        for word in ("&", "and", "AND", ",")
        for left, right in (("", ""), "()")
    ),
    *((f"{left}x=0 {word} x=1{right}", word, "\\/") for word in ("|", "or") for left, right in (("", ""), "()")),
    *((f"{left}x=0 {word} x=1{right}", word, "=>") for word in ("->",) for left, right in (("", ""), "()")),
    *(
        (f"{left}{word} (x=0){right}", word, "~")
        for word in ("!", "NOT")
        for left, right in (("", ""), "()", ("x=1 /\\ ", ""))
    ),
    ("(x=0 & (x=1 || x=2))", "&", "/\\"),
]


@pytest.mark.parametrize(("condition", "word", "meant"), FOREIGN, ids=[c for c, _, _ in FOREIGN])
def test_operators_of_other_languages_are_told_by_ours(condition: str, word: str, meant: str) -> None:
    for part in ("exists", "~exists", "forall", "filter"):
        text = f"PTX t\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n st.weak.u32 [x], 1 ;\n{part} {condition}\n"
        with pytest.raises(InputError) as caught:
            read(text)
        (found,) = caught.value.diagnostics
        assert found.message == f"'{word}' is written '{meant}' in a condition"
        assert text.split("\n")[4][found.span.column - 1 : found.span.end - 1] == word


def test_a_location_may_have_the_name_of_such_an_operator() -> None:
    read("PTX t\n{ not=0; and=0; }\n P0@cta 0,gpu 0 ;\n st.weak.u32 [not], 1 ;\nexists not = 1 /\\ and = 0\n")
