"""Asynchronous copies of tensors, and the objects that describe tensors (PTX ISA 9.0, sections 9.7.9.25.5 and
9.7.9.26)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.async_copy import HINT, MBARRIER, POLICY
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use

#: Families that have the Blackwell data-center modes.
_BLACKWELL = "8.6 sm_100a sm_101a / 8.8 sm_100f sm_101f"
_DIMENSIONS = "1d 2d 3d 4d 5d"

#: How many dimensions a load mode goes with.
_MODES = (
    "tile::gather4 tile::scatter4 -> 2d",
    "im2col im2col::w im2col::w::128 im2col_no_offs -> 3d 4d 5d",
)


def _coordinates(how: Use) -> dict[str, str]:
    """A coordinate for each dimension, or a column and four rows; offsets for the modes that unroll the tensor into
    columns."""
    mode, dimensions = how.words["mode"], int(how.words["dim"][0])
    offsets = {"im2col": dimensions - 2, "im2col::w": 2, "im2col::w::128": 2}.get(mode, 0)
    return {
        "coordinates": "x5" if mode in ("tile::gather4", "tile::scatter4") else f"x{dimensions}",
        "offsets": f"x{offsets}" if offsets else "absent",
    }


_form = partial(Form, version="8.0", target="sm_90", layout=_coordinates, rules=_MODES, dim=_DIMENSIONS, hint=HINT)
_copy = partial(_form, section="9.7.9.25.5.2", first="async bulk tensor")
_TENSOR = "[map:tensormap global const param, coordinates:s32]"
_LOADED = f"[d:shared], {_TENSOR}, [mbar:shared], offsets:u16"
_LOAD_MODES = "tile tile::gather4 im2col im2col::w im2col::w::128"
_STORE_MODES = "tile tile::scatter4 im2col_no_offs"
_GROUPS = "cta_group::1 cta_group::2"

_COPIES = (
    _copy(
        f"cp.async.bulk.tensor.dim.shared::cta.global{{.mode}}.{MBARRIER}{{.group}}{{.hint}} {_LOADED}, {POLICY}",
        version="8.6", ordered="shared::cta global", mode=_LOAD_MODES, group=_GROUPS,
        needs={"tile::gather4 im2col::w": "8.6 sm_100", "im2col::w::128": _BLACKWELL, "group": _BLACKWELL},
    ),
    _copy(
        f"cp.async.bulk.tensor.dim.shared::cluster.global{{.mode}}.{MBARRIER}{{.multicast}}{{.group}}{{.hint}} "
        f"{_LOADED}, mask:u16 if=multicast, {POLICY}",
        ordered="shared::cluster global", mode=_LOAD_MODES, multicast="multicast::cluster", group=_GROUPS,
        needs={"tile::gather4 im2col::w im2col::w::128": _BLACKWELL, "group": _BLACKWELL},
    ),
    _copy(
        f"cp.async.bulk.tensor.dim.global.shared::cta{{.mode}}.bulk_group{{.hint}} {_TENSOR}, [a:shared], {POLICY}",
        ordered="global shared::cta", mode=_STORE_MODES, needs={"tile::scatter4": _BLACKWELL},
    ),
    _form(
        "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.mode}.bulk_group{.hint} "
        f"{_TENSOR}, [a:shared], {POLICY}",
        section="9.7.9.25.5.3", first="reduce async bulk tensor", ordered="global shared::cta",
        op="add min max inc dec and or xor", mode=_STORE_MODES, needs={"tile::scatter4": _BLACKWELL},
        rules=(*_MODES, "manual: tile::scatter4 -> never"),
    ),
    _form(
        f"cp.async.bulk.prefetch.tensor.dim.L2.global{{.mode}}{{.hint}} {_TENSOR}, offsets:u16, {POLICY}",
        section="9.7.9.25.5.4", first="async bulk prefetch tensor", mode=_LOAD_MODES,
        needs={"tile::gather4 im2col::w im2col::w::128": _BLACKWELL},
    ),
)  # fmt: skip

# Objects that describe tensors.

_LATER = "sm_100a sm_101a sm_120a sm_121a"
_FAMILIES = "8.8 sm_100f sm_101f sm_120f"
_REPLACE = f"8.3 sm_90a {_LATER} / {_FAMILIES}"
_replace = partial(Form, section="9.7.9.26", version="8.3", first="replace", space="global shared::cta", object="b1024")

_REPLACEMENTS = (
    *(
        _replace(
            f"tensormap.replace.tile.field{{.space}}.object.{width} [a:narrow], {ordinal}value:{value}",
            needs={"tile": _REPLACE}, field=fields,
        )
        for fields, width, value, ordinal in (
            ("global_address", "b64", "b64", ""),
            ("rank", "b32", "b32", ""),
            ("box_dim global_dim element_stride", "b32", "u32 stated", "ordinal:imm 0..4, "),
            ("global_stride", "b64", "b64", "ordinal:imm 0..4, "),
        )
    ),
    # The values that a field may have; where more of them came later, the form with more stands first.
    *(
        _replace(
            f"tensormap.replace.tile.field{{.space}}.object.b32 [a:narrow], value:imm 0..{last}", needs={"tile": gate},
            field=field,
        )
        for field, last, gate in (
            ("elemtype", 15, f"8.7 {_LATER} / {_FAMILIES}"),
            ("elemtype", 12, _REPLACE),
            ("interleave_layout", 2, _REPLACE),
            ("swizzle_mode", 4, "8.8 sm_103a"),
            ("swizzle_mode", 3, _REPLACE),
            ("swizzle_atomicity", 3, f"8.6 {_LATER} / {_FAMILIES}"),
            ("fill_mode", 1, _REPLACE),
        )
    ),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_COPIES, *_REPLACEMENTS)

DIFFERENCES = (
    Difference(
        "9.7.9.25.5.3",
        "`cp.reduce.async.bulk.tensor` takes `.tile::scatter4`.",
        "It has `.tile` and `.im2col_no_offs`.",
    ),
    Difference(
        "9.7.9.25.5.2",
        "The tensor map is a register, or a variable in `.global`.",
        "It lies in `.param`, `.const` or `.global`, by its generic address.",
    ),
    Difference(
        "9.7.9.26",
        "The field is `.swizzle_atomicity`. So it is for the checker, in both modes.",
        "It is printed as `.swizzle_atomicsity`.",
        checked=False,
    ),
)
