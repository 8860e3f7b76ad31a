"""Generated kernels of clusters of two CTAs: patterns that are right, with mistakes planted at random."""

from __future__ import annotations

import random
from collections.abc import Callable

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
.explicitcluster .reqnctapercluster 2
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m[1];
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r3, 0; setp.eq.u32 %p1, %r2, 0;
 xor.b32 %r5, %r1, 1; mov.u32 %r6, s; mapa.shared::cluster.u32 %r7, %r6, %r5;
 mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, %r5;
"""
_OUT = 16
_ARRIVE, _RELAXED = "barrier.cluster.arrive.release;", "barrier.cluster.arrive.relaxed;"
_WAIT = "barrier.cluster.wait.acquire;"
_INIT = "@%p1 mbarrier.init.shared.b64 [m], {0};"
_READ = "ld.shared::cluster.u32 %r4, [%r7+{0}]; mad.lo.u32 %r3, %r3, 5, %r4;"
_OWN = "ld.shared.u32 %r4, [s+{0}]; mad.lo.u32 %r3, %r3, 5, %r4;"
_WRITE, _THERE = "st.shared.u32 [s+{0}], {1};", "@%p1 st.shared::cluster.u32 [%r7+{0}], {1};"
_REMOTE = "@%p1 mbarrier.arrive.release.{0}.shared::cluster.b64 _, [%r9];"
_EXPECT = "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [m], 4;"
_ASYNC = "@%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7+{0}], 3, [%r9];"
_AWAIT = "W{{label}}: mbarrier.try_wait.parity.acquire.{0}.shared.b64 %p2, [m], 0; @!%p2 bra W{{label}};"


def _exchange(choose: random.Random) -> list[str]:
    """Each writes its own and reads the other's, once or twice."""
    lines = [_WRITE.format("0", 1), _WRITE.format("4", 2)] if choose.random() < 0.5 else ["@%p1 " + _WRITE.format(0, 1)]
    lines = ["@%p1 " + line.removeprefix("@%p1 ") for line in lines]
    fenced = ["fence.acq_rel.cluster;", _RELAXED] if choose.random() < 0.3 else [_ARRIVE]
    lines += [*fenced, _WAIT, _READ.format(0), *[_READ.format(0)] * choose.randint(0, 1)]
    if choose.random() < 0.4:
        lines += [_ARRIVE, _WAIT, "@%p1 " + _WRITE.format(0, 3), _ARRIVE, _WAIT, _READ.format(0)]
    return [*lines, _ARRIVE, _WAIT]


def _remote(choose: random.Random) -> list[str]:
    """Each writes into the other's memory and arrives there."""
    begin = ["fence.mbarrier_init.release.cluster;", _RELAXED] if choose.random() < 0.5 else [_ARRIVE]
    scope = choose.choice(("cluster", "cluster", "cta"))
    lines = [
        _INIT.format(1),
        *begin,
        _WAIT,
        _THERE.format(0, 5),
        _REMOTE.format("cluster"),
        _AWAIT.format(scope),
        _OWN.format(0),
    ]
    return [*lines, *[_ARRIVE, _WAIT] * (choose.random() < 0.8)]


def _stored(choose: random.Random) -> list[str]:
    """Each stores asynchronously into the other's memory."""
    lines = [
        _INIT.format(1),
        _ARRIVE,
        _WAIT,
        _EXPECT,
        _ASYNC.format(0),
        _AWAIT.format(choose.choice(("cluster", "cta"))),
    ]
    return [*lines, _OWN.format(0), *[_ARRIVE, _WAIT] * (choose.random() < 0.5)]


def _mistaken(choose: random.Random, lines: list[str]) -> None:
    i = choose.randrange(len(lines))
    changes: list[Callable[[str], list[str]]] = [
        lambda s: [],
        lambda s: [s, _READ.format(choose.choice((0, 4)))],
        lambda s: [s, "@%p1 " + _WRITE.format(0, 7)],
        lambda s: [s, _THERE.format(0, 7)],
        lambda s: [s.replace("release", "relaxed") if s != "fence.acq_rel.cluster;" and "fence" not in s else s],
        lambda s: [s.replace(".cluster.shared", ".cta.shared") if "mbarrier" in s else s],
    ]
    lines[i : i + 1] = choose.choices(changes, (5, 2, 2, 2, 2, 2))[0](lines[i])


def kernel(seed: int) -> KernelTest:
    """Two CTAs of a cluster that reach into each other's memory."""
    choose = random.Random(seed)
    lines = choose.choice((_exchange, _exchange, _remote, _stored))(choose)
    for _ in range(choose.choice((0, 0, 1, 1, 2))):
        _mistaken(choose, lines)
    block = choose.choice((1, 1, 2))
    zeros = ["@%p1 st.shared.v2.u32 [s], {0, 0};"]
    lines = [line.replace("{label}", str(i)) for i, line in enumerate(lines)]
    end = f"mad.lo.u32 %r10, %r1, {block}, %r2; mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1;"
    end += f" st.global.u32 [%rd2+{4 * _OUT}], %r3; ret;"
    wanted = " && ".join(f"x[{_OUT + t}] < 30" for t in range(2 * block))
    text = "\n ".join([_HEAD, *zeros, *lines, end, "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": block, "cluster": 2,
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
