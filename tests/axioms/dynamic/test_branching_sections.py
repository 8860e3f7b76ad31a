"""Critical sections in which what is found decides something: one run beside the formula, and each condition with a kernel
that is wrong without it."""

from __future__ import annotations

import pytest
from by_runs import by_formula
from test_sections import _ADD, _GIVE, _TAKEN, _but_open, _kernel, _up_to_sections

_LOAD, _STORE = "ld.global.u32 %v0, [%rd1+16];", "st.global.u32 [%rd1+16], %v0;"
_LARGER = f"{_LOAD} setp.ge.u32 %p3, %v0, %r5; @%p3 bra N;"
_MAX = f"{_LARGER} st.global.u32 [%rd1+16], %r5; N:"
_ARGUMENT = f"{_LARGER} st.global.u32 [%rd1+16], %r5; st.global.u32 [%rd1+20], %r4; N:"
_BOUNDED = f"{_LOAD} setp.ge.u32 %p3, %v0, 1; @%p3 bra N; add.u32 %v0, %v0, 1; {_STORE} N:"
_OWN = "st.global.u32 [%rd3+32], 1;"
#: Whether all that is observed is decided, and the section.
_RIGHT: dict[str, tuple[bool, tuple[str, ...]]] = {
    "the greatest": (True, (_MAX,)),
    "the greatest and whose it is": (False, (_ARGUMENT,)),
    "up to a bound": (True, (_BOUNDED,)),
    "up to a bound, by a guard": (True, (f"{_LOAD} setp.lt.u32 %p3, %v0, 1; @%p3 st.global.u32 [%rd1+16], 1;",)),
    "two branches": (True, (_MAX, _MAX.replace("+16", "+20").replace("N", "M"))),
    "a branch in a branch": (
        False,
        (f"{_LARGER} {_STORE.replace('+16', '+20')} setp.eq.u32 %p3, %v0, 0; @%p3 st.global.u32 [%rd1+16], %r5; N:",),
    ),
    "its own bytes": (False, (f"{_LARGER} {_OWN} N:", _ADD)),
    "a fence behind the branch": (True, (_MAX, "fence.acq_rel.gpu;", _ADD.replace("+16", "+20"))),
    "read behind the branch": (
        False,
        (_MAX, "fence.acq_rel.gpu;", "ld.global.u32 %v1, [%rd1+16]; st.global.u32 [%rd1+20], %v1;"),
    ),
}
_WRONG: dict[str, tuple[str, ...]] = {
    "one way gives the lock back": (_TAKEN, _ADD, f"setp.ge.u32 %p3, %v0, 3; @%p3 bra N; {_GIVE} N:", _ADD, _GIVE),
    "one way does not give it back": (_TAKEN, f"{_LARGER} bra END; N:", _ADD, _GIVE),
    "one way fences": (_TAKEN, f"{_LARGER} fence.acq_rel.gpu; N:", _ADD, _GIVE.replace("release", "relaxed")),
    "one way accesses what others do without the lock": (
        "@%p5 st.global.u32 [%rd1+20], 1;",
        _TAKEN,
        f"{_LOAD} setp.eq.u32 %p3, %v0, 0; @%p3 bra N; st.global.u32 [%rd1+20], %r5; N:",
        _ADD,
        _GIVE,
    ),
    "what a way leaves in a register decides later": (
        _TAKEN,
        "mov.u32 %r10, 0;",
        f"{_LARGER} mov.u32 %r10, 1; N:",
        _ADD,
        _GIVE,
        "setp.eq.u32 %p3, %r10, 0; @%p3 bra END; st.global.u32 [%rd3+32], 1;",
    ),
    "what a way leaves decides behind the section": (
        _TAKEN,
        f"{_LARGER} {_OWN} N:",
        _ADD,
        _GIVE,
        "ld.global.u32 %v1, [%rd3+32]; setp.eq.u32 %p3, %v1, 0; @%p3 bra END; st.global.u32 [%rd1+104], 1;",
    ),
    "one way waits without end": (_TAKEN, f"{_LOAD} N: setp.ge.u32 %p3, %v0, %r5; @%p3 bra N;", _ADD, _GIVE),
    "a misaligned access on a way": (
        _TAKEN,
        f"{_LOAD} setp.eq.u32 %p3, %v0, 0; @%p3 bra N; st.global.u32 [%rd1+22], 1; N:",
        _ADD,
        _GIVE,
    ),
    "an access beyond the buffer on a way": (
        _TAKEN,
        f"{_LOAD} setp.eq.u32 %p3, %v0, 0; @%p3 bra N; st.global.u32 [%rd1+256], 1; N:",
        _ADD,
        _GIVE,
    ),
    "an access out of bounds on a way": (_TAKEN, f"{_LARGER} st.global.u32 [%rd1+4096], 1; N:", _ADD, _GIVE),
}


@pytest.mark.parametrize("name", _RIGHT)
def test_sections_with_branches_are_decided_by_one_run_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, body = _RIGHT[name]
    test = _kernel(_TAKEN, *body, _GIVE)
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert found is not None and expected.verdict in ("ok", "bounded") and whole is not bool(found.differing)
    assert all(_but_open(state, found) == _but_open(found.state, found) for state in expected.states)


@pytest.mark.parametrize("name", _WRONG)
def test_a_branch_that_is_wrong_or_decides_something_is_not_taken_for_one_of_a_section(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _kernel(*_WRONG[name])
    assert _up_to_sections(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1
