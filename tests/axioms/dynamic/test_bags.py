"""What is said of places of tickets in whichever order their contents stand there, held against the formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share
from generated_bags import bag_kernel
from ticketed_kernels import by_tickets, ticketed_kernel

from ptxmm.kernels.runs import open_elements, truth
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.ticketed import Ticketed
from ptxmm.kernels.toml import KernelFile


def _compared(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many claims are answered though they are about what may be something else, by whether they hold."""
    answered: Counter[str] = Counter()

    def told(seed: int) -> Callable[[Ticketed, list[dict[str, int]]], str]:
        test = bag_kernel(seed, claims=True)

        def of(found: Ticketed, states: list[dict[str, int]]) -> str:
            for check in test.checks:
                if check.expression is None or check.elements().isdisjoint(found.differing):
                    continue
                if open_elements(test, check, found.state, found.differing, found.orders):
                    answered["left open"] += 1
                    continue
                holds = truth(test, check, found.state)
                assert all(truth(test, check, state) is holds for state in states), str(check)
                answered[str(holds)] += 1
            return "ordered" if found.orders else "not"

        return of

    for seed in seeds:
        compare_right(bag_kernel, range(seed, seed + 1), monkeypatch, by_tickets, told(seed))
    return answered


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(60), range(400)))
def test_what_is_said_of_any_order_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = _compared(seeds, monkeypatch)
    assert answered["True"] > len(seeds) / 16 and answered["False"] > len(seeds) / 16, answered


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_any_order_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compared(range(1000, 1000 + share(20000)), monkeypatch)


_TAKE = "atom.global.add.u32 %t0, [%rd3], {};"
_AT = "mul.wide.u32 %rd2, %t0, {}; add.u64 %rd2, %rd2, %rd1;"
_PUT = "st.global.u32 [%rd2], %r5;"
_TWO = "atom.global.add.u32 %t1, [%rd3+4], 1; mul.wide.u32 %rd6, %t1, 4; add.u64 %rd6, %rd6, %rd1;"

#: What threads do, how many CTAs and threads of each there are, and a claim that holds in one order and not in another one.
_WRONG: dict[str, tuple[str, tuple[int, int], str]] = {
    "places that stay empty": (
        f"{_TAKE.format('%r5')} {_AT.format(4)} {_PUT} @%p1 st.global.u32 [%rd1+60], 1;", (2, 1),
        "sum(x[i] for i in range(2)) == 3",
    ),
    "values that hang on a ticket": (
        f"{_TAKE.format(1)} {_AT.format(4)} add.u32 %r6, %t0, %r5; st.global.u32 [%rd2], %r6;", (2, 1),
        "all(x[i] % 2 == 1 for i in range(2))",
    ),
    "a place that is written again": (
        f"{_TAKE.format(1)} {_AT.format(4)} {_PUT} bar.sync 0; @%p1 st.global.u32 [%rd1], 8;", (1, 2),
        "sum(x[i] for i in range(2)) == 10",
    ),
    "places of another counter": (
        f"{_TAKE.format(1)} {_AT.format(4)} {_PUT} bar.sync 0; @!%p1 bra END; {_TWO} st.global.u32 [%rd6], 8;", (1, 2),
        "sum(x[i] for i in range(2)) == 10",
    ),
    "two words of two orders": (
        f"{_TAKE.format(1)} {_AT.format(4)} {_PUT} {_TWO} st.global.u32 [%rd6+8], %r5;", (2, 1),
        "all(x[i] == x[i + 2] for i in range(2))",
    ),
    "one word before another": (f"{_TAKE.format(1)} {_AT.format(4)} {_PUT}", (2, 1), "x[0] < x[1]"),
    "some of them": (f"{_TAKE.format(1)} {_AT.format(4)} {_PUT}", (3, 1), "sum(x[i] for i in range(2)) == 3"),
    "more of one": (f"{_TAKE.format(1)} {_AT.format(4)} {_PUT}", (2, 1), "sum(x[i] * (i + 1) for i in range(2)) == 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_hangs_on_the_order_is_left_open(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, (grid, block), claim = _WRONG[name]
    test = ticketed_kernel(body, grid, block, forall=claim, start=(0, 0))
    assert _is_open(test)
    assert by_formula(test, monkeypatch).verdict == "no"


def _is_open(test: KernelTest) -> bool:
    found = by_tickets(test)
    assert found is not None
    (check,) = (check for check in test.checks if check.expression is not None)
    return bool(open_elements(test, check, found.state, found.differing, found.orders))


#: Claims about three numbers, of each of which there is an element of `x`, `y` and `f`, that stand in some order.
_CLAIMS = {
    "all(x[i] > 1 for i in range(3))": True,
    "x[0] > 1 && x[1] > 1 && x[2] > 1": True,
    "all(x[i] == y[i] + 1 for i in range(3)) && n == 3": True,
    "all(x[i] == y[(i + 1) % 3] for i in range(3))": False,
    "all(any(x[i] == k for i in range(3)) for k in range(1, 4))": True,
    "sum(x[i] for i in range(3)) + 4 < 9": True,
    "sum(x[i] for i in range(2)) < 9": False,
    "sum(x[i] for i in range(3) for j in range(2)) < 9": True,
    "sum(f[i] for i in range(3)) == 1": False,  # rounded as they come
    "sum((f[i] > 1) for i in range(3)) == 1": True,
    "sum(x[i] + (n > 1) for i in range(3)) == 1 || n == 2": True,
    "all(x[i] > i for i in range(3))": False,
    "sum((x[i] > 1 ? y[i] : n) for i in range(3)) == 4": True,
    "(n == 3 ? sum(x[i] for i in range(3)) : 4) == x[0]": False,
    "all(z[i] < x[i] for i in range(3))": False,
}


@pytest.mark.parametrize("claim", _CLAIMS)
def test_what_says_the_same_in_any_order(claim: str) -> None:
    elements = {"elements": 3}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 1,
        "params": {
            "x": {"type": "u32", **elements}, "y": {"type": "u32", **elements}, "f": {"type": "f32", **elements},
            "z": {"type": "u32", **elements}, "n": {"type": "u32", "value": 3},
        },
        "check": {"forall": claim},
    }  # fmt: skip
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({}) {{ ret; }}"
    of = ", ".join(f".param .u64 {name}" for name in "xyfz") + ", .param .u32 n"
    test = KernelFile.of(tree, "k.toml", {"k.ptx": text.format(of)}).test()
    (check,) = (check for check in test.checks if check.expression is not None)
    state = dict.fromkeys(check.elements(), 1)
    orders = (tuple(tuple(f"{name}[{i}]" for name in "xyf") for i in range(3)),)
    differing = {label for numbers in orders[0] for label in numbers}
    assert bool(open_elements(test, check, state, differing, orders)) is not _CLAIMS[claim]
