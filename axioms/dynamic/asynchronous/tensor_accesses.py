"""Accesses to Tensor Memory, and the cells of one CTA with the last of them: `asynchronous.tensors` asks what orders them."""

from __future__ import annotations

from typing import Any

from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Party
from ptxcore.records import NamedTuple
from ptxcore.values.tensor_cells import COLUMNS, LANES


class Touching(NamedTuple):
    """One asynchronous access: by which thread, the `number`-th of its kind by its thread or its warp; `kind` and `place` as in
    `ptxcore.machine.run.tensor_memory.TensorAccess`; `behind` what its thread had fenced, `known` all that it knew; what is for
    its reads of shared memory, and with `.cta_group::2` for those of the peer's."""

    party: Party
    kind: str
    place: Any
    number: int
    behind: Table
    known: Table
    shared: Agent | None = None
    peers: Agent | None = None


class Columns(NamedTuple):
    """Allocated columns: who allocated them, and what stands for that."""

    party: Party
    agent: int


class Cells:
    """The Tensor Memory of one CTA: by cell the last write and the reads since then, as numbers of lists of accesses."""

    def __init__(self) -> None:
        import numpy as np

        self.lists: list[tuple[Touching, ...]] = [()]
        self.numbers: dict[tuple[int, ...], int] = {(): 0}
        self.writes = np.zeros((LANES, COLUMNS), np.int32)
        self.reads = np.zeros((LANES, COLUMNS), np.int32)
        self.columns: dict[int, Columns] = {}
        #: What stands for what was done about allocation last.
        self.last: int | None = None

    def number(self, accesses: tuple[Touching, ...]) -> int:
        """The number of a list."""
        key = tuple(map(id, accesses))
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.lists)
            self.lists.append(accesses)
        return found


__all__ = ["Cells", "Columns", "Touching"]
