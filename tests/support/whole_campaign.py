"""Compares what runs of all threads settle of thousands of generated kernels with what the formula, brute force and random
schedules say.

    python tests/support/whole_campaign.py --of relays --first 0 --kernels 20000 --log relays.jsonl

What runs leave open is counted and passed over, and so is what another way is not up to in its time. The log has a line for
each kernel: started again with the same log, the campaign goes on where it stopped; without one it only counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "axioms" / "dynamic"))

import generated_clusters
import generated_copies
import generated_lookbacks
import generated_peeks
import generated_phases
import generated_relays
import generated_rounds
import generated_transfers
import pytest
from by_runs import by_runs, in_order
from schedules import Runs

from ptxcore.clock import limited
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result

#: By name what makes a kernel of a seed.
MADE: dict[str, Callable[[int], KernelTest]] = {
    "relays": generated_relays.kernel, "peeks": generated_peeks.kernel, "rounds": generated_rounds.kernel,
    "phases": generated_phases.kernel, "copies": generated_copies.kernel, "clusters": generated_clusters.kernel,
    "transfers": generated_transfers.kernel, "lookbacks": generated_lookbacks.kernel,
}  # fmt: skip
#: Iterations of loops: enough for a round in vain.
_ROUNDS = 2


@dataclass(slots=True)
class Compared:
    """What came of a kernel: the verdict of runs (`open` where they leave it), the ways that it was compared with, and where
    they differ."""

    seed: int
    verdict: str = "open"
    ways: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def compare(made: Callable[[int], KernelTest], seed: int, *, seconds: float, schedules: int, brute: bool) -> Compared:
    """All comparisons for one kernel."""
    found, test = Compared(seed), made(seed)
    with limited(seconds):
        open_, settled = by_runs(test)
    if open_:
        return found
    found.verdict = settled.verdict
    for way in ("formula", "brute force")[: 1 + brute]:
        expected = _otherwise(test, "solve" if way == "formula" else "enumerate", seconds)
        if expected.verdict not in ("undecided", "error"):
            found.ways.append(way)
            found.differences += [f"{way}: {what}" for what in differences(settled, expected)]
    if schedules:
        found.ways.append("schedules")
        found.differences += _scheduled(test, settled, schedules)
    return found


def _otherwise(test: KernelTest, engine: str, seconds: float) -> Result:
    """What an engine says that makes events of all accesses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "may_be_whole", lambda *_: False)
        return checking.check(test, model_named("ptx-9.0"), engine=engine, unroll=_ROUNDS, timeout=seconds)


def differences(settled: Result, expected: Result) -> Iterator[str]:
    """Where the answer of runs says something else. A launch of which a run shows that it is wrong may be without a meaning in
    another execution; and what is bounded has not seen all outcomes."""
    if "undefined" in (settled.verdict, expected.verdict):
        if settled.verdict not in ("no", expected.verdict):
            yield f"{settled.verdict}, and it is {expected.verdict}"
        return
    for one, other in zip(settled.checks, expected.checks, strict=True):
        if one.holds is not None and other.holds is not None and one.holds != other.holds:
            yield f"{one.text}: {one.holds}, and it is {other.holds}"
    whole = expected.verdict != "bounded" and settled.listed_all and expected.listed_all
    if settled.states and whole and in_order(settled.states) != in_order(expected.states):
        yield f"outcomes {settled.states}, and they are {expected.states}"


def _scheduled(test: KernelTest, settled: Result, count: int) -> Iterator[str]:
    """What random schedules show that runs forbid."""
    terminates = any(c.kind == "terminates" and c.holds for c in settled.checks)
    for seed, state in Runs(test).results(count):
        if isinstance(state, dict):
            if settled.states and settled.listed_all and state not in settled.states:
                yield f"schedule {seed} ends with {state}"
        elif state == "deadlock" and terminates:
            yield f"schedule {seed} comes to a deadlock"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=MADE, default="relays", help="which kernels")
    parser.add_argument("--kernels", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="for the formula, and for brute force")
    parser.add_argument("--schedules", type=int, default=10, help="of each kernel")
    parser.add_argument("--brute", type=int, default=4, help="one in so many is decided by brute force, too")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    counts, verdicts, asked = Counter[str](), Counter[str](), range(given.first, given.first + given.kernels)
    lines = given.log.read_text().splitlines() if given.log is not None and given.log.exists() else []
    done = {result.seed: result for result in (Compared(*json.loads(line)) for line in lines)}
    for seed in asked:
        result = done.get(seed)
        if result is None:
            try:
                brute = seed % given.brute == 0
                result = compare(MADE[given.of], seed, seconds=given.seconds, schedules=given.schedules, brute=brute)
            except Exception as error:  # a defect, to be told like every other difference
                result = Compared(seed, "error", [], [f"{type(error).__name__}: {error}"])
            if given.log is not None:
                with given.log.open("a") as out:
                    row = [result.seed, result.verdict, result.ways, result.differences]
                    out.write(json.dumps(row) + "\n")
        verdicts[result.verdict] += 1
        counts.update(result.ways)
        for difference in result.differences:
            print(f"{given.of} {seed}: {difference}", flush=True)
    print(f"{given.of}: {verdicts.total()} kernels, {dict(verdicts.most_common())}; compared with {dict(counts)}")


if __name__ == "__main__":
    main()
