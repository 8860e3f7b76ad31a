"""Sites made of statements of a text, whatever it is: a litmus test or a module."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxmm.repair import costs
from ptxmm.repair.accesses import Strength, choices, cost, family, no_stronger, spelled, strength
from ptxmm.repair.sites import EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

REPAIR, WEAKEN = "repair", "weaken"


class Lines:
    """A text, and the offsets of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both from 1."""
        return self._starts[line - 1] + column - 1

    def line(self, offset: int) -> int:
        """The line, from 1, of an offset."""
        return bisect_right(self._starts, offset)

    def start(self, line: int) -> int:
        """Where a line begins."""
        return self._starts[line - 1]

    def of(self, line: int) -> str:
        """A line without its end."""
        return self.text[self._starts[line - 1] : self._starts[line] - 1]


class Place(NamedTuple):
    """How sites of a thread or kernel are told, and which scopes tell its threads apart. `scopes`: those that take in others,
    the narrowest of each kind; `every`: with the narrowest of all."""

    who: str
    scopes: tuple[str, ...]
    every: tuple[str, ...]


def head_of(instruction: Instruction, lines: Lines) -> tuple[int, int] | None:
    """Where opcode and modifiers stand in the text; None where the text says something else there."""
    line, column, end = instruction.span
    if line < 1:
        return None
    start, stop = lines.offset(line, column), lines.offset(line, end)
    return (start, stop) if "".join(lines.text[start:stop].split()) == instruction.name else None


def access_site(
    instruction: Instruction,
    lines: Lines,
    place: Place,
    mode: str,
    gone: Callable[[Instruction], TextEdit | None],
    replaced: Callable[[int, int, str], TextEdit],
    source: SourceWords | None = None,
) -> EditSite | None:
    """What an access or a fence may become: stronger to repair, weaker to weaken. `gone` takes a statement away, `replaced`
    writes an opcode with its modifiers over another. None where there is nothing to choose."""
    kind, head = family(instruction), head_of(instruction, lines)
    if kind is None or head is None:
        return None
    now = strength(instruction, kind)
    scopes = place.scopes if mode == REPAIR else place.every
    if now.scope:
        scopes = tuple(dict.fromkeys((*scopes, now.scope)))
    levels = [now]
    for level in choices(kind, scopes):
        weaker, stronger = no_stronger(kind, level, now), no_stronger(kind, now, level)
        if level != now and (stronger if mode == REPAIR else weaker):
            levels.append(level)
    options = []
    for level in levels:
        words = "" if level == now else told(instruction, kind, level, now)
        edit: TextEdit | None = None
        if level != now:
            edit = replaced(*head, spelled(instruction, kind, level)) if level.order else gone(instruction)
            if edit is None:
                continue
        change = cost(kind, level) - (cost(kind, now) if mode == REPAIR else 0)
        line = instruction.span.line
        said = source.of_access(line, kind, level.order, level.scope, now.scope) if source and words else ""
        new = spelled(instruction, kind, level) if level.order else ""
        wanted = Wanted(
            "order" if level.order else "gone", line, 0, instruction.name, new, kind, level.order, level.scope, *now
        )
        options.append(Option((edit,) if edit else (), change, (kind, level), words, said, wanted=wanted))
    return site(place.who, instruction.span.line, options, _at_most(kind), mode)


def _at_most(kind: str) -> Callable[[tuple[object, ...], tuple[object, ...]], bool]:
    """Compares levels of options of one kind: their orders and scopes, which stand second."""

    def compared(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
        a, b = one[1], other[1]
        assert isinstance(a, Strength) and isinstance(b, Strength)
        return no_stronger(kind, a, b)

    return compared


def told(instruction: Instruction, kind: str, level: Strength, now: Strength) -> str:
    """A change in words."""
    if not level.order:
        return f"{instruction.name} is taken away"
    return f"{instruction.name} becomes {spelled(instruction, kind, level)}"


def site(
    where: str,
    line: int,
    options: Sequence[Option],
    at_most: Callable[[tuple[object, ...], tuple[object, ...]], bool],
    mode: str,
) -> EditSite | None:
    """A site of options, of which the first is the text as it is; the weakest comes first in it. None for one option."""
    if len(options) < 2:
        return None
    if mode == WEAKEN:
        weakest = next((o for o in options if all(at_most(o.level, p.level) for p in options)), None)
        if weakest is None:
            return None
        options = [weakest, *(o for o in options if o is not weakest)]
    touched = [o if i == 0 or mode == WEAKEN else replace(o, cost=o.cost + costs.EDIT) for i, o in enumerate(options)]
    if mode == WEAKEN:  # a statement costs what it is; the weakest of a site counts for nothing
        least = options[0].cost
        touched = [replace(o, cost=max(o.cost - least, 1) if i else 0) for i, o in enumerate(options)]
    below = tuple(frozenset(j for j, other in enumerate(touched) if at_most(other.level, o.level)) for o in touched)
    return EditSite(where, line, tuple(touched), below)


def fence_levels(scopes: Iterable[str]) -> list[Strength]:
    """Fences that may be put in: of both usual orders, in each scope."""
    return [Strength(order, scope) for order in ("acq_rel", "sc") for scope in scopes]


def fence_site(
    where: str, line: int, offset: int, scopes: Sequence[str], put: Callable[[str], str], loops: int,
    source: SourceWords | None = None, between: tuple[int, int] = (0, 0),
) -> EditSite | None:  # fmt: skip
    """A fence that may be put in at an offset; `put` makes the text there of a statement. `between`: the lines of
    the instructions behind and before it."""
    options = [Option((), 0, ("fence", Strength("", "")))]
    for level in fence_levels(scopes):
        name = f"fence.{level.name}"
        price = cost("fence", level) + loops * costs.IN_A_LOOP
        edit = TextEdit(offset, offset, put(name))
        wanted = Wanted("put", *between, "", name, "fence", *level)
        said = _said(source, line, name)
        options.append(Option((edit,), price, ("fence", level), _before(name), said, wanted=wanted))
    return site(where, line, options, _at_most("fence"), REPAIR)


def ranked_site(
    where: str, line: int, offset: int, statements: Iterable[tuple[str, int]], put: Callable[[str], str], loops: int,
    source: SourceWords | None = None, meets: bool = False, alters: bool = False, between: tuple[int, int] = (0, 0),
) -> EditSite:  # fmt: skip
    """One of some statements, each with its cost, that may be put in: each does all that those before it do. `meets`: threads
    wait for others there; `alters`: and other barriers are met otherwise."""
    options = [Option((), 0, (0,))]
    for rank, (name, price) in enumerate(statements, 1):
        edit = TextEdit(offset, offset, put(name))
        cost_there = price + costs.EDIT + loops * costs.IN_A_LOOP
        wanted, said = Wanted("put", *between, "", name), _said(source, line, name)
        options.append(
            Option(
                (edit,), cost_there, (rank,), _before(name), said, meets, alters, meets and not alters, wanted
            )
        )  # fmt: skip
    return EditSite(where, line, tuple(options), tuple(frozenset(range(i + 1)) for i in range(len(options))))


def _before(name: str) -> str:
    return f"{'; '.join(map(str.strip, name.split(';')))} is put in before this"


def _said(source: SourceWords | None, line: int, name: str) -> str:
    return source.of_new(line, name) if source is not None else ""
