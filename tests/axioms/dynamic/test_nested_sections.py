"""Critical sections within others: one run beside the formula, each condition with a kernel that is wrong without it, and
patterns at their size."""

from __future__ import annotations

import pytest
from by_runs import by_formula, by_runs
from test_sections import _ADD, _GIVE, _TAKE, _but_open, _kernel, _up_to_sections


def _take(lock: int, label: int) -> str:
    return _TAKE.format(label).replace("[%rd1]", f"[%rd1+{4 * lock}]")


def _give(lock: int) -> str:
    return _GIVE.replace("[%rd1]", f"[%rd1+{4 * lock}]")


def _add(word: int) -> str:
    return _ADD.replace("+16", f"+{4 * word}")


def _by_turns(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What the thread of the first CTA does, and what those of others do."""
    return ("setp.ne.u32 %p4, %r1, 0; @%p4 bra OTHER;", *one, "bra END; OTHER:", *other)


_LOCKS = _take(0, 0), _take(1, 1)
_FREE = _give(1), _give(0)
_MOVE = "ld.global.u32 %v0, [%rd1+16]; setp.lt.u32 %p3, %v0, 2; @%p3 bra N; sub.u32 %v0, %v0, 1; st.global.u32 [%rd1+16], %v0;"
_MOVE += _add(5) + " N:"
_ONE_OF = _by_turns((_take(0, 0), _add(4), _give(0)), (_take(0, 2), _take(1, 1), _add(5), _add(4), _give(1), _give(0)))
#: Whether all that is observed is decided.
_RIGHT: dict[str, tuple[bool, tuple[str, ...]]] = {
    "two at a time": (True, (*_LOCKS, _add(4), _add(5), *_FREE)),
    "given back in the order in which they were taken": (True, (*_LOCKS, _add(4), _add(5), *reversed(_FREE))),
    "hand over hand": (True, (_take(0, 0), _add(4), _take(1, 1), _give(0), _add(5), _give(1))),
    "one of two": (True, _ONE_OF),
    "one within another, and alone": (
        True,
        _by_turns((_take(1, 0), _add(5), _give(1)), (_take(0, 2), _add(4), _take(1, 1), _add(5), _give(1), _give(0))),
    ),
    "moved if there is something": (False, (*_LOCKS, _add(4), _MOVE, *_FREE)),
    "by fences": (
        True,
        (
            _take(0, 0).replace("acquire", "relaxed"), _take(1, 1).replace("acquire", "relaxed"), "fence.acq_rel.gpu;",
            _add(4), _add(5), "fence.acq_rel.gpu;", *(part.replace("release", "relaxed") for part in _FREE),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _RIGHT)
def test_several_locks_at_a_time_are_decided_as_the_formula_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, body = _RIGHT[name]
    test = _kernel(*body)
    found = _up_to_sections(test)
    expected = by_formula(test, monkeypatch)
    assert found is not None and expected.verdict in ("ok", "bounded") and whole is not bool(found.differing)
    assert all(_but_open(state, found) == _but_open(found.state, found) for state in expected.states)


_RELAXED = tuple(part.replace("release", "relaxed") for part in _FREE)


def _weak(lock: int, label: int) -> str:
    return _take(lock, label).replace("acquire", "relaxed")


_TWO = (*_LOCKS, _add(4), _add(5), *_FREE)
_OTHER_WAY = (_take(1, 2), _take(0, 3), _add(4), _add(5), *_FREE)
_WRONG: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "in another order": (2, 1, _by_turns(_TWO, _OTHER_WAY)),
    "each under a lock of its own": (
        2, 1, _by_turns((_take(0, 0), _add(4), _give(0)), (_take(1, 1), _add(4), _give(1), _take(0, 2), _take(1, 3), *_FREE)),
    ),
    "accessed behind the section of its lock": (
        2, 1, _by_turns((_take(0, 2), _add(4), _give(0)), (*_LOCKS, _add(5), _give(0), _add(4), _give(1))),
    ),
    "accessed before the section of its lock": (
        2, 1, _by_turns((_take(1, 0), _add(5), _give(1)), (_take(0, 2), _add(5), _take(1, 1), *_FREE)),
    ),
    "the outer one is not released": (2, 1, (*_LOCKS, _add(4), *_RELAXED)),
    "the outer one is released too early": (
        2, 1, (*_LOCKS, "fence.acq_rel.gpu;", _add(4), *reversed(_RELAXED)),
    ),
    "the inner one is not acquired": (
        2, 1, (_take(0, 0), _weak(1, 1), _add(5), *_FREE, _weak(1, 2), _add(5), _give(1)),
    ),
    "who has both meets who wants one": (
        1, 2, (f"@%p1 bra OTHER; {_take(0, 0)} {_take(1, 1)}", _add(4), "bar.sync 0;", *_FREE, "bra END; OTHER:",
               _take(0, 2), _add(4), _give(0), "bar.sync 0;"),
    ),
    "tried once": (2, 1, (_take(0, 0).replace("@%p2 bra T0;", ""), _add(4), _take(1, 1), _add(5), *_FREE)),
    "the same lock again": (2, 1, (_take(0, 0), _add(4), _take(0, 1), _add(4), _give(0))),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_several_locks_that_are_taken_wrong_are_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, block, body = _WRONG[name]
    test = _kernel(*body, grid=grid, block=block)
    assert _up_to_sections(test) is None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or name == "the same lock again"


_ACCOUNTS = (
    "add.u32 %r9, %r1, 1; and.b32 %r9, %r9, 3; and.b32 %r10, %r1, 3; min.u32 %r11, %r9, %r10; max.u32 %r12, %r9, %r10;",
    "mul.wide.u32 %rd4, %r11, 4; add.u64 %rd4, %rd1, %rd4; mul.wide.u32 %rd5, %r12, 4; add.u64 %rd5, %rd1, %rd5;",
    "@%p1 bra END;",
    _take(0, 0).replace("%rd1", "%rd4"), _take(0, 1).replace("%rd1", "%rd5"),
    _add(4).replace("%rd1", "%rd4").replace("%r5", "2"), _add(4).replace("%rd1", "%rd5").replace("%r5", "3"),
    _give(0).replace("%rd1", "%rd5"), _give(0).replace("%rd1", "%rd4"),
)  # fmt: skip


def test_transfers_between_accounts_are_decided_at_their_size() -> None:
    open_, found = by_runs(_kernel(*_ACCOUNTS, grid=12, block=64, checks="x[4] == 12 || x[4] < 999"))
    assert not open_ and found.verdict == "ok"
