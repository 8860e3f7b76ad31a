"""Registers and other operands of a block's instructions as text over arrays."""

from __future__ import annotations

from typing import Any

from ptxcore.machine.ir.steps import CHANGING
from ptxcore.machine.ir.windows import LOCAL
from ptxcore.machine.lower.layout import DYNAMIC
from ptxcore.machine.lower.ops import Op, Source, TargetRegister
from ptxcore.machine.vector.arrays import ArrayPrinter, cast, constant, holder, type_name
from ptxcore.machine.vector.tracing import Untraceable
from ptxcore.values.terms import Term, Value, mask, symbol


class VectorOperands:
    """The text of one block as far as registers and operands go."""

    def __init__(self, blocks: Any, number: int) -> None:
        self.blocks, self.number = blocks, number
        self.code = blocks.code
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.taken: set[int] = set()
        self.known: set[int] = set()
        #: What operands are called: `r` for all threads of the block, `g` for those of a guard; their numbers, how many.
        self.prefix, self.who, self.count = "r", "I", "n"

    def register(self, slot: int) -> str:
        """The local variable of a register that is read."""
        if slot not in self.known:
            self.taken.add(slot)
            self.known.add(slot)
        return f"r{slot}"

    def name(self, value: Any, kind: str) -> str:
        name = f"{kind}{id(value)}"
        self.names[name] = value
        return name

    def constant(self, value: int, width: int) -> str:
        return constant(value & mask(width), width, self.names)

    def argument(self, source: Source | None) -> str:
        """The value of a source in the type of the operand's width."""
        assert source is not None
        kind, width = source.kind, source.width
        if kind == "register":
            self.register(source.value)
            text = cast(f"{self.prefix}{source.value}", source.has, width)
            if source.has > width and holder(width) != width:
                text = f"({text} & {self.constant(mask(width), width)})"
            if source.negated:
                text = f"(~{text})"
        elif kind == "constant":
            return self.constant(source.value + source.offset, width)
        elif kind == "frame":
            return self.constant(LOCAL + source.value + source.offset, width)
        elif kind == "shared":
            at = -1
            if source.value != DYNAMIC:
                at = self.blocks.program.layout.shared_variables[source.value].offset
            return f"G.variable({at}, {source.offset}, {type_name(width)}, {self.who})"
        elif kind == "special":
            if source.name in CHANGING:
                raise Untraceable(source.name)
            text = cast(f"G.special({source.name!r}, {type_name(source.has)}, {self.who})", source.has, width)
        else:
            raise Untraceable(kind)
        return f"({text} + {self.constant(source.offset, width)})" if source.offset else text

    def symbols(self, op: Op) -> tuple[list[Any], dict[Term, Source]]:
        """The sources as a meaning takes them: symbols, but for numbers; and which is which."""
        found: dict[Term, Source] = {}

        def value_of(source: Source | None) -> Any:
            if source is None:
                return None
            if source.kind == "vector":
                return tuple(value_of(part) for part in source.parts)
            if source.kind == "constant":
                return (source.value + source.offset) & mask(source.width)
            term = symbol(("operand", len(found)), source.width)
            assert isinstance(term, Term)
            found[term] = source
            return term

        return [value_of(s) for s in op.sources], found

    def printer(self, found: dict[Term, Source], more: dict[Term, str] | None = None) -> ArrayPrinter:
        texts = {term: self.argument(source) for term, source in found.items()}
        return ArrayPrinter({**texts, **(more or {})})

    def printed(self, printer: ArrayPrinter, values: list[tuple[Value, int]]) -> tuple[list[str], list[str]]:
        lines, texts = printer.print(values)
        self.names.update(printer.names)
        return lines, texts

    def assigned(self, target: TargetRegister | None, text: str, width: int) -> list[str]:
        """A value of a width becomes a register's."""
        if target is None:
            return []
        self.known.add(target.slot)
        if target.has > target.width and target.signed:
            if holder(target.width) != target.width:
                raise Untraceable("a register")
            text = f"{cast(text, width, target.width)}.view(i{target.width}).astype(i{holder(target.has)})"
            text = f"{text}.view(u{holder(target.has)})"
            if holder(target.has) != target.has:
                text = f"({text} & {self.constant(mask(target.has), target.has)})"
        else:
            text = cast(text, width, target.has)
        return [f"{self.prefix}{target.slot} = {text}"]
