"""Python files as trees, each parsed once in a process: many tests of the architecture read the whole product."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from pathlib import Path


@functools.cache
def tree(path: Path) -> ast.Module:
    """What a file says. Nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> Sequence[ast.AST]:
    """Everything in a file, as `ast.walk` gives it."""
    return tuple(ast.walk(tree(path)))
