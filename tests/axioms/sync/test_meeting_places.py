"""Lanes of a warp meet at what they execute together by qualifiers and member mask, and not by places of the code: solver,
brute force and runs say the same of what they compute there."""

from __future__ import annotations

import random

import pytest
from agreement import note
from campaigns import share
from kernels_campaign import compared

import ptxmm
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError

#: What a thread may do. %p4: it has not seen that the other one got to its end.
STEPS = {
    "redux": "redux.sync.add.u32 %r2, %r2, 3;",
    "perhaps redux": "@%p4 redux.sync.add.u32 %r2, %r2, 3;",
    "other mask": "redux.sync.add.u32 %r2, %r2, -1;",
    "ballot": "setp.eq.u32 %p3, %r2, 11; vote.sync.ballot.b32 %r2, %p3, 3;",
    "match": "match.any.sync.b32 %r2, %r2, 3;",
    "agree": "vote.sync.any.pred %p4, %p4, 3;",
    "not": "not.pred %p4, %p4;",
    "perhaps exit": "@%p4 exit;",
    "load": "ld.relaxed.gpu.global.u32 %r5, [%rd2]; setp.eq.u32 %p4, %r5, 0;",
}
SHUFFLE = "shfl.sync.bfly.b32 %r2, %r2, 1, 31, 3;"


def kernel(first: str, second: str, both: str = "", never: str = "a[1] == 99") -> ptxmm.Kernel:
    text = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd2;
    setp.ne.u32 %p1, %r1, 0; add.u32 %r2, %r1, 10;
    ld.relaxed.gpu.global.u32 %r5, [%rd2];
    setp.eq.u32 %p4, %r5, 0;
    @%p1 bra OTHER;
    {first}
    bra END;
OTHER:
    {second}
END:
    {both}
    st.relaxed.gpu.global.u32 [%rd3+4], %r2;
    @!%p1 st.relaxed.gpu.global.u32 [%rd2], 1;
    ret;
}}
"""
    word = {"type": "u32", "elements": 3}
    return ptxmm.Kernel(
        text, params={"a": word}, grid=1, block=2, never=never, race_free=True, no_deadlock=True, terminates=True,
        no_trap=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "both", "last"),
    [
        # In both arms of a branch: what each lane brings reaches the other one.
        (SHUFFLE, SHUFFLE, "", (11, 10)),
        (STEPS["redux"], "add.u32 %r2, %r2, 5;" + STEPS["redux"], "", (26, 26)),
        # The second of one lane stands where the first of the other one does.
        (SHUFFLE + "add.u32 %r2, %r2, 1;", "", SHUFFLE + "@%p1 " + SHUFFLE, (10, 12)),
        # Who comes where hangs on what is read: each lane's second execution is one of three.
        (
            "@%p4 " + SHUFFLE + "@!%p4 " + SHUFFLE + "add.u32 %r2, %r2, 1;" + SHUFFLE,
            SHUFFLE + "@%p4 " + SHUFFLE + "@!%p4 " + SHUFFLE, "", (10, 12),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_lanes_at_two_places_meet(first: str, second: str, both: str, last: tuple[int, int], engine: str) -> None:
    asked = kernel(first, second, both, never=f"a[1] != {last[0]} || a[2] != {last[1]}")
    result = ptxmm.check(asked.test, engine=engine)
    assert result.verdict == "ok", result


def test_another_mask_is_another_meeting() -> None:
    same_place = "mov.u32 %r3, 3; @%p1 mov.u32 %r3, 7; redux.sync.add.u32 %r2, %r2, %r3;"
    result = compared(0, kernel("", "", same_place), runs=3)
    assert (result.differences, result.kind) == ([], "0 outcomes, not no_deadlock, not terminates")


def test_masks_that_are_no_numbers_on_two_arms_are_refused() -> None:
    use = "redux.sync.add.u32 %r2, %r2, %r7;"
    with pytest.raises(InputError, match="nothing says which threads are together"):
        ptxmm.check(kernel("or.b32 %r7, %r5, 3;" + use, "or.b32 %r7, %r5, 1;" + use).test)


def compare(rng: random.Random) -> None:
    lanes = ["\n    ".join(STEPS[step] for step in rng.choices([*STEPS], k=rng.randrange(n))) for n in (4, 4, 3)]
    try:
        result = compared(0, kernel(*lanes), runs=3)
    except OutOfTime:
        return note(0, {"brute force takes too many steps": 1})
    except InputError as refused:
        assert "hangs on" in str(refused)  # threads that wait for each other, each for what the other one brings
        return note(0, {"what is computed together hangs on itself": 1})
    assert not result.differences, lanes
    note(1, {})


@pytest.mark.long
@pytest.mark.compares(0.8)
def test_of_some_kernels() -> None:
    rng = random.Random(0)
    for _ in range(16):
        compare(rng)


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@pytest.mark.parametrize("part", range(64))
def test_of_many_kernels(part: int) -> None:
    rng = random.Random(1000 + part)
    for _ in range(share(100)):
        compare(rng)
