"""Where the variables of a module lie, and what they hold when a launch begins (PTX ISA 9.0, sections 5.1 and 5.4)."""

from __future__ import annotations

from dataclasses import field, replace

from ptxcore.check.symbols import DeclaredVariable
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.windows import CONST, GLOBAL_BITS
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Address, Float, Immediate, Name, Operand, Vector, Wrapped
from ptxcore.values.ieee import F32, F64, convert

#: The first number of a buffer of `.global` variables, and as many as a module may have; those below are the launch's own.
FIRST_VARIABLE = 1 << 20
#: Addresses of functions, and as many as a module may have.
FUNCTIONS = 0x0800_0000
_FUNCTION_STEP = 16
#: So many functions of a module have addresses.
_MOST_FUNCTIONS = 1 << 16
#: So many modules may be launched together.
MOST_MODULES = 128
#: Stands for the number of a variable in shared memory whose size the launch gives.
DYNAMIC = -1


@dataclass(slots=True)
class Placed:
    """A variable of `.global` or `.const` memory: its address, its bytes at the start."""

    name: str
    space: str
    address: int
    size: int
    variable: DeclaredVariable
    data: bytes = b""


@dataclass(slots=True)
class SharedVariable:
    """A variable of shared memory: its size, alignment, and the kernel in which it is declared ("" for all others, which
    every kernel has)."""

    size: int
    align: int
    kernel: str
    offset: int = 0
    name: str = ""


@dataclass(slots=True)
class ModuleLayout:
    """All variables of a module. Those that are launched together have numbers, lest their addresses meet."""

    number: int = 0
    variables: list[Placed] = field(default_factory=list)
    shared_variables: list[SharedVariable] = field(default_factory=list)
    const_bytes: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    names: dict[str, Placed] = field(default_factory=dict)
    _by_key: dict[int, Placed] = field(default_factory=dict)
    _dynamic_align: int = 16
    #: Where each kernel's variables of shared memory end; "" for those of all kernels.
    _shared_ends: dict[str, int] = field(default_factory=lambda: {"": 0})

    def shared(self, name: str, size: int, align: int, dynamic: bool, kernel: str) -> int:
        """The number of a variable of shared memory; `DYNAMIC` for memory whose size the launch gives."""
        if dynamic:
            self._dynamic_align = max(self._dynamic_align, align)
            return DYNAMIC
        self.shared_variables.append(SharedVariable(size, align, kernel, name=name))
        return len(self.shared_variables) - 1

    def dynamic(self, kernel: str) -> int:
        """The offset at which the shared memory that the launch gives begins, behind a kernel's variables."""
        return _aligned(self._shared_ends.get(kernel, self._shared_ends[""]), self._dynamic_align)

    def place(self, name: str, variable: DeclaredVariable, key: int) -> None:
        """Gives a variable of `.global` or `.const` memory its address; one declared before keeps it."""
        known = self.names.get(name) if not variable.depth else None
        if known is not None:
            self._by_key[key] = known
            if variable.value is not None or known.variable.linkage == "extern":
                known.variable, known.size = variable, max(known.size, _size(variable))
            return
        if variable.space == "const":
            self.const_bytes = _aligned(self.const_bytes, variable.alignment)
            address = CONST + self.const_bytes
            self.const_bytes += _size(variable)
        else:
            address = FIRST_VARIABLE * (1 + self.number) + len(self.variables) << GLOBAL_BITS
        placed = Placed(name, variable.space, address, _size(variable), variable)
        self.variables.append(placed)
        self._by_key[key] = placed
        if not variable.depth:
            self.names[name] = placed

    def address(self, key: int) -> int:
        """The address of a placed variable."""
        return self._by_key[key].address

    def function(self, name: str) -> int:
        """The address of a function."""
        number = _MOST_FUNCTIONS * self.number + len(self.functions)
        return self.functions.setdefault(name, FUNCTIONS + _FUNCTION_STEP * number)

    def settle(self) -> None:
        """Computes the offsets in shared memory, and what stands in every other variable, now that all names are known."""
        for variable in sorted(self.shared_variables, key=lambda v: v.kernel):  # those of all kernels first
            end = self._shared_ends.get(variable.kernel, self._shared_ends[""])
            variable.offset = _aligned(end, variable.align)
            self._shared_ends[variable.kernel] = variable.offset + variable.size
        for placed in self.variables:
            value = placed.variable.value
            placed.data = b"" if value is None else self._bytes(placed.variable, value)

    def _bytes(self, variable: DeclaredVariable, value: Operand) -> bytes:
        """The bytes of an initialiser. Rows that are given short are filled up with zeros (section 5.4.4)."""
        size = max(1, WIDTHS.get(variable.type, 64) // 8)
        lanes = int(variable.vector[1:]) if variable.vector else 1
        shape = [d or 0 for d in variable.dimensions] + ([lanes] if lanes > 1 else [])
        # For each depth of braces the bytes of one element there.
        strides = [size]
        for dimension in reversed(shape[1:] if shape else []):
            strides.insert(0, strides[0] * dimension)
        stack: list[tuple[Operand, int, int]] = [(value, 0, 0)]  # operand, depth, offset
        pieces: list[tuple[int, bytes]] = []
        while stack:
            operand, depth, offset = stack.pop()
            if isinstance(operand, Vector):
                stride = strides[min(depth, len(strides) - 1)]
                stack += [(e, depth + 1, offset + i * stride) for i, e in enumerate(operand.elements)]
            else:
                pieces.append((offset, self._scalar(operand, variable.type, size)))
        data = bytearray(max((o + len(b) for o, b in pieces), default=0))
        for offset, piece in pieces:
            data[offset : offset + len(piece)] = piece
        return bytes(data)

    def _scalar(self, operand: Operand, kind: str, size: int) -> bytes:
        return (self._number(operand, kind, size) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")

    def _number(self, operand: Operand, kind: str, size: int) -> int:
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Float):
            if operand.width == 8 * size:
                return operand.bits
            return convert(F64, F32, operand.bits) if size == 4 else convert(F32, F64, operand.bits)
        if isinstance(operand, Name):
            return self._named(operand.name)
        if isinstance(operand, Address) and isinstance(operand.base, Name):
            return self._named(operand.base.name) + operand.offset
        if isinstance(operand, Wrapped):
            inner = self._number(operand.inner, kind, 8)
            if operand.operator == "mask":
                shift = (operand.mask & -operand.mask).bit_length() - 1
                return (inner & operand.mask) >> shift
            return inner
        raise AssertionError(operand)

    def _named(self, name: str) -> int:
        placed = self.names.get(name)
        return placed.address if placed is not None else self.function(name)


def _size(variable: DeclaredVariable) -> int:
    """Bytes of a variable. The first dimension, left open, is as long as the initialiser (section 5.4.4)."""
    if isinstance(variable.value, Vector) and variable.dimensions[:1] == (None,):
        rows = len(variable.value.elements)
        return replace(variable, dimensions=(rows, *variable.dimensions[1:])).bytes
    return variable.bytes


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align
