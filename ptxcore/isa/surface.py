"""Surface instructions (PTX ISA 9.0, section 9.7.11).

A surface that is named by a handle instead of its name came later, so each instruction has two forms.
"""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use

#: Elements of coordinates; two or four will do where fewer are needed.
_COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4}
_CLAMP = "trap clamp zero"


def _layout(how: Use) -> dict[str, str]:
    return {"b": f"x{_COORDINATES[how.words['geometry']]} longer bare"}


_NEEDS = {"3d a1d a2d": "3.0 sm_20", "clamp=clamp zero": "2.0", "cop": "2.0 sm_20"}
_access = partial(
    Form, version="1.5", needs=_NEEDS, layout=_layout, rules=("v4 -> !b64",), geometry="1d 2d 3d a1d a2d", vec="v2 v4",
    clamp=_CLAMP,
)  # fmt: skip
_formatted = partial(
    _access, section="9.7.11.2", needs={**_NEEDS, "a1d a2d": "4.1 sm_30"}, rules=("manual: a1d a2d -> never",)
)
_reduce = partial(
    Form, section="9.7.11.3", needs={"3d": "3.0", "min+u64 max+u64 s64 b64": "8.1 sm_50"}, layout=_layout,
    op="add min max and or", geometry="1d 2d 3d", clamp=_CLAMP,
)  # fmt: skip
_QUERY = "width height depth channel_data_type channel_order array_size memory_layout"
_query = partial(
    Form, section="9.7.11.4", query=_QUERY,
    needs={"channel_data_type channel_order": "2.1", "array_size": "4.1", "memory_layout": "4.2"},
)  # fmt: skip

FORMS: tuple[Form, ...] = tuple(
    form
    for name, version, target in (("a:surfref", "1.5", ""), ("a:handle", "3.1", "sm_20"))
    for newer in (max(version, "2.0"),)
    for form in (
        _access(
            f"suld.b.geometry{{.cop}}{{.vec}}.type.clamp d:loose vec braced, [{name}, b:s32]", section="9.7.11.1",
            version=version, target=target, first="b", cop="ca cg cs cv", type="b8 b16 b32 b64",
        ),
        _access(
            f"sust.b.geometry{{.cop}}{{.vec}}.type.clamp [{name}, b:s32], c:loose vec braced", section="9.7.11.2",
            version=version, target=target, first="b", cop="wb cg cs wt", type="b8 b16 b32 b64",
        ),
        _formatted(
            f"sust.p.geometry{{.cop}}{{.vec}}.b32.clamp [{name}, b:s32], c:loose vec braced", version=newer,
            target="sm_20", first="p", cop="wb cg cs wt",
        ),
        _reduce(
            f"sured.b.op.geometry.type.clamp [{name}, b:s32], c:loose", version=newer, target="sm_20", first="b",
            rules=("add -> u32 s32 u64", "min max -> u32 s32 u64 s64", "and or -> b32"), type="u32 u64 s32 b32 s64",
        ),
        _reduce(
            f"sured.p.op.geometry.type.clamp [{name}, b:s32], c:loose", version=newer, target="sm_20", first="p",
            rules=("b64 -> min max",), type="b32 b64",
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
