"""Every operator on partly known relations is the concrete operator, whatever the open literals turn out to be.

With UP a derived literal is forced wherever the concrete pair holds, and nowhere else. With BOTH it is settled everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from campaigns import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from partly_known import SETS, World, concrete, members, worlds
from pysat.solvers import Minisat22

from axioms.cat import evaluate
from axioms.cat.evaluate import bits
from axioms.cat.nodes import Rows
from axioms.sat import relations
from axioms.sat.acyclicity import cycles
from axioms.sat.formula import BOTH, DOWN, FALSE, TRUE, UP, Formula
from axioms.sat.paths import Paths
from axioms.sat.relations import Executed, Relation

QUICK = settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))


def agrees(world: World, result: Relation, way: int, wanted: Callable[[dict[str, int | Rows]], Rows]) -> None:
    """Compares the literals that unit propagation fixes with the concrete relation, under every valuation."""
    with Minisat22(bootstrap_with=world.formula.clauses) as solver:
        for valuation in world.valuations():
            rows = wanted(world.base(valuation))
            consistent, forced = solver.propagate([v if on else -v for v, on in valuation.items()])
            assert consistent, "a definition forbids what was free"
            known = {TRUE, *forced}
            for i in range(world.size):
                for j in range(world.size):
                    literal, holds = result.literal(i, j), bool(rows[i] >> j & 1)
                    if way & UP or literal in (TRUE, FALSE):
                        assert (literal in known) == holds, (i, j, valuation)
                    if way & DOWN and not holds:
                        assert -literal in known, (i, j, valuation)


def both(base: dict[str, int | Rows], a: str, b: str) -> tuple[Rows, Rows]:
    x, y = base[a], base[b]
    assert isinstance(x, list) and isinstance(y, list)
    return x, y


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "union": lambda a, b: a | b,
    "intersection": lambda a, b: a & b,
    "difference": lambda a, b: a & ~b,
}


@pytest.mark.part(2)
@pytest.mark.parametrize("way", [UP, BOTH])
@pytest.mark.parametrize("name", OPERATORS)
@QUICK
@given(world=worlds())
def test_boolean_operators(name: str, way: int, world: World) -> None:
    a, b = world.relations["rf"], world.relations["rmw"]
    if name == "union":
        result = relations.union([a, b], world.formula, way)
    else:
        result = getattr(relations, name)(a, b, world.formula, way)
    agrees(
        world,
        result,
        way,
        lambda base: [OPERATORS[name](x, y) for x, y in zip(*both(base, "rf", "rmw"), strict=True)],
    )


@pytest.mark.parametrize("way", [UP, BOTH])
@QUICK
@given(world=worlds(), masked=st.booleans(), data=st.data())
def test_sequence(way: int, world: World, masked: bool, data: st.DataObject) -> None:
    everything = (1 << world.size) - 1
    rows = st.lists(st.integers(0, everything), min_size=world.size, max_size=world.size)
    mask = data.draw(rows) if masked else [everything] * world.size
    a, b = world.relations["rf"], world.relations["rmw"]
    result = relations.sequence(a, b, world.formula, way, mask if masked else None)

    def wanted(base: dict[str, int | Rows]) -> Rows:
        return [r & m for r, m in zip(evaluate.sequence(*both(base, "rf", "rmw")), mask, strict=True)]

    agrees(world, result, way, wanted)


@QUICK
@given(world=worlds())
def test_inverse(world: World) -> None:
    agrees(
        world, relations.inverse(world.relations["rf"]), BOTH, lambda base: evaluate.inverse(both(base, "rf", "rf")[0])
    )


@pytest.mark.part(2)
@pytest.mark.parametrize("way", [UP, BOTH])
@pytest.mark.parametrize(("left", "right"), [("R", "W"), ("R", None), (None, "W")])
@QUICK
@given(world=worlds())
def test_restriction(way: int, left: str | None, right: str | None, world: World) -> None:
    domain, codomain = (None if s is None else world.executed.members(world.members[s]) for s in (left, right))
    result = relations.restrict(world.relations["rf"], domain, codomain, world.formula, way)

    def wanted(base: dict[str, int | Rows]) -> Rows:
        rows = both(base, "rf", "rf")[0]
        from_, to = (-1 if s is None else base[s] for s in (left, right))
        assert isinstance(from_, int) and isinstance(to, int)
        return [row & to if from_ >> i & 1 else 0 for i, row in enumerate(rows)]

    agrees(world, result, way, wanted)


@QUICK
@given(world=worlds())
def test_known_relations_hold_exactly_between_executed_events(world: World) -> None:
    rows = [world.members[SETS[i % len(SETS)]] for i in range(world.size)]
    result = world.executed.static(rows)
    for valuation in world.valuations():
        events = world.executes(valuation)
        assert concrete(result, valuation, world.formula) == [
            row & events if events >> i & 1 else 0 for i, row in enumerate(rows)
        ]
        for name in SETS:
            found = members(world.executed.members(world.members[name]), valuation, world.formula)
            assert found == world.members[name] & events


@QUICK
@given(world=worlds(), masked=st.booleans(), data=st.data())
def test_paths_are_the_transitive_closure_for_the_pairs_that_are_asked_for(
    world: World, masked: bool, data: st.DataObject
) -> None:
    everything = (1 << world.size) - 1
    rows = st.lists(st.integers(0, everything), min_size=world.size, max_size=world.size)
    mask = data.draw(rows) if masked else [everything] * world.size
    base = relations.union([world.relations["rf"], world.relations["rmw"]], world.formula, UP)
    result = Paths(base, world.executed, world.formula).relation(mask if masked else None)

    def wanted(found: dict[str, int | Rows]) -> Rows:
        joined = [a | b for a, b in zip(*both(found, "rf", "rmw"), strict=True)]
        return [r & m for r, m in zip(evaluate.closure(joined), mask, strict=True)]

    agrees(world, result, UP, wanted)


def test_steps_add_up_where_who_passes_between_is_executed_anyway() -> None:
    """A write, two threads' halves of a barrier, a read: one literal each for the write, the barrier and the read."""
    formula = Formula()
    round_, writes, reads = formula.new(), formula.new(), formula.new()
    write, read = formula.conj(round_, writes, BOTH), formula.conj(round_, reads, BOTH)
    executed = Executed([write, round_, round_, read], formula)
    result = Paths(executed.static([0b0010, 0b0100, 0b1000, 0]), executed, formula)
    assert not result.jumps and result.steps == [0b1110, 0b1100, 0b1000, 0]
    assert result.relation(None).literal(0, 3) == executed.pair(0, 3)


def test_a_path_through_who_may_not_be_executed_hangs_on_it() -> None:
    formula = Formula()
    between = formula.new()
    executed = Executed([TRUE, between, TRUE], formula)
    result = Paths(executed.static([0b010, 0b100, 0]), executed, formula).relation(None)
    assert result.literal(0, 2) == between


@QUICK
@given(world=worlds(most_events=5))
def test_cycles_are_what_keeps_a_relation_from_being_acyclic(world: World) -> None:
    base = relations.union([world.relations["rf"], world.relations["rmw"]], world.formula, UP)
    causes = [l for _, _, literals in cycles(base, world.executed, world.formula) for l in literals]
    with Minisat22(bootstrap_with=world.formula.clauses) as solver:
        for valuation in world.valuations():
            _, forced = solver.propagate([v if on else -v for v, on in valuation.items()])
            joined = [a | b for a, b in zip(*both(world.base(valuation), "rf", "rmw"), strict=True)]
            assert evaluate.is_acyclic(joined) == (not any(l == TRUE or l in forced for l in causes))


def test_the_search_for_cycles_ends_when_it_is_told_to() -> None:
    class _Over(Exception):
        pass

    def until(most: int) -> Callable[[], None]:
        steps = iter(range(most))

        def tick() -> None:
            if next(steps, None) is None:
                raise _Over

        return tick

    formula, size = Formula(), 12
    executed = Executed([TRUE] * size, formula)
    complete = {i: {j: formula.new() for j in range(size) if j != i} for i in range(size)}
    assert cycles(Relation([0] * size, complete), executed, formula, until(size * size))
    with pytest.raises(_Over):
        cycles(Relation([0] * size, complete), executed, formula, until(3))


@QUICK
@given(world=worlds())
def test_the_exact_closure_is_settled_in_both_directions(world: World) -> None:
    base = relations.union([world.relations["rf"], world.relations["rmw"]], world.formula, BOTH)
    result = relations.exact_closure(base, world.formula)

    def wanted(found: dict[str, int | Rows]) -> Rows:
        return evaluate.closure([a | b for a, b in zip(*both(found, "rf", "rmw"), strict=True)])

    agrees(world, result, BOTH, wanted)


def test_what_is_certain_costs_no_clause() -> None:
    formula = Formula()
    a = Relation([0b0110, 0b1000, 0b1000, 0], {})
    executed = Executed([TRUE] * 4, formula)
    relations.union([a, relations.sequence(a, a, formula, BOTH)], formula, BOTH)
    relations.intersection(a, relations.difference(a, relations.inverse(a), formula, BOTH), formula, BOTH)
    assert Paths(a, executed, formula).relation(None).must == [0b1110, 0b1000, 0b1000, 0]
    assert relations.exact_closure(a, formula).must == [0b1110, 0b1000, 0b1000, 0]
    assert formula.clauses == [[TRUE]]


@pytest.mark.parametrize("open_", [False, True])
def test_the_exact_closure_follows_paths_of_any_length(open_: bool) -> None:
    formula = Formula()
    rows = [1 << i + 1 for i in range(9)] + [0]
    may = {9: {8: formula.new()}} if open_ else {}
    result = relations.exact_closure(Relation(rows, may), formula)
    assert result.must[0] == 0b1111111110
    assert result.must[7] == 0b1100000000
    assert (result.literal(9, 8), result.literal(9, 9) != FALSE) == (may.get(9, {}).get(8, FALSE), open_)


@given(st.integers(0, 2**200))
def test_bits_are_the_members_in_order(row: int) -> None:
    assert bits(row) == [i for i in range(row.bit_length()) if row >> i & 1]
