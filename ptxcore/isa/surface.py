"""Surface instructions (PTX ISA 9.0, section 9.7.11).

A surface that is named by a handle instead of its name came later, so each instruction has two forms.

Whether a coordinate is outside is decided by each dimension; `.clamp` takes the nearest place in each.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.atomics import combined
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.image import LAYERED, Image
from ptxcore.isa.sampling import offset_of
from ptxcore.isa.texels import stored
from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value, add, all_of, bit_and, conj, eq, ite, negate, sext, sle, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

#: Elements of coordinates; two or four will do where fewer are needed.
_COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4}
_CLAMP = "trap clamp zero"


class _Place(NamedTuple):
    """Where an access goes in a surface, under the condition `inside`."""

    address: Value
    inside: Value


def suld(how: Use, thread: Thread, a: Value, b: Any) -> Any:
    """d = the bytes at the coordinates b of the surface a, the first of which counts bytes. Outside of it: a trap, the nearest
    bytes, or zeros."""
    width, count = _shape(how)
    place = _found(how, thread, thread.image(how, a, "surfref"), b, width // 8 * count, 1)
    values = [thread.texel(how, add(place.address, n * width // 8, 64), width, place.inside) for n in range(count)]
    return tuple(values) if how.words["vec"] else values[0]


def sust(how: Use, thread: Thread, a: Value, b: Any, c: Any) -> None:
    """The bytes at the coordinates b of the surface a = c; see `suld`. Outside of it nothing is written with `.zero`."""
    width, count = _shape(how)
    place = _found(how, thread, thread.image(how, a, "surfref"), b, width // 8 * count, 1)
    for n, value in enumerate(c if isinstance(c, tuple) else (c,)):
        thread.put_texel(how, add(place.address, n * width // 8, 64), width, value, place.inside)


def sust_formatted(how: Use, thread: Thread, a: Value, b: Any, c: Any) -> None:
    """The texel at b of the surface a = c, converted to its format. Elements that it does not have are ignored; those that are
    not given become what the manual leaves open."""
    image = thread.image(how, a, "surfref")
    place = _found(how, thread, image, b, image.format.texel_bytes, image.format.texel_bytes)
    size, given = image.format.channel_bytes, c if isinstance(c, tuple) else (c,)
    for n in range(image.format.channels):
        if n < len(given):
            result = stored(image, given[n])
            value = thread.approximated(how, result.bits, result.exact, 8 * size)
        else:
            value = thread.undetermined(how, 8 * size, "a component that is not given")
        thread.put_texel(how, add(place.address, n * size, 64), 8 * size, value, place.inside)


def sured(how: Use, thread: Thread, a: Value, b: Any, c: Value) -> None:
    """The bytes at b of the surface a = operation(themselves, c), in one step; see `suld`"""
    place = _found(how, thread, thread.image(how, a, "surfref"), b, how.width // 8, 1)
    thread.reduce_texel(how, place.address, lambda old: combined(how, old, c), place.inside)


def sured_formatted(how: Use, thread: Thread, a: Value, b: Any, c: Value) -> None:
    """The texel at b of the surface a = operation(itself, c), in one step, signed where its format is. That it has as many bits
    as the type is asked for."""
    image = thread.image(how, a, "surfref")
    fits = image.format.texel_bytes == how.width // 8 and image.format.channels == 1 and image.format.kind != "f"
    wide = image.format.texel_bytes == how.width // 8 and how.width == 64 and image.format.kind != "f"
    thread.require(int(fits or wide), "bad-texture", f"a reduction of .{how.type} on a surface of {image.format}")
    if not fits and not wide:
        return
    place = _found(how, thread, image, b, image.format.texel_bytes, image.format.texel_bytes)
    numbers = how.typed(f"{image.format.kind}{how.width}")
    thread.reduce_texel(how, place.address, lambda old: combined(numbers, old, c), place.inside)


def suq(how: Use, thread: Thread, a: Value) -> Value:
    """d = an attribute of a surface"""
    return thread.image(how, a, "surfref").queried(how.words["query"])


def _shape(how: Use) -> tuple[int, int]:
    """Bits of an element, and how many there are."""
    return WIDTHS[how.type], int((how.words["vec"] or "v1")[1:])


def _found(how: Use, thread: Thread, image: Image, b: Any, size: int, scale: int) -> _Place:
    """Where an access of `size` bytes goes; coordinates across count `scale` bytes."""
    geometry, clamp = how.words["geometry"], how.words["clamp"]
    alike = (geometry in LAYERED) == bool(image.layers or "cube" in image.geometry)
    thread.require(int(alike), "bad-texture", f"a .{geometry} access to a .{image.geometry} surface")
    given = list(b) if isinstance(b, tuple) else [b]
    layer: Value = zext(given.pop(0), 64) if geometry in LAYERED else 0
    x, y, z = (*(sext(v, 32, 64) for v in given[: int(geometry[-2])]), 0, 0)[:3]
    width, height, depth = image.size()
    row = width * image.format.texel_bytes
    ends = ((x, (row - size) // size * size // scale), (y, height - 1), (z, depth - 1), (layer, image.slices - 1))
    limits = [_within(value, last) for value, last in ends]
    inside = all_of(limits)
    if clamp == "trap":
        thread.trap(how, negate(inside), f"coordinates outside of '{image.name}'")
        inside = 1
    elif clamp == "clamp":
        x, y, z, layer = (_clamped(value, last) for value, last in ends)
        inside = 1
    if scale == 1:
        thread.require(
            eq(bit_and(x, size - 1, 64), 0), "misaligned", f"{size} bytes of a surface at no multiple of that"
        )
    place = offset_of(image, 0, layer, z, y, 0)
    across = add(x, 0, 64) if scale == 1 else offset_of(image._replace(pitch=0), 0, 0, 0, 0, x)
    return _Place(add(image.bases[0], add(place, across, 64), 64), inside)


def _within(value: Value, last: int) -> Value:
    return conj(sle(0, value, 64), sle(value, last, 64)) if last >= 0 else 0


def _clamped(value: Value, last: int) -> Value:
    return ite(sle(0, value, 64), ite(sle(value, last, 64), value, last, 64), 0, 64)


def _layout(how: Use) -> dict[str, str]:
    return {"b": f"x{_COORDINATES[how.words['geometry']]} longer bare"}


_NEEDS = {"3d a1d a2d": "3.0 sm_20", "clamp=clamp zero": "2.0", "cop": "2.0 sm_20"}
_PROXY = {"proxy": "surface"}
_access = partial(
    Form, kind="effect", given=_PROXY, version="1.5", needs=_NEEDS, layout=_layout, rules=("v4 -> !b64",),
    geometry="1d 2d 3d a1d a2d", vec="v2 v4", clamp=_CLAMP,
)  # fmt: skip
_formatted = partial(
    _access, section="9.7.11.2", needs={**_NEEDS, "a1d a2d": "4.1 sm_30"}, rules=("manual: a1d a2d -> never",)
)
_reduce = partial(
    Form, kind="effect", given={**_PROXY, "sem": "relaxed", "scope": "gpu"}, section="9.7.11.3", layout=_layout,
    needs={"3d": "3.0", "min+u64 max+u64 s64 b64": "8.1 sm_50"},
    op="add min max and or", geometry="1d 2d 3d", clamp=_CLAMP,
)  # fmt: skip
_QUERY = "width height depth channel_data_type channel_order array_size memory_layout"
_query = partial(
    Form, run=suq, kind="effect", section="9.7.11.4", query=_QUERY,
    needs={"channel_data_type channel_order": "2.1", "array_size": "4.1", "memory_layout": "4.2"},
)  # fmt: skip

FORMS: tuple[Form, ...] = tuple(
    form
    for name, version, target in (("a:surfref", "1.5", ""), ("a:handle", "3.1", "sm_20"))
    for newer in (max(version, "2.0"),)
    for form in (
        _access(
            f"suld.b.geometry{{.cop}}{{.vec}}.type.clamp d:loose vec braced, [{name}, b:s32]", suld, section="9.7.11.1",
            version=version, target=target, first="b", cop="ca cg cs cv", type="b8 b16 b32 b64",
        ),
        _access(
            f"sust.b.geometry{{.cop}}{{.vec}}.type.clamp [{name}, b:s32], c:loose vec braced", sust, section="9.7.11.2",
            version=version, target=target, first="b", cop="wb cg cs wt", type="b8 b16 b32 b64",
        ),
        _formatted(
            f"sust.p.geometry{{.cop}}{{.vec}}.b32.clamp [{name}, b:s32], c:loose vec braced", sust_formatted, version=newer,
            target="sm_20", first="p", cop="wb cg cs wt",
        ),
        _reduce(
            f"sured.b.op.geometry.type.clamp [{name}, b:s32], c:loose", sured, version=newer, target="sm_20", first="b",
            rules=("add -> u32 s32 u64", "min max -> u32 s32 u64 s64", "and or -> b32"), type="u32 u64 s32 b32 s64",
        ),
        _reduce(
            f"sured.p.op.geometry.type.clamp [{name}, b:s32], c:loose", sured_formatted, version=newer, target="sm_20",
            first="p", rules=("b64 -> min max",), type="b32 b64",
        ),
        _query(f"suq.query.b32 d, [{name}]", version=version, target=target),
    )
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.11.1",
        "`suld`, `sust` and `sured` need a clamp modifier.",
        "Examples have none.",
    ),
    Difference(
        "9.7.11.2",
        "`sust.p` takes `.a1d`, `.a2d` and cache operators.",
        "It has `.1d`, `.2d` and `.3d` without a cache operator.",
    ),
    Difference(
        "9.7.11.1",
        "Without `.v2` and `.v4`, vectors of any length stand for the value of `suld` and `sust`; with them, "
        "a constant or a single register. The checker refuses both.",
        "The value is a vector of the length that is written.",
        checked=False,
    ),
    Difference(
        "9.7.11.3",
        "`sured.p` has the types `.b32` and `.b64`.",
        "An example has `.u32`.",
    ),
    Difference(
        "9.7.11.4",
        "An offset of 0 behind the handle of `suq` is refused. The checker reads `[h+0]` as `[h]`.",
        "The operand is a handle or a name.",
        checked=False,
    ),
)
