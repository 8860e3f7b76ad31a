"""Tests in the format of "GPU concurrency" (ASPLOS 2015), `GPU_PTX`, which herd7 and litmus7 read until 2017.

They differ from ours in registers that the init block declares (`0:.reg .s32 r0;`), in the tree of scopes (`scopeTree`, of
devices, kernels, CTAs and warps), and in the memory map behind it (`x: global, y: shared`). Instructions are PTX of their time.

How they are read. A device is a GPU. A kernel is no more than its CTAs: all of them run at once. Registers start at 0. The
memory map alone says where a location is: a state space of an access, which herd7 never looked at, is left out, and the access
is generic. A load or a store is weak, whatever its cache operator (`.ca`, `.cg`, `.cv`, `.wb`, `.wt`): so the manual has it
since PTX 6.0, for these operators concern performance only. `.volatile`, `membar` and `atom` are what they are in PTX:
`relaxed.sys`, `fence.sc`, and `relaxed.gpu`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from litmus.formats.condition import read_tail
from litmus.formats.declarations import Declarations, read_declarations
from litmus.formats.header import read_head
from litmus.formats.parts import Parts
from litmus.formats.placement import Tree, read_tree
from litmus.formats.program import ReadColumn, read_program
from litmus.formats.source import LitmusSource, blank_comments
from litmus.test import Location, RegisterTerm
from ptxcore.syntax.tree import Instruction, Name, names_in

HEAD = "GPU_PTX"
_SCOPE_TREE = re.compile(r"\s*+(scopeTree|ScopeTree)(?!\w)")
_ANOTHER = re.compile(r"\s*+\(\s*+(?:device|gpu)\b")
_ENTRY = re.compile(r"\s*+(?!scopes\b)([A-Za-z_]\w*+)\s*+:\s*+(\w++)\s*+(,?)", re.ASCII)
_SPACES = {"global": "global", "shared": "shared", "local": "shared"}
#: What stands for each level of a tree; a kernel, or a grid, is no level of ours.
LEVELS = {
    "sys": "sys",
    "device": "gpu",
    "gpu": "gpu",
    "kernel": "kernel",
    "grid": "kernel",
    "cluster": "cluster",
    "cta": "cta",
    "block": "cta",
    "work_group": "cta",
    "warp": "warp",
    "sub_group": "warp",
}
_ACCESSES = ("ld", "st", "atom", "red")


def read_parts(source: LitmusSource) -> Parts:
    """The parts of a test. Findings go to the source; raises InputError where it cannot be read on."""
    (name, comments, meta), opening = read_head(source, HEAD)
    blank_comments(source, opening)
    declared, at = read_declarations(source, opening)
    init_is_good = not source.findings
    columns, at = read_program(source, at, dialect="typed")
    tree, at = _scope_tree(source, at)
    if tree is not None:
        at = _memory_map(source, declared, at)
    tail = read_tail(source, at)
    if tree is not None:
        if tail.tree is not None:
            place = next(iter(tail.tree[1].values()))
            source.note_at(place, "the test has two scope trees", "leave out 'scopes:' where there is a 'scopeTree'")
        tail.tree = tree
    for column in columns:
        asked = {t.register for t in tail.reader.terms if isinstance(t, RegisterTerm) and t.thread == column.name}
        _complete(column, declared, asked)
    return Parts(name, comments, meta, declared, init_is_good, columns, tail)


def _scope_tree(source: LitmusSource, at: int) -> tuple[Tree | None, int]:
    """The trees behind `scopeTree`, one for each device, as one."""
    found = _SCOPE_TREE.match(source.text, at)
    if found is None:
        return None, at
    numbers = {level: count() for level in LEVELS.values()}
    groups, spans, at = read_tree(source, found.end(), LEVELS, numbers)
    while _ANOTHER.match(source.text, at):
        more, places, at = read_tree(source, at, LEVELS, numbers)
        for name in groups.keys() & more.keys():
            source.note_at(places[name], f"{name} stands twice in the scope tree")
        groups |= more
        spans |= places
    return (groups, spans), at


def _memory_map(source: LitmusSource, declared: Declarations, at: int) -> int:
    text = source.text
    seen: set[str] = set()
    while (found := _ENTRY.match(text, at)) is not None:
        name, space = found[1], found[2]
        if name in seen:
            source.note(*found.span(1), f"{name} stands twice in the memory map")
        seen.add(name)
        if space not in _SPACES:
            hint = source.suggest(space, _SPACES) or "as in 'x: global, y: shared'"
            raise source.error(*found.span(2), f"unknown memory '{space[:40]}'", hint)
        old = declared.locations.get(name)
        if old is None:
            declared.implied[name] = False
            old = Location(name, span=source.span(*found.span(1)))
        declared.locations[name] = replace(old, space=_SPACES[space])
        at = found.end()
        if not found[3]:
            break
    return at


def _complete(column: ReadColumn, declared: Declarations, asked: set[str]) -> None:
    """Makes a thread's statements such as typed ones are: generic accesses, and registers that start at 0."""
    for statement in column.statements:
        if isinstance(statement, Instruction) and statement.opcode in _ACCESSES:
            statement.modifiers = tuple(m for m in statement.modifiers if m not in ("global", "shared"))
    types = declared.types.get(column.name, {})
    registers = declared.registers.setdefault(column.name, {})
    names = {n for s in column.statements if isinstance(s, Instruction) for n in _registers(s)} | types.keys() | asked
    predicates = {n for s in column.statements if isinstance(s, Instruction) for n in _predicates(s)}
    for name in sorted(names - registers.keys() - declared.locations.keys()):
        if name not in predicates and types.get(name) != ".pred":
            registers[name] = 0


def _predicates(statement: Instruction) -> Iterator[str]:
    if statement.guard is not None:
        yield statement.guard.name.removeprefix("%")
    if statement.opcode == "setp" and statement.operands and isinstance(statement.operands[0], Name):
        yield statement.operands[0].name.removeprefix("%")


def _registers(statement: Instruction) -> Iterator[str]:
    return (name.removeprefix("%") for name in names_in(*statement.operands) if statement.opcode != "bra")
