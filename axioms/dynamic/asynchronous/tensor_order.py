"""What threads know of operations on Tensor Memory (PTX ISA 9.0, section 9.7.16), beside base causality order.

The order is that of section 9.7.16.6. A `tcgen05` operation is not ordered behind another one of its own thread, but for pairs
that are pipelined. What a thread hands on to others by a synchronization, also by a relaxed one ("execution ordering
instructions"), is what it knows to be complete, and what `tcgen05.fence::before_thread_sync` released; its own asynchronous
operations come behind what it has got by `tcgen05.fence::after_thread_sync` alone. In tables of what threads know all this has
planes of its own:

- `DONE`: products, copies and shifts of a thread, by their number; they are complete, and a commit said so;
- `LOADED`, `STORED`: loads and stores of a warp; it waited, and then one of its threads released them;
- `QUEUED`: products, copies and shifts of a thread, released, not complete;
- `EXECUTED`: what any thread executed before a thread came to a commit, which arrives at its mbarrier object behind that; in
  clusters, and where threads of warps wait for each other (`elect.sync`), to a bulk copy; or before a warp came together;
- `READ`: as `DONE`, of what they read of shared memory; this goes on by acquire and release alone;
- `HERE`, `THERE`: the same, of what they read in the peer CTA, behind a fence of proxies in that CTA, or in their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axioms.dynamic.core.clocks import EXECUTED, PLANE, RELAXED, Arrival, Clocks, Table
from axioms.dynamic.core.shadow import AGENTS, Access
from axioms.dynamic.waits.written import Hand

#: Planes of tables, behind all others. Those from `RELAXED` on go on by relaxed synchronization, too.
HERE, THERE, READ, DONE, LOADED, STORED, QUEUED = (RELAXED + 4 * i for i in range(-3, 4))
#: Numbers of agents, in the place of threads', for what the products, copies and shifts of a thread do with shared memory.
TENSOR_AGENTS = 3 * AGENTS


class TensorOrder:
    """The planes of one launch."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        #: Whether threads of a warp have waited for each other, at something that orders no memory.
        self.meets = False

    def table(self, *known: tuple[int, int, int]) -> Table:
        """A table of nothing but what planes say of some numbers, up to a time of each."""
        size = self.clocks.size
        table: Table = {}
        for plane, number, time in known:
            cta, place = divmod(number, size)
            times = table.setdefault(cta + (plane << PLANE), [0] * size)
            times[place] = time
        return table

    def says(self, table: Table, plane: int, number: int, time: int) -> bool:
        cta, place = divmod(number, self.clocks.size)
        times = table.get(cta + (plane << PLANE))
        return times is not None and times[place] >= time

    def learns(self, number: int, table: Table) -> None:
        if table:
            self.clocks.merge(number, [table])

    def agent_of(self, number: int) -> int:
        """What stands for what `tcgen05` instructions of a thread do with shared memory."""
        return TENSOR_AGENTS * self.clocks.size + number

    # Relaxed synchronization.

    def relaxed(self, table: Table) -> Table:
        """What of a table synchronization hands on that neither acquires nor releases."""
        return {key: times for key, times in table.items() if key >> PLANE >= RELAXED}

    def arrival(self, number: int) -> Arrival | None:
        """What a relaxed arrival of a thread hands on."""
        table = self.relaxed(self.clocks.known[number])
        return (number, table, 0) if table else None

    def hears(self, number: int, tables: Iterable[Table]) -> None:
        """A thread synchronizes by relaxed operations with those who knew this."""
        for table in tables:
            self.learns(number, self.relaxed(table))

    def finds(self, number: int, scope: str, hands: Iterable[Hand]) -> None:
        """A thread finds, by a relaxed read in a scope, what others have written who knew this."""
        within = self.clocks.within
        heard = [h.table for h in hands if within(h.scope, h.thread, number) and within(scope, h.thread, number)]
        self.hears(number, heard)

    # What was executed, and what is complete.

    def before(self, arrival: Arrival) -> Table:
        """What was executed before an operation was issued, and so before it is complete."""
        number, known, time = arrival
        found = {key: times for key, times in known.items() if key >> PLANE == EXECUTED}
        own = self.table((0, number, time))
        plain = {key: times for key, times in known.items() if key >> PLANE == 0 and key < AGENTS}
        every = self.clocks.join([(number, plain, 0), (number, own, 0)])
        moved = {key + (EXECUTED << PLANE): times for key, times in every.items()}
        return self.clocks.join([(number, found, 0), (number, moved, 0)])

    def come_together(self, lanes: Sequence[int]) -> None:
        """Threads of a warp wait for each other, and memory is not ordered by it: what each has executed has happened then."""
        self.meets = True
        arrivals = [self.clocks.release(lane) for lane in lanes]
        table = self.before((lanes[0], self.clocks.join(arrivals), arrivals[0][2]))
        for lane in lanes:
            self.learns(lane, table)

    def executed(self, table: Table, other: int, time: int) -> bool:
        """Whether who knows a table knows that a thread has come past a time."""
        return self.says(table, EXECUTED, other, time)

    def completed(self, table: Table, agent: int, time: int) -> bool:
        """Whether who knows a table knows that reads of shared memory are complete, which needs no fence within their proxy."""
        return self.says(table, READ, agent, time)

    def follows(self, number: int, before: Access) -> bool:
        """Whether a thread knows that such a read of shared memory is complete."""
        return before.kind == "R" and self.completed(self.clocks.known[number], before.thread, before.time)

    def fenced_once(self, number: int, before: Access) -> bool:
        """Whether a thread knows of a read of the peer's shared memory, and of a fence of proxies behind it in one of them."""
        known = self.clocks.known[number]
        return any(self.says(known, plane, before.thread, before.time) for plane in (HERE, THERE))
