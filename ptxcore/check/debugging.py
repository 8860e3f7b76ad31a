"""Debugging data: `.file`, `.loc`, `.section`, `@@DWARF` (PTX ISA 9.0, section 11.5)."""

from __future__ import annotations

import re

from ptxcore.check.context import Context
from ptxcore.check.functions import check_gates
from ptxcore.clock import tick
from ptxcore.diagnostics import Span
from ptxcore.isa.difference import Difference
from ptxcore.syntax.lexer import blank_comments
from ptxcore.syntax.tree import Directive, Immediate, Name, Operand, Section, Wrapped

_TIMESTAMP = "3.2"
_NEGATIVE = _LABEL_DIFFERENCE = "7.5"
_LABEL = "7.0"
#: Findings in one section.
_MOST_WRONG = 100
#: What the manual asks of features that ptxas takes under any version.
_MANUAL_LABEL, _MANUAL_INLINED, _MANUAL_16 = "7.2", "7.2", "6.0"
#: Values of narrow types are checked: least and greatest.
_RANGES = {"b8": (-(1 << 7), (1 << 8) - 1), "b16": (-(1 << 15), (1 << 16) - 1)}
_MANUAL_RANGES = {**_RANGES, "b32": (-(1 << 31), (1 << 32) - 1), "b64": (-(1 << 63), (1 << 64) - 1)}


class Debugging:
    """What the debugging directives of one module have said."""

    __slots__ = ("context", "files", "labels", "places", "sections", "starts", "text")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.files: set[int] = set()
        self.places: set[tuple[int, ...]] = set()
        self.labels: set[str] = set()
        self.sections = 0
        self.text = ""
        self.starts: list[int] = []

    def file(self, directive: Directive) -> None:
        """`.file index "name", timestamp, size`."""
        arguments = directive.arguments
        index = arguments[0].value if arguments and isinstance(arguments[0], Immediate) else -1
        if index in self.files:
            self.context.report(
                "debugging", directive.span, f"file {index} is named twice", "give each file an index of its own"
            )
        self.files.add(index)
        if len(arguments) > 2:
            self.context.gate(directive.span, "the time stamp of .file", _TIMESTAMP)

    def loc(self, directive: Directive) -> None:
        """`.loc file line column, function_name label, inlined_at file line column`."""
        arguments = directive.arguments
        if len(arguments) > 3:
            self._inlined(directive, arguments)
        self.places.add(_place(arguments[:3]))

    def _inlined(self, directive: Directive, arguments: tuple[Operand, ...]) -> None:
        if self.context.manual:
            self.context.gate(directive.span, "inlined_at", _MANUAL_INLINED)
        for at, argument in enumerate(arguments):
            if isinstance(argument, Name) and argument.name == "inlined_at":
                place = _place(arguments[at + 1 : at + 4])
                if place not in self.places:
                    shown = " ".join(map(str, place))
                    self.context.report(
                        "debugging", directive.span, f"no .loc before has the place {shown} of inlined_at"
                    )

    def section(self, section: Section, source: str) -> None:
        """`.section .debug_info { ... }`; `source` is the module's text, in which its lines are found again."""
        self.sections += 1
        self.context.gate(section.span, ".section", "2.0")
        wrong: list[tuple[int, str, str, str | None]] = []
        for index, (label, type_, values) in enumerate(section.lines):
            tick()
            mismatch = self._label(label) if label else self._values(type_, values)
            if mismatch is not None:
                wrong.append((index, *mismatch))
                if len(wrong) == _MOST_WRONG:
                    break
        if wrong:
            if not self.starts:  # once, and only when something is wrong
                self.text = blank_comments(source)
                self.starts = [0, *(m.end() for m in re.finditer("\n", source))]
            places = _line_places(section, self.text, self.starts, wrong[-1][0])
            for index, code, message, hint in wrong:
                self.context.report(code, places.get(index, section.span), message, hint)

    def _label(self, label: str) -> tuple[str, str, str | None] | None:
        if label in self.labels:
            return "redeclared", f"the label '{label}' stands twice", None
        self.labels.add(label)
        lacking = self.context.lacks(_MANUAL_LABEL if self.context.manual else _LABEL)
        return ("version", f"a label in a section {lacking}", None) if lacking else None

    def _values(self, type_: str, values: tuple[Operand, ...]) -> tuple[str, str, str | None] | None:
        """What is wrong with one line."""
        context = self.context
        low, high = (_MANUAL_RANGES if context.manual else _RANGES).get(type_, (None, None))
        if context.manual and type_ == "b16" and (lacking := context.lacks(_MANUAL_16)):
            return "version", f".b16 in a section {lacking}", None
        for value in values:
            if isinstance(value, Immediate):
                if value.value < 0 and (lacking := context.lacks(_NEGATIVE)):
                    return "version", f"a negative number in a section {lacking}", None
                if low is not None and high is not None and not low <= value.value <= high:
                    return "debugging", f"{value.value} does not fit .{type_}", f".{type_} holds {low} to {high}"
            elif type_ not in ("b32", "b64"):
                return "debugging", f"an address in a section is .b32 or .b64, not .{type_}", None
            elif isinstance(value, Wrapped) and (lacking := context.lacks(_LABEL_DIFFERENCE)):
                return "version", f"the difference of two labels {lacking}", None
        return None

    def dwarf(self, directive: Directive) -> None:
        """`@@DWARF` of PTX ISA 1.x."""
        self.sections += 1
        check_gates(self.context, directive, directive.span)

    def finish(self, target: Directive | None) -> None:
        """`.target debug` wants debugging data."""
        if "debug" in self.context.options and not self.sections and target is not None:
            self.context.report("debugging", target.span, "the module has no debugging data, and .target says 'debug'",
                                "leave 'debug' out, or add .section .debug_info")  # fmt: skip


#: What each line of a section begins with.
_LINE = re.compile(r"\.b(?:8|16|32|64)\b|(?<![\w$%])[A-Za-z_$%][\w$]*+(?=\s*+:(?!:))", re.ASCII)


def _line_places(section: Section, text: str, starts: list[int], last: int) -> dict[int, Span]:
    """Where the lines of a section begin, up to the line `last`; `starts` has the offsets of the text's lines."""
    line = section.span.line
    if line > len(starts):
        return {}
    brace = text.find("{", starts[line - 1] + section.span.column - 1)
    places: dict[int, Span] = {}
    for index, m in enumerate(_LINE.finditer(text, max(brace, 0))):
        if index > last:
            break
        while line < len(starts) and starts[line] <= m.start():
            line += 1
        column = m.start() - starts[line - 1] + 1
        places[index] = Span(line, column, column + len(m[0]))
    return places


def _place(arguments: tuple[Operand, ...]) -> tuple[int, ...]:
    return tuple(a.value for a in arguments if isinstance(a, Immediate))


DIFFERENCES = (
    Difference(
        "11.5.2",
        "Labels in sections are known from PTX ISA 7.0 on, `.b16` from the first version on.",
        "They came with PTX ISA 7.2 and 6.0.",
    ),
    Difference(
        "11.5.2",
        "Numbers that do not fit `.b32` or `.b64` are taken.",
        "They fit.",
    ),
    Difference(
        "11.5.4",
        "`function_name` and `inlined_at` are known in every version.",
        "They came with PTX ISA 7.2.",
    ),
)
