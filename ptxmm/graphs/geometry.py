"""Rectangles, points and paths: the little geometry that a layout needs. Units are pixels; y grows downward."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ptxcore.records import NamedTuple


class Point(NamedTuple):
    x: float
    y: float


class Rect(NamedTuple):
    """A rectangle by its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def centre(self) -> Point:
        return Point(self.x + self.width / 2, self.y + self.height / 2)

    def grown(self, by: float) -> Rect:
        return Rect(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def overlaps(self, other: Rect) -> bool:
        """Whether the two share more than an edge."""
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom


def bounds(points: Sequence[Point]) -> Rect:
    """The smallest rectangle around some points."""
    xs, ys = [p.x for p in points], [p.y for p in points]
    return Rect(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


def segment_meets(a: Point, b: Point, rect: Rect) -> bool:
    """Whether the segment from `a` to `b` passes through the inside of `rect` (clipping, one side after the other)."""
    x0, y0, x1, y1 = rect.x, rect.y, rect.right, rect.bottom
    if (a.x <= x0 and b.x <= x0) or (a.x >= x1 and b.x >= x1) or (a.y <= y0 and b.y <= y0) or (a.y >= y1 and b.y >= y1):
        return False
    dx, dy = b.x - a.x, b.y - a.y
    low, high = 0.0, 1.0
    for delta, near, far in ((dx, x0 - a.x, x1 - a.x), (dy, y0 - a.y, y1 - a.y)):
        if delta == 0:
            continue  # parallel to this pair of sides, and between them: the test above said so
        enter, leave = near / delta, far / delta
        if enter > leave:
            enter, leave = leave, enter
        low, high = max(low, enter), min(high, leave)
    return low < high


def segments_cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two segments cross at a point inside both."""

    def side(p: Point, q: Point, r: Point) -> float:
        return (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def path_length(points: Sequence[Point]) -> float:
    return float(sum(abs(b.x - a.x) + abs(b.y - a.y) for a, b in itertools.pairwise(points)))


def cubic_points(a: Point, b: Point, c: Point, d: Point, steps: int = 14) -> list[Point]:
    """Points along the cubic Bezier curve from `a` to `d`."""
    points = []
    for i in range(steps + 1):
        t = i / steps
        u = 1 - t
        w0, w1, w2, w3 = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
        points.append(Point(w0 * a.x + w1 * b.x + w2 * c.x + w3 * d.x, w0 * a.y + w1 * b.y + w2 * c.y + w3 * d.y))
    return points


def along(points: Sequence[Point], fraction: float) -> Point:
    """The point at `fraction` (0 to 1) of the way along a polyline, by length."""
    lengths = [((b.x - a.x) ** 2 + (b.y - a.y) ** 2) ** 0.5 for a, b in itertools.pairwise(points)]
    left = fraction * sum(lengths)
    for (a, b), length in zip(itertools.pairwise(points), lengths, strict=True):
        if left <= length and length > 0:
            f = left / length
            return Point(a.x + f * (b.x - a.x), a.y + f * (b.y - a.y))
        left -= length
    return points[-1]
