"""Judging of `ptxmm weaken` on the kernels of the gate and the museum that are right.

    python tests/support/weaken_kernels_campaign.py [FIRST] [STEP] [SECONDS]

Each STEP-th kernel from the FIRST on, with so many seconds for the search. Each weakening is checked again, on the launch
given, on the next larger one and on the one after that, for all that the kernel as it is keeps there; where few texts are
weaker, all of them are tried: the weakenings are the largest ones that hold. Prints a line for each
kernel, and how many texts and launches there were; what fails stops it, with the text.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace

from repair_campaign import weakest
from repair_kernels_campaign import known

import ptxmm
from ptxcore.clock import OutOfTime
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.beyond import beyond, claimed, name_of
from ptxmm.repair.finding import answered
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.larger import next_larger
from ptxmm.repair.subjects import How
from ptxmm.result import Result

#: Seconds for one check of a weakened text, and so many launches beyond the one given.
_CHECK, _BEYOND = 60, 2


def checked(test: KernelTest, text: str) -> Result:
    launches = tuple(replace(launch, text=text) for launch in test.launches)
    return ptxmm.check(replace(test, launches=launches), timeout=_CHECK, witnesses=False)


def kept(test: KernelTest, text: str) -> list[tuple[str, KernelTest]]:
    """The launch given and those beyond it, each with what holds there of the text as it is."""
    found, larger = [("the launch given", test)], test
    for _ in range(_BEYOND):
        more = next_larger(larger)
        if more is None:
            break
        found += beyond([(name_of(more), more)], lambda asked: checked(asked, text)).tests
        larger = more
    return found


def judged(name: str, seconds: float) -> Counter[str]:
    """What became of one kernel, and of each of its weakenings in each launch. Raises AssertionError where one fails."""
    test = ptxmm.load(name)
    assert isinstance(test, KernelTest)
    subject = KernelSubject(test, How(deadline=time.perf_counter() + seconds))
    answer = answered(subject, "weaken", every=True, most=None)
    count = Counter({"kernels": 1, "kernels with all weakenings known": int(answer.complete)})
    few = (
        weakest(KernelSubject(test, How(deadline=time.perf_counter() + seconds)), "weaken") if answer.complete else None
    )
    if few is not None:
        assert ({found.text for found in answer.found} or {subject.text}) == few, f"{name}: not those of trying all"
        count["kernels of which all texts were tried"] += 1
    launches = kept(subject.test, subject.text) if answer.found else []
    for found in answer.found:
        count["weakenings"] += 1
        count["weakenings not decided in a larger launch"] += found.larger.holds is None
        for where, asked in launches:
            result = checked(asked, found.text)
            assert result.verdict != "no", f"{name}, {where}: {claimed(asked)} fails of\n{found.text}"
            count[f"texts in launches: {result.verdict}"] += 1
    return count


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    first, step, limit = (*given, *(0.0, 1.0, 60.0)[len(given) :])
    total = Counter[str]()
    for kernel in known()[int(first) :: int(step)]:
        try:
            one = judged(kernel, limit)
        except OutOfTime:
            one = Counter({"kernels": 1})
        except ptxmm.InputError:
            one = Counter({"kernels not weakened": 1})
        print(kernel.split("/kernels/")[-1], dict(one), flush=True)
        total += one
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
