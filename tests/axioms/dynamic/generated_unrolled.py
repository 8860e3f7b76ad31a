"""Random launches whose threads wait in loops of several polls, as compilers unroll them and libraries write them: some polls
before the loop, some in it, and one more behind what leads on; some are no such loops, or wait for too little."""

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
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r9, 8; mov.u32 %r10, 0; mov.u32 %r11, 0;
"""
_FLAG, _OUT = 16, 64


def _waiter(random: Random, goal: int) -> str:
    """A wait for a flag that comes to `goal`; what it loads behind that, and stores."""

    def seldom(usual: str, *others: str) -> str:
        return usual if random.random() < 0.96 else random.choice(others)

    order = random.choice((".acquire.gpu", ".acquire.gpu", ".relaxed.gpu"))
    compare = random.choice(("ge", "ge", "ne" if goal == 1 else "ge"))
    until = 0 if compare == "ne" else goal

    def poll(on: str, back: str = "") -> str:
        where = f"[%rd1+{seldom(str(_FLAG), str(_FLAG + 8))}]"
        bound = seldom(str(until), str(until + 1), str(max(0, until - 1)))
        text = f" ld{seldom(order, '.relaxed.gpu', '.acquire.cta')}.global.u32 %r5, {where};"
        text += f" setp.{compare}.u32 %p1, %r5, {bound};"
        text += f" @!%p1 bra {back};" if back else f" @%p1 bra {on};"
        return text + seldom("", "mov.u32 %r10, 1;", "fence.acq_rel.gpu;", "mov.u32 %r10, %r5;") + "\n"

    check = random.random() < 0.4
    on = "CHECK" if check else "ON"
    text = "".join(poll(random.choice(("ON", on))) for _ in range(random.randrange(3)))
    text += "AGAIN: " + (poll(on) if check or random.random() < 0.3 else "")
    text += "LOOP: " + "".join(poll(on) for _ in range(random.randrange(2)))
    text += random.choice((" nanosleep.u32 20;", " nanosleep.u32 %r9; shl.b32 %r9, %r9, 1;", ""))
    text += poll("", "LOOP")
    text += f"CHECK: {poll('', seldom('AGAIN', 'LOOP'))}" if check else ""
    text += f"ON: {random.choice(('', 'fence.acq_rel.gpu;'))} ld.global.u32 %r6, [%rd1]; "
    put = random.choice(("%r6", "%r6", "%r5", "%r10", "%r9"))
    return text + f"st.global.u32 [%rd1+{_OUT}], {put};"


def made(seed: int) -> KernelTest:
    """One or two CTAs that signal, by stores or additions, and one that waits."""
    random = Random(seed)
    count = random.choice((1, 1, 2))
    order = random.choice((".release", ".release", ".release", ".relaxed"))
    fence = random.choice(("", "", "fence.acq_rel.gpu;"))
    if count == 1 and random.random() < 0.6:
        signal = f"st{order}.gpu.global.u32 [%rd1+{_FLAG}], 1;"
        signal += random.choice(("", "", f" st{order}.gpu.global.u32 [%rd1+{_FLAG}], {random.choice((0, 2, 2))};"))
    else:
        signal = f"red{order}.gpu.global.add.u32 [%rd1+{_FLAG}], 1;"
    bodies = [f"{fence} {signal}" for _ in range(count)]
    data, late = " st.global.u32 [%rd1], 7; ", signal.count(";") > 1 and random.random() < 0.5
    bodies[0] = bodies[0].replace("1; ", f"1;{data}") if late else data + bodies[0]
    bodies.insert(random.randrange(count + 1), _waiter(random, count))
    return launch(bodies, "x[16] == 7")


def launch(bodies: list[str], forall: str) -> KernelTest:
    """A thread in a CTA of its own for each body."""
    count = len(bodies) - 1
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra C{n};\n" for n in range(count + 1)) + " ret;\n"
    text += "".join(f"C{n}:\n {body}\n ret;\n" for n, body in enumerate(bodies)) + "}\n"
    check = {"forall": forall, "race_free": True, "terminates": True}
    params = {"x": {"type": "u32", "elements": 32, "init": [0]}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": count + 1, "block": 1, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
