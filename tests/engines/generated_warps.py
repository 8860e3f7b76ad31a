"""Small tests with what the threads of a warp compute together, with packed and vector atomic operations and with carries,
generated: what the engines are compared on."""

from __future__ import annotations

from hypothesis import strategies as st

#: Numbers: of integers, and of two halves with few bits.
_NUMBERS = ("0", "1", "2", "0x3C003C00", "0x40003C00")
TOGETHER = (
    "shfl.sync.idx.b32 {d}, {a}, {lane}, 31, {mask};",
    "shfl.sync.bfly.b32 {d}|%p0, {a}, 1, 31, {mask}; @!%p0 mov.u32 {d}, 7;",
    "shfl.sync.up.b32 {d}, {a}, 1, 0, {mask};",
    "shfl.sync.idx.b32 {d}, {a}, {b}, 31, {mask};",
    "redux.sync.add.u32 {d}, {a}, {mask};",
    "redux.sync.min.s32 {d}, {a}, {mask};",
    "setp.eq.u32 %p0, {a}, 1; vote.sync.ballot.b32 {d}, %p0, {mask};",
    "setp.eq.u32 %p0, {a}, {b}; vote.sync.all.pred %p1, %p0, {mask}; selp.u32 {d}, 1, 2, %p1;",
    "match.any.sync.b32 {d}, {a}, {mask};",
    "elect.sync {d}|%p0, {mask};",
)
_ALONE = (
    "ld.relaxed.gpu.u32 {d}, [x];",
    "ld.relaxed.gpu.u32 {d}, [y];",
    "ld.weak.v2.u32 {{{d}, {a}}}, [v];",
    "st.relaxed.gpu.u32 [x], {a};",
    "st.relaxed.gpu.u32 [y], {a};",
    "st.weak.v2.u32 [v], {{{a}, {b}}};",
    "atom.relaxed.gpu.add.u32 {d}, [x], 1;",
    "atom.relaxed.gpu.global.add.noftz.f16x2 {d}, [y], {a};",
    "red.relaxed.gpu.global.v2.f16x2.max.noftz [v], {{{a}, {b}}};",
    "add.cc.u32 {d}, {a}, 0xFFFFFFFF; addc.u32 {a}, 0, 0;",
    "fence.acq_rel.cta;",
    "bar.warp.sync 3;",
)


@st.composite
def warps(draw: st.DrawFn) -> str:
    """Two threads of a warp, which do the same things together, and perhaps one of another warp."""
    threads: list[list[str]] = [[], []]
    registers = ("%r0", "%r1", "%r2")
    mask = draw(st.sampled_from(("3", "3", "-1", "1")))

    def filled(line: str) -> str:
        d, a, b = (draw(st.sampled_from(registers)) for _ in "dab")
        a, b = (a, b) if "{{{d}" not in line or a != d else (next(r for r in registers if r != d), b)
        return line.format(d=d, a=a, b=b, lane=draw(st.integers(0, 1)), mask=mask)

    for _ in range(draw(st.integers(1, 2))):
        for thread in threads:
            for _ in range(draw(st.integers(0, 1))):
                thread.append(filled(draw(st.sampled_from(_ALONE))))
        line = draw(st.sampled_from(TOGETHER))
        for t, thread in enumerate(threads):
            if mask != "1" or t == 0:
                thread.append(filled(line))
    for thread in threads:
        if draw(st.booleans()):
            thread.append(filled(draw(st.sampled_from(_ALONE))))
    if draw(st.booleans()):
        threads.append([filled(draw(st.sampled_from(_ALONE[:-1]))) for _ in range(draw(st.integers(1, 2)))])
    blocks = []
    for t, lines in enumerate(threads):
        start = " ".join(f"mov.b32 {r}, {draw(st.sampled_from(_NUMBERS))};" for r in registers)
        warp = "warp 0,cta 0" if t < 2 else f"warp 1,cta {draw(st.integers(0, 1))}"
        blocks.append(f"P{t}@{warp} {{ {start} {' '.join(lines)} }}")
    terms = [f"{t}:{r}" for t in range(len(threads)) for r in registers if draw(st.booleans())]
    terms += draw(st.sampled_from(((), ("x",), ("y",), ("v[0]", "v[1]"))))
    seen = [f"locations [{' '.join(f'{term};' for term in terms)}]"] if terms else []
    memory = "x = 0; y = 1; .align 8 .u32 v[2] = {0, 2};"
    return "\n".join(["PTX warps", f"{{ {memory} }}", *blocks, *seen, "exists (true)", ""])
