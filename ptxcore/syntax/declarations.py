"""Declarations of registers, variables and parameters (PTX ISA 9.0, sections 5.1-5.4, 7.1 and 11.6) from tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptxcore.diagnostics import Span
from ptxcore.syntax.expressions import read_integer
from ptxcore.syntax.initialisers import read_initialiser
from ptxcore.syntax.lexer import Bad, Cursor, shown
from ptxcore.syntax.tree import Declaration, Declarator

#: From offsets in the text to a place in the file.
Place = Callable[[int, int], Span]

LINKAGE = ("extern", "visible", "weak", "common")
#: State spaces that a declaration may begin with; `surf`, `tex` and `sreg` are of early versions.
SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared", "tex", "surf")
_VECTORS = ("v2", "v4", "v8")
#: More registers than any target has; a number beyond it is a slip.
MOST_NAMES = 1 << 20


class Words(NamedTuple):
    """What stands before the names of a declaration."""

    linkage: str
    space: str
    type: str
    vector: str
    align: int | None
    attributes: tuple[tuple[str, tuple[int, ...]], ...]
    bank: int | None
    pointer: tuple[str, int | None] | None


def read_attributes(cursor: Cursor) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """`(.managed, .unified(1, 2))` behind `.attribute` (section 5.4.8)."""
    cursor.expect("(", "behind '.attribute'")
    attributes: list[tuple[str, tuple[int, ...]]] = []
    while True:
        if cursor.kind != "word":
            raise cursor.missing("an attribute such as .managed")
        name = cursor.text[1:]
        cursor.advance()
        numbers: list[int] = []
        if cursor.accept("("):
            numbers.append(read_integer(cursor))
            while cursor.accept(","):
                numbers.append(read_integer(cursor))
            cursor.expect(")")
        attributes.append((name, tuple(numbers)))
        if not cursor.accept(","):
            cursor.expect(")", "behind the attributes")
            return tuple(attributes)


def read_words(cursor: Cursor, linkage: str = "") -> Words:
    """State space, alignment, vector and type, up to the first name. The cursor stands on the state space. Raises Bad."""
    space = cursor.text[1:]
    start, stop = cursor.start, cursor.stop
    cursor.advance()
    bank = None
    if cursor.text == "[" and space == "const":
        cursor.advance()
        bank = read_integer(cursor, "the number of a constant bank")
        cursor.expect("]")
    kind = vector = ""
    align: int | None = None
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    pointer: tuple[str, int | None] | None = None
    while cursor.kind == "word":
        word = cursor.text[1:]
        if word == "ptr" and kind:
            cursor.advance()
            pointer = _pointer(cursor)
            continue
        if kind:
            raise _behind_type(cursor, word)
        cursor.advance()
        if word == "align":
            align = read_integer(cursor, "an alignment in bytes")
        elif word == "attribute":
            attributes += read_attributes(cursor)
        elif word in _VECTORS and not vector:
            vector = word
        else:
            kind = word
    if not kind:
        example = "as in .reg .u32 %a;" if space == "reg" else f"as in .{space} .u32 a;"
        what = "a register declaration" if space == "reg" else f"a declaration in .{space}"
        raise Bad(start, stop, f"{what} needs a type", example)
    return Words(linkage, space, kind, vector, align, attributes, bank, pointer)


def _behind_type(cursor: Cursor, word: str) -> Bad:
    if word in ("align", "attribute", *_VECTORS):
        return Bad(cursor.start, cursor.stop, f"'.{word}' stands behind the type", "write it before the type")
    return Bad(cursor.start, cursor.stop, f"a name is missing before '{shown(cursor.text)}'")


def _pointer(cursor: Cursor) -> tuple[str, int | None]:
    """`.global .align 16` behind `.ptr` (section 7.1.1)."""
    space, align = "", None
    if cursor.kind == "word" and cursor.text[1:] in ("const", "global", "local", "shared", "param", "generic"):
        space = cursor.text[1:]
        cursor.advance()
    if cursor.accept(".align"):
        align = read_integer(cursor, "an alignment in bytes")
    return space, align


def read_declarator(cursor: Cursor, place: Place, parameter: bool = False) -> Declarator:
    """One name with its number, its dimensions and its initial value. Raises Bad."""
    start, stop = cursor.start, cursor.stop
    if parameter and cursor.text == "_" and cursor.kind == "name":
        name = "_"
        cursor.advance()
    else:
        name = cursor.take_name("a name")
    count = None
    dimensions: list[int | None] = []
    value = None
    if cursor.accept("<"):
        number_start = cursor.start
        # No expression: its `>` would be taken for a comparison.
        count = _count(cursor)
        if count > MOST_NAMES:
            raise Bad(number_start, cursor.start, f"more than {MOST_NAMES} registers in one name")
        cursor.expect(">", "behind the number of names")
    while cursor.accept("["):
        dimensions.append(None if cursor.text == "]" else read_integer(cursor, "a number of elements"))
        cursor.expect("]", "behind the number of elements")
    if cursor.text == "=" and cursor.kind == "mark" and not parameter:
        cursor.advance()
        value = read_initialiser(cursor)
    return Declarator(name, count, tuple(dimensions), value, place(start, stop))


def _count(cursor: Cursor) -> int:
    start, stop = cursor.start, cursor.stop
    if cursor.kind not in ("number", "float"):
        raise cursor.missing("a number of names")
    inner = Cursor(cursor.source, start, stop)
    count = read_integer(inner, "a number of names")
    cursor.advance()
    return count


def read_declaration(cursor: Cursor, place: Place, linkage: str = "") -> Declaration:
    """A whole declaration, up to its `;`, on which the cursor ends. It begins at its state space. Raises Bad."""
    words = read_words(cursor, linkage)
    names = [read_declarator(cursor, place)]
    while cursor.accept(","):
        names.append(read_declarator(cursor, place))
    if cursor.text != ";":
        raise cursor.missing("',' or ';'")
    return Declaration(
        words.space,
        words.type,
        tuple(names),
        words.vector,
        words.align,
        words.linkage,
        words.attributes,
        words.bank,
        words.pointer,
    )
