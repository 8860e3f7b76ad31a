"""Compares the two engines on thousands of programs, each with two features of the model: on outcomes, on being undefined or
not, and on races.

    python tests/engines/pairs_campaign.py --programs 10000 --jobs 1 --seed 1 --log pairs.jsonl

Every pair of features gets as many programs. The log has a line for each pair that is done: started again with the same log
and seed, the run goes on where it stopped. What brute force is not up to is passed over, and counted by its reason.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))  # where no pytest does it

from agreement import STEPS
from generated_pairs import PAIRS, has_both, name, pairs
from hypothesis import HealthCheck, Phase, given, seed, settings

from axioms.engine import decide
from axioms.errors import UnsupportedProgram
from axioms.models import load
from axioms.witness.result import Decision
from litmus.formats import read
from ptxcore.clock import OutOfTime
from ptxmm.pipeline import build

#: A loop goes round so many times.
_UNROLL = 2
#: Of one pair, so many more programs than wanted are tried where some are passed over.
_MORE = 2


class Compared(NamedTuple):
    """What came of a program: `passed_over` says why it was not compared, `kind` what its outcomes are like."""

    passed_over: str = ""
    kind: str = ""
    same: bool = True


def kind(decision: Decision) -> str:
    """What the outcomes of a program are like."""
    if decision.undefined is not None:
        return "undefined"
    return ("no outcome", "one outcome", "several outcomes")[min(len(decision.states), 2)]


def _answer(decision: Decision) -> object:
    races = {(race.kind, *sorted(race.events)) for race in decision.races}
    if decision.undefined is not None:
        return "undefined", races
    return decision.states, decision.positive, decision.negative, decision.complete, races


def compare(text: str) -> Compared:
    model = load("ptx-9.0")
    program = build(read(text, "generated.litmus"), unroll=_UNROLL, all_registers=True)
    try:
        expected = decide(program, model, engine="enumerate", races=True, steps=STEPS)
    except OutOfTime:
        return Compared("brute force takes too many steps")
    except UnsupportedProgram as reason:
        return Compared(f"brute force: {reason}")
    try:
        found = decide(program, model, races=True)
    except UnsupportedProgram as reason:
        return Compared(f"refused: {reason}")
    return Compared("", kind(expected), _answer(found) == _answer(expected))


class Report(NamedTuple):
    """Of a pair: how many programs were compared, of which kinds, how many passed over for which reason, what differs."""

    pair: str
    compared: int
    kinds: dict[str, int]
    passed_over: dict[str, int]
    differences: list[str]


def texts(number: int, first: int, count: int) -> list[str]:
    """Programs of a pair, all different, the simplest not first."""
    found: dict[str, None] = {}

    @seed(first + number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(pairs(*PAIRS[number]))
    def note(text: str) -> None:
        found[text] = None

    note()
    return Random(first).sample([*found], len(found))


def run_pair(number: int, first: int, wanted: int) -> Report:
    one, other = PAIRS[number]
    kinds, passed_over = Counter[str](), Counter[str]()
    differences: list[str] = []
    for text in texts(number, first, wanted * _MORE):
        if sum(kinds.values()) == wanted:
            break
        assert has_both(text, one, other), text
        try:
            result = compare(text)
        except Exception as error:  # a defect, to be told with its program like every other
            differences.append(f"{type(error).__name__}: {error}\n{text}")
            continue
        if result.passed_over:
            passed_over[result.passed_over] += 1
            continue
        kinds[result.kind] += 1
        if not result.same:
            differences.append(text)
    return Report(name(one, other), sum(kinds.values()), dict(kinds), dict(passed_over), differences)


def _task(task: tuple[int, int, int]) -> Report:
    return run_pair(*task)


def campaign(programs: int, jobs: int, first: int, log: Path, tell: Callable[[str], None]) -> list[Report]:
    done: dict[str, Report] = {}
    if log.exists():
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            if entry.pop("seed") == first:
                done[entry["pair"]] = Report(**entry)
    wanted = -(-programs // len(PAIRS))
    left = [(i, first, wanted) for i, pair in enumerate(PAIRS) if name(*pair) not in done]
    started = time.monotonic()
    with multiprocessing.Pool(jobs) as pool, log.open("a") as out:
        for count, report in enumerate(pool.imap_unordered(_task, left), start=1):
            done[report.pair] = report
            out.write(json.dumps({"seed": first, **report._asdict()}) + "\n")
            out.flush()
            for text in report.differences:
                tell(f"DIFFERENCE in {report.pair}:\n{text}")
            if count % 20 == 0:
                compared = sum(r.compared for r in done.values())
                tell(f"{len(done)} of {len(PAIRS)} pairs, {compared} programs, {time.monotonic() - started:.0f} s")
    return list(done.values())


def summary(reports: list[Report]) -> str:
    kinds, passed_over = Counter[str](), Counter[str]()
    for report in reports:
        kinds.update(report.kinds)
        passed_over.update(report.passed_over)
    lines = [f"{sum(kinds.values())} programs of {len(reports)} pairs compared: {dict(kinds.most_common())}"]
    lines += [f"passed over: {count} ({reason})" for reason, count in passed_over.most_common()]
    lines.append(f"differences: {sum(len(r.differences) for r in reports)}")
    for r in sorted(reports, key=lambda r: r.pair):
        over = sum(r.passed_over.values())
        if over > r.compared:
            lines.append(f"mostly passed over: {r.pair} ({over} of {over + r.compared})")
        if not set(r.kinds) & {"several outcomes", "undefined"}:
            lines.append(f"never more than one outcome: {r.pair}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, default=Path("pairs.jsonl"))
    given_ = parser.parse_args()
    reports = campaign(given_.programs, given_.jobs, given_.seed, given_.log, lambda line: print(line, flush=True))
    print(summary(reports))


if __name__ == "__main__":
    main()
