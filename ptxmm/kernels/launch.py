"""What is launched: a kernel of a module, its arguments, how many threads, and how far its loops are followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ptxcore.records import dataclass
from ptxcore.values.terms import Value

if TYPE_CHECKING:
    from ptxcore.isa.image import Image

Dimensions = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer in global memory, whose address is the argument: `elements` of a PTX type (`u32`), with their values at
    the start (`init`, filled up with zeros; floating-point values as bits), at an address that `align` divides. Of large ones,
    `init` is `ptxmm.kernels.contents.BufferContents`. `open`: it may hold anything at the start, and all of that is meant.

    Buffers of one name are one buffer, over all launches of a test.
    """

    name: str
    type: str = "u32"
    elements: int = 1
    init: Sequence[int] = ()
    align: int = 16
    open: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number (its bits) that is passed by value; bytes fill a parameter that is a structure."""

    name: str
    value: int | bytes
    type: str = "u32"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address so many bytes behind the first one of a buffer."""

    buffer: Buffer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Field:
    """A number (its bits), or a pointer, in the `size` bytes of a structure from byte `at` on."""

    at: int
    size: int
    value: int | Pointer


@dataclass(frozen=True, slots=True)
class Structure:
    """A parameter of `size` bytes that is passed by value: its fields, and zeros between them. A pointer alone is one of 8
    bytes."""

    name: str
    size: int
    fields: tuple[Field, ...]

    @property
    def is_pointer(self) -> bool:
        """Whether it is an address and nothing else."""
        return self.size == POINTER and len(self.fields) == 1 and isinstance(self.fields[0].value, Pointer)

    def filled(self, address: Callable[[Buffer], int]) -> bytes:
        """Its bytes, when buffers are at these addresses."""
        found = bytearray(self.size)
        for field_ in self.fields:
            value = field_.value
            number = address(value.buffer) + value.offset if isinstance(value, Pointer) else value
            found[field_.at : field_.at + field_.size] = number.to_bytes(field_.size, "little")
        return bytes(found)


#: Bytes of an address.
POINTER = 8


@dataclass(frozen=True, slots=True)
class Imaged:
    """A texture or a surface, passed as its handle: the `image` (its levels of detail from address 0 on), and the `buffer` that
    has its texels; `own`: which nothing else leads to."""

    name: str
    image: Image
    buffer: Buffer
    own: bool


@dataclass(frozen=True, slots=True)
class MultimemBuffers:
    """A multimem address: behind it are buffers of equal size, one on each device."""

    name: str
    buffers: tuple[Buffer, ...]


Argument = Buffer | Scalar | Structure | Imaged | MultimemBuffers


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launched. `params` are the arguments, in the order of the kernel's parameters.

    `unroll` bounds the iterations of every loop; `loops` those of single loops, by a label in the PTX (`$L__BB0_1`), by a line
    of the PTX (`12`) or of a source file (`lock.cu:7`) that lies in the loop. `stream` orders launches: those of one stream
    run one after the other. It also waits for the ends of those launches that `after` names. A stream is one of its `device`:
    streams of one name on two devices are two.
    """

    text: str  # the module
    entry: str
    path: str = "<module>"
    grid: Dimensions = (1, 1, 1)
    block: Dimensions = (1, 1, 1)
    cluster: Dimensions | None = None  # None: as the kernel asks for
    dynamic_shared: int = 0
    params: tuple[Argument, ...] = ()
    unroll: int = 4
    loops: Mapping[str, int] = field(default_factory=dict)
    stream: str = ""
    name: str = ""
    after: tuple[str, ...] = ()
    device: int = 0
    source: str = ""  # the file that the module was compiled from just now; the module itself is in no file then
    options: tuple[str, ...] = ()  # with these
    references: tuple[Imaged, ...] = ()  # textures and surfaces that the module declares by these names
    kept: str = field(default="", compare=False)  # the file that the module is kept in

    @property
    def loaded(self) -> tuple[str, int]:
        """The module on its device: launches of one share its variables."""
        return self.text, self.device

    @property
    def queue(self) -> tuple[str, int]:
        """The stream of its device: launches of one run one after another."""
        return self.stream, self.device


@dataclass(frozen=True, slots=True)
class FinalElement:
    """An element of a buffer at the end: `label` in states, the term of its value, its bits and signedness."""

    label: str
    value: Value
    width: int
    signed: bool


#: The final value of an element of a buffer, by the buffer's name and the element's number. Raises KeyError where there is no
#: such buffer, IndexError where it has no such element.
Final = Callable[[str, int], FinalElement]
