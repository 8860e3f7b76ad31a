"""Kernels as libraries and compilers ship them, decided at the size at which people launch them, right and with one mistake.

    python benchmarks/published.py ../shared                  PTX in the folders `launches` and `real` of that one
    python benchmarks/published.py ../shared scan gemm        some of the kernels
    python benchmarks/published.py ../shared --limit 120      seconds for each, 60 otherwise

A GEMM with a producer warpgroup, tensor copies, mbarrier objects and `wgmma`; Triton's products and attention; CUB's reduction,
scan with decoupled look-back, radix sort of a tile and a pass of its one-sweep sort, and its collectives of a block.
Columns: the threads of all launches; the verdict, and the lines of PTX that it names; seconds of processor time of reading,
compiling and deciding in a process of its own; the most memory, in MB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

_HEAD = f"{'kernel':34} {'threads':>8}  {'verdict':10} {'CPU s':>7} {'MB':>7}  lines"
Tree = dict[str, Any]


class Published(NamedTuple):
    """The file of a kernel, its test (given the text), and a mistake: what is written instead of a pattern, the first time or
    everywhere. `amended`: what is written instead of another one, in the right kernel, too; `readings` of the manual."""

    file: str
    test: Callable[[str], Tree]
    old: str
    new: str
    everywhere: bool = False
    amended: tuple[str, str] = ("", "")
    readings: frozenset[str] = frozenset()


def _buffer(kind: str, elements: int, init: Any = 0) -> Tree:
    return {"type": kind, "elements": elements, "init": init}


def _word(value: int, kind: str = "u32") -> Tree:
    return {"type": kind, "value": value}


#: An object without contents.
_EMPTY: Tree = {"type": "u8", "value": [0]}


def _entry(text: str, part: str) -> str:
    """The kernel whose name has a part."""
    names: list[str] = re.findall(r"\.entry (\w+)\(", text)
    return next(name for name in names if part in name)


def _once(text: str, part: str, grid: int, block: int, params: list[Tree], **more: Any) -> Tree:
    names = (f"p{i}" for i in range(len(params)))
    return {
        "entry": _entry(text, part),
        "grid": grid,
        "block": block,
        "params": dict(zip(names, params, strict=True)),
        **more,
    }


def gemm(_: str, blocks: int = 1) -> Tree:
    """128 x 64, sixteen tiles of 64 of K; as many of these beside each other as there are blocks, which form a cluster."""
    k, columns = 1024, 64 * blocks
    maps = {
        name: {"tensor_map": {"buffer": buffer, "box": [64, box], "dims": [k, rows], "swizzle": "128B"}}
        for name, buffer, box, rows in (("ma", "a", 128, 128), ("mb", "b", 64, columns))
    }
    return {
        "entry": "gemm", "grid": blocks, "cluster": blocks, "block": 384, "dynamic_shared": 180224,
        "params": {**maps, "C": _buffer("f32", 128 * columns), "K": _word(k), "l": _word(columns)},
        "memory": {"a": _buffer("f16", 128 * k, 1), "b": _buffer("f16", columns * k, 1)},
        "check": {"forall": f"C[1] == {k} && C[{128 * columns - 1}] == {k}"},
    }  # fmt: skip


def gemm_cluster(text: str) -> Tree:
    """In a cluster of two."""
    return gemm(text, 2)


def matmul(_: str) -> Tree:
    """Four blocks of 128 x 128."""
    n = 256
    words = {name: _word(n) for name in ("M", "N", "K", "sa", "sb", "sc")}
    matrices = {name: _buffer("f16", n * n, init) for name, init in (("a", 1), ("b", 1), ("c", 0))}
    spare = {name: _buffer("u32", 16) for name in ("g", "p")}
    return {
        "entry": "matmul", "grid": [2, 2, 1], "block": 128, "dynamic_shared": 98304, "params": {**matrices, **words, **spare},
        "check": {"forall": f"c[5] == {n} && c[65535] == {n}"},
    }  # fmt: skip


def flash(_: str) -> Tree:
    """Four blocks of 128 queries."""
    n = 512
    matrices = {name: _buffer("f16", 64 * n, init) for name, init in (("q", 0), ("k", 1), ("v", 1), ("o", 0))}
    spare = {name: _buffer("u32", 16) for name in ("g", "p")}
    return {
        "entry": "flash", "grid": 4, "block": 128, "dynamic_shared": 160000,
        "params": {**matrices, "n": _word(n), "s": {"type": "f32", "value": 0.125}, **spare},
        "check": {"forall": "o[5] == 1 && o[32767] == 1"},
    }  # fmt: skip


def tma(_: str) -> Tree:
    """One block of 128 x 128 by tensor copies whose maps the kernel makes."""
    matrices = {"a": _buffer("f16", 32768, 1), "b": _buffer("f16", 32768, 1), "c": _buffer("f16", 16384)}
    words = {"M": _word(128), "N": _word(128), "K": _word(256)}
    return {
        "entry": "tma", "grid": 1, "block": 256, "dynamic_shared": 200000,
        "params": {**matrices, **words, "g": _buffer("u32", 4096), "p": _buffer("u32", 16)},
        "check": {"forall": "c[5] == 256 && c[16000] == 256"},
    }  # fmt: skip


def _numbers(*values: int) -> Tree:
    """A structure of words."""
    return {"type": "u32", "value": list(values)}


def block(text: str) -> Tree:
    """The sum and the scan of a block."""
    return _once(text, "cubk", 1, 128, [_buffer("s32", 128, 1), _buffer("s32", 129)], check={})


def reduction(text: str) -> Tree:
    """Eight blocks, each of which adds up tiles of 4,096 numbers."""
    n, blocks, tile = 20 * 4096, 8, 4096
    tiles = n // tile
    big, share = tiles % blocks, tiles // blocks
    even = _numbers(tiles, big, (share + 1) * tile, share * tile, big * tile, n, blocks, n, n, 0)
    params = [_buffer("s32", n, 1), _buffer("s32", blocks), _word(n), even, _EMPTY, _EMPTY]
    return _once(text, "DeviceReduceKernel", blocks, 256, params, check={"forall": "p1[0] == 12288 && p1[7] == 8192"})


def scan(text: str) -> Tree:
    """Eight tiles of 3,072 numbers, with decoupled look-back; a store of pairs says of each what is known."""
    n, tiles, padding = 8 * 3072 - 100, 8, 32
    state = [0, 0] * padding + [99, 0] * tiles  # what `ScanTileState` has at first: none there, nothing known
    params = [_buffer("s32", n, 1), _buffer("s32", n), {"bytes": 8, "fields": [{"at": 0, "value": "&state"}]},
              _word(0), _EMPTY, _EMPTY, _word(n)]  # fmt: skip
    return _once(
        text, "DeviceScanKernel", tiles, 128, params, memory={"state": _buffer("u32", len(state), [*state])},
        check={"forall": f"p1[5] == 6 && p1[{n - 1}] == {n}"},
    )  # fmt: skip


def tile_sort(text: str) -> Tree:
    """1,500 pairs by 256 threads."""
    n = 1500
    keys = [(7919 * i) % 5003 for i in range(n)]
    params = [_buffer("u64", n, keys), _buffer("u64", n), _buffer("s32", n, list(range(n))), _buffer("s32", n), _word(n),
              _word(0), _word(16), _EMPTY]  # fmt: skip
    low, high = min(keys), max(keys)
    return _once(
        text, "RadixSortSingleTile", 1, 256, params, check={"forall": f"p1[0] == {low} && p1[{n - 1}] == {high}"}
    )


def onesweep(text: str) -> Tree:
    """One pass over eight tiles of 5,760 pairs by eight blocks, which take them by tickets and look back for each digit."""
    tiles, digits = 8, 256
    n = tiles * 5760 - 100
    keys = [(7919 * i) % 5003 for i in range(n)]
    counts = [0] * digits
    for key in keys:
        counts[key % digits] += 1
    first = [sum(counts[:digit]) for digit in range(digits)]
    params = [_buffer("u32", tiles * digits), _buffer("u32", 1), _buffer("s32", digits), _buffer("s32", digits, first),
              _buffer("u64", n), _buffer("u64", n, keys), _buffer("s32", n), _buffer("s32", n, list(range(n))),
              _word(n), _word(0), _word(8), _EMPTY]  # fmt: skip
    ordered = sorted(keys, key=lambda key: key % digits)  # stable, as a pass is
    wanted = f"p4[1] == {ordered[1]} && p4[{n - 1}] == {ordered[-1]}"
    return _once(text, "RadixSortOnesweepKernel", tiles, 384, params, check={"forall": wanted})


_CUB = "real/cub_sort.sm_90.ptx"
#: By name. Mistakes are in the kernel itself, which is all that `_alone` leaves of its module.
KERNELS = {
    "gemm": Published("launches/wgmma_gemm.ptx", gemm, r"P1, \[%r180\], %r181;", "P1, [%r180], 1;"),
    "gemm_cluster": Published("launches/wgmma_gemm.ptx", gemm_cluster, r"P1, \[%r180\], %r181;", "P1, [%r180], 1;"),
    "matmul": Published("launches/triton_matmul_sm90.ptx", matmul, r"fence\.proxy\.async\.shared::cta;", "", True),
    "attention": Published(
        "launches/triton_attention_sm90.ptx", flash, r"cp\.async\.wait_group \t2;", "cp.async.wait_group 3;"
    ),
    "tma": Published(
        "launches/triton_tma_sm90.ptx", tma, r"fence\.proxy\.async\.shared::cta;(?![\s\S]*fence\.proxy)", ""
    ),
    "block": Published("real/cub_reduce.sm_90.ptx", block, r"bar\.sync[^;]*;", ""),
    "reduction": Published(_CUB, reduction, r"bar\.sync[^;]*;", "", True),
    "scan": Published(_CUB, scan, r"bar\.sync[^;]*;", ""),
    # The sum of all up to a tile is published as the sum of the tile.
    "scan_whole": Published(_CUB, scan, r"(%r838, 10)1;", r"\g<1>0;", readings=frozenset(("whole-vectors",))),
    "onesweep": Published(_CUB, onesweep, r"bar\.sync[^;]*;", ""),
    # Warps rank keys with __syncwarp() between.
    "onesweep_synced": Published(
        _CUB, onesweep, r"bar\.sync[^;]*;", "", amended=(r"(shfl\.sync\.idx\.b32[^;]*;)", r"\1 bar.warp.sync -1;")
    ),
    # The first two barriers come before any access to shared memory.
    "tile_sort": Published(_CUB, tile_sort, r"(%r475;\s+)bar\.sync[^;]*;", r"\1"),
}


def _alone(text: str, entry: str) -> str:
    """A module without the bodies of other kernels."""
    parts = re.split(r"(?m)^(?=(?:\.visible |\.weak )\.entry )", text)
    return parts[0] + next(part for part in parts[1:] if f" {entry}(" in part)


def kernel_test(folder: Path, name: str, *, mistake: bool) -> Any:
    """The test of a kernel."""
    from ptxmm.kernels.toml import KernelFile

    one = KERNELS[name]
    text = (folder / one.file).read_text(encoding="utf-8").replace(".target sm_90\n", ".target sm_90a\n")
    tree = one.test(text)
    if one.file.startswith("real/"):
        text = _alone(text, tree["entry"])
    if one.amended[0]:
        text = re.sub(*one.amended, text)
    if mistake:
        text, found = re.subn(one.old, one.new, text, count=0 if one.everywhere else 1)
        assert found, f"{name}: nothing to be left out"
    tree["check"] |= {"race_free": True, "no_deadlock": True}
    return KernelFile.of({"ptx": "k.ptx", **tree}, f"{name}.toml", {"k.ptx": text}).test()


def decide(folder: Path, name: str, limit: float, *, mistake: bool) -> Tree:
    """What is said of a kernel, and of how many threads."""
    from ptxmm.api import model_named
    from ptxmm.kernels.check import check
    from ptxmm.kernels.whole import threads_of

    test = kernel_test(folder, name, mistake=mistake)
    found = check(test, model_named("ptx-9.0"), timeout=limit, options=KERNELS[name].readings)
    lines = [event.line for race in found.races for event in race.events]
    lines += [site.line for site in (found.undefined.culprits if found.undefined else ())]
    lines += [spot.line for one in found.checks for spot, _ in one.spots if one.holds is False]
    why = "" if found.verdict != "undecided" else " ".join([found.error or "", *map(str, found.notes[-1:])])
    return {"threads": threads_of(test), "verdict": found.verdict, "lines": lines, "why": why}


def measured(folder: Path, name: str, limit: float, *, mistake: bool) -> str:
    """A row of the table: decided in a process of its own."""
    command = [
        sys.executable,
        __file__,
        str(folder),
        name,
        "--limit",
        str(limit),
        "--inside",
        "mistake" if mistake else "right",
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    found = json.loads(output)
    seconds, most = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    shown = f"{name}, a mistake" if mistake else name
    said = found["why"] or ", ".join(map(str, dict.fromkeys(found["lines"])))
    return f"{shown:34} {found['threads']:>8,}  {found['verdict']:10} {seconds:>7.2f} {most:>7.0f}  {said}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures what published kernels take to be decided.")
    parser.add_argument("folder", type=Path, help="where the folders `launches` and `real` are")
    parser.add_argument("names", nargs="*", metavar="KERNEL", help=f"some of {', '.join(KERNELS)}")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each")
    parser.add_argument("--inside", choices=("right", "mistake"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(decide(options.folder, options.names[0], options.limit, mistake=options.inside == "mistake")))
        return 0
    print(_HEAD)
    for name in options.names or KERNELS:
        for mistake in (False, True):
            print(measured(options.folder, name, options.limit, mistake=mistake), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
