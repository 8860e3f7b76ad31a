"""What may be given to the Python interface is told: in docstrings, and with its defaults in docs/python.md."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ptxmm

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
CLASSES = {name: v for name in ptxmm.__all__ if inspect.isclass(v := getattr(ptxmm, name))}
FUNCTIONS = {name: v for name in ptxmm.__all__ if inspect.isfunction(v := getattr(ptxmm, name))}
METHODS = {
    f"{name}.{method}": v
    for name, cls in CLASSES.items()
    for method, v in vars(cls).items()
    if inspect.isfunction(v) and not method.startswith("_")
}
#: How the page shows that what follows is given by name.
_BY_NAME = "*by name:*"


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(function).parameters.values() if p.name != "self"]


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_the_docstring_of_a_function_names_every_parameter(name: str) -> None:
    function = {**FUNCTIONS, **METHODS}[name]
    said = set(re.findall(r"`(\w+)", function.__doc__ or ""))
    assert [p.name for p in parameters(function) if p.name not in said] == []


@pytest.mark.parametrize("name", CLASSES)
def test_the_docstring_of_a_class_names_everything_that_it_is_made_of(name: str) -> None:
    cls = CLASSES[name]
    said = set(re.findall(r"`(\w+)", f"{cls.__doc__} {vars(cls).get('__init__', cls).__doc__}"))
    made = (
        [f.name for f in dataclasses.fields(cls)]
        if dataclasses.is_dataclass(cls)
        else [p.name for p in parameters(cls)]
    )
    assert [field for field in made if field not in said] == []


def rows(name: str) -> list[tuple[str, str]]:
    """The parameters and defaults that the page has for a function."""
    section = re.search(rf"^### ptxmm\.{re.escape(name)}$(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/python.md has no section on ptxmm.{name}"
    found = re.findall(r"^\| (`\w+`|\*by name:\*) \| (.*?) ?\|", section[1], re.MULTILINE)
    return [(parameter.strip("`"), default) for parameter, default in found]


def wanted(function: Callable[..., Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for p in parameters(function):
        if p.kind is p.KEYWORD_ONLY and _BY_NAME not in dict(found):
            found.append((_BY_NAME, ""))
        found.append((p.name, "" if p.default is p.empty else f"`{p.default!r}`"))
    return found


@pytest.mark.parametrize("name", [*FUNCTIONS, "Kernel", "Kernel.check"])
def test_the_page_has_every_parameter_with_its_default(name: str) -> None:
    assert rows(name) == wanted({**FUNCTIONS, **METHODS, **CLASSES}[name])
