"""Kernels that take the work of clusters that have not begun (`clusterlaunchcontrol`): every choice of who is cancelled, beside
brute force over the choices, and mistakes in them."""

from __future__ import annotations

from itertools import product
from typing import Any

import ptxas
import pytest

import ptxmm
from ptxmm.kernels.toml import KernelFile

FENCE = "fence.proxy.async.shared::cta;"
ASKED = "@!%got bra END;"
# Each CTA counts in `done[x]` who does the work of each index x, its own and of those that it takes; it takes `most` at most.
STEAL = f""".version 8.6
.target sm_100
.address_size 64
.visible .entry steal(.param .u64 done, .param .u32 most)
{{
 .reg .b64 %d, %at, %state; .reg .b32 %x, %by, %most; .reg .b128 %answer; .reg .pred %p, %got;
 .shared .align 16 .b8 response[16];
 .shared .align 8 .b64 bar;
 ld.param.u64 %d, [done];
 ld.param.u32 %most, [most];
 mov.u32 %x, %ctaid.x;
 add.u32 %by, %x, 1;
 mbarrier.init.shared::cta.b64 [bar], 1;
 fence.mbarrier_init.release.cluster;
NEXT:
 mul.wide.u32 %at, %x, 4;
 add.s64 %at, %at, %d;
 st.global.u32 [%at], %by;
 setp.eq.u32 %p, %most, 0;
 @%p bra END;
 sub.u32 %most, %most, 1;
 {FENCE}
 mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], 16;
 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [bar];
WAIT:
 mbarrier.try_wait.shared::cta.b64 %p, [bar], %state;
 @!%p bra WAIT;
 ld.shared.b128 %answer, [response];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %got, %answer;
 {ASKED}
 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %answer;
 bra NEXT;
END:
 ret;
}}
"""
#: The same with responses for all CTAs of a cluster, of which the manual says that they are written through the async proxy.
OF_CLUSTERS = STEAL.replace("sm_100", "sm_100a").replace("::bytes.b128", "::bytes.multicast::cluster::all.b128")


def decided(text: str, clusters: int, checks: dict[str, Any], most: int = 99) -> Any:
    params = {"done": {"type": "u32", "elements": clusters}, "most": {"type": "u32", "value": most}}
    tree = {"ptx": "k.ptx", "entry": "steal", "grid": clusters, "block": 1, "params": params, "check": checks}
    return ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())


def choices(clusters: int, most: int) -> set[tuple[int, ...]]:
    """By brute force: of each cluster, whose CTA does its work, one more than its number. Who does its own has begun, and takes
    the work of so many others at most; who is cancelled takes none."""
    return {
        tuple(n + 1 for n in by)
        for by in product(range(clusters), repeat=clusters)
        if all(by[n] == n for n in by) and all(by.count(n) - 1 <= most for n in by)
    }


@pytest.mark.parametrize(("clusters", "most"), [(1, 9), (2, 9), (3, 9), (3, 1), (4, 1)])
def test_every_choice_of_who_is_cancelled_is_explored(clusters: int, most: int) -> None:
    every = " && ".join(f"done[{n}] >= 1 && done[{n}] <= {clusters}" for n in range(clusters))
    result = decided(STEAL, clusters, {"race_free": True, "terminates": True, "forall": every}, most)
    assert result.verdict == "ok", result.error
    found = {tuple(state[f"done[{n}]"] for n in range(clusters)) for state in result.states}
    assert found == choices(clusters, most)
    assert result.complete
    assert any("choices of the clusters" in note for note in result.notes)


def test_what_some_choice_does_is_found() -> None:
    taken = {"exists": "done[0] == 3 && done[1] == 3"}
    assert decided(STEAL, 3, taken).verdict == "ok"
    assert decided(STEAL, 3, taken, most=1).verdict == "no"
    assert decided(STEAL, 3, {"forall": "done[2] == 3"}).verdict == "no"
    assert decided(STEAL, 3, {"never": "done[0] == 2 && done[1] == 3"}).verdict == "ok"  # who is cancelled takes none


#: What a mistake is, the kernel with it, and what the answer may be.
WRONG = {
    "nobody asks whether a cluster was cancelled": (STEAL.replace(ASKED, "@!%got bra SAME; SAME:"), {"no", "undecided"}),
    "the next request is not behind the reads of the last response": (STEAL.replace(FENCE, ""), {"undecided"}),
    "nor is that of a whole cluster": (OF_CLUSTERS.replace(FENCE, ""), {"no"}),
    "nobody waits for the response": (STEAL.replace("@!%p bra WAIT;", ""), {"no", "undecided", "undefined"}),
    "the object is told of fewer bytes": (STEAL.replace("[bar], 16", "[bar], 8"), {"no", "undecided", "undefined"}),
    "the work of another index": (STEAL.replace("first_ctaid::x", "first_ctaid::y"), {"no"}),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_not_ok(name: str) -> None:
    text, verdicts = WRONG[name]
    assert text != STEAL
    every = " && ".join(f"done[{n}] >= 1" for n in range(3))
    result = decided(text, 3, {"race_free": True, "forall": every})
    assert result.verdict in verdicts, (result.verdict, result.error, result.notes)


def test_responses_of_whole_clusters_and_their_proxy() -> None:
    """Section 9.7.13.17: "using weak async-proxy writes", for `.multicast::cluster::all` alone."""
    checks = {"race_free": True, "forall": "done[0] >= 1"}
    assert decided(OF_CLUSTERS, 3, checks).verdict == "ok"
    wrong = decided(OF_CLUSTERS.replace(FENCE, ""), 3, checks)
    assert [race["kind"] for race in wrong.races] == ["war"]
    assert "no fence.proxy.async comes behind this" in wrong.races[0].causes[0].what
    open_ = decided(STEAL.replace(FENCE, ""), 3, checks)
    assert "does not tell through which proxy it is written" in str(open_.error)


# The even CTA of each cluster asks for both, and each CTA has a response and a barrier object of its own.
_ALL = "barrier.cluster.arrive; barrier.cluster.wait;"
_WAITS = "W: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra W;"
FOR_BOTH = f""".version 8.7
.target sm_100a
.address_size 64
.visible .entry steal(.param .u64 done, .param .u32 most)
.reqnctapercluster 2, 1, 1
{{
 .reg .pred %p, %odd, %got; .reg .b32 %rank, %n; .reg .b64 %d, %at; .reg .b128 %answer;
 .shared .align 16 .b8 response[16];
 .shared .align 8 .b64 bar;
 ld.param.u64 %d, [done]; mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %odd, %rank, 1;
 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster; {FENCE}
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
 {_ALL}
 @%odd bra ASKED;
 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [response], [bar];
ASKED:
 {_WAITS}
 {_ALL}
 ld.shared.b128 %answer, [response];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %got, %answer;
 selp.u32 %n, 2, 1, %got;
 mov.u32 %rank, %ctaid.x; mul.wide.u32 %at, %rank, 4; add.u64 %at, %at, %d; st.global.u32 [%at], %n;
 {_ALL}
 ret;
}}
"""


@pytest.mark.parametrize(
    ("waits", "waits_later", "verdict"),
    [
        (_WAITS, "", "ok"),
        (f"@%odd bra L; {_WAITS} L:", _WAITS, "undefined"),
        (f"@!%odd bra L; {_WAITS} L:", _WAITS, "undefined"),
    ],
)
def test_each_cta_waits_for_its_own_response(waits: str, waits_later: str, verdict: str) -> None:
    """Section 9.7.13.17: the response is written, and the object told of it, in each CTA, at a time of its own. Who knows that
    it has come in one CTA knows nothing of the other one."""
    later = waits_later.replace("W", "V")
    text = FOR_BOTH.replace(_WAITS, waits).replace(f" {_ALL}\n ret;", f" {later}\n {_ALL}\n ret;")
    for kernel in (text, text.replace("async.shared::cta", "async")):
        result = decided(kernel, 4, {"race_free": True, "terminates": True, "forall": "done[0] <= 2 && done[1] <= 2"})
        assert result.verdict == verdict, result.error


def test_who_was_refused_asks_no_more() -> None:
    """Section 9.7.13.17: behind a request of its CTA that was refused another one has no meaning."""
    result = decided(STEAL.replace(ASKED, "@!%got bra NEXT;"), 2, {"forall": "done[0] >= 1"}, most=2)
    assert result.verdict == "undecided"
    assert any("of which one was refused" in str(note) for note in [result.error, *result.notes])


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
@pytest.mark.parametrize("text", [STEAL, FOR_BOTH, *(text for text, _ in WRONG.values())])
def test_ptxas_takes_the_kernels(text: str) -> None:
    assert ptxas.check_module(text) == []


@pytest.mark.long
def test_too_many_choices_are_told_at_once() -> None:
    result = decided(STEAL, 500, {"race_free": True, "forall": "done[0] >= 1"})
    assert result.verdict == "undecided"
    assert any("too many choices" in str(note) for note in [result.error, *result.notes])
