"""What nvcc makes of unusual CUDA C++ (`tests/kernels/features.cu`), with and without optimisation, on old and new targets."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from campaigns import some

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxmm.running import Run, launch

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")

SOURCE = Path(__file__).parents[3] / "kernels" / "features.cu"
#: Targets and options; nvcc takes seconds for each.
ALWAYS = ["sm_75 -O3", "sm_100 -G"]
MORE = ["sm_80 -O3", "sm_90 -G", "sm_90 -Xcicc -O0", "sm_120 -O3"]
SEEDS = (None, 3)


@pytest.fixture(
    scope="module", params=[*some(2, ALWAYS), *(pytest.param(more, marks=pytest.mark.campaign) for more in MORE)]
)
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Device:
    target, _, options = request.param.partition(" ")
    ptx = tmp_path_factory.mktemp("features") / "features.ptx"
    command = ["nvcc", "-std=c++17", "-w", "-ptx", f"-arch={target}", *options.split(), "-o", str(ptx), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "Unsupported gpu architecture" in done.stderr:
        pytest.skip(f"this nvcc does not know {target}")
    assert done.returncode == 0, done.stderr[-2000:]
    return load(ptx.read_text(), "features.ptx")


def run(device: Device, name: str, block: int, *args: Any, grid: int = 1, **options: Any) -> Run:
    return launch(device, name, (grid,), (block,), args, limit=20_000_000, **options)


def drawn(count: int, kind: str = "i4", low: int = -100, high: int = 100) -> Any:
    return np.random.default_rng(count).integers(low, high, count).astype(kind)


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> width - 1 else value


ANGLES = np.random.default_rng(1).uniform(-20, 20, 8)


@pytest.mark.long
def test_functions_of_doubles(device: Device) -> None:
    out = np.zeros((8, 16))
    run(device, "doubles", 8, ANGLES, out)
    expected = [
        [
            math.sin(v), math.cos(v), math.exp(v / 10), math.log(abs(v) + 1), abs(v) ** 1.3, math.tan(v), math.atan2(v, 2),
            math.sqrt(abs(v)), math.erf(v / 5), math.copysign(abs(v) ** (1 / 3), v), math.fmod(v, 3), math.sinh(v / 10),
            math.gamma(abs(v) / 4 + 1), np.rint(v), math.hypot(v, 4), v * 32,
        ]
        for v in ANGLES
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-13)


@pytest.mark.long
def test_functions_of_floats(device: Device) -> None:
    x, out = ANGLES.astype("f4"), np.zeros((8, 16), "f4")
    run(device, "floats", 8, x, out)
    expected = [
        [
            math.sin(v), math.cos(v), math.exp(v / 10), math.log(abs(v) + 1), abs(v) ** 1.3, math.tanh(v / 10), math.atan(v),
            (abs(v) + 1) ** -0.5, v / 3, math.floor(v), math.fmod(v, 3), math.exp(v / 10), v / 7,
            math.copysign(math.floor(abs(v) + 0.5), v), v * v + 1, math.trunc(v) + math.ceil(v),
        ]
        for v in map(float, x)
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=3e-6)


def test_structures_by_value(device: Device) -> None:
    a, b = np.arange(1, 7, dtype="i4"), np.arange(-2, 3, dtype="i2")
    ints, shorts, sums = np.zeros((4, 6), "i4"), np.zeros((4, 5), "i2"), np.zeros(4, "f4")
    run(device, "by_value", 4, a.tobytes(), b.tobytes(), np.array([2, 3, 4], "f4").tobytes(), ints, shorts, sums)
    assert ints.tolist() == [np.roll(a, t).tolist() for t in range(4)]
    assert shorts.tolist() == [np.roll(b, t).tolist() for t in range(4)]
    assert sums.tolist() == [10] * 4


def ackermann(m: int, n: int) -> int:
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def test_calls_of_every_sort(device: Device) -> None:
    out = np.zeros(12, "u4")
    run(device, "recursion", 12, out)
    assert out.tolist() == [ackermann(t & 3, t >> 2) for t in range(12)]
    numbers = np.zeros(9, "i4")
    run(device, "pointers", 9, numbers)
    assert numbers.tolist() == [(t + 7, t * 7, t - 7)[t % 3] for t in range(9)]
    areas = np.zeros(6, "f4")
    run(device, "virtuals", 6, areas)
    assert areas.tolist() == [t * t if t & 1 else 3 * t * t for t in range(6)]


def test_printing_and_assertions(device: Device) -> None:
    expected = "".join(
        f"{t} of 5: {t / 4:5.2f} {'odd' if t & 1 else 'even'} {chr(97 + t)} {1 << 40 | t:x} %\n" for t in range(3)
    )
    assert run(device, "prints", 5, 3).printed == expected
    with pytest.raises(KernelError) as caught:
        run(device, "asserts", 8, 5)
    assert caught.value.kind == "assertion"
    assert caught.value.thread is not None
    assert caught.value.thread.thread == (5, 0, 0)


def test_short_floats(device: Device) -> None:
    a, b = (np.random.default_rng(2).integers(-40, 40, (2, 16)) / 8).astype("f2")
    out, sums = np.zeros((8, 2), "f2"), np.zeros(8, "f2")
    run(device, "halves", 8, a, b, out, sums)
    expected = (a.astype("f8") * b + 0.5).astype("f2").reshape(8, 2)
    a, b = a.reshape(8, 2), b.reshape(8, 2)
    expected = np.where((a[:, 0] > b[:, 0])[:, None], np.maximum(a, b[:, ::-1]), expected)
    assert (out == expected).all()
    assert (sums == a[:, 0] + b[:, 1]).all()
    x, more = ANGLES.astype("f4"), np.zeros(8, "f4")
    run(device, "bfloats", 8, x, more)
    assert (more == (x.astype(ml_dtypes.bfloat16).astype("f4") + 1).astype(ml_dtypes.bfloat16).astype("f4")).all()


def intrinsics(v: int, w: int) -> list[int]:
    pairs = [(v >> 8 * i & 255, w >> 8 * i & 255) for i in range(4)]
    halves = [(signed(v >> 16 * i & 0xFFFF, 16), signed(w >> 16 * i & 0xFFFF, 16)) for i in range(2)]
    return [
        v.bit_count(), 32 - v.bit_length(), int(f"{v:032b}"[::-1], 2), (v & -v).bit_length(), v * w >> 32,
        v & 0xFFFF | (w & 0xFFFF) << 16, (w << 32 | v) << (v & 31) >> 32,
        5 + sum(signed(a, 8) * signed(b, 8) for a, b in pairs),
        sum((a + b & 255) << 8 * i for i, (a, b) in enumerate(pairs)),
        sum(abs(a - b) << 8 * i for i, (a, b) in enumerate(pairs)),
        sum((max(pair) & 0xFFFF) << 16 * i for i, pair in enumerate(halves)), abs(v - w) + 3,
    ]  # fmt: skip


def test_intrinsics(device: Device) -> None:
    a, out = np.random.default_rng(4).integers(0, 1 << 32, 8, dtype="u4"), np.zeros((8, 12), "u4")
    a[3] = 0
    run(device, "intrinsics", 8, a, out)
    assert out.tolist() == [[x & 0xFFFFFFFF for x in intrinsics(int(a[t]), int(a[(t + 1) % 8]))] for t in range(8)]


@pytest.mark.parametrize("seed", SEEDS)
def test_warps_and_groups(device: Device, seed: int | None) -> None:
    a, out, tiles = drawn(64, low=-9, high=9), np.zeros((64, 4), "i4"), np.zeros((64, 2), "i4")
    run(device, "warps", 64, a, out, seed=seed)
    for t in range(64):
        warp = a[t & 32 : (t & 32) + 32]
        ballot = sum(1 << i for i in range(32) if warp[i] > 0)
        match = sum(1 << i for i in range(32) if warp[i] & 3 == a[t] & 3)
        assert out[t].tolist() == [warp.sum(), warp[: t % 32 + 1].sum(), signed(ballot, 32), signed(match, 32)]
    run(device, "groups", 64, a, tiles, seed=seed)
    rows = a.reshape(8, 8)
    assert (tiles[:, 0] == np.repeat(rows.sum(1), 8)).all()
    assert (tiles[:, 1] == rows.cumsum(1).ravel()).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_atomics_locks_and_barriers(device: Device, seed: int | None) -> None:
    a, i, n, f, d = drawn(150), np.zeros(6, "i4"), np.zeros(1, "u8"), np.zeros(1, "f4"), np.zeros(1)
    run(device, "atomics", 40, a, 150, i, n, f, d, grid=2, seed=seed)
    assert i.tolist() == [a.sum(), a.max(), a.min(), np.bitwise_xor.reduce(a), 150 % 7, (a & 7).sum()]
    assert [n[0], f[0], d[0]] == [(a.astype("i8") ** 2).sum(), a.sum(), a.sum() / 2]
    taken, value = np.zeros(1, "i4"), np.zeros(1, "i4")
    run(device, "lock", 8, taken, value, grid=3, seed=seed)
    assert value[0] == 24
    out = np.zeros(3, "i4")
    run(device, "standard_atomics", 32, out, seed=seed)
    assert out.tolist() == [496, 93, -42 * 32]
    b, sums = drawn(40), np.zeros(40, "i4")
    run(device, "barriers", 40, b, sums, seed=seed)
    assert (sums == np.roll(b, -1) * 3 + 3).all()


def test_memory_of_every_space(device: Device) -> None:
    a, out = drawn(64), np.zeros(64, "i4")
    run(device, "memories", 64, a, out, dynamic_shared=128)
    table = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
    for t in range(64):
        local = {int(a[t] + i) & 15: table[i] * i for i in range(16)}
        assert out[t] == a[t ^ 1] + 2 * a[63 - t] + local[t & 15] + (a & 1).sum()


def test_a_table_of_branches(device: Device) -> None:
    a, out = np.arange(-20, 44, dtype="i4") * 7, np.zeros(64, "i4")
    run(device, "cases", 64, a, out)
    for v, got in zip(map(int, a), out, strict=True):
        known = {0: v + 3, 1: v * 5 - 9, 2: v - 9, 3: ~v, 4: v ^ 0x55, 5: v << 2, 6: v >> 1, 9: -v}
        assert got == known.get(v & 15, int(v / 3) + int(math.fmod(v, 7)))


def test_complex_numbers(device: Device) -> None:
    x, out = ANGLES.astype("f4"), np.zeros(8, "c8")
    run(device, "complexes", 8, x, out)
    z = x.astype("c16") + 1j
    np.testing.assert_allclose(out, z * z + z, rtol=2e-6)
