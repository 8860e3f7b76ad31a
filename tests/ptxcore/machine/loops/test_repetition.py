"""Loops as they were before compilers unrolled and turned them: found, and only where nobody can tell."""

from __future__ import annotations

from explored_kernels import X, Y, effects, kernel, one

from ptxcore.values.terms import evaluate

POLL = "ld.relaxed.gpu.u32 %r{n}, [%d1]; setp.ne.u32 %p{n}, %r{n}, 0; @%p{n} bra DONE;\n"
WAIT = "L: ld.relaxed.gpu.u32 %r9, [%d1]; setp.eq.u32 %p8, %r9, 0; @%p8 bra L;\n"


def test_looks_before_a_loop_that_looks_are_one() -> None:
    polls = "".join(POLL.format(n=n) for n in range(1, 6))
    x = one(kernel(f"{polls}{WAIT}DONE: st.global.u32 [%d2], 1; ret;"))
    assert effects(x) == [("load", X), ("store", Y, 1)] and len(x.stuck) == 1 and not x.cuts


def test_looks_without_a_loop_behind_them_are_one_and_may_all_fail() -> None:
    polls = "".join(POLL.format(n=n) for n in range(1, 6))
    x = one(kernel(f"{polls}st.global.u32 [%d2], 2; DONE: ret;"))
    assert [e.kind for e in x.effects] == ["load", "store"]
    assert [evaluate(x.effects[1].guard, {x.effects[0].result: v}) for v in (0, 1)] == [1, 0]


def test_looks_whose_finds_are_used_are_kept() -> None:
    used = (
        "".join(POLL.format(n=n) for n in (1, 2)) + "st.global.u32 [%d2], 2; ret; DONE: st.global.u32 [%d2], %r1; ret;"
    )
    x = one(kernel("mov.u32 %r1, 5;" + used))
    assert [e.kind for e in x.effects].count("load") == 2


def test_looks_at_other_places_are_others() -> None:
    body = POLL.format(n=1) + POLL.format(n=2).replace("%d1", "%d2") + "DONE: ret;"
    assert [e.address for e in one(kernel(body)).effects] == [X, Y]
    body = POLL.format(n=1) + POLL.format(n=2).replace("relaxed", "acquire") + "DONE: ret;"
    assert [e.semantics for e in one(kernel(body)).effects] == ["relaxed", "acquire"]
    body = POLL.format(n=1) + POLL.format(n=2).replace(", 0;", ", 1;") + "DONE: ret;"
    assert len(one(kernel(body)).effects) == 2


def test_two_looks_in_turn_are_done_as_often_as_they_stand_there() -> None:
    # That one found 0 and the other one 1 does not happen twice: what the second acquires is there for the first one then.
    both = "ld.relaxed.gpu.u32 %r1, [%d1]; ld.acquire.gpu.u32 %r2, [%d2]; setp.lt.u32 %p1, %r1, %r2; @!%p1 bra DONE;\n"
    assert [e.kind for e in one(kernel(f"{2 * both}st.global.u32 [%d2], 2; DONE: ret;")).effects] == 4 * ["load"] + [
        "store"
    ]
    wait = f"L: {both.replace('@!%p1 bra DONE', '@%p1 bra L')}"
    assert [e.kind for e in one(kernel(f"{2 * both}{wait} DONE: ret;")).effects] == 2 * ["load"]


def test_what_writes_is_done_as_often_as_it_stands_there() -> None:
    trying = POLL.replace("ld.relaxed.gpu.u32 %r", "atom.inc.u32 %r").replace("[%d1]", "[%d1], 9")
    tries = "".join(trying.format(n=n) for n in (1, 2))
    assert [e.kind for e in one(kernel(f"{tries}DONE: ret;")).effects] == ["atom", "atom"]


def test_a_loop_that_waits_for_a_change_begins_with_what_it_read_last() -> None:
    # As libcu++ waits: while (old = load) != 0, look until it changes.
    body = """
        ld.acquire.gpu.u32 %r5, [%d1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE;
        AGAIN: ld.relaxed.gpu.u32 %r6, [%d1]; setp.eq.u32 %p2, %r6, %r5; @%p2 bra AGAIN;
        ld.acquire.gpu.u32 %r5, [%d1]; setp.ne.u32 %p3, %r5, 0; @%p3 bra AGAIN;
        DONE: st.global.u32 [%d2], 1; ret;
    """
    x = one(kernel(body))
    assert not x.cuts and [e.kind for e in x.effects] == ["load", "load", "store"]
    first, look, store = x.effects
    for old, new in ((0, 0), (1, 0), (1, 1)):
        assert evaluate(store.guard, {first.result: old, look.result: new}) == (old == 0)
    assert x.finishes is store.guard


def test_a_loop_begins_with_what_it_read_last_where_its_end_jumps_back_too() -> None:
    # As nvcc ends it where something else stands behind: out, or else back by a jump of its own.
    body = """
        ld.acquire.gpu.u32 %r5, [%d1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE;
        AGAIN: ld.relaxed.gpu.u32 %r6, [%d1]; setp.eq.u32 %p2, %r6, %r5; @%p2 bra AGAIN;
        ld.acquire.gpu.u32 %r5, [%d1]; setp.eq.u32 %p3, %r5, 0; @%p3 bra DONE;
        bra.uni AGAIN;
        DONE: st.global.u32 [%d2], 1; ret;
    """
    x = one(kernel(body))
    assert not x.cuts and [e.kind for e in x.effects] == ["load", "load", "store"] and len(x.stuck) == 2


def test_a_turned_loop_that_counts_still_counts() -> None:
    body = """
        mov.u32 %r1, 0; ld.global.u32 %r5, [%d1]; setp.le.u32 %p1, %r5, %r1; @%p1 bra DONE;
        AGAIN: st.global.u32 [%d2], %r1; add.u32 %r1, %r1, 1;
        ld.global.u32 %r5, [%d1]; setp.gt.u32 %p2, %r5, %r1; @%p2 bra AGAIN;
        DONE: ret;
    """
    x = one(kernel(body), unroll=2)
    assert [e.kind for e in x.effects] == ["load", "store", "load", "store", "load"]
    assert len(x.cuts) == 1 and x.cuts[0].iterations == 2


def test_turns_of_a_loop_that_does_more_than_wait_are_counted_as_they_stand() -> None:
    # Two blocks, so that the loop's end could be taken for its beginning; the bound allows two iterations of the body.
    body = """
        ld.relaxed.gpu.u32 %r5, [%d1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE;
        AGAIN: atom.inc.u32 %r6, [%d2], 9; setp.eq.u32 %p2, %r6, 4; @%p2 bra AGAIN;
        ld.relaxed.gpu.u32 %r5, [%d1]; setp.ne.u32 %p3, %r5, 0; @%p3 bra AGAIN;
        DONE: ret;
    """
    x = one(kernel(body), unroll=2)
    reads = [e.result for e in x.effects if e.kind == "load"]
    takes = [e.result for e in x.effects if e.kind == "atom"]
    values = {**dict.fromkeys(reads, 1), **dict.fromkeys(takes, 0), reads[2]: 0}
    assert len(reads) == 3 and evaluate(x.finishes, values) == 1


def test_labels_of_blocks_that_became_one_still_name_their_loop() -> None:
    body = "A: B: atom.exch.b32 %r1, [%d1], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra A; ret;"
    made = kernel(body)
    assert [one(made.bounded({name: 6})).cuts[0].iterations for name in "AB"] == [6, 6]


def in_turns(count: int, wait: str = "") -> str:
    """As compilers write `for (i = 0; i < count; ++i) { while (load(x) != i) {} y = i; }`: both loops begin at one block."""
    wait = wait or "ld.relaxed.gpu.u32 %r2, [%d1]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra L;"
    return (
        f"mov.u32 %r1, 0; L: {wait} st.global.u32 [%d2], %r1; add.u32 %r1, %r1, 1;\n"
        f"setp.lt.u32 %p2, %r1, {count}; @%p2 bra L; ret;"
    )


def test_a_wait_that_begins_a_turn_is_a_loop_of_its_own() -> None:
    x = one(kernel(in_turns(3)), unroll=1)
    assert effects(x) == [e for i in range(3) for e in (("load", X), ("store", Y, i))]
    assert len(x.stuck) == 3 and not x.cuts


def test_turns_that_wait_are_followed_to_the_last_where_their_number_is_known() -> None:
    x = one(kernel(in_turns(9)))
    assert [e.kind for e in x.effects] == ["load", "store"] * 9 and not x.cuts


def test_turns_of_which_some_wait_and_some_leave_are_counted() -> None:
    leaves = "ld.relaxed.gpu.u32 %r2, [%d1]; setp.eq.u32 %p1, %r2, 77; @%p1 bra D;"
    x = one(kernel(in_turns(9, leaves).replace("ret;", "D: ret;")), unroll=2)
    assert [e.kind for e in x.effects] == ["load", "store"] * 2 and len(x.cuts) == 1


def test_a_look_that_turns_carry_on_is_no_loop_of_its_own() -> None:
    carried = "setp.ge.u32 %p3, %r2, %r1; @%p3 bra W; ld.relaxed.gpu.u32 %r2, [%d1]; bra L; W:"
    x = one(kernel("mov.u32 %r2, 0;" + in_turns(2, carried)), unroll=3)
    assert x.cuts
