"""The report of a campaign as one HTML page that stands alone: it loads nothing, follows the reader's colours, and without a
server sorts its tables by their heads and shows what one looks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from ptxcore.records import NamedTuple
from ptxmm.campaigns.report import ReportLine, Summary, reason
from ptxmm.words.checks import state_of

_SLOWEST = 50
_LONG = 15  # rows, from which on a table can be searched
_STATES = 4  # of an outcome that not all allow, in one cell

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882;
  --no: #b3261e; --ok: #1b7f3b; --open: #8a5a00; --some: #6a3fb5; --all: #0a6e8a; }
@media (prefers-color-scheme: dark) {
  :root { --no: #ff8a80; --ok: #7ddc96; --open: #e3b341; --some: #c4a7ff; --all: #7fd3ea; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
table { border-collapse: collapse; } .wide { overflow-x: auto; } .long { max-height: 80vh; overflow: auto; }
th, td { text-align: left; padding: .2rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; white-space: nowrap; }
td { overflow-wrap: break-word; min-width: 4rem; max-width: 34rem; }
th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\2191"; } th[aria-sort=descending] button::after { content: " \\2193"; }
tbody tr:hover { background: var(--soft); } td.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
td.w { white-space: nowrap; } td.why { white-space: pre-wrap; font: 13px/1.4 ui-monospace, monospace; }
td button { font: inherit; padding: 0 .6rem; }
.ok { color: var(--ok); } .no, .error { color: var(--no); } .sometimes { color: var(--some); } .always { color: var(--all); }
.undecided, .bounded, .undefined, .open { color: var(--open); }
.find { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .3rem 0; align-items: center; }
.find input { font: inherit; width: 20rem; max-width: 100%; } .find select { font: inherit; }
"""

# A row shows where it has every word that is looked for, none behind a "-", and the chosen words in its columns.
_SCRIPT = """
const textOf = tr => tr.dataset.t ??= tr.textContent.toLowerCase();
document.querySelectorAll("th").forEach(th => {
  const button = document.createElement("button");
  button.type = "button"; button.append(...th.childNodes); th.append(button);
  button.addEventListener("click", () => {
    const table = th.closest("table"), at = th.cellIndex, body = table.tBodies[0], before = th.getAttribute("aria-sort");
    const key = tr => { const td = tr.cells[at]; return td.dataset.v === undefined ? td.textContent : Number(td.dataset.v); };
    const rows = [...body.rows].map(tr => [key(tr), tr]);
    const down = before ? before === "ascending" : rows.length > 0 && typeof rows[0][0] === "number";
    rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1));
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(row => row[1]));
  });
});
document.querySelectorAll(".find").forEach(bar => {
  const body = document.getElementById(bar.dataset.table).tBodies[0], rows = [...body.rows];
  const input = bar.querySelector("input"), selects = [...bar.querySelectorAll("select")], count = bar.querySelector("output");
  const show = () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(word => word && word !== "-");
    let shown = 0;
    for (const tr of rows) {
      const text = textOf(tr);
      const fits = words.every(word => word[0] === "-" ? !text.includes(word.slice(1)) : text.includes(word))
        && selects.every(select => !select.value || tr.cells[select.dataset.at].textContent === select.value);
      tr.hidden = !fits; shown += fits;
    }
    count.textContent = shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
  };
  input.addEventListener("input", show); selects.forEach(select => select.addEventListener("change", show));
  bar.hidden = false; bar.show = show; show();
});
document.querySelectorAll("tr[data-words]").forEach(tr => {
  const bar = document.querySelector(".find[data-table=tests]"), button = document.createElement("button");
  if (!bar) return;
  button.type = "button"; button.textContent = "show"; tr.lastElementChild.append(button);
  button.addEventListener("click", () => {
    bar.querySelector("input").value = "";
    const words = JSON.parse(tr.dataset.words);
    bar.querySelectorAll("select").forEach((select, i) => { select.value = words[i] ?? ""; });
    bar.show(); document.getElementById("tests-title").scrollIntoView();
  });
});
"""


class TableCell:
    """What stands in a table: a text, or a number, which is sorted as one."""

    def __init__(self, text: str, number: float | None = None, kind: str = "") -> None:
        self.text, self.number, self.kind = text, number, kind

    def html(self) -> str:
        kinds = f"n {self.kind}".strip() if self.number is not None else self.kind
        kind = f' class="{escape(kinds)}"' if kinds else ""
        value = "" if self.number is None else f' data-v="{self.number}"'
        text = escape(self.text)
        if " " not in text:  # a path or the name of a test, which does not break by itself
            text = text.replace("/", "/<wbr>").replace("+", "+<wbr>")
        return f"<td{kind}{value}>{text}</td>"


def _count(count: int) -> TableCell:
    return TableCell(f"{count:,}", count)


def _word(word: str) -> TableCell:
    return TableCell(word, kind=f"w {'open' if ' ' in word else word}")


class PageTable(NamedTuple):
    """A table under a title. `name` is how it is linked to; `chosen` are the columns whose words can be chosen among; `words`
    has, for each row, what is to be chosen in the table of all tests to see what the row counts."""

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    chosen: range = range(0)
    words: Sequence[Sequence[str]] = ()

    def html(self) -> str:
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.head)
        long = len(self.rows) > _LONG
        parts = [f'<h2 id="{self.name}-title">{escape(self.title)}</h2>']
        if long:
            parts.append(self._find())
        parts.append(
            f'<div class="wide{" long" * long}"><table id="{self.name}"><thead><tr>{heads}</tr></thead>\n<tbody>'
        )
        for number, row in enumerate(self.rows):
            words = f' data-words="{escape(json.dumps(self.words[number]))}"' if self.words else ""
            parts.append(f"<tr{words}>{''.join(cell.html() for cell in row)}</tr>")
        parts.append("</tbody></table></div>")
        return "\n".join(parts)

    def _find(self) -> str:
        choices = []
        for at in self.chosen:
            there = sorted({row[at].text for row in self.rows} - {""})
            options = "".join(f"<option>{escape(word)}</option>" for word in there)
            choices.append(
                f'<label>{escape(self.head[at])} <select data-at="{at}"><option value="">any</option>{options}</select></label>'
            )
        field = '<input type="search" placeholder="words, or -word for none of these">'
        return (
            f'<div class="find" data-table="{self.name}" hidden><label>find {field}</label>{"".join(choices)}'
            "<output></output></div>"
        )


def page(summary: Summary) -> str:
    """The page, with every test."""
    title = f"Campaign {summary.path}"
    tables = [table for table in _tables(summary) if table.rows]
    links = "".join(f'<a href="#{table.name}-title">{escape(table.title)}</a>' for table in tables)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_head(summary))}</p>",
        f"<p><code>{escape(summary.command)}</code></p>",
        f"<nav>{links}</nav>",
        *(table.html() for table in tables),
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</html>\n"
    )


def _tables(summary: Summary) -> Iterable[PageTable]:
    names = [column.name for column in summary.columns]
    verdicts = [[_word(word), *map(_count, counts)] for word, counts in summary.verdicts()]
    yield PageTable("verdicts", "Verdicts", ["verdict", *names], verdicts)
    observed = [[_word(word), *map(_count, counts)] for word, counts in summary.observations()]
    yield PageTable("observed", "How often the condition is satisfied", ["satisfied", *names], observed)
    if len(names) > 1:
        patterns = summary.patterns()
        together = [[_count(count), *map(_word, pattern), TableCell("")] for pattern, count in patterns]
        words = [pattern for pattern, _ in patterns]
        yield PageTable("together", "What the models say together", ["tests", *names, ""], together, words=words)
        yield PageTable(
            "differ",
            "Where the models differ",
            ["test", *names, "outcomes that not all allow", "file"],
            _differing(summary),
        )
    slow = [
        [
            TableCell(f"{s.row.seconds:.3f}", s.row.seconds),
            TableCell(s.line.name),
            TableCell(s.column.name),
            TableCell(s.line.path),
        ]
        for s in summary.slowest(_SLOWEST)
    ]
    yield PageTable("slowest", "Slowest", ["seconds", "test", "model", "file"], slow)
    unanswered = [
        [
            _word(row.verdict),
            TableCell(line.path),
            TableCell(column.name),
            TableCell(row.error or reason(row), kind="why"),
        ]
        for line, column, row in summary.unanswered()
    ]
    yield PageTable("open", "Without a whole answer", ["verdict", "file", "model", "why"], unanswered)
    problems = [[TableCell(line.path), TableCell(line.problem)] for line in summary.problems]
    yield PageTable("problems", "Not tests", ["path", "why"], problems)
    chosen = range(1, 1 + len(names))
    head = ["test", *names, *(f"outcomes, {name}" for name in names), "seconds", "file"]
    yield PageTable(
        "tests", "All tests", head, list(map(_test, (line for line in summary.lines if not line.problem))), chosen
    )
    columns = [
        [TableCell(c.name), TableCell(c.model), TableCell(c.options), TableCell(c.version)] for c in summary.columns
    ]
    yield PageTable("models", "Models", ["column", "model", "options", "ptxmm"], columns)


def _head(summary: Summary) -> str:
    tests = len(summary.lines) - len(summary.problems)
    ended = "" if summary.ended else " The campaign did not come to its end."
    return f"{tests:,} tests, {len(summary.rows):,} of {summary.asked:,} answers, {summary.seconds:.1f} seconds of work.{ended}"


def _test(line: ReportLine) -> Sequence[TableCell]:
    seconds = sum(row.seconds for row in line.rows if row is not None)
    outcomes = [TableCell("-", -1) if row is None else _count(row.positive + row.negative) for row in line.rows]
    return [
        TableCell(line.name),
        *map(_word, line.words),
        *outcomes,
        TableCell(f"{seconds:.3f}", seconds),
        TableCell(line.path),
    ]


def _differing(summary: Summary) -> Sequence[Sequence[TableCell]]:
    names = [column.name for column in summary.columns]
    return [
        [TableCell(line.name), *map(_word, line.words), TableCell(_apart(line, names)), TableCell(line.path)]
        for line in summary.differing()
    ]


def _apart(line: ReportLine, names: Sequence[str]) -> str:
    """The outcomes that only some columns allow, by the columns that allow them; empty where one of them has none."""
    if any(row is None or not row.whole for row in line.rows):
        return ""
    allowed: dict[str, list[str]] = {}
    for name, row in zip(names, line.rows, strict=True):
        for state in json.loads(row.states) if row is not None else ():
            allowed.setdefault(state_of(state), []).append(name)
    found: dict[tuple[str, ...], list[str]] = {}
    for state, who in allowed.items():
        if len(who) < len(names):
            found.setdefault(tuple(who), []).append(state)
    return ". ".join(f"{', '.join(who)}: {_some(states)}" for who, states in found.items())


def _some(states: Sequence[str]) -> str:
    more = len(states) - _STATES
    return "; ".join(states[:_STATES]) + (f"; and {more:,} more" if more > 0 else "")
