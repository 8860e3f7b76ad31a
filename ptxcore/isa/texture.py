"""Texture instructions (PTX ISA 9.0, section 9.7.10).

What a use needs depends on its operands too (an offset, a comparison, a second destination, a handle instead of a name),
so each combination is a form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.targets import version as as_numbers

_GEOMETRIES = "1d 2d 3d a1d a2d cube acube 2dms a2dms"
#: Elements of coordinates and, where there are any, of offsets and of gradients.
_COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4, "2dms": 4, "a2dms": 4}
_OFFSETS = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 2, "2dms": 2, "a2dms": 2}
_GRADIENTS = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 2, "cube": 1, "acube": 1}
#: What carries results: halves and singles in untyped registers, integers in those of their type.
_CARRIERS = {"f32": "b32 unpacked", "f16": "b16", "u32": "", "s32": ""}


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
            f"{tail.text}",
            section="9.7.10.3", version=version, target=target, needs=_TEX_NEEDS,
            rules=(*_TEX_RULES, *level.rules, *tail.rules), layout=_layout, first="mode", mode=mode,
            geometry=_GEOMETRIES, vec="v2 v4", dtype="u32 s32 f16 f32 f16x2", ctype="s32 f32",
        )  # fmt: skip


def _gathers() -> Iterator[Form]:
    """`tld4`, in the same combinations."""
    for tail, handle, result in product(_TAILS, _HANDLES, _RESULTS):
        version, target = _newest((_TLD4, tail, handle, result))
        yield Form(
            f"tld4.component.geometry.v4.dtype.f32 {result.text.replace('vec', 'x4')}, "
            f"[{handle.text}, {_SAMPLER}, c:f32]{tail.text}",
            section="9.7.10.4", version=version, target=target,
            needs={"a2d cube acube": "4.3 sm_30"}, rules=tuple(r for r in tail.rules if "acube" in r and "3d" not in r),
            layout=_layout, component="r g b a", geometry="2d a2d cube acube", dtype="u32 s32 f32",
        )  # fmt: skip


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
_query = partial(Form, section="9.7.10.5", version="1.5", needs=_QUERY_NEEDS)

_QUERIES = (
    _query("txq.query.b32 d, [a:texref]", query=f"{_ATTRIBUTES} {_SAMPLER_STATE}"),
    _query("txq.query.b32 d, [a:samplerref]", query=f"{_SAMPLER_STATE} force_unnormalized_coords"),
    _query("txq.query.b32 d, [a:handle]", version="3.1", target="sm_20",
           query=f"{_ATTRIBUTES} {_SAMPLER_STATE} force_unnormalized_coords"),
    _query("txq.query.b32 d, [a:texref samplerref]", only="ptxas", query="memory_layout"),
    _query("txq.query.b32 d, [a:handle]", only="ptxas", version="3.1", target="sm_20", query="memory_layout"),
    _query("txq.level.query.b32 d, [a:texref handle], lod:u32 braced", version="4.3", target="sm_30", first="level",
           query=_SIZES),
    Form("istypep.opaque p, a:u64", section="9.7.10.6", version="4.0", target="sm_30", opaque="texref samplerref surfref"),
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
