"""Vector clocks of many threads at once, for launches in which threads know of others of their CTA alone: rows of a matrix.

The clocks are those of `core.clocks`: a thread's own time counts its releases, and what it knows of others came to it
where they met, so that those that met share one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

#: Rows that there are at first, and crowds that are remembered.
_ROWS, _CROWDS = 64, 512
#: How much longer arrays become where they are too short.
_GROWTH = 4


class Crowd:
    """Threads as they are between two releases: their numbers, their own times, and `floor`, before which the log of accesses
    has nothing of their CTAs that is not ordered before what they do. `behind`: of other crowds, whether all of these threads
    know all of them."""

    __slots__ = ("behind", "floor", "threads", "times")

    def __init__(self, threads: Any, times: Any, floor: int) -> None:
        self.threads, self.times, self.floor = threads, times, floor
        self.behind: dict[Crowd, bool] = {}


class ClockRows:
    """The clocks of the threads of a launch, which are numbered CTA by CTA; all CTAs have `size` threads."""

    def __init__(self, size: int, kept: Callable[[], Iterable[Any]] = tuple) -> None:
        """`kept` gives arrays with the numbers of rows that somebody keeps, besides the threads."""
        self.size, self.kept = size, kept
        #: The first thread of those that run, and the one behind the last; the arrays may be longer.
        self.first = self.count = 0
        self.own = np.ones(0, np.int32)
        #: Of each thread the number of the row that it knows; row 0 knows nobody.
        self.row = np.zeros(0, np.int32)
        self.cta = np.zeros(0, np.int32)
        self.place = np.zeros(0, np.int32)
        #: See `Crowd`.
        self.floor = np.zeros(0, np.int32)
        self.rows = np.zeros((_ROWS, size), np.int32)
        self._used, self._free = 1, np.zeros(0, np.int32)
        #: Threads as they are since the last release, by their numbers; and those that did something last.
        self._crowds: dict[bytes, Crowd] = {}
        self._crowd: Crowd | None = None
        self._last: Any = None

    def enter(self, count: int) -> None:
        """So many CTAs more; those before have ended."""
        self.row[self.first : self.count] = 0
        self.first, self.count = self.count, self.count + count * self.size
        if self.count > len(self.own):
            ctas = max(self.count, _GROWTH * len(self.own)) // self.size
            more = ctas * self.size - len(self.own)
            self.cta = np.repeat(np.arange(ctas, dtype=np.int32), self.size)
            self.place = np.tile(np.arange(self.size, dtype=np.int32), ctas)
            self.own = np.concatenate((self.own, np.ones(more, np.int32)))
            self.row = np.concatenate((self.row, np.zeros(more, np.int32)))
            self.floor = np.concatenate((self.floor, np.zeros(more, np.int32)))

    def crowd(self, threads: Any) -> Crowd:
        """Threads as they are now."""
        if threads is not self._last or self._crowd is None:
            self._last, key = threads, threads.tobytes()
            found = self._crowds.get(key)
            if found is None:
                if len(self._crowds) > _CROWDS:
                    self._crowds.clear()
                found = Crowd(threads, self.own[threads], int(self.floor[threads].min()))
                self._crowds[key] = found
            self._crowd = found
        return self._crowd

    def ordered(self, threads: Any, others: Any, times: Any) -> Any:
        """Of each pair, whether what the other thread did at a time is ordered before what the thread does now."""
        known = self.rows[self.row[threads], self.place[others]] >= times
        known &= self.cta[threads] == self.cta[others]
        known |= threads == others
        return known

    def behind(self, now: Crowd, crowd: Crowd) -> bool:
        """Whether all threads of a crowd, as they are now, know all of another one, as it was."""
        found = now.behind.get(crowd)
        if found is None:
            found = now.behind[crowd] = self.know(now.threads, crowd)
        return found

    def know(self, threads: Any, crowd: Crowd) -> bool:
        """Whether all of these threads know all of a crowd, which are of one CTA, as it was."""
        ctas = self.cta[crowd.threads]
        if (ctas != ctas[0]).any() or (self.cta[threads] != ctas[0]).any():
            return False
        rows = self.row[threads]
        rows = rows[:1] if (rows == rows[0]).all() else np.unique(rows)
        return bool((self.rows[np.ix_(rows, self.place[crowd.threads])] >= crowd.times).all())

    def release(self, threads: Any) -> tuple[Any, Any]:
        """Threads hand on what they know: their own times and the numbers of their rows. What they do next is later."""
        times, rows = self.own[threads], self.row[threads]
        self.own[threads] = times + 1
        self._forget()
        return times, rows

    def _forget(self) -> None:
        self._crowds.clear()
        self._crowd = None

    def meet(self, groups: Any, threads: Any, times: Any, rows: Any, waited: Any) -> None:
        """Threads have met, each with those of its group (numbered from 0; the threads of a group are of one CTA): those that
        `waited` know all that any of their group knew, and each at its time."""
        count = int(groups.max()) + 1
        pairs = np.unique(groups * np.int64(len(self.rows)) + rows)
        of, from_ = np.divmod(pairs, len(self.rows))
        found = self.rows[from_]
        if len(pairs) > count:
            found = np.maximum.reduceat(found, np.flatnonzero(np.diff(of, prepend=-1)), axis=0)
        places = self.place[threads]
        found[groups, places] = np.maximum(found[groups, places], times)
        numbers = self._made(count)
        self.rows[numbers] = found
        self.row[threads[waited]] = numbers[groups[waited]]
        self._forget()

    def meet_whole(self, threads: Any, times: Any, rows: Any) -> None:
        """All threads of some CTAs have met, in their order, and all have waited: each knows what the others did last."""
        ctas = threads.size // self.size
        before = rows.reshape(ctas, self.size)
        numbers = before[:, 0]
        own = numbers.all() and (before == numbers[:, None]).all() and not any(True for _ in self.kept())
        if not own:
            numbers = self._made(ctas)
            self.row[threads] = np.repeat(numbers, self.size)
        self.rows[numbers] = times.reshape(ctas, self.size)
        self._forget()

    def level(self, threads: Any, entry: int) -> None:
        """All threads of some CTAs know all that was logged of these before an entry."""
        self.floor[threads] = entry
        self._forget()

    def _made(self, count: int) -> Any:
        """New rows."""
        if self._used + count > len(self.rows) and len(self._free) < count:
            live = np.unique(np.concatenate([self.row[self.first : self.count], *self.kept()]))
            self._free = np.setdiff1d(np.arange(1, self._used, dtype=np.int32), live)
            if len(self._free) < max(count, self._used // 2):
                more = np.zeros((len(self.rows) + count, self.size), np.int32)
                self.rows = np.concatenate((self.rows, more))
        if len(self._free) >= count:
            taken, self._free = self._free[:count], self._free[count:]
            return taken
        self._used += count
        return np.arange(self._used - count, self._used, dtype=np.int32)
