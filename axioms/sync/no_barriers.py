"""What `barriers` and `mbarriers` come to in programs that have neither barriers nor mbarrier objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from axioms.sat.relations import Relation
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.sync.arrivals import BarrierArrival
    from axioms.sync.named_barriers import NamedBarriers
    from axioms.sync.numbered_barriers import BarrierInstances
    from axioms.sync.rounds import Rounds


class NoBarriers:
    """No barrier: nobody meets anybody."""

    misuse: tuple[tuple[int, str], ...] = ()
    reductions: tuple[tuple[BarrierArrival, list[BarrierArrival]], ...] = ()
    absences: tuple[tuple[int, int], ...] = ()
    counted: tuple[BarrierInstances, ...] = ()
    meetings: tuple[Rounds, ...] = ()
    named: tuple[NamedBarriers, ...] = ()

    def __init__(self, size: int) -> None:
        self.syncbar = self.again = self.mbo = self.mbrf = Relation([0] * size, {})

    def data(self) -> Iterable[tuple[int, int, int]]:
        return ()

    def control(self) -> Iterable[tuple[int, int, int]]:
        return ()

    def add_sources(self, sources: dict[Term, list[Value]]) -> None:
        pass

    def tie_results(self) -> None:
        pass


class NoMbarriers:
    """No mbarrier object."""

    misuse: tuple[tuple[int, str], ...] = ()
    flows: tuple[tuple[int, Term, Value], ...] = ()

    def __init__(self, size: int) -> None:
        self.mbo = self.mbrf = self.denied = Relation([0] * size, {})

    def add_sources(self, sources: dict[Term, list[Value]]) -> None:
        pass

    def sequences(self, true: Callable[[int], bool]) -> list[list[int]]:
        return []
