"""The shape of each directive: where it may stand, and what follows its name (PTX ISA 9.0, chapter 11).

Which version and target a directive needs stands in `ptxcore.isa.directives`, beside what is said here.
"""

from __future__ import annotations

import re

from ptxcore.diagnostics import nearest
from ptxcore.records import NamedTuple
from ptxcore.syntax.lexer import Bad, Cursor, Integer, integer_literal, shown
from ptxcore.syntax.tree import Address, Directive, Immediate, Name, Operand, QuotedText


class DirectiveForm(NamedTuple):
    """`places`: `module`, `entry` and `func` for heads, `prototype`, `body`. `arguments`: what is listed, see `_READERS`,
    from `least` to `most` of them. `ended`: by `;`. `labelled`: only behind a label."""

    places: tuple[str, ...]
    arguments: str
    least: int = 1
    most: int | None = 1
    ended: bool = False
    labelled: bool = False


#: What a function may be.
HEADS = ("entry", "func")
_FUNC = ("func", "prototype")
SHAPES = {
    "version": DirectiveForm(("module",), "version"),
    "target": DirectiveForm(("module",), "names", 1, None),
    "address_size": DirectiveForm(("module",), "integers"),
    "alias": DirectiveForm(("module",), "names", 2, 2, ended=True),
    "file": DirectiveForm(("module",), "file"),
    "loc": DirectiveForm(("body",), "loc"),
    "pragma": DirectiveForm(("module", *HEADS, "body"), "strings", 1, None, ended=True),
    "branchtargets": DirectiveForm(("body",), "labels", 1, None, ended=True, labelled=True),
    "calltargets": DirectiveForm(("body",), "names", 1, None, ended=True, labelled=True),
    "maxnreg": DirectiveForm(("entry",), "integers"),
    "maxntid": DirectiveForm(("entry",), "integers", 1, 3),
    "reqntid": DirectiveForm(("entry",), "integers", 1, 3),
    "minnctapersm": DirectiveForm(("entry",), "integers"),
    "maxnctapersm": DirectiveForm(("entry",), "integers"),
    "noreturn": DirectiveForm(_FUNC, "nothing"),
    "abi_preserve": DirectiveForm(_FUNC, "integers"),
    "abi_preserve_control": DirectiveForm(_FUNC, "integers"),
    "reqnctapercluster": DirectiveForm(("entry",), "integers", 1, 3),
    "explicitcluster": DirectiveForm(("entry",), "nothing"),
    "maxclusterrank": DirectiveForm(("entry",), "integers"),
    "blocksareclusters": DirectiveForm(("entry",), "nothing"),
}
#: Directives that are no list of arguments, and where they may stand.
STRUCTURED = {
    "entry": ("module",),
    "func": ("module",),
    "section": ("module",),
    "callprototype": ("body",),
    "extern": ("module",),
    "visible": ("module",),
    "weak": ("module",),
    "common": ("module",),
}
#: What declarations begin with.
DECLARATIONS = dict.fromkeys(("reg", "shared", "local", "param"), ("body",)) | dict.fromkeys(
    ("global", "const", "align"), ("module", "body")
)
_PLACES = {
    "module": "at module level",
    "entry": "in the head of an .entry",
    "func": "in the head of a .func",
    "prototype": "in a .callprototype",
    "body": "in the body of a function",
}
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})\Z")


def misplaced(cursor: Cursor, place: str) -> Bad:
    """What to say of a directive that cannot stand in a place (a key of `_PLACES`)."""
    name = cursor.text[1:]
    shape = SHAPES.get(name)
    places = {**STRUCTURED, **DECLARATIONS}.get(name) if shape is None else shape.places
    if places is None or place in places:
        known = (f".{word}" for word in (*SHAPES, *STRUCTURED, *DECLARATIONS))
        message, hint = f"unknown directive '{shown(cursor.text)}'", nearest(cursor.text, known)
        return Bad(cursor.start, cursor.stop, message, hint, code="directive")
    where = " or ".join(_PLACES[p] for p in places)
    message = f"'.{name}' cannot stand {_PLACES[place]}"
    return Bad(cursor.start, cursor.stop, message, f"it stands {where}", code="directive")


def read_directive(cursor: Cursor, shape: DirectiveForm) -> Directive:
    """The directive on whose name the cursor stands; it ends behind the arguments and their `;`. Raises Bad."""
    name = cursor.text[1:]
    cursor.advance()
    arguments = _READERS[shape.arguments](cursor, name, shape)
    if shape.ended and not cursor.accept(";"):
        raise cursor.missing("',' or ';'" if shape.most is None else "';'", f"at the end of .{name}")
    return Directive(name, arguments)


def read_number(cursor: Cursor, what: str) -> int:
    """A literal integer; directives take no expressions."""
    if cursor.kind != "number":
        raise cursor.missing(what)
    value: Integer | str = integer_literal(cursor.text)
    if isinstance(value, str):
        raise Bad(cursor.start, cursor.stop, value)
    cursor.advance()
    return value.value


def _nothing(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    return ()


def _integers(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    numbers = [read_number(cursor, f"the number of .{name}")]
    while cursor.text == ",":
        if len(numbers) == shape.most:
            raise Bad(cursor.start, cursor.stop, f"'.{name}' takes {_at_most(shape)}")
        cursor.advance()
        numbers.append(read_number(cursor, f"another number of .{name}"))
    if cursor.kind == "number" and len(numbers) != shape.most:
        raise cursor.missing("','")
    return tuple(map(Immediate, numbers))


def _at_most(shape: DirectiveForm) -> str:
    return "one number" if shape.most == 1 else f"at most {shape.most} numbers"


def _names(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    names = [Name(cursor.take_name(f"a name of .{name}"))]
    while cursor.text == "," and len(names) != shape.most:
        cursor.advance()
        names.append(Name(cursor.take_name(f"another name of .{name}")))
    if len(names) < shape.least:
        raise cursor.missing(f"',' and another name of .{name}")
    return tuple(names)


def _labels(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    """Labels; `N<5>` stands for N0 to N4."""
    labels: list[Operand] = []
    while True:
        label = cursor.take_name("a label")
        if cursor.accept("<"):
            start, stop = cursor.start, cursor.stop
            count = read_number(cursor, "a number of labels")
            if count > cursor.allowance:
                raise Bad(start, stop, f"{count} labels in one name are more than this module has")
            cursor.allowance -= count
            cursor.expect(">", "behind the number of labels")
            labels += [Name(f"{label}{i}") for i in range(count)]
        else:
            labels.append(Name(label))
        if not cursor.accept(","):
            return tuple(labels)


def _string(cursor: Cursor, what: str) -> QuotedText:
    if cursor.kind != "string":
        raise cursor.missing(f"{what} in quotes")
    text = cursor.text[1:-1]
    cursor.advance()
    return QuotedText(text)


def _strings(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    strings = [_string(cursor, f"the text of .{name}")]
    while cursor.accept(","):
        strings.append(_string(cursor, f"another text of .{name}"))
    return tuple(strings)


def _version(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    m = _VERSION.match(cursor.text)
    if m is None:
        if cursor.kind in ("number", "float"):
            raise Bad(cursor.start, cursor.stop, f"'{shown(cursor.text)}' is not a version", "as in .version 9.0")
        raise cursor.missing("a version")
    cursor.advance()
    return Immediate(int(m[1])), Immediate(int(m[2]))


def _file(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    """`.file 1 "name", time, size` (section 11.5.3)."""
    arguments: list[Operand] = [Immediate(read_number(cursor, "the index of the file"))]
    arguments.append(_string(cursor, "the name of the file"))
    if cursor.accept(","):
        arguments.append(Immediate(read_number(cursor, "the time of the file")))
        cursor.expect(",", "before the size of the file")
        arguments.append(Immediate(read_number(cursor, "the size of the file")))
    return tuple(arguments)


def _place(cursor: Cursor) -> list[Operand]:
    return [Immediate(read_number(cursor, what)) for what in ("the index of a file", "a line", "a column")]


def _loc(cursor: Cursor, name: str, shape: DirectiveForm) -> tuple[Operand, ...]:
    """`.loc 1 21 3, function_name label+4, inlined_at 1 20 5` (section 11.5.4)."""
    arguments = _place(cursor)
    while cursor.accept(","):
        word = cursor.text
        if word not in ("function_name", "inlined_at"):
            raise cursor.missing("'function_name' or 'inlined_at'")
        cursor.advance()
        arguments.append(Name(word))
        if word == "inlined_at":
            arguments += _place(cursor)
            break
        arguments.append(read_label_sum(cursor))
    return tuple(arguments)


def read_label_sum(cursor: Cursor) -> Name | Address:
    """A label or a section of debugging data, and what is added to it."""
    if cursor.kind not in ("name", "word") or cursor.text == "_":
        raise cursor.missing("a label")
    label = Name(cursor.text)
    cursor.advance()
    if cursor.accept("+"):
        return Address(label, read_number(cursor, "an offset"), False)
    return label


_READERS = {
    "nothing": _nothing,
    "integers": _integers,
    "names": _names,
    "labels": _labels,
    "strings": _strings,
    "version": _version,
    "file": _file,
    "loc": _loc,
}
