"""Debugging data: `.file`, `.loc`, `.section`, `@@DWARF` (PTX ISA 9.0, section 11.5)."""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.functions import check_gates
from ptxcore.isa.difference import Difference
from ptxcore.syntax.tree import Directive, Immediate, Name, Operand, Section, Wrapped

_TIMESTAMP = "3.2"
_NEGATIVE = _LABEL_DIFFERENCE = "7.5"
#: What the manual asks of features that ptxas takes under any version.
_MANUAL_LABEL, _MANUAL_INLINED, _MANUAL_16 = "7.2", "7.2", "6.0"
#: Values of narrow types are checked: least and greatest.
_RANGES = {"b8": (-(1 << 7), (1 << 8) - 1), "b16": (-(1 << 15), (1 << 16) - 1)}
_MANUAL_RANGES = {**_RANGES, "b32": (-(1 << 31), (1 << 32) - 1), "b64": (-(1 << 63), (1 << 64) - 1)}


class Debugging:
    """What the debugging directives of one module have said."""

    __slots__ = ("context", "files", "places", "sections")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.files: set[int] = set()
        self.places: set[tuple[int, ...]] = set()
        self.sections = 0

    def file(self, directive: Directive) -> None:
        """`.file index "name", timestamp, size`."""
        arguments = directive.arguments
        index = arguments[0].value if arguments and isinstance(arguments[0], Immediate) else -1
        if index in self.files:
            self.context.report(directive.span, f"file {index} is named twice", "give each file an index of its own")
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
                    self.context.report(directive.span, f"no .loc before has the place {shown} of inlined_at")

    def section(self, section: Section) -> None:
        """`.section .debug_info { ... }`."""
        context = self.context
        self.sections += 1
        context.gate(section.span, ".section", "2.0")
        labels: set[str] = set()
        for label, type_, values in section.lines:
            if label:
                if label in labels:
                    context.report(section.span, f"the label '{label}' stands twice in {section.name}")
                labels.add(label)
                if context.manual:
                    context.gate(section.span, f"the label '{label}' of a section", _MANUAL_LABEL)
            if values and not self._values(section, type_, values):
                return  # one finding for one section: it has no places of its own

    def _values(self, section: Section, type_: str, values: tuple[Operand, ...]) -> bool:
        context = self.context
        ranges = _MANUAL_RANGES if context.manual else _RANGES
        low, high = ranges.get(type_, (None, None))
        if context.manual and type_ == "b16" and not context.gate(section.span, ".b16 in a section", _MANUAL_16):
            return False
        for value in values:
            if isinstance(value, Immediate):
                if value.value < 0 and not context.gate(section.span, "a negative number in a section", _NEGATIVE):
                    return False
                if low is not None and high is not None and not low <= value.value <= high:
                    context.report(section.span, f"{value.value} does not fit .{type_} in {section.name}",
                                   f".{type_} holds {low} to {high}")  # fmt: skip
                    return False
                continue
            if type_ not in ("b32", "b64"):
                context.report(section.span, f"an address in {section.name} is .b32 or .b64, not .{type_}")
                return False
            if isinstance(value, Wrapped) and not context.gate(
                section.span, "the difference of two labels", _LABEL_DIFFERENCE
            ):
                return False
        return True

    def dwarf(self, directive: Directive) -> None:
        """`@@DWARF` of PTX ISA 1.x."""
        self.sections += 1
        check_gates(self.context, directive, directive.span)

    def finish(self, target: Directive | None) -> None:
        """`.target debug` wants debugging data."""
        if "debug" in self.context.options and not self.sections and target is not None:
            self.context.report(target.span, "the module has no debugging data, and .target says 'debug'",
                                "leave 'debug' out, or add .section .debug_info")  # fmt: skip


def _place(arguments: tuple[Operand, ...]) -> tuple[int, ...]:
    return tuple(a.value for a in arguments if isinstance(a, Immediate))


DIFFERENCES = (
    Difference("11.5.2", "labels and .b16 in sections pass under any version", "they need PTX ISA 7.2 and 6.0"),
    Difference("11.5.2", "numbers that do not fit .b32 or .b64 pass", "they must fit"),
    Difference("11.5.4", "function_name and inlined_at pass under any version", "they need PTX ISA 7.2"),
)  # fmt: skip
