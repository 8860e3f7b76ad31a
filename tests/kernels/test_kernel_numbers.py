"""Numbers in reports are read as the test declares them, and stay integers to programs."""

from __future__ import annotations

import json
import pickle
import struct
from copy import deepcopy

import pytest

import ptxmm
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.numbers import TypedNumber

PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.f32 %r1, 0fBF000000;
    st.global.b32 [%rd1], %r1;
    mov.b64 %rd3, -7;
    st.global.b64 [%rd2+8], %rd3;
    ret;
}
"""


@pytest.mark.parametrize(
    ("type", "bits", "text"),
    [
        ("f32", 0x3F000000, "0.5"),
        ("f32", struct.unpack("<I", struct.pack("<f", 0.1))[0], "0.1"),
        ("f32", 0x7F7FFFFF, "3.4028235e+38"),
        ("f32", 0x80000000, "-0.0"),
        ("f32", 0x7FC00001, "nan(0x7fc00001)"),
        ("f32", 0xFF800000, "-inf"),
        ("f32", 0x42C80000, "100.0"),
        ("f32", 0x42CA0000, "101.0"),
        ("f64", struct.unpack("<Q", struct.pack("<d", 1 / 3))[0], "0.3333333333333333"),
        ("f16", 0x7BFF, "65504.0"),
        ("bf16", 0x3F80, "1.0"),
        ("s8", 253, "-3"),
        ("s64", -7, "-7"),
    ],
)
def test_numbers_are_written_as_declared_and_stay_integers(type: str, bits: int, text: str) -> None:
    number = TypedNumber(bits, TYPES[type])
    assert f"{number}" == str(number) == text
    assert number == bits and json.dumps(number) == str(bits)
    for other in (pickle.loads(pickle.dumps(number)), deepcopy(number)):
        assert (other, str(other)) == (bits, text)


def test_reports_of_kernels_show_them() -> None:
    params = {"x": {"type": "f32", "elements": 1}, "y": {"type": "s64", "elements": 2}}
    result = ptxmm.Kernel(PTX, grid=1, block=1, params=params, forall="x[0] == 1.0 && y[1] == 0").check()
    assert result.states == [{"x[0]": 0xBF000000, "y[1]": -7}]
    (check,) = result.checks
    assert check.message == "forall x[0] == 1.0 && y[1] == 0 does not hold: x[0] = -0.5, y[1] = -7"
    assert [line.split("  ")[-1].strip() for line in check.linearisation[:2]] == ["x = -0.5", "y[1] = -7"]
    assert "final state: x[0] = -0.5, y[1] = -7" in result.witnesses[0].svg()
