"""How fast kernels run: thread-instructions a second, on one core.

    python benchmarks/kernels.py [--threads 16384]

SAXPY and a reduction of 256 threads in shared memory, checked against what they should compute.
"""

from __future__ import annotations

import argparse
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ptxcore.machine.run.launch import Device, load

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


def buffer(device: Device, words: list[int]) -> int:
    address = device.memory.allocate(4 * len(words), "buffer")
    device.memory.at(address).data[:] = struct.pack(f"<{len(words)}I", *words)
    return address


def words(device: Device, address: int) -> tuple[int, ...]:
    data = device.memory.at(address).data
    return struct.unpack(f"<{len(data) // 4}I", data)


def single(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def saxpy(threads: int) -> tuple[int, float]:
    """Thread-instructions executed, and the processor's seconds."""
    device = load(SAXPY)
    x = buffer(device, [single(i) for i in range(threads)])
    y = buffer(device, [single(1.0)] * threads)
    start = time.process_time()
    done = device.launch("saxpy", (-(-threads // 256), 1, 1), (256, 1, 1), [threads, single(2.0), x, y])
    seconds = time.process_time() - start
    assert words(device, y) == tuple(single(2.0 * i + 1) for i in range(threads))
    return done.executed, seconds


def reduction(threads: int) -> tuple[int, float]:
    """Thread-instructions executed, and the processor's seconds."""
    device = load(REDUCTION)
    ctas = max(1, threads // 256)
    given = buffer(device, list(range(ctas * 256)))
    out = buffer(device, [0] * ctas)
    start = time.process_time()
    done = device.launch("reduce", (ctas, 1, 1), (256, 1, 1), [given, out])
    seconds = time.process_time() - start
    assert words(device, out) == tuple(sum(range(256 * i, 256 * i + 256)) for i in range(ctas))
    return done.executed, seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=16384)
    threads = options.parse_args().threads
    for name, kernel in (("SAXPY", saxpy), ("reduction", reduction)):
        executed, seconds = min((kernel(threads) for _ in range(3)), key=lambda r: r[1])
        print(
            f"{name:10} {threads} threads  {executed} instructions  {seconds:.3f} s  {executed / seconds / 1e6:.2f} M/s"
        )


if __name__ == "__main__":
    main()
