"""A layout as SVG text: stands alone, needs no style sheet, no font and no script."""

from __future__ import annotations

from xml.sax.saxutils import escape

from axioms.witness.execution import Execution

from .figure import Box, Edge, Half, Layout
from .geometry import Point, Rect
from .labels import label_anchor
from .layout import LINE as LINE_HEIGHT
from .layout import PADDING, layout
from .style import BOXES, CHARACTER, FAINT, FONT, FRAMES, INK, MARKS, PAPER, SMALL, TEXT, TITLE, style_of


def svg(execution: Execution) -> str:
    """The picture of one execution."""
    return draw(layout(execution))


def draw(picture: Layout) -> str:
    width, height = _n(picture.width), _n(picture.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" font-size="{_n(TEXT)}" fill="{INK}">',
        f"<title>{_text(picture.title or 'execution')}</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        _markers(picture),
    ]
    if picture.title:
        parts.append(_words(picture.title, Point(22, 22 + TITLE - 4), TITLE, weight="bold"))
    parts += [_frame(f.level, f.label, f.rect) for f in picture.frames]
    parts += [_line(edge) for edge in reversed(picture.edges)]
    parts += [_words(h.text, h.centre, TEXT, anchor="middle", weight="bold", halo=True) for h in picture.headings]
    parts += [_box(box) for box in picture.boxes]
    parts += [_label(edge) for edge in picture.edges if edge.label_rect]
    for text, at in picture.state_lines:
        parts.append(_words(text, at, TEXT))
    for name, at in picture.legend:
        style = style_of(name)
        parts.append(_stroke([("M", (Point(at.x, at.y - 4),)), ("L", (Point(at.x + 22, at.y - 4),))], name))
        parts.append(_words(name, Point(at.x + 29, at.y), SMALL, colour=style.colour))
    parts.append("</svg>")
    return "\n".join(part for part in parts if part) + "\n"


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


def _markers(picture: Layout) -> str:
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
    data = "".join(command + " ".join(f"{_n(p.x)} {_n(p.y)}" for p in points) for command, points in curve)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    return (
        f'<path d="{data}" fill="none" stroke="{style.colour}" stroke-width="{_n(style.width + wider)}"{dash}{extra}/>'
    )


def _line(edge: Edge) -> str:
    relation = edge.bundle.relations[0]
    head = f"url(#{_marker_name(relation)})"
    extra = f' marker-end="{head}"' + (f' marker-start="{head}"' if edge.bundle.mutual else "")
    leader = ""
    if edge.leader and edge.label_rect:
        end = edge.label_rect.centre
        leader = (
            f'<path d="M{_n(edge.leader.x)} {_n(edge.leader.y)}L{_n(end.x)} {_n(end.y)}" stroke="{FAINT}" '
            f'stroke-width="0.7" stroke-dasharray="1 2"/>'
        )
    marks = [_stroke(edge.curve, mark, wider=3.4) for mark in edge.bundle.relations[1:] if mark in MARKS]
    return "".join([leader, *marks, _stroke(edge.curve, relation, extra)])


def _label(edge: Edge) -> str:
    assert edge.label_rect is not None
    rect = edge.label_rect
    at = label_anchor(rect)
    names = [name for name in edge.bundle.relations if name != "po"]
    spans = ", ".join(f'<tspan fill="{style_of(name).colour}">{_text(name)}</tspan>' for name in names)
    back = (
        f'<rect x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.width)}" height="{_n(rect.height)}" rx="3" '
        f'fill="{PAPER}" fill-opacity="0.93"/>'
    )
    return back + f'<text x="{_n(at.x)}" y="{_n(at.y)}" font-size="{_n(SMALL)}" font-weight="bold">{spans}</text>'


def _box(box: Box) -> str:
    fill, stroke = BOXES[box.kind]
    parts = [_rectangle(box.rect, fill, stroke, ' rx="4"' if box.kind != "I" else ' rx="9" stroke-dasharray="3 2"')]
    if len(box.halves) > 1:
        lower = box.halves[1].rect
        colour = style_of("rmw").colour
        parts.append(
            f'<path d="M{_n(lower.x)} {_n(lower.y)}H{_n(lower.right)}" stroke="{colour}" stroke-dasharray="4 3"/>'
        )
    parts += [_half(half, box.kind) for half in box.halves]
    return "".join(parts)


def _half(half: Half, kind: str) -> str:
    rect = half.rect
    rows = len(half.lines) + (1 if half.effect else 0)
    y = rect.y + (rect.height - rows * LINE_HEIGHT) / 2 + LINE_HEIGHT - 4
    parts = []
    if kind == "I":
        return _words(half.lines[0], Point(rect.centre.x, y), TEXT, anchor="middle", colour=FAINT)
    for line in half.lines:
        parts.append(_words(line, Point(rect.x + PADDING, y), TEXT))
        y += LINE_HEIGHT
    if half.effect:
        parts.append(_words(half.effect, Point(rect.x + PADDING, y), SMALL, weight="bold", colour=BOXES[kind][1]))
    if half.note:
        x = rect.right - PADDING - len(half.note) * SMALL * CHARACTER
        parts.append(_words(half.note, Point(x, y - (0 if half.effect else LINE_HEIGHT)), SMALL, colour="#9a9a9a"))
    return "".join(parts)
