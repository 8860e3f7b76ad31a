"""What the CUDA runtime gives device code to call: printing, assertions, memory."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.ops import CallTarget
from ptxcore.machine.run.faults import fault
from ptxcore.machine.run.memory import LARGEST
from ptxcore.machine.run.surroundings import ThreadView
from ptxcore.records import NamedTuple

#: Bits of integers by the length that stands before their conversion; 64 for all others.
_BITS = {"": 32, "h": 16, "hh": 8}
#: Characters that one `printf` may write, and that a string is read for.
_LONGEST_TEXT = 1 << 16
_CONVERSION = re.compile(r"%([-+ #0]*+)(?>(\*|\d++)?)(?:\.(\*|\d++))?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")


def call_extern(thread: ThreadView, name: str, call: CallTarget) -> None:
    """Calls a function that the module only declares. Raises Fault where the runtime has none of that name."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise fault("bad-call", f"'{name}' is declared and nowhere defined")
    arguments = [thread.passed_value(a, thread.R, thread.base) for a in call.arguments]
    result = function(thread, *arguments)
    if result is not None and call.results:
        thread.put_value(thread.base, call.results[0], result, call.results[0].size or 8)


def _text(thread: ThreadView, address: int) -> str:
    """The bytes at an address up to a zero."""
    data = bytearray()
    while len(data) < _LONGEST_TEXT:
        byte = thread.read(address + len(data), 1)
        if not byte:
            break
        data.append(byte)
    return data.decode("utf-8", "replace")


def conversions(text: str) -> int:
    """How many things a format prints."""
    return sum(found[5] != "%" for found in _CONVERSION.finditer(text))


def _vprintf(thread: ThreadView, form: int, arguments: int) -> int:
    """Prints as C's printf does; the arguments lie behind each other, each aligned to its size. Gives their number."""
    text, at, count = _text(thread, form), arguments, 0

    def taken(size: int) -> int:
        nonlocal at
        at = -(-at // size) * size
        value = thread.read(at, size)
        at += size
        return value

    def convert(m: re.Match[str]) -> str:
        nonlocal count
        flags, width, precision, length, kind = m.groups()
        if kind == "%":
            return "%"
        count += 1
        if width == "*":
            width = str(_signed(taken(4), 32))
        if precision == "*":
            precision = str(_signed(taken(4), 32))
        exact = precision is not None and not precision.startswith("-")  # a negative one counts as none
        shape = _Shape(flags, _field(width or ""), f".{_field(precision)}" if exact else "")
        if kind in "fFeEgGaA":
            return _float_text(shape, kind, taken(8))
        if kind == "s":
            pointer = taken(8)
            return shape.text(_text(thread, pointer) if pointer else "(null)")
        if kind == "p":
            address = taken(8)
            return shape._replace(precision="").text(f"{address:#x}" if address else "(nil)")
        if kind == "c":
            return shape._replace(precision="").text(chr(taken(4) & 0xFF))
        bits = _BITS.get(length or "", 64)
        number = taken(8 if bits == 64 else 4) & ((1 << bits) - 1)
        return _integer_text(shape, kind, _signed(number, bits) if kind in "di" else number)

    thread.launch.output.append(_CONVERSION.sub(convert, text))
    return count


def _field(number: str) -> str:
    """A width or a precision, no larger than a text may be."""
    return (
        number if len(number.lstrip("-0")) < len(str(_LONGEST_TEXT)) else f"{'-' * (number[0] == '-')}{_LONGEST_TEXT}"
    )


class _Shape(NamedTuple):
    """What stands between the percent sign and the letter of a conversion."""

    flags: str
    width: str
    precision: str

    def of(self, kind: str, value: object) -> str:
        """A value as Python's formats have it, which are C's but for what the others see to."""
        return f"%{self.flags}{self.width}{self.precision}{kind}" % value

    def text(self, value: str) -> str:
        """Characters: of the flags only the one for the left side counts."""
        return self._replace(flags="-" if "-" in self.flags else "").of("s", value)


def _float_text(shape: _Shape, kind: str, bits: int) -> str:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if value != value or value in (math.inf, -math.inf):
        sign = "-" if bits >> 63 else "+" if "+" in shape.flags else " " if " " in shape.flags else ""
        word = sign + ("nan" if value != value else "inf")
        return shape._replace(precision="").text(word.upper() if kind.isupper() else word)
    if kind not in "aA":
        return shape.of(kind, value)
    digits, exponent = value.hex().split("p")
    text = f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"
    return shape._replace(precision="").text(text.upper() if kind == "A" else text)


def _integer_text(shape: _Shape, kind: str, value: int) -> str:
    if kind in "di":
        return shape.of("d", value)
    shape = shape._replace(flags=shape.flags.replace("+", "").replace(" ", ""))
    if "#" in shape.flags and (kind in "uo" or not value):
        shape = shape._replace(flags=shape.flags.replace("#", ""))
        if kind == "o" and value:
            return shape.text(f"0{value:o}")
    return shape.of("d" if kind == "u" else kind, value)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _assertfail(thread: ThreadView, message: int, file: int, line: int, function: int, size: int) -> None:
    where = f"{_text(thread, file)}:{line}: {_text(thread, function)}"
    raise fault("assertion", f"assertion failed: {where}: '{_text(thread, message)}'")


def _malloc(thread: ThreadView, size: int) -> int:
    if not 0 < size <= LARGEST:
        return 0
    return thread.launch.memory.allocate(size, f"malloc({size})", known=False)


def _free(thread: ThreadView, address: int) -> None:
    if not address:
        return
    memory = thread.launch.memory
    segment = memory.segments.get(address >> GLOBAL_BITS)
    if segment is not None and segment.known is None:  # malloc's buffers know what was written
        raise fault("bad-free", f"free of '{segment.name}', which malloc did not give")
    memory.free(address)


_FUNCTIONS: dict[str, Callable[..., int | None]] = {
    "vprintf": _vprintf,
    "__assertfail": _assertfail,
    "malloc": _malloc,
    "free": _free,
}
