"""Where everything of a picture stands: a column for each thread, inside its CTA, cluster and GPU; initial writes on
top.

    layout(execution)
        1. what is shown at all (see outline)
        2. boxes: one for each event, an atomic's two halves in one, initial writes
        3. columns: threads side by side, those that share a level next to each other, with room for the arcs at their sides
        4. frames around what shares a level, where that tells something
        5. edges (see routing), labels (see labels), legend and final state

Nothing here draws: `svg` and `dot` write down the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import LEVELS, Place
from ptxmm.report.events import part_of

from .figure import Box, Frame, Half, Heading, Layout, label_of
from .geometry import Point, Rect
from .labels import place_labels
from .outline import outline
from .routing import ARC_BULGE, arc_reach, route_edges
from .selection import Bundle, bundles
from .style import MARKS, SMALL, TEXT, TITLE, text_width
from .waiting import STAYS

MARGIN = 22.0
ROW_GAP = 40.0
PADDING = 9.0  # inside an event's box
LINE = 15.0  # of text
FRAME_SIDE, FRAME_TOP, FRAME_BOTTOM = 20.0, 21.0, 16.0
COLUMN_GAP = 48.0
WRAP = 46  # characters of an instruction in one line

LEVEL_NAMES = {"warp": "warp", "cta": "CTA", "cluster": "cluster", "gpu": "GPU"}


def layout(execution: Execution) -> Layout:
    """Lays out one execution."""
    execution = outline(execution)
    picture = Layout(execution.title)
    drawn = bundles(execution)
    threads = column_order(execution.threads)
    _make_boxes(execution, picture, threads)
    _place_columns(execution, picture, threads, drawn)
    route_edges(picture, drawn)
    place_labels(picture)
    _close(execution, picture, drawn)
    return picture


# Boxes.


def wrap(text: str, limit: int = WRAP) -> tuple[str, ...]:
    """`text` in lines of at most `limit` characters, broken at spaces where there are some."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while len(rest) > limit:
        cut = rest.rfind(" ", limit // 3, limit + 1)
        if cut < 0:
            lines.append(rest[:limit])
            rest = rest[limit:]
        else:
            lines.append(rest[:cut])
            rest = "  " + rest[cut + 1 :]
    return (*lines, rest)


def effect_of(event: ExecutedEvent) -> str:
    """What an event read or wrote: `R x = 1`; what a thread does that goes no further."""
    if event.kind == STAYS:
        return event.location or ""
    if event.kind not in ("R", "W"):
        return ""
    value = "" if event.value is None else f" = {event.number}"
    return f"{event.kind} {event.location or '?'}{value}"


def memberships(execution: Execution) -> dict[int, str]:
    """What stands at events of the sets that a model shows: `{A, B}`. A set is the relation of its events with themselves."""
    named: dict[int, list[str]] = {}
    for name, pairs in execution.relations.items():
        if name not in MARKS and all(a == b for a, b in pairs):
            for event, _ in pairs:
                named.setdefault(event, []).append(name)
    return {event: f"{{{', '.join(names)}}}" for event, names in named.items()}


def _joined(*words: str) -> str:
    return "  ".join(word for word in words if word)


def _make_boxes(execution: Execution, picture: Layout, threads: Sequence[int]) -> None:
    sets = memberships(execution)
    partner = dict(execution.relations.get("rmw", ()))
    events = {event.index: event for event in execution.events}
    written = {w for r, w in partner.items() if r in events and w in events}
    column = {thread: i for i, thread in enumerate(threads)}
    rows: dict[int, int] = {}
    for event in _in_program_order(execution):
        if event.index in written:
            continue
        if event.thread < 0:
            label = event.text if event.kind == "K" else f"{event.location or '?'} = {event.number}"
            picture.boxes.append(Box("I", [Half(event.index, (_joined(label, sets.get(event.index, "")),))]))
            continue
        note = "" if event.line is None else f"line {event.line}"
        effect = _joined(effect_of(event), sets.get(event.index, ""))
        halves = [Half(event.index, wrap(_text(event)), effect, note)]
        kind = event.kind if event.kind in ("R", "W", "F", "B", STAYS) else "F"
        if event.index in partner and partner[event.index] in events:
            kind = "A"
            other = events[partner[event.index]]
            halves.append(Half(other.index, (), _joined(effect_of(other), sets.get(other.index, ""))))
        row = rows.get(event.thread, 0)
        rows[event.thread] = row + 1
        picture.boxes.append(Box(kind, halves, column[event.thread], row))


def _text(event: ExecutedEvent) -> str:
    """The instruction; of what an asynchronous one does later, its beginning: it was written out where it was issued."""
    part = part_of(event)
    if not part:
        return event.text
    opcode = event.text.split(maxsplit=1)[0]
    return f"{'.'.join(opcode.split('.')[:3])} ({part})"


def _in_program_order(execution: Execution) -> list[ExecutedEvent]:
    """The events, each after those that `po` puts before it, or that it is a consequence of; by their index where these say
    nothing."""
    from graphlib import CycleError, TopologicalSorter

    order: TopologicalSorter[int] = TopologicalSorter({event.index: () for event in execution.events})
    events = {event.index: event for event in execution.events}
    for name in ("po", "issue", "comp"):
        for a, b in execution.relations.get(name, ()):
            if a in events and b in events:
                order.add(b, a)
    try:
        order.prepare()
    except CycleError:
        return sorted(execution.events, key=lambda e: e.index)
    found: list[ExecutedEvent] = []
    while order.is_active():
        ready = sorted(order.get_ready())
        found += [events[i] for i in ready]
        order.done(*ready)
    return found


# Columns and frames.


def column_order(threads: Sequence[tuple[str, Place]]) -> list[int]:
    """Thread indices from left to right: in the order given, but those that share a level stand together."""
    first: dict[tuple[str, int], int] = {}
    for i, (_, place) in enumerate(threads):
        for level in LEVELS:
            first.setdefault((level, getattr(place, level)), i)

    def key(i: int) -> tuple[int, ...]:
        place = threads[i][1]
        if place.host:
            return (1, i)
        return (0, *(first[level, getattr(place, level)] for level in reversed(LEVELS)), i)

    return sorted(range(len(threads)), key=key)


def told_levels(threads: Iterable[tuple[str, Place]]) -> list[str]:
    """The levels worth a frame, outermost first: the CTA always; others where they join or part what the next does
    not."""
    places = [place for _, place in threads if not place.host]
    told = []
    if len({p.gpu for p in places}) > 1:
        told.append("gpu")
    if len({p.cluster for p in places}) < len({p.cta for p in places}):
        told.append("cluster")
    if places:
        told.append("cta")
    if len({p.warp for p in places}) < len(places):
        told.append("warp")
    return told


def _box_size(box: Box) -> tuple[float, float]:
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


def _place_columns(execution: Execution, picture: Layout, threads: Sequence[int], drawn: list[Bundle]) -> None:
    levels = told_levels(execution.threads)
    count = len(threads)
    sizes = [_box_size(box) for box in picture.boxes]
    widths = [text_width(execution.threads[t][0]) + 24 for t in threads]
    rows: list[float] = [0.0] * (1 + max((box.row for box in picture.boxes), default=-1))
    for box, (w, h) in zip(picture.boxes, sizes, strict=True):
        if box.column >= 0:
            widths[box.column] = max(widths[box.column], w, 96.0)
            rows[box.row] = max(rows[box.row], h)
    left_room, right_room, gaps = _rooms(picture, drawn, count)

    initial = [(box, size) for box, size in zip(picture.boxes, sizes, strict=True) if box.kind == "I"]
    top = MARGIN + (TITLE + 14 if picture.title else 0)
    frames_top = top + (max(h for _, (_, h) in initial) + 40 if initial else 0)

    # Left to right: a frame opens before its first column and closes after its last.
    keys = [
        [
            ()
            if execution.threads[t][1].host
            else tuple(getattr(execution.threads[t][1], lv) for lv in levels[: d + 1])
            for d in range(len(levels))
        ]
        for t in threads
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
    for c, t in enumerate(threads):
        name = execution.threads[t][0]
        middle = (picture.box_left[c] + picture.box_right[c]) / 2
        w = text_width(name)
        picture.headings.append(Heading(name, Point(middle, y + 12), Rect(middle - w / 2, y, w, 16)))
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
        place = execution.threads[threads[next(s[1] for s in spans if s[0] == depth and s[3] == x0)]][1]
        level = levels[depth]
        label = f"{LEVEL_NAMES[level]} {getattr(place, level)}"
        picture.frames.append(Frame(level, label, Rect(x0, y0, x1 - x0, y1 - y0)))
    picture.height = bottom + FRAME_BOTTOM * len(levels)
    _place_initial(picture, initial, drawn, top)


def _place_box(box: Box, rect: Rect) -> None:
    box.rect = rect
    if len(box.halves) == 1:
        box.halves[0].rect = rect
        return
    lower = LINE + PADDING  # the write of an atomic: its effect alone
    box.halves[0].rect = Rect(rect.x, rect.y, rect.width, rect.height - lower)
    box.halves[1].rect = Rect(rect.x, rect.bottom - lower, rect.width, lower)


def _rooms(picture: Layout, drawn: list[Bundle], count: int) -> tuple[list[float], list[float], list[float]]:
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


def _wish(picture: Layout, end: Box) -> float:
    """Where the line to a box comes down: onto a box of the first row, beside the column to another."""
    if end.row == 0:
        return end.rect.centre.x
    if picture.arcs.get(end.column) == "left":
        return end.rect.x - 24
    return end.rect.right + 24


def _place_initial(
    picture: Layout, initial: list[tuple[Box, tuple[float, float]]], drawn: list[Bundle], top: float
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


# The legend and the final state.


def _close(execution: Execution, picture: Layout, drawn: list[Bundle]) -> None:
    from .style import style_of

    lowest = [p.y for e in picture.edges for p in e.points] + [
        e.label_rect.bottom for e in picture.edges if e.label_rect
    ]
    widest = [p.x for e in picture.edges for p in e.points] + [
        e.label_rect.right for e in picture.edges if e.label_rect
    ]
    picture.width = max([picture.width, *(x + MARGIN for x in widest)])
    y = max([picture.height, *lowest]) + 26
    state = ", ".join(f"{name} = {value}" for name, value in execution.state.items())
    if state:
        limit = max(30, int((picture.width - 2 * MARGIN) / (TEXT * 0.602)))
        for line in wrap("final state: " + state, limit):
            picture.state_lines.append((line, Point(MARGIN, y)))
            y += LINE
        y += 8
    names = sorted({name for bundle in drawn for name in bundle.relations}, key=lambda n: (style_of(n).rank, n))
    if any(box.kind == "A" for box in picture.boxes):
        names = sorted({*names, "rmw"}, key=lambda n: (style_of(n).rank, n))
    x = MARGIN
    for name in names:
        width = 30 + text_width(name, SMALL) + 20
        if x + width > picture.width - MARGIN and x > MARGIN:
            x, y = MARGIN, y + 18
        picture.legend.append((name, Point(x, y)))
        x += width
    right_most = max([at.x + 30 + text_width(name, SMALL) for name, at in picture.legend], default=0.0)
    picture.width = max(picture.width, right_most + MARGIN, text_width(picture.title, TITLE) + 2 * MARGIN)
    picture.height = y + (10 if names else 0) + MARGIN - 10
