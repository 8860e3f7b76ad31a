"""Locks that are tickets: one run beside the formula, and each condition with a kernel that is wrong without it."""

from __future__ import annotations

import pytest
from by_runs import by_formula
from test_sections import _ADD, _MEET, _apart, _by_sections, _kernel

#: Draws a number from word 1, waits until word 0 is it, and serves the next one.
_DRAW = "atom.relaxed.gpu.global.add.u32 %r6, [%rd1+4], 1;"
_WAIT = "T: ld.acquire.gpu.global.u32 %r7, [%rd1]; setp.ne.u32 %p2, %r7, %r6; @%p2 bra T;"
_NEXT = "add.u32 %r8, %r6, 1; st.release.gpu.global.u32 [%rd1], %r8;"
_RELAXED = _WAIT.replace("acquire", "relaxed")
_FENCE = "fence.acq_rel.gpu;"
_SECTION = _DRAW, _WAIT, _ADD, _NEXT
_RIGHT: dict[str, tuple[str, ...]] = {
    "added": _SECTION,
    "by fences": (_DRAW, _RELAXED, _FENCE, _ADD, _FENCE, _NEXT.replace("release", "relaxed")),
    "one more is added": (_DRAW, _WAIT, _ADD, "red.release.gpu.global.add.u32 [%rd1], 1;"),
    "looked at by an addition": (
        _DRAW,
        _WAIT.replace("ld.acquire.gpu.global.u32 %r7, [%rd1]", "atom.acquire.gpu.global.add.u32 %r7, [%rd1], 0"),
        _ADD,
        _NEXT,
    ),
    "the next number is what is served and one": (
        _DRAW,
        _WAIT,
        _ADD,
        _NEXT.replace("add.u32 %r8, %r6", "add.u32 %r8, %r7"),
    ),
    "what is served is read again": (
        _DRAW,
        _WAIT,
        _ADD,
        "ld.relaxed.gpu.global.u32 %r8, [%rd1]; add.u32 %r8, %r8, 1; st.release.gpu.global.u32 [%rd1], %r8;",
    ),
    "it sleeps": (_DRAW, _WAIT.replace("setp", "nanosleep.u32 20; setp"), _ADD, _NEXT),
    "it waits in vain once before the loop": (
        _DRAW,
        "ld.acquire.gpu.global.u32 %r7, [%rd1]; setp.eq.u32 %p2, %r7, %r6; @%p2 bra D;",
        _WAIT,
        "D:",
        _ADD,
        _NEXT,
    ),
}
_ONCE = _WAIT.replace("@%p2 bra T;", "@%p2 bra END;")
_OWN = "mul.wide.u32 %rd5, %r6, 4; add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5+32], %r4;"
_WRONG: dict[str, tuple[str, ...]] = {
    "nothing is acquired": (_DRAW, _RELAXED, _ADD, _NEXT),
    "nothing is released": (_DRAW, _WAIT, _ADD, _NEXT.replace("release", "relaxed")),
    "released before the access": (_DRAW, _WAIT, _FENCE, _ADD, _NEXT.replace("release", "relaxed")),
    "acquired in a narrow scope": (_DRAW, _WAIT.replace("gpu", "cta"), _ADD, _NEXT),
    "served in a narrow scope": (_DRAW, _WAIT, _ADD, _NEXT.replace("gpu", "cta")),
    "drawn in a narrow scope": (_DRAW.replace("gpu", "cta"), _WAIT, _ADD, _NEXT),
    "served weakly": (_DRAW, _WAIT, _ADD, _FENCE, _NEXT.replace(".release.gpu", "")),
    "not waited for": (_DRAW, _ADD, _NEXT),
    "looked at once": (_DRAW, _ONCE, _ADD, _NEXT),
    "an earlier one does": (_DRAW, _WAIT.replace("setp.ne", "setp.gt"), _ADD, _NEXT),
    "two are drawn at once": (_DRAW.replace(", 1;", ", 2;"), _WAIT, _ADD, _NEXT),
    "the one after the next is served": (_DRAW, _WAIT, _ADD, _NEXT.replace(", 1;", ", 2;")),
    "nobody is served": (_DRAW, _WAIT, _ADD),
    "served before the access": (_DRAW, _WAIT, _NEXT, _ADD),
    "an access without a number": _apart((_ADD,), _SECTION, "%p5"),
    "an access by the number": (_DRAW, _WAIT, _ADD, _OWN, _NEXT),
    "the number decides": (_DRAW, "setp.eq.u32 %p3, %r6, 0; @%p3 st.global.u32 [%rd3+32], 1;", _WAIT, _ADD, _NEXT),
    "a number that nobody waits for": _apart((_DRAW,), _SECTION, "%p5"),
    "somebody else serves": _apart(("red.release.gpu.global.add.u32 [%rd1], 1;",), _SECTION, "%p5"),
    "it tells that it waits": (
        _DRAW,
        _WAIT.replace("@%p2 bra T;", "@%p2 st.global.u32 [%rd3+32], 1; @%p2 bra T;"),
        _ADD,
        _NEXT,
    ),
    "who waited before acquires": (
        _DRAW,
        "ld.relaxed.gpu.global.u32 %r7, [%rd1]; setp.eq.u32 %p2, %r7, %r6; @%p2 bra D;",
        _WAIT,
        "D:",
        _ADD,
        _NEXT,
    ),
    "others begin at another number": (_DRAW.replace(", 1;", ", 1; add.u32 %r6, %r6, 1;"), _WAIT, _ADD, _NEXT),
}
#: Of one CTA of two threads.
_WRONG_TOGETHER: dict[str, tuple[str, ...]] = {
    "a number is held at a barrier": _apart(
        (_DRAW, _MEET, _WAIT, _ADD, _NEXT), (_DRAW, _WAIT.replace("T", "U"), _ADD, _NEXT, _MEET)
    ),
    "others come behind the same lock": _apart(
        (_DRAW, _WAIT, _ADD, _MEET, _NEXT), (_DRAW, _WAIT.replace("T", "U"), _ADD, _NEXT, _MEET)
    ),
}


@pytest.mark.parametrize("name", _RIGHT)
def test_sections_of_tickets_are_decided_by_one_run_as_the_formula_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _kernel(*_RIGHT[name])
    found = _by_sections(test)
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("ok", "bounded") and expected.states == [found]


@pytest.mark.parametrize("name", [*_WRONG, *_WRONG_TOGETHER])
def test_a_lock_of_tickets_that_is_wrong_or_decides_something_is_not_taken_for_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = name in _WRONG_TOGETHER
    body = _WRONG_TOGETHER[name] if together else _WRONG[name]
    test = _kernel(*body, grid=1 if together else 2, block=1 + together)
    assert _by_sections(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1
