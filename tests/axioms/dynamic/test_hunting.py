"""Runs that look for something wrong: what they show is so, and a single older value is looked for at once."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.kernels.bugs import AT_ONCE
from ptxmm.kernels.hunting import RaceOf, hunt
from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.several import FailedExecution
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [out];
 mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
 mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST;
 {second} bra END;
FIRST:
 {first}
END:
 ret;
}}
"""


def _test(first: str, second: str, **checks: object) -> KernelTest:
    params = {name: {"type": "u32", "elements": 1} for name in ("x", "y", "out")}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64, "params": params, "check": checks}
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TEXT.format(first=first, second=second)}).test()


def _never(_: FinalValues) -> bool:
    return False


#: A loop that looks at two places, one after the other: no round of it leads back with nothing seen.
_LOOKS_TWICE = (
    "mov.u32 %r5, 0; LOOP: ld.acquire.gpu.u32 %r3, [%rd1]; sub.u32 %r4, %r3, %r5; setp.eq.u32 %p2, %r4, 1; @%p2 bra DONE; "
    "ld.relaxed.gpu.u32 %r5, [%rd2]; bra LOOP; DONE: st.global.u32 [%rd3], %r3;"
)


@pytest.mark.long
def test_who_is_made_to_wait_goes_on_later() -> None:
    """The run lets the first CTA wait before its store until nobody else gets on, and the second one looks meanwhile."""
    test = _test("st.release.gpu.u32 [%rd1], 1;", _LOOKS_TWICE, terminates=True)
    assert hunt(Runs(test, watched=True), _never, 1, ("operation",)) is None


@pytest.mark.long
def test_who_waits_by_itself_does() -> None:
    test = _test("st.release.gpu.u32 [%rd1], 2;", _LOOKS_TWICE, terminates=True)
    wrong = hunt(Runs(test, watched=True), _never, 1, ("",))
    assert isinstance(wrong, FailedExecution) and wrong.state is None


_PUT = "st.volatile.global.u32 [%rd1], 7; fence.sc.gpu; st.volatile.global.u32 [%rd2], 1;"
_GET = (
    "LOOP: ld.volatile.global.u32 %r3, [%rd2]; setp.ne.u32 %p2, %r3, 1; @%p2 bra LOOP; {fence} "
    "ld.volatile.global.u32 %r4, [%rd1]; st.global.u32 [%rd3], %r4;"
)


@pytest.mark.parametrize(("fence", "found"), [("", True), ("fence.sc.gpu;", False)])
def test_a_value_that_is_out_of_date_shows_at_once(fence: str, found: bool) -> None:
    test = _test(_PUT, _GET.format(fence=fence), forall="out[0] == 7")
    wrong = hunt(Runs(test, watched=True), lambda state: state["out[0]"] != 7, AT_ONCE, ("",))
    assert isinstance(wrong, FailedExecution) is found
    assert ptxmm.check(test).verdict == ("no" if found else "ok")


_TICKET = (
    "atom.relaxed.gpu.add.u32 %r3, [%rd1], 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra END; "
    "LOOP: ld.acquire.gpu.u32 %r4, [%rd2]; setp.eq.u32 %p2, %r4, 0; @%p2 bra LOOP;"
)


def test_where_it_waits_is_told_of_a_later_run() -> None:
    """The first run ends at tickets whose order is open, and says nothing of who waits."""
    result = ptxmm.check(_test(_TICKET, _TICKET.replace("LOOP", "AGAIN"), terminates=True))
    (check,) = result.checks
    assert result.verdict == "no" and "spins at 'ld.acquire.gpu.u32'" in check.message
    assert [what for _, what in check.spots] == ["threads do not terminate (deadlock) here"]


_COUNTS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
 red.relaxed.gpu.add.u32 [%rd1], 1;
 setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
 st.relaxed.gpu.u32 [%rd2], %r2;
END:
 ret;
}
"""


def test_many_operations_that_commute_hide_no_order_of_two_others() -> None:
    """Each pair of the 256 additions could come in another order; so could the two stores, which alone matters."""
    params = {name: {"type": "u32", "elements": 1} for name in ("x", "y")}
    checks = {"forall": "x[0] == 256 && y[0] == 1"}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 128, "params": params, "check": checks}
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _COUNTS}).test()
    wrong = hunt(Runs(test, watched=True), lambda state: state["y[0]"] != 1, 12, ("",))
    assert isinstance(wrong, FailedExecution) and wrong.state is not None and wrong.state["y[0]"] == 0


def test_a_race_that_nobody_asks_for_hides_no_outcome() -> None:
    """The first CTA overwrites what the second one has put there; only where it comes last is the outcome another one."""
    first = "st.global.u32 [%rd2], 1; atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1; st.global.u32 [%rd3], %r3;"
    second = "st.global.u32 [%rd2], 2; atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;"
    test = _test(first, second, forall="out[0] == 0")
    wrong = hunt(Runs(test, watched=True), lambda state: state["out[0]"] != 0, 12, ("",))
    assert isinstance(wrong, FailedExecution) and wrong.state == {"out[0]": 1}
    asked = _test(first, second, forall="out[0] == 0", race_free=True)
    assert isinstance(hunt(Runs(asked, watched=True), _never, 1, ("",)), RaceOf)


_READERS_AND_WRITERS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; @%p1 bra WRITES;
AGAIN:
 atom.relaxed.gpu.add.u32 %r3, [%rd1], 1; setp.ge.s32 %p2, %r3, 0; @%p2 bra READS;
LOOK:
 ld.relaxed.gpu.u32 %r3, [%rd1]; setp.lt.s32 %p2, %r3, 0; @%p2 bra LOOK; bra AGAIN;
READS:
 atom.relaxed.gpu.add.u32 %r3, [%rd1], -1; ret;
WRITES:
 atom.relaxed.gpu.cas.b32 %r3, [%rd1], 0, -2147483648; setp.ne.u32 %p2, %r3, 0; @%p2 bra WRITES;
 atom.relaxed.gpu.add.u32 %r3, [%rd1], -2147483648; ret;
}
"""


def test_where_no_thread_has_come_yet_one_goes_at_once() -> None:
    """A reader that counts itself while somebody writes, and does not take that back, lets no writer in any more: among the
    orders of eight CTAs a run with that is rare."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 8, "block": 1, "params": {"x": {"type": "u32", "elements": 1}},
        "check": {"terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _READERS_AND_WRITERS}).test()
    wrong = hunt(Runs(test, watched=True), _never, 12)
    assert isinstance(wrong, FailedExecution) and wrong.state is None
