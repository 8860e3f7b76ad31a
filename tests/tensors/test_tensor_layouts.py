"""Tensors that are no plain rows: interleaved channels, elements of less than a byte; where coordinates come from."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import compared
from tensor_modules import ROOM, THREADS, loading, storing
from tensor_reference import shared_places

import ptxmm
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load
from ptxmm.running import launch


def run(text: str, map_: Any, shared: np.ndarray, at: list[int]) -> None:
    coordinates = [c & 0xFFFFFFFF for c in [*at, *[0] * 5][:5]]
    launch(load(text, "k.ptx"), "k", (1,), (THREADS,), [map_, shared, *coordinates, 0, 0, 0])


@pytest.mark.parametrize("number", range(8))
def test_interleaved_tensors_are_slices_of_channels(number: int) -> None:
    """N, C/slice, H, W, slice: a box of a padded array."""
    r = random.Random(number)
    slice_, stores = r.choice((16, 32)), number % 2 == 1
    swizzle = "32B" if slice_ == 32 else r.choice(("none", "128B"))
    images, slices, height, width = (r.randint(1, 4) for _ in range(4))
    whole = np.frombuffer(r.randbytes(images * slices * height * width * slice_), np.uint8).copy()
    tensor = whole.reshape(images, slices, height, width, slice_)
    box = [r.randint(1, 3) for _ in range(4)]  # slices, W, H, N
    at = [r.randint(0, n - 1) if stores else r.randint(-1, n) for n in (slices, width, height, images)]
    channels = slice_ // 2
    map_ = ptxmm.TensorMap(
        whole, type="u16", dims=(slices * channels - r.randint(0, 3), width, height, images),
        strides=(slice_, slice_ * width, slice_ * width * height * slices), box=(box[0] * channels, *box[1:]),
        interleave=f"{slice_}B", swizzle=swizzle,
    )  # fmt: skip
    shared = np.frombuffer(r.randbytes(ROOM), np.uint8).copy()
    order = (3, 0, 2, 1)  # N, slices, H, W
    padded = np.pad(tensor, [(4, 8)] * 4 + [(0, 0)])
    cut = tuple(slice(4 + at[d], 4 + at[d] + box[d]) for d in order)
    size = int(np.prod(box)) * slice_
    to = shared_places({"swizzle": swizzle}, size, 128)
    given = [at[0] * channels, *at[1:]]
    if stores:
        padded[cut] = shared[to].reshape(padded[cut].shape)
        expected = padded[4:-8, 4:-8, 4:-8, 4:-8].copy()
        assert not np.array_equal(expected, tensor)
        run(storing("tile", 4, 128), map_, shared, given)
        assert np.array_equal(whole.reshape(tensor.shape), expected)
    else:
        expected = shared.copy()
        expected[to] = padded[cut].reshape(-1)
        run(loading("tile", 4, 128, size), map_, shared, given)
        assert np.array_equal(shared, expected)
    compared(number)


@pytest.mark.parametrize(("kind", "packed", "whole"), [("b4x16", 8, 8), ("b4x16_p64", 8, 16), ("b6x16_p32", 12, 16)])
def test_elements_of_less_than_a_byte_are_packed(kind: str, packed: int, whole: int) -> None:
    r = random.Random(kind)
    row = 128 // 16 * packed
    tensor = np.frombuffer(r.randbytes(4 * row), np.uint8).copy()
    map_ = ptxmm.TensorMap(tensor, type=kind, dims=(128, 4), strides=(row,), box=(128, 2))
    shared = np.frombuffer(r.randbytes(ROOM), np.uint8).copy()
    expected = shared.copy()
    groups = expected[128 : 128 + 2 * 8 * whole].reshape(2, 8, whole)
    groups[0, :, :packed] = tensor[3 * row :].reshape(8, packed)
    groups[1, :, :packed] = 0
    run(loading("tile", 2, 128, 2 * 8 * whole), map_, shared, [0, 3])
    assert np.array_equal(shared, expected)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("tf32", loading("tile", 2, 0, 64), "copies of .tf32 are not executed"),
        ("f32.ftz", loading("tile", 2, 0, 64), "copies of .f32.ftz are not executed"),
        ("b4x16_p64", storing("tile", 2, 0), "copies of .b4x16_p64 to global memory are not executed"),
    ],
)
def test_copies_that_the_manual_does_not_tell_are_refused(kind: str, text: str, said: str) -> None:
    dims = (128, 2) if kind.startswith("b") else (4, 2)
    map_ = ptxmm.TensorMap(np.zeros(1024, np.uint8), type=kind, dims=dims, strides=(64,), box=(dims[0], 1))
    with pytest.raises(KernelError, match=said) as caught:
        run(text, map_, np.zeros(ROOM, np.uint8), [0, 0])
    assert caught.value.kind == "not-executed"


def test_a_prefetch_changes_nothing() -> None:
    text = loading("tile", 2, 0, 64).replace(
        "cp.async.bulk.tensor", "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd2, {%r10, %r11}];\ncp.async.bulk.tensor"
    )
    tensor, shared = np.arange(256, dtype=np.uint8), np.zeros(ROOM, np.uint8)
    run(text, ptxmm.TensorMap(tensor, dims=(64, 4), strides=(64,), box=(64, 1)), shared, [0, 2])
    assert np.array_equal(shared[:64], tensor[128:192])


# Coordinates that others decide.

FEW = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 flag, .param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
.shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out]; mov.u64 %rd3, map; mov.u32 %r0, %tid.x;
setp.ne.u32 %p0, %r0, 0; @%p0 bra S;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
ld.relaxed.gpu.global.u32 %r1, [%rd1]; MASK
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd3, {%r1}], [bar];
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L;
ld.shared.u32 %r2, [s+4]; st.global.u32 [%rd2], %r2;
ret;
S: st.relaxed.gpu.global.u32 [%rd1], 3;
ret;
}
"""
TOML = """ptx = "k.ptx"
grid = 1
block = 2
[params]
map = {tensor_map = {buffer = "a", dims = [8], box = [4]}}
flag = {type = "u32", elements = 1}
out = {type = "u32", elements = 1}
[memory]
a = {type = "u32", init = [10, 11, 12, 13, 14, 15, 16, 17]}
[check]
forall = "out[0] == 11 || out[0] == 14"
race_free = true
"""


def test_coordinates_of_a_few_numbers_are_each_explored(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(FEW.replace("MASK", "and.b32 %r1, %r1, 3;"))
    (tmp_path / "k.toml").write_text(TOML)
    result = ptxmm.check(ptxmm.load(str(tmp_path / "k.toml")))
    assert result.verdict == "ok"
    assert sorted(state["out[0]"] for state in result.states) == [11, 14]


def test_coordinates_that_may_be_anything_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ptxmm.cli.main import main

    (tmp_path / "k.ptx").write_text(FEW.replace("MASK", ""))
    (tmp_path / "k.toml").write_text(TOML)
    assert main(["check", str(tmp_path / "k.toml")]) != 0
    assert "its coordinates, or its address in shared memory, are not known" in "".join(capsys.readouterr())
