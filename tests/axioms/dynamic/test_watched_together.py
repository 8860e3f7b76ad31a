"""Launches watched on arrays beside the same launches watched thread by thread: the same verdicts, counts and final values; and
warp-specialised kernels of hundreds of threads, with a mistake planted and without."""

from __future__ import annotations

from collections import Counter

import pytest
from agreement import note
from campaigns import lengths, share
from test_whole_launches import _kernel, _launched, _reduction

from axioms.dynamic.core.findings import ByteRace, Open
from axioms.dynamic.one_run.together import Together
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import WatchedRun, watched_run


def _kind(ran: WatchedRun) -> str:
    left = ran.why or next((w.unknown for w in ran.watchers if w.unknown is not None), None)
    return left.what if isinstance(left, Open) else "race" if isinstance(left, ByteRace) else "settled"


def _counts(ran: WatchedRun) -> tuple[object, ...]:
    watcher = ran.watchers[-1]
    return watcher.accesses, watcher.meetings, watcher.waits, watcher.commuted, ran.state


def _compare(seeds: range) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        runs = Runs(_kernel(seed), watched=True)
        together, single = watched_run(runs, None), watched_run(runs, None, alone=True)
        assert type(together.watchers[-1]) is Together, seed
        one, other = _kind(together), _kind(single)
        found[one, other] += 1
        assert (one == "settled") == (other == "settled"), (seed, one, other)
        assert one != "settled" or _counts(together) == _counts(single), seed
        for race in (together.why, single.why):
            assert not isinstance(race, ByteRace) or race.before.thread != race.after.thread
    note(found.total(), Counter())
    return found


@pytest.mark.compares(1)
@pytest.mark.parametrize("seeds", lengths(range(5000, 5020), range(5000, 5100)))
def test_threads_together_are_judged_as_they_are_one_by_one(seeds: range) -> None:
    """Where a launch has several conflicts, the two may come upon another one first: a race, or one that is open."""
    found = _compare(seeds)
    assert min(found["settled", "settled"], found["race", "race"]) > len(seeds) / 5


@pytest.mark.campaign
@pytest.mark.compares(1)
def test_threads_together_are_judged_as_they_are_one_by_one_in_many_kernels() -> None:
    _compare(range(6000, 6000 + share(5000)))


@pytest.mark.part(3)
@pytest.mark.parametrize("without", [None, *range(8)])
def test_a_reduction_is_judged_alike_at_its_size(without: int | None) -> None:
    runs = Runs(_launched(_reduction(256, without), 256, 2), watched=True)
    together, single = watched_run(runs, None), watched_run(runs, None, alone=True)
    assert type(together.watchers[-1]) is Together
    assert _kind(together) == _kind(single) == ("settled" if without is None else "race")
    assert without is not None or _counts(together) == _counts(single)
    if isinstance(together.why, ByteRace) and isinstance(single.why, ByteRace):
        lines = [
            {r.before.op.instruction.span.line, r.after.op.instruction.span.line} for r in (together.why, single.why)
        ]
        assert lines[0] == lines[1]


_LOADERS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .shared .align 16 .b8 s[1024];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x; mov.u64 %rd3, s; mov.u32 %r2, 0; mov.u32 %r9, 0;
 setp.ge.u32 %p1, %r1, 256; @%p1 bra LOAD;
 mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd3, %rd4; xor.b32 %r8, %r1, 1; mul.wide.u32 %rd8, %r8, 4; add.u64 %rd8, %rd3, %rd8;
COMPUTE:
 {free} bar.sync 2, 288; ld.shared.u32 %r3, [%rd5]; ld.shared.u32 %r4, [%rd8]; ld.shared.u32 %r5, [s+64]; add.u32 %r9, %r9, %r3;
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COMPUTE;
 add.u64 %rd6, %rd2, %rd4; st.global.u32 [%rd6], %r9; {last} ret;
LOAD:
 and.b32 %r6, %r1, 31; mul.wide.u32 %rd4, %r6, 16; add.u64 %rd5, %rd3, %rd4; add.u64 %rd6, %rd1, %rd4;
COPY:
 {wait} ld.global.v4.u32 {{%r3, %r4, %r5, %r7}}, [%rd6]; st.shared.v4.u32 [%rd5], {{%r3, %r4, %r5, %r7}};
 ld.global.v4.u32 {{%r3, %r4, %r5, %r7}}, [%rd6+512]; st.shared.v4.u32 [%rd5+512], {{%r3, %r4, %r5, %r7}};
 add.u64 %rd6, %rd6, 1024; {ready} add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COPY;
 ret;
}}"""


def _specialised(rounds: int, **planted: str) -> KernelTest:
    """256 threads compute what 32 bring them, through named barriers."""
    how = {
        "free": "bar.arrive 1, 288;",
        "wait": "bar.sync 1, 288;",
        "ready": "bar.arrive 2, 288;",
        "last": "",
        **planted,
    }
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 288,
        "params": {
            "x": {"type": "u32", "elements": 256 * rounds, "init": list(range(256 * rounds))},
            "y": {"type": "u32", "elements": 256},
        },
        "check": {"forall": f"y[3] == {3 * rounds + 256 * rounds * (rounds - 1) // 2}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _LOADERS.format(rounds=rounds, **how)}).test()


@pytest.mark.parametrize("planted", [{}, {"wait": "bar.sync 3, 32;", "free": "bar.arrive 4, 288;", "last": ""}])
def test_warp_specialised_kernels_are_judged_alike(planted: dict[str, str]) -> None:
    runs = Runs(_specialised(6, **planted), watched=True)
    together, single = watched_run(runs, None), watched_run(runs, None, alone=True)
    assert planted or type(together.watchers[0]) is Together
    assert _kind(together) == _kind(single)
    assert planted or (_kind(together) == "settled" and _counts(together) == _counts(single))


def test_a_warp_specialised_kernel_without_a_wait_has_a_race() -> None:
    ran = watched_run(Runs(_specialised(40, wait="", free=""), watched=True), None)
    assert isinstance(ran.why, ByteRace) or _kind(ran) == "instance"
    ran = watched_run(Runs(_specialised(40), watched=True), None)
    assert _kind(ran) == "settled" and ran.state is not None


def test_a_module_that_is_watched_is_compiled_once() -> None:
    """Loaded modules and what machines made of them are kept between launches of a process."""
    first, second = (Runs(_specialised(2), watched=True) for _ in range(2))
    [one], [other] = first.devices.values(), second.devices.values()
    assert one.program is other.program and one.compiled is other.compiled and one.kept is other.kept
    watched_run(first, None)
    blocks = dict(one.kept)
    assert blocks
    watched_run(second, None)
    assert {name: id(made) for name, made in other.kept.items()} == {name: id(made) for name, made in blocks.items()}
