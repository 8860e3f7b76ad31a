"""What mends a finding, as changes of the text."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.advice.accesses import ACCESSES
from ptxcore.diagnostics import Diagnostic, Edit, Fix, Span, brief
from ptxcore.syntax.lexer import Positions
from ptxcore.syntax.spans import modifier_span
from ptxcore.syntax.tree import Instruction

#: Cache operators, which only weak accesses have.
_CACHED = frozenset(("ca", "cg", "cs", "lu", "cv", "wb", "wt"))

#: So many lines of a warning about several accesses are named.
_MOST_LINES = 4


def warning(code: str, span: Span, message: str, hint: str, fix: Fix | None = None) -> Diagnostic:
    """A warning, with what would be right."""
    return Diagnostic(span, brief(message), brief(hint), "warning", code, fix)


def together(found: Sequence[Diagnostic]) -> Diagnostic:
    """One warning for several of one cause: the first, with the lines of the others. What mends it mends all of them."""
    first, *others = found
    if not others:
        return first
    lines = list(dict.fromkeys(str(one.span.line) for one in others))
    more = f", ... ({len(others)} more accesses)" if len(lines) > _MOST_LINES else ""
    told = f"{first.message}; likewise on line{'s' * (len(lines) > 1)} {', '.join(lines[:_MOST_LINES])}{more}"
    fixes = [one.fix for one in found if one.fix is not None]
    edits = tuple(edit for fix in fixes for edit in fix.edits)
    fix = fixes[0]._replace(edits=edits) if len(fixes) == len(found) else None
    return first._replace(message=told, fix=fix)


def order_span(instruction: Instruction) -> Span:
    """Where an access says its order; the whole access where it does not."""
    for i, modifier in enumerate(instruction.modifiers):
        if modifier in ("relaxed", "volatile", "weak", "acquire", "release"):
            return modifier_span(instruction, i)
    return instruction.span


def ordered(instruction: Instruction, order: str, scope: str) -> Fix | None:
    """An access with another order; `scope` where it says none. None where the access has something that only weak ones
    have."""
    if instruction.opcode not in ACCESSES or _CACHED.intersection(instruction.modifiers):
        return None
    span = order_span(instruction)
    if span == instruction.span:
        at = span.column + len(instruction.opcode)
        span = Span(span.line, at, at)
        said = any(m in ("cta", "cluster", "gpu", "sys") for m in instruction.modifiers)
        text = f".{order}" if said else f".{order}.{scope}"
    else:
        needs = any(m in ("volatile", "weak") for m in instruction.modifiers)
        text = f".{order}.{scope}" if needs else f".{order}"
    return Fix(f"make it {text}", (Edit(span, text),))


def replaced(instruction: Instruction, index: int, text: str) -> Fix:
    """One modifier changed for another."""
    return Fix(f"make it .{text}", (Edit(modifier_span(instruction, index), f".{text}"),))


def rewritten(instruction: Instruction, text: str) -> Fix:
    """The opcode with all its modifiers changed for another."""
    return Fix(f"write {text}", (Edit(instruction.span, text),))


def inserted_behind(instruction: Instruction, text: str, source: str) -> Fix | None:
    """A statement on a line of its own behind another, indented as that is; None where the text does not end as statements
    do."""
    end = Positions(instruction.text, *instruction.start).span(len(instruction.text), len(instruction.text))
    lines = source.split("\n")
    if not 0 < end.line <= len(lines):
        return None
    line = lines[end.line - 1]
    at = line.find(";", end.column - 1)
    if at < 0 or line[end.column - 1 : at].strip():
        return None
    first = lines[instruction.start[0] - 1]
    margin = first[: len(first) - len(first.lstrip())]
    new = "\r\n" if line.endswith("\r") else "\n"
    return Fix(f"insert {text}", (Edit(Span(end.line, at + 2, at + 2), f"{new}{margin}{text};"),))


def inserted_before(instruction: Instruction, text: str, source: str) -> Fix:
    """A statement on a line of its own before another, indented as that is."""
    line, column = instruction.start
    first = source.split("\n")[line - 1]
    margin = first[: len(first) - len(first.lstrip())]
    new = "\r\n" if first.endswith("\r") else "\n"
    return Fix(f"insert {text}", (Edit(Span(line, column, column), f"{text};{new}{margin}"),))


def moved_before(instruction: Instruction, other: Instruction, source: str) -> Fix | None:
    """A statement on one line moved before another; None where the text does not end as statements do."""
    line, column = instruction.start
    text = source.split("\n")[line - 1]
    end = column - 1 + len(instruction.text)
    at = text.find(";", end)
    if text[column - 1 : end] != instruction.text or at < 0 or text[end:at].strip():
        return None
    alone = not text[: column - 1].strip() and not text[at + 1 :].strip()
    gone = Edit(Span(line, 1, 1), "", 1) if alone else Edit(Span(line, column, at + 2), "")
    inserted = inserted_before(other, instruction.text, source)
    return Fix(f"move {instruction.text} to where all threads come", (gone, *inserted.edits))
