"""Generated kernels with asynchronous copies: patterns that are right, with mistakes planted at random."""

from __future__ import annotations

import random
from collections.abc import Callable

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m[2];
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; setp.eq.u32 %p1, %r2, 0;
"""
_OUT = 32
_FENCE = "fence.proxy.async.shared::cta;"
_INITS = "fence.mbarrier_init.release.cluster;"
_WRITE = "st.shared.v4.u32 [s+{0}], {{3, 3, 3, 3}};"
_READ = "ld.shared.u32 %r4, [s+{0}]; mad.lo.u32 %r3, %r3, 5, %r4;"
_LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{0}], [%rd1+{1}], 16, [m+{2}];"
_STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd1+{1}], [s+{0}], 16;"
_REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+{1}], [s+{0}], 16;"
_EXPECT = "mbarrier.arrive.expect_tx.release.cta.shared.b64 _, [m+{0}], 16;"
_ARRIVE = "mbarrier.arrive.release.cta.shared.b64 _, [m+{0}];"
_WAIT = "W{{label}}: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [m+{0}], {1}; @!%p2 bra W{{label}};"
_COPY = "cp.async.ca.shared.global [s+{0}], [%rd1+{1}], 16;"
_COMMIT, _GROUP = "cp.async.commit_group;", "cp.async.wait_group {0};"
_COPIED = "cp.async.mbarrier.arrive{1}.shared.b64 [m+{0}];"
_BULK_COMMIT, _BULK_GROUP = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group{1} {0};"
_BAR = "bar.sync 0;"
#: The counts of the objects, and the statements of each thread.
Made = tuple[tuple[int, int], list[list[str]]]


def _loads(choose: random.Random, threads: int) -> Made:
    """One thread loads by bulk copies, all wait; maybe again into the same place."""
    programs: list[list[str]] = [[] for _ in range(threads)]
    rounds = choose.choice((1, 1, 2))
    fenced = choose.random() < 0.6
    for i in range(rounds):
        if i:
            for program in programs:
                program += [*[_FENCE] * fenced, _ARRIVE.format(8)]
            programs[0].append(_WAIT.format(8, 0))
        programs[0] += [_EXPECT.format(0), _LOAD.format(0, 16 * i, 0)]
        for t, program in enumerate(programs):
            program += [_WAIT.format(0, i & 1), *[_READ.format(4 * (t % 4))] * (choose.random() < 0.8)]
    return (1, threads), programs


def _stores(choose: random.Random, threads: int) -> Made:
    """All write, one thread stores by a bulk copy; then they write again."""
    reads = choose.choice(("", ".read"))
    what = choose.choice((_STORE, _STORE, _REDUCE))
    programs = [[_WRITE.format(16 * t), _FENCE, _BAR] for t in range(min(threads, 3))]
    programs += [[_BAR] for _ in range(threads - len(programs))]
    programs[0] += [what.format(0, 64), *[what.format(16, 80)] * choose.randint(0, 1), _BULK_COMMIT]
    programs[0].append(_BULK_GROUP.format(0, reads))
    for program in programs:
        program.append(_BAR)
    programs[1] += [_WRITE.format(0)]
    if not reads and choose.random() < 0.5:
        programs[0].append("ld.global.u32 %r4, [%rd1+64]; mad.lo.u32 %r3, %r3, 5, %r4;")
    return (1, 1), programs


def _small(choose: random.Random, threads: int) -> Made:
    """Each copies its own by `cp.async`, in one or two groups; then all read."""
    programs: list[list[str]] = []
    by_object = choose.random() < 0.5
    noinc = choose.choice((".noinc", ""))
    for t in range(threads):
        program = [_COPY.format(16 * t, 16 * t)]
        if by_object:
            program.append(_COPIED.format(0, noinc))
            program += [*[_ARRIVE.format(0)] * (not noinc), _WAIT.format(0, 0)]
        else:
            pending = choose.choice((0, 0, 1))
            program.append(_COMMIT)
            program += [_COPY.format(16 * t, 64 + 16 * t), _COMMIT] if pending == 0 and choose.random() < 0.2 else []
            program += [_GROUP.format(0), _BAR]
        program.append(_READ.format(16 * choose.randrange(threads)))
        programs.append(program)
    return (threads, 1), programs


def _ring(choose: random.Random, threads: int) -> Made:
    """One thread copies by `cp.async` into the same place round after round; the others read, and one of them gives the place
    back, or each."""
    programs: list[list[str]] = [[] for _ in range(threads)]
    noinc, one = choose.choice((".noinc", ".noinc", "")), choose.random() < 0.5
    for i in range(choose.choice((2, 2, 3))):
        programs[0] += [_WAIT.format(8, i - 1 & 1)] * (i > 0)
        programs[0] += [_COPY.format(0, 16 * i), _COPIED.format(0, noinc), *[_ARRIVE.format(0)] * (not noinc)]
        for t, program in enumerate(programs[1:]):
            program += [_WAIT.format(0, i & 1), _READ.format(4 * t)]
            program += [f"bar.warp.sync {(1 << threads) - 2};"] * one
            program += [_ARRIVE.format(8)] * (t == 0 or not one)
    programs[0].append("cp.async.wait_all;")
    return (1, 1 if one else threads - 1), programs


def _other_size(statement: str) -> str:
    return statement.replace(", 16;", ", 8;" if "async.ca" in statement else ", 32;")


def _mistaken(choose: random.Random, programs: list[list[str]]) -> None:
    program = choose.choice([p for p in programs if p])
    i = choose.randrange(len(program))
    other = choose.randrange(len(program))
    changes: list[Callable[[str], list[str]]] = [
        lambda s: [],
        lambda s: [s, _READ.format(choose.choice((0, 4, 16)))],
        lambda s: [s, _WRITE.format(choose.choice((0, 16)))],
        lambda s: [program[other]],
        lambda s: [s, _FENCE],
        lambda s: [
            s.replace("], 0;", "], 1;")
            if "try_wait" in s
            else s.replace(", 16;", ", 8;" if "async.ca" in s else ", 32;")
        ],
        lambda s: [s.replace("wait_group 0", "wait_group 1").replace("wait_group{1} 0", "wait_group.read 0")],
        lambda s: [s.replace("release", "relaxed").replace("acquire", "relaxed")],
        lambda s: [s, "ld.global.u32 %r4, [%rd1+64]; mad.lo.u32 %r3, %r3, 5, %r4;"],
    ]
    program[i : i + 1] = choose.choices(changes, (6, 3, 2, 3, 1, 2, 2, 1, 1))[0](program[i])


def ring(seed: int) -> KernelTest:
    """Copies by `cp.async` round after round."""
    return kernel(seed, (_ring,))


def kernel(
    seed: int, patterns: tuple[Callable[[random.Random, int], Made], ...] = (_loads, _loads, _stores, _small)
) -> KernelTest:
    """Copies by bulk and by `cp.async`, whose completion is waited for."""
    choose = random.Random(seed)
    threads = choose.choice((2, 2, 3))
    counts, programs = choose.choice(patterns)(choose, threads)
    for _ in range(choose.choice((0, 0, 1, 1, 2))):
        _mistaken(choose, programs)
    lines = [f"@%p1 mbarrier.init.shared.b64 [m+{8 * o}], {count};" for o, count in enumerate(counts)]
    lines += [choose.choice((f"@%p1 {_INITS}", f"@%p1 {_FENCE}", f"@%p1 {_INITS}", f"@%p1 {_FENCE}", ""))]
    lines += [*[_BAR] * (choose.random() < 0.97)]
    lines += [f"setp.eq.u32 %p3, %r2, {t}; @%p3 bra C{t};" for t in range(threads)]
    label = 0
    for t, statements in enumerate(programs):
        lines.append(f"C{t}:")
        for statement in statements:
            label += 1
            lines.append(statement.replace("{label}", str(label)))
        lines.append("bra END;")
    end = f"END: mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+{4 * _OUT}], %r3; ret;"
    text = "\n ".join([_HEAD, *lines, end, "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": threads,
        "params": {"x": {"type": "u32", "elements": 48, "init": [*range(1, 17), 0]}},
        "check": {"forall": " && ".join(f"x[{_OUT + t}] < 1000" for t in range(threads)) + " && x[16] < 9 && x[20] < 9",
                  "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
