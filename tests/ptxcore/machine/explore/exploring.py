"""Threads explored, for tables: what each effect says, by the fields in which it is not as any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import Effect, ThreadExecution
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import ThreadCode, prepare
from ptxcore.syntax.reader import read_statements
from ptxcore.values.terms import Term

X, Y = 1 << 32, 2 << 32
SHARED = 4 << 28
S, M, N = SHARED + 0x100, SHARED + 0x200, SHARED + 0x300

VARIABLES = {
    "x": Variable(X),
    "y": Variable(Y),
    "s": Variable(S, space="shared"),
    "m": Variable(M, 64, "shared"),
    "n": Variable(N, 64, "shared"),
}
SPECIAL = {"cluster_ctarank": 0, "cluster_nctarank": 2, "tid.x": 5, "tid.y": 0, "tid.z": 0, "tid.w": 0, "laneid": 5}

_USUAL = {f.name: f.default for f in fields(Effect)}
#: What every effect has of its own, or what other fields say.
_LEFT_OUT = {"index", "kind", "guard", "instruction", "result", "value", "complete", "how", "combine", "answer"}


def code(text: str, initial: Mapping[str, int] | None = None, special: Mapping[str, int] | None = None) -> ThreadCode:
    statements = read_statements(text)
    return prepare(statements, TYPED, VARIABLES, initial or {}, special=SPECIAL if special is None else special)


def explored(text: str, initial: Mapping[str, int] | None = None, **options: Any) -> ThreadExecution:
    return explore(code(text, initial), name="T", **options)


def said(effect: Effect) -> dict[str, Any]:
    """The kind of an effect, and its fields that are not as they usually are."""
    found: dict[str, Any] = {"kind": effect.kind}
    for name, usual in _USUAL.items():
        value = getattr(effect, name)
        if name not in _LEFT_OUT and value != usual and value != {}:
            found[name] = tuple(sorted(value)) if name.endswith("_dependencies") else value
    return found


def effects(text: str, initial: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    return [said(effect) for effect in explored(text, initial).effects]


def returned(execution: ThreadExecution, index: int) -> Term:
    """What an effect returned."""
    result = execution.effects[index].result
    assert result is not None
    return result
