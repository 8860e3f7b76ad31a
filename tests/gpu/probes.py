"""A kernel for each form and choice of its modifiers, operands and types: what stands in `writer.py`'s frame.

`build(use, chance)` gives a `Probe`, or the reason why there is none. How a form is brought into a kernel depends on its
kind: values are computed from registers; atomics, loads and stores meet memory that no other thread uses; of what a
warp does together, each thread's inputs are a record, and those whose first input is 0 stay out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import driver
from gpu.writer import Field, Record, Writer, is_strict

from ptxcore.isa import async_copy, atomics, barriers, data_movement
from ptxcore.isa.form import Expected, Form, Use
from ptxcore.isa.types import WIDTHS

#: Threads of a CTA; each has a cell of this many bytes in the spaces that CTAs and threads have.
BLOCK, CELL = 128, 32
WARP = 32

#: What one case gives to the threads that it takes: a list of inputs for each of them.
Case = list[list[int]]


@dataclass
class Probe:
    """`threads` is how many threads one case takes; `block` how many a CTA has. `draw(chance)` makes a case.
    `meaning(case)` gives what the instruction's meaning makes of it, where that can be said without a machine: for each
    thread its outputs, with None for what is left open."""

    use: Use
    instruction: str
    writer: Writer
    draw: Callable[[random.Random], Case]
    threads: int = 1
    block: int = BLOCK
    meaning: Callable[[Case], list[list[int | None]]] | None = None
    is_open: Callable[[Case], list[list[bool]]] | None = None
    name: str = ""

    @property
    def inputs(self) -> Record:
        return self.writer.inputs

    @property
    def outputs(self) -> Record:
        return self.writer.outputs


class Unfit(Exception):
    """Why there is no kernel for a form, or for one choice of its modifiers."""


def build(use: Use, chance: random.Random) -> Probe:
    """A kernel for a use. Raises Unfit."""
    form = use.form
    if form.kind == "value":
        return _value(driver.draw_use(use, chance), chance)
    if form.kind == "warp":
        return _warp(use)
    for forms, make in _EFFECTS:
        if form in forms:
            return make(use, chance)
    raise Unfit(f"no kernel is known for {form!r}")


def mnemonic(use: Use) -> str:
    """The instruction's name with its modifiers, in the order that the form asks for."""
    pattern = use.form.pattern
    types = iter(use.types)
    written: list[tuple[str, str]] = []
    for slot in pattern.slots:
        written += [(slot.name, word) for word in slot.words if f"{slot.name}={word}" in use.present]
    for slot in pattern.types:
        if any(f"{slot.name}={word}" in use.present for word in slot.words):
            written.append((slot.name, next(types)))
    first = use.form.first.split()
    written.sort(key=lambda item: first.index(item[0]) if item[0] in first else len(first))
    return ".".join((use.form.mnemonic, *(word for _, word in written)))


# Operands.


def _is_wide(e: Expected) -> bool:
    """Whether an operand may stand in a wider register, and the manual says what then happens to its bits."""
    return "loose" in e.parameter.flags and e.type[:1] in "bus" and e.type[1:].isdigit() and WIDTHS[e.type] >= 8


def _width(e: Expected, chance: random.Random, limit: int = 64) -> int:
    width = WIDTHS[e.type]
    if not _is_wide(e) or width >= limit or chance.random() < 0.5:
        return width
    return chance.choice([w for w in (16, 32, 64) if width < w <= limit])


@dataclass
class _Operands:
    """The operands of an instruction as they are written, and what connects its sources with the kernel's inputs."""

    writer: Writer
    texts: list[str] = field(default_factory=list)
    #: For each source: None where it is left out, an integer for a constant, else the inputs that it consists of.
    shape: list[Any] = field(default_factory=list)
    #: Results to write: name, type, register, bits of the register.
    results: list[tuple[str, str, str, int]] = field(default_factory=list)
    negated: set[int] = field(default_factory=set)

    def destination(self, e: Expected, use: Use, chance: random.Random, *, braced: bool = False) -> None:
        p = e.parameter
        if "dropped" in p.flags:
            self.texts.append("_")
            return
        if e.parts:
            self.texts.append(_vector([self._result(f"{p.name}{i}", part.type, WIDTHS[part.type], is_strict(part))
                                       for i, part in enumerate(e.parts)]))  # fmt: skip
            return
        if e.length:
            width = _width(e, chance, 32)
            self.texts.append(_vector([self._result(f"{p.name}{i}", e.type, width, is_strict(e))
                                       for i in range(e.length)]))  # fmt: skip
            return
        text = self._result(p.name, e.type, _width(e, chance), is_strict(e))
        selected = use.words[f"{p.name}sel"]
        if selected:
            text += f".{selected}"
        if p.second is not None:
            text += "|" + self._result(f"{p.name}2", "pred", 1, False)
        self.texts.append(text)

    def _result(self, name: str, kind: str, width: int, strict: bool) -> str:
        register = self.writer.register(kind, width, strict=strict)
        self.results.append((name, kind, register, width))
        return register

    def source(self, e: Expected, use: Use, given: Any, chance: random.Random) -> None:
        """`given` is one value that the source may have: it says whether it is there, and how many elements it has."""
        p = e.parameter
        if given is None:
            self.shape.append(None)
            return
        if driver.constant(p):
            self.shape.append(given)
            self.texts.append(str(given))
            return
        if p.role == "tuple":
            parts = [self._input(f"{p.name}{i}", part, chance, 64) for i, part in enumerate(e.parts)]
        elif isinstance(given, tuple):
            limit = 32 if len(given) > 1 else 64
            parts = [self._input(f"{p.name}{i}", e, chance, limit) for i in range(len(given))]
        else:
            register, f = self._input(p.name, e, chance, 64)
            self.shape.append(f)
            text = register
            selected = use.words[f"{p.name}sel"]
            if selected:
                text += f".{selected}"
            if use.words[f"{p.name}neg"]:
                text = f"-{text}"
            if p.negatable and chance.random() < 0.5:
                text = f"!{text}"
                self.negated.add(len(self.shape) - 1)
            self.texts.append(text)
            return
        self.shape.append(tuple(f for _, f in parts))
        self.texts.append(_vector([register for register, _ in parts]))

    def _input(self, name: str, e: Expected, chance: random.Random, limit: int) -> tuple[str, Field]:
        width = 0 if e.type == "pred" else _width(e, chance, limit)
        register = self.writer.read(name, e.type, width, strict=is_strict(e))
        return register, self.writer.inputs.fields[-1]

    def write_results(self) -> None:
        for name, kind, register, width in self.results:
            self.writer.write(name, kind, register, width)


def _vector(registers: list[str]) -> str:
    return "{" + ", ".join(registers) + "}"


def _length(given: Any, drawn: Any) -> Any:
    """A drawn value with as many elements as the kernel's operand has."""
    if isinstance(given, tuple) and isinstance(drawn, tuple) and len(given) != len(drawn):
        return tuple(drawn[i % len(drawn)] for i in range(len(given)))
    return drawn


# Values.


def _value(use: Use, chance: random.Random) -> Probe:
    writer, form = Writer(), use.form
    operands = _Operands(writer)
    given = list(driver.draw_sources(use, chance))
    sources = iter(given)
    for e in use.expected:
        if e is None:
            continue
        if _is_destination(e):
            operands.destination(e, use, chance)
        else:
            operands.source(e, use, next(sources), chance)
    borrows = form.mnemonic.startswith("sub")
    if "in" in form.carry:
        flag = writer.read("carry", "u32")
        operands.shape.append(writer.inputs.fields[-1])
        unused = writer.register("u32")
        writer.emit(f"sub.cc.u32 {unused}, 0, {flag};" if borrows else f"add.cc.u32 {unused}, {flag}, 0xFFFFFFFF;")
    instruction = f"{mnemonic(use)} {', '.join(operands.texts)};"
    writer.emit(instruction)
    if "out" in form.carry:
        flag = writer.register("u32")
        writer.emit(f"subc.u32 {flag}, 0, 0;" if borrows else f"addc.u32 {flag}, 0, 0;")
        writer.emit(f"and.b32 {flag}, {flag}, 1;")
        operands.results.append(("carry", "u32", flag, 32))
    operands.write_results()
    widths = driver.widths(use)

    def draw(dice: random.Random) -> Case:
        return [_inputs(_conforming(use, operands.shape, dice), operands.shape, dice)]

    def meaning(case: Case) -> list[list[int | None]]:
        result = form.meaning(use, *_sources(operands, writer.inputs, case[0]))
        parts = result if isinstance(result, tuple) and len(widths) > 1 else (result,)
        flat = [x for part in parts for x in (part if isinstance(part, tuple | list) else (part,))]
        kept = [_extended(x, kind, width) for x, (_, kind, _, width) in zip(flat, operands.results, strict=False)]
        return [list(kept)]

    return Probe(use, instruction, writer, draw, meaning=meaning)


def _is_destination(e: Expected) -> bool:
    return e.parameter.role == "destination" or (bool(e.parts) and e.parts[0].parameter.role == "destination")


#: Integer divisions, of which nobody says what they give for a divisor of 0.
_DIVISIONS = ("div", "rem")


def _conforming(use: Use, shape: list[Any], chance: random.Random) -> list[Any]:
    """Sources that fit the kernel: drawn anew while one is missing that the kernel has."""
    for _ in range(1000):
        drawn = list(driver.draw_sources(use, chance))
        if use.form.mnemonic in _DIVISIONS and use.type[0] in "us" and drawn[1] == 0:
            continue  # what this gives is open, and a kernel that does it is in error
        if all(value is not None or s is None for value, s in zip(drawn, shape, strict=True)):
            return [None if s is None else _length(s, value) for value, s in zip(drawn, shape, strict=True)]
    raise Unfit("its inputs can hardly be drawn")


def _inputs(sources: list[Any], shape: list[Any], chance: random.Random) -> list[int]:
    """The kernel's inputs, with anything in the bits that an operand does not use of a wider register."""
    found: list[int] = []
    for value, s in zip(sources, shape, strict=True):
        if isinstance(s, Field):
            found.append(_widened(value, s, chance))
        elif isinstance(s, tuple):
            found += [_widened(x, f, chance) for x, f in zip(value, s, strict=True)]
    return found


def _widened(value: int, f: Field, chance: random.Random) -> int:
    used = WIDTHS.get(f.type, f.width)
    return value | chance.getrandbits(f.width - used) << used if f.width > used else value


def _sources(operands: _Operands, record: Record, inputs: list[int]) -> list[Any]:
    """What the meaning gets for the kernel's inputs."""
    by_field = dict(zip(record.fields, inputs, strict=True))

    def value(f: Field) -> int:
        return by_field[f] & (1 << WIDTHS.get(f.type, f.width)) - 1

    found: list[Any] = []
    for i, s in enumerate(operands.shape):
        if isinstance(s, Field):
            found.append(value(s) ^ 1 if i in operands.negated else value(s))
        else:
            found.append(tuple(value(f) for f in s) if isinstance(s, tuple) else s)
    return found


def _extended(value: int, kind: str, width: int) -> int:
    """A result as it stands in a register that is wider (section 9.4.1)."""
    used = WIDTHS[kind]
    if kind[0] == "s" and value >> used - 1 & 1:
        value -= 1 << used
    return value & (1 << max(width, 1)) - 1


# Warps.


def _warp(use: Use) -> Probe:
    writer, form = Writer(), use.form
    operands = _Operands(writer)
    alike = random.Random(0)
    active = writer.read("active", "pred")
    names: list[tuple[str, str]] = []
    for e in use.expected:
        if e is None:
            continue
        if _is_destination(e):
            operands.destination(e, use, alike)
        else:
            names.append((e.parameter.name, e.type))
            operands.source(e, use, 0, alike)
    writer.emit(f"@!{active} bra DONE;")
    instruction = f"{mnemonic(use)} {', '.join(operands.texts)};"
    writer.emit(instruction)
    operands.write_results()

    def draw(dice: random.Random) -> Case:
        from references.warp import draw_lanes

        (lanes,) = draw_lanes(use, dice)
        members = sum(1 << lane for lane in lanes)
        case = [[0] * len(writer.inputs.fields) for _ in range(WARP)]
        for lane, sources in lanes.items():
            case[lane] = [
                1,
                *(members if name == form.mask else x for (name, _), x in zip(names, sources, strict=True)),
            ]
        return case

    def lanes_of(case: Case) -> dict[int, tuple[int, ...]]:
        return {i: tuple(_sources(operands, writer.inputs, row)) for i, row in enumerate(case) if row[0]}

    def meaning(case: Case) -> list[list[int | None]]:
        results = form.meaning(use, lanes_of(case))
        empty: list[int | None] = [0] * len(operands.results)
        rows = [results.get(lane, empty) for lane in range(WARP)]
        return [list(row) if isinstance(row, tuple | list) else [row] for row in rows]

    def is_open(case: Case) -> list[list[bool]]:
        """A shuffle from a thread that takes no part gives anything."""
        lanes = lanes_of(case)
        numbered = {lane: (lane, *lanes.get(lane, (0, 0, 0, 0))[1:]) for lane in range(WARP)}
        results = form.meaning(use, numbered)
        return [[lane in lanes and results[lane][0] not in lanes, False] for lane in range(WARP)]

    shuffles = form.run is data_movement.shfl
    return Probe(use, instruction, writer, draw, WARP, BLOCK, meaning, is_open if shuffles else None)


# Memory.


def _cell(writer: Writer, space: str, chance: random.Random) -> tuple[str, str]:
    """The address of memory that the thread alone uses, and the space to initialise it in. `space` may be ""."""
    name = "%cell"
    writer.declared.append(f".reg .u64 {name};")
    if not space:
        space = chance.choice(("global", "shared"))
        generic = space == "shared"
    else:
        space, generic = space.partition("::")[0], False
    if space == "global":
        return "%out", space
    variable = "cells"
    count = CELL * BLOCK if space == "shared" else CELL
    writer.variables.append(f".{space} .align {CELL} .b8 {variable}[{count}];")
    writer.emit(f"mov.u64 {name}, {variable};")
    if space == "shared":
        writer.emit(f"mad.wide.u32 {name}, %thread, {CELL}, {name};")
    if not generic:
        return name, space
    writer.declared.append(".reg .u64 %generic;")
    writer.emit(f"cvta.shared.u64 %generic, {name};")
    return "%generic", "generic"


def _space_of(place: str) -> str:
    return "" if place == "generic" else f".{place}"


def _policy(writer: Writer) -> str:
    register = writer.register("u64")
    writer.emit(f"createpolicy.fractional.L2::evict_last.b64 {register};")
    return register


def _draw_fields(writer: Writer) -> Callable[[random.Random], Case]:
    def draw(dice: random.Random) -> Case:
        return [[_widened(driver.draw(f.type, dice), f, dice) for f in writer.inputs.fields]]

    return draw


def _reserve(writer: Writer, kind: str, length: int) -> list[Field]:
    """Outputs at the begin of the record, where `%out` points, for a thread's cell in global memory."""
    width = WIDTHS[kind]
    return [writer.outputs.add(f"memory{i}", kind, width, width // 8) for i in range(length)]


def _atomic(use: Use, chance: random.Random) -> Probe:
    """The cell gets its old value; the operation; what it gave and what stands in the cell are the outputs."""
    writer = Writer()
    kind, length = use.type, int((use.words["vec"] or "v1")[1:])
    bits = f"b{WIDTHS[kind]}"
    width = WIDTHS[kind] // 8
    old = [writer.read(f"old{i}", kind, strict=False) for i in range(length)]
    memory = _reserve(writer, kind, length)
    address, place = _cell(writer, use.words["space"], chance)
    for i, register in enumerate(old):
        writer.emit(f"st{_space_of(place)}.{bits} [{address}+{i * width}], {register};")
    texts: list[str] = []
    results: list[str] = []
    for e in use.expected:
        if e is None:
            continue
        p = e.parameter
        if p.role == "memory":
            texts.append(f"[{address}]")
        elif p.role == "destination":
            if "dropped" in p.flags:
                raise Unfit("the address is dropped")
            results = [writer.register(kind, strict=is_strict(e)) for _ in range(length)]
            texts.append(_vector(results) if e.length else results[0])
        elif p.condition:
            texts.append(_policy(writer))
        else:
            values = [writer.read(f"{p.name}{i}", kind, strict=is_strict(e)) for i in range(length)]
            texts.append(_vector(values) if e.length else values[0])
    instruction = f"{mnemonic(use)} {', '.join(texts)};"
    writer.emit(instruction)
    for i, register in enumerate(results):
        writer.write(f"d{i}", kind, register)
    for i, f in enumerate(memory):
        now = writer.register(kind)
        writer.emit(f"ld{_space_of(place)}.{bits} {now}, [{address}+{i * width}];")
        writer.emit(f"st.global.{bits} [%out+{f.offset}], {now};")
    return Probe(use, instruction, writer, _draw_cas(use, writer, length))


def _draw_cas(use: Use, writer: Writer, length: int) -> Callable[[random.Random], Case]:
    """Comparisons succeed half of the time."""
    plain = _draw_fields(writer)

    def draw(dice: random.Random) -> Case:
        case = plain(dice)
        if dice.random() < 0.5:
            case[0][length : 2 * length] = case[0][:length]
        return case

    return draw if use.op == "cas" else plain


def _load(use: Use, chance: random.Random) -> Probe:
    """From the record of inputs, or from a cell to which the inputs were written before."""
    writer = Writer()
    given = use.words["space"] or ("global" if use.form.mnemonic == "ldu" else "")
    space = given.partition("::")[0]
    if space in ("const", "param"):
        raise Unfit(f"memory of the .{space} space is the same for all threads")
    loaded = next(e for e in use.expected if e is not None and e.parameter.role == "destination")
    length = max(loaded.length, 1)
    kind, bits, width = use.type, f"b{WIDTHS[use.type]}", WIDTHS[use.type] // 8
    values = [writer.register(kind) for _ in range(length)]
    fields = [writer.inputs.add(f"a{i}", kind, WIDTHS[kind], width) for i in range(length)]
    address = "%in"
    if given in ("shared", "shared::cta", "shared::cluster", "local") or (not given and chance.random() < 0.5):
        address, place = _cell(writer, given or "shared", chance)
        for register, f in zip(values, fields, strict=True):
            writer.emit(f"ld.global.{bits} {register}, [%in+{f.offset}];")
            writer.emit(f"st{_space_of(place)}.{bits} [{address}+{f.offset}], {register};")
        if not given:
            generic = writer.register("u64")
            writer.emit(f"cvta.shared.u64 {generic}, {address};")
            address = generic
    operands = _Operands(writer)
    operands.destination(loaded, use, chance)
    operands.texts.append(f"[{address}]")
    if use.words["hint"]:
        operands.texts.append(_policy(writer))
    instruction = f"{mnemonic(use)} {', '.join(operands.texts)};"
    writer.emit(instruction)
    operands.write_results()
    return Probe(use, instruction, writer, _draw_fields(writer))


def _store(use: Use, chance: random.Random) -> Probe:
    """To a cell, which is then read."""
    writer = Writer()
    given = use.words["space"]
    if given.startswith("param"):
        raise Unfit("parameters are stored for calls")
    stored = next(e for e in use.expected if e is not None and e.parameter.role == "source")
    length = max(stored.length, 1)
    kind, bits, width = use.type, f"b{WIDTHS[use.type]}", WIDTHS[use.type] // 8
    memory = _reserve(writer, kind, length)
    address, place = _cell(writer, given, chance)
    size = _width(stored, chance, 32 if length > 1 else 64)
    values = [writer.read(f"b{i}", kind, size, strict=is_strict(stored)) for i in range(length)]
    texts = [f"[{address}]", _vector(values) if stored.length else values[0]]
    if use.words["hint"]:
        texts.append(_policy(writer))
    instruction = f"{mnemonic(use)} {', '.join(texts)};"
    writer.emit(instruction)
    if place != "global":
        for i, f in enumerate(memory):
            now = writer.register(kind)
            writer.emit(f"ld{_space_of(place)}.{bits} {now}, [{address}+{i * width}];")
            writer.emit(f"st.global.{bits} [%out+{f.offset}], {now};")
    return Probe(use, instruction, writer, _draw_fields(writer))


def _copy(use: Use, chance: random.Random) -> Probe:
    """`cp.async` of the inputs to a cell, waited for, and read there."""
    writer = Writer()
    if "[d:shared" not in use.form.syntax or "[a:global" not in use.form.syntax:
        raise Unfit("only waits")
    size = 16 if ".cg" in use.form.syntax else chance.choice((4, 8, 16))
    for i in range(4):
        writer.inputs.add(f"a{i}", "b32", 32)
    address, _ = _cell(writer, "shared", chance)
    texts = [f"[{address}]", "[%in]", str(size)]
    source = ""
    for e in use.expected:
        if e is None or e.parameter.name not in ("source", "ignored"):
            continue
        if e.parameter.optional and chance.random() < 0.3:
            continue
        source = e.parameter.name
        texts.append(writer.read(source, e.type or "pred"))
    if use.words["hint"]:
        texts.append(_policy(writer))
    instruction = f"{mnemonic(use)} {', '.join(texts)};"
    writer.emit(instruction)
    writer.emit("cp.async.wait_all;")
    for i in range(size // 4):
        now = writer.register("b32")
        writer.emit(f"ld.shared.b32 {now}, [{address}+{4 * i}];")
        writer.write(f"d{i}", "b32", now)

    def draw(dice: random.Random) -> Case:
        row = [dice.getrandbits(32) for _ in range(4)]
        if source:
            row.append(dice.randint(0, size) if source == "source" else dice.getrandbits(1))
        return [row]

    return Probe(use, instruction, writer, draw)


def _reduction(use: Use, chance: random.Random) -> Probe:
    """`bar.red` of a CTA that consists of one warp."""
    writer = Writer()
    operands = _Operands(writer)
    for e in use.expected:
        if e is None:
            continue
        p = e.parameter
        if p.role == "destination":
            operands.destination(e, use, chance)
        elif p.negatable:
            operands.source(e, use, 0, chance)
        elif "threads" not in p.flags or not p.optional or chance.random() < 0.5:
            operands.texts.append(str(WARP if "threads" in p.flags else chance.randint(0, 15)))
    instruction = f"{mnemonic(use)} {', '.join(operands.texts)};"
    writer.emit(instruction)
    operands.write_results()

    def draw(dice: random.Random) -> Case:
        share = dice.choice((0.0, 0.03, 0.5, 0.97, 1.0))
        return [[int(dice.random() < share)] for _ in range(WARP)]

    return Probe(use, instruction, writer, draw, WARP, WARP)


def _with(*meanings: Any) -> list[Form]:
    found = (*atomics.FORMS, *data_movement.FORMS, *async_copy.FORMS, *barriers.FORMS)
    return [form for form in found if form.run in meanings]


_EFFECTS: tuple[tuple[list[Form], Callable[[Use, random.Random], Probe]], ...] = (
    (_with(atomics.atom, atomics.cas, atomics.red), _atomic),
    (_with(data_movement.ld), _load),
    (_with(data_movement.st), _store),
    ([form for form in async_copy.FORMS if form.section.startswith("9.7.9.25.3")], _copy),
    ([form for form in barriers.FORMS if ".red" in form.syntax], _reduction),
)
