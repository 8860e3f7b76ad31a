"""Copies of threads that poll some bytes, and are told what they find there: what comes of each value.

A copy goes on from one poll to the next one, or to the next thing that others see. Whoever wants to know all that a thread
may do about some bytes, a loop of compare-and-swap or the taking of a lock, asks for each step with each value.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from typing import Any, NoReturn

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.waits.waiting import Copying, Ended, Poll, plain, stopped_at
from ptxcore.clock import OutOfTime
from ptxcore.isa.effect_kinds import FENCE, UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.emulation import recover
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import Write
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple
from ptxcore.values.terms import mask

#: Blocks that are executed between two polls.
_MOST_BLOCKS = 64


class Untold(Exception):
    """Nothing says what comes of it."""


class _Asks(BaseException):
    """A copy is about to poll, and has not been told what it finds."""


class Teller:
    """Watches a copy: looks at the bytes find what they are told; whatever else others would see ends it."""

    #: Whether a copy goes on by fences, and where it leaves what it found, but not where it has changed that.
    tries = False
    #: Whether a copy goes on where it computes with values that vary, and whether an access at such an address may end it.
    varies = ends_at_varying = False

    def __init__(self, address: int, size: int, loads: Mapping[tuple[int, int], int] | None = None) -> None:
        """`loads`: what weak loads find that do not end the copy, by their address and size."""
        self.place = address, size
        self.finds = loads or {}
        self.told: int | Varying | None = None
        self.found: int | Varying | None = None
        self.wrote: int | None = None
        #: The instruction of the poll.
        self.by: Op | None = None
        #: What is live in the code of the copy, once it has one.
        self.live: Live | None = None

    def is_poll(self, thread: Any) -> bool:
        """Whether an access to the bytes is a poll, and nothing that ends the copy."""
        return True

    def is_strong(self, thread: Any, address: int) -> bool:
        """Whether a poll is one that does not race with others."""
        return address < FIRST_GLOBAL or scope_of(thread.instruction.use) in WIDE

    def reads(self, thread: Any, address: int, size: int) -> Any:
        if (address, size) in self.finds and not scope_of(thread.instruction.use):
            return self.finds[address, size]
        if (address, size) != self.place or not self.is_poll(thread):
            raise Ended
        if not self.is_strong(thread, address):
            raise Untold
        if self.told is None:
            raise _Asks
        value, self.told = self.told, None
        self.found, self.by = value, thread.instruction
        return value

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        value = self.reads(thread, address, size)
        if isinstance(value, Varying):
            if not only_looks(thread, how, write):
                raise Untold
            return value
        written, writes = write(value)
        if writes:
            self.wrote = written & mask(8 * size)
        return value

    @property
    def goes_on(self) -> bool:
        """Whether the next poll, or a fence, is one more of the same."""
        return self.wrote is None or (self.tries and self.wrote == self.found)

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        """A branch hangs on values that vary."""
        raise Untold

    def locates(self, thread: Any, value: Varying) -> int:
        raise Untold

    def __getattr__(self, name: str) -> Any:
        return _ended


def only_looks(thread: Any, how: Use, write: Write) -> bool:
    """Whether an atomic operation leaves what stands there, whatever it is."""
    if how.words["vec"]:
        return False
    operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
    if how.op == "cas":
        return len(operands) == 2 and type(operands[0]) is int and operands[0] == operands[1]
    return how.op in ("add", "or", "xor", "max") and how.type[:1] in "bu" and operands == [0]


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class ToldCopy(Copying):
    """A copy of a thread that polls."""

    __slots__ = ()

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind not in UPDATES:
            raise Ended
        watcher: Any = self.watcher
        return watcher.updates(self, how, address, how.width // 8, write)

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        watcher: Any = self.watcher
        plain_fence = kind is FENCE and not how.words["restrict"] and not how.words["operation"]
        if not (plain_fence and watcher.tries and watcher.goes_on):
            raise Ended


class ToldAt(NamedTuple):
    """Where a copy is: about to execute a block, in which it polls."""

    key: Hashable
    block: int
    registers: list[Any]
    carry: Any


class ToldStep(NamedTuple):
    """What comes of a poll, by an instruction, that finds something: what was written, if anything; and where the thread polls
    again (`at`), or all that it goes on with (`goes_on`)."""

    wrote: int | None
    at: ToldAt | None
    goes_on: Hashable = None
    by: Op | None = None


class ToldThread:
    """A thread from a poll on."""

    def __init__(self, poll: Poll, live: Live, teller: Teller, kind: type[ToldCopy] | None = None) -> None:
        """`kind`: how the copy does what others may see."""
        self.live, self._teller = live, teller
        teller.live = live
        self._copy: Any = copy.copy(poll.thread)
        self._copy.__class__ = kind or ToldCopy
        self._copy.frames, self._copy.watcher = [], teller
        self._compiled, self._parameters = poll.thread.launch.compiled, poll.thread.launch.read_parameters  # type: ignore[attr-defined]
        self.begins = self.state(poll.block, poll.registers, poll.thread.carry)

    def state(self, block: int, registers: list[Any], carry: Any) -> ToldAt:
        return ToldAt((block, self.live.of(block, registers), plain(carry)), block, registers, carry)

    def goes(self, at: ToldAt, value: int | Varying) -> ToldStep:
        """What comes of a poll that finds a value. Raises Untold where that cannot be told."""
        thread, teller = self._copy, self._teller
        thread.R, thread.carry, thread.op = list(at.registers), at.carry, -1
        teller.told, teller.wrote, teller.by = value, None, None
        block, before, within, polled = at.block, at, False, False
        for _ in range(_MOST_BLOCKS):
            if not within:
                before = self.state(block, list(thread.R), thread.carry)
            within, asks = False, teller.told is not None
            try:
                block = self._compiled.blocks[block](thread, thread.R, self._parameters)
                polled = False
            except _Asks:
                return self._asked(before)
            except (Untold, OutOfTime):
                raise
            except (Ended, Exception) as error:  # whatever goes wrong goes wrong there, and not here
                stopped = stopped_at(self._compiled, error)
                if teller.varies and stopped is not None and isinstance(error, Exception):
                    try:
                        block = self._recovered(stopped, error)
                    except _Asks:
                        return self._asked(before)
                    except Ended:
                        return ToldStep(
                            teller.wrote, None, (self.live.before(stopped, thread.R), plain(thread.carry)), teller.by
                        )
                    # The rest of a block belongs to it, but behind a poll, or where it is the block that polls.
                    polled = polled or (asks and teller.told is None)
                    within = not polled and block != self.begins.block
                    continue
                if stopped is None or not isinstance(error, Ended) or teller.told is not None:
                    raise Untold from None
                goes_on = self.live.before(stopped, thread.R), plain(thread.carry)
                return ToldStep(teller.wrote, None, goes_on, teller.by)
            if block < 0:
                return ToldStep(teller.wrote, None, "ends", teller.by)
        raise Untold

    def _asked(self, before: ToldAt) -> ToldStep:
        """The thread is about to poll again, in the block that began so."""
        teller = self._teller
        if teller.goes_on:
            return ToldStep(None, before)
        return ToldStep(teller.wrote, None, ("polls", before.key), teller.by)

    def _recovered(self, op: Op, error: Exception) -> int:
        """An instruction met a value that varies; the block that goes on."""
        try:
            block = recover(self._copy, op, error)
        except (Untold, OutOfTime):
            raise
        except Ended:
            if self._teller.ends_at_varying and self._teller.told is None:
                raise
            raise Untold from None
        except Exception:
            raise Untold from None
        if block is None:
            raise Untold
        return block


__all__ = ["Teller", "ToldAt", "ToldCopy", "ToldStep", "ToldThread", "Untold", "only_looks"]
