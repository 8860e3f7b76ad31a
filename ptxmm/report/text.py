"""Results for people: a line for each test, and for a single test its outcomes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ptxmm.checker import Outcome
from ptxmm.findings import besides, bound_of, event_text, undefined_by_race
from ptxmm.report import plain
from ptxmm.report.notes import followed, warned
from ptxmm.result import VERDICTS, Executions, Result

_QUANTIFIERS = {"exists": "exists", "not exists": "~exists", "forall": "forall"}
_COLOURS = {"good": "32", "bad": "1;31", "open": "33", "faint": "2", "bold": "1"}
_WIDEST = 64  # characters of the name column
_MOST_STATES = 40  # shown for a single test
_MOST_RACES = 12
#: Findings of litmus tests that may be that an execution does not terminate.
_MAY_WAIT = ("condition", "no_deadlock", "terminates")
#: Findings of litmus tests that a row tells.
_IN_ROW = ("condition", "undecided", "bounded", "undefined", "expectation", "error")


class TextReport:
    """`single`: one test was asked for, by itself. `colour`: the output is a terminal that shows colours."""

    def __init__(self, model: str, *, colour: bool, unroll: int) -> None:
        self._model, self._colour, self._unroll = model, colour, unroll
        self._single, self._width = False, 0
        self._results: dict[str, int] = {}
        self._failed = self._known = 0
        self._seen_warnings: set[str] = set()
        self._count = self._asked = 0

    def begin(self, paths: list[str]) -> None:
        self._single, self._asked = len(paths) == 1, len(paths)
        self._width = min(_WIDEST, max((len(p) for p in paths), default=0))

    def add(self, outcome: Outcome) -> None:
        result = outcome.result
        self._count += 1
        self._results[result.verdict] = self._results.get(result.verdict, 0) + 1
        self._failed += (
            result.verdict in ("ok", "bounded", "no", "undefined") and not result.passed and not result.known
        )
        self._known += sum(finding.known for finding in outcome.findings)
        if self._single:
            if result.verdict != "error":  # that is on standard error already
                sys.stdout.write("\n".join([*self._page(result), *_partly_known(outcome)]) + "\n")
        else:
            sys.stdout.write("\n".join([self._row(result), *self._brief(outcome), *self._warned(result)]) + "\n")

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        if self._single:
            return
        counts = ", ".join(f"{self._results[v]} {v}" for v in VERDICTS if v in self._results)
        asked = f" of {self._asked}" if self._count < self._asked else ""  # somebody interrupted
        tests = f"{self._count}{asked} test{'s' * (self._count != 1 or bool(asked))}"
        text = f"{tests} under {plain(self._model)}: {counts or 'nothing done'}; "
        if self._failed:
            text += self._paint("bad", f"{self._failed} not as expected") + "; "
        if self._known:
            text += f"{self._known} known finding{'s' * (self._known != 1)}; "
        sys.stdout.write(text + f"{seconds:.2f} s\n")

    def page(self, outcome: Outcome) -> str:
        """What there is to say of one test, with nothing left out."""
        if outcome.result.verdict == "error":
            return outcome.result.error or "error"
        return "\n".join(self._page(outcome.result))

    # Pieces.

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self._colour else text

    def _verdict(self, result: Result, width: int = 0) -> str:
        if result.verdict in ("undecided", "bounded"):
            style = "open"
        else:
            style = "good" if result.passed else "bad"
        return self._paint(style, result.verdict.ljust(width))

    def _row(self, result: Result) -> str:
        path = plain(result.path)
        seen = "" if result.verdict == "undefined" else count_of(result)  # nothing is promised of outcomes then
        line = f"{self._verdict(result, 9)}  {path.ljust(self._width)}  {seen.ljust(21)} {duration(result.seconds):>8}"
        notes = "; ".join(self._notes(result, brief=True))
        return (line + ("  " + notes if notes else "")).rstrip()

    def _notes(self, result: Result, *, brief: bool = False) -> list[str]:
        notes = []
        if result.verdict in ("undecided", "undefined") and result.error:
            brief = brief or (result.verdict == "undefined" and undefined_by_race(result))  # told below
            notes.append(plain(result.error if brief else result.trouble))
        if result.verdict == "error":
            notes.append("see the message")
        elif not result.passed and result.verdict != "undecided":
            expected = f"expected {result.expectation.replace('|', ' or ')}"
            if others := besides(result):
                expected += f", and it is {result.own}{others}"
            notes.append(f"{expected}, but known" if result.known else self._paint("bad", expected))
        elif result.passed and result.expectation != "ok":
            notes.append("as expected")
        cut = [loop for loop in result.loops if loop.kind == "bounded"]
        if cut:
            notes.append(bound_of(result))
        elif not result.complete:
            notes.append(f"loops unrolled at most {self._unroll} time{'s' * (self._unroll != 1)}")
        return notes

    def _page(self, result: Result) -> list[str]:
        head = [f"{self._verdict(result)}  {self._paint('bold', plain(result.name))}", f"under {plain(result.model)}"]
        page = [f"{'  '.join(head)}, {duration(result.seconds)}"]
        notes = self._notes(result)
        if notes:
            page.append("    " + "; ".join(notes))
        if result.of_kernel or len(result.checks) > 1:
            page += self._checks(result)
        elif result.kind is not None:
            page.append(f"    {_QUANTIFIERS[result.kind]} {result.condition}")
        if result.observation is not None and result.verdict != "undefined":  # nothing is promised of outcomes then
            page += self._outcomes(result)
        page += [line for lines in told(result) for line in ["", *lines]]
        page += [""] * bool((result.of_kernel or len(result.checks) > 1) and result.races)
        page += [f"    {line}" for line in race_lines(result)]
        if result.why:
            return [*page, *(f"    {plain(line)}" for line in result.why["text"])]
        if result.forbidding:
            joined = ", by " if result.forbidding_each else " and "
            page.append(f"    {_forbidden(result)} is forbidden by {joined.join(result.forbidding)}{_each(result)}")
        return page

    def _outcomes(self, result: Result) -> list[str]:
        """How many outcomes there are, and which; those that a reader looks for are marked."""
        page = [f"    {count_of(result)}"]
        shown = table(result.states[:_MOST_STATES]) if any(result.states) else []
        asked = result.kind != "forall"  # the states that a reader looks for: those of the outcome, or counterexamples
        telling = [holds == asked for holds in result.satisfied] + [False] * len(shown)
        page += [f"    {'*' if mark else ' '} {line}" for mark, line in zip(telling, shown, strict=False)]
        if len(result.states) > _MOST_STATES:
            page.append(f"      and {len(result.states) - _MOST_STATES} more (--format json lists them)")
        if not result.listed_all:
            page.append("    there may be more states than these")
        if result.executions is not None:
            page.append(f"    {executions_of(result.executions)}")
        return page

    def _checks(self, result: Result) -> list[str]:
        """Each check of a kernel test, and what the answers rest on."""
        lines = []
        for check in result.checks:
            word, style = {True: ("holds", "good"), False: ("fails", "bad"), None: ("open", "open")}[check.holds]
            if check.bounded:
                word, style = "bound", "open"
            lines.append(f"    {self._paint(style, word.ljust(5))}  {plain(check.text)}")
        lines += [f"    {plain(followed(loop))}" for loop in result.loops if loop.kind == "waiting"]
        return lines + [f"    {plain(note)}" for note in (*warned(result), *result.notes)]

    def _warned(self, result: Result) -> list[str]:
        """Warnings about modules, below the row of the first test that has each."""
        new = [text for text in warned(result) if text not in self._seen_warnings]
        self._seen_warnings.update(new)
        return [f"    {plain(text)}" for text in new]

    def _brief(self, outcome: Outcome) -> list[str]:
        """Below the row of a test that fails: what is wrong, and where. Of a litmus test, what its row does not
        tell: races, who waits, what is not known where the rest is."""
        if outcome.result.known:
            return []
        new = [f for f in outcome.findings if not f.known]
        lines = []
        for finding in new:
            waits = finding.kind in _MAY_WAIT and any(what for _, what in finding.spots)
            if finding.kind in _IN_ROW and not (outcome.result.of_kernel or waits or len(new) < len(outcome.findings)):
                continue
            if finding.kind != "bounded":
                lines.append(f"    {plain(finding.message)}")
                lines += [f"      {plain(f'{spot}: {what}')}" for spot, what in finding.spots if what]
        return lines


def _partly_known(outcome: Outcome) -> list[str]:
    """Below the page of a test: which findings are known, where others are not."""
    known = [f for f in outcome.findings if f.known]
    return [f"    known: {plain(f.message)}" for f in known if len(known) < len(outcome.findings)]


def told(result: Result) -> list[list[str]]:
    """What shows that each check does not hold. One execution may show it of several."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for check in result.checks:
        of_states = not result.of_kernel and check is result.checks[0] and bool(result.states)
        if check.holds is False and not of_states and not (check.kind == "race_free" and result.races):
            lines = [f"      {plain(f'{spot}: {what}')}" for spot, what in check.spots]
            lines += [f"      {plain(line)}" for line in check.story]
            same = found.setdefault(tuple(lines) if lines else (check.message,), {})
            same.setdefault(check.message, []).append(check.kind)
    return [
        [
            *(f"    {_headed(kinds, plain(message))}" for message, kinds in heads.items()),
            *(l for l in lines if l[:1] == " "),
        ]
        for lines, heads in found.items()
    ]


def _headed(kinds: list[str], message: str) -> str:
    return message if message.startswith(kinds[0]) else f"{', '.join(kinds)}: {message}"


def _each(result: Result) -> str:
    if not result.forbidding_each:
        return ""
    return ": each alone is enough"


def race_lines(result: Result) -> list[str]:
    """Each race in a line, and why; of the races of two instructions, whoever executes them, the first. The execution of
    the first one of all, unless one was told already. What was told already is not told again."""
    found: dict[tuple[object, ...], list[str]] = {}
    others: dict[tuple[object, ...], int] = {}
    known = {line for check in result.checks if check.holds is False for line in check.story}
    for race in result.races:
        pair = (race["kind"], *sorted((e["line"], e["instruction"]) for e in race["events"]))
        others[pair] = others.get(pair, -1) + 1
        if pair in found:
            continue
        first, second = (plain(event_text(event)) for event in race["events"])
        between = f"{first} and {second}" if first != second else f"{first} and itself"
        found[pair] = [f"{race['kind']} race between {between}"]
        lines = [] if known else race.get("execution", [])
        lines = [*lines, *([race["reason"]] if race.get("reason") and race["reason"] not in known else [])]
        found[pair] += [f"    {plain(line)}" for line in lines]
        known.update(lines)
    for pair, lines in found.items():
        if others[pair]:
            lines[0] += f", and {others[pair]} more race{'s' * (others[pair] != 1)} of these instructions"
    shown = list(found.values())
    left = len(shown) - _MOST_RACES
    told = [line for lines in shown[:_MOST_RACES] for line in lines]
    return [*told, *([f"and {left} more pairs of instructions (--format json lists them)"] if left > 0 else [])]


def _forbidden(result: Result) -> str:
    """What no execution shows: the outcome, or whatever is not the outcome where all executions show that."""
    if result.observation != "always":
        return "the outcome"
    return "a counterexample" if result.kind == "forall" else "any other outcome"


def count_of(result: Result) -> str:
    """`sometimes, 1 of 4`."""
    if result.observation is None:
        return ""
    count = result.positive + result.negative
    if count == 0:
        return "no execution"
    if not result.listed_all and not (result.positive and result.negative):
        return f"{result.positive} of the {count} that are listed"
    if not result.listed_all:
        return f"{result.observation}, at least {result.positive} of at least {count}"
    return f"{result.observation}, {result.positive} of {count}"


def executions_of(found: Executions) -> str:
    """`executions: 2 of 9 satisfy the proposition`."""
    count, more = found.positive + found.negative, "" if found.listed_all else "at least "
    bound = ", within the bounds of loops" if found.bounded else ""
    return f"executions: {more}{found.positive} of {more}{count} satisfy the proposition{bound}"


def duration(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(states: list[dict[str, int]]) -> list[str]:
    """States in aligned columns: `1:r0=1  1:r1=0`."""
    names = list(dict.fromkeys(name for state in states for name in state))
    cells = [[f"{name}={state[name]}" if name in state else "" for name in names] for state in states]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
