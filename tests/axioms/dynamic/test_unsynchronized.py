"""Of a race in a whole launch: who should have synchronized, and what lacks."""

from __future__ import annotations

import re

import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
"""


def _test(ptx: str, grid: int = 2, block: int = 64) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 512, "init": [0]}}, "check": {"race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


_PTX = (
    _HEAD
    + """{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3;
 setp.eq.u32 %p, %r1, 1; @%p bra READS;
 st.global.u32 [%rd2+64], 7;
 {meets}
 setp.ne.u32 %p, %r2, 0; @%p ret;
 st.{writes}.global.u32 [%rd1], 1;
 ret;
READS: setp.ne.u32 %p, %r2, 0; @%p bra MEET;
POLL: ld.{reads}.global.u32 %r3, [%rd1];
 setp.eq.u32 %p, %r3, 0; @%p bra POLL;
MEET: bar.sync 0;
 ld.global.u32 %r4, [%rd2+64]; st.global.u32 [%rd2+1024], %r4;
 ret;
}}"""
)
_WRITE, _READ = 13, 16
_NARROW = "the .cta scope does not reach CTA"


def _flag(writes: str, reads: str, meets: str = "bar.sync 0;") -> KernelTest:
    return _test(_PTX.format(writes=writes, reads=reads, meets=meets))


@pytest.mark.parametrize(
    ("writes", "reads", "line", "what"),
    [
        ("relaxed.gpu", "acquire.gpu", _WRITE, "no release semantics, and CTA 1 thread 0 finds this at k.toml:16"),
        ("volatile", "relaxed.gpu", _WRITE, "no release semantics, and CTA 1 thread 0 finds this at k.toml:16"),
        ("release.gpu", "relaxed.gpu", _READ, "no acquire semantics, where what CTA 0 thread 0 wrote at k.toml:13 is found"),
        ("release.cta", "acquire.gpu", _WRITE, f"{_NARROW} 1 thread 0, who accesses the same at k.toml:16"),
        ("release.gpu", "acquire.cta", _READ, f"{_NARROW} 0 thread 0, who accesses the same at k.toml:13"),
    ],
)  # fmt: skip
def test_what_lacks_is_told_first_at_its_line(writes: str, reads: str, line: int, what: str) -> None:
    found = ptxmm.check(_flag(writes, reads))
    (race,) = found.races
    assert [(cause.spot.line, cause.what) for cause in race.causes] == [(line, what)]


def test_there_is_no_race_where_nothing_lacks() -> None:
    assert ptxmm.check(_flag("release.gpu", "acquire.gpu")).verdict == "ok"


def test_a_fence_of_too_narrow_a_scope_is_told_as_such() -> None:
    """The write behind it has a scope that is wide enough."""
    (race,) = ptxmm.check(_flag("relaxed.gpu", "acquire.gpu", meets="bar.sync 0; fence.acq_rel.cta;")).races
    told = "the .cta scope of the release before this does not reach CTA 1 thread 0, who finds this at k.toml:16"
    assert [(cause.spot.line, cause.what) for cause in race.causes] == [(_WRITE, told)]


def test_a_read_of_constant_memory_is_what_races_however_well_threads_synchronize() -> None:
    right = _flag("release.gpu", "acquire.gpu")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64,
        "params": {"x": {"type": "u32", "elements": 512, "init": [0]}}, "check": {"race_free": True},
    }  # fmt: skip
    text = right.launches[0].text.replace("ld.global.u32 %r4", "ld.global.nc.u32 %r4")
    (race,) = ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()).races
    (cause,) = race.causes
    assert cause.what == "nothing orders a .nc read with writes of the same launch"
    assert text.splitlines()[(cause.spot.line or 0) - 1].startswith(" ld.global.nc.u32")


def test_who_has_found_nothing_of_the_other_is_not_told() -> None:
    """The flag is read behind the data, so that no wait stands between."""
    text = _flag("relaxed.gpu", "acquire.gpu")
    launch = text.launches[0]
    moved = launch.text.replace("READS:", "READS: ld.global.u32 %r5, [%rd2+64];")
    (race,) = ptxmm.check(_test(moved)).races
    assert not race.causes


def test_a_barrier_that_lacks_before_a_release_is_told_there() -> None:
    (race,) = ptxmm.check(_flag("release.gpu", "acquire.gpu", meets="")).races
    (cause,) = race.causes
    assert cause.spot.line == _WRITE
    assert re.fullmatch(r"no barrier orders what CTA 0 thread \d+ does at k.toml:10 before this", cause.what)


_TURNS = (
    _HEAD
    + """{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3;
 setp.eq.u32 %p, %r1, 1; @%p bra TAKES;
 st.global.u32 [%rd2+64], 7; bar.sync 0;
 setp.ne.u32 %p, %r2, 0; @%p bra MET; st.release.gpu.global.u32 [%rd1], 1;
BACK: ld.acquire.gpu.global.u32 %r3, [%rd1+4]; setp.eq.u32 %p, %r3, 0; @%p bra BACK;
MET: bar.sync 0; st.global.u32 [%rd2+64], 8; ret;
TAKES: setp.ne.u32 %p, %r2, 0; @%p bra MEET;
POLL: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p, %r3, 0; @%p bra POLL;
MEET: bar.sync 0;
 ld.global.u32 %r4, [%rd2+64]; st.global.u32 [%rd2+1024], %r4; fence.acq_rel.gpu;
 setp.ne.u32 %p, %r2, 0; @%p ret; st.release.gpu.global.u32 [%rd1+4], 1; ret;
}"""
)


def test_a_barrier_that_lacks_before_a_place_is_given_back_is_told_there() -> None:
    """Whoever reads has fences of its own, and may come to the race before the write or behind it."""
    (race,) = ptxmm.check(_test(_TURNS)).races
    (cause,) = race.causes
    assert cause.spot.line == 18 and re.fullmatch(
        r"no barrier orders what CTA 1 thread \d+ does at k.toml:17 before this", cause.what
    )


_RELAY = (
    _HEAD
    + """{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4;
 setp.ne.u32 %p, %r1, 0; @%p bra READS;
 st.global.u32 [%rd2+64], 7;
READS: setp.eq.u32 %p, %r1, 0; @%p bra MEET; setp.ne.u32 %p, %r2, 0; @%p bra MEET;
POLL: ld.{reads}.gpu.global.u32 %r3, [%rd5+-4];
 setp.eq.u32 %p, %r3, 0; @%p bra POLL;
MEET: bar.sync 0;
 setp.ne.u32 %p, %r2, 0; @%p bra PUT;
 st.{writes}.gpu.global.u32 [%rd5], 1;
PUT: setp.ne.u32 %p, %r1, 3; @%p ret;
 ld.global.u32 %r4, [%rd2+64]; st.global.u32 [%rd2+1024], %r4;
 ret;
}}"""
)


@pytest.mark.parametrize(
    ("writes", "reads", "line", "what"),
    [
        ("relaxed", "acquire", 16, "no release semantics, and CTA 1 thread 0 finds this at k.toml:12"),
        ("release", "relaxed", 12, "no acquire semantics, where what CTA 0 thread 0 wrote at k.toml:16 is found"),
    ],
)
def test_of_a_chain_of_flags_the_first_link_is_told_that_lacks_something(
    writes: str, reads: str, line: int, what: str
) -> None:
    found = ptxmm.check(_test(_RELAY.format(writes=writes, reads=reads), grid=4))
    (race,) = found.races
    assert [(cause.spot.line, cause.what) for cause in race.causes] == [(line, what)]


_CLUSTER = (
    _HEAD
    + """.reqnctapercluster 2
{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3;
 setp.ne.u32 %p, %r1, 0; @%p bra MEET;
 st.global.u32 [%rd2+64], 7;
MEET: barrier.cluster.arrive{sem};
 barrier.cluster.wait;
 setp.eq.u32 %p, %r1, 0; @%p ret;
 ld.global.u32 %r4, [%rd2+64]; st.global.u32 [%rd2+1024], %r4;
 ret;
}}"""
)


def test_who_arrives_at_the_barrier_of_a_cluster_and_releases_nothing_is_told() -> None:
    def found(sem: str) -> ptxmm.Result:
        return ptxmm.check(_test(_CLUSTER.format(sem=sem)))

    assert found("").verdict == found(".release").verdict == "ok"
    (race,) = found(".relaxed").races
    (cause,) = race.causes
    assert cause.spot.line == 12
    assert re.fullmatch(r"no release semantics, and CTA 1 thread \d+ waits for this at k.toml:13", cause.what), (
        cause.what
    )


_QUEUE = (
    _HEAD
    + """{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .u32 mine;
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; setp.ne.u32 %p, %r2, 0; @%p bra MEET;
 atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;
 mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u32 %r4, %r3, 5;
 st.global.u32 [%rd4+64], %r4;
 st.{writes}.gpu.global.u32 [%rd4+128], 1;
 atom.relaxed.gpu.global.add.u32 %r5, [%rd1+4], 1;
 mul.wide.u32 %rd5, %r5, 4; add.u64 %rd6, %rd1, %rd5;
POLL: ld.{reads}.gpu.global.u32 %r6, [%rd6+128];
 setp.eq.u32 %p, %r6, 0; @%p bra POLL;
 st.shared.u32 [mine], %r5;
MEET: bar.sync 0;
 ld.shared.u32 %r5, [mine]; mul.wide.u32 %rd5, %r5, 4; add.u64 %rd6, %rd1, %rd5; ld.global.u32 %r7, [%rd6+64];
 mad.lo.u32 %r8, %r5, 64, %r2; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd8, %rd1, %rd7; st.global.u32 [%rd8+256], %r7;
 ret;
}}"""
)


@pytest.mark.parametrize(
    ("writes", "reads", "line", "what"),
    [
        ("relaxed", "acquire", 11, r"no release semantics, and CTA \d thread 0 finds this at k.toml:14"),
        ("release", "relaxed", 14, r"no acquire semantics, where what CTA \d thread 0 wrote at k.toml:11 is found"),
    ],
)
def test_of_a_queue_the_flag_of_an_item_is_told_and_not_its_counters(
    writes: str, reads: str, line: int, what: str
) -> None:
    """Threads find each other's additions to the tail and the head as well, and wait for neither."""
    found = ptxmm.check(_test(_QUEUE.format(writes=writes, reads=reads), grid=3))
    (cause,) = found.races[0].causes
    assert cause.spot.line == line and re.fullmatch(what, cause.what)


_RESERVED = (
    _HEAD
    + """{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3;
 setp.eq.u32 %p, %r1, 1; @%p bra READS;
 atom.relaxed.gpu.global.cas.b32 %r3, [%rd2], 0, 9;
 st.global.u32 [%rd2+256], 7;
 st.{writes}.gpu.global.u32 [%rd2], 1;
 ret;
READS:
POLL: ld.{reads}.gpu.global.u32 %r3, [%rd2];
 setp.ne.u32 %p, %r3, 1; @%p bra POLL;
 ld.global.u32 %r4, [%rd2+256]; st.global.u32 [%rd2+512], %r4;
 ret;
}}"""
)


@pytest.mark.parametrize(
    ("writes", "reads", "line", "what"),
    [
        ("relaxed", "acquire", 12, r"no release semantics, and CTA 1 thread \d+ finds this at k.toml:15"),
        ("release", "relaxed", 15, r"no acquire semantics, where what CTA 0 thread \d+ wrote at k.toml:12 is found"),
    ],
)
def test_of_a_place_that_is_reserved_and_published_the_publication_is_told(
    writes: str, reads: str, line: int, what: str
) -> None:
    """Who finds what is published comes behind the reservation as well, which comes before what it hands over."""
    found = ptxmm.check(_test(_RESERVED.format(writes=writes, reads=reads)))
    (cause,) = found.races[0].causes
    assert cause.spot.line == line and re.fullmatch(what, cause.what), cause


_COUNTED = (
    _HEAD
    + """{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3;
 setp.eq.u32 %p, %r1, 1; @%p bra READS;
 st.global.u32 [%rd2+64], 7; fence.acq_rel.gpu;
 atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;
 ret;
READS: setp.ne.u32 %p, %r2, 0; @%p bra MEET;
POLL: ld.{reads}.gpu.global.u32 %r3, [%rd1];
 setp.ne.u32 %p, %r3, 128; @%p bra POLL;
MEET: bar.sync 0;
 ld.global.u32 %r4, [%rd2+64]; st.global.u32 [%rd2+1024], %r4;
 ret;
}}"""
)


def test_who_waits_for_a_counter_of_many_threads_is_told() -> None:
    """Each of the threads that count finds all those before it."""

    def found(reads: str) -> ptxmm.Result:
        return ptxmm.check(_test(_COUNTED.format(reads=reads), block=128))

    assert found("acquire").verdict == "ok"
    (cause,) = found("relaxed").races[0].causes
    assert cause.spot.line == 14
    assert re.fullmatch(r"no acquire semantics, where what CTA 0 thread \d+ wrote at k.toml:11 is found", cause.what)


_GATHERED = (
    _HEAD
    + """{{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p0, %r2, 0;
 setp.eq.u32 %p1, %r1, 1; @%p1 bra GATHERS; setp.eq.u32 %p1, %r1, 2; @%p1 bra READS; @%p0 ret;
 st.global.u32 [%rd1+64], 7;
 st.release.gpu.global.u32 [%rd1], 1; ret;
GATHERS: @%p0 bra MEET;
POLL: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra POLL;
MEET: {meets}
 setp.ne.u32 %p1, %r2, 32; @%p1 ret;
 st.release.gpu.global.u32 [%rd1+4], 1; ret;
READS: @%p0 ret;
WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1+4]; setp.eq.u32 %p1, %r3, 0; @%p1 bra WAIT;
 ld.global.u32 %r4, [%rd1+64]; st.global.u32 [%rd1+128], %r4;
 ret;
}}"""
)


def test_a_barrier_that_lacks_in_a_block_between_is_told_there() -> None:
    """One thread of it waits, and another one hands over."""

    def found(meets: str) -> ptxmm.Result:
        return ptxmm.check(_test(_GATHERED.format(meets=meets), grid=3))

    assert found("bar.sync 0;").verdict == "ok"
    (cause,) = found("").races[0].causes
    assert (cause.spot.line, cause.what) == (15, "no barrier orders what CTA 1 thread 0 does at k.toml:12 before this")
