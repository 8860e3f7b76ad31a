"""What a call is handed last: the count of an `init`, the parity of a wait. No address is one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxmm.repair.cuda.code import CudaCode, CudaStatement

_CALL = re.compile(r"\b(?!(?:if|while|for|switch|return|asm|volatile|sizeof)\b)[A-Za-z_]\w*+\s*+\(")
#: What is no number: an address, a text.
_NO_NUMBER = ("&", "*", '"')
#: A sum with 1, or a difference: what it is of, and which it is.
_BY_ONE = re.compile(r"([^?]*\S)\s*([+-])\s*1[uU]?")


def last_arguments(code: CudaCode, statement: CudaStatement) -> Iterator[tuple[int, int]]:
    """Where the last argument of each call of a statement stands, the outermost first."""
    for call in _CALL.finditer(code.bare, statement.start, statement.end):
        start, end = list(arguments_of(code, call.end() - 1))[-1]
        if start < end and not code.text[start:end].startswith(_NO_NUMBER):
            yield start, end


def arguments_of(code: CudaCode, opened: int) -> Iterator[tuple[int, int]]:
    """Where each argument of a call stands, whose parenthesis opens at a place; without any, one that is empty."""
    closed = code.partner.get(opened, -1)
    at = first = opened + 1
    while at <= closed:
        if code.bare[at] == "," or at == closed:
            said = code.text[first:at]
            yield first + len(said) - len(said.lstrip()), first + len(said.rstrip())
            first = at + 1
        at = code.partner.get(at, at) + 1 if code.bare[at] in "([{" else at + 1


def by_more(count: str, more: int) -> str:
    """A count as it is written, by so much more or less."""
    said = _BY_ONE.fullmatch(count)
    if said is not None and more == (-1 if said[2] == "+" else 1):
        return said[1]
    whole = re.fullmatch(r"[\w.:()]+", count) is not None
    return f"{count if whole else f'({count})'} {'-' if more < 0 else '+'} {abs(more)}"
