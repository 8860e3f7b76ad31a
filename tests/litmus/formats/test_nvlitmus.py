"""Tests of the mixed-proxy artifact: the format, its templates, its answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import ptxmm
from litmus.formats import read, write
from litmus.formats.files import find
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxcore.places import Placement
from ptxmm.kernels.files import TESTS, expand

ONE = """// message passing
.global x;
.surfref s virtually aliases x;   // another way
.global y physically aliases x;
.shared k;
.global f;

d0.b0.t0 {
  st [x], 2;
  fence.proxy.surface; fence.alias;
  st.release.gpu [f], 1;
}
d1.b0.t3 { ld.acquire.gpu r0, [f] == 1; suld r1, [s]; atom.add.acq_rel.sys r2, [k], 1 == 0;
  ld.volatile r3, [x]; ldc r4, [y]; red.add [k], r3; }

permit (r0 == 1 && not r1 != 2 || r2 == 0) as one;
assert (r1 == 2) as two;
check (2 == r1) as three;
"""
TEMPLATE = """.global x; .surfref s virtually aliases x; .texref t virtually aliases x; .global f;
d0.b0.t0 { $0, 2; $1 st.release.cta [f], 1; }
d0.b0.t1 { ld.acquire.cta r0, [f] == 1; $2 $3 r1, $4; }
$5(r1 $6 2) as r1;

$$

# write   | behind it            | before it            | read
 st [x]   |                      |                      | ld   | [x] | assert | ==
 st [x]   |                      |                      | suld | [s] | permit | !=
 st [x]   | fence.proxy.surface; |                      | suld | [s] | assert | ==

 sust [s] | fence.proxy.surface; | fence.proxy.texture; | tld  | [t] | assert | ==
"""


def same_as(theirs: str, ours: str) -> None:
    one, other = read(theirs), read(ours)
    assert (one.locations, one.threads, one.conditions, one.filter) == (
        other.locations, other.threads, other.conditions, other.filter,
    )  # fmt: skip


def test_a_test_is_one_of_the_short_dialect() -> None:
    ours = """PTX t
{ x = 0; s @ surface aliases x; y @ generic aliases x; .shared .u32 k; f = 0; }
 P0@cta 0,gpu 0        | P1@cta 0,gpu 1                ;
 st.weak x, 2          | ld.acquire.gpu r0, f          ;
 fence.proxy.surface   | suld.weak r1, s               ;
 fence.proxy.alias     | atom.add.acq_rel.sys r2, k, 1 ;
 st.release.gpu f, 1   | ld.relaxed.sys r3, x          ;
                       | cold.weak r4, y               ;
                       | red.add.relaxed.gpu k, r3     ;
filter (1:r0 = 1 /\\ 1:r2 = 0)
exists (1:r0 = 1 /\\ ~(1:r1 != 2)) \\/ 1:r2 = 0
forall 1:r1 = 2
exists 2 = 1:r1
"""
    same_as(ONE, ours)
    assert read(write(read(ONE))) == read(ONE)
    assert [t.place for t in read(ONE).threads] == [Placement(0, 0, 0, 0), Placement(1, 1, 1, 1)]


def test_each_command_is_answered() -> None:
    result = ptxmm.check(
        read(".global x; d0.b0.t0 { st [x], 1; ld r0, [x]; }\nassert (r0 == 1) as a;\npermit (r0 == 0) as b;")
    )
    assert [(c.kind, c.holds, c.spot and c.spot.line) for c in result.checks] == [
        ("forall", True, 2),
        ("exists", False, 3),
    ]


def test_the_rows_of_a_template_are_tests(tmp_path: Path) -> None:
    path = tmp_path / "mp.test"
    path.write_text(TEMPLATE)
    (tmp_path / "other.test").write_text("#!/bin/sh\necho .global\n")
    items = expand(find([str(tmp_path)], TESTS))
    assert [(str(item), problem) for item, problem in items] == [(f"{path}:{n}", None) for n in range(1, 5)]
    for item, _ in items:
        test = ptxmm.load(str(item))
        assert isinstance(test, Test) and test.identity == str(item)
        result = ptxmm.check(test, "ptx-7.5")
        assert (result.path, result.name, result.verdict) == (str(item), f"mp.{test.instance}", "ok")
        assert result.spot == (str(path), 4, 0)
    assert [ptxmm.check(ptxmm.load(str(i)), "ptx-7.5").kind for i, _ in items] == [
        "forall",
        "exists",
        "forall",
        "forall",
    ]


MISTAKES = [
    (".globl x;", "1:2", "unknown space '.globl'", "'global'"),
    (".global x", "1:1", "no declaration", ".global x;"),
    (".global x; .global x;\nd0.b0.t0 { ld r0, [x]; }", "1:20", "declared twice", ""),
    (".texref t physically aliases x;\nd0.b0.t0 { }", "1:2", "aliases an address virtually", ""),
    (".global x virtually aliases y;\nd0.b0.t0 { }", "1:11", "physically", ""),
    (".global x;\n", "2:1", "a thread is missing", "d0.b0.t0"),
    (".global x;\nd0.b0.t0 { ld r0, [x];", "2:1", "never closed", ""),
    (".global x;\nd0.b0.t0 { lod r0, [x]; }", "2:12", "unknown instruction 'lod'", "'ld'"),
    (".global x;\nd0.b0.t0 { ld r0, x; }", "2:12", "in brackets", ""),
    (".global x;\nd0.b0.t0 { st [x], 1 == 1; }", "2:12", "returns nothing", ""),
    (".global x;\nd0.b0.t0 { ld.acquire.gpu; }", "2:12", "", ""),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\nd0.b0.t0 { ld r0, [x]; }", "3:1", "is there twice", ""),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\nasert (r0 == 1) as a;", "3:1", "no command", "assert"),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\nassert (r0 == 1);", "3:17", "ends in 'as'", ""),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\nassert (r1 == 1) as a;", "3:9", "nobody loads the register r1", ""),
    (
        ".global x;\nd0.b0.t0 { ld r0, [x]; }\nd0.b0.t1 { ld r0, [x]; }\nassert (r0 == 1) as a;",
        "4:9",
        "of 2 threads",
        "",
    ),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\n$$\n[x] | 1\n[x] | 2\n", "3:1", "a template, of 2 tests", ":1"),
    (".global x;\nd0.b0.t0 { ld r0, [x]; }\n$$\n", "3:1", "no rows", ""),
]


@pytest.mark.parametrize(("text", "place", "message", "hint"), MISTAKES, ids=[m[2] or m[0] for m in MISTAKES])
def test_mistakes_have_their_places(text: str, place: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text, "t.test")
    found = caught.value.diagnostics[0]
    assert f"{found.span.line}:{found.span.column}" == place
    assert message in found.message and hint in (found.hint or "")


@pytest.mark.parametrize(
    ("number", "place", "message"),
    [("9", "6:1", "no test '9'"), ("x", "6:1", "no test 'x'"), ("2", "3:51", r"\$4 has no value")],
)
def test_mistakes_of_templates_have_their_places(number: str, place: str, message: str) -> None:
    text = TEMPLATE if number != "2" else TEMPLATE.replace("| [s] | permit | !=", "")
    with pytest.raises(InputError, match=message) as caught:
        read(text, "t.test", number)
    assert caught.value.render().startswith(f"t.test:{place}: error:")


@pytest.mark.parametrize(
    ("text", "hint"), [("$$\n", "its table has no rows"), ("$$\na\n", "1 to 1"), ("", "it has no table")]
)
def test_a_test_that_a_file_does_not_have_is_told(text: str, hint: str) -> None:
    with pytest.raises(InputError, match="no test '2'") as caught:
        read(f".global x;\nd0.b0.t0 {{ ld r0, [x]; }}\n{text}", "t.test", "2")
    assert hint in caught.value.render()


def test_garbage_is_read_or_refused() -> None:
    chance = random.Random(7)
    pieces = [
        "}",
        "{",
        ";",
        "[x]",
        "==",
        "$7",
        "$$\n",
        ".",
        "d0.b0.t0 {",
        "assert (",
        "as a;",
        "r0",
        "//",
        "not",
        "\0",
        "9" * 30,
    ]
    done = {True: 0, False: 0}
    for _ in range(400):
        text = chance.choice((ONE, TEMPLATE))
        for _ in range(chance.choice((1, 2, 5))):
            at = chance.randrange(len(text))
            end = at + chance.choice((0, 1, 6))
            text = text[:at] + chance.choice(pieces) + text[end:]
        try:
            test = read(text, "t.test", "1" if text.count("$$") else "")
        except InputError as error:
            assert error.render() and all(d.span.line >= 1 and d.span.column >= 1 for d in error.diagnostics)
            done[False] += 1
        else:
            assert read(write(test)) == test
            done[True] += 1
    assert min(done.values()) > 20
