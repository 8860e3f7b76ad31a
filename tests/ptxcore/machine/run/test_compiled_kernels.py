"""What nvcc makes of `tests/kernels/*.cu`, run and compared with NumPy."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaigns import some

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxmm.running import Run, launch

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")

KERNELS = Path(__file__).parents[3] / "kernels"
SEEDS = [None, 1, 2]

Compile = Callable[[str, str], Device]


@pytest.fixture(scope="module")
def compile_kernels(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a file for sm_90, with further options, once."""
    folder = tmp_path_factory.mktemp("compiled")
    made: dict[tuple[str, str], Device] = {}

    def compiled(name: str, options: str = "") -> Device:
        if (name, options) not in made:
            ptx = folder / f"{name}.ptx"
            command = ["nvcc", "-std=c++17", "--extended-lambda", "-w", "-ptx", "-arch=sm_90", *options.split()]
            done = subprocess.run(
                [*command, "-o", str(ptx), str(KERNELS / f"{name}.cu")], capture_output=True, text=True
            )
            if done.returncode and "Unsupported gpu architecture" in done.stderr:
                pytest.skip("this nvcc does not know sm_90")
            assert done.returncode == 0, done.stderr[-2000:]
            made[name, options] = load(ptx.read_text(), f"{name}.ptx")
        return made[name, options]

    return compiled


@pytest.fixture(
    scope="module", params=some(3, ["", "-G", "-lineinfo -Xcicc -O1"]), ids=["optimised", "debug", "little"]
)
def runnable(compile_kernels: Compile, request: pytest.FixtureRequest) -> Device:
    return compile_kernels("runnable", request.param)


def run(device: Device, part: str, grid: Any, block: Any, *args: Any, **options: Any) -> Run:
    name = next(n for n, code in device.program.functions.items() if code.entry and part in n)
    return launch(device, name, grid, block, args, limit=20_000_000, **options)


def drawn(count: int, kind: str, low: int = -1000, high: int = 1000) -> Any:
    return np.random.default_rng(count).integers(low, high, count).astype(kind)


def test_saxpy(runnable: Device) -> None:
    x, y = (np.random.default_rng(i).random(500, "f4") for i in (1, 2))
    a = np.float32(1.7)
    exact = a.astype("f8") * x + y  # contracted to a fused multiply-add, or not
    plain = a * x + y
    run(runnable, "saxpy", (4,), (128,), 500, a, x, y)
    assert ((y == exact.astype("f4")) | (y == plain)).all()


@pytest.mark.part(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_in_shared_memory(runnable: Device, seed: int | None) -> None:
    for kind, part in (("i8", "sum_longs"), ("f8", "sum_doubles")):
        values, out = drawn(3000, kind), np.zeros(2, kind)
        run(runnable, part, (2,), (256,), values, out, 3000, seed=seed)
        places = np.arange(3000) // 256 % 2
        assert list(out) == [values[places == i].sum() for i in range(2)]


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_by_atomics(runnable: Device, seed: int | None) -> None:
    text, bins = drawn(2000, "u1", 0, 256), np.zeros(256, "u4")
    run(runnable, "counts", (3,), (64,), text, 2000, bins, seed=seed)
    assert (bins == np.bincount(text, minlength=256)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_maximum_by_shuffles(runnable: Device, seed: int | None) -> None:
    values, out = drawn(256, "i4"), np.full(1, -(1 << 31), "i4")
    run(runnable, "warp_maximum", (2,), (128,), values, out, seed=seed)
    assert out[0] == values.max()


def test_matrices(runnable: Device) -> None:
    a = np.arange(20 * 35, dtype="f4").reshape(20, 35)
    out = np.zeros((35, 20), "f4")
    run(runnable, "transpose", (3, 2), (16, 16), a, out, 35, 20)
    assert (out == a.T).all()
    left, right = (np.random.default_rng(i).integers(-9, 9, (16, 16)).astype("f4") for i in (1, 2))
    c = np.zeros((16, 16), "f4")
    run(runnable, "product", (2, 2), (8, 8), left, right, c, 16)
    assert (c == left @ right).all()


def test_structures_by_value(runnable: Device) -> None:
    """Padding has bytes that nothing wrote."""
    given = struct.pack("<c7xd3h2x", b"q", 2.5, 1, 2, 3)
    out = np.zeros(4 * 24, "u1")
    run(runnable, "structures", (1,), (4,), given, out)
    for i in range(4):
        tag, value, *rest = struct.unpack_from("<c7xd3h2x", out.tobytes(), 24 * i)
        assert (tag, value) == (b"q", 2.5 * i)
        assert rest == [[1, 2, 3][(j + i) % 3] for j in range(3)]


def test_recursion(runnable: Device) -> None:
    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    out = np.zeros(40, "u4")
    run(runnable, "recursion", (1,), (40,), out)
    assert list(out) == [steps(n) for n in range(1, 41)]


def test_arrays_in_local_memory(runnable: Device) -> None:
    values, out = drawn(320, "i4"), np.zeros(320, "i4")
    run(runnable, "sorted_locally", (1,), (16,), values, out, 20)
    assert (out.reshape(16, 20) == np.sort(values.reshape(16, 20))).all()


def test_divisions(runnable: Device) -> None:
    chance = np.random.default_rng(5)
    a, b = (chance.integers(-(1 << 62), 1 << 62, 32) >> chance.integers(0, 60, 32) for _ in "ab")
    b = np.where(b.astype("i4") == 0, 7, b)
    a[0], b[0] = -(1 << 63), 3
    out = np.zeros(128, "i8")
    run(runnable, "divisions", (1,), (32,), a, b, out)

    def word(x: int) -> int:
        return (x + (1 << 31)) % (1 << 32) - (1 << 31)

    def quotient(x: int, y: int) -> int:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        reverse = int(f"{x % (1 << 32):032b}"[::-1], 2)
        narrow = quotient(word(x), word(y)) + x % (1 << 32) % (y % (1 << 32)) + reverse
        expected = [
            quotient(x, y),
            x - quotient(x, y) * y,
            x * y >> 64,
            narrow % (1 << 32) + (x % (1 << 64)).bit_count(),
        ]
        expected[3] %= 1 << 32
        assert out[4 * i : 4 * i + 4].tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ring_of_ctas(runnable: Device, seed: int | None) -> None:
    values, out = np.arange(512, dtype="i4"), np.zeros(512, "i4")
    run(runnable, "ring", (8,), (64,), values, out, seed=seed)
    assert (out.reshape(2, 4, 64) == np.roll(values.reshape(2, 4, 64), -1, axis=1)[:, :, ::-1]).all()


# Kernels that were written to be read, as far as they compute something.


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_clusters(compile_kernels: Compile, seed: int | None) -> None:
    device = compile_kernels("cluster", "")
    values, bins = drawn(1000, "i4", 0, 5000), np.zeros(256, "i4")
    run(device, "histogram", (8,), (64,), values, bins, 1000, dynamic_shared=256, seed=seed)
    assert (bins == np.bincount(values & 255, minlength=256)).all()


@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_collectives_of_blocks_and_warps(compile_kernels: Compile, seed: int | None) -> None:
    device = compile_kernels("cub_block", "")
    values, out = drawn(1024, "u4", 0, 1 << 32), np.zeros(1024, "u4")
    run(device, "block_sort", (2,), (128,), values, out, seed=seed)
    assert (out.reshape(2, 512) == np.sort(values.reshape(2, 512))).all()
    floats, sums, prefix = drawn(512, "f4"), np.zeros(2, "f4"), np.zeros(512, "i4")
    run(device, "block_sum_and_scan", (2,), (256,), floats, sums, prefix, seed=seed)
    halves = floats.reshape(2, 256) > 0
    assert (sums == floats.reshape(2, 256).sum(axis=1)).all()
    before = np.cumsum(halves, axis=1) - halves
    assert (prefix.reshape(2, 256) == before + halves.sum(axis=1)[:, None]).all()
    doubles, out, maxima = drawn(128, "f8"), np.zeros(128), np.zeros(128, "i4")
    run(device, "warp_collectives", (1,), (128,), doubles, out, maxima, seed=seed)
    assert (out[::32] == doubles.reshape(4, 32).sum(axis=1)).all()
    assert (maxima.reshape(4, 32) == np.maximum.accumulate(doubles.reshape(4, 32), axis=1)).all()


@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_groups(compile_kernels: Compile, seed: int | None) -> None:
    device = compile_kernels("groups", "")
    values, out = np.arange(512, dtype="i4"), np.zeros(256, "i4")
    run(device, "4copy", (1,), (256,), values, out, seed=seed)
    assert (out == values[255::-1]).all()
    flags, total = np.zeros(128, "i4"), np.zeros(1, "i4")
    run(device, "whole_grid", (4,), (32,), flags, total, seed=seed)
    assert total[0] == 128


@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_pipelines(compile_kernels: Compile, seed: int | None) -> None:
    device = compile_kernels("pipelines", "")
    values, out = np.arange(1024, dtype="f4"), np.zeros(1024, "f4")
    run(device, "staged", (1,), (256,), values, out, 4, seed=seed)
    assert (out.reshape(4, 256) == values.reshape(4, 256)[:, ::-1]).all()
    out = np.zeros(128, "f4")
    run(device, "specialised", (1,), (128,), values, out, seed=seed)
    assert (out[32:] == np.tile(values[:32], 3)).all()
    ints = np.arange(64, dtype="i4")
    whole = np.zeros(64, "i4")
    run(device, "primitives", (1,), (64,), ints, whole, seed=seed)
    assert (whole == ints).all()


@pytest.mark.campaign
def test_who_dropped_out_of_a_barrier_and_arrives_again(compile_kernels: Compile) -> None:
    """Thread 5 does so; then a phase ends without a thread that still waits for the one before."""
    with pytest.raises(KernelError) as caught:
        run(compile_kernels("barriers", ""), "phases", (1,), (32,), np.zeros(32, "i4"))
    assert caught.value.kind == "bad-mbarrier"
