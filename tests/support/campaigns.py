"""How long campaigns are: as long as they say, or one part in so many, as CI runs them.

pytest -m campaign                      # hours
PTXMM_SHARE=200 pytest -m campaign      # minutes, and the same ones each time
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

#: More of what a short test looks at a part of: CI runs all of it in its own step (`-m long`), beside the planted mistakes.
LONG = pytest.mark.long
#: One in so many of what a campaign looks at.
SHARE = max(1, int(os.environ.get("PTXMM_SHARE", "1")))


def some(every: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test of which one in so many is tried in every run, and the others where CI asks for them."""
    return [value if i % every == 0 else _long(value) for i, value in enumerate(values)]


def lengths(short: Any, whole: Any) -> list[Any]:
    """Of a test's parameter that says how much it looks at: `short` in every run, and `whole` where CI asks for it."""
    return [short, _long(whole)]


def _long(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=LONG)


def share(count: int) -> int:
    """How many to look at, of so many."""
    return -(-count // SHARE)
