"""Textures and surfaces of kernel tests: `t = {texture = {buffer = "a", format = "f32", dims = [8, 8], filter = "linear"}}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxcore.isa.image import Image
from ptxmm.images import ImageError, image_of, size_of
from ptxmm.kernels.contents import BufferContents
from ptxmm.kernels.document import kind_of
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Argument, Buffer, Imaged

#: The kind of an image by the key of its table.
KINDS = {"texture": "texref", "surface": "surfref"}
#: What its table says of where its texels are, beside what describes it.
_PLACE = ("buffer", "init")


class ImagedError(Exception):
    """What is wrong, at which keys below the argument's table."""

    def __init__(self, where: tuple[str, ...], message: str, hint: str | None = None) -> None:
        self.where, self.message, self.hint = where, message, hint
        super().__init__(message)


#: Makes a buffer of its own: its name, type, elements, and what it holds. Raises ArgumentError.
Make = Callable[[str, Mapping[str, Any]], Buffer]


def imaged(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument], make: Make) -> Imaged:
    """The image that a table describes, over a buffer that has a name, or one of its own. Raises ImagedError."""
    word = next(key for key in KINDS if key in table)
    other = next((key for key in table if key != word), None)
    if other is not None:
        raise ImagedError((other,), f"'{name}' is a {word}: '{other}' has no meaning")
    given = table[word]
    if not isinstance(given, Mapping):
        hint = f'as in {name} = {{{word} = {{buffer = "a", format = "f32", dims = [8, 8]}}}}'
        raise ImagedError((word,), f"a {word} is a table, not {kind_of(given)}", hint)
    try:
        image = image_of(KINDS[word], name, {key: value for key, value in given.items() if key not in _PLACE})
    except ImageError as error:
        raise ImagedError((word, error.key) if error.key else (word,), error.message, error.hint) from None
    if "buffer" in given:
        if "init" in given:
            raise ImagedError((word, "init"), f"the texels of '{name}' are in a buffer, which says what it holds")
        found = buffers.get(given["buffer"]) if isinstance(given["buffer"], str) else None
        if not isinstance(found, Buffer):
            raise ImagedError((word, "buffer"), f"'{given['buffer']}' is no buffer")
        size = found.elements * TYPES[found.type].width // 8
        if size < size_of(image):
            raise ImagedError((word, "buffer"), f"'{name}' has {size_of(image)} bytes, '{found.name}' {size}")
        return Imaged(name, image, found, False)
    kind = f"{image.format.kind}{image.format.bits}"
    own = {"type": kind, "elements": -(-size_of(image) // image.format.channel_bytes)}
    if "init" in given:
        own["init"] = given["init"]
    return Imaged(name, image, make(name, own), True)


def fixed_contents(argument: Imaged) -> tuple[bytes, ...]:
    """The bytes of each level of a texture that nobody can write, since nothing else leads to its texels; () for others."""
    buffer, image = argument.buffer, argument.image
    if not argument.own or image.kind != "texref" or buffer.open:
        return ()
    width = TYPES[buffer.type].width // 8
    init = buffer.init
    data = init.data * (-(-init.length * width // len(init.data))) if isinstance(init, BufferContents) else b""
    data = data[: len(init) * width] or b"".join(v.to_bytes(width, "little") for v in init)
    data = data.ljust(buffer.elements * width, b"\0")
    return tuple(data[base : base + image.bytes(level)] for level, base in enumerate(image.bases))


def placed(image: Image, address: int, contents: tuple[bytes, ...] = ()) -> Image:
    """The image, its texels from an address on."""
    return image._replace(bases=tuple(address + base for base in image.bases), contents=contents)
