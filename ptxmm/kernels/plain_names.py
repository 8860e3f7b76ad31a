"""The names of kernels as people write them: `incr` for what C++ calls `_Z4incrPjS_`."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: As the Itanium C++ ABI writes names: those of namespaces and functions stand with their lengths, `N` before several of them.
_HEAD = re.compile(r"_ZL?(?P<nested>NK?)?(?=L?[0-9])")
_LENGTH = re.compile(r"L?(\d{1,4})")
#: What compilers call namespaces that have no name.
_UNNAMED = ("_GLOBAL__", "_INTERNAL_")


def plain(entry: str) -> str:
    """The name that the source has: `ns::incr` for `_ZN2ns4incrIiEEvPT_`; a name that C++ has not changed as it is. Arguments
    of templates and types of parameters are left out."""
    head = _HEAD.match(entry)
    if head is None:
        return entry
    at, names = head.end(), []
    while length := _LENGTH.match(entry, at):
        end = length.end() + int(length[1])
        names.append(entry[length.end() : end])
        if not length[1].strip("0") or end > len(entry):
            return entry
        at = end
        if head["nested"] is None:
            break
    return "::".join(name for name in names if not name.startswith(_UNNAMED)) or entry


def base(entry: str) -> str:
    """The last part of the plain name, without namespaces."""
    return plain(entry).rpartition("::")[2]


def meant(name: str, entries: Sequence[str]) -> list[str]:
    """The entries that a name may mean: the one of just that name, else those of that plain name, else those whose last parts
    are that: `incr`, `ns::incr`."""
    if name in entries:
        return [name]
    whole = [e for e in entries if plain(e) == name]
    return whole or [e for e in entries if plain(e).endswith(f"::{name}")]
