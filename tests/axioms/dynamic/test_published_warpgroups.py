"""Published kernels with products of warpgroups, at their size, and mistakes planted in them: a GEMM that one thread loads by
tensor copies, as nvcc compiles it; products and attention of Triton, which threads load by asynchronous copies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

LAUNCHES = Path(__file__).parents[4] / "shared" / "launches"
pytestmark = pytest.mark.skipif(not LAUNCHES.is_dir(), reason="no published kernels here")
#: Five tiles of 64, in four stages.
_K = 320


def _f16(matrix: Any) -> dict[str, Any]:
    return {"type": "f16", "init": matrix.ravel().tolist()}


def _drawn(*shapes: tuple[int, int]) -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [rng.integers(-3, 4, shape) for shape in shapes]


def _words(**numbers: int) -> dict[str, Any]:
    return {name: {"type": "u32", "value": value} for name, value in numbers.items()}


def gemm(**maps: Any) -> dict[str, Any]:
    """The GEMM; `maps` are keys of the tensor map of B."""
    a, b = _drawn((128, _K), (64, _K))
    c = a @ b.T
    both = {"dims": [_K, 128], "swizzle": "128B"}
    return {
        "entry": "gemm", "block": 384, "dynamic_shared": 180224,
        "params": {
            "ma": {"tensor_map": {"buffer": "a", "box": [64, 128], **both}},
            "mb": {"tensor_map": {"buffer": "b", "box": [64, 64], **both, "dims": [_K, 64], **maps}},
            "C": {"type": "f32", "elements": 8192}, **_words(K=_K, l=64),
        },
        "memory": {"a": _f16(a), "b": _f16(b)},
        "check": {"forall": f"C[1] == {c[0, 1]} && C[4567] == {c[71, 23]} && C[8191] == {c[127, 63]}"},
    }  # fmt: skip


def matmul() -> dict[str, Any]:
    """Triton's product, in three stages."""
    a, b = _drawn((128, 128), (128, 128))
    c = a @ b
    spare = {name: {"type": "u32", "elements": 16} for name in ("g", "p")}
    return {
        "entry": "matmul", "block": 128, "dynamic_shared": 98304,
        "params": {"a": _f16(a), "b": _f16(b), "c": {"type": "f16", "elements": 16384},
                   **_words(M=128, N=128, K=128, sa=128, sb=128, sc=128), **spare},
        "check": {"forall": f"c[5] == {c[0, 5]} && c[16000] == {c[125, 0]}"},
    }  # fmt: skip


def flash() -> dict[str, Any]:
    """Triton's attention, of queries that are zeros: all sums are exact, and each row is the mean of those of V up to it."""
    q, k, v = _drawn((128, 64), (128, 64), (128, 64))
    means = np.cumsum(v, 0) / np.arange(1, 129)[:, None]
    spare = {name: {"type": "u32", "elements": 16} for name in ("g", "p")}
    return {
        "entry": "flash", "block": 128, "dynamic_shared": 160000,
        "params": {"q": _f16(0 * q), "k": _f16(k), "v": _f16(v), "o": {"type": "f16", "elements": 8192}, **_words(n=128),
                   "s": {"type": "f32", "value": 0.125}, **spare},
        "check": {"forall": f"o[5] == {v[0, 5]} && o[199] == {means[3, 7]} && o[8137] == {means[127, 9]}"},
    }  # fmt: skip


def tma() -> dict[str, Any]:
    """Triton's product by tensor copies, whose maps the kernel makes."""
    a, b = _drawn((128, 256), (128, 256))
    c = a @ b.T
    return {
        "entry": "tma", "block": 256, "dynamic_shared": 200000,
        "params": {"a": _f16(a), "b": _f16(b), "c": {"type": "f16", "elements": 16384}, **_words(M=128, N=128, K=256),
                   "g": {"type": "u32", "elements": 4096}, "p": {"type": "u32", "elements": 16}},
        "check": {"forall": f"c[5] == {c[0, 5]} && c[16000] == {c[125, 0]}"},
    }  # fmt: skip


FILES = {
    tma: "triton_tma_sm90.ptx",
    gemm: "wgmma_gemm.ptx",
    matmul: "triton_matmul_sm90.ptx",
    flash: "triton_attention_sm90.ptx",
}


#: What is written instead of what.
Changes = tuple[tuple[str | re.Pattern[str], str], ...]


class Planted(NamedTuple):
    """What is written instead of what, the first `count` times, and what comes of it."""

    made: Any
    changes: Changes
    verdict: str
    said: str
    maps: dict[str, Any] = {}  # noqa: RUF012
    count: int = -1


_WAIT = "wgmma.wait_group.sync.aligned 0;"
_LAST_FENCE = re.compile(r"fence\.proxy\.async\.shared::cta;(?![\s\S]*fence\.proxy\.async)")
#: The wait for products, and the arrival that gives their stage back.
_GIVES_BACK = re.compile(rf"({re.escape(_WAIT)})([^;]*;[^;]*?)(mbarrier\.arrive\.[^;]*;)")
#: What descriptors of matrices have besides addresses: a swizzle of 128 bytes; and of 64.
_DESCRIPTOR, _OF_64_BYTES = "4611686293305294848;", "0x8000004000010000;"
_UNORDERED = "an access that nothing orders with that of an asynchronous operation"
PLANTED = {
    "gemm, phase bit": Planted(gemm, (("P1, [%r180], %r181;", "P1, [%r180], 1;"),), "undefined", "more arrivals"),
    "gemm, expected bytes": Planted(gemm, (("24576;", "24592;"),), "no", "deadlock"),
    "gemm, arrive count": Planted(gemm, (("%r40, 256;", "%r40, 255;"),), "undefined", "an arrival in a phase"),
    "gemm, no fence.proxy.async": Planted(
        gemm, (("fence.mbarrier_init.release.cluster;", ""), ("fence.proxy.async.shared::cta;", "")), "undefined",
        "before which its initialisation does not certainly come"),
    "gemm, no wgmma.fence": Planted(gemm, (("wgmma.fence.sync.aligned;", ""),), "undefined", "no 'wgmma.fence' stands before"),
    "gemm, early reuse": Planted(gemm, ((_GIVES_BACK, r"\2\3\1"),), "undefined", _UNORDERED),
    "gemm, no wait_group": Planted(gemm, ((_WAIT, ""),), "undefined", "before 'wgmma.wait_group' has waited"),
    "gemm, box": Planted(gemm, (), "no", "forall", {"box": [32, 128]}),
    "gemm, smaller box": Planted(gemm, (), "no", "deadlock", {"box": [64, 32]}),
    "gemm, swizzle": Planted(gemm, (), "no", "forall", {"swizzle": "none"}),
    "gemm, no commit_group": Planted(gemm, (("wgmma.commit_group.sync.aligned;", ""),), "undefined",
                                     "before 'wgmma.wait_group' has waited"),
    "matmul, no fence.proxy.async": Planted(matmul, (("fence.proxy.async.shared::cta;", ""),), "undefined", _UNORDERED),
    "matmul, no wgmma.fence": Planted(matmul, (("wgmma.fence.sync.aligned;", ""),), "undefined",
                                      "no 'wgmma.fence' stands before"),
    "matmul, early reuse": Planted(matmul, (("cp.async.wait_group \t2;", "cp.async.wait_group \t3;"),), "undefined",
                                   _UNORDERED),
    "matmul, no wait_group": Planted(matmul, (("wgmma.wait_group.sync.aligned 0;", ""),), "undefined",
                                     "before 'wgmma.wait_group' has waited"),
    "matmul, no commit_group": Planted(matmul, (("wgmma.commit_group.sync.aligned;", ""),), "undefined",
                                       "before 'wgmma.wait_group' has waited"),
    "matmul, swizzle": Planted(matmul, ((f"%rd123, {_DESCRIPTOR}", f"%rd123, {_OF_64_BYTES}"),), "no", "forall"),
    "matmul, no commit of copies": Planted(matmul, (("cp.async.commit_group;", ""),), "undefined", _UNORDERED),
    "flash, no fence.proxy.async": Planted(flash, (("fence.proxy.async.shared::cta;", ""),), "undefined", _UNORDERED, {}, 1),
    "flash, no wgmma.fence": Planted(flash, (("wgmma.fence.sync.aligned;", ""),), "undefined",
                                     "no 'wgmma.fence' stands before"),
    "flash, early reuse": Planted(flash, (("cp.async.wait_group \t2;", "cp.async.wait_group \t3;"),), "undefined", _UNORDERED),
    "flash, no wait_group": Planted(flash, ((_WAIT, ""),), "undefined", "before 'wgmma.wait_group' has waited"),
    "flash, swizzle": Planted(flash, ((_DESCRIPTOR, _OF_64_BYTES),), "no", "forall"),
    "flash, no commit of copies": Planted(flash, (("cp.async.commit_group;", ""),), "undefined", _UNORDERED),
    "flash, no commit_group": Planted(flash, (("wgmma.commit_group.sync.aligned;", ""),), "undefined",
                                      "before 'wgmma.wait_group' has waited"),
    "tma, phase bit": Planted(tma, (("complete, [%r47], %r143;", "complete, [%r47], 0;"),), "no", "deadlock"),
    "tma, expected bytes": Planted(tma, (("32768;", "32784;"),), "no", "deadlock"),
    "tma, arrive count": Planted(tma, (("[%r27], 1;", "[%r27], 2;"),), "no", "deadlock"),
    "tma, no fence.proxy.async": Planted(tma, ((_LAST_FENCE, ""),), "undefined", _UNORDERED),
    "tma, no wgmma.fence": Planted(tma, (("wgmma.fence.sync.aligned;", ""),), "undefined", "no 'wgmma.fence' stands before"),
    "tma, early reuse": Planted(tma, (("wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),), "undefined",
                                _UNORDERED),
    "tma, no wait_group": Planted(tma, ((_WAIT, ""),), "undefined", "before 'wgmma.wait_group' has waited"),
    "tma, box": Planted(tma, (("box_dim.shared::cta.b1024.b32 [ %rd13 + 0 ], 0x1, %r18;",
                               "box_dim.shared::cta.b1024.b32 [ %rd13 + 0 ], 0x1, 64;"),), "no", "deadlock"),
    "tma, swizzle": Planted(tma, (("swizzle_mode.shared::cta.b1024.b32 [ %rd7 + 0 ], 0x3;",
                                   "swizzle_mode.shared::cta.b1024.b32 [ %rd7 + 0 ], 0x0;"),), "no", "forall"),
    "tma, no commit_group": Planted(tma, (("wgmma.commit_group.sync.aligned;", ""),), "undefined",
                                    "before 'wgmma.wait_group' has waited"),
    "tma, no acquire of a map": Planted(
        tma, (("@%p2 fence.proxy.tensormap::generic.acquire.gpu [ %rd9 + 0 ], 0x80;", ""),), "undefined", _UNORDERED),
}  # fmt: skip


#: What is planted in each published kernel.
MISTAKES = (
    "phase bit", "expected bytes", "arrive count", "no fence.proxy.async", "no wgmma.fence", "early reuse", "no wait_group",
    "box", "swizzle", "no commit_group",
)  # fmt: skip
#: What a kernel has not, for mistakes in it that cannot be made: a word that does not stand in its text.
WITHOUT = {
    (kernel, mistake): word
    for kernel in ("matmul", "flash")
    for mistake, word in (("phase bit", "mbarrier"), ("expected bytes", "mbarrier"), ("arrive count", "mbarrier"),
                          ("box", "cp.async.bulk.tensor"))
}  # fmt: skip


def table() -> str:
    """What each kernel is with each mistake, as a table of a document."""
    rows = [f"| Mistake | {' | '.join(f'`{file}`' for file in FILES.values())} |", "|---" * (len(FILES) + 1) + "|"]
    for mistake in MISTAKES:
        row = []
        for kernel in (made.__name__ for made in FILES):
            planted = PLANTED.get(f"{kernel}, {mistake}")
            row.append(f"has no `{WITHOUT[kernel, mistake]}`" if planted is None else f"`{planted.verdict}`")
        rows.append(f"| {mistake} | {' | '.join(row)} |")
    return "\n".join(rows) + "\n"


def test_each_kernel_has_each_mistake_that_can_be_made_in_it() -> None:
    for made, file in FILES.items():
        text = (LAUNCHES / file).read_text(encoding="utf-8")
        for mistake in MISTAKES:
            absent = WITHOUT.get((made.__name__, mistake))
            assert (f"{made.__name__}, {mistake}" in PLANTED) == (absent is None), (made.__name__, mistake)
            assert absent is None or absent not in text, (made.__name__, mistake)


def loaded(
    made: Any, changes: tuple[tuple[str | re.Pattern[str], str], ...] = (), maps: Any = None, count: int = -1
) -> KernelTest:
    """A published kernel with some words instead of others."""
    text = (LAUNCHES / FILES[made]).read_text().replace(".target sm_90\n", ".target sm_90a\n")
    for old, new in changes:
        pattern = re.compile(re.escape(old)) if isinstance(old, str) else old
        text, found = pattern.subn(new, text, max(count, 0))
        assert found, old
    tree = made(**(maps or {}))
    tree["check"] |= {"race_free": True, "no_deadlock": True}
    return KernelFile.of({"ptx": "k.ptx", "grid": 1, **tree}, "k.toml", {"k.ptx": text}).test()


def _some(few: tuple[Any, ...], all_: Any) -> list[Any]:
    """The others take long."""
    return [one if one in few else pytest.param(one, marks=pytest.mark.campaign) for one in all_]


@pytest.mark.long
@pytest.mark.parametrize("made", _some((gemm,), FILES), ids=lambda made: made.__name__)
def test_published_kernels_are_decided(made: Any) -> None:
    result = ptxmm.check(loaded(made))
    assert (result.verdict, result.runs) == ("ok", 1), result.error
    assert all(c.holds for c in result.checks)


_FEW = (
    "tma, no acquire of a map",
    "gemm, early reuse",
    "gemm, box",
    "matmul, no fence.proxy.async",
    "flash, no wgmma.fence",
)


@pytest.mark.long
@pytest.mark.parametrize("name", _some(_FEW, PLANTED))
def test_each_planted_mistake_is_told(name: str) -> None:
    planted = PLANTED[name]
    result = ptxmm.check(loaded(planted.made, planted.changes, planted.maps, planted.count))
    failed = [f"{c.text}: {c.message}" for c in result.checks if c.holds is False]
    assert result.verdict == planted.verdict, (result.error, failed)
    assert planted.said in " ".join([result.error or "", *failed])
