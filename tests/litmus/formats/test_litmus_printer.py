"""Whatever is written reads back as the same test."""

from __future__ import annotations

import pytest
from campaigns import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from litmus.formats import read, write
from litmus.formats.placement import places
from litmus.test import (
    TYPE_WIDTHS,
    AddressOf,
    And,
    Compare,
    Condition,
    Constant,
    Implies,
    LaunchedKernel,
    Literal,
    LitmusThread,
    Location,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.places import Placement
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.tree import Statement

TYPED = [
    *("st.weak.u32 [x], %r0", "ld.acquire.gpu.u64 %rd1, [b+8]", "atom.acq_rel.sys.cas.b32 %r0, [x], 0, -1"),
    *("fence.sc.cta", "setp.eq.u32 %p0|%p1, %r0, %r1", "@!%p0 bra exists", "exists:", "red.add.u32 [x], 1"),
    *("ld.v2.u32 {%r0, %r1}, [x]", "bar.sync 0, 64"),
]
SHORT = [
    *(
        "st.weak x, 1",
        "ld.acquire.gpu r0, x",
        "atom.relaxed.gpu.add r1, x, 1",
        "fence.sc.gpu",
        "beq r0, 1, LC0",
        "LC0:",
    ),
    *("goto LC0", "bar.cta.sync 0, 1", "sust.weak x, 2", "fence.proxy.alias", "ld r0, 5"),
]
WORDS = st.text("abcxyz0123456789_", min_size=1, max_size=4)
LINES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters='"/(\x85\xa0\x7f'), max_size=12)


def statements(cells: list[str], dialect: str) -> tuple[Statement, ...]:
    text = "".join(cell if cell.endswith(":") else f"{cell};" for cell in cells)
    return tuple(read_statements(text, bare_addresses=dialect == "short"))


@st.composite
def locations(draw: st.DrawFn) -> tuple[Location, ...]:
    """`x` and `b`, which the cells use, then others of any kind."""
    found = {"x": Location("x", initial=(draw(st.integers(-(1 << 31), (1 << 32) - 1)),)), "b": Location("b", ".u64")}
    for name in draw(st.lists(WORDS.map("l".__add__), unique=True, max_size=5)):
        kind = draw(st.sampled_from(("scalar", "array", "alias", "pointer")))
        target = draw(st.sampled_from(sorted(found)))
        if kind == "alias":
            t = found[target]
            proxy = draw(st.sampled_from(("generic", "surface", "texture", "constant")))
            found[name] = Location(name, t.type, t.space, t.elements, t.initial, None, target, proxy)
            continue
        type_ = ".b64" if kind == "pointer" else draw(st.sampled_from(sorted(TYPE_WIDTHS)))
        width = TYPE_WIDTHS[type_]
        value = st.integers(-(1 << (width - 1)), (1 << width) - 1)
        elements = draw(st.integers(1, 4)) if kind == "array" else None
        initial = (
            (AddressOf(target),)
            if kind == "pointer"
            else tuple(draw(st.lists(value, min_size=elements or 1, max_size=elements or 1)))
        )
        space = draw(st.sampled_from(("global", "shared", "const")))
        found[name] = Location(name, type_, space, elements, initial, draw(st.sampled_from((None, 1, 64))))
    return tuple(found.values())


def levels(draw: st.DrawFn) -> dict[str, int]:
    if draw(st.integers(0, 9)) == 0:
        return {"host": 0}
    return {level: draw(st.integers(0, 3)) for level in ("warp", "cta", "cluster", "gpu")}


@st.composite
def propositions(draw: st.DrawFn, sides: list, depth: int = 3) -> Proposition:
    kind = (
        draw(st.sampled_from(("compare", "compare", "literal", "not", "and", "or", "implies"))) if depth else "compare"
    )
    inner = propositions(sides, depth - 1) if depth else st.nothing()
    if kind == "literal":
        return Literal(draw(st.booleans()))
    if kind == "not":
        return Not(draw(inner))
    if kind == "implies":
        return Implies(draw(inner), draw(inner))
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    constants = st.integers(-128, 127).map(Constant)
    left = draw(st.sampled_from(sides) | constants)
    right = draw(st.sampled_from(sides) | constants | st.sampled_from([AddressOf("x"), AddressOf("b")]))
    return Compare(draw(st.sampled_from(("==", "!=", "<", "<=", ">", ">="))), left, right)


@st.composite
def any_test(draw: st.DrawFn) -> Test:
    memory = draw(locations())
    count = draw(st.integers(1, 4))
    names = draw(st.permutations([f"P{i}" for i in range(count)]))
    spots = places([levels(draw) for _ in names])
    threads = []
    for name, place in zip(names, spots, strict=True):
        dialect = draw(st.sampled_from(("typed", "short")))
        # The first cell shows the dialect.
        pool = TYPED if dialect == "typed" else SHORT
        cells = [pool[0], *draw(st.lists(st.sampled_from(pool), max_size=30))]
        if dialect == "typed" and draw(st.booleans()):
            cells.append(".reg .pred %p<4>")
        value = st.integers(-(1 << 63), (1 << 64) - 1) | st.just(AddressOf("x"))
        registers = {"r0": draw(value), **draw(st.dictionaries(WORDS.map("r".__add__), value, max_size=2))}
        threads.append(LitmusThread(name, place, statements(cells, dialect), dialect, tuple(registers.items())))
    sides: list = [RegisterTerm(name, "r0") for name in names] + [LocationTerm("x", 1, ".u16")]
    sides += [
        LocationTerm(m.name) if m.elements is None else LocationTerm(m.name, m.elements - 1)
        for m in memory
        if m.type[1:] not in ("u8", "s8", "b8")
    ]
    on_gpu = [t.name for t in threads if not t.place.host]
    kernels = (
        (LaunchedKernel("k1", tuple(on_gpu[:1])), LaunchedKernel("k2", tuple(on_gpu[1:]), 1, ("k1",)))
        if len(on_gpu) > 1
        else ()
    )
    return Test(
        draw(WORDS),
        tuple(threads),
        memory,
        Condition(draw(st.sampled_from(("exists", "~exists", "forall"))), draw(propositions(sides))),
        draw(st.none() | propositions(sides)),
        tuple(draw(st.lists(st.sampled_from(sides), max_size=3))),
        draw(st.sampled_from((kernels, ()))),
        draw(st.sampled_from(((), (("Expect", "no"),), (("Com", "Rf Fr"), ("Expect", "undefined"))))),
        tuple(draw(st.lists(LINES, max_size=2))),
    )


@pytest.mark.long
@settings(max_examples=drawn(150), deadline=None)
@given(any_test())
def test_what_is_written_reads_back_equal(test: Test) -> None:
    text = write(test)
    assert read(text) == test
    assert write(read(text)) == text


def test_columns_are_aligned() -> None:
    text = write(
        read("PTX t { x=0; } P0@cta 0|P1@cta 0;st.weak x, 1|ld.acquire.gpu r0, x;|fence.sc.gpu; exists 1:r0=1")
    )
    assert text == (
        "PTX t\n"
        "{ x=0; }\n"
        " P0@cta 0,gpu 0 | P1@cta 0,gpu 0       ;\n"
        " st.weak x, 1   | ld.acquire.gpu r0, x ;\n"
        "                | fence.sc.gpu         ;\n"
        "exists (1:r0 == 1)\n"
    )


def test_long_threads_and_declarations_become_blocks() -> None:
    long = "PTX t { x=0; } P0 | P1 ; st.weak x, 1 | ld.weak r0, x ;" + "fence.sc.gpu | ;" * 24 + "exists true"
    assert "P1@cta 1,gpu 0 {\n    ld.weak r0, x;\n}\n" in write(read(long))
    declared = "PTX t { x=0; } P0 { .reg .pred p; w: @p bra w; } exists true"
    assert "P0@cta 0,gpu 0 {\n    .reg .pred p;\n  w:\n    @p bra w;\n}\n" in write(read(declared))


def test_a_long_init_block_has_a_line_for_each_declaration() -> None:
    text = write(read("PTX t { " + "".join(f"location{i}=0;" for i in range(9)) + " } P0 ; st.weak location0, 1 ;"))
    assert "{\n  location0=0;\n  location1=0;\n" in text


def test_a_deep_proposition_is_written_without_recursion() -> None:
    proposition: Proposition = Literal(True)
    for _ in range(50_000):
        proposition = Not(proposition)
    thread = LitmusThread("P0", Placement(0, 0, 0, 0), ())
    assert write(Test("t", (thread,), condition=Condition("exists", proposition))).count("~") == 50_000


@pytest.mark.parametrize(
    "test",
    [
        Test("two words", (LitmusThread("P0", Placement(0, 0, 0, 0), ()),)),
        Test("a//b", (LitmusThread("P0", Placement(0, 0, 0, 0), ()),)),
        Test("t", (LitmusThread("P0", Placement(0, 0, 0, 0), ()),), comments=('quoted" {',)),
        Test("t", (LitmusThread("P0", Placement(0, 0, 0, 0), ()),), meta=(("Key", "two\nlines"),)),
        Test("t", (LitmusThread("P0", Placement(0, 0, 0, 0), ()), LitmusThread("P1", Placement(1, 0, 1, 0), ()))),
    ],
)
def test_what_the_format_cannot_write_is_refused(test: Test) -> None:
    with pytest.raises(ValueError, match=r"cannot be written|places of the threads"):
        write(test)
