"""Comparisons as a folder of pages that open from disk: a table of the tests, and for each that differs a page with the test,
what one model allows and the other forbids, and pictures of both side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ptxmm.comparing.comparison import Comparison, ComparisonTelling
from ptxmm.comparing.reasons import DifferenceReason
from ptxmm.report.comparing import Searched, answer_text, difference_lines, forbidding, unknown_lines
from ptxmm.report.drawings import Drawings
from ptxmm.report.pages import OF_TABLE, choice, foot, head, name_text, text, write_sheets
from ptxmm.report.pictures import Picture, Pictures, group, scripts
from ptxmm.writing import write_whole

_SHOWN = {"differ": "differs", "same": "the same", "open": "undecided", "unanswered": "not compared"}
_CLASSES = {"differ": "bad", "same": "good", "open": "open", "unanswered": "open"}


class ComparisonPages:
    """A report in the folder `folder`; files of that name are written over. It and its methods raise OSError where something
    cannot be written."""

    def __init__(self, folder: str, models: Sequence[str]) -> None:
        self._folder, self._models = folder, list(models)
        self._rows: list[tuple[str, str]] = []  # of the table: the status, and the line
        write_sheets(folder)
        self._pages = Drawings({"html": os.path.join(folder, "tests")})
        self._pictures = Pictures(folder)
        self._write("<p class=bad>The run did not come to its end: what stands here is not all.</p>", 0.0)

    def add(self, comparison: Comparison, told: Sequence[ComparisonTelling], files: Sequence[str] = ()) -> None:
        """A row, and a page where there is something to tell."""
        page = ""
        if comparison.status != "same":
            written = "".join(self._page(comparison, told))
            (path,) = self._pages.put(comparison.name, {("html", "page"): written})
            page = f"tests/{os.path.basename(path)}"
        self._rows.append((comparison.status, _row(self._models, comparison, told, page)))

    def end(self, seconds: float, searched: Searched | None = None) -> None:
        """The table, whole."""
        more = ""
        if searched is not None:
            looked = sum(searched.tests.values())
            more = f"<p>{looked} tests looked at, of size {searched.size} at most: {text(searched.where)}</p>"
        self._write(more, seconds)

    def _write(self, notice: str, seconds: float) -> None:
        write_whole(os.path.join(self._folder, "index.html"), "".join(self._index(notice, seconds)))

    def _index(self, notice: str, seconds: float) -> Iterator[str]:
        counts = {s: n for s in _SHOWN if (n := sum(status == s for status, _ in self._rows))}
        said = ", ".join(f"{n} {_SHOWN[status]}" for status, n in counts.items()) or "no tests"
        yield head("ptxmm compare")
        yield f"<h1>ptxmm compare</h1>{notice}<p>{text(' and '.join(self._models))}: {said}; {seconds:.2f} s</p>\n"
        yield choice([(status, f"{_SHOWN[status]} ({n})") for status, n in counts.items()])
        yield '<table class="tests compared" aria-label="Tests, and what each model says of them"><thead><tr>'
        for name in ("Status", "Test", *self._models, "Difference", "File"):
            yield f"<th scope=col>{text(name)}</th>"
        yield "</tr></thead>\n<tbody>\n"
        yield from (row for _, row in self._rows)
        yield f"</tbody></table>\n{foot(OF_TABLE)}"

    def _page(self, comparison: Comparison, told: Sequence[ComparisonTelling]) -> Iterator[str]:
        yield head(comparison.name, "../")
        yield '<nav><a href="../index.html">All tests</a></nav>\n'
        yield f"<h1>{text(comparison.name)}</h1>\n<p>{_status(comparison)} <code>{text(comparison.path)}</code></p>\n"
        yield "<table><thead><tr><th scope=col>Model</th><th scope=col>Says</th></tr></thead>\n<tbody>\n"
        for answer in comparison.answers:
            yield f"<tr><th scope=row>{text(answer.of)}</th><td>{text(answer_text(answer))}</td></tr>\n"
        yield "</tbody></table>\n"
        shown: set[str] = set()
        for telling in told:
            yield from self._telling(comparison, telling, shown)
        unknown = unknown_lines(comparison.differences)
        if unknown:
            yield f"<h2>Not known</h2>\n<pre>{text(chr(10).join(line.strip() for line in unknown))}</pre>\n"
        yield foot(scripts())

    def _telling(self, comparison: Comparison, telling: ComparisonTelling, shown: set[str]) -> Iterator[str]:
        """How two models differ; the test, unless it was shown before."""
        from litmus.formats.printer import write
        from litmus.test import Test

        difference = telling.difference
        yield f"<h2>{text(difference.one.of)} and {text(difference.other.of)}</h2>\n"
        lines = [line.strip() for line in difference_lines(telling)]
        yield f"<pre>{text(chr(10).join(lines))}</pre>\n"
        test = telling.test
        written = write(test) if isinstance(test, Test) else ""
        if written and written not in shown:
            shown.add(written)
            yield f"<details open><summary>The test</summary><pre class=source>{text(written)}</pre></details>\n"
        name = test.name if isinstance(test, Test) else comparison.name
        for reason in telling.reasons:
            yield from self._side_by_side(name, reason)

    def _side_by_side(self, name: str, reason: DifferenceReason) -> Iterator[str]:
        sides = [
            Picture(f"allowed-by-{reason.allows}", f"{reason.allows} allows it", reason.allowed),
            Picture(f"forbidden-by-{reason.forbids}", forbidding(reason), reason.forbidden),
        ]
        written = self._pictures.put(name, [side for side in sides if side.svg])
        if written:
            yield "<div class=beside>\n"
            for picture in written:
                yield from group([picture])
            yield "</div>\n"


def _status(comparison: Comparison) -> str:
    return f"<span class='verdict {_CLASSES[comparison.status]}'>{_SHOWN[comparison.status]}</span>"


def _row(models: Sequence[str], comparison: Comparison, told: Sequence[ComparisonTelling], page: str) -> str:
    name = name_text(comparison.name)
    linked = f'<a href="{text(page)}">{name}</a>' if page else name
    lines = [line.strip() for telling in told for line in difference_lines(telling)[:1]]
    said = {answer.of: answer_text(answer) for answer in comparison.answers}
    answers = "".join(f"<td>{text(said.get(model, ''))}</td>" for model in models)
    return (
        f"<tr data-verdict={comparison.status}><td>{_status(comparison)}</td><th scope=row>{linked}</th>{answers}"
        f"<td>{text('; '.join(lines))}</td><td>{name_text(comparison.path)}</td></tr>\n"
    )
