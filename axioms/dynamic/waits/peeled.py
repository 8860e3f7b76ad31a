"""Waiting loops whose first poll stands before them: compilers turn `while (load() < n) sleep();` so.

    if (load() >= n) goto on;   do { sleep(); } while (load() < n);   on:

What the first poll finds leads its thread on, or to the other one: two instructions that are one poll. They are where both
read alike, and with each two values, of which the first one leads from the one to the other, the second one leads from
both to the same: to the other one, with the same live registers as the first value does, or on (docs/whole-launches/waits.md,
Peeled polls).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.waits.waiting import Copying, Ended, Poll, Still, plain
from ptxcore.machine.run.watched import WatchedThread

Lead = Callable[[int], object]
#: A value leads from two polls to different places: what it leads to is equal to nothing, not even to itself.
_APART = object()


class _Through(Still):
    """Watches a copy of a thread that finds a value, and `then` at the next read if that is another strong one of the same
    bytes that reads alike: its number and block, and where the thread stands when it comes there, the first time and the
    second."""

    def __init__(self, op: int, value: int, live: Live, then: int) -> None:
        super().__init__(op, value, live)
        self.then = then
        self.address, self.block, self.poll = -1, -1, -1
        self.stands: list[object] = []

    def reads(self, thread: WatchedThread, address: int, size: int) -> int:
        if thread.op == self.op and self.address < 0:
            self.address = address
            return super().reads(thread, address, size)
        if self.poll < 0 and self._is_alike(thread, address):
            self.poll = thread.op
        if thread.op != self.poll or address != self.address or self.fences:
            raise Ended
        self.stands.append((self.live.before(thread.instruction, thread.R), plain(thread.carry), len(thread.frames)))
        if len(self.stands) > 1:
            raise Ended
        return self.then & ((1 << 8 * size) - 1)

    def _is_alike(self, thread: WatchedThread, address: int) -> bool:
        ops = thread.launch.compiled.ops
        one, other = ops[self.op].use, thread.instruction.use
        alike = (one.form, one.sem, one.scope, one.type) == (other.form, other.sem, other.scope, other.type)
        vector = one.words["vec"] or other.words["vec"]
        return thread.op != self.op and alike and not vector and one.form.mnemonic == "ld" and address == self.address


class _Passing(Copying):
    """The copy, which says in which block it polls."""

    __slots__ = ()

    def polls(self, block: int) -> None:
        watcher: Any = self.watcher
        if watcher.poll < 0:
            watcher.block = block


class PeeledPoll:
    """Where a thread goes on with what it finds at a strong read: None, back to poll again, there or at the other poll.
    `alone`: where it goes as far as it alone is asked."""

    def __init__(self, poll: Poll, live: Live, op: int, alone: Lead) -> None:
        self._poll, self._live, self._op, self._alone = poll, live, op, alone
        self._known: dict[int, object] = {}
        #: The values that lead on; one that leads to the other poll, and what came of it.
        self._on: list[int] = []
        self._vain: _Through | None = None
        #: Whether some value leads back to this one.
        self._returns = False

    def __call__(self, value: int) -> object:
        if value not in self._known:
            self._known[value] = self._leads(value)
        found = self._known[value]
        return object() if found is _APART else found

    def other(self, value: int) -> tuple[int, int] | None:
        """The other poll to which a value leads: its instruction and its block; None where it leads to none."""
        vain = self._vain
        return None if vain is None or self._returns or self(value) is not None else (vain.poll, vain.block)

    def _leads(self, value: int) -> object:
        found = self._alone(value)
        if found is None:
            self._returns = True
            return None if self._vain is None else _APART
        through, _ = self._go(value, value)
        stands = through.stands
        if self._returns or len(stands) != 2 or stands[0] != stands[1]:
            return self._on_with(value, found)
        if self._vain is None:
            self._vain = through
        same = (through.poll, through.block, stands) == (self._vain.poll, self._vain.block, self._vain.stands)
        return None if same and all(self._is_joined(one) for one in self._on) else _APART

    def _on_with(self, value: int, found: object) -> object:
        """A value leads on: also from the other poll to the same."""
        self._on.append(value)
        self._known[value] = found
        return found if self._vain is None or self._is_joined(value) else _APART

    def _is_joined(self, value: int) -> bool:
        assert self._vain is not None
        through, end = self._go(self._vain.value, value)
        return len(through.stands) == 1 and end == self._known[value]

    def _go(self, value: int, then: int) -> tuple[_Through, object]:
        through = _Through(self._op, value, self._live, then)
        return through, self._poll.leads(self._live, self._op, value, _Passing, through)


def joined(first: Lead, second: Lead) -> Lead:
    """Where a thread goes on from the second one of two polls, to which it came from the first."""

    def lead(value: int) -> object:
        one, other = first(value), second(value)
        return other if one == other else object()

    return lead


__all__ = ["Lead", "PeeledPoll", "joined"]
