"""Through which proxies a test accesses its locations, and what that makes of them on a GPU.

What is read through a texture alone, or through one and by its address, is a texture in linear memory. Surfaces the driver
makes of CUDA arrays and of nothing else (`cuSurfObjectCreate`), and these have no address: what is accessed through a surface
is an array, with textures of it, and no thread can have its address. What a test declares and does not use is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from litmus.test import TYPE_WIDTHS, AddressOf, LitmusThread, Location, Test
from ptxcore.diagnostics import Diagnostic, Span
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Instruction, names_in

#: Instructions that take a texture or a surface.
_TAKING = {"tex": "texture", "tld4": "texture", "suld": "surface", "sust": "surface", "sured": "surface"}
_IMAGES = ("texture", "surface")
#: What textures in linear memory begin at a multiple of, on every GPU.
TEXTURE_ALIGNED = 512


class InstanceImage(NamedTuple):
    """A texture or a surface of each instance: the location that it is of, with texels of `channels` channels of `bits` bits,
    `size` bytes in all; `in_array`: of a CUDA array, not of linear memory."""

    name: str
    root: str
    kind: str  # texture, surface
    bits: int
    channels: int
    size: int
    in_array: bool


@dataclass
class Uses:
    """Of each location that has memory how it is accessed, and where that is first said: `generic`, by its address;
    `texture`, `surface`, `constant`. `images`: the textures and surfaces that are used."""

    of: Mapping[str, dict[str, Span]]
    images: tuple[InstanceImage, ...] = field(default=())

    def in_array(self, root: str) -> bool:
        """Whether a location is a CUDA array."""
        return "surface" in self.of.get(root, {})


def root_of(test: Test, location: Location) -> Location:
    """The location whose bytes a location is."""
    named = {l.name: l for l in test.locations}
    while location.alias_of is not None:
        location = named[location.alias_of]
    return location


def uses(test: Test) -> Uses:
    """How a test accesses what it has."""
    found: dict[str, dict[str, Span]] = {}
    locations = {l.name: l for l in test.locations}
    used: dict[str, None] = {}
    for name, span in _mentioned(test):
        if name in locations:
            location = locations[name]
            found.setdefault(root_of(test, location).name, {}).setdefault(location.proxy, span)
            used[name] = None
    made = Uses(found)
    made.images = tuple(
        _image(l, root_of(test, l), made) for l in test.locations if l.name in used and l.proxy in _IMAGES
    )
    return made


def _image(location: Location, root: Location, made: Uses) -> InstanceImage:
    width, elements = TYPE_WIDTHS[root.type], root.elements or 1
    channels = -(-width // 32)
    return InstanceImage(
        location.name, root.name, location.proxy, width // channels, channels, elements * width // 8,
        made.in_array(root.name),
    )  # fmt: skip


def _mentioned(test: Test) -> Iterator[tuple[str, Span]]:
    """The names of locations that threads, and first values, have."""
    for thread in test.threads:
        for _, value in thread.registers:
            if isinstance(value, AddressOf):
                yield value.location, thread.span
        for s in thread.statements:
            if isinstance(s, Instruction):
                yield from ((name, s.span) for name in names_in(*s.operands))
    for l in test.locations:
        for first in l.initial:
            if isinstance(first, AddressOf):
                yield first.location, l.span


def refused_images(test: Test, found: Uses) -> Iterator[Diagnostic]:
    """What a GPU does not have of the textures and surfaces that a test uses."""
    locations = {l.name: l for l in test.locations}
    for root, ways in found.of.items():
        if "constant" in ways:
            message = (
                f"'{root}' is accessed through the constant proxy, and constant memory is the same for all instances"
            )
            yield Diagnostic(ways["constant"], message)
        if "surface" in ways and "generic" in ways:
            message = (
                f"'{root}' is accessed by its address and through a surface: the driver makes surfaces of CUDA arrays only, "
                "which have no address"
            )
            yield Diagnostic(max(ways["surface"], ways["generic"]), message)
    for image in found.images:
        root_location, span = locations[image.root], locations[image.name].span
        if root_location.space != "global":
            yield Diagnostic(span, f"'{image.name}' is a {image.kind} of '{image.root}', which is in shared memory")
        elif image.channels > 2:
            yield Diagnostic(span, f"'{image.name}' has elements of 128 bits, and a texel of such is no number here")
        elif len({t.place.gpu for t in test.threads if not t.place.host}) > 1:
            yield Diagnostic(
                span, f"'{image.name}' is a {image.kind}, whose handle is one GPU's own; the test has several"
            )
    images = {image.name: image for image in found.images}
    for thread in test.threads:
        yield from _refused_uses(thread, images)


def _refused_uses(thread: LitmusThread, images: Mapping[str, InstanceImage]) -> Iterator[Diagnostic]:
    for name, value in thread.registers:
        if isinstance(value, AddressOf) and value.location in images:
            message = f"register '{name}' has the address of '{value.location}', which is a handle on a GPU"
            yield Diagnostic(thread.span, message)
    for s in thread.statements:
        if not isinstance(s, Instruction):
            continue
        for name in names_in(*s.operands):
            if name not in images:
                continue
            image = images[name]
            if _TAKING.get(s.opcode) != image.kind:
                message = f"'{name}' is a handle of a {image.kind} on a GPU, of which '{s.opcode}' has no use"
                yield Diagnostic(s.span, message)
            elif s.opcode == "tex" and s.modifiers[-2] not in ("u32", "s32"):
                yield Diagnostic(
                    s.span, f"'{name}' has texels that are whole numbers, of which 'tex' makes no .{s.modifiers[-2]}"
                )
            elif image.kind == "texture" and not image.in_array and (s.opcode, s.modifiers[-1]) != ("tex", "s32"):
                message = f"'{name}' is a texture in linear memory, which has whole coordinates alone: 'tex' with .s32"
                yield Diagnostic(s.span, message)
