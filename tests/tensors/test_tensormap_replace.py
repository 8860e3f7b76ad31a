"""Tensor maps that a kernel makes of zeros, or changes: `tensormap.replace`, `tensormap.cp_fenceproxy`, and copies by them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import ptxas
import pytest

import ptxmm
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load
from ptxcore.values.tensor_map import (
    ATOMICITIES,
    FIELDS,
    FILLS,
    INTERLEAVES,
    MAGIC,
    SWIZZLES,
    TYPES,
    EncodedTensorMap,
    NoMap,
    decoded,
    encoded,
)
from ptxmm.running import launch

HEAD = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 tensor, .param .u64 scratch, .param .u64 out, .param .align 64 .b8 map[128])
{
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<4>;
.shared .align 128 .b8 m[128]; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [tensor]; ld.param.u64 %rd1, [scratch]; ld.param.u64 %rd2, [out];
mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; mov.u32 %r1, m; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
mov.u32 %r3, 0; st.shared.u32 [%r1], %r3; cvt.u64.u32 %rd8, %r1; cvta.shared.u64 %rd8, %rd8;
bar.warp.sync -1;
@%p0 bra A;
"""
TAIL = """
A: bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [m], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
"""
COPY = """
@%p0 bra B;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd1, {2, 1}], [bar];
B: bar.warp.sync -1;
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L;
setp.ge.u32 %p2, %r0, 16; mov.u32 %r5, s; add.u32 %r5, %r5, %r2; cvt.u64.u32 %rd4, %r2; add.u64 %rd4, %rd2, %rd4;
@%p2 bra C; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd4], %r6;
C:
"""


def _of(field: str, value: int | str, space: str = ".shared::cta", where: str = "m") -> str:
    """The replacement of one field; a number behind its name is that of a dimension."""
    name, ordinal = (field[:-1], f"{field[-1]}, ") if field[-1].isdigit() else (field, "")
    width = "b64" if name in ("global_address", "global_stride") else "b32"
    wanted = isinstance(value, int) and name in ("box_dim", "global_dim", "element_stride", "global_stride", "rank")
    if wanted and width == "b64":
        return f"mov.b64 %rd9, {value}; tensormap.replace.tile.{name}{space}.b1024.b64 [{where}], {ordinal}%rd9;\n"
    if wanted:
        return f"mov.b32 %r9, {value}; tensormap.replace.tile.{name}{space}.b1024.b32 [{where}], {ordinal}%r9;\n"
    return f"tensormap.replace.tile.{name}{space}.b1024.{width} [{where}], {ordinal}{value};\n"


def fields(map_: EncodedTensorMap) -> dict[str, int]:
    """What is replaced to make a map of zeros, but for its address."""
    found = {
        "rank": map_.rank - 1,
        "elemtype": list(TYPES).index(map_.type),
        "swizzle_mode": SWIZZLES.index(map_.swizzle),
    }
    found |= {"interleave_layout": INTERLEAVES.index(map_.interleave), "fill_mode": FILLS.index(map_.fill)}
    found["swizzle_atomicity"] = ATOMICITIES.index(map_.atomicity)
    lists = {"global_dim": map_.dims, "global_stride": map_.strides, "box_dim": map_.box}
    lists["element_stride"] = map_.element_strides
    return found | {f"{name}{i}": n for name, numbers in lists.items() for i, n in enumerate(numbers)}


def made(map_: EncodedTensorMap, seed: int, space: str = ".shared::cta", where: str = "m") -> str:
    listed = [_of(name, value, space, where) for name, value in fields(map_).items()]
    listed.append(_of("global_address", "%rd0", space, where))
    random.Random(seed).shuffle(listed)
    return "".join(listed)


def launched(body: str, map_: bytes = bytes(128)) -> tuple[np.ndarray, bytes, int]:
    """The first words of the output, the bytes of the scratch memory, and the address of the tensor."""
    tensor, scratch, out = np.arange(64, dtype=np.uint32), np.zeros(128, np.uint8), np.zeros(16, np.uint32)
    launch(load(f"{HEAD}{body}\nret;\n}}\n", "k.ptx"), "k", (1,), (32,), [tensor, scratch, out, map_], limit=20_000)
    return out, scratch.tobytes(), int.from_bytes(scratch[16:24].tobytes(), "little")


MAP = EncodedTensorMap("u32", (8, 8), (32,), (4, 4), (1, 1))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("space", "where"), [(".shared::cta", "m"), ("", "%rd8")])
def test_a_map_made_of_zeros_is_that_of_the_host(seed: int, space: str, where: str) -> None:
    r = random.Random(seed)
    kind = r.choice(("u8", "f16", "f32", "s64"))
    rank = r.randint(1, 5)
    dims = tuple(r.randint(1, 1 << 31) for _ in range(rank))
    map_ = EncodedTensorMap(
        kind, dims, tuple(16 * r.randint(1, 1 << 30) for _ in dims[1:]), tuple(16 * r.randint(1, 16) for _ in dims),
        tuple(r.randint(1, 8) for _ in dims), 0, "tiled", "none", "128B", r.choice(ATOMICITIES), r.choice(FILLS),
    )  # fmt: skip
    _, data, address = launched(made(map_, seed, space, where) + TAIL)
    assert data == encoded(map_._replace(address=address))
    assert decoded(data) == map_._replace(address=address)


@pytest.mark.parametrize("mode", range(len(SWIZZLES)))
def test_every_swizzle_is_written(mode: int) -> None:
    """Section 9.7.9.26: value 4, rows of 96 bytes, is of sm_103a alone."""
    body = made(MAP._replace(swizzle=SWIZZLES[mode]), 5) + TAIL
    text = f"{HEAD}{body}\nret;\n}}\n".replace("sm_100a", "sm_103a" if SWIZZLES[mode] == "96B" else "sm_100a")
    assert ptxas.executable() is None or not ptxas.check_module(text)
    tensor, scratch, out = np.arange(64, dtype=np.uint32), np.zeros(128, np.uint8), np.zeros(16, np.uint32)
    launch(load(text, "k.ptx"), "k", (1,), (32,), [tensor, scratch, out, bytes(128)], limit=20_000)
    assert decoded(scratch.tobytes()).swizzle == SWIZZLES[mode]


def test_a_copy_takes_a_map_that_the_kernel_made() -> None:
    out, _, _ = launched(made(MAP, 7) + TAIL + COPY)
    assert out.tolist() == [8 * (1 + y) + 2 + x for y in range(4) for x in range(4)]


def test_a_field_that_is_missing_is_told() -> None:
    text = made(MAP, 7).replace(_of("box_dim1", 4), "")
    with pytest.raises(KernelError, match="dimension 1 of the box has 0") as caught:
        launched(text + TAIL + COPY)
    assert caught.value.kind == "bad-tensor-map"


def test_a_value_that_is_too_large_stays_too_large() -> None:
    text = made(MAP, 7).replace(_of("element_stride1", 1), _of("element_stride1", 257))
    with pytest.raises(KernelError, match="element stride 1 is 255"):
        launched(text + TAIL + COPY)


def test_bytes_that_are_no_map_are_not_changed() -> None:
    with pytest.raises(KernelError, match="are no tensor map") as caught:
        launched("mov.u32 %r3, 9; st.shared.u32 [m], %r3;" + _of("rank", 1) + TAIL)
    assert caught.value.kind == "bad-tensor-map"


def test_no_two_fields_overlap_and_all_fit() -> None:
    taken = [bit for at, bits in FIELDS.values() for bit in range(at, at + bits)]
    assert len(taken) == len(set(taken)) <= 1024
    with pytest.raises(NoMap):
        decoded((MAGIC ^ 1).to_bytes(8, "little") + bytes(120))
    with pytest.raises(NoMap, match="200 as its elemtype"):
        decoded(MAGIC.to_bytes(8, "little") + bytes([0, 200]) + bytes(118))


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_the_modules() -> None:
    for body in (made(MAP, 7) + TAIL + COPY, made(MAP, 8, "", "%rd8") + TAIL):
        assert ptxas.check_module(f"{HEAD}{body}\nret;\n}}\n") == []


EXPLORED = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 m, .param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [m]; ld.param.u64 %rd2, [out]; mov.u32 %r0, %tid.x;
mov.u32 %r2, 4; tensormap.replace.tile.rank.global.b1024.b32 [%rd1], %r2;
tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 6;
ld.global.u32 %r1, [%rd1+8]; st.global.u32 [%rd2], %r1;
ret;
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_replacement_is_explored_as_a_weak_access_to_the_whole_map(threads: int, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(EXPLORED)
    (tmp_path / "k.toml").write_text(f"""ptx = "k.ptx"
grid = 1
block = {threads}
[params]
m = {{type = "u64", elements = 16, align = 128}}
out = {{type = "u32", elements = 1}}
[check]
forall = "out[0] == 0x{4 << 16 | 6 << 8:x}"
race_free = true
""")
    result = ptxmm.check(ptxmm.load(str(tmp_path / "k.toml")))
    assert (result.verdict == "ok", not result.races) == (threads == 1,) * 2
