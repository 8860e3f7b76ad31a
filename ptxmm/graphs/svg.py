"""A layout as SVG text: stands alone, needs no font and no script. Each box, line and entry of the legend is a group that says
by its attributes what it stands for, so that a page can switch and light them; dark where the reader's screen is."""

from __future__ import annotations

from xml.sax.saxutils import escape

from axioms.witness.execution import Execution

from .describing import edge_meaning
from .figure import ATOMIC, INITIAL, DrawnEdge, Half, LegendEntry, PictureBox, PictureLayout
from .geometry import Point, Rect
from .labels import label_anchor
from .layout import LINE as LINE_HEIGHT
from .layout import PADDING, layout
from .legend import SWATCH
from .style import (
    BOXES,
    CALM,
    CHARACTER,
    DARK,
    FAINT,
    FONT,
    FRAMES,
    HALO,
    INK,
    MARKS,
    PAPER,
    SMALL,
    TEXT,
    TITLE,
    style_of,
)

#: How far a halo reaches, around a box and on both sides of a line.
_AROUND, _BESIDE = 4.5, 9.0


def svg(execution: Execution) -> str:
    """The picture of one execution."""
    return draw(layout(execution))


def draw(picture: PictureLayout) -> str:
    """A picture whose layout is there."""
    width, height = _n(picture.width), _n(picture.height)
    parts = [f'<rect width="{width}" height="{height}" fill="{PAPER}"/>', _markers(picture)]
    if picture.title:
        parts.append(_words(picture.title, Point(22, 22 + TITLE - 4), TITLE, weight="bold"))
    parts += [_frame(f.level, f.label, f.rect) for f in picture.frames]
    parts += [_halo(box.rect.grown(_AROUND - 1), _AROUND) for box in picture.boxes if box.told]
    below = [edge for edge in picture.edges if not edge.told] + [edge for edge in picture.edges if edge.told]
    parts += [_line(picture, edge) for edge in below]
    parts += [
        _words(h.text, h.centre, TEXT, anchor="middle", weight="" if h.agent else "bold", halo=True)
        for h in picture.headings
    ]
    parts += [_box(box) for box in picture.boxes]
    parts += [_label(picture, edge) for edge in picture.edges if edge.label_rect]
    for text, at in picture.state_lines:
        parts.append(_words(text, at, TEXT))
    parts += [_entry(entry) for entry in picture.legend]
    drawn = "\n".join(part for part in parts if part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ptxmm" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" font-size="{_n(TEXT)}" fill="{INK}">\n'
        f"<title>{_text(picture.title or 'execution')}</title>\n<desc>{_text(picture.about)}</desc>\n"
        f"{_dark(drawn)}{drawn}\n</svg>\n"
    )


def dark_rules(drawn: str = "") -> str:
    """Style rules for dark paper, for the colours that a picture has; for all where there is none. A page that takes no rules
    from a picture has them in a sheet of its own."""
    rules = f".ptxmm{{fill:{DARK[INK]}}}"
    for light, dark in DARK.items():
        for what in ("fill", "stroke"):
            if not drawn or f'{what}="{light}"' in drawn:
                rules += f'.ptxmm [{what}="{light}"]{{{what}:{dark}}}'
    return rules


def _dark(drawn: str) -> str:
    return f"<style>@media (prefers-color-scheme: dark){{{dark_rules(drawn)}}}</style>\n"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def legal(text: str) -> str:
    """`text` with the replacement character for what XML cannot hold."""
    return "".join(
        c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" or c > "\uffff" else "\ufffd" for c in text
    )


def _text(text: str) -> str:
    """`text` as XML content."""
    return escape(legal(text), {'"': "&quot;"})


def _words(
    text: str, at: Point, size: float, *, anchor: str = "", weight: str = "", colour: str = "", halo: bool = False
) -> str:
    """A line of text; with `halo`, lines that pass behind it leave it readable."""
    extra = f' text-anchor="{anchor}"' if anchor else ""
    extra += f' font-weight="{weight}"' if weight else ""
    extra += f' fill="{colour}"' if colour else ""
    extra += f' stroke="{PAPER}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{_n(at.x)}" y="{_n(at.y)}" font-size="{_n(size)}" xml:space="preserve"{extra}>{_text(text)}</text>'
    )


def _rectangle(rect: Rect, fill: str, stroke: str, extra: str = "") -> str:
    return (
        f'<rect x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.width)}" height="{_n(rect.height)}" '
        f'fill="{fill}" stroke="{stroke}"{extra}/>'
    )


def _frame(level: str, label: str, rect: Rect) -> str:
    fill, stroke = FRAMES[level]
    return _rectangle(rect, fill, stroke, ' rx="7"') + _words(
        label, Point(rect.x + 8, rect.y + 14), SMALL, colour=FAINT
    )


def _marker_name(relation: str) -> str:
    return "head-" + style_of(relation).colour[1:]


def _markers(picture: PictureLayout) -> str:
    colours = sorted({style_of(edge.bundle.relations[0]).colour for edge in picture.edges})
    if not colours:
        return ""
    heads = "".join(
        f'<marker id="head-{c[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 1L10 5L0 9z" fill="{c}"/></marker>'
        for c in colours
    )
    return f"<defs>{heads}</defs>"


def _stroke(curve: list[tuple[str, tuple[Point, ...]]], relation: str, extra: str = "", wider: float = 0.0) -> str:
    style = style_of(relation)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    return (
        f'<path d="{_path(curve)}" fill="none" stroke="{style.colour}" stroke-width="{_n(style.width + wider)}"'
        f"{dash}{extra}/>"
    )


def _path(curve: list[tuple[str, tuple[Point, ...]]]) -> str:
    return "".join(command + " ".join(f"{_n(p.x)} {_n(p.y)}" for p in points) for command, points in curve)


def _group(classes: str, data: str, content: str, title: str = "", calm: bool = False) -> str:
    told = f"<title>{_text(title)}</title>" if title else ""
    faint = f' opacity="{CALM}"' if calm else ""
    return f'<g class="{classes}"{data}{faint}>{told}{content}</g>'


def _data(picture: PictureLayout, edge: DrawnEdge) -> str:
    """What a line stands for, as attributes."""
    names, bundle = picture.names, edge.bundle
    relations = " ".join(_text(name).replace(" ", "-") for name in bundle.relations)
    return f' data-relation="{relations}" data-from="{_text(names[bundle.source])}" data-to="{_text(names[bundle.target])}"'


def _line(picture: PictureLayout, edge: DrawnEdge) -> str:
    relation = edge.bundle.relations[0]
    head = f"url(#{_marker_name(relation)})"
    extra = f' marker-end="{head}"' + (f' marker-start="{head}"' if edge.bundle.mutual else "")
    parts = []
    if edge.leader and edge.label_rect:
        end = edge.label_rect.centre
        parts.append(
            f'<path d="M{_n(edge.leader.x)} {_n(edge.leader.y)}L{_n(end.x)} {_n(end.y)}" stroke="{FAINT}" '
            f'stroke-width="0.7" stroke-dasharray="1 2"/>'
        )
    if edge.told:
        parts.append(
            f'<path class="halo" d="{_path(edge.curve)}" fill="none" stroke="{HALO}" stroke-width="{_n(_BESIDE)}" '
            'stroke-opacity="0.25"/>'
        )
    marks = [mark for mark in edge.bundle.relations[1:] if mark in MARKS]
    parts += [_stroke(edge.curve, mark, ' stroke-opacity="0.45"', 3.4) for mark in marks]
    parts.append(_stroke(edge.curve, relation, extra))
    classes = " ".join(["edge", *(_word(name) for name in edge.bundle.relations), *["told"] * edge.told])
    calm = picture.tells and not edge.told
    return _group(classes, _data(picture, edge), "".join(parts), edge_meaning(picture, edge), calm)


def _word(name: str) -> str:
    """A relation's name as that of a class."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)


def _label(picture: PictureLayout, edge: DrawnEdge) -> str:
    assert edge.label_rect is not None
    rect = edge.label_rect
    at = label_anchor(rect)
    names = [name for name in edge.bundle.relations if name != "po" and name not in MARKS]
    spans = ", ".join(f'<tspan fill="{style_of(name).colour}">{_text(name)}</tspan>' for name in names)
    back = (
        f'<rect x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.width)}" height="{_n(rect.height)}" rx="3" '
        f'fill="{PAPER}" fill-opacity="0.93"/>'
    )
    weight = "" if picture.tells and not edge.told else ' font-weight="bold"'
    text = f'<text x="{_n(at.x)}" y="{_n(at.y)}" font-size="{_n(SMALL)}"{weight}>{spans}</text>'
    return _group("label", _data(picture, edge), back + text)


def _entry(entry: LegendEntry) -> str:
    """A part of the legend."""
    at = entry.at
    if entry.kind == "name":
        return _words(entry.words, at, SMALL)
    swatch = Rect(at.x, at.y - 9, 22, 11)
    colour, data = INK, ""
    if entry.kind == "line":
        colour, data = style_of(entry.what).colour, f' data-relation="{_text(entry.what)}"'
        drawn = _stroke([("M", (Point(at.x, at.y - 4),)), ("L", (Point(at.x + 22, at.y - 4),))], entry.what)
    elif entry.kind == "box":
        fill, stroke = BOXES[entry.what]
        drawn = _rectangle(swatch, fill, stroke, _corners(entry.what))
    else:
        drawn = _halo(swatch.grown(-2), 4.0)
    return _group("legend", data, drawn + _words(entry.words, Point(at.x + SWATCH - 1, at.y), SMALL, colour=colour))


def _corners(kind: str) -> str:
    return ' rx="4"' if kind != INITIAL else ' rx="9" stroke-dasharray="3 2"'


def _halo(rect: Rect, width: float) -> str:
    return _rectangle(rect, "none", HALO, f' class="halo" rx="7" stroke-width="{_n(width)}" stroke-opacity="0.55"')


def _box(box: PictureBox) -> str:
    fill, stroke = BOXES[box.kind]
    parts = [_rectangle(box.rect, fill, stroke, _corners(box.kind))]
    colour = style_of("rmw").colour if box.kind == ATOMIC else stroke
    for half in box.halves[1:]:
        rect = half.rect
        parts.append(
            f'<path d="M{_n(rect.x)} {_n(rect.y)}H{_n(rect.right)}" stroke="{colour}" stroke-dasharray="4 3"/>'
        )
    first, *rest = box.halves
    parts.append(_half(first, box.kind))
    parts += [_group("half", f' data-event="{_text(h.name)}"', _half(h, box.kind), h.says) for h in rest]
    classes = f"box {box.kind}" + " told" * box.told
    return _group(classes, f' data-event="{_text(first.name)}"', "".join(parts), first.says)


def _half(half: Half, kind: str) -> str:
    rect = half.rect
    rows = len(half.lines) + (1 if half.effect else 0)
    y = rect.y + (rect.height - rows * LINE_HEIGHT) / 2 + LINE_HEIGHT - 4
    parts = []
    if kind == INITIAL:
        return _words(half.lines[0], Point(rect.centre.x, y), TEXT, anchor="middle", colour=FAINT)
    for line in half.lines:
        parts.append(_words(line, Point(rect.x + PADDING, y), TEXT))
        y += LINE_HEIGHT
    if half.effect:
        parts.append(_words(half.effect, Point(rect.x + PADDING, y), SMALL, weight="bold", colour=BOXES[kind][1]))
    if half.note:
        x = rect.right - PADDING - len(half.note) * SMALL * CHARACTER
        parts.append(_words(half.note, Point(x, y - (0 if half.effect else LINE_HEIGHT)), SMALL, colour=FAINT))
    return "".join(parts)
