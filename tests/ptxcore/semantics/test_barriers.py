"""What barriers, fences, grids and addresses of clusters ask of a thread (sections 9.7.13.1 to 9.7.13.4, 9.7.13.13,
9.7.13.17, 9.7.9.19, 9.7.9.23 and 9.7.9.24)."""

from __future__ import annotations

from typing import Any

import driver
import pytest
from recorder import Recorder

from ptxcore.isa.form import Use


def use_of(instruction: str, operands: int) -> Use:
    opcode, *modifiers = instruction.split(".")
    found = driver.candidates(opcode, tuple(modifiers))
    assert isinstance(found, tuple), instruction
    fitting = [u for u in found if u.form.run and operands <= len([p for p in u.parameters if p.role != "destination"])]
    return fitting[0]


def run(instruction: str, thread: Recorder, *sources: Any) -> Any:
    use = use_of(instruction, len(sources))
    return use.form.meaning(use, thread, *sources)


NOWHERE = {"address": 0, "size": None}
CLUSTER = {"identity": None, "count": None, "level": "cluster"}


@pytest.mark.parametrize(
    ("instruction", "sources", "asked"),
    [
        ("bar.sync", (3,), ("sync", "weak", "aligned", {"identity": 3, "count": None})),
        ("barrier.sync", (3, 64), ("sync", "weak", "", {"identity": 3, "count": 64})),
        ("barrier.sync.aligned", (3, 64), ("sync", "weak", "aligned", {"identity": 3, "count": 64})),
        ("bar.arrive", (3, 64), ("arrive", "weak", "aligned", {"identity": 3, "count": 64})),
        ("bar.red.popc.u32", (3, None, 1),
         ("red", "weak", "aligned", {"identity": 3, "count": None, "operator": "popc", "operand": 1})),
        ("barrier.cluster.arrive", (), ("arrive", "release", "", CLUSTER)),
        ("barrier.cluster.arrive.relaxed.aligned", (), ("arrive", "relaxed", "aligned", CLUSTER)),
        ("barrier.cluster.wait", (), ("wait", "acquire", "", CLUSTER)),
    ],
)  # fmt: skip
def test_barriers(instruction: str, sources: tuple[Any, ...], asked: tuple[Any, ...]) -> None:
    thread = Recorder()
    assert run(instruction, thread, *sources) == (7 if ".red" in instruction else None)
    assert thread.asked == [("barrier", *asked)]


def test_threads_of_a_warp_wait_for_their_mask() -> None:
    use = use_of("bar.warp.sync", 1)
    assert (use.form.kind, use.form.mask) == ("warp", "membermask")
    assert use.form.meaning(use, {0: (3,), 1: (3,)}) == {0: None, 1: None}


@pytest.mark.parametrize(
    ("instruction", "sources", "asked"),
    [
        ("fence.gpu", (), ("fence", {"semantics": "acq_rel", "scope": "gpu", "restrict": ""})),
        ("membar.gl", (), ("fence", {"semantics": "sc", "scope": "gpu", "restrict": ""})),
        ("fence.acquire.sync_restrict::shared::cluster.cluster", (),
         ("fence", {"semantics": "acquire", "scope": "cluster", "restrict": "shared::cluster"})),
        ("fence.mbarrier_init.release.cluster", (),
         ("fence", {"semantics": "release", "scope": "cluster", "restrict": "mbarrier_init"})),
        ("fence.proxy.alias", (), ("proxy_fence", {"proxy": "alias", "restrict": ""})),
        ("fence.proxy.async.global", (), ("proxy_fence", {"proxy": "async.global", "restrict": ""})),
        ("fence.proxy.tensormap::generic.acquire.gpu", (64, 128),
         ("proxy_fence", {"semantics": "acquire", "scope": "gpu", "proxy": "tensormap::generic", "restrict": "",
                          "address": 64, "size": 128})),
        ("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", (),
         ("proxy_fence", {"semantics": "release", "scope": "cluster", "proxy": "async::generic", "restrict": "shared::cta",
                          **NOWHERE})),
        ("griddepcontrol.wait", (), ("grid", {"operation": "wait"})),
        ("griddepcontrol.launch_dependents", (), ("grid", {"operation": "launch_dependents"})),
    ],
)  # fmt: skip
def test_fences_and_grids(instruction: str, sources: tuple[Any, ...], asked: tuple[Any, ...]) -> None:
    thread = Recorder()
    assert run(instruction, thread, *sources) is None
    assert thread.asked == [asked]


VALID = 1 << 63 | 1 << 20 | 1  # a barrier object that one arrival completes


def test_a_request_to_cancel_a_cluster_is_answered_once_for_each() -> None:
    request = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
    thread = Recorder({0: None, 16: VALID})
    thread.clusters = [(4, 5, 6)]
    for _ in range(2):
        run(request, thread, 0, 16)
    assert thread.memory[0] is None
    query = "clusterlaunchcontrol.query_cancel"
    answers = []
    for respond in thread.deferred:
        respond()
        answers.append(thread.memory[0])
    canceled = [driver.apply(f"{query}.is_canceled.pred.b128", answer) for answer in answers]
    assert canceled == [1, 0]
    assert driver.apply(f"{query}.get_first_ctaid.v4.b32.b128", answers[0])[:3] == (4, 5, 6)
    assert [driver.apply(f"{query}.get_first_ctaid::{d}.b32.b128", answers[0]) for d in "xyz"] == [4, 5, 6]
    assert thread.memory[16] >> 40 & 0x1FFFFF == -32 % (1 << 21)


def test_an_answer_may_go_to_every_cta_of_the_cluster() -> None:
    request = "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"
    thread = Recorder({16 + (rank << 24): VALID for rank in range(4)})
    run(request, thread, 0, 16)
    for respond in thread.deferred:  # one for each, at a time of its own
        respond()
    assert all(thread.memory[rank << 24] == 0 for rank in range(4))
    assert {thread.memory[16 + (rank << 24)] >> 40 & 0x1FFFFF for rank in range(4)} == {-16 % (1 << 21)}


@pytest.mark.parametrize(
    ("space", "lies_in", "answer"),
    [
        ("shared", ("shared::cta", "shared::cluster"), 1),
        ("shared", ("shared::cluster",), 0),
        ("shared::cluster", ("shared::cluster",), 1),
        ("global", ("global",), 1),
        ("global", ("param::entry",), 1),
        ("global", ("local",), 0),
        ("param", ("param::entry",), 1),
        ("const", ("const",), 1),
    ],
)
def test_spaces_of_addresses(space: str, lies_in: tuple[str, ...], answer: int) -> None:
    assert run(f"isspacep.{space}", Recorder(spaces=lies_in), 64) == answer


def test_addresses_in_other_ctas() -> None:
    thread = Recorder()
    address = run("mapa.shared::cluster.u32", thread, 64, 3)
    assert address == 64 + (3 << 24)
    assert run("getctarank.u64", thread, address) == 3
