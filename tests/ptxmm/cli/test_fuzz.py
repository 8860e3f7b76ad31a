"""Whatever a file holds, checking it ends in time with a verdict or with an error that says where.

Each mutant is made from a number, so that a finding can be repeated: `python tests/ptxmm/cli/test_fuzz.py 4711` checks one,
`python tests/ptxmm/cli/test_fuzz.py 0:100000` a range, and prints what it found. The campaign takes its range from PTXMM_FUZZ
(`0:100000` unless it is set), so that it can be run in slices.
"""

from __future__ import annotations

import functools
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))  # where no pytest does it

from campaigns import lengths, share
from growth import Hangs, watched

from axioms.cat.model import compile_model
from axioms.errors import UnsupportedProgram
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm import api

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "litmus" / "library"
PUBLIC = ROOT.parent / "shared" / "litmus" / "dat3m"
MODELS = ROOT / "axioms" / "models"

TIMEOUT = 2.0
LONGEST = 20_000  # characters of a mutant

PIECES = (
    *("{", "}", "(", ")", "[", "]", ";", "|", ":", "@", "@!", "~", "=", "==", "!=", "<", "&", "%", ",", ".", "-", "_"),
    *('"', "//", "(*", "*)", "\n", "\t", "\0", "\r", "\x0c", "\u2028", "é", "/\\", "\\/", "=>", "P0", "P1:r0", "[x]"),
    *("exists", "~exists", "forall", "filter (true)", "locations [x;]", "true", "false", "not", "scopes: (cta P0 P1)"),
    *("x.u8[1]", "x[1]", "&x", "0:r7=x;", "y @ surface aliases x;", ".shared .u32 s = 1;", ".u8 b[3];", "x=-1;"),
    *("kernel k = [P0];", "Expect=no\n", "@host", "@warp 0", "@cta 0,gpu 0", "@cta 0,cluster 0,gpu 0", "P7@cta 1"),
    *(".reg .pred p;", "bra L;", "L:", "@p bra L;", "@%p0 bra L;", "exit;", "ret;", "bar.sync 0;", "bar.sync 0, 64;"),
    *("bar.arrive 1, 64;", "bar.red.popc.u32 %r1, 0, %p0;", "fence.sc.gpu;", "fence.proxy.alias;", "membar.gl;"),
    *("mov.u32 %r0, 1;", "add.u32 %r0, %r0, 1;", "setp.eq.u32 %p0, %r0, 0;", "xor.b32 %r0, %r0, %r1;"),
    *("atom.relaxed.gpu.add.u32 %r0, [x], 1;", "red.relaxed.gpu.add.u32 [x], 1;", "st.weak.u32 [x], %r0;"),
    *("atom.acquire.gpu.cas.b32 %r0, [x], 0, 1;", "ld.weak.u64 %rd0, [x];", "mov.u64 %rd0, x;", "ld.weak r0, x"),
    *("mul.wide.u32 %rd0, %r0, 4;", "shl.b32 %r0, %r0, 31;", "mad.lo.u32 %r0, %r0, %r1, 3;", "cvt.u64.u32 %rd0, %r0;"),
)
WORDS = (
    *(
        "ld",
        "st",
        "atom",
        "red",
        "fence",
        "membar",
        "bar",
        "barrier",
        "mov",
        "add",
        "sub",
        "mul",
        "setp",
        "selp",
        "bra",
    ),
    *("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio", "cta", "cluster", "gpu", "sys"),
    *("global", "shared", "shared::cta", "const", "local", "param", "generic", "u8", "u16", "u32", "u64", "s32", "b32"),
    *("b64", "b128", "f32", "v2", "v4", "pred", "add", "min", "max", "inc", "dec", "and", "or", "exch", "cas", "sync"),
    *("arrive", "popc", "lo", "hi", "wide", "eq", "ne", "lt", "nc", "proxy", "alias", "async", "surface", "texture"),
)
NUMBERS = ("0", "1", "2", "3", "-1", "31", "32", "64", "255", "256", "1024", "2147483648", "4294967295", "4294967296")
NUMBERS += ("18446744073709551615", "99999999999999999999999", "0x10", "0xffffffff", "007", "0x")
_TOKEN = re.compile(r"[A-Za-z_$%][\w$]*|\d+|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<=\.)[a-z]\w*|\b(?:ld|st|atom|red|fence|bar|mov|add|setp|bra)\b")
_KINDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<=\.)(?:cta|cluster|gpu|sys)\b",
        r"(?<=\.)(?:weak|relaxed|acquire|release|volatile|acq_rel)\b",
        r"(?<=\.)(?:add|min|max|inc|dec|and|or|xor|exch)\b",
        r"(?<=\.)(?:eq|ne|lt|le|gt|ge)\b",
        r"%?\b(?:r|rd|p)\d+\b",
        r"\b[xyzfm]\b",
        r"~?exists|forall",
        r"/\\|\\/",
    )
)
_ALL_KINDS = "." + ".".join(WORDS) + ".xor.exch.le.gt.ge exists forall ~exists "


# Mutations: each takes a text and gives another.


def _tokens(text: str, chance: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    at = chance.randrange(len(tokens) + 1)
    end = min(len(tokens), at + chance.choice((0, 1, 1, 2, 4)))
    new = (
        [],
        [chance.choice(PIECES)],
        tokens[at:end] * chance.choice((2, 2, 3, 20)),
        [tokens[chance.randrange(len(tokens))]] if tokens else [],
    )
    return "".join([*tokens[:at], *new[chance.randrange(4)], *tokens[end:]])


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines[a:a] = [lines[b]] * chance.choice((1, 1, 2, 8))
    elif kind == 2:
        del lines[a]
    else:
        lines[a] += " " + lines[b]
    return "\n".join(lines)


def _cells(text: str, chance: random.Random) -> str:
    """Cells of a column test, or statements of a block."""
    mark = "|" if "|" in text and chance.randrange(2) else ";"
    cells = text.split(mark)
    a, b = chance.randrange(len(cells)), chance.randrange(len(cells))
    if chance.randrange(2):
        cells[a], cells[b] = cells[b], cells[a]
    else:
        cells[a:a] = [cells[b]] * chance.choice((1, 1, 3))
    return mark.join(cells)


def _replaced(pattern: re.Pattern[str], words: tuple[str, ...], text: str, chance: random.Random) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    m = chance.choice(found)
    return text[: m.start()] + chance.choice(words) + text[m.end() :]


def _numbers(text: str, chance: random.Random) -> str:
    return _replaced(_NUMBER, NUMBERS, text, chance)


def _words(text: str, chance: random.Random) -> str:
    return _replaced(_WORD, WORDS, text, chance)


def _inserted(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(PIECES) + text[at:]


def _siblings(text: str, chance: random.Random) -> str:
    """A word for another of its kind: most mutants of this sort are tests that somebody could have written."""
    found = [(m, kind) for kind in _KINDS for m in kind.finditer(text)]
    if not found:
        return text
    m, kind = chance.choice(found)
    return text[: m.start()] + chance.choice([o.group() for o in kind.finditer(_ALL_KINDS + text)]) + text[m.end() :]


def _modifiers(text: str, chance: random.Random) -> str:
    """One modifier more, or one less."""
    found = list(re.finditer(r"\.[a-z]\w*", text))
    if not found:
        return text
    m = chance.choice(found)
    new = "" if chance.randrange(2) else m.group() + "." + chance.choice(WORDS)
    return text[: m.start()] + new + text[m.end() :]


MUTATIONS = (_tokens, _lines, _lines, _cells, _cells, _numbers, _numbers, _words, _words, _inserted, _modifiers)
MILD = (_siblings, _siblings, _siblings, _cells, _numbers)


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    kind = chance.randrange(3)
    if kind == 0:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + chance.randrange(2) :]
    if kind == 1:
        return data[:at]
    other = chance.randrange(len(data) + 1)
    return data[:at] + data[other : other + chance.choice((1, 10, 200))] + data[at:]


def mutant(texts: list[str], seed: int) -> bytes:
    """The mutant of that number."""
    chance = random.Random(seed)
    text = chance.choice(texts)
    mutations = MUTATIONS if chance.randrange(2) else MILD
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        text = chance.choice(mutations)(text, chance)[:LONGEST]
    data = text.encode("utf-8")
    return _bytes(data, chance) if mutations is MUTATIONS and chance.randrange(6) == 0 else data


@functools.cache
def litmus_texts() -> list[str]:
    files = [*sorted(LIBRARY.rglob("*.litmus")), *sorted(PUBLIC.rglob("*.litmus"))]
    return [file.read_text(encoding="utf-8") for file in files]


@functools.cache
def model_texts() -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted(MODELS.glob("*.cat"))]


# What must hold.


def settings_of(seed: int) -> dict[str, object]:
    """Mostly as people run it; now and then with everything that can be asked for."""
    chance = random.Random(~seed)
    return {
        "model": chance.choice(("ptx-6.0", "ptx-7.5", "ptx-9.0", "ptx-9.0")),
        "unroll": chance.choice((1, 2, 4, 4, 4, 9)),
        "backend": chance.choice((None,) * 15 + ("z3",)),
        "engine": chance.choice(("solve",) * 15 + ("enumerate",)),
        "all_registers": chance.randrange(4) == 0,
        "explain": chance.randrange(4) == 0,
    }


def misplaced(error: InputError) -> str | None:
    """What is wrong with an error's places, if anything is."""
    lines = error.text.split("\n")
    if not error.diagnostics:
        return "an error without a finding"
    if not error.render():
        return "an error that says nothing"
    for line, column, end in (d.span for d in error.diagnostics):
        if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1 or end <= column:
            return f"an error at {line}:{column}-{end}, outside of the file"
    return None


def problem(data: bytes, **settings: object) -> str | None:
    """What is wrong with how a file is checked, if anything is."""
    try:
        with watched():
            test = api.parse(data, "mutant.litmus")
            result = api.check(test, timeout=TIMEOUT, **settings)  # type: ignore[arg-type]
        if result.verdict not in ("ok", "no", "undecided", "undefined"):
            return f"verdict {result.verdict}: {result.error}"
    except InputError as error:
        return misplaced(error)
    except UnsupportedProgram as error:
        return None if str(error) else "refused without a word"
    except Hangs:
        import traceback

        return "hangs: " + traceback.format_exc()
    except Exception as error:
        import traceback

        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return None


def findings(seeds: range) -> Iterator[tuple[int, str]]:
    """The numbers of the mutants that something is wrong with, and what."""
    for seed in seeds:
        found = problem(mutant(litmus_texts(), seed), **settings_of(seed))
        if found is not None:
            yield seed, found


def test_mutated_tests_get_a_verdict_or_an_error_with_a_place() -> None:
    assert list(findings(range(1_000_000, 1_000_400))) == []


@pytest.mark.campaign
def test_a_hundred_thousand_mutated_tests_get_a_verdict_or_an_error_with_a_place() -> None:
    first, last = map(int, os.environ.get("PTXMM_FUZZ", f"0:{share(100_000)}").split(":"))
    assert list(findings(range(first, last))) == []


CAT_PIECES = (
    "|",
    "&",
    ";",
    "\\",
    "*",
    "+",
    "?",
    "^-1",
    "~",
    "(",
    ")",
    "[",
    "]",
    "{}",
    "_",
    "0",
    ",",
    "=",
    "let",
    "rec",
)
CAT_PIECES += ("and", "as", "acyclic", "irreflexive", "empty", "flag", "include", '"', "(*", "*)", "//", "let f(x) =")
CAT_PIECES += ("po", "rf", "co", "fr", "R", "W", "domain(", "range(", "fencerel(F)", "id", "sync_fence", "\0", "é", "x")


def mutated_model(seed: int) -> str:
    chance = random.Random(seed)
    text = chance.choice(model_texts())
    for _ in range(chance.choice((1, 1, 2, 5))):
        tokens = _TOKEN.findall(text)
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        new = ("", chance.choice(CAT_PIECES), tokens[other], tokens[at] + " " + tokens[other])
        tokens[at] = new[chance.randrange(4)]
        text = "".join(tokens)
    return text


def model_problem(text: str, deciding: bool) -> str | None:
    """What is wrong with how a model is taken, and with how it decides a test, if anything is."""
    try:
        with watched():
            model = compile_model("mutant.cat", text)
            if deciding:
                api.check(api.parse(litmus_texts()[0]), model, timeout=TIMEOUT)
    except InputError as error:
        return misplaced(error)
    except (UnsupportedProgram, OutOfTime):
        return None
    except Hangs:
        return "hangs"
    except Exception as error:
        import traceback

        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return None


@pytest.mark.parametrize("count", [*lengths(50, 300), pytest.param(share(30_000), marks=pytest.mark.campaign)])
def test_mutated_models_are_taken_or_refused_with_a_place(count: int) -> None:
    found = [(seed, model_problem(mutated_model(seed), seed % 4 == 0)) for seed in range(count)]
    assert [f for f in found if f[1] is not None] == []


def _main(argument: str) -> None:
    first, _, last = argument.partition(":")
    seeds = range(int(first), int(last)) if last else range(int(first), int(first) + 1)
    if not last:
        sys.stdout.write(
            mutant(litmus_texts(), seeds.start).decode("utf-8", "replace") + f"\n{settings_of(seeds.start)}\n"
        )
    for seed, found in findings(seeds):
        print(f"{seed}: {found}", flush=True)
    print(f"{seeds.start}:{seeds.stop} done", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
