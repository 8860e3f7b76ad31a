"""What a thread finds around it, and what is asked of it from below: threads, CTAs and launches as protocols, so that each
file knows those beneath it only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import ExecutableModule, Op, Passed, Source
from ptxcore.machine.run.codegen import Compiled
from ptxcore.machine.run.faults import ThreadName
from ptxcore.machine.run.memory import GlobalMemory, MemoryWords, Segment
from ptxcore.machine.run.special import PlaceInCta, SpecialRegisters, Triple


class LaunchView(Protocol):
    """A launch: its program, compiled, and its memory."""

    program: ExecutableModule
    compiled: Compiled
    memory: GlobalMemory
    parameters: Segment
    constants: Segment
    entry: str
    #: What is in each byte of what nobody has written, as one of the contents that it may have; None: nobody knows.
    contents: int | None
    unwritten: int
    #: What is in each byte of the kernel's shared memory at first.
    filling: int
    kernel_shared: int
    shared_bytes: int
    dynamic_start: int
    random: Random | None
    places: list[PlaceInCta]
    #: Who is told what threads do; None where nobody is (`ptxcore.machine.run.watched`).
    watcher: Any
    #: What `vprintf` printed.
    output: list[str]
    #: What it and the launches before and behind it in a stream know of each other (`ptxcore.machine.run.dependence`).
    dependence: Any

    def cta_registers(self, cta: Any) -> SpecialRegisters:
        """The special registers that all threads of a CTA share."""
        ...

    def collective(self, op: int) -> tuple[Use, int | None]:
        """The use of an instruction that threads execute together, and which source is its member mask."""
        ...

    def function_at(self, address: int) -> str:
        """The function whose address this is. Raises Fault where there is none."""
        ...

    def clock(self, name: str) -> int:
        """What a clock shows."""
        ...

    def later(self, operation: Any) -> None:
        """An asynchronous operation is to be done."""
        ...

    def cancel(self) -> Triple | None:
        """Takes a cluster from those that have not begun; the index of its first CTA."""
        ...

    def running(self) -> Op | None:
        """The instruction that is being executed."""
        ...


class WarpView(Protocol):
    """The threads of a warp that are together at collective instructions."""

    def join(self, thread: Any, op: int, arguments: tuple[Any, ...]) -> Any:
        """One more thread at an instruction; gives its result when all are there. Raises Suspended."""
        ...


class CtaView(Protocol):
    """A CTA: its shared memory, also as numbers, and who meets in it."""

    index: Triple
    rank: int
    shared: Segment
    words: MemoryWords
    known_words: MemoryWords
    special: SpecialRegisters
    tensor_memory: Any

    @property
    def cluster(self) -> Sequence[CtaView]:
        """The CTAs of its cluster, by rank."""
        ...

    @property
    def warps(self) -> Mapping[int, WarpView]:
        """Its warps by number."""
        ...

    @property
    def ready(self) -> list[Any]:
        """The threads that can go on."""
        ...

    @property
    def arrive(self) -> Callable[..., Any]:
        """A thread comes to a barrier. Raises Suspended."""
        ...

    @property
    def sleeping(self) -> list[Any]:
        """The threads that sleep."""
        ...

    def finished(self, thread: Any) -> None:
        """A thread has ended."""
        ...


class ThreadView(Protocol):
    """A thread, as those see it that do something in its name."""

    R: list[Any]
    base: int
    op: int
    carry: Any
    globals: dict[int, Segment]
    shared: int

    @property
    def name(self) -> ThreadName:
        """Its coordinates."""
        ...

    @property
    def cta(self) -> CtaView:
        """Its CTA."""
        ...

    @property
    def launch(self) -> LaunchView:
        """Its launch."""
        ...

    def segment(self, address: int) -> tuple[Segment, int]:
        """The memory that an address lies in, and the offset there. Raises Fault where there is none."""
        ...

    def of(self, space: str, address: int) -> int:
        """An address of the space that the instruction names. Raises Fault where it is not one."""
        ...

    def read(self, address: int, size: int) -> int:
        """The little-endian number of `size` bytes at an address. Raises Fault."""
        ...

    def write(self, address: int, size: int, value: int) -> None:
        """Writes the low bytes of a number. Raises Fault."""
        ...

    def value(self, source: Source | None) -> int:
        """The value of a source that no compiled code reads."""
        ...

    def passed_value(self, passed: Passed, registers: list[Any], base: int) -> Any:
        """The value of an argument of a call."""
        ...

    def put_value(self, base: int, passed: Passed, value: Any, size: int) -> None:
        """Writes the result of a call."""
        ...
