"""A thread that keeps what meanings ask of it: the other side of `ptxcore.isa.thread.Thread`, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Broken(Exception):
    """What must hold does not."""


class Recorder:
    """`memory` by address; `asked` has the calls in order, each with its name. `spaces` are the spaces that every address
    lies in; asynchronous operations wait in `deferred`, and in `copies` those that wait for copies."""

    def __init__(self, memory: dict[int, Any] | None = None, spaces: tuple[str, ...] = ()) -> None:
        self.memory = {} if memory is None else memory
        self.spaces = spaces
        self.asked: list[tuple[Any, ...]] = []
        self.deferred: list[Callable[[], None]] = []
        self.copies: list[Callable[[], None]] = []
        self.clusters: list[tuple[int, int, int]] = []

    def load(self, how: Any, address: Any) -> Any:
        self.asked.append(("load", how.width, how.sem, how.scope))
        return self.memory[address]

    def store(self, how: Any, address: Any, value: Any) -> None:
        self.asked.append(("store", how.width, how.sem, how.scope))
        self.memory[address] = value

    def modify(self, kind: str, how: Any, address: Any, write: Callable[[Any], tuple[Any, Any]]) -> Any:
        self.asked.append((kind, how.width, how.sem, how.scope))
        old = self.memory.get(address) if kind == "init" else self.memory[address]
        value, self.writes = write(old)
        if self.writes != 0:
            self.memory[address] = value
        return old

    def barrier(self, action: str, how: Any, **fields: Any) -> Any:
        self.asked.append(("barrier", action, how.sem, how.words["aligned"], fields))
        return 7 if action == "red" else None

    def effect(self, kind: str, how: Any, **fields: Any) -> None:
        self.asked.append((kind, fields))

    def require(self, condition: Any, kind: str, message: str) -> None:
        if condition == 0:
            raise Broken(f"{kind}: {message}")

    def defer(self, how: Any, action: Callable[[], None]) -> None:
        self.deferred.append(action)

    def after_copies(self, how: Any, action: Callable[[], None]) -> None:
        self.copies.append(action)

    def pause(self, how: Any, ready: Any) -> Any:
        self.asked.append(("pause", ready))
        return ready

    def in_space(self, address: Any, space: str) -> int:
        return int(space in self.spaces)

    def map_address(self, how: Any, address: Any, rank: Any) -> Any:
        return address + (rank << 24)

    def rank_of(self, how: Any, address: Any) -> Any:
        return address >> 24

    def ranks(self, how: Any) -> range:
        return range(4)

    def cancel_cluster(self, how: Any) -> tuple[int, int, int] | None:
        return self.clusters.pop() if self.clusters else None
