"""The report of a campaign as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptxmm.campaigns.report import Summary, reason
from ptxmm.harmless import plain

_SLOWEST, _MOST = 10, 20


def told(summary: Summary) -> str:
    """All of it. What has more lines than anybody reads is cut, and says so; the page has every one."""
    parts = [_head(summary)]
    names = [column.name for column in summary.columns]
    parts.append(_table(["verdict", *names], [[word, *map(_number, counts)] for word, counts in summary.verdicts()]))
    observed = [[word, *map(_number, counts)] for word, counts in summary.observations()]
    if observed:
        parts.append(_table(["the condition is satisfied", *names], observed))
    if len(names) > 1:
        rows = [[_number(count), *pattern] for pattern, count in summary.patterns()]
        parts.append(_table(["tests", *names], rows))
        parts += _differing(summary)
    slow = [[f"{s.row.seconds:.3f} s", plain(s.line.name), s.column.name] for s in summary.slowest(_SLOWEST)]
    if slow:
        parts.append("slowest\n" + _lines(slow))
    parts += _unanswered(summary)
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(summary: Summary) -> str:
    tests = len(summary.lines) - len(summary.problems)
    count, asked = len(summary.rows), summary.asked
    models, answers = len(summary.columns), f"{_number(count)} answer{'s' * (count != 1)}"
    head = f"{plain(summary.path)}: {_number(tests)} test{'s' * (tests != 1)} under {models} model{'s' * (models != 1)}"
    if not summary.ended:
        return f"{head}; the campaign did not come to its end, {answers} {'is' if count == 1 else 'are'} there"
    if count < asked:
        return f"{head}; {_number(count)} of {_number(asked)} answers are there, the others were lost since"
    return f"{head}, {answers}, {summary.seconds:.1f} s of work"


def _differing(summary: Summary) -> Iterable[str]:
    found = summary.differing()
    for how, title in (("answer", "the models differ"), ("states", "the models differ in outcomes only")):
        rows = [[plain(line.path), *line.words] for line in found if line.differs == how]
        if rows:
            yield f"{title}: {_number(len(rows))} of {_number(len(summary.lines) - len(summary.problems))}\n{_lines(rows)}"


def _unanswered(summary: Summary) -> Iterable[str]:
    titles = {"undecided": "undecided", "bounded": "bounded", "error": "errors", "": "also told"}
    for verdict, title in titles.items():
        found = [
            [plain(line.path), column.name, plain(reason(row))]
            for line, column, row in summary.unanswered()
            if verdict == (row.verdict if row.verdict in titles else "")
        ]
        if found:
            yield f"{title}\n{_lines(found)}"
    problems = [[plain(line.path), plain(line.problem)] for line in summary.problems]
    if problems:
        yield f"not tests\n{_lines(problems)}"


def _number(count: int) -> str:
    return f"{count:,}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of numbers, to the right but for the first."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    )


def _lines(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows[:_MOST], strict=True)]
    shown = ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows[:_MOST]]
    if len(rows) > _MOST:
        shown.append(f"  and {len(rows) - _MOST:,} more")
    return "\n".join(shown)
