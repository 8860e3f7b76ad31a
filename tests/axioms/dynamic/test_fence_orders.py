"""Races that a run shows with its `fence.sc` in another order: of kernels drawn at random, each is one by the formula, too."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from math import prod

import pytest
from agreement import note
from by_runs import by_formula
from campaigns import lengths, share
from test_circles import _kernel

from axioms.dynamic.core.findings import ByteRace, Stopped
from axioms.dynamic.wrong.exact import AnyFenceOrder
from ptxcore.machine.run.faults import KernelError
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest

_DATA = "[%rd1+12]"


def _part(choose: random.Random, number: int) -> str:
    """A step of a thread: a flag, a counter, a wait for a flag, data that no strong operation is about, or either of these
    where a flag is up, or is not."""
    place, other = (f"[%rd1+{4 * n}]" for n in choose.sample((0, 1, 2), 2))
    sem = choose.choice(("relaxed", "relaxed", "relaxed", "acq"))
    store, load, atom = (
        "relaxed" if sem == "relaxed" else acquiring for acquiring in ("release", "acquire", "acq_rel")
    )
    once = f"ld.{load}.gpu.global.u32 %r5, {place};"
    data = choose.choice((f"st.global.u32 {_DATA}, {number};", f"ld.global.u32 %r6, {_DATA};"))
    flag = f"st.{store}.gpu.global.u32 {other}, 1;"
    where, then = choose.choice(("eq", "ne")), choose.choice((flag, flag, data))
    return choose.choice((
        flag,
        flag,
        f"red.{'release' if sem == 'acq' else sem}.gpu.global.add.u32 {place}, 1;",
        f"atom.{atom}.gpu.global.add.u32 %r5, {place}, 1;",
        f"W{number}: {once} setp.eq.u32 %p2, %r5, 0; @%p2 bra W{number};",
        f"{once} setp.{where}.u32 %p2, %r5, 0; @%p2 bra M{number}; {then} M{number}:",
        f"{once} setp.{where}.u32 %p2, %r5, 0; @%p2 bra M{number}; {then} M{number}:",
        f"{once} setp.{where}.u32 %p2, %r5, 0; @%p2 bra M{number}; {then} M{number}:",
        data,
    ))  # fmt: skip


def _fenced(seed: int) -> KernelTest:
    """Two to four threads in as many CTAs, with fences between their steps."""
    choose = random.Random(seed)
    threads = []
    fences = choose.choice(
        (("fence.sc.gpu;",), ("fence.sc.gpu;",), ("", "fence.sc.gpu;", "fence.sc.sys;", "fence.acq_rel.gpu;"))
    )
    for thread in range(choose.choice((2, 2, 3, 4))):
        steps = [_part(choose, 10 * thread + step + 1) for step in range(choose.choice((2, 3, 4)))]
        threads.append(" ".join(f"{part} {choose.choice(fences)}" for part in steps))
    return _kernel(*((text,) for text in threads))


def _narrowed(seed: int) -> KernelTest:
    """One or two threads in each of two or three CTAs, with fences of which some are of the CTA."""
    choose = random.Random(seed)
    fences = ("fence.sc.gpu;", "fence.sc.gpu;", "fence.sc.cta;", "fence.sc.cta;", "fence.acq_rel.gpu;")
    ctas, number = [], 0
    block = choose.choice((1, 2, 2))
    for _ in range(2 if block == 2 else choose.choice((2, 3))):
        texts = []
        for _ in range(block):
            steps = [_part(choose, 10 * number + step + 1) for step in range(choose.choice((1, 2, 3)))]
            texts.append(" ".join(f"{part} {choose.choice(fences)}" for part in steps))
            number += 1
        ctas.append(tuple(texts))
    return _kernel(*ctas)


def _reordered(test: KernelTest, seed: int | None) -> bool:
    """Whether a run shows a race with its fences in another order."""
    watchers: list[AnyFenceOrder] = []

    def watch(launch: object, _: object) -> Watchers:
        def single() -> AnyFenceOrder:
            watchers.append(AnyFenceOrder(prod(test.launches[0].block), 0))
            return watchers[-1]

        return Watchers(None, single)

    try:
        Runs(test, watched=True).run(seed, limit=20_000, watch=watch)
    except Stopped as stopped:
        return isinstance(stopped.why, ByteRace) and watchers[-1].reordered
    except KernelError:
        pass
    return False


def _compare(
    seeds: range, monkeypatch: pytest.MonkeyPatch, kernel: Callable[[int], KernelTest] = _fenced
) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        test = kernel(seed)
        if not any(_reordered(test, order) for order in (None, 1, 2, 3)):
            found["not shown"] += 1
            continue
        (race_free,) = (c for c in by_formula(test, monkeypatch).checks if c.kind == "race_free")
        assert race_free.holds is False, seed
        found["race"] += 1
    return found


@pytest.mark.parametrize("seeds", lengths(range(60), range(600)))
def test_a_race_with_fences_in_another_order_is_one_by_the_formula(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _compare(seeds, monkeypatch)
    note(found["race"], Counter())
    assert found["race"] > len(seeds) / 20


@pytest.mark.parametrize("seeds", lengths(range(50), range(600)))
def test_a_race_with_fences_of_ctas_is_one_by_the_formula(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _compare(seeds, monkeypatch, _narrowed)
    note(found["race"], Counter())
    assert found["race"] > len(seeds) / 20


@pytest.mark.campaign
@pytest.mark.parametrize("kernel", [_fenced, _narrowed])
def test_many_races_with_fences_in_another_order_are_races_by_the_formula(
    kernel: Callable[[int], KernelTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _compare(range(10_000, 10_000 + share(20_000)), monkeypatch, kernel)
    note(found["race"], Counter())


#: Whoever finds z, knows that y was not there yet when the first thread came by its fence: only the order of the fences keeps
#: the data from a race.
_FIRST = (
    f"st.global.u32 {_DATA}, 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r5, [%rd1]; setp.ne.u32 %p2, %r5, 0; "
    "@%p2 bra M1; st.relaxed.gpu.global.u32 [%rd1+4], 1; M1:"
)
_THEN = (
    "{put} fence.sc.gpu; ld.relaxed.gpu.global.u32 %r5, [%rd1+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra M2; "
    f"ld.global.u32 %r6, {_DATA}; M2:"
)
_PUT = "st.relaxed.gpu.global.u32 [%rd1], 1;"
_ORDERED = f"st.global.u32 {_DATA}, 1; fence.sc.gpu; st.release.gpu.global.u32 [%rd1+8], 1;"
_ASKED = "W1: ld.acquire.gpu.global.u32 %r5, [%rd1+8]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W1;" + _FIRST.split(";", 2)[2]
_FOUND = "W2: ld.relaxed.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W2;"


@pytest.mark.parametrize(
    ("threads", "races"),
    [
        ([_FIRST, _THEN.format(put=_PUT)], False),  # a read would find what is older than what comes before it
        ([_FIRST, _THEN.format(put=""), _PUT], True),
        ([_FIRST, _THEN.format(put=_FOUND), _PUT], False),  # so it would where somebody else has observed that
        ([_ORDERED, _ASKED, _THEN.format(put=_PUT)], False),  # and where the read is behind the fence of somebody else
    ],
)
def test_no_other_order_is_taken_that_the_values_exclude(
    threads: list[str], races: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _shows(_kernel(*((text,) for text in threads)), races, monkeypatch)


def test_fences_of_a_cta_have_an_order_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text.replace("fence.sc.gpu", "fence.sc.cta") for text in (_FIRST, _THEN.format(put=_PUT))]
    _shows(_kernel(tuple(texts)), False, monkeypatch)


#: Three CTAs: the second one finds that the first has come, and tells the third; a fence of the CTA between is in no order
#: with those of others.
_COMES = f"st.global.u32 {_DATA}, 1; fence.sc.gpu; atom.relaxed.gpu.global.add.u32 %r5, [%rd1], 1;"
_TELLS = (
    "W1: ld.relaxed.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W1; {fence} "
    "st.relaxed.gpu.global.u32 [%rd1+4], 1;"
)
_LEARNS = (
    "W2: ld.relaxed.gpu.global.u32 %r5, [%rd1+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W2; fence.sc.gpu; "
    f"ld.global.u32 %r6, {_DATA};"
)


@pytest.mark.parametrize(("scope", "races"), [("gpu", False), ("cta", True)])
def test_a_fence_of_a_cta_between_two_others_hands_nothing_on(
    scope: str, races: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tells = _TELLS.format(fence=f"fence.sc.{scope};")
    _shows(_kernel((_COMES,), (tells,), (_LEARNS,)), races, monkeypatch)


def _shows(test: KernelTest, races: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _reordered(test, None) is races
    (race_free,) = (c for c in by_formula(test, monkeypatch).checks if c.kind == "race_free")
    assert race_free.holds is not races
