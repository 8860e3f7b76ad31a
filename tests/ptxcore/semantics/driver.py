"""Uses of a form and inputs for them, drawn at random; and meanings called by name, for tables of examples."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import reference

from ptxcore.isa.form import ANY_LENGTH, Expected, Form, Slot, Use
from ptxcore.isa.matching import Misfit, match
from ptxcore.isa.operand import SELECTORS, FormOperand
from ptxcore.isa.table import candidates
from ptxcore.isa.types import WIDTHS
from ptxcore.values.ieee import FORMATS

Sources = tuple[Any, ...]

#: More choices of words and types than this are sampled, so that every word occurs.
MOST_USES = 400

_SELECTIONS = {
    SELECTORS["part"]: ["b0", "b1", "b2", "b3", "h0", "h1"],
    SELECTORS["halves"]: ["h" + "".join(digits) for digits in itertools.product("0123", repeat=2)],
    SELECTORS["bytes"]: ["b3210", "b7654", "b0000", "b7520", "b1634", "b0123", "b4765", "b2222"],
    SELECTORS["half_mask"]: ["h0", "h1", "h10"],
    SELECTORS["byte_mask"]: ["b" + "".join(digits) for n in (1, 2, 3, 4) for digits in itertools.combinations("3210", n)],
}  # fmt: skip


def uses(form: Form, chance: random.Random, most: int = MOST_USES) -> list[Use]:
    """The form with each choice of its words and types that its rules allow; a sample of them where they are many."""
    slots = (*form.pattern.slots, *form.pattern.types)
    choices = [[*slot.words] + ([] if slot.required else [""]) for slot in slots]
    number = 1
    for words in choices:
        number *= len(words)
    picked: Iterator[tuple[str, ...]]
    if number <= most:
        picked = itertools.product(*choices)
    else:
        picked = itertools.chain(_each_word(choices, chance), (_any(choices, chance) for _ in range(4 * most)))
    found: dict[tuple[str, ...], Use] = {}
    for words in picked:
        if words not in found:
            made = _use(form, slots, words)
            if made is not None:
                found[words] = made
            if len(found) >= most:
                break
    return list(found.values())


def _any(choices: list[list[str]], chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.choice(words) for words in choices)


def _each_word(choices: list[list[str]], chance: random.Random) -> Iterator[tuple[str, ...]]:
    for _ in range(5):  # rules may forbid the company a word is put in
        for i, words in enumerate(choices):
            for word in words:
                yield (*_any(choices[:i], chance), word, *_any(choices[i + 1 :], chance))


def _use(form: Form, slots: tuple[Slot, ...], words: tuple[str, ...]) -> Use | None:
    first = form.first.split()
    order = sorted(
        range(len(slots)), key=lambda i: first.index(slots[i].name) if slots[i].name in first else len(first)
    )
    found = match((form,), form.mnemonic, [words[i] for i in order if words[i]])
    return None if isinstance(found, Misfit) else found[0]


# Inputs.


def draw_use(use: Use, chance: random.Random) -> Use:
    """The use with what its operands choose: selectors and negation (see `Form`)."""
    chosen: dict[str, str] = {}
    for parameter in use.parameters:
        if parameter.selector and chance.random() < 0.8:
            chosen[f"{parameter.name}sel"] = chance.choice(_SELECTIONS[parameter.selector])
        if "negated" in parameter.flags or ("negative" in parameter.flags and chance.random() < 0.5):
            chosen[f"{parameter.name}neg"] = "-"
    return use.with_operands(chosen) if chosen else use


def draw_sources(use: Use, chance: random.Random) -> Sources:
    """A value for each source operand, and the carry flag where the form reads it."""
    made = reference.inputs().get(reference.key(use.form))
    if made is not None:
        return made(use, chance)
    sources = [
        _source(e, chance) for e in use.expected if e is not None and e.parameter.role not in ("destination", "label")
    ]
    if "in" in use.form.carry:
        sources.append(chance.getrandbits(1))
    return tuple(sources)


def _source(e: Expected, chance: random.Random) -> Any:
    parameter = e.parameter
    if parameter.optional and chance.random() < 0.25:
        return None
    if parameter.role == "tuple":
        return tuple(_source(part, chance) for part in e.parts)
    if parameter.role != "source":
        raise ValueError(f"no inputs can be drawn for {parameter}; say how in INPUTS")
    if e.length == ANY_LENGTH:
        return tuple(draw(e.type, chance) for _ in range(chance.randint(1, 4)))
    if e.length:
        return tuple(draw(e.type, chance) for _ in range(e.length))
    if constant(parameter):
        low, high = parameter.low or 0, parameter.high if parameter.high is not None else 255
        value = chance.randint(low, high)
        return value - value % parameter.multiple
    if parameter.low is not None and parameter.high is not None and chance.random() < 0.7:
        return chance.randint(parameter.low, parameter.high)
    return draw(e.type, chance)


def constant(parameter: FormOperand) -> bool:
    """Whether only a number can stand there."""
    return "imm" in parameter.flags


def draw(kind: str, chance: random.Random) -> int:
    """A value of a type: often one at its boundaries, or one that is short."""
    base, _, count = kind.partition("x")
    number = int(count or 1)
    width = WIDTHS[kind] // number
    element = _float if base in FORMATS else _integer
    return sum(element(base, width, chance) << i * width for i in range(number))


def _integer(base: str, width: int, chance: random.Random) -> int:
    full = (1 << width) - 1
    way = chance.random()
    if way < 0.3:
        return chance.getrandbits(width)
    if way < 0.6:  # a number around zero or around the places where signs and widths end
        place = chance.choice((0, 0, 1 << (width - 1), 1 << (width // 2), 1 << (width // 2 - 1) if width > 1 else 0))
        return place + chance.randint(-3, 3) & full
    if way < 0.8:  # a short one, of either sign
        return chance.choice((1, -1)) * chance.getrandbits(chance.randint(1, width)) & full
    if way < 0.9:  # a run of ones
        return ((1 << chance.randint(0, width)) - 1 << chance.randint(0, width)) & full
    return chance.choice((0, 1, full, full >> 1, 1 << (width - 1), chance.randint(0, 2 * width) & full))


def _float(base: str, width: int, chance: random.Random) -> int:
    form = FORMATS[base]
    fraction, way = form.fraction, chance.random()
    sign = form.sign_bit if chance.getrandbits(1) else 0
    full = (1 << form.exponent + fraction) - 1
    if way < 0.3:
        magnitude = chance.getrandbits(form.exponent + fraction)
    elif way < 0.5:  # one of few significant bits
        magnitude = chance.getrandbits(form.exponent + fraction) & ~((1 << max(fraction - 2, 0)) - 1)
    elif way < 0.8:  # near 1, where results are near too
        magnitude = (form.bias << fraction) + chance.choice((1, -1)) * chance.getrandbits(fraction + 2)
    else:  # around zero, the smallest normal number, 1, infinity, the quiet NaN, and all ones
        infinity = full >> fraction << fraction
        places = (0, 1 << fraction, form.bias << fraction, infinity, infinity | 1 << max(fraction - 1, 0), full)
        magnitude = chance.choice(places) + chance.choice((0, 0, 0, 1, -1, 2))
    rest = chance.getrandbits(width) if chance.random() < 0.05 else 0  # bits that belong to no field of the format
    fields = full << form.padding | form.sign_bit
    return sign | (magnitude & full) << form.padding | (rest & ~fields & (1 << width) - 1)


def cases(form: Form, count: int, seed: object) -> Iterator[tuple[Use, Sources]]:
    """At least `count` inputs, over all uses of the form."""
    chance = random.Random(f"{form.section} {form.syntax} {seed}")
    found = uses(form, chance)
    assert found, f"{form!r} has no use that its rules allow"
    for use in found:
        for _ in range(-(-count // len(found))):
            chosen = draw_use(use, chance)
            yield chosen, draw_sources(chosen, chance)


# Results.


def widths(use: Use) -> list[Any]:
    """The widths of the destinations; of a vector, a list of them."""
    found: list[Any] = []
    for e in use.expected:
        if e is None or e.parameter.role not in ("destination", "tuple"):
            continue
        if e.parts:
            if e.parts[0].parameter.role == "destination":
                found.append([WIDTHS.get(part.type, use.width) for part in e.parts])
            continue
        width = WIDTHS.get(e.type, use.width)
        found.append([width] * e.length if e.length else width)
        if e.parameter.second is not None:
            found.append(1)
    if "out" in use.form.carry:
        found.append(1)
    return found


# Examples.


def apply(instruction: str, *sources: Any, **chosen: str) -> Any:
    """What an instruction gives: `apply("add.sat.s32", -1, 5)`. Negative numbers are taken to the operand's width.
    `chosen` is what operands choose, such as `asel="b0"`; None stands for an operand that was left out."""
    opcode, *modifiers = instruction.split(".")
    found = candidates(opcode, tuple(modifiers))
    assert found is not None and not isinstance(found, Misfit), f"no form for {instruction}: {found}"
    for use in found:
        if use.form.run is None:
            continue
        places = [e for e in use.expected if e is not None and e.parameter.role not in ("destination", "label")]
        if len(places) + ("in" in use.form.carry) != len(sources):
            continue
        if any(not any(p.name == name[:-3] for p in _choosing(use.parameters, name)) for name in chosen):
            continue
        given = [
            value & ((1 << WIDTHS.get(e.type, use.width)) - 1) if isinstance(value, int) else value
            for e, value in zip(places, sources, strict=False)
        ]
        chosen_use = use.with_operands(chosen) if chosen else use
        return use.form.meaning(chosen_use, *given, *sources[len(places) :])
    raise AssertionError(f"no meaning of {instruction} takes {len(sources)} operands and {chosen}")


def _choosing(parameters: tuple[FormOperand, ...], name: str) -> list[FormOperand]:
    if name.endswith("sel"):
        return [p for p in parameters if p.selector]
    return [p for p in parameters if p.flags & {"negative", "negated"}]
