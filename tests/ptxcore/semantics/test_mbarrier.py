"""Barrier objects against a model that keeps their counts as the manual tells them (section 9.7.13.15)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import driver
import pytest
from recorder import Broken, Recorder

from ptxcore.isa import mbarrier
from ptxcore.isa.form import Use
from ptxcore.isa.mbarrier import LARGEST, Contents, contents, packed
from ptxcore.values.terms import evaluate, symbol

ADDRESS = 8


def use_of(instruction: str, operands: int) -> Use:
    opcode, *modifiers = instruction.split(".")
    found = driver.candidates(opcode, tuple(modifiers))
    assert isinstance(found, tuple), instruction
    for use in found:
        sources = [p for p in use.parameters if p.role != "destination"]
        if len([p for p in sources if not p.optional]) <= operands <= len(sources):
            return use
    raise AssertionError(f"{instruction} takes other than {operands} operands")


class Object:
    """A barrier object of a thread that does one thing after the other."""

    def __init__(self, count: int | None = None) -> None:
        self.thread = Recorder()
        if count is not None:
            self("init", count)

    def __call__(self, what: str, *sources: int) -> Any:
        name = f"mbarrier.{what}.shared.b64" if what != "pending_count" else f"mbarrier.{what}.b64"
        use = use_of(name, 1 + len(sources))
        return use.form.meaning(use, self.thread, ADDRESS, *sources)

    @property
    def state(self) -> Any:
        return self.thread.memory[ADDRESS]

    @property
    def counts(self) -> tuple[Any, ...]:
        """Pending and expected arrivals, the tx-count, the phase."""
        now = contents(self.state)
        assert now.valid == 1
        transactions = now.transactions - (1 << 21) if now.transactions >> 20 else now.transactions
        return now.pending, now.expected, transactions, now.phase


class Model:
    """The same, by the words of sections 9.7.13.15.5 to 9.7.13.15.7."""

    def __init__(self, count: int) -> None:
        self.pending = self.expected = count
        self.transactions = self.phase = 0

    def complete(self) -> None:
        if self.pending == 0 and self.transactions == 0:
            self.phase += 1
            self.pending = self.expected

    def expect_tx(self, count: int) -> None:
        self.transactions += count

    def complete_tx(self, count: int) -> None:
        self.transactions -= count
        self.complete()

    def arrive(self, count: int = 1) -> None:
        self.pending -= count
        self.complete()

    def arrive_drop(self, count: int = 1) -> None:
        self.expected -= count
        self.arrive(count)

    @property
    def counts(self) -> tuple[int, ...]:
        return self.pending, self.expected, self.transactions, self.phase % 4


OPERATIONS = (
    "arrive", "arrive", "arrive", "arrive.expect_tx", "arrive_drop", "arrive_drop.expect_tx", "expect_tx", "complete_tx",
    "complete_tx", "complete_tx",
)  # fmt: skip


def allowed(model: Model, what: str, number: int) -> bool:
    if "tx" in what and abs(model.transactions) + number > LARGEST:
        return False
    arrivals = 1 if "tx" in what else number
    if what.startswith("arrive") and not 0 < arrivals <= model.pending:
        return False
    return not what.startswith("arrive_drop") or arrivals < model.expected


def step(model: Model, what: str, number: int) -> None:
    name, _, expecting = what.partition(".")
    if expecting:
        model.expect_tx(number)
        number = 1
    getattr(model, name)(number)


def test_random_histories_equal_the_model() -> None:
    chance = random.Random("histories")
    pending_count = use_of("mbarrier.pending_count.b64", 1)
    phases = 0
    for _ in range(500):
        count = chance.choice((1, 2, 3, 5, 40, LARGEST))
        real, model = Object(count), Model(count)
        tokens: list[tuple[int, int]] = []
        for _ in range(chance.randint(1, 60)):
            what = chance.choice(OPERATIONS)
            number = chance.choice((1, 2, 16, chance.randint(1, 1000), model.pending, abs(model.transactions)))
            if not allowed(model, what, number):
                continue
            phase, pending = model.phase, model.pending
            token = real(what, number)
            step(model, what, number)
            assert real.counts == model.counts
            if what.startswith("arrive"):
                tokens.append((token, phase))
                assert pending_count.form.meaning(pending_count, token) == pending
            for parity in (0, 1):
                assert real("test_wait.parity", parity) == int(model.phase % 2 != parity)
            for token, phase in tokens:
                if model.phase - phase < 2:
                    assert real("test_wait", token) == int(model.phase != phase)
        phases += model.phase
    assert phases > 200  # or the test sees too few phases end


def test_a_phase_waits_for_arrivals_and_transactions() -> None:
    real = Object(2)
    first = real("arrive.expect_tx", 64)
    assert real.counts == (1, 2, 64, 0)
    assert real("test_wait", first) == 0 == real("test_wait.parity", 0)
    real("arrive")
    assert real.counts == (0, 2, 64, 0)
    real("complete_tx", 32)
    assert real("try_wait", first) == 0
    real("complete_tx", 32)
    assert real.counts == (2, 2, 0, 1)
    assert real("try_wait", first) == 1 == real("try_wait.parity", 0)
    assert real("try_wait.parity", 1, 1000) == 0
    assert [asked for asked in real.thread.asked if asked[0] == "pause"] == [("pause", r) for r in (0, 1, 1, 0)]


def test_transactions_may_complete_before_they_are_expected() -> None:
    real = Object(1)
    real("complete_tx", 16)
    assert real.counts == (1, 1, -16, 0)
    real("arrive.expect_tx", 16)
    assert real.counts == (1, 1, 0, 1)


def test_who_drops_out_is_not_expected_again() -> None:
    real = Object(3)
    real("arrive_drop")
    real("arrive_drop.expect_tx", 8)
    assert real.counts == (1, 1, 8, 0)
    real("complete_tx", 8)
    assert real.counts == (1, 1, 0, 0)
    real("arrive")
    assert real.counts == (1, 1, 0, 1)


def test_copies_arrive_when_they_are_complete() -> None:
    for noinc, pending in (("", 3), ("noinc.", 2)):
        real = Object(2)
        use = use_of(f"cp.async.mbarrier.arrive.{noinc}shared.b64", 1)
        use.form.meaning(use, real.thread, ADDRESS)
        assert real.counts == (pending, 2, 0, 0)
        (arrived,) = real.thread.copies
        arrived()
        assert real.counts == (pending - 1, 2, 0, 0)


def test_an_operation_that_completes_signals_the_object() -> None:
    real = Object(1)
    real("arrive.expect_tx", 24)
    mbarrier.signal(real.thread, ADDRESS, 24)  # type: ignore[arg-type]
    assert real.counts == (1, 1, 0, 1)
    assert real.thread.asked[-1] == ("complete_tx", 64, "release", "cluster")


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([("init", 0)], "a count of arrivals goes from 1"),
        ([("init", 1 << 20)], "a count of arrivals goes from 1"),
        ([("init", 1), ("inval",), ("arrive",)], "no valid mbarrier object"),
        ([("init", 1), ("inval",), ("inval",)], "no valid mbarrier object"),
        ([("init", 1), ("inval",), ("test_wait.parity", 0)], "no valid mbarrier object"),
        ([("init", 2), ("arrive", 3)], "more arrivals"),
        ([("init", 2), ("arrive", 0)], "a count of arrivals goes from 1"),
        ([("init", 1), ("arrive.expect_tx", 4), ("arrive",)], "more arrivals"),
        ([("init", 1), ("arrive.expect_tx", 4), ("arrive.expect_tx", 4)], "more arrivals"),
        ([("init", 1), ("arrive.noComplete", 1)], "an arrival with .noComplete completes the phase"),
        ([("init", 1), ("expect_tx", LARGEST), ("expect_tx", 1)], "the tx-count"),
        ([("init", 1), ("complete_tx", 1 << 31)], "the tx-count"),
        ([("init", 1), ("test_wait", 1)], "the state is not of the current phase"),
        ([("init", 1), ("try_wait.parity", 2)], "a parity is 0 or 1"),
    ],
)  # fmt: skip
def test_what_must_not_be(history: list[tuple[Any, ...]], message: str) -> None:
    real = Object()
    for what, *sources in history[:-1]:
        real(what, *sources)
    with pytest.raises(Broken, match=f"bad-mbarrier: {message}"):
        real(history[-1][0], *history[-1][1:])


def test_a_state_of_two_phases_ago_says_nothing() -> None:
    real = Object(1)
    old = real("arrive")
    real("arrive")
    with pytest.raises(Broken, match="nor of the one before"):
        real("test_wait", old)


def test_limits_are_allowed() -> None:
    real = Object(LARGEST)
    real("expect_tx", LARGEST)
    real("arrive.noComplete", LARGEST - 1)
    assert real.counts == (1, LARGEST, LARGEST, 0)
    real("arrive")
    real("complete_tx", LARGEST)
    assert real.counts == (LARGEST, LARGEST, 0, 1)


STEPS: list[tuple[Callable[..., Any], int]] = [
    (mbarrier.after_expect_tx, 1),
    (mbarrier.after_complete_tx, 1),
    (mbarrier.after_arrival, 1),
    (lambda state, count: mbarrier.after_arrival(state, count, dropped=True), 1),
    (mbarrier.initial, 0),
]


@pytest.mark.parametrize(("step", "states"), STEPS)
def test_steps_on_symbols_equal_those_on_numbers(step: Callable[..., Any], states: int) -> None:
    chance = random.Random("steps")
    inputs = [symbol("state", 64), symbol("count", 32)][1 - states :]
    result = step(*inputs)
    for _ in range(1000):
        small = chance.randint(0, 3)
        state = packed(Contents(small, chance.randint(0, 3), chance.choice((0, small)), chance.randint(0, 3), 1))
        count = chance.choice((small, chance.randint(0, 3), chance.getrandbits(32)))
        numbers = [state, count][1 - states :]
        assert evaluate(result, dict(zip(inputs, numbers, strict=True))) == step(*numbers)


def test_the_instructions_order_memory_as_they_say() -> None:
    real = Object(9)
    for text, sources, sem, scope in (
        ("mbarrier.arrive.shared.b64", (), "release", "cta"),
        ("mbarrier.arrive.relaxed.cluster.shared.b64", (), "relaxed", "cluster"),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64", (), "release", "cluster"),
        ("mbarrier.expect_tx.shared.b64", (1,), "relaxed", "cta"),
        ("mbarrier.test_wait.parity.shared.b64", (0,), "acquire", "cta"),
        ("mbarrier.test_wait.parity.relaxed.cluster.shared.b64", (0,), "relaxed", "cluster"),
    ):
        use = use_of(text, 1 + len(sources))
        use.form.meaning(use, real.thread, ADDRESS, *sources)
        assert real.thread.asked[-1][1:] == (64, sem, scope)
