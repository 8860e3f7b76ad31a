"""Compares what runs of all threads settle of thousands of generated kernels with what the formula, brute force and random
schedules say.

    python tests/support/whole_campaign.py --first 0 --kernels 1500 --log whole.jsonl        # of each generator
    python tests/support/whole_campaign.py --of relays --first 0 --kernels 20000 --log relays.jsonl

What runs leave open is counted and passed over, and so is what another way is not up to in its time. The log has a line for
each kernel: started again with the same log, the campaign goes on where it stopped; without one it only counts. It keeps to
`--memory`, where the system lets it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "axioms" / "dynamic"))

import generated_carried_rounds
import generated_clusters
import generated_copies
import generated_in_order
import generated_lookbacks
import generated_numbered
import generated_peeks
import generated_phases
import generated_relays
import generated_rounds
import generated_searches
import generated_sections
import generated_semaphores
import generated_sequential_fences
import generated_stages
import generated_swaps
import generated_ticket_rounds
import generated_tickets
import generated_told_claims
import generated_transfers
import generated_turns
import generated_vain_rounds
import generated_walks
import pytest
from by_runs import by_runs, in_order
from campaigns import as_a_script
from schedules import Runs

from ptxcore.clock import OutOfTime, limited
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.persistent import run_in_rounds
from ptxmm.kernels.runs import FinalValues
from ptxmm.kernels.searched import run_from_anywhere
from ptxmm.kernels.sectioned import run_with_sections
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.ticketed import run_with_tickets
from ptxmm.result import Result


def _stage(seed: int) -> KernelTest:
    return generated_stages.kernel(generated_stages.drawn(seed))


def _flags(seed: int) -> KernelTest:
    return generated_transfers.kernel(seed, flags=True)


def _counts(seed: int) -> KernelTest:
    return generated_transfers.kernel(seed, flags=seed % 4 == 0, counts=True)


#: By name what makes a kernel of a seed.
MADE: dict[str, Callable[[int], KernelTest]] = {
    "relays": generated_relays.kernel, "peeks": generated_peeks.kernel, "rounds": generated_rounds.kernel,
    "phases": generated_phases.kernel, "copies": generated_copies.kernel, "clusters": generated_clusters.kernel,
    "transfers": generated_transfers.kernel, "flags": _flags, "counts": _counts, "lookbacks": generated_lookbacks.kernel,
    "sections": generated_sections.section_kernel, "tickets": generated_tickets.ticket_kernel,
    "ticket rounds": generated_ticket_rounds.generated, "carried rounds": generated_carried_rounds.generated,
    "numbered": generated_numbered.kernel, "searches": generated_searches.search_kernel,
    "vain rounds": generated_vain_rounds.made, "stages": _stage, "sequential fences": generated_sequential_fences.kernel,
    "turns": generated_turns.turn_kernel, "swaps": generated_swaps.swap_kernel, "walks": generated_walks.walk_kernel,
    "semaphores": generated_semaphores.semaphore_kernel, "in order": generated_in_order.kernel,
    "told claims": generated_told_claims.told_kernel,
}  # fmt: skip
#: Seconds for all ways of searches.
_SEARCHING = 5.0
#: Final values of one run, and what may have others.
_Up = tuple[FinalValues, frozenset[str]]


def _up_to_sections(test: KernelTest) -> _Up | None:
    found = run_with_sections(Runs(test, watched=True))
    if found is None:
        return None
    state, _, differing = found
    return state, differing


def _up_to_tickets(test: KernelTest) -> _Up | None:
    found = run_with_tickets(Runs(test, watched=True))
    return None if found is None else (found.state, found.differing)


def _up_to_searches(test: KernelTest) -> _Up | None:
    with limited(_SEARCHING):
        found = run_from_anywhere(Runs(test, watched=True))
    return None if found is None else (found.state, found.differing)


def _up_to_rounds(test: KernelTest) -> _Up | None:
    found = run_in_rounds(Runs(test, watched=True))
    return None if found is None else (found.state, found.differing)


#: Ways that stand for all executions up to something. Of small kernels another way may be first, so these are asked by
#: themselves: what they take for right is right, with these values.
UP_TO: dict[str, Callable[[KernelTest], _Up | None]] = {
    "sections": _up_to_sections, "tickets": _up_to_tickets, "ticket rounds": _up_to_rounds,
    "carried rounds": _up_to_rounds, "searches": _up_to_searches, "turns": _up_to_tickets, "told claims": _up_to_searches,
    "swaps": _up_to_tickets, "walks": _up_to_tickets,
}  # fmt: skip
#: Too many threads for a formula: what every order of their steps shows is held against them.
_IN_ALL_ORDERS = frozenset(("stages",))
#: Iterations of loops: enough for a round in vain.
_ROUNDS = 2


@dataclass(slots=True)
class Compared:
    """What came of a kernel: the verdict of runs (`open` where they leave it), the ways that it was compared with, and where
    they differ. What another way did not decide is told with a reason."""

    seed: int
    verdict: str = "open"
    ways: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)


def compare(of: str, seed: int, *, seconds: float, schedules: int, brute: bool) -> Compared:
    """All comparisons for one kernel of a generator."""
    found, test = Compared(seed), MADE[of](seed)
    try:
        with limited(seconds):
            open_, settled = by_runs(test)
    except OutOfTime:
        return found
    if of in _IN_ALL_ORDERS:
        return _in_all_orders(found, settled if not open_ else None)
    alone = None if of not in UP_TO else UP_TO[of](test)
    if open_ and alone is None:
        return found
    found.verdict = f"up to {of}" if open_ else settled.verdict
    for way in ("formula", "brute force")[: 1 + brute]:
        expected = _otherwise(test, "solve" if way == "formula" else "enumerate", seconds)
        if expected.verdict in ("undecided", "error"):
            found.passed.append(f"{way}: {expected.verdict}, {str(expected.error).splitlines()[0][:60]}")
            continue
        found.ways.append(way)
        if not open_:
            found.differences += [f"{way}: {what}" for what in differences(settled, expected)]
        if alone is not None:
            found.differences += [f"{way}, up to {of}: {what}" for what in _other_values(*alone, expected)]
    if schedules and not open_:
        try:
            with limited(seconds):
                found.differences += _scheduled(test, settled, schedules)
            found.ways.append("schedules")
        except OutOfTime:
            found.passed.append("schedules: undecided, out of time")
    return found


def _in_all_orders(found: Compared, settled: Result | None) -> Compared:
    """What some order of the steps of a ring shows to be wrong is not right."""
    wrong = generated_stages.explored(generated_stages.drawn(found.seed))
    found.verdict = "open" if settled is None else settled.verdict
    if wrong is None:
        found.passed.append("all orders: undecided, too many")
    elif settled is not None:
        found.ways.append("all orders")
        if wrong and settled.verdict == "ok":
            found.differences.append(f"all orders: {settled.verdict}, and {wrong}")
    return found


def _otherwise(test: KernelTest, engine: str, seconds: float) -> Result:
    """What an engine says that makes events of all accesses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "may_be_whole", lambda *_: False)
        return checking.check(test, model_named("ptx-9.0"), engine=engine, unroll=_ROUNDS, timeout=seconds)


def differences(settled: Result, expected: Result) -> Iterator[str]:
    """Where the answer of runs says something else. A launch of which a run shows that it is wrong may be without a meaning in
    another execution; and what is bounded has not seen all outcomes: what holds there may fail."""
    if "undefined" in (settled.verdict, expected.verdict):
        if settled.verdict not in ("no", expected.verdict):
            yield f"{settled.verdict}, and it is {expected.verdict}"
        return
    for one, other in zip(settled.checks, expected.checks, strict=True):
        known = one.holds is not None and other.holds is not None and not (other.holds and other.bounded)
        if known and one.holds != other.holds:
            yield f"{one.text}: {one.holds}, and it is {other.holds}"
    whole = expected.verdict != "bounded" and settled.listed_all and expected.listed_all
    if settled.states and whole and in_order(settled.states) != in_order(expected.states):
        yield f"outcomes {settled.states}, and they are {expected.states}"


def _other_values(state: FinalValues, differing: frozenset[str], expected: Result) -> Iterator[str]:
    """Where one run does not stand for all executions: a race, no end, or other values than those that may be."""
    if expected.verdict == "undefined":
        yield "right, and it is undefined"
    for check in expected.checks:
        if check.kind in ("race_free", "terminates") and check.holds is False:
            yield f"{check.text}: True, and it is False"
    for other in expected.states:
        changed = {label for label, value in other.items() if state[label] != value}
        if not changed <= differing:
            yield f"outcome {state}, and one is {other}"


def _scheduled(test: KernelTest, settled: Result, count: int) -> Iterator[str]:
    """What random schedules show that runs forbid."""
    terminates = any(c.kind == "terminates" and c.holds for c in settled.checks)
    for seed, state in Runs(test).results(count):
        if isinstance(state, dict):
            if settled.states and settled.listed_all and state not in settled.states:
                yield f"schedule {seed} ends with {state}"
        elif state == "deadlock" and terminates:
            yield f"schedule {seed} comes to a deadlock"


class Counts:
    """What came of the kernels of each generator."""

    def __init__(self) -> None:
        self.verdicts = defaultdict[str, Counter[str]](Counter)
        self.ways = defaultdict[str, Counter[str]](Counter)
        self.passed = defaultdict[str, Counter[str]](Counter)

    def add(self, of: str, result: Compared) -> None:
        self.verdicts[of][result.verdict] += 1
        self.ways[of].update(result.ways)
        self.passed[of].update(result.passed)
        for difference in result.differences:
            print(f"{of} {result.seed}: {difference}", flush=True)

    def tell(self) -> None:
        for of, verdicts in self.verdicts.items():
            told = dict(verdicts.most_common())
            print(f"{of}: {verdicts.total()} kernels, {told}; compared with {dict(self.ways[of])}")
            for why, count in self.passed[of].most_common():
                print(f"    {count} passed over: {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=MADE, action="append", help="which kernels (all, by turns)")
    parser.add_argument("--kernels", type=int, default=1500, help="of each generator")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="of processor time, for each way")
    parser.add_argument("--schedules", type=int, default=10, help="of each kernel")
    parser.add_argument("--brute", type=int, default=4, help="one in so many is decided by brute force, too")
    parser.add_argument("--memory", type=int, default=3000, help="megabytes of addresses that this process may have")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    as_a_script(given.memory)
    counts = Counts()
    lines = given.log.read_text().splitlines() if given.log is not None and given.log.exists() else []
    done = {(of, result[0]): Compared(*result) for of, *result in map(json.loads, lines)}
    for seed in range(given.first, given.first + given.kernels):
        for of in given.of or MADE:
            result = done.get((of, seed))
            if result is None:
                try:
                    brute = seed % given.brute == 0
                    result = compare(of, seed, seconds=given.seconds, schedules=given.schedules, brute=brute)
                except Exception as error:  # a defect, to be told like every other difference
                    result = Compared(seed, "error", [], [f"{type(error).__name__}: {error}"])
                if given.log is not None:
                    row = [of, seed, result.verdict, result.ways, result.differences, result.passed]
                    with given.log.open("a") as out:
                        out.write(json.dumps(row) + "\n")
            counts.add(of, result)
    counts.tell()


if __name__ == "__main__":
    main()
