"""Pictures laid out by our own layout and by the `dot` program, side by side on the library: how often lines cross, how long
they are, what they run through, how large the picture is, and how long it takes.

    python benchmarks/pictures.py [--every N] [PATH...]     default: the library and examples/

Both draw the same boxes and lines (`--dot` writes them for `dot`). Of what `dot` draws the positions are read from its JSON.
Without the program only ours is measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import ptxmm  # noqa: E402
from axioms.witness.execution import Execution  # noqa: E402
from litmus.formats import find  # noqa: E402
from ptxmm.graphs.dot import write  # noqa: E402
from ptxmm.graphs.figure import PictureLayout  # noqa: E402
from ptxmm.graphs.geometry import Point, Rect, cubic_points, path_length, segment_meets, segments_cross  # noqa: E402
from ptxmm.graphs.layout import layout  # noqa: E402
from ptxmm.kernels.files import TESTS, expand  # noqa: E402

#: Pictures of a test that are measured.
_MOST = 3
#: Pixels of ours for each point of `dot`'s: the size of its letters is 10 where ours is 12.
_SCALE = 1.2


@dataclass
class Drawn:
    """A picture as it lies: lines as points, boxes and labels as rectangles. `ends` are the boxes of each line."""

    lines: list[list[Point]]
    ends: list[tuple[int, int]]
    boxes: list[Rect]
    labels: list[Rect]
    size: tuple[float, float]


@dataclass
class Sum:
    """What many pictures come to."""

    pictures: int = 0
    crossings: int = 0
    length: float = 0.0
    through: int = 0
    hidden: int = 0
    area: float = 0.0
    seconds: float = 0.0
    worst: int = field(default=0)

    def add(self, drawn: Drawn, seconds: float) -> None:
        crossings = sum(_cross(a, b) for a, b in combinations(drawn.lines, 2))
        self.pictures += 1
        self.crossings += crossings
        self.worst = max(self.worst, crossings)
        self.length += sum(map(path_length, drawn.lines))
        self.through += sum(
            _meets(line, box)
            for line, ends in zip(drawn.lines, drawn.ends, strict=True)
            for number, box in enumerate(drawn.boxes)
            if number not in ends
        )
        things = [*drawn.boxes, *drawn.labels]
        self.hidden += sum(label.overlaps(other) for label in drawn.labels for other in things if other is not label)
        self.area += drawn.size[0] * drawn.size[1] / 1e6
        self.seconds += seconds

    def row(self, name: str) -> str:
        each = max(1, self.pictures)
        return (
            f"| {name} | {self.crossings} ({self.worst}) | {self.length / each:,.0f} | {self.through} | {self.hidden} | "
            f"{self.area / each:.2f} | {1000 * self.seconds / each:.0f} |"
        )


def _cross(one: Sequence[Point], other: Sequence[Point]) -> bool:
    return any(segments_cross(a, b, c, d) for a, b in pairwise(one) for c, d in pairwise(other))


def _meets(line: Sequence[Point], box: Rect) -> bool:
    return any(segment_meets(a, b, box.grown(-1)) for a, b in pairwise(line))


def ours(picture: PictureLayout) -> Drawn:
    """A picture of our layout."""
    number = {half.event: i for i, box in enumerate(picture.boxes) for half in box.halves}
    edges = list(picture.edges)
    return Drawn(
        [edge.points for edge in edges],
        [(number[e.bundle.source], number[e.bundle.target]) for e in edges],
        [box.rect for box in picture.boxes],
        [edge.label_rect for edge in edges if edge.label_rect],
        (picture.width, picture.height),
    )


def theirs(text: str) -> Drawn:
    """The same as `dot` lays it out."""
    done = subprocess.run(["dot", "-Tjson"], input=text, capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(done.stdout)
    width, height = (float(word) for word in found["bb"].split(",")[2:])
    numbers: dict[int, int] = {}
    boxes = []
    for thing in found.get("objects", ()):
        if "pos" in thing:
            x, y = (float(word) for word in thing["pos"].split(","))
            wide, high = 72 * float(thing["width"]), 72 * float(thing["height"])
            numbers[thing["_gvid"]] = len(boxes)
            boxes.append(_scaled(x - wide / 2, y - high / 2, wide, high))
    lines, ends, labels = [], [], []
    for edge in found.get("edges", ()):
        if edge.get("style") == "invis" or "pos" not in edge:
            continue
        lines.append(list(_spline(edge["pos"])))
        ends.append((numbers[edge["tail"]], numbers[edge["head"]]))
        for label in [] if edge.get("xlabel", "") in ("", "\\N") else edge.get("_xldraw_", edge.get("_ldraw_", [])):
            if label["op"] == "T":
                x, y = label["pt"]
                labels.append(_scaled(x - label["width"] / 2, y - 2, label["width"], 10.0))
    return Drawn(lines, ends, boxes, labels, (width * _SCALE, height * _SCALE))


def _scaled(x: float, y: float, width: float, height: float) -> Rect:
    return Rect(x * _SCALE, y * _SCALE, width * _SCALE, height * _SCALE)


def _spline(text: str) -> Iterator[Point]:
    """The points of a spline of `dot`: its arrow heads, and control points in threes."""
    begin: list[Point] = []
    end: list[Point] = []
    points: list[Point] = []
    for word in text.split():
        which = begin if word.startswith("s,") else end if word.startswith("e,") else points
        x, y = (float(part) * _SCALE for part in word.removeprefix("s,").removeprefix("e,").split(","))
        which.append(Point(x, y))
    yield from begin or points[:1]
    for i in range(0, len(points) - 3, 3):
        yield from cubic_points(*points[i : i + 4])[1:]
    yield from end


def executions(paths: Sequence[str], every: int) -> Iterator[Execution]:
    """Executions of the tests: of races, and of outcomes."""
    items = [item for item, problem in expand(find(paths, TESTS)) if problem is None]
    for item in items[::every]:
        test = ptxmm.load(item) if isinstance(item, str) else ptxmm.api.load_variant(item)
        result = ptxmm.check(test, races=isinstance(item, str) or None, witnesses=True, timeout=30)
        for witness in [*result.race_witnesses[:1], *result.witnesses[:_MOST]]:
            yield witness._drawn()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(ROOT / "litmus/library"), str(ROOT / "examples")])
    parser.add_argument("--every", type=int, default=1, help="only each N-th test")
    options = parser.parse_args()
    own, dots = Sum(), Sum()
    with_dot = shutil.which("dot") is not None
    for execution in executions(options.paths, options.every):
        start = time.process_time()
        picture = layout(execution)
        own.add(ours(picture), time.process_time() - start)
        if with_dot:
            start = time.perf_counter()
            drawn = theirs(write(picture))
            dots.add(drawn, time.perf_counter() - start)
    print(f"{own.pictures} pictures\n")
    heads = (
        "Layout",
        "crossings (most in one)",
        "length of lines",
        "lines through boxes",
        "labels on others",
        "megapixels",
        "ms",
    )
    print(f"| {' | '.join(heads)} |\n{len(heads) * '|---'}|")
    print(own.row("own"))
    print(dots.row("dot") if with_dot else "the 'dot' program is not installed")


if __name__ == "__main__":
    main()
