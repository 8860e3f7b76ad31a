"""Results for people: a line for each test, and for a single test its outcomes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ptxmm.checker import Outcome
from ptxmm.findings import besides, bound_of
from ptxmm.harmless import plain
from ptxmm.result import VERDICTS, Cause, Checked, Executions, Result, undefined_by_race
from ptxmm.words.brief import (
    FEWEST_STEPS,
    LINES,
    WIDTH,
    StepLimits,
    cause_lines,
    causes,
    failing,
    height,
    race_lines,
    room_for_steps,
    told_first,
    wrapped,
)
from ptxmm.words.notes import followed, not_asked, warned

_QUANTIFIERS = {"exists": "exists", "not exists": "~exists", "forall": "forall"}
_COLOURS = {"good": "32", "bad": "1;31", "open": "33", "faint": "2", "bold": "1"}
_WIDEST = 64  # characters of the name column
_MOST_STATES = (40, 8, 4, 4)  # shown for a single test: of one that fails fewer, where there is no room
MOST_ELEMENTS = 16  # of each
#: Spin loops that are told one by one, and notes of what an answer rests on.
_MOST_LOOPS, _MOST_NOTES = 2, 3
#: How far pages leave out what follows from something else, and lines of what an endless execution does there.
_TIGHTEST, _LINES_OF_WAITS, _LINES_OF_CHECKS = 3, 3, 4
#: Findings of litmus tests that may be that an execution does not terminate.
_MAY_WAIT = ("condition", "no_deadlock", "terminates")
#: Findings of litmus tests that a row tells.
_IN_ROW = ("condition", "undecided", "bounded", "undefined", "expectation", "error")


class TextReport:
    """`single`: one test was asked for, by itself. `colour`: the output is a terminal that shows colours. `everything`: pages
    leave out nothing. `width`: columns to which pages, and what stands below rows, are wrapped; 0: they are not."""

    def __init__(self, model: str, *, colour: bool, unroll: int, everything: bool = False, width: int = 0) -> None:
        self._model, self._colour, self._unroll = model, colour, unroll
        self._everything, self._columns = everything, width
        self._single, self._width = False, 0
        self._results: dict[str, int] = {}
        self._failed = self._known = 0
        self._seen_warnings: set[str] = set()
        self._seen_files: set[str] = set()
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
                sys.stdout.write("\n".join(self._fitted([*self._page(result), *_partly_known(outcome)])) + "\n")
        else:
            below = [*self._brief(outcome), *self._warned(result), *self._kept(result)]
            sys.stdout.write("\n".join([self._row(result), *self._fitted(below)]) + "\n")

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

    def _fitted(self, page: list[str]) -> list[str]:
        """A page of the width that is wanted."""
        return [part for line in page for part in wrapped(line, self._columns)] if self._columns else page

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self._colour else text

    def _verdict(self, result: Result, width: int = 0) -> str:
        return self._paint(self._style(result), result.verdict.ljust(width))

    def _style(self, result: Result) -> str:
        if result.verdict in ("undecided", "bounded"):
            return "open"
        return "good" if result.passed else "bad"

    def _row(self, result: Result) -> str:
        path = plain(result.path)
        seen = "" if result.verdict == "undefined" else count_of(result)  # nothing is promised of outcomes then
        line = f"{self._verdict(result, 9)}  {path.ljust(self._width)}  {seen.ljust(21)} {duration(result.seconds):>8}"
        notes = "; ".join(self._notes(result, brief=True))
        return (line + ("  " + notes if notes else "")).rstrip()

    def _notes(self, result: Result, *, brief: bool = False) -> list[str]:
        notes = []
        if result.verdict in ("undecided", "undefined") and result.error:
            told_below = undefined_by_race(result) or (result.of_kernel and bool(causes(result)))
            brief = brief or (result.verdict == "undefined" and told_below)
            notes.append(plain(result.error if brief else result.trouble))
        if result.verdict == "error":
            notes.append("see the message")
        elif not result.passed and result.verdict != "undecided":
            expected = f"expected {result.expectation.replace('|', ' or ')}"
            if others := besides(result):
                expected += f", and it is {result.own}{others}"
            notes.append(f"{expected}, but known" if result.known else self._paint("bad", expected))
        elif result.passed and result.expectation != "ok":
            notes += ["as expected"]
        cut = [loop for loop in result.loops if loop.kind == "bounded"]
        if cut:
            notes.append(bound_of(result))
        elif not result.complete:
            notes.append(f"loops unrolled at most {self._unroll} time{'s' * (self._unroll != 1)}")
        return notes

    def _page(self, result: Result) -> list[str]:
        """What there is to say of a test, as far as it fits."""
        names = None
        if result.threads:
            from ptxmm.words.threads import ShortNames  # late: litmus tests have none

            names = ShortNames(result)
            result = names.renamed(result)

        def lines(limits: StepLimits) -> list[str]:
            page = self._lines(result, limits)
            return names.with_legend(page) if names else page

        if self._everything:
            return lines(StepLimits(None))
        width = self._columns or WIDTH
        page: list[str] = []
        for tight in range(_TIGHTEST + 1):
            room = room_for_steps(lines(StepLimits(0, width, tight=tight)), width)
            page = lines(StepLimits(room, width, tight=tight))
            over = height(page, width) - LINES
            if over > 0 and room > FEWEST_STEPS:  # steps name threads, which are told of, too
                page = lines(StepLimits(max(FEWEST_STEPS, room - over), width, tight=tight))
                over = height(page, width) - LINES
            if over <= 0 or not ((result.of_kernel and not result.why) or failing(result) or result.races):
                break
        return page

    def _lines(self, result: Result, limits: StepLimits) -> list[str]:
        page = self._head(result)
        if result.of_kernel or len(result.checks) > 1:
            page += self._checks(result, limits)
        first = causes(result) if result.of_kernel else []
        rests = self._rests_on(result, limits) if result.of_kernel or len(result.checks) > 1 or result.notes else []
        page += (
            [f"    {line}" for line in cause_lines(first, everything=limits.everything, fewest=limits.tightest)]
            if first
            else rests
        )
        if result.observation is not None and result.verdict != "undefined":  # nothing is promised of outcomes then
            page += self._outcomes(result, limits)
        page += [line for i, lines in enumerate(told(result, first, limits)) for line in [*_between(i, limits), *lines]]
        if (result.of_kernel or len(result.checks) > 1) and result.races:
            page += _between(len(page) if any(c.linearisation for c in failing(result)) else 0, limits)
        page += [f"    {line}" for line in race_lines(result, first, limits)]
        page += rests if first else []
        if result.why:
            page += [f"    {line}" for line in limits.outline([plain(line) for line in result.why["text"]], page)]
        elif result.forbidding and result.verdict != "undefined":  # nothing is promised of outcomes then
            joined = ", by " if result.forbidding_each else " and "
            page.append(f"    {_forbidden(result)} is forbidden by {joined.join(result.forbidding)}{_each(result)}")
        return [*page, *(f"    PTX: {plain(path)}" for path in result.kept)]

    def _head(self, result: Result) -> list[str]:
        """The first lines of a page. Of a litmus test what became of its outcome comes first, the verdict with the claim after
        it; of others, and where nothing is known of outcomes, the verdict."""
        by_outcomes = _tells_outcomes(result)
        first = self._paint(self._style(result), headline(result)) if by_outcomes else self._verdict(result)
        name = self._paint("bold", plain(result.name))
        page = [f"{first}  {name}  under {plain(result.model)}, {duration(result.seconds)}"]
        claim = ""
        if result.kind is not None and not result.of_kernel and len(result.checks) <= 1:
            claim = f"{_QUANTIFIERS[result.kind]} {result.condition}"
        notes = "; ".join(self._notes(result))
        if by_outcomes:
            if not claim:
                return [*page, f"    {'; '.join(filter(None, (self._verdict(result), notes)))}"]
            return [*page, f"    {self._verdict(result)}: {claim}", *([f"    {notes}"] if notes else [])]
        return [*page, *(f"    {line}" for line in (notes, claim) if line)]

    def _outcomes(self, result: Result, limits: StepLimits) -> list[str]:
        """How many outcomes there are, where the head does not say, and which; those that a reader looks for are marked."""
        page = [] if _tells_outcomes(result) else [f"    {count_of(result)}"]
        if not limits.everything and result.of_kernel and any(check.state for check in failing(result)):
            page[0] += " (--all lists them)"  # that of a counterexample is told with it
            return page
        asked = result.kind != "forall"  # the states that a reader looks for: those of the outcome, or counterexamples
        telling = [holds == asked for holds in result.satisfied] + [False] * (
            len(result.states) - len(result.satisfied)
        )
        numbers = list(range(len(result.states)))
        most = _MOST_STATES[limits.tight]
        if not limits.everything and len(numbers) > most:
            numbers = sorted(sorted(numbers, key=lambda i: not telling[i])[:most])
        states = [result.states[i] for i in numbers]
        names, left_out = columns(states, None if limits.everything else MOST_ELEMENTS)
        shown = table(states, names) if names else []
        page += [f"    {'*' if telling[i] else ' '} {line}" for i, line in zip(numbers, shown, strict=False)]
        if left_out:
            page.append(f"      and {left_out:,} more elements (--all tells them)")
        if len(result.states) > len(numbers):
            page.append(f"      and {len(result.states) - len(numbers)} more (--all tells them)")
        if not _all_listed(result):
            page.append("    there may be more states than these")
        if result.executions is not None:
            page.append(f"    {executions_of(result.executions)}")
        return page

    def _checks(self, result: Result, limits: StepLimits) -> list[str]:
        """Each check of a kernel test."""
        lines: list[str] = []
        last = ""
        for check in result.checks:
            word, style = {True: ("holds", "good"), False: ("fails", "bad"), None: ("open", "open")}[check.holds]
            if check.bounded:
                word, style = "bound", "open"
            start = f"    {self._paint(style, word.ljust(5))}  "
            is_property = check.kind == check.text
            if limits.tightest and is_property and start == last:
                lines[-1] += f", {check.kind}"
            else:
                lines.append(start + plain(limits.beginning(check.text, _LINES_OF_CHECKS)))
            last = start if is_property else ""
        return [*lines, *(f"    {line}" for line in not_asked(result))]

    def _rests_on(self, result: Result, limits: StepLimits) -> list[str]:
        """What the answers rest on; no more of it than a reader takes in."""
        waiting = [loop for loop in result.loops if loop.kind == "waiting"]
        loops = list({loop.spot: loop for loop in reversed(waiting)}.values())[
            ::-1
        ]  # of nested ones with one head the first
        notes = [plain(note) for note in (*warned(result), *result.notes)]
        if limits.everything or len(loops) <= (0 if limits.tight else _MOST_LOOPS):
            lines = [plain(followed(loop)) for loop in loops]
        else:
            places = ", ".join(dict.fromkeys(str((loop.source or loop.spot).line) for loop in loops))
            named = "a spin loop, of line" if len(loops) == 1 else f"{len(loops)} spin loops, of lines"
            lines = [f"{named} {places}: the last iteration stands for all (--all tells more)"]
        if limits.tightest and len(lines) + len(notes) > 1:
            counts = [(len(loops), "spin loop"), (len(notes), "note")]
            told = " and ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts if count)
            return [f"    it rests on {told} (--all tells of them)"]
        if not limits.everything and len(notes) > _MOST_NOTES:
            notes[_MOST_NOTES - 1 :] = [f"and {len(notes) - _MOST_NOTES + 1} more notes (--all tells them)"]
        return [f"    {line}" for line in (*lines, *notes)]

    def _warned(self, result: Result) -> list[str]:
        """Warnings about modules, below the row of the first test that has each."""
        new = [text for text in warned(result) if text not in self._seen_warnings]
        self._seen_warnings.update(new)
        return [f"    {plain(text)}" for text in new]

    def _kept(self, result: Result) -> list[str]:
        """The files of PTX that lines are told of, below the row of the first test that fails with each."""
        new = [path for path in result.kept if path not in self._seen_files and not result.passed]
        self._seen_files.update(new)
        return [f"    PTX: {plain(path)}" for path in new]

    def _brief(self, outcome: Outcome) -> list[str]:
        """Below the row of a test that fails: what is wrong, and where. Of a litmus test, what its row does not
        tell: races, who waits, what is not known where the rest is."""
        if outcome.result.known:
            return []
        new = [f for f in outcome.findings if not f.known]
        lines = []
        told: dict[
            tuple[object, ...], str
        ] = {}  # places, with what happens there: what shows several things is told once
        for finding in new:
            waits = finding.kind in _MAY_WAIT and any(what for _, what in finding.spots)
            if finding.kind in _IN_ROW and not (outcome.result.of_kernel or waits or len(new) < len(outcome.findings)):
                continue
            where = tuple(finding.spots) if any(what for _, what in finding.spots) else ()
            if where and told.setdefault(where, finding.kind) != finding.kind:
                lines.append(f"    {finding.kind} does not hold, for the same reason")
            elif finding.kind != "bounded":
                lines.append(f"    {plain(finding.message)}")
                lines += [f"      {plain(f'{spot}: {what}')}" for spot, what in finding.spots if what]
        return lines


def _partly_known(outcome: Outcome) -> list[str]:
    """Below the page of a test: which findings are known, where others are not."""
    known = [f for f in outcome.findings if f.known]
    return [f"    known: {plain(f.message)}" for f in known if len(known) < len(outcome.findings)]


def told(result: Result, causes: Sequence[Cause], limits: StepLimits) -> list[list[str]]:
    """What shows that each check does not hold. One execution may show it of several; where it is one that does not end, the
    first of them says why. Causes are told elsewhere."""
    found: dict[object, list[Checked]] = {}
    for check in failing(result):
        of_states = not result.of_kernel and check is result.checks[0] and bool(result.states)
        if not of_states and not (check.kind == "race_free" and result.races):
            shown = (tuple(check.spots), tuple(check.linearisation))
            found.setdefault(shown if any(shown) else check.message, []).append(check)
    if limits.tightest:
        return [_shown(checks, causes, limits, first=not i) for i, checks in enumerate(found.values())]
    return [_shown(checks, causes, limits) for checks in found.values()]


def _shown(checks: Sequence[Checked], causes: Sequence[Cause], limits: StepLimits, *, first: bool = True) -> list[str]:
    """Why some checks do not hold that one execution breaks; of another execution than the `first` only what it is."""
    shown = checks[0]
    heads: dict[str, list[Checked]] = {}
    for check in checks:
        again = (
            check.message != shown.message and _ends_nowhere(check) and _ends_nowhere(shown) and not limits.everything
        )
        heads.setdefault("for the same reason" if again else _message(check, limits), []).append(check)
    told = [f"    {_headed(those, plain(message))}" for message, those in heads.items()]
    if not first:
        return [f"    {limits.beginning(line.strip(), _LINES_OF_WAITS)}" for line in told]
    spots = [] if shown.causes and shown.steps else shown.spots  # the steps say it
    return [
        *told,
        *(f"      {plain(f'{spot}: {what}')}" for spot, what in spots if not told_first(spot, what, causes)),
        *(f"      {plain(line)}" for line in limits.linearisation(shown.linearisation, shown.steps, shown.left)),
    ]


def _message(check: Checked, limits: StepLimits) -> str:
    """Why a check does not hold; where there is no room, without its text, which stands above."""
    message = check.message
    if limits.tightest and message.startswith(check.text):
        return check.kind + message[len(check.text) :]
    return message


def _between(number: int, limits: StepLimits) -> list[str]:
    """What keeps apart what shows that checks do not hold; before what is no first thing nothing where there is no room."""
    return [] if number and limits.tightest else [""]


def unfulfilled(check: Checked) -> str:
    """That a check does not hold, and why, in a line."""
    said, message = f"{check.text} does not hold", check.message
    if message.startswith(said):
        return message
    return f"{said}: {message}" if message else said


def _ends_nowhere(check: Checked) -> bool:
    """Whether a check does not hold because an execution does not end."""
    return check.hangs or bool(check.waits)


def _headed(checks: Sequence[Checked], message: str) -> str:
    named = message.startswith((checks[0].kind, plain(checks[0].text)))
    return message if named else f"{', '.join(check.kind for check in checks)}: {message}"


def _each(result: Result) -> str:
    if not result.forbidding_each:
        return ""
    return ": each alone is enough"


def _forbidden(result: Result) -> str:
    """What no execution shows: the outcome, or whatever is not the outcome where all executions show that."""
    if result.observation != "always":
        return "the outcome"
    return "a counterexample" if result.kind == "forall" else "any other outcome"


def headline(result: Result) -> str:
    """`forbidden: 0 of 3 outcomes`: what became of the outcome that a litmus test asks for, and which of its other checks
    fail or are open."""
    bound = "" if result.complete else " within the bounds of loops"
    total = result.positive + result.negative
    word, colon, count = count_of(result).partition(":")
    first, last = (
        (bound, "") if _word(result) in _OF_ALL else ("", bound)
    )  # what is seen is so; how many there are may not be
    said = f"{word}{first}{colon}{count}" + (f" outcome{'s' * (total != 1)}{last}" if total else "")
    more = [f"{c.kind} {'fails' if c.holds is False else 'is open'}" for c in result.checks[1:] if not c.holds]
    return "; ".join([said, *more])


def _tells_outcomes(result: Result) -> bool:
    """Whether the first line of a page says what became of the outcome."""
    return not result.of_kernel and result.observation is not None and result.verdict != "undefined"


#: What became of the outcome of a test, or of what must be so in all outcomes, by how many of them satisfy it.
_WORDS = {"never": "forbidden", "sometimes": "allowed", "always": "allowed"}
_WORDS_OF_ALL = {"never": "never", "sometimes": "not always", "always": "always"}
#: Those that say something of all executions.
_OF_ALL = ("forbidden", "always", "never")
_ASKED_OF_OUTCOMES = ("forall", "~exists", "never", "exists")


def count_of(result: Result) -> str:
    """`allowed: 1 of 4`, `not always: 3 of 4`: what became of the outcome of a test, or of what must be so in all of them, and
    how many satisfy the condition."""
    if result.observation is None:
        return ""
    count = result.positive + result.negative
    if count == 0:  # none ends; or a filter, or the model, leaves none
        return "no execution" if any(map(_ends_nowhere, result.checks[:1])) else "no outcome"
    if _all_listed(result):
        return f"{_word(result)}: {result.positive} of {count}"
    if result.positive and result.negative:
        return f"{_word(result)}: at least {result.positive} of at least {count}"
    word = _word(result)
    known = word not in _OF_ALL or _is_proven(result)
    return f"{word if known else 'not known'}: {result.positive} of the {count} listed"


def _is_proven(result: Result) -> bool:
    """Whether what was asked of outcomes is decided for those, too, that are not listed."""
    from ptxmm.answers import CHECKS  # late: few tests have more outcomes than are listed

    existential = result.kind == "exists"
    asked = [c for c in result.checks if c.kind in _ASKED_OF_OUTCOMES and CHECKS[c.kind][0] == existential]
    return not result.stopped and bool(asked) and all(c.holds is not existential and not c.bounded for c in asked)


def _all_listed(result: Result) -> bool:
    """Whether no outcome is missing: none was left out, and the search did not end early."""
    return result.listed_all and not result.stopped


def _word(result: Result) -> str:
    return (_WORDS_OF_ALL if result.kind == "forall" else _WORDS)[result.observation or "never"]


def executions_of(found: Executions) -> str:
    """`executions: 2 of 9 satisfy the proposition`."""
    count, more = found.positive + found.negative, "" if found.listed_all else "at least "
    bound = ", within the bounds of loops" if found.bounded else ""
    return f"executions: {more}{found.positive} of {more}{count} satisfy the proposition{bound}"


def duration(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def columns(states: Sequence[dict[str, int]], most: int | None = None) -> tuple[list[str], int]:
    """What states are told by, and how much is left out: `most` of what differs between them, and then of the rest."""
    names = list(dict.fromkeys(name for state in states for name in state))
    if most is None or len(names) <= most:
        return names, 0
    differing = [name for name in names if len({state.get(name) for state in states}) > 1]
    shown = set(list(dict.fromkeys((*differing, *names)))[:most])
    return [name for name in names if name in shown], len(names) - most


def table(states: list[dict[str, int]], names: Sequence[str] | None = None) -> list[str]:
    """States in aligned columns, of these names or of all: `1:r0=1  1:r1=0`."""
    names = columns(states)[0] if names is None else names
    cells = [[f"{name}={state[name]}" if name in state else "" for name in names] for state in states]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
