"""How an instruction is declared: one `Form` gives the reader's check, the meaning and the documentation.

A form is a syntax line of the manual and what its names stand for:

    Form("atom{.sem}{.scope}{.space}.op.type d:sink, [a], b", atom, section="9.7.13.5", version="1.1", target="sm_11",
         sem="relaxed acquire release acq_rel", scope="cta cluster gpu sys", space="global shared",
         op="and or xor", type="b32 b64", rules=("sem -> scope",), needs={"cluster": "7.8 sm_90"})

Words behind dots that are given a meaning are slots (`sem` is one of four words), the others stand for themselves
(`.sync`); braces say that a modifier may be left out. Slots whose names end in `type`, and literal types, are types:
they keep their order. All other modifiers match as a set, since compilers write them in other orders than the manual.
Operands are described in `ptxcore.isa.operand`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any

from ptxcore.isa import operand
from ptxcore.isa.operand import FormOperand
from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple


def words(text: str) -> frozenset[str]:
    """A set of words, written with blanks between them."""
    return frozenset(text.split())


#: What a form does, see `Form`.
KINDS = ("value", "effect", "branch", "exit", "nothing", "warp", "jump", "call", "return")
#: Those that need no meaning of their own.
_OF_THE_MACHINE = ("nothing", "jump", "call", "return")


class Slot(NamedTuple):
    """A place for one modifier: one of `words`."""

    name: str
    words: tuple[str, ...]
    required: bool


class Whole(NamedTuple):
    """How all threads of a warp execute a form together, as matrices need them (PTX ISA 9.0, section 9.7.14): `run` gets of
    each thread the values of the operands `brings` (all its sources where there are none), vectors taken apart, without
    what was left out.

    With `after`, `run` computes what each thread is told, in values of `told` bits, and `after(how, thread, told, *sources)`
    is what the thread then does by itself: its accesses to memory, of `least` bytes at least. It gives the result, a tuple.

    `arrays(how, columns) -> columns`: `run`, for many warps at once. A column is a NumPy array of unsigned numbers with a
    row for each warp and a column for each lane: one for each value that threads bring, and one for each result.

    `opens(how, columns)`: whether the manual leaves open what some result is, given what `arrays` is given; `run` then gives
    one that may be."""

    brings: tuple[str, ...] = ()
    told: Callable[[Use], tuple[int, ...]] | None = None
    after: Callable[..., tuple[Any, ...]] | None = None
    least: Callable[[Use], int] | None = None
    arrays: Callable[[Use, Sequence[Any]], Sequence[Any]] | None = None
    opens: Callable[[Use, Sequence[Any]], bool] | None = None


class Form:
    """A declared instruction form.

    `syntax`: the manual's line, see above. `run` is the meaning (None: read and checked only), by `kind`:

    - `value`: `run(how, *sources) -> value`, or one value for each destination
    - `effect`: `run(how, thread, *sources) -> value | None`, with the calls of `ptxcore.isa.thread.Thread`
    - `branch`: `run(how, *sources) -> truth value` of "goes to the label"
    - `exit`: ends the thread
    - `nothing`: no effect that a program could observe
    - `warp`: `run(how, lanes) -> {lane: result}`; `lanes` has the sources of each thread of the warp that takes part, by
      its number in the warp; the result has the same keys, and None where the form has no destination. Threads wait for
      each other where the form has a member mask (`mask` names its operand), and where all of the warp execute it
      (`whole`); else those take part that are there
    - `jump`, `call`, `return`: what the machine alone can do

    `section`, `version`, `target`: where the manual has it and what introduced it. `needs`: what single modifiers or
    types need beyond that, by condition (below), as a gate (`ptxcore.isa.targets.gates`). `until`: the gate from which
    on the form is gone. `manual`: gates where the manual asks for something else than ptxas does; the condition ""
    stands for the form itself. `only`: `ptxas` or `manual` for a form that the other does not have.

    `rules`: what modifiers ask of each other, `condition -> condition`. A condition is alternatives separated by
    blanks; an alternative is joined by `+`; an item is a word (`relaxed`, `f32`), a slot's name (`scope`: any of its
    words), `slot=word`, or one of them behind `!`; `never` is never true. `"ftz -> f32"`, `"sem -> scope"`,
    `"v8+b8 -> never"`, `"sat -> !f64"`. A message of its own may follow behind ` # `. A rule that begins with `manual:`
    or `ptxas:` holds in that mode only.

    What operands choose, the meaning finds among the words of `how`: `how.words["asel"]` is the selector behind the
    register of the operand `a` (`b0` in `%r1.b0`; for a destination, `dsel`, what is written of it), and
    `how.words["aneg"]` is `-` where it is negated. The value is that of the whole register, not negated. See
    `Use.with_operands` and `ptxcore.machine.ir.operands.choices`.

    `carry`: `in`, `out` or `in out` where the form reads or writes the carry flag (section 9.7.2): `run` then gets it
    behind the sources, and gives it behind the result.

    `updates`: whether the registers of the destination are read, too.

    `untold`: of a form without a meaning, what the manual does not tell of it.

    `first`: slots and words that must directly follow the mnemonic, in order. `ordered`: slots and words that keep
    their order among themselves. `repeats`: words that may stand twice.
    `absent`: what a slot means when it is left out; `given`: facts that the form itself states, as if written.
    `layout`: for operands whose type or count no annotation can say: `layout(how) -> {name: annotation}`.
    A slot that has one of these names is given with an underscore behind it (`layout_="row col"`).
    """

    __slots__ = (
        "_pattern", "absent", "carry", "first", "given", "kind", "layout", "manual", "mask", "mnemonic", "needs",
        "only", "ordered", "repeats", "rules", "run", "section", "syntax", "target", "until", "untold", "updates", "version",
        "where", "whole",
    )  # fmt: skip

    def __init__(
        self,
        syntax: str,
        run: Callable[..., Any] | None = None,
        *,
        kind: str = "value",
        section: str = "",
        version: str = "1.0",
        target: str = "",
        until: str = "",
        needs: Mapping[str, str] | None = None,
        manual: Mapping[str, str] | None = None,
        only: str = "",
        first: str = "",
        ordered: str = "",
        repeats: str = "",
        rules: Sequence[str] = (),
        carry: str = "",
        mask: str = "",
        whole: Whole | None = None,
        updates: bool = False,
        absent: Mapping[str, str] | None = None,
        given: Mapping[str, str] | None = None,
        layout: Callable[[Use], Mapping[str, str]] | None = None,
        untold: str = "",
        **where: str | Iterable[str],
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"{syntax!r}: kind is one of {' '.join(KINDS)}; a slot needs another name than 'kind'")
        self.syntax, self.run, self.kind = syntax, run, kind
        self.section, self.version, self.target, self.until = section, version, target, until
        self.needs, self.manual, self.only = needs or {}, manual or {}, only
        self.first, self.ordered, self.repeats, self.rules = first, ordered, repeats, rules
        self.carry, self.mask, self.whole, self.updates = carry, mask, whole, updates
        self.absent, self.given, self.layout = absent or {}, given or {}, layout
        nothing = run is None and kind not in _OF_THE_MACHINE
        self.untold = untold or ("the manual has no such form" if nothing and only == "ptxas" else "")
        self.where = {name.removesuffix("_"): words_ for name, words_ in where.items()}
        end = re.search(r"[.{ ]", syntax)
        self.mnemonic = syntax[: end.start()] if end else syntax
        self._pattern: Pattern | None = None

    def __repr__(self) -> str:
        return f"Form({self.syntax!r})"

    @property
    def pattern(self) -> Pattern:
        """The syntax line, taken apart when it is first needed."""
        if self._pattern is None:
            self._pattern = _pattern(self)
        return self._pattern

    @property
    def meaning(self) -> Callable[..., Any]:
        """`run`, of a form that has one."""
        assert self.run is not None, f"{self.syntax!r} is not executed"
        return self.run

    @property
    def waits(self) -> bool:
        """Whether threads of a warp wait for each other there: all that a mask names, or all."""
        return bool(self.mask) or self.whole is not None

    def shown(self) -> str:
        """The form as the manual would print it; a slot that has one word only is that word."""
        head, _, operands = self.syntax.partition(" ")
        single = {slot.name: slot.words[0] for slot in self.pattern.slots if len(slot.words) == 1}
        head = re.sub(r"(?<=\.)[^.{}]+", lambda m: single.get(m[0], m[0]), head)
        return f"{head} {operand.shown(operands)}".rstrip()


class Pattern(NamedTuple):
    """A syntax line taken apart. `slots` by name, in order; `types` the ordered ones; `by_word` the slots that a
    modifier may fill, first come first served."""

    slots: tuple[Slot, ...]
    types: tuple[Slot, ...]
    by_word: Mapping[str, tuple[Slot, ...]]
    parameters: tuple[FormOperand, ...]
    rules: tuple[Rule, ...]


_PART = re.compile(r"(\{)?\.([^.{}]+)(?(1)\})")


def _pattern(form: Form) -> Pattern:
    head, _, operands = form.syntax.partition(" ")
    slots: list[Slot] = []
    types: list[Slot] = []
    consumed = len(form.mnemonic)
    for m in _PART.finditer(head, consumed):
        if m.start() != consumed:
            break
        consumed = m.end()
        name, required = m[2], m[1] is None
        meaning = form.where.get(name)
        choices = (name,) if meaning is None else tuple(meaning.split() if isinstance(meaning, str) else meaning)
        (types if name in WIDTHS or name.endswith("type") else slots).append(Slot(name, choices, required))
    if consumed != len(head):
        raise ValueError(f"cannot read the syntax line {form.syntax!r} from {head[consumed:]!r} on")
    names = {slot.name for slot in (*slots, *types)}
    unused = [name for name in form.where if name not in names]
    if unused:
        raise ValueError(f"{unused} are not in the syntax line {form.syntax!r}")
    by_word: dict[str, tuple[Slot, ...]] = {}
    for slot in slots:
        for word in slot.words:
            by_word[word] = (*by_word.get(word, ()), slot)
    return Pattern(tuple(slots), tuple(types), by_word, operand.parameters(operands), tuple(map(rule, form.rules)))


# Conditions on modifiers.

ModifierCondition = tuple[tuple[tuple[bool, str], ...], ...]  # alternatives of (wanted, item) that hold together


@cache  # as many as the declarations have
def condition(text: str) -> ModifierCondition:
    """Alternatives, each of items that hold together."""
    return tuple(
        tuple((not item.startswith("!"), item.removeprefix("!")) for item in alternative.split("+"))
        for alternative in text.split()
    )


def holds(wanted: ModifierCondition, present: frozenset[str]) -> bool:
    return any(all((item in present) is wish for wish, item in alternative) for alternative in wanted)


class Rule(NamedTuple):
    premise: ModifierCondition
    conclusion: ModifierCondition
    message: str  # of its own; "" where the rule says enough
    mode: str  # "manual" or "ptxas" where only that one asks for it


@cache  # as many as the declarations have
def rule(text: str) -> Rule:
    logic, _, message = text.partition(" # ")
    mode = next((m for m in ("manual", "ptxas") if logic.startswith(f"{m}:")), "")
    premise, arrow, conclusion = logic.removeprefix(f"{mode}:").partition("->")
    if not arrow or not premise.strip() or not conclusion.strip():
        raise ValueError(f"not a rule: {text!r}")
    return Rule(condition(premise), condition(conclusion), message.strip(), mode)


#: The orders (`Use.sem`) by which an operation acquires, and those by which it releases.
ACQUIRES, RELEASES = frozenset(("acquire", "acq_rel", "sc")), frozenset(("release", "acq_rel", "sc"))


class Use:
    """A form with the modifiers that one instruction chose: what semantic functions call `how`."""

    __slots__ = (
        "_expected", "_wanted", "form", "op", "present", "proxy", "scope", "sem", "signed", "space", "type", "types",
        "width", "words",
    )  # fmt: skip

    def __init__(self, form: Form, words: Mapping[str, str], types: tuple[str, ...], named: Mapping[str, str]) -> None:
        written = {**words, **named}
        self.form = form
        self.present = frozenset(
            (*written, *written.values(), *(f"{name}={word}" for name, word in written.items()), *types)
        )
        self.words = _Words({**form.absent, **written, **form.given})
        self.types = types
        self.type = types[0] if types else ""
        self.width = WIDTHS[self.type] if types else 32
        self.signed = self.type[:1] == "s"
        self.sem = self.words["sem"] or "weak"
        self.scope = self.words["scope"] or None
        space = self.words["space"] or "generic"
        self.space = "shared" if space == "shared::cta" else space
        self.proxy = self.words["proxy"] or "generic"
        self.op = self.words["op"]
        self._expected: tuple[Expected | None, ...] | None = None
        self._wanted: tuple[Expected, ...] | None = None

    def part(self, width: int, element: int = -1) -> Use:
        """The use, of a form that accesses memory in parts, for one access of `width` bits; `element` is the one of a vector
        that is stored."""
        use = copy(self)
        use.words = _Words({"element": str(element)} if element >= 0 else {})
        use.width = width
        return use

    def has(self, text: str) -> bool:
        """Whether a condition (see `Form.rules`) holds of the modifiers."""
        return holds(condition(text), self.present)

    def with_operands(self, chosen: Mapping[str, str]) -> Use:
        """The use by an instruction whose operands choose too, see `Form`: `chosen` is put to the words."""
        use = copy(self)
        use.words = _Words({**self.words, **chosen})
        return use

    def typed(self, name: str) -> Use:
        """The use with another type, which its operands chose."""
        use = copy(self)
        use.type, use.width, use.signed = name, WIDTHS[name], name[:1] == "s"
        return use

    @property
    def expected(self) -> tuple[Expected | None, ...]:
        """For each parameter what must stand there; None where these modifiers leave no place for it."""
        if self._expected is None:
            layout = self.form.layout(self) if self.form.layout else {}
            self._expected = tuple(_expected(self, p, layout) for p in self.form.pattern.parameters)
        return self._expected

    @property
    def wanted(self) -> tuple[Expected, ...]:
        """What must stand there, without what these modifiers leave no place for."""
        if self._wanted is None:
            self._wanted = tuple(e for e in self.expected if e is not None)
        return self._wanted

    @property
    def parameters(self) -> tuple[FormOperand, ...]:
        """The form's operands, without those for which these modifiers leave no place."""
        return tuple([e.parameter for e in self.wanted])

    def type_named(self, parameter: FormOperand) -> str:
        """The type that an operand has here; "" for none."""
        name = parameter.type
        if name in WIDTHS:
            return name
        if name == "wide":
            return _widened(self.type)
        if name:
            return self.words[name]
        return self.words[f"{parameter.name[:1]}type"] or self.words["type"] or self.type

    def gates(self, *, manual: bool = False) -> list[tuple[str, str]]:
        """What the form and each of its modifiers need: (what it is that needs, gate)."""
        form = self.form
        asked = {"": f"{form.version} {form.target}", **form.needs}
        if manual:
            asked.update(form.manual)
        found = []
        for text, gate in asked.items():
            if not text:
                found.append(("", gate))
            else:
                for alternative in condition(text):
                    if holds((alternative,), self.present):
                        named = (
                            self.words[item] or item.partition("=")[2] or item for wish, item in alternative if wish
                        )
                        found.append((".".join(named), gate))
                        break
        return found


class _Words(dict[str, str]):
    """The words by slot; "" for what was not written."""

    def __missing__(self, key: str) -> str:
        return ""


def _widened(name: str) -> str:
    return f"{name[0]}{2 * WIDTHS[name]}" if name in WIDTHS else ""


#: The length of a vector that may have any.
ANY_LENGTH = -1


class Expected(NamedTuple):
    """What must stand as one operand of a use: the parameter with its type and the number of elements (0: no
    vector) settled."""

    parameter: FormOperand
    type: str
    length: int
    parts: tuple[Expected, ...] = ()


def _expected(use: Use, parameter: FormOperand, layout: Mapping[str, str]) -> Expected | None:
    if parameter.condition and not use.has(parameter.condition):
        return None
    extra = layout.get(parameter.name)
    if extra is not None:
        if extra == "absent":
            return None
        parameter = operand.refine(parameter, extra)
    length = 0
    if parameter.length == "vec":
        chosen = use.words["vec"]
        length = int(chosen[1:]) if chosen else 0
    elif parameter.length == "*":
        length = ANY_LENGTH
    elif parameter.length:
        length = int(parameter.length)
    parts = tuple(e for p in parameter.parts if (e := _expected(use, p, layout)) is not None)
    return Expected(parameter, use.type_named(parameter), length, parts)
