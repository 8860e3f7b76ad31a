"""Look-backs of a warp whose threads tell each other nothing but who goes on.

Where each thread of a warp looks back for itself (the digits of a radix sort, one a thread), the warp votes who has to look
further (`vote.sync.ballot`), and those meet at the next vote: its result is the member mask there. All combinations of what
32 threads may find are too many. But what one of them comes to hangs on what it finds itself, as long as the result of a vote
is used as a member mask, and goes nowhere else. So each thread goes its ways alone, with a symbol for what a vote gives
(`Voters`), which can be handed on and brought as a mask, and nothing else. By induction over the votes everybody who has to
come to one does:

- all threads, on each way, come first to one vote, with a number for a mask that names just those of them that have not ended;
- who votes no comes to no vote any more;
- of those who vote yes at the k-th, either all come to the next vote, on each way, with the result of the k-th for a mask, and
  to one like instruction; or none does.

docs/whole-launches/waits.md has the argument.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NoReturn

from axioms.dynamic.code.live import Same
from axioms.dynamic.core.findings import step
from axioms.dynamic.lookback.lookbacks import Alone, At, LookBack, NotConfluent, Stop, follow
from axioms.dynamic.lookback.sightings import Seen
from ptxcore.isa.warp import ballot

#: Places that one thread comes to, in all rounds.
_MOST_STATES = 1000


class Voters:
    """The threads that voted yes, whoever they are. Who computes with it asks what it does not know."""

    def _asked(self, *_: object) -> NoReturn:
        raise NotConfluent

    __bool__ = __int__ = __index__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _asked
    __add__ = __radd__ = __sub__ = __rsub__ = __lshift__ = __rshift__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = (
        _asked
    )
    __hash__ = object.__hash__


class Apart:
    """The threads of a look-back, each on its own ways. `number`: how many ways were gone."""

    def __init__(self, of: LookBack, threads: list[Alone]) -> None:
        self._of, self._threads = of, threads
        self._launch: Any = next(iter(of.members.values())).poll.thread.launch
        self._given: list[Voters] = []
        #: Of each vote what those bring and come to who said yes at the one before: the instruction, or None for the end.
        self._next: dict[int, Hashable] = {}
        self.number = 0

    def check(self) -> None:
        """Raises NotConfluent where not all ways of a thread come to the same, or a vote may tell it more, or wait for somebody
        who does not come."""
        if len({(thread.warp, id(thread.cta)) for thread in self._threads}) != 1:
            raise NotConfluent
        for thread, member in zip(self._threads, self._of.members.values(), strict=True):
            (end,) = self._ends_of(thread)
            if self._replayed(thread, iter(member.found)) != end:
                raise NotConfluent

    def _ends_of(self, thread: Alone) -> set[Hashable]:
        """Where a thread may come to: one place."""
        ends: set[Hashable] = set()
        begins = thread.begins
        seen: set[tuple[int, Hashable, Seen, bool]] = {(0, begins.key, begins.seen, True)}
        waiting: list[tuple[int, At | Stop, bool]] = [(0, begins, True)]
        while waiting:
            votes, at, said = waiting.pop()
            for stop in thread.reached(at).stops:
                step()
                self.number += 1
                self._comes(votes, stop, said)
                if stop.op < 0:
                    ends.add(stop.key)
                    if len(ends) > 1 or _is_told(stop):
                        raise NotConfluent
                    continue
                after = thread.executes(stop.at, answer=self._voters(votes))
                yes = bool(stop.brings[0])
                key = votes + 1, after.key, after.at.seen if isinstance(after, Stop) else after.seen, yes
                if key not in seen:
                    seen.add(key)
                    waiting.append((votes + 1, after, yes))
            if len(seen) > _MOST_STATES:
                raise NotConfluent
        return ends

    def _comes(self, votes: int, stop: Stop, yes: bool) -> None:
        """A thread comes to a vote, or to the end, after so many votes, at the last of which it said yes or no."""
        if not yes:
            if stop.op >= 0:
                raise NotConfluent
            return
        comes: Hashable = None
        if stop.op >= 0:
            how, position = self._launch.collective(stop.op)
            if (
                how.form.meaning is not ballot
                or position is None
                or len(stop.brings) != 2
                or type(stop.brings[0]) not in (int, bool)
            ):
                raise NotConfluent
            comes = id(how.form), how.present
            mask = stop.brings[position]
            named = mask is self._voters(votes - 1) if votes else self._names_all(mask)
            if not named:
                raise NotConfluent
        if self._next.setdefault(votes, comes) != comes:
            raise NotConfluent

    def _names_all(self, mask: object) -> bool:
        everybody: int = sum(1 << thread.lane for thread in self._threads)
        return isinstance(mask, int) and everybody == mask & self._of.running

    def _voters(self, vote: int) -> Voters:
        while len(self._given) <= vote:
            self._given.append(Voters())
        return self._given[vote]

    def _replayed(self, thread: Alone, found: Iterator[tuple[int, int, int]]) -> Hashable:
        """Where a thread comes to that finds what it found in the run."""
        at: At | Stop = thread.begins
        votes = 0
        while True:
            stop = follow(thread, at, found)
            if stop.op < 0:
                break
            at = thread.executes(stop.at, answer=self._voters(votes))
            votes += 1
        if next(found, None) is not None:
            raise NotConfluent
        return stop.key


def _is_told(stop: Stop) -> bool:
    """Whether a thread brings to the end what a vote gave."""
    key: Any = stop.key
    return any(isinstance(value, Same) and isinstance(value.value, Voters) for _, value in key[0][2])
