"""Every pin under every model that ships: the outcome is reachable exactly where the table says so."""

from __future__ import annotations

import pytest
from pins import MODELS, PINS, Pin

CASES = [(pin, model) for pin in PINS for model in MODELS if pin.verdict(model) != "n/a"]


@pytest.mark.parametrize(("pin", "model"), CASES, ids=[f"{pin.name}-{model}" for pin, model in CASES])
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_a_model_allows_what_its_pins_allow(pin: Pin, model: str, engine: str) -> None:
    import ptxmm

    result = ptxmm.check(ptxmm.parse(pin.litmus()), model=model, engine=engine)
    assert result.complete
    assert ("allow" if result.positive > 0 else "forbid") == pin.verdict(model), pin.litmus()


def test_pins_have_names_of_their_own() -> None:
    names = [pin.name for pin in PINS]
    assert len(set(names)) == len(names)
