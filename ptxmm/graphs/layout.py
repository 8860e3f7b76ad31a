"""Where everything of a picture stands: a column for each thread and for what works beside it, inside its CTA, cluster and
GPU; initial writes on top.

    layout(execution)
        1. what is shown at all (see outline)
        2. boxes: one for each event, an atomic's two halves in one, initial writes (see boxes)
        3. columns: threads side by side, those that share a level next to each other (see columns), with room for the arcs at
           their sides
        4. frames around what shares a level, where that tells something
        5. edges (see routing), labels (see labels), final state and legend (see legend)

Nothing here draws: `svg`, `dot`, `tikz` and `terminal` write down the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from axioms.witness.execution import Execution

from .boxes import make_boxes
from .columns import Column, columns, short_names, told_levels
from .describing import described
from .figure import INITIAL, Frame, Heading, PictureBox, PictureLayout, label_of
from .geometry import Point, Rect
from .labels import place_labels
from .legend import close
from .names import event_names
from .outline import outline
from .routing import ARC_BULGE, arc_reach, route_edges
from .selection import Bundle, bundles
from .style import SMALL, TEXT, TITLE, text_width

MARGIN = 22.0
ROW_GAP = 40.0
PADDING = 9.0  # inside an event's box
LINE = 15.0  # of text
FRAME_SIDE, FRAME_TOP, FRAME_BOTTOM = 20.0, 21.0, 16.0
COLUMN_GAP = 48.0

LEVEL_NAMES = {"warp": "warp", "cta": "CTA", "cluster": "cluster", "gpu": "GPU"}


def layout(execution: Execution) -> PictureLayout:
    """Lays out one execution."""
    names, short = event_names(execution), short_names(execution)
    execution = outline(execution)
    picture = PictureLayout(execution.title)
    drawn = bundles(execution)
    shown = columns(execution, short)
    picture.boxes = make_boxes(execution, shown, names)
    picture.names = {half.event: half.name for box in picture.boxes for half in box.halves}
    _place_columns(execution, picture, shown, drawn)
    route_edges(picture, drawn)
    place_labels(picture)
    picture.tells = any(e.told for e in picture.edges) or any(b.told for b in picture.boxes)
    picture.about = described(picture)
    close(picture, execution.state, drawn, {short[n]: n for n, _ in execution.threads if n in short}, MARGIN)
    return picture


# Columns and frames.


def _box_size(box: PictureBox) -> tuple[float, float]:
    width, height = 0.0, 0.0
    for half in box.halves:
        size = TEXT
        for line in half.lines:
            width = max(width, text_width(line, size))
        if half.effect:
            width = max(width, text_width(f"{half.effect}  {half.note}", SMALL))
        elif half.lines:
            width = max(width, text_width(half.lines[-1] + "  ", size) + text_width(half.note, SMALL))
        height += LINE * len(half.lines) + (LINE if half.effect else 0) + PADDING
    return width + 2 * PADDING + 4, max(height, 24.0)


def _place_columns(execution: Execution, picture: PictureLayout, shown: Sequence[Column], drawn: list[Bundle]) -> None:
    levels = told_levels(execution.threads)
    count = len(shown)
    sizes = [_box_size(box) for box in picture.boxes]
    widths = [text_width(column.name) + 24 for column in shown]
    rows: list[float] = [0.0] * (1 + max((box.row for box in picture.boxes), default=-1))
    for box, (w, h) in zip(picture.boxes, sizes, strict=True):
        if box.column >= 0:
            widths[box.column] = max(widths[box.column], w, 96.0)
            rows[box.row] = max(rows[box.row], h)
    left_room, right_room, gaps = _rooms(picture, drawn, count)

    initial = [(box, size) for box, size in zip(picture.boxes, sizes, strict=True) if box.kind == INITIAL]
    top = MARGIN + (TITLE + 14 if picture.title else 0)
    frames_top = top + (max(h for _, (_, h) in initial) + 40 if initial else 0)

    # Left to right: a frame opens before its first column and closes after its last.
    keys = [
        [
            () if column.place.host else tuple(getattr(column.place, lv) for lv in levels[: d + 1])
            for d in range(len(levels))
        ]
        for column in shown
    ]
    x = MARGIN
    opened: list[tuple[int, float] | None] = [None] * len(levels)  # by depth: first column, left side
    spans: list[tuple[int, int, int, float, float]] = []  # depth, first column, last column, left, right
    for c in range(count):
        for d in range(len(levels)):
            if keys[c][d] and (c == 0 or keys[c][d] != keys[c - 1][d]):
                opened[d] = (c, x)
                x += FRAME_SIDE
        picture.left.append(x)
        x += left_room[c]
        picture.box_left.append(x)
        x += widths[c]
        picture.box_right.append(x)
        x += right_room[c]
        picture.right.append(x)
        for d in reversed(range(len(levels))):
            start = opened[d]
            if start and (c == count - 1 or keys[c + 1][d] != keys[c][d]):
                x += FRAME_SIDE
                spans.append((d, start[0], c, start[1], x))
                opened[d] = None
        if c < count - 1:
            x += gaps[c]
    picture.width = x + MARGIN

    # Top to bottom: a frame's label for each level, the thread's name, the rows.
    y = frames_top + FRAME_TOP * len(levels) + 4
    for c, column in enumerate(shown):
        middle = (picture.box_left[c] + picture.box_right[c]) / 2
        w = text_width(column.name)
        rect = Rect(middle - w / 2, y, w, 16)
        picture.headings.append(Heading(column.name, Point(middle, y + 12), rect, bool(column.agent)))
    picture.channels.append((frames_top - 28, frames_top - 6) if initial else (y - 4, y))
    y += 26
    tops = []
    for height in rows:
        tops.append(y)
        y += height
        picture.channels.append((y, y + ROW_GAP))
        y += ROW_GAP
    bottom = y - (ROW_GAP if rows else 0)
    for box, (_, h) in zip(picture.boxes, sizes, strict=True):
        if box.column >= 0:
            c = box.column
            _place_box(box, Rect(picture.box_left[c], tops[box.row], widths[c], h))
    for depth, _, _, x0, x1 in sorted(spans):
        y0 = frames_top + FRAME_TOP * depth
        y1 = bottom + FRAME_BOTTOM * (len(levels) - depth)
        place = shown[next(s[1] for s in spans if s[0] == depth and s[3] == x0)].place
        level = levels[depth]
        label = f"{LEVEL_NAMES[level]} {getattr(place, level)}"
        picture.frames.append(Frame(level, label, Rect(x0, y0, x1 - x0, y1 - y0)))
    picture.height = bottom + FRAME_BOTTOM * len(levels)
    _place_initial(picture, initial, drawn, top)


def _place_box(box: PictureBox, rect: Rect) -> None:
    """A box and its parts: the write of an atomic, and the elements of a vector behind the first, have their effect alone."""
    box.rect = rect
    lower = LINE + PADDING
    upper = rect.height - lower * (len(box.halves) - 1)
    y = rect.y
    for i, half in enumerate(box.halves):
        height = lower if i else upper
        half.rect = Rect(rect.x, y, rect.width, height)
        y += height


def _rooms(picture: PictureLayout, drawn: list[Bundle], count: int) -> tuple[list[float], list[float], list[float]]:
    """For each column the room for arcs at its left and right, and the gap to the next one, so that labels fit."""
    where = {half.event: box for box in picture.boxes for half in box.halves}
    left, right, gaps = [0.0] * count, [0.0] * count, [COLUMN_GAP] * max(0, count - 1)
    crowd = [0] * count
    for bundle in drawn:
        a, b = where[bundle.source], where[bundle.target]
        label = label_of(bundle)
        if a.column == b.column >= 0:
            if a is b or (abs(a.row - b.row) == 1 and bundle.relations == ("po",)):
                continue
            c = a.column
            side = picture.arcs.setdefault(c, "left" if c == 0 or (c < count - 1 and c % 2) else "right")
            room = left if side == "left" else right
            crowd[c] += 1
            arc = ARC_BULGE * arc_reach(abs(a.row - b.row)) + text_width(label, SMALL) / 2
            room[c] = max(room[c], text_width(label, SMALL) + 30 + 10 * min(crowd[c], 4), arc)
        elif a.column >= 0 and b.column >= 0:
            for c in range(min(a.column, b.column), max(a.column, b.column)):
                gaps[c] = max(gaps[c], text_width(label, SMALL) + 26)
        else:  # from an initial write: the line comes down beside the column
            c = max(a.column, b.column)
            if c >= 0 and max(a.row, b.row) > 0:
                side = picture.arcs.setdefault(c, "left" if c == 0 or (c < count - 1 and c % 2) else "right")
                room = left if side == "left" else right
                crowd[c] += 1
                room[c] = max(room[c], text_width(label, SMALL) + 22 + 10 * min(crowd[c], 4))
    return left, right, gaps


def _wish(picture: PictureLayout, end: PictureBox) -> float:
    """Where the line to a box comes down: onto a box of the first row, beside the column to another."""
    if end.row == 0:
        return end.rect.centre.x
    if picture.arcs.get(end.column) == "left":
        return end.rect.x - 24
    return end.rect.right + 24


def _place_initial(
    picture: PictureLayout, initial: list[tuple[PictureBox, tuple[float, float]]], drawn: list[Bundle], top: float
) -> None:
    """Initial writes in a row on top, each as near as can be to the columns that its lines lead to."""
    if not initial:
        return
    where = {half.event: box for box in picture.boxes for half in box.halves}
    wishes = []
    for i, (box, (width, height)) in enumerate(initial):
        ends = [
            where[e.target if e.source == box.halves[0].event else e.source]
            for e in drawn
            if box.halves[0].event in (e.source, e.target)
        ]
        xs = [_wish(picture, end) for end in ends if end.column >= 0]
        middle = picture.width * (i + 0.5) / len(initial)
        wishes.append(((sum(xs) / len(xs) if xs else middle), i, width, height, box))
    wishes.sort(key=lambda w: (w[0], w[1]))
    gap = 26.0
    xs = []
    edge = MARGIN
    for wish, _, width, _, _ in wishes:  # push right what would overlap ...
        x = max(edge, wish - width / 2)
        xs.append(x)
        edge = x + width + gap
    limit = max(picture.width - MARGIN, sum(w[2] + gap for w in wishes) - gap + MARGIN)
    for k in reversed(range(len(wishes))):  # ... and back what would stick out
        xs[k] = min(xs[k], limit - wishes[k][2])
        limit = xs[k] - gap
    for x, (_, _, width, height, box) in zip(xs, wishes, strict=True):
        _place_box(box, Rect(x, top, width, height))
    picture.width = max(picture.width, max(box.rect.right for box, _ in initial) + MARGIN)
