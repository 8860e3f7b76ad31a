"""Comparisons of models written down: for people (`text`), and for programs (`json`)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from ptxcore.records import dataclass
from ptxmm import __version__
from ptxmm.comparing.answers import AnsweredTest, FinalState
from ptxmm.comparing.comparison import Comparison, ComparisonTelling
from ptxmm.comparing.differences import ModelDifference
from ptxmm.comparing.finding import ModelPair
from ptxmm.comparing.reasons import DifferenceReason
from ptxmm.harmless import plain
from ptxmm.report.herd import state_line
from ptxmm.report.json import json_text

#: The kinds of tests in the words of herd's tables.
KINDS = {"exists": "Allow", "not exists": "Forbid", "forall": "Require"}
#: States of one kind that the text shows of a test.
_MOST_STATES = 8


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search looked at, and what it did not settle: `where` in words, `size` the largest, `tests` by size, `told` and
    `open` by pair. `whole`: all of that was looked at. `alike`: of how many tests the models certainly say the same, so
    that these were not decided."""

    where: str
    size: int
    tests: Counter[int]
    told: dict[ModelPair, int]
    open: dict[ModelPair, list[tuple[str, str]]]
    whole: bool
    alike: int = 0


class ComparisonReport(Protocol):
    """Takes comparisons in order, each with what is told of its differences, and the files that were written for it."""

    def add(self, comparison: Comparison, told: Sequence[ComparisonTelling], files: Sequence[str] = ()) -> None: ...

    def end(self, seconds: float, searched: Searched | None = None) -> None: ...


class ComparisonText:
    """`all_tests`: also those that are the same. `texts`: the tests themselves are shown, as they are found."""

    def __init__(self, models: Sequence[str], *, all_tests: bool = False, texts: bool = False) -> None:
        self._models, self._all, self._texts = models, all_tests, texts
        self._counts: Counter[tuple[ModelPair, str]] = Counter()
        self._states: Counter[tuple[ModelPair, str]] = Counter()
        self._tests: Counter[str] = Counter()

    def add(self, comparison: Comparison, told: Sequence[ComparisonTelling], files: Sequence[str] = ()) -> None:
        status = comparison.status
        self._tests[status] += 1
        for d in comparison.differences:
            self._counts[(d.one.of, d.other.of), d.status] += 1
            self._states[(d.one.of, d.other.of), "lost"] += len(d.lost)
            self._states[(d.one.of, d.other.of), "won"] += len(d.won)
        if status == "same" and not self._all:
            return
        lines = [self._head(comparison)]
        shown: set[str] = set()
        for telling in told:
            lines += self._telling(telling, shown)
        lines += unknown_lines(comparison.differences)
        for d in comparison.differences:
            lines += [f"    not seen in runs: {text}" for text in _states(d.unseen)]
        lines += [f"    {path}" for path in files]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    def _head(self, comparison: Comparison) -> str:
        kind = next((KINDS[a.kind] for a in comparison.answers if a.kind in KINDS), "-")
        told = "   ".join(f"{plain(a.of)}: {answer_text(a)}" for a in comparison.answers)
        return f"{plain(comparison.name)}   {kind}   {told}"

    def _telling(self, telling: ComparisonTelling, shown: set[str]) -> list[str]:
        from litmus.formats.printer import write
        from litmus.test import Test

        lines = []
        if (self._texts or telling.reduced) and isinstance(telling.test, Test):
            text = write(telling.test)
            if text not in shown:
                shown.add(text)
                lines += ["", *(f"      {line}" for line in map(plain, text.splitlines())), ""]
        return lines + difference_lines(telling)

    def end(self, seconds: float, searched: Searched | None = None) -> None:
        if searched is not None:
            sys.stdout.write("\n".join(self._searched(searched, seconds)) + "\n")
            return
        tests = sum(self._tests.values())
        words = [f"{self._tests[s]} {_COUNTED[s]}" for s in _COUNTED if self._tests[s]]
        lines = [f"{_counted(tests, 'test')} compared: {', '.join(words) or 'nothing'}; {seconds:.2f} s"]
        pairs = dict.fromkeys(pair for pair, _ in self._counts)
        for one, other in pairs:
            pair = (one, other)
            more = "".join(
                f", {self._counts[pair, s]} {_COUNTED[s]}" for s in ("open", "unanswered") if self._counts[pair, s]
            )
            lines.append(
                f"{plain(one)} -> {plain(other)}: {self._counts[pair, 'differ']} differ{more}; "
                f"{_counted(self._states[pair, 'lost'], 'state')} lost, {self._states[pair, 'won']} won"
            )
        sys.stdout.write("\n".join(lines) + "\n")

    def _searched(self, searched: Searched, seconds: float) -> list[str]:
        count = sum(searched.tests.values())
        lines = []
        for pair, waiting in searched.open.items():
            one, other = map(plain, pair)
            if not searched.told.get(pair) and searched.whole:
                lines.append(f"{one} and {other}: none up to size {searched.size}")
            if waiting:
                names = ", ".join(plain(name) for name, _ in waiting[:5]) + (", ..." if len(waiting) > 5 else "")
                lines.append(f"{one} and {other}: {len(waiting)} not settled: {names}: {_first(waiting[0][1])}")
        by_size = ", ".join(f"{n} of size {size}" for size, n in sorted(searched.tests.items()))
        alike = f"; of {searched.alike} the models are the same" if searched.alike else ""
        lines.append(f"{_counted(count, 'test')} looked at ({by_size or 'none'}){alike}; {seconds:.2f} s")
        if not all(searched.told.values()):
            lines += ["looked at:", *(f"    {plain(part)}" for part in searched.where.split("; "))]
        return lines


def unknown_lines(differences: Sequence[ModelDifference]) -> list[str]:
    """Why it is not known how some compare: each reason once, a diagnostic with its source line."""
    lines: list[str] = []
    pairs: dict[tuple[str, str], list[str]] = {}
    for d in differences:
        if d.status in ("open", "unanswered"):
            pairs.setdefault((d.status, d.open), []).append(f"{plain(d.one.of)} and {plain(d.other.of)}")
    for (status, reason), who in pairs.items():
        first, *rest = reason.splitlines() or [""]
        lines.append(f"    {', '.join(who)}: {_STATUS[status]}: {plain(first)}")
        lines += [f"    {plain(line)}" for line in rest]
    return lines


_STATUS = {"open": "undecided", "unanswered": "not compared"}
_COUNTED = {"differ": "differ", "same": "the same", "open": "undecided", "unanswered": "not compared"}


def answer_text(answer: AnsweredTest) -> str:
    """`Ok, 3 states`."""
    if not answer.known:
        return answer.word
    if answer.verdict == "undefined":
        return "Undef"
    at_least = "" if answer.exact or answer.runs else "at least "
    seen = " seen" if answer.runs else ""
    return f"{answer.word}, {at_least}{_counted(len(answer.states), 'state')}{seen}"


def difference_lines(telling: ComparisonTelling) -> list[str]:
    """What one model allows and another does not, with the axiom."""
    d = telling.difference
    lines = []
    for one, other, states in ((d.one, d.other, d.lost), (d.other, d.one, d.won)):
        reason = next((r for r in telling.reasons if r.state and r.allows == one.of and r.forbids == other.of), None)
        for i, text in enumerate(_states(states)):
            why = f"   ({plain(because(reason))})" if reason is not None and i == 0 and because(reason) else ""
            lines.append(f"    {plain(one.of)} {_allows(one)}, {plain(other.of)} {_forbids(other)}: {text}{why}")
    if d.undefined:
        bad = d.one if d.one.verdict == "undefined" else d.other
        lines.append(f"    {plain(bad.of)} gives it no meaning: {_first(bad.message)}")
    for one, kinds in ((d.one, d.races_lost), (d.other, d.races_won)):
        if kinds:
            lines.append(f"    {plain(one.of)} alone finds races: {', '.join(kinds)}")
    return lines


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _allows(answer: AnsweredTest) -> str:
    return "showed" if answer.runs else "allows"


def _forbids(answer: AnsweredTest) -> str:
    return "did not show" if answer.runs else "forbids"


def because(reason: DifferenceReason) -> str:
    """The axioms that forbid a state, in words."""
    return f"{reason.forbids}: {_axioms(reason)}" if reason.axioms else reason.text


def forbidding(reason: DifferenceReason) -> str:
    """The same as the caption of a picture, of which nobody said what it shows."""
    return (
        f"{reason.forbids} forbids it: {_axioms(reason)}"
        if reason.axioms
        else f"{reason.forbids} forbids it. {reason.text}"
    )


def _axioms(reason: DifferenceReason) -> str:
    return " and ".join(reason.axioms) + ", each alone" * (reason.each and len(reason.axioms) > 1)


def _states(states: Sequence[FinalState]) -> list[str]:
    lines = [_state(s) for s in states[:_MOST_STATES]]
    return lines + [f"... and {len(states) - _MOST_STATES} more"] * (len(states) > _MOST_STATES)


def _state(state: FinalState) -> str:
    """`1:r0=1; [x]=2;`, as logs have it."""
    numbers = {name: value if isinstance(value, int) else 0 for name, value in state.items()}
    return state_line(numbers, {(name, 0): value for name, value in state.items() if isinstance(value, str)})


def _first(text: str) -> str:
    return plain(text.split("\n", 1)[0])


class ComparisonJson:
    def __init__(self, models: Sequence[str]) -> None:
        self._models = list(models)
        self._tests: list[dict[str, Any]] = []

    def add(self, comparison: Comparison, told: Sequence[ComparisonTelling], files: Sequence[str] = ()) -> None:
        by_pair = {(t.difference.one.of, t.difference.other.of): t for t in told}
        found = [_difference(d, by_pair.get((d.one.of, d.other.of))) for d in comparison.differences]
        self._tests.append({
            "name": comparison.name,
            "path": comparison.path,
            "size": comparison.case.size or None,
            "status": comparison.status,
            "answers": [_answer(a) for a in comparison.answers],
            "differences": found,
            "files": list(files),
        })  # fmt: skip

    def end(self, seconds: float, searched: Searched | None = None) -> None:
        document: dict[str, Any] = {
            "ptxmm": __version__,
            "models": self._models,
            "seconds": round(seconds, 6),
            "tests": self._tests,
        }
        if searched is not None:
            document["searched"] = {
                "where": searched.where,
                "size": searched.size,
                "to_the_end": searched.whole,
                "alike": searched.alike,
                "tests": {str(size): n for size, n in sorted(searched.tests.items())},
                "pairs": [
                    {"models": pair, "found": searched.told.get(pair, 0), "open": [list(o) for o in waiting]}
                    for pair, waiting in searched.open.items()
                ],
            }
        sys.stdout.write(json_text(document))


def _answer(answer: AnsweredTest) -> dict[str, Any]:
    return {
        "model": answer.of,
        "verdict": answer.verdict,
        "states": [dict(s) for s in answer.states],
        "exact": answer.exact,
        "runs": answer.runs,
        "races": list(answer.races),
        "message": answer.message or None,
        "seconds": round(answer.seconds, 6),
    }


def _difference(found: ModelDifference, telling: ComparisonTelling | None) -> dict[str, Any]:
    from litmus.formats.printer import write
    from litmus.test import Test

    test = telling.test if telling else None
    return {
        "models": [found.one.of, found.other.of],
        "status": found.status,
        "lost": [dict(s) for s in found.lost],
        "won": [dict(s) for s in found.won],
        "unseen": [dict(s) for s in found.unseen],
        "undefined": found.undefined,
        "races_lost": list(found.races_lost),
        "races_won": list(found.races_won),
        "open": found.open or None,
        "test": write(test) if isinstance(test, Test) else None,
        "reduced": bool(telling and telling.reduced),
        "reasons": [_reason(r) for r in telling.reasons] if telling else [],
    }


def _reason(reason: DifferenceReason) -> dict[str, Any]:
    return {
        "allows": reason.allows,
        "forbids": reason.forbids,
        "state": dict(reason.state),
        "axioms": list(reason.axioms),
        "each": reason.each,
        "text": reason.text or None,
    }
