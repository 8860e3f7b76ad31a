"""Every state that sequential consistency reaches, and the model allows, is seen in simulation: over the whole library, and
over generated tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import some
from harnessed import LIBRARY, generated, loaded, made, named
from sc_within import SC

import ptxmm
from litmus.test import Test
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.parameters import SIMULATED
from ptxmm.gpu.running import Until, observe
from ptxmm.gpu.simulator import Simulator

#: Launches of a test, at most: nearly all states are seen in fewer, and those of the tests below in more.
LAUNCHES, MANY = 150, 6000
#: Parts that are looked at of generated tests, which are 600: each second one.
PARTS = 40
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


def reached(test: Test, folder: Path) -> set[tuple[int, ...]] | None:
    """The states of a test under sequential consistency; None where there is no such list."""
    (folder / "sc.cat").write_text(SC)
    result = ptxmm.check(test, str(folder / "sc.cat"), witnesses=False)
    assert result.verdict != "error", (test.name, result.error)
    if not result.listed_all or result.stopped or result.verdict == "undecided":
        return None
    return {tuple(state.values()) for state in result.states}


def seen(of: GpuModule, wanted: set[tuple[int, ...]], launches: int) -> set[tuple[int, ...]]:
    """The states that launches show, until there are those that are wanted."""
    found, _, _ = observe(of, Simulator(of), SIMULATED, Until(launches, enough=lambda s: wanted <= set(s.states)))
    return set(found.states)


@pytest.mark.long
@pytest.mark.compares(0.7)
@pytest.mark.parametrize("part", some(16, range(16)))
def test_every_state_of_sequential_consistency_is_seen(part: int, tmp_path: Path) -> None:
    for path in LIBRARY[part::16]:
        test = loaded(path)
        wanted = reached(test, tmp_path)
        if wanted is None:
            pass_over("its states are not listed")
            continue
        of = made(test)
        if of is None:
            pass_over("cannot be placed")
            continue
        states = seen(of, wanted, LAUNCHES)
        assert compared(states) <= wanted, path.stem
        if path.stem in UNSEEN:
            assert states < wanted, path.stem
        elif path.stem not in RARE:
            assert states == wanted, path.stem


@pytest.mark.long
@pytest.mark.compares(0.9)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_state_of_sequential_consistency_is_seen_of_generated_tests(part: int, tmp_path: Path) -> None:
    for test in generated(part, 2 * PARTS):
        of, wanted = made(test), reached(test, tmp_path)
        if of is None or wanted is None:
            pass_over("cannot be placed" if of is None else "its states are not listed")
            continue
        assert compared(seen(of, wanted, MANY)) == wanted, test.name


@pytest.mark.campaign
@pytest.mark.parametrize("name", RARE)
def test_states_that_are_rare_are_seen_in_many_launches(name: str, tmp_path: Path) -> None:
    test = named(name)
    of, wanted = made(test), reached(test, tmp_path)
    assert of is not None and wanted is not None
    assert seen(of, wanted, MANY) == wanted
