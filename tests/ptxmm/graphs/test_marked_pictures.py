"""Pictures show what they are drawn for: each race and each reason as a stroke of its own, and who does not terminate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from campaigns import lengths
from waiting import PATIENCE

import ptxmm
from ptxmm.graphs.layout import layout
from ptxmm.graphs.outline import outline
from ptxmm.graphs.style import MARKS, style_of
from ptxmm.graphs.svg import svg
from ptxmm.result import Witness

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = sorted((ROOT / "litmus" / "library").rglob("*.litmus"))


def strokes(picture: str, mark: str) -> int:
    """How many lines of a picture have the colour and the dashes of a relation."""
    style = style_of(mark)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else "(?! stroke-dasharray)"
    return len(re.findall(rf'<path [^>]*stroke="{style.colour}" stroke-width="[\d.]+"{dash}', picture))


def check_marks(witness: Witness) -> dict[str, int]:
    """That each marked edge has a stroke in the picture, beside the one in the legend; how many there are."""
    picture, found = svg(witness.execution), {}
    edges = layout(outline(witness.execution)).edges
    for mark in MARKS:
        marked = sum(mark in edge.bundle.relations for edge in edges)
        assert strokes(picture, mark) == marked + (marked > 0), (witness.execution.title, mark)
        found[mark] = sum(mark in e.bundle.relations and len(e.bundle.relations) > 1 for e in edges)
    return found


@pytest.mark.long
@pytest.mark.parametrize("every", lengths(18, 6))
def test_races_and_reasons_are_drawn_wherever_their_edges_run(every: int) -> None:
    along = dict.fromkeys(MARKS, 0)
    for path in LIBRARY[::every]:
        result = ptxmm.check(ptxmm.load(path), races=True, why=True, witnesses=False, timeout=PATIENCE)
        for witness in [*result.race_witnesses[:2], *([result.why_witness] if result.why_witness else [])]:
            for mark, count in check_marks(witness).items():
                along[mark] += count
    print(f"edges that are marked and something else: {along}")
    assert min(along.values()) > 2


HANGS = """PTX hangs
{ x = 0; }
P0@cta 0,gpu 0 { L: ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p, %r0, 0; @%p bra L; }
P1@cta 0,gpu 0 { st.relaxed.gpu.u32 [x], 0; bar.sync 0; }
P2@cta 0,gpu 0 { mov.u32 %r0, 1; }
forall (x = 0)
"""


@pytest.mark.parametrize("threads", [1, 9])
def test_a_picture_of_those_who_wait_marks_them(threads: int) -> None:
    """Also where most threads are left out of the picture."""
    more = "".join(f"P{i}@cta {i},gpu 0 {{ ld.relaxed.gpu.u32 %r0, [x]; }}\n" for i in range(3, 2 + threads))
    result = ptxmm.check(ptxmm.parse(HANGS.replace("forall", f"{more}forall")), timeout=PATIENCE)
    (waiting,) = [check.witness for check in result.checks if check.witness is not None]
    before = waiting.events
    for picture in (waiting.svg(), waiting.dot()):
        assert picture.count("does not terminate") >= 1
        assert "ld.relaxed.gpu.u32 %r0, [x]" in picture
    assert waiting.events == before and "does not terminate" not in svg(waiting.execution)
