"""The matrices of the gate's kernels for tensor cores: they are not uniform, so that what is read at another place is another
product. Each kernel computes what NumPy does, and with descriptors that are wrong it is not `ok`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import some

import ptxmm

GATE = Path(__file__).parent / "gate"
Matrix = Any


def _numbers(first: int, words: int) -> Matrix:
    """`ints` of the kernels: two numbers of 16 bits in each word, the powers of two up to 8."""
    i = np.arange(first, first + words, dtype=np.uint64)
    word = 0x3C003C00 + ((i * 0x9E3779B1 & 0xFFFFFFFF) >> 30 << 10) + ((i * 0x85EBCA6B & 0xFFFFFFFF) >> 30 << 26)
    return word.astype("<u4").view("<f2").astype(np.float64)


#: What the files hold that kernels copy their matrices from, and where B of the other kernels begins.
_OF_A, _OF_B = _numbers(0, 4096), _numbers(4096, 512)
_B = 1024


def _rows(numbers: Matrix, first: int, rows: int) -> Matrix:
    """A matrix of 16 columns: parts of 8 rows and 16 bytes, first the two of the same rows."""
    return numbers[first : first + 16 * rows].reshape(rows // 8, 2, 8, 8).swapaxes(1, 2).reshape(rows, 16)


def _tile(first: int, rows: int) -> Matrix:
    return _rows(_numbers(first, 8 * rows), 0, rows)


def _lanes(product: Matrix) -> Matrix:
    """What threads put out of 16 columns of Tensor Memory, which one lane of it each has."""
    return product[:, ::5].ravel()


def _fragments(product: Matrix) -> Matrix:
    """What threads have of a product of 64 rows and 8 columns (section 9.7.15.5.1.1)."""
    t, i = np.arange(128)[:, None], np.arange(4)
    return product[t // 32 * 16 + t % 32 // 4 + i // 2 * 8, t % 4 * 2 + i % 2].ravel()


def _sum(parts: int, rows: int, columns: int) -> Matrix:
    pairs = ((_rows(_OF_A, 16 * rows * n, rows), _rows(_OF_B, 16 * columns * n, columns)) for n in range(parts))
    return reduce(np.add, (a @ b.T for a, b in pairs))


def _umma() -> Matrix:
    return _tile(0, 128) @ _tile(_B, 16).T


def _wgmma() -> Matrix:
    return _fragments(_tile(0, 64) @ _tile(_B, 8).T)


def _in_turn() -> Matrix:
    return np.concatenate([_lanes(_tile(0, 128) @ _tile(_B + 128 * n, 16).T) for n in range(4)])


def _two_ctas() -> Matrix:
    """Of two CTAs, two products one after another, by the same B."""
    a = [np.concatenate([_rows(_OF_A, 2048 * (2 * n + cta), 128) for cta in range(2)]) for n in range(2)]
    product = reduce(np.add, (a[n] @ _rows(_OF_B, 256 * n, 16).T for n in range(2)))
    return _lanes(product)


def _corrected() -> Matrix:
    """Half of a product and another one."""
    return sum(
        (scale * _rows(_OF_A, 2048 * n, 128) @ _rows(_OF_B, 256 * n, 16).T for n, scale in enumerate((0.5, 1.0))),
        np.zeros((128, 16)),
    )


def _attention() -> Matrix:
    scores = _rows(_OF_A, 0, 64) @ _rows(_OF_B, 0, 8).T
    return _fragments(np.hstack([scores, scores]) @ _rows(_OF_B, 128, 8).T)


def _registers() -> Matrix:
    """All four registers of a thread, which hold 2 columns of 4 parts of a row of A, hold the same."""
    t = np.arange(128)
    a = np.zeros((2, 64, 16))
    for part in range(4):
        for half in range(2):
            rows, columns = t // 32 * 16 + t % 32 // 4 + part % 2 * 8, t % 4 * 2 + half + part // 2 * 8
            a[:, rows, columns] = _numbers(0, 256).reshape(2, 128, 2)[..., half]
    return _fragments((a[0] + a[1]) @ _tile(_B, 8).T)


WHAT: dict[str, Callable[[], Matrix]] = {
    "umma_a_in_tensor_memory": lambda: _lanes(_numbers(0, 1024).reshape(128, 16) @ _tile(_B, 16).T),
    "umma_accumulators": _in_turn,
    "umma_attention": lambda: _lanes(_umma() @ _tile(_B, 16).T),
    "umma_correction": lambda: _lanes(_corrected()),
    "umma_elected": _in_turn,
    "umma_multicast": _two_ctas,
    "umma_pair": _two_ctas,
    "umma_persistent": lambda: np.tile(_lanes(_umma()), 4),
    "umma_ring": lambda: _lanes(_sum(4, 128, 16)),
    "umma_ring_bytes": lambda: _lanes(_sum(4, 128, 16)),
    "umma_stolen": lambda: np.concatenate([_lanes(_rows(_OF_A, 2048 * n, 128) @ _rows(_OF_B, 0, 16).T) for n in range(2)]),
    "umma_tile_again": lambda: _lanes(_umma() + _tile(2048, 128) @ _tile(_B, 16).T),
    "umma_two_issuers": lambda: _lanes(2 * _umma()),
    **dict.fromkeys(
        ("umma_copied_a", "umma_dealloc_early", "umma_epilogue_store", "umma_leak", "umma_no_after", "umma_not_awaited",
         "umma_tile"), lambda: _lanes(_umma()),
    ),
    "wgmma_attention": _attention,
    "wgmma_cp_async": lambda: _fragments(_sum(4, 64, 8)),
    "wgmma_epilogue_in_stage": lambda: _wgmma() + 2,
    "wgmma_in_flight": lambda: _fragments(_sum(4, 64, 8)),
    "wgmma_multicast": lambda: np.tile(_fragments(_sum(4, 64, 8)), 2),
    "wgmma_pingpong": lambda: 2 * _wgmma(),
    "wgmma_registers": _registers,
    "wgmma_ring": lambda: _fragments(_sum(4, 64, 8)),
    "wgmma_split_k": lambda: _fragments(_sum(2, 64, 8)),
    "wgmma_store": lambda: np.concatenate([_wgmma(), 2 * _wgmma()]),
    "wgmma_store_unfenced": _wgmma,
    "wgmma_tile": _wgmma,
}  # fmt: skip


def _launch(name: str) -> tuple[tuple[int], tuple[int]]:
    text = (GATE / name / "test.toml").read_text()
    grid, block = (int(number) for number in re.findall(r"^(?:grid|block) = (\d+)$", text, re.MULTILINE))
    return (grid,), (block,)


@pytest.mark.part(9)
@pytest.mark.parametrize("name", some(9, list(WHAT)))
def test_each_kernel_computes_what_numpy_does(name: str) -> None:
    """And its test asks for that, at both ends."""
    wanted, text = WHAT[name](), (GATE / name / "test.toml").read_text()
    copied = [np.load(GATE / f"{matrix}.npy") for matrix in "ab" if f"{matrix}.npy" in text]
    out = np.zeros(wanted.size, np.float32)
    ptxmm.run(GATE / name / "fixed.ptx", "k", *_launch(name), [*copied, out])
    assert (out == wanted).all()
    asked = dict(re.findall(r"out\[(\d+)\] == (\d+)", text))
    assert asked == {at: str(int(wanted[int(at)])) for at in asked} and {"0", str(len(out) - 1)} <= asked.keys()


def test_the_files_hold_what_other_kernels_make_themselves_and_each_kernel_has_a_product() -> None:
    for name, numbers in (("a", _OF_A), ("b", _OF_B)):
        assert (np.load(GATE / f"{name}.npy") == numbers).all()
    assert WHAT.keys() == {path.parent.name for path in GATE.glob("*mma_*/test.toml")}
    assert all(len(set(product().tolist())) > 100 for product in WHAT.values())


#: Of a descriptor: bits, of the strides and of the swizzle, that are turned. Those of `wgmma` have the swizzle one bit higher.
DESCRIPTOR = re.compile(r"\b(70437464178688|68720001024)\b")
TURNED = {
    "leading stride": 24 << 16,
    "stride": 24 << 32,
    "strides exchanged": 24 << 16 | 24 << 32,
    "swizzle of 128 bytes": 1 << 62,
    "another swizzle": 1 << 63,
}


def mistaken(name: str, turned: int, folder: Path) -> str:
    """The verdict on a kernel whose descriptors are all wrong in the same way."""
    module, test = ((GATE / name / file).read_text() for file in ("fixed.ptx", "test.toml"))
    wrong, count = DESCRIPTOR.subn(lambda found: str(_signed(int(found[1]) ^ turned)), module)
    assert count
    (folder / "fixed.ptx").write_text(wrong)
    (folder / "test.toml").write_text(test.split("[[variant]]")[0].replace("../", f"{GATE.as_posix()}/"))
    return ptxmm.check(ptxmm.load(folder / "test.toml")).verdict


def _signed(bits: int) -> int:
    return bits - (bits >> 63 << 64)


#: Whose matrices lie beside those of another stage, which a copy may be writing, or beside nothing.
_RINGS = ("umma_multicast", "umma_pair", "umma_ring", "umma_ring_bytes")
#: Where memory that nobody wrote is multiplied, and rounding decides what comes of the zeros that it may hold.
OPEN = ("wgmma_store", "swizzle of 128 bytes")


@pytest.mark.long
@pytest.mark.part(5)
@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("name", WHAT)
def test_a_wrong_descriptor_is_another_product(name: str, turned: str, tmp_path: Path) -> None:
    """Or reads what nothing orders, what nobody wrote, or bytes behind the last ones."""
    verdict = mistaken(name, TURNED[turned], tmp_path)
    if (name, turned) == ("wgmma_registers", "stride"):
        assert verdict == "ok", "B has 8 columns, which need no second group of them"
    else:
        assert verdict in ("no", "undefined") or (verdict == "undecided" and (name, turned) == OPEN)
    assert verdict == "no" or turned != "stride" or name in ("wgmma_registers", *_RINGS)
