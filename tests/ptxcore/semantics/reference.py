"""What every executed form should compute, said a second time and independently of `ptxcore.values`.

Each section file of `ptxcore/isa` has its counterpart in `references/`, a module with

    REFERENCES = {("9.7.1.1", "add.type d, a, b"): add, ...}     the forms' sections and syntax lines
    EXPLAINED = {("9.7.19.4", "trap"): "test_stack.py runs it"}  why a form with a meaning has no reference
    INPUTS = {("9.7.4.1", "..."): draw, ...}                     where `driver.draw_sources` cannot make the inputs

A reference is called as the meaning is, `reference(how, *sources)`, on Python integers, and gives an integer, or a tuple
for several destinations; of `how` it uses the words and types only. Its results are compared by `==`: what the manual
leaves open is `ANYTHING`, and an object with an `__eq__` of its own may accept a range. A source that the instruction
left out is None, one that is a vector a tuple; the carry flag stands behind the sources and behind the result.

`INPUTS`: `draw(how, random) -> sources`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ptxcore.isa.form import Form
from ptxcore.isa.table import SECTIONS

Key = tuple[str, str]

#: The section files whose every meaning has a reference, or a reason why not. A new section is added when it is done.
FINISHED: tuple[str, ...] = (
    "integer",
    "extended_precision",
    "logic",
    "stack",
    "video",
    "miscellaneous",
    "synchronization",
    "data_movement",
    "async_copy",
    "floating_point",
    "half_precision",
    "mixed_precision",
    "comparison",
    "half_comparison",
    "conversion",
    "control",
    "matrix_moves",
    "mma",
    "wmma",
    "tensor_core",
)

#: Kinds of forms that compute nothing.
WITHOUT_RESULT = ("nothing", "exit", "jump", "call", "return", "branch")


class _Anything:
    """Equal to every result: the manual leaves it open."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING = _Anything()


def key(form: Form) -> Key:
    return form.section, form.syntax


@cache
def forms(section_file: str) -> tuple[Form, ...]:
    """The forms of a section file that have a meaning."""
    found = import_module(f"ptxcore.isa.{section_file}").FORMS
    return tuple(form for form in found if form.run is not None)


def all_forms() -> list[Form]:
    return [form for section in SECTIONS for form in forms(section)]


@cache
def _modules() -> tuple[ModuleType, ...]:
    folder = Path(__file__).parent / "references"
    return tuple(import_module(f"references.{path.stem}") for path in sorted(folder.glob("*.py")))


def _table(name: str) -> dict[Key, Any]:
    joined: dict[Key, Any] = {}
    for module in _modules():
        joined |= getattr(module, name, {})
    return joined


@cache
def references() -> dict[Key, Callable[..., Any]]:
    return _table("REFERENCES")


@cache
def home(key: Key) -> str:
    """The module of `references` that has the reference of a form."""
    return next(m.__name__.rpartition(".")[2] for m in _modules() if key in getattr(m, "REFERENCES", {}))


@cache
def explained() -> dict[Key, str]:
    return _table("EXPLAINED")


@cache
def inputs() -> dict[Key, Callable[..., tuple[Any, ...]]]:
    return _table("INPUTS")
