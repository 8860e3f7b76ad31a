"""A kernel test as what is repaired or weakened: the module that all its launches are of."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.kernels.kernels_alone import kernels_alone
from ptxmm.kernels.launch import Launch
from ptxmm.kernels.signature import own_sizes
from ptxmm.kernels.smaller import smaller_of
from ptxmm.kernels.test import ASSERTIONS, Check, KernelTest
from ptxmm.repair.beyond import NOT_KNOWN, Beyond, all_hold, beyond, claimed, name_of, verdict, with_ends
from ptxmm.repair.early_launch_sites import DEPENDENCE_WAIT
from ptxmm.repair.expected import with_expected
from ptxmm.repair.glance import glanced_at
from ptxmm.repair.grid_barrier import WORKSPACE
from ptxmm.repair.grid_sites import several_blocks
from ptxmm.repair.judgement import JudgedTexts, Judgement
from ptxmm.repair.larger import next_larger
from ptxmm.repair.pace import Pace
from ptxmm.repair.sites import EditSite, Wanted
from ptxmm.repair.source_words import SourceWords
from ptxmm.repair.stronger import only_stronger
from ptxmm.repair.subjects import How, Larger, Subject, known_to_wait, met, of_result, only_now, ships
from ptxmm.words.notes import NOT_ASKED

if TYPE_CHECKING:
    from ptxmm.repair.cuda.proof import CudaSource, Rewritten
    from ptxmm.repair.parity_sites import WaitsInTurn
    from ptxmm.repair.party_sites import BarriersOfSome
    from ptxmm.result import Result


#: Seconds of computing for the next larger launch, and for whether the module as it is leaves threads waiting.
_LARGER = 10.0
#: What orders threads of one warp alone: it rests on blocks of no more.
_OF_A_WARP = "bar.warp.sync"
#: The share of the time for the search: where a source is compiled and checked behind it, and where a larger launch alone is. A
#: repair that is proven in its author's language is worth more than one that is a little cheaper.
_BEFORE_SOURCE, _BEFORE_LARGER = 0.6, 0.8


class KernelSubject:
    """A kernel test. What it says does not hold (`race_free = false`) must hold all the same."""

    def __init__(self, test: KernelTest, how: How, is_smaller: bool = False) -> None:
        """Raises InputError for a test of several modules."""
        self.is_smaller = is_smaller
        texts = {launch.text for launch in test.launches}
        if len(texts) != 1:
            message = f"the launches of {test.name} are of {len(texts)} modules"
            raise InputError([Diagnostic(Span(0, 0, 0), message, "repair and weaken change one")], test.path, test.text)
        test = replace(test, launches=tuple(map(_in_clusters, test.launches)))
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.judged = JudgedTexts()
        self.beyond = _of_the_grid(test)
        if any(not check.wanted for check in test.checks):
            self.notes.append("what the test says does not hold is taken as what must hold")
        self.how, launch = how, test.launches[0]
        self._entries = frozenset(one.entry for one in test.launches)
        self.test = self._claimed(self._alone(test))
        self.name, self.path, self.text = test.name, launch.kept or launch.path, launch.text
        self.claims = tuple(dict.fromkeys(map(str, self.test.checks)))
        if all(check.expression is None and check.kind != ASSERTIONS for check in self.test.checks):
            self.notes.append(NOT_ASKED)
        bare = not test.text and os.path.isfile(launch.path)  # the test stands in no file: its file is the module
        self.applies = not launch.source and (launch.path != test.path or bare)
        self._source: CudaSource | None = None
        self._source_path = launch.source or how.source
        self.file = launch.source or launch.path
        if launch.source:
            kept = f"it is kept in {launch.kept}" if launch.kept else "that is in no file"
            self.notes.append(f"nvcc made the PTX of {launch.source} just now: {kept}")
        self._deadlocks: bool | None = None
        self._asked_at_first = False
        self._beyond: Beyond | None = None
        self._known: dict[tuple[str, str], Judgement] = {}
        self._sites: dict[tuple[str, bool, bool], tuple[list[EditSite], list[str]]] = {}
        self._pace = Pace()
        self._glances = ships(how.model) and not how.options

    @property
    def search_share(self) -> float:
        """The share of the time that is for the search."""
        return _BEFORE_SOURCE if self._source_path else _BEFORE_LARGER

    def sites(self, mode: str, arrivals: bool = False, apart: bool = False) -> list[EditSite]:
        """What may be changed; `arrivals`: those that may be missing, too; `apart`: each call of a function by itself. Raises
        OutOfTime."""
        from ptxmm.repair.kernel_sites import sites

        known = self._sites.get((mode, arrivals, apart))
        if known is None:
            left_out = list[str]()
            with self.how.limited():
                parties, turns = (self._parties, self._turns) if arrivals else (None, None)
                found = sites(self.test.launches, mode, arrivals, left_out, apart, parties, turns)
            known = self._sites[mode, arrivals, apart] = found, left_out
        self.left_out = list(known[1])
        return list(known[0])

    def objects(self, lines: frozenset[int]) -> frozenset[str]:
        """The names of the barriers and mbarriers that the statements at these lines of the module are about."""
        from ptxmm.repair.kernel_sites import objects_at

        return objects_at(self.test.launches[0].text, self._entries, lines)

    def guards(self, lines: frozenset[int]) -> frozenset[str]:
        """The names of what is waited for last before these lines of the module."""
        from ptxmm.repair.kernel_sites import waited_before

        return waited_before(self.test.launches[0].text, self._entries, lines)

    def glimpsed(self) -> Judgement | None:
        """What a few runs show to be wrong with the module as it is; None where they show nothing."""
        glanced = self._glance(self.test, self.text)
        return None if glanced is None else of_result(glanced)

    def judge(self, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a changed module, and no barrier leaves threads waiting that did not. Raises OutOfTime.

        Where none is known to have done so, that is asked at once: of a text that leaves threads waiting much else is hard to
        decide. What stays open so is asked by itself. It is not asked of a text that is stronger alone: its executions are
        those of the module as it is."""
        anew = self._may_wait_anew(text)
        if anew and not self._waits_at_first(patience):
            started = time.perf_counter()
            checks = dict.fromkeys((*self.test.checks, *map(Check, _waits(text))))
            judged = self._judged(replace(self.test, checks=tuple(checks)), text, patience)
            claimed = set(judged.failed) & set(self.claims)
            if judged.waits and not (judged.wrong or claimed) and self._deadlocks is None:
                return Judgement(None, reason="threads wait, and nobody knows whether they did before")
            patience = None if patience is None else patience - (time.perf_counter() - started)
            if judged.holds is not None or (patience is not None and patience <= 0):
                return judged
        judged = self._judged(self.test, text, patience)
        if judged.holds and anew:
            return met(judged, self.waits(text, patience), ("no_deadlock", "terminates"))
        return judged

    def _may_wait_anew(self, text: str) -> bool:
        """Whether a changed module may leave threads waiting that do not wait in the module as it is."""
        if text == self.text or not _meets(text):
            return False
        alone, now = (kernels_alone(one, self._entries) for one in (text, self.text))
        return not (ships(self.how.model) and only_stronger(alone, now))

    def waits(self, text: str, patience: float | None = None) -> bool | None:
        """Whether a changed module leaves threads waiting that do not wait in the module as it is; None where that takes more
        than `patience` seconds. Raises InputError, OutOfTime."""
        stuck = self._stuck(text, patience)
        return only_now(stuck, self._stuck_at_first)

    def judge_weaker(self, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of a weakened module, and in larger launches those that hold there of the module as it is.
        What no larger launch decides is `unsure`. Raises OutOfTime."""
        self._glances = False  # what fails is told, and not only that something does
        judged = self.judge(text, patience)
        if not judged.holds:
            return judged
        for where, test in self._beyond_launch().tests:
            there = self._in_larger(where, test, text, patience)
            if there.holds is False:
                return there._replace(launch=where)
            if there.holds is None:
                if patience is not None:
                    return there
                judged = judged._replace(unsure=f"{where}: {there.reason}")
        return judged

    def weaker_in_larger(self, text: str) -> Larger:
        """What became of a weakened module in larger launches, or why none was asked. Raises OutOfTime."""
        beyond = self._beyond_launch()
        return beyond.told([self._in_larger(where, test, text) for where, test in beyond.tests])

    def _in_larger(self, where: str, test: KernelTest, text: str, patience: float | None = None) -> Judgement:
        """The judgement of a weakened module in a larger launch, remembered once it is known. Raises OutOfTime."""
        known = self._known.get((where, text))
        if known is None:
            known = self._judged(test, text, self._pace.wait(_LARGER) if patience is None else patience)
            if known.holds is not None:
                self._known[where, text] = known
        return known

    def smaller(self) -> Iterator[Subject]:
        """The test in smaller launches, the smallest first, with what is claimed of any launch, and what is expected there of
        the values that something is claimed of."""
        for small in smaller_of(self.test):
            test = with_expected(small, self.test)
            if test.checks:
                yield KernelSubject(test, self.how, is_smaller=True)

    def larger(self, text: str) -> Larger:
        """What becomes of the changed module in the tests of the same file that launch more threads of it; where there are
        none, in the next larger launch, as far as what is claimed is about any launch. Raises OutOfTime."""
        tests = tuple(self._larger())
        if tests:
            several = [self._judged(other, text) for other in tests]
            told = [f"{other.name}: {verdict(judged)}" for other, judged in zip(tests, several, strict=True)]
            return Larger(f"larger launches: {', '.join(told)}", all_hold(several), tests)
        other = next_larger(self.test, warps=text.count(_OF_A_WARP) > self.text.count(_OF_A_WARP))
        if other is None:
            return Larger(f"a larger launch was not tried: {NOT_KNOWN}")
        judged = self._judged(other, text, self._pace.wait(_LARGER))
        words = f"computed on {name_of(other)}: {claimed(other)}: {verdict(judged)}"
        return Larger(words, judged.holds, (other,))

    def judge_on(self, larger: Larger, text: str, patience: float | None = None) -> Judgement:
        """Whether the checks hold of the changed module in each of these launches. Raises OutOfTime."""
        judged = Judgement(None)
        for test in larger.tests:
            judged = self._judged(test, text, patience)
            if not judged.holds:
                break
        return judged

    def in_source(self, changes: Sequence[Wanted], weaker: bool = False) -> Rewritten | None:
        """The source with what compiles to these changes, checked as the module was, or as what is `weaker` is. None where no
        source is known."""
        from ptxmm.kernels.modules import options_for
        from ptxmm.repair.cuda.proof import CudaSource, Rewritten

        if not self._source_path:
            return None
        if self._source is None:
            try:
                options = self.test.launches[0].options or options_for(self.text)
                self._source = CudaSource(self._source_path, self.text, options)
            except (OSError, ValueError) as error:
                return Rewritten(self._source_path, why=f"cannot read it: {getattr(error, 'strerror', None) or error}")
        with self.how.limited():
            return self._source.rewritten(changes, self.judge_weaker if weaker else self.judge)

    def spot(self, line: int) -> tuple[str, int] | None:
        """The file and the line of the source that a line of the module comes from."""
        file, number = self._origins.origin(line)
        same = os.path.basename(file) == os.path.basename(self._source_path)
        return (self._source_path, number) if number and same else None

    def place(self, line: int) -> str:
        """The line of the source, as the module says it: `lock.cu:9`; empty where it says nothing."""
        return self._origins.place(line)

    @cached_property
    def _parties(self) -> BarriersOfSome:
        """The barriers of those alone who come by the places of its kernels."""
        from ptxmm.repair.parties import parties

        return parties(self.test)

    @cached_property
    def _turns(self) -> WaitsInTurn:
        """The turns at waits by parity in its kernels."""
        from ptxmm.repair.turns import turns

        return turns(self.test)

    @cached_property
    def _origins(self) -> SourceWords:
        return SourceWords(self.text)

    def _alone(self, test: KernelTest, text: str | None = None) -> KernelTest:
        """The test, or that of a changed text, without kernels that are not launched: each text is read again and again."""
        alone = kernels_alone(test.launches[0].text if text is None else text, self._entries)
        return replace(test, launches=tuple(replace(launch, text=alone) for launch in test.launches))

    def _claimed(self, test: KernelTest) -> KernelTest:
        """The test with everything that must hold."""
        checks = (*(replace(check, wanted=True) for check in test.checks), *map(Check, self.how.checks))
        return replace(test, checks=tuple(dict.fromkeys(checks)), expect=("ok",))

    def _beyond_launch(self) -> Beyond:
        """Larger launches with what holds there as it is; found out once. Raises OutOfTime."""
        if self._beyond is None:
            named = [(test.name, test) for test in self._larger()]
            if not named:
                # a barrier of the CTA may not be needed because there is one of the warp, which is no other's
                both = (False, True) if _OF_A_WARP in self.text else (False,)
                several = [next_larger(self.test, warps=warps) for warps in both]
                named = list({name_of(test): test for test in several if test is not None}.items())
            if _meets(self.text):
                named = [(where, with_ends(test, _waits(self.text))) for where, test in named]
            found = beyond(named, lambda test: self._checked(test, self.text, self._pace.wait(_LARGER)))
            self._beyond = found if named else Beyond(left=(NOT_KNOWN,))
        return self._beyond

    def _larger(self) -> list[KernelTest]:
        from ptxmm.kernels.files import tests_of

        found = []
        if not self.test.variant or not self.test.text:  # the only one of its file, or of no file
            return []
        file = tests_of(self.test.path)
        for name in file.variants:
            if name == self.test.variant:
                continue
            try:
                other = file.test(name)
            except InputError:
                continue
            if self._same_code(other) and _threads(other) > _threads(self.test):
                found.append(self._claimed(other))
        return found

    def _same_code(self, other: KernelTest) -> bool:
        entries = [launch.entry for launch in other.launches]
        texts = {launch.text for launch in other.launches}
        return texts == {self.text} and entries == [launch.entry for launch in self.test.launches]

    def _judged(self, test: KernelTest, text: str, patience: float | None = None) -> Judgement:
        started = time.perf_counter()
        glanced = None if text == self.text else self._glance(test, text, None if patience is None else patience / 2)
        if glanced is not None:
            return of_result(glanced)
        if patience is not None:  # what was looked at has had its share of it
            patience = max(patience - (time.perf_counter() - started), patience / 2)
        try:
            result = self._checked(test, text, patience)
        except InputError as error:
            if text == self.text:
                raise
            return Judgement(False, reason=error.diagnostics[0].message)
        return of_result(result)

    def _glance(self, test: KernelTest, text: str, patience: float | None = None) -> Result | None:
        """What some runs of a changed module show to be wrong, in so many seconds, where these take less than all that is asked
        of it. Raises OutOfTime."""
        from ptxmm.api import model_named

        model = self.how.model
        if not self._glances or not isinstance(model, str):
            return None
        with self._pace.measured():
            return glanced_at(self._alone(test, text), model_named(model), self.how.left(patience))

    def _checked(self, test: KernelTest, text: str, patience: float | None = None) -> Result:
        from ptxmm.api import check

        how = self.how
        with self._pace.measured():
            return check(
                self._alone(test, text), how.model, unroll=how.unroll, timeout=how.left(patience), witnesses=False,
                options=how.options,
            )  # fmt: skip

    def _waits_at_first(self, patience: float | None) -> bool:
        """Whether the module as it is is known to leave threads waiting; looked at once, for so many seconds. Raises
        OutOfTime."""
        if not self._asked_at_first:
            self._asked_at_first = True
            seconds = self._pace.wait(_LARGER) if patience is None else patience
            self._deadlocks = self._stuck(self.text, seconds) if self._deadlocks is None else self._deadlocks
        return bool(self._deadlocks)

    def _stuck_at_first(self) -> bool | None:
        if self._deadlocks is None:
            self._deadlocks = self._stuck(self.text)
        return self._deadlocks

    def _stuck(self, text: str, patience: float | None = None) -> bool | None:
        """Whether threads may deadlock at a barrier, or at an mbarrier; None where that takes long. Raises InputError,
        OutOfTime."""
        waits = _waits(text)
        result = self._checked(replace(self.test, checks=tuple(map(Check, waits))), text, patience)
        return known_to_wait(result, waits)


def _in_clusters(launch: Launch) -> Launch:
    """A launch with the clusters that its kernel itself says it has."""
    said = None if launch.cluster else own_sizes(launch.text, launch.entry)[1]
    if not said:
        return launch
    x, y, z = (*said, 1, 1)[:3]
    return replace(launch, cluster=(x, y, z))


def _of_the_grid(test: KernelTest) -> tuple[str, ...]:
    """What is not considered of a barrier of all blocks, where there are several that no cluster takes in."""
    several = any(map(several_blocks, test.launches))
    alone = "a barrier of the whole grid together with other changes, but where the lines of the fault led to both"
    return (alone if len(test.launches) == 1 else "a barrier of the whole grid, of one of several launches",) * several


def _meets(text: str) -> bool:
    return any(word in text for word in ("bar.", "barrier.", DEPENDENCE_WAIT))


def _waits(text: str) -> tuple[str, ...]:
    """The checks that fail where threads deadlock at what a module has of barriers."""
    ends = any(word in text for word in ("mbarrier.", DEPENDENCE_WAIT, WORKSPACE))
    return ("no_deadlock", "terminates") if ends else ("no_deadlock",)


def _threads(test: KernelTest) -> int:
    count = 0
    for launch in test.launches:
        each = 1
        for size in (*launch.grid, *launch.block):
            each *= size
        count += each
    return count
