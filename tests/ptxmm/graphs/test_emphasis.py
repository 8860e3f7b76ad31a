"""What a picture says by its form: what a verdict speaks of, agents beside threads, vectors in one box, the legend, dark paper,
attributes for pages; and that large pictures do not take more than their share."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from campaigns import drawn
from executions import executions, message_passing
from hypothesis import HealthCheck, given, settings

import ptxmm
from axioms.events.event_kinds import BARRIER_EVENT, MBARRIER_EVENT, WRITE
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import Placement
from ptxmm.graphs.layout import layout
from ptxmm.graphs.names import event_names
from ptxmm.graphs.obstacles import Obstacles
from ptxmm.graphs.style import BOXES, DARK, FRAMES, HALO, MARKS, style_of
from ptxmm.graphs.svg import svg
from ptxmm.graphs.words import BOXES as BOX_WORDS
from ptxmm.graphs.words import LINES

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parents[3]
Pairs = tuple[tuple[int, int], ...]


def racing() -> Execution:
    base = message_passing()
    return replace(base, relations={**base.relations, "race": ((2, 7),)})


def test_what_a_verdict_speaks_of_has_halos_and_no_words() -> None:
    picture = layout(racing())
    assert {half.event for box in picture.boxes if box.told for half in box.halves} == {2, 7}
    assert [e.bundle.relations for e in picture.edges if e.told] == [("rf", "race")]
    assert all(mark not in edge.label for edge in picture.edges for mark in MARKS)
    root = ElementTree.fromstring(svg(racing()))
    halos = [element for element in root.iter() if element.get("class") == "halo"]
    assert len([h for h in halos if h.tag == SVG + "rect"]) == 3  # two boxes, and the legend
    assert len([h for h in halos if h.tag == SVG + "path"]) == 1
    lines = {g.get("data-relation"): g.get("opacity") for g in root.iter(SVG + "g") if "edge" in g.get("class", "")}
    assert lines["rf race"] is None and lines["sync cause"] is not None
    assert not any(g.get("opacity") for g in ElementTree.fromstring(svg(message_passing())).iter(SVG + "g"))


@settings(max_examples=drawn(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(executions())
def test_boxes_and_lines_say_which_events_and_relations_they_are(execution: Execution) -> None:
    root, picture = ElementTree.fromstring(svg(execution)), layout(execution)
    names = event_names(execution)
    assert len(set(names.values())) == len(names)
    found = [g.get("data-event") for g in root.iter(SVG + "g") if g.get("data-event") is not None]
    halves = [half for box in picture.boxes for half in box.halves]
    assert len(found) == len(halves) and {h.name for h in halves} <= set(names.values())
    lines = [g for g in root.iter(SVG + "g") if g.get("class", "").split()[0] == "edge"]
    assert len(lines) == len(picture.edges)
    for line in lines:
        assert {line.get("data-from"), line.get("data-to")} <= set(found)
        assert line.find(SVG + "title") is not None and line.get("data-relation")
    assert root.find(SVG + "title") is not None and root.find(SVG + "desc") is not None


def test_names_stay_where_a_picture_leaves_out_threads() -> None:
    places = tuple((f"P{i}", Placement(i, i, i, 0)) for i in range(40))
    events = tuple(ExecutedEvent(i, i, WRITE, f"st.u32 [x], {i}", "x", i) for i in range(40))
    text = svg(Execution(events, {"race": ((30, 35),)}, places, {}, "many"))
    assert 'data-event="P30:0"' in text and 'data-from="P30:0" data-to="P35:0"' in text
    assert "P31" not in text


def test_the_legend_tells_of_what_there_is_and_nothing_else() -> None:
    words = [entry.words for entry in layout(racing()).legend]
    assert words[0] == "what the verdict speaks of" and "race: nothing orders the two" in words
    assert "rf: the value is read from there" in words and "load" in words and "barrier" not in words
    assert not any("T0" in word for word in words)
    assert set(BOXES) == set(BOX_WORDS) and set(MARKS) <= set(LINES)


def test_long_names_of_threads_are_told_once() -> None:
    base = message_passing()
    threads = tuple((f"CTA {i} thread (0, 0)", place) for i, (_, place) in enumerate(base.threads))
    picture = layout(replace(base, threads=threads))
    assert [heading.text for heading in picture.headings] == ["T0", "T1"]
    assert [e.words for e in picture.legend if e.kind == "name"] == [
        "T0 = CTA 0 thread (0, 0)",
        "T1 = CTA 1 thread (0, 0)",
    ]


def test_every_colour_has_one_for_dark_paper() -> None:
    used = {c for pair in (*BOXES.values(), *FRAMES.values()) for c in pair} | {HALO}
    used |= {style_of(name).colour for name in (*LINES, *"abcdefghijklmnopqrstuvwxyz")}
    assert used <= set(DARK)
    text = svg(racing())
    colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', text))
    assert colours <= set(DARK)
    for colour in colours:
        assert f'="{colour}"]' in text


@pytest.mark.parametrize("paper", ["light", "dark"])
def test_words_stand_out_from_their_boxes(paper: str) -> None:
    """As much as pages for everybody ask of small text: 4.5 to 1."""

    def light(colour: str) -> float:
        parts = [int((DARK[colour] if paper == "dark" else colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def contrast(one: str, other: str) -> float:
        bright, dim = sorted((light(one), light(other)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    for kind, (fill, stroke) in BOXES.items():
        assert contrast("#1c1c1c", fill) > 4.5 and contrast("#5f5f5f", fill) > 4.5
        assert kind == "I" or contrast(stroke, fill) > 4.5, kind
    for name in (*LINES, *"abcdefgh"):
        assert contrast(style_of(name).colour, "#ffffff") > 4.5, name


COPY = """PTX copy
{ .global .u32 g = 42; .shared .u32 s; }
P0@cta 0,gpu 0 { cp.async.ca.shared.global [s], [g], 4; cp.async.wait_all; ld.shared.u32 %r0, [s]; }
P1@cta 1,gpu 0 { mov.u32 %r0, 1; }
exists (0:r0 = 42)
"""


def test_what_works_for_a_thread_has_a_column_beside_it() -> None:
    (witness,) = ptxmm.check(ptxmm.parse(COPY)).witnesses[:1]
    picture = layout(witness.execution)
    assert [heading.text for heading in picture.headings] == ["P0", "P0: copy", "P1"]
    assert [heading.agent for heading in picture.headings] == [False, True, False]
    row = {half.event: box.row for box in picture.boxes for half in box.halves}
    column = {half.event: box.column for box in picture.boxes for half in box.halves}
    started = [(a, b) for a, b in witness.relations["issue"] if a in row and b in row]
    assert started and all(row[a] <= row[b] and column[b] == column[a] + 1 for a, b in started)


VECTOR = """PTX vector
{ .global .u32 x[4] = {1, 2, 3, 4}; .global .u32 y = 0; }
P0@cta 0,gpu 0 { ld.global.u32 %r9, [y]; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [x]; st.global.u32 [y], %r3; }
exists (0:r3 = 4)
"""


def test_a_vector_access_is_one_box_with_its_elements() -> None:
    (witness,) = ptxmm.check(ptxmm.parse(VECTOR)).witnesses[:1]
    picture = layout(witness.execution)
    (box,) = [box for box in picture.boxes if len(box.halves) > 1]
    assert [half.effect for half in box.halves] == [f"R x[{i}] = {i + 1}" for i in range(4)]
    assert [len(half.lines) for half in box.halves] == [1, 0, 0, 0]
    order = [(e.bundle.source, e.bundle.target) for e in picture.edges if "po" in e.bundle.relations]
    assert len(order) == 2  # before it and behind it, however many elements there are
    inside = [half.rect for half in box.halves]
    assert not any(a.overlaps(b) for i, a in enumerate(inside) for b in inside[:i])
    assert abs(inside[-1].bottom - box.rect.bottom) < 0.1


def ladder(rows: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many pieces of lines are looked at in a picture of four threads of so many events."""
    counted = []
    made = Obstacles.__init__

    def counting(self: Obstacles, *given: object) -> None:
        made(self, *given)  # type: ignore[arg-type]
        counted.append(self)

    monkeypatch.setattr(Obstacles, "__init__", counting)
    events = tuple(
        ExecutedEvent(t * rows + i, t, WRITE, "st.u32 [x], 1", "x", 1) for t in range(4) for i in range(rows)
    )
    po: Pairs = tuple((e.index, e.index + 1) for e in events if (e.index + 1) % rows)
    rf: Pairs = tuple((i, (i + rows * (1 + i % 3) + 2) % len(events)) for i in range(0, len(events), 2))
    places = tuple((f"P{t}", Placement(t, t // 2, t // 2, 0)) for t in range(4))
    layout(Execution(events, {"po": po, "rf": rf}, places, {}))
    monkeypatch.undo()
    return int(counted[0].looked)


def test_the_work_for_a_picture_grows_with_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = ladder(6, monkeypatch), ladder(24, monkeypatch)
    print(few, many)
    assert many < 4 * 4 * few  # four times the lines; each line has a few more channels to look at


def test_a_barrier_is_one_whatever_it_waits_for_and_an_mbarrier_is_an_object() -> None:
    events = (
        ExecutedEvent(0, 0, BARRIER_EVENT, "bar.sync 0"),
        ExecutedEvent(1, 0, MBARRIER_EVENT, "barrier.cluster.arrive"),
        ExecutedEvent(2, 0, MBARRIER_EVENT, "mbarrier.init.shared.b64 [m], 1", "m"),
    )
    picture = layout(Execution(events, {}, (("P0", Placement(0, 0, 0, 0)),), {}))
    assert [box.kind for box in picture.boxes] == ["B", "B", "M"]
    assert [e.words for e in picture.legend] == ["barrier", "mbarrier"]
