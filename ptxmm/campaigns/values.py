"""Outcomes as text, and back: the same outcome has the same text, whichever process made it, and reading it runs no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from axioms.events.memory import Beside
from axioms.witness.result import Site, Undefined
from ptxmm.checker import Outcome
from ptxmm.result import Cause, Checked, Executions, Loop, RaceEntry, RaceEvent, Refusal, Result, Spot, Step

#: The values that an outcome consists of, besides plain ones.
_CLASSES: dict[str, Any] = {
    c.__name__: c
    for c in (
        Outcome, Result, Checked, Cause, Step, Executions, RaceEntry, RaceEvent, Spot, Refusal, Loop, Undefined, Site, Beside,
    )
}  # fmt: skip
_PLAIN = (str, int, float, bool, type(None))


class NoText(ValueError):
    """A value that has no text, or a text that is none of ours."""


def written(outcome: Outcome) -> str:
    """Raises NoText for an outcome with something in it that only its process knows."""
    return json.dumps(_out(outcome), separators=(",", ":"))


def read(text: str) -> Outcome:
    """Raises NoText for what `written` has not written."""
    try:
        outcome = _in(json.loads(text))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise NoText(str(error)) from None
    if not isinstance(outcome, Outcome):
        raise NoText("not an outcome")
    return outcome


# A list is ["l", ...], a tuple ["t", ...], a dictionary ["d", [key, value], ...], one of our values ["its class", {fields}].


def _out(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return ["l" if kind is list else "t", *map(_out, value)]
    if kind is dict:
        return ["d", *([_out(k), _out(v)] for k, v in value.items())]
    if _CLASSES.get(kind.__name__) is not kind:
        raise NoText(f"a {kind.__name__} has no text")
    return [kind.__name__, {k: _out(v) for k, v in _fields_of(value).items()}]


def _fields_of(value: Any) -> Mapping[str, Any]:
    """The fields that are not as they are unless said otherwise."""
    if not is_dataclass(value):
        usual = value._field_defaults
        return {k: v for k, v in value._asdict().items() if k not in usual or usual[k] != v}
    found = {}
    for f in fields(value):
        own = getattr(value, f.name)
        usual = f.default if f.default_factory is MISSING else f.default_factory()
        if usual is MISSING or own != usual:
            found[f.name] = own
    return found


def _in(text: Any) -> Any:
    if not isinstance(text, list):
        if isinstance(text, dict):
            raise NoText("fields of nothing")
        return text
    kind, *rest = text
    if kind == "l":
        return [_in(v) for v in rest]
    if kind == "t":
        return tuple(_in(v) for v in rest)
    if kind == "d":
        return {_in(k): _in(v) for k, v in rest}
    return _CLASSES[kind](**{k: _in(v) for k, v in rest[0].items()})
