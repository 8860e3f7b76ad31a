"""Names of nested blocks are told apart before anything is said about a function."""

from __future__ import annotations

from ptxcore.advice.names import told_apart
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction, Label

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n"


def names(body: str) -> list[str]:
    module, found = read_module(f"{_HEAD}{body}\n}}\n")
    assert not found
    at = next(i for i, s in enumerate(module.statements) if type(s).__name__ == "OpenBrace")
    apart = told_apart(module.statements[at + 1 : -1])
    return [
        f"{s.name}:" if isinstance(s, Label) else print_statement(s)
        for s in apart
        if isinstance(s, Label | Instruction)
    ]


def test_a_register_of_a_block_is_not_that_of_another_one_nor_of_the_function() -> None:
    blocks = "".join(f"{{ .reg .u32 %t; mov.u32 %t, {number}; }} " for number in (2, 3))
    assert names(f".reg .u32 %t; mov.u32 %t, 1; {blocks} mov.u32 %t, 4;") == [
        "mov.u32 %t, 1", "mov.u32 %t{1}, 2", "mov.u32 %t{2}, 3", "mov.u32 %t, 4",
    ]  # fmt: skip


def test_a_branch_goes_to_the_label_of_its_block_also_where_that_comes_later() -> None:
    block = "{ .reg .pred p; again: @p bra again; bra out; out: ret; }"
    assert names(f"{block} {block} bra.uni end; end: ret;") == [
        "again{1}:", "@p{1} bra again{1}", "bra out{1}", "out{1}:", "ret",
        "again{2}:", "@p{2} bra again{2}", "bra out{2}", "out{2}:", "ret",
        "bra.uni end", "end:", "ret",
    ]  # fmt: skip


def test_what_an_inner_block_does_not_declare_is_that_of_the_one_around_it() -> None:
    inner = "{ .reg .b32 %r<3>; .reg .b64 %a; { .reg .b32 %q; add.u32 %q, %r2, %r3; st.u32 [%a+4], {%q, %r1}; } }"
    assert names(f".reg .b32 %r<9>; {inner}") == ["add.u32 %q{2}, %r2{1}, %r3", "st.u32 [%a{1}+4], {%q{2}, %r1{1}}"]
