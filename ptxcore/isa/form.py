"""How an instruction is declared: one `Form` gives the reader's check, the meaning and the documentation.

A form is a syntax line of the manual: mnemonic, modifier slots, types, operands, and the function that says what it
does. Modifiers are matched as a set, since compilers write them in other orders than the manual; types keep their
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxcore.diagnostics import Span, fail, nearest
from ptxcore.syntax.tree import Instruction

if TYPE_CHECKING:
    from ptxcore.diagnostics import InputError

#: Bits of each type that an instruction may name.
WIDTHS = {"pred": 1, **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}}

INTEGERS_16_64 = ("u16", "u32", "u64", "s16", "s32", "s64")
SIGNED_16_64 = ("s16", "s32", "s64")
BITS_16_64 = ("b16", "b32", "b64")


def words(text: str) -> frozenset[str]:
    """A set of words, written with blanks between them."""
    return frozenset(text.split())


#: Words of the language that no form takes yet: refused by name, not as unknown.
UNSUPPORTED_MODIFIERS = words(
    """f16 f16x2 bf16 bf16x2 f32 f64 tf32 b128 u16x2 s16x2 v2 v4 v8 ftz noftz rn rz rm rp rni rzi rmi rpi approx
    relu satfinite local param param::entry param::func unified L2::cache_hint cc
    async bulk warp cluster mbarrier_init sync_restrict::shared::cta sync_restrict::shared::cluster
    async::generic"""
)


class Slot(NamedTuple):
    """A place for one modifier. `default` is what its absence means; a required slot has none."""

    name: str
    words: tuple[str, ...]
    required: bool = False
    default: str = ""


class Parameter(NamedTuple):
    """One operand of a form.

    `role`: `destination`, `source`, `memory`, `label`. `kind`: which type it has (see `Form.operands`).
    """

    name: str
    role: str
    kind: str
    optional: bool
    negatable: bool = False


class Form(NamedTuple):
    """A declared instruction form.

    `operands` is written as in the manual: `d, [a], b`. `d`, `p` and `q` are destinations, a bracketed one is memory,
    the rest are sources. Behind a name may stand `?` (may be left out) and a kind after a colon:

    - none: the instruction's type, exactly (`:A` its second type, `:W` twice the type's width)
    - `:loose` a register at least as wide as the type; loads extend into it, stores take its low bits (section 9.4.1);
      `:looseA` the same for the second type
    - `:u32`, `:pred` ... that type; `{!}c` is a predicate that may be negated
    - `:address` as the instruction's type, and the name of a variable stands for its address
    - `:label`, `:instance` (a literal number), `:barrier` (0 .. 15), `:count` (threads, in warps)

    `run` is the meaning, by `kind`:

    - `value`: `run(how, *sources) -> value`, or one value for each destination
    - `effect`: `run(how, thread, *sources) -> value | None`, with the calls of `ptxcore.machine.engine.Thread`
    - `branch`: `run(how, *sources) -> truth value` of "goes to the label"
    - `exit`: ends the thread
    - `nothing`: no effect that a program could observe

    `given` are facts that the form itself states, as if written: `{"sem": "relaxed"}` for a volatile access.
    """

    mnemonic: str
    operands: str
    run: Callable[..., Any]
    slots: tuple[Slot, ...] = ()
    types: tuple[tuple[str, ...], ...] = ()
    kind: str = "value"
    section: str = ""
    version: str = "1.0"
    target: str = "sm_10"
    given: Mapping[str, str] = {}

    def syntax(self) -> str:
        """The form as the manual would write it."""
        parts = [self.mnemonic]
        for slot in self.slots:
            one = f".{slot.words[0]}" if len(slot.words) == 1 else f".{slot.name}"
            parts.append(one if slot.required else f"{{{one}}}")
        parts += [".type", ".atype"][: len(self.types)]
        shown = ", ".join(operand.partition(":")[0] for operand in self.operands.split(", "))
        return f"{''.join(parts)} {shown}".rstrip()


class Use:
    """A form with the modifiers that one instruction chose: what semantic functions call `how`."""

    __slots__ = (
        "form",
        "op",
        "parameters",
        "proxy",
        "scope",
        "sem",
        "signed",
        "space",
        "type",
        "types",
        "width",
        "words",
    )

    def __init__(self, form: Form, words: Mapping[str, str], types: tuple[str, ...]) -> None:
        self.form = form
        self.words = words
        self.types = types
        self.type = types[0] if types else ""
        self.width = WIDTHS[self.type] if types else 32
        self.signed = self.type[:1] == "s"
        self.sem = words.get("sem") or "weak"
        self.scope = words.get("scope") or None
        space = words.get("space") or "generic"
        self.space = "shared" if space == "shared::cta" else space
        self.proxy = words.get("proxy") or "generic"
        self.op = words.get("op") or ""
        self.parameters = parameters(form.operands)


_parameters: dict[str, tuple[Parameter, ...]] = {}


def parameters(operands: str) -> tuple[Parameter, ...]:
    """The operands of a form, from the way the manual writes them."""
    known = _parameters.get(operands)
    if known is None:
        known = _parameters[operands] = tuple(_parameter(o) for o in operands.split(", ") if o)
    return known


def _parameter(text: str) -> Parameter:
    name, _, kind = text.partition(":")
    optional = name.endswith("?")
    name = name.rstrip("?")
    if name.startswith("["):
        return Parameter(name[1:-1], "memory", kind, optional)
    if name.startswith("{!}"):
        return Parameter(name[3:], "source", kind or "pred", optional, True)
    role = "label" if kind == "label" else "destination" if name in ("d", "p", "p|q") else "source"
    return Parameter(name, role, kind or ("pred" if name in ("p", "p|q") else ""), optional)


class _Misfit(NamedTuple):
    """Why a form does not take a set of modifiers; the form with the smallest rank explains it best."""

    rank: tuple[int, int]
    modifier: int  # index of the modifier that is wrong, -1 for the opcode
    message: str
    form: Form


def match(forms: Sequence[Form], opcode: str, modifiers: Sequence[str]) -> Use | _Misfit:
    """The first form that takes exactly these modifiers, or what is wrong with them."""
    best: _Misfit | None = None
    for form in forms:
        result = _fit(form, opcode, modifiers)
        if isinstance(result, Use):
            return result
        if best is None or result.rank < best.rank:
            best = result
    assert best is not None
    return best


def _fit(form: Form, opcode: str, modifiers: Sequence[str]) -> Use | _Misfit:
    slots = {word: slot for slot in form.slots for word in slot.words}
    words: dict[str, str] = {}
    types: list[str] = []
    wrong: list[tuple[int, str]] = []
    taken: list[str] = [opcode]
    for i, word in enumerate(modifiers):
        slot = slots.get(word)
        if slot is not None:
            before = words.get(slot.name)
            if before is None:
                words[slot.name] = word
                taken.append(word)
            elif before == word:
                wrong.append((i, f"'.{word}' stands twice"))
            else:
                wrong.append((i, f"'.{word}' conflicts with '.{before}'"))
        elif len(types) < len(form.types) and word in form.types[len(types)]:
            types.append(word)
            taken.append(word)
        else:
            wrong.append((i, ""))
    missing = [slot for slot in form.slots if slot.required and slot.name not in words]
    lacking = len(missing) + len(form.types) - len(types)
    if wrong:
        i, message = wrong[0]
        # A form that misses only the type is nearer than one that has another operation.
        only_types = all(modifiers[i] in WIDTHS for i, _ in wrong)
        return _Misfit(
            (2 * len(wrong) - only_types, lacking), i, message or _out_of_place(modifiers[i], form, taken, types), form
        )
    if lacking:
        if missing:
            slot = missing[0]
            choices = " ".join(f".{w}" for w in slot.words)
            what = (
                f"'{'.'.join(taken)}' needs {_article(slot.name)}: {'one of ' if len(slot.words) > 1 else ''}{choices}"
            )
        else:
            choices = " ".join(f".{t}" for t in form.types[len(types)])
            what = f"'{'.'.join(taken)}' needs a{' second' if types else ''} type: one of {choices}"
        return _Misfit((0, lacking), -1, what, form)
    for slot in form.slots:
        if slot.name not in words:
            words[slot.name] = slot.default
    return Use(form, {**words, **form.given}, tuple(types))


_WHAT = {"sem": "a semantics", "op": "an operation", "cmp": "a comparison", "cop": "a cache operator"}


def _article(slot: str) -> str:
    return _WHAT.get(slot, f"a {slot}")


def _out_of_place(word: str, form: Form, taken: Sequence[str], types: Sequence[str]) -> str:
    if word in WIDTHS and form.types:
        if len(types) == len(form.types):
            return f"a type too many: '.{word}'"
        legal = " ".join(f".{t}" for t in form.types[len(types)])
        return f"type '.{word}' does not go with '{'.'.join(taken)}', which takes {legal}"
    return f"'.{word}' does not go with '{'.'.join(taken)}'"


def complain(forms: Sequence[Form], instruction: Instruction, misfit: _Misfit) -> InputError:
    """The error for an instruction whose modifiers no form takes, at the modifier's place."""
    known = {word for form in forms for slot in form.slots for word in slot.words}
    known.update(t for form in forms for types in form.types for t in types)
    for i, word in enumerate(instruction.modifiers):
        if word not in known:
            span = modifier_span(instruction, i)
            name = f"'{instruction.opcode}'"
            if word in UNSUPPORTED_MODIFIERS:
                return fail(span, f"'.{word}' on {name} is not supported yet")
            return fail(span, f"unknown modifier '.{word}' on {name}", nearest(word, known) or _legal(known))
    span = instruction.span if misfit.modifier < 0 else modifier_span(instruction, misfit.modifier)
    if misfit.modifier >= 0:
        unfit = instruction.modifiers[misfit.modifier]
        if unfit in UNSUPPORTED_MODIFIERS and unfit != "cluster":
            return fail(span, f"'.{unfit}' with this form of '{instruction.opcode}' is not supported yet")
    return fail(span, misfit.message, f"the form is: {misfit.form.syntax()}")


def _legal(words: Iterable[str]) -> str | None:
    listed = sorted(words)
    return "legal are " + " ".join(f".{w}" for w in listed) if 0 < len(listed) <= 16 else None


def modifier_span(instruction: Instruction, index: int) -> Span:
    """Where the modifier stands, as long as the opcode is written without blanks."""
    line, column, end = instruction.span
    start = column + len(instruction.opcode) + sum(len(m) + 1 for m in instruction.modifiers[:index])
    return Span(line, start, start + 1 + len(instruction.modifiers[index])) if start < end else instruction.span
