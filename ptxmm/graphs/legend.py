"""What stands below a picture: the final state, and in words what its lines, boxes and names mean, of those that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .boxes import wrap
from .figure import ATOMIC, LegendEntry, PictureLayout
from .geometry import Point
from .selection import Bundle
from .style import BOXES, MARKS, SMALL, TEXT, TITLE, style_of, text_width
from .words import BOXES as BOX_WORDS
from .words import TOLD, line_words

_LINE, _ROW = 15.0, 18.0
#: From an entry's left to its words, and from one entry to the next.
SWATCH, _GAP = 30.0, 20.0
#: No picture is so narrow that its legend has a single entry in each row.
_NARROWEST = 520.0


def close(
    picture: PictureLayout, state: Mapping[str, int], drawn: Sequence[Bundle], named: Mapping[str, str], margin: float
) -> None:
    """Adds the state and the legend below everything, and fits the picture around all. `named` has the short names of threads
    that are shown, each with the long one."""
    rects = [e.label_rect for e in picture.edges if e.label_rect]
    lowest = [p.y for e in picture.edges for p in e.points] + [rect.bottom for rect in rects]
    widest = [p.x for e in picture.edges for p in e.points] + [rect.right for rect in rects]
    picture.width = max([picture.width, *(x + margin for x in widest)])
    y = max([picture.height, *lowest]) + 26
    entries = _entries(picture, drawn, named)
    if entries:
        picture.width = max(picture.width, _NARROWEST)
    if state:
        limit = max(30, int((picture.width - 2 * margin) / (TEXT * 0.602)))
        text = "final state: " + ", ".join(f"{name} = {value}" for name, value in state.items())
        for line in wrap(text, limit):
            picture.state_lines.append((line, Point(margin, y)))
            y += _LINE
        y += 8
    x = margin
    for kind, what, words in entries:
        width = (0 if kind == "name" else SWATCH) + text_width(words, SMALL) + _GAP
        if x + width - _GAP > picture.width - margin and x > margin:
            x, y = margin, y + _ROW
        picture.legend.append(LegendEntry(kind, what, words, Point(x, y)))
        picture.width = max(picture.width, x + width - _GAP + margin)
        x += width
    picture.width = max(picture.width, text_width(picture.title, TITLE) + 2 * margin)
    picture.height = y + (10 if entries else 0) + margin - 10


def _entries(picture: PictureLayout, drawn: Sequence[Bundle], named: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What the legend says: what a verdict speaks of first."""
    names = {name for bundle in drawn for name in bundle.relations}
    kinds = {box.kind for box in picture.boxes}
    if ATOMIC in kinds:
        names.add("rmw")
    ranked = sorted(names, key=lambda n: (n not in MARKS, style_of(n).rank, n))
    found = [("halo", "", TOLD)] if any(box.told for box in picture.boxes) else []
    found += [("line", name, line_words(name)) for name in ranked]
    found += [("box", kind, BOX_WORDS[kind]) for kind in BOXES if kind in kinds]
    return found + [("name", short, f"{short} = {long}") for short, long in named.items()]
