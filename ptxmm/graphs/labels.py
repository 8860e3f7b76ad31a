"""Where the labels of lines go: on their line where there is room, never over a box, a name or another label."""

from __future__ import annotations

from collections.abc import Iterator

from .figure import DrawnEdge, PictureLayout
from .geometry import Point, Rect, along, bounds, segment_meets
from .style import SMALL, text_width

_HEIGHT = 13.0
_FRACTIONS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)


def place_labels(picture: PictureLayout) -> None:
    """Fills `label_rect` of every edge that has a label; `leader` where the label stands away from its line."""
    taken = [box.rect.grown(2) for box in picture.boxes]
    taken += [heading.rect for heading in picture.headings]
    taken += [Rect(f.rect.x + 6, f.rect.y + 3, text_width(f.label, SMALL), 13) for f in picture.frames]
    paths = [(bounds(edge.points), edge) for edge in picture.edges]
    # The hardest first: long labels on short lines.
    for edge in sorted(picture.edges, key=lambda e: -len(e.label) / (1 + len(e.points))):
        if not edge.label:
            continue
        rect = _on_line(picture, edge, taken, paths)
        if rect is None:
            rect = _beside(picture, edge, taken)
            edge.leader = along(edge.points, 0.5)
        edge.label_rect = rect
        taken.append(rect)


def _on_line(
    picture: PictureLayout, edge: DrawnEdge, taken: list[Rect], paths: list[tuple[Rect, DrawnEdge]]
) -> Rect | None:
    best, best_cost = None, float("inf")
    width = text_width(edge.label, SMALL) + 6
    for rect, base in _candidates(edge, width):
        if base >= best_cost or rect.x < 3 or rect.right > picture.width - 3 or rect.y < 3:
            continue
        if any(rect.overlaps(other) for other in taken):
            continue
        cost = base
        for around, other in paths:
            if other is edge or not rect.overlaps(around.grown(1)):
                continue
            if any(segment_meets(p, q, rect) for p, q in zip(other.points, other.points[1:], strict=False)):
                cost += 40
        for frame in picture.frames:  # a border through a word is hard to read
            if any(rect.x < x < rect.right for x in (frame.rect.x, frame.rect.right)) or any(
                rect.y < y < rect.bottom for y in (frame.rect.y, frame.rect.bottom)
            ):
                cost += 6
        if cost < best_cost:
            best, best_cost = rect, cost
    return best


def _candidates(edge: DrawnEdge, width: float) -> Iterator[tuple[Rect, float]]:
    """Places on the line first, its middle before its ends; then beside it."""
    for fraction in _FRACTIONS:
        p = along(edge.points, fraction)
        away = abs(fraction - 0.5) * 30
        yield Rect(p.x - width / 2, p.y - _HEIGHT / 2, width, _HEIGHT), away
        for dx, dy in ((0, -1), (0, 1), (1, 0), (-1, 0)):
            x = p.x + dx * (width / 2 + 3) - width / 2
            y = p.y + dy * (_HEIGHT / 2 + 3) - _HEIGHT / 2
            yield Rect(x, y, width, _HEIGHT), away + 18


def _beside(picture: PictureLayout, edge: DrawnEdge, taken: list[Rect]) -> Rect:
    """The free place nearest to the line's middle; below everything else when the picture is full."""
    width = text_width(edge.label, SMALL) + 6
    middle = along(edge.points, 0.5)
    lowest = max([picture.height, *(rect.bottom for rect in taken)])
    best, best_distance = None, float("inf")
    y = 4.0
    while y < lowest + _HEIGHT:
        x = 4.0
        while x <= max(4.0, picture.width - width - 4):
            distance = abs(x + width / 2 - middle.x) + 1.5 * abs(y + _HEIGHT / 2 - middle.y)
            if distance < best_distance:
                rect = Rect(x, y, width, _HEIGHT)
                if not any(rect.overlaps(other) for other in taken):
                    best, best_distance = rect, distance
            x += 12.0
        y += 9.0
    return best or Rect(max(4.0, middle.x - width / 2), lowest + 4, width, _HEIGHT)


def label_anchor(rect: Rect) -> Point:
    """Where a label's text starts (its base line)."""
    return Point(rect.x + 3, rect.bottom - 3.2)
