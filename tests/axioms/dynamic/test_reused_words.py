"""Words that strong operations access, in memory that held nothing before, or that holds something else later."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs

from axioms.dynamic.lookback import confluent
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 x)
{
 .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<5>; .shared .align 8 .b32 s[2]; .shared .align 4 .b32 t[1];
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [x]; mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0;
"""
#: CTAs take tickets. Thread 0 adds to each of two words, of which thread 1 makes another one.
_TICKET = """ @%p bra WAIT;
 atom.global.add.u32 %r2, [%rd1], 1; st.shared.u32 [t], %r2; mov.u32 %r5, 0; st.shared.u32 [s], %r5; st.shared.u32 [s+4], %r5;
WAIT: bar.sync 0; ld.shared.u32 %r2, [t]; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd2, %rd3; @%p bra SECOND;
 atom.shared.add.u32 %r3, [s], 1; atom.shared.add.u32 %r4, [s+4], %r3;
"""
_REUSES = f"""{_TICKET}SECOND: bar.sync 0; @!%p bra OUT;
 mov.u64 %rd4, 1; st.shared.u64 [s], %rd4; ld.shared.u32 %r6, [s]; st.global.u32 [%rd2], %r6;
OUT:"""


def _test(body: str, check: str, ctas: int, threads: int) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "grid": ctas, "block": threads,
        "params": {"c": {"type": "u32", "elements": 1}, "x": {"type": "u32", "elements": 64}},
        "check": {"forall": check, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": f"{_HEAD}{body} ret;\n}}\n"}).test()


def test_a_weak_write_behind_them_makes_another_word_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    test = _test(_REUSES, "x[0] == 1 && x[1] == 1", 2, 2)
    assert (by_runs(test)[1].verdict, by_formula(test, monkeypatch).verdict) == ("ok", "ok")


def test_forgetting_them_without_order_is_no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shadow of the accesses stays: what is unordered with one that was forgotten is a race all the same."""
    places: list[int] = []
    forget: Any = confluent._forget
    monkeypatch.setattr(confluent, "_forget", lambda of, access: (places.append(len(of)), forget(of, access)))
    by_runs(_test(_REUSES, "x[0] == 1 && x[1] == 1", 2, 2))
    assert places
    unordered = _REUSES.replace("SECOND: bar.sync 0;", "SECOND:")
    assert by_runs(_test(unordered, "x[0] == 1 && x[1] == 1", 2, 2))[1].verdict != "ok"


_FIRST = """ @%p bra WAIT;
 mov.u32 %r2, 7; st.volatile.shared.u32 [s], %r2;
WAIT: {barrier} ld.volatile.shared.u32 %r3, [s]; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r3;
"""


@pytest.mark.parametrize("threads", [2, 40])
def test_a_strong_store_may_be_the_first_to_its_bytes(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _test(_FIRST.format(barrier="bar.sync 0;"), "x[0] == 7 && x[1] == 7", 1, threads)
    assert by_runs(test)[1].verdict == "ok"
    if threads == 2:
        assert by_formula(test, monkeypatch).verdict == "ok"


def test_what_was_there_before_it_is_not_known() -> None:
    assert by_runs(_test(_FIRST.format(barrier=""), "x[0] == 7 && x[1] == 7", 1, 40))[1].verdict != "ok"
