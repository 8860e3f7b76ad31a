"""Heads of kernels and functions, and call prototypes (PTX ISA 9.0, sections 11.2 and 11.3.3) from tokens."""

from __future__ import annotations

from ptxcore.syntax.declarations import SpanOf, read_attributes, read_parameter_name, read_words
from ptxcore.syntax.directives import SHAPES, misplaced, read_directive
from ptxcore.syntax.lexer import Bad, Cursor
from ptxcore.syntax.tree import Declaration, Directive, Function, Prototype


def read_function(cursor: Cursor, place: SpanOf, linkage: str = "") -> Function:
    """A head from `.entry` or `.func` on. The cursor ends on the `{` of a definition, behind the `;` of a declaration.

    Raises Bad.
    """
    kind = cursor.text[1:]
    cursor.advance()
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    results: tuple[Declaration, ...] = ()
    if kind == "func" and cursor.accept(".attribute"):
        attributes = read_attributes(cursor)
    if cursor.text == "(":
        if kind == "entry":
            raise Bad(cursor.start, cursor.stop, "an .entry has no return parameters")
        results = _parameters(cursor, place)
    name_place = place(cursor.start, cursor.stop)
    name = cursor.take_name(f"the name of the .{kind}")
    parameters = _parameters(cursor, place) if cursor.text == "(" else None
    directives = _directives(cursor, kind)
    defined = cursor.text == "{"
    if not defined and not cursor.accept(";") and linkage != "extern":
        raise cursor.missing("'{' or ';'", f"behind the head of the .{kind}")
    return Function(kind, name, results, parameters, linkage, attributes, directives, defined, name_place)


def read_prototype(cursor: Cursor, place: SpanOf) -> Prototype:
    """`.callprototype (results) _ (parameters) .noreturn;`; the cursor ends behind the `;`. Raises Bad."""
    cursor.advance()
    results = _parameters(cursor, place) if cursor.text == "(" else ()
    if not cursor.accept("_"):
        raise cursor.missing("'_'", "in the place of a function's name")
    parameters = _parameters(cursor, place) if cursor.text == "(" else None
    directives = _directives(cursor, "prototype")
    cursor.expect(";", "at the end of .callprototype")
    return Prototype(results, parameters, directives)


def _directives(cursor: Cursor, kind: str) -> tuple[Directive, ...]:
    directives: list[Directive] = []
    while cursor.kind == "word":
        shape = SHAPES.get(cursor.text[1:])
        if shape is None or kind not in shape.places:
            raise misplaced(cursor, kind)
        start = cursor.start
        directive = read_directive(cursor, shape)
        directive.text = cursor.source[start : cursor.start].rstrip()
        directives.append(directive)
    return tuple(directives)


def _parameters(cursor: Cursor, place: SpanOf) -> tuple[Declaration, ...]:
    """`(.param .u32 a, .param .align 8 .b8 b[16])`."""
    cursor.expect("(")
    parameters: list[Declaration] = []
    if cursor.accept(")"):
        return ()
    while True:
        parameters.append(_parameter(cursor, place))
        if not cursor.accept(","):
            if not cursor.accept(")"):
                raise cursor.missing("',' or ')'", "behind a parameter")
            return tuple(parameters)


def _parameter(cursor: Cursor, place: SpanOf) -> Declaration:
    if cursor.text not in (".param", ".reg"):
        raise Bad(cursor.start, max(cursor.stop, cursor.start + 1),
                  f"a parameter begins with .param or .reg, not with {cursor.quoted()}"
                  if cursor.kind != "end" else "a parameter is missing at the end of the text")  # fmt: skip
    start, stop = cursor.start, cursor.stop
    words = read_words(cursor)
    name = read_parameter_name(cursor, place)
    span = place(start, stop)
    text = cursor.source[start : cursor.start].rstrip()
    return Declaration(
        words.space, words.type, (name,), words.vector, words.align, "", words.attributes, None, words.pointer,
        span=span, text=text,
    )  # fmt: skip
