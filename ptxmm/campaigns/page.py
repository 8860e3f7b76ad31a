"""The report of a campaign as one HTML page that stands alone: it loads nothing, follows the reader's colours, and sorts its
tables by a click on their heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ptxmm.campaigns.report import Summary, word_of

_SLOWEST = 50

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --no: #b3261e; --ok: #1b7f3b; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --no: #ff8a80; --ok: #7ddc96; --open: #e3b341; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .2rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { cursor: pointer; position: sticky; top: 0; background: Canvas; }
th[aria-sort=ascending]::after { content: " \\2191"; } th[aria-sort=descending]::after { content: " \\2193"; }
tbody tr:hover { background: var(--soft); } td.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.4 ui-monospace, monospace; } pre { margin: 0; white-space: pre-wrap; }
.never, .ok { color: var(--ok); } .always, .sometimes, .no, .error { color: var(--no); }
.undecided, .bounded, .undefined { color: var(--open); }
"""

_SCRIPT = """
document.querySelectorAll("th").forEach(th => th.addEventListener("click", () => {
  const table = th.closest("table"), at = [...th.parentNode.children].indexOf(th), body = table.tBodies[0];
  const down = th.getAttribute("aria-sort") === "ascending", key = tr => {
    const td = tr.children[at]; return td.dataset.v === undefined ? td.textContent : Number(td.dataset.v); };
  const rows = [...body.rows].map(tr => [key(tr), tr]);
  rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1));
  table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map(row => row[1]));
}));
"""


class Cell:
    """What stands in a table: a text, or a number, which is sorted as one."""

    def __init__(self, text: str, number: float | None = None, kind: str = "") -> None:
        self.text, self.number, self.kind = text, number, kind

    def html(self) -> str:
        if self.number is not None:
            return f'<td class="n" data-v="{self.number}">{escape(self.text)}</td>'
        return (
            f'<td class="{escape(self.kind)}">{escape(self.text)}</td>'
            if self.kind
            else f"<td>{escape(self.text)}</td>"
        )


def _count(count: int) -> Cell:
    return Cell(f"{count:,}", count)


def _word(word: str) -> Cell:
    return Cell(word, kind=word.split(" ")[0])


def page(summary: Summary) -> str:
    """The page, with every test."""
    names = [column.name for column in summary.columns]
    title = f"Campaign {summary.path}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_head(summary))}</p>",
        f"<p><code>{escape(summary.command)}</code></p>",
    ]
    verdicts = [[_word(word), *map(_count, counts)] for word, counts in summary.verdicts()]
    parts += _section("Verdicts", ["verdict", *names], verdicts)
    observed = [[_word(word), *map(_count, counts)] for word, counts in summary.observations()]
    parts += _section("How often the condition is satisfied", ["", *names], observed)
    if len(names) > 1:
        together = [[_count(count), *map(_word, pattern)] for pattern, count in summary.patterns()]
        parts += _section("What the models say together", ["tests", *names], together)
    parts += _section("Slowest", ["seconds", "test", "model", "file"], _slowest(summary))
    troubles = [
        [_word(row.verdict), Cell(line.path), Cell(column.name), Cell(row.error or "")]
        for line, column, row in summary.troubles()
    ]
    parts += _section("Without an answer", ["verdict", "file", "model", "why"], troubles)
    parts += _section("Not tests", ["path", "why"], [[Cell(p.path), Cell(p.problem)] for p in summary.problems])
    parts += _section("All tests", ["test", *names, "states", "seconds", "file"], _tests(summary))
    columns = [[Cell(c.name), Cell(c.model), Cell(c.options), Cell(c.version)] for c in summary.columns]
    parts += _section("Models", ["column", "model", "options", "ptxmm"], columns)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</html>\n"
    )


def _head(summary: Summary) -> str:
    tests = len(summary.lines) - len(summary.problems)
    ended = "" if summary.ended else " The campaign did not come to its end."
    return f"{tests:,} tests, {len(summary.rows):,} of {summary.asked:,} answers, {summary.seconds:.1f} seconds of work.{ended}"


def _slowest(summary: Summary) -> Iterable[Sequence[Cell]]:
    for line, column, row in summary.slowest(_SLOWEST):
        yield [Cell(f"{row.seconds:.3f}", row.seconds), Cell(line.name), Cell(column.name), Cell(line.path)]


def _tests(summary: Summary) -> Iterable[Sequence[Cell]]:
    for line in summary.lines:
        if not line.problem:
            states = " / ".join("-" if row is None else str(row.positive + row.negative) for row in line.rows)
            seconds = sum(row.seconds for row in line.rows if row is not None)
            words = [_word(word_of(row)) for row in line.rows]
            yield [Cell(line.name), *words, Cell(states), Cell(f"{seconds:.3f}", seconds), Cell(line.path)]


def _section(title: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    """A table under a title; nothing where it is empty."""
    body = ["<tr>" + "".join(cell.html() for cell in row) + "</tr>" for row in rows]
    if not body:
        return []
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return [
        f"<h2>{escape(title)}</h2>",
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead>\n<tbody>',
        *body,
        "</tbody></table></div>",
    ]
