"""Texture instructions (PTX ISA 9.0, section 9.7.10).

What a use needs depends on its operands too (an offset, a comparison, a second destination, a handle instead of a name),
so each combination is a form. Which texels a lookup reads is in `sampling`, what it makes of them in `texels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.image import CUBES, LAYERED, SAMPLED, Image, Sampler
from ptxcore.isa.sampling import Lookup, Tap, Unknown, footprint, gathered, split_coordinates
from ptxcore.isa.targets import version as as_numbers
from ptxcore.isa.texels import TexelResult, filtered, narrowed, widened
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value, add, conj, ite, signed, ule, ult

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

_GEOMETRIES = "1d 2d 3d a1d a2d cube acube 2dms a2dms"
#: Elements of coordinates and, where there are any, of offsets and of gradients.
_COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4, "2dms": 4, "a2dms": 4}
_OFFSETS = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 2, "2dms": 2, "a2dms": 2}
_GRADIENTS = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 2, "cube": 1, "acube": 1}
#: What carries results: halves and singles in untyped registers, integers in those of their type.
_CARRIERS = {"f32": "b32 unpacked", "f16": "b16", "u32": "", "s32": ""}


#: Offsets of coordinates (section 9.7.10.3).
_OFFSET_LOW, _OFFSET_HIGH = -8, 7
_ABSENT = "a component that the texture does not have"


def tex(how: Use, thread: Thread, a: Value, b: Value | None, c: Any, *more: Any) -> tuple[Value, ...]:
    """d = the texel at the coordinates c of the texture a, filtered and addressed as the sampler says; b is a sampler of its
    own. `more`: the level of detail or two gradients, then offsets of the coordinates. p = 1: all of a texture is resident. Of
    a component that the texture does not have, the manual says nothing."""
    image, sampler = _opened(how, thread, a, b)
    details = {"level": 1, "grad": 2}.get(how.words["mode"], 0)
    lookup = _lookup(how, thread, image, c, more[:details], more[details:])
    found = _found(thread, how, footprint, image, sampler, lookup)
    raws = [_raw(how, thread, image, tap) for tap in found.taps]
    weights = [tap.weight for tap in found.taps]
    form = how.words["dtype"]
    parts: list[Value] = []
    for n in range(4):
        if n >= image.format.channels:
            parts.append(
                thread.undetermined(how, 16 if form.startswith("f16") else 32, "a component that there is not")
            )
            continue
        channel = [raw[n] if raw is not None else None for raw in raws]
        result = filtered(form, image, channel, weights, found.whole, sampler.border[n])
        tap = found.taps[0]
        if len(raws) == 1 and tap.inside not in (0, 1):
            edge = narrowed(form, image, TexelResult(sampler.border[n]))
            result = TexelResult(
                ite(tap.inside, result.bits, edge.bits, 16 if form.startswith("f16") else 32), result.exact
            )
        exact = conj(result.exact, int(found.exact))
        width = 16 if form.startswith("f16") else 32
        parts.append(thread.approximated(how, result.bits, exact, width))
    if form == "f16x2":
        parts = [thread.packed(parts[0], parts[1]), thread.packed(parts[2], parts[3])]
    return (*parts, 1) if _has_predicate(how) else tuple(parts)


def tld4(how: Use, thread: Thread, a: Value, b: Value | None, c: Any, *offset: Any) -> tuple[Value, ...]:
    """d = one component of each of the four texels that a bilinear lookup at c reads, counter-clockwise from the lower
    left; see `tex`"""
    image, sampler = _opened(how, thread, a, b)
    lookup = _lookup(how, thread, image, c, (), offset)
    channel = "rgba".index(how.words["component"])
    parts: list[Value] = []
    for tap in _found(thread, how, gathered, image, sampler, lookup):
        if channel >= image.format.channels:
            parts.append(thread.undetermined(how, 32, _ABSENT, len(parts)))
            continue
        raw = _raw(how, thread, image, tap)
        result = TexelResult(sampler.border[channel]) if raw is None else widened(image, raw[channel])
        parts.append(thread.approximated(how, result.bits, result.exact, 32))
    return (*parts, 1) if _has_predicate(how) else tuple(parts)


def _has_predicate(how: Use) -> bool:
    return how.form.pattern.parameters[0].second is not None


def _opened(how: Use, thread: Thread, a: Value, b: Value | None) -> tuple[Image, Sampler]:
    """The texture behind a handle, and the sampler that counts."""
    image = thread.image(how, a, "texref")
    sampler = image.sampler if b is None else thread.image(how, b, "samplerref").sampler
    if not image.returns_floats and "linear" in (sampler.filter, sampler.level_filter):
        thread.require(
            0, "bad-texture", f"a sampler filters '{image.name}', whose texels are integers ({image.format})"
        )
        sampler = sampler._replace(filter="nearest", level_filter="nearest")
    return image, sampler


def _lookup(how: Use, thread: Thread, image: Image, c: Any, details: Sequence[Any], offset: Sequence[Any]) -> Lookup:
    """What is asked for. The manual leaves open what a geometry does that the texture does not have, and what is beyond the
    layers."""
    geometry = how.words["geometry"]
    alike = all((geometry in kind) == (image.geometry in kind) for kind in (LAYERED, CUBES, SAMPLED))
    thread.require(int(alike), "bad-texture", f"a .{geometry} lookup in a .{image.geometry} texture")
    fits = how.words["dtype"][:3] != "f16" or image.returns_floats
    thread.require(int(fits), "bad-texture", f"a texture of {image.format} is read as .{how.words['dtype']}")
    coordinates, layer, sample = split_coordinates(geometry, c if isinstance(c, tuple) else (c,))
    if geometry in LAYERED:
        thread.require(
            ult(layer, max(1, image.layers), 32), "out-of-bounds", f"'{image.name}' has {image.layers} layers"
        )
    if geometry in SAMPLED:
        thread.require(ult(sample, image.samples, 32), "out-of-bounds", f"'{image.name}' has {image.samples} samples")
    vectors = [tuple(v) if isinstance(v, tuple) else (v,) for v in (*details, *offset)]
    offsets = vectors[len(details)] if offset else ()
    for value in offsets[: len(coordinates)]:
        small = ule(add(value, -_OFFSET_LOW, 32), _OFFSET_HIGH - _OFFSET_LOW, 32)
        thread.require(small, "bad-texture", "an offset is -8 to 7")
    if any(type(value) is not int for value in offsets[: len(coordinates)]):
        thread.refuse_operand(how, "offsets that are not known before")
    level = vectors[0][0] if len(details) == 1 else None
    moves = tuple(signed(value, 32) for value in offsets[: len(coordinates)])
    floats = how.words["ctype"] != "s32"
    gradients = tuple(v[: len(coordinates)] for v in vectors[:2]) if len(details) == 2 else ()
    return Lookup(geometry, coordinates, floats, moves, layer, sample, level, gradients)


def _found(thread: Thread, how: Use, seek: Any, image: Image, sampler: Sampler, lookup: Lookup) -> Any:
    try:
        return seek(image, sampler, lookup)
    except Unknown:
        thread.refuse_operand(how, "coordinates that are not known before")
        raise


def _raw(how: Use, thread: Thread, image: Image, tap: Tap) -> tuple[Value, ...] | None:
    """The channels of a texel; None for the border."""
    if tap.inside == 0:
        return None
    size = image.format.channel_bytes
    if image.contents and tap.offset >= 0:
        data = image.contents[tap.level][tap.offset : tap.offset + image.format.texel_bytes]
        return tuple(int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))
    return tuple(
        thread.texel(how, add(tap.address, n * size, 64), 8 * size, tap.inside) for n in range(image.format.channels)
    )


def txq(how: Use, thread: Thread, a: Value, lod: Value = 0) -> Value:
    """d = an attribute of a texture or a sampler, with `.level` of one of its levels of detail"""
    query = how.words["query"]
    image = thread.image(how, a, "samplerref" if query == "force_unnormalized_coords" else "")
    if type(lod) is not int:
        thread.refuse_operand(how, "a level that is not known before")
    assert type(lod) is int
    thread.require(int(lod < image.levels), "bad-texture", f"'{image.name}' has {image.levels} levels of detail")
    return image.queried(query, min(lod, image.levels - 1))


def istypep(how: Use, thread: Thread, a: Value) -> Value:
    """p = whether a is the address of a texture, a sampler or a surface"""
    return thread.is_image(a, how.words["opaque"])


def _layout(how: Use) -> dict[str, str]:
    geometry = how.words["geometry"]
    indexed = " twice_indexed" if geometry == "a2dms" else " indexed" if geometry[0] == "a" else ""
    offset = f"x{_OFFSETS.get(geometry, 1)} longer"
    gradient = f"x{_GRADIENTS.get(geometry, 1)}" + " longer" * (geometry in ("cube", "acube"))
    return {
        "d": _CARRIERS.get(how.type, how.type),
        "c": f"x{_COORDINATES[geometry]} longer bare bits{indexed}",
        "offset": offset if geometry == "3d" else f"{offset} bare",
        "dx": gradient,
        "dy": gradient,
    }


class _Part(NamedTuple):
    """What one part of the operands adds: its text, the version and target that brought it, and rules."""

    text: str
    version: str = "1.0"
    target: str = ""
    rules: tuple[str, ...] = ()


_TEX, _TLD4 = _Part("tex", "1.0"), _Part("tld4", "2.2", "sm_20")
_HANDLES = (_Part("a:texref"), _Part("a:handle", "3.1", "sm_20"))
_RESULTS = (_Part("d:vec"), _Part("d|p:vec kept", "7.1", "sm_60"))
_UNCOMPARED = ("3d 2dms a2dms -> never", "ctype=s32 -> never")
_TAILS = (
    _Part(""),
    _Part(", offset:s32", "4.3", "sm_30", ("cube acube -> never",)),
    _Part(", compare:f32 own", "4.3", "sm_30", _UNCOMPARED),
    _Part(", offset:s32, compare:f32 own", "4.3", "sm_30", ("cube acube -> never", *_UNCOMPARED)),
)
_LEVELS = (
    _Part("{.mode}"),
    _Part(".mode", "3.1", "sm_20", ("2dms a2dms -> never",)),
    _Part(".mode", "3.1", "sm_20", ("2dms a2dms -> never",)),
)


def _newest(parts: Sequence[_Part]) -> tuple[str, str]:
    """The version and the target that have all the parts."""
    targets = [part.target for part in parts if part.target]
    return max((part.version for part in parts), key=as_numbers), max(targets, key=lambda t: int(t[3:]), default="")


def _lookups() -> Iterator[Form]:
    """`tex`: levels of detail, offsets, comparisons, second destinations and handles in every combination."""
    levels = zip(_LEVELS, ("base", "level", "grad"), ("", ", lod:ctype braced", ", dx:f32, dy:f32"), strict=True)
    for (level, mode, details), tail, handle, result in product(levels, _TAILS, _HANDLES, _RESULTS):
        version, target = _newest((_TEX, level, tail, handle, result))
        yield Form(
            f"tex{level.text}.geometry.vec.dtype.ctype {result.text}, [{handle.text}, {_SAMPLER}, c:ctype]{details}"
            f"{tail.text}", None if "compare" in tail.text else tex, kind="effect", untold=_untold(tail),
            section="9.7.10.3", version=version, target=target, needs=_TEX_NEEDS,
            rules=(*_TEX_RULES, *level.rules, *tail.rules), layout=_layout, first="mode", mode=mode, given=_PROXY,
            geometry=_GEOMETRIES, vec="v2 v4", dtype="u32 s32 f16 f32 f16x2", ctype="s32 f32",
        )  # fmt: skip


def _untold(tail: _Part) -> str:
    return "which comparison it is, sections 9.7.10.3 and 9.7.10.4 do not tell" if "compare" in tail.text else ""


def _gathers() -> Iterator[Form]:
    """`tld4`, in the same combinations."""
    for tail, handle, result in product(_TAILS, _HANDLES, _RESULTS):
        version, target = _newest((_TLD4, tail, handle, result))
        yield Form(
            f"tld4.component.geometry.v4.dtype.f32 {result.text.replace('vec', 'x4')}, "
            f"[{handle.text}, {_SAMPLER}, c:f32]{tail.text}", None if "compare" in tail.text else tld4, kind="effect",
            untold=_untold(tail), section="9.7.10.4", given=_PROXY, version=version, target=target,
            needs={"a2d cube acube": "4.3 sm_30"}, rules=tuple(r for r in tail.rules if "acube" in r and "3d" not in r),
            layout=_layout, component="r g b a", geometry="2d a2d cube acube", dtype="u32 s32 f32",
        )  # fmt: skip


_PROXY = {"proxy": "texture"}
_SAMPLER = "b:samplerref handle?"
_TEX_NEEDS = {
    "a1d a2d": "2.3",
    "cube": "3.0",
    "acube": "3.0 sm_20",
    "base": "3.1 sm_20",
    "2dms a2dms": "3.2 sm_30",
    "f16 f16x2": "4.2 sm_53",
    "grad+cube grad+acube": "4.3 sm_20",
}
_TEX_RULES = ("v4 -> !f16x2", "v2 -> f16x2", "cube acube -> ctype=f32", "2dms a2dms -> ctype=s32")

# Queries.

_SIZES = "width height depth"
_ATTRIBUTES = f"{_SIZES} channel_data_type channel_order normalized_coords array_size num_mipmap_levels num_samples"
_SAMPLER_STATE = "filter_mode addr_mode_0 addr_mode_1 addr_mode_2"
_QUERY_NEEDS = {
    "channel_data_type channel_order": "2.1",
    "force_unnormalized_coords": "2.2",
    "array_size": "4.1",
    "num_mipmap_levels": "4.1 sm_20",
    "num_samples": "4.1 sm_30",
    "memory_layout": "4.2",
}
_query = partial(Form, run=txq, kind="effect", section="9.7.10.5", version="1.5", needs=_QUERY_NEEDS)

_QUERIES = (
    _query("txq.query.b32 d, [a:texref]", query=f"{_ATTRIBUTES} {_SAMPLER_STATE}"),
    _query("txq.query.b32 d, [a:samplerref]", query=f"{_SAMPLER_STATE} force_unnormalized_coords"),
    _query("txq.query.b32 d, [a:handle]", version="3.1", target="sm_20",
           query=f"{_ATTRIBUTES} {_SAMPLER_STATE} force_unnormalized_coords"),
    _query("txq.query.b32 d, [a:texref samplerref]", only="ptxas", query="memory_layout"),
    _query("txq.query.b32 d, [a:handle]", only="ptxas", version="3.1", target="sm_20", query="memory_layout"),
    _query("txq.level.query.b32 d, [a:texref handle], lod:u32 braced", version="4.3", target="sm_30", first="level",
           query=_SIZES),
    Form("istypep.opaque p, a:u64", istypep, kind="effect", section="9.7.10.6", version="4.0", target="sm_30",
         opaque="texref samplerref surfref"),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_lookups(), *_gathers(), *_QUERIES)

DIFFERENCES = (
    Difference(
        "9.7.10.3",
        "Coordinates are four for `.3d`, `.a2d`, `.cube`, `.acube` and the multi-sample geometries, and two "
        "or four where one or two are enough; without a sampler a register is taken for any geometry.",
        "The vectors are the same, but examples have three elements, and none in braces.",
    ),
    Difference(
        "9.7.10.3",
        "With the handle of a sampler other operands are asked for than with its name, and fewer geometries "
        "are taken; from sm_90 on there are fewer yet with `.grad`. The checker follows that in both modes.",
        "A sampler is a name or a handle.",
        checked=False,
    ),
    Difference(
        "9.7.10.3",
        "With a sampler's handle, `tex.level.cube` takes an offset before the comparison, and levels and "
        "comparisons may be untyped, or no functions. The checker asks for what it asks for otherwise.",
        "Cube maps have no offsets.",
        checked=False,
    ),
    Difference(
        "9.7.10.3",
        "Coordinates of `.f32` may be a vector of integer registers.",
        "Their registers are of `.f32`, or untyped.",
    ),
    Difference(
        "9.7.10.5",
        "`txq.memory_layout` is an instruction.",
        "`suq` alone has the query.",
    ),
    Difference(
        "9.7.10.5",
        "An offset of 0 behind the handle of `txq` is refused. The checker reads `[h+0]` as `[h]`.",
        "The operand is a handle or a name.",
        checked=False,
    ),
)
