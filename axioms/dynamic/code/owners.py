"""Memory that all threads share, by who touches it: whether each byte is one owner's, or all leave each other's alone."""

from __future__ import annotations

from ptxcore.machine.run.memory import Segment
from ptxcore.places import WIDE
from ptxcore.records import dataclass

#: Owners from 0 on are rounds; those below this are what workers do before their first one.
OUTSIDE = -1
#: Several owners.
_MANY = None


@dataclass(slots=True)
class _Touched:
    """Some bytes: whose they are; whether anybody writes; and the one atomic operation that is all that is done to them, with a
    scope that has all threads: else empty."""

    first: int
    end: int
    owner: int | None
    inside: bool
    writes: bool
    commutes: str

    def join(self, other: _Touched) -> None:
        alike = (self.first, self.end) == (other.first, other.end) and self.commutes == other.commutes
        self.commutes = self.commutes if alike else ""
        self.owner = self.owner if self.owner == other.owner else _MANY
        self.inside, self.writes = self.inside or other.inside, self.writes or other.writes
        self.first, self.end = min(self.first, other.first), max(self.end, other.end)

    def is_apart(self) -> bool:
        """Whether it is of no matter which owner comes first."""
        return self.owner is not _MANY or not self.writes or bool(self.commutes) or not self.inside


class Owners:
    """Accesses, by segment and bytes."""

    def __init__(self) -> None:
        self._touched: dict[int, tuple[Segment, dict[tuple[int, int], _Touched]]] = {}

    def note(self, segment: Segment, first: int, size: int, owner: int, kind: str, commutes: str, scope: str) -> None:
        """One access of an owner: kind and scope as of `core.shadow.Access`."""
        of = self._touched.setdefault(id(segment), (segment, {}))[1]
        alike = commutes if scope in WIDE else ""
        one = _Touched(first, first + size, owner, owner > OUTSIDE, kind != "R", alike)
        before = of.get((first, size))
        if before is None:
            of[first, size] = one
        else:
            before.join(one)

    def touched(self, segment: Segment, first: int, end: int) -> bool:
        """Whether anybody accesses some of the bytes."""
        of = self._touched.get(id(segment), (segment, {}))[1]
        return any(at < end and first < at + size for at, size in of)

    def apart(self) -> bool:
        """Whether no two owners, one of them a round, have conflicting accesses but of operations that commute."""
        for _, of in self._touched.values():
            group: _Touched | None = None
            for _, one in sorted(of.items()):
                if group is not None and one.first < group.end:
                    group.join(one)
                    continue
                if group is not None and not group.is_apart():
                    return False
                group = _Touched(one.first, one.end, one.owner, one.inside, one.writes, one.commutes)
            if group is not None and not group.is_apart():
                return False
        return True
