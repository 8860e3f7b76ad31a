"""Random launches whose CTAs add to one word in the order of a semaphore, which they may look at before they wait for it."""

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
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p3, %r2, 0;
"""
_LOCK, _SUM, _SEEN, _OUT = 0, 4, 8, 16


def _look(random: Random, register: str) -> str:
    order = random.choice(
        (".acquire.gpu", ".acquire.gpu", ".acquire.gpu", ".relaxed.gpu", ".acquire.sys", ".acquire.cta")
    )
    return f"ld{order}.global.u32 {register}, [%rd1+{_LOCK}];"


def _waiting(random: Random, cta: int, status: int, *, whole: bool) -> str:
    """A wait for a value: `whole`, of a CTA of which one thread polls; often with a look before."""
    lines = ["mov.u32 %r5, 99;"]
    if random.random() < 0.75:
        moved = random.random() < 0.3
        lines += [f"@%p3 bra N{cta};", _look(random, "%r6" if moved else "%r5"), "mov.u32 %r5, %r6;" if moved else ""]
        lines.append(f"N{cta}:")
    if random.random() < 0.15:
        lines.append(
            random.choice((f"st.global.u32 [%rd1+{_SEEN}], %r5;", "add.u32 %r5, %r5, 1;", "mov.u32 %r9, %r5;"))
        )
    if random.random() < 0.3:
        lines.append("bar.sync 0;")
    lines.append(f"H{cta}: setp.ne.u32 %p1, %r5, {status};")
    if whole:
        lines += ["bar.red.and.pred %p2, 0, %p1;", f"@!%p2 bra D{cta};", f"@%p3 bra H{cta};"]
    else:
        lines.append(f"@!%p1 bra D{cta};")
    if random.random() < 0.1:
        lines.append(random.choice(("fence.acq_rel.gpu;", "add.u32 %r8, %r8, 1;")))
    lines += [_look(random, "%r5"), f"bra H{cta};", f"D{cta}:"]
    if random.random() < 0.3:
        lines.append("fence.acq_rel.gpu;")
    return "\n ".join(filter(None, lines))


def _release(random: Random, after: int, before: int) -> str:
    at = f"[%rd1+{_LOCK}]"
    ways = [
        f"st.release.gpu.global.u32 {at}, {after};",
        f"st.release.gpu.global.u32 {at}, {after};",
        f"fence.acq_rel.gpu; st.relaxed.gpu.global.u32 {at}, {after};",
        f"fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 {at}, {after - before & 0xFFFFFFFF};",
        f"fence.sc.gpu; st.relaxed.gpu.global.u32 {at}, {after};",
        f"st.relaxed.gpu.global.u32 {at}, {after};",
    ]
    return random.choice(ways[:-1] if random.random() < 0.7 else ways)


def semaphore_kernel(seed: int) -> KernelTest:
    """Two or three CTAs, of one thread or of two, that come one after the other; the last one may set the semaphore back, with
    a weak store, too."""
    random = Random(seed)
    ctas, whole = random.choice((2, 2, 3)), random.random() < 0.4
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra C{n};\n" for n in range(ctas)) + " ret;\n"
    turns = list(range(ctas))
    random.shuffle(turns)
    for cta, status in enumerate(turns):
        wrong = random.random() < 0.08
        last = status == ctas - 1
        after = random.choice((0, 0, ctas, 1)) if last else status + 1
        body = [f"C{cta}:", _waiting(random, cta, status + wrong, whole=whole)]
        body.append(f"ld.global.u32 %r7, [%rd1+{_SUM}]; add.u32 %r7, %r7, 1; @!%p3 st.global.u32 [%rd1+{_SUM}], %r7;")
        if whole and random.random() < 0.9:
            body.append("bar.sync 0;")
        body.append("@%p3 ret;")
        weak = last and random.random() < 0.4
        body.append(f"st.global.u32 [%rd1+{_LOCK}], {after};" if weak else _release(random, after, status))
        text += "\n ".join(body) + "\n ret;\n"
    text += "}\n"
    check = {"forall": f"x[{_SUM // 4}] == {ctas}", "race_free": True, "terminates": True}
    params = {"x": {"type": "u32", "elements": 8, "init": [0]}}
    block = 2 if whole else 1
    tree = {"ptx": "k.ptx", "entry": "k", "grid": ctas, "block": block, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
