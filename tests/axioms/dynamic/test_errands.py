"""Errands: what threads do only where a ticket or a claim says so. One run beside the formula, each of its conditions with a
kernel that is wrong and would be taken for right without it, and patterns at their size."""

from __future__ import annotations

from collections import Counter as Count
from typing import Any

import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share
from generated_errands import errand_kernel

from axioms.dynamic import claims, errands, imagined, tickets
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.ticketed import Ticketed, run_with_tickets
from ptxmm.kernels.toml import KernelFile


def _by_errands(test: KernelTest) -> Ticketed | None:
    return run_with_tickets(Runs(test, watched=True))


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Count[str]:
    def told(found: Ticketed, states: list[dict[str, int]]) -> str:
        for state in states:
            differ = {label for label, value in state.items() if found.state[label] != value}
            assert differ <= found.differing, differ
        return "differing" if found.differing else "same"

    return compare_right(errand_kernel, seeds, monkeypatch, _by_errands, told)


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(81, 89), range(100)))
def test_what_is_said_up_to_errands_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _compare(seeds, monkeypatch)
    assert min(counted["differing"], counted["same"]) > len(seeds) / 16


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_up_to_errands_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(20000)), monkeypatch)


_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[64]; .local .align 4 .b8 l[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r2, 0;
 mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4; mov.u32 %r9, 0;
"""
#: A ticket of each thread, and where it leads.
_TAKE = "atom.global.add.u32 %t0, [%rd3], 1;"
_AT = "mul.wide.u32 %rd2, %t0, 4; add.u64 %rd2, %rd2, %rd1;"
_PUT = f"{_AT} st.global.u32 [%rd2], %r5;"
#: The first one to come goes on.
_ONCE = "atom.global.exch.b32 %t1, [%rd3+4], 1; setp.ne.u32 %p3, %t1, 0; @%p3 bra LOST;"


def _kernel(body: str, grid: int = 2, block: int = 1, words: int = 16, start: tuple[int, ...] = (0, 0)) -> KernelTest:
    text = "\n ".join([_HEAD, body, "END: ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": words, "init": [0]}, "c": {"type": "u32", "elements": 4, "init": list(start)},
        },
        "check": {
            "forall": " && ".join(f"x[{i}] < 999" for i in range(words)) + " && c[0] < 999 && c[1] < 999",
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


_GOES_WITH = imagined._Imagined._goes_with


def _none(*_: Any, **__: Any) -> None:
    return None


def _true(*_: Any, **__: Any) -> bool:
    return True


#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "another one writes what a thread reads": (
        f"{_TAKE} setp.lt.u32 %p3, %t0, 1; @%p3 bra NOT; st.global.u32 [%rd1], 7; NOT: setp.ne.u32 %p4, %r4, 1; "
        "@%p4 bra END; ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+32], %r6;", {},
        (imagined._Imagined, "_goes_with", _true),
    ),
    "who wins writes what another one reads": (
        f"{_ONCE} st.global.u32 [%rd1], 7; LOST: @%p1 ld.global.u32 %r6, [%rd1]; @%p1 st.global.u32 [%rd1+32], %r6;", {},
        (imagined._Imagined, "_goes_with", _true),
    ),
    "two claims of different bits": (
        "setp.eq.u32 %p4, %r4, 2; selp.u32 %r6, 2, 1, %p4; atom.global.or.b32 %t1, [%rd3+4], %r6; and.b32 %r7, %t1, %r6; "
        "setp.ne.u32 %p3, %r7, 0; @%p3 bra END; @%p1 bra END; st.global.u32 [%rd1], 7;", {"grid": 3},
        (imagined, "_excluded", _true),
    ),
    "a claim that fails leaves it unclaimed": (
        "atom.global.cas.b32 %t1, [%rd3+4], %r4, %r5; setp.ne.u32 %p3, %t1, 0; @%p3 bra END; st.global.u32 [%rd1], 7;", {},
        (claims.ClaimedBytes, "is_sound", True),
    ),
    "a strong look at what is claimed": (
        "shl.b32 %r6, 1, %r4; atom.global.or.b32 %t1, [%rd3+4], %r6; st.global.u32 [%rd5+16], %t1; @!%p1 bra END; "
        "ld.relaxed.gpu.global.u32 %r8, [%rd3+4]; "
        "st.global.u32 [%rd1+32], %r8;", {}, (imagined._Imagined, "_check_claimed", _none),
    ),
    "what winners write is no constant": (
        f"{_ONCE} st.global.u32 [%rd1], %r5; LOST: bar.sync 0; @%p1 ld.global.u32 %r6, [%rd1]; "
        "@%p1 st.global.u32 [%rd1+32], %r6;", {"grid": 1, "block": 2},
        (imagined, "_wrote", lambda *_: ()),
    ),
    "who wins takes as many as it likes": (
        f"{_ONCE} atom.global.add.u32 %t0, [%rd3], %r5; {_PUT} LOST:", {}, (imagined, "_only", lambda *_: ()),
    ),
    "one who wins does not go on": (
        f"atom.global.exch.b32 %t1, [%rd3+4], 1; setp.eq.u32 %p4, %r4, 1; @%p4 bra END; setp.ne.u32 %p3, %t1, 0; @%p3 bra END; "
        f"{_TAKE} {_PUT}", {}, (imagined, "_once", _true),
    ),
    "it is kept who won": (
        f"{_ONCE} mov.u32 %r9, 1; LOST: setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd1], %r5;", {},
        (errands.Live, "of", lambda *_: ()),
    ),
    "a ticket that was put away": (
        f"{_TAKE} st.global.u32 [%rd5+48], %t0; {_ONCE} ld.global.u32 %r6, [%rd5+48]; mad.lo.u32 %r6, %r4, 2, %r6; "
        "mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], 1; LOST:", {},
        (tickets.Tickets, "_varies", lambda *_: False),
    ),
    "more than there is room for": (
        f"{_TAKE} setp.lt.u32 %p3, %t0, 1; @%p3 bra END; selp.u32 %r6, 4, 1, %p1; "
        f"atom.global.add.u32 %t0, [%rd3+8], %r6; {_PUT}",
        {"grid": 3, "words": 4, "start": (0, 0, 0)}, (imagined._Imagined, "_more", lambda _: {}),
    ),
    "what some have added is not what all have": (
        f"{_TAKE} mov.u32 %r7, 0; ROUND: setp.eq.u32 %p4, %r4, 2; selp.u32 %r8, 1, 0, %p4; setp.ne.u32 %p5, %r8, %r7; "
        "@%p5 bra NOT; setp.lt.u32 %p3, %t0, 1; @%p3 bra NOT; red.global.add.u32 [%rd3+8], 1; NOT: bar.sync 0; "
        "@%p1 ld.global.u32 %r6, [%rd3+8]; "
        "@%p1 st.global.u32 [%rd1+32], %r6; bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p5, %r7, 2; @!%p5 bra END; "
        "@%p1 st.global.u32 [%rd1+36], %r6; bra ROUND;", {"grid": 1, "block": 3, "start": (0, 0, 0)},
        (imagined._Imagined, "_goes_with", lambda self, a, b, settled: _GOES_WITH(self, a, b, dict.fromkeys(settled, 0))),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, size, (place, condition, none) = _WRONG[name]
    test = _kernel(body, **size)
    assert _by_errands(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert _by_errands(test) is not None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1
