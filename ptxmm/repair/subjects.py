"""What is repaired or weakened: a text with its sites, and the checker's judgement of each changed text."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from axioms.errors import EngineDefect
from axioms.program import UnsupportedProgram
from litmus.test import Literal
from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.records import dataclass
from ptxmm.answers import REASONS, Coverage
from ptxmm.repair.judgement import JudgedTexts, Judgement
from ptxmm.repair.sites import EditSite, Vector, Wanted, edited, edits_of

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from axioms.witness.result import Undefined
    from litmus.test import Condition, Test
    from ptxmm.kernels.test import KernelTest
    from ptxmm.repair.cuda.proof import Rewritten
    from ptxmm.result import Result


@dataclass(frozen=True, slots=True)
class How:
    """How texts are checked: as the options of `ptxmm.check` of these names. `deadline`: by `time.perf_counter`. `source`: the
    file in CUDA C++ that the PTX of a kernel test was compiled from."""

    model: str | Model = "ptx-9.0"
    unroll: int = 4
    checks: tuple[str, ...] = ()
    deadline: float | None = None
    options: frozenset[str] = field(default_factory=frozenset)
    source: str = ""

    def hurried(self, share: float) -> How:
        """The same, with this share of the time that is left."""
        if self.deadline is None:
            return self
        now = time.perf_counter()
        return replace(self, deadline=now + share * max(self.deadline - now, 0))

    def limited(self) -> AbstractContextManager[object]:
        """The work inside has the time that is left; what ticks in it raises OutOfTime then."""
        return limited(None if self.deadline is None else max(self.deadline - time.perf_counter(), 0))

    def left(self, patience: float | None = None) -> float | None:
        """Seconds that are left, at most `patience`. Raises OutOfTime."""
        if self.deadline is None:
            return patience
        left = self.deadline - time.perf_counter()
        if left <= 0:
            raise OutOfTime
        return left if patience is None else min(left, patience)


@dataclass(frozen=True, slots=True)
class Larger:
    """What became of a changed text in larger launches: in words, and whether everything holds there (None: nobody knows, or
    there is no such launch). `tests` are those launches."""

    words: str = ""
    holds: bool | None = None
    tests: tuple[KernelTest, ...] = ()


class Subject(Protocol):
    """`path` is the file whose `text` is changed, `claims` what must hold, `notes` how that was understood. `applies`: there is
    such a file, and it may be written; `beyond` are changes that are never among those considered; `file` is there in any case.
    `how` may be replaced by one with another deadline; `judged` are judgements, which stay as they are then. `search_share`: of
    the time, for the search; the rest is for what follows from its solutions. `is_smaller`: it is a smaller launch of what was
    asked for, and nothing follows from its solutions by themselves."""

    name: str
    path: str
    file: str
    text: str
    claims: tuple[str, ...]
    applies: bool
    notes: list[str]
    left_out: list[str]
    beyond: tuple[str, ...]
    how: How
    judged: JudgedTexts
    is_smaller: bool

    @property
    def search_share(self) -> float: ...

    def sites(self, mode: str, arrivals: bool = False, apart: bool = False) -> list[EditSite]:
        """What may be changed; `arrivals`: those that may be missing, too; `apart`: each call of a function of the source by
        itself, else all of them together. Raises OutOfTime."""
        ...

    def objects(self, lines: frozenset[int]) -> frozenset[str]:
        """The names of what the statements at these lines of the text wait or arrive at."""
        ...

    def guards(self, lines: frozenset[int]) -> frozenset[str]:
        """The names of what is waited for last before these lines of the text."""
        ...

    def glimpsed(self) -> Judgement | None:
        """What a few runs show to be wrong with the text as it is; None where they show nothing."""
        ...

    def judge(self, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a changed text. Raises OutOfTime."""
        ...

    def waits(self, text: str, patience: float | None = None) -> bool | None:
        """Whether a changed text leaves threads waiting that do not wait in the text as it is; None where that takes more than
        `patience` seconds. Raises InputError, OutOfTime."""
        ...

    def judge_weaker(self, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a weakened text, and in larger launches those that hold there of the text as it is. Raises
        OutOfTime."""
        ...

    def smaller(self) -> Iterator[Subject]:
        """The same text in smaller launches, the smallest first."""
        ...

    def larger(self, text: str) -> Larger:
        """What becomes of a changed text in larger launches. Raises OutOfTime."""
        ...

    def weaker_in_larger(self, text: str) -> Larger:
        """What became of a weakened text in larger launches, or why none was asked. Raises OutOfTime."""
        ...

    def judge_on(self, larger: Larger, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a changed text in each of these launches. Raises OutOfTime."""
        ...

    def in_source(self, changes: Sequence[Wanted], weaker: bool = False) -> Rewritten | None:
        """The source that the text was compiled from, with these changes, checked as such, or as what is `weaker` is; None
        where there is none."""
        ...

    def spot(self, line: int) -> tuple[str, int] | None:
        """The file and the line of the source that a line of the text was compiled from; None where there is none."""
        ...

    def place(self, line: int) -> str:
        """The same as it is told, as far as the text says it: the file may be another, or gone."""
        ...


def judging(
    subject: Subject, sites: list[EditSite], vector: Vector, patience: float | None = None, *, weaker: bool = False
) -> Judgement:
    """The judgement of what a vector makes of a subject's text, as what is changed or `weaker`; none where it takes longer than
    `patience` seconds. A text is judged once, or until it has more time than before. Raises OutOfTime."""
    judge = subject.judge_weaker if weaker else subject.judge
    text, judged = edited(subject.text, edits_of(sites, vector)), subject.judged
    known = judged.known(text, weaker, patience)
    if known is None:
        seconds = subject.how.left(patience)
        try:
            known = judge(text, patience)
        except (EngineDefect, UnsupportedProgram) as error:  # of one text among many: nobody knows what holds of it
            known = Judgement(None, reason=f"{'a defect of ptxmm: ' * isinstance(error, EngineDefect)}{error}")
            seconds = None
        judged.keep(text, weaker, known, seconds)
    return known


def ships(model: str | Model) -> bool:
    """Whether a model is one that ships: a weaker text allows in it what a stronger one does."""
    from ptxmm.api import models

    return isinstance(model, str) and model.split("/")[0].split()[0] in models()


def noted(subject: Subject, how: How) -> Subject:
    """The subject, with what its answers rest on where the model is not one that ships."""
    if not ships(how.model):
        subject.notes.append(
            "that there are no others rests on this: a weaker text allows what a stronger one does; models that ship are so"
        )
    return subject


class LitmusSubject:
    """A litmus test. An outcome that it asks for by `exists` is one that must not be: `~exists` is what must hold."""

    search_share = 1.0  # nothing follows
    is_smaller = False

    def __init__(self, test: Test, how: How) -> None:
        self.test, self.how = test, how
        self.name, self.path, self.file, self.text = test.name, test.path, test.path, test.text
        self.applies = not test.instance and os.path.isfile(test.path)  # a template is the text of many
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.judged = JudgedTexts()
        self.beyond: tuple[str, ...] = ()
        self.claims = tuple(self._claims(test))
        self._ends = True  # whether some execution of the test as it is does
        self._deadlocks: bool | None = None  # whether the test as it is may; asked where it matters

    def _claims(self, test: Test) -> Iterable[str]:
        from litmus.formats.printer import write_proposition

        for condition in test.conditions:
            if condition.asked:
                wanted = _forbidden(condition)
                yield f"{wanted.quantifier} {write_proposition(wanted.proposition)}"
        if any(c.asked and c.quantifier == "exists" for c in test.conditions):
            self.notes.append("what the test asks for by exists is taken as what must not happen")
        yield from dict.fromkeys((*test.checks, *self.how.checks))

    def sites(self, mode: str, arrivals: bool = False, apart: bool = False) -> list[EditSite]:
        """What may be changed; `arrivals`: those that may be missing, too. A litmus test has no calls."""
        from ptxmm.repair.litmus_sites import sites

        self.left_out = []
        with self.how.limited():
            found = sites(self.test, mode, self.left_out, arrivals)
        if any(
            o.meets for s in found for o in s.options
        ):  # each kind is one site, which has one way for all of its threads
            self.beyond = ("more than one barrier of a kind in the same threads",)
        return found

    def objects(self, lines: frozenset[int]) -> frozenset[str]:
        """Nothing that a litmus test lacks is looked for by its name."""
        return frozenset()

    guards = objects

    def glimpsed(self) -> Judgement | None:
        """A litmus test is not run."""
        return None

    def judge(self, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a changed text, and some execution still ends. Raises OutOfTime."""
        from litmus.formats import read
        from ptxmm.api import check

        how = self.how
        try:
            test = read(text, self.path, self.test.instance)
        except InputError as error:
            if text == self.text:
                raise
            return Judgement(False, reason=error.diagnostics[0].message)
        asking = replace(test, condition=_forbidden(test.condition), more=tuple(map(_forbidden, test.more)), meta=())
        try:
            result = check(
                asking,
                how.model,
                unroll=how.unroll,
                timeout=how.left(patience),
                checks=how.checks,
                witnesses=False,
                options=how.options,
            )
        except InputError as error:
            if text == self.text:
                raise
            return Judgement(False, reason=error.diagnostics[0].message)
        judged = of_result(result, asking.condition.asked)
        if text == self.text:
            self._ends = not judged.nonterminating
        if judged.holds and text != self.text and _meets(test):
            return met(judged, self.waits(text, patience), _waits(test))
        return judged

    def judge_weaker(self, text: str, patience: float | None = None) -> Judgement:
        """A litmus test has the threads that it has."""
        return self.judge(text, patience)

    def smaller(self) -> Iterator[Subject]:
        return iter(())

    def larger(self, text: str) -> Larger:
        """A litmus test has the threads that it has."""
        return Larger()

    weaker_in_larger = larger

    def judge_on(self, larger: Larger, text: str, patience: float | None = None) -> Judgement:
        """A litmus test has the threads that it has."""
        return Judgement(None)

    def in_source(self, changes: Sequence[Wanted], weaker: bool = False) -> Rewritten | None:
        """A litmus test is compiled from nothing."""
        return None

    def spot(self, line: int) -> tuple[str, int] | None:
        """A litmus test is compiled from nothing."""
        return None

    def place(self, line: int) -> str:
        """A litmus test is compiled from nothing."""
        return ""

    def _stuck_at_first(self) -> bool | None:
        if self._deadlocks is None:
            self._deadlocks = self._stuck(self.test)
        return self._deadlocks

    def waits(self, text: str, patience: float | None = None) -> bool | None:
        """Whether a changed text leaves threads waiting that do not wait in the text as it is, or any where no
        execution of that ends; None where that takes more than `patience` seconds. Raises InputError, OutOfTime."""
        from litmus.formats import read

        stuck = self._stuck(read(text, self.path, self.test.instance), patience)
        return only_now(stuck, self._stuck_at_first) if self._ends else stuck

    def _stuck(self, test: Test, patience: float | None = None) -> bool | None:
        """Whether threads may deadlock at a barrier, or at an mbarrier; None where that takes long. Raises OutOfTime."""
        from ptxmm.api import check

        how = self.how
        asking = replace(
            test, condition=replace(test.condition, asked=False, proposition=Literal(True)), more=(), checks=(), meta=()
        )
        result = check(
            asking,
            how.model,
            unroll=how.unroll,
            timeout=how.left(patience),
            checks=_waits(test),
            witnesses=False,
            options=how.options,
        )
        return known_to_wait(result, _waits(test))


def known_to_wait(result: Result, kinds: Sequence[str]) -> bool | None:
    """Whether one of these checks fails; None where the time ran out before that was known."""
    checks = [c for c in result.checks if c.kind in kinds]
    if any(c.holds is False for c in checks):
        return True
    return None if result.stopped and any(c.holds is None for c in checks) else False


def only_now(waits: bool | None, at_first: Callable[[], bool | None]) -> bool | None:
    """Whether threads wait in a changed text that did not `at_first`, which is asked where it matters; None: not known."""
    if not waits:
        return waits
    first = at_first()
    return None if first is None else not first


def met(judged: Judgement, waits: bool | None, kinds: tuple[str, ...]) -> Judgement:
    """The judgement of a text that holds and has barriers, by whether threads deadlock there; nobody asked the test."""
    if waits is None:
        return Judgement(None, reason="out of time")
    return Judgement(False, False, kinds, waits=True) if waits else judged


def _meets(test: Test) -> bool:
    """Whether there is a barrier, or an mbarrier."""
    return bool({"bar", "barrier", "mbarrier"} & _opcodes(test))


def _opcodes(test: Test) -> set[str]:
    return {getattr(s, "opcode", "") for t in test.threads for s in t.statements}


def _waits(test: Test) -> tuple[str, ...]:
    """The checks that fail where threads deadlock at what a test has of barriers."""
    return ("no_deadlock", "terminates") if "mbarrier" in _opcodes(test) else ("no_deadlock",)


def _forbidden(condition: Condition) -> Condition:
    """What must hold: of an outcome asked for, that it does not occur."""
    return replace(condition, quantifier="~exists") if condition.quantifier == "exists" else condition


#: Checks that fail by an execution which a weaker program has, too. One that nobody passes is another matter.
_BY_EXECUTION = frozenset({"not exists", "~exists", "never", "forall", "race_free", "no_trap", "assertions"})


#: Instructions that wait for others: what is wrong with how they are met is so by all that stand there.
_MEETING = ("bar.", "barrier.")


def _in_an_execution(undefined: Undefined | None) -> bool:
    """Whether what has no meaning has none in an execution that weaker texts have, too: by a race, or because an instruction
    that is no barrier does there what it must not."""
    if undefined is None:
        return False
    return bool(undefined.flag) or (bool(undefined.culprits) and not _at_barriers(undefined, any))


def _at_barriers(undefined: Undefined, how: Callable[[Iterable[bool]], bool]) -> bool:
    """Whether any, or all, of the instructions that break a rule are barriers."""
    return how(site.instruction.startswith(_MEETING) for site in undefined.culprits)


def _clues(result: Result) -> frozenset[int]:
    """The lines at which threads are seen to wait; where none are, those of what is wrong."""
    failed = [c for c in result.checks if c.holds is False]
    waiting = {wait["line"] for c in failed for wait in c.waits if "line" in wait}
    if waiting:
        return frozenset(waiting)
    culprits = result.undefined.culprits if result.undefined is not None else ()
    raced = (event.line for race in result.races for event in race.events)
    return frozenset((*(site.line for site in culprits if site.line), *raced))


#: Threads of kernels, as they are told.
_THREAD = re.compile(r"CTA (\d+) thread (\d+)")
_WARP = 32
#: What takes in threads, each later one more of them.
_WIDER = ("", "thread", "warp", "cta", "grid")


def _between(result: Result) -> str:
    """What takes in both threads of each race, as far as their names say it."""
    found = [_takes_in([_THREAD.search(event.thread) for event in race.events]) for race in result.races]
    return max(found, key=_WIDER.index, default="")


def _takes_in(threads: Sequence[re.Match[str] | None]) -> str:
    """What takes in two threads, by their names; empty where these do not say it."""
    one, other = threads if len(threads) == 2 else (None, None)
    if one is None or other is None:
        return ""
    if one[1] != other[1]:
        return "grid"
    if one[2] == other[2]:
        return "thread"
    return "warp" if int(one[2]) // _WARP == int(other[2]) // _WARP else "cta"


def of_result(result: Result, asked: bool = True) -> Judgement:
    """What a result says of a changed text."""
    checks = [c for c in result.checks if asked or c.kind in ("race_free", "no_deadlock", "terminates", "no_trap")]
    failed = tuple(dict.fromkeys(c.text for c in checks if c.holds is False))
    wrong = any(c.holds is False and not c.hangs and c.kind in _BY_EXECUTION for c in checks)
    if failed:
        waits = any(c.holds is False and c.kind in ("terminates", "no_deadlock") for c in checks)
        undecided = tuple(dict.fromkeys(c.text for c in checks if c.holds is None))
        nonterminating = any(c.holds is False and c.hangs for c in checks)
        clues = _clues(result)
        return Judgement(
            False,
            wrong,
            failed,
            waits=waits,
            undecided=undecided,
            nonterminating=nonterminating,
            clues=clues,
            between=_between(result),
            lacking=frozenset(lack for race in result.races for lack in race.lacking),
        )
    if result.verdict == "undefined":
        reason = result.error or "undefined"
        wrong = _in_an_execution(result.undefined)
        met = result.undefined is not None and bool(result.undefined.culprits) and _at_barriers(result.undefined, all)
        nonterminating = result.undefined is not None and result.undefined.nonterminating
        waits = met and not wrong
        return Judgement(
            False,
            wrong,
            ("undefined",),
            reason=reason,
            waits=waits,
            nonterminating=nonterminating,
            clues=_clues(result),
            between=_between(result),
        )
    if result.stopped or result.verdict in ("undecided", "error") or any(c.holds is None for c in checks):
        cut = REASONS[Coverage.ALL_CUT] in (result.error, *(c.message for c in checks if c.holds is None))
        return Judgement(None, reason=result.error or "undecided", nonterminating=cut and not result.stopped)
    if not result.of_kernel and not result.positive + result.negative:
        return Judgement(False, False, ("no execution ends",), nonterminating=result.verdict != "bounded")
    return Judgement(True, bounded=result.verdict == "bounded" or any(c.bounded for c in checks))
