"""The names of kernels as people write them: `incr` for what C++ calls `_Z4incrPjS_`, `scale<float, 4>` for an instance of a
template."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ptxmm.kernels.demangled import UNNAMED, Demangled, demangled

#: As the Itanium C++ ABI writes names: those of namespaces and functions stand with their lengths, `N` before several of them.
_HEAD = re.compile(r"_ZL?(?P<nested>NK?)?(?=L?[0-9])")
_LENGTH = re.compile(r"L?(\d{1,4})")
#: What may be written in several ways: blanks, `unsigned` alone, `const` before a type, how long a number is.
_BLANK = re.compile(r"\s+(?!\w)|(?<!\w)\s+")
_UNSIGNED = re.compile(r"\bunsigned\b(?!\s+(?:int|char|short|long|__int128)\b)")
_CONST = re.compile(r"([<,(])const ((?:(?:unsigned|signed|long|short) )*[\w:]+)")
_OF_INSTANCE = re.compile(r"(?<=[<, ])([0-9]{1,9})[uUlL]*(?=\s*[,>])")
_NUMBER = re.compile(r"(?<![\w.])([0-9]+)[uUlL]+\b")


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
    return "::".join(name for name in names if not name.startswith(UNNAMED)) or entry


def base(entry: str) -> str:
    """The last part of the plain name, without namespaces."""
    return plain(entry).rpartition("::")[2]


def meant(name: str, entries: Sequence[str]) -> list[str]:
    """The entries that a name may mean: the one of just that name, else those of that plain name, else those whose last parts
    are that: `incr`, `ns::incr`. `scale<float, 4>` is an instance of a template, `scale<float>` those that begin so,
    `incr(int*)` the kernel of several of one name that takes that."""
    if name in entries:
        return [name]
    found = [e for e in entries if plain(e) == name] or [e for e in entries if plain(e).endswith(f"::{name}")]
    if found or not re.search(r"[<(]", name):
        return found
    wanted = _written_one_way(name)
    ways = {entry: [_written_one_way(way) for way in _ways(entry)] for entry in entries}
    found = [entry for entry in entries if wanted in ways[entry]]
    if found or not wanted.endswith(">"):
        return found
    return [entry for entry in entries if any(way.startswith(f"{wanted[:-1]},") for way in ways[entry])]


def shortest(entries: Sequence[str]) -> dict[str, str]:
    """What people call each entry: as plainly as it can be so that `meant` finds that one alone; as it stands, if need be."""
    known: dict[str, str] = {}
    for way in (plain, _instance, _whole):
        count = Counter(name for entry in entries for name in {entry, way(entry)})
        known |= {entry: way(entry) for entry in entries if entry not in known and count[way(entry)] == 1}
    return {entry: known.get(entry, entry) for entry in entries}


def by_turns(entries: Iterable[str]) -> list[str]:
    """The entries so that the first of each name comes first, then the second ones: of a template with many instances no other
    kernel is out of sight."""
    count = Counter[str]()
    turns: list[tuple[int, str]] = []
    for entry in entries:
        turns.append((count[plain(entry)], entry))
        count[plain(entry)] += 1
    return [entry for _, entry in sorted(turns, key=lambda turn: turn[0])]


def numbers_in_name(entry: str) -> list[int]:
    """The numbers that an instance of a template is of: 512 of `reduce<512u, true>`."""
    read = demangled(entry)
    return [int(n) for n in _OF_INSTANCE.findall(read.instance)] if read is not None else []


def _instance(entry: str) -> str:
    read = demangled(entry)
    return read.instance if read else entry


def _whole(entry: str) -> str:
    return str(demangled(entry) or entry)


def _ways(entry: str) -> Iterator[str]:
    """How somebody may write the name of an instance of a template, or of one kernel of several of a name: with all
    namespaces, or less of them."""
    read = demangled(entry)
    if read is None:
        return
    parts = read.name.split("::") if "<" not in read.name else [read.name]
    for i in range(len(parts)):
        shown: Demangled = read._replace(name="::".join(parts[i:]))
        yield from (shown.instance, str(shown))


def _written_one_way(name: str) -> str:
    """A name as others may write it, too: `f<const unsigned, 4u>` and `f< unsigned int const,4 >` are the same."""
    told = _BLANK.sub("", " ".join(name.split()))
    told = _UNSIGNED.sub("unsigned int", _NUMBER.sub(r"\1", told))
    return _CONST.sub(r"\1\2 const", told)
