"""Whether a launch to begin with can run at all, and a larger one where it cannot, or where it comes by little of the kernel.

What is guessed from a signature knows nothing of what the code expects: whole warps, as many threads as a barrier counts,
buffers of more elements. So it is run, once, and what the run shows is mended: threads of a warp and more, and longer buffers.
Where no launch that was tried runs to its end in the time there is, the first guess stands: the kernel may be wrong.

Of one that comes by less than a third of what others may notice nothing worth knowing would be proven: producers without
consumers, a number that is divided by the length of a buffer. More threads and larger numbers are tried then, and what comes by
most is taken. And a number is a small one where each thread comes by the same as often, as far as a few rounds: of a loop that
goes on and on, a few rounds show what there is to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.plausible import Plausible
from ptxmm.kernels.reached import ROUNDS, ReachedCode, reached
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest

#: Threads of a CTA that are tried where two are too few.
_WIDER = (32, 64, 128, 256)
#: How much longer buffers become each time, and elements of one at most.
_LONGER, _LONGEST = 2, 1 << 20
#: How many times larger numbers become.
_MORE = (1, 8, 64)
#: Seconds, and instructions of a run; for coming by more, so many seconds besides.
_TIME, _LIMIT, _FURTHER = 8.0, 300_000, 8.0
_TOO_SHORT, _STUCK = "out-of-bounds", "deadlock"


def tried(
    guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str], numbers: Sequence[str] = ()
) -> Plausible:
    """The first launch that runs to its end, of those that are tried, or one that comes by more of the kernel; `guess` itself
    where none does. `buffers`: the names of the parameters whose length is guessed, `numbers` of those that are numbers which
    may count; `test_of` makes a test of a launch."""
    found = _ending(guess, test_of, buffers, numbers)
    if found is None:
        return guess
    try:
        with limited(_FURTHER):
            now = reached(test_of(found), _LIMIT)
            if now is not None and now.is_little:
                found, now = _coming_by_more(found, now, test_of, buffers, numbers)
            if now is not None:
                for name in numbers:
                    found, now = _counting(found, now, name, test_of, buffers)
    except (OutOfTime, TimeoutError, InputError, MemoryError):
        pass
    return found


def _ending(
    guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str], numbers: Sequence[str]
) -> Plausible | None:
    """The first launch that runs to its end, with small numbers where it does not with others; where none does, the first in
    which threads wait for ever, for that may be the mistake; None where there is none."""
    stuck: Plausible | None = None
    try:
        with limited(_TIME):
            for wider in _wider(guess):
                small = [wider.counting(dict.fromkeys(numbers, ROUNDS))] if numbers and wider.threads > ROUNDS else []
                there: Plausible | None = None
                for one in (wider, *small):
                    found, wrong = _lengthened(one, test_of, buffers)
                    if not wrong:
                        return found
                    there = found if wrong == _STUCK else there
                stuck = stuck or there
    except (OutOfTime, TimeoutError, InputError, MemoryError):
        pass
    return stuck


def _coming_by_more(
    guess: Plausible, now: ReachedCode, test_of: Callable[[Plausible], KernelTest], buffers: list[str],
    numbers: Sequence[str],
) -> tuple[Plausible, ReachedCode | None]:  # fmt: skip
    """Of launches with more threads and larger numbers the first that comes by most, with what it comes by, or None where its
    threads wait for ever in a later round; the `guess`, where none comes by more."""
    best: tuple[Plausible, ReachedCode] = guess, now
    for wider, more in product(_wider(guess), _MORE if numbers else _MORE[:1]):
        larger = wider.counting(dict.fromkeys(numbers, more * wider.threads) if more > 1 else {})
        found, there = _reaching(larger, test_of, buffers)
        if found is not None and there is not None and there.instructions > best[1].instructions:
            best = found, there
            if not there.is_little:
                rounds = larger.counting(dict.fromkeys(numbers, ROUNDS * more * wider.threads))
                if numbers and _error(test_of(rounds)) == _STUCK:  # it was not in the first round: that is worth a look
                    return rounds, None
                found, there = _reaching(rounds, test_of, buffers)
                return best if there is None else (found or guess, there)
    return best


def _counting(
    guess: Plausible, now: ReachedCode, name: str, test_of: Callable[[Plausible], KernelTest], buffers: list[str]
) -> tuple[Plausible, ReachedCode]:
    """The launch with a small number of a name, where each thread comes by the same in half the steps; of one with a small
    number that with the usual one, unless that comes by the same in twice the steps."""
    if guess.threads <= ROUNDS:
        return guess, now
    small = guess.numbers.get(name) == ROUNDS
    found, there = _reaching(guess.counting({name: guess.counts if small else ROUNDS}), test_of, buffers)
    if found is None or there is None:
        return guess, now
    few, many = (now, there) if small else (there, now)
    same = few.often == many.often and 2 * few.steps <= many.steps
    return (guess, now) if same == small else (found, there)


def _reaching(
    guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str]
) -> tuple[Plausible | None, ReachedCode | None]:
    """The launch with buffers that are long enough, and what it comes by; None where it does not run to its end."""
    found = _long_enough(guess, test_of, buffers)
    return found, None if found is None else reached(test_of(found), _LIMIT)


def _wider(guess: Plausible) -> Iterator[Plausible]:
    yield guess
    if not guess.own and guess.block_is_guessed:
        yield from (guess.of_threads(threads) for threads in _WIDER)


def _long_enough(guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str]) -> Plausible | None:
    """The launch, with buffers no longer than it takes; None where it fails for something else."""
    found, wrong = _lengthened(guess, test_of, buffers)
    return None if wrong else found


def _lengthened(
    guess: Plausible, test_of: Callable[[Plausible], KernelTest], buffers: list[str]
) -> tuple[Plausible, str]:
    """The launch, with buffers no longer than it takes, and what else it fails for; nothing where it runs to its end."""
    while (wrong := _error(test_of(guess))) == _TOO_SHORT and buffers and guess.elements() < _LONGEST:
        guess = guess.longer(dict.fromkeys(buffers, guess.elements(buffers[0]) * _LONGER))
        if guess.elements(buffers[0]) > _LONGEST:
            break
    for name in buffers if not wrong else ():  # not all of them were too short
        shorter = guess.longer({name: guess.elements()})
        if guess.elements(name) > guess.elements() and not _error(test_of(shorter)):
            guess = shorter
    return guess, wrong


def _error(test: KernelTest) -> str:
    """Of which kind the error is that a run ends with; empty where there is none."""
    try:
        Runs(test).run(limit=_LIMIT, unwritten=0)
    except KernelError as error:
        return error.kind
    except UsageError:
        return "usage"
    return ""
