"""`write`: a litmus test as text, laid out as people write it; reading the text gives an equal test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from litmus.formats.header import read_head
from litmus.formats.placement import places
from litmus.formats.program import fits_table, shows_ptx
from litmus.formats.source import LitmusSource
from litmus.test import (
    AddressOf,
    And,
    Compare,
    Constant,
    Implies,
    LaunchedKernel,
    Literal,
    LitmusThread,
    Location,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import InputError
from ptxcore.places import Placement
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import AnyStatement, Declaration, Instruction, Label

#: A thread with more statements is written as a block.
LONGEST_COLUMN = 24
#: An init block that fits into so many characters stands on one line.
_LINE = 100
_NAME = re.compile(r"[^\s\"{]+")
_KEY = re.compile(r"[A-Za-z_][\w.-]*")
#: The levels that a header may give, the usual ones first; the first choice that says where the threads are is taken.
_LEVEL_CHOICES = (("cta", "gpu"), ("cta", "cluster", "gpu"), ("warp", "cta", "gpu"), ("warp", "cta", "cluster", "gpu"))


def write(test: Test) -> str:
    """The text of a test.

    `read(write(test)) == test` for every test that was read. For one built by hand it holds when aliases have the type
    and values of what they alias, host threads the places that `placement.places` gives them, and the cells show the
    thread's dialect. Raises `ValueError` for a name, comment or place that the format cannot write.
    """
    lines = [f"PTX {_checked(test.name, _NAME, 'name')}"]
    for comment in test.comments:
        if "\r" in comment:
            raise ValueError(f"a comment with a carriage return cannot be written: {comment!r}")
        lines.append(f'"{comment}"')
    if any('"' in comment for comment in test.comments) and not _reads_back(lines, test.comments):
        raise ValueError(f"comments with such quotes cannot be written: {test.comments!r}")
    for key, value in test.meta:
        if _opens_comment(value) or "\n" in value or "\r" in value or value != value.strip():
            raise ValueError(f"this value of {key} cannot be written: {value!r}")
        lines.append(f"{_checked(key, _KEY, 'key')}={value}")
    lines += _init(test)
    headers = _headers(tuple((thread.name, thread.place) for thread in test.threads))
    columns = [list(map(_cell, thread.statements)) for thread in test.threads]
    blocks = any(map(_needs_block, test.threads, columns)) or _hides_types(test.threads, columns)
    lines += _blocks(test.threads, headers, columns) if blocks else _table(headers, columns)
    if test.observed:
        lines.append(f"locations [{' '.join(f'{_term(term)};' for term in test.observed)}]")
    if test.filter is not None:
        lines.append(f"filter {write_proposition(test.filter)}")
    lines += [f"{c.quantifier} {write_proposition(c.proposition)}" for c in test.conditions if c.asked]
    lines += test.checks
    return "\n".join(lines) + "\n"


def _reads_back(lines: list[str], comments: tuple[str, ...]) -> bool:
    """Whether what is written of comments is read as these comments."""
    try:
        (_, found, _), _ = read_head(LitmusSource("\n".join([*lines, "{"]), ""))
    except InputError:
        return False
    return found == comments


def _checked(word: str, pattern: re.Pattern[str], what: str) -> str:
    if not pattern.fullmatch(word) or _opens_comment(word):
        raise ValueError(f"this {what} cannot be written: {word!r}")
    return word


def _opens_comment(text: str) -> bool:
    return "//" in text or "(*" in text


# The init block.


def _init(test: Test) -> list[str]:
    declarations = [_location(location) for location in test.locations]
    for thread in test.threads:
        declarations += [f"{thread.name[1:]}:{name}={_value(value)}" for name, value in thread.registers]
    declarations += map(_kernel, test.kernels)
    if not declarations:
        return ["{ }"]
    line = " ".join(f"{declaration};" for declaration in declarations)
    if len(line) <= _LINE:
        return ["{ " + line + " }"]
    return ["{", *(f"  {declaration};" for declaration in declarations), "}"]


def _location(location: Location) -> str:
    if location.alias_of is not None:
        return f"{location.name} @ {location.proxy} aliases {location.alias_of}"
    initial = location.initial
    if location.elements is not None:
        values = "{" + ", ".join(map(_value, initial)) + "}" if any(value != 0 for value in initial) else ""
        text = f"{location.type} {location.name}[{location.elements}]" + (f" = {values}" if values else "")
    elif (location.type, location.space, location.align) == (".u32", "global", None) and isinstance(initial[0], int):
        return f"{location.name}={initial[0]}"
    else:
        text = f"{location.type} {location.name} = {_value(initial[0])}"
    align = "" if location.align is None else f".align {location.align} "
    return f".{location.space} {align}{text}"


def _value(value: int | AddressOf) -> str:
    return f"&{value.location}" if isinstance(value, AddressOf) else str(value)


def _kernel(kernel: LaunchedKernel) -> str:
    stream = f" stream {kernel.stream}" if kernel.stream else ""
    after = f" after {', '.join(kernel.after)}" if kernel.after else ""
    return f"kernel {kernel.name} = [{', '.join(kernel.threads)}]{stream}{after}"


# The program.


@lru_cache(maxsize=1024)  # families of tests have the same places again and again
def _headers(threads: tuple[tuple[str, Placement], ...]) -> list[str]:
    wanted = [place for _, place in threads]
    for levels in _LEVEL_CHOICES:
        given = [{"host": 0} if place.host else {level: getattr(place, level) for level in levels} for place in wanted]
        try:
            if all(number >= 0 for numbers in given for number in numbers.values()) and places(given) == wanted:
                break
        except ValueError:
            continue
    else:
        raise ValueError("the places of the threads are not such as a test can say: numbers are unique at each level")
    headers = []
    for (name, _), numbers in zip(threads, given, strict=True):
        place = "host" if "host" in numbers else ",".join(f"{level} {number}" for level, number in numbers.items())
        headers.append(f"{name}@{place}")
    return headers


def _needs_block(thread: LitmusThread, cells: Sequence[str]) -> bool:
    if len(cells) > LONGEST_COLUMN:
        return True
    return any(isinstance(s, Declaration) for s in thread.statements) or not all(map(fits_table, cells))


def _hides_types(threads: Sequence[LitmusThread], columns: Sequence[Sequence[str]]) -> bool:
    """Whether a table of these typed threads would be taken for the short dialect: no cell shows a type."""
    typed = [cells for thread, cells in zip(threads, columns, strict=True) if thread.dialect == "typed"]
    return bool(typed) and not any(shows_ptx(cell) for cells in typed for cell in cells)


@lru_cache(maxsize=4096)  # families of tests have the same statements again and again
def _cell(statement: AnyStatement) -> str:
    if isinstance(statement, Instruction) and statement.opcode == "sync" and statement.modifiers == ("stream",):
        return f"sync stream {print_statement(Instruction('stream', (), statement.operands)).split()[-1]}"
    return print_statement(statement)


def _table(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    columns = [[header, *column] for header, column in zip(headers, cells, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    return [
        " " + " | ".join(_at(column, row).ljust(width) for column, width in zip(columns, widths, strict=True)) + " ;"
        for row in range(max(map(len, columns)))
    ]


def _at(column: Sequence[str], row: int) -> str:
    return column[row] if row < len(column) else ""


def _blocks(threads: Sequence[LitmusThread], headers: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterable[str]:
    for thread, header, cells in zip(threads, headers, columns, strict=True):
        yield f"{header} {{"
        for statement, text in zip(thread.statements, cells, strict=True):
            yield f"  {text}" if isinstance(statement, Label) else f"    {text};"
        yield "}"


# Propositions.


def _term(term: RegisterTerm | LocationTerm) -> str:
    # `true` and `false` are words of the condition, so a location of that name needs its brackets.
    if isinstance(term, LocationTerm) and term.element is None and term.location in ("true", "false"):
        return f"[{term.location}]"
    return str(term)


def _left(side: RegisterTerm | LocationTerm | Constant) -> str:
    return str(side.value) if isinstance(side, Constant) else _term(side)


def _right(side: RegisterTerm | LocationTerm | Constant | AddressOf, left: object) -> str:
    if isinstance(side, Constant):
        return str(side.value)
    if isinstance(side, AddressOf):
        plain = not isinstance(left, Constant) and side.location not in ("true", "false")
        return side.location if plain else f"&{side.location}"
    if isinstance(side, LocationTerm) and side.element is None:
        return f"[{side.location}]"
    return _term(side)


def write_proposition(proposition: Proposition) -> str:
    """A proposition in parentheses, unless it is `true` or `false`. Works without recursion, for any depth."""
    if isinstance(proposition, Literal):
        return str(proposition.value).lower()
    parts: list[str] = []
    waiting: list[Proposition | str] = [")", proposition, "("]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
        elif isinstance(item, Literal):
            parts.append(str(item.value).lower())
        elif isinstance(item, Compare):
            parts.append(f"{_left(item.left)} {item.op} {_right(item.right, item.left)}")
        elif isinstance(item, Not):
            waiting += [")", item.operand, "~("]
        elif isinstance(item, Implies):
            waiting += [*_grouped(item.right), " => ", *_grouped(item.left)]
        else:
            word = " /\\ " if isinstance(item, And) else " \\/ "
            for index, operand in enumerate(reversed(item.operands)):
                waiting += [*([word] if index else []), *_grouped(operand)]
    return "".join(parts)


def _grouped(operand: Proposition) -> list[Proposition | str]:
    """An operand as the stack wants it (last first): in parentheses unless it binds most tightly."""
    return [")", operand, "("] if isinstance(operand, And | Or | Implies) else [operand]
