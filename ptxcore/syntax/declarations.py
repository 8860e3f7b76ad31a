"""Declarations of registers, variables and parameters (PTX ISA 9.0, sections 5.1-5.4, 7.1 and 11.6) from tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from ptxcore.diagnostics import Span
from ptxcore.records import NamedTuple
from ptxcore.syntax.directives import read_number
from ptxcore.syntax.expressions import read_integer
from ptxcore.syntax.initialisers import read_initialiser
from ptxcore.syntax.lexer import Bad, Cursor, shown
from ptxcore.syntax.operands import OperandReader
from ptxcore.syntax.tree import Declaration, Declarator

#: From offsets in the text to a place in the file.
SpanOf = Callable[[int, int], Span]

LINKAGE = ("extern", "visible", "weak", "common")
#: State spaces that a declaration may begin with; `surf`, `tex` and `sreg` are of early versions.
SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared", "tex", "surf")
VECTORS = ("v2", "v4", "v8")
#: A type whose dot was forgotten.
_TYPE = re.compile(r"[busf](?:8|16|32|64|128)|pred|f16x2")
#: More registers than any target has; a number beyond it is a slip.
MOST_NAMES = 1 << 20


class DeclarationWords(NamedTuple):
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


def read_words(cursor: Cursor, linkage: str = "") -> DeclarationWords:
    """State space, alignment, vector and type, up to the first name. The cursor stands on the state space. Raises Bad."""
    align: int | None = None
    if cursor.accept(".align"):  # it may stand before the state space, too
        align = _alignment(cursor)
        if cursor.text[1:] not in SPACES:
            raise cursor.missing("a state space", "behind the alignment")
    space = cursor.text[1:]
    start, stop = cursor.start, cursor.stop
    cursor.advance()
    bank = None
    if cursor.text == "[" and space == "const":
        cursor.advance()
        bank = read_integer(cursor, "the number of a constant bank")
        cursor.expect("]")
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    while cursor.text in (".align", ".attribute"):
        if cursor.accept(".align"):
            align = _alignment(cursor)
        else:
            cursor.advance()
            attributes += read_attributes(cursor)
    vector = kind = ""
    if cursor.text[1:] in VECTORS:
        vector = cursor.text[1:]
        cursor.advance()
    if cursor.kind == "word":
        kind = cursor.text[1:]
        if kind in ("align", "attribute", "ptr") or re.fullmatch(r"v[0-9]+", kind):
            raise _before_type(cursor, kind, vector)
        cursor.advance()
    if not kind:
        example = "as in .reg .u32 %a;" if space == "reg" else f"as in .{space} .u32 a;"
        what = "a register declaration" if space == "reg" else f"a declaration in .{space}"
        if _TYPE.fullmatch(cursor.text):
            raise Bad(cursor.start, cursor.stop, f"{what} needs a type", f"write .{cursor.text}")
        if not attributes and align is None and not vector:
            raise Bad(start, stop, f"{what} needs a type", example)
        bad = cursor.missing("a type")
        bad.hint = example
        raise bad
    pointer = None
    if cursor.accept(".ptr"):
        pointer = _pointer(cursor)
    if cursor.kind == "word":
        raise _behind_type(cursor, cursor.text[1:])
    return DeclarationWords(linkage, space, kind, vector, align, attributes, bank, pointer)


def _alignment(cursor: Cursor) -> int:
    return read_number(cursor, "an alignment in bytes")


def _before_type(cursor: Cursor, word: str, vector: str) -> Bad:
    if word == "ptr":
        return Bad(cursor.start, cursor.stop, "'.ptr' stands before the type", "write it behind the type")
    if word[0] == "v" and not vector:
        return Bad(cursor.start, cursor.stop, f"'.{shown(word)}' is not a vector", "vectors are .v2, .v4 and .v8")
    return Bad(cursor.start, cursor.stop, f"'.{shown(word)}' stands behind the vector",
               "the order is state space, .align and .attribute, vector, type")  # fmt: skip


def _behind_type(cursor: Cursor, word: str) -> Bad:
    if word in ("align", "attribute", *VECTORS):
        return Bad(cursor.start, cursor.stop, f"'.{word}' stands behind the type", "write it before the type")
    return Bad(cursor.start, cursor.stop, f"a name is missing before '{shown(cursor.text)}'")


def _pointer(cursor: Cursor) -> tuple[str, int | None]:
    """`.global .align 16` behind `.ptr` (section 7.1.1)."""
    space, align = "", None
    if cursor.text in (".const", ".global", ".local", ".shared"):
        space = cursor.text[1:]
        cursor.advance()
    if cursor.accept(".align"):
        align = _alignment(cursor)
    return space, align


def read_declarator(cursor: Cursor, place: SpanOf, operands: OperandReader) -> Declarator:
    """One name of a variable with its number, its dimensions and its initial value. Raises Bad."""
    start, stop = cursor.start, cursor.stop
    name = cursor.take_name("a name")
    count = None
    dimensions: tuple[int | None, ...] = ()
    value = None
    if cursor.accept("<"):
        number_start, number_stop = cursor.start, cursor.stop
        count = read_number(cursor, "a number of names")
        if count > MOST_NAMES:
            raise Bad(number_start, number_stop, f"more than {MOST_NAMES} registers in one name")
        cursor.expect(">", "behind the number of names")
    elif cursor.text == "[":
        dimensions = _dimensions(cursor)
    if cursor.text == "=" and count is None:
        cursor.advance()
        value = read_initialiser(cursor, operands)
    return Declarator(name, count, dimensions, value, place(start, stop))


def read_parameter_name(cursor: Cursor, place: SpanOf) -> Declarator:
    """The name of a parameter, `_` in a prototype, and its dimensions. Raises Bad."""
    start, stop = cursor.start, cursor.stop
    name = "_" if cursor.accept("_") else cursor.take_name("the name of a parameter")
    return Declarator(name, None, _dimensions(cursor), None, place(start, stop))


def _dimensions(cursor: Cursor) -> tuple[int | None, ...]:
    dimensions: list[int | None] = []
    while cursor.accept("["):
        dimensions.append(None if cursor.text == "]" else read_integer(cursor, "a number of elements"))
        cursor.expect("]", "behind the number of elements")
    return tuple(dimensions)


def read_declaration(cursor: Cursor, place: SpanOf, operands: OperandReader, linkage: str = "") -> Declaration:
    """A whole declaration, up to its `;`, on which the cursor ends. It begins at its state space. Raises Bad."""
    words = read_words(cursor, linkage)
    names = [read_declarator(cursor, place, operands)]
    while cursor.accept(","):
        names.append(read_declarator(cursor, place, operands))
    declaration = Declaration(
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
    if cursor.text != ";":
        bad = cursor.missing("',' or ';'")
        bad.statement, bad.again = declaration, True  # its names are known all the same
        raise bad
    return declaration
