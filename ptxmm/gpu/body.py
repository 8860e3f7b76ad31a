"""A thread of a litmus test as the PTX of a kernel: registers declared and named apart, locations by address registers.

What the thread executes is what the test has, instruction by instruction; but an `exit` goes to where results are stored, and
a barrier without a count gets that of the warps which the test has in the CTA.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from litmus.test import TYPE_WIDTHS, AddressOf, LitmusThread, Location
from ptxcore.diagnostics import Span, fail
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.records import NamedTuple
from ptxcore.syntax.printer import print_instruction
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Bracket,
    Immediate,
    Instruction,
    Label,
    Name,
    Operand,
    Pair,
    Vector,
)
from ptxmm.gpu.placement import WARP

#: Bits of registers that a kernel can declare, and how.
_KINDS = {1: "pred", 8: "b8", 16: "b16", 32: "b32", 64: "b64", 128: "b128"}
_LEAVES = ("exit", "ret")
_LOADS = frozenset(("ld", "ldu", "atom", "atomic", "shfl", "vote"))


class BodyLine(NamedTuple):
    """A line of the module, and the statement of the test that it is of; `NOWHERE` of none."""

    text: str
    span: Span | None = None


class Body:
    """A thread being written. `images` are the locations that are textures or surfaces.
    `code` is what the engine made of it: there the widths of registers are settled."""

    def __init__(
        self, thread: LitmusThread, code: ThreadCode, locations: Mapping[str, Location], observed: Sequence[str], warps: int,
        images: Container[str] = (),
    ) -> None:  # fmt: skip
        self.thread, self.locations, self.warps, self.observed, self.images = thread, locations, warps, observed, images
        self.widths = {r.name: r.width for r in code.registers if r.name.replace("$", "_").isidentifier()}
        self.labels = {s.name for s in thread.statements if isinstance(s, Label)}
        self.used: dict[str, None] = {}  # address registers of locations
        self._made = 0
        self.declared: list[str] = []
        self._pointees = _uses_of_pointers(thread, self)

    # Names.

    @property
    def end(self) -> str:
        """The label at which results are stored."""
        return f"END_{self.thread.name}"

    def register(self, name: str) -> str:
        return f"%{self.thread.name}_{name.lstrip('%')}"

    def is_register(self, name: str) -> bool:
        return name.lstrip("%") in self.widths

    def is_location(self, name: str) -> bool:
        return name in self.locations and not self.is_register(name)

    def address(self, location: str, how: str) -> str:
        """The register with an address: `at`, generic; `in` and `wide`, in the window of shared memory, of 32 and 64 bits."""
        if self.locations[location].space != "shared":
            how = "at"
        name = f"%{self.thread.name}_{how}_{location}"
        self.used[f"{how} {location}"] = None
        return name

    # Text.

    def lines(self) -> list[BodyLine]:
        """What stands between the start of the instance and the end of the thread."""
        found = [BodyLine(text) for text in self._beginnings()]
        for statement in self.thread.statements:
            if isinstance(statement, Label):
                found.append(BodyLine(f"L_{self.thread.name}_{statement.name}:", statement.span))
            elif isinstance(statement, Instruction):
                found += [BodyLine(text, statement.span) for text in self._instruction(statement)]
        return found

    def declarations(self) -> list[str]:
        """The registers of the thread."""
        found = []
        for name, width in self.widths.items():
            found.append(f".reg .{_KINDS[width]} {self.register(name)};")
        return [*found, *self.declared]

    def _beginnings(self) -> list[str]:
        """The values that registers have at first. What is looked at behind the end has one on every way there."""
        found = []
        initial = dict(self.thread.registers)
        for name in dict.fromkeys([*initial, *self.observed]):
            bare = name.lstrip("%")
            if bare not in self.widths:
                continue
            value, width, register = initial.get(name, 0), self.widths[bare], self.register(bare)
            if width > 64:
                raise fail(
                    self.thread.span,
                    f"register '{name}' of {self.thread.name} has {width} bits, and the harness moves up to 64",
                )
            if isinstance(value, AddressOf):
                found.append(f"mov.b{width} {register}, {self._pointer(value.location, bare, self.thread.span)};")
            elif width == 1:
                found.append(f"setp.ne.u32 {register}, %h_zero, {value & 1};")
            elif width != 8:
                found.append(f"mov.b{width} {register}, {value & ((1 << width) - 1)};")
        return found

    def _pointer(self, location: str, register: str, span: Span) -> str:
        """What a register gets that shall point to a location."""
        width = self.widths[register]
        if self.locations[location].space != "shared":
            if width != 64:
                raise fail(
                    span, f"register '{register}' has {width} bits, and an address of global memory has 64 on a GPU"
                )
            return self.address(location, "at")
        uses = self._pointees.get(register, frozenset())
        if uses == {"generic", "window"}:
            raise fail(
                span,
                f"register '{register}' points to '{location}' for instructions with .shared and for others without, whose "
                "addresses differ on a GPU",
            )
        if width == 32:
            if uses == {"generic"}:
                raise fail(span, f"register '{register}' has 32 bits, and a generic address has 64 on a GPU")
            return self.address(location, "in")
        return self.address(location, "at" if uses == {"generic"} else "wide")

    def _instruction(self, instruction: Instruction) -> list[str]:
        if instruction.opcode in _LEAVES:
            instruction = Instruction("bra", (), (Name(self.end),), instruction.guard)
            return [self._printed(instruction, keep=True)]
        counted = self._counted(instruction)
        before: list[str] = []
        operands = []
        addresses = 0
        for operand in counted.operands:
            is_memory = isinstance(operand, Address) and operand.bracketed
            operands.append(self._operand(operand, counted, addresses, before))
            addresses += is_memory
        made = Instruction(counted.opcode, counted.modifiers, tuple(operands), counted.guard)
        return [*before, self._printed(made)]

    def _printed(self, instruction: Instruction, *, keep: bool = False) -> str:
        guard = instruction.guard
        if guard is not None:
            guard = replace(guard, name=self.register(guard.name))
        return (
            print_instruction(Instruction(instruction.opcode, instruction.modifiers, instruction.operands, guard)) + ";"
        )

    def _counted(self, instruction: Instruction) -> Instruction:
        """A barrier of the CTA with the number of threads that come: of the test's warps, all lanes count."""
        modifiers = instruction.modifiers
        if instruction.opcode not in ("bar", "barrier") or {"warp", "cluster"} & set(modifiers):
            return instruction
        operands, where = list(instruction.operands), 2 if "red" in modifiers else 1
        if len(operands) == where + ("red" in modifiers):
            operands.insert(where, Immediate(WARP * self.warps))
        return Instruction(instruction.opcode, modifiers, tuple(operands), instruction.guard, instruction.span)

    def _operand(self, operand: Operand, of: Instruction, place: int, before: list[str]) -> Operand:
        if isinstance(operand, Name):
            return self._name(operand, of)
        if isinstance(operand, Address):
            return self._address(operand, of, place, before)
        if isinstance(operand, Vector | Bracket):
            return type(operand)(tuple(self._operand(o, of, place, before) for o in operand.elements))
        if isinstance(operand, Pair):
            first = self._operand(operand.first, of, place, before)
            second = self._operand(operand.second, of, place, before)
            return Pair(first, second)  # type: ignore[arg-type]
        return operand

    def _name(self, operand: Name, of: Instruction) -> Operand:
        name = operand.name
        if self.is_register(name):
            return replace(operand, name=self.register(name))
        if name in self.labels:
            return Name(f"L_{self.thread.name}_{name}")
        if name in self.images:  # a handle
            return Name(self.address(name, "at"))
        if self.is_location(name):
            return Name(self._value(name, of))
        if name.split(".")[0] not in SPECIAL_REGISTERS:
            raise fail(of.span, f"'{name}' is not known to the harness")
        return operand

    def _value(self, location: str, of: Instruction) -> str:
        """The address of a location as a value."""
        target = of.operands[0] if of.operands else None
        if of.opcode in ("mapa", "cvta"):
            shared = any(m.startswith("shared") for m in of.modifiers)
            return self.address(location, ("in" if "u32" in of.modifiers else "wide") if shared else "at")
        if isinstance(target, Name) and self.is_register(target.name):
            return self._pointer(location, target.name.lstrip("%"), of.span)
        if self.locations[location].space == "shared":
            raise fail(
                of.span, f"the address of '{location}' in shared memory is no number here that the host would know"
            )
        return self.address(location, "at")

    def _address(self, operand: Address, of: Instruction, place: int, before: list[str]) -> Operand:
        assert isinstance(operand.base, Name)
        name, offset = operand.base.name, operand.offset
        if not self.is_location(name):
            return replace(operand, base=replace(operand.base, name=self.register(name)))
        if operand.indexed:
            offset *= TYPE_WIDTHS[self.locations[name].type] // 8
        if operand.bracketed:
            how = "in" if _space(of, place) == "window" else "at"
            return Address(Name(self.address(name, how)), offset)
        base = self._value(name, of)  # `x+4` as a value
        width = 32 if f"_in_{name}" in base else 64
        self._made += 1
        made = f"%{self.thread.name}_made{self._made}"
        self.declared.append(f".reg .b{width} {made};")
        before.append(f"add.u{width} {made}, {base}, {offset};")
        return Name(made)


def _space(of: Instruction, place: int) -> str:
    """Whether the memory operand of that number has an address in the window of shared memory, or a generic one. Global
    memory has the same addresses either way."""
    spaces = [m.split("::")[0] for m in of.modifiers if m.split("::")[0] in ("shared", "global")]
    if of.opcode in ("fence", "mapa", "cvta"):
        spaces = []
    if not spaces:
        return "generic"
    if place < len(spaces):
        return "window" if spaces[place] == "shared" else "generic"
    return "window" if "shared" in spaces else "generic"  # the mbarrier object of a copy


def _uses_of_pointers(thread: LitmusThread, body: Body) -> dict[str, frozenset[str]]:
    """Which kinds of addresses each register has to hold, by what is accessed through it or what is computed from it."""
    uses: dict[str, set[str]] = {}
    edges: dict[str, set[str]] = {}
    for s in thread.statements:
        if isinstance(s, Instruction):
            _note(s, body, uses, edges)
    found = {}
    for name in body.widths:
        kinds: set[str] = set()
        waiting, seen = [name], {name}
        while waiting:
            one = waiting.pop()
            kinds |= uses.get(one, set())
            new = edges.get(one, set()) - seen
            seen |= new
            waiting += new
        found[name] = frozenset(kinds)
    return found


def _note(s: AnyStatement, body: Body, uses: dict[str, set[str]], edges: dict[str, set[str]]) -> None:
    assert isinstance(s, Instruction)
    place = 0
    for operand in s.operands:
        if isinstance(operand, Address) and operand.bracketed:
            if isinstance(operand.base, Name) and body.is_register(operand.base.name):
                uses.setdefault(operand.base.name.lstrip("%"), set()).add(_space(s, place))
            place += 1
    names = [o.name.lstrip("%") for o in s.operands if isinstance(o, Name) and body.is_register(o.name)]
    if s.opcode in ("mapa", "cvta"):
        shared = any(m.startswith("shared") for m in s.modifiers)
        for source in names[1:2]:
            uses.setdefault(source, set()).add("window" if shared else "generic")
    elif s.opcode not in _LOADS and len(names) > 1 and isinstance(s.operands[0], Name):
        for source in names[1:]:
            edges.setdefault(source, set()).add(names[0])
