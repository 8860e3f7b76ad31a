"""Names of C++ as the Itanium C++ ABI writes them for linkers, read back: `f<int, 4>(int*, int)` for `_Z1fIiLi4EEvPT_S0_`.

Namespaces without a name are left out. What kernels are rarely called (operators, lambdas, expressions of templates, members,
`std::string`) is not read: who asks keeps the name as it stands. A short name may stand for an endless one, which is not read
either.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptxcore.records import NamedTuple

#: Characters of a name that is told; and how deep types may stand in types.
_LONGEST, _DEEPEST = 2000, 50
_TYPES = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...", "Dn": "decltype(nullptr)", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t",
    "DF16_": "_Float16",
}  # fmt: skip
#: How a number of each type is written that is no `(type)number`.
_SUFFIXES = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_LENGTH, _SEQUENCE = re.compile(r"[0-9]{1,4}"), re.compile(r"[0-9A-Z]{0,3}_")
#: What compilers call namespaces that have no name.
UNNAMED = ("_GLOBAL__", "_INTERNAL_")


class Demangled(NamedTuple):
    """A function: its name with namespaces, the arguments of its template (None where it is none), and the types of its
    parameters."""

    name: str
    arguments: tuple[str, ...] | None
    parameters: tuple[str, ...]

    @property
    def instance(self) -> str:
        """The name with the arguments of the template."""
        return self.name if self.arguments is None else f"{self.name}{_listed(self.arguments)}"

    def __str__(self) -> str:
        return f"{self.instance}({', '.join(self.parameters)})"


@lru_cache(maxsize=1024)
def demangled(entry: str) -> Demangled | None:
    """The function of this name; None for a name that C++ has not made, or that is not read here."""
    if not entry.startswith("_Z"):
        return None
    reader = _Reader(entry)
    try:
        found = reader.function()
    except _UnreadError:
        return None
    return found if reader.at == len(entry) and len(str(found)) <= _LONGEST else None


class _UnreadError(Exception):
    """A name that is not read here."""


class _Type(NamedTuple):
    """A type, as it stands before and behind what is declared: `int (*` and `)(float)`."""

    before: str
    behind: str = ""
    #: Those that a pack of arguments stands for.
    pack: tuple[_Type, ...] | None = None

    def __str__(self) -> str:
        blank = " " * (self.behind.startswith("(") and "(" not in self.before)
        return f"{self.before}{blank}{self.behind}"

    def marked(self, mark: str) -> _Type:
        """A pointer or a reference to it, or it with a qualifier."""
        if self.behind and "(" not in self.before:
            return _short(_Type(f"{self.before} ({mark.strip()}", f"){self.behind}"))
        return _short(_Type(self.before + mark, self.behind))


def _short(made: _Type) -> _Type:
    if len(made.before) + len(made.behind) > _LONGEST:
        raise _UnreadError
    return made


def _listed(arguments: tuple[str, ...]) -> str:
    told = ", ".join(arguments)
    return f"<{told}{' ' * told.endswith('>')}>"


def _flat(types: list[_Type]) -> tuple[str, ...]:
    """Each type, and in the place of a pack those that it has."""
    return tuple(str(one) for made in types for one in (made.pack if made.pack is not None else (made,)))


class _Reader:
    """Reads one name from left to right. What was read of types and names is kept, for later parts that refer to it."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.known: list[_Type] = []
        self.template: list[_Type] | None = None

    def _take(self, *several: str) -> str:
        """One of these, if it stands here."""
        for one in several:
            if self.text.startswith(one, self.at):
                self.at += len(one)
                return one
        return ""

    def _need(self, one: str) -> None:
        if not self._take(one):
            raise _UnreadError

    def function(self) -> Demangled:
        """A whole name."""
        self._need("_Z")
        name, arguments = self._name()
        if not str(name):
            raise _UnreadError
        self.template = arguments
        rest = len(self.text) > self.at and self.text[self.at] != "E"
        if rest and arguments is not None:
            self._type()  # what a template of a function gives
        parameters = []
        while len(self.text) > self.at and self.text[self.at] != "E":
            parameters.append(self._type())
        if not parameters:  # that of a variable
            raise _UnreadError
        taken = _flat(parameters)
        return Demangled(
            str(name), None if arguments is None else _flat(arguments), () if taken == ("void",) else taken
        )

    # Names.

    def _name(self) -> tuple[_Type, list[_Type] | None]:
        """A name, and the arguments of the template that it is an instance of."""
        if self._take("N"):
            return self._nested()
        self._take("L")
        inner = bool(self._take("St"))
        if not inner and self.text.startswith("S", self.at):
            name = self._substitution()
        else:
            name = _short(_Type("std::" * inner + self._source()))
            if self.text.startswith("I", self.at):
                self.known.append(name)
        return name, self._arguments() if self.text.startswith("I", self.at) else None

    def _nested(self) -> tuple[_Type, list[_Type] | None]:
        name, arguments = _Type(""), None
        while not self._take("E"):
            kept = True
            if self.text.startswith("I", self.at):
                if arguments is not None:
                    raise _UnreadError
                arguments = self._arguments()
                if not self.text.startswith("E", self.at):
                    name = _short(_Type(f"{name}{_listed(_flat(arguments))}"))
                    self.known.append(name)
                continue
            arguments = None
            if self._take("St"):
                name, kept = _Type("std"), False
            elif self.text.startswith("S", self.at) and not str(name):
                name, kept = self._substitution(), False
            elif self.text.startswith("T", self.at):
                name = self._parameter()
            else:
                self._take("L")
                name = _short(_Type("::".join(filter(None, (str(name), self._source())))))
            if kept and not self.text.startswith("E", self.at):
                self.known.append(name)
        return name, arguments

    def _source(self) -> str:
        """A name with its length; empty for one that the compiler gave to what has none."""
        length = _LENGTH.match(self.text, self.at)
        if length is None:
            raise _UnreadError
        end = length.end() + int(length[0])
        name = self.text[length.end() : end]
        if not int(length[0]) or end > len(self.text):
            raise _UnreadError
        self.at = end
        while self._take("B"):
            name += f"[abi:{self._source()}]"
        return "" if name.startswith(UNNAMED) else name

    def _arguments(self) -> list[_Type]:
        """`I` ... `E`, or a pack `J` ... `E`."""
        if not self._take("I", "J"):
            raise _UnreadError
        found = []
        while not self._take("E"):
            found.append(self._argument())
        return found

    def _argument(self) -> _Type:
        if self.text.startswith("J", self.at):
            return _Type("", "", tuple(self._arguments()))
        return self._literal() if self._take("L") else self._type()

    def _literal(self) -> _Type:
        """A number, or a function."""
        if self.text.startswith("_Z", self.at):
            outer, self.template = self.template, None
            name = self.function()
            self.template = outer
            self._need("E")
            return _short(_Type(str(name)))
        code = self.text[self.at : self.at + 1]
        kind = str(self._type())
        found = re.compile(r"n?[0-9]{1,40}").match(self.text, self.at)
        if found is None:
            raise _UnreadError
        self.at = found.end()
        self._need("E")
        number = found[0].replace("n", "-")
        if code == "b" and number in "01":
            return _Type("true" if number == "1" else "false")
        return _short(_Type(number + _SUFFIXES[code] if code in _SUFFIXES else f"({kind}){number}"))

    # Types.

    def _type(self) -> _Type:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnreadError
        made, new = self._any_type()
        if new:
            self.known.append(made)
        self.depth -= 1
        return made

    def _any_type(self) -> tuple[_Type, bool]:
        """A type, and whether later parts may refer to it."""
        qualifiers = re.compile(r"[rVK]+").match(self.text, self.at)
        if qualifiers:
            self.at = qualifiers.end()
            words = "".join({"K": " const", "V": " volatile", "r": " restrict"}[q] for q in reversed(qualifiers[0]))
            return self._type().marked(words), True
        mark = self._take("P", "R", "O")
        if mark:
            return self._type().marked({"P": "*", "R": "&", "O": "&&"}[mark]), True
        if self._take("Dp"):
            return self._type(), True  # of a pack it has what that has
        if self._take("A"):
            length = re.compile(r"[0-9]{0,9}").match(self.text, self.at)
            assert length is not None
            self.at = length.end()
            self._need("_")
            inner = self._type()
            return _short(_Type(inner.before, f" [{length[0]}]{inner.behind.lstrip()}")), True
        if self._take("F"):
            result, parameters = self._type(), []
            while not self._take("E"):
                parameters.append(self._type())
            taken = _flat(parameters)
            told = ", ".join(() if taken == ("void",) else taken)
            return _short(_Type(result.before, f"({told}){result.behind}")), True
        if self.text.startswith("T", self.at):
            return self._parameter(), True
        if self.text.startswith("S", self.at) and not self.text.startswith("St", self.at):
            found = self._substitution()
            if not self.text.startswith("I", self.at):
                return found, False
            return _short(_Type(f"{found}{_listed(_flat(self._arguments()))}")), True
        if re.compile(r"[NL0-9]|St").match(self.text, self.at):
            name, arguments = self._name()
            return _short(_Type(f"{name}{_listed(_flat(arguments)) if arguments is not None else ''}")), True
        if self._take("u"):
            return _Type(self._source()), True
        code = self._take(*sorted(_TYPES, key=len, reverse=True))
        if not code:
            raise _UnreadError
        return _Type(_TYPES[code]), False

    def _parameter(self) -> _Type:
        """An argument of the template that the function is an instance of."""
        self._need("T")
        number = self._number()
        if self.template is None or number >= len(self.template):
            raise _UnreadError
        return self.template[number]

    def _substitution(self) -> _Type:
        """What was read before."""
        self._need("S")
        number = self._number()
        if number >= len(self.known):
            raise _UnreadError
        return self.known[number]

    def _number(self) -> int:
        found = _SEQUENCE.match(self.text, self.at)
        if found is None:
            raise _UnreadError
        self.at = found.end()
        return int(found[0][:-1], 36) + 1 if len(found[0]) > 1 else 0
