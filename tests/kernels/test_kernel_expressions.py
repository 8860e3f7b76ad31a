"""Expressions over buffers mean what C says they mean."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxcore.values import terms
from ptxmm.kernels.expression_reader import parse
from ptxmm.kernels.expressions import TYPES, Element, ExpressionError, Resolver, Typed

_C = {"u": "uint{}_t", "s": "int{}_t"}


def _bits(kind: str, value: float) -> int:
    form = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}.get(kind)
    if form:
        return int(struct.unpack(form[1], struct.pack(form[0], value))[0])
    return int(value) & terms.mask(TYPES[kind].width)


def _resolver(values: dict[str, tuple[str, float]], *, symbolic: bool = False) -> Resolver:
    def resolve(element: Element) -> Typed:
        kind, value = values[element.label]
        known = TYPES[kind]
        return Typed(terms.symbol(element.label, known.width) if symbolic else _bits(kind, value), known)

    return resolve


def holds(text: str, **values: tuple[str, float]) -> bool:
    """The truth of an expression on numbers; on symbols first, which must come to the same."""
    labelled = {name.replace("_at_", "[") + ("]" if "_at_" in name else ""): v for name, v in values.items()}
    expression = parse(text)
    symbols = {terms.symbol(label, TYPES[kind].width): _bits(kind, value) for label, (kind, value) in labelled.items()}
    known = expression.truth(_resolver(labelled))
    assert terms.evaluate(expression.truth(_resolver(labelled, symbolic=True)), symbols) == known
    return bool(known)


def test_the_example_of_the_documentation() -> None:
    values = {"x_at_0": ("u32", 2), "y_at_1": ("u32", 3)}
    assert holds("x[0] == 2 && y[1] < 4", **values)
    assert not holds("x[0] == 2 && y[1] < 3", **values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 9", True),
        ("1 << 2 + 1 == 8", True),
        ("6 & 3 == 3", False),  # C's trap: == binds more tightly than &
        ("(6 & 3) == 2", True),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("-1 < 1u", False),  # unsigned wins
        ("-1 < 1l", True),
        ("0xFFFFFFFF == -1", True),
        ("4294967295 == -1", False),
        ("4294967295u + 1 == 0", True),
        ("2147483647 + 1 < 0", True),
        ("2147483648 > 0", True),
        ("1 ? 2 : 3", True),
        ("0 ? 2 : 0", False),
        ("!0 && ~0 == -1 && - -3 == 3", True),
        ("1 << 40 == 0", True),
        ("-8 >> 1 == -4", True),
        ("0xFFFFFFF8 >> 1 == 0x7FFFFFFC", True),
        ("1.5 * 2 == 3", True),
        ("0.1f == 0.1", False),
        ("1e300 * 1e300 > 1e308", True),
        ("7 / 2.0 == 3.5", True),
        ("true && !false", True),
    ],
)
def test_numbers_compute_as_in_c(text: str, value: bool) -> None:
    assert holds(text) == value


def test_small_integers_are_promoted() -> None:
    assert holds("a + b == 300", a=("u8", 255), b=("u8", 45))
    assert not holds("a == -1", a=("u8", 255))
    assert holds("a == -1 && a < 0", a=("s8", -1))
    assert holds("a == 0xFFFF", a=("b16", 0xFFFF))


def test_floats_compare_as_floats() -> None:
    assert holds("f[0] == 1.5 && f[0] > d[0]", f_at_0=("f32", 1.5), d_at_0=("f64", 1.25))
    assert not holds("f == f", f=("f32", float("nan")))
    assert holds("f != f", f=("f32", float("nan")))
    assert holds("f == 0 && !f", f=("f64", -0.0))
    expression = parse("h == 1.5 && h * 2 == 3 && h < b")
    halves = {"h": Typed(0x3E00, TYPES["f16"]), "b": Typed(0x4000, TYPES["bf16"])}
    assert expression.truth(lambda e: halves[e.name]) == 1


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("x[0] = 1", (5, 6), "assigns"),
        ("x[0] ==", (6, 7), "ends too early"),
        ("", (0, 1), "ends too early"),
        ("(x[0] == 1", (0, 1), "never closed"),
        ("x[0] == 1)", (9, 10), "operator is wanted"),
        ("x[0] 1", (5, 6), "operator is wanted"),
        ("(x[0] y", (6, 7), "unexpected 'y': an operator or ')' is wanted"),
        ("(x[0] = y)", (6, 7), "assigns"),
        ("x[0] ==)", (7, 8), "unexpected ')': a number"),
        ("x[0] == 1 &&& 2", (12, 13), "unexpected '&': a number"),
        ("x[1 == 1", (7, 8), "']' is wanted"),
        ("x[0 1]", (4, 5), "unexpected '1': ']' is wanted"),
        ("(1 ? (2 : 3)", (8, 9), "unexpected ':': an operator or ')' is wanted"),
        ("x[0] /\\ y[0]", (5, 7), "litmus"),
        ("x[y[0]] == 1", (2, 6), "known in advance"),
        ("x[1.5] == 1", (2, 5), "whole number"),
        ("x[0] == 1z", (8, 10), "no number"),
        ("x[0] == 010", (8, 11), "octal"),
        ("x[0] == 99999999999999999999", (8, 28), "more than 64 bits"),
        ("x[0] # 1", (5, 6), "unexpected '#'"),
        ("x[0] ? 1", (7, 8), "':'"),
        ("1.5 & 1", (0, 7), "no meaning for floats"),
        ("~1.5", (0, 4), "no meaning for floats"),
        ("1 << 1.5", (0, 8), "no meaning for floats"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, place: tuple[int, int], words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text).truth(_resolver({"x[0]": ("u32", 0), "y[0]": ("u32", 0)}))
    assert (caught.value.start, caught.value.end) == place
    assert words in caught.value.message


def test_a_spoilt_copy_of_the_parser_is_made_anew(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code = (
        "import sys, importlib.util\n"
        f"importlib.util.cache_from_source = lambda *a, **k: {str(kept)!r}\n"
        "sys.dont_write_bytecode = False\n"
        "from ptxmm.kernels.expression_reader import parse\n"
        "print(parse('x[0] == 1').node.op)"
    )
    said = []
    for spoil in (None, b"", b"spoilt"):
        if spoil is not None:
            kept.write_bytes(spoil)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        said.append((done.stdout, done.stderr))
        assert len(kept.read_bytes()) > 1000
    assert said == [("==\n", "")] * 3


@pytest.mark.long
def test_nesting_has_a_limit_and_length_has_none() -> None:
    assert holds(" && ".join(["1"] * 5000))
    assert holds("(" * 5000 + "1" + ")" * 5000)
    for text in (
        "(" * 5000 + "!" * 5000 + "1" + ")" * 5000,
        "!" * 5000 + "1",
        "+".join(["1"] * 5000),
        "1?1:" * 5000 + "1",
    ):
        with pytest.raises(ExpressionError):
            parse(text)


@given(st.text(alphabet="x[0]()12+-*/%&|^!~<>=?: .fu\n\\", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text).truth(_resolver({"x[0]": ("u32", 7), "x": ("s8", 1)}))
    except ExpressionError as error:
        assert 0 <= error.start < error.end
    except KeyError:
        pass  # an element that nobody declared


def _random_expression(random_: random.Random, names: list[str], depth: int) -> str:
    if depth == 0 or random_.random() < 0.2:
        if random_.random() < 0.6:
            return random_.choice(names)
        return random_.choice(
            ["0", "1", "2u", "7", "255", "0x80000000", "4294967295", "3ll", "0xFFFFFFFFFFFFFFFF", "100ul"]
        )
    below = [_random_expression(random_, names, depth - 1) for _ in range(3)]
    kind = random_.randrange(8)
    if kind == 0:
        return f"({random_.choice('-~!')}{below[0]})"
    if kind == 1:
        return f"({below[0]} ? {below[1]} : {below[2]})"
    if kind == 2:  # C leaves the rest of the shifts open
        return f"({below[0]} {random_.choice(['<<', '>>'])} {random_.randrange(32)})"
    if kind == 3:  # and division by zero
        return f"({below[0]} {random_.choice('/%')} {random_.choice(['3', '5u', '7ll'])})"
    op = random_.choice(["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||"])
    return f"({below[0]} {op} {below[1]})"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler to compare with")
def test_random_expressions_agree_with_a_c_compiler(tmp_path: Path) -> None:
    random_ = random.Random(6)
    kinds = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
    names = [f"v{i}" for i in range(len(kinds))]
    numbers = {
        n: random_.choice([0, 1, 5, 127, 128, 255, 32768, 65535, 2**31, 2**32 - 1, 2**63, 2**64 - 1]) for n in names
    }
    values = {n: (k, numbers[n] & terms.mask(TYPES[k].width)) for n, k in zip(names, kinds, strict=True)}
    texts = [_random_expression(random_, names, 4) for _ in range(300)]
    lines = ["#include <stdint.h>", "#include <stdio.h>", "int main(void) {"]
    for name, (kind, value) in values.items():
        c = _C[kind[0]].format(kind[1:])
        lines.append(f"volatile {c} {name}_ = ({c}){value}ull; {c} {name} = {name}_;")
    lines += [f"putchar(({text}) ? 49 : 48);" for text in texts] + ["return 0; }"]
    source = tmp_path / "expressions.c"
    source.write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["gcc", "-w", "-fwrapv", "-o", str(tmp_path / "run"), str(source)], check=True, timeout=900)
    said = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, check=True, timeout=900).stdout
    ours = "".join(str(int(holds(text, **values))) for text in texts)
    wrong = [t for t, a, b in zip(texts, said, ours, strict=True) if a != b]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("all(x[i] == 2 * i for i in range(3))", "x[0] == 2 * 0 && x[1] == 2 * 1 && x[2] == 2 * 2"),
        ("any(x[i] == 1 for i in range(1, 3))", "x[1] == 1 || x[2] == 1"),
        ("sum(x[i] for i in range(3)) == 3", "x[0] + x[1] + x[2] == 3"),
        ("all(x[i + j] == x[j] for i in range(2) for j in range(i, 2) if i != j)", "x[1] == x[1]"),
        ("all(any(x[j] == i for j in range(2)) for i in range(2))", "(x[0] == 0 || x[1] == 0) && (x[0] == 1 || x[1] == 1)"),
        ("all(x[i] == i for i in range(2, -1, -2))", "x[2] == 2 && x[0] == 0"),
        ("sum(1 for i in range(3) if i != 1) == x[2]", "2 == x[2]"),
        ("any(in[i] == for for i in range(1))", "in[0] == for"),
    ],
)  # fmt: skip
def test_a_comprehension_is_what_it_is_written_out(text: str, written_out: str) -> None:
    short, long = parse(text), parse(written_out)
    assert {e.label for e in short.elements()} == {e.label for e in long.elements()}
    rng = random.Random(text)
    for _ in range(60):
        values = {e.label: ("s8", rng.choice((-1, 0, 1, 2, 4))) for e in long.elements()}
        assert short.truth(_resolver(values)) == long.truth(_resolver(values)), values


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("all(x[0] == 1)", ")", "'for i in range(...)' is wanted"),
        ("all(x[i] for i)", ")", "'in range(...)' is wanted"),
        ("all(x[i] for i in x)", "x)", "'range(...)' is wanted"),
        ("all(x[i] for i in range(n))", "n))", "a bound of 'range' must be a number, known in advance"),
        ("all(x[i] for i in range(1.5))", "1.5", "a bound of 'range' must be a whole number"),
        ("all(x[i] for i in range(0, 2, 0))", "0))", "a step of 'range' is not 0"),
        ("all(x[i] for i in range(2) if n)", "n)", "the condition of a loop must be a number, known in advance"),
        ("all(x[i] for i in range(0))", "all", "its ranges are empty"),
        ("min(x[i] for i in range(2)) == 0", "min", "all, any or sum"),
        ("all(x[j] for i in range(2))", "j", "the index of 'x' must be a number, known in advance"),
        ("all(x[i] for i in range(100000000))", "x[i]", "more than 2,000,000"),
        ("all(x[i] for i in range(2)", "(", "never closed"),
    ],
)
def test_a_mistake_in_a_comprehension_is_told_where_it_stands(text: str, at: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert message in f"{error.value.message} {error.value.hint}"
    assert error.value.start == text.index(at)


@pytest.mark.parametrize("text", ["all(" * 400 + "x[0]" + " for i in range(1))" * 400, "x[" * 400 + "0" + "]" * 400])
def test_what_nests_too_deep_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="nests more than 100"):
        parse(text)
