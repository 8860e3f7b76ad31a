"""Every pin of a reading, with both engines: what was worked out by hand is what is decided."""

from __future__ import annotations

import pytest
from reading_pins import READING_PINS, ReadingPin

import ptxmm

#: Any of 2^32 values is more than brute force tries.
TOO_LARGE = "any number: beyond brute force"


@pytest.mark.part(9)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("pin", READING_PINS, ids=[pin.name for pin in READING_PINS])
def test_a_pin_of_a_reading(pin: ReadingPin, engine: str) -> None:
    result = ptxmm.check(ptxmm.parse(pin.litmus()), engine=engine, options=pin.options)
    if engine == "enumerate" and TOO_LARGE in str(result.error):
        pytest.skip("beyond brute force")
    assert result.verdict == pin.verdict, (pin.why, result.error, result.states)


def test_each_reading_has_pins() -> None:
    names = [pin.name for pin in READING_PINS]
    assert len(set(names)) == len(names)
    assert {name.partition("-")[0] for name in names} == {"A15", "A24", "A25", "A26", "A27"}
