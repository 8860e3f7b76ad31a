"""Results as a folder of pages that open from disk: `index.html` with a table of the tests, which can be filtered and
sorted, and for each test a page with what caused a failure, the whole text, and pictures of executions. No page needs a
network, a server or, to be read, a script."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ptxmm import __version__
from ptxmm.checker import Outcome
from ptxmm.findings import Finding, assumptions, file_of
from ptxmm.report.brief import cause_lines, causes
from ptxmm.report.drawings import Drawings
from ptxmm.report.files import write_whole
from ptxmm.report.junit import legal
from ptxmm.report.text import TextReport, count_of, duration
from ptxmm.result import VERDICTS, Result

#: Outcomes and pictures that a page has at most: the whole text counts all of them.
_MOST_STATES, _MOST_PICTURES = 200, 60

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #595959; --line: #c8c8c8; --soft: #f4f4f4;
  --good: #0a6b2c; --bad: #b00020; --open: #7a4b00; --link: #0b57b0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #141414; --faint: #a8a8a8; --line: #444; --soft: #202020;
    --good: #6fd08c; --bad: #ff8a8a; --open: #f0c070; --link: #8ab8ff; }
  figure img { filter: invert(0.92) hue-rotate(180deg); }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 90rem;
  padding: 1rem 1.5rem; }
a { color: var(--link); }
table { border-collapse: collapse; min-width: 50%; font-size: 0.95rem; }
table.tests { width: 100%; table-layout: fixed; }
.tests col:nth-child(1) { width: 9rem; } .tests col:nth-child(2), .tests col:nth-child(5) { width: 28%; }
.tests col:nth-child(4) { width: 6rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.7rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { background: var(--soft); white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre, code { font: 0.85rem/1.45 ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; }
pre { background: var(--soft); border: 1px solid var(--line); padding: 0.8rem; overflow-x: auto; white-space: pre-wrap; }
th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: ' \\2191'; }
th[aria-sort=descending] button::after { content: ' \\2193'; }
input, select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--faint);
  padding: 0.2rem 0.4rem; }
form { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0; }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption { color: var(--faint); }
.verdict { font-weight: bold; } .good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.faint { color: var(--faint); }
"""

_SCRIPT = """
const table = document.querySelector('table'), body = table.tBodies[0], rows = [...body.rows];
const [text, verdict, told] = ['text', 'verdict', 'told'].map(id => document.getElementById(id));
document.querySelector('form').hidden = false;
const words = rows.map(row => row.textContent.toLowerCase());
function filter() {
  const wanted = text.value.toLowerCase().split(/\\s+/);
  let count = 0;
  rows.forEach((row, i) => {
    row.hidden = !(wanted.every(word => words[i].includes(word)) &&
      (!verdict.value || verdict.value === row.dataset.verdict || verdict.value === row.dataset.passed));
    count += !row.hidden;
  });
  told.textContent = count + ' of ' + rows.length + ' tests';
}
text.addEventListener('input', filter);
verdict.addEventListener('change', filter);
document.querySelector('form').addEventListener('submit', event => event.preventDefault());
table.querySelectorAll('thead th').forEach((head, column) => {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener('click', () => {
    const up = head.getAttribute('aria-sort') !== 'ascending';
    table.querySelectorAll('th[aria-sort]').forEach(other => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const numbers = head.classList.contains('number');
    rows.toSorted((a, b) => (up ? 1 : -1) * (numbers ? value(a) - value(b) : value(a).localeCompare(value(b))))
      .forEach(row => body.append(row));
  });
});
filter();
"""


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
        self._pages = Drawings({"html": os.path.join(self._folder, "tests")})
        self._pictures = Drawings({"svg": os.path.join(self._folder, "pictures")})
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

    def _draw(self, outcome: Outcome) -> list[tuple[str, str]]:
        """The pictures of a test, written: where each is, and what it shows."""
        wanted: dict[tuple[str, str], str] = {}
        captions = []
        for what, found in (*(outcome.extra or {}).items(), ("", outcome.drawings)):
            for i, text in enumerate(found.get("svg", ())):
                if len(wanted) < _MOST_PICTURES:
                    wanted["svg", f"{what}{'-' if what else ''}{i}"] = text
                    captions.append(_caption(outcome.result, what, i))
        if not wanted:
            return []
        paths = self._pictures.put(outcome.result.name, wanted)
        return [(f"../pictures/{os.path.basename(p)}", c) for p, c in zip(paths, captions, strict=True)]

    def _write_index(self, notice: str, seconds: float) -> None:
        write_whole(os.path.join(self._folder, "index.html"), "".join(self._index(notice, seconds)))

    def _index(self, notice: str, seconds: float) -> Iterator[str]:
        counts = {v: n for v in VERDICTS if (n := sum(row.verdict == v for row in self._rows))}
        said = ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no tests"
        bad = sum(row.good == "bad" for row in self._rows)
        yield from _head("ptxmm check")
        yield f"<h1>ptxmm check</h1>{notice}<p>{len(self._rows)} tests under {_text(self._model)}: {said}; "
        yield f"<span class={'bad' if bad else 'good'}>{bad} not as expected</span>; {seconds:.2f} s</p>\n"
        options = "".join(f"<option value={verdict}>{verdict} ({n})</option>" for verdict, n in counts.items())
        yield (
            "<form hidden role=search><label>Filter <input id=text type=search></label> <label>Verdict <select id=verdict>"
            f"<option value=''>all</option><option value=bad>not as expected ({bad})</option>{options}</select></label> "
            "<output id=told class=faint></output></form>\n"
        )
        yield f"<table class=tests aria-label='Tests with their verdicts'><colgroup>{5 * '<col>'}</colgroup>"
        yield "<thead><tr><th scope=col>Verdict</th>"
        yield "<th scope=col>Test</th><th scope=col>Says</th><th scope=col class=number>Time</th><th scope=col>File</th>"
        yield "</tr></thead>\n<tbody>\n"
        yield from (row.text for row in self._rows)
        yield f"</tbody></table>\n{_foot()}<script>{_SCRIPT}</script></body></html>\n"


def _row(outcome: Outcome, page: str) -> _Row:
    result, good = outcome.result, _good(outcome.result)
    says = "; ".join(f.message for f in outcome.findings) or count_of(result)
    text = (
        f"<tr data-verdict={result.verdict} data-passed={good}><td>{_verdict(result)}</td>"
        f'<th scope=row><a href="{page}">{_text(result.name)}</a></th><td>{_text(says)}</td>'
        f'<td class=number data-value="{result.seconds:.6f}">{duration(result.seconds)}</td>'
        f"<td>{_text(file_of(result))}</td></tr>\n"
    )
    return _Row(result.verdict, good, text)


def _page(outcome: Outcome, text: str, pictures: Sequence[tuple[str, str]], model: str) -> Iterator[str]:
    result = outcome.result
    yield from _head(result.name)
    yield '<nav><a href="../index.html">All tests</a></nav>\n'
    yield f"<h1>{_text(result.name)}</h1>\n<p>{_verdict(result)} under {_text(result.model or model)}, "
    yield f"{duration(result.seconds)}, <code>{_text(result.path)}</code></p>\n"
    told = cause_lines(causes(result), everything=True)
    if told:
        yield f"<h2>Cause</h2>\n<pre>{_lines(told)}</pre>\n"
    yield from _told("What is not as expected", (f for f in outcome.findings if not f.known))
    yield from _told("Known findings", (f for f in outcome.findings if f.known))
    yield from _told("What the answer rests on", assumptions(result))
    yield from _outcomes(result)
    if pictures:
        yield "<h2>Executions</h2>\n"
    for path, caption in pictures:
        yield f'<figure><img loading=lazy src="{path}" alt="{_text(caption)}; its steps are in the text below">'
        yield f"<figcaption>{_text(caption)}</figcaption></figure>\n"
    yield f"<h2>Everything</h2>\n<pre>{_lines(text.splitlines())}</pre>\n{_foot()}</body></html>\n"


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


def _outcomes(result: Result) -> Iterator[str]:
    if result.states:
        names = list(dict.fromkeys(name for state in result.states for name in state))
        yield f"<h2>Outcomes</h2>\n<p>{_text(count_of(result))}</p>\n<table><thead><tr><th scope=col>Number</th>"
        yield "".join(f"<th scope=col>{_text(name)}</th>" for name in names) + "</tr></thead>\n<tbody>\n"
        for i, state in enumerate(result.states[:_MOST_STATES]):
            cells = "".join(f"<td>{_text(str(state.get(name, '')))}</td>" for name in names)
            yield f"<tr><th scope=row>{i}</th>{cells}</tr>\n"
        yield "</tbody></table>\n"
        if len(result.states) > _MOST_STATES:
            yield f"<p>and {len(result.states) - _MOST_STATES} more, in the text below</p>\n"


def _caption(result: Result, what: str, i: int) -> str:
    if what == "race":
        return f"an execution with race {i + 1}"
    if what == "wait":
        return "an execution in which threads wait for ever"
    if what == "why":
        return "the outcome that the model forbids, and why"
    state = result.states[i] if i < len(result.states) and not result.executions else {}
    ends = ", ".join(f"{name}={value}" for name, value in state.items())
    return f"execution {i}" + (f", which ends with {ends}" if ends else "")


def _head(title: str) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang=en><head><meta charset="utf-8">'
    yield '<meta name=viewport content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n"


def _foot() -> str:
    return f"<footer class=faint><p>ptxmm {_text(__version__)}</p></footer>\n"


def _verdict(result: Result) -> str:
    note = "" if result.passed and result.expectation == "ok" else (
        " as expected" if result.passed else f", expected {result.expectation.replace('|', ' or ')}"
    )  # fmt: skip
    return f"<span class='verdict {_good(result)}'>{result.verdict}</span>{_text(note)}"


def _good(result: Result) -> str:
    if result.passed or result.known:
        return "good"
    return "open" if result.verdict in ("undecided", "bounded") else "bad"


def _lines(lines: Iterable[str]) -> str:
    return _text("\n".join(lines))


def _text(text: str) -> str:
    """Text in a page, whatever is in it."""
    return html.escape(legal(text))
