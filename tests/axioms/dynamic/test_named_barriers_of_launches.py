"""Named barriers that are used wrongly, in launches of hundreds of threads: a run shows it, which is an execution. Where it is
open who comes to which instance in other executions, a run goes on, to show a race, an endless wait or misuse."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import note
from by_runs import by_formula, by_runs
from campaigns import lengths

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 4 .b8 s[1024];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;
"""

#: Two groups of 128 threads in turns: each waits for its turn, adds to what the other one left, and gives the turn away. The
#: second one sees first to it that the first one begins.
_PINGPONG = """ and.b32 %r4, %r1, 127; mul.wide.u32 %rd2, %r4, 4; mov.u64 %rd3, s; add.u64 %rd2, %rd2, %rd3;
 setp.ge.u32 %p1, %r1, 128; @%p1 bra SECOND;
 st.shared.u32 [%rd2], 0;
FIRST: bar.sync 1, 256;
 ld.shared.u32 %r5, [%rd2]; add.u32 %r5, %r5, 1; st.shared.u32 [%rd2], %r5;
 bar.arrive 2, 256;
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 6; @%p2 bra FIRST;
 bra END;
SECOND: bar.arrive 1, 256;
AGAIN: bar.sync 2, 256;
 ld.shared.u32 %r5, [%rd2]; add.u32 %r5, %r5, 1; st.shared.u32 [%rd2], %r5;
 add.u32 %r2, %r2, 1; setp.ge.u32 %p2, %r2, 6; @%p2 bra DONE;
 bar.arrive 1, 256;
 bra AGAIN;
DONE: mul.wide.u32 %rd4, %r4, 4; add.u64 %rd1, %rd1, %rd4; st.global.u32 [%rd1], %r5;
END: ret;
}
"""


def _in_turns(old: str = "", new: str = "") -> ptxmm.Kernel:
    text = _PINGPONG
    if old:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return ptxmm.Kernel(
        _HEAD + text, params={"x": {"type": "u32", "elements": 128}}, grid=1, block=256, forall="x[5] == 12",
        race_free=True, terminates=True,
    )  # fmt: skip


#: What stands there, and what is planted in its place.
_MISTAKES = {
    "no wait of the first": ("FIRST: bar.sync 1, 256;", "FIRST:"),
    "no wait of the second": ("AGAIN: bar.sync 2, 256;", "AGAIN:"),
    "the first does not give its turn away": (" bar.arrive 2, 256;\n", ""),
    "the first one's turn never begins": ("SECOND: bar.arrive 1, 256;", "SECOND:"),
    "the second does not give its turn away": (" bar.arrive 1, 256;\n bra AGAIN;", " bra AGAIN;"),
    "a wait for too few": ("FIRST: bar.sync 1, 256;", "FIRST: bar.sync 1, 128;"),
    "a wait for others": ("AGAIN: bar.sync 2, 256;", "AGAIN: bar.sync 1, 256;"),
    "an arrival for too few": (" bar.arrive 2, 256;\n", " bar.arrive 2, 128;\n"),
    "an arrival elsewhere": (" bar.arrive 2, 256;\n", " bar.arrive 3, 256;\n"),
    "the last turn is given away": ("DONE: mul", "DONE: bar.arrive 1, 256; bar.arrive 1, 256; mul"),
}


def test_groups_in_turns_are_decided() -> None:
    assert ptxmm.check(_in_turns().test).verdict == "ok"


@pytest.mark.part(3)
@pytest.mark.parametrize("mistake", _MISTAKES)
def test_a_mistake_with_a_named_barrier_is_shown_by_a_run(mistake: str) -> None:
    open_, found = by_runs(_in_turns(*_MISTAKES[mistake]).test)
    assert not open_ and found.verdict in ("no", "undefined")


def test_a_race_behind_an_instance_that_is_open_is_found() -> None:
    """The second group comes to the next instance of barrier 1 without having waited for the last one: who else may come to
    that is open, and yet the race is one."""
    open_, found = by_runs(_in_turns("AGAIN: bar.sync 2, 256;", "AGAIN: bar.sync 3, 128;").test)
    assert not open_ and found.verdict == "no" and len(found.races) == 1
    lines = {event.instruction.split()[0] for event in found.races[0].events}
    assert lines <= {"ld.shared.u32", "st.shared.u32"}


def generated(seed: int) -> KernelTest:
    """A few warps, one thread of each, that arrive and wait at two barriers, and access some bytes between."""
    rng = random.Random(seed)
    warps = rng.choice((2, 2, 3))
    counts = [64, 64, 32 * warps]
    if rng.random() < 0.2:
        counts += [32 * warps + 32, 32]

    def step(warp: int) -> str:
        what = rng.choice("bbbbbbwwrr")
        if what == "b":
            return f"barrier.{rng.choice(('sync', 'arrive'))} {rng.choice((1, 1, 2))}, {rng.choice(counts)};"
        if what == "w":
            return f"st.shared.u32 [s], {warp + 1};"
        return f"ld.shared.u32 %r3, [s]; st.global.u32 [%rd1+{4 * warp}], %r3;"

    bodies = [" ".join(step(warp) for _ in range(rng.randint(1, 4))) for warp in range(warps)]
    text = _HEAD + " shr.u32 %r2, %r1, 5; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [s], 9; bar.sync 0;\n"
    text += " and.b32 %r4, %r1, 31; setp.ne.u32 %p1, %r4, 0; @%p1 exit;\n"
    text += "".join(f" setp.eq.u32 %p2, %r2, {i}; @%p2 bra W{i};\n" for i in range(1, warps))
    text += "".join(f"W{i}: {body} bra END;\n" for i, body in enumerate(bodies)) + "END: ret;\n}"
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 32 * warps, "params": {"x": {"type": "u32", "elements": 4}},
        "check": {"never": "x[0] == 77", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.8)
@pytest.mark.parametrize("seeds", lengths(range(3), range(24)))
def test_what_a_run_says_of_named_barriers_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that goes wrong in one execution may go wrong otherwise in another one; what is right is right in all."""
    wrong, compared = {"no", "undefined"}, 0
    for seed in seeds:
        open_, found = by_runs(generated(seed))
        if open_:
            continue
        compared += 1
        expected = by_formula(generated(seed), monkeypatch)
        assert expected.verdict == found.verdict or {expected.verdict, found.verdict} <= wrong, seed
        if expected.verdict == found.verdict == "no":
            for one, other in zip(found.checks, expected.checks, strict=True):
                assert one.holds is None or other.holds is None or one.holds == other.holds, (seed, one.text)
    note(compared, Counter(open=len(seeds) - compared))
