"""A layout as a LaTeX document that holds one TikZ picture, for papers: it needs no package but `tikz` and `geometry`, and the
picture can be taken out and put into another document."""

from __future__ import annotations

from axioms.witness.execution import Execution

from .figure import ATOMIC, INITIAL, DrawnEdge, Half, LegendEntry, PictureBox, PictureLayout
from .geometry import Point, Rect
from .labels import label_anchor
from .layout import LINE, PADDING, layout
from .legend import SWATCH
from .routing import Curve
from .style import BOXES, CALM, CHARACTER, DARK, FAINT, FRAMES, HALO, INK, MARKS, PAPER, SMALL, TEXT, TITLE, style_of

#: Points of TeX for each pixel.
_SCALE = 0.75
#: What TeX takes for something else than itself.
_SPECIAL = frozenset("\\{}$&#%_^~<>\"'`|-?!,")


def tikz(execution: Execution) -> str:
    """The picture of one execution."""
    return draw(layout(execution))


def draw(picture: PictureLayout) -> str:
    """A picture whose layout is there."""
    parts: list[str] = []
    if picture.title:
        parts.append(_words(picture.title, Point(22, 22 + TITLE - 4), TITLE, bold=True))
    for frame in picture.frames:
        fill, stroke = FRAMES[frame.level]
        parts.append(_rectangle(frame.rect, fill, stroke, "rounded corners=5pt"))
        parts.append(_words(frame.label, Point(frame.rect.x + 8, frame.rect.y + 14), SMALL, FAINT))
    parts += [_halo(box.rect) for box in picture.boxes if box.told]
    for edge in sorted(picture.edges, key=lambda e: e.told):
        parts += _line(picture, edge)
    parts += [_words(h.text, h.centre, TEXT, bold=not h.agent, anchor="base") for h in picture.headings]
    for box in picture.boxes:
        parts += _box(box)
    parts += [line for edge in picture.edges for line in _label(edge)]
    parts += [_words(words, at, TEXT) for words, at in picture.state_lines]
    for entry in picture.legend:
        parts += _entry(entry)
    drawn = "\n".join(f"  {part}" for part in parts)
    width, height = _n(picture.width), _n(picture.height)
    used = [colour for colour in DARK if _colour(colour) in drawn]
    defined = "\n".join(f"\\definecolor{{{_colour(colour)}}}{{HTML}}{{{colour[1:].upper()}}}" for colour in used)
    return (
        "\\documentclass{article}\n\\usepackage{tikz}\n"
        f"\\usepackage[paperwidth={width}pt,paperheight={height}pt,margin=0pt]{{geometry}}\n"
        f"\\pagestyle{{empty}}\\parindent=0pt\n{defined}\n\\begin{{document}}%\n"
        "\\begin{tikzpicture}[x=1pt,y=-1pt,every node/.style={inner sep=0pt,outer sep=0pt,anchor=base west}]\n"
        f"  \\path[use as bounding box] (0,0) rectangle ({width},{_n(picture.height - 4)});\n"
        f"{drawn}\n\\end{{tikzpicture}}%\n\\end{{document}}\n"
    )


def _n(value: float) -> str:
    return f"{value * _SCALE:.2f}".rstrip("0").rstrip(".")


def _at(point: Point) -> str:
    return f"({_n(point.x)},{_n(point.y)})"


def _colour(colour: str) -> str:
    return f"ptxmm{colour[1:]}"


def escaped(text: str) -> str:
    """`text` as TeX sets it in a typewriter font, by the numbers of characters that would mean something; what is not ASCII is
    a question mark."""
    known = (c if " " <= c < "\x7f" else "?" for c in text)
    return "".join("\\ " if c == " " else f"\\char{ord(c)} " if c in _SPECIAL else c for c in known)


def _words(
    text: str, at: Point, size: float, colour: str = INK, *, bold: bool = False, anchor: str = "", more: str = ""
) -> str:
    font = f"\\fontsize{{{_n(size)}}}{{{_n(size)}}}\\ttfamily" + "\\bfseries" * bold
    options = [f"text={_colour(colour)}", *([f"anchor={anchor}"] if anchor else []), *([more] if more else [])]
    return f"\\node[{','.join(options)}] at {_at(at)} {{{font}\\selectfont {escaped(text)}}};"


def _rectangle(rect: Rect, fill: str, stroke: str, more: str) -> str:
    style = f"draw={_colour(stroke)},line width=0.7pt,{more}" + (f",fill={_colour(fill)}" if fill else "")
    return f"\\draw[{style}] {_at(Point(rect.x, rect.y))} rectangle {_at(Point(rect.right, rect.bottom))};"


def _halo(rect: Rect) -> str:
    return _rectangle(rect.grown(3.5), "", HALO, "line width=3.4pt,draw opacity=0.55,rounded corners=4pt")


def _path(curve: Curve) -> str:
    """A path of SVG as one of TikZ: a curve with one control point becomes one with two."""
    words, here = [], Point(0, 0)
    for command, points in curve:
        if command == "M":
            words.append(_at(points[0]))
        elif command == "L":
            words.append(f"-- {_at(points[0])}")
        elif command == "C":
            words.append(f".. controls {_at(points[0])} and {_at(points[1])} .. {_at(points[2])}")
        else:
            control, end = points
            first = Point(here.x + 2 / 3 * (control.x - here.x), here.y + 2 / 3 * (control.y - here.y))
            second = Point(end.x + 2 / 3 * (control.x - end.x), end.y + 2 / 3 * (control.y - end.y))
            words.append(f".. controls {_at(first)} and {_at(second)} .. {_at(end)}")
        here = points[-1]
    return " ".join(words)


def _dashes(dash: str) -> str:
    if not dash:
        return ""
    on, off = dash.split()
    return f",dash pattern=on {_n(float(on))}pt off {_n(float(off))}pt"


def _stroke(curve: Curve, relation: str, more: str = "", wider: float = 0.0) -> str:
    style = style_of(relation)
    width = _n(style.width + wider)
    return f"\\draw[draw={_colour(style.colour)},line width={width}pt{_dashes(style.dash)}{more}] {_path(curve)};"


def _line(picture: PictureLayout, edge: DrawnEdge) -> list[str]:
    relation = edge.bundle.relations[0]
    parts = []
    if edge.leader and edge.label_rect:
        end = _at(edge.label_rect.centre)
        parts.append(f"\\draw[draw={_colour(FAINT)},line width=0.5pt,densely dotted] {_at(edge.leader)} -- {end};")
    if edge.told:
        parts.append(f"\\draw[draw={_colour(HALO)},line width=6.75pt,draw opacity=0.25] {_path(edge.curve)};")
    marks = [mark for mark in edge.bundle.relations[1:] if mark in MARKS]
    parts += [_stroke(edge.curve, mark, ",draw opacity=0.45", 3.4) for mark in marks]
    heads = ",latex-latex" if edge.bundle.mutual else ",-latex"
    calm = f",opacity={CALM}" if picture.tells and not edge.told else ""
    return [*parts, _stroke(edge.curve, relation, heads + calm)]


def _label(edge: DrawnEdge) -> list[str]:
    if edge.label_rect is None:
        return []
    rect = edge.label_rect
    names = [name for name in edge.bundle.relations if name != "po" and name not in MARKS]
    font = f"\\fontsize{{{_n(SMALL)}}}{{{_n(SMALL)}}}\\ttfamily\\bfseries\\selectfont "
    words = ",\\ ".join(f"\\textcolor{{{_colour(style_of(name).colour)}}}{{{escaped(name)}}}" for name in names)
    back = f"\\fill[fill={_colour(PAPER)},fill opacity=0.93] {_at(Point(rect.x, rect.y))} "
    return [
        f"{back}rectangle {_at(Point(rect.right, rect.bottom))};",
        f"\\node at {_at(label_anchor(rect))} {{{font}{words}}};",
    ]


def _corners(kind: str) -> str:
    return "rounded corners=3pt" if kind != INITIAL else "rounded corners=6pt,dash pattern=on 2.25pt off 1.5pt"


def _box(box: PictureBox) -> list[str]:
    fill, stroke = BOXES[box.kind]
    parts = [_rectangle(box.rect, fill, stroke, _corners(box.kind))]
    for half in box.halves[1:]:
        left, right = Point(half.rect.x, half.rect.y), Point(half.rect.right, half.rect.y)
        colour = style_of("rmw").colour if box.kind == ATOMIC else stroke
        parts.append(
            f"\\draw[draw={_colour(colour)},line width=0.7pt,dash pattern=on 3pt off 2pt] {_at(left)} -- {_at(right)};"
        )
    return parts + [line for half in box.halves for line in _half(half, box.kind)]


def _half(half: Half, kind: str) -> list[str]:
    rect = half.rect
    rows = len(half.lines) + (1 if half.effect else 0)
    y = rect.y + (rect.height - rows * LINE) / 2 + LINE - 4
    if kind == INITIAL:
        return [_words(half.lines[0], Point(rect.centre.x, y), TEXT, FAINT, anchor="base")]
    parts = []
    for line in half.lines:
        parts.append(_words(line, Point(rect.x + PADDING, y), TEXT))
        y += LINE
    if half.effect:
        parts.append(_words(half.effect, Point(rect.x + PADDING, y), SMALL, BOXES[kind][1], bold=True))
    if half.note:
        x = rect.right - PADDING - len(half.note) * SMALL * CHARACTER
        parts.append(_words(half.note, Point(x, y - (0 if half.effect else LINE)), SMALL, FAINT))
    return parts


def _entry(entry: LegendEntry) -> list[str]:
    at = entry.at
    if entry.kind == "name":
        return [_words(entry.words, at, SMALL)]
    swatch = Rect(at.x, at.y - 9, 22, 11)
    words = Point(at.x + SWATCH - 1, at.y)
    if entry.kind == "line":
        ends: Curve = [("M", (Point(at.x, at.y - 4),)), ("L", (Point(at.x + 22, at.y - 4),))]
        return [_stroke(ends, entry.what), _words(entry.words, words, SMALL, style_of(entry.what).colour)]
    if entry.kind == "box":
        fill, stroke = BOXES[entry.what]
        return [_rectangle(swatch, fill, stroke, _corners(entry.what)), _words(entry.words, words, SMALL)]
    return [_halo(swatch.grown(-5.5)), _words(entry.words, words, SMALL)]
