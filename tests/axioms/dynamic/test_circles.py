"""Operations on several bytes, each of which could come before the next one: the shapes of litmus tests, with weak orders.

What several runs settle is compared with the formula, and where a circle is possible they settle nothing.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import note
from by_runs import by_formula, by_runs, compare, in_order
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r5, 0;
"""
_X, _Y, _Z = "[%rd1]", "[%rd1+4]", "[%rd1+8]"


def _kernel(*ctas: tuple[str, ...], wanted: str = "") -> KernelTest:
    """Threads, CTA by CTA, in an own branch each; `!` is the number of a thread, `$n` the word of the buffer for results."""
    lines, block = [f"mad.lo.u32 %r3, %r1, {len(ctas[0])}, %r2;"], len(ctas[0])
    for number, text in enumerate(text for cta in ctas for text in cta):
        text = text.replace("!", str(number))
        for word in range(6):
            text = text.replace(f"${word}", f"[%rd1+{16 + 4 * word}]")
        lines.append(f"setp.ne.u32 %p1, %r3, {number}; @%p1 bra NEXT{number}; {text} ret;\nNEXT{number}:")
    names = [*range(3), *range(4, 10)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": len(ctas), "block": block,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "check": {
            "forall": wanted or " && ".join(f"x[{n}] < 90" for n in names), "race_free": True, "terminates": True
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *lines, "ret;", "}"])}).test()


def _st(place: str, value: int, sem: str = "relaxed") -> str:
    return f"st.{sem}.gpu.global.u32 {place}, {value};"


def _ld(place: str, out: int, sem: str = "relaxed") -> str:
    return f"ld.{sem}.gpu.global.u32 %r5, {place}; st.global.u32 ${out}, %r5;"


def _wait(place: str, sem: str = "relaxed") -> str:
    return f"W!: ld.{sem}.gpu.global.u32 %r6, {place}; setp.eq.u32 %p1, %r6, 0; @%p1 bra W!;"


def _atom(place: str, operation: str, out: int, sem: str = "relaxed") -> str:
    name, operands = operation.split(" ", 1)
    return f"atom.{sem}.gpu.global.{name} %r5, {place}, {operands}; st.global.u32 ${out}, %r5;"


def _red(place: str) -> str:
    return f"red.relaxed.gpu.global.add.u32 {place}, 1;"


_SHFL = "shfl.sync.idx.b32 %r7, %r5, 0, 31, 3;"
#: Circles that the model allows: what comes last in one place comes first in another.
_ALLOWED = {
    "S": [(_st(_X, 1) + _st(_Y, 1),), (_wait(_Y) + _st(_X, 2),)],
    "S, acquired alone": [(_st(_X, 1) + _st(_Y, 1),), (_wait(_Y, "acquire") + _st(_X, 2),)],
    "S, released alone": [(_st(_X, 1) + _st(_Y, 1, "release"),), (_wait(_Y) + _st(_X, 2),)],
    "S, exch behind": [(_st(_X, 1) + _st(_Y, 1),), (_wait(_Y) + _atom(_X, "exch.b32 2", 0),)],
    "S, red before": [(_red(_X) + _st(_Y, 1),), (_wait(_Y) + _st(_X, 5),)],
    "S, red and add": [(_red(_X) + _st(_Y, 1),), (_wait(_Y) + _atom(_X, "add.u32 1", 0),)],
    "S, cas twice": [
        (_atom(_X, "cas.b32 0, 1", 0) + _st(_Y, 1),), (_wait(_Y) + _atom(_X, "cas.b32 0, 2", 1),)
    ],
    "S, one thread between": [(_st(_X, 1) + _st(_Y, 1),), (_wait(_Y) + _red("[%rd1+8]"),), (_wait("[%rd1+8]") + _st(_X, 2),)],
    "2+2W": [(_st(_X, 1) + _st(_Y, 2),), (_st(_Y, 1) + _st(_X, 2),)],
    "2+2W, released": [(_st(_X, 1, "release") + _st(_Y, 2, "release"),), (_st(_Y, 1, "release") + _st(_X, 2, "release"),)],
    "LB": [(_ld(_X, 0) + _st(_Y, 1),), (_ld(_Y, 1) + _st(_X, 1),)],
    "LB, released alone": [(_ld(_X, 0) + _st(_Y, 1, "release"),), (_ld(_Y, 1) + _st(_X, 1),)],
    "LB, acquired alone": [(_ld(_X, 0) + _st(_Y, 1),), (_ld(_Y, 1, "acquire") + _st(_X, 1),)],
    "LB of three, in order at one place": [
        (_ld(_X, 0) + _st(_Y, 1, "release"),), (_ld(_Y, 1, "acquire") + _st(_Z, 1),), (_ld(_Z, 2) + _st(_X, 1),)
    ],
    "LB of three, released too early": [
        (_ld(_X, 0) + _st(_Y, 1, "release"),), ("fence.release.gpu;" + _ld(_Y, 1, "acquire") + _st(_Z, 1),),
        (_ld(_Z, 2, "acquire") + _st(_X, 1),)
    ],
    "LB, red": [(_ld(_X, 0) + _red(_Y),), (_ld(_Y, 1) + _red(_X),)],
    "LB over warps": [
        (_ld(_X, 0) + "bar.warp.sync 3;", "bar.warp.sync 3;" + _st(_Y, 1)),
        (_ld(_Y, 1) + "bar.warp.sync 3;", "bar.warp.sync 3;" + _st(_X, 1)),
    ],
    "LB over shuffles behind barriers": [
        ("barrier.sync 0;" + _ld(_X, 0, "acquire") + _SHFL, "barrier.sync 0;" + _SHFL + _st(_Y, 1, "release")),
        ("barrier.sync 0;" + _ld(_Y, 1, "acquire") + _SHFL, "barrier.sync 0;" + _SHFL + _st(_X, 1, "release")),
    ],
    "LB, not acquired, over barriers and shuffles": [
        (_ld(_X, 0) + "barrier.sync 0;" + _SHFL, "barrier.sync 0;" + _SHFL + _st(_Y, 1, "release")),
        (_ld(_Y, 1) + "barrier.sync 0;" + _SHFL, "barrier.sync 0;" + _SHFL + _st(_X, 1, "release")),
    ],
    "LB, in the order of the run by an operation of the circle alone": [
        (_atom(_X, "max.u32 1", 0, "acq_rel") + _SHFL, _SHFL + _st(_Y, 1, "release")),
        (_wait(_Y, "acquire") + _SHFL, _SHFL + _atom(_X, "inc.u32 2", 1, "acq_rel")),
    ],
    "LB over barriers": [
        (_ld(_X, 0) + "barrier.sync 0;", "barrier.sync 0;" + _st(_Y, 1)),
        (_ld(_Y, 1) + "barrier.sync 0;", "barrier.sync 0;" + _st(_X, 1)),
    ],
}  # fmt: skip
#: Those that it does not allow, or where the order is the same anyway.
_OTHERS = {
    "S, in order": [(_st(_X, 1) + _st(_Y, 1, "release"),), (_wait(_Y, "acquire") + _st(_X, 2),)],
    "S, by fences": [(_st(_X, 1) + "fence.release.gpu;" + _st(_Y, 1),), (_wait(_Y) + "fence.acquire.gpu;" + _st(_X, 2),)],
    "LB, in order at one place": [(_ld(_X, 0) + _st(_Y, 1, "release"),), (_ld(_Y, 1, "acquire") + _st(_X, 1),)],
    "LB of three, in order at two places": [
        (_ld(_X, 0) + _st(_Y, 1, "release"),), (_ld(_Y, 1, "acquire") + _st(_Z, 1, "release"),),
        (_ld(_Z, 2, "acquire") + _st(_X, 1),)
    ],
    "LB, released by what was written there before": [
        (_ld(_X, 0) + _st(_Y, 0, "release") + _st(_Y, 1),), (_ld(_Y, 1, "acquire") + _st(_X, 1),)
    ],
    "2+2W by exch": [
        (_atom(_X, "exch.b32 1", 0, "acq_rel") + _atom(_Y, "exch.b32 2", 1, "acq_rel"),),
        (_atom(_Y, "exch.b32 1", 2, "acq_rel") + _atom(_X, "exch.b32 2", 3, "acq_rel"),),
    ],
    "CoRW": [(_ld(_X, 0) + _st(_X, 1),), (_st(_X, 2) + _ld(_X, 1),)],
    "R": [(_st(_X, 1) + _st(_Y, 1),), (_st(_Y, 2) + _ld(_X, 0),)],
    "LB, acquired and released, over warps": [
        (_ld(_X, 0, "acquire") + "bar.warp.sync 3;", "bar.warp.sync 3;" + _st(_Y, 1, "release")),
        (_ld(_Y, 1, "acquire") + "bar.warp.sync 3;", "bar.warp.sync 3;" + _st(_X, 1, "release")),
    ],
    "LB, acquired and released, over barriers and shuffles": [
        (_ld(_X, 0, "acquire") + "barrier.sync 0;" + _SHFL, "barrier.sync 0;" + _SHFL + _st(_Y, 1, "release")),
        (_ld(_Y, 1, "acquire") + "barrier.sync 0;" + _SHFL, "barrier.sync 0;" + _SHFL + _st(_X, 1, "release")),
    ],
    "tickets over a shuffle": [(_atom(_X, "add.u32 1", 0) + _SHFL, _SHFL + _st(_Y, 1)), (_atom(_X, "add.u32 1", 1), "")],
    "what comes before a barrier is not behind it": [
        (
            _atom(_X, "add.u32 1", 0) + "barrier.sync 0;" + _st(_Y, 1),
            "barrier.sync 0;" + _wait(_Y) + _atom(_X, "add.u32 2", 1), "barrier.sync 0;" + _atom(_X, "add.u32 4", 2),
        )
    ],
    "nor is it where nobody looks at what it finds": [
        (
            _red(_X) + "barrier.sync 0;" + _st(_Y, 1), "barrier.sync 0;" + _wait(_Y) + _atom(_X, "add.u32 2", 1),
            "barrier.sync 0;" + _atom(_X, "add.u32 4", 2),
        )
    ],
    "attempts that change": [
        (_atom(_X, "exch.b32 1", 0) + _atom(_X, "exch.b32 0", 1),),
        (f"T!: atom.relaxed.gpu.global.exch.b32 %r5, {_X}, 2; setp.ne.u32 %p1, %r5, 0; @%p1 bra T!;",),
    ],
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", _ALLOWED)
def test_a_circle_that_the_model_allows_is_not_passed_over(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _kernel(*_ALLOWED[name])
    open_, found = by_runs(test)
    if open_:
        assert "several places" in open_
    else:  # one run stands for all executions, but for the values that hang on their order
        assert [c.holds for c in found.checks] == [None, True, True]
    assert len(by_formula(test, monkeypatch).states) > 1


@pytest.mark.compares(1)
def test_circles_that_are_broken_are_settled_as_the_formula_settles_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, ctas in _OTHERS.items():
        open_, found = by_runs(_kernel(*ctas))
        expected = by_formula(_kernel(*ctas), monkeypatch)
        assert not open_ and found.verdict == expected.verdict.replace("bounded", "ok") == "ok", (name, open_)
        assert in_order(found.states) == in_order(expected.states), name
    note(len(_OTHERS), Counter())


def test_what_other_runs_show_to_be_wrong_is_told_in_spite_of_a_circle() -> None:
    """The first run, thread by thread, ends with 2 in the first word."""
    open_, found = by_runs(_kernel(*_ALLOWED["2+2W"], wanted="x[0] == 2"))
    assert not open_ and found.verdict == "no" and found.states[0]["x[0]"] == 1


_SEMS = {
    "ld": ("relaxed", "acquire"),
    "st": ("relaxed", "release"),
    "atom": ("relaxed", "acquire", "release", "acq_rel"),
}


def _drawn(choose: random.Random, place: str, number: int, word: int, weak: float) -> str:
    """An operation on a word of the buffer; `number` tells its label from others of its thread."""

    def how(kind: str) -> str:
        sem = "relaxed" if choose.random() < weak else choose.choice(_SEMS[kind])
        return f"{sem}.{choose.choice((*['gpu'] * 14, 'sys', 'cta'))}.global"

    value, again = number + 1, f"@%p1 bra L{number}x!;"
    operation = choose.choice(("add.u32", "exch.b32", "max.u32", "inc.u32", "xor.b32"))
    plain = (
        f"ld.{how('ld')}.u32 %r5, {place}; st.global.u32 ${word}, %r5;",
        f"st.{how('st')}.u32 {place}, {value};",
        f"red.{how('st')}.{choose.choice(('add.u32', 'or.b32'))} {place}, {value};",
        f"atom.{how('atom')}.{operation} %r5, {place}, {value}; st.global.u32 ${word}, %r5;",
        f"atom.{how('atom')}.cas.b32 %r5, {place}, {choose.choice((0, 0, 1, 2))}, {value}; st.global.u32 ${word}, %r5;",
    )
    waits = (
        f"L{number}x!: ld.{how('ld')}.u32 %r5, {place}; setp.eq.u32 %p1, %r5, 0; {again}",
        f"L{number}x!: atom.{how('atom')}.exch.b32 %r5, {place}, {value}; setp.eq.u32 %p1, %r5, 2; {again}",
        f"L{number}x!: atom.{how('atom')}.cas.b32 %r5, {place}, 0, {value}; setp.ne.u32 %p1, %r5, 0; {again}",
    )
    return choose.choice((*plain, *plain, *waits))


def _circle(seed: int) -> KernelTest:
    """Two or three threads, each with an operation on one word and then on that of the next thread; or two CTAs, of which one
    thread has the first operation, and another one behind a meeting the second."""
    choose = random.Random(seed)
    apart, weak = choose.random() < 0.4, choose.random()
    count = 2 if apart else choose.choice((2, 2, 3))
    ctas = []
    for thread in range(count):
        one, two = (f"[%rd1+{4 * ((thread + n) % count)}]" for n in (0, 1))
        fence = f"fence.{choose.choice(('sc', 'acq_rel', 'acquire', 'release'))}.gpu;" if choose.random() < 0.2 else ""
        first, then = (
            _drawn(choose, one, 0, thread, weak),
            _drawn(choose, two, 1, 3 + thread, weak),
        )
        meet = choose.choice(
            ("barrier.sync 0;", "bar.warp.sync 3;", _SHFL, f"barrier.sync 0; {_SHFL}", f"{_SHFL} barrier.sync 0;")
        )
        ctas.append((first + fence + meet, meet + fence + then) if apart else (first + fence + then,))
    return _kernel(*ctas)


@pytest.mark.long
@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(12), range(24)))
def test_runs_say_of_generated_circles_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_circle, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > len(seeds) / 12


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_runs_say_of_many_generated_circles_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_circle, range(1000, 1000 + share(4000)), monkeypatch)
