"""What may stand where a cursor is: from the tables that the readers use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from ptxcore.isa.form import Form, Slot, Use
from ptxcore.isa.table import TYPED, candidates
from ptxmm.web.asked import Asked
from ptxmm.web.limits import MOST_ITEMS

_WORD = re.compile(r"[%\w$.:~'-]*\Z")
_PLAIN_WORD = re.compile(r"[%\w$~]*\Z")
_OPCODE = re.compile(r"[a-z]\w*(?:[.:][\w:]*)*\Z")
_TOML_KEY = re.compile(r"\s*[\w.-]*\Z")
_TOML_VALUE = re.compile(r"\s*(?P<key>[\w-]+)\s*=\s*(?P<rest>.*)\Z", re.S)
_TABLE = re.compile(r"^\s*\[{1,2}\s*([\w.\s-]+?)\s*\]{1,2}", re.M)
_NAMES = re.compile(r"(?<![\w%$.])(?:%[A-Za-z]\w*|[A-Za-z_]\w*)")
#: So many spellings of a form are looked at.
_MOST_SPELLINGS = 3000
#: Modifiers that are written most, in this order.
_OFTEN = (
    *("relaxed", "acquire", "release", "acq_rel", "sc", "weak", "gpu", "cta", "sys", "cluster", "global", "shared"),
    *("u32", "u64", "s32", "s64", "b32", "b64", "f32", "f64", "u16", "u8", "add", "exch", "cas"),
)
_CONDITIONS = {
    "exists": "some execution ends so", "~exists": "no execution ends so", "forall": "every execution ends so",
    "filter": "only executions that end so", "locations": "what else states show",
}  # fmt: skip


class Item(NamedTuple):
    """Something that may stand there: `detail` says what it is."""

    label: str
    detail: str
    kind: str


def complete(asked: Asked) -> dict[str, Any]:
    """The answer of /api/complete: what may stand instead of the characters from `from` to the cursor."""
    before = asked.text[: asked.offset]
    start, items = _OF_KIND[asked.kind](before, asked)
    written = before[start:]
    fitting = [i for i in items if i.label.startswith(written) and i.label != written]
    if not fitting and len(written) > 1:
        fitting = [i for i in items if written.lower().lstrip("%") in i.label.lower() and i.label != written]
    unique = list({item.label: item for item in fitting}.values())[:MOST_ITEMS]
    return {"from": start, "items": [item._asdict() for item in unique]}


def _start(before: str, word: re.Pattern[str]) -> int:
    line = before.rpartition("\n")[2]
    found = word.search(line)
    return len(before) - (len(found[0]) if found else 0)


# Instructions.


def instructions(written: str) -> Iterator[Item]:
    """Instructions whose opcode begins like this: mnemonics while no modifier is written, then whole spellings."""
    mnemonic, dot, _ = written.partition(".")
    if not dot:
        for name in sorted(TYPED.forms):
            if name.startswith(mnemonic):
                yield Item(name, _first(TYPED.forms[name]), "instruction")
        return
    if mnemonic not in TYPED.forms:
        return
    fixed, last = written.rpartition(".")[::2]
    given = fixed.split(".")[1:]
    seen: set[str] = set()
    for label, form in _spellings(mnemonic, tuple(given), last):
        if label not in seen:
            seen.add(label)
            yield Item(label, form.shown(), "instruction")


def _first(forms: Iterable[Form]) -> str:
    return next((form.shown() for form in forms if not form.until), "")


def _spellings(mnemonic: str, given: tuple[str, ...], last: str) -> Iterator[tuple[str, Form]]:
    """What may follow the modifiers that are there: whole opcodes that are right, the shortest first."""
    found: list[tuple[int, str, Form]] = []
    for form in TYPED.forms[mnemonic]:
        if form.until or form.only == "manual":
            continue
        for number, words in enumerate(_endings(form, given, last)):
            if number >= _MOST_SPELLINGS // 10:
                break
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
    """Every way to fill slots, required ones certainly, one at least; the first word begins as `last` does."""
    for at, slot in enumerate(slots):
        for word in slot.words:
            if word.startswith(last):
                for more in _rest(slots[at + 1 :]):
                    yield (word, *more)
        if slot.required:
            return


def _rest(slots: tuple[Slot, ...]) -> Iterator[tuple[str, ...]]:
    if not slots:
        yield ()
        return
    first, others = slots[0], slots[1:]
    if not first.required:
        yield from _rest(others)
    for word in first.words:
        for more in _rest(others):
            yield (word, *more)


# Texts by their kinds.


def _litmus(before: str, asked: Asked) -> tuple[int, list[Item]]:
    line = before.rpartition("\n")[2]
    cell = re.split(r"[|;]", line)[-1]
    tail = re.match(r"\s*(?:~?exists|forall|filter|locations)\b", line) is not None
    if not tail and "|" not in line and ";" not in line and re.fullmatch(r"[~a-z_]*", line) and "\n" in before:
        start = len(before) - len(line)
        from litmus.test import PROPERTIES

        items = [Item(word, about, "keyword") for word, about in _CONDITIONS.items()]
        items += [Item(word, "must hold", "keyword") for word in PROPERTIES]
        return start, [*items, *instructions(line)]
    if not tail and re.fullmatch(r"\s*(?:@!?[\w%$]+\s+)?[a-z][\w.:]*", cell):
        start = _start(before, _OPCODE)
        return start, list(instructions(before[start:]))
    return _start(before, _PLAIN_WORD), [Item(name, "in this test", "name") for name in _names(asked.text)]


def _ptx(before: str, asked: Asked) -> tuple[int, list[Item]]:
    line = before.rpartition("\n")[2]
    statement = re.split(r"[;{}]", line)[-1]
    if re.fullmatch(r"\s*(?:@!?[\w%$]+\s+)?[a-z][\w.:]*", statement):
        start = _start(before, _OPCODE)
        return start, list(instructions(before[start:]))
    return _start(before, _PLAIN_WORD), [Item(name, "in this module", "name") for name in _names(asked.text)]


def _names(text: str) -> list[str]:
    return sorted({name for name in _NAMES.findall(text) if name not in TYPED.forms})


def _cat(before: str, asked: Asked) -> tuple[int, list[Item]]:
    return _start(before, _WORD), [*_cat_words(), *(Item(n, "in this model", "name") for n in _cat_names(asked.text))]


@cache
def _cat_words() -> tuple[Item, ...]:
    from axioms.cat.library import DERIVED
    from axioms.cat.names import BASE
    from axioms.cat.tokens import KEYWORDS

    found = [Item(name, f"{base.kind}: {base.meaning}", "name") for name, base in BASE.items()]
    found += [Item(name, f"{made.kind}: {made.meaning}", "name") for name, made in DERIVED.items()]
    return (*(Item(word, "keyword", "keyword") for word in sorted(KEYWORDS)), *found)


def _cat_names(text: str) -> list[str]:
    return sorted(set(re.findall(r"(?:let|and|rec|as)\s+([A-Za-z_][\w.-]*)", text)))


def _kernel(before: str, asked: Asked) -> tuple[int, list[Item]]:
    from ptxmm.kernels.schema import CHECK, FILE, KERNEL, VARIANT

    line = before.rpartition("\n")[2]
    tables = _TABLE.findall(before)
    table = tables[-1].split(".")[-1].strip() if tables else ""
    value = _TOML_VALUE.match(line)
    if value is not None:
        return _start(before, _PLAIN_WORD), list(_values(value["key"], asked.text))
    if line.lstrip().startswith("["):
        names = ("[params]", "[memory]", "[check]", "[bounds]", "[[variant]]", "[[kernel]]")
        start = len(before) - len(line.lstrip())
        return start, [Item(name, "a table", "key") for name in names]
    if not _TOML_KEY.fullmatch(line):
        return len(before), []
    schema = {"check": CHECK, "variant": VARIANT, "kernel": KERNEL, "": FILE}.get(table, {})
    return _start(before, _PLAIN_WORD), [Item(f"{key} = ", "a key", "key") for key in schema]


def _values(key: str, text: str) -> Iterator[Item]:
    from axioms.liveness.progress import NAMES
    from ptxmm.kernels.expressions import TYPES
    from ptxmm.kernels.test import PROPERTIES
    from ptxmm.result import EXPECTED

    words: Iterable[str] = {
        "expect": EXPECTED, "progress": NAMES, "type": TYPES, **dict.fromkeys(PROPERTIES, ("true", "false")),
    }.get(key, ())  # fmt: skip
    yield from (Item(word, f"for {key}", "value") for word in words)
    yield from (Item(name, "in this test", "name") for name in _names(text))


_OF_KIND = {"litmus": _litmus, "ptx": _ptx, "cat": _cat, "kernel": _kernel}
