"""What exploring a thread yields where threads come together, for fences, for grids, and for what only the machine knows."""

from __future__ import annotations

from typing import Any

import pytest
from exploring import X, effects, explored, returned, said

from ptxcore.diagnostics import InputError
from ptxcore.machine.ir.collective import resolve, taken_apart
from ptxcore.values.terms import evaluate, extract, ne, negate

CLUSTER = {"kind": "barrier", "level": "cluster", "identity": None, "scope": "cluster"}
FENCE = {"kind": "fence", "semantics": "acquire", "scope": "cluster"}
PROXY = {"kind": "proxy_fence"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bar.sync 1, 64;", {"kind": "barrier", "barrier": "sync", "identity": 1, "count": 64, "aligned": True}),
        ("barrier.arrive 1, 64;", {"kind": "barrier", "barrier": "arrive", "identity": 1, "count": 64}),
        ("barrier.sync.aligned 0;", {"kind": "barrier", "barrier": "sync", "aligned": True}),
        ("barrier.cluster.arrive;", {**CLUSTER, "barrier": "arrive", "semantics": "release"}),
        ("barrier.cluster.arrive.relaxed.aligned;", {**CLUSTER, "barrier": "arrive", "semantics": "relaxed", "aligned": True}),
        ("barrier.cluster.wait.acquire;", {**CLUSTER, "barrier": "wait", "semantics": "acquire"}),
        ("bar.warp.sync 3;", {"kind": "barrier", "barrier": "sync", "level": "warp", "identity": None, "mask": 3}),
        ("fence.acquire.sync_restrict::shared::cluster.cluster;", {**FENCE, "restrict": "shared::cluster"}),
        ("fence.release.sync_restrict::shared::cta.cluster;", {**FENCE, "semantics": "release", "restrict": "shared::cta"}),
        ("fence.mbarrier_init.release.cluster;", {**FENCE, "semantics": "release", "restrict": "mbarrier_init"}),
        ("fence.proxy.async;", {**PROXY, "proxy": "async"}),
        ("fence.proxy.async.shared::cta;", {**PROXY, "proxy": "async.shared::cta"}),
        ("fence.proxy.tensormap::generic.release.gpu;",
         {**PROXY, "proxy": "tensormap::generic", "semantics": "release", "scope": "gpu"}),
        ("fence.proxy.tensormap::generic.acquire.gpu [x], 128;",
         {**PROXY, "proxy": "tensormap::generic", "semantics": "acquire", "scope": "gpu", "address": X, "size": 128}),
        ("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
         {**PROXY, "proxy": "async::generic", "semantics": "acquire", "scope": "cluster", "restrict": "shared::cluster"}),
        ("griddepcontrol.wait;", {"kind": "grid", "operation": "wait"}),
        ("griddepcontrol.launch_dependents;", {"kind": "grid", "operation": "launch_dependents"}),
        ("trap;", {"kind": "stop", "operation": "trap"}),
        ("brkpt;", {"kind": "stop", "operation": "brkpt"}),
        ("mov.u64 %d, %globaltimer;", {"kind": "input", "operation": "globaltimer", "width": 64}),
        ("mov.u32 %d, %clock;", {"kind": "input", "operation": "clock"}),
    ],
)  # fmt: skip
def test_one_effect(text: str, expected: dict[str, Any]) -> None:
    assert effects(text) == [expected]


@pytest.mark.parametrize(
    ("text", "sources", "mask", "width"),
    [
        ("shfl.sync.idx.b32 %d|%p, %a, 1, 31, 3;", (7, 1, 31, 3), 3, 33),
        ("shfl.sync.bfly.b32 %d, %a, 1, 31, 3;", (7, 1, 31, 3), 3, 33),
        ("vote.sync.any.pred %p, %q, 3;", (1, 3), 3, 1),
        ("vote.sync.ballot.b32 %d, !%q, 3;", (0, 3), 3, 32),
        ("match.any.sync.b32 %d, %a, 3;", (7, 3), 3, 32),
        ("match.all.sync.b64 %d|%p, %b, 3;", (9, 3), 3, 33),
        ("redux.sync.add.u32 %d, %a, 3;", (7, 3), 3, 32),
        ("elect.sync %d|%p, 3;", (3,), 3, 33),
        ("activemask.b32 %d;", (), 0, 32),
    ],
)
def test_what_threads_compute_together(text: str, sources: tuple[int, ...], mask: int, width: int) -> None:
    done = explored(text, {"a": 7, "b": 9, "q": 1})
    (effect,) = done.effects
    assert (effect.kind, effect.operands, effect.mask, effect.width) == ("collective", sources, mask, width)
    assert effect.how is not None
    results = taken_apart(effect.how, returned(done, 0))
    written = [done.registers[name].value for name in ("d", "p") if name in done.registers]
    assert set(written) <= set(results)
    others = tuple(n + 1 if i != len(sources) - 1 else n for i, n in enumerate(sources))
    if effect.how.form.mask and len(sources) > 1:
        joined = resolve(effect.how, {0: sources, 1: others})
        parts = taken_apart(effect.how, joined[0])
        meant = effect.how.form.meaning(effect.how, {0: sources, 1: others})[0]
        assert parts == (meant if isinstance(meant, tuple) else (meant,))


def test_what_is_computed_together_depends_on_what_was_brought() -> None:
    text = "ld.u32 %a, [x]; shfl.sync.idx.b32 %b|%p, %a, 0, 31, 1; @%p st.u32 [y], %b;"
    _, together, store = effects(text)
    assert together["data_dependencies"] == (0,)
    assert (store["data_dependencies"], store["control_dependencies"]) == ((1,), (1,))


def test_a_loop_that_meets_others_is_bounded() -> None:
    assert explored("W: vote.sync.any.pred %p, %q, -1; @%p bra W;", {"q": 1}, unroll=2).cut != 0


@pytest.mark.parametrize(
    "text",
    [
        "W: ld.relaxed.gpu.u32 %r, [x]; mov.u64 %t, %globaltimer; setp.eq.u32 %p, %r, 0; @%p bra W;",
        "W: mov.u64 %t, %globaltimer; setp.gt.u64 %p, %t, 5; @!%p bra W;",
    ],
)
def test_a_loop_that_looks_at_the_clock_waits(text: str) -> None:
    assert explored(text, unroll=1).cut == 0


def test_who_traps_stops() -> None:
    text = "ld.u32 %r, [x]; setp.ne.u32 %p, %r, 0; @%p trap; st.u32 [y], 1;"
    done = explored(text)
    load, stop, store = done.effects
    assert stop.guard is ne(returned(done, 0), 0)
    assert store.guard is negate(stop.guard)
    assert done.finishes is negate(stop.guard)  # who traps has stopped the launch, and comes to no end
    assert [e.kind for e in explored("trap; st.u32 [x], 1;").effects] == ["stop"]
    assert load.kind == "load"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mov.u32 %d, %tid.x;", 5),
        ("mov.u16 %d, %tid.x;", 5),
        ("cvt.u64.u32 %d, %tid.x;", 5),
        ("mov.u32 %d, %cluster_ctarank;", 0),
        ("mov.v4.u32 {%d, %a, %b, %c}, %tid;", 5),
    ],
)
def test_special_registers_are_what_the_place_says(text: str, value: int) -> None:
    assert explored(text).registers["d"].value == value


def test_clocks_are_asked_anew_each_time() -> None:
    done = explored("mov.u64 %a, %clock64; mov.u32 %b, %globaltimer_lo; sub.u64 %c, %a, %a; mov.u32 %d, %clock64;")
    assert [said(e)["operation"] for e in done.effects] == ["clock64", "globaltimer_lo", "clock64"]
    assert done.registers["a"].value is returned(done, 0)
    assert done.registers["d"].value is extract(returned(done, 2), 31, 0)
    assert evaluate(done.registers["c"].value, {}) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov.u32 %d, %smid;", "special register '%smid' is not determined by where the thread is placed"),
        ("mov.u32 %d, %ctaid.x;", "special register '%ctaid.x' is not determined by where the thread is placed"),
        ("call f;", "'call' is not supported in litmus tests"),
        ("brx.idx %r, L;", "'brx' is not supported in litmus tests"),
        ("alloca.u64 %d, 16, 8;", "'alloca' is not supported in litmus tests"),
        ("clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [s], [m];",
         "'clusterlaunchcontrol.try_cancel' is not supported in litmus tests"),
        ("multimem.st.weak.global.u32 [x], 1;", "'multimem.st' is not supported in litmus tests"),
    ],
)  # fmt: skip
def test_what_is_not_explored_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        explored(text)
    assert caught.value.diagnostics[0].message == message
