"""The parts of a laid-out picture: boxes, frames, headings, edges. Plain values that layout fills and drawing reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from .geometry import Point, Rect
from .selection import Bundle

_NOWHERE = Rect(0, 0, 0, 0)


@dataclass(slots=True)
class Half:
    """The part of a box that stands for one event: `lines` of text, the last of which may be a remark in small type."""

    event: int
    lines: tuple[str, ...]
    effect: str = ""  # `x = 1`
    note: str = ""  # `line 7`
    rect: Rect = _NOWHERE


@dataclass(slots=True)
class Box:
    """A box of the picture. `kind` is R, W, F, B, A (an atomic, two halves), I (an initial write) or X (a thread that
    goes no further)."""

    kind: str
    halves: list[Half]
    column: int = -1
    row: int = -1
    rect: Rect = _NOWHERE


@dataclass(slots=True)
class Frame:
    level: str
    label: str
    rect: Rect


@dataclass(slots=True)
class Heading:
    """A thread's name, over its column."""

    text: str
    centre: Point
    rect: Rect


@dataclass(slots=True)
class Edge:
    """A drawn line: `points` follow it closely; `curve` says how to draw it exactly (see `routing.Route`)."""

    bundle: Bundle
    points: list[Point]
    curve: list[tuple[str, tuple[Point, ...]]]
    label: str = ""
    label_rect: Rect | None = None
    leader: Point | None = None  # where the label belongs, when it had to be put away from its line


@dataclass(slots=True)
class Layout:
    """A finished layout. `rects` of boxes, labels, headings and frame labels never overlap each other."""

    title: str
    width: float = 0
    height: float = 0
    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    legend: list[tuple[str, Point]] = field(default_factory=list)
    state_lines: list[tuple[str, Point]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)  # of each column, with the room for arcs at its sides
    right: list[float] = field(default_factory=list)
    box_left: list[float] = field(default_factory=list)
    box_right: list[float] = field(default_factory=list)
    channels: list[tuple[float, float]] = field(default_factory=list)  # y ranges between rows, free of boxes
    arcs: dict[int, str] = field(default_factory=dict)  # by column: the side on which its arcs run, `left` or `right`


def label_of(bundle: Bundle) -> str:
    """The text at a line. Program order has none: the legend says what its line means."""
    return ", ".join(name for name in bundle.relations if name != "po")
