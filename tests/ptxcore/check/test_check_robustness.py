"""Whatever the text: findings with places, no exception, time that grows with the text alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from growth import assert_in_proportion
from hypothesis import given
from hypothesis import strategies as st

from ptxcore.check.module import check_text

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
WORDS = """
{ } ( ) [ ] ; , : | _ @p @!q - + = < > .reg .b32 .pred %r<5>; %r0 %r1 p q .global .const .shared .param .local
.align 4 8 3 .v4 .f32 x y[4] y[] {1,2} generic(x) 0xff(x) 1.0 .func .entry f k .visible .extern .weak .common
call call.uni f, (%r0), P; bra L; L: P: .callprototype .branchtargets .calltargets .alias .noreturn .maxntid
.section .debug_str .b8 .file .loc 1 .pragma "nounroll" .version 9.0 .target sm_90 .ptr .attribute(.managed)
add.u32 mov.u64 ld.global.u32 st.param.b32 tex.2d.v4.f32.f32 %tid.x %tid %clock64 setp.eq.u32 brx.idx ret;
"""
PIECES = st.sampled_from((*WORDS.split(), "\n"))


@given(st.lists(PIECES, max_size=60).map(" ".join), st.booleans(), st.booleans())
def test_any_sequence_of_words_gets_findings_with_places(words: str, inside: bool, manual: bool) -> None:
    text = HEADER + (f".entry k() {{ .reg .pred p, q; .reg .b32 %r<4>; {words} }}" if inside else words)
    lines = text.split("\n")
    for finding in check_text(text, manual=manual):
        line, column, end = finding.span
        assert 1 <= line <= len(lines)
        assert 1 <= column <= end
        assert finding.message


@pytest.mark.long
@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    assert all(d.span.line >= 1 for d in check_text(text))


#: Texts of any size, that make anything quadratic or recursive show.
LARGE: dict[str, Callable[[int], str]] = {
    "deep blocks": lambda n: "{ .reg .b32 %r<3>; mov.b32 %r1, 1; bra L;\n" * n + "}" * n + "\nL:",
    "branches to nowhere": lambda n: "".join(f"bra L{i};\n" for i in range(n)),
    "undeclared names": lambda n: "".join(f"mov.b32 a{i}, b{i};\n" for i in range(n)),
    "unknown instructions": lambda n: "".join(f"x{i} 1;\n" for i in range(n)),
    "unknown modifiers": lambda n: "".join(f"add.x{i}.u32 a, a, 1;\n" for i in range(n)),
    "many names": lambda n: "".join(f".reg .b32 r{i}_1, q{i}<5>; mov.b32 r{i}_1, q{i}3;\n" for i in range(n)),
    "names in one statement": lambda n: f"mov.b32 {{{', '.join(f'a{i}' for i in range(n))}}}, {{{'a, ' * n}a}};\n",
    "labels in one list": lambda n: f"T: .branchtargets {', '.join(f'L{i}' for i in range(n))};\n",
    "blocks one after another": lambda n: "{ .param .b32 a; st.param.b32 [a], 1; }\n" * n,
}


@pytest.mark.part(2)
@pytest.mark.parametrize("what", LARGE)
def test_large_texts_take_time_in_proportion(what: str) -> None:
    def checking(size: int) -> Callable[[], object]:
        text = f"{HEADER}.entry k() {{\n{LARGE[what](size)}\nret; }}\n"
        return lambda: check_text(text)

    assert_in_proportion(checking, 800)
