"""Results as a folder of pages that open from disk: `index.html` with a table of the tests, which can be filtered and
sorted, and for each test a page with what caused a failure, the whole text, and pictures of executions. No page needs a
network, a server or, to be read, a script."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from ptxcore.records import NamedTuple
from ptxmm.checker import Outcome
from ptxmm.findings import Finding, assumptions, file_of
from ptxmm.report.drawings import Drawings
from ptxmm.report.pages import OF_TABLE, choice, foot, head, name_text, write_sheets
from ptxmm.report.pages import text as _text
from ptxmm.report.pictures import Picture, Pictures, WrittenPicture, group, scripts
from ptxmm.report.reasons import reason_lines, reason_of
from ptxmm.report.text import TextReport, count_of, duration
from ptxmm.result import VERDICTS, Result
from ptxmm.writing import write_whole

#: Outcomes and pictures that a page has at most: the whole text counts all of them.
_MOST_STATES, _MOST_PICTURES = 200, 60
#: How the picture of a state is named in its page, before the number of the state.
_EXECUTION = "execution"


class _Row(NamedTuple):
    """A line of the table, written: what is kept of a test, whose result may be large."""

    verdict: str
    good: str
    text: str


class HtmlReport:
    """A report in the folder `folder`. `model` and `unroll` are as for text; files of that name are written over."""

    def __init__(self, folder: str, model: str, *, unroll: int) -> None:
        self._folder, self._model = folder, model
        self._text = TextReport(model, colour=False, unroll=unroll, everything=True)
        self._rows: list[_Row] = []

    def begin(self, paths: list[str]) -> None:
        """Raises OSError where the folder or a file cannot be written."""
        write_sheets(self._folder)
        self._pages = Drawings({"html": os.path.join(self._folder, "tests")})
        self._pictures = Pictures(self._folder)
        self._write_index("<p class=bad>The run did not come to its end: what stands here is not all.</p>", 0.0)

    def add(self, outcome: Outcome) -> None:
        """Raises OSError where a file cannot be written."""
        page = "".join(_page(outcome, self._text.page(outcome), self._draw(outcome), self._model))
        (path,) = self._pages.put(outcome.result.name, {("html", "page"): page})
        self._rows.append(_row(outcome, f"tests/{os.path.basename(path)}"))

    def end(self, seconds: float, left: Sequence[Outcome]) -> None:
        """Raises OSError where a file cannot be written."""
        for outcome in left:
            self.add(outcome)
        self._write_index("", seconds)

    def _draw(self, outcome: Outcome) -> list[WrittenPicture]:
        """The pictures of a test, written."""
        wanted = [
            Picture(
                f"{what}{'-' if what else ''}{i}", _caption(outcome.result, what, i), text, f"{what or _EXECUTION}-{i}"
            )
            for what, found in (*(outcome.extra or {}).items(), ("", outcome.drawings))
            for i, text in enumerate(found.get("svg", ()))
        ]
        return self._pictures.put(outcome.result.name, wanted[:_MOST_PICTURES]) if wanted else []

    def _write_index(self, notice: str, seconds: float) -> None:
        write_whole(os.path.join(self._folder, "index.html"), "".join(self._index(notice, seconds)))

    def _index(self, notice: str, seconds: float) -> Iterator[str]:
        counts = {v: n for v in VERDICTS if (n := sum(row.verdict == v for row in self._rows))}
        said = ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no tests"
        bad = sum(row.good == "bad" for row in self._rows)
        yield head("ptxmm check")
        yield f"<h1>ptxmm check</h1>{notice}<p>{len(self._rows)} tests under {_text(self._model)}: {said}; "
        worst = "bad" if bad else "open" if any(row.good == "open" for row in self._rows) else "good"
        yield f"<span class={worst}>{bad} not as expected</span>; {seconds:.2f} s</p>\n"
        yield choice([("bad", f"not as expected ({bad})"), *((v, f"{v} ({n})") for v, n in counts.items())])
        yield f"<table class=tests aria-label='Tests with their verdicts'><colgroup>{5 * '<col>'}</colgroup>"
        yield "<thead><tr><th scope=col>Verdict</th>"
        yield "<th scope=col>Test</th><th scope=col>Says</th><th scope=col class=number>Time</th><th scope=col>File</th>"
        yield "</tr></thead>\n<tbody>\n"
        yield from (row.text for row in self._rows)
        yield f"</tbody></table>\n{foot(OF_TABLE)}"


def _row(outcome: Outcome, page: str) -> _Row:
    result, good = outcome.result, _good(outcome.result)
    says = "; ".join(f.message for f in outcome.findings) or reason_of(result)
    text = (
        f"<tr data-verdict={result.verdict} data-passed={good}><td>{_verdict(result)}</td>"
        f'<th scope=row><a href="{page}">{name_text(result.name)}</a></th><td>{_text(says)}</td>'
        f'<td class=number data-value="{result.seconds:.6f}">{duration(result.seconds)}</td>'
        f"<td>{name_text(file_of(result))}</td></tr>\n"
    )
    return _Row(result.verdict, good, text)


def _page(outcome: Outcome, text: str, pictures: Sequence[WrittenPicture], model: str) -> Iterator[str]:
    result = outcome.result
    yield head(result.name, "../")
    yield '<nav><a href="../index.html">All tests</a></nav>\n'
    yield f"<h1>{_text(result.name)}</h1>\n<p>{_verdict(result)} under {_text(result.model or model)}, "
    yield f"{duration(result.seconds)}, <code>{_text(result.path)}</code></p>\n"
    told = reason_lines(result)
    if told:
        yield f"<h2>Cause</h2>\n<pre>{_lines(told)}</pre>\n"
    yield from _told("What is not as expected", (f for f in outcome.findings if not f.known))
    yield from _told("Known findings", (f for f in outcome.findings if f.known))
    yield from _told("What the answer rests on", assumptions(result))
    drawn = [picture.name for picture in pictures]
    yield from _outcomes(result, drawn)
    if pictures:
        yield "<h2>Executions</h2>\n"
    yield from group(pictures, _spoken_of(result, drawn))
    yield f"<h2>Everything</h2>\n<pre>{_lines(text.splitlines())}</pre>\n{foot(scripts() if pictures else '')}"


def _told(title: str, found: Iterable[Finding]) -> Iterator[str]:
    items = list(found)
    if items:
        yield f"<h2>{title}</h2>\n<ul>\n"
        for finding in items:
            places = "".join(
                f"<li><code>{_text(str(spot))}</code>{_text(f': {what}' if what else '')}</li>"
                for spot, what in finding.spots
            )
            yield f"<li><strong>{_text(finding.kind)}</strong>: {_text(finding.message)}<ul>{places}</ul></li>\n"
        yield "</ul>\n"


def _spoken_of(result: Result, drawn: Sequence[str]) -> int:
    """Which picture to show first: one of a race, a wait or a reason, or else of the first state that a reader looks for."""
    if drawn and drawn[0].startswith(_EXECUTION) and not result.executions:
        asked = result.kind != "forall"
        names = [f"{_EXECUTION}-{i}" for i, satisfies in enumerate(result.satisfied) if satisfies == asked]
        return next((drawn.index(name) for name in names if name in drawn), 0)
    return 0


def _outcomes(result: Result, drawn: Sequence[str]) -> Iterator[str]:
    if result.states:
        names = list(dict.fromkeys(name for state in result.states for name in state))
        asked = bool(result.kind) and len(result.satisfied) == len(result.states)
        heads = ["Number", *names, *(["Condition"] if asked else [])]
        yield f"<h2>Outcomes</h2>\n<p>{_text(_promised(result))}</p>\n<table><thead><tr>"
        yield "".join(f"<th scope=col>{_text(name)}</th>" for name in heads) + "</tr></thead>\n<tbody>\n"
        for i, state in enumerate(result.states[:_MOST_STATES]):
            cells = "".join(f"<td class=value>{_text(str(state.get(name, '')))}</td>" for name in names)
            met = asked and result.satisfied[i]
            cells += f"<td>{'met' if met else 'not met'}</td>" if asked else ""
            name = f"{_EXECUTION}-{i}"
            number = f'<a href="#{name}">{i}</a>' if name in drawn and not result.executions else f"{i}"
            yield f"<tr{' class=meets' if met else ''}><th scope=row>{number}</th>{cells}</tr>\n"
        yield "</tbody></table>\n"
        if len(result.states) > _MOST_STATES:
            yield f"<p>and {len(result.states) - _MOST_STATES} more, in the text below</p>\n"


def _promised(result: Result) -> str:
    if result.verdict == "undefined":
        return "The program has no meaning, so nothing is promised of outcomes. What its executions would end in:"
    return count_of(result)


def _caption(result: Result, what: str, i: int) -> str:
    if what == "race":
        return f"an execution with race {i + 1}"
    if what == "wait":
        return "an execution that does not terminate"
    if what == "why":
        return "the outcome that the model forbids, and why"
    state = result.states[i] if i < len(result.states) and not result.executions else {}
    ends = ", ".join(f"{name}={value}" for name, value in state.items())
    return f"an execution that ends with {ends}" if ends else f"execution {i}"


def _verdict(result: Result) -> str:
    note = "" if result.passed and result.expectation == "ok" else (
        " as expected" if result.passed else f", expected {result.expectation.replace('|', ' or ')}"
    )  # fmt: skip
    return f"<span class='verdict {_good(result)}'>{result.verdict}</span>{_text(note)}"


def _good(result: Result) -> str:
    if result.verdict in ("undecided", "bounded"):  # accepted or not, it is not proven
        return "open"
    return "good" if result.passed or result.known else "bad"


def _lines(lines: Iterable[str]) -> str:
    return _text("\n".join(lines))
