"""What lines should not run through: boxes, names, borders, and the lines that are there already; and what it costs.

Everything is found by where it is, in a grid, so that a line pays for what is near it only, however large the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from ptxcore.records import NamedTuple

from .figure import PictureBox, PictureLayout
from .geometry import Point, Rect, bounds, segment_meets, segments_cross

THROUGH_BOX, OVER_TEXT, CROSSING, ALONG = 3000.0, 400.0, 45.0, 2.5
#: Between lines that run side by side.
LANE = 9.0
_CELL = 72.0

_Item = TypeVar("_Item")


class LineSegment(NamedTuple):
    """A straight piece of a line, and how far it reaches."""

    a: Point
    b: Point
    left: float
    right: float
    top: float
    bottom: float

    def is_near(self, other: LineSegment) -> bool:
        """Whether the two may cross, or lie within a lane of each other."""
        return (
            self.left <= other.right + 6
            and other.left <= self.right + 6
            and self.top <= other.bottom + 6
            and other.top <= self.bottom + 6
        )


class _Grid(Generic[_Item]):
    """Things by where they are."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[tuple[int, _Item]]] = {}
        self._count = 0

    def add(self, around: Rect, item: _Item) -> None:
        for cell in _covered(around):
            self._cells.setdefault(cell, []).append((self._count, item))
        self._count += 1

    def near(self, around: Rect) -> Iterable[_Item]:
        """What may be there, each once."""
        here = [found for cell in _covered(around) if (found := self._cells.get(cell))]
        if len(here) == 1:
            return [item for _, item in here[0]]
        both: dict[int, _Item] = {}
        for found in here:
            both.update(found)
        return both.values()


def _covered(rect: Rect) -> list[tuple[int, int]]:
    across = range(int(rect.x // _CELL), int(rect.right // _CELL) + 1)
    down = range(int(rect.y // _CELL), int(rect.bottom // _CELL) + 1)
    return [(i, j) for i in across for j in down]


class Obstacles:
    """All that is in the way in a picture; `looked` counts the pieces of lines that were looked at."""

    def __init__(self, picture: PictureLayout) -> None:
        self._boxes: _Grid[Rect] = _Grid()
        for box in picture.boxes:
            self._boxes.add(box.rect.grown(4), box.rect)
        self._texts = [h.rect for h in picture.headings]
        self._texts += [Rect(f.rect.x + 6, f.rect.y + 3, len(f.label) * 6.5, 13) for f in picture.frames]
        self._borders = [f.rect for f in picture.frames]
        self._lines: _Grid[LineSegment] = _Grid()
        self.looked = 0

    def add(self, points: Sequence[Point]) -> None:
        """A line that is there from now on."""
        for segment in _segments(points):
            around = Rect(segment.left, segment.top, segment.right - segment.left, segment.bottom - segment.top)
            self._lines.add(around.grown(6), segment)

    def cost(self, points: Sequence[Point], ends: tuple[PictureBox, PictureBox], cost: float, limit: float) -> float:
        """What a line costs that has cost so much already; of one that costs `limit` or more, no more is said than that."""
        self.looked += len(points) - 1
        own = bounds(points).grown(1)
        a, b = ends[0].rect, ends[1].rect
        for rect in self._boxes.near(own):
            inner = rect.grown(-1.5) if rect is a or rect is b else rect.grown(4)
            if own.overlaps(inner) and any(segment_meets(p, q, inner) for p, q in pairwise(points)):
                cost += THROUGH_BOX
        if cost >= limit:
            return cost
        for rect in self._texts:
            if own.overlaps(rect) and any(segment_meets(p, q, rect) for p, q in pairwise(points)):
                cost += OVER_TEXT
        cost += sum(_beside(p, q, rect) for rect in self._borders for p, q in pairwise(points))
        if cost >= limit:
            return cost
        others = list(self._lines.near(own))
        for one in _segments(points) if others else ():
            for other in others:
                if one.is_near(other):
                    cost += _conflict(one, other)
            if cost >= limit:
                return cost
        return cost

    def straight(self, p: Point, q: Point, ends: tuple[PictureBox, PictureBox], cost: float, limit: float) -> float:
        """Likewise for a piece that goes up, down or across. In a large picture most pieces do, and what they meet is told by
        comparing numbers."""
        self.looked += 1
        left, right = (p.x, q.x) if p.x <= q.x else (q.x, p.x)
        top, bottom = (p.y, q.y) if p.y <= q.y else (q.y, p.y)
        own = Rect(left, top, right - left, bottom - top)
        a, b = ends[0].rect, ends[1].rect
        for rect in self._boxes.near(own):
            more = -1.5 if rect is a or rect is b else 4.0
            if (
                left < rect.x + rect.width + more and rect.x - more < right
                and top < rect.y + rect.height + more and rect.y - more < bottom
            ):  # fmt: skip
                cost += THROUGH_BOX
        if cost >= limit:
            return cost
        cost += OVER_TEXT * sum(
            left < text.right and text.x < right and top < text.bottom and text.y < bottom for text in self._texts
        )
        cost += sum(_beside(p, q, rect) for rect in self._borders)
        if cost >= limit:
            return cost
        across = top == bottom
        for one in self._lines.near(own):
            if one.left <= right + 6 and left <= one.right + 6 and one.top <= bottom + 6 and top <= one.bottom + 6:
                if _meets_row(one, top, left, right) if across else _meets_column(one, left, top, bottom):
                    cost += CROSSING
                else:
                    cost += ALONG * _shared(p, q, one.a, one.b)
        return cost


def _meets_row(one: LineSegment, y: float, left: float, right: float) -> bool:
    """Whether a segment crosses a piece that goes across."""
    if not one.top < y < one.bottom:
        return False
    return left < one.a.x + (y - one.a.y) / (one.b.y - one.a.y) * (one.b.x - one.a.x) < right


def _meets_column(one: LineSegment, x: float, top: float, bottom: float) -> bool:
    """Whether a segment crosses a piece that goes up or down."""
    if not one.left < x < one.right:
        return False
    return top < one.a.y + (x - one.a.x) / (one.b.x - one.a.x) * (one.b.y - one.a.y) < bottom


def _beside(p: Point, q: Point, rect: Rect) -> float:
    """For how long a segment runs along a frame's border."""
    if abs(p.x - q.x) < 2:
        if min(abs(p.x - rect.x), abs(p.x - rect.right)) < 4.5:
            return max(0.0, min(max(p.y, q.y), rect.bottom) - max(min(p.y, q.y), rect.y))
    elif abs(p.y - q.y) < 2 and min(abs(p.y - rect.y), abs(p.y - rect.bottom)) < 4.5:
        return max(0.0, min(max(p.x, q.x), rect.right) - max(min(p.x, q.x), rect.x))
    return 0.0


def _segments(points: Sequence[Point]) -> list[LineSegment]:
    return [LineSegment(p, q, min(p.x, q.x), max(p.x, q.x), min(p.y, q.y), max(p.y, q.y)) for p, q in pairwise(points)]


def _conflict(one: LineSegment, other: LineSegment) -> float:
    """What it costs that two segments cross, or run side by side."""
    if segments_cross(one.a, one.b, other.a, other.b):
        return CROSSING
    return ALONG * _shared(one.a, one.b, other.a, other.b)


def _shared(p: Point, q: Point, r: Point, s: Point) -> float:
    """For how long two segments run side by side, within a lane of each other."""
    if abs(p.x - q.x) < 2 and abs(r.x - s.x) < 2 and abs(p.x - r.x) < LANE - 3:
        return max(0.0, min(max(p.y, q.y), max(r.y, s.y)) - max(min(p.y, q.y), min(r.y, s.y)))
    if abs(p.y - q.y) < 2 and abs(r.y - s.y) < 2 and abs(p.y - r.y) < LANE - 3:
        return max(0.0, min(max(p.x, q.x), max(r.x, s.x)) - max(min(p.x, q.x), min(r.x, s.x)))
    return 0.0
