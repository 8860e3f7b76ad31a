"""What exploring a thread yields for barrier objects: one effect for each step of an object, what must hold, how waits end."""

from __future__ import annotations

from typing import Any

import pytest
from exploring import M, effects, explored, returned

from ptxcore.isa import mbarrier
from ptxcore.isa.mbarrier import Contents, contents, packed
from ptxcore.values.terms import Value, conj, evaluate, ne

FRESH = packed(Contents(2, 2, 0, 0, 1))
assert isinstance(FRESH, int)
HERE = {"kind": "mbarrier", "space": "shared", "width": 64, "address": M}
SINK = {"returns": False}
RELEASES = {**HERE, "semantics": "release", "scope": "cta"}


@pytest.mark.parametrize(
    ("text", "expected", "after"),
    [
        ("mbarrier.init.shared.b64 [m], 2;", {**HERE, "operation": "init"}, Contents(2, 2, 0, 0, 1)),
        ("mbarrier.inval.shared.b64 [m];", {**HERE, "operation": "inval"}, Contents(0, 0, 0, 0, 0)),
        ("mbarrier.arrive.shared.b64 %d, [m];", {**RELEASES, "operation": "arrive"}, Contents(1, 2, 0, 0, 1)),
        ("mbarrier.arrive.shared.b64 _, [m], 2;", {**RELEASES, **SINK, "operation": "arrive"}, Contents(2, 2, 0, 1, 1)),
        ("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [m];",
         {**HERE, **SINK, "space": "shared::cluster", "semantics": "relaxed", "scope": "cluster", "operation": "arrive"},
         Contents(1, 2, 0, 0, 1)),
        ("mbarrier.arrive_drop.shared.b64 %d, [m];", {**RELEASES, "operation": "arrive_drop"}, Contents(1, 1, 0, 0, 1)),
        ("mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 16;",
         {**HERE, "semantics": "relaxed", "scope": "cta", "operation": "expect_tx"}, Contents(2, 2, 16, 0, 1)),
        ("mbarrier.complete_tx.shared.b64 [m], 16;",
         {**HERE, "semantics": "relaxed", "scope": "cta", "operation": "complete_tx"}, Contents(2, 2, (1 << 21) - 16, 0, 1)),
        # Both steps are one.
        ("mbarrier.arrive.expect_tx.shared.b64 %d, [m], 16;", {**RELEASES, "operation": "arrive"}, Contents(1, 2, 16, 0, 1)),
    ],
)  # fmt: skip
def test_a_step_of_an_object(text: str, expected: dict[str, Any], after: Contents) -> None:
    done = explored(text)
    assert effects(text) == [expected]
    value = done.effects[0].value
    assert value is not None
    assert contents(evaluate(value, {returned(done, 0): FRESH})) == after
    assert done.finishes == 1


def test_the_state_that_an_arrival_returns_is_the_one_before() -> None:
    done = explored("mbarrier.arrive.shared.b64 %d, [m]; mbarrier.pending_count.b64 %c, %d;")
    assert done.registers["d"].value is returned(done, 0)
    assert evaluate(done.registers["c"].value, {returned(done, 0): FRESH}) == 2


def test_what_must_hold_is_said_under_the_guard_of_the_instruction() -> None:
    text = "ld.u32 %r, [x]; setp.ne.u32 %p, %r, 0; @%p mbarrier.arrive.noComplete.shared.b64 _, [m], 2;"
    done = explored(text)
    words = [r.message for r in done.requirements]
    assert words == [
        "no valid mbarrier object is at this address",
        "more arrivals than the mbarrier object waits for",
        "an arrival with .noComplete completes the phase",
    ]
    loaded, before = returned(done, 0), returned(done, 1)

    def broken(state: Value) -> list[str]:
        known = {loaded: 1, before: state}
        return [r.message for r in done.requirements if not evaluate(r.condition, known)]  # type: ignore[arg-type]

    assert all(r.guard is ne(loaded, 0) and r.kind == "bad-mbarrier" for r in done.requirements)
    assert broken(FRESH) == words[2:]
    assert broken(packed(Contents(3, 3, 0, 0, 1))) == []
    assert broken(packed(Contents(1, 2, 0, 0, 0)))[:2] == words[:2]


@pytest.mark.parametrize(
    ("wait", "semantics", "scope"),
    [
        ("mbarrier.test_wait.shared.b64 %p, [m], %s", "acquire", "cta"),
        ("mbarrier.test_wait.relaxed.cluster.shared.b64 %p, [m], %s", "relaxed", "cluster"),
    ],
)
def test_a_wait_says_whether_the_phase_is_over(wait: str, semantics: str, scope: str) -> None:
    done = explored(f"{wait};", {"s": FRESH})
    (effect,) = done.effects
    assert (effect.operation, effect.value, effect.semantics, effect.scope) == ("wait", None, semantics, scope)
    assert done.registers["p"].value is effect.complete
    for phase in (0, 1):
        assert evaluate(effect.complete, {returned(done, 0): packed(Contents(2, 2, 0, phase, 1))}) == phase


def test_try_wait_may_say_no_although_the_phase_is_over() -> None:
    done = explored("mbarrier.try_wait.parity.shared.b64 %p, [m], 0, 20;")
    wait, input_ = done.effects
    assert (input_.kind, input_.operation, input_.width) == ("input", "try_wait", 1)
    over = ne(mbarrier.contents(returned(done, 0)).phase, 0)  # only its parity matters
    known = {returned(done, 0): packed(Contents(2, 2, 0, 1, 1)), returned(done, 1): 0}
    assert evaluate(over, known) == 1  # type: ignore[arg-type]
    assert evaluate(input_.guard, known) == 1  # type: ignore[arg-type]
    assert evaluate(wait.complete, known) == 0  # type: ignore[arg-type]
    assert evaluate(wait.complete, {**known, returned(done, 1): 1}) == 1  # type: ignore[arg-type]
    assert wait.complete is conj(input_.guard, returned(done, 1))


WAITING = "W: mbarrier.{}.shared.b64 %p, [m], {}; @!%p bra W; ld.shared.u32 %r, [s];"


@pytest.mark.parametrize("wait", ["test_wait", "try_wait"])
@pytest.mark.parametrize("parity", [False, True])
def test_a_loop_that_waits_is_its_last_turn(wait: str, parity: bool) -> None:
    text = WAITING.format(f"{wait}.parity" if parity else wait, "0" if parity else "%s")
    once, often = (explored(text, {"s": FRESH}, unroll=unroll) for unroll in (1, 5))
    assert once.cut == often.cut == 0
    assert [e.kind for e in once.effects] == [e.kind for e in often.effects]
    assert once.effects[-1].guard is once.effects[0].complete is once.finishes


def test_a_loop_that_arrives_is_bounded() -> None:
    text = "W: mbarrier.arrive.shared.b64 %s, [m]; mbarrier.test_wait.shared.b64 %p, [m], %s; @!%p bra W;"
    done = explored(text, unroll=3)
    assert [e.operation for e in done.effects] == ["arrive", "wait"] * 3
    assert done.cut != 0


def test_an_arrival_on_behalf_of_copies_counts_one_more_before() -> None:
    increment, issue, arrive = effects("cp.async.mbarrier.arrive.shared.b64 [m];")
    assert increment == {**HERE, "operation": "increment", "semantics": "relaxed", "scope": "cta"}
    assert issue == {"kind": "issue", "mechanism": "copies"}
    assert arrive == {**RELEASES, "operation": "arrive", "agent": 1}
    assert [e["kind"] for e in effects("cp.async.mbarrier.arrive.noinc.shared.b64 [m];")] == ["issue", "mbarrier"]
