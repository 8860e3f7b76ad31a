"""Tensor Memory in launches that one run decides: a right ring, and each mistake in it."""

from __future__ import annotations

from typing import NamedTuple

import ptxas
import pytest
from by_runs import by_runs
from campaigns import some
from tensor_memory_kernels import AFTER, ALLOC, BEFORE, COMMIT, DEALLOC, LOAD, PRODUCT, RING, WAIT_LD, changed, ring

import ptxmm
from ptxmm.result import Result


class Mistake(NamedTuple):
    """What is written instead of what, and what comes of it: the verdict, words of the reason, and of an instruction that is
    told."""

    changes: tuple[tuple[str, str], ...]
    verdict: str
    said: str
    where: str


_OPEN = "an access that nothing orders with that of an asynchronous operation"
_RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
_MULTIPLY = "MULTIPLY:\n setp.ne.u32 %p0, %t, 160; @%p0 bra END;\n"
_DONE = "DONE: mbarrier.try_wait.parity.shared.b64 %p1, [done], 0; @!%p1 bra DONE;"
MISTAKES = {
    "no wait for the products": Mistake(((_DONE, ""),), "undefined", _OPEN, LOAD),
    "no commit of a stage": Mistake(((f" {COMMIT} [%r8];\n", ""),), "no", "deadlock", "DONE:"),
    "no commit at the end": Mistake(((f" {COMMIT} [done];\n", ""),), "no", "deadlock", "DONE:"),
    "a wait for the phase before": Mistake((("[done], 0; @!", "[done], 1; @!"),), "undefined", _OPEN, LOAD),
    "a commit before the products": Mistake(((f"{COMMIT} [done];", ""), (_MULTIPLY, f"{_MULTIPLY} {COMMIT} [done];\n")),
                                            "undefined", "the first one need not be complete", LOAD),
    "no fence behind the wait for products": Mistake(((f"bra DONE;\n {AFTER}", "bra DONE;"),), "undefined",
                                                     "tcgen05.fence::after_thread_sync is missing behind the wait", LOAD),
    "no fence before the last barrier": Mistake(((f" {BEFORE}\n bar.sync 1", " bar.sync 1"),), "undefined",
                                                "tcgen05.fence::before_thread_sync", DEALLOC),
    "no wait for the loads": Mistake(((f" {WAIT_LD}\n", ""),), "undefined", "tcgen05.wait::ld is missing", LOAD),
    "no barrier before columns are given back": Mistake(((" bar.sync 1, 128;", ""),), "undefined", _OPEN, DEALLOC),
    "columns are never given back": Mistake(((DEALLOC, ""),), "undefined", "that are allocated when the CTA ends", ALLOC),
    "fewer columns are given back": Mistake(((ALLOC, ALLOC.replace("32;", "64;")),), "undefined", "allocated are 64", DEALLOC),
    "an allocation behind the last one": Mistake(((f"{ALLOC}\n {_RELINQUISH}", f"{_RELINQUISH} {ALLOC}"),), "undefined",
                                                 "has relinquished its right", ALLOC),
    "a column that is taken for granted": Mistake((("ld.shared.b32 %base, [base];", "mov.u32 %base, 0;"),), "undefined",
                                                  "column 0 of tensor memory is not allocated", PRODUCT),
    "no barrier behind the allocation": Mistake(((f" {BEFORE}\n bar.sync 0;", ""),), "undefined", _OPEN, "ld.shared.b32 %base"),
    "another warp's lanes": Mistake((("%t, 0x60;", "%t, 0x40;"),), "undefined", "warp 1 has lanes 32 to 63", LOAD),
    "products of two shapes": Mistake(((PRODUCT, f"{PRODUCT} {PRODUCT.replace('0x804', '0x404')}"),), "undefined",
                                      "the first one need not be complete", PRODUCT),
    "a stage is given back early": Mistake(((f"{PRODUCT}\n {COMMIT} [%r8];", f"{COMMIT} [%r8];\n {PRODUCT}"),), "undefined",
                                           _OPEN, "cp.async.bulk.tensor"),
    "a stage is waited for without acquiring": Mistake((("parity.shared.b64 %p1, [%r8]",
                                                         "parity.relaxed.cluster.shared.b64 %p1, [%r8]"),),
                                                       "undefined", _OPEN, "cp.async.bulk.tensor"),
    "a stage is filled early": Mistake((("setp.lt.u32 %p1, %r2, 2; @%p1 bra GO;", "bra GO;"),), "undefined",
                                       "more arrivals than the mbarrier object waits for", "expect_tx"),
    "a phase bit of the producer": Mistake((("xor.b32 %r5, %r5, 1", "xor.b32 %r5, %r5, 0"),), "undefined",
                                           "more arrivals than the mbarrier object waits for", "expect_tx"),
    "more bytes expected": Mistake((("4608;", "4624;"),), "no", "deadlock", "DONE:"),
    "fewer bytes expected": Mistake((("4608;", "4592;"),), "no", "deadlock", "DONE:"),
}  # fmt: skip
#: What no run decides: of which the manual does not say whether it is ordered, or what it is.
OPEN = {
    "no fence behind the wait for a stage": (((f"bra FULL;\n {AFTER}", "bra FULL;"),), "no tcgen05.fence::after_thread_sync"),
    "a branch on an address": (((_MULTIPLY, f"{_MULTIPLY} setp.eq.u32 %p4, %base, 0; @%p4 bra END;\n"),),
                               "an address of Tensor Memory"),
    "an address in the result": ((("[%rd1+0], %f0;", "[%rd1+0], %base;"),), "an address of Tensor Memory"),
}  # fmt: skip


_GIVEN = "ld.shared.b32 %base, [base];"
_REUSED = f"""{_GIVEN}
 bar.sync 0; setp.eq.u32 %p4, %t, 0; @%p4 STORE; bar.sync 0;
 ld.shared.b32 %r25, [base]; setp.eq.u32 %p4, %r25, -1; @%p4 bra END;"""


@pytest.mark.parametrize(
    ("store", "open_of"),
    [
        ("st.shared.b32 [base], 7", ""),
        ("st.shared.b8 [base], %r2", "an address of Tensor Memory"),  # half of it is still there
        ("st.relaxed.cta.shared.b32 [base], 7", "an address of Tensor Memory"),
    ],
)
def test_shared_memory_that_held_an_address_may_be_used_again(store: str, open_of: str) -> None:
    open_, result = by_runs(ring((_GIVEN, _REUSED.replace("STORE", store))))
    assert (open_of in open_) and (bool(open_) == bool(open_of))
    assert open_of or result.verdict == "ok"


def test_a_race_is_told_before_what_the_run_does_not_come_to() -> None:
    """That memory which nobody accessed holds an address there is no reason to doubt it."""
    racing = f"""{_GIVEN} st.shared.b32 [s+96], %t; bar.sync 0;
 st.shared.b32 [s+64], %base; bar.sync 0; ld.shared.b32 %r25, [s+32]; setp.ne.u32 %p4, %r25, 0; @%p4 bra END;"""
    assert by_runs(ring((_GIVEN, racing)))[1].verdict == "no"


def told(result: Result) -> str:
    """What a result says of itself and of its checks."""
    return " ".join([result.error or "", *(c.message for c in result.checks)])


def test_the_ring_is_decided_at_its_size() -> None:
    open_, result = by_runs(ring())
    assert (open_, result.verdict, [c.holds for c in result.checks]) == ("", "ok", [True, True, True])
    assert "asynchronous operations" in result.notes[0]
    assert result.notes[1] == "no address, branch or count depends on the contents of out, a, b"


@pytest.mark.parametrize(
    "changes",
    [
        (("parity.shared.b64 %p1, [done]", "parity.relaxed.cluster.shared.b64 %p1, [done]"),),  # section 9.7.16.6.4.4
        ((f" bar.sync 1, 128;\n {AFTER}", " bar.sync 1, 128;"),),  # to give back is synchronous: section 9.7.16.6.1
    ],
)
def test_what_the_manual_does_not_ask_for_may_be_left_out(changes: tuple[tuple[str, str], ...]) -> None:
    assert by_runs(ring(*changes))[1].verdict == "ok"


@pytest.mark.parametrize("name", some(12, MISTAKES))
def test_each_mistake_is_told_at_its_line(name: str) -> None:
    mistake = MISTAKES[name]
    test = ring(*mistake.changes)
    open_, result = by_runs(test)
    assert not open_ and result.verdict == mistake.verdict, (open_, told(result))
    assert mistake.said in told(result)
    text = test.launches[0].text.splitlines()
    spots = [spot.line for spot, _ in result.places] + [s.line for c in result.checks for s, _ in c.spots]
    found = [text[line - 1] for line in spots if line]
    assert any(mistake.where in line for line in found), found


def test_columns_are_given_back_once() -> None:
    """Each of four warps gives them back, and begins to before the others have done so."""
    _, result = by_runs(ring((f"@%p0 bra END;\n {DEALLOC}", DEALLOC)))
    assert result.verdict == "undefined" and "are deallocated; allocated are none" in told(result)


@pytest.mark.long
@pytest.mark.parametrize("name", some(2, OPEN))
def test_what_is_open_is_named(name: str) -> None:
    changes, said = OPEN[name]
    result = ptxmm.check(ring(*changes))
    assert result.verdict == "undecided" and said in told(result)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0 here")
@pytest.mark.parametrize("name", some(12, ["", *MISTAKES, *OPEN]))
def test_ptxas_accepts_it(name: str) -> None:
    changes = MISTAKES[name].changes if name in MISTAKES else OPEN[name][0] if name else ()
    assert not ptxas.check_module(changed(RING, changes))
