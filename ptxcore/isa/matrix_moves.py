"""Moving small matrices between shared memory and the registers of a warp, and within them: `ldmatrix`, `stmatrix`,
`movmatrix` (PTX ISA 9.0, sections 9.7.14.5.15 to 9.7.14.5.17)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use

_SPACE = "shared shared::cta"
_NUM = "x1 x2 x4"
_UNPACKED: dict[str, Any] = {"dst_fmt": "b8x16", "src_fmt": "b6x16_p32 b4x16_p64", "ordered": "dst_fmt src_fmt"}


def _matrices(how: Use) -> Mapping[str, str]:
    """A register for each matrix, two where it has 16 rows and 16 columns of bytes. Without a space the address is
    generic, and may have the 32 bits of a shared one."""
    number = int(how.words["num"][1:]) * (2 if how.words["shape"] == "m16n16" else 1)
    return {"d": f"b32 x{number}", "r": f"inferred b32 x{number}", "p": how.words["space"] or "generic shared"}


_BYTES = "8.6 sm_100f sm_101f sm_120f"
_ldmatrix = partial(
    Form, kind="effect", section="9.7.14.5.15", version="6.5", target="sm_75", layout=_matrices, space=_SPACE,
    needs={"shared::cta": "7.8"}, repeats="sync",
)  # fmt: skip
_stmatrix = partial(
    Form, kind="effect", section="9.7.14.5.16", version="7.8", target="sm_90", layout=_matrices, space=_SPACE,
    repeats="sync",
)  # fmt: skip

FORMS = (
    _ldmatrix("ldmatrix.sync.aligned.shape.num{.trans}{.space}.b16 d:x?, [p]", shape="m8n8", num=_NUM),
    _ldmatrix("ldmatrix.sync.aligned.shape.num.trans{.space}.b8 d:x?, [p]", shape="m16n16", num="x1 x2",
              needs={"": _BYTES}),
    _ldmatrix("ldmatrix.sync.aligned.shape.num{.space}.dst_fmt.src_fmt d:x?, [p]", shape="m8n16", num=_NUM,
              needs={"": _BYTES}, **_UNPACKED),
    _ldmatrix("ldmatrix.sync.aligned.shape.num.trans{.space}.dst_fmt.src_fmt d:x?, [p]", shape="m16n16",
              num="x1 x2", needs={"": _BYTES}, **_UNPACKED),
    _stmatrix("stmatrix.sync.aligned.shape.num{.trans}{.space}.b16 [p], r:x?", shape="m8n8", num=_NUM),
    _stmatrix("stmatrix.sync.aligned.shape.num.trans{.space}.b8 [p], r:x?", shape="m16n8", num=_NUM,
              needs={"": _BYTES}),
    Form("movmatrix.sync.aligned.m8n8.trans.b16 d:b32 untyped, a:b32 untyped", kind="effect", section="9.7.14.5.17",
         version="7.8", target="sm_75", repeats="sync"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.14.5.15",
        "`ldmatrix` and `stmatrix` take `.x8` and more, with vectors of any length. The checker refuses them.",
        "The number is `.x1`, `.x2` or `.x4`.",
        checked=False,
    ),
)
