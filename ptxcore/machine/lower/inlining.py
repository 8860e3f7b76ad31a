"""Where inlined code comes from: `.loc` with `inlined_at` (PTX ISA 9.0, section 11.5.4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import TypeVar

from ptxcore.syntax.tree import Address, Bracket, Directive, Function, Immediate, Instruction, Label, Module, Name

#: File number, line, column.
InlinedAt = tuple[int, ...]
#: So deep nobody inlines; compilers do not write calls that lead in a circle, but texts may.
_DEEPEST = 100


_BRANCHES = ("bra", "brx")
#: What does not lead on to the next statement, unless it has a guard.
_LEAVE = (*_BRANCHES, "ret", "exit", "trap")

#: What findings may be about beside accesses to memory.
_SYNCHRONIZES = frozenset(("bar", "barrier", "cp", "fence", "membar", "shfl", "tcgen05", "trap", "vote", "wgmma"))

#: File, line and column of a source.
SourceLine = tuple[str, int, int]
Place = TypeVar("Place", InlinedAt, SourceLine)


def source_of(module: Module, lines: Collection[int]) -> dict[int, tuple[str, int]]:
    """File and line of the source for lines of a module, as far as a `.loc` before them in their function says. For modules
    that are wrong: those that are lowered know their lines."""
    around = _wrappers(module)
    return {
        line: (name, number)
        for line, calls in calls_of(module, lines).items()
        for name, number, _ in [told(calls, around[bisect_right(around, line, key=_first) - 1][1])]
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


def _first(function: tuple[int, int]) -> int:
    return function[0]


def _wrappers(module: Module) -> list[tuple[int, int]]:
    """Where each function begins, by its line, and how many calls all its code stands under."""
    callers, here = Callers(), Wrappers()
    found: list[tuple[int, Wrappers]] = [(0, here)]
    for statement in module.statements:
        if isinstance(statement, Instruction | Label):
            callers.passes(statement)
            here.passes(statement)
        elif isinstance(statement, Function):
            here = Wrappers()
            found.append((statement.span.line, here))
        elif isinstance(statement, Directive) and statement.name == "loc":
            here.at(callers.chain(statement))
    return [(line, each.depth) for line, each in found]


def told(calls: Sequence[Place], wrappers: int) -> Place:
    """Of the places of some code, outwards, the one that is told: of the calls that led to it, the innermost in the file of the
    function that it belongs to. That is the kernel itself, or what a kernel calls that does nothing else (`Wrappers`)."""
    own = calls[: max(len(calls) - wrappers, 1)]
    return next(place for place in own if place[0] == own[-1][0])


class Wrappers:
    """The calls that all code of a function was inlined by that accesses memory or synchronizes. As places they say nothing: a
    kernel of a library is often one call, of an object that is the kernel."""

    def __init__(self) -> None:
        self._here: Sequence[InlinedAt] = ()
        self._shared: list[InlinedAt] | None = None  # from outside inwards
        self._first: InlinedAt = ()
        self._several = False

    def at(self, calls: Sequence[InlinedAt]) -> None:
        """The code that follows is of a place, given with its calls."""
        if calls[0][1:2] != (0,):
            self._here = calls

    def passes(self, statement: Instruction | Label) -> None:
        """The code goes on."""
        if not (self._here and isinstance(statement, Instruction) and _does_something(statement)):
            return
        place, calls = self._here[0], self._here[:0:-1]
        if self._shared is None:
            self._shared, self._first = [*calls], place
            return
        same = next((i for i, (a, b) in enumerate(zip(self._shared, calls, strict=False)) if a != b), None)
        same = min(len(self._shared), len(calls)) if same is None else same
        self._several = self._several or place != self._first or same < max(len(self._shared), len(calls))
        del self._shared[same:]

    @property
    def depth(self) -> int:
        """How many calls that is: none where all that the function does stands in one place."""
        return len(self._shared) if self._shared is not None and self._several else 0


def _does_something(statement: Instruction) -> bool:
    """Whether findings may be about it: it accesses memory that others access, or synchronizes."""
    if statement.opcode in _SYNCHRONIZES:
        return True
    brackets = (isinstance(o, Bracket) or (isinstance(o, Address) and o.bracketed) for o in statement.operands)
    return any(brackets) and not any(m.startswith("param") for m in statement.modifiers)


class Callers:
    """The calls in which the code of each place was inlined, as far as the text has said. Of code that was inlined at several
    calls a block may stand far behind, after what was inlined later: it is of the calls of the branch that leads there."""

    def __init__(self) -> None:
        self._caller: dict[InlinedAt, InlinedAt] = {}
        #: All callers that a place was said to have, the last one last; and places that were said to have none, last.
        self._callers: dict[InlinedAt, dict[InlinedAt, None]] = {}
        self._outermost: set[InlinedAt] = set()
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

    def chain(self, loc: Directive) -> list[InlinedAt]:
        """The place of a `.loc`, and of the calls that led to it, outwards. Compilers write the `.loc` of each call before
        those of what was inlined there."""
        numbers = [a.value for a in loc.arguments if isinstance(a, Immediate)]
        place, caller = tuple(numbers[:3]), tuple(numbers[3:6])
        if caller:
            self._caller[place] = caller
            self._outermost.discard(place)
            known = self._callers.setdefault(place, {})
            known.pop(caller, None)
            known[caller] = None
        else:
            self._caller.pop(place, None)
            self._outermost.add(place)
        chain = [place]
        while len(chain) < _DEEPEST and (outer := self._outer(chain)):
            chain.append(outer)
        return chain

    def _outer(self, chain: list[InlinedAt]) -> InlinedAt | None:
        """The call of the last place of a chain. Where what was said last leads back, as of a template that is inlined into
        itself, it is the last one that leads on from there; likewise where the call was said elsewhere alone."""
        place = chain[-1]
        caller = self._caller.get(place)
        if caller is not None and caller not in chain:
            return caller
        if place in self._outermost:
            return None
        circle = chain[chain.index(caller) :] if caller is not None else [place]
        return next((c for p in reversed(circle) for c in reversed(self._callers.get(p, {})) if c not in chain), None)
