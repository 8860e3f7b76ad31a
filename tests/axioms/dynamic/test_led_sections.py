"""Critical sections that are led to addresses by what they find: one run beside the formula, each condition with a kernel that
is wrong without it, and patterns at their size."""

from __future__ import annotations

import pytest
from by_runs import by_formula, by_runs
from test_sections import _GIVE, _TAKEN, _but_open, _kernel, _up_to_sections

#: Word 4 counts, and what it counts is in words from 32 on.
_COUNT = "ld.global.u32 %v0, [%rd1+16];"
_PLACE = "mul.wide.u32 %rd6, %v0, 4; add.u64 %rd6, %rd6, %rd1;"
_PUT = f"{_PLACE} st.global.u32 [%rd6+128], %r5;"
_ONE_MORE = "add.u32 %v1, %v0, 1; st.global.u32 [%rd1+16], %v1;"
_APPEND = f"{_COUNT} {_PUT} {_ONE_MORE}"
_POP = f"{_COUNT} sub.u32 %v0, %v0, 1; {_PLACE} ld.global.u32 %v1, [%rd6+128]; st.global.u32 [%rd1+16], %v0;"
_SECTION = (_TAKEN, _APPEND, _GIVE)
_AGAIN = tuple(part.replace("T0", "T1") for part in (_TAKEN, _GIVE))
_DOWN = _APPEND.replace(_PLACE, "mul.wide.u32 %rd6, %v0, 4; sub.u64 %rd6, %rd1, %rd6; add.u64 %rd6, %rd6, 8;")
_OTHER_LOCK = tuple(
    part.replace("T0", "T2").replace("[%rd1]", "[%rd1+4]").replace("+16", "+20") for part in (_TAKEN, _DOWN, _GIVE)
)


def _as(number: int, *others: str, label: str) -> tuple[str, ...]:
    """What the thread of one CTA does, and no other one."""
    return (f"setp.ne.u32 %p4, %r1, {number}; @%p4 bra {label};", *others, f"{label}:")


_CHECKS = " && ".join(f"x[{i}] < 999" for i in (4, 5, 8, 9, 32, 33))
#: Whether the formula finds more than one outcome.
_RIGHT: dict[str, tuple[bool, tuple[str, ...]]] = {
    "what is counted is put behind what was before": (True, _SECTION),
    "the same is put": (False, (_TAKEN, _APPEND.replace("%r5", "7"), _GIVE)),
    "up to a bound": (True, (_TAKEN, _COUNT, "setp.ge.u32 %p3, %v0, 1; @%p3 bra N;", _PUT, _ONE_MORE, "N:", _GIVE)),
    "taken again": (True, (*_SECTION, _AGAIN[0], _POP, _AGAIN[1])),
    "a table is looked up": (False, (_TAKEN, _COUNT, _PLACE, "ld.global.u32 %v1, [%rd6+160];", _ONE_MORE, _GIVE)),
    "what is found there goes elsewhere": (
        True,
        (_TAKEN, _APPEND, _COUNT, _PLACE, "ld.global.u32 %v1, [%rd6+124]; st.global.u32 [%rd3+32], %v1;", _GIVE),
    ),
    "two are appended": (True, (_TAKEN, _APPEND, _APPEND, _GIVE)),
    "a chain of links": (
        True,
        (_TAKEN, _COUNT, "st.global.u32 [%rd3+128], %v0; add.u32 %v1, %r4, 1; st.global.u32 [%rd1+16], %v1;", _GIVE),
    ),
    "a list of what is free": (
        False,
        (
            "st.global.u32 [%rd3+64], %r5;",
            _TAKEN,
            "ld.global.u32 %v0, [%rd1+16]; and.b32 %v0, %v0, 3;",
            _PLACE,
            "ld.global.u32 %v1, [%rd6+160]; add.u32 %v2, %v0, 1; st.global.u32 [%rd6+160], %v2; st.global.u32 [%rd1+16], %v1;",
            _GIVE,
        ),
    ),
}


@pytest.mark.parametrize("name", _RIGHT)
def test_sections_that_are_led_by_what_they_find_are_decided_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    several, body = _RIGHT[name]
    test = _kernel(*body, checks=_CHECKS)
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert found is not None and expected.verdict in ("ok", "bounded") and (len(expected.states) > 1 or not several)
    assert all(_but_open(state, found) == _but_open(found.state, found) for state in expected.states)


_MUCH = "selp.u32 %r9, 1, 100, %p5; add.u32 %v1, %v0, %r9; st.global.u32 [%rd1+16], %v1;"
#: The number of CTAs, and kernels in which another order of the sections shows what the run does not.
_WRONG: dict[str, tuple[int, tuple[str, ...]]] = {
    "another one is led to what is accessed behind the section": (
        2, (*_SECTION, *_as(1, "st.global.u32 [%rd1+132], 1;", label="N")),
    ),
    "another one is led to what is read behind the section": (
        2, (*_SECTION, *_as(1, "ld.global.u32 %v0, [%rd1+132];", label="N")),
    ),
    "another one is led beyond the memory": (2, (_TAKEN, _COUNT, _PUT, _MUCH, _GIVE)),
    "another one is led to the lock": (
        2, (_TAKEN, _APPEND.replace("sub", "add").replace("+128", "+0").replace(_ONE_MORE, _MUCH.replace("100", "0")), _GIVE),
    ),
    "a bound is one too large": (
        2,
        (
            _TAKEN, _COUNT, "setp.gt.u32 %p3, %v0, 1; @%p3 bra N;", _PUT, _MUCH.replace("100", "1"), "N:", _GIVE,
            *_as(1, "ld.global.u32 %v0, [%rd1+132];", label="M"),
        ),
    ),
    "under two locks": (
        3, (*_as(2, label="A"), *_as(0, *_SECTION, label="B"),
            *_as(1, *(p.replace("T0", "T3") for p in _SECTION), *_OTHER_LOCK, label="C"),
            *_as(2, *(p.replace("T2", "T4") for p in _OTHER_LOCK), label="D")),
    ),
    "released before it": (2, (_TAKEN, _COUNT, _ONE_MORE, _GIVE, _PUT.replace("%v0", "%v0"))),
    "not released": (2, (_TAKEN, _APPEND, _GIVE.replace("release", "relaxed"))),
    "not acquired": (2, (_TAKEN.replace("acquire", "relaxed"), _APPEND, _GIVE)),
    "what is found there leads on": (
        2, ("st.global.u32 [%rd3+64], 500;", _TAKEN, _APPEND, _COUNT, _PLACE, "ld.global.u32 %v0, [%rd6+128];", _PUT, _GIVE),
    ),
    "what is found there decides": (
        2,
        (_TAKEN, _APPEND, _GIVE, "bar.sync 0;", _AGAIN[0], "ld.global.u32 %v0, [%rd1+128];", _AGAIN[1],
         "setp.eq.u32 %p3, %v0, 1; @%p3 st.global.u32 [%rd1+32], 1;"),
    ),
    "what is read is what others are led to later": (
        2, (_TAKEN, _COUNT, _PUT, "ld.global.u32 %v2, [%rd1+128]; setp.eq.u32 %p3, %v2, %r5;",
            _ONE_MORE, _GIVE, "@%p3 st.global.u32 [%rd1+32], 1;"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_a_section_that_another_order_leads_to_a_mistake_is_not_taken_for_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, body = _WRONG[name]
    test = _kernel(*body, grid=grid, checks=_CHECKS)
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1
    assert found is None or (found.differing and expected.verdict == "ok")


def test_buckets_with_locks_are_decided_at_their_size() -> None:
    take = _TAKEN.replace("[%rd1]", "[%rd2]")
    own = "shl.b32 %r10, %r2, 2; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd2, %rd1, %rd5;"
    count = "setp.ge.u32 %p4, %r2, 4; @%p4 bra END;" + own
    body = _APPEND.replace("[%rd1+16]", "[%rd2+16]").replace("%v0, 4;", "%v0, 4; mul.wide.u32 %rd7, %r2, 16;")
    body = body.replace("add.u64 %rd6, %rd6, %rd1;", "add.u64 %rd6, %rd6, %rd1; add.u64 %rd6, %rd6, %rd7;").replace(
        "+128", "+64"
    )
    test = _kernel(
        count, take, body, _GIVE.replace("[%rd1]", "[%rd2]"), grid=4, block=32, checks="x[4] == 4 && x[7] == 4"
    )
    open_, result = by_runs(test)
    assert not open_ and result.verdict == "ok"
    late = _kernel(
        count, take, body, _GIVE.replace("[%rd1]", "[%rd2]"), grid=5, block=32, checks="x[4] == 5 && x[7] == 5"
    )
    open_, result = by_runs(late)  # one bucket is led to the first place of the next one
    assert open_ or result.verdict == "no"
