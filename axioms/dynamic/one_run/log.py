"""Shadow memory of many threads at once: a log of their accesses, and for each word of memory where the last ones stand in it.

An access of a vector of threads is one entry of the log for each word, all of them behind each other, so that what they have in
common is kept once (`Batch`). A word has its last write; and the reads since then that no later read stands for, a chain of
entries; and so the atomic operations. What conflicts with what is as in `core.shadow`, for weak accesses and
operations that commute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from axioms.dynamic.one_run.rows import ClockRows, Crowd
from ptxcore.records import NamedTuple

#: Links of a chain after which it is made anew, of what is still needed.
_DEPTH = 32


class Batch:
    """Accesses of a crowd by the instruction `op`: entries from `start` on, `units` for each thread. Where threads have words
    in common, `words` says which words the entries are of; where all access the same ones (`uniform`), there is an entry for
    each of these only. `previous`: the entry that is next in the chain, by entry, 0 where there is none; None: nowhere."""

    __slots__ = ("commutes", "crowd", "depth", "end", "op", "order", "previous", "start", "uniform", "units", "words")

    def __init__(self, crowd: Crowd, op: int, units: int, commutes: str, uniform: bool) -> None:
        self.crowd, self.op, self.units, self.commutes, self.uniform = crowd, op, units, commutes, uniform
        self.start = self.end = 0
        self.words: Any = None
        self.previous: Any = None
        self.depth = 1
        self.order: Any = None

    def of_word(self, word: int, entry: int) -> Any:
        """The threads that access a word, with their times, of which an entry stands for all."""
        if self.uniform:
            return self.crowd.threads, self.crowd.times
        index = np.flatnonzero(self.words == word) if self.words is not None else np.array([entry - self.start])
        index = index // self.units
        return self.crowd.threads[index], self.crowd.times[index]

    def sorted(self) -> tuple[Any, Any]:
        """The entries in the order of their words, and the words."""
        if self.order is None:
            order = np.argsort(self.words, kind="stable")
            self.order = order, self.words[order]
        return self.order  # type: ignore[no-any-return]


class Region:
    """What is known of a stretch of memory, in words: the last entries of each. `shared`: threads of one CTA have each word."""

    __slots__ = (
        "atomics", "constants", "kinds", "name", "of", "reads", "shared", "shift", "stride", "writes", "written"
    )  # fmt: skip

    def __init__(self, of: Any, size: int, shift: int, name: str, stride: int) -> None:
        count = (size >> shift) + 1
        self.of, self.shift, self.name = of, shift, name
        #: The bytes of each CTA; 0 where they have all in common.
        self.stride, self.shared = stride, stride > 0
        self.writes = np.zeros(count, np.int32)
        self.reads = np.zeros(count, np.int32)
        #: Whether there is a write.
        self.written = False
        self.atomics: Any = None
        self.constants: Any = None
        #: What the atomic operations do.
        self.kinds: set[str] = set()


class Conflict(NamedTuple):
    """Two accesses that conflict and that nothing orders, to a word: the thread that is there now, the other one, and what that
    did; None: the same."""

    word: int
    thread: int
    other: int
    batch: Batch | None


class Accessed(NamedTuple):
    """What a crowd accesses by an instruction: words, `units` of them for each thread, or (`uniform`) the same ones for all."""

    crowd: Crowd
    op: int
    region: Region
    words: Any
    units: int
    uniform: bool

    def threads(self) -> Any:
        """The thread of each word; of one that all access, each thread."""
        threads = self.crowd.threads
        return np.repeat(threads, self.words.size if self.uniform else self.units)

    def spread(self, heads: Any) -> Any:
        """What belongs to words, for each of `threads`."""
        return np.tile(heads, self.crowd.threads.size) if self.uniform else heads


class Log:
    """The log of a launch."""

    def __init__(self, clocks: ClockRows) -> None:
        self.clocks = clocks
        self.next = 1  # 0 is no entry
        self.batches: list[Batch] = []
        self._starts: list[int] = []
        #: Whether operations that commute were met of which nothing orders one before the other.
        self.commuted = False

    # Accesses.

    def read(self, a: Accessed) -> Conflict | None:
        """Weak reads; gives a conflict, where there is one."""
        region = a.region
        found = self._against(a, region.writes) if region.written else None
        if found is None and region.atomics is not None:
            found = self._against(a, region.atomics)
        self._chain(a, region.reads, "")
        return found

    def constant(self, a: Accessed) -> Conflict | None:
        """Reads by the texture proxy, which nothing orders."""
        region = a.region
        if region.constants is None:
            region.constants = np.zeros_like(region.writes)
        found = None
        for heads in (region.writes, region.atomics):
            if found is None and heads is not None and heads[a.words].any():
                found = self._pair(a, heads, everything=True)
        region.constants[a.words] = self._numbered(Batch(a.crowd, a.op, a.units, "", a.uniform), a.words.size)
        return found

    def write(self, a: Accessed) -> Conflict | None:
        """Weak writes; gives a conflict, where there is one."""
        region, words = a.region, a.words
        region.written = True
        found = self._against(a, region.writes) or self._against(a, region.reads)
        if found is None and region.atomics is not None:
            found = self._against(a, region.atomics)
        if found is None and region.constants is not None and region.constants[words].any():
            found = self._pair(a, region.constants, everything=True)
        numbers = self._numbered(Batch(a.crowd, a.op, a.units, "", a.uniform), words.size)
        region.writes[words] = numbers
        if found is None and a.uniform:
            found = Conflict(int(words[0]), int(a.crowd.threads[1]), int(a.crowd.threads[0]), None)
        elif found is None and (double := np.flatnonzero(region.writes[words] != numbers)).size:
            threads, one = a.threads(), int(double[0])
            other = int(np.flatnonzero(words == words[one])[-1])
            found = Conflict(int(words[one]), int(threads[other]), int(threads[one]), None)
        region.reads[words] = 0
        if region.atomics is not None:
            region.atomics[words] = 0
        return found

    def update(self, a: Accessed, commutes: str) -> Conflict | None:
        """Atomic operations that commute with those that do the same, each in the other's scope."""
        region, words = a.region, a.words
        found = self._against(a, region.writes) or self._against(a, region.reads)
        if found is None and region.constants is not None and region.constants[words].any():
            found = self._pair(a, region.constants, everything=True)
        if region.atomics is None:
            region.atomics = np.zeros_like(region.writes)
        if found is None and region.kinds - {commutes}:
            found = self._against(a, region.atomics, commutes)
        elif found is None and not self.commuted:
            self.commuted = self._standing(a, region.atomics[words]) is not None
        region.kinds.add(commutes)
        shares = self._chain(a, region.atomics, commutes)
        self.commuted = self.commuted or shares
        return found

    # The log.

    def _numbered(self, batch: Batch, count: int) -> Any:
        """Adds a batch of entries; gives their numbers."""
        batch.start, self.next = self.next, self.next + count
        batch.end = self.next
        self._starts.append(batch.start)
        self.batches.append(batch)
        return np.arange(batch.start, batch.end, dtype=np.int32)

    def of(self, entry: int) -> Batch:
        """The batch of an entry."""
        return self.batches[bisect_right(self._starts, entry) - 1]

    def _by_batch(self, entries: Any) -> Iterator[tuple[Batch, Any]]:
        """The batches of entries, and which of the entries are theirs."""
        batch = self.of(int(entries[0]))
        if int(entries.min()) >= batch.start and int(entries.max()) < batch.end:
            yield batch, slice(None)
            return
        left = np.ones(entries.size, np.bool_)
        while left.any():
            batch = self.of(int(entries[left.argmax()]))
            mine = (entries >= batch.start) & (entries < batch.end)
            left &= ~mine
            yield batch, mine

    # Chains.

    def _against(self, a: Accessed, last: Any, commutes: str = "") -> Conflict | None:
        """A conflict with an entry that nothing orders before what is done now, of the chains that begin at `last`."""
        return None if self._standing(a, last[a.words]) is None else self._pair(a, last, commutes)

    def _standing(self, a: Accessed, heads: Any) -> tuple[Any, Any] | None:
        """The first entries of the chains of words that may not be ordered before what is done now, and `_open` of them; None
        where all are ordered. Batches of which all threads know all are passed over as a whole."""
        if not heads.size:
            return None
        while True:
            last = int(np.maximum.reduce(heads))
            if not last or (a.region.shared and last < a.crowd.floor):  # before a barrier of the whole CTA
                return None
            batch = self.of(last)
            if int(np.minimum.reduce(heads)) < batch.start or not self.clocks.behind(a.crowd, batch.crowd):
                break
            if batch.previous is None:
                return None
            heads = batch.previous[heads - batch.start]
        open_ = self._open(a, heads)
        return (heads, open_) if np.logical_or.reduce(open_) else None

    def _open(self, a: Accessed, heads: Any, commutes: str = "") -> Any:
        """For each thread and word whether an entry of its chain is not ordered before what the thread does now; what does the
        same as that, where it commutes with it, is passed over."""
        threads, words, heads = a.threads(), a.spread(a.words), a.spread(heads)
        found = np.zeros(heads.size, np.bool_)
        at = np.flatnonzero(heads)
        entries = heads[at]
        while at.size:
            if a.region.shared and int(entries.max()) < a.crowd.floor:
                break
            following = np.zeros(at.size, np.int32)
            bad = np.zeros(at.size, np.bool_)
            for batch, mine in self._by_batch(entries):
                lanes, some = at[mine], entries[mine]
                alike = commutes != "" and batch.commutes == commutes
                if not (alike and self.commuted):
                    unordered = ~self._ordered(a.crowd, batch, threads[lanes], words[lanes], some)
                    self.commuted = self.commuted or (alike and bool(unordered.any()))
                    bad[mine] = unordered & (not alike)
                if batch.previous is not None:
                    following[mine] = batch.previous[some - batch.start]
            found[at[bad]] = True
            goes = ~bad & (following != 0)
            at, entries = at[goes], following[goes]
        return found

    def _ordered(self, now: Crowd, batch: Batch, threads: Any, words: Any, entries: Any) -> Any:
        """For each thread, of those that are there `now`, and word whether all of a batch that access it are ordered before
        what the thread does now."""
        crowd = batch.crowd
        if self.clocks.behind(now, crowd):
            return np.ones(threads.size, np.bool_)
        if batch.words is None and not batch.uniform:
            index = entries - batch.start
            if batch.units > 1:
                index //= batch.units
            others = crowd.threads[index]
            same = threads == others
            return same if same.all() else self.clocks.ordered(threads, others, crowd.times[index])
        if self.clocks.know(threads, crowd):
            return np.ones(threads.size, np.bool_)
        ordered = self.clocks.cta[threads] == self._cta_of(batch, words)
        at = np.flatnonzero(ordered)
        lanes, others, times = self._members(batch, words, at, entries[at])
        ordered[lanes[~self.clocks.ordered(threads[lanes], others, times)]] = False
        return ordered

    def _cta_of(self, batch: Batch, words: Any) -> Any:
        """For each word the CTA of those threads of a batch that access it, -1 where they are of several: nobody knows all of
        these, and there may be too many to look at each with each."""
        ctas = self.clocks.cta[batch.crowd.threads]
        if batch.uniform:
            return ctas[0] if (ctas == ctas[0]).all() else np.int32(-1)
        order, by_word = batch.sorted()
        ctas = ctas[order // batch.units]
        starts = np.flatnonzero(np.diff(by_word, prepend=-1))
        least, most = np.minimum.reduceat(ctas, starts), np.maximum.reduceat(ctas, starts)
        return np.where(least == most, least, -1)[np.searchsorted(by_word[starts], words)]

    def _chain(self, a: Accessed, last: Any, commutes: str) -> bool:
        """Accesses that stand beside others come into the chains that begin at `last`; whether threads share words."""
        words = a.words
        batch = Batch(a.crowd, a.op, a.units, commutes, a.uniform)
        heads, open_ = self._beside(a, last[words], commutes)
        if open_.any():
            batch.previous = np.where(open_, heads, 0)
            before = batch.previous[open_]
            batch.depth = 1 + max(other.depth for other, _ in self._by_batch(before))
        numbers = self._numbered(batch, words.size)
        last[words] = numbers
        shares = a.uniform and a.crowd.threads.size > 1
        if not a.uniform and a.crowd.threads.size > 1 and np.logical_or.reduce(last[words] != numbers):
            batch.words, shares = words, True
            if batch.previous is not None:  # the threads of a word have one chain before them
                batch.previous = self._least(words, batch.previous)
        if batch.depth > _DEPTH:
            self._anew(words, last)
        return shares

    def _beside(self, a: Accessed, heads: Any, commutes: str) -> tuple[Any, Any]:
        """The entries behind which an access of each word comes into its chain, and whether it does not stand for them. Of
        atomic operations it stands only for such as do the same: what commutes with it need not commute with those."""
        if commutes and len(a.region.kinds) > 1:
            return heads, heads >= (a.crowd.floor if a.region.shared else 1)
        standing = self._standing(a, heads)
        if standing is None:
            return heads, np.zeros(heads.size, np.bool_)
        heads, open_ = standing
        if a.uniform:  # an entry that is ordered before one of the threads need not be looked at again
            open_ = open_.reshape(-1, heads.size).all(axis=0)
        return heads, open_

    @staticmethod
    def _least(words: Any, previous: Any) -> Any:
        """Of the entries of each word the one that has least before it: any thread behind which earlier ones are ordered stands
        for them."""
        unique, which = np.unique(words, return_inverse=True)
        least = np.full(unique.size, np.iinfo(np.int32).max, np.int32)
        np.minimum.at(least, which, previous)
        return least[which]

    def _anew(self, words: Any, last: Any) -> None:
        """Makes the chains of words anew: of each thread, its last entry of a kind is enough."""
        words = np.unique(words)
        at, entries = np.arange(words.size), last[words]
        parts: list[tuple[Any, ...]] = []
        done: dict[int, str] = {}  # by instructions
        kinds: dict[str, int] = {}
        while at.size:
            following = np.zeros(at.size, np.int32)
            for batch, mine in self._by_batch(entries):
                some, which = entries[mine], at[mine]
                which, threads, times = self._members(batch, words, which, some)
                done[batch.op], kind = batch.commutes, kinds.setdefault(batch.commutes, len(kinds))
                parts.append((which, threads, times, np.full(which.size, batch.op), np.full(which.size, kind)))
                if batch.previous is not None:
                    following[mine] = batch.previous[some - batch.start]
            goes = following != 0
            at, entries = at[goes], following[goes]
        which, threads, times, ops, of_kind = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        each = (of_kind * np.int64(len(words)) + which) * np.int64(len(self.clocks.own)) + threads
        latest = np.unique(each, return_index=True)[1]
        which, threads, times, ops = which[latest], threads[latest], times[latest], ops[latest]
        heads = np.zeros(words.size, np.int32)
        for op in np.unique(ops):
            mine = ops == op
            batch = Batch(Crowd(threads[mine], times[mine], 0), int(op), 1, done[int(op)], False)
            batch.words, batch.previous = words[which[mine]], heads[which[mine]]
            heads[which[mine]] = self._numbered(batch, batch.words.size)
        last[words] = heads

    @staticmethod
    def _members(batch: Batch, words: Any, which: Any, entries: Any) -> tuple[Any, Any, Any]:
        """All threads for which entries of words stand, with their times; and for each the word."""
        crowd = batch.crowd
        if batch.uniform:
            count = crowd.threads.size
            return np.repeat(which, count), np.tile(crowd.threads, which.size), np.tile(crowd.times, which.size)
        if batch.words is None:
            index = (entries - batch.start) // batch.units
            return which, crowd.threads[index], crowd.times[index]
        order, by_word = batch.sorted()
        low, high = (np.searchsorted(by_word, words[which], side) for side in ("left", "right"))
        counts = high - low
        index = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - low, counts)] // batch.units
        return np.repeat(which, counts), crowd.threads[index], crowd.times[index]

    # Conflicts.

    def _pair(self, a: Accessed, last: Any, commutes: str = "", *, everything: bool = False) -> Conflict | None:
        """The first pair of accesses that conflict: of which nothing orders one before the other, or `everything`."""
        heads = last[a.words]
        open_ = a.spread(heads) > 0 if everything else self._open(a, heads, commutes)
        threads, words = a.threads(), a.spread(a.words)
        for lane in np.flatnonzero(open_).tolist():
            thread, word = int(threads[lane]), int(words[lane])
            entry = int(last[word])
            while entry:
                batch = self.of(entry)
                others, times = batch.of_word(word, entry)
                bad = np.ones(others.size, np.bool_)
                if not everything:
                    bad = ~self.clocks.ordered(np.full(others.size, thread), others, times)
                if bad.any() and not (commutes and batch.commutes == commutes):
                    return Conflict(word, thread, int(others[bad.argmax()]), batch)
                entry = 0 if batch.previous is None else int(batch.previous[entry - batch.start])
        return None
