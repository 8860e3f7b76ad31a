"""Breaking the symmetry of interchangeable threads spares work and loses no outcome."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from unittest import mock

import pytest
from campaigns import drawn, lengths, some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ptxmm
from axioms.encode import encoding as encode
from axioms.encode.symmetry import SymmetryClass
from litmus import families
from litmus.formats import read
from litmus.test import Test
from ptxmm.result import Result

Answer = tuple[object, ...]


def answer(result: Result) -> Answer:
    asked = [(c.text, c.holds, c.bounded) for c in result.checks]
    races = sorted({race.kind for race in result.races})
    found = result.verdict, result.complete, result.error, races, asked
    return *found, result.states, result.positive, result.negative


def both_ways(test: Test, model: str = "ptx-9.0", **options: object) -> tuple[int, Answer, Answer]:
    """How many classes of interchangeable threads were found, and the answers with and without using them."""
    found: list[SymmetryClass] = []
    genuine = encode.classes

    def watched(*arguments: object) -> list[SymmetryClass]:
        classes = genuine(*arguments)  # type: ignore[arg-type]
        found.extend(classes)
        return classes

    with mock.patch.object(encode, "classes", watched):
        broken = ptxmm.check(test, model, **options)  # type: ignore[arg-type]
    with mock.patch.object(encode, "classes", lambda *_: []):
        plain = ptxmm.check(test, model, **options)  # type: ignore[arg-type]
    return len(found), answer(broken), answer(plain)


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "all_registers", "relaxed"),
    some(5, product(["ptx-6.0", "ptx-7.5", "ptx-9.0"], [False, True], [False, True])),
)
def test_locks_have_the_same_outcomes_either_way(model: str, all_registers: bool, relaxed: bool) -> None:
    for make in (families.cas_lock, families.exchange_lock, families.ticket_lock):
        for n in (2, 3) if model == "ptx-9.0" else (2,):
            _, broken, plain = both_ways(make(n, relaxed=relaxed), model, all_registers=all_registers)
            assert broken == plain


def test_locks_have_classes_to_break() -> None:
    assert both_ways(families.cas_lock(3))[0] == 1


def test_results_that_only_reductions_return_nobody_can_tell_apart() -> None:
    """Both registers are 0 for good, so one term stands for two observables."""
    test = read(
        "PTX same\n{ P0:r0=0; P1:r0=0; x=2; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
        " red.acq_rel.sys.sub x, 1 | red.acq_rel.sys.sub x, 1 ;\nforall (x == 0)\n"
    )
    count, broken, plain = both_ways(test, all_registers=True)
    assert count == 1
    assert broken == plain
    assert broken[5] == [{"0:r0": 0, "1:r0": 0, "x": 0}]


def test_a_question_that_tells_threads_apart_leaves_no_class() -> None:
    body = "{ atom.relaxed.gpu.add.u32 %r0, [x], 1; st.relaxed.gpu.u32 [y], %r0; }"
    text = f"PTX apart\n{{ x=0; y=0; }}\nP0@cta 0 {body}\nP1@cta 1 {body}\nexists "
    assert both_ways(read(text + "(0:r0 = 1)"))[0] == 0
    assert both_ways(read(text + "(0:r0 = 1 /\\ 1:r0 = 0)"))[0] == 0
    assert both_ways(read(text + "(0:r0 = 1 \\/ 1:r0 = 1)"))[0] == 1


@pytest.mark.parametrize(
    ("place", "scope", "classes"), [("cta 1,gpu 0", "cta", 0), ("cta 1,gpu 1", "gpu", 0), ("cta 1,gpu 0", "gpu", 1)]
)
def test_a_place_that_tells_threads_apart_leaves_no_class(place: str, scope: str, classes: int) -> None:
    """P2 shares its CTA or its GPU with one of them only, which counts where that is somebody's scope."""
    body = f"{{ atom.relaxed.{scope}.add.u32 %r0, [x], 1; }}"
    test = read(
        f"PTX placed\n{{ x=0; }}\nP0@cta 0,gpu 0 {body}\nP1@{place} {body}\n"
        f"P2@{place} {{ st.weak.u32 [x], 7; }}\nexists (0:r0 = 1 \\/ 1:r0 = 1)"
    )
    count, broken, plain = both_ways(test)
    assert count == classes and broken == plain


STEPS = (
    *("atom.relaxed.gpu.add.u32 %r{i}, [x], 1;", "atom.acq_rel.cta.exch.b32 %r{i}, [y], 2;", "ld.weak.u32 %r{i}, [x];"),
    *("ld.acquire.gpu.u32 %r{i}, [y];", "st.release.gpu.u32 [y], 1;", "st.weak.u32 [x], %r0;", "fence.sc.gpu;"),
    *("red.relaxed.gpu.add.u32 [x], 1;", "atom.relaxed.gpu.cas.b32 %r{i}, [y], 0, 3;", "st.relaxed.cta.u32 [x], 4;"),
)


@st.composite
def programs_of_equal_threads(draw: st.DrawFn) -> str:
    """Two or three equal threads, perhaps beside another one, and a question that may tell them apart."""
    count = draw(st.integers(2, 3))
    steps = draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3 if count == 2 else 2))
    body = "{ mov.u32 %r0, 0; " + " ".join(s.format(i=i) for i, s in enumerate(steps, 1)) + " }"
    places = draw(st.sampled_from(["cta {}", "cta 0", "cta {},gpu {}"]))
    threads = [f"P{t}@{places.format(t, t)} {body}" for t in range(count)]
    if draw(st.booleans()):
        other = draw(st.sampled_from(STEPS)).format(i=1)
        threads.append(f"P{count}@cta 9 {{ mov.u32 %r0, 5; {other} }}")
    read_registers = [i for i, s in enumerate(steps, 1) if "%r{i}" in s] or [0]
    register = draw(st.sampled_from(read_registers))
    atoms = [f"{t}:r{register} = {draw(st.integers(0, 2))}" for t in range(draw(st.integers(1, count)))]
    joined = draw(st.sampled_from((" /\\ ", " \\/ "))).join(atoms)
    listed = draw(st.sampled_from(("", "locations [x; y;]\n", f"locations [x; 0:r{register}; 1:r{register};]\n")))
    return "PTX equal\n{ x=0; y=0; }\n" + "\n".join(threads) + f"\n{listed}exists ({joined})\n"


@settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs_of_equal_threads(), st.sampled_from(["ptx-6.0", "ptx-7.5", "ptx-9.0"]), st.booleans())
def test_equal_threads_have_the_same_outcomes_either_way(text: str, model: str, all_registers: bool) -> None:
    _, broken, plain = both_ways(read(text), model, all_registers=all_registers)
    assert broken == plain


def _looping(steps: Sequence[str], wait: str, behind: Sequence[str]) -> str:
    """A body that waits in the middle."""
    waits = {
        "flag": "W: ld.acquire.gpu.u32 %r9, [f]; setp.eq.u32 p, %r9, 0; @p bra W;",
        "exchange": "W: atom.acquire.gpu.exch.b32 %r9, [f], 1; setp.ne.u32 p, %r9, 0; @p bra W;",
        "cas": "W: atom.relaxed.gpu.cas.b32 %r9, [f], 0, 1; setp.ne.u32 p, %r9, 0; @p bra W;",
        "ticket": "atom.relaxed.gpu.add.u32 %r8, [t], 1; W: ld.acquire.gpu.u32 %r9, [f]; setp.ne.u32 p, %r9, %r8; @p bra W;",
        "rounds": "W: atom.relaxed.gpu.add.u32 %r9, [f], 1; setp.eq.u32 p, %r9, 1; @p bra W;",
        "barrier": "barrier.sync 0;",
    }
    return "{ .reg .pred p; mov.u32 %r0, 0; " + " ".join([*steps, waits[wait], *behind]) + " }"


OPENS = (
    "st.release.gpu.u32 [f], 0;",
    "st.relaxed.gpu.u32 [f], 1;",
    "red.release.gpu.add.u32 [f], 1;",
    "st.weak.u32 [y], 1;",
)


@st.composite
def programs_that_wait(draw: st.DrawFn) -> str:
    """Two or three equal threads that wait, for each other or for another one."""
    count = draw(st.integers(2, 3))
    some = st.lists(st.sampled_from(STEPS), max_size=1)
    before = [s.format(i=1) for s in draw(some)]
    behind = [draw(st.sampled_from(OPENS)), *[s.format(i=2) for s in draw(some)]]
    wait = draw(st.sampled_from(["flag", "exchange", "cas", "ticket", "rounds", "barrier"]))
    place = draw(st.sampled_from(["cta {}", "cta 0"]))
    threads = [f"P{t}@{place.format(t)} {_looping(before, wait, behind)}" for t in range(count)]
    if draw(st.booleans()):
        threads.append(f"P{count}@cta 9 {{ {draw(st.sampled_from(OPENS))} }}")
    return "PTX wait\n{ x=0; y=0; f=0; t=0; }\n" + "\n".join(threads) + "\nexists (y = 1)\n"


@pytest.mark.long
@pytest.mark.parametrize("examples", lengths(15, 60))
def test_waiting_threads_have_the_same_answers_either_way(examples: int) -> None:
    """Whether all of them end, deadlocks, races and what is undefined, also in executions that do not end."""
    classes = 0

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs_that_wait())
    def compare(text: str) -> None:
        nonlocal classes
        count, broken, plain = both_ways(read(text), checks=["terminates", "no_deadlock", "race_free"], unroll=2)
        classes += count
        assert broken == plain

    compare()
    assert classes > examples


@pytest.mark.long
def test_a_lock_of_threads_that_may_stop_has_a_class_to_break() -> None:
    body = _looping((), "exchange", ["st.weak.u32 [x], 1;", OPENS[0]])
    text = "PTX lock\n{ x=0; f=0; }\n" + "\n".join(f"P{t}@cta {t} {body}" for t in range(3)) + "\nforall (x = 1)\n"
    count, broken, plain = both_ways(read(text), checks=["terminates"])
    assert broken == plain
    assert count > both_ways(read(text))[0]


#: What the threads of a warp do together, for whoever drew a ticket before.
LANES = {
    "one mask": "@{p} bra E; bar.warp.sync {mask}; E: mov.u32 %r1, 1;",
    "mask": "bar.warp.sync {mask}; st.relaxed.gpu.u32 [y], %r0;",
    "vote": "vote.sync.any.pred q, {p}, {mask}; selp.u32 %r1, 1, 0, q;",
    "ballot": "vote.sync.ballot.b32 %r1, {p}, {mask};",
    "shuffle": "shfl.sync.bfly.b32 %r1, %r0, 1, 31, {mask};",
    "some vote": "@{p} bra E; vote.sync.any.pred q, 1, {mask}; selp.u32 %r1, 1, 0, q; E: st.relaxed.gpu.u32 [y], 1;",
    "elect": "elect.sync _|q, {mask}; selp.u32 %r1, 1, 0, q;",
}


def _warps(kind: str, negated: str, mask: int, first: str = "atom.relaxed.gpu.add.u32 %r0, [x], 1;") -> str:
    step = LANES[kind].format(p=f"{negated}p" if "@" in LANES[kind] else "p", mask=mask)
    body = f"{{ .reg .pred p; .reg .pred q; {first} setp.ne.u32 p, %r0, 0; {step} }}"
    return f"PTX lanes\n{{ x = 0; y = 0; }}\nP0@warp 0,cta 0 {body}\nP1@warp 0,cta 0 {body}\n"


@pytest.mark.part(5)
@pytest.mark.parametrize("kind", LANES)
def test_lanes_that_a_warp_tells_apart_are_not_exchanged(kind: str) -> None:
    """A ticket that says who comes to a member mask that names one lane only: whoever it is, and not the first one always."""
    compared = 0
    for negated in ("", "!"):
        for mask in (1, 2, 3):
            for question in ("forall (x = 2)\n", "exists (y = 1 /\\ x = 2)\n", "forall (0:r0 != 1:r0)\n"):
                for checks in ((), ("terminates", "no_deadlock")):
                    test = read(_warps(kind, negated, mask) + question)
                    _, broken, plain = both_ways(test, checks=list(checks))
                    assert broken == plain, (negated, mask, question, checks)
                    compared += 1
    assert compared == 36


def test_misuse_by_one_lane_only_is_found_whoever_draws_the_ticket() -> None:
    for negated in ("", "!"):
        test = read(_warps("one mask", negated, 1) + "forall (x = 2)\n")
        assert ptxmm.check(test).verdict == ptxmm.check(test, engine="enumerate").verdict == "undefined"


def test_lanes_that_meet_all_together_can_be_exchanged() -> None:
    assert both_ways(read(_warps("mask", "", 3) + "forall (x = 2)\n"))[0] == 1
