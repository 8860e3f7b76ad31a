"""Random launches whose threads wait in loops of which the first poll stands before them, as compilers put it; some are no
such loops, or wait for too little."""

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
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r9, 8; mov.u32 %r10, 0;
"""
_DATA, _FLAG, _OUT = 0, 16, 64


def _signal(random: Random, count: int) -> str:
    """What who signals does at the flag: additions that come to `count` with those of others, or stores."""
    order = random.choice((".release", ".release", ".release", ".relaxed"))
    if count == 1:
        more = random.choice(("", "", "", f" st{order}.gpu.global.u32 [%rd1+{_FLAG}], {random.choice((0, 2))};"))
        return f"st{order}.gpu.global.u32 [%rd1+{_FLAG}], 1;" + more
    return f"red{order}.gpu.global.add.u32 [%rd1+{_FLAG}], 1;"


def waiter(random: Random, count: int) -> str:
    """A wait of which each part may be something else than a compiler would have there."""

    def often(usual: str, *others: str) -> str:
        return usual if random.random() < 0.93 else random.choice(others)

    order = random.choice((".acquire.gpu", ".acquire.gpu", ".relaxed.gpu"))
    looks = [often(order, ".relaxed.gpu", ".acquire.gpu", ".acquire.cta") for _ in range(2)]
    flags = [f"[%rd1+{often(str(_FLAG), str(_FLAG + 8))}]" for _ in range(2)]
    until = [f"setp.ge.u32 %p1, %r5, {often(str(count), '1', '2')};" for _ in range(2)]
    mid = often(
        "", "mov.u32 %r10, 1;", "fence.acq_rel.gpu;", f"st.global.u32 [%rd1+{_OUT + 8}], 1;", "mov.u32 %r10, %r5;"
    )
    idle = random.choice(("nanosleep.u32 20;", "nanosleep.u32 %r9; shl.b32 %r9, %r9, 1;", ""))
    within = often("", "fence.acq_rel.gpu;", "add.u32 %r10, %r10, 1;", f"st.global.u32 [%rd1+{_OUT + 8}], 1;")
    if f" {count};" not in until[1] or flags[1] != f"[%rd1+{_FLAG}]":
        within = ""  # what goes round without end would not come round to the same
    out = often("", "fence.acq_rel.gpu;", "mov.u32 %r10, 3;")
    behind = random.choice(("", "fence.acq_rel.gpu;"))
    put = random.choice(("%r6", "%r6", "%r5", "%r10", "%r9"))
    target = often("ON", "OUT")
    return (
        f" ld{looks[0]}.global.u32 %r5, {flags[0]}; {until[0]} @%p1 bra {target}; {mid}\n"
        f"LOOP: {idle} {within} ld{looks[1]}.global.u32 %r5, {flags[1]}; {until[1]} @!%p1 bra LOOP;\n"
        f"OUT: {out}\nON: {behind} ld.global.u32 %r6, [%rd1+{_DATA}]; st.global.u32 [%rd1+{_OUT}], {put};"
    )


def made(seed: int) -> KernelTest:
    """One or two CTAs that signal, and one that waits."""
    random = Random(seed)
    count = random.choice((1, 1, 2))
    bodies = [f"{random.choice(('', '', 'fence.acq_rel.gpu;'))} {_signal(random, count)}" for _ in range(count)]
    bodies[0] = f"st.global.u32 [%rd1+{_DATA}], 7; {bodies[0]}"
    bodies.insert(random.randrange(count + 1), waiter(random, count))
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra C{n};\n" for n in range(count + 1)) + " ret;\n"
    text += "".join(f"C{n}:\n {body}\n ret;\n" for n, body in enumerate(bodies)) + "}\n"
    check = {"forall": "x[16] == 7", "race_free": True, "terminates": True}
    params = {"x": {"type": "u32", "elements": 32, "init": [0]}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": count + 1, "block": 1, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
