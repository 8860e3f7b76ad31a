"""Which forms take a set of modifiers; and where none does, what is wrong with the nearest one, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptxcore.isa.form import Form, ModifierCondition, Pattern, Slot, Use, holds
from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple


class Misfit(NamedTuple):
    """Why a form does not take a set of modifiers; the form with the smallest rank explains it best."""

    rank: tuple[int, ...]
    modifier: int  # index of the modifier that is wrong, -1 for the opcode
    message: str
    form: Form
    missing: MissingModifier | None = None  # instead of a message where something is missing, rather than wrong


class MissingModifier(NamedTuple):
    """A modifier that a form wants: `what` it is ("" where it is a single word), and the words that it can be."""

    after: str
    what: str
    words: tuple[str, ...]


#: Formats of packed elements, which ptxas reads over where they mean nothing (`add.b8x16.u32`).
_READ_OVER = frozenset(("b8x16", "b6x16_p32", "b4x16_p64"))


def match(
    forms: Sequence[Form], opcode: str, modifiers: Sequence[str], manual: bool = False
) -> tuple[Use, ...] | Misfit:
    """Every form that takes exactly these modifiers, or what is wrong with them; with `manual`, as the manual says."""
    found: list[Use] = []
    misfits: list[Misfit] = []
    for form in forms:
        given = modifiers if manual or _READ_OVER.isdisjoint(modifiers) else _meant(forms, form, modifiers)
        result = _fit(form, opcode, given, manual)
        if isinstance(result, Use):
            found.append(result)
        else:
            misfits.append(result)
    if found:
        return tuple(found)
    least = min(misfit.rank for misfit in misfits)
    return _joined([misfit for misfit in misfits if misfit.rank == least])


def _joined(misfits: Sequence[Misfit]) -> Misfit:
    """The first of several that are equally near; where they miss a word, with all the words that would do."""
    best = misfits[0]
    if best.missing is None:
        return best
    lacks = [m.missing for m in misfits if m.missing is not None]
    what = next((m.what for m in lacks if m.what), "")
    words_ = dict.fromkeys(word for m in lacks if m.what in ("", what) for word in m.words)
    return best._replace(message=_lacking(best.missing.after, what, tuple(words_)))


def _meant(forms: Sequence[Form], form: Form, modifiers: Sequence[str]) -> tuple[str, ...]:
    """The modifiers without those that ptxas reads over in a form: no form of the same instruction has them."""
    known = {word for other in forms if other.first == form.first for word in other.pattern.by_word}
    name = len(form.first.split())
    return tuple(w for i, w in enumerate(modifiers) if i < name or w in known or w not in _READ_OVER)


def _fit(form: Form, opcode: str, modifiers: Sequence[str], manual: bool) -> Use | Misfit:
    pattern = form.pattern
    chosen: dict[str, str] = {}
    types: list[str] = []
    named: dict[str, str] = {}
    position = 0  # in pattern.types
    wrong: list[tuple[int, str]] = []
    taken: list[str] = [opcode]
    for i, word in enumerate(modifiers):
        place = next((k for k in range(position, len(pattern.types)) if word in pattern.types[k].words), None)
        if place is not None and (place == position or not any(t.required for t in pattern.types[position:place])):
            types.append(word)
            named[pattern.types[place].name] = word
            position = place + 1
            taken.append(word)
            continue
        slots = pattern.by_word.get(word, ())
        free = next((slot for slot in slots if slot.name not in chosen), None)
        if free is not None:
            chosen[free.name] = word
            taken.append(word)
        elif not slots:
            wrong.append((i, ""))
        elif word not in form.repeats.split() or word not in taken:
            before = chosen[slots[0].name]
            wrong.append((i, f"'.{word}' stands twice" if before == word else f"'.{word}' conflicts with '.{before}'"))
    missing = [slot for slot in pattern.slots if slot.required and slot.name not in chosen]
    untyped = [slot for slot in pattern.types[position:] if slot.required]
    lacking = len(missing) + len(untyped)
    if wrong:
        i, message = wrong[0]
        # A form that misses only the type is nearer than one that has another operation.
        only_types = all(modifiers[i] in WIDTHS for i, _ in wrong)
        message = message or _out_of_place(modifiers[i], pattern, taken, position)
        return Misfit((2 * len(wrong) - only_types, lacking), i, message, form)
    if lacking:
        return Misfit((0, lacking), -1, "", form, _first_missing(missing, untyped, ".".join(taken), bool(types)))
    for i, name in enumerate(n for n in form.first.split() if n in chosen or n in named):
        if modifiers[i] != (chosen.get(name) or named[name]):
            word = chosen.get(name) or named[name]
            at = modifiers.index(word)
            return Misfit((0, 0, 1), at, f"'.{word}' must follow '{'.'.join((opcode, *modifiers[:i]))}' directly", form)
    kept = [chosen[name] for name in form.ordered.split() if name in chosen]
    places = [modifiers.index(word) for word in kept]
    if places != sorted(places):
        return Misfit((0, 0, 1), min(places), f"the order is '{dotted(kept).replace(' ', '')}'", form)
    use = Use(form, chosen, tuple(types), named)
    for premise, conclusion, own, mode in pattern.rules:
        if mode and manual is not (mode == "manual"):
            continue
        broken = next((a for a in premise if holds((a,), use.present)), None)
        if broken is not None and not holds(conclusion, use.present):
            words_ = [use.words[item] or item.partition("=")[2] or item for wish, item in broken if wish]
            at = next((i for i, word in enumerate(modifiers) if word in words_), -1)
            return Misfit((0, 0, 1), at, own or _broken(words_, opcode, conclusion, use), form)
    return use


def _first_missing(slots: Sequence[Slot], types: Sequence[Slot], taken: str, typed: bool) -> MissingModifier:
    if not slots:
        return MissingModifier(taken, "a second type" if typed else "a type", types[0].words)
    slot = slots[0]
    what = "" if slot.words == (slot.name,) else _WHAT.get(slot.name) or f"a {slot.name.replace('_', ' ')}"
    return MissingModifier(taken, what, slot.words)


def _lacking(taken: str, what: str, choices: tuple[str, ...]) -> str:
    if len(choices) == 1:
        return f"'{taken}' needs {what}: {dotted(choices)}" if what else f"'{taken}' needs {dotted(choices)}"
    return f"'{taken}' needs {what}: one of {dotted(choices)}" if what else f"'{taken}' needs one of {dotted(choices)}"


def _broken(present: Sequence[str], opcode: str, conclusion: ModifierCondition, use: Use) -> str:
    form = use.form
    shown = ".".join(("", *present)) if present else opcode
    wanted = [[item for wish, item in alternative if wish and item != "never"] for alternative in conclusion]
    wanted = [w for w in wanted if w]
    if wanted:
        slots = {slot.name: slot for slot in (*form.pattern.slots, *form.pattern.types)}
        named = [dotted(slots[w[0]].words) if len(w) == 1 and w[0] in slots else dotted(w) for w in wanted]
        return f"'{shown}' needs {' or '.join(named)}"
    barred = [item for alternative in conclusion for wish, item in alternative if not wish and item in use.present]
    if barred:
        return f"'{shown}' cannot stand with {dotted(barred)}"
    return f"'{shown}' do not go together" if len(present) > 1 else f"'{shown}' cannot stand here"


def dotted(choices: Iterable[str]) -> str:
    """Modifiers as they are written; of many the first and the last."""
    shown = [f".{word.partition('=')[2] or word}" for word in choices]
    if len(shown) > _MOST_WORDS:  # shapes come in scores
        shown[4:-2] = ["..."]
    return " ".join(shown)


_MOST_WORDS = 24


#: Slots in words, where their names are not.
_WHAT = {
    "sem": "a semantics",
    "op": "an operation",
    "operation": "an operation",
    "action": "an action",
    "cmp": "a comparison",
    "bool": "a Boolean operation",
    "cop": "a cache operator",
    "rnd": "a rounding modifier",
    "frnd": "a rounding modifier",
    "frnd2": "a rounding modifier",
    "frnd3": "a rounding modifier",
    "irnd": "an integer rounding modifier",
    "part": "a part of the result",
    "cta_group": "a CTA group",
    "space": "a state space",
    "dst": "a state space of the destination",
    "vec": "a vector",
    "num": "a number of repetitions",
    "dim": "a number of dimensions",
    "dir": "a direction",
    "alayout": "a layout of the first matrix",
    "blayout": "a layout of the second matrix",
    "level": "a cache level",
    "ordering": "an ordering",
    "opaque": "an opaque type",
    "query": "an attribute to ask for",
    "primary": "an eviction priority",
    "priority": "an eviction priority",
    "spvariant": "a kind of sparsity",
    "scale_vectorsize": "a size of the scale vector",
    "src_fmt": "a format of the source",
    "clamp": "a mode of clamping",
}


def _out_of_place(word: str, pattern: Pattern, taken: Sequence[str], position: int) -> str:
    if word in WIDTHS and pattern.types:
        if position == len(pattern.types):
            return f"a type too many: '.{word}'"
        legal = dotted(pattern.types[position].words)
        return f"type '.{word}' does not go with '{'.'.join(taken)}', which takes {legal}"
    return f"'.{word}' does not go with '{'.'.join(taken)}'"
