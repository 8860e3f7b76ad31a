"""Which instructions are taken, in which spellings, and what is said about the others."""

from __future__ import annotations

import itertools

import pytest

from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.isa.table import SECTIONS, TYPED, WITH, forms_of
from ptxcore.isa.targets import VERSIONS, gates
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import prepare
from ptxcore.machine.lower.executable import alternatives
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.tree import Instruction

VARIABLES = {
    "x": Variable(64),
    "flag": Variable(128),
    "s": Variable(192, space="shared"),
    "c": Variable(256, space="const"),
}


def findings(text: str, initial: dict[str, int] | None = None) -> list[Diagnostic]:
    try:
        explore(prepare(read_statements(text), TYPED, VARIABLES, initial or {}))
    except InputError as error:
        return list(error.diagnostics)
    return []


@pytest.mark.parametrize(
    "words", [("add", "relaxed", "gpu", "u32", "global"), ("cas", "acquire", "sys", "b32", "shared::cta")]
)
def test_modifiers_come_in_any_order(words: tuple[str, ...]) -> None:
    uses = {
        (use.sem, use.scope, use.op, use.type, use.space)
        for order in itertools.permutations(words)
        for use in alternatives(Instruction("atom", order, ()))
    }
    assert len(uses) == 1


def test_types_keep_their_order() -> None:
    for words, types in ((("u32", "s8"), ("u32", "s8")), (("s8", "sat", "u32"), ("s8", "u32"))):
        assert [use.types for use in alternatives(Instruction("cvt", words, ()))] == [types]


@pytest.mark.parametrize(
    ("text", "columns", "message", "hint"),
    [
        ("ld.relxed.gpu.u32 %r0, [x];", (3, 10), "unknown modifier '.relxed' on 'ld'", "did you mean '.relaxed'?"),
        ("ld.relaxed.u32 %r0, [x];", (1, 15), "'ld.relaxed.u32' needs a scope: one of .cta .cluster .gpu .sys", "form"),
        ("st.release.u32 [x], 1;", (1, 15), "'st.release.u32' needs a scope", "form"),
        ("ld.weak.gpu.u32 %r0, [x];", (8, 12), "'.gpu' does not go with 'ld.weak.u32'", "form"),
        ("ld.acquire.acquire.gpu.u32 %r0, [x];", (11, 19), "'.acquire' stands twice", "form"),
        ("ld.acquire.relaxed.gpu.u32 %r0, [x];", (11, 19), "'.relaxed' conflicts with '.acquire'", "form"),
        ("ld.acquire.gpu.cg.u32 %r0, [x];", (15, 18), "'.cg' does not go with 'ld.acquire.gpu.u32'", "form"),
        ("ld.relaxed.gpu %r0, [x];", (1, 15), "'ld.relaxed.gpu' needs a type", "form"),
        ("ld.v2.u32 %r0, [x];", (11, 14), "a vector of 2 is needed here, not '%r0'", None),
        ("ld.v2.u32 {%r0, %r1, %r2}, [x];", (11, 26), "a vector of 2 is needed here, not a vector of 3", None),
        ("ld.local.u32 %r0, [x];", (1, 13), "'.local' memory is not supported in litmus tests", None),
        ("st.f32 [x], 1;", (13, 14), "a floating-point number is needed here, not 1", "as in 0f3F800000"),
        ("atom.add.b128 %r0, [x], 1;", (9, 14), "type '.b128' does not go with 'atom.add'", "form"),
        ("atom.inc.u64 %rd0, [x], 1;", (9, 13), "type '.u64' does not go with 'atom.inc', which takes .u32", "form"),
        ("atom.relaxed.u32 %r0, [x], 1;", (1, 17), "'atom.relaxed.u32' needs an operation", "form"),
        ("red.acquire.gpu.add.u32 [x], 1;", (4, 12), "unknown modifier '.acquire' on 'red'", None),
        ("red.exch.b32 [x], 1;", (4, 9), "unknown modifier '.exch' on 'red'", None),
        ("add.u8 %r0, 1, 2;", (4, 7), "unknown modifier '.u8' on 'add'", "types are .bf16"),
        ("setp.lt.b32 %p0, 1, 2;", (5, 8), "'.lt' cannot stand with .b32", "form"),
        ("fence;", (1, 6), "'fence' needs a scope: one of .cta .cluster .gpu .sys", "form"),
        ("mbarrier.init.shared.b64 [x], 1;", (27, 28), "'x' is in .global, and 'mbarrier.shared' goes to .shared", None),
        ("cp.async.ca.shared.global [x], [x], 4;", (28, 29), "'x' is in .global, and 'cp' goes to .shared", None),
        ("mbarrier.arrive.shared::cluster.b64 %rd0, [s];", (37, 41), "'_' is needed here, not '%rd0'", None),
        ("red.async.u32 [x], 1;", (1, 14), "'red.async.u32' needs a semantics: one of .relaxed .release", "form"),
        ("wgmma.fence.sync.aligned;", (1, 25), "'wgmma.fence' is not supported in litmus tests",
         "write a kernel test, which has warpgroups"),
        ("tcgen05.wait::ld.sync.aligned;", (1, 30), "'tcgen05.wait::ld' is not supported in litmus tests",
         "'ptxmm library tcgen05' lists kernels"),
        ("tcgen05.fence::after_thread_sync;", (1, 33), "'tcgen05.fence::after_thread_sync' is not supported", "a kernel test"),
        ("call f;", (1, 5), "'call' is not supported in litmus tests", None),
        ("alloca.u64 %rd0, 16, 8;", (1, 11), "'alloca' is not supported in litmus tests", None),
        ("mapa.shared::cluster.u32 %r0, s, 1; multimem.red.relaxed.gpu.add.u32 [x], 1;", (37, 69),
         "'multimem.red' is not supported in litmus tests", None),
        ("ldd.u32 %r0, [x];", (1, 8), "unknown instruction 'ldd'", "did you mean"),
        ("frobnicate;", (1, 11), "unknown instruction 'frobnicate'", None),
        ("ld.u32 %r0, x;", (13, 14), "an address in brackets is needed here, not 'x'", "write [x]"),
        ("ld.u32 %r0, x[%r0];", (13, 19), "'x[%r0]' has a register as its index, which is not supported", "add it"),
        ("mov.u64 %rd0, x; ld.u32 %r0, %rd0[1];", (30, 37), "'%rd0' is a register, and has no elements", None),
        ("ld.u32 %r0, [flga];", (14, 18), "unknown name 'flga'", "did you mean 'flag'?"),
        ("st.u32 [x], flag;", (13, 17), "'flag' is a variable, and a register or an integer is needed here", "load it"),
        ("add.u32 %r0, %r9, 1;", (14, 17), "nothing writes register '%r9'", "init block"),
        ("add.u32 1, 2, 3;", (9, 10), "'1' cannot be written: a register is needed here", None),
        ("mov.u32 x, 3;", (9, 10), "'x' is a variable, and a register is needed here", None),
        ("add.u32 %r0, 1;", (1, 8), "'add' takes 3 operands here, not 2", "form"),
        ("bar.sync 0, 32, 1;", (17, 18), "'bar' takes 1 or 2 operands here, not 3", "form"),
        ("cp.async.ca.shared.global.L2::cache_hint [s], [x];", (1, 41), "'cp' takes 4 or 5 operands here, not 2", "form"),
        ("cp.async.wait_group %r0;", (21, 24), "a number is needed here, not '%r0'", None),
        ("cp.async.ca.shared.global [s], [x], 5;", (37, 38), "5 cannot stand here: 4 8 16 can", None),
        ("mbarrier.arrive.shared.b64 _, [s], 0;", (36, 37), "0 cannot stand here: 1 to 9223372036854775807 can", None),
        ("bar.sync 16;", (10, 12), "barrier 16 does not exist: a CTA has barriers 0 to 15", None),
        ("bar.sync 1, 33;", (13, 15), "33 is not a thread count of a barrier", "a multiple of the warp size, 32"),
        ("ld.global.u32 %r0, [s];", (21, 22), "'s' is in .shared, and 'ld.global' goes to .global", None),
        ("st.u32 [c], 1;", (9, 10), "'c' is in .const, which cannot be written", None),
        ("mov.u32 %r0, 1; add.u64 %rd0, %r0, 1;", (31, 34), "register '%r0' has 32 bits by another use", "declare it"),
        (".reg .b16 %h; ld.u32 %h, [x];", (22, 24), "register '%h' has 16 bits, and at least 32 bits", None),
        ("mov.u32 %r0, 1; @%r0 bra L; L:", (18, 21), "register '%r0' has 32 bits by another use, and a", "declare"),
        ("bra L; L: L:", (11, 12), "label 'L' stands twice", None),
        ("bra Loop; Lop: ret;", (5, 9), "unknown label 'Loop'", "did you mean 'Lop'?"),
        (".reg .u32 %r0, %r0;", (1, 5), "register '%r0' is declared twice", None),
        (".reg .e4m3 %r0;", (1, 5), "unknown register type '.e4m3'", None),
        ("mov.u32 %r0, %tid.x;", (14, 20), "special register '%tid.x' is not determined by where the thread is placed", None),
        ("mov.u32 %r0, {1, 2};", (14, 20), "one value is needed here, not a vector of 2", None),
        ("ld.u32 _, [x];", (8, 9), "'_' cannot be the destination here", "only atom"),
    ],
)  # fmt: skip
def test_findings_say_where_and_what(text: str, columns: tuple[int, int], message: str, hint: str | None) -> None:
    first, *rest = findings(text)
    assert (first.span.column, first.span.end) == columns
    assert first.message.startswith(message)
    assert (hint is None) == (first.hint is None) or hint is None
    assert hint is None or (first.hint is not None and hint in first.hint)
    assert not rest


def test_all_findings_of_a_thread_come_at_once_in_order() -> None:
    found = findings("ld.u33 %r0, [x];\nst.u32 [yy], %r0;\nbra L;\nfoo;")
    assert [d.span.line for d in found] == [1, 2, 3, 4]


def test_a_register_is_read_only_where_every_path_wrote_it() -> None:
    branch = "setp.eq.u32 %p0, %r0, 0; @%p0 mov.u32 %r1, 1; {} st.u32 [x], %r1;"
    assert findings(branch.format("@!%p0 mov.u32 %r1, 2;"), {"r0": 0}) == []
    text = "ld.u32 %r0, [x]; " + branch
    (finding,) = findings(text.format(""))
    assert finding.message == "register 'r1' is read here, but not written on every path that leads here"
    assert findings(text.format("@!%p0 mov.u32 %r1, 2;")) == []
    (early,) = findings("add.u32 %r1, %r2, 1; mov.u32 %r2, 1;")
    assert early.message == "register 'r2' is read here before anything wrote it"
    assert (early.span.column, early.span.end) == (14, 17)


def test_percent_signs_do_not_tell_registers_apart() -> None:
    code = prepare(read_statements("mov.u32 r0, 1; add.u32 %r1, %r0, r0;"), TYPED, {}, {})
    assert {n: r.value for n, r in explore(code).registers.items()} == {"r0": 1, "r1": 2}


@pytest.mark.parametrize(
    ("text", "width", "signed"),
    [
        (".reg .s64 %a; ld.u32 %a, [x];", 64, True),
        (".reg .b16 %a<4>; mov.u16 %a3, 1; mov.u16 %a2, %a3;", 16, False),
        ("ld.s8 %a, [x];", 8, True),
        ("ld.u8 %a, [x]; setp.eq.s32 %p, %a, 0;", 32, False),
        ("mov.s32 %a, 1; add.u32 %a, %a, 1;", 32, True),
        ("setp.eq.u32 %a, 1, 1;", 1, False),
        ("mul.wide.s32 %a, 1, 2;", 64, True),
    ],
)
def test_a_register_has_the_type_of_its_declaration_or_first_use(text: str, width: int, signed: bool) -> None:
    registers = explore(prepare(read_statements(text), TYPED, VARIABLES, {})).registers
    final = registers.get("a") or registers["a2"]
    assert (final.width, final.signed) == (width, signed)


def test_every_form_is_complete() -> None:
    for mnemonic, forms in TYPED.forms.items():
        for form in forms:
            assert form.section, form
            assert form.shown().startswith(mnemonic)
            assert form.pattern.slots is not None
            machine = form.kind in ("nothing", "jump", "call", "return")  # which has their meaning
            assert bool(form.untold) is (form.run is None and not machine), form
            assert form.kind != "value" or all(p.role != "memory" for p in form.pattern.parameters), (
                form
            )  # it computes only
            assert gates(f"{form.version} {form.target}")
            for gate in (*form.needs.values(), *form.manual.values(), *([form.until] if form.until else ())):
                assert gates(gate)


def test_every_version_that_a_form_needs_is_one_that_modules_can_have() -> None:
    for form in (form for forms in TYPED.forms.values() for form in forms):
        wanted = (f"{form.version} {form.target}", *form.needs.values(), *form.manual.values(), form.until)
        assert {gate.version for text in wanted if text for gate in gates(text)} <= VERSIONS, form


def test_each_section_is_listed_with_its_mnemonics() -> None:
    for section, mnemonics in SECTIONS.items():
        assert mnemonics.split() == sorted({form.mnemonic for form in forms_of(section)})


def test_a_file_that_is_not_read_has_no_form_that_takes_the_modifiers() -> None:
    for (section, mnemonic), words in WITH.items():
        for form in forms_of(section):
            if form.mnemonic == mnemonic:
                assert any(slot.required and words.issuperset(slot.words) for slot in form.pattern.slots), form.syntax


def test_a_cell_may_be_any_instruction() -> None:
    assert isinstance(read_statements("fence.release.cluster;")[0], Instruction)
