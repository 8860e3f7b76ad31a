"""No input makes the reader fail otherwise than by an error with a place, and none makes it slow."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from campaigns import share
from growth import assert_in_proportion

from litmus import families
from litmus.formats import read, write
from ptxcore.diagnostics import InputError

ROOT = Path(__file__).resolve().parents[3]
PUBLIC = ROOT.parent / "shared" / "litmus" / "dat3m"
LIBRARY = ROOT / "litmus" / "library"
PIECES = (
    *("{", "}", "(", ")", "[", "]", ";", "|", ":", "@", "~", "=", "==", "&", "%", ",", ".", "-", '"', "//", "(*", "*)"),
    *("\n", "\t", "\0", "\r", "\u2028", "é", "/\\", "\\/", "=>", "P0", "P1:r0", "P99999999999", "0x", "0xffffffffffff"),
    *(
        "exists",
        "forall",
        "filter",
        "locations [",
        "scopes: (cta",
        "kernel k = [P0]",
        "Expect=no",
        "aliases",
        ".u8 b[3]",
    ),
    *("@host", "@warp 0", "setp.eq.u32 %p|%q", ".reg .pred p", "bra L", "true", "99999999999999999999999", "x", "[x]"),
)


def seeds() -> list[str]:
    files = sorted(PUBLIC.rglob("*.litmus"))[::5] + sorted(LIBRARY.rglob("*.litmus"))[::3]
    made = [families.cas_lock(2), families.all_to_one_barrier(3), families.independent_reads(2)]
    init = "{ .shared .u64 m; x=1; y @ surface aliases x; 0:r7=&x; }"
    block = f"PTX t {init} P0@cta 0 {{ .reg .pred p; w: @p bra w; }} forall x=1"
    return [file.read_bytes().decode("utf-8", "replace") for file in files] + [write(test) for test in made] + [block]


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice((0, 1, 1, 2, 5, 30)))
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + chance.choice(PIECES) + text[end:]
        elif kind == 2:
            text = text[:at] + text[at:end] * chance.choice((2, 3, 50)) + text[end:]
        else:
            other = chance.randrange(len(text) + 1)
            text = text[:at] + text[other : other + (end - at) + 8] + text[at:]
    return text


def hold(text: str | bytes) -> None:
    """Reading gives a test that survives writing, or an error that can be shown."""
    try:
        test = read(text)
    except InputError as error:
        assert error.diagnostics
        assert all(d.span.line >= 1 and d.span.column >= 1 and d.span.end > d.span.column for d in error.diagnostics)
        assert error.render()
        return
    assert read(write(test)) == test


def run(count: int, seed: int) -> None:
    chance = random.Random(seed)
    texts = seeds()
    for _ in range(count):
        text = mutate(chance.choice(texts), chance)
        hold(text if chance.randrange(10) else text.encode().replace(b"0", b"\xc3", 1))


def test_mutated_files_are_read_or_refused() -> None:
    run(500, seed=1)


@pytest.mark.campaign
def test_a_hundred_thousand_mutated_files_are_read_or_refused() -> None:
    run(share(100_000), seed=2)


@pytest.mark.parametrize(
    "text",
    [
        "PTX t { x=0; } P0 ; ld ; ld.u32 %r0, [x] ;",  # an opcode alone
        "PTX t { x=0; } P0 ; ld.weak r0, y\u00e9 ; exists true",  # a letter that no identifier has
        "PTX t { x=0; } P0 { filter.weak.u32 [x], 1; } exists true",  # an opcode like a part of the tail
        "PTX t { x=0; } P0 { locatons [x]; } exists true",
        "PTX t { x=0; } P0 { setp.ne x; } P1 { ld.u32 %r0, [x]; } exists true",  # a pair of which half is missing
        "PTX t { x=0; } P0 { add.setp.eq.u32 %p|%q, %r0, 1; } exists true",  # a pair that no column takes
        "PTX t { x=0; } P0 ; ld.weak r0, x ; exists x == 1 \u2028",  # a blank for Python, not for patterns
        "PTX t { x=0; } P0 ; ld.weak r0, x ; exists x \x1c",
    ],
)
def test_what_mutation_found(text: str) -> None:
    hold(text)


HEAD = "PTX t\n{ x=0; }\n"
PROGRAM = HEAD + "P0 | P1 ;\nst.weak x, 1 | ld.weak r0, x ;\n"
UNITS = [" ", "\n", "|", ";", "(", "{", "}", "~", "a", "%", "a,\n", "a;", "a|", "(*", '"', "x=0;", "y{", "P0|", "P0{}"]
UNITS += [
    "cta 0,",
    "(cta ",
    "x==0/\\",
    "x==0=>",
    "~(",
    "st.u32 [y1], 1;",
    "setp.u p|",
    "setp.a b\n|",
    "{1,",
    "ld.weak r0, y|",
]
UNITS += ["a @ generic aliases b;", "K=v\n", "\\", "kernel k=[P0];", "-1,", "[", "x;"]


@pytest.mark.part(9)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        *(("", ""), ("PTX t\n{", "}\n P0 ;\n"), (HEAD + "P0 | P1 ;\n", "exists true"), (HEAD + "P0 {", "}")),
        *((PROGRAM + "exists ", "x==0"), (PROGRAM + "locations [", "]"), (PROGRAM + "scopes: ", "")),
    ],
    ids=["file", "init", "rows", "block", "condition", "locations", "tree"],
)
def test_time_is_linear_in_the_input(before: str, after: str, unit: str) -> None:
    def reading(size: int) -> Callable[[], None]:
        text = before + unit * (size // len(unit)) + after

        def take() -> None:
            try:
                read(text)
            except InputError as error:
                error.render()

        return take

    assert_in_proportion(reading, 5_000)


def test_public_files_survive_truncation_anywhere(public_files: list[Path]) -> None:
    text = public_files[0].read_text()
    for end in range(len(text)):
        hold(text[:end])
