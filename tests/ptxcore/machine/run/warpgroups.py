"""One `wgmma.mma_async` as a kernel of one warpgroup a CTA: registers and shared memory from arrays, D to an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.vector.launch import blocks_of, executed

#: Bytes of shared memory that the matrices lie in.
SHARED = 40960
THREADS = 128


class Kernel:
    """`body` is what the threads execute between a fence for the proxies and the stores of D; in it `{d}`, `{a}` are registers
    (`d` and `a` are how many), `{da}` and `{db}` the descriptors of A and B, `{e}` the metadata."""

    def __init__(self, body: str, d: int, a: int = 0, *, version: str = "9.0", shared: int = SHARED) -> None:
        self.d, self.a, self.shared = d, a, shared
        names = {"d": _vector("d", d), "a": _vector("a", a), "da": "%da", "db": "%db", "e": "%e"}
        loads = [
            f"ld.global.v4.b32 {{%u0, %u1, %u2, %u3}}, [%q+{at}]; st.shared.v4.b32 [%s+{at}], {{%u0, %u1, %u2, %u3}};"
            for at in range(0, shared, 16 * THREADS)
        ]
        registers = [(f"%{n}{i}", 4 * i) for n, count in (("a", a), ("d", d)) for i in range(count)]
        moved = [f"ld.global.b32 {r}, [%q+{512 * k}];" for k, (r, _) in enumerate(registers)]
        #: Shared memory, two descriptors, the registers of A and D, metadata: by thread.
        self.size = shared + 16 + 512 * (a + d + 1)
        self.text = f""".version {version}
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
.shared .align 1024 .b8 m[{shared}];
.reg .b32 %t, %u<4>, %s, %e; .reg .b64 %in, %out, %q, %da, %db; .reg .pred %p<4>;
.reg .b32 %a<{max(a, 1)}>, %d<{d}>;
mov.u32 %t, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
mov.u32 %u0, %ctaid.x; mul.wide.u32 %q, %u0, {self.size}; add.u64 %in, %in, %q;
mul.wide.u32 %q, %u0, {512 * d}; add.u64 %out, %out, %q;
mov.u32 %s, m; mul.lo.u32 %u0, %t, 16; add.u32 %s, %s, %u0; mul.wide.u32 %q, %t, 16; add.u64 %q, %q, %in;
{chr(10).join(loads)}
ld.global.b64 %da, [%in+{shared}]; ld.global.b64 %db, [%in+{shared + 8}];
mov.u32 %u0, m; and.b32 %u0, %u0, 262143; shr.u32 %u0, %u0, 4; cvt.u64.u32 %q, %u0;
add.u64 %da, %da, %q; add.u64 %db, %db, %q;
mul.wide.u32 %q, %t, 4; add.u64 %q, %q, %in; add.u64 %q, %q, {shared + 16};
{chr(10).join(moved)}
ld.global.b32 %e, [%q+{512 * (a + d)}];
fence.proxy.async; bar.sync 0;
{body.format(**names)}
mul.wide.u32 %q, %t, 4; add.u64 %q, %q, %out;
{chr(10).join(f"st.global.b32 [%q+{512 * i}], %d{i};" for i in range(d))}
ret;
}}
"""
        self.device: Device = load(self.text, "k.ptx")

    def __call__(
        self, image: Any, descriptors: tuple[int, int], a: Any = None, d: Any = None, metadata: Any = None,
        *, seed: int | None = None, arrays: bool | None = None,
    ) -> Any:  # fmt: skip
        """D as an array (CTA, register, thread); everything has a first axis for CTAs, but for the descriptors. Arrays execute
        all of it, and single threads the first one, and both must agree; `arrays`: one of them only."""
        count = len(image)
        memory = np.zeros((count, self.size), np.uint8)
        memory[:, : image.shape[1]] = image
        memory[:, self.shared : self.shared + 16] = np.array(descriptors, np.uint64).view(np.uint8)
        at = self.shared + 16
        for array, registers in ((a, self.a), (d, self.d), (metadata, 1)):
            if array is not None:
                raw = np.ascontiguousarray(array, np.uint32).reshape(count, -1).view(np.uint8)
                memory[:, at : at + raw.shape[1]] = raw
            at += 512 * registers
        if arrays is not None:
            return self.run(memory, seed, arrays)
        found = self.run(memory, None, True)
        assert (found[:1] == self.run(memory[:1], seed, False)).all(), "the machines differ"
        return found

    def run(self, memory: Any, seed: int | None, arrays: bool) -> Any:
        """A launch by one of the machines."""
        device, count = self.device, len(memory)
        device.reset()
        size = count * 512 * self.d
        given, out = device.memory.allocate(memory.size, "in"), device.memory.allocate(size, "out")
        device.memory.at(given).data[: memory.size] = memory.tobytes()
        device.memory.at(out).data[:size] = bytes(size)
        if arrays:
            made = device.prepare("k", (count, 1, 1), (THREADS, 1, 1), [given, out])
            why = executed(made, blocks_of(device, "k"))
            assert not why, why
        else:
            device.launch("k", (count, 1, 1), (THREADS, 1, 1), [given, out], seed=seed)
        return np.frombuffer(bytes(device.memory.at(out).data[:size]), np.uint32).reshape(count, self.d, THREADS)


def _vector(name: str, count: int) -> str:
    return f"{{{', '.join(f'%{name}{i}' for i in range(count))}}}"
