"""Where inlined code comes from: `.loc` with `inlined_at` (PTX ISA 9.0, section 11.5.4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from ptxcore.syntax.tree import Directive, Function, Immediate, Module

#: File number, line, column.
Place = tuple[int, ...]
#: So deep nobody inlines; compilers do not write calls that lead in a circle, but texts may.
_DEEPEST = 100


def source_of(module: Module, lines: Collection[int]) -> dict[int, tuple[str, int]]:
    """File and line of the source for lines of a module, as far as a `.loc` before them in their function says. For modules
    that are wrong: those that are lowered know their lines."""
    files: dict[int, str] = {}
    callers = Callers()
    here: tuple[int, int] | None = None
    starts: dict[int, tuple[int, int] | None] = {}
    for statement in module.statements:
        if isinstance(statement, Function):
            here = None
        elif isinstance(statement, Directive) and statement.name == "file":
            number, name = statement.arguments[:2]
            files[getattr(number, "value", 0)] = getattr(name, "text", "")
        elif isinstance(statement, Directive) and statement.name == "loc":
            here = callers.origin(statement)
        starts[statement.span.line] = here
    known = sorted(starts)
    found: dict[int, tuple[str, int]] = {}
    for line in lines:
        at = bisect_right(known, line) - 1
        place = starts[known[at]] if at >= 0 else None
        if place is not None and files.get(place[0]):
            found[line] = files[place[0]], place[1]
    return found


class Callers:
    """The calls in which the code of each place was inlined, as far as the text has said."""

    def __init__(self) -> None:
        self._caller: dict[Place, Place] = {}

    def origin(self, loc: Directive) -> tuple[int, int]:
        """File number and line to tell for a `.loc`: of the calls that led to it, the innermost in the file of the kernel
        itself. Compilers write the `.loc` of each call before those of what was inlined there."""
        numbers = [a.value for a in loc.arguments if isinstance(a, Immediate)]
        place, caller = tuple(numbers[:3]), tuple(numbers[3:6])
        if caller:
            self._caller[place] = caller
        else:
            self._caller.pop(place, None)
        chain = [place]
        while chain[-1] in self._caller and len(chain) < _DEEPEST:
            chain.append(self._caller[chain[-1]])
        own = next(p for p in chain if p[0] == chain[-1][0])
        return own[0], own[1]
