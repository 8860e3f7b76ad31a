"""The way of each line from box to box: candidates are enumerated, the cheapest is taken.

A line costs its length; what it runs through, along or across costs extra (see obstacles). Straight program order goes
first, then short lines, so that long ones make way for them.

Candidates, for a line from one box to another:
  - one curve between two sides that face each other
  - within a column: an arc in the room at the column's side
  - along a channel (the gap between two rows): out at a side, up or down beside the column, along the channel, and in

They are looked at in the order of their lengths, until one is as long as the best has cost. Those along channels are many, and
made of few pieces: a way out, a way in, and what lies between. So each piece is looked at once, and a channel that is too far
away not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from ptxcore.records import NamedTuple

from .figure import DrawnEdge, PictureBox, PictureLayout, label_of
from .geometry import Point, cubic_points, path_length
from .obstacles import LANE, Obstacles
from .selection import Bundle

_NORMAL = {"left": (-1, 0), "right": (1, 0), "top": (0, -1), "bottom": (0, 1)}
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


class _Exit(NamedTuple):
    """A way out of a box: from a port to the side at `x`, and from there up or down."""

    port: Port
    x: float

    def to(self, y: float) -> list[Point]:
        """Its corners, as far as the height of a channel."""
        start = self.port.point
        return [start, Point(self.x, y)] if self.x == start.x else [start, Point(self.x, start.y), Point(self.x, y)]

    def length(self, y: float) -> float:
        return abs(self.x - self.port.point.x) + abs(y - self.port.point.y)


class _Way(NamedTuple):
    """Out of one box and into another, by a channel between."""

    out: _Exit
    back: _Exit
    extra: float


def route_edges(picture: PictureLayout, drawn: list[Bundle]) -> None:
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
            picture.edges.append(DrawnEdge(bundle, route.points, route.curve, label_of(bundle)))


class _Router:
    def __init__(self, picture: PictureLayout) -> None:
        self.picture = picture
        self.obstacles = Obstacles(picture)
        self.used: dict[tuple[int, str], set[int]] = {}

    def route(self, bundle: Bundle, a: PictureBox, b: PictureBox) -> Route:
        best, best_cost = None, float("inf")
        for length, candidate in self.curves(bundle, a, b):
            if length >= best_cost:
                break
            cost = self.obstacles.cost(candidate.points, (a, b), length, best_cost)
            if cost < best_cost:
                best, best_cost = candidate, cost
        if min(a.column, b.column) < 0 <= max(a.column, b.column) or abs(a.column - b.column) > 1:
            best = self.along_channels(bundle, a, b, best_cost) or best
        assert best is not None  # two boxes always have facing sides
        for port in best.ports:
            self.used.setdefault((port.event, port.side), set()).add(port.slot)
        self.obstacles.add(best.points)
        return best

    def curves(self, bundle: Bundle, a: PictureBox, b: PictureBox) -> list[tuple[float, Route]]:
        """The candidates that do not run along channels, the shortest first, each with what its length costs."""
        found = [(path_length(route.points) + route.extra, route) for route in self.candidates(bundle, a, b)]
        return sorted(found, key=lambda one: one[0])

    # Ports.

    def ports(self, event: int, box: PictureBox, side: str, choice: int = 2) -> list[Port]:
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

    def candidates(self, bundle: Bundle, a: PictureBox, b: PictureBox) -> Iterator[Route]:
        source, target = bundle.source, bundle.target
        if a.column == b.column and a.column >= 0:
            yield from self.within_column(bundle, a, b)
        elif a.column < 0 and b.column < 0:  # two initial writes: over each other never happens
            sides = [("right", "left")] if a.rect.x < b.rect.x else [("left", "right")]
            yield from self.direct(source, a, target, b, sides)
        elif a.column < 0 or b.column < 0:
            yield from self.direct(source, a, target, b, self.initial_sides(a, b))
        else:
            facing = ("right", "left") if a.column < b.column else ("left", "right")
            yield from self.direct(source, a, target, b, [facing])

    def initial_sides(self, a: PictureBox, b: PictureBox) -> list[tuple[str, str]]:
        down = a.column < 0
        inner = b if down else a
        sides = ["left", "right"] if inner.row else ["top"]
        return [("bottom", side) if down else (side, "bottom") for side in sides]

    def direct(
        self, source: int, a: PictureBox, target: int, b: PictureBox, sides: list[tuple[str, str]]
    ) -> Iterator[Route]:
        for side_a, side_b in sides:
            for p, q in product(self.ports(source, a, side_a, 3), self.ports(target, b, side_b, 3)):
                yield _curve(p, q)

    def within_column(self, bundle: Bundle, a: PictureBox, b: PictureBox) -> Iterator[Route]:
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

    def along_channels(self, bundle: Bundle, a: PictureBox, b: PictureBox, limit: float) -> Route | None:
        """The cheapest way out at a side, beside the column to a channel, along it, beside the other column, and in; None where
        none costs less than `limit`."""
        ways = list(self.ways(bundle, a, b))
        known: dict[tuple[Point, Point], float] = {}
        found: tuple[list[Point], tuple[Port, Port], float] | None = None
        for nearest, y, lane in sorted(self.heights([w.out for w in ways], [w.back for w in ways], a, b)):
            if nearest >= limit:
                break
            lengths = [
                (w.out.length(y) + abs(w.out.x - w.back.x) + w.back.length(y) + w.extra + 6 * lane, number)
                for number, w in enumerate(ways)
            ]
            for length, number in sorted(lengths):
                if length >= limit:
                    break
                out, back, extra = ways[number]
                cost = length
                for piece in (*pairwise(out.to(y)), *pairwise(back.to(y))):
                    if piece not in known:
                        known[piece] = self.obstacles.straight(*piece, (a, b), 0.0, float("inf"))
                    cost += known[piece]
                    if cost >= limit:
                        break
                else:
                    cost = self.obstacles.straight(Point(out.x, y), Point(back.x, y), (a, b), cost, limit)
                if cost < limit:
                    corners = _distinct([*out.to(y), *reversed(back.to(y))])
                    limit, found = cost, (corners, (out.port, back.port), extra + 6 * lane)
        return found and _rounded(*found)

    def ways(self, bundle: Bundle, a: PictureBox, b: PictureBox) -> Iterator[_Way]:
        """How a line may leave one box and come to the other."""
        for out, back in product(self.exits(bundle.source, a, b), self.exits(bundle.target, b, a)):
            extra = 30.0 + self.wrong_side(out.port, a, b) + self.wrong_side(back.port, b, a)
            yield _Way(_plumb(out, a, back), _plumb(back, b, _plumb(out, a, back)), extra)

    def heights(
        self, outs: list[_Exit], backs: list[_Exit], a: PictureBox, b: PictureBox
    ) -> Iterator[tuple[float, float, int]]:
        """The heights at which lines run along channels, each with the least that a line there costs and how far it is from the
        channel's middle."""
        rows = [box.row for box in (a, b) if box.column >= 0]
        low = 0 if a.column < 0 or b.column < 0 else max(0, min(rows) - 1)
        across = max(0.0, min(abs(out.x - back.x) for out in outs for back in backs) - 40)
        for y0, y1 in self.picture.channels[low : max(rows) + 3]:
            middle = (y0 + y1) / 2
            for lane in (0, 1, -1):
                y = middle + lane * LANE
                if y0 < y < y1 or not lane:
                    least = min(out.length(y) for out in outs) + min(back.length(y) for back in backs)
                    yield 30.0 + 6 * abs(lane) + least + across, y, abs(lane)

    def wrong_side(self, port: Port, box: PictureBox, other: PictureBox) -> float:
        """Lines from initial writes come down where there is room for them."""
        if box.column < 0 or other.column >= 0 or port.side == "top":
            return 0.0
        if box.row == 0:
            return 250.0
        return 0.0 if self.picture.arcs.get(box.column, port.side) == port.side else 150.0

    def exits(self, event: int, box: PictureBox, other: PictureBox) -> list[_Exit]:
        """From a box to where lines go up and down."""
        if box.column < 0:
            return [_Exit(port, port.point.x) for port in self.ports(event, box, "bottom", 2)]
        c = box.column
        toward = "right" if other.rect.centre.x > box.rect.centre.x else "left"
        found = []
        for side in (toward, "left" if toward == "right" else "right"):
            for port in self.ports(event, box, side, 1):
                for reach in _LANES:
                    x = self.picture.box_left[c] - reach if side == "left" else self.picture.box_right[c] + reach
                    found.append(_Exit(port, x))
        if box.row == 0 and other.column < 0:
            found += [_Exit(port, port.point.x) for port in self.ports(event, box, "top", 3)]
        return found


def arc_reach(rows: int) -> float:
    """How far the control points of an arc between boxes so many rows apart lie from these, where there is room."""
    return 20.0 + 6 * min(rows, 20)


def _plumb(way: _Exit, box: PictureBox, other: _Exit) -> _Exit:
    """A way down from an initial write, moved over the line that it meets, where the two are nearly in line."""
    x, port = other.x, way.port
    if box.column >= 0 or abs(x - port.point.x) > 40 or not box.rect.x + 8 < x < box.rect.right - 8:
        return way
    return _Exit(port._replace(point=Point(x, port.point.y)), x)


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


def _distinct(corners: list[Point]) -> list[Point]:
    kept = [corners[0]]
    for point in corners[1:]:
        if abs(point.x - kept[-1].x) + abs(point.y - kept[-1].y) > 0.5:
            kept.append(point)
    return kept


def _rounded(kept: list[Point], ports: tuple[Port, Port], extra: float) -> Route:
    """A line with rounded corners through the given points."""
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
