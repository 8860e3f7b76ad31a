"""Strong reads that led on, of which it is asked what they may find (`waits.waiting`)."""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.machine.lower.ops import Op


class StrongRead:
    """A strong read that led on: who, when, with which value, what was ordered before it, and where its thread goes on with a
    value: None, back to poll again."""

    __slots__ = (
        "before", "behind", "certain", "found", "leads", "observes", "op", "own", "scope", "seen", "thread", "time", "value",
    )  # fmt: skip

    def __init__(
        self, thread: int, time: int, value: int, scope: str, leads: Callable[[int], object], op: Op | None = None
    ) -> None:
        """`op`: the instruction, where it is asked for."""
        self.thread, self.time, self.value, self.scope, self.leads, self.op = thread, time, value, scope, leads, op
        #: The numbers of writes that are ordered before it; of those and others that come before it in coherence order, since
        #: its thread had waited for them; and of those that every value that leads on needs.
        self.before: frozenset[int] = frozenset()
        self.behind: frozenset[int] = frozenset()
        self.certain: frozenset[int] = frozenset()
        #: Writes that it has observed in every execution, as somebody has relied on.
        self.found: frozenset[int] = frozenset()
        #: Whether somebody relies on it that it observes those that it is certain of.
        self.observes = False
        #: How many writes there were when it led on; -1 where it does not wait for any.
        self.seen = -1
        #: Of an atomic operation, the number of its write; a time is that of several accesses, and does not tell.
        self.own = -1


__all__ = ["StrongRead"]
