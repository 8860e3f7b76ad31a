"""`ldmatrix`, `stmatrix` and `movmatrix` against the figures of the manual (PTX ISA 9.0, sections 9.7.14.5.15 to 9.7.14.5.17),
said once more in NumPy: which thread has which element of a matrix, in which register."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import ptxas
import pytest
from campaigns import share
from matrices import SHARED, Kernel

import ptxmm
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load
from ptxcore.machine.vector.launch import blocks_of, executed
from ptxmm.kernels.explored import ExploredKernels
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.toml import KernelFile

needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")

LOADS = [
    *(f"m8n8.x{n}{t}.shared.b16" for n in (1, 2, 4) for t in ("", ".trans")),
    *(f"m16n16.x{n}.trans.shared.{kind}" for n in (1, 2) for kind in ("b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")),
    *(f"m8n16.x{n}.shared::cta.b8x16.{kind}" for n in (1, 2, 4) for kind in ("b6x16_p32", "b4x16_p64")),
]
STORES = [
    *(f"m8n8.x{n}{t}.shared.b16" for n in (1, 2, 4) for t in ("", ".trans")),
    *(f"m16n8.x{n}.trans.shared.b8" for n in (1, 2, 4)),
]


def registers_of(name: str) -> int:
    return int(name.split(".x")[1][0]) * (2 if name.startswith("m16n16") else 1)


def load_kernel(name: str) -> Kernel:
    return Kernel(f"ldmatrix.sync.aligned.{name} {{d}}, [{{p}}];", {}, {"d": (registers_of(name), 32)}, shared=True)


def store_kernel(name: str) -> Kernel:
    return Kernel(f"stmatrix.sync.aligned.{name} [{{p}}], {{r}};", {"r": (registers_of(name), 32)}, {}, shared=True)


def move_kernel() -> Kernel:
    return Kernel("movmatrix.sync.aligned.m8n8.trans.b16 {D}, {A};", {"A": (1, 32)}, {"D": (1, 32)})


def rows(memory: Any, offsets: Any, source: str) -> Any:
    """The rows at which lanes point, as elements."""
    raw = np.stack([memory[offset : offset + 16] for offset in offsets])
    if source == "b16":
        return raw.copy().view("<u2").astype(np.uint64)
    if source == "b8":
        return raw.astype(np.uint64)
    bits = 6 if "b6" in source else 4
    numbers = [int.from_bytes(row.tobytes(), "little") for row in raw]
    return np.array([[n >> bits * i & (1 << bits) - 1 for i in range(16)] for n in numbers], np.uint64)


def loaded(name: str, memory: Any, offsets: Any) -> Any:
    """Figures 104, 105 and 106."""
    number, source = registers_of(name), name.split(".")[-1]
    found = np.zeros((number, 32), np.uint64)
    elements = rows(memory, offsets, source)
    for r in range(number):
        for lane in range(32):
            row, group = divmod(lane, 4)
            if name.startswith("m16n16"):
                matrix = elements[16 * (r // 2) : 16 * (r // 2) + 16].T
                held = matrix[row + 8 * (r % 2), 4 * group : 4 * group + 4]
                width = 8
            else:
                matrix = elements[8 * r : 8 * r + 8]
                each = 2 if source == "b16" else 4
                matrix = matrix.T if ".trans" in name else matrix
                held, width = matrix[row, each * group : each * group + each], 32 // each
            found[r, lane] = sum(int(v) << width * i for i, v in enumerate(held))
    return found


def stored(name: str, memory: Any, offsets: Any, registers: Any) -> Any:
    """Figures 107 and 108."""
    found = memory.copy()
    wide = name.startswith("m8n8")
    for r, values in enumerate(registers):
        matrix = np.zeros((8, 8), np.uint16) if wide else np.zeros((16, 8), np.uint8)
        for lane in range(32):
            row, group = divmod(lane, 4)
            value = int(values[lane])
            if wide:
                matrix[row, 2 * group], matrix[row, 2 * group + 1] = value & 0xFFFF, value >> 16
            else:
                for e in range(4):
                    matrix[row + 8 * (e // 2), 2 * group + e % 2] = value >> 8 * e & 0xFF
        matrix = matrix.T if ".trans" in name else matrix
        for i in range(8):
            at = offsets[8 * r + i]
            found[at : at + 16] = np.ascontiguousarray(matrix[i]).view(np.uint8)
    return found


def draw(count: int, seed: int) -> tuple[Any, Any]:
    """Shared memory, and rows anywhere in it."""
    random = np.random.default_rng(seed)
    memory = random.integers(0, 256, (count, SHARED), np.uint8)
    offsets = np.stack([random.permutation(SHARED // 16)[:32] * 16 for _ in range(count)]).astype(np.uint32)
    return memory, offsets


def compare_load(name: str, count: int, seed: int = 0) -> None:
    memory, offsets = draw(count, seed)
    found = load_kernel(name)(m=memory, p=offsets)
    assert (found["m"] == memory).all()
    for i in range(count):
        assert (found["d"][i] == loaded(name, memory[i], offsets[i])).all(), name


def compare_store(name: str, count: int, seed: int = 0) -> None:
    memory, offsets = draw(count, seed)
    registers = np.random.default_rng(seed + 1).integers(0, 1 << 32, (count, registers_of(name), 32), np.uint32)
    found = store_kernel(name)(m=memory, p=offsets, r=registers)["m"]
    for i in range(count):
        assert (found[i] == stored(name, memory[i], offsets[i], registers[i])).all(), name


def compare_move(count: int) -> None:
    values = np.random.default_rng(3).integers(0, 1 << 32, (count, 1, 32), np.uint32)
    found = move_kernel()(A=values)["D"]
    for a, d in zip(values[:, 0], found[:, 0], strict=True):  # figures 109 and 110
        assert (d.copy().view(np.uint16).reshape(8, 8) == a.copy().view(np.uint16).reshape(8, 8).T).all()


@pytest.mark.part(2)
@pytest.mark.parametrize("name", LOADS)
def test_loads_are_those_of_the_figures(name: str) -> None:
    compare_load(name, 4)


@pytest.mark.parametrize("name", STORES)
def test_stores_are_those_of_the_figures(name: str) -> None:
    compare_store(name, 4)


def test_a_matrix_is_transposed() -> None:
    compare_move(6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["m8n8.x2.trans.shared.b16", "m16n16.x1.trans.shared.b8x16.b6x16_p32"])
def test_explored_loads_are_those_of_runs(name: str) -> None:
    memory, offsets = draw(1, 5)
    found = load_kernel(name).explored(m=memory, p=offsets)["d"]
    assert (found[0] == loaded(name, memory[0], offsets[0])).all()


def test_explored_stores_are_those_of_runs() -> None:
    memory, offsets = draw(1, 6)
    values = np.random.default_rng(7).integers(0, 1 << 32, (1, 1, 32), np.uint32)
    found = store_kernel("m8n8.x1.shared.b16").explored(m=memory, p=offsets, r=values)["m"]
    assert (found[0] == stored("m8n8.x1.shared.b16", memory[0], offsets[0], values[0])).all()


def test_an_explored_matrix_is_transposed() -> None:
    values = np.random.default_rng(8).integers(0, 1 << 32, (1, 1, 32), np.uint32)
    kernel = move_kernel()
    assert (kernel.explored(A=values)["D"] == kernel(A=values)["D"]).all()


#: A launch of one warp, in which lanes write the rows that they point at.
ROWS = """
.visible .entry k(.param .u64 out)
{
.shared .align 16 .b8 m[1024];
.reg .b32 %t, %p, %d<4>; .reg .b64 %out; .reg .pred %f;
mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mov.u32 %p, m; mad.lo.u32 %p, %t, 16, %p;
setp.gt.u32 %f, %t, 20;
BEFORE
st.shared.v4.u32 [%p], {%t, %t, %t, %t};
ORDER
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0,%d1,%d2,%d3}, [%p];
st.global.u32 [%out], %d1;
ret;
}
"""


def rows_kernel(before: str = "", order: str = "bar.warp.sync -1;") -> str:
    return ".version 9.0\n.target sm_90\n.address_size 64\n" + ROWS.replace("BEFORE", before).replace("ORDER", order)


@pytest.mark.parametrize(
    ("before", "order", "block", "kind"),
    [
        ("@%f exit;", "", 32, "bad-mask"),
        ("", "", 48, "bad-mask"),
        ("", "add.u32 %p, %p, 4;", 32, "misaligned"),
        ("", "add.u32 %p, %p, 1024;", 32, "out-of-bounds"),
    ],
)
def test_errors_are_told(before: str, order: str, block: int, kind: str) -> None:
    device = load(rows_kernel(before, order), "k.ptx")
    out = device.memory.allocate(4, "out")
    with pytest.raises(KernelError) as caught:
        device.prepare("k", (1, 1, 1), (block, 1, 1), [out]).run()
    assert caught.value.kind == kind
    again = device.prepare("k", (1, 1, 1), (block, 1, 1), [out])
    assert executed(again, blocks_of(device, "k")), "arrays executed what is an error"


@pytest.mark.parametrize(("before", "block"), [("@%f exit;", 32), ("", 16)])
def test_parts_of_warps_are_not_explored(before: str, block: int) -> None:
    out = Buffer("out", "u32", 1, (0,), 256)
    with pytest.raises(InputError, match="warp"):
        ExploredKernels([Launch(rows_kernel(before), "k", "k.ptx", (1, 1, 1), (block, 1, 1), None, 0, (out,))])


@pytest.mark.parametrize(("order", "answer"), [("bar.warp.sync -1;", "ok"), ("", "no")])
def test_a_row_is_read_by_the_threads_that_get_it(order: str, answer: str) -> None:
    """Lane 5 writes to row 5 again, and gives its address: lanes 20 to 23 read it."""
    again = "bar.warp.sync -1; setp.eq.u32 %f, %t, 5; @%f st.shared.u32 [%p], 7;"
    text = rows_kernel("", f"{again} {order}").replace("x4", "x1").replace("{%d0,%d1,%d2,%d3}", "{%d1}")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 32, "params": {"out": {"type": "u32", "elements": 1}},
        "check": {"race_free": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": text.replace("st.global.u32 [%out]", "mov.b32 %d2")}).test()
    result = ptxmm.check(test)
    assert result.verdict == answer
    found = {lane for race in result.races for lane in map(int, re.findall(r"thread (\d+)", str(race)))}
    assert found == (set() if order else {5, 20})


@pytest.mark.campaign
def test_many_matrices_are_moved_as_the_figures_say() -> None:
    for name in LOADS:
        compare_load(name, share(1000), 1)
    for name in STORES:
        compare_store(name, share(1000), 1)
    compare_move(share(1000))


@needs_ptxas
def test_ptxas_takes_what_is_tested() -> None:
    for kernel in (*map(load_kernel, LOADS), *map(store_kernel, STORES), move_kernel()):
        assert not ptxas.check_module(kernel.text), kernel.text
