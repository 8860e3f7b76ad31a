"""A thousand random inputs of each test of `tcgen05` beside NumPy, of `tensormap.replace`, and of interleaved tensors: the
tests of the files beside this one, drawn anew, their parameters one after another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import product
from typing import Any

import pytest
import test_tensor_layouts
import test_tensor_memory
import test_tensor_other_forms
import test_tensor_pairs
import test_tensor_products
import test_tensormap_replace
from agreement import compared
from campaigns import share
from tensor_memory_cases import filled_by_the_host, run

MODULES = (test_tensor_memory, test_tensor_products, test_tensor_pairs, test_tensor_other_forms)
Test = Callable[..., None]
#: The tests that take the number of a draw.
DRAWN: dict[str, Test] = {
    name: test
    for module in MODULES
    for name, test in vars(module).items()
    if name.startswith("test_") and callable(test) and "draw" in signature(test).parameters
}
#: Those that draw all that they do from a number of their own.
NUMBERED: dict[str, tuple[Test, str]] = {
    "tensormap.replace": (test_tensormap_replace.test_a_map_made_of_zeros_is_that_of_the_host, "seed"),
    "interleaved": (test_tensor_layouts.test_interleaved_tensors_are_slices_of_channels, "number"),
}


def parameters(test: Test) -> list[dict[str, Any]]:
    """What pytest gives a test, one after another."""
    return [
        {name: value for part in parts for name, value in part.items()} for parts in product(*map(list, _marked(test)))
    ]


def _marked(test: Test) -> Iterator[Iterator[dict[str, Any]]]:
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args
            single = isinstance(names, str)
            listed = [names] if single else list(names)
            yield (dict(zip(listed, (v,) if single else v, strict=True)) for v in values)


@pytest.mark.campaign
@pytest.mark.parametrize("name", DRAWN)
def test_a_thousand_inputs_are_as_numpy_has_them(name: str) -> None:
    """One module after another, since to read one takes longer than to run it; memory is filled by the host."""
    given, count = parameters(DRAWN[name]), share(1000)
    with filled_by_the_host():
        for number in range(count):
            DRAWN[name](**given[number * len(given) // count], draw=1 + number)
            compared(number)


@pytest.mark.campaign
@pytest.mark.parametrize("name", NUMBERED)
def test_a_thousand_maps_are_as_numpy_has_them(name: str) -> None:
    test, number_of = NUMBERED[name]
    given = parameters(test)
    for number in range(share(1000)):
        test(**{**given[number % len(given)], number_of: 1000 + number})
        compared(number)


def test_what_is_drawn_are_loads_stores_products_copies_and_shifts() -> None:
    """Of one CTA and of pairs; and with all parameters that pytest gives them."""
    assert len(DRAWN) >= 20
    of_modules = {
        module.__name__: sum(test.__module__ == module.__name__ for test in DRAWN.values()) for module in MODULES
    }
    assert min(of_modules.values()) >= 3, of_modules
    for test in DRAWN.values():
        wanted = signature(test).parameters.keys() - {"draw"}
        assert all(given.keys() == wanted for given in parameters(test)) and parameters(test)


@pytest.mark.parametrize("name", ["test_small_types", "test_shift_of_pairs"])
def test_memory_that_the_host_fills_is_memory_that_instructions_fill(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same instructions, and the same cells behind them; and the host's way moves nothing by instructions."""
    test = DRAWN[name]
    module_of = sys.modules[test.__module__]
    made: list[tuple[str, Any]] = []

    def running(text: str, *given: Any, **options: Any) -> Any:
        made.append((text, run(text, *given, **options)))
        return made[-1][1]

    monkeypatch.setattr(module_of, "run", running)
    given = parameters(test)[0]
    test(**given, draw=7)
    with filled_by_the_host():
        test(**given, draw=7)
    (slow, by_instructions), (fast, by_host) = made
    assert (by_instructions == by_host).all()
    assert slow.count("tcgen05.st.sync") > fast.count("tcgen05.st.sync") == 0
