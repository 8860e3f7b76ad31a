"""Our verdicts on single statements are ptxas's: on those that were recorded, and on those made from the declarations."""

from __future__ import annotations

import random
from collections.abc import Sequence

import differential
import generate
import ptxas
import pytest
from campaigns import SHARE, lengths, share

#: How often both must agree (docs list the classes in which they do not).
AGREEMENT = 0.995

needs_probes = pytest.mark.skipif(not differential.PROBES.exists(), reason="the recorded probes are not here")
needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")


def assert_agreement(answered: Sequence[differential.Difference]) -> None:
    apart = [a for a in answered if not differential.agrees(a)]
    assert answered
    assert len(apart) <= (1 - AGREEMENT) * len(answered), "\n".join(
        f"{a.question.line} @ {a.question.version} {a.question.target}: ptxas {a.question.said}; we {a.ours}"
        for a in apart[:20]
    )


@needs_probes
def test_a_sample_of_recorded_verdicts_is_ours():
    assert_agreement(
        differential.answer(random.Random(5).sample([q for q in differential.recorded() if not q.gate], 600))
    )


@needs_probes
def test_a_sample_of_recorded_gates_is_ours():
    assert_agreement(differential.answer(random.Random(6).sample([q for q in differential.recorded() if q.gate], 600)))


@needs_probes
@pytest.mark.campaign
def test_all_recorded_verdicts_and_gates_are_ours():
    assert_agreement(differential.answer(list(differential.recorded())[::SHARE]))


@needs_ptxas
@pytest.mark.parametrize("count", lengths(150, 600))
def test_ptxas_agrees_on_statements_made_from_the_declarations(count):
    assert_agreement(differential.compare(generate.statements(count, seed=1)))


@needs_ptxas
@pytest.mark.campaign
def test_ptxas_agrees_on_twenty_thousand_statements():
    assert_agreement(differential.compare(generate.statements(share(20000), seed=2)))


@needs_ptxas
@pytest.mark.campaign
def test_ptxas_agrees_on_every_kind_of_operand_in_every_place():
    assert_agreement(differential.compare(list(generate.sweep(seed=1))[::SHARE]))


def test_the_same_seed_makes_the_same_statements():
    assert generate.statements(300, 4) == generate.statements(300, 4)
    assert generate.statements(300, 4) != generate.statements(300, 5)


def test_most_statements_are_made_to_be_legal_and_every_kind_of_fault_occurs():
    made = generate.statements(3000, 1)
    faults = {statement.fault for statement in made}
    assert 0.3 < sum(not statement.fault for statement in made) / len(made) < 0.8
    assert faults >= set(generate.FAULTS)
