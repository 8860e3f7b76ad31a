"""Tests in the format of ASPLOS 2015: `GPU_PTX`, registers with types, `scopeTree`, the memory map."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import ptxmm
from litmus.formats import read, write
from ptxcore.diagnostics import InputError
from ptxcore.places import Placement

GIVEN = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "herd" / "gpu_ptx"
HANDOVER = """GPU_PTX handover
"a value through shared and global memory"
{
0:.reg .s32 r0; 0:.reg .b64 r1 = x; 0:.reg .b64 r3 = y;
1:.reg .s32 r0; 1:.reg .pred p1; 1:.reg .b64 r1 = y; 1:.reg .b64 r3 = x;
}
 P0                    | P1                        ;
 mov.s32 r0,1          | ld.volatile.s32 r0,[r1]   ;
 st.global.wt.s32 [r1],r0 | setp.eq.s32 p1,r0,0    ;
 membar.cta            | @p1 bra END               ;
 add.s32 r2,r0,1       | membar.gl                 ;
 st.volatile.s32 [r3],r2 | ld.shared.cg.s32 r2,[r3] ;
                       | END:                      ;
scopeTree
(device (kernel (cta (warp P0) (warp P1))))
x: shared, y: global
~exists (1:r0=2 /\\ 1:r2=0)
"""


def test_the_parts_are_those_of_our_format() -> None:
    test = read(HANDOVER)
    assert [(l.name, l.space, l.type) for l in test.locations] == [("x", "shared", ".s32"), ("y", "global", ".s32")]
    assert [t.place for t in test.threads] == [Placement(0, 0, 0, 0), Placement(1, 0, 0, 0)]
    assert dict(test.threads[0].registers)["r2"] == 0  # named by nobody before it is written
    assert read(write(test)) == test
    assert ptxmm.check(test).verdict == "ok"
    narrow = read(HANDOVER.replace("(warp P0) (warp P1)", "(warp P0)) (cta (warp P1)").replace("x: shared, ", ""))
    assert ptxmm.check(narrow).verdict == "no"


@pytest.mark.parametrize(
    ("tree", "places"),
    [
        ("(device (cta P0 P1))", [Placement(0, 0, 0, 0), Placement(1, 0, 0, 0)]),
        ("(device (kernel (block (sub_group P0 P1))))", [Placement(0, 0, 0, 0), Placement(0, 0, 0, 0)]),
        ("(device P0) (device P1)", [Placement(0, 0, 0, 0), Placement(1, 1, 1, 1)]),
        ("(grid (work_group (warp P1)) (cta (warp P0)))", [Placement(1, 1, 0, 0), Placement(0, 0, 1, 0)]),
    ],
)
def test_levels_have_the_names_that_they_had(tree: str, places: list[Placement]) -> None:
    assert [
        t.place for t in read(HANDOVER.replace("(device (kernel (cta (warp P0) (warp P1))))", tree)).threads
    ] == places


MISTAKES = [
    ("GPU_PTX handover", "GPU_PTX", "2:1", "", ""),
    (".s32 r0; 0:.reg .b64 r1", ".s31 r0; 0:.reg .b64 r1", "4:8", "no type of a register", "'.s32'"),
    ("(device", "(devise", "15:2", "unknown level 'devise'", "'device'"),
    ("(cta (warp P0)", "(warp (cta P0)", "15:24", "a cta does not lie inside a warp", ""),
    ("x: shared", "x: shred", "16:4", "unknown memory 'shred'", "'shared'"),
    ("y: global", "x: global", "16:12", "x stands twice in the memory map", ""),
    ("~exists", "scopes: (sys P0 P1)\n~exists", "17:14", "two scope trees", "leave out"),
    ("(warp P1)", "", "15:28", "leaves out P1", ""),
    ("(1:r0=2", "(1:r11=2", "17:10", "", ""),
    ("membar.gl ", "membar.gpu ", "11:27", "", ""),
]


@pytest.mark.parametrize(("right", "wrong", "place", "message", "hint"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistakes_have_their_places(right: str, wrong: str, place: str, message: str, hint: str) -> None:
    assert HANDOVER.count(right) == 1
    if wrong == "(1:r11=2":  # registers start at 0, also those that nobody names
        assert ptxmm.check(read(HANDOVER.replace(right, wrong))).verdict == "ok"
        return
    with pytest.raises(InputError) as caught:
        ptxmm.check(read(HANDOVER.replace(right, wrong)))
    found = caught.value.diagnostics[0]
    assert (f"{found.span.line}:{found.span.column}" == place) or not message
    assert message in found.message and hint in (found.hint or "")


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the shared collections are not here")
@pytest.mark.parametrize("reading", ["weak", "relaxed"])
def test_the_given_tests_answer_as_they_should(reading: str) -> None:
    expected = json.loads((GIVEN / "expected.json").read_text())["tests"]
    options = ["plain=relaxed"] if reading == "relaxed" else []
    for engine in ("solve", "enumerate"):
        found = {
            path.stem: ptxmm.check(ptxmm.load(path), "ptx-6.0", options=options, engine=engine).verdict
            for path in sorted(GIVEN.glob("*.litmus"))
        }
        assert found == {name: answers[reading]["verdict"] for name, answers in expected.items()}
        assert len(found) == 6


def test_garbage_is_read_or_refused() -> None:
    chance = random.Random(5)
    pieces = [
        "}",
        "{",
        ";",
        "|",
        ":",
        "(",
        ")",
        ".reg",
        "scopeTree",
        "x:",
        "P1",
        "@",
        ",",
        "0:",
        "[r1]",
        "\0",
        "(device P0)",
    ]
    done = {True: 0, False: 0}
    for _ in range(400):
        text = HANDOVER
        for _ in range(chance.choice((1, 2, 5))):
            at = chance.randrange(8, len(text))
            text = text[:at] + chance.choice(pieces) + text[at + chance.choice((0, 1, 6)) :]
        try:
            test = read(text)
        except InputError as error:
            assert error.render() and all(d.span.line >= 1 and d.span.column >= 1 for d in error.diagnostics)
            done[False] += 1
        else:
            assert read(write(test)) == test
            done[True] += 1
    assert min(done.values()) > 20
