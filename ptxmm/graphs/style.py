"""Colours and measures of the drawings: fixed, so that two pictures can be compared."""

from __future__ import annotations

from ptxcore.records import NamedTuple

FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
#: Width of a character of a monospaced font, as a part of its size. Real ones lie between 0.55 and 0.602.
CHARACTER = 0.602
TEXT, SMALL, TITLE = 12.0, 10.5, 14.0

INK, FAINT, PAPER = "#1c1c1c", "#5f5f5f", "#ffffff"

#: Fill and border of event boxes, by the event's kind: `I` is an initial write, `M` an operation on an mbarrier object, `C` the
#: start of an asynchronous operation, `S` a thread that goes no further.
BOXES = {
    "R": ("#eef4fb", "#4a6c92"),
    "W": ("#fdf3e4", "#8f6318"),
    "A": ("#f6effa", "#7d5a96"),
    "F": ("#f1f1f1", "#666666"),
    "B": ("#e6f5f3", "#2c7066"),
    "M": ("#eef2e2", "#5f6f1f"),
    "C": ("#edeefa", "#5a5f9e"),
    "I": ("#ffffff", "#8a8a8a"),
    "S": ("#fdecec", "#c40000"),
}

#: Relations that mark edges: where one goes along with another relation, it is drawn beneath it, and wider. Their events are
#: what a verdict speaks of.
MARKS = ("race", "why")
#: The halo around those events.
HALO = "#ff4d4d"
#: How strongly lines are drawn that a verdict does not speak of, in a picture in which it speaks of others.
CALM = 0.45

#: Fill and border of the frames of each level.
FRAMES = {
    "gpu": ("#fafafa", "#8a8a8a"),
    "cluster": ("#f5f7fa", "#9fb2c8"),
    "cta": ("#fefefe", "#b9b9b9"),
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
    "fr": EdgeStyle(4, "#b35600"),
    "sync": EdgeStyle(5, "#207528", width=2.0),
    "barrier": EdgeStyle(6, "#00707f", width=2.0),
    "sc": EdgeStyle(7, "#5e35b1", "6 3", 1.6),
    "why": EdgeStyle(8, "#d50000", "", 2.6),
    "race": EdgeStyle(8, "#d50000", "2 2", 2.2),
    "cause": EdgeStyle(9, "#707070", "2 3", 1.2),
}
_ALIASES = {"syncbar": "barrier", "sync_barrier": "barrier", "bar": "barrier", "causality": "cause"}
_OTHERS = ("#9c2f6f", "#636600", "#3f51b5", "#795548", "#00695c")

#: On dark paper each of these colours gives way to another one.
DARK = {
    INK: "#e6e6e6", FAINT: "#a6a6a6", PAPER: "#161616", HALO: "#ff5c5c",
    "#eef4fb": "#1b2633", "#4a6c92": "#8fb4dd", "#fdf3e4": "#2e2515", "#8f6318": "#e0b25e",
    "#f6effa": "#2a2031", "#7d5a96": "#c7a3e0", "#f1f1f1": "#262626", "#666666": "#a8a8a8",
    "#edeefa": "#20223a", "#5a5f9e": "#a5abec", "#e6f5f3": "#152b28", "#2c7066": "#74c7ba",
    "#eef2e2": "#252a16", "#5f6f1f": "#b9cc6d",
    "#8a8a8a": "#8a8a8a", "#fdecec": "#3a1717", "#c40000": "#ff7a7a",
    "#fafafa": "#1a1a1a", "#f5f7fa": "#191d22", "#9fb2c8": "#55677c", "#fefefe": "#1c1c1c", "#b9b9b9": "#5a5a5a",
    "#fcfcf7": "#20201a", "#cfcdb4": "#5e5c45",
    "#4a4a4a": "#b8b8b8", "#6a1b9a": "#cf9cf0", "#c62828": "#ff8a80", "#1257b0": "#82b4ff", "#b35600": "#ffb066",
    "#207528": "#7ed488", "#00707f": "#5fd0de", "#5e35b1": "#b39dff", "#d50000": "#ff5252", "#707070": "#9a9a9a",
    "#9c2f6f": "#f094c6", "#636600": "#d0d35a", "#3f51b5": "#a3b1ff", "#795548": "#d3a999", "#00695c": "#63c9ba",
}  # fmt: skip


def style_of(relation: str) -> EdgeStyle:
    """The relation's fixed style; one that has none gets a dashed line in a colour picked by its name."""
    style = _STYLES.get(_ALIASES.get(relation, relation))
    if style is None:
        style = EdgeStyle(8, _OTHERS[sum(map(ord, relation)) % len(_OTHERS)], "6 3", 1.3)
    return style


def text_width(text: str, size: float = TEXT) -> float:
    return len(text) * size * CHARACTER
