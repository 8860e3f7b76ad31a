"""A layout as DOT text for graphviz users: nodes pinned where our layout puts them.

`neato -n -Tpdf` draws it at these places (in points, y upward). Nothing here runs a graphviz program; the `graphviz`
package only writes the text.
"""

from __future__ import annotations

from axioms.witness.execution import Execution

from .figure import Box, Edge, Layout
from .layout import layout
from .style import BOXES, MARKS, style_of


def dot(execution: Execution) -> str:
    """The picture of one execution."""
    return write(layout(execution))


def write(picture: Layout) -> str:
    import graphviz  # late: only where it is asked for

    graph = graphviz.Digraph(
        "execution",
        graph_attr={
            "label": graphviz.escape("\n".join([picture.title, *(text for text, _ in picture.state_lines)])),
            "labelloc": "t",
            "layout": "neato",
            "splines": "true",
            "inputscale": "72",
        },
        node_attr={
            "fontname": "monospace",
            "fontsize": "10",
            "shape": "box",
            "style": "filled,rounded",
            "margin": "0.05",
        },
        edge_attr={"fontname": "monospace", "fontsize": "9"},
    )
    name = {half.event: f"e{box.halves[0].event}" for box in picture.boxes for half in box.halves}
    for i, frame in enumerate(picture.frames):  # first, so that everything else is drawn over them
        centre = frame.rect.centre
        graph.node(
            f"frame{i}",
            graphviz.escape(frame.label),
            pos=f"{centre.x:.1f},{picture.height - centre.y:.1f}!",
            width=f"{frame.rect.width / 72:.3f}",
            height=f"{frame.rect.height / 72:.3f}",
            style="rounded",
            color="#b9b9b9",
            labelloc="t",
        )
    for heading in picture.headings:
        place = f"{heading.centre.x:.1f},{picture.height - heading.centre.y:.1f}!"
        graph.node(f"thread_{heading.text}", graphviz.escape(heading.text), shape="plaintext", style="", pos=place)
    for box in picture.boxes:
        _node(graph, picture, box)
    for edge in picture.edges:
        _edge(graph, name, edge)
    return str(graph.source)


def _node(graph: object, picture: Layout, box: Box) -> None:
    import graphviz

    fill, border = BOXES[box.kind]
    lines = []
    for half in box.halves:
        lines += [*half.lines, *([half.effect] if half.effect else [])]
    centre = box.rect.centre
    graph.node(  # type: ignore[attr-defined]
        f"e{box.halves[0].event}",
        graphviz.escape("\n".join(lines)),
        pos=f"{centre.x:.1f},{picture.height - centre.y:.1f}!",
        width=f"{box.rect.width / 72:.3f}",
        height=f"{box.rect.height / 72:.3f}",
        fillcolor=fill,
        color=border,
    )


def _edge(graph: object, name: dict[int, str], edge: Edge) -> None:
    import graphviz

    style = style_of(edge.bundle.relations[0])
    marks = [style_of(name).colour for name in edge.bundle.relations[1:] if name in MARKS]
    graph.edge(  # type: ignore[attr-defined]
        name[edge.bundle.source],
        name[edge.bundle.target],
        label=graphviz.escape(edge.label),
        color=":".join([style.colour, *marks]),
        fontcolor=style.colour,
        style="dashed" if style.dash else "solid",
        dir="both" if edge.bundle.mutual else "forward",
    )
