"""mbarrier objects and barriers of clusters and warps: what they order, what misuses them, by both engines."""

from __future__ import annotations

import pytest

import ptxmm
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


@ENGINES
def test_the_scope_of_a_wait_must_take_in_the_arrival(engine: str) -> None:
    """P29e: the wait's default scope is the CTA."""
    text = """{ .shared .u64 m; .global .u32 x = 0; }
    P0@cta 1,cluster 0 { .reg .b32 a; barrier.cluster.arrive; barrier.cluster.wait; st.weak.u32 [x], 1;
        mov.u32 a, m; mapa.shared::cluster.u32 a, a, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }
    P1@cta 0,cluster 0 { .reg .pred p; mbarrier.init.shared.b64 [m], 1; barrier.cluster.arrive; barrier.cluster.wait;
        mbarrier.test_wait.parity.shared.b64 p, [m], 0; @!p bra end; ld.weak.u32 %r1, [x]; end: }
    exists (1:r1 == 0)"""
    pytest.skip("remote")


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
