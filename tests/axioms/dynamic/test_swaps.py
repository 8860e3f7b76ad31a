"""Loops of compare-and-swap whose result is used: one run beside the formula, each condition with a kernel that is wrong and
would be taken for right without it, and lists and counters at their size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_swaps import swap_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import swapping, swaps


@pytest.mark.compares(0.08)
@pytest.mark.parametrize("seeds", lengths(range(40), range(300)))
def test_what_is_said_up_to_swaps_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(swap_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 16


@pytest.mark.campaign
@pytest.mark.compares(0.08)
def test_what_is_said_up_to_swaps_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(swap_kernel, range(1000, 1000 + share(20000)), monkeypatch)


#: A thread takes what stands in the word at `c` (`%r6`), by trying to put `%r7` there.
_LOOP = """ld.relaxed.gpu.global.u32 %r6, [%rd3];
L: {body} atom.relaxed.gpu.global.cas.b32 %r8, [%rd3], %r6, %r7; setp.ne.u32 %p3, %r8, %r6; mov.u32 %r6, %r8; @%p3 bra L;"""
_AT = "mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, {of};"
#: Takes a node of the list that is in `x` first, and leaves the next one; puts its own node before the others.
_NEXT = f"{_AT.format(of='%rd1')} ld.global.u32 %r7, [%rd2];"
_POP = _LOOP.format(body=_NEXT)
_PUSH = _LOOP.format(body="st.global.u32 [%rd5], %r6; mov.u32 %r7, %r5;")
_IN_SHARED = _PUSH.replace(".gpu.global", ".cta.shared").replace("[%rd3]", "[s]")
_AGAIN = "@%p3 bra L;"
_LOADS = "@!%p3 bra END; ld.global.u32 %r9, [%rd1+{at}]; bra A;"
#: Writes to a place of that node.
_OWN = f"{_AT.format(of='%rd1').replace(' 4;', ' 8;')} st.global.u32 [%rd2+{{beside}}], %r5;"


def _none(*_: Any, **__: Any) -> None:
    return None


def _true(*_: Any, **__: Any) -> bool:
    return True


#: Kernels that are wrong: what they do, their size, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "a list that goes round": (
        f"{_POP} mov.u32 %r10, %r6; bar.sync 0; @!%p1 bra USE; {_POP.replace('L:', 'M:').replace('bra L', 'bra M')}"
        f"{_OWN.format(beside=32)} USE: mov.u32 %r6, %r10; {_OWN.format(beside=32)}",
        {"grid": 1, "block": 2, "start": (1,), "x": (0, 2, 1)}, (swapping, "_are_different", _true),
    ),
    "who finds the last one in the second round goes elsewhere": (
        _POP.replace("@%p3 bra L;", "@!%p3 bra END; setp.eq.u32 %p4, %r8, 2; @!%p4 bra L; st.global.u32 [%rd1+32], 7;"),
        {"start": (1,), "x": (0, 2, 3, 0)}, (swaps.SwapLoop, "never_gives_up", _true),
    ),
    "a node's link is written while others look": (
        f"{_POP} {_AT.format(of='%rd1')} st.global.u32 [%rd2], %r5;", {"start": (1,), "x": (3, 2, 3, 0)},
        (swapping.Swapping, "_check_loads", _none),
    ),
    "a link that is stored is read in the loop": (
        _LOOP.format(body=f"st.global.u32 [%rd1+4], 2; {_NEXT}"), {"start": (1,), "x": (3, 2, 3, 0)},
        (swapping.Swapping, "_stores_apart", _true),
    ),
    "another place is written if another thread comes between": (
        f"A: {_PUSH.replace('@%p3 bra L;', '@!%p3 bra END; st.global.u32 [%rd1+32], %r5; bra A;')}",
        {"grid": 3, "start": (0,)}, (swaps, "_does_alike", _true),
    ),
    "a round in vain loads what another thread stores": (
        f"@%p1 st.global.u32 [%rd1+32], 7; A: {_POP.replace(_AGAIN, _LOADS.format(at=32))}",
        {"grid": 3, "start": (1,), "x": (0, 2, 3, 4)}, (swaps, "_does_alike", _true),
    ),
    "a round in vain loads what is not there": (
        f"A: {_PUSH.replace(_AGAIN, _LOADS.format(at=4096))}",
        {"grid": 3, "start": (0,)}, (swaps, "_does_alike", _true),
    ),
    "a round in vain looks weakly at shared memory": (
        "@%p1 st.shared.u32 [s], 0; bar.sync 0; "
        + _IN_SHARED.replace(f"mov.u32 %r6, %r8; {_AGAIN}", "@!%p3 bra END; ld.shared.u32 %r6, [s]; bra L;"),
        {"grid": 1, "block": 3}, (swaps._SwapTeller, "is_strong", _true),
    ),
    "it waits for what nobody puts there": (
        _PUSH.replace("@%p3 bra L;", "@!%p3 bra END; W: ld.relaxed.gpu.global.u32 %r6, [%rd3]; setp.ne.u32 %p3, %r6, 7; "
                      "@%p3 bra W; bra L;"),
        {"start": (0,)}, (swaps.SwapLoop, "_goes_round", lambda *_: False),
    ),
    "it knows whether another thread came between": (
        _PUSH.replace("@%p3 bra L;", "@%p3 mov.u32 %r9, 1; @%p3 bra L;") + "st.global.u32 [%rd5+32], %r9;",
        {"start": (0,)}, (swaps.SwapLoop, "_alike", _true),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, size, (place, condition, none) = _WRONG[name]
    test = ticketed_kernel(body, **size)
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        found = by_tickets(test)
    assert found is not None
    expected = by_formula(test, monkeypatch)
    differ = any(
        found.state[k] != v and k not in found.differing for state in expected.states for k, v in state.items()
    )
    assert expected.verdict in ("no", "undefined") or differ


_LIST = tuple(range(1, 128))
_BOUNDED = _LOOP.format(body="add.u32 %r7, %r6, 1;")


@pytest.mark.parametrize(
    ("body", "size", "right"),
    [
        pytest.param(_POP + _OWN.format(beside=1024), {"start": (0,), "x": _LIST}, True, id="pop"),
        pytest.param(
            f"{_POP} {_AT.format(of='%rd1')} st.global.u32 [%rd2], %r5;", {"start": (0,), "x": _LIST}, False,
            id="pop, and write the link",
        ),
        pytest.param(_PUSH, {"start": (999,)}, True, id="push"),
        pytest.param(_PUSH.replace("[%rd5], %r6", "[%rd1], %r6"), {"start": (999,)}, False, id="push into one link"),
        pytest.param(_BOUNDED + _OWN.format(beside=0), {"start": (0,)}, True, id="add"),
        pytest.param(_BOUNDED.replace("relaxed.gpu.global.cas", "relaxed.cta.global.cas"), {"start": (0,)}, False, id="cta"),
    ],
)  # fmt: skip
def test_lists_and_counters_at_their_size(body: str, size: dict[str, Any], right: bool) -> None:
    test = ticketed_kernel(body, grid=2, block=64, words=768, forall="x[257] == 0", **size)
    assert (by_tickets(test) is not None) is right
    if not right:
        assert by_runs(test)[1].verdict == "no"
