"""The way of each line from box to box: candidates are enumerated, the cheapest is taken.

A line costs its length; passing through a box, over a thread's name, along or across an earlier line costs extra.
Straight program order goes first, then short lines, so that long ones make way for them.

Candidates, for a line from one box to another:
  - one curve between two sides that face each other
  - within a column: an arc in the room at the column's side
  - along a channel (the gap between two rows): out at a side, up or down beside the column, along the channel, and in
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from .figure import Box, Edge, Layout, label_of
from .geometry import Point, Rect, bounds, cubic_points, path_length, segment_meets, segments_cross
from .selection import Bundle

_NORMAL = {"left": (-1, 0), "right": (1, 0), "top": (0, -1), "bottom": (0, 1)}
_THROUGH_BOX, _OVER_TEXT, _CROSSING, _ALONG = 3000.0, 400.0, 45.0, 2.5
_LANE = 9.0
_LANES = (13.0, 29.0, 38.0, 47.0)  # from a box to the lines beside its column; a frame's border lies at 20
#: Arcs at a column's side, each further out than the one before.
_ARC_LANES, _ARC_LANE = 5, 12.0
#: How far an arc reaches out, as a part of what its control points do.
ARC_BULGE = 0.75
_SLOTS = (0, 1, -1, 2, -2, 3, -3, 4, -4)

Curve = list[tuple[str, tuple[Point, ...]]]


class Port(NamedTuple):
    """A place on a box's side where a line ends."""

    event: int
    side: str
    slot: int
    point: Point


class Route(NamedTuple):
    """`points` follow the line closely; `curve` are the commands of an SVG path: M, L, Q, C with their points."""

    points: list[Point]
    curve: Curve
    ports: tuple[Port, Port]
    extra: float = 0.0


class Segment(NamedTuple):
    """A straight piece of a line, and how far it reaches."""

    a: Point
    b: Point
    left: float
    right: float
    top: float
    bottom: float

    def is_near(self, other: Segment) -> bool:
        """Whether the two may cross, or lie within a lane of each other."""
        return (
            self.left <= other.right + 6
            and other.left <= self.right + 6
            and self.top <= other.bottom + 6
            and other.top <= self.bottom + 6
        )


def route_edges(picture: Layout, drawn: list[Bundle]) -> None:
    """Fills `picture.edges`."""
    where = {half.event: box for box in picture.boxes for half in box.halves}
    router = _Router(picture)

    def nearness(bundle: Bundle) -> tuple[int, float]:
        a, b = where[bundle.source], where[bundle.target]
        straight = bundle.relations[0] == "po" and a.column == b.column and abs(a.row - b.row) == 1
        return (0 if straight else 1, abs(a.rect.centre.x - b.rect.centre.x) + abs(a.rect.centre.y - b.rect.centre.y))

    routed = {}
    for bundle in sorted(drawn, key=nearness):
        if where[bundle.source] is not where[bundle.target]:
            routed[id(bundle)] = router.route(bundle, where[bundle.source], where[bundle.target])
    for bundle in drawn:
        route = routed.get(id(bundle))
        if route is not None:
            picture.edges.append(Edge(bundle, route.points, route.curve, label_of(bundle)))


class _Router:
    def __init__(self, picture: Layout) -> None:
        self.picture = picture
        self.boxes = [(box.rect, box.rect.grown(4)) for box in picture.boxes]
        self.texts = [h.rect for h in picture.headings]
        self.texts += [Rect(f.rect.x + 6, f.rect.y + 3, len(f.label) * 6.5, 13) for f in picture.frames]
        self.done: list[tuple[Rect, list[Segment]]] = []
        self.borders = [f.rect for f in picture.frames]
        self.used: dict[tuple[int, str], set[int]] = {}

    def route(self, bundle: Bundle, a: Box, b: Box) -> Route:
        best, best_cost = None, float("inf")
        # Short ones first: what a candidate costs by itself bounds what it costs, so most of the others need no look.
        found = [(path_length(c.points) + c.extra, i, c) for i, c in enumerate(self.candidates(bundle, a, b))]
        for cost, _, candidate in sorted(found):
            if cost >= best_cost:
                break
            cost = self.cost(candidate, a, b, cost, best_cost)
            if cost < best_cost:
                best, best_cost = candidate, cost
        assert best is not None  # two boxes always have facing sides
        for port in best.ports:
            self.used.setdefault((port.event, port.side), set()).add(port.slot)
        self.done.append((bounds(best.points).grown(6), _segments(best.points)))
        return best

    def cost(self, candidate: Route, a: Box, b: Box, cost: float, limit: float) -> float:
        points = candidate.points
        own = bounds(points).grown(1)
        for rect, grown in self.boxes:
            inner = rect.grown(-1.5) if rect is a.rect or rect is b.rect else grown
            if own.overlaps(inner) and any(segment_meets(p, q, inner) for p, q in pairwise(points)):
                cost += _THROUGH_BOX
                if cost >= limit:
                    return cost
        for rect in self.texts:
            if own.overlaps(rect) and any(segment_meets(p, q, rect) for p, q in pairwise(points)):
                cost += _OVER_TEXT
        for rect in self.borders:
            for p, q in pairwise(points):
                if abs(p.x - q.x) < 2 and min(abs(p.x - rect.x), abs(p.x - rect.right)) < 4.5:
                    cost += max(0.0, min(max(p.y, q.y), rect.bottom) - max(min(p.y, q.y), rect.y))
                elif abs(p.y - q.y) < 2 and min(abs(p.y - rect.y), abs(p.y - rect.bottom)) < 4.5:
                    cost += max(0.0, min(max(p.x, q.x), rect.right) - max(min(p.x, q.x), rect.x))
        mine = _segments(points)
        whole = Segment(points[0], points[-1], own.x, own.right, own.y, own.bottom)
        for around, others in self.done:
            if own.overlaps(around):
                close = [other for other in others if whole.is_near(other)]
                cost += sum(_conflict(one, other) for one in mine for other in close if one.is_near(other))
                if cost >= limit:
                    return cost
        return cost

    # Ports.

    def ports(self, event: int, box: Box, side: str, choice: int = 2) -> list[Port]:
        """The first free places of a side, nearest to its middle first."""
        half = next(h for h in box.halves if h.event == event)
        rect = half.rect if side in ("left", "right") else box.rect
        taken = self.used.get((event, side), set())
        found: list[Port] = []
        for slot in _SLOTS:
            if slot in taken and slot != _SLOTS[-1]:
                continue
            offset = slot * (8.0 if side in ("left", "right") else 18.0)
            half_length = (rect.height if side in ("left", "right") else rect.width) / 2
            if abs(offset) > half_length - 4:
                if found:
                    break
                offset = max(-half_length + 4, min(half_length - 4, offset))
            centre = rect.centre
            if side in ("left", "right"):
                point = Point(rect.x if side == "left" else rect.right, centre.y + offset)
            else:
                point = Point(centre.x + offset, rect.y if side == "top" else rect.bottom)
            found.append(Port(event, side, slot, point))
            if len(found) == choice:
                break
        return found

    # Candidates.

    def candidates(self, bundle: Bundle, a: Box, b: Box) -> Iterator[Route]:
        source, target = bundle.source, bundle.target
        if a.column == b.column and a.column >= 0:
            yield from self.within_column(bundle, a, b)
            return
        if a.column < 0 and b.column < 0:  # two initial writes: over each other never happens
            sides = [("right", "left")] if a.rect.x < b.rect.x else [("left", "right")]
            yield from self.direct(source, a, target, b, sides)
            return
        if a.column < 0 or b.column < 0:
            yield from self.direct(source, a, target, b, self.initial_sides(a, b))
            yield from self.along_channels(source, a, target, b)
            return
        facing = ("right", "left") if a.column < b.column else ("left", "right")
        yield from self.direct(source, a, target, b, [facing])
        if abs(a.column - b.column) > 1:
            yield from self.along_channels(source, a, target, b)

    def initial_sides(self, a: Box, b: Box) -> list[tuple[str, str]]:
        down = a.column < 0
        inner = b if down else a
        sides = ["left", "right"] if inner.row else ["top"]
        return [("bottom", side) if down else (side, "bottom") for side in sides]

    def direct(self, source: int, a: Box, target: int, b: Box, sides: list[tuple[str, str]]) -> Iterator[Route]:
        for side_a, side_b in sides:
            for p, q in product(self.ports(source, a, side_a, 3), self.ports(target, b, side_b, 3)):
                yield _curve(p, q)

    def within_column(self, bundle: Bundle, a: Box, b: Box) -> Iterator[Route]:
        source, target = bundle.source, bundle.target
        if abs(a.row - b.row) == 1 and bundle.relations[0] == "po":
            down = a.row < b.row
            p = self.ports(source, a, "bottom" if down else "top", 1)[0]
            q = self.ports(target, b, "top" if down else "bottom", 1)[0]
            yield Route([p.point, q.point], [("M", (p.point,)), ("L", (q.point,))], (p, q))
            return
        favourite = self.picture.arcs.get(a.column, "right")
        for side in ("left", "right"):
            sign = _NORMAL[side][0]
            start = min(arc_reach(abs(a.row - b.row)), self.room(a.column, side) - _ARC_LANE * (_ARC_LANES - 1))
            for lane in range(_ARC_LANES):
                reach = sign * (max(start, _ARC_LANE) + _ARC_LANE * lane)
                extra = (0 if side == favourite else 400) + 10 * lane
                for p, q in product(self.ports(source, a, side), self.ports(target, b, side)):
                    c1, c2 = Point(p.point.x + reach, p.point.y), Point(q.point.x + reach, q.point.y)
                    points = cubic_points(p.point, c1, c2, q.point)
                    yield Route(points, [("M", (p.point,)), ("C", (c1, c2, q.point))], (p, q), extra)

    def room(self, column: int, side: str) -> float:
        """How far the control points of an arc may lie from a column without the arc leaving the column's room."""
        if side == "left":
            return (self.picture.box_left[column] - self.picture.left[column]) / ARC_BULGE
        return (self.picture.right[column] - self.picture.box_right[column]) / ARC_BULGE

    def along_channels(self, source: int, a: Box, target: int, b: Box) -> Iterator[Route]:
        """Out at a side, beside the column to a channel, along it, beside the other column, in."""
        rows = [box.row for box in (a, b) if box.column >= 0]
        low = 0 if a.column < 0 or b.column < 0 else max(0, min(rows) - 1)
        for index in range(low, min(len(self.picture.channels), max(rows) + 3)):
            y0, y1 = self.picture.channels[index]
            middle = (y0 + y1) / 2
            for lane in (0, 1, -1):
                y = middle + lane * _LANE
                if not (y0 < y < y1) and lane:
                    continue
                for out, back in product(self.ways_out(source, a, b, y), self.ways_out(target, b, a, y)):
                    out, back = _plumb(out, a, back), _plumb(back, b, out)
                    corners = [*out[1], *reversed(back[1])]
                    extra = 30.0 + 6 * abs(lane) + self.wrong_side(out[0], a, b) + self.wrong_side(back[0], b, a)
                    yield _rounded(corners, (out[0], back[0]), extra)

    def wrong_side(self, port: Port, box: Box, other: Box) -> float:
        """Lines from initial writes come down where there is room for them."""
        if box.column < 0 or other.column >= 0 or port.side == "top":
            return 0.0
        if box.row == 0:
            return 250.0
        return 0.0 if self.picture.arcs.get(box.column, port.side) == port.side else 150.0

    def ways_out(self, event: int, box: Box, other: Box, y: float) -> Iterator[tuple[Port, list[Point]]]:
        """From a box to the height of a channel."""
        if box.column < 0:
            for port in self.ports(event, box, "bottom", 2):
                yield port, [port.point, Point(port.point.x, y)]
            return
        c = box.column
        toward = "right" if other.rect.centre.x > box.rect.centre.x else "left"
        for side in (toward, "left" if toward == "right" else "right"):
            for port in self.ports(event, box, side, 1):
                for lane in range(len(_LANES)):
                    reach = _LANES[lane]
                    x = self.picture.box_left[c] - reach if side == "left" else self.picture.box_right[c] + reach
                    yield port, [port.point, Point(x, port.point.y), Point(x, y)]
        if box.row == 0 and other.column < 0:
            for port in self.ports(event, box, "top", 3):
                yield port, [port.point, Point(port.point.x, y)]


def arc_reach(rows: int) -> float:
    """How far the control points of an arc between boxes so many rows apart lie from these, where there is room."""
    return 20.0 + 6 * min(rows, 20)


def _plumb(way: tuple[Port, list[Point]], box: Box, other: tuple[Port, list[Point]]) -> tuple[Port, list[Point]]:
    """A way down from an initial write, moved over the line that it meets, where the two are nearly in line."""
    port, corners = way
    x = other[1][-1].x
    if box.column >= 0 or abs(x - port.point.x) > 40 or not box.rect.x + 8 < x < box.rect.right - 8:
        return way
    moved = Port(port.event, port.side, port.slot, Point(x, port.point.y))
    return moved, [moved.point, Point(x, corners[-1].y)]


def _segments(points: Sequence[Point]) -> list[Segment]:
    return [Segment(p, q, min(p.x, q.x), max(p.x, q.x), min(p.y, q.y), max(p.y, q.y)) for p, q in pairwise(points)]


def _conflict(one: Segment, other: Segment) -> float:
    """What it costs that two segments cross, or run side by side."""
    if segments_cross(one.a, one.b, other.a, other.b):
        return _CROSSING
    return _ALONG * _shared(one.a, one.b, other.a, other.b)


def _shared(p: Point, q: Point, r: Point, s: Point) -> float:
    """For how long two segments run side by side, within a lane of each other."""
    if abs(p.x - q.x) < 2 and abs(r.x - s.x) < 2 and abs(p.x - r.x) < _LANE - 3:
        return max(0.0, min(max(p.y, q.y), max(r.y, s.y)) - max(min(p.y, q.y), min(r.y, s.y)))
    if abs(p.y - q.y) < 2 and abs(r.y - s.y) < 2 and abs(p.y - r.y) < _LANE - 3:
        return max(0.0, min(max(p.x, q.x), max(r.x, s.x)) - max(min(p.x, q.x), min(r.x, s.x)))
    return 0.0


def _curve(p: Port, q: Port) -> Route:
    """One cubic curve that leaves and enters at right angles to the sides."""
    distance = abs(p.point.x - q.point.x) + abs(p.point.y - q.point.y)
    across = (
        abs(p.point.x - q.point.x) if p.side in ("left", "right") and q.side in ("left", "right") else 0.76 * distance
    )
    reach = max(18.0, min(0.5 * across, 130.0))
    (ax, ay), (bx, by) = _NORMAL[p.side], _NORMAL[q.side]
    if p.side in ("left", "right") and abs(p.point.y - q.point.y) < 0.5:
        return Route([p.point, q.point], [("M", (p.point,)), ("L", (q.point,))], (p, q))
    c1 = Point(p.point.x + ax * reach, p.point.y + ay * reach)
    c2 = Point(q.point.x + bx * reach, q.point.y + by * reach)
    return Route(cubic_points(p.point, c1, c2, q.point), [("M", (p.point,)), ("C", (c1, c2, q.point))], (p, q))


def _rounded(corners: list[Point], ports: tuple[Port, Port], extra: float) -> Route:
    """A line with rounded corners through the given points."""
    kept = [corners[0]]
    for point in corners[1:]:
        if abs(point.x - kept[-1].x) + abs(point.y - kept[-1].y) > 0.5:
            kept.append(point)
    curve: Curve = [("M", (kept[0],))]
    for before, corner, after in zip(kept, kept[1:], kept[2:], strict=False):
        radius = min(12.0, _distance(before, corner) / 2, _distance(corner, after) / 2)
        curve.append(("L", (_toward(corner, before, radius),)))
        curve.append(("Q", (corner, _toward(corner, after, radius))))
    curve.append(("L", (kept[-1],)))
    return Route(kept, curve, ports, extra)


def _distance(a: Point, b: Point) -> float:
    return float(((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5)


def _toward(a: Point, b: Point, by: float) -> Point:
    length = _distance(a, b) or 1.0
    return Point(a.x + (b.x - a.x) * by / length, a.y + (b.y - a.y) * by / length)
