"""Constant expressions (PTX ISA 9.0, sections 4.5.4-4.5.6), evaluated while they are read."""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.syntax.lexer import Bad, Cursor, Integer, bits_float, float_bits, hexadecimal_float, integer_literal, shown
from ptxcore.syntax.precedence import LEFT, Stacks, Waiting, levels
from ptxcore.syntax.tree import Float, Immediate

_MASK = (1 << 64) - 1
#: The threads of a warp, which expressions know by name.
WARP_SZ = 32

#: A value on the stack: an integer, a double, or (as `Float`) a hexadecimal constant, whose bits stay what they are.
NumberValue = Integer | float | Float

#: Binary operators by precedence (table 4); `?` and `:` come below all of them, unary ones above.
_LEVELS = levels(
    (LEFT, "||"), (LEFT, "&&"), (LEFT, "|"), (LEFT, "^"), (LEFT, "&"), (LEFT, "== !="), (LEFT, "< > <= >="),
    (LEFT, "<< >>"), (LEFT, "+ -"), (LEFT, "* / %"),
)  # fmt: skip
_CONDITIONAL, _UNARY = 0, 20
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_REAL: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def starts_expression(cursor: Cursor) -> bool:
    """Whether a constant expression can begin with the token here."""
    return (
        cursor.kind in ("number", "float")
        or (cursor.kind == "mark" and cursor.text in ("-", "+", "~", "!", "("))
        or cursor.text == "WARP_SZ"
    )


def read_expression(cursor: Cursor) -> Immediate | Float:
    """The value of the constant expression that begins here; the cursor ends behind it. Raises Bad."""
    value = _Evaluation(cursor).run()
    if isinstance(value, Integer):
        return Immediate(value.value)
    return value if isinstance(value, Float) else Float(float_bits(value), 64, True)


def read_integer(cursor: Cursor, what: str = "an integer") -> int:
    """The value of the integer constant expression that begins here. Raises Bad."""
    if not starts_expression(cursor):
        raise cursor.missing(what)
    start = cursor.start
    value = read_expression(cursor)
    if isinstance(value, Float):
        raise Bad(start, _end_before(cursor, start), f"{what} must stand here, not a floating-point constant")
    return value.value


def _end_before(cursor: Cursor, start: int) -> int:
    """The end of what was read since `start`."""
    return start + len(cursor.source[start : cursor.start].rstrip()) or start + 1


def _wrap(value: int, unsigned: bool) -> Integer:
    value &= _MASK
    return Integer(value if unsigned or value < 1 << 63 else value - (1 << 64), unsigned)


class _Evaluation:
    """One expression; places are the first and the last offset of an operator."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.stacks: Stacks[NumberValue, tuple[int, int]] = Stacks(_LEVELS, _applied)

    def run(self) -> NumberValue:
        cursor, stacks = self.cursor, self.stacks
        while True:
            self._operand()
            while cursor.text == ")" and any(w.operator == "(" for w in stacks.waiting):
                opened = stacks.innermost()
                if opened is None or opened.operator != "(":
                    raise cursor.missing("':'", "of a conditional")
                stacks.waiting.pop()
                cursor.advance()
            if not self._operator():
                break
        opened = stacks.innermost()
        if opened is not None:
            raise cursor.missing("')'" if opened.operator == "(" else "':'", f"to match the '{opened.operator}'")
        return stacks.values.pop()

    def _operand(self) -> None:
        """Prefix operators, opened parentheses, and the literal behind them."""
        cursor, stacks = self.cursor, self.stacks
        while cursor.kind == "mark":
            text, start = cursor.text, cursor.start
            if text == "(":
                cursor.advance()
                if cursor.kind == "word":
                    stacks.prefix(self._cast(), (start, cursor.start), _UNARY)
                else:
                    stacks.open("(", (start, start + 1))
            elif text in ("-", "+", "~", "!"):
                stacks.prefix(f"unary {text}", (start, start + 1), _UNARY)
                cursor.advance()
            else:
                raise cursor.missing("a constant")
        stacks.values.append(self._literal())
        cursor.advance()

    def _cast(self) -> str:
        cursor = self.cursor
        cast = cursor.text
        if cast not in (".s64", ".u64"):
            raise Bad(cursor.start, cursor.stop, f"'({shown(cast)})' is not a cast of constant expressions",
                      "the casts are (.s64) and (.u64)")  # fmt: skip
        cursor.advance()
        cursor.expect(")", "behind the cast")
        return cast

    def _literal(self) -> NumberValue:
        cursor = self.cursor
        if cursor.kind == "number":
            number = integer_literal(cursor.text)
            if isinstance(number, str):
                raise Bad(cursor.start, cursor.stop, number)
            return number
        if cursor.kind == "float":
            exact = hexadecimal_float(cursor.text)
            if exact is None:
                return float(cursor.text)
            if isinstance(exact, str):
                raise Bad(cursor.start, cursor.stop, exact)
            return Float(*exact)
        if cursor.text == "WARP_SZ":
            return Integer(WARP_SZ, False)
        raise cursor.missing("a constant")

    def _operator(self) -> bool:
        """Takes a binary operator, `?` or `:`; says whether there was one."""
        cursor = self.cursor
        if cursor.kind != "mark":
            return False
        text, place, stacks = cursor.text, (cursor.start, cursor.stop), self.stacks
        if text in _LEVELS:
            stacks.binary(text, place)
        elif text == "?":
            stacks.reduce(_CONDITIONAL + 1)  # conditionals group to the right
            stacks.open("?", place)
        elif text == ":" and self._waits_for_colon():
            stacks.innermost()
            stacks.waiting.pop()
            stacks.prefix("?:", place, _CONDITIONAL, arity=3)
        else:
            return False
        cursor.advance()
        return True

    def _waits_for_colon(self) -> bool:
        return next((w.operator == "?" for w in reversed(self.stacks.waiting) if w.is_open), False)


def _applied(waiting: Waiting[tuple[int, int]], operands: list[NumberValue]) -> NumberValue:
    operator, (start, end) = waiting.operator, waiting.place
    if operator == "?:":
        condition, then, otherwise = operands
        return _conditional(condition, then, otherwise, start, end)
    if waiting.arity == 1:
        return _unary(operator.removeprefix("unary "), operands[0], start, end)
    left, right = operands
    return _binary(operator, left, right, start, end)


def _whole(value: NumberValue, operator: str, start: int, end: int) -> Integer:
    if not isinstance(value, Integer):
        raise Bad(start, end, f"'{operator}' takes integer constants")
    return value


def _no_single(value: NumberValue, start: int, end: int) -> Integer | float:
    if isinstance(value, Float):
        if value.width == 64:
            return bits_float(value.bits)
        raise Bad(start, end, "a '0f' constant is exact and cannot stand in a constant expression",
                  "write it in decimal or as '0d'")  # fmt: skip
    return value


def _unary(operator: str, value: NumberValue, start: int, end: int) -> NumberValue:
    value = _no_single(value, start, end)
    if operator in ("-", "+") and isinstance(value, float):
        return -value if operator == "-" else value
    whole = _whole(value, operator, start, end)
    if operator == "-":
        return _wrap(-whole.value, whole.unsigned)
    if operator == "!":
        return Integer(int(whole.value == 0), False)
    if operator == "~":
        return _wrap(~whole.value, True)
    return _wrap(whole.value, {".s64": False, ".u64": True, "+": whole.unsigned}[operator])


def _binary(operator: str, left: NumberValue, right: NumberValue, start: int, end: int) -> NumberValue:
    left, right = _no_single(left, start, end), _no_single(right, start, end)
    if isinstance(left, float) != isinstance(right, float):
        raise Bad(start, end, f"'{operator}' between an integer and a floating-point constant",
                  "constant expressions do not convert: write both as integers or both with a point")  # fmt: skip
    if isinstance(left, float) and isinstance(right, float):
        return _binary_float(operator, left, right, start, end)
    return _binary_integer(
        operator, _whole(left, operator, start, end), _whole(right, operator, start, end), start, end
    )


def _binary_float(operator: str, left: float, right: float, start: int, end: int) -> NumberValue:
    if operator in _COMPARISONS:
        return Integer(int(_COMPARISONS[operator](left, right)), False)
    if operator == "/":
        if right == 0:
            raise Bad(start, end, "division by zero in a constant expression")
        return left / right
    if operator not in _REAL:
        raise Bad(start, end, f"'{operator}' takes integer constants")
    return _REAL[operator](left, right)


def _binary_integer(operator: str, left: Integer, right: Integer, start: int, end: int) -> Integer:
    if operator == "&&":
        return Integer(int(left.value != 0 and right.value != 0), False)
    if operator == "||":
        return Integer(int(left.value != 0 or right.value != 0), False)
    if operator in ("<<", ">>"):
        return _shift(operator, left, right.value & _MASK)
    if operator == "%":  # on unsigned operands, with a signed result (table 5)
        if right.value == 0:
            raise Bad(start, end, "division by zero in a constant expression")
        return _wrap((left.value & _MASK) % (right.value & _MASK), False)
    unsigned = left.unsigned or right.unsigned
    a, b = (_wrap(v.value, unsigned).value for v in (left, right))
    if operator in _COMPARISONS:
        return Integer(int(_COMPARISONS[operator](a, b)), False)
    if operator == "/":
        if b == 0:
            raise Bad(start, end, "division by zero in a constant expression")
        quotient = abs(a) // abs(b)
        return _wrap(quotient if (a < 0) == (b < 0) else -quotient, unsigned)
    return _wrap(_ARITHMETIC[operator](a, b), unsigned)


def _shift(operator: str, left: Integer, by: int) -> Integer:
    by = min(by, 64)
    return _wrap(left.value << by if operator == "<<" else left.value >> by, left.unsigned)


def _conditional(
    condition: NumberValue, then: NumberValue, otherwise: NumberValue, start: int, end: int
) -> NumberValue:
    chosen = then if _whole(condition, "?", start, end).value else otherwise
    if isinstance(then, Integer) and isinstance(otherwise, Integer):
        assert isinstance(chosen, Integer)
        return _wrap(chosen.value, then.unsigned or otherwise.unsigned)
    if isinstance(then, Integer) or isinstance(otherwise, Integer):
        raise Bad(start, end, "a conditional between an integer and a floating-point constant",
                  "constant expressions do not convert: write both as integers or both with a point")  # fmt: skip
    return chosen
