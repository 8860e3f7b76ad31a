"""Two threads of a warp that come to its barriers, to those of their CTA and their cluster, trap and end, in every order:
solver, brute force and runs say the same of each such kernel."""

from __future__ import annotations

import itertools
import random

import pytest
from agreement import note
from campaigns import lengths, share
from kernels_campaign import compared

import ptxmm
from ptxcore.clock import OutOfTime

#: What a thread may do. %p4: it has not seen that the other one got to its end.
STEPS = {
    "arrive 0": "barrier.arrive 0, 32;",
    "perhaps": "@%p4 barrier.arrive 0, 32;",
    "arrive 1": "barrier.arrive 1, 32;",
    "sync": "barrier.sync 0;",
    "sync 32": "barrier.sync 0, 32;",
    "warp": "bar.warp.sync -1;",
    "together": "vote.sync.any.pred %p3, %p1, -1;",
    "cluster": "barrier.cluster.arrive;",
    "wait": "barrier.cluster.wait;",
    "exit": "exit;",
    "trap": "@%p4 trap;",
    "write": "st.global.u32 [%rd2+4], %r1;",
}
Lane = tuple[str, ...]
LANES: list[Lane] = [(), *itertools.product(STEPS), *itertools.product(STEPS, repeat=2)]
PAIRS = [*itertools.combinations(LANES, 2)]


def kernel(first: Lane, second: Lane) -> ptxmm.Kernel:
    code = [" ".join(STEPS[step] for step in lane) for lane in (first, second)]
    text = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    ld.relaxed.gpu.global.u32 %r5, [%rd2];
    setp.eq.u32 %p4, %r5, 0;
    @%p1 bra OTHER;
    {code[0]}
    bra END;
OTHER:
    {code[1]}
END:
    st.relaxed.gpu.global.u32 [%rd2], 1;
    ret;
}}
"""
    word = {"type": "u32", "elements": 2}
    return ptxmm.Kernel(
        text, params={"a": word}, grid=1, block=2, never="a[0] + a[1] == 9", race_free=True, no_deadlock=True,
        terminates=True, no_trap=True,
    )  # fmt: skip


def compare(first: Lane, second: Lane) -> None:
    try:
        result = compared(0, kernel(first, second), runs=3)
    except OutOfTime:
        return note(0, {"brute force takes too many steps": 1})
    assert not result.differences, (first, second)
    note(1, {})


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("arrive 0",), ("arrive 1",)),  # each waits for the other one
        (("arrive 0", "arrive 1"), ("arrive 1", "arrive 0")),
        (("cluster",), ("arrive 0",)),  # also who arrives at the barrier of the cluster waits for the warp
        (("cluster",), ("warp", "cluster")),
        (("cluster", "perhaps"), ("perhaps", "perhaps")),
        (("write", "trap", "sync"), ("write", "sync")),  # a race, although nobody ends
        (("together",), ("write", "together")),  # one vote, at two places
        (("together", "warp"), ("warp", "together")),
        (("arrive 0",), ("warp", "sync")),
        (("arrive 1", "arrive 0"), ("sync", "perhaps")),
        (("together", "together"), ("together", "trap")),
        (("sync", "together"), ("warp", "perhaps")),  # nobody gets to where the counts would differ
        (("sync 32", "sync 32"), ("trap", "arrive 0")),  # a warp comes as a whole also where nobody of it waits
    ],
)
@pytest.mark.compares(1)
def test_of_lanes_that_were_judged_differently(first: Lane, second: Lane) -> None:
    compare(first, second)


@pytest.mark.long
@pytest.mark.compares(0.9)
@pytest.mark.parametrize("count", lengths(12, 60))
def test_of_some_pairs_of_lanes(count: int) -> None:
    for first, second in random.Random(0).sample(PAIRS, count):
        compare(first, second)


@pytest.mark.campaign
@pytest.mark.compares(0.9)
@pytest.mark.parametrize("part", range(64))
def test_of_all_pairs_of_lanes(part: int) -> None:
    mine = PAIRS[part::64]
    for first, second in mine[: share(len(mine))]:
        compare(first, second)
