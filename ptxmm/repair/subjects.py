"""What is repaired or weakened: a text with its sites, and the checker's judgement of each changed text."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from litmus.test import Literal
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.repair.search import Judgement
from ptxmm.repair.sites import Site, Vector, edited, edits_of

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from litmus.test import Condition, Test
    from ptxmm.result import Result


@dataclass(frozen=True, slots=True)
class How:
    """How texts are checked: as the options of `ptxmm.check` of these names. `deadline`: by `time.perf_counter`."""

    model: str | Model = "ptx-9.0"
    unroll: int = 4
    checks: tuple[str, ...] = ()
    deadline: float | None = None
    options: frozenset[str] = field(default_factory=frozenset)

    @property
    def left(self) -> float | None:
        """Seconds that are left. Raises OutOfTime."""
        if self.deadline is None:
            return None
        left = self.deadline - time.perf_counter()
        if left <= 0:
            raise OutOfTime
        return left


class Subject(Protocol):
    """`path` is the file whose `text` is changed, `claims` what must hold, `notes` how that was understood."""

    name: str
    path: str
    text: str
    claims: tuple[str, ...]
    notes: list[str]
    left_out: list[str]

    def sites(self, mode: str) -> list[Site]:
        """What may be changed."""
        ...

    def judge(self, text: str) -> Judgement:
        """Whether the checks hold of a changed text. Raises OutOfTime."""
        ...


def judging(subject: Subject, sites: list[Site], vector: Vector) -> Judgement:
    """The judgement of what a vector makes of a subject's text."""
    return subject.judge(edited(subject.text, edits_of(sites, vector)))


def subject_of(path: str, how: How) -> Subject:
    """The test of a file, as what is repaired or weakened. Raises InputError, OSError where there is none."""
    from litmus.test import Test
    from ptxcore.diagnostics import Diagnostic, Span
    from ptxmm.api import load, model_named

    if isinstance(how.model, str):
        model_named(how.model, how.options)
    test = load(path)
    if isinstance(test, Test):
        return noted(LitmusSubject(test, how), how)
    finding = Diagnostic(Span(0, 0, 0), "a kernel test is not repaired", "repair and weaken take litmus tests")
    raise InputError([finding], test.path, test.text)


def noted(subject: Subject, how: How) -> Subject:
    """The subject, with what its answers rest on where the model is not one that ships."""
    from ptxmm.api import models

    if not isinstance(how.model, str) or how.model.split("/")[0].split()[0] not in models():
        subject.notes.append(
            "that there are no others rests on this: a weaker text allows what a stronger one does; models that ship are so"
        )
    return subject


class LitmusSubject:
    """A litmus test. An outcome that it asks for by `exists` is one that must not be: `~exists` is what must hold."""

    def __init__(self, test: Test, how: How) -> None:
        self.test, self._how = test, how
        self.name, self.path, self.text = test.name, test.path, test.text
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.claims = tuple(self._claims(test))
        self._deadlocks: bool | None = None  # whether the test as it is may; asked where it matters

    def _claims(self, test: Test) -> Iterable[str]:
        from litmus.formats.printer import write_proposition

        for condition in test.conditions:
            if condition.asked:
                wanted = _forbidden(condition)
                yield f"{wanted.quantifier} {write_proposition(wanted.proposition)}"
        if any(c.asked and c.quantifier == "exists" for c in test.conditions):
            self.notes.append("what the test asks for by exists is taken as what must not happen")
        yield from dict.fromkeys((*test.checks, *self._how.checks))

    def sites(self, mode: str) -> list[Site]:
        """What may be changed."""
        from ptxmm.repair.litmus_sites import sites

        self.left_out = []
        return sites(self.test, mode, self.left_out)

    def judge(self, text: str) -> Judgement:
        """Whether the checks hold of a changed text, and some execution still ends. Raises OutOfTime."""
        from litmus.formats import read
        from ptxmm.api import check

        how = self._how
        try:
            test = read(text, self.path, self.test.instance)
        except InputError as error:
            return Judgement(False, reason=error.diagnostics[0].message)
        asking = replace(test, condition=_forbidden(test.condition), more=tuple(map(_forbidden, test.more)), meta=())
        try:
            result = check(
                asking,
                how.model,
                unroll=how.unroll,
                timeout=how.left,
                checks=how.checks,
                witnesses=False,
                options=how.options,
            )
        except InputError as error:
            return Judgement(False, reason=error.diagnostics[0].message)
        judged = of_result(result, asked=asking.condition.asked)
        if judged.holds and text != self.text and _meets(test) and self._stuck(test) and not self._stuck_at_first():
            return Judgement(False, False, ("no_deadlock",))
        return judged

    def _stuck_at_first(self) -> bool:
        if self._deadlocks is None:
            self._deadlocks = self._stuck(self.test)
        return self._deadlocks

    def _stuck(self, test: Test) -> bool:
        """Whether threads may wait for ever at a barrier. Raises OutOfTime."""
        from ptxmm.api import check

        how = self._how
        asking = replace(
            test, condition=replace(test.condition, asked=False, proposition=Literal(True)), more=(), checks=(), meta=()
        )
        result = check(
            asking,
            how.model,
            unroll=how.unroll,
            timeout=how.left,
            checks=["no_deadlock"],
            witnesses=False,
            options=how.options,
        )
        return any(c.kind == "no_deadlock" and c.holds is False for c in result.checks)


def _meets(test: Test) -> bool:
    """Whether there is a barrier."""
    return any(getattr(s, "opcode", "") in ("bar", "barrier") for t in test.threads for s in t.statements)


def _forbidden(condition: Condition) -> Condition:
    """What must hold: of an outcome asked for, that it does not occur."""
    return replace(condition, quantifier="~exists") if condition.quantifier == "exists" else condition


#: Checks that fail by an execution which a weaker program has, too. One that nobody passes is another matter.
_BY_EXECUTION = frozenset({"not exists", "~exists", "never", "forall", "race_free", "no_trap", "assertions"})


def of_result(result: Result, asked: bool = True) -> Judgement:
    """What a result says of a changed text."""
    checks = [c for c in result.checks if asked or c.kind in ("race_free", "no_deadlock", "terminates", "no_trap")]
    failed = tuple(dict.fromkeys(c.text for c in checks if c.holds is False))
    wrong = any(c.holds is False and not c.hangs and c.kind in _BY_EXECUTION for c in checks)
    if failed:
        return Judgement(False, wrong, failed)
    if result.verdict == "undefined":
        return Judgement(False, False, ("undefined",), reason=result.error or "undefined")
    if result.stopped or result.verdict in ("undecided", "error") or any(c.holds is None for c in checks):
        return Judgement(None, reason=result.error or "undecided")
    if not result.of_kernel and not result.positive + result.negative:
        return Judgement(False, False, ("no execution ends",))
    return Judgement(True, bounded=result.verdict == "bounded" or any(c.bounded for c in checks))
