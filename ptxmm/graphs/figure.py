"""The parts of a laid-out picture: boxes, frames, headings, edges. Plain values that layout fills and drawing reads."""

from __future__ import annotations

from dataclasses import field

from ptxcore.records import NamedTuple, dataclass

from .geometry import Point, Rect
from .selection import Bundle
from .style import MARKS

#: Kinds of boxes that look otherwise: an initial write, an atomic.
INITIAL, ATOMIC = "I", "A"
_NOWHERE = Rect(0, 0, 0, 0)


@dataclass(slots=True)
class Half:
    """The part of a box that stands for one event: `lines` of text, the last of which may be a remark in small type. `name`
    is that of the event, `says` all that there is to say of it."""

    event: int
    lines: tuple[str, ...]
    effect: str = ""  # `x = 1`
    note: str = ""  # `line 7`
    name: str = ""
    says: str = ""
    rect: Rect = _NOWHERE


@dataclass(slots=True)
class PictureBox:
    """A box of the picture. `kind` is R, W, F, B, A (an atomic, two halves), M (an operation on an mbarrier object), C (the
    start of an asynchronous operation), I (an initial write) or S (a thread that goes no further). Of a vector access each
    element is a half. `told`: the verdict speaks of it."""

    kind: str
    halves: list[Half]
    column: int = -1
    row: int = -1
    rect: Rect = _NOWHERE
    told: bool = False


@dataclass(slots=True)
class Frame:
    level: str
    label: str
    rect: Rect


@dataclass(slots=True)
class Heading:
    """A thread's name, over its column; or what works for a thread beside it."""

    text: str
    centre: Point
    rect: Rect
    agent: bool = False


@dataclass(slots=True)
class DrawnEdge:
    """A drawn line: `points` follow it closely; `curve` says how to draw it exactly (see `routing.Route`)."""

    bundle: Bundle
    points: list[Point]
    curve: list[tuple[str, tuple[Point, ...]]]
    label: str = ""
    label_rect: Rect | None = None
    leader: Point | None = None  # where the label belongs, when it had to be put away from its line

    @property
    def told(self) -> bool:
        """Whether the verdict speaks of it."""
        return any(name in MARKS for name in self.bundle.relations)


class LegendEntry(NamedTuple):
    """A part of the legend: how `what` is drawn (a `line`, a `box`, the `halo`; a `name` is not), and what it means."""

    kind: str
    what: str
    words: str
    at: Point


@dataclass(slots=True)
class PictureLayout:
    """A finished layout. `rects` of boxes, labels, headings and frame labels never overlap each other."""

    title: str
    about: str = ""  # the whole in words
    tells: bool = False  # whether a verdict speaks of some of it, so that the rest is drawn calmer
    names: dict[int, str] = field(default_factory=dict)  # of the events that are shown
    width: float = 0
    height: float = 0
    boxes: list[PictureBox] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    edges: list[DrawnEdge] = field(default_factory=list)
    legend: list[LegendEntry] = field(default_factory=list)
    state_lines: list[tuple[str, Point]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)  # of each column, with the room for arcs at its sides
    right: list[float] = field(default_factory=list)
    box_left: list[float] = field(default_factory=list)
    box_right: list[float] = field(default_factory=list)
    channels: list[tuple[float, float]] = field(default_factory=list)  # y ranges between rows, free of boxes
    arcs: dict[int, str] = field(default_factory=dict)  # by column: the side on which its arcs run, `left` or `right`


def label_of(bundle: Bundle) -> str:
    """The text at a line. Program order has none: the legend says what its line means; nor has what a verdict speaks of: it is
    what is seen first."""
    return ", ".join(name for name in bundle.relations if name != "po" and name not in MARKS)
