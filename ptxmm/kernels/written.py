"""Arguments of kernels as one word: of `--arg NAME=WORD` on a command line, and of an annotation.

| Word | becomes |
|---|---|
| `8`, `-1`, `0x10`, `2.5` | a number of the parameter's type |
| `u32[4]` | a buffer of zeros |
| `u32[4]=7` | a buffer of sevens |
| `u32[4]=any` | a buffer that may hold anything at first |
| `FILE.npy` | a buffer with what the file holds |
| `{...}` | what a kernel test writes in `[params]` |
| `&x`, `&x+16`, `&x[4]` | a pointer into a buffer |
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ptxcore.records import NamedTuple
from ptxmm.kernels.arguments import ANY
from ptxmm.kernels.contents import type_of_file
from ptxmm.kernels.document import tree_of
from ptxmm.kernels.expressions import TYPES

if TYPE_CHECKING:
    from ptxmm.kernels.takes import TakenParameter

#: What a word may be, for messages.
KINDS = "a number, TYPE[N], FILE.npy, {...} or &BUFFER+N"
_BUFFER = re.compile(r"(?P<type>[a-z]+\d+)\[(?P<count>\d{1,19})\](?:=(?P<init>.*))?\Z")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)\Z")
#: Digits of a number on the command line: Python reads none of more than 4,300.
_MOST_DIGITS = 100


class Zeros(NamedTuple):
    """A buffer of so many zeros of a PTX type."""

    type: str
    elements: int


class Array(NamedTuple):
    """A buffer with what a `.npy` file holds."""

    file: str


#: What a word says; tables are those of kernel tests.
Word = int | float | Zeros | Array | dict[str, Any]


def word(text: str) -> Word:
    """What a word says. Raises ValueError with what is wrong."""
    buffer = _BUFFER.match(text)
    if buffer:
        if buffer["type"] not in TYPES:
            raise ValueError(f"there is no type .{buffer['type']}: the types are {', '.join(TYPES)}")
        zeros = Zeros(buffer["type"], int(buffer["count"]))
        return zeros if buffer["init"] is None else zeros._asdict() | {"init": _init(buffer["init"])}
    if text.endswith(".npy"):
        return Array(text)
    if text.lstrip()[:1] in ("{", "&"):
        return _table(text)
    number = _number(text)
    if number is None:
        raise ValueError(f"'{text}' is no number, no TYPE[N] and no .npy file")
    return number


def _number(text: str) -> int | float | None:
    if _INTEGER.match(text) and len(text) <= _MOST_DIGITS:
        return int(text, 0) if text.lower().lstrip("+-").startswith("0x") else int(text)
    try:
        return float(text)
    except ValueError:
        return None


def _init(text: str) -> int | float | str:
    """What each element of a buffer holds at first."""
    number = text if text == ANY else _number(text)
    if number is None:
        raise ValueError(f"'{text}' is no contents of a buffer: a number that all elements hold, or {ANY}")
    return number


def _table(text: str) -> dict[str, Any]:
    """What TOML reads in braces; a pointer by itself."""
    if text.lstrip().startswith("&"):
        return {"value": text}
    try:
        tree = tree_of(f"structure = {text}")
    except ValueError as error:
        raise ValueError(f"{text}: no structure: {error}") from None
    if tree.keys() != {"structure"}:
        raise ValueError(f"{text}: a structure stands in one pair of braces")
    table: dict[str, Any] = tree["structure"]
    return table


def table_of(value: Any, taken: TakenParameter | None, folder: str = "") -> Any:
    """An argument as `[params]` has it; files are seen from `folder`. Raises ValueError for text that is none, FileError for
    a file that has no array."""
    said: Word | Any = word(value) if isinstance(value, str) else value
    if isinstance(said, Zeros):
        return said._asdict()
    if isinstance(said, Array):
        kind = type_of_file(os.path.normpath(os.path.join(folder, said.file)))
        wanted = taken.pointee if taken else None
        return {"type": "bf16" if (kind, wanted) == ("u16", "bf16") else kind, "init": said.file}
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return {"type": _type_of(said, taken), "value": said}
    return said


def _type_of(value: float, taken: TakenParameter | None) -> str:
    """The type of a number: the parameter's own; that of the source, where it tells signs apart."""
    if taken is None:
        raise ValueError("a buffer is wanted here, as in u32[4]")
    kind = taken.number_type
    if kind[:1] in "bu" and kind != "bf16":
        if isinstance(value, float) and kind[:1] == "b":
            return f"f{kind[1:]}" if kind[1:] in ("16", "32", "64") else kind
        return f"s{kind[1:]}" if value < 0 else kind
    return kind
