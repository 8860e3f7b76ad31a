"""What a request says: its values checked one by one, before any of it is worked on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ptxcore.records import NamedTuple
from ptxmm.web import limits

KINDS = ("litmus", "kernel", "ptx", "cat")
#: The name of a text of each kind: its ending says how it is read.
FILE_OF = {"litmus": "test.litmus", "kernel": "test.toml", "ptx": "test.ptx", "cat": "model.cat"}
#: What a model of the user's is called.
YOURS = "yours"
_FILE_NAME = re.compile(rf"[A-Za-z0-9_+\-][A-Za-z0-9_.+\-]{{0,{limits.LONGEST_FILE_NAME - 1}}}+")
_PAGE = re.compile(r"[A-Za-z0-9_-]{1,64}+")
_EXECUTION = re.compile(r"why|(?:race|wait|all)-\d{1,6}+")


class BadRequest(Exception):
    """A request that says what it may not: its `status`, and what would be right."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class PageRequest(NamedTuple):
    """What is asked of a text. Not every request says everything; equal ones are equal values. `options` are pairs."""

    text: str = ""
    kind: str = "litmus"
    files: tuple[tuple[str, str], ...] = ()
    variant: str = ""
    models: tuple[str, ...] = ()
    cat: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    execution: int | str = 0
    relations: tuple[str, ...] = ()
    offset: int = 0
    page: str = ""

    @property
    def path(self) -> str:
        """What messages call the text."""
        return FILE_OF[self.kind]

    def given(self) -> dict[str, bytes]:
        """The only files that there are for this text: itself, and those that came with it."""
        files = {self.path: self.text.encode()}
        if self.cat is not None:
            files[FILE_OF["cat"]] = self.cat.encode()
        return {**{name: text.encode() for name, text in self.files}, **files}


def of_json(body: bytes) -> dict[str, Any]:
    """The object in the body of a request. Raises BadRequest for what is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise BadRequest("the body is not a JSON object")
    return found


# Values: each function takes one, and gives it as it is kept, or raises BadRequest with the key that it stands at.

Take = Callable[[str, Any], Any]


def text(key: str, value: Any, longest: int = limits.LONGEST_BODY) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"'{key}' is a string")
    if len(value) > longest:
        raise BadRequest(f"'{key}' has at most {longest} characters", 413)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadRequest(f"'{key}' is text: half of a character stands in it") from None
    return value


def one_of(*words: str) -> Take:
    def take(key: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise BadRequest(f"'{key}' is one of {', '.join(words)}")
        return value

    return take


def number(least: int, most: int) -> Take:
    def take(key: str, value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise BadRequest(f"'{key}' is a whole number from {least} to {most}")
        return value

    return take


def flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadRequest(f"'{key}' is true or false")
    return value


def several(most: int, of: Take) -> Take:
    def take(key: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > most:
            raise BadRequest(f"'{key}' is an array of at most {most}")
        return tuple(of(key, item) for item in value)

    return take


def _model(key: str, value: Any) -> str:
    from axioms.models import names
    from axioms.models.naming import named
    from ptxcore.diagnostics import InputError

    name = " ".join(text(key, value, limits.LONGEST_NAME).split())
    if name == YOURS:
        return name
    try:
        said = named(name)
    except InputError as error:
        raise BadRequest(f"'{key}': {error.diagnostics[0].message}") from None
    if said.base not in names() or said.folders or said.shown:
        raise BadRequest(f"'{key}': the models are {', '.join(names())}, and '{YOURS}' for the one in 'cat'")
    return name


def _files(key: str, value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or len(value) > limits.MOST_FILES:
        raise BadRequest(f"'{key}' is an object of at most {limits.MOST_FILES} texts by their names")
    for name in value:
        if not _FILE_NAME.fullmatch(name) or name in FILE_OF.values():
            raise BadRequest(
                f"'{key}': a name is of letters, digits and _.+-, without folders, and none of the text's own"
            )
    return tuple((name, text(key, value[name])) for name in sorted(value))


def _page(key: str, value: Any) -> str:
    if not isinstance(value, str) or not _PAGE.fullmatch(value):
        raise BadRequest(f"'{key}' is of letters, digits, - and _, at most 64")
    return value


def _execution(key: str, value: Any) -> int | str:
    if type(value) is int and 0 <= value < limits.MOST_STATES:
        return value
    if isinstance(value, str) and _EXECUTION.fullmatch(value):
        return value
    raise BadRequest(f"'{key}' is a number from 0 to {limits.MOST_STATES - 1}, why, race-0, wait-0 or all-0")


def _relation(key: str, value: Any) -> str:
    return " ".join(text(key, value, limits.LONGEST_RELATION).split())


def _options(table: Mapping[str, Take]) -> Take:
    def take(key: str, value: Any) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict):
            raise BadRequest(f"'{key}' is an object")
        return tuple(sorted((name, item) for name, item in _taken(value, table, f"'{key}'").items()))

    return take


def _taken(value: Mapping[str, Any], table: Mapping[str, Take], what: str) -> dict[str, Any]:
    unknown = next((name for name in value if name not in table), None)
    if unknown is not None:
        raise BadRequest(f"{what} has no '{unknown[:40]}'; it has {', '.join(table)}")
    return {name: table[name](name, item) for name, item in value.items()}


def _cycle(key: str, value: Any) -> str:
    return text(key, value, limits.LONGEST_CYCLE)


def _short(key: str, value: Any) -> str:
    return text(key, value, limits.LONGEST_NAME)


def _progress(key: str, value: Any) -> str:
    from axioms.liveness.progress import progress_named

    try:
        return str(progress_named(text(key, value, limits.LONGEST_NAME)))
    except ValueError as error:
        raise BadRequest(f"'{key}': {error}") from None


def _reading(key: str, value: Any) -> str:
    from axioms.models.options import OPTIONS

    return str(one_of(*OPTIONS)(key, value))


def _property(key: str, value: Any) -> str:
    from litmus.test import PROPERTIES

    return str(one_of(*PROPERTIES)(key, value))


#: What `options` of a check may have.
CHECK_OPTIONS: dict[str, Take] = {
    "all_registers": flag,
    "checks": several(8, _property),
    "explain": flag,
    "progress": _progress,
    "readings": several(16, _reading),
    "resident": number(1, 1 << 20),
    "unroll": number(1, 64),
    "why": flag,
}
_CYCLE_OPTIONS: dict[str, Take] = {"places": _short, "events": _short}
_TEXT: dict[str, Take] = {"text": text, "kind": one_of(*KINDS), "files": _files, "variant": _short, "page": _page}
_TEST: dict[str, Take] = {**_TEXT, "cat": text, "options": _options(CHECK_OPTIONS)}
_ONE: dict[str, Take] = {**_TEST, "model": _model}
#: What each request may say; `_NEEDED` has what must be there.
REQUESTS: dict[str, dict[str, Take]] = {
    "check": {**_TEST, "models": several(limits.MOST_MODELS, _model)},
    "execution": {**_ONE, "execution": _execution, "relations": several(limits.MOST_RELATIONS, _relation)},
    "diagnose": {**_TEXT, "cat": text},
    "complete": {**_TEXT, "offset": number(0, limits.LONGEST_BODY)},
    "cycle": {"cycle": _cycle, "options": _options(_CYCLE_OPTIONS), "page": _page},
    "repair": _ONE,
}
_NEEDED: dict[str, tuple[str, ...]] = {"cycle": ("cycle",), "complete": ("text", "kind", "offset")}


def asked(name: str, found: Mapping[str, Any]) -> PageRequest:
    """What a request of this name asks. Raises BadRequest."""
    values = _taken(found, REQUESTS[name], "the request")
    for key in _NEEDED.get(name, ("text", "kind")):
        if key not in values:
            raise BadRequest(f"'{key}' is missing")
    if "cycle" in values:
        values["text"] = values.pop("cycle")
    if "model" in values:
        values["models"] = (values.pop("model"),)
    made = PageRequest(**values)
    return made._replace(models=_models(name, made))


def _models(name: str, made: PageRequest) -> tuple[str, ...]:
    """The models that are meant: the default one where none is said, and the user's where there is one."""
    from axioms.models import DEFAULT

    models = list(dict.fromkeys(made.models)) or ([] if made.cat is not None and name == "check" else [DEFAULT])
    if YOURS in models and made.cat is None:
        raise BadRequest(f"'{YOURS}' is the model in 'cat', which is missing")
    if made.cat is not None and YOURS not in models and name == "check":
        models.append(YOURS)
    return tuple(models)
