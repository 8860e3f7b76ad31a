"""Objects, views and cells; which numbers reads may return; what clauses entail outright."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from axioms.events.event import joined, pieces, split
from axioms.events.memory import AddressSpace, CellLayout, Object, TooManyPlaces, View
from axioms.events.value_sets import Flow
from axioms.sat.formula import Formula
from litmus.formats import read
from ptxcore.values import terms
from ptxmm.pipeline import build

ARRAY = Object("a", 64, bytes(range(64)), 32, 16)


def spans(layout: CellLayout) -> list[tuple[int, int, int]]:
    return [(c.object, c.offset, c.size) for c in layout.cells]


def test_cells_are_the_coarsest_pieces_that_accesses_cover() -> None:
    layout = CellLayout([ARRAY], [(0, 0, 8), (0, 4, 2), (0, 32, 4)])
    assert spans(layout) == [(0, 0, 4), (0, 4, 2), (0, 6, 2), (0, 32, 4)]
    assert [c.name for c in layout.cells] == ["a[0]", "a.u16[2]", "a.u16[3]", "a[8]"]
    assert layout.cells[1].initial == 0x0504
    assert list(layout.covering(0, 0, 8)) == [0, 1, 2]


def test_bytes_that_nothing_accesses_are_no_cell() -> None:
    assert spans(CellLayout([ARRAY, ARRAY], [(1, 60, 4)])) == [(1, 60, 4)]


def test_what_is_copied_is_cut_as_its_source_is() -> None:
    accesses = [(0, 0, 16), (0, 32, 16), (0, 36, 4), (0, 16, 16)]
    alike = [[(0, 0, 16), (0, 16, 16)], [(0, 16, 16), (0, 32, 16)]]
    found = [(offset % 16, size) for _, offset, size in spans(CellLayout([ARRAY], accesses, alike))]
    assert found == [(0, 4), (4, 4), (8, 8)] * 3


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from((1, 2, 4))), min_size=1, max_size=8))
def test_every_access_is_whole_cells_and_every_cut_is_needed(accesses: list[tuple[int, int]]) -> None:
    layout = CellLayout([ARRAY], [(0, o, s) for o, s in accesses])
    covered = sorted({o + i for o, s in accesses for i in range(s)})
    assert sorted(c.offset + i for c in layout.cells for i in range(c.size)) == covered
    for o, s in accesses:
        cells = [layout.cells[c] for c in layout.covering(0, o, s)]
        assert (cells[0].offset, sum(c.size for c in cells)) == (o, s)
    edges = {e for o, s in accesses for e in (o, o + s)}
    assert all(c.offset in edges and c.offset + c.size in edges for c in layout.cells)


def test_threads_see_what_is_theirs() -> None:
    mine, yours = View(0, 0x1000, 1, frozenset({0})), View(1, 0x1000, 1, frozenset({1}))
    space = AddressSpace([ARRAY, ARRAY], [mine, yours, View(0, 0x2000, 2)])
    assert [space.at(t, 0x1004, 4) for t in (0, 1, 2)] == [(mine, 4), (yours, 4), None]
    assert space.at(0, 0x103E, 4) is None
    assert space.at(2, 0x2000, 64) == (View(0, 0x2000, 2), 0)


def test_an_address_may_be_what_its_form_lets_it_be() -> None:
    space = AddressSpace([ARRAY, ARRAY], [View(0, 0x1000), View(1, 0x1_0000_0000)])
    index = terms.symbol("i", 32)
    masked = terms.zext(terms.bit_and(index, 3, 32), 64)
    address = terms.add(terms.mul(masked, 4, 64), 0x1008, 64)
    places, nowhere_else, aligned = space.possible(0, address, 4, 4)
    assert [offset for _, _, offset in places] == [8, 12, 16, 20]
    assert nowhere_else and aligned
    negative = terms.add(terms.mul(terms.sext(index, 32, 64), 4, 64), 0x1008, 64)
    places, nowhere_else, aligned = space.possible(0, negative, 4, 4)
    assert {view.object for _, view, _ in places} == {0, 1}
    assert len(places) == 32 and aligned and not nowhere_else


def test_an_address_that_may_be_anything_in_large_memory_is_too_much() -> None:
    space = AddressSpace([Object("big", 1 << 20)], [View(0, 0)])
    try:
        space.possible(0, terms.symbol("anywhere", 64), 4, 4)
    except TooManyPlaces:
        return
    raise AssertionError("it was listed")


@given(st.integers(0, (1 << 64) - 1), st.lists(st.sampled_from((1, 2, 4)), min_size=1, max_size=4))
def test_pieces_put_together_are_the_whole(number: int, sizes: list[int]) -> None:
    number %= 1 << 8 * sum(sizes)
    assert joined(split(number, sizes), sizes) == number
    symbol = terms.symbol("whole", 8 * sum(sizes))
    assert joined(split(symbol, sizes), sizes) is symbol
    symbols = pieces(symbol, sizes)
    values = dict(zip(symbols, split(number, sizes), strict=True))
    assert terms.evaluate(joined(symbols, sizes), values) == number  # type: ignore[arg-type]


# Numbers.


def flow(body: str) -> tuple[Flow, list[terms.Value]]:
    """The numbers in a test, and what its loads return."""
    program = build(read(f"PTX flow\n{body}\nexists (true)"))
    results = [e.result for t in program.threads for e in t.execution.effects if e.result is not None]
    return program.flow(), [r for r in results if r is not None]


def test_a_read_may_return_what_is_written_and_what_was_there() -> None:
    found, (x, y) = flow(
        "{ x = 1; y = 9; }\nP0@cta 0 { ld.weak.u32 %r0, [x]; add.u32 %r1, %r0, 10; st.weak.u32 [y], %r1; }\n"
        "P1@cta 1 { st.weak.u32 [x], 2; ld.weak.u32 %r0, [y]; }"
    )
    assert found.numbers(x) == {1, 2}
    assert found.numbers(y) == {9, 11, 12}


def test_a_counter_goes_no_further_than_there_are_reads() -> None:
    thread = "ld.weak.u32 %r0, [x]; add.u32 %r0, %r0, 1; st.weak.u32 [x], %r0;"
    found, reads = flow(f"{{ x = 0; }}\nP0@cta 0 {{ {thread} }}\nP1@cta 1 {{ {thread} {thread} }}")
    numbers = found.numbers(reads[0])
    assert numbers is not None and numbers >= {0, 1, 2} and max(numbers) <= 4


def test_bytes_of_what_is_read_may_come_from_several_writes() -> None:
    found, (x,) = flow("{ x = 0; }\nP0@cta 0 { st.weak.u32 [x], 0x0102; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }")
    assert found.numbers(x) == {0, 1 << 8, 2, 0x0102}


def test_what_other_sizes_write_is_put_together() -> None:
    found, (x,) = flow("{ x = 0; }\nP0@cta 0 { st.weak.u16 [x], 2; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }")
    assert found.numbers(x) == {0, 2}


# Clauses.


@given(
    st.lists(
        st.lists(st.integers(-5, 5).filter(bool), min_size=1, max_size=3),
        min_size=1,
        max_size=10,
    )
)
def test_consequences_hold_in_every_model(clauses: list[list[int]]) -> None:
    formula = Formula()
    variables = [formula.new() for _ in range(5)]
    for c in clauses:
        formula.add([variables[abs(l) - 1] * (1 if l > 0 else -1) for l in c])
    found = formula.consequences()
    for values in itertools.product((False, True), repeat=len(variables)):
        true = {1, *(v if x else -v for v, x in zip(variables, values, strict=True))}
        if all(true & set(c) for c in formula.clauses):
            assert found <= true
