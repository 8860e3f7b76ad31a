"""An execution as DOT text that `dot -Tsvg` draws well, and the `dot` program where it is installed.

Threads are clusters, one beside the other, inside clusters of the levels that they share; program order sets the ranks;
the edges of the relations do not move anything, so that a picture keeps its form when relations come and go. The `graphviz`
package writes the text and escapes it.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from axioms.witness.execution import Execution

from .figure import INITIAL, DrawnEdge, Frame, PictureBox, PictureLayout
from .layout import layout
from .style import BOXES, FRAMES, INK, MARKS, style_of
from .svg import legal

if TYPE_CHECKING:
    import graphviz

#: A picture that takes `dot` longer than this is not waited for, in seconds.
_PATIENCE = 60.0


class NoDot(Exception):
    """The `dot` program is not there, or did not draw."""


def dot(execution: Execution) -> str:
    """The picture of one execution."""
    return write(layout(execution))


def dot_svg(execution: Execution) -> str:
    """The picture as the `dot` program draws it, as SVG. Raises NoDot."""
    return drawn(dot(execution))


def drawn(text: str) -> str:
    """DOT text as SVG, by the `dot` program. Raises NoDot."""
    program = require_dot()
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=text, capture_output=True, encoding="utf-8", errors="replace", timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoDot(f"'{program}' did not draw: {error}") from None
    if done.returncode != 0 or "<svg" not in done.stdout:
        raise NoDot(f"'{program}' did not draw: {done.stderr.strip()[:200] or f'exit status {done.returncode}'}")
    return done.stdout


def require_dot() -> str:
    """The path of the `dot` program. Raises NoDot where it is not installed."""
    program = shutil.which("dot")
    if program is None:
        raise NoDot("the 'dot' program is not installed: it is part of Graphviz (apt-get install graphviz)")
    return program


def write(picture: PictureLayout) -> str:
    """A picture as DOT text. Of its layout only what belongs together, and the order of columns and rows, is taken."""
    import graphviz  # late: only where it is asked for

    graph = graphviz.Digraph(
        "execution",
        graph_attr={
            "label": _quoted([picture.title, *(text for text, _ in picture.state_lines)]),
            "labelloc": "t",
            "fontname": "monospace",
            "fontsize": "12",
            "ranksep": "0.45",
            "nodesep": "0.5",
            "newrank": "true",  # the first events of all threads are one row
        },
        node_attr={
            "fontname": "monospace",
            "fontsize": "10",
            "shape": "box",
            "style": "filled,rounded",
            "margin": "0.1,0.06",
        },
        edge_attr={"fontname": "monospace", "fontsize": "9"},
    )
    _frames(graph, picture)
    _ranks(graph, picture)
    name = {half.event: _name(box) for box in picture.boxes for half in box.halves}
    degree = Counter(end for edge in picture.edges if edge.label for end in (edge.bundle.source, edge.bundle.target))
    for edge in picture.edges:
        _edge(graph, name, edge, degree)
    return str(graph.source)


def _quoted(lines: list[str]) -> str:
    import graphviz

    # What begins with '&' would be taken for a character's name.
    return str(graphviz.escape(legal("\n".join(line for line in lines if line)).replace("&", "&amp;")))


def _name(box: PictureBox) -> str:
    return f"e{box.halves[0].event}"


def _frames(graph: graphviz.Digraph, picture: PictureLayout) -> None:
    """The boxes, in clusters: each thread in one, inside the frames around it."""
    columns = [[box for box in picture.boxes if box.column == i] for i in range(len(picture.headings))]
    around = [
        [frame for frame in picture.frames if frame.rect.x <= heading.centre.x <= frame.rect.right]
        for heading in picture.headings
    ]
    inside: dict[int, list[int]] = {}  # by frame, or -1: the columns that are directly in it
    within: dict[int, list[int]] = {}  # and its frames
    number = {id(frame): i for i, frame in enumerate(picture.frames)}
    for column, frames in enumerate(around):
        path = [-1, *(number[id(f)] for f in sorted(frames, key=lambda f: -f.rect.width))]
        inside.setdefault(path[-1], []).append(column)
        for outer, inner in itertools.pairwise(path):
            if inner not in within.setdefault(outer, []):
                within[outer].append(inner)

    def fill(parent: graphviz.Digraph, frame: int) -> None:
        for column in inside.get(frame, ()):
            with parent.subgraph(name=f"cluster_thread{column}") as cluster:
                cluster.attr(label=_quoted([picture.headings[column].text]), color="#d0d0d0", style="rounded")
                for box in columns[column]:
                    _node(cluster, box)
        for inner in within.get(frame, ()):
            with parent.subgraph(name=f"cluster_frame{inner}") as cluster:
                _frame(cluster, picture.frames[inner])
                fill(cluster, inner)

    for box in picture.boxes:
        if box.column < 0:
            _node(graph, box)
    fill(graph, -1)


def _frame(cluster: graphviz.Digraph, frame: Frame) -> None:
    fill, border = FRAMES[frame.level]
    cluster.attr(label=_quoted([frame.label]), labeljust="l", style="rounded,filled", fillcolor=fill, color=border)


def _ranks(graph: graphviz.Digraph, picture: PictureLayout) -> None:
    """Initial writes on top, each thread from top to bottom, their first events in the order of the columns."""
    first: list[str] = []
    for column in range(len(picture.headings)):
        rows = [_name(box) for box in sorted(picture.boxes, key=lambda box: box.row) if box.column == column]
        first += rows[:1]
        for above, below in itertools.pairwise(rows):
            graph.edge(above, below, style="invis", weight="100")
    top = [_name(box) for box in picture.boxes if box.column < 0]
    # `dot` keeps no order of nodes in different clusters: above each thread stands a point that is in none.
    points = [f"above_{name}" for name in first]
    for point, name in zip(points, first, strict=True):
        graph.node(point, "", style="invis", shape="point", width="0", height="0")
        graph.edge(point, name, style="invis", weight="50")
    for names in (top, points, first):
        if len(names) > 1:
            with graph.subgraph() as row:
                row.attr(rank="same")
                for left, right in itertools.pairwise(names):
                    row.edge(left, right, style="invis")
    if top and points:
        graph.edge(top[0], points[0], style="invis")


def _node(graph: graphviz.Digraph, box: PictureBox) -> None:
    fill, border = BOXES[box.kind]
    lines = [line for half in box.halves for line in (*half.lines, half.effect, half.note) if line]
    style = "rounded,dashed" if box.kind == INITIAL else "filled,rounded"
    graph.node(_name(box), _quoted(lines), fillcolor=fill, color=border, fontcolor=INK, style=style)


def _edge(graph: graphviz.Digraph, name: dict[int, str], edge: DrawnEdge, degree: Mapping[int, int]) -> None:
    """One edge. Its label stands at the end where fewer others are: edges cross in the middle, where `dot` draws one label over
    another, and it makes no room for labels of edges that move nothing."""
    style = style_of(edge.bundle.relations[0])
    source, target = edge.bundle.source, edge.bundle.target
    end = "taillabel" if degree[source] < degree[target] else "headlabel"
    end = "xlabel" if edge.bundle.mutual else end  # between two neighbours, which nothing crosses
    marks = [style_of(mark).colour for mark in edge.bundle.relations[1:] if mark in MARKS]
    graph.edge(
        name[source],
        name[target],
        **{end: _quoted([edge.label])},
        labeldistance="2.2",
        labelangle="-28",
        color=":".join([style.colour, *marks]),
        fontcolor=style.colour,
        penwidth=f"{style.width:.1f}",
        style=("dotted" if style.dash.startswith("2") else "dashed") if style.dash else "solid",
        dir="both" if edge.bundle.mutual else "forward",
        constraint="false",
    )
