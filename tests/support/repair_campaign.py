"""Random judging of `ptxmm repair`: tests that hold lose one to three orders, scopes, fences or barriers, and are repaired.

    python tests/support/repair_campaign.py [SEED] [SECONDS]

Each repair is checked again by `ptxmm.check`. Where a text has few changes, all of them are tried: the repairs are the weakest
ones that hold. Correct tests are weakened, too, and every weakening still holds. Prints how many of each there were; what is
wrong stops it, with the text.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import ptxmm
from litmus.formats.printer import write
from litmus.relaxations import relaxations
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.sites import edited, edits_of
from ptxmm.repair.subjects import How, LitmusSubject, Subject, judging

#: What is taken away, in the words of relaxations: orders and scopes, fences, barriers, arrivals; no guards, and no copies.
_TAKEN = re.compile(
    r"^(?!.*: @)(?:.* becomes |barrier |.*: (?:fence|membar|bar|barrier|mbarrier\.(?:arrive|expect_tx))\b)"
)
LIBRARY = Path(__file__).resolve().parents[2] / "litmus" / "library"
#: So many texts at most are all tried; seconds for one repair; so many events of a test.
_FEW, PATIENCE, _LONGEST = 64, 30.0, 12


def tests(draw: random.Random) -> Iterator[Test]:
    """Tests of the library, in a random order, as long as somebody asks."""
    paths = sorted(LIBRARY.rglob("*.litmus"))
    while True:
        test = ptxmm.load(draw.choice(paths))
        if isinstance(test, Test) and not test.instance and sum(len(t.statements) for t in test.threads) <= _LONGEST:
            yield test


def spoilt(test: Test, draw: random.Random) -> Test | None:
    """The test with one to three things weaker or gone, asking what it asked; None where nothing can be."""
    kept = test
    for _ in range(draw.choice((1, 2, 3))):
        ways = [r.test for r in relaxations(kept) if _TAKEN.search(r.what)]
        ways = [way for way in ways if [t.name for t in way.threads] == [t.name for t in test.threads]]
        if not ways:
            return None
        kept = replace(draw.choice(ways), condition=test.condition, more=test.more, observed=test.observed)
    try:
        again = ptxmm.parse(write(replace(kept, name="spoilt", comments=())), "spoilt.litmus")
    except InputError:
        return None
    return again if isinstance(again, Test) else None


def subject(test: Test, end: float | None = None) -> LitmusSubject:
    return LitmusSubject(test, How(deadline=end))


def repaired(test: Test, every: bool) -> tuple[Answer, LitmusSubject]:
    of = subject(test, time.perf_counter() + PATIENCE)
    return answered(of, "repair", every=every, most=None), of


def weakest(of: Subject, mode: str = "repair") -> set[str] | None:
    """The texts of the weakest repairs, or of the largest weakenings (or the text as it is), by trying all there are; None for
    too many."""
    sites = of.sites(mode)
    if prod(len(s.options) for s in sites) > _FEW:
        return None
    good = [
        v
        for v in product(*(range(len(s.options)) for s in sites))
        if judging(of, sites, v, weaker=mode != "repair").holds
    ]
    least = [v for v in good if not any(
        w != v and all(s.at_most(a, b) for s, a, b in zip(sites, w, v, strict=True)) for w in good)]  # fmt: skip
    return {edited(of.text, edits_of(sites, v)) for v in least}


def judged(original: Test, broken: Test) -> str:
    """What becomes of one broken test, in a word or two. Raises AssertionError where the answer is wrong."""
    try:
        base = subject(broken).judge(broken.text)
    except InputError:  # what was taken away was needed to read the rest
        return "no test any more"
    if base.holds is not False:
        return "still holds" if base.holds else "undecided"
    few = weakest(subject(broken))
    answer, _ = repaired(broken, every=few is not None)
    for found in answer.found:
        again = ptxmm.parse(found.text, "mended.litmus")
        assert subject(again).judge(again.text).holds, f"does not hold:\n{found.text}"
    if few == set() and answer.found:  # among all that are tried there are no arrivals
        return "repaired by an arrival"
    if few is not None and answer.complete:
        assert {f.text for f in answer.found} == few, f"not those of trying all:\n{broken.text}"
        return "repaired, all tried" if few else "no repair, all tried"
    if answer.found:
        return "repaired" if answer.found[0].cheapest else "repaired, a cheaper one not excluded"
    return "no repair" if answer.complete else "not known in time"


def weakened(test: Test) -> str:
    """What becomes of a correct test that is weakened. Raises AssertionError for a weakening that does not hold."""
    answer = answered(subject(test, time.perf_counter() + PATIENCE), "weaken", every=True, most=None)
    for found in answer.found:
        again = ptxmm.parse(found.text, "weaker.litmus")
        assert subject(again).judge(again.text).holds, f"does not hold:\n{found.text}"
    few = weakest(subject(test), "weaken") if answer.complete else None
    if few is not None:
        assert ({f.text for f in answer.found} or {test.text}) == few, f"not those of trying all:\n{test.text}"
        return "weakened, all tried" if answer.found else "nothing is weaker, all tried"
    return "weakened" if answer.found else "nothing is weaker" if answer.complete else "weakening not known in time"


def campaign(seed: int, seconds: float) -> Counter[str]:
    """Judges random tests for so long."""
    draw, count, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    known: set[str] = set()
    for test in tests(draw):
        if time.monotonic() > end:
            return count
        of = subject(test)
        if not of.claims or of.judge(of.text).holds is not True:
            continue
        broken = spoilt(test, draw)
        if broken is not None and broken.text not in known:
            known.add(broken.text)
            count[judged(test, broken)] += 1
        if test.name not in known and draw.random() < 0.2:
            known.add(test.name)
            count[weakened(test)] += 1
    return count


if __name__ == "__main__":
    given = sys.argv[1:]
    total = campaign(int(given[0]) if given else 18, float(given[1]) if len(given) > 1 else 200)
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
