"""What may stand where a cursor is: from the tables that the readers use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from typing import Any

from ptxcore.isa.form import Form, Slot, Use
from ptxcore.isa.table import TYPED, candidates
from ptxcore.records import NamedTuple
from ptxmm.web.asked import PageRequest
from ptxmm.web.limits import MOST_ITEMS

#: What words are made of, besides letters, digits and `_`: names, opcodes, and names of a model.
_NAME, _OPCODE, _CAT = "%$~", ".:", ".-'~"
_NAMES = re.compile(r"(?<![\w%$.])%?+[A-Za-z_]\w*+")
_DEFINED = re.compile(r"\b(?:let|and|rec|as)[ \t]++([A-Za-z_][\w.-]*+)")
#: A word before a cursor has at most so many characters, and so much is looked at of a line.
_LONGEST_WORD, _LONGEST_LINE = 200, 4000
#: So many spellings of a form are looked at.
_MOST_SPELLINGS = 1000
#: Modifiers that are written most, in this order.
_OFTEN = (
    *("relaxed", "acquire", "release", "acq_rel", "sc", "weak", "gpu", "cta", "sys", "cluster", "global", "shared"),
    *("u32", "u64", "s32", "s64", "b32", "b64", "f32", "f64", "u16", "u8", "add", "exch", "cas"),
)
_CONDITIONS = {
    "exists": "some execution ends so", "~exists": "no execution ends so", "forall": "every execution ends so",
    "filter": "only executions that end so", "locations": "what else states show",
}  # fmt: skip


class Suggestion(NamedTuple):
    """Something that may stand there: `detail` says what it is."""

    label: str
    detail: str
    kind: str


def complete(asked: PageRequest) -> dict[str, Any]:
    """The answer of /api/complete: what may stand instead of the characters from `from` to the cursor."""
    before = asked.text[: asked.offset]
    start, items = _OF_KIND[asked.kind](before, asked)
    written = before[start:]
    fitting = [i for i in items if i.label.startswith(written) and i.label != written]
    if not fitting and len(written) > 1:
        fitting = [i for i in items if written.lower().lstrip("%") in i.label.lower() and i.label != written]
    unique = list({item.label: item for item in fitting}.values())[:MOST_ITEMS]
    return {"from": start, "items": [item._asdict() for item in unique]}


def _start(before: str, more: str) -> int:
    """Where the word before the cursor begins."""
    start = len(before)
    while (
        start
        and len(before) - start < _LONGEST_WORD
        and (before[start - 1].isalnum() or before[start - 1] in "_" + more)
    ):
        start -= 1
    return start


def _line(before: str) -> str:
    """The line up to the cursor, from its last part on where it is long."""
    return before[max(before.rfind("\n") + 1, len(before) - _LONGEST_LINE) :]


def _is_opcode(statement: str) -> bool:
    """Whether a statement so far is an opcode, perhaps behind its guard."""
    words = statement.split()
    if words and words[0].startswith("@"):
        del words[0]
    good = len(words) == 1 and words[0][0].isalpha() and not statement[-1].isspace()
    return good and all(c.isalnum() or c in "_.:" for c in words[0])


# Instructions.


def instructions(written: str) -> Iterator[Suggestion]:
    """Instructions whose opcode begins like this: mnemonics while no modifier is written, then whole spellings."""
    mnemonic, dot, _ = written.partition(".")
    if not dot:
        for name in sorted(TYPED.forms):
            if name.startswith(mnemonic):
                yield Suggestion(name, _first(TYPED.forms[name]), "instruction")
        return
    if mnemonic not in TYPED.forms:
        return
    fixed, last = written.rpartition(".")[::2]
    given = fixed.split(".")[1:]
    seen: set[str] = set()
    for label, form in _spellings(mnemonic, tuple(given), last):
        if label not in seen:
            seen.add(label)
            yield Suggestion(label, form.shown(), "instruction")


def _first(forms: Iterable[Form]) -> str:
    return next((form.shown() for form in forms if not form.until), "")


def _spellings(mnemonic: str, given: tuple[str, ...], last: str) -> Iterator[tuple[str, Form]]:
    """What may follow the modifiers that are there: whole opcodes that are right, the shortest first."""
    found: list[tuple[int, str, Form]] = []
    for form in TYPED.forms[mnemonic]:
        if form.until or form.only == "manual":
            continue
        for words in islice(_endings(form, given, last), _MOST_SPELLINGS):
            used = candidates(mnemonic, (*given, *words))
            if isinstance(used, tuple) and any(isinstance(use, Use) and use.form is form for use in used):
                found.append((len(words), ".".join([mnemonic, *given, *words]), form))
    for _, label, form in sorted(found, key=lambda row: (row[0], _rank(row[1]))):
        yield label, form


def _rank(label: str) -> tuple[tuple[int, str], ...]:
    """What is written most comes first."""
    return tuple((_OFTEN.index(word) if word in _OFTEN else len(_OFTEN), word) for word in label.split("."))


def _endings(form: Form, given: tuple[str, ...], last: str) -> Iterator[tuple[str, ...]]:
    """Modifiers that may come behind those of a form that are given; the first begins as `last` does."""
    slots = list(_slots(form))
    for word in given:
        taken = next((s for s in slots if word in s.words), None)
        if taken is None:
            return
        slots.remove(taken)
    yield from _filled(tuple(slots), last)


@cache
def _slots(form: Form) -> tuple[Slot, ...]:
    pattern = form.pattern
    return (*pattern.slots, *pattern.types)


def _filled(slots: tuple[Slot, ...], last: str) -> Iterator[tuple[str, ...]]:
    """A word that begins as `last` does for one of the slots, and behind it what must follow: nothing that may be left out."""
    for at, slot in enumerate(slots):
        needed = [other.words for other in slots[at + 1 :] if other.required]
        for word in slot.words:
            if word.startswith(last):
                yield from ((word, *more) for more in product(*needed))
        if slot.required:
            return


# Texts by their kinds.


def _litmus(before: str, asked: PageRequest) -> tuple[int, list[Suggestion]]:
    line = _line(before)
    tail = line.split(maxsplit=1)[:1]
    in_tail = bool(tail) and tail[0] in _CONDITIONS and len(line) > len(tail[0])
    if not in_tail and "\n" in before and line == line.strip() and all(c.isalpha() or c in "~_" for c in line):
        from litmus.test import PROPERTIES

        items = [Suggestion(word, about, "keyword") for word, about in _CONDITIONS.items()]
        items += [Suggestion(word, "must hold", "keyword") for word in PROPERTIES]
        return len(before) - len(line), [*items, *instructions(line)]
    return _statement(before, line.replace("|", ";").rpartition(";")[2] if not in_tail else "", asked.text)


def _ptx(before: str, asked: PageRequest) -> tuple[int, list[Suggestion]]:
    line = _line(before).replace("{", ";").replace("}", ";")
    return _statement(before, line.rpartition(";")[2], asked.text)


def _statement(before: str, statement: str, text: str) -> tuple[int, list[Suggestion]]:
    """An opcode, or a name behind it."""
    if _is_opcode(statement):
        start = _start(before, _OPCODE)
        return start, list(instructions(before[start:]))
    return _start(before, _NAME), [Suggestion(name, "in this text", "name") for name in _names(text)]


def _names(text: str) -> list[str]:
    return sorted({name for name in _NAMES.findall(text) if name not in TYPED.forms})


def _cat(before: str, asked: PageRequest) -> tuple[int, list[Suggestion]]:
    line = _line(before)
    if line.count('"') % 2:  # a title, or a file that is included
        from axioms.cat.library import FILES

        included = line.split()[:1] == ["include"]
        return before.rfind('"') + 1, [
            Suggestion(name, "a file that need not be there", "value") for name in FILES if included
        ]
    own = sorted(set(_DEFINED.findall(asked.text)))
    return _start(before, _CAT), [*_cat_words(), *(Suggestion(name, "in this model", "name") for name in own)]


@cache
def _cat_words() -> tuple[Suggestion, ...]:
    from axioms.cat.library import DERIVED
    from axioms.cat.names import BASE
    from axioms.cat.tokens import KEYWORDS

    found = [Suggestion(name, f"{base.kind}: {base.meaning}", "name") for name, base in BASE.items()]
    found += [Suggestion(name, f"{made.kind}: {made.meaning}", "name") for name, made in DERIVED.items()]
    return (*(Suggestion(word, "keyword", "keyword") for word in sorted(KEYWORDS)), *found)


def _kernel(before: str, asked: PageRequest) -> tuple[int, list[Suggestion]]:
    from ptxmm.kernels.arguments import FIELD_KEYS, KEYS
    from ptxmm.kernels.schema import CHECK, FILE, KERNEL, VARIANT

    line = _line(before)
    key, equals, _ = line.partition("=")
    if line.rfind("{") > line.rfind("}") and ("params" in (_table(before), *re.findall(r"[a-z]+", key))):
        begun = re.split("[{,]", line)[-1]
        key, equals, _ = begun.partition("=")
        if not equals:
            keys = FIELD_KEYS if "fields" in line else KEYS
            return _start(before, ""), [Suggestion(f"{key} = ", "a key of an argument", "key") for key in keys]
    if equals:
        return _start(before, _NAME), list(_values(key.strip(), asked.text))
    if line.lstrip().startswith("["):
        names = ("[params]", "[memory]", "[check]", "[bounds]", "[[variant]]", "[[kernel]]")
        return len(before) - len(line.lstrip()), [Suggestion(name, "a table", "key") for name in names]
    schema = {"check": CHECK, "variant": VARIANT, "kernel": KERNEL, "": FILE}.get(_table(before), {})
    return _start(before, ""), [Suggestion(f"{key} = ", "a key", "key") for key in schema]


def _table(before: str) -> str:
    """The last part of the name of the table that the cursor is in; empty at the top."""
    heads = [line for line in before.split("\n") if line.lstrip().startswith("[")]
    return heads[-1].partition("]")[0].strip("[ \t").rpartition(".")[2] if heads else ""


def _values(key: str, text: str) -> Iterator[Suggestion]:
    from axioms.liveness.progress import NAMES
    from litmus.formats.header import EXPECTED
    from ptxmm.kernels.expressions import TYPES
    from ptxmm.kernels.test import PROPERTIES

    words: Iterable[str] = {
        "expect": EXPECTED, "progress": NAMES, "type": TYPES, **dict.fromkeys(PROPERTIES, ("true", "false")),
    }.get(key, ())  # fmt: skip
    yield from (Suggestion(word, f"for {key}", "value") for word in words)
    if not words:
        yield from (Suggestion(name, "in this test", "name") for name in _names(text))


_OF_KIND = {"litmus": _litmus, "ptx": _ptx, "cat": _cat, "kernel": _kernel}
