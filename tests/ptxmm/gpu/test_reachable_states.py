"""Every state that sequential consistency reaches, and the model allows, is seen in simulation: over the whole library."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import some
from sc_within import SC

import ptxmm
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxmm.gpu.module import checked, module
from ptxmm.gpu.parameters import SIMULATED
from ptxmm.gpu.running import Until, observe
from ptxmm.gpu.simulator import Simulator

LIBRARY = sorted((Path(__file__).resolve().parents[3] / "litmus" / "library").rglob("*.litmus"))
#: Launches of a test, at most: nearly all states are seen in fewer, and those of the tests below in more.
LAUNCHES, MANY = 150, 6000
RARE = (
    "CoRR2+rlx", "CoRR2+weak-stores", "coherence+strong-agree", "coherence+weak-disagree", "seqlock+fences",
    "seqlock+no-reader-fence",
)  # fmt: skip
#: What is not seen, and why.
UNSEEN = {
    "discard+any-value": "what is read is any value; our machine leaves what was there",
    "vector-atomic+elements": "the elements of a vector are atomic one by one; our machine does all of them at once",
    "shuffle+no-order": "who shuffles waits for the others, which no relation of the model says: turns cannot show the state",
}


def reached(path: Path, folder: Path) -> tuple[Test, set[tuple[int, ...]]] | None:
    """A test, and its states under sequential consistency; None where there is no such list."""
    (folder / "sc.cat").write_text(SC)
    test = ptxmm.load(path)
    assert isinstance(test, Test)
    result = ptxmm.check(test, str(folder / "sc.cat"), witnesses=False)
    assert result.verdict != "error", (path, result.error)
    if not result.listed_all or result.stopped or result.verdict == "undecided":
        return None
    return test, {tuple(state.values()) for state in result.states}


def seen(test: Test, wanted: set[tuple[int, ...]], launches: int) -> set[tuple[int, ...]]:
    """The states that launches show, until there are those that are wanted."""
    made = checked(module(test, "sm_100a"))
    found, _, _ = observe(made, Simulator(made), SIMULATED, Until(launches, enough=lambda s: wanted <= set(s.states)))
    return set(found.states)


@pytest.mark.long
@pytest.mark.compares(0.7)
@pytest.mark.parametrize("part", some(16, range(16)))
def test_every_state_of_sequential_consistency_is_seen(part: int, tmp_path: Path) -> None:
    for path in LIBRARY[part::16]:
        found = reached(path, tmp_path)
        if found is None:
            pass_over("its states are not listed")
            continue
        test, wanted = found
        try:
            states = seen(test, wanted, LAUNCHES)
        except InputError:
            pass_over("cannot be placed")
            continue
        assert compared(states) <= wanted, path.stem
        if path.stem in UNSEEN:
            assert states < wanted, path.stem
        elif path.stem not in RARE:
            assert states == wanted, path.stem


@pytest.mark.campaign
@pytest.mark.parametrize("name", RARE)
def test_states_that_are_rare_are_seen_in_many_launches(name: str, tmp_path: Path) -> None:
    (path,) = [path for path in LIBRARY if path.stem == name]
    found = reached(path, tmp_path)
    assert found is not None
    test, wanted = found
    assert seen(test, wanted, MANY) == wanted
