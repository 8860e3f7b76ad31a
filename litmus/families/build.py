"""What the families share: from columns of cells to a test, and which scopes take in all of its threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from litmus.formats.reader import read
from litmus.test import Test
from ptxcore.places import SCOPES, WIDE


def build(
    name: str, comment: str, locations: Iterable[str], columns: Sequence[Sequence[str]], condition: str, one_cta: bool
) -> Test:
    """The test whose threads have the given cells. Each is in a CTA of its own, or all are in one."""
    header = " | ".join(f"P{i}@cta {0 if one_cta else i},gpu 0" for i in range(len(columns)))
    rows = (
        " | ".join(column[row] if row < len(column) else "" for column in columns)
        for row in range(max(map(len, columns)))
    )
    init = " ".join(f"{location}=0;" for location in locations)
    body = " ;\n ".join((header, *rows))
    return read(f'PTX {name}\n"{comment}"\n{{ {init} }}\n {body} ;\n{condition}\n')


def reaches_all(scope: str, one_cta: bool) -> bool:
    """Whether an operation of this scope takes in every thread of a family's test. Raises `ValueError` for no scope."""
    if scope not in SCOPES:
        raise ValueError(f"'{scope}' is no scope: {', '.join(SCOPES)}")
    return one_cta or scope in WIDE


#: So many threads a test of a family may have.
MOST = 1000


def at_least(n: int, least: int) -> None:
    """Raise `ValueError` for a family's size that is too small to mean anything, and for one that nobody can read."""
    if n < least:
        raise ValueError(f"this family starts at {least}, not at {n}")
    if n > MOST:
        raise ValueError(f"this family ends at {MOST}, before {n}")


def named(shape: str, n: int, *variants: str) -> str:
    """`SB-8+relaxed+cta`: a test's name from its shape, size, and whatever differs from the default."""
    return "+".join((f"{shape}-{n}", *filter(None, variants)))


def conjunction(parts: Iterable[str]) -> str:
    """`(a /\\ b /\\ c)`."""
    joined = " /\\ ".join(parts)
    return f"({joined})"
