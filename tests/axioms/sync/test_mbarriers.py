"""mbarrier objects and barriers of clusters and warps: what they order, what misuses them, by both engines."""

from __future__ import annotations

from typing import Any

import pytest
from campaigns import LONG
from growth import calls

import ptxmm
from axioms.sync.mbarrier_windows import Windows
from ptxmm.result import Result

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])


def checked(text: str, engine: str) -> Result:
    return ptxmm.check(ptxmm.parse(f"PTX test\n{text}"), "ptx-9.0", engine=engine)


#: An object of one arrival, initialised by P0 and known to P1 by a barrier of the CTA.
def handoff(arrival: str, wait: str, place: str = "cta 0", count: int = 1) -> str:
    return f"""{{ .shared .u64 m; .global .u32 x = 0; }}
    P0@cta 0 {{ mbarrier.init.shared.b64 [m], {count}; bar.sync 0, 64; st.weak.u32 [x], 1; {arrival} }}
    P1@{place} {{ .reg .pred p; bar.sync 0, 64; {wait} @p ld.weak.u32 %r1, [x]; }}
    """


WAIT = "mov.u32 %r1, 7; mbarrier.test_wait.parity{}.shared.b64 p, [m], 0;"

ORDERED = {
    "release and acquire": ("mbarrier.arrive.shared.b64 _, [m];", WAIT.format("")),
    "P29c, fences around relaxed ones": (
        "fence.release.cta; mbarrier.arrive.relaxed.cta.shared.b64 _, [m];",
        WAIT.format(".relaxed.cta") + "fence.acquire.cta;",
    ),
    "cluster scope": (
        "mbarrier.arrive.release.cluster.shared.b64 _, [m];",
        WAIT.format(".acquire.cluster"),
    ),
    "a drop": ("mbarrier.arrive_drop.shared.b64 _, [m];", WAIT.format("")),
    "transactions": (
        "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16; mbarrier.complete_tx.shared.b64 [m], 16;",
        WAIT.format(""),
    ),
}
UNORDERED = {
    "P29b, a relaxed arrival": ("mbarrier.arrive.relaxed.cta.shared.b64 _, [m];", WAIT.format("")),
    "a relaxed wait": ("mbarrier.arrive.shared.b64 _, [m];", WAIT.format(".relaxed.cta")),
    "a parity that was over before": ("mbarrier.arrive.shared.b64 _, [m];", WAIT.replace(", 0;", ", 1;").format("")),
}


@ENGINES
@pytest.mark.parametrize("case", ORDERED)
def test_a_wait_that_returns_true_acquires_what_arrivals_released(case: str, engine: str) -> None:
    result = checked(handoff(*ORDERED[case]) + "~exists (1:r1 == 0)", engine)
    assert (result.verdict, result.error) == ("ok", None)
    assert {s["1:r1"] for s in result.states} == {1, 7}


@ENGINES
@pytest.mark.parametrize("case", UNORDERED)
def test_what_orders_nothing_leaves_stale_reads(case: str, engine: str) -> None:
    result = checked(handoff(*UNORDERED[case]) + "exists (1:r1 == 0)", engine)
    assert (result.verdict, result.error) == ("ok", None)


IN_CLUSTER = """{ .shared .u64 m; .shared .u32 y = 0; .global .u32 x = 0; }
    P0@cta 1,cluster 0 { .reg .b32 a, b; mov.u32 a, m; mapa.shared::cluster.u32 a, a, 0; mov.u32 b, y;
        mapa.shared::cluster.u32 b, b, 0; barrier.cluster.arrive; barrier.cluster.wait; %s }
    P1@cta 0,cluster 0 { .reg .pred p; mbarrier.init.shared.b64 [m], 1; barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %%r1, 7; mbarrier.test_wait.parity%s.shared.b64 p, [m], 0; @p ld.weak%s; }
    locations [1:r1;] %s"""


@ENGINES
def test_the_scope_of_a_wait_must_take_in_the_arrival(engine: str) -> None:
    """P29e: the wait's default scope is the CTA."""
    arrive = "st.weak.u32 [x], 1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];"
    narrow = checked(IN_CLUSTER % (arrive, "", ".u32 %r1, [x]", "exists (1:r1 == 0)"), engine)
    assert (narrow.verdict, narrow.error) == ("ok", None)
    wide = checked(IN_CLUSTER % (arrive, ".acquire.cluster", ".u32 %r1, [x]", "~exists (1:r1 == 0)"), engine)
    assert (wide.verdict, wide.error) == ("ok", None)


@ENGINES
@pytest.mark.parametrize(
    ("write", "read", "verdict"),
    [
        ("st.weak.u32 [x], 1;", ".u32 %r1, [x]", "exists"),
        ("st.weak.shared::cluster.u32 [b], 1;", ".shared.u32 %r1, [y]", "exists"),
    ],
)
def test_a_fence_for_shared_memory_orders_nothing_else(write: str, read: str, verdict: str, engine: str) -> None:
    """Q13; what is remote is not in the CTA's own shared memory either."""
    arrive = (
        f"{write} fence.release.sync_restrict::shared::cta.cluster; "
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [a];"
    )
    result = checked(IN_CLUSTER % (arrive, ".acquire.cluster", read, f"{verdict} (1:r1 == 0)"), engine)
    assert (result.verdict, result.error) == ("ok", None)


@ENGINES
def test_all_who_arrived_in_a_phase_are_acquired(engine: str) -> None:
    """P30"""
    text = """{ .shared .u64 m; .global .u32 x = 0; }
    P0@cta 0 { mbarrier.init.shared.b64 [m], 2; bar.sync 0; st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m]; }
    P1@cta 0 { bar.sync 0; mbarrier.arrive.relaxed.cta.shared.b64 _, [m]; }
    P2@cta 0 { .reg .pred p; bar.sync 0; mov.u32 %r1, 7; mbarrier.test_wait.parity.shared.b64 p, [m], 0;
        @p ld.weak.u32 %r1, [x]; }
    locations [2:r1;] ~exists (2:r1 == 0)"""
    result = checked(text, engine)
    assert (result.verdict, result.error) == ("ok", None)
    assert [s["2:r1"] for s in result.states] == [1, 7]


PHASES = """{ .shared .u64 m; .global .u32 x = 0; }
    P0@cta 0 { mbarrier.init.shared.b64 [m], 1; bar.sync 0; st.weak.u32 [x], 1; mbarrier.arrive.shared.b64 _, [m]; }
    P1@cta 0 { .reg .pred p; bar.sync 0; %s mbarrier.arrive.shared.b64 _, [m]; }
    P2@cta 0 { .reg .pred p; bar.sync 0; w: mbarrier.try_wait.parity.shared.b64 p, [m], 1; @!p bra w; ld.weak.u32 %%r1, [x]; }
    exists (2:r1 == 0)"""


@ENGINES
def test_earlier_phases_are_not_acquired(engine: str) -> None:
    """Q18, where somebody has waited for phase 0, without acquiring."""
    wait = "w: mbarrier.try_wait.parity.relaxed.cta.shared.b64 p, [m], 0; @!p bra w;"
    result = checked(PHASES % wait, engine)
    assert (result.verdict, result.error) == ("ok", None)


@ENGINES
def test_a_wait_that_returns_false_acquires_nothing(engine: str) -> None:
    """Q16"""
    wait = "mbarrier.test_wait.parity.shared.b64 p, [m], 0; selp.u32 %r0, 1, 0, p; ld.weak.u32 %r1, [x];"
    text = handoff("mbarrier.arrive.shared.b64 _, [m];", wait).replace("@p ld.weak.u32 %r1, [x];", "")
    result = checked(text + "exists (1:r0 == 0 /\\ 1:r1 == 0)", engine)
    assert result.verdict == "ok"
    assert {(s["1:r0"], s["1:r1"]) for s in result.states} == {(0, 0), (0, 1), (1, 1)}


@ENGINES
def test_a_wait_must_return_true_when_the_end_of_the_phase_is_known_to_its_thread(engine: str) -> None:
    text = """{ .shared .u64 m; .global .u32 x = 0; }
    P0@cta 0 { .reg .pred p; mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.shared.b64 _, [m];
        mbarrier.test_wait.parity.shared.b64 p, [m], 0; selp.u32 %r0, 1, 0, p;
        mbarrier.try_wait.parity.shared.b64 p, [m], 0; selp.u32 %r1, 1, 0, p; }
    locations [0:r0; 0:r1;] exists (true)"""
    result = checked(text, engine)
    assert [(s["0:r0"], s["0:r1"]) for s in result.states] == [
        (1, 1)
    ]  # try_wait neither: the phase is over when it begins


#: Waits behind an arrival of another thread, and what the second may say.
TRIES = """{{ .shared .u64 m; .global .u32 x = 0; }}
P0@cta 0 {{ mbarrier.init.shared.b64 [m], {count}; bar.sync 0, 64; mbarrier.arrive.shared.b64 _, [m]; {after} }}
P1@cta 0 {{ .reg .pred p; bar.sync 0, 64; {before} {wait} p, [m], {operand}; selp.u32 %r1, 1, 0, p; }}
locations [1:r1;] exists (true)"""
PARITY, STATE = "mbarrier.{}_wait.parity.shared.b64", "mbarrier.{}_wait.shared.b64"
FIRST = "w: mbarrier.try_wait.parity.{}.shared.b64 p, [m], 0; @!p bra w;"
MEET = "bar.sync 1, 64;"


@pytest.mark.part(4)
@ENGINES
@pytest.mark.parametrize("kind", ["test", "try"])
@pytest.mark.parametrize(
    ("wait", "operand", "count", "after", "before", "may_be"),
    [
        (PARITY, "0", 1, "", "", {0, 1}),  # the phase may be over or not
        (PARITY, "0", 1, MEET, MEET, {1}),
        (PARITY, "0", 2, MEET, MEET, {0}),  # it is not
        (PARITY, "0", 2, "", "mbarrier.arrive.shared.b64 _, [m];", {0, 1}),
        (PARITY, "1", 1, "", "", {0, 1}),  # the phase before the first is over, but who knows which one is the current
        (PARITY, "1", 2, MEET, MEET, {1}),
        (PARITY, "0", 1, "", FIRST.format("acquire.cta"), {1}),
        (STATE, "%rd0", 2, "", "mbarrier.arrive.shared.b64 %rd0, [m];", {0, 1}),
        (STATE, "%rd0", 2, MEET, "mbarrier.arrive.shared.b64 %rd0, [m]; bar.sync 1, 64;", {1}),
        (STATE, "%rd0", 3, MEET, "mbarrier.arrive.shared.b64 %rd0, [m]; bar.sync 1, 64;", {0}),
    ],
)
def test_what_a_wait_says(
    kind: str, wait: str, operand: str, count: int, after: str, before: str, may_be: set[int], engine: str
) -> None:
    text = TRIES.format(wait=wait.format(kind), operand=operand, count=count, after=after, before=before)
    result = checked(text, engine)
    assert {s["1:r1"] for s in result.states} == may_be


@ENGINES
@pytest.mark.parametrize(("kind", "may_be"), [("test", {1}), ("try", {0, 1})])
def test_who_tries_to_wait_may_be_told_no_where_only_the_order_of_the_object_says_that_the_phase_is_over(
    kind: str, may_be: set[int], engine: str
) -> None:
    """A relaxed wait acquires nothing: the end of the phase does not come before the next one in causality."""
    before = FIRST.format("relaxed.cta")
    text = TRIES.format(wait=PARITY.format(kind), operand="0", count=1, after="", before=before)
    result = checked(text, engine)
    assert {s["1:r1"] for s in result.states} == may_be


@ENGINES
def test_what_an_arrival_returns_tells_how_many_came_before(engine: str) -> None:
    thread = "bar.sync 0; mbarrier.arrive.shared.b64 %rd0, [m]; mbarrier.pending_count.b64 %r0, %rd0; }"
    text = f"""{{ .shared .u64 m; x = 0; }}
    P0@cta 0 {{ mbarrier.init.shared.b64 [m], 2; {thread}
    P1@cta 0 {{ {thread}
    locations [0:r0; 1:r0;] exists (true)"""
    assert [(s["0:r0"], s["1:r0"]) for s in checked(text, engine).states] == [(1, 2), (2, 1)]


MISUSE = {
    "no valid mbarrier object is at this address": "mbarrier.arrive.shared.b64 _, [m];",
    "mbarrier.init on a valid mbarrier object": "mbarrier.init.shared.b64 [m], 1; mbarrier.init.shared.b64 [m], 1;",
    "more arrivals than the mbarrier object waits for": (
        "mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.shared.b64 _, [m], 2;"
    ),
    "an arrival with .noComplete completes the phase": (
        "mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.noComplete.shared.b64 _, [m], 1;"
    ),
    "an arrival in a phase of an mbarrier object before any wait said that the phase before is over": (
        "mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.shared.b64 _, [m]; mbarrier.arrive.shared.b64 _, [m];"
    ),
    "the tx-count of an mbarrier object goes from -1048575 to 1048575": (
        "mbarrier.init.shared.b64 [m], 1; mbarrier.expect_tx.shared.b64 [m], 1048576;"
    ),
    "mbarrier.init.b64 on an object that is not in shared memory": (
        ".reg .u64 a; mov.u64 a, x; mbarrier.init.b64 [a], 1;"
    ),
}


@ENGINES
@pytest.mark.parametrize("reason", MISUSE)
def test_misuse_of_an_object_is_undefined_for_its_reason(reason: str, engine: str) -> None:
    result = checked(f"{{ .shared .u64 m; .u64 x = 0; }}\nP0@cta 0 {{ {MISUSE[reason]} }}\nexists (true)", engine)
    assert (result.verdict, result.error) == ("undefined", reason)


@ENGINES
@pytest.mark.parametrize(("parity", "verdict"), [(0, "no"), (1, "ok")])
def test_a_wait_that_no_order_of_the_operations_lets_go_never_ends(parity: int, verdict: str, engine: str) -> None:
    """P0 has waited for the first phase, and ends the second one itself: the first is not the phase before any more."""
    wait = "L{0}: mbarrier.test_wait.parity.shared.b64 p, [m], {1}; @!p bra L{0};"
    arrive = "mbarrier.arrive.shared.b64 _, [m];"
    text = f"""{{ .shared .u64 m; }}
    P0@cta 0 {{ .reg .pred p; mbarrier.init.shared.b64 [m], 1; bar.sync 0, 64;
      {wait.format(1, 0)} {arrive} {wait.format(2, parity)} mov.u32 %r0, 1; }}
    P1@cta 0 {{ bar.sync 0, 64; {arrive} }}
    forall (0:r0 == 1)"""
    assert checked(text, engine).verdict == verdict


@ENGINES
def test_who_waits_for_an_object_that_nobody_initialised_does_not_hide_it(engine: str) -> None:
    text = """{ .shared .u64 m; x = 0; }
    P0@cta 0 { .reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w; st.weak.u32 [x], 1; }
    exists (true)"""
    assert checked(text, engine).error == "no valid mbarrier object is at this address"


@ENGINES
def test_an_arrival_that_may_come_before_the_initialisation_is_undefined(engine: str) -> None:
    text = """{ .shared .u64 m; x = 0; }
    P0@cta 0 { mbarrier.init.shared.b64 [m], 1; }
    P1@cta 0 { mbarrier.arrive.shared.b64 _, [m]; }
    exists (true)"""
    assert checked(text, engine).verdict == "undefined"


@ENGINES
def test_nobody_waits_for_an_object_of_another_cta(engine: str) -> None:
    text = IN_CLUSTER % ("mbarrier.test_wait.parity.shared.b64 p, [a], 0;", "", ".u32 %r1, [x]", "exists (true)")
    result = checked(text.replace(".reg .b32 a, b;", ".reg .b32 a, b; .reg .pred p;"), engine)
    assert result.error == "mbarrier.test_wait.parity.shared.b64 on an mbarrier object of another CTA"


@ENGINES
def test_an_object_may_expect_as_many_as_memory_says(engine: str) -> None:
    text = """{ .shared .u64 m; n = 1; }
    P0@cta 0 { .reg .pred p; ld.relaxed.gpu.u32 %r0, [n]; mbarrier.init.shared.b64 [m], %r0;
        mbarrier.arrive.shared.b64 _, [m]; mbarrier.test_wait.parity.shared.b64 p, [m], 0; selp.u32 %r1, 1, 0, p; }
    P1@cta 1 { st.relaxed.gpu.u32 [n], 2; }
    locations [0:r0; 0:r1;] exists (true)"""
    assert [(s["0:r0"], s["0:r1"]) for s in checked(text, engine).states] == [(1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("engine", "other", "counts"),
    [
        ("solve", "", [(1, 1)]),
        ("enumerate", "", [(1, 1)]),
        ("solve", "red.relaxed.cta.shared.add.u32 [n], 1;", [(1, 1), (2, 0)]),
        pytest.param("enumerate", "red.relaxed.cta.shared.add.u32 [n], 1;", [(1, 1), (2, 0)], marks=LONG),
    ],
)
def test_an_object_may_expect_as_many_as_counted_themselves_in(
    other: str, counts: list[tuple[int, int]], engine: str
) -> None:
    """The word is used again afterwards: that is no count."""
    text = f"""{{ .shared .u64 m; .shared .u32 n = 0; }}
    P0@cta 0 {{ .reg .pred p; red.relaxed.cta.shared.add.u32 [n], 1; ld.relaxed.cta.shared.u32 %r0, [n];
        mbarrier.init.shared.b64 [m], %r0; red.relaxed.cta.shared.add.u32 [n], 5;
        mbarrier.arrive.shared.b64 _, [m]; mbarrier.test_wait.parity.shared.b64 p, [m], 0; selp.u32 %r1, 1, 0, p; }}
    P1@cta 0 {{ {other} }}
    locations [0:r0; 0:r1;] exists (true)"""
    assert [(s["0:r0"], s["0:r1"]) for s in checked(text, engine).states] == counts


def test_a_count_that_barriers_order_is_one_number() -> None:
    text = """{ .shared .u64 m; .shared .u32 n = 7; }
    P0@cta 0 { st.relaxed.cta.shared.u32 [n], 0; bar.sync 0; red.relaxed.cta.shared.add.u32 [n], 1; bar.sync 0;
        ld.relaxed.cta.shared.u32 %r0, [n]; mbarrier.init.shared.b64 [m], %r0; st.relaxed.cta.shared.u32 [n], 9;
        bar.sync 0; mbarrier.arrive.shared.b64 %rd1, [m]; atom.relaxed.cta.shared.add.u32 %r2, [n], -1; }
    P1@cta 0 { .reg .pred p; bar.sync 0; red.relaxed.cta.shared.add.u32 [n], 1; bar.sync 0; bar.sync 0;
        mbarrier.arrive.shared.b64 %rd1, [m]; l: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra l;
        atom.relaxed.cta.shared.add.u32 %r2, [n], -1; }
    locations [0:r0;] exists (true)"""
    result = checked(text, "solve")
    assert ([s["0:r0"] for s in result.states], result.error) == ([2], None)


# Barriers of clusters and warps.


def in_cluster(first: str, second: str) -> str:
    return f"""{{ x = 0; }}
    P0@cta 0,cluster 0 {{ {first} }}
    P1@cta 1,cluster 0 {{ {second} ld.weak.u32 %r1, [x]; }}
    """


BOTH = "barrier.cluster.arrive; barrier.cluster.wait;"
RELAXED = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"


@ENGINES
@pytest.mark.parametrize(
    ("first", "stale"),
    [
        (f"st.weak.u32 [x], 1; {BOTH}", False),  # P28
        (f"st.weak.u32 [x], 1; {RELAXED}", True),
        (f"st.weak.u32 [x], 1; fence.acq_rel.cluster; {RELAXED}", False),  # P28c
        ("barrier.cluster.arrive; st.weak.u32 [x], 1; barrier.cluster.wait;", True),  # P28d
        (f"{BOTH} st.weak.u32 [x], 1; {BOTH}", True),
    ],
)
def test_barriers_of_clusters_order_what_comes_before_a_releasing_arrival(first: str, stale: bool, engine: str) -> None:
    result = checked(in_cluster(first, BOTH) + "locations [1:r1;] exists (true)", engine)
    assert result.error is None
    assert ({"1:r1": 0} in result.states) == stale


@ENGINES
@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("barrier.cluster.wait;", "barrier.cluster.wait by a thread that has not arrived"),
        (
            "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;",
            "barrier.cluster.arrive by a thread that has not waited since it arrived before",
        ),
    ],
)
def test_misuse_of_a_barrier_of_a_cluster_is_undefined(first: str, reason: str, engine: str) -> None:
    assert checked(in_cluster(first, BOTH) + "exists (true)", engine).error == reason


@ENGINES
def test_a_thread_that_has_ended_is_not_waited_for(engine: str) -> None:
    result = checked(in_cluster(f"st.weak.u32 [x], 1; {BOTH}", f"{BOTH} {BOTH}") + "exists (true)", engine)
    assert (result.verdict, result.error, result.states) == ("ok", None, [{}])


@ENGINES
def test_barriers_that_wait_for_one_another_are_passed_by_nobody(engine: str) -> None:
    text = "{ x = 0; }\nP0@cta 0 { bar.sync 0; bar.sync 1; }\nP1@cta 0 { bar.sync 1; bar.sync 0; }\nexists (true)"
    assert checked(text, engine).states == []
    alone = "{ x = 0; }\nP0@cta 0 { bar.sync 0; }\nP1@cta 0 { bar.sync 1; }\nexists (true)"
    assert checked(alone, engine).states == []  # neither ends before the other


@ENGINES
def test_who_does_not_wait_must_not_come_again_too_early(engine: str) -> None:
    def verdict(first: str, second: str) -> str:
        text = f"{{ x = 0; }}\nP0@cta 0 {{ {first} }}\nP1@cta 0 {{ {second} }}\nexists (true)"
        return checked(text, engine).verdict

    assert verdict("bar.arrive 0, 64; bar.arrive 0, 64;", "bar.sync 0, 64; bar.sync 0, 64;") == "undefined"
    assert verdict("bar.arrive 0, 64; bar.arrive 0, 64;", "st.weak.u32 [x], 1;") == "undefined"
    back = ("bar.arrive 0, 64; bar.sync 1, 64; bar.arrive 0, 64;", "bar.sync 0, 64; bar.arrive 1, 64; bar.sync 0, 64;")
    assert verdict(*back) == "ok"


@ENGINES
@pytest.mark.parametrize(
    ("value", "barrier", "reason"),
    [
        (16, "bar.sync %r0;", "a barrier whose number is not one of 0 to 15"),
        (48, "bar.sync 0, %r0;", "a barrier of a number of threads that is 0 or no multiple of 32"),
    ],
)
def test_numbers_of_barriers_and_threads_that_there_are_not(value: int, barrier: str, reason: str, engine: str) -> None:
    text = f"{{ x = {value}; }}\nP0@cta 0 {{ ld.weak.u32 %r0, [x]; {barrier} }}\nexists (true)"
    assert checked(text, engine).error == reason


def in_warp(first: str, second: str) -> str:
    return f"""{{ x = 0; }}
    P0@warp 0,cta 0 {{ st.weak.u32 [x], 1; {first} }}
    P1@warp 0,cta 0 {{ {second} ld.weak.u32 %r1, [x]; }}
    """


@ENGINES
def test_the_threads_of_a_member_mask_see_what_came_before(engine: str) -> None:
    result = checked(in_warp("bar.warp.sync 3;", "bar.warp.sync 3;") + "~exists (1:r1 == 0)", engine)
    assert (result.verdict, result.error) == ("ok", None)


@ENGINES
def test_who_is_not_in_the_member_mask_may_not_execute_it(engine: str) -> None:
    result = checked(in_warp("bar.warp.sync 2;", "bar.warp.sync 2;") + "exists (true)", engine)
    assert result.error == "bar.warp.sync by a thread that its member mask does not name"


# Speed.


def pipeline(stages: int, iterations: int) -> str:
    """A producer and a consumer that hand buffers to and fro."""
    names = [f"{kind}{s}" for s in range(stages) for kind in ("full", "empty")]
    declarations = " ".join(f".shared .u64 {n};" for n in names) + " ".join(
        f" .shared .u32 s{s};" for s in range(stages)
    )
    inits = " ".join(f"mbarrier.init.shared.b64 [{n}], 1;" for n in names)
    produce, consume = "", ""
    for i in range(stages * iterations):
        s, round_ = i % stages, i // stages % 2
        produce += (
            f"e{i}: mbarrier.try_wait.parity.shared.b64 p, [empty{s}], {1 - round_}; @!p bra e{i}; "
            f"st.weak.shared.u32 [s{s}], {i + 1}; mbarrier.arrive.shared.b64 _, [full{s}];\n"
        )
        consume += (
            f"f{i}: mbarrier.try_wait.parity.shared.b64 p, [full{s}], {round_}; @!p bra f{i}; "
            f"ld.weak.shared.u32 %r{i}, [s{s}]; mbarrier.arrive.shared.b64 _, [empty{s}];\n"
        )
    condition = " /\\ ".join(f"1:r{i} == {i + 1}" for i in range(stages * iterations))
    return (
        f"{{ {declarations} }}\nP0@cta 0 {{ .reg .pred p; {inits} bar.sync 0;\n{produce}}}\n"
        f"P1@cta 0 {{ .reg .pred p; bar.sync 0;\n{consume}}}\nforall ({condition})"
    )


def test_a_pipeline_of_two_stages_is_decided() -> None:
    result = checked(pipeline(2, 3), "solve")
    assert (result.verdict, result.error, len(result.states)) == ("ok", None, 1)


def at_one_barrier(count: int) -> str:
    threads = "\n".join(
        f"P{t}@warp {t // 32},cta 0 {{ st.weak.u32 [b+{4 * t}], 1; bar.sync 0; ld.weak.u32 %r1, [b+{4 * ((t + 1) % count)}]; }}"
        for t in range(count)
    )
    return f"{{ .global .u32 b[{count}]; }}\n{threads}\nforall (0:r1 == 1)"


def test_many_threads_at_one_barrier_cost_little() -> None:
    """Each meets each, and no more than that: twice as many threads cost four times as much at most."""

    def work(count: int) -> int:
        found = []
        work = calls(lambda: found.append(checked(at_one_barrier(count), "solve")))
        assert (found[0].verdict, found[0].error) == ("ok", None)
        return work

    assert work(64) < 4.5 * work(32)


@pytest.mark.parametrize("wait", ["test_wait.shared.b64 p, [m], %rd0", "test_wait.parity.shared.b64 p, [m], 0"])
def test_a_wait_stands_where_its_phase_is_over_whether_told_by_token_or_parity(
    wait: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Windows] = []

    class Recorded(Windows):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            found.append(self)

    monkeypatch.setattr("axioms.sync.mbarriers.Windows", Recorded)
    threads = "".join(
        f"P{t}@cta 0 {{ .reg .pred p; {'mbarrier.init.shared.b64 [m], 3;' if t == 0 else ''} bar.sync 0, 96; "
        f"mbarrier.arrive.shared.b64 %rd0, [m]; mbarrier.{wait}; selp.u32 %r1, 1, 0, p; }}\n"
        for t in (0, 32, 64)
    )
    threads = threads.replace("P32@", "P1@").replace("P64@", "P2@")
    assert checked("{ .shared .u64 m; }\n" + threads + "exists (P0:%r1 == 1)", "solve").verdict == "ok"
    (windows,) = found
    able = {"MW" in w.event.tags: places for w, places in zip(windows.waits, windows.able, strict=True)}
    assert able == {True: [4], False: [2, 3]}  # behind init and all arrivals; behind init, the own one, perhaps another
