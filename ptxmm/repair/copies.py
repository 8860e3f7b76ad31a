"""Places of a module that are one place of its source: an unrolled loop, or a function that is inlined at several calls.

Who edits the source changes all of them together. So they are one site: its options change each of the copies, cost what they
cost once, and are checked together. And nothing can be put in within a statement of the source, nor within what it calls of
another file; but what looks so may be a loop of one statement that was unrolled, so where each place is asked for by itself, it
is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

from ptxcore.machine.lower.inlining import SourceLine, calls_of
from ptxcore.syntax.tree import Directive, Function, Instruction, Module
from ptxmm.repair.order import orders
from ptxmm.repair.sites import EditSite, Option


def together(module: Module, found: Sequence[EditSite], apart: bool = False) -> list[EditSite]:
    """The sites, with one for all copies of a place of the source, where the first of them stands.

    Copies have the same options at the same instruction, or before the same access, and come from the same place of the file
    that the kernel is of, by the same calls from there inwards; with `apart` by the same calls that led there, too, of which
    each may be edited. Two sites of one line of the module are no copies of each other.
    """
    chains = calls_of(module, {line for site in found if (line := _line(site))})
    names, behind = _names(module)
    if not apart:
        begun = _begun(module, {line for site in found if _put_in(site) and (line := _line(site))})
        found = [site for site in found if not _put_in(site) or _line(site) not in begun]
    seen = Counter[Hashable]()
    groups: dict[Hashable, list[EditSite]] = {}
    for number, site in enumerate(found):
        line = _line(site)
        chain = chains.get(line, [])
        place = tuple(chain) if apart else _place(chain)
        key: Hashable = number
        if place:
            name = (behind if _put_in(site) else names).get(line)
            alike = (place, name, site.line == line, _alike(site))
            key = (alike, seen[line, alike])
            seen[line, alike] += 1
        groups.setdefault(key, []).append(site)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _names(module: Module) -> tuple[dict[int, str], dict[int, str]]:
    """By its line the name of each statement, and of what accesses memory or meets there or next: what is computed before
    that is computed once for all copies, in the first one."""
    names, behind, last = dict[int, str](), dict[int, str](), ""
    for statement in reversed(module.statements):
        if isinstance(statement, Instruction):
            last = statement.name if orders(statement) else last
            names[statement.span.line], behind[statement.span.line] = statement.name, last
    return names, behind


def _line(site: EditSite) -> int:
    """The line of the statement that a site changes, or that comes behind what is put in."""
    wanted = next((option.wanted for option in site.options if option.wanted is not None), None)
    return wanted.line if wanted is not None else 0


def _put_in(site: EditSite) -> bool:
    return all(o.wanted is None or (o.wanted.kind == "put" and not o.about) for o in site.options)


def _begun(module: Module, lines: Collection[int]) -> set[int]:
    """Those of some lines before which the module has the same statement of the source, in the file of the kernel itself, and
    does not say so again."""
    before: dict[int, int] = {}
    last, said = 0, ""
    for statement in module.statements:
        if isinstance(statement, Function):
            last, said = 0, ""
        elif isinstance(statement, Directive) and statement.name == "loc":
            again, said = said, str(statement.arguments)
            last = 0 if said == again else last
        elif isinstance(statement, Instruction):
            before.setdefault(statement.span.line, last)
            last = statement.span.line
    pairs = {line: before[line] for line in lines if before.get(line)}
    chains = calls_of(module, {*pairs, *pairs.values()})
    own = {line: chain[len(_place(chain)) - 1 :] for line, chain in chains.items() if _place(chain)}
    return {line for line, other in pairs.items() if line in own and own[line] == own.get(other)}


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
