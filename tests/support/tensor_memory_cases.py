"""A kernel of one CTA of four warps: shared memory and Tensor Memory are filled from arrays, instructions follow, and the cells
of Tensor Memory, or registers, go to an array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from ptxcore.machine.run import grid
from ptxcore.machine.run.cta import Cta
from ptxcore.machine.run.launch import load
from ptxcore.machine.run.memory import WRITTEN
from ptxcore.machine.run.tensor_memory import TensorMemory

THREADS = 128
SHARED = 32768

WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];"
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
WAIT_LD, WAIT_ST = "tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::st.sync.aligned;"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 512;"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 512;"
HEAD = """.version 9.0
.target sm_100a
.address_size 64
"""


#: What a module says that leaves it to the host to fill memory: bytes of shared memory, columns that are filled, columns that
#: are taken, threads.
_LEFT = re.compile(r"// the host: (\d+) (\d+) (\d+) (\d+)\n")
_by_host = False


@contextmanager
def filled_by_the_host() -> Iterator[None]:
    """Modules that are made within do not move arrays into memory and back by instructions, which takes most of a run: `run`
    puts them there. For campaigns; what moves them is compared by tests of its own."""
    global _by_host
    before, _by_host = _by_host, True
    try:
        yield
    finally:
        _by_host = before


class _Filled(TensorMemory):
    """Columns hold an array as soon as they are allocated."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def take(self, columns: int) -> int | None:
        first = super().take(columns)
        if first is not None:
            inside = slice(first, first + self.given.shape[1])
            self.cells[:, inside], self.known[:, inside] = self.given, 0xFFFF_FFFF
        return first


def eight(name: str) -> str:
    return f"{{{', '.join(f'%{name}{i}' for i in range(8))}}}"


def moved(columns: int, where: str, *, into: bool) -> str:
    """All lanes' first columns to an array, lane by lane, or from there."""
    if not columns:
        return ""
    numbers = range(8)
    step = f"add.u32 %a, %mine, %c; shl.b32 %u, %c, 2; cvt.u64.u32 %q, %u; add.u64 %q, %q, %{where};"
    if into:
        step += "".join(f"ld.global.b32 %x{i}, [%q+{4 * i}];" for i in numbers)
        step += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%a], {eight('x')};"
    else:
        step += f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {eight('x')}, [%a];"
        step += "".join(f"st.global.b32 [%q+{4 * i}], %x{i};" for i in numbers)
    label, wait = ("I", WAIT_ST) if into else ("O", WAIT_LD)
    return (
        f"mul.lo.u32 %u, %t, {4 * columns}; cvt.u64.u32 %q, %u; add.u64 %{where}, %{where}, %q; mov.u32 %c, 0;\n"
        f"{label}: {step} add.u32 %c, %c, 8; setp.lt.u32 %p1, %c, {columns}; @%p1 bra {label};\n{wait}\n"
    )


def module(
    body: str,
    *,
    filled: int = 0,
    back: int = 0,
    shared: int = SHARED,
    declared: str = "",
    pair: bool = False,
    target: str = "sm_100a",
) -> str:
    """The kernel as PTX. `%mine` is the address of the warp's lanes, `%base` what was allocated; `%p0` is true in the first
    thread. `filled` columns come from an array, and `back` go to one. `pair`: a cluster of two CTAs with arrays one behind the
    other, that use their Tensor Memories together; `%p0` is true in the first thread of the even one, and `bar` is what its
    commits arrive at in both."""
    if _by_host:
        warps = 4 if "%mine" in body or "%t" in body else 1  # nobody else moves lanes
        said = f"// the host: {shared} {filled} {back} {32 * warps}\n"
        filled = back = 0
        text = said + _module(body, 0, 0, 0, declared, room=shared).replace("sm_100a", target)
    else:
        text = _module(body, filled, back, shared, declared, room=shared).replace("sm_100a", target)
    return text if not pair else _of_pair(text, filled, back, shared)


def _of_pair(text: str, filled: int, back: int, shared: int) -> str:
    rank = "mov.u32 %u, %cluster_ctarank; "
    sizes = (("in", shared), ("cells", 512 * filled), ("out", 512 * back))
    moved_ = "".join(f"mul.wide.u32 %q, %u, {size}; add.u64 %{name}, %{name}, %q; " for name, size in sizes)
    return (
        text.replace("cta_group::1", "cta_group::2")
        .replace("\n{\n", "\n.reqnctapercluster 2, 1, 1\n{\n", 1)
        .replace("setp.eq.u32 %p0, %t, 0;", f"setp.eq.u32 %p0, %t, 0; {rank}{moved_}", 1)
        .replace("setp.ge.u32 %p1, %t, 32; @%p1 bra A;", f"setp.ge.u32 %p1, %t, 32; {rank}setp.eq.and.u32 %p0, %u, 0, %p0; "
                 "@%p1 bra A;", 1)
        .replace("bar.sync 0;", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
        .replace(COMMIT.replace("group::1", "group::2"), "mov.b16 %both, 3; " + COMMIT.replace("group::1", "group::2").replace(
            "shared::cluster", "shared::cluster.multicast::cluster").replace("[bar]", "[bar], %both"))
        .replace(".reg .pred %p<3>;", ".reg .pred %p<3>; .reg .b16 %both;", 1)
    )  # fmt: skip


def _module(body: str, filled: int, back: int, shared: int, declared: str, room: int) -> str:
    copies = (
        "mov.u32 %c, 0; mul.wide.u32 %q, %t, 16; add.u64 %in, %in, %q; shl.b32 %u, %t, 4; mov.u32 %s, s; add.u32 %s, %s, %u;\n"
        "C: ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%in]; st.shared.v4.b32 [%s], {%x0, %x1, %x2, %x3};"
        f"add.u64 %in, %in, 2048; add.u32 %s, %s, 2048; add.u32 %c, %c, 2048; setp.lt.u32 %p1, %c, {shared}; @%p1 bra C;\n"
    )
    return f"""{HEAD}.visible .entry k(.param .u64 in, .param .u64 cells, .param .u64 out, .param .u64 more)
{{
.shared .align 1024 .b8 s[{max(room, 2048)}]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
.reg .b32 %t, %u, %s, %c, %a, %base, %mine, %x<8>; .reg .b64 %in, %cells, %out, %more, %q; .reg .pred %p<3>;
{declared}
ld.param.u64 %in, [in]; ld.param.u64 %cells, [cells]; ld.param.u64 %out, [out]; ld.param.u64 %more, [more];
mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 0;
{copies if shared else ""}@%p0 mbarrier.init.shared.b64 [bar], 1;
setp.ge.u32 %p1, %t, 32; @%p1 bra A;
{ALLOC}
A: fence.proxy.async.shared::cta; {BEFORE} bar.sync 0; {AFTER}
ld.shared.b32 %base, [base]; and.b32 %mine, %t, 0x60; shl.b32 %mine, %mine, 16; add.u32 %mine, %mine, %base;
{moved(filled, "cells", into=True)}{BEFORE} bar.sync 0; {AFTER}
{body}
{moved(back, "out", into=False)}{BEFORE} bar.sync 0; {AFTER}
setp.ge.u32 %p1, %t, 32; @%p1 bra D;
{DEALLOC}
D: ret;
}}
"""


def run(text: str, shared: Any, cells: Any, out: int, more: Any = None, seed: int | None = None) -> Any:
    """What the kernel leaves in its array of `out` numbers of 32 bits."""
    device = load(text, "k.ptx")
    addresses = []
    for array in (shared, cells, np.zeros(max(out, 1), np.uint32), more):
        data = b"" if array is None else np.ascontiguousarray(array).tobytes()
        address = device.memory.allocate(max(16, len(data)), "array")
        device.memory.at(address).data[: len(data)] = data
        addresses.append(address)
    ctas = 2 if ".reqnctapercluster" in text else 1
    left = _LEFT.match(text)
    threads = THREADS if left is None else int(left[4])
    launch = device.prepare("k", (ctas, 1, 1), (threads, 1, 1), addresses, seed=seed, limit=3_000_000)
    if left is None:
        launch.run()
    else:
        size, filled, back = map(int, left.groups()[:3])
        taken = _run_filled(launch, ctas, size, shared, filled, cells)
        if back:
            assert all((memory.known[:, :back] == 0xFFFF_FFFF).all() for memory in taken)
            return np.concatenate([memory.cells[:, :back] for memory in taken]).reshape(-1)[:out]
    return np.frombuffer(bytes(device.memory.at(addresses[2]).data[: 4 * out]), np.uint32)


def _run_filled(launch: Any, ctas: int, size: int, shared: Any, filled: int, cells: Any) -> list[TensorMemory]:
    """Runs a launch whose CTAs find arrays in shared memory and in Tensor Memory; what is left in Tensor Memory."""
    empty = np.zeros((ctas, 128, 0), np.uint32)
    columns = np.ascontiguousarray(cells).view(np.uint32).reshape(ctas, 128, filled) if filled else empty
    memories = [_Filled(columns[rank]) for rank in range(ctas)]

    def begun(launch: Any, index: Any, rank: int, cluster: list[Cta]) -> Cta:
        cta = Cta(launch, index, rank, cluster)
        cta.tensor_memory = memories[rank]
        if size:
            data = np.ascontiguousarray(shared).tobytes()[rank * size : (rank + 1) * size]
            cta.shared.data[: len(data)] = data  # `s` is the variable that is declared first
            cta.shared.known[: len(data)] = WRITTEN * len(data)  # type: ignore[index]
        return cta

    with patch.object(grid, "Cta", begun):
        launch.run()
    return list(memories)


# Matrices in shared memory.

#: Canonical layouts (section 9.7.16.3.3) in units of T elements: of mn and of k, shapes and
#: strides.
LINES = {0: 1, 6: 2, 4: 4, 2: 8}


def canonical(mode: int, k_major: bool, per: int, leading: int, stride: int) -> tuple[Any, Any]:
    """Shapes and strides in elements, as pairs of a list for mn and one for k; the last shape is any."""
    line = LINES[mode]
    if k_major:
        first = ([8], [(per if not mode else line * per), stride])
        second = ([per], [1, leading]) if not mode else ([per], [1, per])
    elif not mode:
        first, second = ([per], [1, stride]), ([8], [per, leading])
    else:
        first, second = ([per, line], [1, per, leading]), ([8], [line * per, stride])
    return first, second


def crossed(place: Any, shape: list[int], strides: list[int]) -> Any:
    found = 0
    for size, stride in zip(shape, strides, strict=False):
        found = found + place % size * stride
        place = place // size
    return found + place * strides[-1]


def swizzled(at: Any, mode: int) -> Any:
    bits = {0: 0, 6: 1, 4: 2, 2: 3}[mode]
    return at ^ ((at >> 7 & ((1 << bits) - 1)) << 4)


def laid_out(matrix: Any, mode: int, k_major: bool, leading: int, stride: int) -> Any:
    """The bytes of shared memory with a matrix (mn, k) at its beginning."""
    memory = np.zeros(16384, np.uint8)
    size = matrix.itemsize
    first, second = canonical(mode, k_major, 16 // size, leading // size, stride // size)
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, size)
    mn, k = np.arange(matrix.shape[0])[:, None], np.arange(matrix.shape[1])[None, :]
    at = swizzled((crossed(mn, *first) + crossed(k, *second)) * size, mode)
    memory[at[:, :, None] + np.arange(size)] = raw
    return memory


def strides(mode: int, k_major: bool, outer: int, size: int) -> tuple[int, int]:
    """Strides of a dense matrix of 32 bytes along K: (leading, stride) in bytes."""
    line = 16 * LINES[mode]
    if k_major:
        return (outer * 16, 128) if not mode else (16, 8 * line)
    depth = 32 // size // 8  # groups of 8 along K
    return (outer * 16, 128) if not mode else (8 * line * depth, 8 * line)


def descriptor(start: int, leading: int, stride: int, mode: int) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | mode << 61


def instruction(d: int, a: int, b: int, m: int, n: int, **bits: int) -> int:
    at = {"saturate": 3, "negate_a": 13, "negate_b": 14, "turn_a": 15, "turn_b": 16}
    return d << 4 | a << 7 | b << 10 | n >> 3 << 17 | m >> 4 << 24 | sum(v << at[name] for name, v in bits.items())
