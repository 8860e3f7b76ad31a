"""What the page offers to open: the library, kernels and models that lie here, models that ship, exercises of the tutorial.

Kernels are written to be read: a module with its tests as comments, or a kernel test with the module beside it. The first test
of each holds, and the second is the mistake that the first line tells of.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
#: Topics of the library that come first, as one learns; the others follow by name.
_FIRST = (
    "message-passing",
    "store-buffering",
    "load-buffering",
    "iriw",
    "coherence",
    "atomicity",
    "scopes",
    "barriers",
    "locks",
)
#: The first kernels and models, in the order in which one learns.
_KERNELS = ("handoff.ptx", "neighbour.ptx", "lock.ptx", "last-block.ptx", "copy.toml", "grid-barrier.ptx")
_MODELS = ("sc.cat", "tso.cat")
_KINDS = {".litmus": "litmus", ".ptx": "ptx", ".toml": "kernel", ".cat": "cat"}


@cache
def examples() -> tuple[dict[str, Any], ...]:
    """All examples, each with its `group` (litmus, kernels, models, exercises), its `topic` within it, its text and its files.
    They are read once, before anybody asks: later no worker opens such files. Raises OSError."""
    return (*_litmus(), *_kernels(), *_models(), *_exercises())


def _litmus() -> Iterator[dict[str, Any]]:
    from litmus.library import called, tests

    def place(folder: str) -> tuple[int, str]:
        return (_FIRST.index(folder) if folder in _FIRST else len(_FIRST)), folder

    for test in sorted(tests(), key=lambda test: place(test.folder)):
        ending = "" if test.path.endswith(".litmus") else ".ptx"
        yield _example(
            "litmus",
            test.folder,
            test.name,
            f"{test.folder}/{called(test.path)}{ending}",
            test.about,
            _read(test.path),
            asked=test.asked,
        )


def _kernels() -> Iterator[dict[str, Any]]:
    for name in _KERNELS:
        text = _read(os.path.join(_FOLDER, "kernels", name))
        about = text.partition("\n")[0].lstrip("/# ")
        module = tomllib.loads(text)["ptx"] if name.endswith(".toml") else None
        files = {module: _read(os.path.join(_FOLDER, "kernels", module))} if module else {}
        yield _example("kernels", "kernels in PTX", name.partition(".")[0], f"ptx/{name}", about, text, files=files)


def _models() -> Iterator[dict[str, Any]]:
    from axioms.models import about, names, text_of

    for name in _MODELS:
        text = _read(os.path.join(_FOLDER, "models", name))
        said = " ".join(text.partition("(*")[2].partition("*)")[0].split())
        yield _example("models", "models in cat", name.removesuffix(".cat"), f"models/{name}", said, text, kind="cat")
    for name in names():
        yield _example("models", "models in cat", name, f"models/{name}.cat", about(name), text_of(name), kind="cat")


def _exercises() -> Iterator[dict[str, Any]]:
    from ptxmm.exercises import EXERCISES

    for exercise in EXERCISES:
        task = f"Step {exercise.step} of the tutorial: {exercise.task}."
        yield _example(
            "exercises", "exercises of the tutorial", exercise.name, f"exercises/{exercise.file}", task, exercise.text
        )


def _example(
    group: str,
    topic: str,
    name: str,
    path: str,
    about: str,
    text: str,
    *,
    asked: str = "",
    kind: str = "",
    files: dict[str, str] | None = None,
) -> dict[str, Any]:
    kind = kind or _KINDS.get(path[path.rfind(".") :], "litmus")
    return {
        "group": group, "topic": topic, "name": name, "path": path, "about": about, "asked": asked, "kind": kind, "text": text,
        "files": files or {},
    }  # fmt: skip


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
