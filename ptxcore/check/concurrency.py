"""Warnings for authors of concurrent code: PTX that is legal and rarely means what its author wanted.

What is warned of stands in `ptxcore.findings`, by code. All warnings look at one function at a time, and follow addresses
through registers that are written once, as compilers write them; what they cannot follow they do not warn of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic, Span, brief
from ptxcore.isa.targets import target, version
from ptxcore.places import SCOPES
from ptxcore.syntax.spans import modifier_span
from ptxcore.syntax.tree import (
    Address,
    Close,
    Directive,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    Open,
    Pair,
)

#: Opcodes that read or write memory, and the operand that is the address.
_ACCESSES = {"ld": 1, "st": 0, "atom": 1, "red": 0}
_FENCES = frozenset(("fence", "membar", "bar", "barrier"))
_ORDERS = frozenset(("relaxed", "acquire", "release", "acq_rel"))
_STRONG = frozenset(("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"))
#: Opcodes whose result is the address in their first source, perhaps with a constant added.
_COPIES = frozenset(("mov", "cvta", "add"))
_SPACES = frozenset(("global", "shared", "local", "const", "param"))
#: Spaces that no other thread writes while a kernel runs.
_PRIVATE = frozenset(("param", "const", "local"))
#: Copies followed, and instructions of a loop that may only wait: a bound on the work, far beyond what is written.
_LONGEST_CHAIN = 32
_LONGEST_WAIT = 256
#: `fence` exists from here on.
_FENCE_SINCE = version("6.0"), 70
_GENERIC_LEVEL = {"cta": "cta", "gl": "gpu", "sys": "sys"}


class Loop(NamedTuple):
    """The instructions from a label to a branch back to it, by their positions in the function."""

    first: int
    last: int


class Place(NamedTuple):
    """What an address is: a variable, parameter or register (`kind`, `name`) and an offset; and its state space."""

    kind: str
    name: str
    offset: int
    space: str


def warn(module: Module) -> list[Diagnostic]:
    """The warnings for a module, in order of their places."""
    spaces: dict[str, str] = {}
    for statement in module.statements:
        if hasattr(statement, "space") and hasattr(statement, "names"):
            for declarator in statement.names:
                spaces[declarator.name] = statement.space
    found: list[Diagnostic] = []
    fences = _has_fences(module)
    for body in _bodies(module):
        found += _Body(body, spaces, fences).warnings()
    return sorted(found, key=lambda d: d.span)


def _has_fences(module: Module) -> bool:
    """Whether the module's version and target know `fence`."""
    since, number = _FENCE_SINCE
    known, targets = False, []
    for statement in module.statements[:16]:
        if isinstance(statement, Directive) and statement.name == "version":
            given = [a.value for a in statement.arguments if isinstance(a, Immediate)]
            known = tuple(given) >= since
        elif isinstance(statement, Directive) and statement.name == "target":
            targets = [t for a in statement.arguments if isinstance(a, Name) and (t := target(a.name)) is not None]
    return known and all(t.number >= number for t in targets)


def _bodies(module: Module) -> Iterator[list[Instruction | Label]]:
    """The labels and instructions of each function."""
    body: list[Instruction | Label] = []
    depth = 0
    for statement in module.statements:
        if isinstance(statement, Instruction | Label):
            body.append(statement)
        elif isinstance(statement, Open):
            depth += 1
        elif isinstance(statement, Close):
            depth -= 1
            if depth == 0:
                yield body
                body = []
        elif isinstance(statement, Function):
            depth, body = 0, []


class _Body:
    def __init__(self, statements: Sequence[Instruction | Label], spaces: dict[str, str], fences: bool) -> None:
        self.spaces, self.fences = spaces, fences
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for statement in statements:
            if isinstance(statement, Label):
                self.labels[statement.name] = len(self.instructions)
            else:
                self.instructions.append(statement)
        #: The instruction that writes a register, None where several do.
        self.writers: dict[str, Instruction | None] = {}
        self.memory: list[int] = []
        interesting = False
        for i, instruction in enumerate(self.instructions):
            tick()
            for name in _written(instruction):
                self.writers[name] = None if name in self.writers else instruction
            if instruction.opcode in _ACCESSES:
                self.memory.append(i)
                interesting = (
                    interesting
                    or instruction.opcode in ("atom", "red")
                    or bool(_STRONG.intersection(instruction.modifiers))
                )
            interesting = interesting or instruction.opcode == "membar"
        self.interesting = interesting

    def warnings(self) -> Iterator[Diagnostic]:
        if not self.interesting:  # nothing here synchronises
            return
        yield from self.membars()
        yield from self.narrow_scopes()
        yield from self.weak_accesses()
        yield from self.volatile_stores()
        yield from self.waiting()

    # Addresses.

    def place(self, instruction: Instruction) -> Place | None:
        """What an access goes to; None where it cannot be told."""
        index = _ACCESSES[instruction.opcode]
        operand = instruction.operands[index] if index < len(instruction.operands) else None
        if not isinstance(operand, Address) or operand.indexed or not isinstance(operand.base, Name):
            return None
        written = next((m for m in instruction.modifiers if m.partition("::")[0] in _SPACES), "")
        return self.trace(operand.base.name, operand.offset, written.partition("::")[0])

    def trace(self, name: str, offset: int, space: str) -> Place | None:
        for _ in range(_LONGEST_CHAIN):
            if name not in self.writers:
                known = self.spaces.get(name, "")
                return Place("variable", name, offset, space or known) if known and known != "reg" else None
            writer = self.writers[name]
            if writer is None or writer.guard is not None:
                return None
            source = writer.operands[1] if len(writer.operands) > 1 else None
            if writer.opcode == "ld" and isinstance(source, Address) and isinstance(source.base, Name):
                if not any(m.partition("::")[0] == "param" for m in writer.modifiers):
                    return Place("register", name, offset, space)
                return Place("parameter", f"{source.base.name}+{source.offset}", offset, space)
            if writer.opcode not in _COPIES:
                return Place("register", name, offset, space)
            if writer.opcode == "cvta" and not space:
                space = next((m.partition("::")[0] for m in writer.modifiers if m.partition("::")[0] in _SPACES), "")
            if writer.opcode == "add":
                added = writer.operands[2] if len(writer.operands) > 2 else None
                if not isinstance(added, Immediate):
                    return Place("register", name, offset, space)
                offset += added.value
            if isinstance(source, Address) and not source.bracketed and isinstance(source.base, Name):
                name, offset = source.base.name, offset + source.offset
            elif isinstance(source, Name):
                name = source.name
            else:
                return Place("register", name, offset, space)
        return None

    # One warning each.

    def membars(self) -> Iterator[Diagnostic]:
        for instruction in self.instructions if self.fences else ():
            level = instruction.modifiers[0] if instruction.opcode == "membar" and instruction.modifiers else ""
            scope = _GENERIC_LEVEL.get(level)
            if scope is not None:
                yield _warning(
                    "membar",
                    instruction.span,
                    f"'membar.{level}' is 'fence.sc.{scope}', the strongest fence of its scope",
                    f"'fence.acq_rel.{scope}' is enough for release and acquire patterns, and narrower",
                )

    def narrow_scopes(self) -> Iterator[Diagnostic]:
        for i in self.memory:
            instruction = self.instructions[i]
            if "cta" not in instruction.modifiers:
                continue
            place = self.place(instruction)
            if "global" in instruction.modifiers or (place is not None and place.space == "global"):
                yield _warning(
                    "cta-scope-global",
                    modifier_span(instruction, instruction.modifiers.index("cta")),
                    "'.cta' scope on a .global location: it is not synchronised with threads of other CTAs",
                    "use .gpu (or .cluster, .sys) where another CTA may reach the location",
                )

    def weak_accesses(self) -> Iterator[Diagnostic]:
        strong: dict[Place, Instruction] = {}
        weak: list[tuple[Place, Instruction]] = []
        for i in self.memory:
            instruction = self.instructions[i]
            if any(m.partition("::")[0] in _PRIVATE or m == "nc" for m in instruction.modifiers):
                continue
            place = self.place(instruction)
            if place is None:
                continue
            place = place._replace(space="")
            if instruction.opcode in ("atom", "red") or _STRONG.intersection(instruction.modifiers):
                strong.setdefault(place, instruction)
            else:
                weak.append((place, instruction))
        for place, instruction in weak:
            other = strong.get(place)
            if other is not None:
                named = "weak" in instruction.modifiers
                span = modifier_span(instruction, instruction.modifiers.index("weak")) if named else instruction.span
                yield _warning(
                    "weak-atomic",
                    span,
                    f"a weak access to a location that line {other.span.line} accesses with "
                    f"'{'.'.join((other.opcode, *other.modifiers))}'",
                    "a race between them is undefined behaviour: use .relaxed with a scope",
                )

    def volatile_stores(self) -> Iterator[Diagnostic]:
        behind_fence = False
        for instruction in self.instructions:
            if instruction.opcode in ("fence", "membar"):
                behind_fence = True
            elif instruction.opcode in _ACCESSES:
                if behind_fence and instruction.opcode == "st" and "volatile" in instruction.modifiers:
                    yield _volatile(instruction, "a volatile store signals here", "st.release")
                behind_fence = False

    def waiting(self) -> Iterator[Diagnostic]:
        """Loops that wait: their exit depends on a load within them."""
        seen: set[int] = set()
        for loop in self.loops():
            for load in self.waited_for(loop):
                if load in seen:
                    continue
                seen.add(load)
                instruction = self.instructions[load]
                if "volatile" in instruction.modifiers:
                    yield _volatile(instruction, "a loop waits with a volatile load", "ld.acquire")
                elif not self.ordered_behind(load, loop):
                    said = "relaxed" in instruction.modifiers
                    how = "a relaxed access" if said else f"'{instruction.opcode}', which is relaxed by default"
                    yield _warning(
                        "relaxed-spin",
                        modifier_span(instruction, instruction.modifiers.index("relaxed"))
                        if said
                        else instruction.span,
                        f"a loop waits with {how}, and no fence follows it: what it waits for is not ordered",
                        "use .acquire here, or a fence.acq_rel of the same scope behind the loop",
                    )

    def loops(self) -> Iterator[Loop]:
        for i, instruction in enumerate(self.instructions):
            first = self.labels.get(_goal(instruction), i + 1)
            tick()
            if i - _LONGEST_WAIT < first <= i:
                yield Loop(first, i)

    def waited_for(self, loop: Loop) -> Iterator[int]:
        """The relaxed and volatile loads whose values decide whether the loop goes on."""
        inside = range(loop.first, loop.last + 1)
        where = {name: i for i in inside for name in _written(self.instructions[i])}
        for i in inside:
            instruction = self.instructions[i]
            if instruction.opcode != "bra" or instruction.guard is None:
                continue
            goal = self.labels.get(_goal(instruction), -1)
            if loop.first < goal <= loop.last and i != loop.last:
                continue  # stays inside
            waiting, reached = [instruction.guard.name], set[int]()
            while waiting:
                writer = where.get(waiting.pop())
                if writer is None or writer in reached or len(reached) >= _LONGEST_CHAIN:
                    continue
                reached.add(writer)
                origin = self.instructions[writer]
                if origin.opcode in ("ld", "atom"):
                    said = "relaxed" in origin.modifiers or "volatile" in origin.modifiers
                    if said or (_is_relaxed_by_default(origin) and self.repeats(origin, where)):
                        yield writer
                else:
                    waiting += [o.name for o in origin.operands[1:] if isinstance(o, Name)]

    def repeats(self, atom: Instruction, where: dict[str, int]) -> bool:
        """Whether an atomic does the same in each iteration of a loop, as one that waits does, not one that tries again with
        what it has read: all that it writes and compares with is known before. `where` has the loop's own writers."""
        for operand in atom.operands[2:]:
            writer = where.get(operand.name) if isinstance(operand, Name) else None
            if writer is not None:
                origin = self.instructions[writer]
                if origin.opcode != "mov" or not isinstance(origin.operands[1], Immediate):
                    return False
        return True

    def ordered_behind(self, load: int, loop: Loop) -> bool:
        """Whether a fence or barrier stands behind a load before the next access that is not the loop's own."""
        after = [*range(load + 1, loop.last + 1)]
        exits = {self.labels[g] for i in after if (g := _goal(self.instructions[i])) in self.labels}
        starts = [loop.last + 1, *(e for e in exits if e > loop.last)]
        if any(self.instructions[i].opcode in _FENCES for i in after):
            return True
        return all(self.fence_first[start] for start in starts)

    @cached_property
    def fence_first(self) -> list[bool]:
        """Whether nothing that needs order comes before a fence, from each instruction on."""
        found = [False]
        for instruction in reversed(self.instructions):
            private = any(m.partition("::")[0] in _PRIVATE for m in instruction.modifiers)
            if instruction.opcode in _FENCES:
                found.append(True)
            elif instruction.opcode in _ACCESSES and not private:
                found.append(bool({"acquire", "acq_rel"}.intersection(instruction.modifiers)))
            elif instruction.opcode in ("ret", "exit") and instruction.guard is None:
                found.append(False)
            else:
                found.append(found[-1])
        return found[::-1]


def _is_relaxed_by_default(instruction: Instruction) -> bool:
    """Whether an atomic says nothing of its order, which makes it relaxed (PTX ISA 9.0, section 9.7.13.4)."""
    private = any(m.partition("::")[0] in _PRIVATE for m in instruction.modifiers)
    return instruction.opcode == "atom" and not private and not _ORDERS.intersection(instruction.modifiers)


def _goal(instruction: Instruction) -> str:
    """The label that a branch goes to; "" for anything else."""
    if instruction.opcode == "bra" and instruction.operands and isinstance(instruction.operands[0], Name):
        return instruction.operands[0].name
    return ""


def _written(instruction: Instruction) -> tuple[str, ...]:
    """The registers in an instruction's first operand, where that is a destination."""
    if not instruction.operands or instruction.opcode in ("st", "red", "bra"):
        return ()
    first = instruction.operands[0]
    if isinstance(first, Name):
        return (first.name,)
    if isinstance(first, Pair):
        return tuple(p.name for p in (first.first, first.second) if isinstance(p, Name))
    return tuple(e.name for e in getattr(first, "elements", ()) if isinstance(e, Name))


def _volatile(instruction: Instruction, what: str, better: str) -> Diagnostic:
    return _warning(
        "volatile-synchronization",
        modifier_span(instruction, instruction.modifiers.index("volatile")),
        f"{what}: volatile is relaxed at system scope and orders nothing else",
        f"use {better} with the scope of the threads that take part ({' '.join('.' + s for s in SCOPES)})",
    )


def _warning(code: str, span: Span, message: str, hint: str) -> Diagnostic:
    return Diagnostic(span, brief(message), brief(hint), "warning", code)
