"""Kernel tests run under random schedules: what a run shows is among what exploration allows."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.cat.model import Model
from axioms.dependence import with_way
from axioms.engine import decide
from axioms.program import Program, asking
from ptxcore.machine.run.faults import KernelError
from ptxcore.values import terms
from ptxmm.kernels.runs import FinalValues
from ptxmm.kernels.runs import Runs as KernelRuns

#: A run that takes longer waits for something that does not come.
_LIMIT = 200_000


class Runs(KernelRuns):
    """A kernel test ready to run."""

    def random(self, seed: int) -> FinalValues | str:
        """The final values of what the checks speak of; or the kind of the error that the run ended with."""
        try:
            return self.run(seed, limit=_LIMIT)
        except KernelError as error:
            return error.kind

    def results(self, count: int) -> Iterator[tuple[int, FinalValues | str]]:
        for seed in range(count):
            yield seed, self.random(seed)


def ends_with(program: Program, model: Model, state: FinalValues) -> bool:
    """Whether some execution ends with a state. A run has numbers of its own for values that nothing determines; the outcomes
    of a program are listed with others. So these are left open here, and any will do."""
    loose = with_way(program, "open") if program.undetermined else program
    as_seen = terms.all_of(terms.eq(o.value, state[o.label] & terms.mask(o.width)) for o in loose.observed)
    return decide(asking(loose, as_seen), model, settles=True, witnesses=False).positive > 0
