"""Litmus files: `read` makes a `Test` from text, `write` makes text from a `Test`, `find` lists the files of a path."""

from __future__ import annotations

from litmus.formats.files import find
from litmus.formats.reader import read
from litmus.test import Test

__all__ = ["find", "read", "write"]


def write(test: Test) -> str:
    """The text of a test; reading it gives an equal test. See `litmus.formats.printer`."""
    from litmus.formats.printer import write as write_text  # the checker itself never prints tests

    return write_text(test)
