"""Where a word of a statement stands, for findings about statements that are no instructions."""

from __future__ import annotations

import re

from ptxcore.diagnostics import Span
from ptxcore.syntax.tree import Statement


def word_span(statement: Statement, word: str, occurrence: int = 0) -> Span:
    """The place of a word (a name, a number, a directive with its dot) in the statement's text; the statement's leading
    word where it is not found."""
    line, column, _ = statement.span
    if not word or not statement.text:
        return statement.span
    edges = r"(?<![\w$%.]){}(?![\w$])" if word[0] != "." else r"{}(?![\w$])"
    for number, m in enumerate(re.finditer(edges.format(re.escape(word)), statement.text)):
        if number == occurrence:
            before = statement.text[: m.start()]
            breaks = before.count("\n")
            start = m.start() - before.rfind("\n") if breaks else column + m.start()
            return Span(line + breaks, start, start + len(word))
    return statement.span
