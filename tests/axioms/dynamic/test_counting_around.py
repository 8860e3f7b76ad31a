"""Threads that wait for a counter that goes round: `inc` and `dec` up to a bound are additions modulo a number, to a value that
is no greater."""

from __future__ import annotations

import random
from typing import Any

import pytest
from by_runs import by_runs, compare
from campaigns import lengths
from test_circles import _kernel

from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.waiting import WrittenBytes
from axioms.dynamic.waits.written import Written
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import watched_run

_DATA = "[%rd1+12]"


def _arrival(op: str, bound: int, sem: str = "release") -> str:
    return f"red.{sem}.gpu.global.{op}.u32 [%rd1], {bound};"


def _wait(name: str, value: int, where: str = "ne", sem: str = "acquire") -> str:
    return f"{name}: ld.{sem}.gpu.global.u32 %r5, [%rd1]; setp.{where}.u32 %p2, %r5, {value}; @%p2 bra {name};"


def _generated(seed: int) -> KernelTest:
    """Two or three threads that count up or down, mostly as at a barrier, and some of which wait for what they find; one writes
    what others read."""
    choose = random.Random(seed)
    count, strange = choose.choice((2, 2, 3)), choose.choice((0.0, 0.1, 0.3))

    def usual(this: Any, *others: Any) -> Any:
        return choose.choice(others) if choose.random() < strange else this

    op, bound, threads = choose.choice(("inc", "inc", "dec")), usual(count - 1, count, 1), []
    for number in range(count):
        parts = [f"st.global.u32 {_DATA}, 1;"] if number == 0 else []
        parts += usual([], [f"st.relaxed.gpu.global.u32 [%rd1], {choose.choice((0, 1, 5))};"])
        for _ in range(usual(1, 2)):
            one = usual(op, "add", "inc", "dec")
            parts.append(_arrival(one, usual(bound, 1, 2), usual("release", "relaxed")))
        if number == 1 or choose.random() < 0.4:
            wait = _wait(f"W{number}", usual(0, bound, 1), usual("ne", "eq"), usual("acquire", "relaxed"))
            parts += [wait, f"ld.global.u32 %r6, {_DATA}; st.global.u32 ${number}, %r6;"]
        threads.append(" ".join(parts))
    return _kernel(*((text,) for text in threads))


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(20), range(300)))
def test_runs_say_of_them_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_generated, seeds, monkeypatch)
    assert verdicts["ok"] > 0


#: Each of 16 CTAs comes to a barrier whose counter goes round, and looks at it until it is where it was.
_BARRIER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;
 st.global.u32 [%rd2+4], %r1;
 red.release.gpu.global.{op}.u32 [%rd1], {bound};
LOOK:
 ld.{sem}.gpu.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, 0; @%p1 bra LOOK;
 sub.u32 %r1, 15, %r1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r3, [%rd2+4];
 ret;
}}
"""


def _barrier(op: str = "inc", bound: int = 15, sem: str = "acquire", first: int = 0) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 16, "block": 1,
        "params": {"x": {"type": "u32", "elements": 17, "init": [first, 0]}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _BARRIER.format(op=op, bound=bound, sem=sem)}).test()


@pytest.mark.parametrize("op", ["inc", "dec"])
def test_a_barrier_whose_counter_goes_round_is_decided_by_one_run(op: str) -> None:
    assert watched_run(Runs(_barrier(op), watched=True), None).why is None


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"sem": "relaxed"}, id="nothing is acquired"),
        pytest.param({"bound": 7}, id="half of them are enough"),
        pytest.param({"bound": 16}, id="one is lacking"),
        pytest.param({"first": 1}, id="one is counted already"),
        pytest.param({"first": 70}, id="the first one begins anew"),
    ],
)
def test_a_barrier_with_a_mistake_is_not(wrong: dict[str, Any]) -> None:
    open_, result = by_runs(_barrier(**wrong))
    assert open_ or result.verdict == "no"


@pytest.mark.parametrize(
    ("first", "moduli", "found"), [(3, (4, 4), {3, 0, 1}), (4, (4, 4), None), (3, (4, 8), None), (3, (4, 0), None)]
)
def test_what_is_found_beside_others(first: int, moduli: tuple[int, ...], found: set[int] | None) -> None:
    """Sums go round where all go round by one number, to which what stood there first is less."""
    clocks, place = Clocks(1), WrittenBytes(4, first)
    for thread, modulus in enumerate(moduli):
        clocks.enter()
        assert place.write(Written(thread, 1, 1, "add", "gpu", {}, modulus=modulus), clocks)
    read = StrongRead(clocks.enter(), 1, first, "gpu", lambda value: value)
    assert place.possible(read, clocks) == found
