"""What `vprintf` prints is what C's printf prints."""

from __future__ import annotations

import struct

import pytest

from ptxcore.machine.run.launch import load

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.visible .entry k(.param .u64 format, .param .u64 values)
{
.reg .b64 %rd<4>;
.param .b64 a; .param .b64 b; .param .b32 r;
ld.param.u64 %rd1, [format]; ld.param.u64 %rd2, [values];
st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;
call (r), vprintf, (a, b);
ret;
}
"""


def printed(form: str, values: bytes) -> str:
    device = load(KERNEL)
    addresses = []
    for data in (form.encode() + b"\0", values or b"\0"):
        addresses.append(device.memory.allocate(len(data), "text"))
        device.memory.at(addresses[-1]).data[:] = data
    return "".join(device.launch("k", (1, 1, 1), (1, 1, 1), addresses).output)


@pytest.mark.parametrize(
    ("form", "layout", "values", "expected"),
    [
        ("%d %5d|%-5d|%05d|%+d|% d|", "6i", (-1, 42, 42, 42, 42, 42), "-1    42|42   |00042|+42| 42|"),
        ("%u %x %X %o %#x %#o %#x", "7i", (-1, 255, 255, 8, 255, 8, 0), "4294967295 ff FF 10 0xff 010 0"),
        ("%hhd %hd %hu %hhx", "4i", (-1, -1, 65537, 0x1FF), "-1 -1 1 ff"),
        ("%lld %llu %lx %zu", "qQqQ", (-1, 2**64 - 1, 1 << 40, 5), "-1 18446744073709551615 10000000000 5"),
        ("%i %lld", "i4xq", (3, -4), "3 -4"),
        ("%f %.2f %8.3f| %e %g %G", "6d", (1.5, 2.345, -1.0, 12345.678, 1e-7, 1e20), None),
        ("%a %a %A", "3d", (1.0, 3.5, -0.1), "0x1p+0 0x1.cp+1 -0X1.999999999999AP-4"),
        ("%f %5.1f|%F %+f", "4d", (float("inf"), float("-inf"), float("inf"), float("inf")), "inf  -inf|INF +inf"),
        ("%f", "Q", (0xFFF8 << 48,), "-nan"),
        ("%c%c%5c|%%", "3i", (72, 105, 33), "Hi    !|%"),
        ("%*d|%-*d|%.*f", "iiiii4xd", (6, 7, 4, 5, 1, 2.25), None),
        ("%p %p", "2Q", (0x1234, 0), "0x1234 (nil)"),
        ("%s|%5s", "2Q", (0, 0), "(null)|(null)"),
        ("100%% sure", "", (), "100% sure"),
    ],
)
def test_conversions(form: str, layout: str, values: tuple[float, ...], expected: str | None) -> None:
    wanted = form % values if expected is None else expected
    assert printed(form, struct.pack(f"<{layout}", *values)) == wanted


@pytest.mark.parametrize("form", ["%2000000000d", f"%{'9' * 5000}d", "%.2000000000d", "%*d"])
def test_no_width_fills_the_memory(form: str) -> None:
    values = struct.pack("<ii", 2**31 - 1, 5) if "*" in form else struct.pack("<i", 5)
    assert len(printed(form, values)) == 1 << 16


def test_a_negative_precision_counts_as_none() -> None:
    assert printed("%.*d", struct.pack("<ii", -3, 5)) == "5"
