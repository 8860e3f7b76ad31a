"""A sum whose fence is missing (`examples/repair/last_block.cu`) has no data race, and is wrong all the same: why, in small and
in the example itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ptxmm

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "repair" / "last_block.cu"
#: Both count, and the last one takes the count back: what it saw stands before that in causality order (section 8.9.5: by
#: observation order, and by its own program order), though nothing synchronizes.
RESET = """PTX reset
{{ count = 0; }}
P0@cta 0,gpu 0 {{
    atom.{order}.gpu.inc.u32 %r0, [count], 2;
}}
P1@cta 1,gpu 0 {{
    .reg .pred p;
    atom.{order}.gpu.inc.u32 %r0, [count], 2;
    setp.ne.u32 p, %r0, {number};
    @p bra end;
    st.weak.u32 [count], 0;
  end:
}}
exists true
"""


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("order", ["relaxed", "acq_rel"])
def test_a_count_that_is_reset_behind_what_was_seen_races_with_nothing(engine: str, order: str) -> None:
    # Who comes first saw nothing, and races with the one who comes later.
    for number, kinds in ((1, set()), (0, {"data"})):
        test = ptxmm.parse(RESET.format(order=order, number=number))
        result = ptxmm.check(test, races=True, engine=engine)
        assert {race.kind for race in result.races} == kinds and result.verdict == ("no" if kinds else "ok")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("block", [1, 2])
def test_the_example_is_wrong_in_its_values_alone(block: int) -> None:
    launch = {"grid": 2, "block": block, "args": {"array": {"type": "u32", "init": [3, 4]}, "result": "u32[3]"}}
    properties = ("race_free", "terminates", "no_trap")
    assert ptxmm.check(str(SOURCE), **launch, checks=properties).verdict == "ok"
    result = ptxmm.check(str(SOURCE), **launch, forall="result[2] == 7")
    assert result.verdict == "no" and {state["result[2]"] for state in result.states} == {3, 4, 7}
