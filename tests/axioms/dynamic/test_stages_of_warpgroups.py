"""Rings of stages that one thread of a warpgroup gives back for all, or all do, filled by bulk copies or by copies that arrive
at an mbarrier object: what one run says is held against every order of their steps."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from agreement import compared, pass_over
from by_runs import by_runs
from campaigns import lengths, share
from generated_stages import drawn, explored, kernel

from axioms.dynamic.asynchronous.products import WarpgroupProducts
from axioms.dynamic.core.clocks import Arrival


def compare(seeds: Iterable[int], *, wrong_only: bool = False) -> Counter[str]:
    """Whatever some order shows to be wrong is not `ok`; the number of each verdict of what is wrong, and of what is right."""
    found: Counter[str] = Counter()
    for seed in seeds:
        ring = drawn(seed)
        wrong = explored(ring)
        if wrong is None:
            pass_over("too many orders")
        elif wrong or not wrong_only:
            open_, result = by_runs(kernel(ring))
            verdict = "open" if open_ else result.verdict
            assert not (wrong and verdict == "ok"), (seed, wrong)
            found[f"{verdict} and {'wrong' if wrong else 'right'}"] += 1
            compared(verdict)
    return found


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(2), range(2, 8)))
def test_what_is_wrong_in_some_order_is_not_ok(seeds: range) -> None:
    assert compare(seeds)["ok and right"]


def _unheard(products: WarpgroupProducts, arrival: Arrival, other: int, time: int) -> bool:
    """As if nobody had to know of the end of the product."""
    times, _ = products._multiplied.get(other, ((), ()))
    return bisect_left(times, time) < len(times)


def _before(products: WarpgroupProducts, arrival: Arrival, other: int, time: int) -> bool:
    """As if the product before, too, came behind what a thread did."""
    times, ends = products._multiplied.get(other, ((), ()))
    at = max(0, bisect_left(times, time) - 1)
    return at < len(times) and products.clocks.knows(arrival, ends[at], 1)


@pytest.mark.mutation
@pytest.mark.parametrize(("mistake", "seed"), [(_unheard, 126), (_before, 119)])
def test_a_mistake_in_what_an_end_of_a_product_says_is_found(
    mistake: Callable[..., bool], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare([seed])
    monkeypatch.setattr(WarpgroupProducts, "multiplied", mistake)
    with pytest.raises(AssertionError, match="threads do not terminate"):
        compare([seed])


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_much_that_is_wrong_in_some_order_is_not_ok() -> None:
    compare(range(1000, 1000 + share(3000)), wrong_only=True)
