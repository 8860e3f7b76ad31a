"""What a run of all threads shows that is wrong is an execution to draw: who races or waits, and why."""

from __future__ import annotations

from typing import Any

import pytest

import ptxmm
from ptxmm.result import Result, Witness

#: Each thread of CTA 0 writes its element; one raises a flag for CTA 1, whose threads read them.
HANDS_OVER = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 flag)
{
  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [flag];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3;
  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %p1, %r2, 1; @%p1 bra R;
  st.global.u32 [%rd3], 1;
  BARRIER
  setp.ne.u32 %p2, %r1, 0; @%p2 ret;
  RAISE
  ret;
R: setp.ne.u32 %p2, %r1, 0; @%p2 bra B;
W: LOOK
  setp.eq.u32 %p2, %r3, 0; @%p2 bra W;
B: bar.sync 0;
  ld.global.u32 %r4, [%rd3];
  ret;
}
"""
MET = {"BARRIER": "bar.sync 0;", "RAISE": "st.release.gpu.u32 [%rd2], 1;", "LOOK": "ld.acquire.gpu.u32 %r3, [%rd2];"}


def checked(**changed: str) -> Result:
    text = HANDS_OVER
    for name, words in (MET | changed).items():
        text = text.replace(name, words)
    params: dict[str, Any] = {"x": {"type": "u32", "elements": 64}, "flag": {"type": "u32", "elements": 1}}
    return ptxmm.Kernel(text, grid=2, block=64, params=params, race_free=True, terminates=True).check()


def edges(witness: Witness) -> dict[str, set[tuple[str, str]]]:
    """The pairs of each relation, as how instructions begin."""
    name = {e.index: ".".join(e.text.split()[0].split(".")[:2]) for e in witness.events}
    return {relation: {(name[a], name[b]) for a, b in pairs} for relation, pairs in witness.relations.items()}


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (
            {"LOOK": "ld.relaxed.gpu.u32 %r3, [%rd2];"},
            {
                "why": {("st.release", "ld.relaxed")},
                "obs": {("st.release", "ld.relaxed")},
                "po": {("st.global", "st.release"), ("ld.relaxed", "ld.global")},
            },
        ),
        (
            {"RAISE": "atom.relaxed.gpu.exch.b32 %r3, [%rd2], 1;"},
            {
                "why": {("atom.relaxed", "ld.acquire")},
                "obs": {("atom.relaxed", "ld.acquire")},
                "po": {("st.global", "atom.relaxed"), ("atom.relaxed", "atom.relaxed"), ("ld.acquire", "ld.global")},
                "rmw": {("atom.relaxed", "atom.relaxed")},
            },
        ),
        ({"BARRIER": ""}, {"why": {("st.global", "st.release")}}),
    ],
    ids=["no acquire", "no release", "not met"],
)
def test_a_race_is_drawn_with_who_should_have_synchronized(
    changed: dict[str, str], wanted: dict[str, set[tuple[str, str]]]
) -> None:
    result = checked(**changed)
    (witness,), (race,) = result.race_witnesses, result.races
    found = edges(witness)
    assert result.runs == 1 and found.pop("race") == {("st.global", "ld.global")}
    assert found == wanted
    # The same two that the report names, in frames of the CTAs that their names have.
    names = dict(witness.execution.threads)
    assert {event.thread for event in race.events} <= names.keys()
    assert all(name.startswith(f"CTA {place.cta} ") for name, place in names.items())
    assert "x, bytes" in witness.svg() and "nothing orders the two" in witness.text()
    with pytest.raises(ValueError, match="part of a run of all threads"):
        witness.evaluate("rf")


def test_nothing_is_drawn_where_nothing_is_wrong() -> None:
    result = checked()
    assert result.verdict == "ok" and result.runs == 1 and not result.race_witnesses


def test_a_deadlock_is_drawn_with_one_of_those_who_wait_at_each_place() -> None:
    result = checked(BARRIER="bar.sync 1, 128;", RAISE="bar.sync 2, 96;")
    (witness,) = [check.witness for check in result.checks if check.witness is not None]
    assert [stay.text for stay in witness.stays] == ["bar.sync 1, 128", "ld.acquire.gpu.u32 %r3, [%rd2]", "bar.sync 0"]
    assert "deadlock, as one run of all threads shows it" in witness.svg()
