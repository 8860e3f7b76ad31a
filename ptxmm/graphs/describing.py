"""A picture in words, for those who do not see it: its threads, what the verdict speaks of, and its lines."""

from __future__ import annotations

from .figure import DrawnEdge, PictureLayout
from .words import LINES

#: Lines that are told one by one, besides those that a verdict speaks of.
_MOST_LINES = 24


def edge_words(picture: PictureLayout, edge: DrawnEdge) -> str:
    """`rf from P0:1 to P1:0`"""
    names = picture.names
    between = "between" if edge.bundle.mutual else "from"
    to = "and" if edge.bundle.mutual else "to"
    relations = ", ".join(edge.bundle.relations)
    return f"{relations} {between} {names[edge.bundle.source]} {to} {names[edge.bundle.target]}"


def edge_meaning(picture: PictureLayout, edge: DrawnEdge) -> str:
    """The same, and what it means."""
    meanings = "; ".join(LINES[name] for name in edge.bundle.relations if name in LINES)
    return edge_words(picture, edge) + (f" ({meanings})" if meanings else "")


def described(picture: PictureLayout) -> str:
    """What there is to see, in sentences; of many lines so many that one may listen to."""
    threads = ", ".join(heading.text for heading in picture.headings)
    parts = [f"Columns: {threads}." if threads else "No threads."]
    told = [half.says for box in picture.boxes if box.told for half in box.halves]
    marked = [edge_words(picture, edge) for edge in picture.edges if edge.told]
    if told or marked:
        parts.append(f"The verdict speaks of {'; '.join([*told, *marked])}.")
    others = [edge_words(picture, e) for e in picture.edges if not e.told and e.bundle.relations != ("po",)]
    if others:
        more = f" and {len(others) - _MOST_LINES} more" if len(others) > _MOST_LINES else ""
        parts.append(f"Lines: {'; '.join(others[:_MOST_LINES])}{more}.")
    return " ".join(parts)
