"""Which phase each wait for an mbarrier is meant for, as a run shows it in which nobody waits for one.

Who waits for an object for the first time waits for its first phase, who does so again for the next one. So parities alternate
with the turns of a thread at an object, whatever they are computed from; they begin with 0, or with 1 where the object is free
at first (the empty stage of a producer). In the run every wait is over at once and no copy is made: a wrong parity stops
nobody, and each thread comes by all its waits, with what its registers hold there. So what it shows hangs on no data that is
copied; where the waits of a kernel do, it is a guess, as all that is put in, and the text with it is proven, or is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.isa.mbarrier import Contents, packed
from ptxcore.machine.ir.windows import SHARED, WINDOW_BITS
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.syntax.tree import Instruction
from ptxmm.kernels.quiet_watcher import QuietWatcher, place_of_thread
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.parity_sites import WaitInTurn, WaitsInTurn, by_parity, parity_of

#: Instructions and seconds after which a run is given up, and turns that are looked at: what it showed until then counts.
_LIMIT, _SECONDS, _MOST = 200_000, 1.0, 4096
#: What every operation but a wait finds: an object of which much is pending.
_PENDING = 1 << 10
#: Bytes are known to be written by so many.
_GRAIN = 4


def turns(test: KernelTest) -> WaitsInTurn:
    """The turns at each wait by parity in the kernels of a test, as far as a run shows them."""
    text = test.launches[0].text
    every = [s for _, body in bodies(text, {launch.entry for launch in test.launches}) for s in body]
    waits = {s.span.line: s for s in every if isinstance(s, Instruction) and by_parity(s)}
    if not waits:
        return {}
    watcher = _Turns(waits)
    try:
        runs = Runs(test, watched=True)
        with limited(_SECONDS):
            runs.run(None, limit=_LIMIT, watch=lambda *_: Watchers(None, lambda: watcher))
    except (KernelError, UsageError, InputError, OutOfTime, TimeoutError):
        pass  # what it showed until then counts
    return watcher.found


class _Turns(QuietWatcher):
    """Watches a launch in which no object is what it is, and no copy is made."""

    def __init__(self, waits: Mapping[int, Instruction]) -> None:
        self.found: dict[int, list[WaitInTurn]] = {}
        self._waits = waits
        self._names: dict[int, Sequence[str]] = {}
        self._before, self._in_all = Counter[object](), Counter[object]()
        self._written: set[tuple[object, int]] = set()

    def operates(self, thread: Any, kind: str, how: Any, address: int, write: Any) -> Any:
        """Every wait finds that the phase is over; what counts finds that much is pending."""
        if kind != "wait":
            return packed(Contents(_PENDING, _PENDING, 0, 0, 1))
        wait = self._waits.get(thread.instruction.instruction.span.line)
        parity = None if wait is None else self._turn(thread, wait, address)
        phase = 1 if parity is None else 1 - parity % 2
        return packed(Contents(_PENDING, _PENDING, 0, phase, 1))

    def _turn(self, thread: Any, wait: Instruction, address: int) -> int | None:
        """Keeps a turn; gives the parity that it is for."""
        names = zip(self._registers(thread), thread.R, strict=False)
        held = {name: value for name, value in names if type(value) is int}
        who = place_of_thread(thread)
        if sum(self._in_all.values()) < _MOST:
            turn = WaitInTurn(who, address, self._before[who, address], self._in_all[who], held)
            self.found.setdefault(wait.span.line, []).append(turn)
        self._before[who, address] += 1
        self._in_all[who] += 1
        return parity_of(wait, held)

    def _registers(self, thread: Any) -> Sequence[str]:
        """The names of the registers of the function that runs."""
        op = thread.instruction
        if id(op) not in self._names:
            functions = thread.launch.program.functions.values()
            self._names[id(op)] = next((f.registers for f in functions if any(o is op for o in f.ops)), ())
        return self._names[id(op)]

    def reads(self, thread: Any, address: int, size: int) -> int | None:
        """What nobody wrote, since no copy is made, is 0."""
        grains = range(address // _GRAIN, (address + size - 1) // _GRAIN + 1)
        if address >> WINDOW_BITS != SHARED >> WINDOW_BITS:
            return None
        return None if all((thread.cta.index, grain) in self._written for grain in grains) else 0

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        """Keeps what is written."""
        grains = range(address // _GRAIN, (address + size - 1) // _GRAIN + 1)
        self._written |= {(thread.cta.index, grain) for grain in grains}

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        """Nothing that is asynchronous is done."""


__all__ = ["turns"]
