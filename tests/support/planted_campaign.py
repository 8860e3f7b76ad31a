"""Takes one synchronisation away from kernels that are right, at the sizes at which people launch them, and asks `check`.

    python tests/support/planted_campaign.py [--kernels NAME ...] [--seconds 30] [--log planted.jsonl]

What is taken away: a barrier, a fence, an arrival, a wait (a loop that goes round while it has not found something, or a wait
for copies); or what is weakened: a scope, an acquire or a release, the phase that is waited for, a count of arrivals. Not each
of these is a mistake. So each is judged in another way: by random schedules of the launch (a wrong value, nobody goes on, a
fault), and by the formula at the smaller launches of the kernel at which the right kernel is right.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

import pytest
from campaigns import as_a_script
from kept import HERE
from schedules import Runs

import ptxmm
from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.runs import truth
from ptxmm.kernels.smaller import smaller_of
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result

#: The kernels: of each the variant that is right.
KERNELS = {path.parent.name: f"{path}:right" for path in sorted((HERE / "launches").glob("*/test.toml"))}
#: Statements without which threads do not meet, or do not hand on what they did.
_STATEMENTS = {
    "barrier": re.compile(r"\bbar\.|\bbarrier\."),
    "fence": re.compile(r"\bfence\.|\bmembar\."),
    "arrival": re.compile(r"\bmbarrier\.arrive"),
    "wait for copies": re.compile(r"\bcp\.async\.(bulk\.)?wait"),
}
#: What is weakened within a statement.
_WORDS = {
    "scope": ((".sys", ".cta"), (".gpu", ".cta"), ("membar.gl", "membar.cta"), ("membar.sys", "membar.cta")),
    "semantics": ((".acquire", ".relaxed"), (".release", ".relaxed"), (".acq_rel", ".relaxed"), (".volatile", "")),
}
_LABEL = re.compile(r"^\s*([$\w]+):")
_BRANCH = re.compile(r"^(\s*)@!?%\w+ bra(?:\.uni)?\s+([$\w]+);")
#: Looks of a thread at what others have done: a loop of few instructions around one waits.
_LOOK = re.compile(r"\bld\.(acquire|relaxed|volatile|global\.acquire)|try_wait|test_wait|\batom\.")
#: Instructions of a loop that waits, at most.
_SHORT = 14
#: Random schedules of a launch.
_SCHEDULES = 4
#: Threads of a launch that the formula decides in little time.
_SMALL = 4
#: Errors of runs that are no answer: an unfair schedule, and a read of what nothing wrote.
_NO_ANSWER = ("limit", "uninitialised")


@dataclass(slots=True)
class Planted:
    """A kernel with one thing less: what, and at which line of its PTX."""

    kind: str
    line: int
    text: str


def planted(text: str) -> Iterator[Planted]:
    """Everything that may be taken away, or weakened."""
    lines = text.splitlines()

    def with_line(kind: str, number: int, line: str) -> Planted:
        return Planted(kind, number + 1, "\n".join([*lines[:number], line, *lines[number + 1 :]]) + "\n")

    for number, line in enumerate(lines):
        code = line.partition("//")[0]
        if code.lstrip().startswith((".", "$")) and ";" not in code:
            continue
        for kind, pattern in _STATEMENTS.items():
            if pattern.search(code) and "bar.red" not in code:
                yield with_line(kind, number, "")
        for kind, changes in _WORDS.items():
            for word, weaker in changes:
                if word in code and not (kind == "semantics" and "fence" in code):
                    yield with_line(kind, number, line.replace(word, weaker, 1))
        if re.search(r"mbarrier\.(try|test)_wait\.parity", code):
            to = re.sub(r"(,\s*)(%\w+|\d+)(\s*;)", r"\g<1>PARITY\3", code)
            parity = re.search(r",\s*(%\w+|\d+)\s*;", code)
            if parity is not None:
                turned = (
                    f"{{ .reg .b32 turned; xor.b32 turned, {parity[1]}, 1; {to.strip().replace('PARITY', 'turned')} }}"
                )
                yield with_line("phase", number, turned)
        if "mbarrier.init" in code:
            count = re.search(r",\s*(%\w+|\d+)\s*;", code)
            if count is not None:
                more = f"{{ .reg .b32 more; add.u32 more, {count[1]}, 1; {code[: count.start(1)].strip()} more; }}"
                yield with_line("count", number, more)
        if re.search(r"\batom\.|\bred\.", code) and re.search(r"\.add\.", code) and re.search(r", 1;", code):
            yield with_line("count", number, re.sub(r", 1;", ", 2;", line))
        if number in _waits(lines):
            yield with_line("wait", number, "")


def _waits(lines: Sequence[str]) -> set[int]:
    """The branches back of short loops that look at what others have done."""
    labels = {found[1]: n for n, line in enumerate(lines) if (found := _LABEL.match(line))}
    found = set()
    for number, line in enumerate(lines):
        branch = _BRANCH.match(line)
        begin = number if branch is None else labels.get(branch[2], number)
        if 0 < number - begin <= _SHORT and any(map(_LOOK.search, lines[begin:number])):
            found.add(number)
    return found


def with_text(test: KernelTest, text: str) -> KernelTest:
    return replace(test, launches=tuple(replace(launch, text=text) for launch in test.launches))


def by_schedules(test: KernelTest, seconds: float) -> str:
    """What some schedules show to be wrong, as far as they come in that time; empty where they do not."""
    runs, found = Runs(test), ""
    try:
        with limited(seconds):
            for seed in range(_SCHEDULES):
                state = runs.random(seed)
                if isinstance(state, str):
                    found = found or ("" if state in _NO_ANSWER else state)
                elif any(truth(test, check, state) is False for check in test.checks if check.kind == "forall"):
                    found = found or "value"
    except OutOfTime:
        return found
    return found


def by_formula(test: KernelTest, seconds: float) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "may_be_whole", lambda *_: False)
        return checking.check(test, model_named("ptx-9.0"), timeout=seconds)


class Smaller:
    """The smaller launches of a right kernel at which the formula says that it is right, smallest first."""

    def __init__(self, test: KernelTest, seconds: float) -> None:
        self.seconds = seconds
        self.sizes = {size for size, verdict in self._verdicts(test) if verdict in ("ok", "bounded")}

    def _verdicts(self, test: KernelTest) -> Iterator[tuple[tuple[int, int], str]]:
        for small in smaller_of(test):
            launch = small.launches[0]
            if prod(launch.grid) * prod(launch.block) > _SMALL:
                continue
            try:
                verdict = by_formula(small, self.seconds).verdict
            except InputError:  # the formula has no such instruction
                verdict = "refused"
            yield (prod(launch.grid), prod(launch.block)), verdict

    def shows(self, test: KernelTest) -> tuple[str, int]:
        """What is wrong with a test at one of them, empty where nothing is; and at how many it is right."""
        right = 0
        for (ctas, threads), verdict in self._verdicts(test):
            if (ctas, threads) in self.sizes:
                if verdict in ("no", "undefined"):
                    return f"{verdict} at {ctas}x{threads}", right
                right += verdict in ("ok", "bounded")
        return "", right


@dataclass(slots=True)
class Judged:
    """What `check` says of a kernel with one thing less, and what other ways show; `right_at`: at how many smaller launches it
    is right."""

    kernel: str
    kind: str
    line: int
    verdict: str
    wrong: str
    right_at: int
    says: str = ""


def judged(name: str, test: KernelTest, one: Planted, smaller: Smaller, seconds: float) -> Judged:
    changed = with_text(test, one.text)
    result = ptxmm.check(changed, timeout=seconds, witnesses=False)
    says = str(result.error or next((c.text for c in result.checks if c.holds is False), ""))
    wrong, right_at = by_schedules(changed, seconds), 0
    if not wrong:
        wrong, right_at = smaller.shows(changed)
    return Judged(name, one.kind, one.line, result.verdict, wrong, right_at, says.partition("\n")[0][:150])


@dataclass(slots=True)
class Table:
    """By kind of change: how often which verdict met which judgement."""

    rows: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, one: Judged) -> None:
        other = "wrong" if one.wrong else "right when smaller" if one.right_at else "not known"
        self.rows[one.kind][f"{one.verdict}, {other}"] += 1

    def tell(self) -> None:
        for kind, counts in sorted(self.rows.items()):
            print(f"{kind}: {dict(counts.most_common())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=[*KERNELS], help="names of kernels, or kernel tests")
    parser.add_argument("--seconds", type=float, default=30.0, help="of processor time, for each check")
    parser.add_argument("--first", type=int, default=0, help="of each kernel's changes")
    parser.add_argument("--step", type=int, default=1, help="one in so many of them")
    parser.add_argument("--most", type=int, default=1000, help="of each kernel")
    parser.add_argument("--memory", type=int, default=3000, help="megabytes of addresses that this process may have")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    as_a_script(given.memory)
    table = Table()
    for name in given.kernels:
        test = ptxmm.load(KERNELS.get(name, name))
        assert isinstance(test, KernelTest)
        smaller = Smaller(test, given.seconds / 4)
        for one in [*planted(test.launches[0].text)][given.first :: given.step][: given.most]:
            try:
                found = judged(name, test, one, smaller, given.seconds)
            except InputError as error:
                print(f"{name} {one.kind} {one.line}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            table.add(found)
            row = [getattr(found, name) for name in Judged.__slots__]
            print(*row, sep=" | ", flush=True)
            if given.log is not None:
                with given.log.open("a") as out:
                    out.write(json.dumps(row) + "\n")
    table.tell()


if __name__ == "__main__":
    main()
