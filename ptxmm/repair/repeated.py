"""Places of a text that look alike: an unrolled loop, or a function that is inlined at several calls.

What mends one of them is tried at all. That they look alike is no proof that they come from one place of a source: it only says
what is tried first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Sequence

from ptxmm.repair.sites import EditSite, Vector

#: So many statements around a place are looked at, on each side.
_AROUND = 1
_NAMED = re.compile(r"[%\w$]*\d+")
_NAME = re.compile(r"^\s*(?:@!?%?\w+\s+)?\{?\s*((?!\.)[a-z]\w*(?:\.[\w:]+)*)\b[^:]")


def shape(words: str) -> str:
    """What a change is, whatever registers and numbers it is of."""
    return _NAMED.sub("#", words)


class AlikeSites:
    """The sites of a text that look alike."""

    def __init__(self, text: str, sites: Sequence[EditSite]) -> None:
        named = [(number, found[1]) for number, line in enumerate(text.split("\n"), 1) if (found := _NAME.match(line))]
        lines, names = [number for number, _ in named], [name for _, name in named]
        groups: dict[Hashable, list[int]] = {}
        for s, site in enumerate(sites):
            at = bisect_left(lines, site.line)
            around = tuple(names[max(at - _AROUND, 0) : at + _AROUND + 1])
            words = tuple(shape(option.words) for option in site.options)
            groups.setdefault((site.where, around, words), []).append(s)
        self._like = {s: group for group in groups.values() if len(group) > 1 for s in group}

    def everywhere(self, vector: Vector, s: int) -> Vector | None:
        """The vector with what it has at a site at all that look like it, as far as nothing else is there; None where it has
        that already, or there are no others."""
        like = self._like.get(s, ())
        spread = list(vector)
        for other in like:
            spread[other] = spread[other] or vector[s]
        return tuple(spread) if tuple(spread) != vector else None
