"""Hypothesis strategies: random cycles, and tests of them."""

from __future__ import annotations

from hypothesis import assume, reject
from hypothesis import strategies as st

from litmus.cycles.build import refuse_hidden_order
from litmus.cycles.cycle import CycleLayout, RefusedCycle, laid_out, resolved
from litmus.cycles.edges import alphabet
from litmus.cycles.generator import tests_of
from litmus.cycles.normal import normal
from litmus.cycles.places import placements
from litmus.cycles.search import SearchBounds, fitting, wanted
from litmus.test import Test

#: So many cycles are drawn before one is given up: many have three writes to a location, of which there is no test.
_TRIES = 40


@st.composite
def layouts(
    draw: st.DrawFn,
    edges: str = "Pod**,Rfe,Fre,Coe",
    size: tuple[int, int] = (3, 6),
    threads: int = 4,
    mode: str = "sc",
) -> CycleLayout:
    """Cycles of `edges` as events, with `size` edges at least and at most, and at most so many `threads`; `mode` is as for
    `litmus.cycles.enumerate`."""
    items = alphabet(edges)
    bounds = SearchBounds(size, (1, threads), mode=mode)
    fits = fitting(items, bounds, items)
    for _ in range(_TRIES):
        chosen = _closed(draw, fits, draw(st.integers(*size)))
        if not chosen:
            continue
        try:
            layout = laid_out(normal(resolved([edge for i in chosen for edge in items[i]])))
            refuse_hidden_order(layout)
        except RefusedCycle:
            continue
        if wanted(layout, bounds):
            return layout
    reject()


def _closed(draw: st.DrawFn, fits: list[list[bool]], count: int) -> list[int]:
    """So many items of which each fits the one before, and the first the last; none where the first that is drawn is in no
    such cycle."""
    first = draw(st.sampled_from(range(len(fits))))
    back = [
        {i for i in range(len(fits)) if fits[i][first]}
    ]  # from which the first can be come back to, in 1, 2 ... steps
    for _ in range(count - 1):
        back.append({i for i in range(len(fits)) if any(fits[i][j] for j in back[-1])})
    chosen = [first]
    for left in range(count - 2, -1, -1):
        following = [i for i in range(len(fits)) if fits[chosen[-1]][i] and i in back[left]]
        if not following:
            return []
        chosen.append(draw(st.sampled_from(following)))
    return chosen if fits[chosen[-1]][first] else []


@st.composite
def tests(
    draw: st.DrawFn,
    edges: str = "Pod**,Rfe,Fre,Coe",
    size: tuple[int, int] = (3, 6),
    threads: int = 4,
    mode: str = "sc",
    everywhere: bool = False,
) -> Test:
    """Tests of such cycles (`layouts`), with their threads apart on one GPU, or `everywhere`."""
    layout = draw(layouts(edges, size, threads, mode))
    places = draw(st.sampled_from(placements(len(layout.threads)))) if everywhere else None
    test = next(tests_of(layout, places), None)
    assume(test is not None)
    assert test is not None
    return test


tests.__test__ = False  # type: ignore[attr-defined]  # no test, whatever pytest thinks of its name
