"""Generated kernels in which whoever comes last to a counter goes on with the parent of a tree."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 4 .b8 s[32];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u64 %rd7, s;
"""
#: Words of the buffer: counters, by node; sums of nodes, two of each; what else may be written.
COUNT, DATA, OUT, WORDS = 0, 8, 24, 40

#: By single threads: `r3` is the number of the leaf, `r4` the node.
_THREADS = """ mad.lo.u32 %r3, %r1, {block}, %r2; add.u32 %r4, %r3, {leaves};
 mul.wide.u32 %rd2, %r4, 8; add.u64 %rd2, %rd2, %rd1; add.u32 %r5, %r3, 1; st.global.u32 [%rd2+{data}], %r5;
LOOP: {before} {own}
 shr.u32 %r4, %r4, 1; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd3, %rd1;
 {atom}
 setp.ne.u32 %p1, %r6, {last}; @%p1 bra LOSE;
 {behind}
 mul.wide.u32 %rd2, %r4, 16; add.u64 %rd2, %rd2, %rd1;
 ld.global.u32 %r7, [%rd2+{data}]; ld.global.u32 %r8, [%rd2+{data8}]; mad.lo.u32 %r5, %r7, 3, %r8;
 mul.wide.u32 %rd2, %r4, 8; add.u64 %rd2, %rd2, %rd1; {duty} st.global.u32 [%rd2+{data}], %r5; {after}
 setp.gt.u32 %p2, %r4, 1; @%p2 bra LOOP;
 ret;
LOSE: {lose} ret;
}}"""
#: By CTAs: thread 0 counts, and tells the others in shared memory.
_CTAS = """ mov.u32 %r3, %r1; add.u32 %r4, %r3, {leaves}; setp.ne.u32 %p3, %r2, 0;
 mul.wide.u32 %rd2, %r4, 8; add.u64 %rd2, %rd2, %rd1; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd2, %rd2, %rd4;
 add.u32 %r5, %r3, 1; st.global.u32 [%rd2+{data}], %r5;
LOOP: {before} bar.sync 0; {own}
 shr.u32 %r4, %r4, 1; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd3, %rd1; @%p3 bra MET;
 {atom}
 st.shared.u32 [s], %r6; {told}
MET: bar.sync 0; ld.shared.u32 %r6, [s];
 setp.ne.u32 %p1, %r6, {last}; @%p1 bra LOSE;
 {behind}
 mul.wide.u32 %rd2, %r4, 16; add.u64 %rd2, %rd2, %rd1; add.u64 %rd2, %rd2, %rd4;
 ld.global.u32 %r7, [%rd2+{data}]; ld.global.u32 %r8, [%rd2+{data8}]; mad.lo.u32 %r5, %r7, 3, %r8;
 mul.wide.u32 %rd2, %r4, 8; add.u64 %rd2, %rd2, %rd1; add.u64 %rd2, %rd2, %rd4; {duty} st.global.u32 [%rd2+{data}], %r5; {after}
 setp.gt.u32 %p2, %r4, 1; @%p2 bra LOOP;
 ret;
LOSE: {lose} ret;
}}"""
FENCE = "fence.acq_rel.gpu;"
RIGHT = {
    "before": FENCE,
    "own": "",
    "atom": "atom.relaxed.gpu.global.add.u32 %r6, [%rd3], 1;",
    "last": "1",
    "behind": FENCE,
    "duty": "",
    "after": "",
    "told": "",
    "lose": "",
}


_FLAT = {
    "shr.u32 %r4, %r4, 1;": "setp.lt.u32 %p2, %r4, 3; mov.u32 %r4, 1; @%p2 bra DONE; mov.u32 %r4, 2;",
    "mul.wide.u32 %rd2, %r4, 16; add.u64 %rd2, %rd2, %rd1;": "mov.u64 %rd2, %rd1;",
    "ld.global.u32 %r7, [%rd2+{data}]; ld.global.u32 %r8, [%rd2+{data8}];": """ld.global.u32 %r7, [%rd2+{data24}];
 ld.global.u32 %r8, [%rd2+{data32}]; add.u32 %r7, %r7, %r8; ld.global.u32 %r8, [%rd2+{data40}];""",
    "LOSE: {lose}": "DONE: ret; LOSE: {lose}",
}


def flat(ctas: int, **changed: str) -> KernelTest:
    """Three leaves that count at one place, of which the last one goes on."""
    text = _THREADS
    for before, after in _FLAT.items():
        assert before in text
        text = text.replace(before, after)
    data = {f"data{n}": 4 * DATA + n for n in (8, 24, 32, 40)}
    given = {**RIGHT, "last": "2", **changed}
    return _test(text.format(**given, leaves=3, block=3 // ctas, data=4 * DATA, **data), ctas, 3 // ctas)


def climb(leaves: int, ctas: int, *, together: bool = False, **changed: str) -> KernelTest:
    """A tree of so many leaves, a power of two, by single threads or, `together`, by CTAs of two threads."""
    block = 2 if together else leaves // ctas
    changed = {"before": "fence.sc.gpu;", "behind": "fence.sc.gpu;", **changed} if together else changed
    text = (_CTAS if together else _THREADS).format(
        **{**RIGHT, **changed}, leaves=leaves, block=block, data=4 * DATA, data8=4 * DATA + 8
    )
    return _test(text, ctas, block)


def _test(text: str, ctas: int, block: int) -> KernelTest:
    words = [*range(8), *range(DATA + 2, OUT + 8)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": ctas, "block": block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": [0]}},
        "check": {"forall": " && ".join(f"x[{n}] < 5000" for n in words), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _HEAD + text}).test()


_OUT = f"[%rd1+{4 * OUT}]"
_SAME = (
    "", "", "", "add.u32 %r5, %r5, 2;", "add.u32 %r5, %r5, %r4;", f"red.relaxed.gpu.global.add.u32 {_OUT}, 1;",
    "mov.u32 %r9, %ntid.x; add.u32 %r5, %r5, %r9;", "mov.u32 %r3, 5;",
    "add.u32 %r9, %r3, 1; and.b32 %r9, %r9, 0; add.u32 %r5, %r5, %r9;",
)  # fmt: skip
#: What hangs on who goes on, in some executions or all.
_DUTIES = (
    "add.u32 %r5, %r5, %r3;", "add.u32 %r5, %r5, %r1;",
    "mov.u32 %r9, %ctaid.x; add.u32 %r5, %r5, %r9;", f"st.global.u32 {_OUT}, %r3;", f"st.global.u32 {_OUT}, %r4;",
    f"red.relaxed.gpu.global.add.u32 {_OUT}, %r3;", "mov.u32 %r9, %laneid; add.u32 %r5, %r5, %r9;",
    "setp.eq.u32 %p4, %r3, 0; @%p4 add.u32 %r5, %r5, 7;",
)  # fmt: skip
_AFTERS = ("", "", "st.global.u32 [%rd3], 0;", "mov.u32 %r3, 0;", "add.u32 %r3, %r3, 1;")
_LOSES = ("", "", "", f"red.relaxed.gpu.global.add.u32 {_OUT}, 1;", f"st.global.u32 {_OUT}, 1;")


def kernel(seed: int) -> KernelTest:
    """A tree of two or four leaves, with a few things that may be wrong, or hang on who goes on."""
    choose = random.Random(seed)
    wrong = choose.choice((0.0, 0.0, 0.15))

    def mistaken() -> bool:
        return choose.random() < wrong

    together = choose.random() < 0.3
    how = "fences" if together else choose.choice(("fences", "fences", "acq_rel"))
    fence = "fence.sc.gpu;" if together else choose.choice((FENCE, "fence.sc.gpu;"))
    narrow = fence.replace("gpu", "cta")
    sem = "acq_rel" if how == "acq_rel" else "relaxed"
    if mistaken():
        sem = choose.choice(("relaxed", "acquire", "release"))
    adds = choose.choice(("add.u32 %r6, [%rd3], 1", "inc.u32 %r6, [%rd3], 1", "inc.u32 %r6, [%rd3], 3"))
    scope = "cta" if mistaken() else "gpu"
    changed = {
        "before": "" if mistaken() or how == "acq_rel" else narrow if mistaken() else fence,
        "behind": "" if mistaken() or how == "acq_rel" else narrow if mistaken() else fence,
        "atom": f"atom.{sem}.{scope}.global.{adds};",
        "last": "0" if mistaken() else "1",
        "duty": choose.choice(_DUTIES if choose.random() < 0.3 else _SAME),
        "after": choose.choice(_AFTERS),
        "lose": choose.choice(_LOSES) if choose.random() < 0.15 else "",
        "own": choose.choice(("", "", f"st.global.u32 [%rd2+{4 * DATA}], %r5;")) if mistaken() else "",
        "told": choose.choice(("", "", "st.shared.u32 [s+4], %r3;")),
    }
    if not together and choose.random() < 0.3:
        which = choose.choice(("0", "1"))
        if changed["lose"] and choose.random() < 0.5:
            changed["lose"] = f"setp.eq.u32 %p4, %r6, {which}; @%p4 " + changed["lose"]
        last = {"last": choose.choice("01") if mistaken() else "2"}
        return flat(choose.choice((1, 3)), **{**changed, **last})
    leaves, ctas = choose.choice(((2, 2), (2, 1), (4, 4), (4, 2), (4, 1))) if not together else (2, 2)
    if changed["told"] and together and choose.random() < 0.6:
        changed["duty"] += "ld.shared.u32 %r9, [s+4]; add.u32 %r5, %r5, %r9;"
    return climb(leaves, ctas, together=together, **changed)
