"""Atomics: what they return and leave in memory equals a reference, on numbers and on symbols (section 9.7.13.5)."""

from __future__ import annotations

import random
import struct
from fractions import Fraction
from typing import Any

import driver
import pytest
from recorder import Recorder

from ptxcore.isa import atomics
from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.values.terms import Term, evaluate, symbol

FORMS = [form for form in atomics.FORMS if form.run is not None]
#: Inputs of a form, and how many of them are tried on symbols too.
INPUTS, SYMBOLIC = 1000, 40
WHERE, BARRIER = 64, 128


# The reference: numbers as Python has them, sums as fractions.


def number(kind: str, bits: int) -> Fraction | str:
    """What bits of a floating-point type stand for: a fraction, `inf`, `-inf` or `nan`; -0 is told apart by the caller."""
    exponent, fraction = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}[kind]
    sign, field, low = bits >> exponent + fraction, bits >> fraction & (1 << exponent) - 1, bits & (1 << fraction) - 1
    bias = (1 << exponent - 1) - 1
    if field == (1 << exponent) - 1:
        return "nan" if low else "-inf" if sign else "inf"
    magnitude = Fraction(low | (1 << fraction if field else 0)) * Fraction(2) ** (max(field, 1) - bias - fraction)
    return -magnitude if sign else magnitude


def nearest(kind: str, x: Fraction) -> int:
    """The bits of the number of a type that is nearest to a fraction other than 0, by bisection; ties to even."""
    exponent, fraction = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}[kind]
    top = (1 << exponent) - 1 << fraction  # infinity stands one unit beyond the largest number
    largest = number(kind, top - 1)
    below = number(kind, top - 2)
    assert isinstance(largest, Fraction) and isinstance(below, Fraction)
    size = abs(x)
    low, high = 0, top
    while high - low > 1:
        middle = (low + high) // 2
        value = number(kind, middle)
        assert isinstance(value, Fraction)
        if value <= size:
            low = middle
        else:
            high = middle
    lower = number(kind, low)
    upper = 2 * largest - below if high == top else number(kind, high)
    assert isinstance(lower, Fraction) and isinstance(upper, Fraction)
    down = size - lower < upper - size or (size - lower == upper - size and low % 2 == 0)
    return (low if down else high) | (1 << exponent + fraction if x < 0 else 0)


NANS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def float_sum(kind: str, a: int, b: int) -> int:
    if kind == "f64":
        x, y = struct.unpack("<dd", struct.pack("<QQ", a, b))
        nans = [bits for bits, value in ((a, x), (b, y)) if value != value]
        if nans:
            return nans[0] | 1 << 51
        if x + y != x + y:
            return 0x7FF8 << 48
        return int.from_bytes(struct.pack("<d", x + y), "little")
    x, y = number(kind, a), number(kind, b)
    infinite = {v for v in (x, y) if v in ("inf", "-inf")}
    if "nan" in (x, y) or len(infinite) == 2:
        return NANS[kind]
    if infinite:
        return a if x in infinite else b
    assert isinstance(x, Fraction) and isinstance(y, Fraction)
    return nearest(kind, x + y) if x + y else (a & b if x == 0 else 0)


def float_order(kind: str, a: int, b: int, least: bool) -> int:
    if "nan" in (number(kind, a), number(kind, b)):
        others = [bits for bits in (a, b) if number(kind, bits) != "nan"]
        return others[0] if others else NANS[kind]
    top = 1 << WIDTHS[kind] - 1
    ordered = sorted((a, b), key=lambda bits: -(bits - top) - 1 if bits & top else bits)
    return ordered[0 if least else 1]


def flushed(bits: int) -> int:
    return bits & 0x80000000 if not bits >> 23 & 0xFF else bits


def expected(how: Use, shared: bool, old: int, b: int) -> int:
    """What an operation writes over an old value, for one element."""
    kind, _, packed = how.type.partition("x")
    if kind[0] in "fb" and kind not in ("b16", "b32", "b64", "b128"):
        if packed:
            halves = [element(kind, how.op, True, old >> s & 0xFFFF, b >> s & 0xFFFF) for s in (0, 16)]
            return halves[0] | halves[1] << 16
        return element(kind, how.op, shared, old, b)
    width = WIDTHS[kind]
    if how.op in ("min", "max"):
        sign = 1 << width - 1 if kind[0] == "s" else 0
        return {"min": min, "max": max}[how.op](old ^ sign, b ^ sign) ^ sign
    results = {
        "add": old + b,
        "and": old & b,
        "or": old | b,
        "xor": (old | b) - (old & b),
        "exch": b,
        "inc": 0 if old >= b else old + 1,
        "dec": b if old == 0 or old > b else old - 1,
    }
    return results[how.op] % (1 << width)


def element(kind: str, op: str, shared: bool, old: int, b: int) -> int:
    if op != "add":
        return float_order(kind, old, b, op == "min")
    if kind == "f32" and not shared:
        return flushed(float_sum(kind, flushed(old), flushed(b)))
    return float_sum(kind, old, b)


# The comparison.


def draw(use: Use, chance: random.Random) -> Any:
    count = int((use.words["vec"] or "v1")[1:])
    drawn = tuple(driver.draw(use.type, chance) for _ in range(count))
    return drawn if count > 1 else drawn[0]


def name(form: Form) -> str:
    return form.syntax.replace("{.sem}{.scope}{.space}", "") + (f" ({form.where['op']})" if "op" in form.where else "")


def steps(form: Form, seed: str) -> list[tuple[Use, bool, Any, list[Any]]]:
    """Uses of a form with: whether the address lies in .shared, the old value, the sources behind the address."""
    chance = random.Random(f"{form.syntax} {form.where} {seed}")
    uses = driver.uses(form, chance)
    found = []
    for i in range(INPUTS):
        use = uses[i % len(uses)]
        shared = use.space == "shared" or use.space == "shared::cluster" or (not use.words["space"] and i % 3 == 0)
        old, sources = draw(use, chance), [draw(use, chance)]
        if use.op == "cas":
            sources.append(draw(use, chance))
            if chance.random() < 0.5:
                sources[0] = old
        elif form.mnemonic == "red" and "async" in form.syntax:
            sources.append(BARRIER)
        found.append((use, shared, old, sources))
    return found


def after(use: Use, shared: bool, old: Any, sources: list[Any]) -> Any:
    if use.op == "cas":
        return sources[1] if old == sources[0] else old
    if isinstance(old, tuple):
        return tuple(expected(use, shared, o, b) for o, b in zip(old, sources[0], strict=True))
    return expected(use, shared, old, sources[0])


def run(use: Use, shared: bool, old: Any, sources: list[Any]) -> tuple[Any, Recorder]:
    thread = Recorder({WHERE: old, BARRIER: 1 | 1 << 20 | 1 << 63}, ("shared::cluster",) if shared else ("global",))
    if "async" in use.form.syntax and len(use.parameters) < 3:
        sources = sources[:1]
    result = use.form.meaning(use, thread, WHERE, *sources)
    for action in thread.deferred:
        action()
    return result, thread


@pytest.mark.part(16)
@pytest.mark.parametrize("form", FORMS, ids=name)
def test_atomics_equal_their_reference(form: Form) -> None:
    for use, shared, old, sources in steps(form, "numbers"):
        result, thread = run(use, shared, old, sources)
        told = f"{use.words} {use.type} old {old} sources {sources}"
        assert thread.memory[WHERE] == after(use, shared, old, sources), told
        assert result == (old if form.mnemonic == "atom" else None), told
        assert thread.asked[0] == (form.mnemonic, use.width, use.sem, use.scope)
        assert thread.writes == (old == sources[0] if use.op == "cas" else 1)


@pytest.mark.part(4)
@pytest.mark.parametrize("form", FORMS, ids=name)
def test_atomics_on_symbols_equal_those_on_numbers(form: Form) -> None:
    stands: dict[Term, int] = {}

    def hidden(value: Any, width: int) -> Any:
        if isinstance(value, tuple):
            return tuple(hidden(part, width) for part in value)
        made = symbol(("atomic", len(stands)), width)
        stands[made] = value
        return made

    def shown(value: Any) -> Any:
        return tuple(map(shown, value)) if isinstance(value, tuple) else evaluate(value, stands)

    for use, shared, old, sources in steps(form, "symbols")[:: INPUTS // SYMBOLIC]:
        stands.clear()
        symbolic = [source if source == BARRIER else hidden(source, use.width) for source in sources]
        _, thread = run(use, shared, hidden(old, use.width), symbolic)
        new = shown(thread.memory[WHERE])
        if use.op == "cas":
            assert evaluate(thread.writes, stands) == int(old == sources[0])
            new = new if old == sources[0] else old
        assert new == after(use, shared, old, sources), (use.words, old, sources)


# By hand.


@pytest.mark.parametrize(
    ("instruction", "old", "sources", "new"),
    [
        ("atom.global.add.s32", 7, (0xFFFFFFFF,), 6),
        ("atom.inc.u32", 5, (5,), 0),
        ("atom.inc.u32", 4, (5,), 5),
        ("atom.inc.u32", 9, (5,), 0),
        ("atom.dec.u32", 0, (5,), 5),
        ("atom.dec.u32", 6, (5,), 5),
        ("atom.dec.u32", 5, (5,), 4),
        ("atom.min.s64", 1, ((1 << 64) - 2,), (1 << 64) - 2),
        ("atom.max.u64", 1, ((1 << 64) - 2,), (1 << 64) - 2),
        ("atom.cas.b16", 3, (3, 9), 9),
        ("atom.cas.b128", 1 << 100, (1 << 101, 5), 1 << 100),
        ("atom.exch.b128", 1 << 100, (3,), 3),
        ("atom.shared.add.f32", 1, (1,), 2),
        ("atom.global.add.f32", 1, (1,), 0),
        ("atom.global.add.f32", 0x80000001, (0x80000001,), 0x80000000),
        ("atom.global.add.f32", 0x3F800000, (0x40000000,), 0x40400000),
        ("atom.global.add.f32", 0x00800000, (0x80800001,), 0x80000000),
        ("atom.add.f64", 0x3FF0 << 48, (0x3FF0 << 48,), 0x4000 << 48),
        ("atom.add.noftz.f16", 0x0001, (0x0001,), 0x0002),
        ("atom.add.noftz.f16", 0x7BFF, (0x7BFF,), 0x7C00),
        ("atom.add.noftz.f16x2", 0x3C00_0001, (0x3C00_0001,), 0x4000_0002),
        ("atom.add.noftz.bf16x2", 0x3F80_0001, (0x3F80_0001,), 0x4000_0002),
        ("atom.v2.add.f32", (0x3F800000, 1), ((0x3F800000, 1),), (0x40000000, 0)),
        ("atom.v2.min.noftz.f16", (0x0000, 0x7E01), ((0x8000, 0x3C00),), (0x8000, 0x3C00)),
        ("atom.v2.max.noftz.bf16x2", (0x3F80_7FC1, 0), ((0x7FC1_7FC1, 1),), (0x3F80_7FFF, 1)),
    ],
)  # fmt: skip
def test_examples(instruction: str, old: Any, sources: tuple[Any, ...], new: Any) -> None:
    thread = Recorder({WHERE: old}, ("shared::cluster",) if "shared" in instruction else ("global",))
    driver_sources = (thread, WHERE, *sources)
    opcode, *modifiers = instruction.split(".")
    found = driver.candidates(opcode, tuple(modifiers))
    assert isinstance(found, tuple)
    use = next(use for use in found if use.form.run is not None and use.form.only != "ptxas")
    assert use.form.meaning(use, *driver_sources) == old
    assert thread.memory[WHERE] == new


@pytest.mark.parametrize(
    "text", ["red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u64", "red.async.release.gpu.add.u32"]
)
def test_an_asynchronous_reduction_happens_later_and_signals_where_it_says_so(text: str) -> None:
    opcode, *modifiers = text.split(".")
    found = driver.candidates(opcode, tuple(modifiers))
    assert isinstance(found, tuple)
    use = found[0]
    barrier = 1 | 1 << 20 | 1 << 63  # one arrival is pending
    thread = Recorder({WHERE: 5, BARRIER: barrier})
    use.form.meaning(use, thread, WHERE, 3, BARRIER)
    assert thread.memory == {WHERE: 5, BARRIER: barrier}
    thread.deferred[0]()
    assert thread.memory[WHERE] == 8
    told = thread.memory[BARRIER] >> 40 & 0x1FFFFF
    assert told == ((-8) % (1 << 21) if use.words["completion"] else 0)
    assert thread.asked[0] == ("red", use.width, use.sem, use.scope)
    assert thread.asked[1:] == ([("complete_tx", 64, "release", "cluster")] if use.words["completion"] else [])
