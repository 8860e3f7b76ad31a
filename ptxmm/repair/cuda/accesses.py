"""Plain accesses and atomic functions, written as operations of `cuda::atomic_ref`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxmm.repair.cuda.code import CudaCode, CudaStatement
from ptxmm.repair.cuda.spellings import FUNCTION, FUNCTIONS, ORDER, SCOPE
from ptxmm.repair.sites import TextEdit, Wanted

_ASSIGNED = re.compile(r"(?<![=!<>])(?P<op>\+|-|\*|/|%|&|\||\^|<<|>>)?=(?!=)")
_COUNTED = re.compile(
    r"(?>(?P<ahead>\+\+|--)?)\s*+(?P<place>(?>(?:[\w.\[\]>*() ]|-(?!-))+))(?>(?P<behind>\+\+|--)?)\s*+;\Z"
)
#: What can be assigned to: no declaration has such a form.
_PLACE = re.compile(
    r"(?>(?:\*\s*+)?)\(?+[A-Za-z_]\w*+(?>(?:(?:->|\.)\w++|\[(?>(?:[^\[\]]++|\[[^\[\]]*+\])*)\])*)\)?+\Z|\*\s*+\([^;={}]*+(?<=\))\Z"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"(?>(?P<star>\*\s*+)?)(?<![\w.>])(?P<name>[A-Za-z_]\w*+)")
_MEMBER = re.compile(r"(?:->|\.)\w++")
_KEYWORDS = frozenset(
    ("if", "while", "for", "return", "do", "else", "switch", "sizeof", "const", "volatile", "unsigned", "int", "auto")
)


def accesses(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[tuple[TextEdit, ...]]:
    """The accesses of a statement that may be the one wanted, each as an operation with its order and scope."""
    if wanted.order not in ORDER or wanted.scope not in SCOPE:
        return
    if wanted.family in ("atom", "red"):
        yield from _functions(code, wanted, statement)
    elif wanted.old_order == "weak" and wanted.family == "st":
        yield from _stores(code, wanted, statement)
    elif wanted.old_order == "weak" and wanted.family == "ld":
        yield from _loads(code, wanted, statement)


def _type(code: CudaCode, place: str, offset: int) -> str:
    """The type of what stands at a place."""
    name = _NAME.search(place)
    return (code.type_of(name[0], offset) if name else "") or f"cuda::std::remove_cvref_t<decltype({place})>"


def _ref(code: CudaCode, place: str, wanted: Wanted, offset: int) -> str:
    """`cuda::atomic_ref<...>(place)`"""
    scope = f"cuda::thread_scope_{SCOPE[wanted.scope]}"
    return f"cuda::atomic_ref<{_type(code, place, offset)}, {scope}>({place})"


def _order(wanted: Wanted) -> str:
    return f"cuda::memory_order_{ORDER[wanted.order]}"


def _functions(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[tuple[TextEdit, ...]]:
    for found in FUNCTION.finditer(code.bare, statement.start, statement.end):
        close = code.partner.get(found.end())
        if close is None or found[1] not in FUNCTIONS:
            continue
        pointer, *values = _arguments(code, found.end(), close)
        place = (
            pointer[1:].strip()
            if pointer.startswith("&")
            else f"*{pointer}"
            if pointer.isidentifier()
            else f"*({pointer})"
        )
        ref = _ref(code, place, wanted, found.start())
        operation = FUNCTIONS[found[1]]
        new = f"{ref}.{operation}({', '.join([*values, _order(wanted)])})"
        if (
            found[1] == "CAS" and len(values) == 2
        ):  # that of cuda::atomic_ref gives a truth value, and writes what was there
            kind = _type(code, place, found.start())
            done = f"{ref}.{operation}(old, {values[1]}, {_order(wanted)})"
            new = f"[&] {{ {kind} old = {values[0]}; {done}; return old; }}()"
        yield (TextEdit(found.start(), close + 1, new),)


def _arguments(code: CudaCode, opened: int, close: int) -> list[str]:
    found, first, at = [], opened + 1, opened + 1
    while at <= close:
        c = code.bare[at]
        if c == "," or at == close:
            found.append(code.text[first:at].strip())
            first = at + 1
        at = code.partner[at] if c in "([{" and at in code.partner else at + 1
    return found


def _stores(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[tuple[TextEdit, ...]]:
    start = code.body(statement) or statement.start
    if statement.closer != ";":
        return
    bare, last = code.bare, statement.end - 1
    assigned = _ASSIGNED.search(bare, start, last)
    if assigned is not None:
        place, value = code.text[start : assigned.start()].strip(), code.text[assigned.end() : last].strip()
        op = assigned["op"]
    else:
        counted = _COUNTED.match(bare, start, statement.end)
        if counted is None or bool(counted["ahead"]) == bool(counted["behind"]):
            return
        place, op, value = counted["place"].strip(), (counted["ahead"] or counted["behind"])[0], "1"
    if _PLACE.match(place):
        new = f"{place} {op} ({value})" if op and not value.isalnum() else f"{place} {op} {value}" if op else value
        yield (TextEdit(start, last, f"{_ref(code, place, wanted, start)}.store({new}, {_order(wanted)})"),)


def _loads(code: CudaCode, wanted: Wanted, statement: CudaStatement) -> Iterator[tuple[TextEdit, ...]]:
    """What is read: names with brackets or members, what a pointer leads to, and names alone."""
    assigned = _ASSIGNED.search(code.bare, statement.start, statement.end)
    first = (
        assigned.end()
        if assigned and _PLACE.match(code.bare[statement.start : assigned.start()].strip())
        else statement.start
    )
    found: list[tuple[int, int, int]] = []
    for word in _WORD.finditer(code.bare, first, statement.end):
        if word["name"] in _KEYWORDS:
            continue
        end = _end_of_place(code, word.end())
        if code.bare[end : end + 1] in ("(", ":") or re.match(r"\s*[A-Za-z_(]", code.bare[end:]):
            continue
        rank = 0 if word["star"] or end > word.end() else 1
        found.append((rank, word.start(), end))
    for _, start, end in sorted(found):
        place = code.text[start:end]
        ahead = code.bare[:start].rstrip()[-1:]
        if place.startswith("*") and (ahead.isalnum() or ahead in "_)]"):  # a product, or a declaration
            continue
        yield (TextEdit(start, end, f"{_ref(code, place, wanted, start)}.load({_order(wanted)})"),)


def _end_of_place(code: CudaCode, at: int) -> int:
    """Behind the brackets and members of a name."""
    while True:
        member = _MEMBER.match(code.bare, at)
        if code.bare[at : at + 1] == "[" and at in code.partner:
            at = code.partner[at] + 1
        elif member is not None:
            at = member.end()
        else:
            return at
