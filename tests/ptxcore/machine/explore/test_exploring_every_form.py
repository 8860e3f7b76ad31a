"""Every form that litmus threads may have is explored, and runs, whatever modifiers it takes."""

from __future__ import annotations

import re
from random import Random

import pytest
from exploring import SPECIAL, VARIABLES

from ptxcore.diagnostics import InputError, Span
from ptxcore.isa.form import Expected, Form, Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import SECTIONS, TYPED, candidates, forms_of
from ptxcore.isa.types import FUNDAMENTAL, WIDTHS
from ptxcore.machine.explore.concrete import run
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import prepare
from ptxcore.machine.lower.executable import alternatives, explored
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.tree import Instruction

FORMS = [form for section in SECTIONS for form in forms_of(section) if explored(form) and not form.only]
WORDS = re.compile(r"(\{)?\.([^.{}]+)(?(1)\})")
LOCATIONS = {
    **VARIABLES,
    "c": Variable(2 << 28, space="const"),
    "t": Variable((3 << 32), proxy="texture", elements=64),
    "u": Variable((4 << 32), proxy="surface", elements=64),
}
#: State spaces that litmus threads do not have.
REFUSED = ("local", "param")
#: What a read returns: nothing, and an object that one arrival completes.
ANSWERS = (0, 1 << 63 | 1 << 20 | 1)


def modifiers(form: Form, random: Random) -> tuple[str, ...]:
    slots = {slot.name: slot.words for slot in (*form.pattern.slots, *form.pattern.types)}
    head = form.syntax.partition(" ")[0].removeprefix(form.mnemonic)
    return tuple(
        random.choice(slots[m[2]]) for m in WORDS.finditer(head) if m[1] is None or random.random() < 0.5
    )  # fmt: skip


class Writer:
    """Writes operands that suit; `declarations` and `initial` are those of their registers."""

    def __init__(self, use: Use, random: Random) -> None:
        self.use, self.random = use, random
        self.declarations: list[str] = []
        self.initial: dict[str, int] = {}

    def register(self, type_: str) -> str:
        kind = type_ if type_ in FUNDAMENTAL else f"b{WIDTHS.get(type_, 32)}"
        name = f"%g{len(self.declarations)}"
        self.declarations.append(f".reg .{kind} {name};")
        self.initial[name[1:]] = self.random.choice((0, 1, 16, 64)) % (1 << WIDTHS[kind])
        return name

    def operand(self, e: Expected) -> str:
        p = e.parameter
        if p.role == "label":
            return "L"
        if p.role == "bracket":
            return f"[{', '.join(self.part(part) for part in e.parts)}]"
        if p.role == "memory" and p.flags & {"texref", "surfref", "samplerref", "handle"}:
            return "[u]" if self.use.form.mnemonic == "suq" else "[t]"
        if p.role == "memory":
            spaces = p.words or (self.use.words["space"] or "generic",)
            shared = p.name == "mbar" or "mbarrier" in p.flags or any(s.startswith("shared") for s in spaces)
            return "[m]" if shared else "[c]" if spaces == ("const",) else "[x]"
        if "dropped" in p.flags:
            return "_"
        if p.second is not None and e.length:
            parts = ", ".join(self.register(e.type) for _ in range(e.length))
            return f"{{{parts}}}|{self.register('pred')}"
        if p.second is not None:
            return f"{self.register(e.type)}|{self.register('pred')}"
        if e.length > 0:
            return "{" + ", ".join(self.register(e.type) for _ in range(e.length)) + "}"
        number = self.number(e) if p.role == "source" and ("imm" in p.flags or p.low is not None) else ""
        return number or ("-" if "negated" in p.flags else "") + self.register(e.type)

    def part(self, e: Expected) -> str:
        """A part of a bracket: an image, or coordinates."""
        if e.parameter.flags & {"texref", "surfref", "samplerref", "handle"}:
            return "u" if self.use.proxy == "surface" else "t"
        return "{" + ", ".join(self.register("b32") for _ in range(e.length)) + "}"

    def number(self, e: Expected) -> str:
        p = e.parameter
        low, high = p.low or 0, p.low or 0 if p.high is None else min(p.high, (p.low or 0) + 256)
        return next(
            str(n)
            for n in range(low, high + 1)
            if n % p.multiple == 0
            and ("power_of_two" not in p.flags or (n and n & (n - 1) == 0))
            and (n or low == high)
        )


def written(form: Form, random: Random) -> tuple[str, dict[str, int]] | None:
    """An instruction of the form, and what its registers hold; None where the modifiers do not go together."""
    words = modifiers(form, random)
    uses = candidates(form.mnemonic, words)
    use = None if uses is None or isinstance(uses, Misfit) else next((u for u in uses if u.form is form), None)
    if use is None or use.words["space"].partition("::")[0] in REFUSED:
        return None
    writer = Writer(use, random)
    wanted = [e for e in use.wanted if not e.parameter.optional or random.random() < 0.5]
    operands = [writer.operand(e) for e in wanted]
    carry = ".reg .b32 %cc; add.cc.u32 %cc, 0, 0;" if form.carry else ""
    name = ".".join((form.mnemonic, *words))
    return f"{' '.join(writer.declarations)} {carry} {name} {', '.join(operands)}; L:", writer.initial


@pytest.mark.part(10)
@pytest.mark.parametrize("section", SECTIONS)
def test_every_form_is_explored(section: str) -> None:
    random = Random(section)
    for form in forms_of(section):
        if form not in FORMS:
            continue
        made = [text for _ in range(30) if (text := written(form, random)) is not None][:4]
        for text, initial in made:
            try:
                code = prepare(read_statements(text), TYPED, LOCATIONS, initial, special=SPECIAL)
            except InputError as error:
                assert "operands here, not" in error.diagnostics[0].message, text
                continue  # optional operands that do not go without others
            explored = explore(code)
            stops = any(effect.kind == "stop" for effect in explored.effects)  # who traps has stopped the launch
            assert explored.finishes == (not stops), text
            for answer in ANSWERS:
                ended = run(code, lambda effect, answer=answer: answer).status  # type: ignore[misc]
                assert stops or ended == "finished", text


@pytest.mark.parametrize("section", SECTIONS)
def test_what_is_refused_is_named_by_what_nothing_else_has(section: str) -> None:
    """The message for an instruction that threads may not have names no other that they may, and is a part of it from its
    beginning."""
    random = Random(section)
    allowed: dict[str, set[tuple[str, ...]]] = {}
    for form in forms_of(section):
        for other in TYPED.forms[form.mnemonic] if form.mnemonic not in allowed and form not in FORMS else ():
            made = allowed.setdefault(form.mnemonic, set())
            if explored(other) and not other.only:
                made |= {tuple(modifiers(other, random)) for _ in range(20)}
    for form in forms_of(section):
        if explored(form) or form.only:
            continue
        for _ in range(5):
            words = tuple(modifiers(form, random))
            name = ".".join((form.mnemonic, *words))
            try:
                alternatives(Instruction(form.mnemonic, words, (), None, Span(1, 1, 2)))
            except InputError as error:
                message = error.diagnostics[0].message
                if "is not supported" not in message or "memory is" in message:
                    continue
                told = message.split("'")[1]
                assert (name + ".").startswith(told + "."), message
                rest = tuple(told.split(".")[1:])
                assert not [other for other in allowed[form.mnemonic] if other[: len(rest)] == rest], message
