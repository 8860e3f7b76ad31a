"""What `litmus.formats.read` makes of well-formed tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from growth import calls

from litmus.formats import read, write
from litmus.test import (
    AddressOf,
    And,
    Compare,
    Condition,
    Constant,
    Implies,
    LaunchedKernel,
    Literal,
    Location,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import InputError
from ptxcore.places import Placement
from ptxcore.syntax.printer import print_statement

MP = """PTX MP+relacq
"Message passing through a flag:
the acquire sees the release"
"and a second comment: https://example.org (* not a comment *)"
Source=diy Fre Rfe
Expect=ok
{ x=0; f=0; }
 P0@cta 0,gpu 0        | P1@cta 1,gpu 0        ;
 st.weak x, 1          | ld.acquire.gpu r0, f  ;
 st.release.gpu f, 1   | ld.weak r1, x         ;
~exists (1:r0 == 1 /\\ 1:r1 == 0)
"""


def program(rows: str, init: str = "x=0; y=0;", head: str = "P0 | P1", tail: str = "") -> Test:
    return read(f"PTX t\n{{ {init} }}\n {head} ;\n{rows}\n{tail}")


def cells(test: Test) -> list[list[str]]:
    return [[print_statement(statement) for statement in thread.statements] for thread in test.threads]


def condition(proposition: str) -> Proposition:
    init = "x=0; y=0; .u8 b[4]; true=0;"
    return program("st.weak x, 1 | ld.weak r0, y", init, tail=f"exists {proposition}").condition.proposition


def test_a_test_has_all_its_parts() -> None:
    test = read(MP, "mp.litmus")
    assert test.name == "MP+relacq"
    assert test.comments == (
        "Message passing through a flag:\nthe acquire sees the release",
        "and a second comment: https://example.org (* not a comment *)",
    )
    assert test.meta == (("Source", "diy Fre Rfe"), ("Expect", "ok"))
    assert test.locations == (Location("x"), Location("f"))
    assert cells(test) == [["st.weak x, 1", "st.release.gpu f, 1"], ["ld.acquire.gpu r0, f", "ld.weak r1, x"]]
    assert [thread.place for thread in test.threads] == [Placement(0, 0, 0, 0), Placement(1, 1, 1, 0)]
    one, zero = Constant(1), Constant(0)
    parts = (Compare("==", RegisterTerm("P1", "r0"), one), Compare("==", RegisterTerm("P1", "r1"), zero))
    assert test.condition == Condition("~exists", And(parts))
    assert (test.path, test.text) == ("mp.litmus", MP)


def test_bytes_with_carriage_returns_and_a_byte_order_mark_are_the_same_test() -> None:
    assert read(b"\xef\xbb\xbf" + MP.replace("\n", "\r\n").encode()) == read(MP)


def test_comments_may_stand_anywhere_but_in_quotes() -> None:
    noisy = MP.replace(" | ", " (* a (* nested *) | one ; *) | ").replace(" ;\n", " ; // exists }\n")
    assert read("(* first *) " + noisy.replace("{ x=0;", "// {\n{ x=(* { *)0;")) == read(MP)


def test_statements_know_their_place_in_the_file() -> None:
    statement = read(MP).threads[1].statements[1]
    assert (statement.span.line, statement.span.column) == (10, 26)
    assert MP.splitlines()[9][25:].startswith("ld.weak")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (" ld.u32 %r0, [x] | ld.u32 %r0, [y]", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        (" ld.u32 %r0, [x] | ld.u32 %r0, [y];", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        (" ld.u32 %r0, [x]; | ld.u32 %r0, [y]; ;", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        (" | ld.u32 %r0, [y]", [[], ["ld.u32 %r0, [y]"]]),
        (" ld.u32 %r0, [x] |\n | ld.u32 %r0, [y]", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        (" ld.u32 %r0, [x] |\n ld.u32 %r0, [y] ;", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        (" ld.u32 %r0, [x] ; | ld.u32 %r0,\n   [y] ;", [["ld.u32 %r0, [x]"], ["ld.u32 %r0, [y]"]]),
        ("bar.sync 0\n | ld.u32 %r0, [y] ; \n ; ;", [["bar.sync 0"], ["ld.u32 %r0, [y]"]]),
        ("\tL: | bar.sync\t0\n\tbra L | \n", [["L:", "bra L"], ["bar.sync 0"]]),
        ("exists: | bra forall ; bra exists | forall: ;", [["exists:", "bra exists"], ["bra forall", "forall:"]]),
        ("setp.eq.u32 %p|%q, %r0, 0 | bar.sync 0 ;", [["setp.eq.u32 %p|%q, %r0, 0"], ["bar.sync 0"]]),
        ("@!p setp.eq.u32 %p0 | %p1, %r0, 0|bar.sync 0", [["@!p setp.eq.u32 %p0|%p1, %r0, 0"], ["bar.sync 0"]]),
        ("setp.eq.u32 %p, %r0, %r1|bar.sync 0", [["setp.eq.u32 %p, %r0, %r1"], ["bar.sync 0"]]),
        ("L: bar.sync 0 | ld.v2.u32 {%r0, %r1}, [x] ;", [["L:", "bar.sync 0"], ["ld.v2.u32 {%r0, %r1}, [x]"]]),
    ],
)
def test_rows_and_cells(rows: str, expected: list[list[str]]) -> None:
    assert cells(program(rows)) == expected
    assert cells(program(rows, tail="forall (x == 0)")) == expected


@pytest.mark.parametrize(
    ("rows", "dialects"),
    [
        ("st.weak x, 1 | ld.weak r0, x", "short short"),
        ("st.weak.u32 [x], 1 | ld.weak r0, x", "typed short"),
        ("fence.sc.gpu | ld.weak r0, x", "short short"),
        ("fence.sc.gpu | ld.u32 r0, [x]", "typed typed"),
        ("L: | bra L", "short short"),
        ("bar.cta.sync 0 | bar.cta.sync 0 \n st.weak x, 1 |", "short short"),
        ("@p bra L | mov.u32 %r0, 1 \n L: |", "typed typed"),
        ("LC00: goto LC00 | beq r0, 0, LC00", "short short"),
        ("st [x], 1 | ld.b64 r0, x", "typed typed"),
    ],
)
def test_dialect_of_each_thread(rows: str, dialects: str) -> None:
    assert " ".join(thread.dialect for thread in program(rows).threads) == dialects


def test_blocks_are_typed_unless_all_their_cells_are_short() -> None:
    test = read("PTX t { x=0; } P0@cta 0 { .reg .pred p; w: @p bra w; } P1 { st.weak x, 1; L: bra L; } exists true")
    assert [thread.dialect for thread in test.threads] == ["typed", "short"]
    assert cells(test) == [[".reg .pred p", "w:", "@p bra w"], ["st.weak x, 1", "L:", "bra L"]]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("a=5", Location("a", initial=(5,))),
        ("a = -0x1F", Location("a", initial=(-31,))),
        (".u64 a = 0xffffffffffffffff", Location("a", ".u64", initial=((1 << 64) - 1,))),
        (".shared .u64 a", Location("a", ".u64", "shared")),
        (".const .s16 a = -32768", Location("a", ".s16", "const", initial=(-32768,))),
        (".u8 a[4] = {1,2}", Location("a", ".u8", elements=4, initial=(1, 2, 0, 0))),
        (".b32 a[2]", Location("a", ".b32", elements=2, initial=(0, 0))),
        (".global .align 16 .b8 a[1] = { 0xff }", Location("a", ".b8", "global", 1, (255,), 16)),
        ("a = &x", Location("a", ".u64", initial=(AddressOf("x"),))),
        (".u32 a = &x", Location("a", ".u32", initial=(AddressOf("x"),))),
        (".b64 a[2] = {&x, 3}", Location("a", ".b64", elements=2, initial=(AddressOf("x"), 3))),
        ("a @ surface aliases x", Location("a", alias_of="x", proxy="surface")),
        ("a @ generic aliases w", Location("a", ".u8", "shared", 2, (7, 8), None, "w", "generic")),
        ("rd1 = 3", Location("rd1", initial=(3,))),
    ],
)
def test_locations(declaration: str, expected: Location) -> None:
    test = read(f"PTX t {{ {declaration}; ;; x=0; .shared .u8 w[2] = {{7, 8}} }} P0 {{ st.u32 [x], 1; }}")
    assert test.locations[0] == expected


def test_registers_have_values_and_addresses() -> None:
    test = program("st.weak x, r0 | st.weak y, r1", "x=0; y=0; P0:r0=-1; 1:%r1=0x10; 0:a = &x; 0:b = y")
    assert test.threads[0].registers == (("r0", -1), ("a", AddressOf("x")), ("b", AddressOf("y")))
    assert test.threads[1].registers == (("r1", 16),)


def test_the_short_dialect_declares_locations_by_using_them() -> None:
    test = program(
        "st.weak x, 1 | atom.relaxed.gpu.add r0, z, 1 \n add r1, r2, 1 | ld r3, r4", "x=0;", tail="forall (z == 1)"
    )
    assert test.locations == (Location("x"), Location("z"))
    assert read(write(test)) == test


def test_kernels_and_host_threads() -> None:
    test = read(
        "PTX t { x=0; kernel k1 = [P0,P1]; kernel k2 = [P2] stream 1 after k1; }"
        "P0 | P1 | P2 | P3@host ; st.weak x, 1 | st.weak x, 2 | ld.weak r0, x | launch k1 ;"
        "| | | sync stream 0 ; | | | sync k1 ;"
    )
    assert test.kernels == (LaunchedKernel("k1", ("P0", "P1")), LaunchedKernel("k2", ("P2",), 1, ("k1",)))
    assert test.threads[3].place.host
    assert [len(thread.statements) for thread in test.threads] == [1, 1, 1, 3]
    assert read(write(test)) == test


@pytest.mark.parametrize(
    ("head", "tree", "expected"),
    [
        ("P0 | P1", "", [(0, 0, 0, 0), (1, 1, 1, 0)]),
        ("P0@cta 0,gpu 0 | P1@cta 0, gpu 0", "", [(0, 0, 0, 0), (1, 0, 0, 0)]),
        ("P0@cta 0,gpu 0 | P1@cta 0,gpu 1", "", [(0, 0, 0, 0), (1, 1, 1, 1)]),
        ("P0@cta 5,gpu 7 | P1@cta 2,gpu 7", "", [(0, 5, 0, 7), (1, 2, 1, 7)]),
        ("P0@cta 0,cluster 0 | P1@cta 1,cluster 0", "", [(0, 0, 0, 0), (1, 1, 0, 0)]),
        ("P0@cta 0,cluster 0 | P1@cta 0,cluster 1", "", [(0, 0, 0, 0), (1, 1, 1, 0)]),
        ("P0@cluster 0,gpu 0 | P1@cluster 0,gpu 1", "", [(0, 0, 0, 0), (1, 1, 1, 1)]),
        ("P0@gpu 0 | P1@gpu 0", "", [(0, 0, 0, 0), (1, 1, 1, 0)]),
        ("P0@warp 3,cta 0 | P1@warp 3,cta 0", "", [(3, 0, 0, 0), (3, 0, 0, 0)]),
        ("P0@warp 0,cta 0 | P1@warp 0,cta 1", "", [(0, 0, 0, 0), (1, 1, 1, 0)]),
        ("P0@host | P1", "", [(-1, -1, -1, -1, True), (0, 0, 0, 0)]),
        ("P0 | P1", "scopes: (sys (gpu (cta P0 P1)))", [(0, 0, 0, 0), (1, 0, 0, 0)]),
        ("P0 | P1", "scopes: (sys (gpu (cta (warp P1 P0))))", [(0, 0, 0, 0), (0, 0, 0, 0)]),
        ("P0 | P1", "scopes: (gpu (cluster (cta P0) (cta P1)))", [(0, 0, 0, 0), (1, 1, 0, 0)]),
        ("P0 | P1", "scopes: (sys (gpu P0) (gpu P1))", [(0, 0, 0, 0), (1, 1, 1, 1)]),
        (
            "P0@cta 0,gpu 0 | P1@cta 0,gpu 1",
            "scopes: (sys (gpu (cta P0)) (gpu (cta P1)))",
            [(0, 0, 0, 0), (1, 1, 1, 1)],
        ),
        ("P0@gpu 4 | P1@gpu 4", "scopes: (gpu (cluster (cta P0 P1)))", [(0, 0, 0, 4), (1, 0, 0, 4)]),
    ],
)
def test_placement(head: str, tree: str, expected: list[tuple[int, ...]]) -> None:
    test = program("st.weak x, 1 | st.weak y, 1", head=head, tail=tree)
    assert [thread.place for thread in test.threads] == [Placement(*numbers) for numbers in expected]


X, Y = LocationTerm("x"), LocationTerm("y")


def is_(left: LocationTerm, value: int) -> Compare:
    return Compare("==", left, Constant(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 0", is_(X, 0)),
        ("((x == 0))", is_(X, 0)),
        ("0 < [x]", Compare("<", Constant(0), X)),
        ("x != y", Compare("!=", X, AddressOf("y"))),
        ("x >= [y]", Compare(">=", X, Y)),
        ("b[2] <= b.u16[1]", Compare("<=", LocationTerm("b", 2), LocationTerm("b", 1, ".u16"))),
        ("P1:r0 > 0:%r7", Compare(">", RegisterTerm("P1", "r0"), RegisterTerm("P0", "r7"))),
        ("true", Literal(True)),
        ("[true] = -0x1", Compare("==", LocationTerm("true"), Constant(-1))),
        ("~x=0 /\\ y=1", And((Not(is_(X, 0)), is_(Y, 1)))),
        ("~(x=0 /\\ y=1)", Not(And((is_(X, 0), is_(Y, 1))))),
        ("x=0 \\/ x=1 /\\ y=1", Or((is_(X, 0), And((is_(X, 1), is_(Y, 1)))))),
        ("x=0 /\\ x=1 \\/ y=1", Or((And((is_(X, 0), is_(X, 1))), is_(Y, 1)))),
        ("x=0 /\\ x=1 /\\ y=1", And((is_(X, 0), is_(X, 1), is_(Y, 1)))),
        ("(x=0 /\\ x=1) /\\ y=1", And((And((is_(X, 0), is_(X, 1))), is_(Y, 1)))),
        ("x=0 => x=1 => y=1 \\/ false", Implies(is_(X, 0), Implies(is_(X, 1), Or((is_(Y, 1), Literal(False)))))),
        ("(x=0 => x=1) => y=1", Implies(Implies(is_(X, 0), is_(X, 1)), is_(Y, 1))),
        ("(" * 100_000 + "x=0" + ")" * 100_000, is_(X, 0)),
    ],
)
def test_propositions(text: str, expected: Proposition) -> None:
    assert condition(text) == expected


def test_no_quantifier_asks_for_any_execution() -> None:
    assert program("st.weak x, 1 | ld.weak r0, x").condition == Condition("exists", Literal(True))


def test_observed_terms_and_filter() -> None:
    test = program("st.weak x, 1 | ld.weak r0, x", tail="locations [x; [y]; 1:r0]\nfilter 1:r0 = 1\nforall x = 1")
    assert test.observed == (X, Y, RegisterTerm("P1", "r0"))
    assert test.filter == Compare("==", RegisterTerm("P1", "r0"), Constant(1))


def test_all_public_files_are_read_and_written(public_files: list[Path]) -> None:
    assert len(public_files) >= 128
    for file in public_files:
        test = read(file.read_bytes(), str(file))
        assert test.threads and test.condition.proposition != Literal(True), file
        assert {thread.dialect for thread in test.threads} == {"short"}, file
        assert read(write(test)) == test, file


def test_all_library_files_are_read_and_written(library_files: list[Path]) -> None:
    for file in library_files:
        test = read(file.read_bytes(), str(file))
        assert read(write(test)) == test, file


def test_reading_a_classic_test_takes_little_work() -> None:
    read(MP)  # what is made once is made
    assert calls(lambda: read(MP)) < 1000  # 652 when this was written


@pytest.mark.parametrize(
    ("program", "dialect"),
    [
        ("P0@cta 0 { bar.sync 1, 64; }", "typed"),  # barrier 1 and 64 threads, not instance 1 and barrier 64
        ("P0 ;\n barrier.sync 1 ;", "typed"),
        ("P0 ;\n membar.gl ;", "typed"),
        ("P0 ;\n fence.gpu ;", "typed"),
        ("P0 { bra L; L: }", "typed"),
        ("P0 ;\n bar.cta.sync 1 ;", "short"),
        ("P0 ;\n fence.acq_rel.gpu ;", "short"),
        ("P0 { st.weak x, 1; }", "short"),
    ],
)
def test_a_thread_without_types_is_read_in_the_dialect_that_has_its_instructions(program: str, dialect: str) -> None:
    test = read(f"PTX dialect\n{{ x=0; }}\n{program}\nexists true\n")
    assert [thread.dialect for thread in test.threads] == [dialect]
    assert read(write(test)) == test


QUOTED = [
    ('"one" "two"\n', ("one", "two")),
    ('"Fig. 4 of "A Paper", corrected"\n', ('Fig. 4 of "A Paper", corrected',)),
    ('"a "b" c"\n"d"\n', ('a "b" c', "d")),
    ('"the "b"\n goes on"\n', ('the "b"\n goes on',)),
    ('"ends in "b""\n', ('ends in "b"',)),
    (
        '"\nAs of "A Paper"\n\n> run t.litmus\nUNKNOWN // <-- means "loops were not unrolled"\n"\n',
        ('\nAs of "A Paper"\n\n> run t.litmus\nUNKNOWN // <-- means "loops were not unrolled"\n',),
    ),
    ('"see "x=1" there"\n', ('see "x=1" there',)),
    ('"a" // "b"\n', ("a",)),
    ('"a" (* "b" *) "c"', ("a", "c")),
    ('"" ""', ("", "")),
]


@pytest.mark.parametrize(("header", "comments"), QUOTED, ids=[header.strip() for header, _ in QUOTED])
def test_a_quoted_comment_ends_where_the_header_can_go_on(header: str, comments: tuple[str, ...]) -> None:
    test = read(f"PTX t\n{header}\nExpect=no\n{{ x=0; }}\n P0 ;\n st.weak x, 1 ;\nexists x=0\n")
    assert test.comments == comments and test.expectation == "no"
    assert read(write(test)) == test


@pytest.mark.parametrize("header", ['"a" junk\nExpect=no\n"b"', '"a" junk\n', '"a" b"\nExpect=no\nc"'])
def test_no_quoted_comment_takes_a_line_that_somebody_meant(header: str) -> None:
    with pytest.raises(InputError, match="quoted comment"):
        read(f"PTX t\n{header}\n{{ x=0; }}\n P0 ;\n st.weak x, 1 ;\nexists x=0\n")


def test_no_published_file_is_refused_for_its_syntax(public_files: list[Path]) -> None:
    """Those of all collections; herd's older dialect, whose tests begin with another word, is refused by that word."""
    files = sorted((Path(__file__).resolve().parents[4] / "shared" / "litmus").rglob("*.litmus"))
    refused = {}
    for file in {*files, *public_files}:
        try:
            read(file.read_bytes(), str(file))
        except InputError as error:
            if "not with 'GPU_PTX'" not in str(error):
                refused[file.name] = str(error)
    assert refused == {}
