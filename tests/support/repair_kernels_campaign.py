"""Random judging of `ptxmm repair` on kernels: those that hold lose one to three orders, scopes, fences or barriers.

    python tests/support/repair_kernels_campaign.py [SEED] [SECONDS]

The kernels are generated ones that are right, and those of the gate and the museum that are, as far as they are small. What is
taken away is what `ptxmm weaken` would try. Each repair is checked again, and brute force tries what it says of itself: all
texts with less of its changes, and all with up to two other ones that cost less, fail. Prints how many of each there were;
what is wrong stops it, with the text.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

from correct_kernels import kernel
from repair_campaign import PATIENCE

import ptxmm
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Found
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.meeting import met
from ptxmm.repair.sites import edited, edits_of
from ptxmm.repair.subjects import How, judging

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
#: Of three kernels so many are those of files; and the longest module of these, in lines.
_OF_FILES, _LONGEST = 1 / 3, 160
#: So many texts at most are all tried.
_FEW = 600


def known() -> list[str]:
    """The tests of the gate and the museum that are right."""
    found = []
    for path in sorted((*KERNELS.glob("gate/*/test.toml"), *KERNELS.glob("museum/*.toml"))):
        try:
            test = ptxmm.load(f"{path}:fixed")
        except InputError:  # a module that is not here
            continue
        if isinstance(test, KernelTest) and all(launch.text.count("\n") < _LONGEST for launch in test.launches):
            found.append(f"{path}:fixed")
    return found


def tests(draw: random.Random) -> Iterator[KernelTest]:
    """Kernel tests that are meant to hold, as long as somebody asks."""
    names = known()
    draw.shuffle(names)
    while True:
        test = ptxmm.load(names.pop()) if names and draw.random() < _OF_FILES else kernel(draw.randrange(1 << 30)).test
        assert isinstance(test, KernelTest)
        yield test


def subject(test: KernelTest) -> KernelSubject:
    """Raises InputError for a test that is not repaired."""
    return KernelSubject(test, How(deadline=time.perf_counter() + PATIENCE))


def spoilt(test: KernelTest, draw: random.Random) -> KernelTest | None:
    """The test with one to three things of its module weaker or gone; None where nothing can be."""
    of = subject(test)
    sites = of.sites("weaken")
    whole = [next(i for i, option in enumerate(s.options) if not option.edits) for s in sites]
    chosen = draw.sample(range(len(sites)), min(len(sites), draw.choice((1, 2, 3))))
    vector = tuple(
        draw.choice(sorted(sites[i].below[n] - {n}) or [n]) if i in chosen else n for i, n in enumerate(whole)
    )
    text = edited(of.text, edits_of(sites, vector))
    if text == of.text:
        return None
    return replace(test, launches=tuple(replace(launch, text=text) for launch in test.launches))


def judged(broken: KernelTest) -> str:
    """What becomes of one broken test, in a word or two. Raises AssertionError where the answer is wrong."""
    of = subject(broken)
    base = of.judge(of.text)
    if base.holds is not False:
        return "still holds" if base.holds else "undecided"
    answer = answered(subject(broken), "repair", every=False, most=None)
    for found in answer.found:
        assert subject(broken).judge(found.text).holds, f"does not hold:\n{found.text}"
    if not answer.found:
        return "no repair" if answer.complete else "not known in time"
    first = answer.found[0]
    if not (first.cheapest and first.minimal):
        return "repaired, a cheaper one not excluded"
    tried = cheaper(subject(broken), first)
    return "repaired" if tried is None else "repaired, all that are weaker or cheaper tried"


def cheaper(of: KernelSubject, found: Found) -> int | None:
    """Tries all texts with some of the changes, or weaker ones, and all with up to two other changes that cost less; gives how
    many. None for too many, or where barriers change what others do. Raises AssertionError where one of them holds."""
    sites = met(of, of.sites("repair"))
    changes = {(change.who, change.line, change.words) for change in found.changes}
    vector = tuple(
        next((i for i, o in enumerate(s.options) if o.words and (s.where, s.line, o.words) in changes), 0)
        for s in sites
    )
    if edited(of.text, edits_of(sites, vector)) != found.text or any(o.alters for s in sites for o in s.options):
        return None
    weaker = [sorted(s.below[n]) for s, n in zip(sites, vector, strict=True)]
    if prod(map(len, weaker)) > _FEW:
        return None
    vectors = {v for v in product(*weaker) if v != vector}
    ones = [(i, o) for i, s in enumerate(sites) for o in range(1, len(s.options)) if s.options[o].cost < found.cost]
    for first, second in product(ones, ones):
        if first[0] < second[0] or first == second:
            changed = dict((first, second))
            if sum(sites[i].options[o].cost for i, o in changed.items()) < found.cost:
                vectors.add(tuple(changed.get(i, 0) for i in range(len(sites))))
    if len(vectors) > _FEW:
        return None
    for other in vectors:
        assert not judging(of, sites, other).holds, f"holds, too:\n{edited(of.text, edits_of(sites, other))}"
    return len(vectors)


def campaign(seed: int, seconds: float) -> Counter[str]:
    """Judges random kernels for so long."""
    draw, count, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    for test in tests(draw):
        if time.monotonic() > end:
            return count
        try:
            of = subject(test)
            if of.judge(of.text).holds is not True:
                count["not right at first"] += 1
                continue
            broken = spoilt(test, draw)
            if broken is not None:
                count[judged(broken)] += 1
        except InputError:  # several modules; or what was taken away was needed to read the rest
            count["not repaired"] += 1
        except OutOfTime:
            count["not known in time"] += 1
    return count


if __name__ == "__main__":
    given = sys.argv[1:]
    total = campaign(int(given[0]) if given else 18, float(given[1]) if len(given) > 1 else 200)
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
