"""Loops that try a compare-and-swap again look again: they only wait then. Only where nobody can tell, and with the same
answers as loops that are followed iteration by iteration."""

from __future__ import annotations

import random

import pytest
from explored_kernels import X, kernel, one

import ptxmm
from ptxcore.machine.loops import passes

LOOK = "ld.relaxed.gpu.u32 %r1, [%d1];"
TRY = "atom.relaxed.gpu.cas.b32 %r3, [%d1], %r1, %r2; setp.ne.u32 %p1, %r3, %r1; mov.u32 %r1, %r3; @%p1 bra L; ret;"
LOOP = f"{LOOK} L: add.u32 %r2, %r1, 3; {TRY}"


def kinds(body: str) -> tuple[list[str], int]:
    x = one(kernel(body), unroll=3)
    return [e.kind for e in x.effects], len(x.cuts)


def test_a_try_that_failed_looks_again() -> None:
    x = one(kernel(LOOP))
    look, swap = x.effects
    assert (look.kind, look.address, swap.kind, swap.address) == ("load", X, "atom", X)
    assert not x.cuts and len(x.stuck) == 1


def test_what_the_loop_does_before_it_tries_may_be_copied() -> None:
    # As libcu++ acquires a semaphore: while old != 0 and the try fails.
    body = f"""
        {LOOK} setp.eq.u32 %p2, %r1, 0; @%p2 bra DONE; add.u32 %r2, %r1, -1;
        atom.relaxed.gpu.cas.b32 %r5, [%d1], %r1, %r2; setp.eq.u32 %p3, %r5, %r1; @%p3 bra DONE;
        L: setp.ne.u32 %p4, %r5, 0; @!%p4 bra DONE; add.u32 %r6, %r5, -1;
        atom.relaxed.gpu.cas.b32 %r7, [%d1], %r5, %r6; setp.ne.u32 %p5, %r7, %r5; mov.u32 %r5, %r7; @%p5 bra L;
        DONE: st.global.u32 [%d2], 1; ret;
    """
    assert kinds(body) == (["load", "atom", "store"], 0)
    for old, new in (
        ("%r5, -1", "%r5, -2"),
        ("%p4, %r5, 0", "%p4, %r5, 1"),
        ("cas.b32 %r7, [%d1]", "cas.b32 %r7, [%d2]"),
    ):
        assert kinds(body.replace(old, new))[1] > 0


@pytest.mark.parametrize(
    "old, new",
    [
        ("ld.relaxed", "ld.acquire"),  # orders more than what fails
        ("ld.relaxed.gpu", "ld.relaxed.sys"),
        ("ld.relaxed.gpu.u32 %r1, [%d1]", "ld.relaxed.gpu.u32 %r1, [%d2]"),  # something else
        ("L: add", "L: st.global.u32 [%d2], %r1; add"),  # an iteration that does more than look
        ("setp.ne.u32 %p1, %r3, %r1", "setp.ne.u32 %p1, %r3, %r2"),  # not for failing
        ("setp.ne.u32 %p1, %r3, %r1", "setp.eq.u32 %p1, %r3, %r1"),  # for succeeding
        ("mov.u32 %r1, %r3", "add.u32 %r1, %r3, 1"),  # with something else than what was found
        ("L: add", "bar.sync 0; L: add"),
        ("L: add", "add.u32 %r4, %r4, 1; L: st.global.u32 [%d2], %r4; add.u32 %r4, %r4, 1; add"),
    ],
)
def test_other_loops_are_followed_turn_by_turn(old: str, new: str) -> None:
    body = "mov.u32 %r4, 0;" + LOOP
    assert old in body and kinds(body)[1] == 0
    assert kinds(body.replace(old, new, 1))[1] > 0


def test_a_load_that_orders_no_more_than_the_try_will_do() -> None:
    acquiring = LOOP.replace("ld.relaxed", "ld.acquire").replace("atom.relaxed", "atom.acq_rel")
    plain = LOOP.replace("ld.relaxed.gpu", "ld")
    assert kinds(acquiring) == kinds(plain) == (["load", "atom"], 0)


def test_what_is_computed_alike_is_the_same_however_it_is_written() -> None:
    copied = f"""
        {LOOK} add.u32 %r2, %r1, 3;
        atom.relaxed.gpu.cas.b32 %r3, [%d1], %r1, %r2; setp.eq.u32 %p1, %r3, %r1; @%p1 bra DONE;
        L: mov.u32 %r6, %r3; add.u32 %r5, %r6, 1; add.u32 %r5, %r5, 2;
        atom.relaxed.gpu.cas.b32 %r3, [%d1], %r6, %r5; sub.u32 %r7, %r3, %r6; setp.ne.u32 %p2, %r7, 0; @%p2 bra L;
        DONE: ret;
    """
    assert kinds(copied.replace("sub.u32 %r7, %r3, %r6; setp.ne.u32 %p2, %r7, 0", "setp.ne.u32 %p2, %r3, %r6")) == (
        ["load", "atom"],
        0,
    )
    assert kinds(copied.replace("%r5, 2;", "%r5, 3;"))[1] > 0


def test_a_first_try_that_no_load_stands_before_goes_on_with_what_it_found() -> None:
    # It may find 2 and leave; a load in its place may find what came later.
    body = f"""
        ld.global.u32 %r6, [%d2]; setp.eq.u32 %p2, %r6, 5; @%p2 bra M; mov.u32 %r4, 0;
        atom.relaxed.gpu.cas.b32 %r1, [%d1], %r4, 9; setp.eq.u32 %p1, %r1, %r4; @%p1 bra DONE; bra L;
        M: {LOOK}
        L: setp.eq.u32 %p3, %r1, 2; @%p3 bra DONE; add.u32 %r2, %r1, 3; {TRY} DONE: ret;
    """
    assert kinds(body)[1] > 0


#: As a semaphore is taken: where it is empty an iteration polls again, elsewhere it goes on with what the try found.
AGAIN = f"""
    {LOOK} bra L;
    M: {LOOK}
    L: setp.eq.u32 %p2, %r1, 0; @%p2 bra M; add.u32 %r2, %r1, -1; {TRY}"""


def test_a_turn_may_also_look_again_before_it_tries() -> None:
    assert kinds(AGAIN) == (["load", "atom"], 0)
    copied = AGAIN.replace("u32 %r1, [%d1];", "u32 %r5, [%d1]; mov.u32 %r1, %r5;")
    assert kinds(copied) == (["load", "atom"], 0)


def test_a_turn_may_also_go_on_with_something_else_before_it_tries() -> None:
    assert kinds(AGAIN.replace(f"M: {LOOK}", "M: mov.u32 %r1, 1;"))[1] == 0


@pytest.mark.parametrize(
    "old, new",
    [
        (f"M: {LOOK}", "M: ld.global.u32 %r1, [%d1];"),  # the one before the loop is another
        (f"M: {LOOK}", "M: ld.relaxed.gpu.u32 %r1, [%d2];"),
        (f"M: {LOOK}", f"M: {LOOK} add.u32 %r1, %r1, 1;"),
        (f"M: {LOOK}", f"M: {LOOK} add.u64 %d1, %d1, 4;"),  # another address from now on
        (f"{LOOK} bra L", f"{LOOK} add.u64 %d1, %d1, 4; bra L"),
        (f"{LOOK} bra L", f"{LOOK} setp.eq.u32 %p3, %r1, 9; @%p3 bra M; bra L"),
        (f"M: {LOOK}", f"M: {LOOK} st.global.u32 [%d2], 1;"),
    ],
)
def test_where_it_looks_at_something_else_turns_are_followed(old: str, new: str) -> None:
    assert old in AGAIN and kinds(AGAIN.replace(old, new, 1))[1] > 0


PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %d<4>;
    ld.param.u64 %d3, [x]; cvta.to.global.u64 %d1, %d3;
    ld.param.u64 %d3, [y]; cvta.to.global.u64 %d2, %d3;
    mov.u32 %r8, %ctaid.x; setp.ne.u32 %p3, %r8, 0;
    {body}
}}
"""


def random_kernel(seed: int) -> ptxmm.Kernel:
    random_ = random.Random(seed)
    semantics = random_.choice(["relaxed", "acquire", "release", "acq_rel"])
    look = random_.choice(["ld.global", "ld.relaxed.gpu.global", "ld.volatile.global", "ld.acquire.gpu.global"])
    iteration = f"add.u32 %r2, %r1, {random_.randint(1, 3)}; " + random_.choice(["", "ld.global.u32 %r6, [%d2]; "])
    leave = f"setp.ge.u32 %p2, %r1, {random_.randint(1, 3)}; @%p2 bra DONE; "
    wait = f"setp.lt.u32 %p2, %r1, {random_.randint(1, 2)}; @%p2 bra M; "
    body = f"""
    @%p3 bra OTHER;
    st.global.u32 [%d2], 5; {look}.u32 %r1, [%d1]; bra L;
    M: {look}.u32 %r1, [%d1];
    L: {random_.choice(["", leave, wait])}{iteration}atom.{semantics}.gpu.global.cas.b32 %r3, [%d1], %r1, %r2;
    setp.ne.u32 %p1, %r3, %r1; mov.u32 %r1, %r3; @%p1 bra L;
    DONE: ret;
    OTHER: {random_.choice(["st.relaxed.gpu.global.u32 [%d1], 2; ", ""])}
    atom.{random_.choice(["acquire", "relaxed"])}.gpu.global.add.u32 %r4, [%d1], 1;
    ld.global.u32 %r5, [%d2]; st.global.u32 [%d2+4], %r5; st.global.u32 [%d2+8], %r4;
    ret;"""
    return ptxmm.Kernel(
        PTX.format(body=body), grid=2, block=1,
        params={"x": {"type": "u32", "elements": 1}, "y": {"type": "u32", "elements": 3}},
        forall=["x[0] == 9", "y[1] == 5", "y[2] == 0"], race_free=True, terminates=True,
    )  # fmt: skip


@pytest.mark.part(12)
@pytest.mark.parametrize("seed", range(18))
def test_the_answers_are_those_of_loops_that_are_followed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = random_kernel(seed).check()
    others = tuple(p for p in passes.PASSES if p.name != "retries")
    monkeypatch.setattr(passes, "PASSES", others)
    followed = random_kernel(seed).check()
    listed = looking.listed_all and followed.listed_all  # states that decide nothing are listed for a second only
    if followed.complete:
        assert looking.verdict == followed.verdict
        assert looking.states == followed.states or not listed
        assert [(c.kind, c.holds) for c in looking.checks] == [(c.kind, c.holds) for c in followed.checks]
    assert all(state in looking.states for state in followed.states) or not looking.listed_all
    for one_, other in zip(looking.checks, followed.checks, strict=True):
        assert one_.holds is not True or one_.bounded or other.holds is not False, (one_, other)
