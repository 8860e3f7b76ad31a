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
from typing import Any

import lark
from lark import Lark, Token, Transformer, UnexpectedInput
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ptxcore.values.ieee import F32, F64, convert
from ptxmm.kernels.comprehensions import (
    Comprehension,
    ForLoop,
    Indexed,
    Operation,
    ReadNode,
    depth_over,
    operation,
    written_out,
)
from ptxmm.kernels.expressions import (
    DOUBLE,
    FLOAT,
    INT,
    Element,
    ExpressionError,
    KernelExpression,
    Number,
    Type,
    Typed,
)

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
    ("FOR", "an operator or 'for i in range(...)' is wanted"),
    ("IN", "'in range(...)' is wanted"),
    ("RANGE", "'range(...)' is wanted"),
    ("LPAR", "'(' is wanted"),
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
        node: ReadNode = reading.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise _unexpected(text, reading, error) from None
    return KernelExpression(text, written_out(node))


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
            return ExpressionError(*_span(_open(reading)), "this '(' is never closed", "close it with ')'")
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


def _open(reading: InteractiveParser) -> Token:
    """The last parenthesis that is open."""
    stack: list[Token] = []
    for token in reading.parser_state.value_stack:
        if isinstance(token, Token) and token.type == "LPAR":
            stack.append(token)
        elif isinstance(token, Token) and token.type == "RPAR":
            stack.pop()
    return stack[-1]


class _Nodes(Transformer[Token, ReadNode]):
    """A method for each rule of the grammar that makes a node."""

    def NUMBER(self, token: Token) -> Number:
        start, end = _span(token)
        return Number(start, end, _number(token, start, end))

    def TRUTH(self, token: Token) -> Number:
        return Number(*_span(token), Typed(int(token == "true"), INT))

    def element(self, children: list[Token]) -> Element:
        (name,) = children
        return Element(*_span(name), name.value, None)

    def indexed(self, children: tuple[Token, ReadNode, Token]) -> Indexed:
        name, index, closing = children
        start = _span(name)[0]
        return Indexed(start, _span(closing)[1], name.value, index, depth_over(start, index))

    def bounds(self, children: list[ReadNode | None]) -> tuple[ReadNode, ...]:
        return tuple(bound for bound in children if bound is not None)

    def loop(self, children: tuple[Token, tuple[ReadNode, ...], ReadNode | None]) -> ForLoop:
        return ForLoop(children[0].value, *children[1:])

    def each(self, children: list[Any]) -> Comprehension:
        name, body, *loops, closing = children
        start, end = _span(name)
        if name not in ("all", "any", "sum"):
            raise ExpressionError(start, end, f"there is no '{name[:40]}' of many", "all, any or sum of them")
        return Comprehension(start, _span(closing)[1], name.value, body, tuple(loops), depth_over(start, body))

    def unary(self, children: tuple[Token, ReadNode]) -> ReadNode:
        sign, operand = children
        return operation(_span(sign)[0], f"unary {sign}", operand)

    def binary(self, children: tuple[ReadNode, Token, ReadNode]) -> ReadNode:
        left, operator, right = children
        return operation(left.start, operator.value, left, right)

    def joined(self, children: tuple[ReadNode, Token, ReadNode]) -> ReadNode:
        """A run of one operator is one operation, so that a long one is not a deep one."""
        left, operator, right = children
        run = left.operands if isinstance(left, Operation) and left.op == operator else (left,)
        return operation(left.start, operator.value, *run, right)

    def choice(self, children: tuple[ReadNode, ReadNode, ReadNode]) -> ReadNode:
        return operation(children[0].start, "?", *children)


def _span(token: Token) -> tuple[int, int]:
    start = token.start_pos
    assert start is not None, "the lexer says where each token begins"
    return start, start + len(token)


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
