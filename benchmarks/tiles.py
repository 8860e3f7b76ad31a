"""How fast matrices are multiplied: a tile of 128 x 128 x 64 halves by `mma`, beside NumPy's own product of the same matrices.

    python benchmarks/tiles.py                by 4, 8 and 16 warps
    python benchmarks/tiles.py --repeat 50    more pairs

A CTA copies A and B to shared memory, takes its fragments by `ldmatrix`, multiplies by `mma.m16n8k16` (512 of them) with sums
of single precision, and stores D. Columns: warps; milliseconds of processor time of a launch, with the module read and compiled
before, and of `numpy.matmul` of halves, each the median of pairs that are measured one after another; the median of their
ratios; what it would be beside a product of the same matrices as singles, which is BLAS's; whether D is the exact sum rounded
once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one processor for either
ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

M, N, K = 128, 128, 64
#: Bytes of a row of A, and of B, in shared memory: 16 more than its elements, lest eight of them meet in a bank.
_ROW_A, _ROW_B = 2 * K + 16, 2 * N + 16


def tile(warps: int) -> str:
    """The kernel: `warps` in two columns, each with its part of D."""
    threads, rows, columns = 32 * warps, M * 2 // warps, N // 2
    lines = [
        "ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %d, [d]; mov.u32 %t, %tid.x;",
        "and.b32 %lane, %t, 31; shr.u32 %warp, %t, 5; mov.u32 %sa, sa; mov.u32 %sb, sb;",
    ]
    for source, target, row, width in (("%a", "%sa", _ROW_A, K), ("%b", "%sb", _ROW_B, N)):
        pieces = width // 8  # of 16 bytes
        for i in range(M * K // 8 // threads):
            lines.append(
                f"add.u32 %r0, %t, {i * threads}; mul.wide.u32 %q, %r0, 16; add.u64 %q, %q, {source};"
                f"ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%q];"
                f"div.u32 %r5, %r0, {pieces}; rem.u32 %r6, %r0, {pieces}; mad.lo.u32 %r7, %r5, {row}, {target};"
                f"mad.lo.u32 %r7, %r6, 16, %r7; st.shared.v4.b32 [%r7], {{%r1, %r2, %r3, %r4}};"
            )
    lines.append("bar.sync 0;")
    # Where a warp's parts begin: two columns of warps.
    lines.append(
        f"shr.u32 %r0, %warp, 1; mul.lo.u32 %row, %r0, {rows}; and.b32 %r1, %warp, 1; mul.lo.u32 %col, %r1, {columns};"
    )
    # Rows that `ldmatrix` wants of each lane: 16 rows by two halves of 16 bytes.
    lines.append("and.b32 %r2, %lane, 15; shr.u32 %r3, %lane, 4; shl.b32 %r3, %r3, 4;")
    lines.append(f"add.u32 %r4, %r2, %row; mad.lo.u32 %r5, %r4, {_ROW_A}, %sa; add.u32 %pa, %r5, %r3;")
    lines.append(
        f"shl.b32 %r6, %col, 1; mad.lo.u32 %r7, %r2, {_ROW_B}, %sb; add.u32 %r7, %r7, %r6; add.u32 %pb, %r7, %r3;"
    )
    across, down = columns // 8, rows // 16
    lines += [f"mov.f32 %c{i}, 0f00000000;" for i in range(4 * across * down)]
    for k in range(0, K, 16):
        for j in range(0, across, 2):
            lines.append(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                f"{{%b{2 * j}, %b{2 * j + 1}, %b{2 * j + 2}, %b{2 * j + 3}}}, [%pb+{k * _ROW_B + 16 * j}];"
            )
        for i in range(down):
            lines.append(
                f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%pa+{16 * i * _ROW_A + 2 * k}];"
            )
            for j in range(across):
                c = ", ".join(f"%c{4 * (i * across + j) + x}" for x in range(4))
                lines.append(
                    f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{c}}}, {{%a0, %a1, %a2, %a3}}, "
                    f"{{%b{2 * j}, %b{2 * j + 1}}}, {{{c}}};"
                )
    lines.append(
        f"shr.u32 %r0, %lane, 2; add.u32 %r0, %r0, %row; and.b32 %r1, %lane, 3; shl.b32 %r1, %r1, 1; add.u32 %r1, %r1, %col;"
        f"mad.lo.u32 %r0, %r0, {N}, %r1; mul.wide.u32 %q, %r0, 4; add.u64 %q, %q, %d;"
    )
    for i in range(down):
        for j in range(across):
            for half in range(2):
                c = 4 * (i * across + j) + 2 * half
                lines.append(f"st.global.v2.f32 [%q+{4 * ((16 * i + 8 * half) * N + 8 * j)}], {{%c{c}, %c{c + 1}}};")
    body = "\n".join(lines)
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry tile(.param .u64 a, .param .u64 b, .param .u64 d)
{{
.reg .b32 %r<9>, %t, %lane, %warp, %sa, %sb, %pa, %pb, %row, %col, %a<4>, %b<{2 * across}>; .reg .f32 %c<{4 * across * down}>;
.reg .b64 %a, %b, %d, %q;
.shared .align 16 .b8 sa[{M * _ROW_A}]; .shared .align 16 .b8 sb[{K * _ROW_B}];
{body}
ret;
}}
"""


def once(run: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def measured(warps: int, repeat: int) -> tuple[float, float, float, float, bool]:
    """Of a launch and of NumPy's product, milliseconds; their ratio, that beside singles, and whether D is right."""
    import numpy as np

    from ptxcore.machine.run.launch import load
    from ptxmm.running import launch

    chance = np.random.default_rng(1)
    a, b = chance.normal(size=(M, K)).astype(np.float16), chance.normal(size=(K, N)).astype(np.float16)
    d = np.zeros((M, N), np.float32)
    device, text = None, tile(warps)

    def ours() -> None:
        nonlocal device
        device = load(text, "tile.ptx")
        launch(device, "tile", (1,), (32 * warps,), [a, b, d])

    singles = a.astype(np.float32), b.astype(np.float32)
    pairs: list[tuple[float, float, float]] = []
    for _ in range(2):
        ours()
    for _ in range(repeat):
        pairs.append((once(ours), once(lambda: a @ b), once(lambda: singles[0] @ singles[1])))
    medians: list[Any] = [statistics.median(p[i] for p in pairs) for i in range(2)]
    right = bool((d == _in_steps(a, b)).all())
    beside, beside_blas = (statistics.median(p[0] / p[i] for p in pairs) for i in (1, 2))
    return medians[0], medians[1], beside, beside_blas, right


def _in_steps(a: Any, b: Any) -> Any:
    """Four sums of 16 products, each with the sum before rounded once to singles: products are exact in doubles, and so are
    sums of these 17 numbers but for some that are within 2**-50 of half way, which none is here (`math.fsum` of all)."""
    import math

    import numpy as np

    d = np.zeros((M, N), np.float32)
    for k in range(0, K, 16):
        products = a[:, k : k + 16, None].astype(np.float64) * b[None, k : k + 16].astype(np.float64)
        every = np.concatenate([d[:, None].astype(np.float64), products], 1)
        d = np.array([[math.fsum(every[i, :, j]) for j in range(N)] for i in range(M)]).astype(np.float32)
    return d


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures products of matrices beside NumPy's.")
    parser.add_argument("--repeat", type=int, default=25, metavar="N", help="pairs that the median is taken of")
    parser.add_argument("--warps", type=int, nargs="+", default=[4, 8, 16], choices=[2, 4, 8, 16], metavar="N")
    options = parser.parse_args()
    print(f"{'tile':>12} {'warps':>5} {'run ms':>8} {'NumPy ms':>9} {'ratio':>6} {'beside singles':>15}  D")
    for warps in options.warps:
        ours, theirs, ratio, singles, right = measured(warps, options.repeat)
        print(f"{f'{M}x{N}x{K}':>12} {warps:5} {ours:8.2f} {theirs:9.2f} {ratio:6.1f} {singles:15.0f}"
              f"  {'exact' if right else 'WRONG'}")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
