"""Files of kinds and of conditions: what herd7's `-kinds` and `-conds` make of a test, recorded, and what is wrong in one."""

from __future__ import annotations

import dataclasses

import pytest

import ptxmm
from litmus.formats import read
from litmus.formats.printer import write_proposition
from litmus.formats.questions import read_questions
from ptxcore.diagnostics import InputError

SB = """PTX SB
Expect=ok
{ x=0; y=0; .u32 a[2]; }
 P0@cta 0             | P1@cta 1             ;
 st.weak.u32 [x], 1   | st.weak.u32 [y], 1   ;
 ld.weak.u32 %r0, [y] | ld.weak.u32 %r0, [x] ;
exists (0:r0=0 /\\ 1:r0=0)
"""


def asked(kinds: tuple[str, ...] = (), conditions: tuple[str, ...] = ()) -> list[str]:
    def files(texts: tuple[str, ...]) -> list[tuple[str, bytes]]:
        return [(f"f{n}", text.encode()) for n, text in enumerate(texts)]

    test = read_questions(files(kinds), files(conditions)).asked_of(read(SB))
    return [f"{c.quantifier} {write_proposition(c.proposition)}" for c in test.conditions]


OWN = "(0:r0 = 0 /\\ 1:r0 = 0)"


@pytest.mark.parametrize(
    ("kinds", "conditions", "expected"),
    [
        (("SB Forbid # c\n",), (), f"~exists {OWN}"),
        (("SB Required",), (), f"forall {OWN}"),
        (('SB ""\n',), (), f"exists {OWN}"),
        (("SB ???\n",), (), f"exists {OWN}"),
        (("OTHER Forbid\n",), (), f"exists {OWN}"),
        (("SB Allow\nSB Forbid\n",), (), f"~exists {OWN}"),
        (("SB Forbid\n", "SB Allow\n"), (), f"~exists {OWN}"),
        (("% only\r\n\r\n\t# that\r\n",), (), f"exists {OWN}"),
        ((), ('SB "exists 0:r0=1"\n',), "exists 0:r0 = 1"),
        ((), ('SB "~exists (0:r0=1)" % c\n',), "~exists 0:r0 = 1"),
        (("SB Forbid\n",), ('SB "exists 0:r0=1"\n',), "~exists 0:r0 = 1"),
        ((), ('SB "forall\n (a[1]=0)"\n',), "forall a[1] = 0"),
    ],
)
def test_questions_are_those_that_herd_asks(kinds: tuple[str, ...], conditions: tuple[str, ...], expected: str) -> None:
    (found,) = asked(kinds, conditions)
    assert found.replace("==", "=").replace("(", "").replace(")", "") == expected.replace("(", "").replace(")", "")


MISTAKES = [
    ("SB foo\n", "", "f0:1:4: error: 'foo' is no kind", "Allow, Forbid"),
    ("# c\nSB Forbidd\n", "", "f0:2:4: error: 'Forbidd' is no kind", "'Forbid"),
    ("SB\n", "", "f0:1:1: error: nothing is said of 'SB'", ""),
    ("SB Allow Forbid\n", "", "f0:1:1: error: no name and its value", "MP Forbid"),
    ('SB "Allow\n', "", "f0:1:1: error: no name", ""),
    ("", '\nSB "0:r0=1"\n', "f0:2:5: error: unexpected '0'", "exists"),
    ("", 'SB "exists (0:r0=\n', "f0:1:1: error: no name", ""),
    ("", 'SB "exists (0:r0=1"\n', "f0:1:12: error: this '(' is never closed", ""),
    ("", 'SB "exists 0:r7=1"\n', "f0:1:12: error: P0 never writes the register r7", ""),
    ("", 'SB "exists z=1"\n', "f0:1:12: error: location 'z' is not declared", ""),
    ("", 'SB "exists 3:r0=1"\n', "f0:1:12: error: the test has no thread P3", "P0, P1"),
    ("", 'SB "filter x=0 exists x=1"\n', "f0:1:5: error: a condition is wanted", ""),
    ("", 'SB ""\n', "f0:1:5: error: a condition is wanted", ""),
    ("", "SB exists\n", "f0:1:", "", ""),
]


@pytest.mark.parametrize(("kinds", "conditions", "message", "hint"), [m[:4] for m in MISTAKES])
def test_mistakes_have_their_places(kinds: str, conditions: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        asked((kinds,) if kinds else (), (conditions,) if conditions else ())
    text = caught.value.render()
    assert text.startswith(message) and hint in text and "^" in text


def test_bytes_that_are_no_text_are_told_with_their_place() -> None:
    with pytest.raises(InputError, match="is not UTF-8"):
        read_questions([("f", b"SB \xff\n")])


def test_another_question_has_another_answer() -> None:
    test = dataclasses.replace(read(SB), meta=(("Expect", "no"),))
    forbidden = read_questions([("f", b"SB Forbid\n")]).asked_of(test)
    assert forbidden.meta == () and test.meta != ()  # what was expected was of the other question
    assert [ptxmm.check(t).verdict for t in (read(SB), forbidden)] == ["ok", "no"]
    assert read_questions([("f", b"SB Allow\n")]).asked_of(test) is test
