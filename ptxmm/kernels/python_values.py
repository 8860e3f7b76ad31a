"""Values of Python as a TOML file would have them: tuples, paths, arrays and numbers of NumPy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def plain_value(value: Any) -> Any:
    """What TOML would have: lists for tuples, paths as strings."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [plain_value(v) for v in value]
    if isinstance(value, Mapping):
        return {key: plain_value(v) for key, v in value.items()}
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


def table_of_value(value: Any) -> Any:
    """A table for an array or a number of NumPy; anything else as it is."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return plain_value(value)
    written = {"u": "u", "i": "s", "f": "f", "b": "u"}.get(dtype.kind, dtype.kind) + str(8 * dtype.itemsize)
    if value.ndim == 0:
        return {"type": written, "value": value.item()}
    return {"type": written, "elements": max(1, value.size), "init": value if value.size else []}
