"""Whether a launch to begin with can run at all, and a larger one where it cannot.

What is guessed from a signature knows nothing of what the code expects: whole warps, as many threads as a barrier counts,
buffers of more elements. So it is run, once, and what the run shows is mended: threads of a warp and more, and longer buffers.
Where no launch that was tried runs to its end in the time there is, the first guess stands: the kernel may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.plausible import Plausible
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest

#: Threads of a CTA that are tried where two are too few.
_WIDER = (32, 64, 128, 256)
#: How much longer buffers become each time, and elements of one at most.
_LONGER, _LONGEST = 2, 1 << 20
#: Seconds, and instructions of a run.
_TIME, _LIMIT = 3.0, 300_000
_TOO_SHORT = "out-of-bounds"


def tried(guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str]) -> Plausible:
    """The first launch that runs to its end, of those that are tried; `guess` itself where none does. `buffers`: the names of
    the parameters whose length is guessed; `test_of` makes a test of a launch."""
    try:
        with limited(_TIME):
            for wider in _wider(guess):
                found = _long_enough(wider, test_of, buffers)
                if found is not None:
                    return found
    except (OutOfTime, TimeoutError, InputError, MemoryError):
        pass
    return guess


def _wider(guess: Plausible) -> Iterator[Plausible]:
    yield guess
    if not guess.own and guess.block_is_guessed:
        yield from (guess.of_threads(threads) for threads in _WIDER)


def _long_enough(guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str]) -> Plausible | None:
    """The launch, with buffers no longer than it takes; None where it fails for something else."""
    while (wrong := _error(test_of(guess))) == _TOO_SHORT and buffers and guess.elements() < _LONGEST:
        guess = guess.longer(dict.fromkeys(buffers, guess.elements(buffers[0]) * _LONGER))
        if guess.elements(buffers[0]) > _LONGEST:
            return None
    if wrong:
        return None
    for name in buffers:  # not all of them were too short
        shorter = guess.longer({name: guess.elements()})
        if guess.elements(name) > guess.elements() and not _error(test_of(shorter)):
            guess = shorter
    return guess


def _error(test: KernelTest) -> str:
    """Of which kind the error is that a run ends with; empty where there is none."""
    try:
        Runs(test).run(limit=_LIMIT, unwritten=0)
    except KernelError as error:
        return error.kind
    except UsageError:
        return "usage"
    return ""
