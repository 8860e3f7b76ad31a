"""Reads the expressions of kernel tests. The grammar is `expressions.lark`, here are numbers, positions and messages.

lark takes 17 ms to import, and the parser 23 ms to make of the grammar (4 ms where it is kept), so this file is imported where
there is an expression to read. Nodes are built bottom-up while the text is read, so that no nesting of parentheses is too deep.
"""

from __future__ import annotations

import os
import pkgutil
import re
import struct
import sys
import zlib
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source

import lark
from lark import Lark, Token, Transformer, UnexpectedInput
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ptxcore.values.ieee import F32, F64, convert
from ptxmm.kernels.expressions import (
    DOUBLE,
    FLOAT,
    INT,
    Element,
    ExpressionError,
    KernelExpression,
    KernelNode,
    Number,
    OperatorExpression,
    Type,
    Typed,
    whole_number,
)

#: Expressions whose operators nest deeper are refused: evaluation is recursive. Parentheses do not count.
MAX_DEPTH = 100

_SUFFIX = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|\d+)(?P<suffix>[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)")
_REAL = re.compile(r"(?P<digits>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<suffix>[fF]?)")
_WRONG = {
    "/\\": ("'/\\' is a litmus test's 'and'", "write '&&'"),
    "\\/": ("'\\/' is a litmus test's 'or'", "write '||'"),
    "=": ("'=' assigns; a comparison is '=='", "write '=='"),
}
#: What is wanted where the grammar goes on with this terminal: the first that it does go on with.
_WANTED = (
    ("NUMBER", "a number, an element or '(' is wanted"),
    ("COLON", "':' and what holds otherwise are wanted"),
    ("RPAR", "an operator or ')' is wanted"),
    ("RSQB", "']' is wanted"),
    ("$END", "an operator is wanted here"),
)


def parse(text: str) -> KernelExpression:
    """An expression from its text. Raises ExpressionError for the first mistake."""
    reading = _parser().parse_interactive(text)
    try:
        reading.exhaust_lexer()
        node: KernelNode = reading.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise _unexpected(text, reading, error) from None
    return KernelExpression(text, node)


@cache
def _parser() -> Lark:
    """The parser, from where Python keeps compiled modules, or made and kept there if Python may write."""
    data = pkgutil.get_data(__package__, "expressions.lark")
    assert data is not None, "the grammar is part of the package"
    version = f"lark{zlib.crc32(lark.__version__.encode() + data):08x}"
    kept = cache_from_source(__file__, optimization=version)
    if os.path.exists(kept):
        return _made(data.decode(), kept)
    if sys.dont_write_bytecode:
        return _made(data.decode(), False)
    written = f"{kept}.{os.getpid()}"  # whole before it has its name: nobody reads half of it
    parser = _made(data.decode(), written)
    with suppress(OSError):  # the folder may be one that nobody writes to
        os.replace(written, kept)
    return parser


def _made(grammar: str, kept: str | bool) -> Lark:
    return Lark(grammar, parser="lalr", transformer=_Nodes(), cache=kept)


def _unexpected(text: str, reading: InteractiveParser, error: UnexpectedInput) -> ExpressionError:
    accepted = reading.accepts()  # type: ignore[no-untyped-call]
    wanted = next(words for terminal, words in _WANTED if terminal in accepted)
    token = getattr(error, "token", None)  # where there is none, no terminal begins with the character
    if token is not None and token.type == "$END":
        if "RPAR" in accepted:
            opening = [t for t in reading.parser_state.value_stack if isinstance(t, Token) and t.type == "LPAR"][-1]
            return ExpressionError(*_span(opening), "this '(' is never closed", "close it with ')'")
        end = max(1, len(text.rstrip()))
        return ExpressionError(end - 1, end, f"the expression ends too early: {wanted}")
    start = error.pos_in_stream
    assert start is not None, "the lexer says where it is"
    for wrong, (message, hint) in _WRONG.items():
        # Its first character may have passed as an operator.
        for at in range(max(0, start - len(wrong) + 1), start + 1):
            if text.startswith(wrong, at):
                return ExpressionError(at, at + len(wrong), message, hint)
    word = token or text[start]
    return ExpressionError(start, start + len(word), f"unexpected '{word[:40]}': {wanted}")


class _Nodes(Transformer[Token, KernelNode]):
    """A method for each rule of the grammar that makes a node."""

    def NUMBER(self, token: Token) -> Number:
        start, end = _span(token)
        return Number(start, end, _number(token, start, end))

    def TRUTH(self, token: Token) -> Number:
        return Number(*_span(token), Typed(int(token == "true"), INT))

    def element(self, children: list[Token]) -> Element:
        (name,) = children
        return Element(*_span(name), name.value, None)

    def indexed(self, children: tuple[Token, KernelNode, Token]) -> Element:
        name, index, closing = children
        try:
            number = whole_number(index)
        except ExpressionError as error:
            raise ExpressionError(
                error.start, error.end, f"the index of '{name}' must be a number, known in advance", error.hint
            ) from None
        if number is None:
            raise ExpressionError(index.start, index.end, f"the index of '{name}' must be a whole number")
        return Element(_span(name)[0], _span(closing)[1], name.value, number)

    def unary(self, children: tuple[Token, KernelNode]) -> OperatorExpression:
        sign, operand = children
        return _operation(_span(sign)[0], f"unary {sign}", operand)

    def binary(self, children: tuple[KernelNode, Token, KernelNode]) -> OperatorExpression:
        left, operator, right = children
        return _operation(left.start, operator.value, left, right)

    def joined(self, children: tuple[KernelNode, Token, KernelNode]) -> OperatorExpression:
        """A run of one operator is one operation, so that a long one is not a deep one."""
        left, operator, right = children
        run = left.operands if isinstance(left, OperatorExpression) and left.op == operator else (left,)
        return _operation(left.start, operator.value, *run, right)

    def choice(self, children: tuple[KernelNode, KernelNode, KernelNode]) -> OperatorExpression:
        return _operation(children[0].start, "?", *children)


def _span(token: Token) -> tuple[int, int]:
    start = token.start_pos
    assert start is not None, "the lexer says where each token begins"
    return start, start + len(token)


def _operation(start: int, op: str, *operands: KernelNode) -> OperatorExpression:
    depth = 1 + max(o.depth for o in operands)
    if depth > MAX_DEPTH:
        raise ExpressionError(start, start + 1, f"the expression nests more than {MAX_DEPTH} operators")
    return OperatorExpression(start, operands[-1].end, op, operands, depth)


def _number(word: str, start: int, end: int) -> Typed:
    whole = _SUFFIX.fullmatch(word)
    if whole:
        return _integer(whole["digits"], whole["suffix"].lower(), start, end)
    real = _REAL.fullmatch(word)
    if real is None:
        raise ExpressionError(start, end, f"'{word[:40]}' is no number", "as in 12, 0x1F, 3u, 1.5 or 1.5f")
    bits = struct.unpack("<Q", struct.pack("<d", float(real["digits"])))[0]
    return Typed(convert(F64, F32, bits), FLOAT) if real["suffix"] else Typed(bits, DOUBLE)


def _integer(digits: str, suffix: str, start: int, end: int) -> Typed:
    """The first of C's types for such a number that it fits into."""
    hexadecimal = digits[:2] in ("0x", "0X")
    if not hexadecimal and len(digits) > 1 and digits[0] == "0":
        hint = f"write {digits.lstrip('0') or '0'}, or hexadecimal as 0x..."
        raise ExpressionError(start, end, f"'{digits[:40]}' would be octal in C", hint)
    value = int(digits, 16 if hexadecimal else 10) if len(digits) <= 40 else 1 << 64
    for width in (32, 64):
        if width == 32 and "l" in suffix:
            continue
        if "u" not in suffix and value < 1 << (width - 1):
            return Typed(value, Type("s", width))
        if (hexadecimal or "u" in suffix) and value < 1 << width:
            return Typed(value, Type("u", width))
    if value < 1 << 64:
        return Typed(value, Type("u", 64))
    raise ExpressionError(start, end, "a number of more than 64 bits")
