"""Larger launches as what a weakening rests on, too: with those checks that hold there of the module as it is.

What the module as it is does not keep in a larger launch it was not written for; what it keeps there, a weaker one must keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.errors import EngineDefect
from axioms.program import UnsupportedProgram
from ptxcore.diagnostics import InputError
from ptxcore.records import dataclass
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.larger import shape_of
from ptxmm.repair.subjects import Larger

if TYPE_CHECKING:
    from ptxmm.result import Result

#: Why there is no larger launch.
NOT_KNOWN = "what it would be given is not known"


@dataclass(frozen=True, slots=True)
class Beyond:
    """Larger launches with their names in words, each with the checks that hold there of the module as it is; and in words,
    what is not asked of them, and why."""

    tests: tuple[tuple[str, KernelTest], ...] = ()
    left: tuple[str, ...] = ()

    def told(self, several: Sequence[Judgement]) -> Larger:
        """What became of a weaker module there, by its judgement in each."""
        if not self.tests:
            return Larger(f"rests on the launch given alone: {'; '.join(self.left)}")
        told = [
            f"computed on {where}: {claimed(test)}: {verdict(judged)}"
            for (where, test), judged in zip(self.tests, several, strict=True)
        ]
        return Larger("; ".join((*told, *self.left)), all_hold(several), tuple(test for _, test in self.tests))


def beyond(larger: Iterable[tuple[str, KernelTest]], checked: Callable[[KernelTest], Result]) -> Beyond:
    """Of these larger launches, by their names, what holds there of the module as it is. Raises OutOfTime."""
    tests: list[tuple[str, KernelTest]] = []
    left: list[str] = []
    for where, test in larger:
        try:
            result = checked(test)
        except InputError as error:
            left.append(f"{where} is not possible: {error.diagnostics[0].message}")
            continue
        except (EngineDefect, UnsupportedProgram) as error:
            left.append(f"{where} is not decided: {error}")
            continue
        become = {c.kind if not c.text else c.text: c.holds for c in result.checks}
        if result.verdict in ("undefined", "error"):
            become = {}
            left.append(f"{where} has no meaning as it is: {result.error}")
        kept = tuple(check for check in test.checks if become.get(str(check)))
        if kept:
            tests.append((where, replace(test, checks=kept)))
        for holds, why in ((False, "fails"), (None, "is undecided")):
            told = [str(check) for check in test.checks if become.get(str(check), True) is holds]
            if told:
                left.append(f"on {where} {', '.join(told)} {why} as it is")
    return Beyond(tuple(tests), tuple(left))


def name_of(test: KernelTest) -> str:
    """The next larger launch in words."""
    return f"the next larger launch ({shape_of(test)})"


def claimed(test: KernelTest) -> str:
    """What is asked of a test, in words."""
    return ", ".join(map(str, test.checks))


def all_hold(several: Sequence[Judgement]) -> bool | None:
    """Whether everything holds; None where nobody knows, and nothing fails."""
    if any(judged.holds is False for judged in several):
        return False
    return True if all(judged.holds for judged in several) else None


def verdict(judged: Judgement) -> str:
    """A judgement in words."""
    if judged.holds is None:
        return f"undecided ({judged.reason})"
    if not judged.holds:
        if judged.failed == ("undefined",):
            return f"it has no meaning there ({judged.reason})"
        return f"{', '.join(judged.failed)} fails" if judged.failed else judged.reason
    return "holds within the bounds of loops" if judged.bounded else "holds"


def with_ends(test: KernelTest, kinds: Iterable[str]) -> KernelTest:
    """The test with these checks besides."""
    there = {check.kind for check in test.checks}
    return replace(test, checks=(*test.checks, *(Check(kind) for kind in kinds if kind not in there)))
