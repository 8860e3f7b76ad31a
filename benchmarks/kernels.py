"""How fast kernels run: thread-instructions a second, on one core, by arrays and thread by thread.

    python benchmarks/kernels.py [--threads 16384] [--together 1048576]

SAXPY, a reduction of 256 threads in shared memory, and a transposition by tiles of 32 x 32 in shared memory, checked
against what they should compute. `--threads` are those of the machine of single threads, `--together` those of arrays.
"""

from __future__ import annotations

import argparse
import struct
import sys
import time
from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ptxcore.machine.run.grid import GridLaunch
from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.run.special import Triple
from ptxcore.machine.vector.launch import run

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

SAXPY = (
    HEAD
    + """
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<5>; .reg .pred %p1;
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}
"""
)

REDUCTION = (
    HEAD
    + """
.visible .entry reduce(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<3>;
    .shared .u32 s[256];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, 8;
    add.u32 %r3, %r3, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    shl.b32 %r5, %r1, 2;
    mov.u32 %r6, s;
    add.u32 %r6, %r6, %r5;
    st.shared.u32 [%r6], %r4;
    mov.u32 %r7, 128;
LOOP:
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r7;
    @%p1 bra NEXT;
    shl.b32 %r8, %r7, 2;
    add.u32 %r9, %r6, %r8;
    ld.shared.u32 %r10, [%r9];
    ld.shared.u32 %r11, [%r6];
    add.u32 %r12, %r10, %r11;
    st.shared.u32 [%r6], %r12;
NEXT:
    shr.u32 %r7, %r7, 1;
    setp.ne.u32 %p2, %r7, 0;
    @%p2 bra LOOP;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    ld.shared.u32 %r13, [s];
    mul.wide.u32 %rd5, %r2, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r13;
DONE:
    ret;
}
"""
)


TRANSPOSITION = (
    HEAD
    + """
.visible .entry transpose(.param .u64 in, .param .u64 out, .param .u32 n)
{
    .reg .b32 %r<24>; .reg .b64 %rd<8>; .reg .pred %p<3>;
    .shared .u32 tile[1056];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %tid.y;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ctaid.y;
    shl.b32 %r6, %r4, 5;
    shl.b32 %r7, %r5, 5;
    mov.u32 %r8, tile;
    mov.u32 %r9, %r3;
READ:
    add.u32 %r10, %r7, %r9;
    add.u32 %r11, %r6, %r2;
    mad.lo.u32 %r12, %r10, %r1, %r11;
    mul.wide.u32 %rd3, %r12, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r13, [%rd4];
    mad.lo.u32 %r14, %r9, 33, %r2;
    mad.lo.u32 %r15, %r14, 4, %r8;
    st.shared.u32 [%r15], %r13;
    add.u32 %r9, %r9, 8;
    setp.lt.u32 %p1, %r9, 32;
    @%p1 bra READ;
    bar.sync 0;
    mov.u32 %r9, %r3;
WRITE:
    mad.lo.u32 %r14, %r2, 33, %r9;
    mad.lo.u32 %r15, %r14, 4, %r8;
    ld.shared.u32 %r13, [%r15];
    add.u32 %r10, %r6, %r9;
    add.u32 %r11, %r7, %r2;
    mad.lo.u32 %r12, %r10, %r1, %r11;
    mul.wide.u32 %rd3, %r12, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r13;
    add.u32 %r9, %r9, 8;
    setp.lt.u32 %p1, %r9, 32;
    @%p1 bra WRITE;
    ret;
}
"""
)

#: Runs a launch that is prepared.
Machine = Callable[[Device, GridLaunch], None]


def single(device: Device, launch: GridLaunch) -> None:
    """Thread by thread."""
    launch.run()


def together(device: Device, launch: GridLaunch) -> None:
    """By arrays."""
    assert run(device, launch), "does not fit"


def buffer(device: Device, words: Sequence[int]) -> int:
    address = device.memory.allocate(4 * len(words), "buffer")
    device.memory.at(address).data[:] = struct.pack(f"<{len(words)}I", *words)
    return address


def words(device: Device, address: int) -> tuple[int, ...]:
    data = device.memory.at(address).data
    return struct.unpack(f"<{len(data) // 4}I", data)


def bits(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def measured(
    machine: Machine, device: Device, entry: str, grid: Triple, block: Triple, arguments: list[int]
) -> tuple[int, float]:
    """Thread-instructions executed, and the processor's seconds."""
    start = time.process_time()
    launch = device.prepare(entry, grid, block, arguments)
    machine(device, launch)
    return launch.executed, time.process_time() - start


def saxpy(machine: Machine, threads: int) -> tuple[int, float]:
    device = load(SAXPY)
    x = buffer(device, [bits(i % 8192) for i in range(threads)])
    y = buffer(device, [bits(1.0)] * threads)
    found = measured(machine, device, "saxpy", (-(-threads // 256), 1, 1), (256, 1, 1), [threads, bits(2.0), x, y])
    assert words(device, y) == tuple(bits(2.0 * (i % 8192) + 1) for i in range(threads))
    return found


def reduction(machine: Machine, threads: int) -> tuple[int, float]:
    device = load(REDUCTION)
    ctas = max(1, threads // 256)
    given = buffer(device, range(ctas * 256))
    out = buffer(device, [0] * ctas)
    found = measured(machine, device, "reduce", (ctas, 1, 1), (256, 1, 1), [given, out])
    assert words(device, out) == tuple(sum(range(256 * i, 256 * i + 256)) & 0xFFFFFFFF for i in range(ctas))
    return found


def transposition(machine: Machine, threads: int) -> tuple[int, float]:
    """A square with four elements for each thread."""
    device = load(TRANSPOSITION)
    side = max(32, isqrt(4 * threads) // 32 * 32)
    given = buffer(device, range(side * side))
    out = buffer(device, [0] * (side * side))
    found = measured(machine, device, "transpose", (side // 32, side // 32, 1), (32, 8, 1), [given, out, side])
    assert words(device, out) == tuple(x for i in range(side) for x in range(i, side * side, side))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=16384)
    options.add_argument("--together", type=int, default=1 << 20)
    given = options.parse_args()
    print(
        f"{'':13} {'threads':>8} {'instructions':>12}  {'single':>10}   {'threads':>8} {'instructions':>12}  {'arrays':>10}"
    )
    for kernel in (saxpy, reduction, transposition):
        speeds = []
        text = f"{kernel.__name__:13}"
        for machine, threads in ((single, given.threads), (together, given.together)):
            executed, seconds = min((kernel(machine, threads) for _ in range(3)), key=lambda r: r[1])
            speeds.append(executed / seconds / 1e6)
            text += f" {threads:8} {executed:12}  {speeds[-1]:6.2f} M/s  "
        print(f"{text} x {speeds[1] / speeds[0]:.0f}")


if __name__ == "__main__":
    main()
