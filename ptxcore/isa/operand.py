"""What operands a form takes: the operand part of a syntax line, read.

It is written as the manual writes it, `d|p?, a, [b], {!}c`, with what the letters mean behind colons:

    d, a, b        of type `dtype`, `atype`, `btype` where the form has such a slot, else of the form's first type
    a:u32          of that type; a slot's name (`a:btype`) means the type chosen there; `a:wide` twice the width
    [a]            an address, in the space that the slot `space` chose; `[a:shared::cta shared]` in one of those
    [t:texref, c:f32 x2]   a bracket of several parts
    {!}c           a predicate that may be negated
    d|p?           a second destination, which may be left out (without `?` it must be there)
    b?             may be left out

and further words behind the colon:

    loose          a register at least as wide will do (section 9.4.1)
    vec            a vector as long as the chosen `.v2 .v4 .v8` says, a plain operand without one
    x4             a vector of 4; `x1` of one; `x?` of the count that the form's `layout` gives; `x*` of any
    {a:u16, b:u16} a vector of operands that differ
    reg, imm       a register only; an integer only
    strict         no register of an untyped `.bN`
    own            a type that is the form's own even where the instruction states the same; `stated` the other way
                   round (measured: a stated integer may be a packed register or the name of a function)
    unpacked       no register of `.f16x2`
    bits           (of a vector) registers of integers will do for a floating-point type of their size
    hexadecimal    of constants only those in the notation `0f...`
    address        the name of a variable stands for its address; `a:address shared` of one in that space
    inferred       a vector of which at least one element must be a register, since constants have other types
    sink           may be `_`; for a vector that is read: its elements may
    dropped        must be `_`;  kept  the second destination, or an element of a vector, must not be
    braced         a vector of one element will do for a plain operand
    texref, samplerref, surfref    the name of such a variable;  handle  a register that holds the address of one
    longer         (of coordinates) a vector of 2 or 4 will do where fewer are needed; with `bare` a plain register
    indexed        the first element is an array's index; twice_indexed  the first two are indices
    opaque         the name of a texture, sampler or surface reference stands for its address
    pred, label, function, prototype, barrier ...   what must stand there
    0..15          an integer in that range;  *32 a multiple;  power_of_two;  nonzero
    [a:mbarrier]   a barrier object: the variable that a generic address names must be in .shared
    [a:registers]  an address in a register, no variable;  `registers` for a vector: no special ones, no predicates
    [a:any]        an address of which nothing more is asked
    [a:tensor]     an address in Tensor Memory, in an untyped register of 32 bits
    untyped        ptxas asks for the size only; predicates count as 32 bits (with `braced` any vector will do)
    [a:narrow]     an address that may have 32 bits in every space
    selector=WORD  a register of which parts may be selected behind a dot (section 9.7.18), see SELECTORS
    negative       may be negated by `-`;  negated  must be
    upto=NAME      an integer not above that operand, where both are constants
    if=WORD        there exactly when the modifier (or a word of that slot) is
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple

#: Operands of these names are written unless their annotation says `in`.
_DESTINATIONS = frozenset(("d", "p", "q"))

#: State spaces of variables whose address an operand may be limited to.
SPACES = frozenset(("const", "global", "local", "param", "shared"))

#: What an operand names that is no value.
ROLES = frozenset(("label", "function", "prototype", "instance", "targets", "arguments", "results"))


#: What may be selected of a register of the video instructions, as regular expressions: a byte or half of one, halves
#: and bytes of two registers, and which halves and bytes of a result are written (sections 9.7.18.1 and 9.7.18.2).
SELECTORS = {
    "part": "b[0-3]|h[01]",
    "halves": "h[0-3]{2}",
    "bytes": "b[0-7]{4}",
    "half_mask": "h(1|1?0)",
    "byte_mask": "b(?=.)3?2?1?0?",
}
#: The same in words.
SELECTIONS = {
    SELECTORS["part"]: ".b0 .b1 .b2 .b3 .h0 .h1",
    SELECTORS["half_mask"]: ".h0 .h1 .h10",
    SELECTORS["byte_mask"]: "some of the bytes of .b3210, in this order",
    SELECTORS["halves"]: "two of the halves 0 to 3, as in .h10",
    SELECTORS["bytes"]: "four of the bytes 0 to 7, as in .b3210",
}


class FormOperand(NamedTuple):
    """One operand of a form. `role` is `destination`, `source`, `memory`, `bracket`, `tuple`, or one of ROLES. `type`
    names a type or a slot; "" for the form's own. `length` is "" for a plain operand, `vec`, or a number."""

    name: str
    role: str
    type: str = ""
    flags: frozenset[str] = frozenset()
    length: str = ""
    optional: bool = False
    negatable: bool = False
    low: int | None = None
    high: int | None = None
    multiple: int = 1
    condition: str = ""
    upto: str = ""  # the operand than which an integer is not greater
    second: FormOperand | None = None
    parts: tuple[FormOperand, ...] = ()
    words: tuple[str, ...] = ()  # of a memory operand: the spaces it may lie in
    selector: str = ""

    @property
    def kind(self) -> str:
        """The operand's kind as the executor asks for it: a role-like flag where there is one, else the type."""
        if self.role == "instance":
            return self.role
        for flag in ("value", "barrier", "threads", "address"):
            if flag in self.flags:
                return flag
        return self.type


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: The words behind an operand's colon that are flags.
_FLAGS = _words(
    """loose reg imm address sink in out value barrier threads special bare variable literal negative negated float
    texref samplerref surfref texsurf opaque braced descriptor tensormap mbarrier any exact strict registers
    power_of_two nonzero dropped kept narrow untyped longer handle hexadecimal indexed twice_indexed inferred
    own stated unpacked bits"""
)
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)\Z")
_COUNT = re.compile(r"x(\d+|\?|\*)\Z")


@cache  # as many as the declarations have
def parameters(text: str) -> tuple[FormOperand, ...]:
    """The operands of a syntax line."""
    return tuple(_parameter(part) for part in _split(text))


def _split(text: str) -> list[str]:
    """`text` cut at the commas outside of brackets and braces."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _parameter(text: str) -> FormOperand:
    optional = text.endswith("?") and not text.endswith("x?")
    text = text.removesuffix("?") if optional else text
    if text.startswith("["):
        inner, _, behind = text[1:].rpartition("]")
        parts = _split(inner)
        if len(parts) > 1:
            return FormOperand(parts[0].partition(":")[0], "bracket", optional=optional,
                             parts=tuple(_parameter(p) for p in parts), condition=_condition(behind))  # fmt: skip
        name, _, annotation = inner.partition(":")
        return _annotated(FormOperand(name, "memory", optional=optional), f"{annotation} {behind.lstrip(':')}")
    negatable = text.startswith("{!}")
    if text.startswith("{") and not negatable:
        parts = _split(text[1:].removesuffix("}"))
        return FormOperand(parts[0].partition(":")[0], "tuple", parts=tuple(_parameter(p) for p in parts))
    name, _, annotation = text.removeprefix("{!}").partition(":")
    name = name.strip()
    second = None
    if name.endswith("?"):
        optional, name = True, name.removesuffix("?")
    if "|" in name:
        name, _, other = name.partition("|")
        second = FormOperand(other.rstrip("?"), "destination", "pred", frozenset(("sink",)), optional=optional)
        optional = False
    if name == "p" and not annotation:
        annotation = "pred"
    if negatable and not annotation:
        annotation = "pred"
    role = "destination" if name in _DESTINATIONS else "source"
    return _annotated(FormOperand(name, role, optional=optional, negatable=negatable, second=second), annotation)


def _condition(text: str) -> str:
    found = re.search(r"if=(\S+)", text)
    return found[1] if found else ""


def _annotated(parameter: FormOperand, annotation: str) -> FormOperand:
    role, kind, count, condition, selector, upto = parameter.role, "", "", "", "", ""
    low, high, multiple = parameter.low, parameter.high, 1
    flags: set[str] = set()
    spaces: list[str] = []
    optional = parameter.optional
    for word in annotation.split():
        if word.endswith("?") and word != "x?":
            optional, word = True, word.removesuffix("?")
        ranged, counted = _RANGE.match(word), _COUNT.match(word)
        if ranged:
            low, high = int(ranged[1]), int(ranged[2])
        elif counted or word == "vec":
            count = counted[1] if counted else "vec"
        elif word.startswith("if="):
            condition = word[3:]
        elif word.startswith("upto="):
            upto = word[5:]
        elif word.startswith("selector="):
            selector = SELECTORS[word[9:]]
        elif word.startswith("*") and word[1:].isdigit():
            multiple = int(word[1:])
        elif word in ROLES:
            role = word
        elif word in _FLAGS:
            flags.add(word)
        elif role == "memory" or word in SPACES:
            spaces.append(word)
        elif word in WIDTHS or word == "wide" or word.endswith("type") or word == "half":
            kind = word
        else:
            raise ValueError(f"unknown word {word!r} in the operand {parameter.name!r}")
    if "in" in flags:
        role = "source"
    if "out" in flags:
        role = "destination"
    second = parameter.second
    if second is not None and "kept" in flags:
        second = second._replace(flags=second.flags - {"sink"})
    return parameter._replace(
        role=role, type=kind, flags=frozenset(flags), length=count, condition=condition, upto=upto, low=low, high=high,
        multiple=multiple, words=tuple(spaces), optional=optional, selector=selector, second=second,
    )  # fmt: skip


def shown(text: str) -> str:
    """The operands as the manual would print them: without what stands behind colons."""
    parts = []
    for part in _split(text):
        if part.startswith("["):
            inner, _, _ = part[1:].rpartition("]")
            parts.append("[" + ", ".join(shown(p) for p in _split(inner)) + "]")
            continue
        if part.startswith("{") and not part.startswith("{!}"):
            parts.append("{" + shown(part[1:].removesuffix("}")) + "}")
            continue
        name, colon, annotation = part.partition(":")
        plain = name.strip().removesuffix("?")
        optional = name.strip().endswith("?") or (colon and annotation.endswith("?") and not annotation.endswith("x?"))
        if "|" in plain:
            first, _, second = plain.partition("|")
            parts.append(f"{first}{{|{second}}}" if optional else plain)
        else:
            parts.append(f"{{{plain}}}" if optional or "if=" in annotation else plain)
    return ", ".join(parts)


@lru_cache(maxsize=4096)
def refine(parameter: FormOperand, annotation: str) -> FormOperand:
    """The parameter as a form's `layout` gives it: what the annotation says replaces what stood there."""
    fresh = _annotated(parameter, annotation)
    return parameter._replace(
        type=fresh.type or parameter.type,
        length=fresh.length or parameter.length,
        flags=parameter.flags | fresh.flags,
        words=fresh.words or parameter.words,
        low=fresh.low if fresh.low is not None else parameter.low,
        high=fresh.high if fresh.high is not None else parameter.high,
        optional=parameter.optional or fresh.optional,
    )
