"""Where values that vary were stored."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.values.terms import Term


class Carried:
    """Values that vary and that were stored: memory has their numbers."""

    def __init__(self) -> None:
        self._segments: dict[int, tuple[Segment, dict[int, tuple[int, int, Varying]]]] = {}

    def store(self, segment: Segment, first: int, size: int, value: Varying | None) -> None:
        """Bytes are written; None for a value that does not vary."""
        if value is None and id(segment) not in self._segments:
            return
        places = self._segments.setdefault(id(segment), (segment, {}))[1]
        entry = None if value is None else (first, size, value)
        for byte in range(first, first + size):
            if entry is not None:
                places[byte] = entry
            else:
                places.pop(byte, None)

    def found(self, segment: Segment, first: int, size: int) -> Varying | bool | None:
        """What is read of them: a value, True for parts of some, None for nothing."""
        if id(segment) not in self._segments:
            return None
        places = self._segments[id(segment)][1]
        there = [places.get(byte) for byte in range(first, first + size)]
        if not any(there):
            return None
        one = there[0]
        if one is None or one[:2] != (first, size) or any(other is not one for other in there):
            return True
        return one[2] if one[2].term.width == 8 * size else True

    def values_in(self, segment: Segment) -> Iterator[tuple[int, int, Varying]]:
        """All values of a segment that are there as a whole, with their first bytes and sizes."""
        for byte, (first, size, value) in self._segments.get(id(segment), (segment, {}))[1].items():
            if byte == first and self.found(segment, first, size) is value:
                yield first, size, value

    def places_of(self, symbols: Set[Term], size: int) -> dict[Term, list[tuple[Segment, int]]]:
        """Where some symbols were stored as they are, in so many bytes."""
        found: dict[Term, list[tuple[Segment, int]]] = {}
        for segment, places in self._segments.values():
            for byte, (first, length, value) in places.items():
                if (
                    byte == first
                    and length == size
                    and value.term in symbols
                    and self.found(segment, first, size) is value
                ):
                    found.setdefault(value.term, []).append((segment, first))
        return found

    def lasting(self) -> Iterator[tuple[Segment, int]]:
        """All bytes that vary."""
        for segment, places in self._segments.values():
            yield from ((segment, byte) for byte in places)

    @property
    def is_used(self) -> bool:
        """Whether some bytes vary."""
        return any(places for _, places in self._segments.values())

    def bytes_of(self, segment: Segment) -> set[int]:
        """The bytes of a segment that vary."""
        return set(self._segments[id(segment)][1]) if id(segment) in self._segments else set()


__all__ = ["Carried"]
