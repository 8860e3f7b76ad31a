"""Kernels drawn at random whose result does not depend on the schedule: arithmetic of all widths, guards, branches, loops
with their own bounds for each thread, local memory, shared memory between barriers, warps that exchange, atomic sums."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

_HEAD = """.version 8.6
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .b32 %r<40>; .reg .b64 %rd<12>; .reg .pred %p<8>; .reg .f32 %f<8>; .reg .f64 %fd<4>; .reg .b16 %h<6>;
    .shared .align 8 .b8 s[4096];
    .local .align 8 .b8 l[64];
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u32 %r30, [n];
    mov.u32 %r31, %tid.x; mov.u32 %r32, %ctaid.x; mov.u32 %r33, %ntid.x; mad.lo.u32 %r34, %r32, %r33, %r31;
    mul.wide.u32 %rd2, %r34, 32; add.u64 %rd3, %rd0, %rd2; mul.wide.u32 %rd4, %r34, 4; add.u64 %rd5, %rd1, %rd4;
    shl.b32 %r35, %r31, 2; mov.u32 %r36, s; add.u32 %r36, %r36, %r35;
    ld.global.u32 %r0, [%rd5]; mov.u32 %r1, %r31; mov.u32 %r2, %laneid; xor.b32 %r3, %r0, 0x9e3779b9;
    mov.u32 %r4, %ctaid.x; mov.u32 %r5, 7; sub.u32 %r6, %r0, %r1; not.b32 %r7, %r0;
    cvt.u64.u32 %rd6, %r3; mul.wide.u32 %rd7, %r0, %r3; cvt.rn.f32.s32 %f0, %r0; mov.f32 %f1, 0f3f9d70a4;
    cvt.rn.f32.u32 %f2, %r1; cvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r3; cvt.rn.f64.s32 %fd0, %r6;
    mov.f64 %fd1, 0d3ff3333333333333;
    mul.wide.u32 %rd9, %r30, 32; add.u64 %rd9, %rd9, %rd0;
    setp.lt.u32 %p0, %r0, %r3; setp.eq.u32 %p1, %r5, 7;
    st.local.u32 [l], %r0; st.local.u32 [l+4], %r1; st.local.v2.u32 [l+8], {%r3, %r6};
"""
_TAIL = """
END:
    st.global.u32 [%rd3], %r0; st.global.v2.u32 [%rd3+8], {%r1, %r2}; st.global.u64 [%rd3+16], %rd6;
    st.global.f32 [%rd3+24], %f0; st.global.u16 [%rd3+28], %h0; st.global.u8 [%rd3+30], %r3;
    ret;
}
"""
_INTEGER = (
    "add.u32 {d}, {a}, {b}", "sub.s32 {d}, {a}, {b}", "mul.lo.u32 {d}, {a}, {b}", "mul.hi.u32 {d}, {a}, {b}",
    "mul.hi.s32 {d}, {a}, {b}", "mad.lo.s32 {d}, {a}, {b}, {c}", "and.b32 {d}, {a}, {b}", "or.b32 {d}, {a}, {b}",
    "xor.b32 {d}, {a}, {b}", "not.b32 {d}, {a}", "shl.b32 {d}, {a}, {b}", "shr.u32 {d}, {a}, {b}",
    "shr.s32 {d}, {a}, {b}", "min.s32 {d}, {a}, {b}", "max.u32 {d}, {a}, {b}", "abs.s32 {d}, {a}", "neg.s32 {d}, {a}",
    "popc.b32 {d}, {a}", "clz.b32 {d}, {a}", "brev.b32 {d}, {a}", "bfe.u32 {d}, {a}, 5, 9", "bfe.s32 {d}, {a}, {b}, 7",
    "bfi.b32 {d}, {a}, {b}, 3, 11", "prmt.b32 {d}, {a}, {b}, 0x5410", "shf.l.wrap.b32 {d}, {a}, {b}, {c}",
    "lop3.b32 {d}, {a}, {b}, {c}, 0x96", "selp.u32 {d}, {a}, {b}, {p}", "sad.u32 {d}, {a}, {b}, {c}",
    "div.u32 {d}, {a}, 13", "rem.s32 {d}, {a}, 10", "mov.b32 {d}, {a}", "dp4a.u32.s32 {d}, {a}, {b}, {c}",
    "cvt.s32.s16 {d}, {h}", "cvt.u32.u16 {d}, {h}", "cvt.rzi.s32.f32 {d}, {f}", "mul24.lo.u32 {d}, {a}, {b}",
    "add.cc.u32 {d}, {a}, {b}; addc.u32 {c}, {c}, 0", "vadd4.u32.u32.u32 {d}, {a}, {b}, {c}", "setp.lt.s32 {p}, {a}, {b}",
    "setp.ne.u32 {p}, {a}, {b}", "setp.ge.and.u32 {p}, {a}, {b}, {q}", "xor.pred {p}, {p}, {q}",
)  # fmt: skip
_OTHER = (
    "add.u64 {e}, {e}, {g}", "mul.lo.s64 {e}, {e}, {g}", "mul.hi.u64 {e}, {e}, {g}", "shr.s64 {e}, {e}, {b}",
    "mad.wide.u32 {e}, {a}, {b}, {g}", "cvt.u32.u64 {d}, {e}", "cvt.s64.s32 {e}, {a}", "popc.b64 {d}, {e}",
    "mov.b64 {e}, {{{a}, {b}}}", "mov.b64 {{{d}, {c}}}, {e}", "add.u16 {h}, {h}, %h1", "mul.lo.u16 {h}, {h}, %h1",
    "shr.s16 {h}, {h}, 3", "min.s64 {e}, {e}, {g}", "rem.u64 {e}, {e}, 1000003",
    "add.f32 {f}, {f}, %f1", "mul.f32 {f}, {f}, %f2", "fma.rn.f32 {f}, {f}, %f1, %f2", "sub.ftz.f32 {f}, %f2, {f}",
    "div.rn.f32 {f}, {f}, %f1", "sqrt.rn.f32 {f}, %f2", "min.f32 {f}, {f}, %f2", "max.f32 {f}, {f}, %f1", "neg.f32 {f}, {f}",
    "abs.f32 {f}, {f}", "cvt.rn.f32.s32 {f}, {a}", "setp.gt.f32 {p}, {f}, %f2", "setp.leu.f32 {p}, {f}, %f1",
    "fma.rn.f64 %fd0, %fd0, %fd1, %fd1", "add.f64 %fd0, %fd0, %fd1", "cvt.rn.f32.f64 {f}, %fd0",
    "cvt.rn.f16.f32 {h}, {f}", "cvt.f32.f16 {f}, {h}", "fma.rn.f16 {h}, {h}, {h}, %h1", "ex2.approx.f32 {f}, %f1",
)  # fmt: skip


class Drawn(NamedTuple):
    """A kernel, its launch, and the words of its buffers."""

    text: str
    grid: int
    block: int
    out: int
    given: list[int]


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random, self.lines, self.labels = random, list[str](), 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def value(self) -> str:
        template = self.random.choice(_INTEGER if self.random.random() < 0.6 else _OTHER)
        draw = self.random.choice
        return template.format(
            d=f"%r{draw(range(8))}", a=f"%r{draw(range(8))}", b=f"%r{draw(range(8))}", c=f"%r{draw(range(8))}",
            e=f"%rd{draw((6, 7))}", g=f"%rd{draw((6, 7))}", f="%f0", h="%h0", p=f"%p{draw(range(2))}", q=f"%p{draw(range(2))}",
        )  # fmt: skip

    def guard(self) -> str:
        return self.random.choice(("", "", "", "@%p0 ", "@!%p0 ", "@%p1 ", "@!%p1 "))

    def straight(self, count: int) -> None:
        for _ in range(count):
            text, guard = self.value(), self.guard()
            self.lines.append("; ".join(f"{guard}{part}" for part in text.split("; ")) + ";")

    def statement(self, depth: int, together: bool) -> None:
        kind = self.random.choice(("straight", "if", "else", "loop", "local", "red", "shared", "warp", "vote", "early"))
        if kind in ("shared", "warp", "vote") and not together:
            kind = "straight"
        if kind in ("if", "else", "loop") and depth == 0:
            kind = "straight"
        getattr(self, f"_{kind}")(depth, together)

    def _straight(self, depth: int, together: bool) -> None:
        self.straight(self.random.randint(2, 6))

    def _if(self, depth: int, together: bool) -> None:
        over = self.label()
        self.lines.append(f"@%p{self.random.randrange(2)} bra {over};")
        self.some(depth - 1, False)
        self.lines.append(f"{over}:")

    def _else(self, depth: int, together: bool) -> None:
        other, over = self.label(), self.label()
        self.lines.append(f"@!%p{self.random.randrange(2)} bra {other};")
        self.some(depth - 1, False)
        self.lines += [f"bra {over};", f"{other}:"]
        self.some(depth - 1, False)
        self.lines.append(f"{over}:")

    def _loop(self, depth: int, together: bool) -> None:
        again, counter = self.label(), f"%r{10 + depth}"
        same = together and self.random.random() < 0.5
        bound = f"mov.u32 {counter}, {self.random.randint(1, 4)};" if same else f"and.b32 {counter}, %r0, 3;"
        self.lines += [bound, f"{again}:"]
        self.some(depth - 1, same)
        self.lines += [
            f"add.u32 {counter}, {counter}, -1;",
            f"setp.gt.s32 %p{2 + depth}, {counter}, 0;",
            f"@%p{2 + depth} bra {again};",
        ]

    def _local(self, depth: int, together: bool) -> None:
        self.lines += [
            "and.b32 %r20, %r1, 12; mov.u32 %r21, l; add.u32 %r21, %r21, %r20;",
            self.random.choice(
                ("st.local.u32 [%r21], %r0;", "@%p0 st.local.u16 [%r21+2], %h0;", "ld.local.u32 %r1, [%r21];")
            ),
            "ld.local.v2.u32 {%r2, %r3}, [l+8];",
        ]

    def _red(self, depth: int, together: bool) -> None:
        self.lines += [
            f"and.b32 %r20, %r{self.random.randrange(8)}, 60; cvt.u64.u32 %rd8, %r20; add.u64 %rd8, %rd8, %rd9;",
            self.guard() + self.random.choice((
                "red.global.add.u32 [%rd8], %r1;", "red.global.xor.b32 [%rd8+64], %r3;", "red.global.max.s32 [%rd8+128], %r0;",
                "red.global.min.u32 [%rd8+192], %r0;", "red.global.and.b32 [%rd8+256], %r6;",
            )),
        ]  # fmt: skip

    def _shared(self, depth: int, together: bool) -> None:
        other = self.random.randint(1, 31)
        self.lines += [
            "bar.sync 0;", "st.shared.u32 [%r36], %r0;", "bar.sync 0;",
            f"add.u32 %r20, %r31, {other}; rem.u32 %r20, %r20, %r33; shl.b32 %r20, %r20, 2; mov.u32 %r21, s;",
            "add.u32 %r21, %r21, %r20;", "ld.shared.u32 %r2, [%r21];",
        ]  # fmt: skip
        if self.random.random() < 0.4:
            self.lines += ["bar.sync 0;", "and.b32 %r20, %r0, 124; mov.u32 %r21, s; add.u32 %r21, %r21, %r20;",
                           "atom.shared.add.u32 %r22, [%r21], %r1;", "bar.sync 0;", "ld.shared.u32 %r0, [%r36];"]  # fmt: skip
        if self.random.random() < 0.3:
            self.lines += ["bar.red.popc.u32 %r1, 0, %p0;", "bar.red.or.pred %p1, 1, %p0;"]

    def _warp(self, depth: int, together: bool) -> None:
        mode, lane = self.random.choice((("up", "0"), ("down", "31"), ("bfly", "31"), ("idx", "31")))
        self.lines.append(
            f"shfl.sync.{mode}.b32 %r{self.random.randrange(8)}|%p1, %r0, {self.random.randrange(32)}, {lane}, 0xffffffff;"
        )

    def _vote(self, depth: int, together: bool) -> None:
        self.lines.append(
            self.random.choice((
                "vote.sync.ballot.b32 %r2, %p0, 0xffffffff;", "vote.sync.any.pred %p1, %p0, 0xffffffff;",
                "redux.sync.add.u32 %r3, %r0, 0xffffffff;", "match.any.sync.b32 %r2, %r5, 0xffffffff;",
                "bar.warp.sync 0xffffffff;",
            ))
        )  # fmt: skip

    def _early(self, depth: int, together: bool) -> None:
        if not together and self.random.random() < 0.3:
            self.lines.append("@%p1 bra END;")
        self.straight(1)

    def some(self, depth: int, together: bool) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, together)


def drawn(seed: int) -> Drawn:
    """The kernel of a seed."""
    random = Random(seed)
    writer = _Writer(random)
    for _ in range(random.randint(2, 6)):
        writer.statement(2, True)
    block, grid = 32 * random.randint(1, 6), random.randint(1, 5)
    # Threads leave early only behind everything that they would be waited for at.
    body, seen = [], False
    for line in reversed(writer.lines):
        seen = seen or any(word in line for word in ("bar.", ".sync"))
        body.append(line if not (seen and "bra END" in line) else "")
    text = _HEAD + "\n".join(f"    {line}" for line in reversed(body)) + _TAIL
    given = [random.getrandbits(random.randint(1, 32)) for _ in range(grid * block)]
    return Drawn(text, grid, block, 8 * grid * block + 80, given)
