"""Places of a module that are one place of its source: an unrolled loop, or a function that is inlined at several calls.

Who edits the source changes all of them together. So they are one site: its options change each of the copies, cost what they
cost once, and are checked together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from ptxcore.machine.lower.inlining import SourceLine, calls_of
from ptxcore.syntax.tree import Instruction, Module
from ptxmm.repair.sites import EditSite, Option


def together(module: Module, found: Sequence[EditSite], apart: bool = False) -> list[EditSite]:
    """The sites, with one for all copies of a place of the source, where the first of them stands.

    Copies have the same options at the same instruction, and come from the same place of the file that the kernel is of, by
    the same calls from there inwards; with `apart` by the same calls that led there, too, of which each may be edited. Two
    sites of one line of the module are no copies of each other.
    """
    chains = calls_of(module, {line for site in found if (line := _line(site))})
    names = {s.span.line: s.name for s in reversed(module.statements) if isinstance(s, Instruction)}
    seen = Counter[Hashable]()
    groups: dict[Hashable, list[EditSite]] = {}
    for number, site in enumerate(found):
        line = _line(site)
        chain = chains.get(line, [])
        place = tuple(chain) if apart else _place(chain)
        key: Hashable = number
        if place:
            alike = (place, names.get(line), site.line == line, _alike(site))
            key = (alike, seen[line, alike])
            seen[line, alike] += 1
        groups.setdefault(key, []).append(site)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _line(site: EditSite) -> int:
    """The line of the statement that a site changes, or that comes behind what is put in."""
    wanted = next((option.wanted for option in site.options if option.wanted is not None), None)
    return wanted.line if wanted is not None else 0


def _place(chain: Sequence[SourceLine]) -> tuple[SourceLine, ...]:
    """Of the places of a statement, the innermost first, those up to the first one in the file of the kernel itself."""
    own = next((k for k, place in enumerate(chain) if place[0] == chain[-1][0]), None)
    return () if own is None else tuple(chain[: own + 1])


def _alike(site: EditSite) -> Hashable:
    """What copies have in common, however many loops are around them: numbers may be in other registers, while what is put in
    is about the same ones."""
    return tuple(
        (o.wanted and (o.wanted.kind, o.wanted.new if o.wanted.kind == "put" else ""), o.level, o.meets, o.arrives)
        for o in site.options
    )


def _one(copies: Sequence[EditSite]) -> EditSite:
    lines = dict.fromkeys(site.line for site in copies[1:] if site.line != copies[0].line)
    options = zip(*(site.options for site in copies), strict=True)
    return replace(copies[0], options=tuple(map(_both, options)), copies=tuple(lines))


def _both(several: Sequence[Option]) -> Option:
    """An option of all copies at once."""
    return replace(
        several[0],
        edits=tuple(edit for option in several for edit in option.edits),
        cost=max(option.cost for option in several),
        alters=any(option.alters for option in several),
        sure=all(option.sure for option in several),
    )
