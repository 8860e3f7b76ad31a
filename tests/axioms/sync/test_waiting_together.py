"""Threads of one warp that wait for each other: one rule for shuffles, votes, matches, reductions and arrivals at barriers,
and both engines keep it. Each case says whether its threads can get to their ends; none is undefined (PTX ISA 9.0, 9.7.9.6,
9.7.13.1, 9.7.13.9 to 9.7.13.12: "wait until all non-exited threads corresponding to membermask have executed ... with the same
qualifiers and same membermask value")."""

from __future__ import annotations

import pytest

import ptxmm

REDUX, MATCH = "redux.sync.add.s32 %r0, 3, 0x3;", "match.any.sync.b32 %r9, 0, 0x3;"
SHFL, VOTE = (
    "shfl.sync.idx.b32 %r3, 3, 0, 31, 0x3;",
    ".reg .pred p, q; setp.eq.u32 p, 0, 0; vote.sync.{}.pred q, p, 0x3;",
)
STORE, IF_READ = (
    "st.relaxed.sys.global.u32 [x], 1;",
    "ld.relaxed.sys.u32 %r1, [y]; .reg .pred c; setp.eq.u32 c, %r1, 1;",
)

#: What lanes 0 and 1 of warp 0 do, and a thread of warp 1; whether all can end, in some execution.
CASES = {
    # A thread that has exited is not waited for, whatever it did before.
    "a lane that does nothing": (REDUX, "mov.u32 %r0, 7;", "", True),
    "a lane that exits": (REDUX, "exit;", "", True),
    "a lane that stores": (REDUX, "st.relaxed.sys.u32 [y], 1;", "", True),
    "a lane that loads": (REDUX, "ld.relaxed.sys.u32 %r1, [y];", "st.relaxed.sys.u32 [y], 1;", True),
    "barriers of another warp": (REDUX, "mov.u32 %r0, 7;", "barrier.sync 1, 32;", True),
    "a lane behind its own mask": (REDUX, "redux.sync.add.s32 %r0, 3, 0x2;", "", True),
    "a lane with an earlier vote of its own": (REDUX, "redux.sync.add.s32 %r0, 3, 0x2; " + REDUX, "", True),
    # One that waits elsewhere is.
    "another instruction": (REDUX, MATCH, "", False),
    "a shuffle": (REDUX, SHFL, "", False),
    "other qualifiers": (VOTE.format("any"), VOTE.format("all"), "", False),
    "another mask": (REDUX, "redux.sync.add.s32 %r0, 3, 0x7;", "", False),
    "the same two the other way round": (REDUX + MATCH, MATCH + REDUX, "", False),
    "once and twice": (REDUX, REDUX + REDUX, "", True),
    "a barrier of the CTA": (REDUX, "bar.sync 1, 64;", "barrier.sync 1, 64;", False),
    "a barrier of the warp": (REDUX, "bar.warp.sync 3;", "", False),
    "an arrival, which waits for its warp": (REDUX, "bar.arrive 1, 64;", "barrier.sync 1, 64;", False),
    "an arrival of both": (REDUX + "bar.arrive 1, 64;", REDUX + "bar.arrive 1, 64;", "barrier.sync 1, 64;", True),
    "an arrival before and one behind": (
        "bar.arrive 1, 64;" + REDUX, REDUX + "bar.arrive 1, 64;", "barrier.sync 1, 64;", False,
    ),
    "arrivals at two barriers": ("bar.arrive 1, 32; bar.arrive 2, 32;", "bar.arrive 2, 32; bar.arrive 1, 32;", "", False),
    "an arrival of a lane alone": ("", "bar.arrive 1, 64;", "barrier.sync 1, 64;", True),
    # Who comes may hang on what is read.
    "a lane that comes if it reads 1": (REDUX, IF_READ + "@!c exit; " + REDUX, "st.relaxed.sys.u32 [y], 1;", True),
    "a lane that waits elsewhere unless it reads 1": (REDUX, IF_READ + "@!c " + MATCH + "@c " + REDUX, "", False),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(("first", "second", "third", "ends"), CASES.values(), ids=CASES)
def test_who_waits_for_whom(first: str, second: str, third: str, ends: bool, engine: str) -> None:
    text = f"""PTX t
{{ x = 0; y = 0; }}
P0@warp 0,cta 0 {{ {first} {STORE} }}
P1@warp 0,cta 0 {{ {second} }}
P2@warp 1,cta 0 {{ {third or "mov.u32 %r0, 7;"} }}
exists (x = 1)
"""
    result = ptxmm.check(ptxmm.parse(text), engine=engine)
    assert result.verdict == ("ok" if ends else "no"), result.error
    assert bool(result.states) == ends
