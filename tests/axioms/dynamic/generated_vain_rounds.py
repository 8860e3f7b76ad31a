"""Random launches whose threads wait for each other by flags, with fences before, in and behind rounds in vain."""

from __future__ import annotations

from random import Random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x;
"""
_FENCES = (
    "",
    "",
    "fence.acq_rel.gpu;",
    "fence.acquire.gpu;",
    "fence.release.gpu;",
    "fence.sc.gpu;",
    "fence.acq_rel.cta;",
)
_DATA, _FLAGS, _OUT = 0, 16, 64


def _fence(random: Random, *, often: bool = False) -> str:
    return random.choice(_FENCES[2:] if often and random.random() < 0.7 else _FENCES)


def _wait(random: Random, flag: int, label: str) -> str:
    """A wait with fences before each look, only on the way back, and only on the way on."""
    at, order = f"[%rd1+{_FLAGS + 4 * flag}]", random.choice((".relaxed", ".relaxed", ".acquire"))
    looks = {
        "load": f"ld{order}.gpu.global.u32 %r5, {at};",
        "swap": f"atom{order}.gpu.global.cas.b32 %r5, {at}, 9, 8;",
        "or": f"atom{order}.gpu.global.or.b32 %r5, {at}, 0;",
    }
    look = looks[random.choice(("load", "load", "load", "swap", "or"))]
    before, vain, behind = _fence(random), _fence(random, often=True), _fence(random)
    return (
        f"{label}: {before} {look} setp.ne.u32 %p1, %r5, 0; @%p1 bra {label}_; {vain} bra {label};\n{label}_: {behind}"
    )


def made(seed: int) -> KernelTest:
    """Two or three CTAs of one thread. Each flag has a thread that sets it, and one that waits for it."""
    random = Random(seed)
    threads = random.choice((2, 2, 3))
    bodies: list[list[str]] = [[] for _ in range(threads)]
    written: set[int] = set()
    for flag in range(random.choice((1, 2, 2))):
        setter, waiter = random.sample(range(threads), 2)
        if random.random() < 0.7 and setter not in written and not written:
            bodies[setter].append(f"st.global.u32 [%rd1+{_DATA}], 7;")
            written.add(setter)
        if not written or random.random() < 0.5:
            bodies[setter].append(_fence(random))
        order = random.choice((".relaxed", ".relaxed", ".release"))
        bodies[setter].append(f"st{order}.gpu.global.u32 [%rd1+{_FLAGS + 4 * flag}], 1;")
        bodies[waiter].append(_wait(random, flag, f"W{flag}"))
    reader = random.choice([n for n in range(threads) if n not in written])
    bodies[reader].append(f"ld.global.u32 %r6, [%rd1+{_DATA}]; st.global.u32 [%rd1+{_OUT}], %r6;")
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra C{n};\n" for n in range(threads)) + " ret;\n"
    text += "".join(f"C{n}:\n" + "\n".join(body) + "\n ret;\n" for n, body in enumerate(bodies)) + "}\n"
    check = {"forall": "x[16] == 7", "race_free": True, "terminates": True}
    params = {"x": {"type": "u32", "elements": 32, "init": [0]}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": threads, "block": 1, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
