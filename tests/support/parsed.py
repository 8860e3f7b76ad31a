"""Python files as trees, each parsed once in a process: many tests of the architecture read the whole product."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from pathlib import Path

from ptxcore.collection import collection_paused


@functools.cache
def tree(path: Path) -> ast.Module:
    """What a file says. Nobody changes it."""
    with collection_paused():  # a million nodes stay, and none is in a circle
        return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> Sequence[ast.AST]:
    """Everything in a file, as `ast.walk` gives it."""
    found: list[ast.AST] = [tree(path)]
    for node in found:  # which grows meanwhile
        for part in vars(node).values():
            if isinstance(part, ast.AST):
                found.append(part)
            elif type(part) is list:
                found += [one for one in part if isinstance(one, ast.AST)]
    return tuple(found)
