"""Broken PTX modules, each made from a number: what the fuzz tests of reading, checking and printing work on."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable
from pathlib import Path

import generate
import layout

SHARED = Path(__file__).resolve().parents[4] / "shared"
#: Characters of a mutant.
LONGEST = 10_000
_GENERATED = 40
_PIECE_OF_MODULE = 6_000

#: One module with a bit of everything, so that the engine has work where no corpus lies beside the repository.
EVERYTHING = """\
.version 8.8
.target sm_100a, debug
.address_size 64
.file 1 "a.cu"
.extern .func (.param .b32 r) g (.param .b64 a, .param .align 8 .b8 b[16]) .noreturn;
.visible .global .align 16 .v4 .f32 table[2] = {{1.0, 0f3F800000, 2e3, 0d4000000000000000}, {-1.0, 0.5, .5, 1.}};
.global .u64 where[3] = {table, generic(table)+8, f};
.global .attribute(.managed) .b8 bytes[4] = {0xFF(table), 1 << 3, (2 + 3) * 4, !0 ? 1 : WARP_SZ};
.global .texref picture = {filter_mode = nearest, addr_mode_0 = wrap};
.const .s16 numbers[2][2] = {{1, -2}, {0x7fff, 0b11}};
.extern .shared .align 4 .b8 dynamic[];
.weak .func (.reg .u32 result) f (.reg .u32 x, .param .f64 y)
{
    mov.u32 result, x;
    ret;
}
.alias h, f;
.visible .entry k (.param .u64 .ptr .global .align 8 pointer, .param .u32 n) .maxntid 128, 1, 1 .minnctapersm 2
{
    .reg .pred %p<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<5>;
    .reg .v4 .f32 %v;
    .shared .align 8 .b64 barrier;
    .loc 1 3 7
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    setp.lt.and.u32 %p1|%p2, %r1, 32, !%p3;
    @!%p1 bra.uni DONE;
    {
        .reg .b32 inner;
        ld.global.v2.u32 {%r2, inner}, [%rd2+8];
        atom.acquire.gpu.global.cas.b32 %r3, [%rd2], %r2, 0xff;
        st.shared.b32 [dynamic+4], inner;
        mad.lo.s32 %r4, %r2, -3, inner;
    }
    mov.f32 %f1, %v.x;
    cvt.rn.satfinite.e4m3x2.f32 %r5, %f1, 0f3F800000;
    shfl.sync.idx.b32 %r6|%p3, %r4, 0, 31, -1;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [barrier], [%rd2, {%r1, %r2}], [barrier];
    .pragma "nounroll";
LOOP:
    ld.acquire.gpu.global.b32 %r7, [%rd2];
    setp.ne.b32 %p1, %r7, 0;
    @%p1 bra LOOP;
P: .callprototype (.param .b32 _) _ (.param .b64 _);
T: .branchtargets LOOP, DONE;
C: .calltargets f;
    {
        .param .b32 out;
        .param .b64 in;
        st.param.b64 [in], %rd1;
        call (out), %rd3, (in), P;
        ld.param.b32 %r8, [out+0];
    }
    brx.idx %r1, T;
    tex.2d.v4.f32.s32 {%f1,%f2,%f3,_}, [picture, {%r1,%r2}];
DONE:
    fence.acq_rel.gpu; bar.sync 0; vadd.u32.u32.s32.sat %r1, %r2.b0, -%r3.h1, %r4; // a comment
    exit; /* and another */
}
.section .debug_str { info: .b8 1, 2, 0x61
 .b32 info+4, .debug_abbrev
 .b64 info-info }
"""

_WORDS = """\
    { } ( ) [ ] ; , : | _ @ @! - + = < > ! ~ ? . .. :: " // /* */ # % $ \\ ` &
    .reg .b32 %r<5> %r<100000> .pred .global .shared .param .local .const .tex .align 3 .v4 .v3 .f32 y[4] y[] {1,2} {{{
    generic(x) 0xff(x) 1.0 0f3f800000 0f1 0d1 1e999 .func .entry .visible .extern .weak .common call call.uni bra L: L
    .callprototype .branchtargets .calltargets .alias .noreturn .maxntid .section .debug_str .b8 .file .loc .pragma
    "nounroll" "x .version 9.0 1.0 .target sm_90 sm_10 debug .address_size .ptr .attribute(.managed) @@DWARF WARP_SZ
    %tid.x %tid %clock64 %nothing .x .b0 .relaxed .acquire .gpu .cta .sys .weak .volatile .u8 .s64 .f16x2 .e4m3 .x1
    .cta_group::1 .cta_group::2 .shared::cluster ret exit trap {} [] () [x+-4] [x-4] x[1] -1 --1 1+ +1 (1 (.s64)1 1/0
    1%0 1?2 1?2:3 0x 0b2 08 99999999999999999999999 -9223372036854775808 18446744073709551615 ld.global.u32 a|b
    .loc_1_2_3 inlined_at function_name mov.b32 st.volatile.u32 membar.gl
"""
PIECES = (*_WORDS.split(), "\n", "\r\n", "\t", "\0", "\x0c", "\r", "\u2028", "\xe9", "\udcff", " ", "/*", "*/", '"\n')
_NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "31",
    "32",
    "33",
    "64",
    "255",
    "256",
    "65536",
    "4294967296",
    "-1",
    "0x" + "f" * 40,
)
_TOKEN = re.compile(r"[.%@!]?[\w$:]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"\b\d+\b")
_MODIFIER = re.compile(r"\.[A-Za-z]\w*(?:::\w+)*")
_MARK = re.compile(r"[{}()\[\];,\"]")


def _slices(text: str) -> list[str]:
    """A module of several times the length that a mutant may have, as modules of single functions."""
    head, *functions = re.split(r"(?m)^(?=(?:\.visible |\.weak |\.extern )?\.(?:entry|func))", text)
    head = head[: _PIECE_OF_MODULE // 4].rpartition("\n")[0] + "\n"
    found = []
    for function in functions[:12]:
        opening, brace, body = function.partition("{")
        lines = body.split("\n")
        for start in range(0, min(len(lines), 900), 90):
            registers = [line for line in lines[:12] if ".reg" in line] if start else []
            found.append(head + opening + brace + "\n".join([*registers, *lines[start : start + 90], "}"]))
    return [module for module in found if len(module) < LONGEST] or [text[:_PIECE_OF_MODULE]]


def _from_declarations() -> list[str]:
    """Modules of statements made from the declarations of the instruction set."""
    lines = [statement.line for statement in generate.statements(_GENERATED * 12, seed=3)]
    head = layout.header("9.0", "sm_100a") + layout.MODULE_DECLARATIONS
    return [
        f"{head}.entry k () {{\n{layout.DECLARATIONS}\n{''.join(line + chr(10) for line in lines[i::_GENERATED])}}}\n"
        for i in range(_GENERATED)
    ]


@functools.cache
def modules() -> tuple[str, ...]:
    """What mutants are made of: small modules of the corpora that are here, pieces of large ones, and our own."""
    found = [EVERYTHING, *_from_declarations()]
    for pattern in ("spec/examples/*.ptx", "spec/rejects/*.ptx", "real/*.ptx"):
        for path in sorted(SHARED.glob(pattern)):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [text] if len(text) <= LONGEST else _slices(text)
    return tuple(found)


# Mutations: each takes a text and gives another.


def _tokens(text: str, chance: random.Random) -> str:
    """Tokens deleted, repeated, swapped, or replaced by those of any module."""
    tokens = _TOKEN.findall(text) or [""]
    at = chance.randrange(len(tokens))
    end = min(len(tokens), at + chance.choice((0, 1, 1, 2, 4)))
    match chance.randrange(5):
        case 0:
            new = []
        case 1:
            new = [chance.choice(PIECES)]
        case 2:
            new = tokens[at:end] * chance.choice((2, 2, 3, 50))
        case 3:
            new = [tokens[chance.randrange(len(tokens))]]
        case _:
            other = _TOKEN.findall(chance.choice(modules())) or [""]
            start = chance.randrange(len(other))
            new = other[start : start + max(1, end - at)]
    return "".join([*tokens[:at], *new, *tokens[end:]])


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            lines[a], lines[b] = lines[b], lines[a]
        case 1:
            lines[a:a] = [lines[b]] * chance.choice((1, 1, 2, 8, 300))
        case 2:
            del lines[a]
        case 3:
            lines[a] += " " + lines[b]
        case 4:
            other = chance.choice(modules()).split("\n")
            start = chance.randrange(len(other))
            lines[a:a] = other[start : start + chance.choice((1, 2, 10))]
        case _:
            lines[a] = lines[a][: chance.randrange(len(lines[a]) + 1)]
    return "\n".join(lines)


def _at(pattern: re.Pattern[str], text: str, chance: random.Random, new: Callable[[str], str]) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text + new("")
    m = chance.choice(found)
    return text[: m.start()] + new(m[0]) + text[m.end() :]


def _numbers(text: str, chance: random.Random) -> str:
    number = chance.choice(
        (*_NUMBERS, "9" * chance.choice((20, 400, 5000)), "0f" + "8" * 9, "1." + "0" * 400 + "e-400")
    )
    return _at(_NUMBER, text, chance, lambda _: number)


def _modifiers(text: str, chance: random.Random) -> str:
    """A modifier more, one less, or another."""
    other = chance.choice(_MODIFIER.findall(chance.choice(modules())) or [".x"])
    kind = chance.randrange(3)
    return _at(_MODIFIER, text, chance, lambda word: ("", other, word + other)[kind])


def _marks(text: str, chance: random.Random) -> str:
    """Brackets and quotes that do not balance any more."""
    other = chance.choice('{}()[];,"')
    return _at(_MARK, text, chance, lambda mark: chance.choice(("", other, mark + other, mark * 2)))


def _inserted(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice((" ", "")) + chance.choice(PIECES) + chance.choice((" ", "")) + text[at:]


def _deep(text: str, chance: random.Random) -> str:
    """Something many times over, and perhaps closed again."""
    unit, closing = chance.choice((
        ("{", "}"), ("(", ")"), ("[", "]"), ("{1,", "}"), ("1?", ":1"), ("1?1:", ""), ("-", ""), ("!", ""), ("(1+", ")"),
        ("{ .reg .b32 %q<3>;\n", "}\n"), ("a|", ""), (".u32", ""), (".x ", ""), ("@p ", ""), ("L:", ""), ("a:", ""),
        ("[a+", "]"), ("generic(", ")"), ("0xff(", ")"), ("(.u64)", ""), ("a,", ""), (";", ""), ("//", "\n"), ("/*", "*/"),
        ("bra L1;", ""), (".func f();\n", ""), ("{a,", "}"), ("1<<", "1"), ('"', ""), (".loc 1 1 1\n", ""), ("# 1\n", ""),
    ))  # fmt: skip
    count = chance.choice((3, 20, 65, 300, 1000))
    at = chance.randrange(len(text) + 1)
    end = closing * count if chance.randrange(2) else ""
    return text[:at] + unit * count + chance.choice(("", "1", "a", ";")) + end + text[at:]


def _long(text: str, chance: random.Random) -> str:
    """A long name, in one place or wherever the old one stands."""
    words = re.findall(r"[A-Za-z_%$][\w$]*", text)
    if not words:
        return text
    word = chance.choice(words)
    name = word + chance.choice("ax0_$%9") * chance.choice((30, 300, 3000))
    return text.replace(word, name, 1 if chance.randrange(2) else chance.choice((2, 20)))


def _cut(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] if chance.randrange(3) else text[at:]


def _joined(text: str, chance: random.Random) -> str:
    other = chance.choice(modules())
    return text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :]


MUTATIONS = (_tokens, _tokens, _tokens, _lines, _lines, _numbers, _modifiers, _modifiers, _marks, _inserted, _deep, _long,
             _cut, _joined)  # fmt: skip


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    match chance.randrange(3):
        case 0:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + chance.randrange(2) :]
        case 1:
            return data[:at] + chance.randbytes(chance.choice((1, 4, 100))) + data[at:]
        case _:
            return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"", b" ")))


def _from_nothing(chance: random.Random) -> bytes:
    """Random bytes, or random words."""
    if chance.randrange(3) == 0:
        return chance.randbytes(chance.choice((0, 1, 10, 300, 5000)))
    inside = chance.choice(("", ".version 9.0\n.target sm_90\n", ".version 9.0\n.target sm_90\n.entry k() {\n"))
    words = [chance.choice(PIECES) for _ in range(chance.choice((1, 5, 30, 300)))]
    return (inside + chance.choice((" ", "", "\n")).join(words)).encode("utf-8", "surrogateescape")


def mutant(seed: int) -> bytes:
    """The mutant of that number, of at most some more than `LONGEST` characters."""
    chance = random.Random(seed)
    if chance.randrange(20) == 0:
        return _from_nothing(chance)
    text = chance.choice(modules())
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        text = chance.choice(MUTATIONS)(text, chance)[:LONGEST]
    data = text.encode("utf-8", "surrogateescape")
    return _bytes(data, chance) if chance.randrange(8) == 0 else data
