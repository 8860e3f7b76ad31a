"""What names stand for, and where: symbols and the scopes that declare them (PTX ISA 9.0, sections 4.4, 5.4.3 and 7.1).

Scopes nest to any depth, and names are found without walking them: each name has a stack of its symbols, the innermost
last. A parameterised name `%r<100>` is one symbol under its stem `%r`, never a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ptxcore.diagnostics import Span
from ptxcore.isa.types import OPAQUE, WIDTHS
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Declaration, Function, Operand, Prototype

#: A name of a parameterised declaration has a number of at most as many digits.
_MOST_DIGITS = 8


#: What taking the address of a function or a kernel needs.
ADDRESS_GATES = {"func": "2.1", "entry": "3.1 sm_35"}


@dataclass(slots=True)
class Symbol:
    """`sort`: register, variable, function, label, prototype, targets (`.branchtargets`) or callees (`.calltargets`).
    `kind` is what an operand that names it is (`ptxcore.check.operands`)."""

    sort: str
    kind: Any
    span: Span
    depth: int = 0


@dataclass(slots=True)
class DeclaredVariable(Symbol):
    """Registers, variables and parameters. `role` of a parameter: `kernel`, `input`, `output`, or `local` in a body."""

    space: str = ""
    type: str = ""
    vector: str = ""
    dimensions: tuple[int | None, ...] = ()
    align: int | None = None
    linkage: str = ""
    role: str = ""
    value: Operand | None = None

    @property
    def element_bytes(self) -> int:
        """Bytes of one element: of a vector all of it."""
        return max(1, WIDTHS.get(self.type, 64) // 8) * (int(self.vector[1:]) if self.vector else 1)

    @property
    def alignment(self) -> int:
        """What it is aligned to: as written, or by its type (section 5.4.5)."""
        return self.align or self.element_bytes

    @property
    def bytes(self) -> int:
        """All of it; an unsized array has none."""
        size = self.element_bytes
        for dimension in self.dimensions:
            size *= dimension or 0
        return size


@dataclass(slots=True)
class Callable(Symbol):
    """A function or kernel, as its first declaration gave it; `defined` once a body was seen."""

    head: Function | None = None
    defined: bool = False
    alias: str = ""


@dataclass(slots=True)
class LabelSymbol(Symbol):
    """A label and what stands under it."""

    prototype: Prototype | None = None
    names: tuple[str, ...] = ()
    signatures: list[tuple[tuple[Declaration, ...], tuple[Declaration, ...]]] | None = None


@dataclass(slots=True)
class Scope:
    """One block: the names that it declares, and the branches in it whose labels are still to come."""

    names: list[str] = field(default_factory=list)
    stems: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    #: By stem the smallest number of a name declared here: whether `%r<5>` would declare one again.
    smallest: dict[str, int] = field(default_factory=dict)
    pending: dict[str, list[Any]] = field(default_factory=dict)


class Scopes:
    """The scopes that are open. `declare` and `find` are all there is to know of them."""

    __slots__ = ("_digit_stems", "_families", "_names", "stack")

    def __init__(self) -> None:
        self._names: dict[str, list[Symbol]] = {}
        self._families: dict[str, list[tuple[int, Symbol]]] = {}
        #: Open parameterised names whose stem ends with a digit: without any, a name has one stem only.
        self._digit_stems = 0
        self.stack: list[Scope] = [Scope()]

    @property
    def depth(self) -> int:
        return len(self.stack) - 1

    def open(self) -> None:
        self.stack.append(Scope())

    def close(self) -> Scope:
        """Forget what the innermost scope declares; what is given back still has its labels and pending branches."""
        scope = self.stack.pop()
        for name in scope.names:
            _pop(self._names, name)
        for stem in scope.stems:
            _pop(self._families, stem)
            self._digit_stems -= stem[-1:].isdigit()
        return scope

    def find(self, name: str) -> Symbol | None:
        """The innermost symbol of that name."""
        stack = self._names.get(name)
        found = stack[-1] if stack else None
        if self._families and name[-1:].isdigit():
            for stem, number in _splits(name) if self._digit_stems else _longest_split(name):
                for count, symbol in reversed(self._families.get(stem, ())):
                    if found is not None and found.depth >= symbol.depth:
                        break
                    if number < count:
                        found = symbol
                        break
        return found

    def find_here(self, name: str) -> Symbol | None:
        """The symbol of that name that the innermost scope declares."""
        found = self.find(name)
        return found if found is not None and found.depth == self.depth else None

    def exactly_here(self, name: str) -> Symbol | None:
        """The symbol that the innermost scope declares under that very name, not as one of a parameterised name."""
        stack = self._names.get(name)
        return stack[-1] if stack and stack[-1].depth == self.depth else None

    def overlaps(self, stem: str, count: int) -> bool:
        """Whether the innermost scope already has variables among `stem0` ... `stem{count-1}`. As with ptxas, two
        parameterised names only clash when their stems are the same."""
        smallest = self.stack[-1].smallest.get(stem, count)
        return smallest < count or any(s.depth == self.depth for _, s in self._families.get(stem, ())[-1:])

    def declare(self, name: str, symbol: Symbol, count: int | None = None) -> bool:
        """Make `name` (`name0` ... for a `count`) stand for the symbol from here on; whether that hides an outer one."""
        scope = self.stack[-1]
        symbol.depth = self.depth
        first = name if count is None else f"{name}0"
        hidden = self.find(first) is not None or count is not None
        if count is None:
            scope.names.append(name)
            self._names.setdefault(name, []).append(symbol)
        else:
            scope.stems.append(name)
            self._digit_stems += name[-1:].isdigit()
            self._families.setdefault(name, []).append((count, symbol))
        if count is None and name[-1:].isdigit() and symbol.sort in ("register", "variable"):
            for stem, number in _splits(name):
                if len(stem) + len(str(number)) == len(name) and number < scope.smallest.get(stem, number + 1):
                    scope.smallest[stem] = number
        return hidden

    def known(self) -> Iterator[str]:
        """Names for a suggestion."""
        return iter(self._names)

    def range_hint(self, name: str) -> str | None:
        """What is declared where `name` has a number that a parameterised declaration does not reach."""
        for stem, _ in _splits(name):
            for count, symbol in self._families.get(stem, ())[-1:]:
                if count:
                    return f"line {symbol.span.line} declares {stem}0 to {stem}{count - 1}"
        return None


def _pop(table: dict[str, list[Any]], key: str) -> None:
    stack = table[key]
    stack.pop()
    if not stack:
        del table[key]


def _splits(name: str) -> Iterator[tuple[str, int]]:
    """Every way to take a name for a stem with a number: `%r12` is 12 of `%r` and 2 of `%r1`, `%r01` is 1 of `%r`."""
    digits = name[-_MOST_DIGITS:]
    digits = digits[len(digits.rstrip("0123456789")) :]
    base = name[: len(name) - len(digits)]
    for i in range(len(digits)):
        yield base + digits[:i], int(digits[i:])


def _longest_split(name: str) -> tuple[tuple[str, int], ...]:
    """The one of `_splits` whose stem does not end with a digit."""
    stem = name.rstrip("0123456789")
    return ((stem, int(name[len(stem) :])),) if 0 < len(name) - len(stem) <= _MOST_DIGITS else ()


def variable(declaration: Declaration, index: int, role: str = "", kind: Any = None) -> DeclaredVariable:
    """The symbol of one name of a declaration."""
    d = declaration.names[index]
    space, type_ = declaration.space, declaration.type
    if kind is None:
        single = not d.dimensions
        kind = (
            kind_of(space, type_, declaration.vector, role) if single or type_ not in OPAQUE else ("var", space, type_)
        )
    return DeclaredVariable(
        "register" if space == "reg" else "variable", kind, d.span, 0, space, type_, declaration.vector, d.dimensions,
        declaration.align, declaration.linkage, role, d.value,
    )  # fmt: skip


def kind_of(space: str, type_: str, vector: str, role: str) -> Any:
    """What an operand is that names such a variable."""
    if type_ in OPAQUE:
        return type_
    if space == "reg":
        return f"{vector}.{type_}" if vector else type_
    if space == "tex":
        return "texref"
    return ("var", space, type_, role) if space == "param" else ("var", space, type_)
