"""Colours and measures of the drawings: fixed, so that two pictures can be compared."""

from __future__ import annotations

from typing import NamedTuple

FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
#: Width of a character of a monospaced font, as a part of its size. Real ones lie between 0.55 and 0.602.
CHARACTER = 0.602
TEXT, SMALL, TITLE = 12.0, 10.5, 14.0

INK, FAINT, PAPER = "#1c1c1c", "#6b6b6b", "#ffffff"

#: Fill and border of event boxes, by the event's kind; `I` is an initial write, `X` a thread that goes no further.
BOXES = {
    "R": ("#eef4fb", "#5b7fa6"),
    "W": ("#fdf3e4", "#b0803a"),
    "A": ("#f6effa", "#7d5a96"),
    "F": ("#f1f1f1", "#7a7a7a"),
    "B": ("#e6f5f3", "#3c8379"),
    "I": ("#ffffff", "#9a9a9a"),
    "X": ("#fdecec", "#d50000"),
}

#: Relations that mark edges: where one goes along with another relation, it is drawn beneath it, and wider.
MARKS = ("race", "why")

#: Fill and border of the frames of each level.
FRAMES = {
    "gpu": ("#fafafa", "#8a8a8a"),
    "cluster": ("#f5f7fa", "#9fb2c8"),
    "cta": ("#ffffff", "#b9b9b9"),
    "warp": ("#fcfcf7", "#cfcdb4"),
}


class EdgeStyle(NamedTuple):
    """How a relation is drawn. `rank` orders the names in one label, and the legend."""

    rank: int
    colour: str
    dash: str = ""
    width: float = 1.6


_STYLES = {
    "po": EdgeStyle(0, "#4a4a4a", width=1.4),
    "rmw": EdgeStyle(1, "#6a1b9a"),
    "rf": EdgeStyle(2, "#c62828"),
    "co": EdgeStyle(3, "#1257b0"),
    "fr": EdgeStyle(4, "#d2690a"),
    "sync": EdgeStyle(5, "#23802b", width=2.0),
    "barrier": EdgeStyle(6, "#00798c", width=2.0),
    "sc": EdgeStyle(7, "#5e35b1", "6 3", 1.6),
    "why": EdgeStyle(8, "#d50000", "", 2.6),
    "race": EdgeStyle(8, "#d50000", "2 2", 2.2),
    "cause": EdgeStyle(9, "#8f8f8f", "2 3", 1.2),
}
_ALIASES = {"syncbar": "barrier", "sync_barrier": "barrier", "bar": "barrier", "causality": "cause"}
_OTHERS = ("#9c2f6f", "#6b6f00", "#3f51b5", "#795548", "#00695c")


def style_of(relation: str) -> EdgeStyle:
    """The relation's fixed style; one that has none gets a dashed line in a colour picked by its name."""
    style = _STYLES.get(_ALIASES.get(relation, relation))
    if style is None:
        style = EdgeStyle(8, _OTHERS[sum(map(ord, relation)) % len(_OTHERS)], "6 3", 1.3)
    return style


def text_width(text: str, size: float = TEXT) -> float:
    return len(text) * size * CHARACTER
