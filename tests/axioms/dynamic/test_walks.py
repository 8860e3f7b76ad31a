"""Walks through lists whose order hangs on that of atomic exchanges: one run beside the formula, each condition with a kernel
that is wrong and would be taken for right without it, and tables at their size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_walks import walk_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import walking, walks
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(20), range(300)))
def test_what_is_said_of_walks_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_tickets(walk_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_of_walks_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(walk_kernel, range(1200, 1200 + share(20000)), monkeypatch)


#: A thread's node, its number and one, comes to the head of the list at `c`; its link is in `x`.
_PUSH = "atom.global.exch.b32 %r7, [%rd3], %r5; st.global.u32 [%rd5+4], %r7; bar.sync 0;"
#: The first thread walks through the list: what it does at the node `%r7`, which lies at `%rd2`.
_WALK = """@!%p1 bra END; mov.u32 %r6, 0; ld.global.u32 %r7, [%rd3];
W: setp.eq.u32 %p3, %r7, 0; @%p3 bra E; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1; {does}
 ld.global.u32 %r7, [%rd2]; bra W; E: st.global.u32 [%rd1+{to}], %r6;"""
#: Where values of nodes are, and where it puts what it has found.
_VALUE, _TO = "ld.global.u32 %r8, [%rd2+16];", 32


def _walk(does: str) -> str:
    return f"{_PUSH} {_WALK.format(does=does, to=_TO)}"


def _true(*_: Any, **__: Any) -> bool:
    return True


def _none(*_: Any, **__: Any) -> None:
    return None


#: Kernels of which the formula knows several outcomes, and the condition without which one is taken for all.
_WRONG: dict[str, tuple[str, tuple[Any, str, Any]]] = {
    "the value of the last node": (_walk(f"{_VALUE} mov.u32 %r6, %r8;"), (walks.ListWalk, "_commute", _none)),
    "a number in the order of the nodes": (
        _walk(f"{_VALUE} mad.lo.u32 %r6, %r6, 4, %r8;"), (walks.ListWalk, "_commute", _none),
    ),
    "the first node counts for more": (
        f"{_PUSH} @!%p1 bra END; ld.global.u32 %r7, [%rd3]; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1; {_VALUE} "
        "mul.lo.u32 %r6, %r8, 5; W: ld.global.u32 %r7, [%rd2]; setp.eq.u32 %p3, %r7, 0; @%p3 bra E; "
        f"mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd1; {_VALUE} add.u32 %r6, %r6, %r8; bra W; "
        f"E: st.global.u32 [%rd1+{_TO}], %r6;", (walks.ListWalk, "_begins_alike", _none),
    ),
    "how many nodes come before one": (
        _walk(f"{_VALUE} setp.eq.u32 %p4, %r8, 2; @%p4 bra E; add.u32 %r6, %r6, 1;"),
        (walks.ListWalk, "_hangs", lambda *_: False),
    ),
    "which of two nodes comes first": (
        _walk(f"{_VALUE} setp.ge.u32 %p4, %r8, 1; @%p4 mov.u32 %r6, %r8; @%p4 bra E;"),
        (walks.ListWalk, "_one_exit", _none),
    ),
    "the link of another node": (
        _walk(f"{_VALUE} add.u32 %r6, %r6, %r8; xor.b32 %r9, %r7, 3; mul.wide.u32 %rd2, %r9, 4; add.u64 %rd2, %rd2, %rd1;"),
        (walks.ListWalk, "_is_own", _true),
    ),
    "a link that is looked at behind a walk": (
        _walk("add.u32 %r6, %r6, 1;") + "ld.global.u32 %r8, [%rd1+8]; st.global.u32 [%rd1+36], %r8;",
        (walking.Walking, "_is_ahead", lambda _, __, address: address % 64 == 8),
    ),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, (place, condition, none) = _WRONG[name]
    test = ticketed_kernel(body, grid=1, block=2, start=(0,), x=(0, 0, 0, 0, 0, 1, 2), forall="x[8] < 99 && x[9] < 99")
    assert not _says_all(test)
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert _says_all(test)
    assert len(by_formula(test, monkeypatch).states) > 1


def test_a_link_that_is_written_anew_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = _WALK.format(does="add.u32 %r6, %r6, 1;", to=_TO)
    again = counts.replace("W:", "V:").replace("bra W", "bra V").replace("E:", "F:").replace("bra E;", "bra F;")
    anew = again.replace("@!%p1 bra END;", "@%p1 st.global.u32 [%rd1+4], 0;").replace(f"+{_TO}", f"+{_TO + 4}")
    body = f"{_PUSH} {counts} {anew}"
    test = ticketed_kernel(body, grid=1, block=2, start=(0,), forall="x[8] < 99 && x[9] < 99")
    assert not _says_all(test)
    assert len(by_formula(test, monkeypatch).states) > 1


def _says_all(test: Any) -> bool:
    found = by_tickets(test)
    return found is not None and not found.differing


#: A table of lists: each thread puts its key into one of 16, and the same threads, or others in the next launch, look.
_HEAD = """.visible .entry {name}(.param .u64 head, .param .u64 next, .param .u64 key, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [head]; ld.param.u64 %rd2, [next]; ld.param.u64 %rd3, [key]; ld.param.u64 %rd4, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3; add.u32 %r2, %r1, 1;
 mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd3, %rd5; ld.global.u32 %r4, [%rd6]; and.b32 %r5, %r4, 15; mov.u32 %r6, 0;
 mul.wide.u32 %rd7, %r5, 4; add.u64 %rd7, %rd7, %rd1; add.u64 %rd6, %rd2, %rd5; add.u64 %rd5, %rd5, %rd4;
 {body}
 ret;
}}
"""
_INSERT = "atom.relaxed.{scope}.global.exch.b32 %r7, [%rd7], %r2; st.global.u32 [{link}], %r7;"
_FIND = """ld.global.u32 %r7, [%rd7];
W: setp.eq.u32 %p1, %r7, 0; @%p1 bra E; mul.wide.u32 %rd8, %r7, 4; add.u64 %rd7, %rd3, %rd8; ld.global.u32 %r8, [%rd7];
 {does} add.u64 %rd8, %rd2, %rd8; ld.global.u32 %r7, [%rd8]; bra W; E: st.global.u32 [%rd5], %r6;"""
_IS = "setp.ne.u32 %p2, %r8, %r4; @!%p2 mov.u32 %r6, {what}; @!%p2 bra E;"


@pytest.mark.parametrize(
    ("insert", "find", "verdict"),
    [
        pytest.param(_INSERT, _FIND.format(does=_IS.format(what=1)), "ok", id="finds its key"),
        pytest.param(_INSERT, _FIND.format(does="add.u32 %r6, %r6, 1;"), "ok", id="counts"),
        pytest.param(_INSERT.replace("{scope}", "cta"), _FIND.format(does="add.u32 %r6, %r6, 1;"), "no", id="cta"),
        pytest.param(_INSERT.replace("{link}", "%rd2"), _FIND.format(does="add.u32 %r6, %r6, 1;"), "no", id="one link"),
        pytest.param("", _INSERT + _FIND.format(does="add.u32 %r6, %r6, 1;"), "no", id="no barrier"),
    ],
)
def test_a_table_of_lists_at_its_size(insert: str, find: str, verdict: str) -> None:
    bodies = {"insert": insert, "find": find} if insert else {"find": find}
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for name, body in bodies.items():
        text += _HEAD.format(name=name, body=body.replace("{scope}", "gpu").replace("{link}", "%rd6"))
    params = {
        name: {"type": "u32", "elements": 16 if name == "head" else 65} for name in ("head", "next", "key", "out")
    }
    params["key"] |= {"init": [i * 37 % 1009 for i in range(65)]}
    tree = {
        "ptx": "k.ptx", "params": params,
        "kernel": [{"name": n, "entry": n, "grid": 2, "block": 32, "args": list(params)} for n in bodies],
        "check": {"forall": "out[1] > 0 && out[64] > 0", "race_free": True, "terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
    assert (by_tickets(test) is not None) is (verdict == "ok")
    if verdict == "no":
        assert by_runs(test)[1].verdict == "no"
