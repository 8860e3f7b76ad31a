"""Whether arrays miss what nothing orders in shared memory: random accesses beside the definition, and beside reads that are
put down at once."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agreement import compared

from ptxcore.machine.vector.order import Order
from ptxcore.machine.vector.registers import Irregular
from ptxcore.records import NamedTuple

_THREADS, _WARP, _CELLS = 6, 2, 3


class Did(NamedTuple):
    """What a thread did to a cell, and the accesses to it that were ordered before."""

    thread: int
    cell: int
    kind: str
    before: frozenset[int]


class Defined:
    """Accesses, and what orders them: a barrier its threads behind everything, an instruction of a warp those of the warp
    among each other; and what follows from both."""

    def __init__(self) -> None:
        self.did: list[Did] = []
        self.behind_all = [0] * _THREADS
        self.behind_own = [0] * (_THREADS // _WARP)

    def access(self, thread: int, cell: int, kind: str) -> bool:
        """Whether it is ordered behind all that conflict with it."""
        before: set[int] = set()
        conflicting = set()
        for i, other in enumerate(self.did):
            if other.cell != cell:
                continue
            own = other.thread // _WARP == thread // _WARP and i < self.behind_own[thread // _WARP]
            if other.thread == thread or i < self.behind_all[thread] or own:
                before |= {i, *other.before}
            if "read" not in (kind, other.kind) or kind != other.kind:
                conflicting.add(i)
        good = all(i in before or kind == self.did[i].kind == "atomic" for i in conflicting)
        self.did.append(Did(thread, cell, kind, frozenset(before)))
        return good


def order(*, at_once: bool) -> Order:
    warp = np.arange(_THREADS) // _WARP
    made = Order(SimpleNamespace(row=np.zeros(_THREADS, np.int64), warp=warp), _CELLS, 1)  # type: ignore[arg-type]
    if at_once:
        access = made.access

        def and_put_down(*given: Any) -> None:
            access(*given)
            made._put_down()

        made.access = and_put_down  # type: ignore[method-assign]
    return made


def raises(made: Order, threads: list[int], cells: list[int], kind: str) -> bool:
    try:
        made.access(np.array(cells), 1, np.array(threads), kind)
    except Irregular:
        return True
    return False


@pytest.mark.compares(1.0)
def test_reads_that_are_put_down_late_hide_nothing() -> None:
    told: Counter[tuple[bool, bool, bool]] = Counter()
    for seed in range(600):
        choose = Random(seed)
        definition, late, now = Defined(), order(at_once=False), order(at_once=True)
        for _ in range(14):
            what = choose.random()
            some = sorted(choose.sample(range(_THREADS), choose.choice((1, 2, 4, 6))))
            if what < 0.25:
                definition.behind_all = [
                    len(definition.did) if t in some else n for t, n in enumerate(definition.behind_all)
                ]
                late.barrier(np.array(some))
                now.barrier(np.array(some))
            elif what < 0.4:
                warp = choose.randrange(_THREADS // _WARP)
                definition.behind_own[warp] = len(definition.did)
                for made in (late, now):
                    made.converge(np.arange(_WARP * warp, _WARP * warp + _WARP))
            else:
                kind = choose.choices(("read", "write", "atomic"), (6, 2, 1))[0]
                some = some if kind == "read" else some[:1]
                cells = [choose.randrange(_CELLS)] * len(some)
                good = [definition.access(t, c, kind) for t, c in zip(some, cells, strict=True)]
                found = (not all(good), raises(late, some, cells, kind), raises(now, some, cells, kind))
                told[compared(found)] += 1
                unordered, by_late, by_now = found
                assert by_late >= unordered, seed
                assert by_now >= by_late, seed
                if by_now:
                    break
    assert told[True, True, True] > 100
    assert told[False, True, True] < told[True, True, True] / 10  # what is not wrong goes on by arrays


def test_a_reader_behind_a_barrier_since_does_not_stand_for_another_warps() -> None:
    made = order(at_once=False)
    assert not raises(made, [2], [0], "read")
    assert not raises(made, [0], [0], "read")
    made.converge(np.array([0, 1]))
    made.barrier(np.array([0]))
    assert raises(made, [1], [0], "write")
