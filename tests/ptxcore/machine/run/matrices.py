"""One instruction of whole warps as a kernel: registers in from arrays, registers out to arrays, shared memory in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sequential import Schedule
from test_explored_as_run import Bytes

from axioms.events.undetermined import values_in
from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.vector.launch import blocks_of, executed
from ptxmm.kernels.explored import ExploredKernels
from ptxmm.kernels.launch import Buffer, Launch

#: Bytes of shared memory.
SHARED = 4096
#: So many warps are executed by single threads, too.
SINGLE = 2


class Kernel:
    """`{a}` in the instruction is a vector of registers that come from an array of its own, as many as `ins` says, of so many
    bits; likewise `outs`. `[p]` is an address in shared memory, offsets of which are given too, where `shared`."""

    def __init__(
        self, instruction: str, ins: dict[str, tuple[int, int]], outs: dict[str, tuple[int, int]], *,
        shared: bool = False, target: str = "sm_120a", version: str = "9.0", bare: bool = False,
    ) -> None:  # fmt: skip
        self.ins, self.outs, self.shared = ins, outs, shared
        lines = ["mov.u32 %t, %tid.x;", "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "SIZES"]
        names: dict[str, str] = {}
        declared = []
        every = {**ins, **outs}
        for name, (count, bits) in every.items():
            declared.append(f".reg .{'f64' if bits == 64 else 'b32'} %{name}<{count}>;")
            inner = ", ".join(f"%{name}{i}" for i in range(count))
            names[name] = inner if bare or name.isupper() else f"{{{inner}}}"
        at = 0
        self.places: dict[str, int] = {}
        for name, (count, bits) in ins.items():
            for i in range(count):
                lines += [f"mad.wide.u32 %q, %t, {bits // 8}, %in;", f"ld.global.b{bits} %{name}{i}, [%q+{at}];"]
                self.places.setdefault(name, at)
                at += 32 * bits // 8
        if shared:
            self.places["m"] = at
            lines += ["mul.lo.u32 %u, %t, 4;", "mov.u32 %s, m;", "add.u32 %s, %s, %u;", "mad.wide.u32 %q, %t, 4, %in;"]
            lines += [
                line
                for i in range(0, SHARED, 128)
                for line in (f"ld.global.b32 %u, [%q+{at + i}];", f"st.shared.b32 [%s+{i}], %u;")
            ]
            at += SHARED
            lines += ["mul.wide.u32 %q, %t, 4;", "add.u64 %q, %q, %in;", f"ld.global.b32 %p, [%q+{at}];"]
            self.places["p"] = at
            at += 128
            lines += ["mov.u32 %u, m;", "add.u32 %p, %p, %u;", "bar.sync 0;"]
        self.size = at
        lines.append(instruction.format(**names, p="%p"))
        at = 0
        self.results: dict[str, int] = {}
        for name, (count, bits) in outs.items():
            for i in range(count):
                lines += [f"mad.wide.u32 %q, %t, {bits // 8}, %out;", f"st.global.b{bits} [%q+{at}], %{name}{i};"]
                self.results.setdefault(name, at)
                at += 32 * bits // 8
        if shared:
            lines += ["bar.sync 0;", "mad.wide.u32 %q, %t, 4, %out;"]
            self.results["m"] = at
            lines += [
                line
                for i in range(0, SHARED, 128)
                for line in (f"ld.shared.b32 %u, [%s+{i}];", f"st.global.b32 [%q+{at + i}], %u;")
            ]
            at += SHARED
        self.out_size = at
        lines[3] = (
            f"mov.u32 %u, %ctaid.x; mul.wide.u32 %q, %u, {self.size}; add.u64 %in, %in, %q; "
            f"mul.wide.u32 %q, %u, {self.out_size}; add.u64 %out, %out, %q;"
        )
        memory = f".shared .align 128 .b8 m[{SHARED}];" if shared else ""
        self.text = (
            f".version {version}\n.target {target}\n.address_size 64\n"
            f".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n{memory}\n"
            f".reg .b32 %t, %u, %s, %p; .reg .b64 %in, %out, %q;\n{' '.join(declared)}\n"
            + "\n".join(lines)
            + "\nret;\n}\n"
        )
        self.device: Device = load(self.text, "k.ptx")

    def __call__(self, **given: Any) -> dict[str, Any]:
        """What the instruction leaves, for many warps, each a CTA of its own: of each vector an array (warp, register, lane),
        and `m`, shared memory. `given` likewise, with the offsets `p` (warp, lane). Arrays execute all of it, and single
        threads the first warps, and both must agree."""
        count = len(next(iter(given.values())))
        memory = np.zeros((count, self.size), np.uint8)
        for name, array in given.items():
            raw = np.ascontiguousarray(array).reshape(count, -1).view(np.uint8)
            memory[:, self.places[name] : self.places[name] + raw.shape[1]] = raw
        found = self.run(memory, arrays=True)
        single = self.run(memory[:SINGLE], arrays=False)
        assert (found[:SINGLE] == single).all(), "the machines differ"
        return self.taken(found)

    def explored(self, open_: int = 0, **given: Any) -> dict[str, Any]:
        """What a schedule of the explored effects of one warp leaves, as `__call__`; `open_` is what the manual leaves open."""
        memory = np.zeros(self.size, np.uint8)
        for name, array in given.items():
            raw = np.ascontiguousarray(array[0]).reshape(-1).view(np.uint8)
            memory[self.places[name] : self.places[name] + raw.size] = raw
        return self.taken(self.explored_memory(memory, open_)[None, : self.out_size])

    def explored_memory(self, memory: Any, open_: int = 0) -> Any:
        """What a schedule of the explored effects of one warp leaves."""
        numbers = tuple(int(n) for n in memory.view(np.uint32))
        out = tuple([0] * max(1, self.out_size // 4))
        params = (Buffer("in", "u32", len(numbers), numbers, 256), Buffer("out", "u32", len(out), out, 256))
        found = ExploredKernels([Launch(self.text, "k", "k.ptx", (1, 1, 1), (32, 1, 1), None, 0, params)])
        objects = [bytearray(o.initial.ljust(o.size, b"\0")) for o in found.memory.objects]
        views = [[v for v in found.memory.views if v.threads is None or t in v.threads] for t in range(32)]
        executions = [t.execution for t in found.threads]
        schedule = Schedule(executions, [0] * 32, [Bytes(objects, of) for of in views], found.definitions)
        schedule.known |= dict.fromkeys(values_in(found.definitions), open_)
        schedule.run()
        return np.frombuffer(bytes(objects[found.memory.buffers["out"][1]]), np.uint8)

    def taken(self, found: Any) -> dict[str, Any]:
        """What stands in the array that the kernel wrote, by name."""
        results = {}
        for name, (registers, bits) in self.outs.items():
            start = self.results[name]
            raw = np.ascontiguousarray(found[:, start : start + registers * 4 * bits])
            results[name] = raw.view(f"u{bits // 8}").reshape(len(found), registers, 32)
        if self.shared:
            results["m"] = found[:, self.results["m"] :]
        return results

    def run(self, memory: Any, *, arrays: bool) -> Any:
        """A launch by one of the machines."""
        device, count = self.device, len(memory)
        device.reset()
        given, out = (
            device.memory.allocate(memory.size, "in"),
            device.memory.allocate(max(1, count * self.out_size), "out"),
        )
        for address, data in ((given, memory.tobytes()), (out, bytes(count * self.out_size))):
            device.memory.at(address).data[: len(data)] = data
        made = device.prepare("k", (count, 1, 1), (32, 1, 1), [given, out])
        if arrays:
            why = executed(made, blocks_of(device, "k"))
            assert not why, why
        else:
            made.run()
        raw = np.frombuffer(bytes(device.memory.at(out).data[: count * self.out_size]), np.uint8)
        return raw.reshape(count, self.out_size)
