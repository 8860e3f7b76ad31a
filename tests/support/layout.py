"""Modules in which each of many statements stands alone on its line, over a bank of registers and variables.

Each statement is a block of its own in one of a few entries, so that labels and syntax of one do not touch the others.
Declarations that no statement mentions are left out: versions differ in what they take.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DECLARATIONS = """\
.reg .pred p<8>;
.reg .b8 b<16>;
.reg .b16 h<32>;
.reg .b32 r<160>;
.reg .b64 d<32>;
.reg .b128 q<8>;
.reg .f32 f<160>;
.reg .f64 e<32>;
.reg .u8 bu<16>;
.reg .s8 bs<16>;
.reg .u16 hu<16>;
.reg .s16 hs<16>;
.reg .f16 hf<16>;
.reg .u32 ru<160>;
.reg .s32 rs<160>;
.reg .f16x2 rf<160>;
.reg .u64 du<16>;
.reg .s64 ds<16>;
.local .align 16 .b8 M[256];
.param .align 16 .b8 P[256];
"""
MODULE_DECLARATIONS = """\
.global .align 128 .b8 G[1024];
.shared .align 128 .b8 S[1024];
.const .align 16 .b8 C[256];
.global .texref T;
.global .surfref U;
.global .samplerref Q;
.func fn { ret; }
"""

#: Lines in front of the first statement, so that an error on a smaller line is known not to be about one.
EMPTY = 20000
_PER_ENTRY = 250
_NAME = re.compile(r"(?<![\w$%.])[A-Za-z_$%][\w$]*")
_DECLARED = re.compile(r"([A-Za-z_$%][\w$]*)(<\d+>)?\s*(?:\[[^\]]*\])*\s*(?:[;,={(]|$)")
_CTA_GROUP = re.compile(r"\.cta_group::\w+")


@dataclass(frozen=True)
class Declaration:
    text: str
    plain: frozenset[str]
    numbered: tuple[str, ...]

    def is_mentioned(self, names: Iterable[str]) -> bool:
        return any(
            name in self.plain or any(name.startswith(stem) and name[len(stem) :].isdigit() for stem in self.numbered)
            for name in names
        )


@functools.cache
def _declarations(text: str) -> tuple[Declaration, ...]:
    parsed = []
    for line in filter(None, map(str.strip, text.splitlines())):
        names = _DECLARED.findall(re.sub(r"\.\w+(?:::\w+)*|\b\d+\b(?!>)", " ", line.split("{")[0].split("=")[0]))
        parsed.append(
            Declaration(
                line,
                frozenset(name for name, numbers in names if not numbers),
                tuple(name for name, numbers in names if numbers),
            )
        )
    return tuple(parsed)


def header(version: str, target: str) -> str:
    """The first lines of a module; `.address_size` came with PTX ISA 2.3."""
    number = tuple(map(int, version.split(".")))
    return f".version {version}\n.target {target}\n" + (".address_size 64\n" if number >= (2, 3) else "")


class Layout:
    """Statements by index, and what the modules that they stand in declare."""

    def __init__(
        self,
        statements: Sequence[str],
        header: str,
        registers: str = DECLARATIONS,
        variables: str = MODULE_DECLARATIONS,
    ) -> None:
        self.statements = [statement.replace("\n", " ") for statement in statements]
        self.names = [frozenset(_NAME.findall(statement)) for statement in self.statements]
        self.header = header
        self.registers = _declarations(registers)
        self.variables = _declarations(variables)

    def module(self, chosen: Iterable[int]) -> tuple[str, dict[int, int | Declaration]]:
        """The text of a module with these statements, and what stands on which of its lines."""
        functions = self._functions(chosen)
        names: frozenset[str] = frozenset().union(*(self.names[i] for members in functions for i in members))
        lines = self.header.splitlines() + [""] * EMPTY
        standing: dict[int, int | Declaration] = {}

        def put(text: str, what: int | Declaration | None = None) -> None:
            lines.append(text)
            if what is not None:
                standing[len(lines)] = what

        for declaration in self.variables:
            if declaration.is_mentioned(names):
                put(declaration.text, declaration)
        registers = [declaration for declaration in self.registers if declaration.is_mentioned(names)]
        for number, members in enumerate(functions):
            put(f".entry k{number} () {{")
            for declaration in registers:
                put(declaration.text, declaration)
            for i in members:
                put(f"{{ {self.statements[i]} }}", i)
            put("ret; }")
        return "\n".join(lines) + "\n", standing

    def in_order(self, chosen: Iterable[int]) -> list[int]:
        """The statements in the order in which a module with them has them."""
        return [i for function in self._functions(chosen) for i in function]

    def _functions(self, chosen: Iterable[int]) -> list[list[int]]:
        groups: dict[str, list[int]] = {}
        for i in chosen:
            found = _CTA_GROUP.search(self.statements[i])
            groups.setdefault(found[0] if found else "", []).append(i)
        return [
            members[start : start + _PER_ENTRY]
            for members in groups.values()
            for start in range(0, len(members), _PER_ENTRY)
        ]

    def meant(self, what: int | Declaration, chosen: Iterable[int]) -> Iterable[int]:
        """The statements of which an error speaks that was found on a line."""
        if isinstance(what, int):
            return (what,)
        return [i for i in chosen if what.is_mentioned(self.names[i])]


def is_balanced(statement: str) -> bool:
    """Whether the statement leaves what stands behind it alone."""
    return not re.search(r'["\']|/[/*]', statement) and all(
        statement.count(opening) == statement.count(closing) for opening, closing in ("{}", "[]", "()")
    )
