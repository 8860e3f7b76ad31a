"""What a wait observes by a chain of atomic operations of which some are in narrow scopes: what something else orders before
the wait, or another operation, may still be the link by which the chain is no longer morally strong (section 8.9.2)."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r1, %r3, %r2;
"""
#: Words of the buffer: what is added to, a flag of each thread, what is handed on, and what threads have found.
_COUNT, _FLAGS, _DATA, _OUT = 0, 1, 6, 8


_LABELS = count()


def _adds(scope: str, sem: str = "relaxed") -> str:
    return f"red.{sem}.{scope}.global.add.u32 [%rd1+{4 * _COUNT}], 1;"


def _raises(flag: int) -> str:
    return f"st.release.gpu.global.u32 [%rd1+{4 * (_FLAGS + flag)}], 1;"


def _waits(word: int, value: int, sem: str = "acquire") -> str:
    label = f"W{next(_LABELS)}"
    return f"{label}: ld.{sem}.gpu.global.u32 %r4, [%rd1+{4 * word}]; setp.lt.u32 %p1, %r4, {value}; @%p1 bra {label};"


_WRITES, _READS = f"st.global.u32 [%rd1+{4 * _DATA}], 7;", f"ld.global.u32 %r5, [%rd1+{4 * _DATA}];"


def _kernel(threads: list[str], block: int) -> KernelTest:
    lines = [_HEAD]
    for number, text in enumerate(threads):
        result = f"st.global.u32 [%rd1+{4 * (_OUT + number)}], %r5;" if "%r5" in text else ""
        lines.append(f"setp.ne.u32 %p0, %r1, {number}; @%p0 bra N{number};\n {text} {result} ret;\nN{number}:")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": len(threads) // block, "block": block,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "check": {"forall": f"x[{_OUT}] < 8", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([*lines, "ret;", "}"])}).test()


def _before_the_wait(scope: str) -> list[str]:
    """Who adds in a narrow scope comes before the wait by a flag."""
    waits = _waits(_FLAGS, 1) + _waits(_COUNT, 2)
    return [_WRITES + _adds("gpu", "release"), _adds(scope) + _raises(0), waits + _READS, ""]


def _behind_the_other(scope: str) -> list[str]:
    """Who adds in a narrow scope, which has the thread that waits, comes behind the other one by a flag."""
    hands_on = _WRITES + _adds("gpu", "release") + _raises(0)
    return [hands_on, "", _waits(_FLAGS, 1) + _adds(scope), _waits(_COUNT, 2) + _READS]


def _later_in_the_run(scope: str) -> list[str]:
    """The same, where the wait may have ended before."""
    hands_on = _WRITES + _adds("gpu", "release") + _raises(0)
    return [_waits(_COUNT, 1) + _READS, _waits(_FLAGS, 1) + _adds(scope), hands_on, ""]


@pytest.mark.parametrize("threads", [_before_the_wait, _behind_the_other, _later_in_the_run])
def test_a_link_in_a_narrow_scope_hands_nothing_on(
    threads: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for scope, wanted in (("gpu", "ok"), ("cta", "no")):
        test = _kernel(threads(scope), 2)
        open_, found = by_runs(test)
        assert (found.verdict, by_formula(test, monkeypatch).verdict) == ("undecided" if open_ else wanted, wanted)
        assert not open_ or scope == "cta"


def _generated(seed: int) -> KernelTest:
    """Threads that add to one word in scopes that are wide enough or not, some of them one behind the other by flags."""
    choose = random.Random(seed)
    block, size = choose.choice(((1, 3), (2, 4), (2, 4), (3, 3)))
    order = choose.sample(range(size), size)
    threads = [""] * size
    flags, added = 0, 0
    for place, number in enumerate(order):
        text = ""
        for flag in range(flags):
            text += _waits(_FLAGS + flag, 1, choose.choice(("acquire", "acquire", "relaxed"))) * (choose.random() < 0.5)
        scope = choose.choice(("gpu", "gpu", "cta", "sys"))
        if place == 0:
            text += _WRITES + _adds(scope, choose.choice(("release", "release", "relaxed")))
            added += 1
        elif place < size - 1 and choose.random() < 0.8:
            fence = choose.choice(("", "", "fence.acq_rel.gpu;", "fence.sc.gpu;"))
            text += fence + _adds(scope, choose.choice(("relaxed", "relaxed", "release")))
            added += 1
        if place == size - 1:
            text += _waits(_COUNT, choose.choice((added, added, 1)), choose.choice(("acquire", "acquire", "relaxed")))
            text += choose.choice(("", "", "fence.sc.gpu;")) + choose.choice((_READS, _READS, _WRITES))
        elif flags < 3 and choose.random() < 0.6:
            text += _raises(flags)
            flags += 1
        threads[number] = text
    return _kernel(threads, block)


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("count", lengths(8, 150))
def test_runs_say_of_chains_in_several_scopes_what_the_formula_says(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(_generated, range(count), monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.6)
def test_runs_say_of_many_chains_in_several_scopes_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_generated, range(1000, 1000 + share(4000)), monkeypatch)
