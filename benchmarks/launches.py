"""How fast whole launches are decided: warp-specialised kernels with named barriers, beside Weft where there is one.

    python benchmarks/launches.py                    kernels of full size
    python benchmarks/launches.py --weft PATH        and Weft on the same PTX, a program built from its source
    python benchmarks/launches.py --rounds 64        smaller ones

The kernels are of the shapes of "Verification of Producer-Consumer Synchronization in GPU Programs" (PLDI 2015): warps that
compute, and warps that bring them their data through shared memory, which hand over by `bar.sync` and `bar.arrive`.
Columns: the threads, million thread-instructions; seconds of processor time of `run` and of the check of the same launch, with
the module read and compiled before; their ratio, the most memory of the process; the verdict; seconds of the check of the same
kernel in which the threads that compute read their first buffer before they wait for it, the verdict, and the line where the
report names it; seconds of Weft on one thread, of its processor, for the first of the two.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

_HEAD = """.version 6.3
.target sm_70
.address_size 64
.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c)
.maxntid {threads}, 1, 1
{{
 .reg .pred %p<8>; .reg .f32 %f<12>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
 .shared .align 16 .b8 _buffer[{bytes}];
 ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
 mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000; mov.u64 %rd4, _buffer;
"""


class Kernel(NamedTuple):
    """A kernel: its PTX, its threads, and the elements of its three buffers."""

    name: str
    text: str
    threads: int
    sizes: tuple[int, int, int]

    @property
    def entry(self) -> str:
        """Its name in the module."""
        return _mangled(self.name)


def _mangled(name: str) -> str:
    """The name of a function without parameters, as C++ has it, and Weft wants it."""
    return f"_Z{len(name)}{name}v"


def _laid_out(lines: list[str]) -> str:
    """A line for each instruction, as compilers write them, and as Weft reads them."""
    text = re.sub(r"\b([A-Z]+\d*): ", r"\1:\n", "\n".join(lines))
    return "\n".join(
        line if ":" in line or "{name}" in line else f"\t{line.strip()}"
        for line in re.sub(r"; ", ";\n", text).split("\n")
    )


def saxpy(buffers: int, rounds: int) -> Kernel:
    """y = 2 x + y by 256 threads; for each of x and y, and each of the buffers, a warp brings 256 elements a round."""
    compute, name = 256, f"saxpy_{buffers}"
    threads = compute + 2 * buffers * 32
    lines = [_HEAD.format(name=_mangled(name), threads=threads, bytes=2 * buffers * compute * 4)]
    lines.append(f"setp.ge.u32 %p1, %r1, {compute}; @%p1 bra LOAD;")
    lines.append("mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd4, %rd5; add.u64 %rd7, %rd3, %rd5;")
    lines += [f"bar.arrive {2 * n + 1}, {compute + 32};" for n in range(2 * buffers)]
    lines.append("COMPUTE:")
    for k in range(buffers):
        for j, register in ((0, "%f2"), (1, "%f3")):
            n = 2 * k + j
            lines.append(f"bar.sync {2 * n + 2}, {compute + 32};")
            lines.append(f"ld.shared.f32 {register}, [%rd6+{n * compute * 4}];")
            lines.append(f"bar.arrive {2 * n + 1}, {compute + 32};")
        lines.append("fma.rn.f32 %f4, %f2, 0f40000000, %f3; st.global.f32 [%rd7], %f4; add.u64 %rd7, %rd7, 1024;")
    lines.append(f"add.u32 %r2, %r2, {buffers}; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COMPUTE;")
    lines.append("bra.uni END;")
    lines.append("LOAD: and.b32 %r4, %r1, 31; mul.wide.u32 %rd5, %r4, 16;")
    for n in range(2 * buffers):
        lines.append(f"setp.lt.u32 %p3, %r1, {compute + 32 * (n + 1)}; @%p3 bra LOAD{n};")
    for n in range(2 * buffers):
        start, source = n * compute * 4, "%rd1" if n % 2 == 0 else "%rd2"
        lines.append(
            f"LOAD{n}: add.u64 %rd6, %rd4, %rd5; add.u64 %rd7, {source}, %rd5; add.u64 %rd7, %rd7, {n // 2 * 1024};"
        )
        lines.append(f"COPY{n}: bar.sync {2 * n + 1}, {compute + 32};")
        for half in (0, 512):
            lines.append(f"ld.global.v4.f32 {{%f5, %f6, %f7, %f8}}, [%rd7+{half}];")
            lines.append(f"st.shared.v4.f32 [%rd6+{start + half}], {{%f5, %f6, %f7, %f8}};")
        lines.append(f"bar.arrive {2 * n + 2}, {compute + 32}; add.u64 %rd7, %rd7, {1024 * buffers};")
        lines.append(f"add.u32 %r2, %r2, {buffers}; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COPY{n};")
        lines.append(f"bar.sync {2 * n + 1}, {compute + 32}; bra.uni END;")
    lines.append("END: ret;\n}\n")
    return Kernel(name, _laid_out(lines), threads, (compute * rounds,) * 3)


def sgemv(rows: int, elements: int, rounds: int) -> Kernel:
    """y = A x by a thread for each of `rows` rows of A; a warp brings `elements` elements of x a round."""
    name, together = f"sgemv_{rows}_{elements}", rows + 32
    lines = [_HEAD.format(name=_mangled(name), threads=together, bytes=4 * elements)]
    lines.append(f"setp.ge.u32 %p1, %r1, {rows}; @%p1 bra LOAD;")
    lines.append("mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd3, %rd5;")
    lines.append(f"bar.arrive 1, {together};\nCOMPUTE: bar.sync 2, {together};")
    for j in range(elements):
        lines.append(f"ld.global.f32 %f2, [%rd6+{4 * rows * j}]; ld.shared.f32 %f3, [_buffer+{4 * j}];")
        lines.append("fma.rn.f32 %f1, %f2, %f3, %f1;")
    lines.append(f"bar.arrive 1, {together}; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COMPUTE;")
    lines.append("st.global.f32 [%rd7], %f1; bra.uni END;")
    lines.append(
        "LOAD: and.b32 %r4, %r1, 31; mul.wide.u32 %rd5, %r4, 4; add.u64 %rd6, %rd4, %rd5; add.u64 %rd7, %rd2, %rd5;"
    )
    lines.append(f"COPY: bar.sync 1, {together};")
    for at in range(0, 4 * elements, 128):
        lines.append(f"ld.global.f32 %f5, [%rd7+{at}]; st.shared.f32 [%rd6+{at}], %f5;")
    lines.append(f"bar.arrive 2, {together}; add.u64 %rd7, %rd7, {4 * elements};")
    lines.append(f"add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {rounds}; @%p2 bra COPY;")
    lines.append(f"bar.sync 1, {together};\nEND: ret;\n}}\n")
    return Kernel(name, _laid_out(lines), together, (rows * elements, elements * rounds, rows))


def kernels(rounds: int) -> list[Kernel]:
    """The kernels; `rounds` is how often buffers are filled."""
    return [
        saxpy(1, rounds),
        saxpy(2, rounds),
        sgemv(128, 128, max(1, rounds // 16)),
        sgemv(256, 32, max(1, rounds // 16)),
        sgemv(480, 64, max(1, rounds // 32)),
    ]


def _tested(kernel: Kernel) -> Any:
    from ptxmm.kernels.toml import KernelFile

    sizes = zip("abc", kernel.sizes, strict=True)
    tree = {
        "ptx": "k.ptx", "entry": kernel.entry, "grid": 1, "block": kernel.threads,
        "params": {name: {"type": "f32", "elements": size} for name, size in sizes},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": kernel.text}).test()


def measure(kernel: Kernel, weft: Path | None, limit: float) -> str:
    """A row of the table."""
    import numpy

    from ptxcore.machine.run.launch import load
    from ptxmm.api import model_named
    from ptxmm.kernels.check import check
    from ptxmm.running import launch

    device = load(kernel.text)
    executed, run_time = 0, 0.0
    for _ in range(2):
        arrays = [numpy.zeros(size, numpy.float32) for size in kernel.sizes]
        device.reset()
        begun = time.process_time()
        executed = launch(device, kernel.entry, (1,), (kernel.threads,), arrays).executed
        run_time = time.process_time() - begun
    test, model, check_time, verdict = _tested(kernel), model_named("ptx-9.0"), 0.0, ""
    for _ in range(2):
        begun = time.process_time()
        verdict = check(test, model).verdict
        check_time = time.process_time() - begun
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = f"{kernel.name:14} {kernel.threads:>7} {executed / 1e6:>7.2f} {run_time:>7.2f} {check_time:>7.2f}"
    row += f" {check_time / max(run_time, 1e-3):>6.1f} {most:>7.0f}  {verdict:9} {_with_a_mistake(kernel, model):>15}"
    return row + (f" {_weft(kernel, weft, limit):>9}" if weft is not None else "")


def _with_a_mistake(kernel: Kernel, model: Any) -> str:
    """What a check says where the first buffer is read before the wait for it: its time, and the line of what reads it."""
    from ptxmm.kernels.check import check

    planted, moved = re.subn(r"(\tbar\.sync 2, \d+;\n)((?:.*\n)*?.*ld\.shared.*\n)", r"\2\1", kernel.text, count=1)
    assert moved
    read = 1 + planted[: planted.index("ld.shared")].count("\n")
    begun = time.process_time()
    result = check(_tested(kernel._replace(text=planted)), model, timeout=60)
    spent = time.process_time() - begun
    told = any(event.line == read for race in result.races for event in race.events)
    return f"{spent:.2f} {result.verdict}{f':{read}' if told else ' elsewhere'}"


def _weft(kernel: Kernel, weft: Path, limit: float) -> str:
    """What Weft takes, in seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        path.write_text(kernel.text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["prlimit", f"--cpu={ceil(limit)}", str(weft), "-t", "1", "-n", str(kernel.threads), str(path)]
        ran = subprocess.run(command, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if ran.returncode < 0 and spent >= limit:
        return f"> {limit:.0f}"
    return f"{spent:.2f}" if ran.returncode == 0 else f"fails ({ran.returncode})"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures launches that one run of all threads decides.")
    parser.add_argument("--weft", type=Path, metavar="PATH", help="the program of Weft")
    parser.add_argument("--rounds", type=int, default=2048, metavar="N", help="how often buffers are filled")
    parser.add_argument(
        "--limit", type=float, default=120.0, metavar="SECONDS", help="of processor time for each run of Weft"
    )
    options = parser.parse_args()
    head = (
        f"{'kernel':14} {'threads':>7} {'Minstr':>7} {'run s':>7} {'check s':>7} {'ratio':>6} {'MB':>7}  {'verdict':9}"
    )
    head += f" {'with a mistake':>15}"
    print(head + (f" {'Weft s':>9}" if options.weft is not None else ""))
    for kernel in kernels(options.rounds):
        print(measure(kernel, options.weft, options.limit), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
