"""Kernels that people write, at the sizes at which they launch them, with one synchronisation less: what another way shows to
be wrong is not `ok`."""

from __future__ import annotations

import pytest
from agreement import compared, pass_over
from campaigns import share
from planted_campaign import KERNELS, Smaller, by_schedules, judged, planted, with_text

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra GIVES;
LOOK:
 ld.acquire.gpu.u32 %r2, [%rd1];
 setp.eq.u32 %p2, %r2, 0;
 @%p2 bra LOOK;
 bar.sync 0;
 ld.global.u32 %r3, [%rd1+4];
 st.global.u32 [%rd1+8], %r3;
 ret;
GIVES:
 st.global.u32 [%rd1+4], 7;
 fence.acq_rel.gpu;
 atom.relaxed.gpu.add.u32 %r4, [%rd1], 1;
 ret;
}
"""
#: What may be planted there, and whether it is a mistake; threads are alone in their CTAs.
_PLANTED = {
    ("scope", 9): True, ("semantics", 9): True, ("wait", 11): True, ("barrier", 12): False, ("fence", 18): True,
    ("scope", 18): True, ("scope", 19): True, ("count", 19): False,
}  # fmt: skip


def _message() -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1,
        "params": {"x": {"type": "u32", "elements": 4, "init": [0]}},
        "check": {"forall": "x[2] == 7", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TEXT}).test()


def test_each_change_takes_one_thing_away() -> None:
    found = {(one.kind, one.line): one for one in planted(_TEXT)}
    assert found.keys() == _PLANTED.keys()
    for one in found.values():
        changed = [
            n for n, (a, b) in enumerate(zip(_TEXT.splitlines(), one.text.splitlines(), strict=True), 1) if a != b
        ]
        assert changed == [one.line]


@pytest.mark.long
def test_schedules_and_the_formula_tell_mistakes_from_what_is_none() -> None:
    test, wrong = _message(), {}
    for one in planted(_TEXT):
        changed = with_text(test, one.text)
        wrong[one.kind, one.line] = by_schedules(changed, 60) or ptxmm.check(changed).verdict == "no"
    assert {at: bool(found) for at, found in wrong.items()} == _PLANTED


@pytest.mark.campaign
@pytest.mark.compares(0.4)
@pytest.mark.parametrize("name", KERNELS)
def test_what_another_way_shows_to_be_wrong_is_not_ok(name: str) -> None:
    test = ptxmm.load(KERNELS[name])
    assert isinstance(test, KernelTest)
    changes = [*planted(test.launches[0].text)]
    smaller = Smaller(test, 60)
    for one in changes[: share(len(changes))]:
        found = judged(name, test, one, smaller, 300)
        assert not (found.verdict == "ok" and found.wrong), (one.kind, one.line, found.wrong)
        if found.wrong:
            compared(found.verdict)
        else:
            pass_over("no other way shows anything wrong")
