"""What blocks ask of their group: special registers, addresses, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.machine.ir.windows import SHARED, SHARED_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.special import OF_THREAD, TOLD, LaunchShape, Triple, of_cta
from ptxcore.machine.vector.atomic import modified
from ptxcore.machine.vector.memory import Area, GroupMemory, SeveralSegments
from ptxcore.machine.vector.order import Order
from ptxcore.machine.vector.registers import Irregular, written
from ptxcore.machine.vector.watching import WatchedAccesses, Watcher

#: The coordinates of CTAs, by the special registers that have them.
_INDICES = {"ctaid.x": 0, "ctaid.y": 1, "ctaid.z": 2}


def part(value: Any, chosen: Any) -> Any:
    """A value at the places that are chosen."""
    return value if value is None or not value.ndim else value[chosen]


class AskedGroup:
    """A group as its blocks see it. `who` are the numbers of the threads that ask, None for all."""

    memory: GroupMemory
    ctas: list[Triple]
    shape: LaunchShape
    places: list[Any]
    dynamic: int
    first: int
    count: int
    everyone: Any
    watcher: Watcher | None
    order: Order | None
    _special: dict[tuple[str, Any], Any]
    _variables: dict[tuple[Any, ...], Any]
    _last_told: tuple[Any, Any]

    def numbers(self, who: Any) -> Any:
        """The numbers of threads in the group."""
        return self.everyone if who is None else who

    def special(self, name: str, kind: Any, who: Any) -> Any:
        """A special register: an array, or one number where it is the same for all. Raises Irregular."""
        found = self._special.get((name, kind))
        if found is None:
            if self.watcher is not None and name not in TOLD:
                raise Irregular(name)  # nothing is known of it
            if name in OF_THREAD:
                values = [place.special[name] for place in self.places]
                found = np.tile(np.array(values, np.uint64).astype(kind), len(self.ctas))
            else:
                axis = _INDICES.get(name)
                values = [of_cta(self.shape, cta)[name] if axis is None else cta[axis] for cta in self.ctas]
                if min(values) == max(values):
                    found = kind(values[0])
                else:
                    found = np.repeat(np.array(values, np.uint64).astype(kind), len(self.places))
            self._special[name, kind] = found
        return found if who is None or not found.ndim else found.take(who)

    def variable(self, offset: int, further: int, kind: Any, who: Any) -> Any:
        """The address of a variable in shared memory; of an `offset` -1, of what the launch gives."""
        key = offset, further, kind
        found = self._variables.get(key)
        if found is None:
            at = (self.dynamic if offset < 0 else offset) + further
            if self.memory.ranked is None:
                found = kind(SHARED + at)
            else:
                found = ((self.memory.ranked << np.uint64(SHARED_BITS)) + np.uint64(SHARED + at)).astype(kind)
            self._variables[key] = found
        return found if who is None or not found.ndim else found.take(who)

    def rank(self, who: Any) -> Any:
        """The rank of each thread's CTA in its cluster."""
        ranked = self.memory.ranked
        if ranked is None:
            return np.uint32(0)
        return (ranked if who is None else ranked[who]).astype(np.uint32)

    def parameter(self, address: int, size: int) -> Any:
        """A parameter of the kernel."""
        key = "parameter", address, size
        found = self._variables.get(key)
        if found is None:
            area, place = self.memory.locate("param", np.uint64(address), size, None, False)
            found = self._variables[key] = area.view(size)[place]
        return found

    def fence(self, op: Op, who: Any) -> None:
        """A fence; memory here is sequentially consistent."""
        if self.watcher is not None:
            self.watcher.fence(op, self.told(who))

    def load(self, op: Op, space: str, a: Any, size: int, who: Any, count: int) -> Any:
        """What stands at addresses: one number where they are one."""
        try:
            area, places = self.memory.locate(space, a, size, who, False)
            values = area.view(size)[places]
            if area is self.memory.shared and self.order is not None:
                self.order.access(places, size, self.numbers(who), "read")
        except SeveralSegments:
            values = self._split(a, who, lambda b, w: self.load(op, space, b, size, w, b.size))
            return values
        if self.watcher is not None:
            self._tell(op, "read", who, a, size, area, places, read=values)
        return values

    def load_parts(self, op: Op, space: str, a: Any, size: int, parts: int, who: Any, count: int) -> tuple[Any, ...]:
        """The elements of vectors."""
        try:
            area, places = self.memory.locate(space, a, size * parts, who, False)
            rows = area.view(size, parts)[places]
            if area is self.memory.shared and self.order is not None:
                self.order.access(places, size * parts, self.numbers(who), "read")
        except SeveralSegments:
            rows = self._split(a, who, lambda b, w: np.stack(self.load_parts(op, space, b, size, parts, w, b.size), 1))
            return tuple(np.ascontiguousarray(rows[:, i]) for i in range(parts))
        values = tuple(rows[i] if rows.ndim == 1 else np.ascontiguousarray(rows[:, i]) for i in range(parts))
        if self.watcher is not None:
            self._tell(op, "read", who, a, size, area, places, parts, read=values)
        return values

    def store(self, op: Op, space: str, a: Any, size: int, value: Any, who: Any, count: int) -> None:
        """Writes numbers; of threads that write to one place the last one stays."""
        written(value)
        try:
            area, places = self.memory.locate(space, a, size, who, True)
        except SeveralSegments:
            self._split(a, who, lambda b, w, at: self.store(op, space, b, size, part(value, at), w, b.size), False)
            return
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size, self.numbers(who), "write")
        view = area.view(size)
        view[places] = value if type(places) is not int or not value.ndim else value[-1]
        if self.watcher is not None:
            self._tell(op, "write", who, a, size, area, places, written=value)

    def store_parts(self, op: Op, space: str, a: Any, size: int, values: tuple[Any, ...], who: Any, count: int) -> None:
        """Writes the elements of vectors."""
        for value in values:
            written(value)
        try:
            area, places = self.memory.locate(space, a, size * len(values), who, True)
        except SeveralSegments:
            self._split(
                a, who,
                lambda b, w, at: self.store_parts(op, space, b, size, tuple(part(v, at) for v in values), w, b.size),
                False,
            )  # fmt: skip
            return
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size * len(values), self.numbers(who), "write")
        view = area.view(size, len(values))
        for i, value in enumerate(values):
            view[places, i] = value if type(places) is not int or not value.ndim else value[-1]
        if self.watcher is not None:
            self._tell(op, "write", who, a, size, area, places, len(values), written=values)

    def modify(self, op: Op, space: str, a: Any, size: int, update: Any, operands: Any, who: Any, count: int) -> Any:
        """An atomic read-modify-write, in the order of the threads; gives what was there before."""
        try:
            self.memory.locate(space, a, size, who, False)
            area, places = self.memory.locate(space, a, size, who, True)
        except SeveralSegments:
            raise Irregular("atomic operations in several buffers") from None
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size, self.numbers(who), "atomic")
        old, new, writes = modified(area.view(size), places, count, update, operands, a, self.rank(who))
        if self.watcher is not None:
            self._tell(
                op, "atomic", who, a, size, area, places, read=old, written=new, writes=writes, operands=operands
            )
        return old

    def _split(self, a: Any, who: Any, each: Any, gives: bool = True) -> Any:
        """An access to several stretches of memory, one after the other."""
        numbers = self.numbers(who)
        high = a >> np.uint64(32)
        keys = np.where(high != 0, high + np.uint64(16), a >> np.uint64(28))
        found: Any = None
        for key in np.unique(keys):
            at = np.flatnonzero(keys == key)
            if not gives:
                each(a[at], numbers[at], at)
                continue
            values = each(a[at], numbers[at])
            if found is None:
                found = np.zeros((a.size, *values.shape[1:]), values.dtype)
            found[at] = values
        return found

    def _tell(
        self, op: Op, kind: str, who: Any, a: Any, size: int, area: Area, places: Any, parts: int = 1, **values: Any
    ) -> None:
        assert self.watcher is not None
        self.watcher.access(WatchedAccesses(op, kind, self.told(who), a, size, area, places, parts, **values))

    def told(self, who: Any) -> Any:
        """The numbers of threads in the launch; the same array as long as the same threads go on."""
        last, found = self._last_told
        if found is None or last is not who:
            found = self.numbers(who) + self.first
            self._last_told = who, found
        return found
