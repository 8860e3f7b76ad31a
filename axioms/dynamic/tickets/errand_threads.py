"""Copies of threads that go the ways of errands (`tickets.errands`): what they do is told, and nothing is written."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from axioms.dynamic.code.live import Live, Same
from axioms.dynamic.waits.waiting import Copying, Ended, Still, plain, stopped_at
from ptxcore.isa.effect_kinds import FENCE, UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.watched import WatchedThread, Write

#: Blocks that a thread goes by itself.
_MOST_BLOCKS = 64


class UnknownErrand(Exception):
    """Nothing is known of what a thread does."""


def _unknown(*_: Any, **__: Any) -> NoReturn:
    raise UnknownErrand


class ErrandThread(Copying):
    """A copy of a thread in an errand: nothing is written."""

    __slots__ = ()

    def read(self, address: int, size: int) -> int:
        return self.watcher.reads(self, address, size)  # type: ignore[return-value]

    def write(self, address: int, size: int, value: int) -> None:
        self.watcher.writes(self, address, size, value)

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind not in UPDATES:
            raise UnknownErrand
        return self.watcher.updates(self, how, address, how.width // 8, write)

    def leave(self, entry: bool) -> int:  # type: ignore[override]
        if not entry:
            raise UnknownErrand
        return DONE

    def polls(self, block: int) -> None:
        self.watcher.polls(self, block)

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        if kind is not FENCE or how.words["restrict"] or how.words["operation"]:
            raise UnknownErrand
        self.watcher.fences(self, how)  # type: ignore[attr-defined]

    barrier = collective = copy = defer = pause = clear = cancel_cluster = call = ask = _unknown
    ended = staticmethod(_unknown)
    stop = commit = wait = after_copies = allocate = refuse = jump = finish_copies = _unknown


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class LookingThread(ErrandThread):
    """A copy of a thread that goes on by weak accesses alone: whatever else others may see ends it."""

    __slots__ = ()

    def polls(self, block: int) -> None:
        pass

    modify = effect = barrier = collective = copy = defer = pause = clear = cancel_cluster = call = ask = _ended
    ended = staticmethod(_ended)
    stop = commit = wait = after_copies = allocate = refuse = jump = finish_copies = _ended


def is_in(space: str, thread: Any, address: int) -> bool:
    """Whether an address is one of the space that an instruction names."""
    if space == "global":
        return address >= FIRST_GLOBAL
    return not space or address & ~SHARED_OFFSET == thread.shared


def _load(space: str, size: int) -> Any:
    def load(thread: Any, address: int) -> int:
        return _load_any(space)(thread, address, size)  # type: ignore[no-any-return]

    return load


def _load_any(space: str) -> Any:
    def load(thread: Any, address: int, size: int) -> int:
        if type(address) is not int:
            address._use()  # type: ignore[attr-defined]
        if not is_in(space, thread, address):
            raise UnknownErrand
        return thread.read(address, size)  # type: ignore[no-any-return]

    return load


def _store(space: str, size: int) -> Any:
    def store(thread: Any, address: int, value: int) -> None:
        _store_any(space)(thread, address, size, value)

    return store


def _store_any(space: str) -> Any:
    def store(thread: Any, address: int, size: int, value: int) -> None:
        if type(address) is not int:
            address._use()  # type: ignore[attr-defined]
        if not is_in(space, thread, address):
            raise UnknownErrand
        thread.write(address, size, value)

    return store


for _space in ("", "global", "shared"):
    _of = f"{_space}_" if _space else ""
    for _size in (1, 2, 4, 8):
        setattr(ErrandThread, f"read_{_of}{_size}", _load(_space, _size))
        setattr(ErrandThread, f"write_{_of}{_size}", _store(_space, _size))
    if _space:
        setattr(ErrandThread, f"read_{_space}", _load_any(_space))
        setattr(ErrandThread, f"write_{_space}", _store_any(_space))


def goes_on(thread: WatchedThread, op: Op, registers: list[Any], live: Live) -> object:
    """Where a thread comes with some registers, from an instruction on, by itself: up to the first thing that others see, or
    take part in. Equal where it goes on equally; who comes to none of that goes on like nobody."""
    one = copy.copy(thread)
    one.__class__, one.watcher = Copying, Still(-1, 0, live)
    one.R, one.frames = registers, []
    compiled, parameters = thread.launch.compiled, thread.launch.read_parameters  # type: ignore[attr-defined]
    at = compiled.compiler.again(compiled, op)
    for _ in range(_MOST_BLOCKS):
        try:
            at = compiled.blocks[at](one, registers, parameters)
        except (Ended, Exception) as error:  # whatever goes wrong goes wrong there, and not here
            stopped = stopped_at(compiled, error)
            return Same(error) if stopped is None else (*live.before(stopped, registers), plain(one.carry))
    return Same(one)


__all__ = ["ErrandThread", "LookingThread", "UnknownErrand", "goes_on", "is_in"]
