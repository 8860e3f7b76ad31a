"""What pages of reports share: their sheet and script, which lie beside them as files, and how a page begins and ends."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence

from ptxmm import __version__
from ptxmm.report.junit import legal
from ptxmm.writing import write_whole

STYLE = """
:root { color-scheme: light dark; --ink: #1b2023; --paper: #fff; --faint: #586166; --line: #dcdfde; --edge: #868d8b;
  --soft: #f0f2f1; --good: #116329; --bad: #b3151f; --open: #7a4d00; --link: #12665a; --glow: #e2f1ee;
  --mono: ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ea; --paper: #15181b; --faint: #9aa4ab; --line: #30363c; --edge: #707a83; --soft: #20252a;
    --good: #6fd08c; --bad: #ff8f8f; --open: #eebf6b; --link: #5cc4b2; --glow: #1b3a36; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; max-width: 84rem; padding: 1.2rem 1.5rem 2rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.4rem 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.8rem 0 0.5rem; }
p { margin: 0.5rem 0; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 0.93rem; }
table.tests { width: 100%; table-layout: fixed; }
table.compared { table-layout: auto; }
.tests col:nth-child(1) { width: 8.5rem; } .tests col:nth-child(2), .tests col:nth-child(5) { width: 29%; }
.tests col:nth-child(4) { width: 6rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.35rem 0.7rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { background: var(--soft); white-space: nowrap; font-weight: 600; border-bottom-color: var(--edge); }
table.tests > thead th { position: sticky; top: 0; }
tbody th { font-weight: 600; }
tbody tr:hover { background: var(--glow); }
.tests td:last-child { color: var(--faint); font-size: 0.86rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.meets td.value { font-weight: 700; }
td.value { font-family: var(--mono); font-size: 0.86rem; }
pre, code { font: 0.85rem/1.5 var(--mono); }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem 1rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.5rem 0; }
pre.source { white-space: pre; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: ' \\2191'; }
th[aria-sort=descending] button::after { content: ' \\2193'; }
input, select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px;
  padding: 0.2rem 0.5rem; min-height: 2.1rem; max-width: 100%; }
form { display: flex; flex-wrap: wrap; gap: 0.6rem 1.4rem; align-items: center; margin: 1rem 0; }
form label { display: inline-flex; align-items: center; gap: 0.5rem; }
figure { margin: 1rem 0 1.4rem; overflow-x: auto; }
figcaption { color: var(--faint); font-size: 0.92rem; } figure img { max-width: max(100%, 34rem); height: auto; }
.beside { display: flex; flex-wrap: wrap; gap: 0 2rem; } .beside > * { flex: 1 1 34rem; min-width: 0; }
.beside figure { max-width: 100%; }
.stepped > :not(.view) { display: none; }
.drawn { overflow-x: auto; margin: 0.5rem 0; border-radius: 6px; }
.picture { position: relative; width: max-content; min-width: 100%; max-width: 100%; }
.tip { position: absolute; left: 0; top: 0; z-index: 1; width: max-content; max-width: min(26rem, 90%); padding: 0.3rem 0.6rem;
  pointer-events: none; font: 0.8rem/1.45 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; color: var(--paper);
  background: var(--ink); border-radius: 5px; }
.stepper { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; margin: 0.5rem 0; }
.stepper button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--edge); border-radius: 6px;
  min-width: 2.4rem; min-height: 2.1rem; cursor: pointer; }
.below { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.2rem 1.4rem; }
.below input { min-height: 0; }
.picture:has(.natural) { max-width: none; }
.place { min-width: 4.5rem; text-align: center; font-variant-numeric: tabular-nums; }
.relations { border: 0; margin: 0; padding: 0; min-width: 0; display: flex; flex-wrap: wrap; align-items: center;
  gap: 0.2rem 1rem; }
.relations legend { float: left; padding: 0; margin-right: 0.8rem; color: var(--faint); font-size: 0.92rem; }
.relations label { display: inline-flex; align-items: center; gap: 0.35rem; min-height: 1.7rem; font: 0.86rem var(--mono); }
.relations input { min-height: 0; } .swatch { width: 1.1rem; height: 3px; border-radius: 2px; }
summary { cursor: pointer; margin: 0.5rem 0; color: var(--link); }
.verdict { font-weight: 700; } .good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.faint { color: var(--faint); }
@media (max-width: 46rem) {
  body { padding: 0.8rem 1rem 1.5rem; }
  th, td { padding: 0.35rem 0.45rem; }
  table.tests { table-layout: auto; }
  .tests:not(.compared) col { width: auto !important; }
  .tests:not(.compared) :is(th, td):nth-child(n + 4), .compared :is(th, td):last-child { display: none; }
  .compared :is(th, td) { overflow-wrap: break-word; font-size: 0.8rem; padding: 0.3rem 0.25rem; }
  .compared thead th { white-space: normal; }
}
@media print { form, nav, .stepper, .relations, .below label { display: none; } body { max-width: none; } }
"""

SCRIPT = """
const table = document.querySelector('table.tests'), body = table.tBodies[0], rows = [...body.rows];
const [text, verdict, told] = ['text', 'verdict', 'told'].map(id => document.getElementById(id));
document.querySelector('form').hidden = false;
const collator = new Intl.Collator('en', { numeric: true });
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
    const order = (a, b) => numbers ? value(a) - value(b) : collator.compare(value(a), value(b));
    const sorted = [...rows].sort((a, b) => (up ? 1 : -1) * order(a, b));
    body.append(...sorted);
  });
});
filter();
"""

#: What the index of a report loads: its table is filtered and sorted.
OF_TABLE = '<script src="report.js"></script>'


def write_sheets(folder: str) -> None:
    """Writes what the pages of a folder share. Raises OSError where that cannot be."""
    os.makedirs(folder, exist_ok=True)
    write_whole(os.path.join(folder, "report.css"), STYLE)
    write_whole(os.path.join(folder, "report.js"), SCRIPT)


def head(title: str, root: str = "") -> str:
    """How a page begins whose sheet is in the folder `root`."""
    return (
        '<!DOCTYPE html>\n<html lang=en><head><meta charset="utf-8">'
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f'<title>{text(title)}</title><link rel=stylesheet href="{root}report.css"></head>\n<body>\n'
    )


def foot(scripts: str = "") -> str:
    """How it ends, and what it loads."""
    return f"<footer class=faint><p>ptxmm {text(__version__)}</p></footer>\n{scripts}</body></html>\n"


def choice(verdicts: Sequence[tuple[str, str]]) -> str:
    """What filters the table of an index: words, and one of some verdicts, each with what is shown of it."""
    options = "".join(f'<option value="{text(value)}">{text(shown)}</option>' for value, shown in verdicts)
    return (
        "<form hidden role=search><label>Filter <input id=text type=search></label> <label>Verdict <select id=verdict>"
        f"<option value=''>all</option>{options}</select></label> <output id=told class=faint></output></form>\n"
    )


def name_text(name: str) -> str:
    """A path or the name of a test in a page: where it does not fit, it is broken behind a stroke or a plus."""
    return text(name).replace("/", "/<wbr>").replace("+", "+<wbr>")


def text(words: str) -> str:
    """Text in a page, whatever is in it."""
    return html.escape(legal(words))
