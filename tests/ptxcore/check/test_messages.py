"""What a user reads for the mistakes that are made most: what is marked, what is wrong, and what would be right."""

from __future__ import annotations

import pytest

from ptxcore.check.module import check_text
from ptxmm.linting import lint_text

HEADER = ".version {}\n.target {}\n.address_size 64\n"
BODY = """
.extern .func (.param .b32 r) f (.param .b64 a);
.global .u32 G; .shared .b64 S; .const .f32 C;
.visible .entry k(.param .u64 P)
{
.reg .pred p<4>; .reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 f<8>; .reg .f64 e<4>;
WAIT:
"""

#: A statement, with `<...>` around what is marked; the beginning of the message; what the hint has ("" for no hint).
NOW = (
    # Modifiers.
    ("<mul.u32> r1, r2, r3;", "'mul.u32' needs a part of the result: one of .lo .hi .wide", "mul.part.type d, a, b (section"),
    ("<fma.f32> f1, f2, f3, f4;", "'fma.f32' needs a rounding modifier: one of .rn .rz .rm .rp", "fma.rnd{.ftz}"),
    ("<div.f32> f1, f2, f3;", "'div.f32' in this form is gone since PTX ISA 1.4", "needs a rounding modifier: one of .approx"),
    ("<shfl.down.b32> r1, r2, 1, 31;", "'shfl.down.b32' in this form is gone since PTX ISA 6.4 on sm_70", "needs .sync"),
    ("<cvt.f32.u32> f1, r1;", "'cvt.f32.u32' needs a rounding modifier: one of .rn .rz .rm .rp", "cvt.frnd"),
    ("<setp.u32> p1, r1, r2;", "'setp.u32' needs a comparison: one of .eq .ne", "setp.cmp.type p{|q}, a, b"),
    ("<atom.u32> r1, [d1], r2;", "'atom.u32' needs an operation: one of .add .inc .dec .min .max", "the form is: atom"),
    ("<ld.global> r1, [d1];", "'ld.global' needs a type: one of .b8", "section 9.7.9.8"),
    ("<vote.sync.all> p1, p2, -1;", "'vote.sync.all' needs a type: .pred", "vote.sync.mode.pred"),
    ("<ld.acquire.u32> r1, [d1];", "'ld.acquire.u32' needs a scope: one of .cta .cluster .gpu .sys", "ld.sem.scope"),
    ("ld.relaxed.cta<.gpu>.u32 r1, [d1];", "'.gpu' conflicts with '.cta'", "the form is"),
    ("setp<.lt>.b32 p1, r1, r2;", "'.lt' cannot stand with .b32", "the form is"),
    ("atom.or<.u32> r1, [d1], r2;", "type '.u32' does not go with 'atom.or', which takes .b32 .b64", "the form is"),
    ("<wgmma.mma_async.sync.aligned.f32.f16.f16> d1, d2, 1, 1, 1, 0, 0;", "'wgmma.mma_async.sync.aligned.f32.f16.f16' needs "
     "a shape: one of .m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 ... .m64n248k16 .m64n256k16", "the form is"),
    # Words that are not known.
    ("ld<.acqiure>.gpu.u32 r1, [d1];", "unknown modifier '.acqiure' on 'ld'", "did you mean '.acquire'?"),
    ("ld.acquire<.device>.u32 r1, [d1];", "unknown modifier '.device' on 'ld'", "legal are .cluster .cta .gpu .sys"),
    ("fence<.seq_cst>.gpu;", "unknown modifier '.seq_cst' on 'fence'", "legal are .acq_rel .acquire .release .sc"),
    ("membar<.gpu>;", "unknown modifier '.gpu' on 'membar'", "legal are .cta .gl .sys"),
    ("ld.global<.v3>.u32 {r1,r2,r3}, [d1];", "unknown modifier '.v3' on 'ld'", "legal are .v2 .v4 .v8"),
    ("shl<.u32> r1, r2, 1;", "unknown modifier '.u32' on 'shl'", "types are .b16 .b32 .b64"),
    ("st.global<.ca>.u32 [d1], r1;", "unknown modifier '.ca' on 'st'", "legal are .cg .cs .wb .wt"),
    ("red.global<.exch>.b32 [d1], r1;", "unknown modifier '.exch' on 'red'", "legal are .add .and .dec"),
    ("add<.U32> r1, r2, r3;", "unknown modifier '.U32' on 'add'", "did you mean '.u32'?"),
    ("<ADD.u32> r1, r2, r3;", "unknown instruction 'ADD'", "did you mean 'add'?"),
    ("trap<.uni>;", "unknown modifier '.uni' on 'trap'", "it takes no modifiers"),
    ("<adds.u32> r1, r2, r3;", "unknown instruction 'adds'", "did you mean 'add'?"),
    ("bra <WAITT>;", "no label 'WAITT' can be seen from here", "did you mean 'WAIT'?"),
    ("mov.u32 r1, <%tidx>;", "'%tidx' is not declared", "did you mean '%tid'?"),
    ("mov.u32 <r9>, 1;", "'r9' is not declared", "declares r0 to r7"),
    ("<.rge> .u32 x;", "unknown directive '.rge'", "did you mean '.reg'?"),
    (".reg <u32> x;", "a register declaration needs a type", "write .u32"),
    (".reg <.i32> x;", "unknown type '.i32'", "did you mean '.u32'?"),
    # Operands.
    ("mul.wide.u32 <r1>, r2, r3;", "'mul.wide.u32' wants an integer of 64 bits in a register here, 'r1' is a .b32 register",
     "registers that fit: .b64 .s64 .u64"),
    ("add.u32 r1, r2, <f1>;", "'add.u32' wants an integer of 32 bits here, 'f1' is a .f32 register", ".b32 .f16x2 .s32 .u32"),
    ("add.u32 <1>, r1, r2;", "an integer of 32 bits in a register is needed here, not an integer constant", "that fit"),
    ("mov.f32 f1, <1>;", "a floating-point value of 32 bits is needed here, not an integer constant", "decimal point"),
    ("mov.u32 r1, <%tid>;", "'mov.u32' wants an integer of 32 bits here, '%tid' is a .v4.u32 special", ".x .y .z .w"),
    ("add.u32 r1, <%tid.x>, 1;", "'add.u32' wants an integer of 32 bits here", "move it to a register before"),
    ("<add.u32> r1, r2;", "'add.u32' takes 3 operands here, not 2", "add.type d, a, b"),
    ("<bar.sync>;", "'bar.sync' takes 1 or 2 operands here, not 0", "bar{.cta}.sync a, {b}"),
    ("<exit> r1;", "'exit' takes no operands here, not 1", "the form is: exit"),
    ("ld.u32 r1, <d1>;", "'ld.u32' wants an address in brackets here, 'd1' is a .b64 register", "write it in brackets"),
    ("ld.shared.u32 r1, <[G]>;", "'ld.shared.u32' wants a .shared variable here, 'G' is a .global variable",
     "write .global instead of .shared"),
    ("ld.u64 d1, <[P]>;", "'ld.u64' wants a .global or .local or .shared variable here, 'P' is a .param", "add .param"),
    ("mov.u64 d1, <[P]>;", "an integer of 64 bits is needed here, not an address", "ld reads what is at an address"),
    ("ld.u32 r1, <[r1]>;", "'ld.u32' wants a 64-bit register for a generic address here, 'r1' is a .b32 register", "32-bit"),
    ("@<r1> ret;", "a guard is a predicate, 'r1' is a .b32 register", "setp"),
    ("bra <p1>;", "'bra' wants a label here, 'p1' is a .pred register", ""),
    ("call <d1>;", "'call' wants a function here, 'd1' is a .b64 register", "ends with a prototype"),
    ("call (r1), f, (<r2>);", "'r2' is .b32: the call's parameter is .param .b64", "same size"),
    ("call (r1), f, <(d1, d2)>;", "the call needs 1 argument, not 2", "the arguments: .param .b64"),
    ("<bra> p1, WAIT;", "'bra' takes 1 operand here, not 2", "bra{.uni} label"),
    ("vmin4.s32.u32.u32.add <r0.b00>, r1, r2, r3;", "'.b00' cannot be selected here", ".b3210, in this order"),
    # Values.
    ("bar.sync <16>;", "16 cannot stand here: 0 to 15 can", ""),
    ("bar.sync 0, <33>;", "33 cannot stand here: a multiple of 32 can", ""),
    ("cp.async.ca.shared.global [S], [d1], <12>;", "12 cannot stand here: 4 8 16 can", ""),
    ("cp.async.cg.shared.global [S], [d1], <8>;", "8 cannot stand here: 16 can", ""),
    # Syntax.
    ("ld.global.u32 r1, [d1<->4];", "an offset is added, never subtracted", "write d1+-4"),
    ("mov.u32 r1, (1 + 2<;>", "')' is missing to match the '(' before ';'", ""),
    ("ld.global.u32 r1, [d1<;>", "',' or ']' is missing before ';'", ""),
    ("mov.u32 r1 <r2>;", "',' or ';' is missing before 'r2'", ""),
    ("mov.u32 r1, <09>;", "'09' is not an integer literal: a leading 0 makes it octal", ""),
)  # fmt: skip

#: The same in older modules, for older targets.
BEFORE = (
    ("6.0", "sm_60", "atom<.relaxed>.gpu.add.u32 r1, [d1], r2;", "'.relaxed' needs sm_70 or higher, the module says sm_60"),
    ("5.0", "sm_50", "atom<.gpu>.global.add.u32 r1, [d1], r2;", "'.gpu' needs sm_60 or higher, the module says sm_50"),
    ("8.0", "sm_80", "st.relaxed<.cluster>.u32 [d1], r2;", "'.cluster' needs sm_90 or higher, the module says sm_80"),
    ("6.0", "sm_70", "<tanh.approx.f32> f1, f2;", "'tanh.approx.f32' needs PTX ISA 7.0, the module says 6.0"),
    ("8.0", "sm_90", "<wgmma.fence.sync.aligned>;", "'wgmma.fence.sync.aligned' needs sm_90a, the module says sm_90"),
)  # fmt: skip


def finding(version: str, target: str, statement: str) -> tuple[str, str, str]:
    """The statement with what is marked in it, the message and the hint of the one finding."""
    body = HEADER.format(version, target) + BODY
    bare = statement.replace("<", "").replace(">", "")
    text = f"{body}{bare}\nret;\n}}\n"
    (found,) = check_text(text)
    assert found.span.line == body.count("\n") + 1
    start, end = found.span.column - 1, found.span.end - 1
    return f"{bare[:start]}<{bare[start:end]}>{bare[end:]}", found.message, found.hint or ""


@pytest.mark.parametrize(("statement", "message", "hint"), NOW, ids=[row[0] for row in NOW])
def test_mistakes_are_explained(statement: str, message: str, hint: str) -> None:
    marked, said, advice = finding("8.0", "sm_90", statement)
    assert marked == statement
    assert said.startswith(message)
    assert hint in advice if hint else not advice


@pytest.mark.parametrize(("version", "target", "statement", "message"), BEFORE, ids=[row[2] for row in BEFORE])
def test_what_a_module_lacks_is_marked(version: str, target: str, statement: str, message: str) -> None:
    assert finding(version, target, statement)[:2] == (statement, message)


@pytest.mark.parametrize("name", ["a" * 5000, "_Z" + "9" * 5000, "r." + "u32." * 2000])
def test_long_names_are_cut(name: str) -> None:
    statements = ("{} r1", "mov.b32 {}, r1", "add.{}.u32 r1, r2, r3", "bra {}", "ld.relaxed.gpu.{}.u32 r1, [G]",
                  "ld.u32 r1, [G]", "{}: .callprototype _ ()", ".reg .{} x")  # fmt: skip
    text = HEADER.format("8.0", "sm_90") + BODY + "".join(s.replace("{}", name) + ";\n" for s in statements)
    for d in lint_text(text):
        assert len(d.message) < 600 and len(d.hint or "") < 600
