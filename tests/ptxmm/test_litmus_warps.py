"""Threads of a litmus test that are in one warp: what they compute together, and what depends on what by way of it."""

from __future__ import annotations

import pytest

import ptxmm

HEAD = """PTX warp
{{ x = 5; y = 6; z = 0; }}
P0@warp 0,cta 0 {{ {} }}
P1@warp 0,cta 0 {{ {} }}
P2@warp 1,cta 1 {{ {} }}
{}
"""
READS = "ld.relaxed.gpu.u32 %r0, [{}];"


def check(first: str, second: str, condition: str, third: str = "", engine: str = "solve") -> ptxmm.Result:
    return ptxmm.check(ptxmm.parse(HEAD.format(first, second, third, condition)), engine=engine)


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    ("instruction", "results"),
    [
        ("shfl.sync.bfly.b32 %r1, %r0, 1, 31, 3;", (6, 5)),
        ("shfl.sync.idx.b32 %r1, %r0, 1, 31, 3;", (6, 6)),
        ("shfl.sync.up.b32 %r1|%p0, %r0, 1, 0, 3; @!%p0 mov.u32 %r1, 9;", (9, 5)),
        ("redux.sync.add.u32 %r1, %r0, 3;", (11, 11)),
        ("redux.sync.max.u32 %r1, %r0, -1;", (6, 6)),
        ("match.any.sync.b32 %r1, %r0, 3;", (1, 2)),
        ("setp.eq.u32 %p0, %r0, 6; vote.sync.ballot.b32 %r1, %p0, 3;", (2, 2)),
        ("elect.sync %r1|%p0, 3; selp.u32 %r1, 1, 0, %p0;", (1, 0)),
        ("mov.u32 %r2, %laneid; add.u32 %r1, %r2, 3;", (3, 4)),
    ],
)
def test_what_a_warp_computes(engine: str, instruction: str, results: tuple[int, int]) -> None:
    condition = f"forall (0:%r1 = {results[0]} /\\ 1:%r1 = {results[1]})"
    result = check(READS.format("x") + instruction, READS.format("y") + instruction, condition, engine=engine)
    assert (result.verdict, result.positive) == ("ok", 1), result


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(("lane", "count"), [(0, 0), (1, 1)])
def test_no_value_comes_out_of_a_circle_through_a_shuffle(engine: str, lane: int, count: int) -> None:
    # Lane 1 writes what the lane that is chosen brought: in a circle with P2 only if that is what lane 0 read.
    shuffle = f"shfl.sync.idx.b32 %r1, %r0, {lane}, 31, 3;"
    result = check(
        f"{READS.format('z')} {shuffle}",
        f"mov.u32 %r0, 7; {shuffle} st.relaxed.gpu.u32 [x], %r1;",
        "exists (2:%r0 = 7 /\\ 0:%r0 = 7)",
        third=f"{READS.format('x')} st.relaxed.gpu.u32 [z], %r0;",
        engine=engine,
    )
    assert result.positive == count
    assert {state["0:%r0"] if "0:%r0" in state else state["0:r0"] for state in result.states} <= {0, 5, 7}


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_who_is_not_named_by_its_mask_has_no_meaning(engine: str) -> None:
    shuffle = "mov.u32 %r0, 1; shfl.sync.idx.b32 %r1, %r0, 0, 31, {};"
    result = check(shuffle.format(2), "", "forall (true)", engine=engine)
    assert result.verdict == "undefined"
    assert "the member mask does not name lane 0" in str(result)
    assert check(shuffle.format(3), "", "forall (0:%r1 = 1)", engine=engine).verdict == "ok"  # lane 1 has ended


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("activemask.b32 %r1;", "'activemask.b32' is not explored: nothing says which threads are together"),
        (
            "redux.sync.add.u32 %r1, 1, 3; match.any.sync.b32 %r1, %r1, 3;",
            "'redux.sync.add.u32' hangs on what it returns itself",
        ),
    ],
)
def test_what_is_not_decided_is_refused_by_name(first: str, message: str) -> None:
    with pytest.raises(ptxmm.InputError, match=message):
        check(first, "match.any.sync.b32 %r1, 1, 3; redux.sync.add.u32 %r1, %r1, 3;", "exists (true)")


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_one_of_two_that_are_on_two_paths_meets(engine: str) -> None:
    either = READS.format("x") + "setp.eq.u32 %p0, %r0, 5; @%p0 redux.sync.add.u32 %r1, %r0, 3;"
    either += "@!%p0 redux.sync.add.u32 %r1, 9, 3; redux.sync.add.u32 %r2, 1, 3;"
    one = "redux.sync.add.u32 %r1, 2, 3; redux.sync.add.u32 %r2, %r1, 3;"
    writes = "st.relaxed.gpu.u32 [x], 6;"
    result = check(either, one, "exists (0:%r1 = 11 /\\ 0:%r2 = 12)", writes, engine)
    assert (result.verdict, len(result.states)) == ("ok", 2)
    assert check(either, one, "exists (0:%r1 = 7 /\\ 1:%r2 = 8)", writes, engine).verdict == "ok"


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    "instruction",
    [
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [s];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {%r0};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r0}, {%r0}, {%r0, %r0};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [s];",
    ],
)
def test_what_a_whole_warp_executes_needs_all_its_threads(engine: str, instruction: str) -> None:
    """PTX ISA 9.0, section 9.7.14: all threads of the warp execute it; two of them have no meaning."""
    text = HEAD.replace("z = 0;", "z = 0; .shared .align 128 .u8 s[512];")
    body = f"mov.u32 %r0, 0; {instruction}"
    with pytest.raises(ptxmm.InputError, match=r"all 32 threads of a warp execute '.*' together; here a warp has 2"):
        ptxmm.check(ptxmm.parse(text.format(body, body, "", "exists (x = 5)")), engine=engine)


@pytest.mark.parametrize("order", ["bar.warp.sync -1;", ""])
def test_a_whole_warp_loads_a_matrix(order: str) -> None:
    """Section 9.7.14.5.15: four threads get the words of each row, here of one, that a thread wrote before the barrier."""
    load = f"{order} mov.u32 %r1, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r0}}, [%r1];"
    threads = [f"P{i}@warp 0,cta 0 {{ {'st.shared.weak.u32 [s], 7;' if i == 0 else ''} {load} }}" for i in range(32)]
    text = "\n".join(("PTX matrix", "{ .shared .align 128 .u8 s[512]; }", *threads, "exists (4:%r0 = 0 \\/ 1:%r0 = 7)"))
    result = ptxmm.check(ptxmm.parse(text), races=True)
    assert (result.positive > 0, bool(result.races)) == ((False, False) if order else (True, True)), result
