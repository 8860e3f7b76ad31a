"""Copies of threads that go the ways of searches (`searches.searches`), and what they stop at."""

from __future__ import annotations

from typing import Any

from axioms.dynamic.searches.search_cells import SearchedBytes, SymbolRange
from axioms.dynamic.searches.search_nodes import CellMove
from axioms.dynamic.tickets.errand_threads import ErrandThread, UnknownErrand
from ptxcore.isa.effect_kinds import UPDATES
from ptxcore.isa.form import Use
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, rebuild, subterms


class Stops(BaseException):
    """A copy comes to where threads meet."""


class TellsApart(BaseException):
    """An operation is another one for each of the values of a symbol."""

    def __init__(self, value: Varying) -> None:
        super().__init__(value)
        self.value = value


class Divides(BaseException):
    """An operation finds one thing or another: what it may, with the cells that are won and what is so then."""

    def __init__(self, ways: list[FoundThere]) -> None:
        super().__init__(ways)
        self.ways = ways


class FoundThere(NamedTuple):
    """What an operation may find, and what is so then; `adds`: it adds a number by that; `retries`: as of `SearchStep`;
    `moves`: it is such a move."""

    value: Any
    ranges: dict[Term, SymbolRange]
    won: frozenset[SearchedBytes]
    finds: tuple[tuple[SearchedBytes, SymbolRange], ...]
    wrote: bool
    passed: frozenset[SearchedBytes]
    adds: int = 0
    retries: bool = False
    moves: CellMove | None = None


class Searcher(ErrandThread):
    """A copy of a thread in a search."""

    __slots__ = ()

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind not in UPDATES:
            raise UnknownErrand
        if isinstance(address, Varying):
            raise TellsApart(address)
        return self.watcher.updates(self, how, address, how.width // 8, write)

    def barrier(self, *_: Any, **__: Any) -> Any:
        raise Stops

    collective = barrier


def asked_of(term: Value, one: Term) -> tuple[frozenset[int], int] | None:
    """Of a truth value that only asks whether a symbol is one of some numbers: these, and what it is where it is none of
    them. None of others."""
    numbers: set[int] = set()
    found: dict[Value, Value] = {}
    for part in subterms([term]):
        if part.op == "eq" and one in part.args:
            value = next((arg for arg in part.args if arg is not one), None)
            if not isinstance(value, int):
                return None
            numbers.add(value)
            found[part] = 0
        elif part is not one:
            args = [found.get(arg, arg) if isinstance(arg, Term) else arg for arg in part.args]
            found[part] = rebuild(part, args)
    truth = found.get(term, term)
    return (frozenset(numbers), truth) if isinstance(truth, int) else None


def where_unlike(term: Term, one: Term, other: Term) -> int | None:
    """What a truth value is that only asks whether two symbols are equal, where they are not; None of others."""
    found: dict[Value, Value] = {}
    for part in subterms([term]):
        if part.op == "eq" and {one, other} == set(part.args):
            found[part] = 0
        elif part is not one and part is not other:
            args = [found.get(arg, arg) if isinstance(arg, Term) else arg for arg in part.args]
            found[part] = rebuild(part, args)
    truth = found.get(term, term)
    return truth if isinstance(truth, int) else None


__all__ = ["Divides", "FoundThere", "Searcher", "Stops", "TellsApart", "asked_of", "where_unlike"]
