"""Terms to Python: the meaning of an instruction, evaluated on symbols, becomes an expression over the registers.

The meaning is run once, at compile time, on symbols for its sources and on the numbers that are written in the
instruction; what comes out is a term, and the term is printed as Python. So the meaning that the manual's readers check is
what runs, at the speed of Python's own integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxcore.values.fast import FUNCTIONS, function
from ptxcore.values.terms import Term, Value, mask, signed, subterms, width_of

#: Beyond this many operations a meaning is called as it is.
MOST_OPERATIONS = 24


def _guarded_shift(shift: str) -> Callable[[str, str, int], str]:
    return lambda a, b, w: f"({a} {shift} {b} & {mask(w)} if {b} < {w} else 0)"


def _biased(comparison: str) -> Callable[[str, str, int], str]:
    """Signed order is unsigned order with the sign bits turned."""
    return lambda a, b, w: f"(1 if {_flip(a, w)} {comparison} {_flip(b, w)} else 0)"


def _flip(text: str, width: int) -> str:
    top = 1 << (width - 1)
    return str(int(text) ^ top) if text.isdigit() else f"({text} ^ {top})"


#: Operations on two operands: (left, right, width of the operands) -> Python.
_BINARY: dict[str, Callable[[str, str, int], str]] = {
    "add": lambda a, b, w: f"({a} + {b} & {mask(w)})",
    "sub": lambda a, b, w: f"({a} - {b} & {mask(w)})",
    "mul": lambda a, b, w: f"({a} * {b} & {mask(w)})",
    "and": lambda a, b, w: f"({a} & {b})",
    "or": lambda a, b, w: f"({a} | {b})",
    "xor": lambda a, b, w: f"({a} ^ {b})",
    "shl": _guarded_shift("<<"),
    "lshr": lambda a, b, w: f"({a} >> {b})",
    "ashr": lambda a, b, w: f"(({_flip(a, w)} - {1 << (w - 1)} >> {b}) & {mask(w)})",
    "udiv": lambda a, b, w: f"({a} // {b} if {b} else {mask(w)})",
    "urem": lambda a, b, w: f"({a} % {b} if {b} else {a})",
    "eq": lambda a, b, w: f"(1 if {a} == {b} else 0)",
    "ult": lambda a, b, w: f"(1 if {a} < {b} else 0)",
    "ule": lambda a, b, w: f"(1 if {a} <= {b} else 0)",
    "slt": _biased("<"),
    "sle": _biased("<="),
}


class Printer:
    """Prints terms; what is used twice gets a name of its own."""

    def __init__(self, names: Mapping[Term, str]) -> None:
        self.names = names
        #: Helpers that the text calls, by the names it gives them.
        self.helpers: dict[str, Callable[..., int]] = {}

    def print(self, values: list[Value]) -> tuple[list[str], list[str]] | None:
        """Lines that set the names of shared parts, and the expression of each value; None where it gets too long."""
        terms = subterms(values)
        operations = [t for t in terms if t.op != "symbol"]
        if len(operations) > MOST_OPERATIONS:
            return None
        uses: dict[Term, int] = {}
        for t in operations:
            for a in t.args:
                if type(a) is Term:
                    uses[a] = uses.get(a, 0) + 1
        for v in values:
            if type(v) is Term:
                uses[v] = uses.get(v, 0) + 1
        lines: list[str] = []
        text: dict[Any, str] = {}
        for t in terms:
            if t.op == "symbol":
                text[t] = self.names[t]
                continue
            printed = self._term(t, [text[a] if type(a) is Term else str(a) for a in t.args])
            if uses[t] > 1:
                lines.append(f"t{len(lines)} = {printed}")
                printed = f"t{len(lines) - 1}"
            text[t] = printed
        return lines, [text[v] if type(v) is Term else str(v) for v in values]

    def _term(self, t: Term, args: list[str]) -> str:
        op = t.op
        if op in _BINARY:
            return _BINARY[op](args[0], args[1], max(width_of(a, 0) for a in t.args if type(a) is Term))
        if op == "ite":
            return f"({args[1]} if {args[0]} else {args[2]})"
        if op == "not":
            return f"(1 - {args[0]})"
        if op == "all":
            return f"({' & '.join(args)})"
        if op == "any":
            return f"({' | '.join(args)})"
        if op == "extract":
            low, width = t.args[2], t.width
            shifted = f"{args[0]} >> {low}" if low else args[0]
            return f"({shifted})" if low + width == t.args[0].width else f"({shifted} & {mask(width)})"
        if op == "zext":
            return args[0]
        if op == "sext":
            top = 1 << (t.args[0].width - 1)
            return f"(({args[0]} ^ {top}) - {top} & {mask(t.width)})"
        if op == "concat":
            low_width = t.args[1].width if type(t.args[1]) is Term else t.width - t.args[0].width
            return f"({args[0]} << {low_width} | {args[1]})"
        if op == "fp":
            return self._call(function(t), args[3:])
        return self._call(_DIVISIONS[op](t.width), args)

    def _call(self, helper: Callable[..., int], args: list[str]) -> str:
        name = FUNCTIONS.setdefault(helper, f"f{len(FUNCTIONS)}")
        self.helpers[name] = helper
        return f"{name}({', '.join(args)})"


_divisions: dict[tuple[str, int], Callable[[int, int], int]] = {}


def _signed_division(op: str) -> Callable[[int], Callable[[int, int], int]]:
    from ptxcore.values.terms import sdiv, srem

    exact = sdiv if op == "sdiv" else srem

    def of_width(width: int) -> Callable[[int, int], int]:
        found = _divisions.get((op, width))
        if found is None:

            def divide(a: int, b: int) -> int:
                value = exact(a, b, width)
                assert type(value) is int
                return value

            found = _divisions[op, width] = divide
        return found

    return of_width


_DIVISIONS = {"sdiv": _signed_division("sdiv"), "srem": _signed_division("srem")}


def number(value: int, width: int) -> str:
    """A known value, for messages: its bits, and as a signed number where that is shorter to read."""
    return f"{value:#x} ({signed(value, width)})" if width > 1 else str(value)
