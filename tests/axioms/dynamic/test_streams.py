"""Launches of several streams with events between them: by runs, and by the formula."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from ptxmm.api import model_named
from ptxmm.kernels.check import check
from ptxmm.kernels.streams import are_partly_ordered, beside, one_by_one
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 v;
"""
_BEGINS = """.visible .entry {name}(.param .u64 x)
{{
 .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r1, 0;
"""


def _test(
    kernels: dict[str, str], launches: list[dict[str, Any]], forall: str = "", grid: int = 1, block: int = 2
) -> KernelTest:
    text = _HEAD + "".join(f"{_BEGINS.format(name=name)} {body}\n ret;\n}}\n" for name, body in kernels.items())
    tree = {
        "ptx": "k.ptx", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 8, "init": [0]}},
        "check": {"race_free": True, "terminates": True, **({"forall": forall} if forall else {})},
        "kernel": [{"name": f"n{i}", **launch} for i, launch in enumerate(launches)],
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _st(word: int, value: int) -> str:
    return f"@%p1 st.global.u32 [%rd1+{4 * word}], {value};"


def _add(one: int, two: int, to: int) -> str:
    return (
        f"@%p1 ld.global.u32 %r3, [%rd1+{4 * one}]; @%p1 ld.global.u32 %r4, [%rd1+{4 * two}]; add.u32 %r5, %r3, %r4; "
        f"@%p1 st.global.u32 [%rd1+{4 * to}], %r5;"
    )


_KERNELS = {"a": _st(0, 3), "b": _add(0, 0, 1), "c": _add(0, 0, 2), "d": _add(1, 2, 3)}


def _diamond(*, event: bool = True, size: int = 64) -> KernelTest:
    launches: list[dict[str, Any]] = [
        {"entry": "a", "stream": 0}, {"entry": "b", "stream": 1, "after": ["n0"]},
        {"entry": "c", "stream": 2, "after": ["n0"] if event else []}, {"entry": "d", "stream": 1, "after": ["n2"]},
    ]  # fmt: skip
    return _test(_KERNELS, launches, "x[3] == 12", block=size)


def test_events_order_launches_of_several_streams() -> None:
    assert beside(_diamond().launches) == [(1, 2)]
    found = check(_diamond(), model_named("ptx-9.0"))
    assert found.verdict == "ok" and any("one run of all" in note for note in found.notes)


def test_an_event_that_lacks_is_a_race_at_both_lines() -> None:
    found = check(_diamond(event=False), model_named("ptx-9.0"))
    assert found.verdict == "no"
    (race,) = found.races
    assert [event.instruction[:18] for event in race.events] == ["@%p1 st.global.u32", "@%p1 ld.global.u32"]
    assert race.causes[0].what.startswith("no event and no stream orders this launch and what CTA 0 thread 0")


def test_events_that_leave_nothing_beside_make_one_stream() -> None:
    launches = [{"entry": "a", "stream": 0}, {"entry": "b", "stream": 1, "after": ["n0"]}]
    test = _test(_KERNELS, launches, block=64)
    assert not are_partly_ordered(test)
    assert {launch.queue for launch in one_by_one(test).launches} == {("", 0)}
    early = _test({**_KERNELS, "a": "griddepcontrol.launch_dependents; " + _KERNELS["a"]}, launches, block=64)
    assert one_by_one(early) is early


_BODIES = (
    "@%p1 st.global.u32 [%rd1+{0}], {2};", "@%p1 ld.global.u32 %r3, [%rd1+{0}]; @%p1 st.global.u32 [%rd1+{1}], %r3;",
    "red.relaxed.gpu.global.add.u32 [%rd1+{0}], 1;", "@%p1 st.release.gpu.global.u32 [%rd1+{0}], 1;",
    "@%p1 ld.acquire.gpu.global.u32 %r3, [%rd1+{0}]; @%p1 st.global.u32 [%rd1+{1}], %r3;",
    "@%p1 st.global.u32 [v], {2};", "@%p1 ld.global.u32 %r3, [v]; @%p1 st.global.u32 [%rd1+{1}], %r3;",
)  # fmt: skip


def _generated(seed: int) -> KernelTest:
    draw = Random(seed)
    kernels, launches = {}, list[dict[str, Any]]()
    for i in range(draw.choice((2, 3, 3, 4))):
        words = draw.sample(range(5), 2)
        kernels[f"k{i}"] = " ".join(
            draw.choice(_BODIES).format(4 * words[0], 4 * words[1], i + 1) for _ in range(draw.choice((1, 1, 2)))
        )
        after = [f"n{j}" for j in range(i) if draw.random() < 0.35]
        launches.append({"entry": f"k{i}", "stream": draw.randrange(3), "after": after})
    return one_by_one(_test(kernels, launches, " && ".join(f"x[{n}] < 9" for n in range(5))))


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(12), range(500)))
def test_runs_say_of_streams_and_events_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(_generated, seeds, monkeypatch)
    assert found["ok"] and found["no"]


def test_who_may_have_acquired_something_hands_it_on_to_the_launch_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first launch the second one waits for a flag; the third one comes behind the second one's end."""
    waits = "W: ld.acquire.gpu.global.u32 %r3, [%rd1+4]; setp.eq.u32 %p2, %r3, 0; @%p2 bra W;"
    kernels = {"a": _st(0, 3) + "@%p1 st.release.gpu.global.u32 [%rd1+4], 1;", "b": waits, "c": _add(0, 0, 2)}
    launches = [{"entry": "a", "stream": 0}, {"entry": "b", "stream": 1}, {"entry": "c", "stream": 1}]
    test = _test(kernels, launches, "x[2] == 6")
    assert by_formula(test, monkeypatch).verdict in ("ok", "bounded")
    assert by_runs(test)[0]
