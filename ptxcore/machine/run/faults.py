"""What goes wrong while a kernel runs, told with thread, instruction, source line and values."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import basename
from typing import Protocol

from ptxcore.isa.mbarrier import contents
from ptxcore.places import thread_name
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction


class ThreadName(NamedTuple):
    """A thread by the coordinates of its CTA and its own."""

    cta: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return thread_name(self.cta, self.thread)


class Blamed(Protocol):
    """An instruction as errors tell it; `location` is a number of the program's source lines, -1 for none."""

    instruction: Instruction
    location: int

    @property
    def name(self) -> str:
        """The instruction without its operands."""
        ...


class Fault(Exception):
    """Raised where something goes wrong; whoever knows the thread and the instruction makes a `KernelError` of it.
    `blamed`: the thread and the instruction, where it is not the one that runs."""

    blamed: tuple[ThreadName, Blamed] | None = None


class UnwrittenValue(Fault):
    """A value was used that nothing wrote. `origin`: the instruction that computed with it first, where it is not the one
    at which it decides something; `reader`: the one that read it from memory."""

    origin: Blamed | None = None
    reader: Blamed | None = None


class KernelError(Exception):
    """An error of a running kernel. `kind` is short and fixed (`out-of-bounds`, `deadlock` ...); `instruction` and `source`
    (file and line of `.loc`) are None where no single instruction is to blame; `values` are the registers that the
    instruction reads, as text; `printed` is what the kernel printed before. `certain`: it is no matter of how long somebody
    waited; False for a deadlock in which threads still look. `blocked`: of a deadlock who waits at which instruction, one of
    those who do so alike."""

    def __init__(
        self,
        kind: str,
        message: str,
        thread: ThreadName | None = None,
        instruction: Instruction | None = None,
        source: tuple[str, int] | None = None,
        path: str = "<module>",
        values: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.kind, self.message, self.thread = kind, message, thread
        self.instruction, self.source, self.path = instruction, source, path
        self.values = tuple(values)
        self.printed = ""
        self.certain = True
        self.blocked: Sequence[tuple[ThreadName, Instruction]] = ()
        super().__init__(self.render())

    def render(self) -> str:
        """`PATH:LINE:COL: error: what`, the instruction and its values, the thread and the source line."""
        place = self.path
        if self.instruction is not None:
            place = f"{place}:{self.instruction.span.line}:{self.instruction.span.column}"
        lines = [f"{place}: error: {self.message}"]
        if self.instruction is not None:
            lines.append(f"    {' '.join(self.instruction.text.split())}")
        if self.values:
            lines.append(f"    where {', '.join(f'{name} = {value}' for name, value in self.values)}")
        if self.thread is not None:
            lines.append(f"    in {self.thread}")
        if self.source is not None:
            lines.append(f"    from {self.source[0]}:{self.source[1]}")
        return "\n".join(lines)


class Longer(Exception):
    """A launch has executed more instructions than its `patience`."""


def fault(kind: str, message: str) -> Fault:
    """The fault of one kind; to be raised by the caller."""
    return Fault(kind, message)


class UndefinedValue:
    """What a register holds before anything is written to it: using it in any way is a fault, copying is not."""

    __slots__ = ()

    def _use(self, *_: object) -> int:
        raise UnwrittenValue("undefined-register", "a register is used here that nothing wrote")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._use()

    def __repr__(self) -> str:
        return "undefined"

    def _used(self, *_: object) -> int:
        return self._use()

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _used  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _used
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __floordiv__ = __rfloordiv__ = _used
    __mod__ = __rmod__ = __neg__ = __invert__ = __index__ = __int__ = __hash__ = _used


UNDEFINED = UndefinedValue()


def line_of(op: Blamed, locations: Sequence[tuple[str, int]]) -> str:
    """The line of an instruction in words: that of the source, where `locations`, the program's source lines, say it, before
    that of the PTX. A compiler gives line 0 to what it made of several lines."""
    path, line = locations[op.location] if op.location >= 0 else ("", 0)
    number = op.instruction.span.line
    return f"{basename(path)}:{line}, PTX {number}" if line else f"line {number}"


def lacking(state: int) -> str:
    """What the current phase of an mbarrier object waits for, in words; empty for one that lacks nothing, as only somebody
    who wrote over it leaves it."""
    now = contents(state)
    assert isinstance(now.pending, int) and isinstance(now.transactions, int)
    signed = now.transactions - (1 << 21 if now.transactions >> 20 else 0)
    parts = []
    if now.pending:
        parts.append(f"lacks {now.pending:,} {'arrival' if now.pending == 1 else 'arrivals'}")
    if signed:
        parts.append(f"{'lacks' if signed > 0 else 'has'} {abs(signed):,} bytes{'' if signed > 0 else ' too many'}")
    return " and ".join(parts).replace(" and lacks", " and")
