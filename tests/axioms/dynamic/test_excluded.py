"""Beginnings of runs that the order of `fence.sc` excludes, beside the formula: Dekker, and threads drawn at random."""

from __future__ import annotations

import random

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share
from test_circles import _kernel

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def _part(choose: random.Random, number: int, word: int) -> str:
    """An operation on one of the words; behind what it finds, a thread may do something with data."""
    place, value = f"[%rd1+{4 * choose.choice((0, 0, 4, 4, 8)[: 2 + word])}]", choose.randint(1, 2)
    scope = choose.choice((*["gpu"] * 12, "cta"))
    how = f"{choose.choice(('relaxed', 'relaxed', 'relaxed', 'acquire', 'release'))}.{scope}.global"
    load, store = how.replace("release", "relaxed"), how.replace("acquire", "relaxed")
    loads, stores = f"ld.{load}.u32 %r5, {place};", f"st.{store}.u32 {place}, {value};"
    atoms = ("add.u32 %r5, {}, {}", "exch.b32 %r5, {}, {}", f"cas.b32 %r5, {{}}, {choose.randint(0, 1)}, {{}}")
    atom = f"atom.{how}.{choose.choice(atoms).format(place, value)};"
    text = choose.choice((loads, loads, loads, stores, stores, stores, atom, atom))
    if "%r5" not in text:
        return text
    if choose.random() < 0.25:
        data = choose.choice(("st.global.u32 [%rd1+12], 1;", "ld.global.u32 %r6, [%rd1+12];"))
        return f"{text} setp.ne.u32 %p2, %r5, 0; @%p2 bra M{number}; {data} M{number}:"
    return f"{text} st.global.u32 ${word + 3 * (number // 3 % 2)}, %r5;"


def _fence(choose: random.Random) -> str:
    if choose.random() < 0.1:
        return ""
    return f"fence.{choose.choice((*['sc'] * 5, 'acq_rel'))}.{choose.choice((*['gpu'] * 9, 'sys', 'cta'))};"


def _ordered(seed: int) -> KernelTest:
    """Two or three threads in two CTAs or one, or in three, with fences between their operations."""
    choose = random.Random(seed)
    count = choose.choice((2, 2, 2, 3))
    threads = []
    for thread in range(count):
        parts = []
        for word in range(choose.choice((2, 2, 3)) if count == 2 else 2):
            parts += [_part(choose, 3 * thread + word, word), _fence(choose)]
        threads.append(" ".join(parts))
    if count == 2 and choose.random() < 0.15:
        return _kernel(tuple(threads))
    return _kernel(*((text,) for text in threads))


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(11, 17), range(24)))
def test_runs_say_of_threads_with_fences_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_ordered, seeds, monkeypatch)
    assert verdicts["ok"] > 2 and verdicts["no"] > 2


@pytest.mark.campaign
@pytest.mark.compares(0.4)
def test_runs_say_of_many_threads_with_fences_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_ordered, range(1000, 1000 + share(5000)), monkeypatch)


_DEKKER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 flag, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0;
 mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd4, %r3, 4; add.u64 %rd4, %rd1, %rd4;
 mov.u32 %r4, 1; @%p1 bra MET;
 st.relaxed.gpu.global.u32 [%rd3], 1; fence.{sem}.{scope}; ld.relaxed.gpu.global.u32 %r4, [%rd4];
MET: bar.red.or.pred %p2, 0, %p1; setp.ne.u32 %p3, %r4, 0; @%p3 bra END;
 st.global.u32 [%rd2], %r1;
END: bar.sync 0; ret;
}}"""


@pytest.mark.parametrize(
    ("sem", "scope", "verdict"), [("sc", "gpu", "ok"), ("acq_rel", "gpu", "no"), ("sc", "cta", "no")]
)
def test_who_sees_no_flag_of_the_other_is_alone_at_the_size_of_launches(sem: str, scope: str, verdict: str) -> None:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 128,
        "params": {"flag": {"type": "u32", "elements": 2}, "out": {"type": "u32", "elements": 1}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    open_, found = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": _DEKKER.format(sem=sem, scope=scope)}).test())
    assert not open_ and found.verdict == verdict
