"""Where inlined code comes from: `.loc` with `inlined_at` (PTX ISA 9.0, section 11.5.4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from ptxcore.syntax.tree import Directive, Function, Immediate, Instruction, Label, Module, Name

#: File number, line, column.
InlinedAt = tuple[int, ...]
#: So deep nobody inlines; compilers do not write calls that lead in a circle, but texts may.
_DEEPEST = 100


_BRANCHES = ("bra", "brx")
#: What does not lead on to the next statement, unless it has a guard.
_LEAVE = (*_BRANCHES, "ret", "exit", "trap")

#: File, line and column of a source.
SourceLine = tuple[str, int, int]


def source_of(module: Module, lines: Collection[int]) -> dict[int, tuple[str, int]]:
    """File and line of the source for lines of a module, as far as a `.loc` before them in their function says. For modules
    that are wrong: those that are lowered know their lines."""
    return {
        line: (name, number) for line, calls in calls_of(module, lines).items() for name, number, _ in [_told(calls)]
    }


def calls_of(module: Module, lines: Collection[int]) -> dict[int, list[SourceLine]]:
    """Likewise all places: where the code stands, then the call that it was inlined by, and so on outwards. Code of no line
    (compilers give it line 0) counts as that before it."""
    files: dict[int, str] = {}
    callers = Callers()
    here: list[InlinedAt] = []
    starts: dict[int, list[InlinedAt]] = {}
    for statement in module.statements:
        if isinstance(statement, Instruction | Label):
            callers.passes(statement)
        elif isinstance(statement, Function):
            here = []
        elif isinstance(statement, Directive) and statement.name == "file":
            number, name = statement.arguments[:2]
            files[getattr(number, "value", 0)] = getattr(name, "text", "")
        elif isinstance(statement, Directive) and statement.name == "loc":
            chain = callers.chain(statement)
            here = chain if chain[0][1:2] != (0,) else here
        starts[statement.span.line] = here
    known = sorted(starts)
    found: dict[int, list[SourceLine]] = {}
    for line in lines:
        at = bisect_right(known, line) - 1
        chain = starts[known[at]] if at >= 0 else []
        if chain and files.get(chain[-1][0]):
            found[line] = [(files.get(p[0], ""), p[1], p[2] if len(p) > 2 else 0) for p in chain]
    return found


def _told(calls: list[SourceLine]) -> SourceLine:
    """Of the places the one that is told, as `Callers.origin` says."""
    return next(spot for spot in calls if spot[0] == calls[-1][0])


class Callers:
    """The calls in which the code of each place was inlined, as far as the text has said. Of code that was inlined at several
    calls a block may stand far behind, after what was inlined later: it is of the calls of the branch that leads there."""

    def __init__(self) -> None:
        self._caller: dict[InlinedAt, InlinedAt] = {}
        #: By label, what was so at the first branch there; and whether the statement before leads on to the next.
        self._at: dict[str, dict[InlinedAt, InlinedAt]] = {}
        self._falls = True

    def passes(self, statement: Instruction | Label) -> None:
        """The text goes on with a statement, behind the `.loc` that is its own."""
        if isinstance(statement, Label):
            if not self._falls and statement.name in self._at:
                self._caller = self._at[statement.name]
            self._falls = True
            return
        if statement.opcode in _BRANCHES:
            for target in statement.operands:
                if isinstance(target, Name) and target.name not in self._at:
                    self._at[target.name] = dict(self._caller)
        self._falls = statement.guard is not None or statement.opcode not in _LEAVE

    def origin(self, loc: Directive) -> tuple[int, int]:
        """File number and line to tell for a `.loc`: of the calls that led to it, the innermost in the file of the kernel
        itself."""
        chain = self.chain(loc)
        own = next(p for p in chain if p[0] == chain[-1][0])
        return own[0], own[1]

    def chain(self, loc: Directive) -> list[InlinedAt]:
        """The place of a `.loc`, and of the calls that led to it, outwards. Compilers write the `.loc` of each call before
        those of what was inlined there."""
        numbers = [a.value for a in loc.arguments if isinstance(a, Immediate)]
        place, caller = tuple(numbers[:3]), tuple(numbers[3:6])
        if caller:
            self._caller[place] = caller
        else:
            self._caller.pop(place, None)
        chain = [place]
        while chain[-1] in self._caller and len(chain) < _DEEPEST:
            chain.append(self._caller[chain[-1]])
        return chain
