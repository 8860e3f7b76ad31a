"""Kernels written line by line: each thread reads a record of inputs, computes, and writes a record of outputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxcore.isa.form import Expected
from ptxcore.isa.types import WIDTHS

#: Records begin at multiples of this, so that every type and vector may stand in one.
ALIGNMENT = 16


@dataclass(frozen=True)
class Field:
    """A value in a record. `type` is what it means; `width` the bits that its register has, and `size` its bytes."""

    name: str
    type: str
    width: int
    offset: int

    @property
    def size(self) -> int:
        return max(self.width, 8) // 8


@dataclass
class Record:
    """The values that one thread reads or writes, one behind the other."""

    fields: list[Field] = field(default_factory=list)
    end: int = 0

    def add(self, name: str, kind: str, width: int, alignment: int = 0) -> Field:
        size = max(width, 8) // 8
        alignment = alignment or min(size, ALIGNMENT)
        offset = -(-self.end // alignment) * alignment
        made = Field(name, kind, width, offset)
        self.fields.append(made)
        self.end = offset + size
        return made

    @property
    def stride(self) -> int:
        return max(-(-self.end // ALIGNMENT), 1) * ALIGNMENT

    def pack(self, values: list[int]) -> bytes:
        data = bytearray(self.stride)
        for f, value in zip(self.fields, values, strict=True):
            data[f.offset : f.offset + f.size] = (value & (1 << 8 * f.size) - 1).to_bytes(f.size, "little")
        return bytes(data)

    def unpack(self, data: bytes, index: int) -> list[int]:
        start = index * self.stride
        return [int.from_bytes(data[start + f.offset : start + f.offset + f.size], "little") for f in self.fields]


class Writer:
    """The body of a kernel. `%in` and `%out` are the addresses of the thread's records, `%thread` its number in the CTA."""

    def __init__(self) -> None:
        self.inputs, self.outputs = Record(), Record()
        self.declared: list[str] = []
        self.variables: list[str] = []
        self.lines: list[str] = []
        self._made = 0

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def register(self, kind: str, width: int = 0, *, strict: bool = False) -> str:
        """A new register for values of a type, untyped unless `strict`."""
        self._made += 1
        name = f"%r{self._made}"
        declared = kind if kind == "pred" or strict else f"b{width or WIDTHS[kind]}"
        self.declared.append(f".reg .{declared} {name};")
        return name

    def read(self, name: str, kind: str, width: int = 0, *, strict: bool = False) -> str:
        """A register with an input."""
        if kind == "pred":
            return self._read_predicate(name)
        width = width or WIDTHS[kind]
        register = self.register(kind, width, strict=strict)
        self.emit(f"ld.global.b{width} {register}, [%in+{self.inputs.add(name, kind, width).offset}];")
        return register

    def _read_predicate(self, name: str) -> str:
        number, predicate = self.register("u16"), self.register("pred")
        self.emit(f"ld.global.u8 {number}, [%in+{self.inputs.add(name, 'pred', 1).offset}];")
        self.emit(f"setp.ne.u16 {predicate}, {number}, 0;")
        return predicate

    def write(self, name: str, kind: str, register: str, width: int = 0) -> None:
        """An output from a register."""
        if kind == "pred":
            number = self.register("u16")
            self.emit(f"selp.u16 {number}, 1, 0, {register};")
            self.emit(f"st.global.u8 [%out+{self.outputs.add(name, kind, 1).offset}], {number};")
            return
        width = width or WIDTHS[kind]
        self.emit(f"st.global.b{width} [%out+{self.outputs.add(name, kind, width).offset}], {register};")

    def text(self, name: str) -> str:
        """The kernel, with parameters: the inputs, the outputs, and the number of threads that have any."""
        lines = [f".entry {name} (.param .u64 {name}_in, .param .u64 {name}_out, .param .u32 {name}_count)", "{"]
        lines += [".reg .u64 %in, %out;", ".reg .u32 %thread, %cta, %number, %count;", ".reg .pred %beyond;"]
        lines += [*self.variables, *self.declared]
        lines += [
            "mov.u32 %thread, %tid.x;",
            "mov.u32 %cta, %ctaid.x;",
            "mov.u32 %number, %ntid.x;",
            "mad.lo.u32 %number, %cta, %number, %thread;",
            f"ld.param.u32 %count, [{name}_count];",
            "setp.ge.u32 %beyond, %number, %count;",
            "@%beyond bra DONE;",
            f"ld.param.u64 %in, [{name}_in];",
            f"ld.param.u64 %out, [{name}_out];",
            f"mad.wide.u32 %in, %number, {self.inputs.stride}, %in;",
            f"mad.wide.u32 %out, %number, {self.outputs.stride}, %out;",
            *self.lines,
            "DONE:",
            "exit;",
            "}",
        ]
        return "\n".join(lines) + "\n"


def is_strict(e: Expected) -> bool:
    return "strict" in e.parameter.flags
