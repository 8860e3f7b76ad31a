"""Orders of writes and of fences, built element by element: all that fit and no more, and nothing is kept of what does not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import pytest

import ptxmm
from axioms.engine import decide
from axioms.models import load
from axioms.oracle.budget import BeyondBruteForce, Budget, kept
from axioms.oracle.executions import strict_orders
from ptxcore.clock import OutOfTime
from ptxmm.pipeline import build


def _by_definition(
    elements: tuple[int, ...], demanded: list[int], related: list[int]
) -> set[frozenset[tuple[int, int]]]:
    """Of all sets of pairs those that are orders and fit."""
    pairs = list(permutations(elements, 2))

    def fits(order: frozenset[tuple[int, int]]) -> bool:
        strict = all((b, a) not in order for a, b in order)
        transitive = all((a, d) in order for a, b in order for c, d in order if b == c)
        wanted = all((a, b) in order for a, b in pairs if demanded[a] >> b & 1)
        either = all((a, b) in order or (b, a) in order for a, b in pairs if related[a] >> b & 1)
        return strict and transitive and wanted and either

    sets = (frozenset(c) for n in range(len(elements) * (len(elements) - 1) // 2 + 1) for c in combinations(pairs, n))
    return {order for order in sets if fits(order)}


def _rows(size: int, *pairs: tuple[int, int]) -> list[int]:
    rows = [0] * size
    for a, b in pairs:
        rows[a] |= 1 << b
    return rows


def _made(elements: tuple[int, ...], demanded: list[int], related: list[int]) -> list[frozenset[tuple[int, int]]]:
    return list(strict_orders(elements, demanded, related, lambda: None))


@pytest.mark.parametrize("related", [(), ((1, 3),), ((1, 3), (3, 5)), ((5, 1), (1, 3), (3, 5))])
@pytest.mark.parametrize("demanded", [(), ((5, 1),), ((1, 3), (3, 5)), ((1, 3), (3, 1))])
def test_orders_are_those_of_the_definition(
    demanded: tuple[tuple[int, int], ...], related: tuple[tuple[int, int], ...]
) -> None:
    elements, rows = (1, 3, 5), (_rows(6, *demanded), _rows(6, *related))
    made = _made(elements, *rows)
    assert len(made) == len(set(made))
    assert set(made) == _by_definition(elements, *rows)


def test_there_are_as_many_orders_as_are_known() -> None:
    """Labelled partial orders of n elements."""
    none = [0] * 5
    assert [len(_made(tuple(range(n)), none, none)) for n in range(5)] == [1, 1, 3, 19, 219]


def test_an_event_before_itself_has_no_order() -> None:
    assert not _made((0, 1), [1, 0], [0, 0])
    assert not _made((0, 1), [0, 0], [0, 2])


def test_two_sequences_of_writes_are_gone_through_by_what_fits() -> None:
    """Eight writes have 431,723,379 strict partial orders, and 70 that have two sequences of four and every pair."""
    first, second = range(0, 8, 2), range(1, 8, 2)
    demanded = _rows(8, *combinations(first, 2), *combinations(second, 2))
    steps = Budget(steps=100)
    orders = list(strict_orders(tuple(range(8)), demanded, _rows(8, *product(first, second)), steps.spend))
    assert len(orders) == len(set(orders)) == 70


def test_orders_of_many_end_with_the_budget() -> None:
    """What nothing orders has more orders than a machine keeps, and so many closed sets that one step would be long."""
    budget, none = Budget(steps=3000), [0] * 20
    with pytest.raises(OutOfTime):
        for _ in strict_orders(tuple(range(20)), none, none, budget.spend):
            pass


def test_no_more_than_so_many_choices_are_kept() -> None:
    gone = 0

    def numbers() -> Iterator[int]:
        nonlocal gone
        while True:
            yield gone
            gone += 1

    assert kept(range(5), "things", most=5) == [0, 1, 2, 3, 4]
    with pytest.raises(BeyondBruteForce, match="too many things for brute force"):
        kept(numbers(), "things", most=5)
    assert gone == 5


def test_brute_force_of_many_fences_ends_with_its_steps() -> None:
    """Fourteen fences have more orders than anybody counts; not all are built before the first one is looked at."""
    fences = "fence.sc.gpu; " * 7
    text = f"PTX SB\n{{ x = 0; y = 0; }}\nP0 {{ st.weak.u32 [x], 1; {fences} ld.weak.u32 %r0, [y]; }}\n"
    test = ptxmm.parse(f"{text}P1 {{ st.weak.u32 [y], 1; {fences} ld.weak.u32 %r0, [x]; }}\nexists (0:r0 = 0)\n")
    with pytest.raises(OutOfTime):
        decide(build(test), load("ptx-9.0"), engine="enumerate", steps=50)
