"""The memory of launches: which objects there are, where they stand, and who sees them.

Addresses are those of `ptxcore.machine.run.memory`: buffers and module variables far apart, each CTA's shared memory in
its part of the window, where the threads of its cluster see it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxcore.diagnostics import nearest
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.explore.heap import Heap
from ptxcore.machine.ir.windows import GLOBAL_BITS, IMAGES, OWN_ALIAS, SHARED, SHARED_BITS
from ptxcore.machine.lower.layout import MOST_MODULES
from ptxcore.machine.run.launch import UsageError
from ptxcore.machine.run.special import RESERVED, reserved_offset
from ptxcore.values.terms import mask
from ptxmm.kernels.contents import BufferContents
from ptxmm.kernels.launch import Argument, Buffer, FinalElement, Imaged, MultimemBuffers, Structure

if TYPE_CHECKING:
    from axioms.events.memory import Object, RepeatedBytes, View
    from ptxcore.isa.image import Image
    from ptxcore.machine.lower.layout import ModuleLayout

#: Mappings of multimem objects; those before are of shared memory.
_FIRST_MAPPING = 2
#: Between the handles of two images.
_HANDLE = 32
#: Bytes of the buffer through which the threads of a grid synchronize.
WORKSPACE = 64


class Memory:
    """Objects and views so far; objects are known by their numbers."""

    def __init__(self) -> None:
        self.objects: list[Object] = []
        self.views: list[View] = []
        self.buffers: dict[str, tuple[Buffer, int, int]] = {}  # with its object and address
        self._modules: dict[tuple[str, int], int] = {}
        self._loaded: set[int] = set()
        self._linked: dict[str, bool] = {}  # of variables: whether they are declared only
        self._next = 1
        self.heap = Heap()
        #: Textures and surfaces by their handles, and these by name.
        self.images: dict[int, Image] = {}
        self.handles: dict[str, int] = {}
        #: Multimem objects: where their replicas begin, by the high bits of their addresses; and these addresses by name.
        self.multimem: dict[int, tuple[int, ...]] = {}
        self._multimem_addresses: dict[str, int] = {}

    # Global memory.

    def passed(self, argument: Argument) -> int | bytes:
        """The number, or the bytes, that an argument is passed as. Raises UsageError."""
        if isinstance(argument, Buffer):
            return self.buffer(argument)
        if isinstance(argument, Imaged):
            return self.image(argument)
        if isinstance(argument, MultimemBuffers):
            return self.multimem_address(argument)
        return argument.filled(self.buffer) if isinstance(argument, Structure) else argument.value

    def image(self, argument: Imaged) -> int:
        """The handle of a texture or a surface. Raises UsageError."""
        from ptxmm.kernels.images import fixed_contents, placed

        address = self.buffer(argument.buffer)
        known = self.handles.get(argument.name)
        if known is None:
            known = self.handles[argument.name] = IMAGES + _HANDLE * (len(self.images) + 1)
            self.images[known] = placed(argument.image, address, fixed_contents(argument))
        return known

    def bind(self, layout: ModuleLayout, given: Sequence[Imaged]) -> None:
        """Textures and surfaces that a module declares by name, whose addresses are their handles; and its samplers. Raises
        UsageError."""
        from ptxcore.machine.lower.references import references, samplers

        self.images |= samplers(layout)
        declared = references(layout) if given else {}
        for image in given:
            self.images[declared[image.name].address] = self.images[self.image(image)]

    def multimem_address(self, argument: MultimemBuffers) -> int:
        """The address of a multimem object, at which there is nothing. Its replicas are seen through a mapping of their own:
        the addresses of the buffers are aliases of those (section 8.2.2). Raises UsageError."""
        from axioms.events.memory import Object, View

        known = self._multimem_addresses.get(argument.name)
        if known is None:
            for buffer in argument.buffers:
                self.buffer(buffer)
            known = self._multimem_addresses[argument.name] = self._global(0)
            mapping = _FIRST_MAPPING + len(self.multimem)
            bases = []
            for buffer in argument.buffers:
                bases.append(self._global(0))
                self.views.append(View(self.buffers[buffer.name][1], bases[-1], mapping))
            self.views.append(View(len(self.objects), known))
            self.objects.append(Object(argument.name, 0, space="multimem"))
            self.multimem[known >> GLOBAL_BITS] = tuple(bases)
        return known

    def buffer(self, wanted: Buffer) -> int:
        """The address of a buffer. Raises UsageError for two different ones of one name."""
        known = self.buffers.get(wanted.name)
        if known is not None:
            if known[0] != wanted:
                raise UsageError(f"'{wanted.name}' is declared in two ways: {known[0]} and {wanted}")
            return known[2]
        width = _bits(wanted.type)
        if wanted.elements < 1:
            raise UsageError(f"'{wanted.name}' has {wanted.elements} elements: a buffer has at least one")
        if len(wanted.init) > wanted.elements:
            raise UsageError(
                f"'{wanted.name}' has {wanted.elements} elements, and {len(wanted.init)} values at the start"
            )
        initial = _initial(wanted.init, width)
        elements = None if wanted.elements == 1 else wanted.elements
        address = self._global(max(1, wanted.align))
        self._place(wanted.name, wanted.elements * width // 8, initial, width, elements, address, open_=wanted.open)
        self.buffers[wanted.name] = wanted, len(self.objects) - 1, address
        return address

    def workspace(self, number: int) -> int:
        """The address of the buffer through which the threads of a launch synchronize."""
        address = self._global(WORKSPACE)
        self._place(
            "grid workspace" + (f" {number + 1}" if number else ""), WORKSPACE, b"", 32, WORKSPACE // 4, address
        )
        return address

    def _global(self, align: int) -> int:
        """The next address for a buffer: a multiple of `align` and of nothing larger, as far as that matters."""
        address = (self._next << GLOBAL_BITS) + align
        self._next += 1
        return address

    def module(self, loaded: tuple[str, int]) -> int:
        """The number of a module, by its text and device: what has been launched there before is the same module."""
        if len(self._modules) >= MOST_MODULES and loaded not in self._modules:
            raise UsageError(f"more than {MOST_MODULES} different modules are launched")
        return self._modules.setdefault(loaded, len(self._modules))

    def variables(self, loaded: tuple[str, int], layout: ModuleLayout, constant: frozenset[int]) -> None:
        """The variables of a module, but those that never change. Launches of one module share them; modules are loaded one
        by one, on each device where they are launched, and not linked."""
        number = self.module(loaded)
        if number in self._loaded:
            return
        self._loaded.add(number)
        for placed in layout.variables:
            self._link(placed.name, placed.variable.linkage == "extern")
            if placed.space == "global" and placed.address not in constant and placed.size:
                width = WIDTHS.get(placed.variable.type, 32)
                elements = None if placed.size == width // 8 else placed.size * 8 // width
                owner = f"@{number + 1}" if any(thing.name == placed.name for thing in self.objects) else ""
                self._place(placed.name, placed.size, placed.data, width, elements, placed.address, owner)

    def _link(self, name: str, declared: bool) -> None:
        """Raises UnsupportedProgram for a variable that one module declares, and another one defines."""
        known = self._linked.setdefault(name, declared)
        if known != declared:
            from axioms.errors import UnsupportedProgram

            raise UnsupportedProgram(
                f"'{name}' is declared .extern in one module and defined in another: linking modules is not supported"
            )

    def _place(
        self, name: str, size: int, initial: bytes | RepeatedBytes, width: int, elements: int | None, address: int,
        owner: str = "", space: str = "global", threads: frozenset[int] | None = None, cta: int | None = None,
        open_: bool = False,
    ) -> None:  # fmt: skip
        from axioms.events.memory import Object, View

        self.views.append(View(len(self.objects), address, 0, threads))
        inside = space == "shared"
        made = Object(name, size, initial, width, elements, owner, space, cta, ends=inside, unset=inside, open=open_)
        self.objects.append(made)

    def given(self, address: int, size: int, owner: str) -> None:
        """What a call of `malloc` gave a thread."""
        from axioms.events.memory import Object, View

        number = sum(thing.heap for thing in self.objects)
        name = f"malloc{f' {number + 1}' if number else ''}"
        elements = None if size == 4 else max(1, size // 4)
        self.views.append(View(len(self.objects), address))
        self.objects.append(Object(name, size, b"", 32, elements, owner, unset=True, heap=True))

    def initial(self, address: int, size: int) -> int | None:
        """The number that stands at an address of global memory at the start; None where it may be any."""
        for view in self.views:
            thing = self.objects[view.object]
            if view.address <= address < view.address + thing.size:
                begin = address - view.address
                return None if thing.open else thing.number(begin, size)
        return 0

    # Shared memory.

    def shared(
        self, layout: ModuleLayout, entry: str, dynamic: int, cta: int, rank: int, owner: str, threads: frozenset[int],
        own: frozenset[int] | None = None, reserved: bool = False,
    ) -> None:  # fmt: skip
        """The shared memory of a CTA, by its number in the program and its rank: `threads` are those of its cluster. `own`
        are those of the CTA, where what `mapa` gives of their own memory is an alias. `reserved`: with that of system
        software."""
        from axioms.events.memory import Object, View

        base = SHARED | rank << SHARED_BITS
        first = len(self.views)
        for variable in layout.shared_variables:
            if variable.kernel in ("", entry) and variable.size:
                self._place(
                    _demangled(variable.name), variable.size, b"", 32, None if variable.size == 4 else variable.size // 4,
                    base + variable.offset, owner, "shared", threads, cta,
                )  # fmt: skip
        if dynamic:
            start = layout.dynamic(entry)
            self._place("dynamic", dynamic, b"", 32, max(1, dynamic // 4), base + start, owner, "shared", threads, cta)
        if reserved:
            start = reserved_offset(layout.dynamic(entry) + dynamic)
            self.views.append(View(len(self.objects), base + start, 0, threads))
            self.objects.append(Object("reserved", RESERVED, b"", 32, RESERVED // 4, owner, "shared", cta, True))
        if own is not None:
            self.views += [View(v.object, v.address - SHARED + OWN_ALIAS, 1, own) for v in self.views[first:]]

    # Final values.

    def final(self, name: str, number: int) -> FinalElement:
        """An element of a buffer at the end. Raises KeyError and IndexError where there is none."""
        from axioms.program import final_symbol

        buffer, thing, _ = self.buffers[name]
        if not 0 <= number < buffer.elements:
            raise IndexError(f"'{name}' has {buffer.elements} elements, no number {number}")
        width = _bits(buffer.type)
        label = f"{name}[{number}]"
        return FinalElement(label, final_symbol(thing, number * width // 8, width), width, buffer.type[:1] == "s")


def _initial(values: Sequence[int], width: int) -> bytes | RepeatedBytes:
    """The bytes of values of so many bits."""
    if isinstance(values, BufferContents) and 8 * values.size == width:
        whole = values.length * values.size
        if len(values.data) == whole:
            return values.data
        from axioms.events.memory import RepeatedBytes

        return RepeatedBytes(values.data, whole)
    return b"".join((value & mask(width)).to_bytes(width // 8, "little") for value in values)


def _bits(kind: str) -> int:
    width = WIDTHS.get(kind, 0)
    if width < 8:
        hint = nearest(kind, WIDTHS)
        raise UsageError(f"'{kind}' is no type of an element" + (f": {hint}" if hint else ""))
    return width


#: Behind the name of its function, the length of a local name; behind that, which of several of that name it is.
_LOCAL = re.compile(r"E(\d+)")
_ANOTHER = re.compile(r"(_\d|__\d+_)?")


def _demangled(name: str) -> str:
    """The name that a variable of a function has in CUDA C++, where its symbol tells it: `_ZZ1kE3bar` is `bar`."""
    for found in _LOCAL.finditer(name) if name.startswith("_ZZ") else ():
        rest = name[found.end() :]
        length = int(found[1])
        if len(rest) >= length and _ANOTHER.fullmatch(rest[length:]):
            return rest[:length]
    return name
