"""Critical sections: one run beside the formula, each of its conditions with a kernel that is wrong without it, and patterns at
their size."""

from __future__ import annotations

import random
from collections import Counter as Count

import pytest
from by_runs import by_formula, by_runs, compare_right
from campaigns import lengths, share
from generated_sections import section_kernel

from axioms.dynamic.core.findings import Open
from axioms.dynamic.sections.updates_in_sections import Update, commute
from ptxcore.values import floats, terms
from ptxmm.kernels import bugs, whole
from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.sectioned import Sectioned, run_with_sections
from ptxmm.kernels.several import OpenIn
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def _up_to_sections(test: KernelTest) -> Sectioned | None:
    return run_with_sections(Runs(test, watched=True))


def _by_sections(test: KernelTest) -> FinalValues | None:
    """What one run says of all that is observed, if it does."""
    found = _up_to_sections(test)
    return None if found is None or found.differing else found.state


def _but_open(state: FinalValues, found: Sectioned) -> FinalValues:
    return {name: value for name, value in state.items() if name not in found.differing}


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Count[str]:
    """One run up to the order of sections: one outcome, but for what it leaves open."""

    def told(found: Sectioned, states: list[dict[str, int]]) -> str:
        assert all(_but_open(state, found) == _but_open(found.state, found) for state in states)
        return "in part" if found.differing else "same"

    return compare_right(section_kernel, seeds, monkeypatch, _up_to_sections, told)


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(6), range(40)))
def test_what_is_said_up_to_the_order_of_sections_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _compare(seeds, monkeypatch)["same"]


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_sections_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(20000)), monkeypatch)


_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %v<4>; .reg .b64 %rd<9>; .reg .f32 %f<2>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1; setp.ne.u32 %p1, %r2, 0; mul.wide.u32 %rd4, %r4, 4;
 add.u64 %rd3, %rd1, %rd4; setp.eq.u32 %p5, %r4, 0;
"""
#: Takes the lock in word 0, and gives it back; adds to word 4. What a thread has of its own is in words from 8 on.
_TAKE = "T{0}: atom.acquire.gpu.global.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p2, %r6, 0; @%p2 bra T{0};"
_GIVE = "st.release.gpu.global.u32 [%rd1], 0;"
_ADD = "ld.global.u32 %v0, [%rd1+16]; add.u32 %v0, %v0, %r5; st.global.u32 [%rd1+16], %v0;"
_CHECKS = " && ".join(f"x[{i}] < 999" for i in (4, 5, 8, 9, 25, 26, 27))
_VOLATILE = _ADD.replace("ld.", "ld.volatile.").replace("st.", "st.volatile.")
_TAKEN, _MEET = _TAKE.format(0), "bar.sync 0;"
_RELAXED = _TAKEN.replace("acquire", "relaxed")


def _kernel(*body: str, grid: int = 2, block: int = 1, checks: str = _CHECKS) -> KernelTest:
    text = "\n ".join([_HEAD, *body, "END: ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}},
        "check": {"forall": checks, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _led(*inside: str) -> tuple[str, ...]:
    """A section of the first thread of each CTA, in which all take part."""
    take = f"@%p1 bra M0; {_TAKEN} M0:"
    return (take, *inside, f"@%p1 bra M1; {_GIVE} M1:")


#: What each thread of a CTA adds to a word of its own.
_EACH = "mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd5, %rd1; " + _ADD.replace("[%rd1+16]", "[%rd5+16]")
_LOOKED = _TAKEN.replace("T0:", "T0: ld.relaxed.gpu.global.u32 %r9, [%rd1]; setp.ne.u32 %p2, %r9, 0; @%p2 bra T0;")
_SLOWER = "mov.u32 %r10, 1; " + _TAKEN.replace("setp", "nanosleep.u32 %r10; shl.b32 %r10, %r10, 1; setp")
#: Finds 0 where the lock is free, and puts there one more than it saw.
_TAKES_ONE = (
    "T0: ld.relaxed.gpu.global.u32 %r9, [%rd1]; setp.ne.u32 %p2, %r9, 0; @%p2 bra T0; add.u32 %r10, %r9, 1; "
    "atom.acquire.gpu.global.cas.b32 %r6, [%rd1], %r9, %r10; setp.ne.u32 %p2, %r6, %r9; @%p2 bra T0;"
)
_RIGHT: dict[str, tuple[str, ...]] = {
    "added": (_TAKEN, _ADD, _GIVE),
    "by fences": (_RELAXED, "fence.acq_rel.gpu;", _ADD, "fence.acq_rel.gpu; atom.relaxed.gpu.global.exch.b32 %r7, [%rd1], 0;"),
    "an exchange takes": (_TAKEN.replace("cas.b32 %r6, [%rd1], 0, 1", "exch.b32 %r6, [%rd1], 1"), _ADD, _GIVE),
    "each its own number": (_TAKEN.replace("0, 1;", "0, %r5;"), _ADD, _GIVE),
    "the greatest": (_TAKEN, _ADD.replace("add", "max"), _GIVE),
    "the same constant": (_TAKEN, "st.global.u32 [%rd1+16], 7;", _GIVE),
    "volatile": (_TAKEN, _VOLATILE, _GIVE),
    "two at a time": (_TAKEN, _ADD, _ADD, _GIVE),
    "looks before it tries": (_LOOKED, _ADD, _GIVE),
    "looks in a loop of its own": (_LOOKED.replace("bra T0; atom", "bra L0; atom").replace("T0:", "T0: L0:"), _ADD, _GIVE),
    "looks, and tries with what it saw": (_TAKES_ONE, _ADD, "st.release.gpu.global.u32 [%rd1], 0;"),
    "waits for longer and longer": (_SLOWER, _ADD, _GIVE),
    "fences between the tries": (_TAKEN.replace("T0:", "T0: fence.sc.gpu;"), _ADD, _GIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", _RIGHT)
def test_sections_that_commute_are_decided_by_one_run_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _kernel(*_RIGHT[name])
    found = _by_sections(test)
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("ok", "bounded") and expected.states == [found]


def _apart(first: tuple[str, ...], others: tuple[str, ...], turned: str = "") -> tuple[str, ...]:
    """The first thread of each CTA does one thing, the others another one (`turned`: the very first one, of all)."""
    return (f"@{turned or '!%p1'} bra OWN;", *others, "bra END; OWN:", *first)


_AGAIN = _TAKE.format(1)
_SECTION = _TAKEN, _ADD, _GIVE
_RELAXED_GIVE = _GIVE.replace("release", "relaxed")
_WAIT = "W: ld.acquire.gpu.global.u32 %r9, [%rd1+4]; setp.eq.u32 %p3, %r9, 0; @%p3 bra W;"
_OTHER_LOCK = tuple(part.replace("[%rd1]", "[%rd1+4]") for part in (_AGAIN, _ADD, _GIVE))
_MAX = _ADD.replace("add.u32 %v0, %v0, %r5", "max.u32 %v0, %v0, 2")
_ONCE = "atom.acquire.gpu.global.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p2, %r6, 0; @%p2 bra END;"
_LEADS = "mul.wide.u32 %rd6, %v0, 4; add.u64 %rd6, %rd6, %rd3; st.global.u32 [%rd6+64], 1;"
_SHUFFLE = "shfl.sync.idx.b32 %v1, %r2, 0, 31, 3;"
#: Sections of two CTAs that are wrong, that do not commute, or of which what they find decides something.
_WRONG: dict[str, tuple[str, ...]] = {
    "nothing is acquired": (_RELAXED, _ADD, _GIVE),
    "acquired behind the access": (_RELAXED, _ADD, "fence.acq_rel.gpu;", _GIVE),
    "nothing is released": (_TAKEN, _ADD, _RELAXED_GIVE),
    "released before the access": (_TAKEN, "fence.acq_rel.gpu;", _ADD, _RELAXED_GIVE),
    "released before it is acquired": (_RELAXED, "fence.release.gpu; fence.acquire.gpu;", _ADD, _RELAXED_GIVE),
    "acquired in a narrow scope": (_RELAXED, "fence.acq_rel.cta;", _ADD, _GIVE),
    "released in a narrow scope": (_TAKEN, _ADD, "fence.acq_rel.cta;", _RELAXED_GIVE),
    "taken in a narrow scope": (_TAKEN.replace("gpu", "cta"), _ADD, _GIVE),
    "given back in a narrow scope": (_TAKEN, _ADD, _GIVE.replace("gpu", "cta")),
    "given back weakly": (_TAKEN, _ADD, "fence.acq_rel.gpu; st.global.u32 [%rd1], 0;"),
    "an access behind the section": (*_SECTION, _ADD),
    "an access without the lock": _apart((_ADD,), _SECTION, "%p5"),
    "another lock": _apart(_OTHER_LOCK, _SECTION, "%p5"),
    "whoever does not get it goes on": (_ONCE, _ADD, _GIVE),
    "it looks and does not try": (
        _LOOKED.replace("atom.acquire.gpu.global.cas.b32 %r6, [%rd1], 0, 1;", "mov.u32 %r6, %r9;"),
        _ADD,
        _GIVE,
    ),
    "it looks, and tries once": (_LOOKED.replace("setp.ne.u32 %p2, %r6, 0; @%p2 bra T0;", ""), _ADD, _GIVE),
    "it looks in a narrow scope": (_LOOKED.replace("ld.relaxed.gpu", "ld.relaxed.cta"), _ADD, _GIVE),
    "it looks weakly": (_LOOKED.replace("ld.relaxed.gpu", "ld"), _ADD, _GIVE),
    "it acquires what it looks at, and not what it takes": (
        _LOOKED.replace("acquire", "relaxed").replace("ld.relaxed", "ld.acquire"),
        _ADD,
        _GIVE,
    ),
    "who has tried before acquires": (
        _TAKEN.replace("T0:", "bra T1; T0: atom.acquire.gpu.global.cas.b32 %r6, [%rd1], 0, 1; bra T2; T1:").replace(
            "acquire.gpu.global.cas.b32 %r6, [%rd1], 0, 1; setp",
            "relaxed.gpu.global.cas.b32 %r6, [%rd1], 0, 1; T2: setp",
        ),
        _ADD,
        _GIVE,
    ),
    "it tells that it waited": (
        _LOOKED.replace("@%p2 bra T0; atom", "@%p2 st.global.u32 [%rd3+32], 1; @%p2 bra T0; atom"),
        _ADD,
        _GIVE,
    ),
    "it counts how often it waited": (
        "mov.u32 %r10, 0;",
        _TAKEN.replace("T0:", "T0: add.u32 %r10, %r10, 1;"),
        _ADD,
        _GIVE,
        "setp.gt.u32 %p3, %r10, 1; @%p3 st.global.u32 [%rd3+32], 1;",
    ),
    "it waits until another one has it": (
        _TAKEN.replace("T0:", "T0: ld.relaxed.gpu.global.u32 %r9, [%rd1]; setp.eq.u32 %p2, %r9, 0; @%p2 bra T0;"),
        _ADD,
        _GIVE,
    ),
    "fences between the tries order nothing": (
        _RELAXED.replace("setp", "@%p2 bra T1; T1: setp").replace(
            "@%p2 bra T0;", "@!%p2 bra T2; fence.acq_rel.gpu; bra T0; T2:"
        ),
        _ADD,
        _GIVE,
    ),
    "what is found decides": (*_SECTION, "setp.eq.u32 %p3, %v0, 1; @%p3 st.global.u32 [%rd1+32], 1;"),
    "what is found is an address": (*_SECTION, _LEADS),
    "who has the lock waits for who wants it": _apart(
        (_AGAIN, _ADD, _WAIT, _GIVE), (*_SECTION, "red.release.gpu.global.add.u32 [%rd1+4], 1;"), "%p5"
    ),
}
#: Sections that are right, of which the order decides what they leave, or what goes elsewhere.
_OPEN: dict[str, tuple[str, ...]] = {
    "the last writer wins": (_TAKEN, "st.global.u32 [%rd1+16], %r5;", _GIVE),
    "what is found goes elsewhere": (_TAKEN, _ADD, "st.global.u32 [%rd3+32], %v0;", _GIVE),
    "what is found goes elsewhere later": (*_SECTION, "st.global.u32 [%rd3+32], %v0;"),
    "sums and extremes": _apart((_AGAIN, _MAX, _GIVE), _SECTION, "%p5"),
    "products and sums": (_TAKEN, _ADD.replace("add.u32 %v0, %v0, %r5;", "mad.lo.u32 %v0, %v0, %r5, 1;"), _GIVE),
}


@pytest.mark.parametrize("name", _OPEN)
def test_what_the_order_of_sections_decides_is_left_open_and_the_rest_is_decided(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _kernel(*_OPEN[name])
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert found is not None and found.differing and expected.verdict in ("ok", "bounded") and len(expected.states) > 1
    assert all(_but_open(state, found) == _but_open(found.state, found) for state in expected.states)


#: Those of a CTA of two threads, by the number of CTAs.
_WRONG_TOGETHER: dict[str, tuple[int, tuple[str, ...]]] = {
    "others do not wait for the lock": (2, _led(_EACH, _MEET)),
    "the holder does not wait for others": (2, _led(_MEET, _EACH)),
    "one place for all of a CTA": (2, _led(_MEET, _ADD, _MEET)),
    "strong accesses of all of a CTA": (2, _led(_MEET, _VOLATILE, _MEET)),
    "others come by the same lock": (1, _apart((*_SECTION, _MEET), (_AGAIN, _ADD, _MEET, _GIVE))),
    "others end by the same lock": (1, _apart(_SECTION, (_AGAIN, _ADD, _MEET, _GIVE))),
    "lanes exchange behind the lock": (1, _apart((*_SECTION, _SHUFFLE), (_AGAIN, _ADD, _SHUFFLE, _GIVE))),
}
_EVERY = {**{name: (2, body) for name, body in _WRONG.items()}, **_WRONG_TOGETHER}


@pytest.mark.parametrize("name", _EVERY)
def test_a_section_that_is_wrong_or_decides_something_is_not_taken_for_one_that_commutes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, body = _EVERY[name]
    test = _kernel(*body, grid=grid, block=1 + (name in _WRONG_TOGETHER))
    assert _by_sections(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


def _turns(number: int, *inside: str) -> tuple[str, ...]:
    """Sections of the first thread of each CTA, one after the other, in each of which all take part."""
    return (
        "mov.u32 %r12, 0; AGAIN:",
        *_led(*inside),
        f"add.u32 %r12, %r12, 1; setp.lt.u32 %p3, %r12, {number}; @%p3 bra AGAIN;",
    )


@pytest.mark.parametrize("turns", [1, 2])
def test_threads_of_a_cta_take_part_in_the_section_of_one(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _kernel(*_turns(turns, _MEET, _EACH, _MEET), block=2)
    found = _by_sections(test)
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("ok", "bounded") and expected.states == [found]


def test_whole_ctas_take_a_lock_again_and_again() -> None:
    test = _kernel(*_turns(3, _MEET, _EACH, _MEET), grid=4, block=32, checks="x[4] == 588 && x[35] == 960")
    open_, found = by_runs(test)
    assert not open_ and found.verdict == "ok"
    assert any("12 critical sections" in note for note in found.notes)


@pytest.mark.parametrize("inside", [(_EACH, _MEET), (_MEET, _EACH)])
def test_who_does_not_meet_the_holder_takes_no_part(inside: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    test = _kernel(*_turns(2, *inside), block=2)
    assert _by_sections(test) is None
    assert by_formula(test, monkeypatch).verdict in ("no", "undefined")


def test_a_compare_and_swap_that_changes_nothing_begins_no_section() -> None:
    """A loop that puts three times what it found there, which is nothing: it takes no lock, and nobody has a section."""
    vain = "mov.u32 %r6, 0; AGAIN: mul.lo.u32 %r7, %r6, 3; atom.acquire.gpu.global.cas.b32 %r8, [%rd1+4], %r6, %r7;"
    vain += "setp.ne.u32 %p2, %r8, %r6; mov.u32 %r6, %r8; @%p2 bra AGAIN;"
    takes = "TRY: atom.acquire.gpu.global.cas.b32 %r8, [%rd1], 0, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra TRY;"
    gives = "st.release.gpu.global.u32 [%rd1], 0;"
    one = "setp.ne.u32 %p3, %r2, 0; @%p3 bra OTHER;"
    assert _by_sections(_kernel(one, vain, "bra DONE; OTHER:", takes, gives, "DONE:", grid=1, block=2)) is None


@pytest.mark.parametrize("warps", [5, 32])
def test_warps_that_take_one_lock_are_decided_whatever_they_add(warps: int) -> None:
    body = [line.replace(_MEET, "bar.warp.sync -1;") for line in _led(_MEET, _EACH, _MEET)]
    lanes = "and.b32 %r2, %r2, 31; setp.ne.u32 %p1, %r2, 0;"
    total = sum(32 * w + 1 for w in range(warps))
    test = _kernel(lanes, *body, grid=1, block=32 * warps, checks=f"x[4] == {total} && x[35] == {total + 31 * warps}")
    open_, found = by_runs(test)
    assert not open_ and found.verdict == "ok"
    assert any(f"{warps} critical sections" in note for note in found.notes)


def _of(width: int = 32) -> terms.Term:
    found = terms.symbol(("place", width, "of a test"), width)
    assert isinstance(found, terms.Term)
    return found


def test_updates_commute_where_all_orders_leave_the_same_on_all_values() -> None:
    place = _of(4)
    made = {
        "add 1": terms.add(place, 1, 4), "add 3": terms.add(place, 3, 4), "less 2": terms.sub(place, 2, 4),
        "and 5": terms.bit_and(place, 5, 4), "and 9": terms.bit_and(9, place, 4), "or 3": terms.bit_or(place, 3, 4),
        "xor 6": terms.bit_xor(place, 6, 4), "xor 1": terms.bit_xor(place, 1, 4), "set 7": 7, "set 8": 8,
        "max 4": terms.ite(terms.ult(place, 4, 4), 4, place, 4), "max 9": terms.ite(terms.ule(9, place, 4), place, 9, 4),
        "smax 4": terms.ite(terms.slt(place, 4, 4), 4, place, 4), "min 5": terms.ite(terms.ult(place, 5, 4), place, 5, 4),
        "min 9": terms.ite(terms.ule(9, place, 4), 9, place, 4), "times 3": terms.mul(place, 3, 4), "same": place,
    }  # fmt: skip
    decided = 0
    for one in made.values():
        for other in made.values():
            both = [[_value(g, place, _value(f, place, v)) for v in range(16)] for f, g in ((one, other), (other, one))]
            if commute([Update(place, one), Update(place, other)]):
                decided += 1
                assert both[0] == both[1]
    assert decided > 2 * len(made)


def test_floats_commute_where_all_orders_leave_the_same() -> None:
    """Of all half-precision numbers near zero and one, infinities and NaNs, as what is there and as what is put there."""
    place = _of(16)
    some = [bits | sign for bits in (0, 1, 0x3BFF, 0x3C00, 0x7C00, 0x7C01, 0x7E00) for sign in (0, 0x8000)]
    made = []
    for number in some:
        for comparison in ("lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu"):
            for flipped in (False, True):
                told = floats.fcompare("f16", comparison, *((number, place) if flipped else (place, number)))
                made += [terms.ite(told, number, place, 16), terms.ite(told, place, number, 16)]
    draw, decided = random.Random(1), 0
    for _ in range(4000):
        one, other = draw.choice(made), draw.choice(made)
        if one is not other and commute([Update(place, one), Update(place, other)]):
            decided += 1
            for v in some:
                assert _value(other, place, _value(one, place, v)) == _value(one, place, _value(other, place, v))
    assert decided > 200


def _value(of: terms.Value, place: terms.Term, number: int) -> int:
    return terms.evaluate(of, {place: number})


def test_updates_that_hang_on_another_place_are_not_said_to_commute() -> None:
    one, other = _of(8), terms.symbol("another", 8)
    assert not commute([Update(one, terms.add(one, other, 8)), Update(one, terms.add(one, other, 8))])


def test_where_too_many_orders_matter_it_is_named_of_which_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bugs, "_HUNTING", 0.2)
    monkeypatch.setattr(whole, "run_several", lambda *_, **__: OpenIn(0, Open("runs")))
    added = "red.relaxed.gpu.global.add.u32 [%rd1+112], %v0;"  # what is found in a section
    test = _kernel(_TAKEN, _ADD, added, _GIVE, block=40, grid=1)
    open_, _ = by_runs(test)
    assert "too many orders" in open_ and "strong accesses to the same bytes at k.toml:11" in open_
