"""What is known of a value that was computed from unknown ones holds whatever these are."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ptxcore.machine.run.uninitialised import known_bits
from ptxcore.values import terms
from ptxcore.values.terms import Value, evaluate, symbol

WIDTH = 8
SYMBOLS = [symbol(("unknown", i), WIDTH) for i in range(3)]


def drawn(chance: random.Random, depth: int) -> Value:
    if depth == 0:
        return chance.choice([*SYMBOLS, chance.getrandbits(WIDTH), 0, 255, 1])
    a, b, c = (drawn(chance, depth - 1) for _ in range(3))
    bit = terms.extract(c, 0, 0)
    low = chance.randint(1, WIDTH - 1)
    choices: list[Callable[[], Value]] = [
        *(lambda f=f: f(a, b, WIDTH) for f in (terms.bit_and, terms.bit_or, terms.bit_xor, terms.add, terms.sub)),
        *(lambda f=f: f(a, chance.randint(0, 9), WIDTH) for f in (terms.shl, terms.lshr, terms.ashr, terms.mul)),
        lambda: terms.shl(a, b, WIDTH),
        lambda: terms.ite(bit, a, b, WIDTH),
        lambda: terms.ite(terms.disj(bit, terms.eq(a, b)), a, b, WIDTH),
        lambda: terms.ite(terms.conj(bit, terms.negate(terms.ult(a, b, WIDTH))), b, c, WIDTH),
        lambda: terms.zext(terms.extract(a, WIDTH - 1, low), WIDTH),
        lambda: terms.sext(terms.extract(a, low - 1, 0), low, WIDTH),
        lambda: terms.concat(terms.extract(a, WIDTH - low - 1, 0), terms.extract(b, low - 1, 0), WIDTH - low, low),
    ]
    return chance.choice(choices)()


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(20))
def test_known_bits_are_the_same_for_every_value_of_the_others(seed: int) -> None:
    chance = random.Random(seed)
    partly = 0
    for _ in range(150):
        value = drawn(chance, chance.randint(1, 3))
        number, unknown = known_bits(value)
        partly += 0 < unknown < 255
        for _ in range(10):
            got = evaluate(value, {s: chance.getrandbits(WIDTH) for s in SYMBOLS})
            assert got & ~unknown == number & ~unknown, f"{value}: {got:#x} is not {number:#x} but for {unknown:#x}"
    assert partly > 10
