"""What compilers make of CUDA C++ runs and computes what its source says (`shared/real/*.cu`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from campaigns import LONG, some

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxmm.running import Run, launch

np = pytest.importorskip("numpy")

REAL = Path(__file__).parents[4] / ".." / "shared" / "real"
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason=f"no folder {REAL}")

#: Round-robin, and random schedules.
SEEDS = some(2, [None, 1, 2, 3])


def module(name: str, change: Callable[[str], str] = str) -> Device:
    path = REAL / f"{name}.ptx"
    if not path.is_file():
        pytest.skip(f"no file {path}")
    text = path.read_text()
    changed = change(text)
    assert change is str or changed != text
    return load(changed, path.name)


def entry(device: Device, part: str, number: int = 0) -> str:
    """The kernel whose mangled name has that part."""
    return [name for name, code in device.program.functions.items() if code.entry and part in name][number]


def run(device: Device, part: str, grid: int, block: int, *args: Any, seed: int | None = None) -> Run:
    return launch(device, entry(device, part), (grid,), (block,), args, seed=seed, limit=20_000_000)


def zeros(count: int, kind: str = "i4") -> Any:
    return np.zeros(count, kind)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cuda_barrier_and_asynchronous_copies_to_it(seed: int | None) -> None:
    g = np.arange(256, dtype="i4") * 3 + 1
    expected = np.roll(g, -1)
    run(module("barrier.sm_90"), "barrier_k", 1, 256, g, 256, seed=seed)
    assert (g == expected).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reduction_and_a_scan_of_a_block(seed: int | None) -> None:
    values, out = np.arange(128, dtype="i4") * 7 % 13, zeros(129)
    run(module("cub_reduce.sm_90"), "cubk", 1, 128, values, out, seed=seed)
    assert (out[:128] == np.cumsum(values) - values).all()
    assert out[128] == values.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_of_the_whole_grid(seed: int | None) -> None:
    """The last thread reads `a[0]` while another one writes it again, and `b[0]` is read while it is written."""
    a, b = zeros(256), zeros(256)
    run(module("gridsync.sm_90"), "gridsync", 4, 64, a, b, seed=seed)
    assert (b[:-1] == np.arange(1, 256)).all()
    assert 0 <= a[0] <= 32
    assert 0 <= b[255] <= 32
    assert (a[1:] == np.arange(1, 256)).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_a_spinlock(target: str, seed: int | None) -> None:
    lock, x = zeros(1), zeros(1)
    run(module(f"spinlock.{target}"), "spinlock", 4, 32, lock, x, seed=seed)
    assert (lock[0], x[0]) == (0, 128)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ticket_lock(seed: int | None) -> None:
    tickets, x = zeros(2), zeros(1)
    run(module("ticket.sm_90"), "ticket", 4, 32, tickets, x, seed=seed)
    assert (list(tickets), x[0]) == ([128, 128], 128)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_pipelines_of_one_thread_each(target: str, seed: int | None) -> None:
    """A copy of turn i + 1 may overtake another thread's read of turn i - 1 in the same half: the source does not wait for
    it. Round-robin schedules copy late, random ones do not."""
    turns = 4
    g, out = np.arange(turns * 512, dtype="i4"), zeros(turns * 512)
    run(module(f"pipeline.{target}"), "4pipe", 1, 128, g, out, turns, seed=seed)
    items = g.reshape(turns, 128, 4)[:, ::-1]
    got = out.reshape(turns, 128, 4)
    for i in range(1, turns):
        right = (got[i] == items[i - 1]).all(axis=1)
        overtaken = (got[i] == items[i + 1]).all(axis=1) if seed is not None and i + 1 < turns else np.zeros(128, bool)
        assert (right | overtaken).all()
        assert right.any()


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_a_pipeline_of_a_block(target: str, seed: int | None) -> None:
    turns = 4
    g, out = np.arange(turns * 128, dtype="i4") * 5, zeros(turns * 128)
    run(module(f"pipeline.{target}"), "pipe2", 1, 128, g, out, turns, seed=seed)
    assert (out == g).all()


# Messages between threads.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", ["sm_70", "sm_90"])
def test_messages(target: str, seed: int | None) -> None:
    device = module(f"mp.{target}")
    out = zeros(1)
    run(device, "producer", 1, 1, 42, seed=seed)
    run(device, "consumer", 1, 1, out, seed=seed)
    assert out[0] == 42
    run(device, "mp_vol", 1, 2, out, seed=seed)
    assert out[0] == 1


@pytest.mark.parametrize("target", ["sm_70", "sm_90"])
def test_store_buffering_without_the_weak_outcome(target: str) -> None:
    seen = set()
    for seed in (None, *range(12)):
        a, out = zeros(4), zeros(2)
        run(module(f"mp.{target}"), "mp_sc", 2, 1, a, out, seed=seed)
        assert list(a) == [1, 1, 2, 5]
        seen.add(tuple(int(x) for x in out))
    assert (0, 0) not in seen
    assert len(seen) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_that_the_last_block_finishes(seed: int | None) -> None:
    values, parts, out = np.arange(3000, dtype="f4"), zeros(5, "f4"), zeros(1, "f4")
    run(module("tfence.sm_90"), "reduce", 5, 256, values, parts, out, 3000, seed=seed)
    assert out[0] == values.sum(dtype="f8") == parts.sum(dtype="f8")


# What C++ has beside arithmetic.

#: The virtual function that another translation unit would bring, and the table that the host would fill in.
D1 = """
.visible .func (.param .b32 result) go(.param .b64 this, .param .b32 x)
{
    .reg .b64 %rd<2>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [this]; ld.param.u32 %r1, [x];
    ld.u32 %r2, [%rd1+8];
    add.s32 %r3, %r1, %r2;
    st.param.b32 [result], %r3;
    ret;
}
.visible .global .u64 vtable[1] = {go};
"""


def miscellany() -> tuple[Device, bytes]:
    """The kernel of many things, and an object of the class D1 with k = 40."""
    device = module("misc.sm_90", lambda text: text + D1)
    return device, device.program.layout.names["vtable"].address.to_bytes(8, "little") + ints(40)


def test_calls_of_every_kind_and_the_runtime() -> None:
    device, d = miscellany()
    a, f, n = np.arange(3, 19, dtype="i4"), np.linspace(0.5, 8, 16, dtype="f4"), 5
    x = f.astype("f8")
    printed = run(device, "misc", 1, 1, a, f, n, d).printed
    assert printed == "tid 0 0.500000 hi\n"
    first = 0.5 + 1.5 + 3 * 6
    # f2(3); 5!; a virtual call; a constant; lane 0; a clock that runs; a copy of a[5] in local memory; time; malloc
    assert list(a[:8]) == [3, 3 ^ 7, 120, n + 40, 6, 0, 9 + 1, 0]
    assert a[8] > 0
    assert a[9] == 5
    assert f[1] == first
    expected = (
        x[7] + x[8] + np.sin(x[3]) + np.sin(x[4]) + np.exp(x[5]) + x[6] / x[7] + np.sqrt(x[8]) + np.sqrt(x[9])
        + first**-0.5 + first * x[2] + x[3]
    )  # fmt: skip
    assert abs(f[2] - expected) < 1e-4
    assert (f[3], f[4]) == (1, 2)
    assert device.memory.at(device.program.layout.names["mg"].address).read(0, 4) == 3


@pytest.mark.parametrize(("n", "kind"), [(0, "assertion"), (77, "trap"), (78, "brkpt")])
def test_a_kernel_that_gives_up(n: int, kind: str) -> None:
    device, d = miscellany()
    with pytest.raises(KernelError) as caught:
        run(device, "misc", 1, 1, zeros(16), np.ones(16, "f4"), n, d)
    assert caught.value.kind == kind
    if kind == "assertion":
        assert "misc.cu:10" in caught.value.message
        assert "n > 0" in caught.value.message


# Shuffles and atomics.


def shuffled(v: Any) -> tuple[Any, Any]:
    """What `shfl_k` computes, for a warp of integers."""
    v = np.full(32, v.sum(), "i4")
    lanes = np.arange(32)
    down = np.where((lanes & 7) + 3 < 8, np.roll(v, -3), v)
    up = np.where(lanes > 0, np.roll(v, 1), v)
    v = v + (down + v[0] + up).astype("i4")
    full = 0xFFFFFFFF
    b = sum(1 << int(i) for i in lanes[v > 3])
    bits = np.full(32, b)
    if v.any():
        bits |= [sum(1 << int(j) for j in lanes[v == x]) for x in v]
    if v.all():
        bits ^= full
    alike = bool((v == v[0]).all())
    bits = bits + (full + 1 if alike else 0) & full
    m = []
    for i in range(32):
        b = int(bits[i])
        lowest = (b & -b).bit_length()
        permuted = b  # the selector 0x3210
        ones = [j for j in range(32) if b >> j & 1]
        second = ones[1] if len(ones) > 1 else full
        m.append(
            b + b.bit_count() + lowest + (32 - b.bit_length()) + int(f"{b:032b}"[::-1], 2) + permuted + second & full
        )
    signed = bits.astype("u4").view("i4")
    return v, (np.array(m) + int(bits.sum()) + int(signed.min()) & full).astype("u4")


def test_a_shuffle_with_a_mask_that_leaves_out_who_executes_it() -> None:
    with pytest.raises(KernelError) as caught:
        run(module("shfl.sm_90"), "shfl_k", 1, 32, zeros(32), zeros(32, "u4"))
    assert caught.value.kind == "bad-mask"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("values", [range(32), [0] * 32, [-(i % 3) for i in range(32)]])
def test_shuffles_and_votes(values: Any, seed: int | None) -> None:
    a, m = np.array(list(values), "i4"), zeros(32, "u4")
    v, expected = shuffled(a)

    def all_lanes(text: str) -> str:
        return text.replace(", 65535;", ", -1;")

    run(module("shfl.sm_90", all_lanes), "shfl_k", 1, 32, a, m, seed=seed)
    assert (a == v).all()
    assert (m == expected).all()


def test_an_addition_to_shared_memory_that_nothing_wrote() -> None:
    args = [
        zeros(32),
        zeros(8, "u4"),
        zeros(16, "u8"),
        zeros(16, "f4"),
        zeros(2, "f8"),
        *(zeros(4, "u2") for _ in "hbs"),
    ]
    args[1] = zeros(8, "u4")
    with pytest.raises(KernelError) as caught:
        run(module("atomics.sm_90"), "atomics", 1, 1, *args)
    assert caught.value.kind == "uninitialised"


def initialised(text: str) -> str:
    """The kernel, its shared counter put to 0 first."""
    at = text.index("atom.shared" if "atom.shared" in text else "red.shared")
    name = text[text.index("[", at) + 1 : text.index("]", at)]
    return f"{text[:at]}st.shared.u32 [{name}], 0;\n\t{text[at:]}"


@pytest.mark.parametrize("target", ["sm_70", "sm_90"])
def test_atomic_operations_of_every_kind(target: str) -> None:
    """One thread after the other does what the source says; the arrays are apart, so each line stands for itself."""
    i, u, l = np.arange(32, dtype="i4") + 20, np.array([3, *[0] * 9], "u4"), np.array([1, *[0] * 15], "u8")
    f, d = np.arange(16, dtype="f4"), np.array([2.5, 0])
    h, b, us = np.array([0x3C00, 0x4000], "u2"), np.array([0x3F80, 0], "u2"), np.array([1, 0], "u2")
    wanted_h, wanted_b = h.copy(), b.copy()
    device = module(f"atomics.{target}", initialised)
    run(device, "atomics", 1, 1, i, u, l, f, d, h, b, us)
    x = 20
    assert i[1] == x
    x += 1
    assert i[2] == x
    x -= 2
    assert i[3] == x
    assert i[4] == 3
    assert i[5] == 3
    assert u[6] == 5  # 5 = max(3, 5); inc to 6, and dec to 5
    assert u[7] == 6
    assert u[0] == 5
    assert i[8] == 3
    assert l[1] == 1
    assert i[10] == 3
    assert i[20] == 41
    # (((3 & 10) | 11) ^ 12) + 3 + 4 = 14, then i[0] = s = 1
    assert i[0] == 1
    assert l[2] == 2
    assert list(us) == [2, 1]
    assert d[0] == 3.5
    assert (h == wanted_h).all()
    assert (b == wanted_b).all()
    if target == "sm_90":
        assert list(f[:4]) == [2, 3, 5, 7]
        assert f[8] == 1
        assert (l[0], l[9]) == (3, 3)  # the pair (3, 1) is not (1, 2)
    else:
        assert f[0] == 1
        assert l[0] == 3


# CUB's kernels, as its host code launches them.


@cache
def cub() -> Device:
    return module("cub_sort.sm_90")


#: An empty functor.
EMPTY = b"\0"


def ints(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


class Buffers:
    """Arrays in the memory of a device, by their addresses; several launches see them."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.addresses: list[int] = []

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *error: object) -> None:
        for address in self.addresses:
            self.device.memory.free(address)

    def put(self, array: Any) -> int:
        address = self.device.memory.allocate(array.nbytes, "buffer")
        self.device.memory.at(address).data[:] = array.tobytes()
        self.addresses.append(address)
        return address

    def get(self, address: int, kind: str = "i4") -> Any:
        return np.frombuffer(bytes(self.device.memory.at(address).data), kind)

    def run(self, part: str, grid: int, block: int, *args: int | bytes, seed: int | None, number: int = 0) -> None:
        name = entry(self.device, part, number)
        self.device.launch(name, (grid, 1, 1), (block, 1, 1), args, seed=seed, limit=20_000_000)


def drawn(count: int, low: int, high: int, kind: str = "i4") -> Any:
    return np.random.default_rng(count).integers(low, high, count).astype(kind)


@pytest.mark.long
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_scan_of_a_device(seed: int | None) -> None:
    values, tile, padding = drawn(7000, -100, 100), 3072, 32
    tiles = -(-len(values) // tile)
    with Buffers(cub()) as b:
        a, out, state = b.put(values), b.put(zeros(7000)), b.put(np.full(2 * (tiles + padding), 0x55555555, "u4"))
        b.run("DeviceScanInitKernel", 1, 128, state, tiles, seed=seed)
        b.run("DeviceScanKernel", tiles, 128, a, out, state, 0, EMPTY, EMPTY, len(values), seed=seed)
        assert (b.get(out) == np.cumsum(values)).all()


@pytest.mark.parametrize("seed", some(3, [None, 1, 2]))
def test_a_reduction_of_a_device(seed: int | None) -> None:
    values, tile, ctas = drawn(20000, -100, 100), 256 * 16, 3
    n, tiles = len(values), -(-len(values) // tile)
    big = tiles % ctas
    share = ints(tiles, big, (tiles // ctas + 1) * tile, tiles // ctas * tile, big * tile, n, ctas, n, n, 0)
    with Buffers(cub()) as b:
        a, parts, out = b.put(values), b.put(zeros(ctas)), b.put(zeros(1))
        b.run("DeviceReduceSingleTileKernel", 1, 256, a, out, n, EMPTY, 0, EMPTY, seed=seed)
        assert b.get(out)[0] == values.sum()
        b.run("DeviceReduceKernel", ctas, 256, a, parts, n, share, EMPTY, EMPTY, seed=seed)
        b.run("DeviceReduceSingleTileKernel", 1, 256, parts, out, ctas, EMPTY, 0, EMPTY, seed=seed, number=1)
        assert b.get(out)[0] == values.sum()


@pytest.mark.parametrize("seed", [None, 1])
def test_a_histogram_of_a_device(seed: int | None) -> None:
    values, tile, levels, low, high = drawn(7000, -2, 13), 6144, 10, 0, 10
    n, bins = len(values), levels - 1
    tiles = -(-n // tile)
    scale = ints(high, low, bins, high - low)
    with Buffers(cub()) as b:
        a, out, queue = b.put(values), b.put(np.full(bins, 77, "i4")), b.put(zeros(2))
        pointer, drain = out.to_bytes(8, "little"), queue.to_bytes(8, "little")
        b.run("DeviceHistogramInitKernel", 1, 256, ints(bins), pointer, drain, seed=seed)
        b.run("DeviceHistogramSweepKernel", tiles, 384, a, ints(bins), ints(bins), pointer, bytes(8), EMPTY, scale,
              n, 1, n, tiles, drain, seed=seed, number=1)  # fmt: skip
        inside = values[(values >= low) & (values < high)]
        assert (b.get(out) == np.bincount(inside * bins // (high - low), minlength=bins)).all()


@pytest.mark.long
@pytest.mark.parametrize("seed", some(2, [1, None]))
def test_a_merge_sort_of_a_device(seed: int | None) -> None:
    """The last tile is not full: threads carry items about that nothing wrote, and throw them away."""
    values, tile = drawn(5000, -1000, 1000), 4352
    n, tiles, spill = len(values), -(-5000 // tile), bytes(8)
    passes = (tiles - 1).bit_length()
    ping = int(passes % 2 == 0)
    with Buffers(cub()) as b:
        keys, other, parts = b.put(values), b.put(zeros(n)), b.put(zeros(tiles + 1))
        b.run(
            "DeviceMergeSortBlockSortKernel", tiles, 256, ping, keys, 0, keys, 0, n, other, 0, EMPTY, spill, seed=seed
        )
        sorted_tiles = b.get(keys if ping else other)
        for start in range(0, n, tile):
            assert (sorted_tiles[start : start + tile] == np.sort(values[start : start + tile])).all()
        for done in range(passes):
            merged = 2 << done
            b.run("DeviceMergeSortPartitionKernel", 1, 256, ping, keys, other, n, tiles + 1, parts, EMPTY, merged, tile,
                  seed=seed)  # fmt: skip
            b.run("DeviceMergeSortMergeKernel", tiles, 256, ping, keys, 0, n, other, 0, EMPTY, parts, merged, spill,
                  seed=seed)  # fmt: skip
            ping = 1 - ping
        assert (b.get(keys) == np.sort(values)).all()


@pytest.mark.long
@pytest.mark.parametrize("seed", [None, 1])
def test_a_radix_sort_of_one_tile(seed: int | None) -> None:
    keys = drawn(1500, 0, 5000, "u8")
    order = np.argsort(keys, kind="stable")
    with Buffers(cub()) as b:
        ki, ko, vi, vo = (b.put(x) for x in (keys, zeros(1500, "u8"), np.arange(1500, dtype="i4"), zeros(1500)))
        b.run("RadixSortSingleTile", 1, 256, ki, ko, vi, vo, len(keys), 0, 16, EMPTY, seed=seed)
        assert (b.get(ko, "u8") == keys[order]).all()
        assert (b.get(vo) == order).all()


@pytest.mark.parametrize("seed", [pytest.param(None, marks=pytest.mark.campaign), pytest.param(1, marks=LONG)])
def test_a_radix_sort_in_one_sweep_per_digit(seed: int | None) -> None:
    keys, tile, digits, passes = drawn(6500, 0, 1 << 16, "u8"), 5760, 256, 2
    n, tiles = len(keys), -(-6500 // tile)
    order = np.argsort(keys, kind="stable")
    with Buffers(cub()) as b:
        buffers = [(b.put(keys), b.put(np.arange(n, dtype="i4"))), (b.put(zeros(n, "u8")), b.put(zeros(n)))]
        bins, counters = b.put(zeros(passes * digits, "u4")), b.put(zeros(passes))
        b.run("RadixSortHistogramKernel", 2, 128, bins, buffers[0][0], n, 0, 8 * passes, EMPTY, seed=seed)
        for i in range(passes):  # the last bin takes what fills the tile up too
            counts = np.bincount((keys >> np.uint64(8 * i)).astype(int) & 255, minlength=digits)
            assert (b.get(bins)[i * digits : (i + 1) * digits - 1] == counts[:-1]).all()
        b.run("RadixSortExclusiveSumKernel", passes, digits, bins, seed=seed)
        for i in range(passes):
            (keys_in, values_in), (keys_out, values_out) = buffers
            lookback = b.put(zeros(tiles * digits))
            b.run("RadixSortOnesweepKernel", tiles, 384, lookback, counters + 4 * i, 0, bins + 4 * digits * i, keys_out,
                  keys_in, values_out, values_in, n, 8 * i, 8, EMPTY, seed=seed)  # fmt: skip
            buffers.reverse()
        assert (b.get(buffers[0][0], "u8") == keys[order]).all()
        assert (b.get(buffers[0][1]) == order).all()
