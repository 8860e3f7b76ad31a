"""Kernels that hand values over in shared memory, stage by stage, each behind a barrier: without one of these, some thread
reads what another one has yet to write. That nobody had written it must not hide the race."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from by_runs import by_runs
from campaigns import some

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .shared .align 16 .b8 s[16384]; .shared .align 8 .b8 m[64];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u64 %rd2, s; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd5, %rd1, %rd3;
 mov.u32 %r3, %r1; setp.eq.u32 %p7, %r1, 0; mov.u64 %rd15, m; add.u64 %rd6, %rd2, %rd3;
"""
#: What is done with a value, %r4, that another thread has handed over.
_USES = (
    "add.u32 %r3, %r3, %r4;",
    "xor.b32 %r3, %r4, %r4;",
    "setp.lt.u32 %p3, %r4, {number}; @%p3 bra L{stage}; add.u32 %r3, %r3, 1; L{stage}: mov.u32 %r8, %r3;",
    "and.b32 %r6, %r4, 63; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd8, %rd1, %rd8; ld.global.u32 %r7, [%rd8+2048];"
    " add.u32 %r3, %r3, %r7;",
    "st.global.u32 [%rd5+3000], %r4;",
)
_WAIT = (
    "mbarrier.arrive.shared.b64 %rd9, [%rd15];"
    " W{stage}: mbarrier.test_wait.parity.shared.b64 %p2, [%rd15], {phase}; @!%p2 bra W{stage};"
)


def _made(seed: int) -> tuple[int, list[str], list[int]]:
    """The threads of a kernel, its lines, and which of these are barriers. Some have phases of an mbarrier object in the place
    of some barriers, or an atomic operation whose result is used: these go thread by thread."""
    choose = random.Random(seed)
    threads, way, phase = choose.choice((64, 128, 160)), choose.choice(("", "atom", "phases")), 0
    lines: list[str] = []
    if way == "phases":
        lines += [f"@%p7 mbarrier.init.shared.b64 [%rd15], {threads};", "bar.sync 0;"]
    elif way == "atom":
        lines += ["@%p7 atom.global.exch.b32 %r9, [%rd1+4000], 1;", "@%p7 st.global.u32 [%rd1+3996], %r9;"]
    barriers = []
    for stage in range(choose.randint(2, 4)):
        at, put = 4 * threads * stage, choose.choice(("each", "each", "copies", "one"))
        if put == "one":
            lines.append(f"setp.eq.u32 %p1, %r1, {choose.randrange(threads)}; @%p1 st.shared.u32 [%rd2+{at}], %r3;")
        elif put == "copies":
            lines.append(f"cp.async.ca.shared.global [%rd6+{at}], [%rd5], 4; cp.async.wait_all;")
        else:
            lines.append(f"st.shared.u32 [%rd6+{at}], %r3;")
        if way == "phases" and choose.random() < 0.5:
            lines.append(_WAIT.format(stage=stage, phase=phase))
            phase ^= 1
        else:
            barriers.append(len(lines))
            lines.append(choose.choice(("bar.sync 0;", "barrier.sync 3;", f"bar.sync 2, {threads};")))
        if put == "one":
            lines.append(f"ld.shared.u32 %r4, [%rd2+{at}];")
        else:
            other = (
                f"add.u32 %r5, %r1, {choose.choice((1, threads - 1, 33, threads // 2))}; rem.u32 %r5, %r5, {threads};"
            )
            lines.append(
                f"{other} mul.wide.u32 %rd7, %r5, 4; add.u64 %rd7, %rd2, %rd7; ld.shared.u32 %r4, [%rd7+{at}];"
            )
        lines.append(choose.choice(_USES).format(number=choose.randrange(200), stage=stage))
    return threads, lines, barriers


def _test(threads: int, lines: list[str]) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": threads,
        "params": {"x": {"type": "u32", "elements": 2048, "init": [1]}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n".join([_HEAD, *lines, "ret;\n}"])}).test()


def _check(test: KernelTest) -> Result:
    open_, found = by_runs(test)
    assert not open_
    return found


def _found(seeds: range) -> Counter[str]:
    """The verdicts of kernels without one of their barriers."""
    verdicts: Counter[str] = Counter()
    for seed in seeds:
        threads, lines, barriers = _made(seed)
        assert _check(_test(threads, lines)).verdict == "ok", seed
        for at in barriers:
            result = _check(_test(threads, [*lines[:at], "", *lines[at + 1 :]]))
            put, taken = (_HEAD.count("\n") + 1 + n for n in (at, at + 2))
            told = {event.line for race in result.races for event in race.events}
            assert told == {put, taken}, (seed, at)
            verdicts[result.verdict] += 1
    return verdicts


@pytest.mark.parametrize("seeds", some(2, [range(4), range(4, 8)]))
def test_each_missing_barrier_is_found_at_its_lines(seeds: range) -> None:
    found = _found(seeds)
    assert found.keys() == {"no", "undefined"}  # beside an asynchronous copy the launch has no meaning


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(n, n + 10) for n in range(100, 140, 10)])
def test_each_missing_barrier_of_many_kernels_is_found_at_its_lines(seeds: range) -> None:
    assert _found(seeds).keys() == {"no", "undefined"}


_TAKEN_TOO_SOON = "ld.shared.u32 %r4, [%rd6]; add.u32 %r4, %r4, 1; st.global.u32 [%rd5+3000], %r4;"


def test_what_a_copy_has_yet_to_bring_is_read_as_zeros_and_said() -> None:
    result = _check(_test(128, ["cp.async.ca.shared.global [%rd6], [%rd5], 4;", _TAKEN_TOO_SOON]))
    assert result.verdict == "undefined" and {e.line for r in result.races for e in r.events} == {10, 11}
    assert any("has 0x00 in every byte" in note for note in result.notes)


_DECIDES = "ld.shared.u32 %r4, [%rd6]; setp.lt.u32 %p1, %r4, 5;"


def test_where_nothing_races_what_nobody_wrote_leaves_the_launch_open() -> None:
    open_, found = by_runs(_test(128, [_DECIDES, "@%p1 st.global.u32 [%rd5], 1;"]))
    assert "before a write" in open_ and found.verdict == "undecided"


def test_a_race_that_only_some_contents_of_shared_memory_show_is_one() -> None:
    """As the formula says of fewer threads."""
    lines = [_DECIDES, "@%p1 st.global.u32 [%rd1], 1;"]
    open_, found = by_runs(_test(128, lines))
    assert not open_ and found.verdict == "no"
    assert checking.check(_test(2, lines), model_named("ptx-9.0")).verdict == "no"
