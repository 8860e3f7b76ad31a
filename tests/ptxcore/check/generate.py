"""Statements made from the declarations of the instruction set: legal ones of every form, and ones with one fault.

For each form every modifier is chosen, and every pair of modifiers that its rules let stand together; operands are
drawn from what the form's description allows, and from what is close to it. A fault is one change: a modifier or an
operand too many, too few, or another one. What is made depends on the seed and on the declarations alone. Names are
those of `ptxas.DECLARATIONS` and `ptxas.MODULE_DECLARATIONS`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from ptxcore.isa import form as forms_module
from ptxcore.isa.form import Expected, Form, Slot, Use
from ptxcore.isa.matching import Misfit, match
from ptxcore.isa.table import TYPED
from ptxcore.isa.targets import missing, target, version
from ptxcore.isa.types import EXACT, LOOSE, WIDTHS

#: Where statements are asked about: (version, target), the newest of each kind and a way down.
PLACES = (
    ("9.0", "sm_121"), ("9.0", "sm_90a"), ("9.0", "sm_100a"), ("9.0", "sm_103f"), ("9.0", "sm_120a"), ("8.6", "sm_100"),
    ("8.0", "sm_90"), ("7.8", "sm_89"), ("7.1", "sm_80"), ("6.5", "sm_75"), ("6.0", "sm_70"), ("5.0", "sm_60"),
    ("4.1", "sm_52"), ("3.1", "sm_35"), ("2.3", "sm_20"), ("1.4", "sm_13"),
)  # fmt: skip

#: The registers of each type: a stem and how many there are.
REGISTERS = {
    "pred": ("p", 8), "b8": ("b", 16), "u8": ("bu", 16), "s8": ("bs", 16), "b16": ("h", 32), "u16": ("hu", 16),
    "s16": ("hs", 16), "f16": ("hf", 16), "b32": ("r", 160), "u32": ("ru", 160), "s32": ("rs", 160),
    "f16x2": ("rf", 160), "b64": ("d", 32), "u64": ("du", 16), "s64": ("ds", 16), "b128": ("q", 8), "f32": ("f", 160),
    "f64": ("e", 32),
}  # fmt: skip

_VARIABLES = {"global": "G", "shared": "S", "const": "C", "local": "M", "param": "P"}
_INTEGERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 24, 31, 32, 63, 64, 100, 128, 255, 256, 1000, 65535, -1, -2, -128, -32768,
             2147483647, 4294967295, 1 << 40)  # fmt: skip
_FLOATS = ("0f3F800000", "0d3FF0000000000000", "1.5", "0.0", "2e10")
_SPECIAL = ("%tid.x", "%ntid.y", "%laneid", "%clock", "%clock64", "%ctaid.z", "%lanemask_lt", "%gridid")
_SELECTORS = ("b0", "b2", "h0", "h1", "h10", "h32", "h20", "b3210", "b7520", "b10", "b3", "b210")
#: Operands that stand for none in particular, to be put in a wrong place.
_STRANGERS = (
    "p1", "!p2", "b1", "h1", "r1", "d1", "q1", "f1", "e1", "hf1", "rf1", "rs1", "du1", "0", "5", "-1", "1.5", "0f3F800000",
    "0d3FF0000000000000", "_", "[d9]", "[r9]", "[G]", "[S+4]", "G", "S", "T", "fn", "{r1,r2}", "{f1,f2,f3,f4}",
    "{d1,d2}", "[T,{r1,r2}]", "%tid.x", "%clock64", "r1|p1", "-r3", "r1.b0", "L", "(r1)", "[0]", "{r1}",
    "{ru1,ru2}", "{ru1,ru2,ru3,ru4}",
)  # fmt: skip
_STRANGE_WORDS = (
    "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b8", "b16", "b32", "b64", "b128", "f16", "f16x2", "bf16",
    "bf16x2", "f32", "f64", "tf32", "pred", "u16x2", "s16x2", "f32x2", "e4m3", "e4m3x2", "rn", "rz", "rm", "rp", "rna",
    "rni", "rzi", "sat", "satfinite", "relu", "ftz", "noftz", "approx", "full", "lo", "hi", "wide", "cc", "global",
    "shared", "shared::cta", "shared::cluster", "local", "const", "param", "v2", "v4", "v8", "relaxed", "acquire",
    "release", "acq_rel", "sc", "weak", "volatile", "cta", "cluster", "gpu", "sys", "sync", "aligned", "uni", "ca", "cg",
    "cs", "lu", "nc", "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "popc", "eq", "lt", "ne", "equ", "all",
    "any", "x1", "x2", "x4", "row", "col", "trans", "L1::evict_last", "L2::cache_hint", "L2::128B", "1d", "2d", "3d",
    "cta_group::1", "cta_group::2", "to", "bogus",
)  # fmt: skip


class Statement(NamedTuple):
    """A statement, the place where it is to be asked about, and its form's section. `fault` names what was changed."""

    line: str
    version: str
    target: str
    section: str
    fault: str = ""


class Parts(NamedTuple):
    """A statement taken apart."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""

    def line(self) -> str:
        text = f"{self.guard} {'.'.join((self.opcode, *self.modifiers))} {', '.join(self.operands)}".strip() + ";"
        named = {word for operand in self.operands for word in re.findall(r"(?<![\w$%.])[A-Za-z]\w*", operand)}
        if "t" in named:
            text = "t: .branchtargets L; " + text
        if "proto" in named:
            text = "proto: .callprototype _ (); " + text
        return f"{text} L:" if {"L", "t"} & named else text


def sweep(seed: int, sections: Sequence[str] = ()) -> list[Statement]:
    """One legal statement of each form, with each of its operands replaced by one of every kind."""
    made: dict[str, Statement] = {}
    for form in _forms(sections):
        rng = random.Random(f"{seed} sweep {form.syntax}")
        parts = _legal(form, _in_order(form), {}, rng)
        if parts is None:
            continue
        place = _places(form)[0]
        for i in range(len(parts.operands)):
            for other in _STRANGERS:
                operands = (*parts.operands[:i], other, *parts.operands[i + 1 :])
                line = parts._replace(operands=operands, guard="").line()
                made.setdefault(line, Statement(line, *place, form.section, "other operand"))
    return list(made.values())


def _forms(sections: Sequence[str]) -> list[Form]:
    return [
        form
        for family in TYPED.forms.values()
        for form in family
        if form.only != "manual" and (not sections or any(f"{form.section}.".startswith(f"{s}.") for s in sections))
    ]


def statements(count: int, seed: int, sections: Sequence[str] = ()) -> list[Statement]:
    """`count` different statements, or as many as can be made; forms of the given sections of the manual only."""
    rng = random.Random(seed)
    forms = _forms(sections)
    made: dict[str, Statement] = {}
    sources = [_of_form(form, random.Random(f"{seed} {i} {form.syntax}")) for i, form in enumerate(forms)]
    while len(made) < count and sources:
        ended = []
        for i, source in enumerate(sources):
            statement = next(source, None)
            if statement is None:
                ended.append(i)
            else:
                made.setdefault(statement.line, statement)
        for i in reversed(ended):
            del sources[i]
    chosen = list(made.values())
    rng.shuffle(chosen)
    return chosen[:count]


def _of_form(form: Form, rng: random.Random) -> Iterator[Statement]:
    """Statements of a form: first one for each pair of modifiers with its faults in between, then at random."""
    slots = _in_order(form)
    tried = 0
    for wanted in _wishes(slots, rng):
        parts = _legal(form, slots, wanted, rng)
        tried += 1
        if parts is None:
            # Its rules do not let these stand together: a fault of its own.
            yield _placed(form, _lawless(form, slots, wanted, rng), rng, "rules")
            continue
        yield _placed(form, parts, rng)
        if rng.random() < 0.75:
            name, broken = _fault(form, parts, rng)
            yield _placed(form, broken, rng, name)
    while tried < 4000:
        tried += 1
        if form.rules and tried % 2:
            yield _placed(form, _lawless(form, slots, {}, rng), rng, "rules")
            continue
        parts = _legal(form, slots, {}, rng)
        if parts is None:
            continue
        yield _placed(form, parts, rng)
        name, broken = _fault(form, parts, rng)
        yield _placed(form, broken, rng, name)


def _placed(form: Form, parts: Parts, rng: random.Random, fault: str = "") -> Statement:
    fitting = _places(form)
    draw = rng.random()
    place = rng.choice(fitting[:6] if draw < 0.7 else fitting if draw < 0.9 else PLACES)
    return Statement(parts.line(), *place, form.section, fault)


@lru_cache(maxsize=4096)
def _places(form: Form) -> tuple[tuple[str, str], ...]:
    """Where the form can be asked about, the newest first; everywhere if nowhere."""
    gate = f"{form.version} {form.target}" if form.target else form.version
    return (
        tuple(
            place
            for place in PLACES
            if missing(gate, version(place[0]), target(place[1])) is None
            and not (form.until and missing(form.until, version(place[0]), target(place[1])) is None)
        )
        or PLACES
    )


# Modifiers.


@lru_cache(maxsize=4096)
def _in_order(form: Form) -> tuple[Slot, ...]:
    """All slots as the syntax line has them, types among the others."""
    pattern = form.pattern
    queues = {"type": list(pattern.types), "other": list(pattern.slots)}
    head = form.syntax.partition(" ")[0][len(form.mnemonic) :]
    found = []
    for m in forms_module._PART.finditer(head):
        for queue in queues.values():
            if queue and queue[0].name == m[2]:
                found.append(queue.pop(0))
                break
    return tuple(found)


def _wishes(slots: Sequence[Slot], rng: random.Random) -> list[dict[str, str]]:
    """What should stand together: nothing special, each word, each pair of words of two slots."""
    wishes: list[dict[str, str]] = [{}]
    choices = [slot for slot in slots if len(slot.words) > 1 or not slot.required]
    pairs = [{a.name: x, b.name: y} for a, b in combinations(choices, 2) for x in a.words for y in b.words]
    singles = [{slot.name: word} for slot in choices for word in slot.words]
    rng.shuffle(singles)
    rng.shuffle(pairs)
    return wishes + singles + pairs


def _choice(slot: Slot, rng: random.Random) -> str:
    return rng.choice(slot.words) if slot.required or rng.random() < 0.4 else ""


def _legal(form: Form, slots: Sequence[Slot], wanted: dict[str, str], rng: random.Random) -> Parts | None:
    """The form with modifiers that its rules allow, the wanted ones among them; None where some tries found none."""
    for _ in range(40):
        modifiers = [w for w in (wanted.get(slot.name) or _choice(slot, rng) for slot in slots) if w]
        if rng.random() < 0.1:
            modifiers = _shuffled(modifiers, rng)
        uses = match([form], form.mnemonic, modifiers)
        if not isinstance(uses, Misfit):
            guard = rng.choice(("@p0", "@!p3")) if rng.random() < 0.04 else ""
            return Parts(form.mnemonic, tuple(modifiers), _operands(uses[0], rng), guard)
    return None


def _lawless(form: Form, slots: Sequence[Slot], wanted: dict[str, str], rng: random.Random) -> Parts:
    """The form with any modifiers, whatever its rules say, and the operands that it has with them."""
    chosen = {slot.name: word for slot in slots if (word := wanted.get(slot.name) or _choice(slot, rng))}
    types = tuple(chosen[slot.name] for slot in form.pattern.types if slot.name in chosen)
    named = {slot.name: chosen[slot.name] for slot in form.pattern.types if slot.name in chosen}
    others = {name: word for name, word in chosen.items() if name not in named}
    try:
        operands = _operands(Use(form, others, types, named), rng)
    except (KeyError, ValueError, IndexError):  # a layout has no answer for what the rules forbid
        operands = ("r1", "r2", "r3")
    return Parts(form.mnemonic, tuple(chosen[slot.name] for slot in slots if slot.name in chosen), operands)


def _shuffled(modifiers: list[str], rng: random.Random) -> list[str]:
    """Another order, in which types keep theirs."""
    others = [m for m in modifiers if m not in WIDTHS]
    rng.shuffle(others)
    places = sorted(rng.sample(range(len(modifiers)), len(others)))
    types = iter([m for m in modifiers if m in WIDTHS])
    rest = iter(others)
    return [next(rest) if i in places else next(types) for i in range(len(modifiers))]


# Operands.


def _operands(use: Use, rng: random.Random) -> tuple[str, ...]:
    made = []
    for e in use.expected:
        if e is None or (e.parameter.optional and rng.random() < 0.5):
            continue
        made.append(_operand(use, e, rng))
    return tuple(made)


def _operand(use: Use, e: Expected, rng: random.Random) -> str:
    p = e.parameter
    if p.role == "memory":
        return _address(p.words or (use.words["space"] or "generic",), p.flags, rng)
    if p.role == "bracket":
        return "[" + ", ".join(_part(use, part, rng) for part in e.parts) + "]"
    if p.role in _NAMED:
        return _NAMED[p.role]
    text = _vector(e, rng) if e.length else _value(e, rng)
    if p.second is not None and (not p.second.optional or rng.random() < 0.5):
        text += "|" + (_register("pred", rng) if rng.random() < 0.8 else "_")
    return text


_NAMED = {"label": "L", "function": "fn", "prototype": "proto", "targets": "t", "arguments": "()", "results": "()"}


def _part(use: Use, e: Expected, rng: random.Random) -> str:
    p = e.parameter
    for flag, name in (("texref", "T"), ("samplerref", "Q"), ("surfref", "U"), ("texsurf", rng.choice("TU"))):
        if flag in p.flags:
            return name if rng.random() < 0.7 else _register("b64", rng)
    if p.words or not e.type:
        return _address(p.words or (use.words["space"] or "generic",), p.flags, rng)[1:-1]
    return _operand(use, e, rng)


def _address(spaces: Sequence[str], flags: frozenset[str], rng: random.Random) -> str:
    space = rng.choice(list(spaces))
    kind = space.partition("::")[0]
    wide = kind in ("generic", "global", "const", "param") or rng.random() < 0.3
    stem = rng.choice(("b64", "b64", "u64", "s64") if wide else ("b32", "b32", "u32", "s32"))
    name = _VARIABLES.get(kind) or rng.choice("GS")
    if rng.random() < 0.55 or "registers" in flags:
        base = _register(stem, rng)
    else:
        base = name
    return f"[{base}{rng.choice(('', '', '', '+0', '+4', '+16', '+-8'))}]"


def _register(kind: str, rng: random.Random, number: int | None = None) -> str:
    stem, count = REGISTERS[kind]
    return f"{stem}{rng.randrange(min(count, 8)) if number is None else number % count}"


def _fitting(e: Expected) -> list[str]:
    fits = LOOSE if "loose" in e.parameter.flags else EXACT
    return sorted(fits.get(e.type, frozenset()) & REGISTERS.keys())


def _vector(e: Expected, rng: random.Random) -> str:
    if e.length == forms_module.ANY_LENGTH:
        e = e._replace(length=rng.choice((1, 2, 3, 4, 8)))
    kinds = [kind for kind in _fitting(e) if REGISTERS[kind][1] >= e.length] or ["b32"]
    if rng.random() < 0.1:
        kinds = [kind for kind in REGISTERS if WIDTHS[kind] == WIDTHS[kinds[0]] and REGISTERS[kind][1] >= e.length]
    kind, start = rng.choice(kinds), rng.randrange(4)
    elements = [_register(kind, rng, start + i) for i in range(e.length)]
    if "sink" in e.parameter.flags and rng.random() < 0.2 and e.length > 1:
        elements[rng.randrange(e.length)] = "_"
    if e.parameter.role == "source" and e.length < 5 and rng.random() < 0.08:
        elements[rng.randrange(e.length)] = _constant(e, rng)
    return "{" + ",".join(elements) + "}"


def _value(e: Expected, rng: random.Random) -> str:
    p, draw = e.parameter, rng.random()
    if "dropped" in p.flags:
        return "_"
    for flag, name in (("texref", "T"), ("samplerref", "Q"), ("surfref", "U"), ("texsurf", rng.choice("TU"))):
        if flag in p.flags and draw < 0.6:
            return name
    if "imm" in p.flags:
        return _constant(e, rng)
    if p.role == "destination":
        text = "_" if "sink" in p.flags and draw < 0.15 else _any_register(e, rng)
    elif draw < 0.25 and "reg" not in p.flags:
        text = _constant(e, rng)
    elif draw < 0.35 and "special" in p.flags:
        text = rng.choice(_SPECIAL)
    elif draw < 0.45 and ("address" in p.flags or "opaque" in p.flags):
        text = rng.choice(("G", "S", "G+4", "fn", "T", "C"))
    else:
        text = _any_register(e, rng)
        if p.selector and rng.random() < 0.6:
            text += "." + rng.choice([s for s in _SELECTORS if re.fullmatch(p.selector, s)])
    if (p.negatable and rng.random() < 0.2 and text[0] == "p") or (
        text[0] not in "-_0123456789" and ("negated" in p.flags or ("negative" in p.flags and rng.random() < 0.3))
    ):
        text = ("!" if p.negatable else "-") + text
    return text


def _any_register(e: Expected, rng: random.Random) -> str:
    kinds = _fitting(e)
    return _register(rng.choice(kinds) if kinds else "b32", rng)


def _constant(e: Expected, rng: random.Random) -> str:
    p = e.parameter
    if e.type == "pred":
        return rng.choice("01")
    if e.type[:1] == "f" and e.type in ("f32", "f64"):
        return rng.choice(_FLOATS)
    if p.low is not None and p.high is not None and rng.random() < 0.85:
        inside = [n for n in (*_INTEGERS, p.low, p.high) if p.low <= n <= p.high and n % p.multiple == 0]
        return str(rng.choice(inside)) if inside else str(p.low)
    if p.multiple > 1 and rng.random() < 0.8:
        return str(p.multiple * rng.randrange(1, 5))
    return str(rng.choice(_INTEGERS[: 20 if rng.random() < 0.8 else None]))


# Faults.


def _fault(form: Form, parts: Parts, rng: random.Random) -> tuple[str, Parts]:
    """One change that mostly makes the statement illegal, by name."""
    name = rng.choice(FAULTS if parts.modifiers and parts.operands else ("extra modifier", "extra operand"))
    modifiers, operands = list(parts.modifiers), list(parts.operands)
    if name == "missing modifier":
        del modifiers[rng.randrange(len(modifiers))]
    elif name == "extra modifier":
        modifiers.insert(rng.randrange(len(modifiers) + 1), rng.choice(_kindred(form, rng)))
    elif name == "double modifier":
        place = rng.randrange(len(modifiers))
        modifiers.insert(place, modifiers[place])
    elif name == "other modifier":
        place = rng.randrange(len(modifiers))
        slot = next((s for s in _in_order(form) if modifiers[place] in s.words), None)
        known = slot.words if slot is not None and len(slot.words) > 1 and rng.random() < 0.3 else _kindred(form, rng)
        modifiers[place] = rng.choice(known)
    elif name == "other type":
        places = [i for i, m in enumerate(modifiers) if m in WIDTHS] or [rng.randrange(len(modifiers))]
        modifiers[rng.choice(places)] = rng.choice(_STRANGE_WORDS[:26])
    elif name == "other order":
        rng.shuffle(modifiers)
    elif name == "other guard":
        return name, parts._replace(guard=rng.choice(("@r1", "@!f2", "@h0", "@nothing", "@1", "@G")))
    elif name == "missing operand":
        del operands[rng.randrange(len(operands))]
    elif name == "extra operand":
        operands.insert(rng.randrange(len(operands) + 1), rng.choice(_STRANGERS))
    else:  # "other operand"
        operands[rng.randrange(len(operands))] = rng.choice(_STRANGERS)
    return name, Parts(parts.opcode, tuple(modifiers), tuple(operands), parts.guard)


FAULTS = (
    "missing modifier", "extra modifier", "double modifier", "other modifier", "other type", "other order",
    "missing operand", "extra operand", "other guard", "other operand", "other operand", "other operand",
)  # fmt: skip


def _kindred(form: Form, rng: random.Random) -> Sequence[str]:
    """Modifiers of the same mnemonic mostly, of any instruction sometimes."""
    if rng.random() < 0.3:
        return _STRANGE_WORDS
    return sorted(
        {word for other in TYPED.forms[form.mnemonic] for slot in _in_order(other) for word in slot.words}
    ) or _STRANGE_WORDS  # fmt: skip
