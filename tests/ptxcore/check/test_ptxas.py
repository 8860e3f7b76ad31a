"""The oracle says what was recorded of ptxas, whatever stands beside a statement."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path

import ptxas
import pytest

PROBES = Path(__file__).parents[4] / "shared" / "spec" / "ptxas_forms.jsonl"
NEWEST = "sm_120"

pytestmark = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")


def probes() -> list[dict]:
    if not PROBES.exists():
        pytest.skip("the recorded probes are not here")
    with PROBES.open() as lines:
        return [probe for probe in map(json.loads, lines) if "line" in probe]


def target_of(probe: dict) -> str:
    """The target at which the probe's verdict was recorded."""
    if probe["accepted"]:
        return (probe.get("only_targets") or probe.get("base_targets") or [NEWEST])[0]
    at = re.search(r"\[at (\w+)\]", probe["error"])
    return at[1] if at else NEWEST


def disagreements(chosen: list[dict]) -> list[tuple[str, bool, str | None]]:
    by_target = defaultdict(list)
    for probe in chosen:
        by_target[target_of(probe)].append(probe)
    return [
        (probe["line"], probe["accepted"], said)
        for target, asked in by_target.items()
        # code generation has its say in the record: 32-bit addresses, and a crash on vectors of eight small elements
        for probe, said in zip(
            asked, ptxas.accepts([probe["line"] for probe in asked], target=target, whole=True), strict=True
        )
        if (said is None) != probe["accepted"]
    ]


def test_a_sample_of_the_recorded_verdicts_comes_out_again():
    assert disagreements(random.Random(3).sample(probes(), 400)) == []


@pytest.mark.campaign
def test_all_recorded_verdicts_come_out_again():
    assert disagreements(probes()) == []


def test_bad_neighbours_change_no_verdict():
    good, wrong = "add.u32 r0,r1,r2;", "add.u33 r0,r1,r2;"
    unreadable = "add.u32 r0,,r2;"
    unfinished = "add.u32 r0,r1,r2"
    unbalanced = "{ add.u32 r0,r1,r2;"
    deadly = "sured.b.xor.1d.u32.trap [U,{r1}],r0;"
    statements = [good, wrong, unreadable, good, deadly, unfinished, good, unbalanced, good, "bra L; L:", "bra L; L:"]
    verdicts = ptxas.accepts(statements, target=NEWEST)
    assert [said is None for said in verdicts] == [
        True, False, False, True, False, False, True, False, True, True, True,
    ]  # fmt: skip
    assert verdicts[1] == "Unknown modifier '.u33'"
    assert "syntax error" in str(verdicts[2])
    assert verdicts[4] == ptxas.CRASH


def test_groups_of_tensor_core_instructions_do_not_disturb_each_other():
    statements = [f"tcgen05.relinquish_alloc_permit.cta_group::{n}.sync.aligned;" for n in (1, 2, 1)]
    assert ptxas.accepts(statements, target="sm_100a") == [None, None, None]
    assert None not in ptxas.accepts(statements, target="sm_100")


def test_a_declaration_that_is_refused_speaks_for_its_users():
    verdicts = ptxas.accepts(["mov.b128 q0,q1;", "add.u32 r0,r1,r2;"], version="8.0", target="sm_70")
    assert verdicts[0] is not None
    assert verdicts[1] is None


def test_a_version_without_the_target_is_refused_at_once():
    assert set(ptxas.accepts(["ret;"] * 50, version="8.7", target="sm_100f")) == {
        "PTX .version 8.7 does not support .target sm_100f"
    }


def test_errors_of_a_module_come_with_their_lines():
    text = ".version 9.0\n.target sm_90\n.address_size 64\n.entry k () {\nadd.u32 a,b,c;\nret;\nL: }\n"
    lines = [line for line, _ in ptxas.check_module(text)]
    assert set(lines) == {5}
    assert ptxas.check_module(".version 9.0\n.target sm_90\n.entry k () { ret; }\n") == []


@pytest.mark.parametrize(
    ("target", "arch"),
    [("sm_60", "compute_75"), ("sm_90a", "compute_90a"), ("sm_100f", "compute_100f"), ("sm_75", "compute_75")],
)
def test_the_architecture_follows_the_target(target: str, arch: str):
    assert ptxas.architecture(target) == arch
