"""Pictures: well-formed whatever they show, and readable: nothing stands on a label."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from campaigns import drawn
from executions import executions, message_passing, three_in_two_ctas
from hypothesis import HealthCheck, given, settings
from waiting import Clock

import ptxmm
from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, KERNEL_EVENT, READ, WRITE
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import Placement
from ptxmm import checker
from ptxmm.checker import Checker, Settings
from ptxmm.cli.main import main
from ptxmm.graphs.boxes import wrap
from ptxmm.graphs.columns import told_levels
from ptxmm.graphs.dot import dot, dot_svg
from ptxmm.graphs.geometry import Point, Rect, segment_meets, segments_cross
from ptxmm.graphs.layout import layout
from ptxmm.graphs.selection import bundles
from ptxmm.graphs.style import MARKS
from ptxmm.graphs.svg import svg
from ptxmm.result import Witness

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 600
SVG = "{http://www.w3.org/2000/svg}"
some_pictures = settings(max_examples=drawn(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@some_pictures
@given(executions())
def test_any_execution_gives_well_formed_svg(execution: Execution) -> None:
    root = ElementTree.fromstring(svg(execution))
    assert root.tag == SVG + "svg"


@some_pictures
@given(executions())
def test_nothing_stands_on_anything(execution: Execution) -> None:
    picture = layout(execution)
    boxes = [box.rect for box in picture.boxes]
    labels = [edge.label_rect for edge in picture.edges if edge.label_rect]
    names = [heading.rect for heading in picture.headings]
    for a, b in combinations(boxes + labels + names, 2):
        assert not a.overlaps(b), (a, b)
    for rect in boxes + labels:
        assert rect.x >= 0 and rect.y >= 0 and rect.right <= picture.width and rect.bottom <= picture.height


@some_pictures
@given(executions())
def test_boxes_stand_inside_the_frames_of_their_threads_only(execution: Execution) -> None:
    picture = layout(execution)
    for frame in picture.frames:
        for box in picture.boxes:
            overlapping = frame.rect.overlaps(box.rect)
            assert not overlapping or (frame.rect.x < box.rect.x and box.rect.right < frame.rect.right)


@some_pictures
@given(executions())
def test_every_label_says_what_its_line_stands_for(execution: Execution) -> None:
    for edge in layout(execution).edges:
        shown = set(edge.label.split(", ")) if edge.label else set()
        assert shown == set(edge.bundle.relations) - {"po", *MARKS}
        assert (edge.label_rect is None) == (not edge.label)


@some_pictures
@given(executions())
def test_dot_text_has_every_event_and_a_cluster_for_each_thread(execution: Execution) -> None:
    text = dot(execution)
    written = {w for _, w in execution.relations["rmw"]}
    for event in execution.events:
        if event.index not in written:
            assert f"\te{event.index} [" in text
    assert text.count("subgraph cluster_thread") == len(execution.threads)


@pytest.mark.skipif(shutil.which("dot") is None, reason="no 'dot' program")
@settings(max_examples=drawn(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(executions())
def test_the_dot_program_draws_every_event(execution: Execution) -> None:
    root = ElementTree.fromstring(dot_svg(execution))
    words = "\n".join(root.itertext())
    written = {w for _, w in execution.relations["rmw"]}
    for event in execution.events:
        assert event.index in written or f"\ne{event.index}\n" in words


@pytest.mark.skipif(shutil.which("dot") is None, reason="no 'dot' program")
@pytest.mark.parametrize("execution", [message_passing(), three_in_two_ctas()], ids=["two", "three"])
def test_the_dot_program_keeps_threads_side_by_side_and_rows_below_each_other(execution: Execution) -> None:
    root = ElementTree.fromstring(dot_svg(execution))
    place = {}
    for group in root.iter(SVG + "g"):
        title, text = group.find(SVG + "title"), group.find(SVG + "text")
        if group.get("class") == "node" and title is not None and text is not None:
            place[title.text] = float(text.get("x", "")), float(text.get("y", ""))
    threads: dict[int, list[tuple[float, float]]] = {}
    for event in execution.events:
        if event.thread >= 0 and f"e{event.index}" in place:
            threads.setdefault(event.thread, []).append(place[f"e{event.index}"])
    for rows in threads.values():
        assert [y for _, y in rows] == sorted(y for _, y in rows)
    for left, right in pairwise(threads[t] for t in sorted(threads)):
        assert max(x for x, _ in left) < min(x for x, _ in right)


@pytest.mark.skipif(shutil.which("dot") is None, reason="no 'dot' program")
def test_text_means_nothing_to_the_dot_program() -> None:
    text = 'st [\\N "x"], <b>&amp;{a|b}'
    event = ExecutedEvent(0, 0, FENCE_EVENT, text, line=5)
    shown = ElementTree.fromstring(dot_svg(replace(message_passing(), events=(event,), relations={})))
    assert text in "\n".join(shown.itertext()).replace("\xa0", " ")


@pytest.mark.skipif(shutil.which("dot") is None, reason="no 'dot' program")
def test_no_line_of_message_passing_goes_through_the_label_of_another_in_dot() -> None:
    """The two lines of `rf` cross where both have their middles."""
    test = ptxmm.load(ROOT / "litmus/library/message-passing/MP.litmus")
    seen = [w for w in ptxmm.check(test, timeout=PATIENCE).witnesses if set(w.state.values()) == {1}]
    root = ElementTree.fromstring(dot_svg(seen[0].execution))
    edges = [group for group in root.iter(SVG + "g") if group.get("class") == "edge"]
    lines = [[point for path in edge.iter(SVG + "path") for point in along(path.get("d", ""))] for edge in edges]
    labels = [
        (number, Rect(float(text.get("x", 0)) - 6, float(text.get("y", 0)) - 7, 12, 7))
        for number, edge in enumerate(edges)
        for text in edge.iter(SVG + "text")
    ]
    assert len(labels) == 4
    for number, label in labels:
        for other, line in enumerate(lines):
            crossed = any(segment_meets(a, b, label) for a, b in pairwise(line))
            assert other == number or not crossed, (label, other)


def along(path: str) -> list[Point]:
    """Points along the curves of a path."""
    ends = [Point(*map(float, pair.split(","))) for pair in path.replace("M", "").replace("C", " ").split()]
    return [
        Point(*(sum(w * c for w, c in zip(weights, axis, strict=True)) for axis in zip(*ends[i : i + 4], strict=True)))
        for i in range(0, len(ends) - 3, 3)
        for s in (n / 40 for n in range(41))
        for weights in [((1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s**2 * (1 - s), s**3)]
    ]


def test_without_the_dot_program_its_engine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["check", str(tmp_path), "--svg", str(tmp_path / "svg"), "--svg-engine", "dot"]) == 2
    assert "--svg-engine dot: the 'dot' program is not installed" in capsys.readouterr().err


def test_a_picture_shows_instructions_values_lines_places_legend_and_state() -> None:
    text = "\n".join(ElementTree.fromstring(svg(message_passing())).itertext())
    for word in ("st.weak.u32 [x], 1", "R f = 1", "line 7", "CTA 1", "P0", "MP & <fences>", "sync"):
        assert word in text
    assert "final state: 1:r0 = 1, 1:r1 = 1" in text
    assert "GPU" not in text and "cluster" not in text  # one GPU, no clusters: those boxes would say nothing
    picture = layout(message_passing())
    assert [e.what for e in picture.legend if e.kind == "line"] == ["po", "rf", "co", "sync", "cause"]


def test_lines_of_message_passing_go_through_no_other_box() -> None:
    picture = layout(message_passing())
    where = {half.event: box for box in picture.boxes for half in box.halves}
    for edge in picture.edges:
        ends = (where[edge.bundle.source], where[edge.bundle.target])
        for box in picture.boxes:
            if box not in ends:
                assert not any(
                    segment_meets(a, b, box.rect) for a, b in zip(edge.points, edge.points[1:], strict=False)
                ), (edge.bundle, box)


def test_of_causality_only_what_nothing_else_says_is_drawn() -> None:
    causes = [b for b in bundles(message_passing()) if "cause" in b.relations]
    assert [(b.source, b.target, b.relations) for b in causes] == [(3, 6, ("sync", "cause"))]


def test_mutual_pairs_are_one_line_and_parallel_ones_one_label() -> None:
    base = message_passing()
    relations = {"rf": ((2, 7),), "obs": ((2, 7),), "syncbar": ((3, 6), (6, 3))}
    drawn = bundles(Execution(base.events, relations, base.threads))
    assert [(b.relations, b.mutual) for b in drawn] == [(("rf", "obs"), False), (("syncbar",), True)]


def test_levels_are_drawn_where_they_tell_something() -> None:
    def levels(*places: tuple[int, int, int, int]) -> list[str]:
        return told_levels([(f"P{i}", Placement(*place)) for i, place in enumerate(places)])

    assert levels((0, 0, 0, 0), (1, 1, 1, 0)) == ["cta"]
    assert levels((0, 0, 0, 0), (1, 1, 0, 0)) == ["cluster", "cta"]
    assert levels((0, 0, 0, 0), (1, 1, 1, 1)) == ["gpu", "cta"]
    assert levels((0, 0, 0, 0), (0, 0, 0, 0)) == ["cta", "warp"]
    assert told_levels([("P0", Placement(0, 0, 0, 0, True))]) == []


@pytest.mark.parametrize("text", ["", "x", "a b " * 40, "w" * 200, "atom.acq_rel.gpu.global.cas.b32 %r0, [lock], 0, 1"])
def test_wrapping_loses_nothing(text: str) -> None:
    lines = wrap(text)
    assert all(len(line) <= 48 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_segments_meet_rectangles_and_each_other() -> None:
    rect = Rect(10, 10, 10, 10)
    assert segment_meets(Point(0, 0), Point(30, 30), rect)
    assert segment_meets(Point(15, 0), Point(15, 30), rect)
    assert not segment_meets(Point(0, 0), Point(30, 0), rect)
    assert not segment_meets(Point(0, 25), Point(5, 12), rect)
    assert not segment_meets(Point(10, 0), Point(10, 30), rect)  # along its side
    assert segments_cross(Point(0, 0), Point(2, 2), Point(0, 2), Point(2, 0))
    assert not segments_cross(Point(0, 0), Point(2, 2), Point(3, 0), Point(3, 5))


def drawn(execution: Execution) -> list[str]:
    """What is written at the initial writes and events of a picture."""
    return [line for box in layout(execution).boxes for half in box.halves for line in half.lines]


def test_many_initial_writes_of_an_object_are_one_and_those_that_nobody_reads_are_none() -> None:
    first = [ExecutedEvent(i, -1, WRITE, "", f"b[{i}]@c0", i, object="b@c0") for i in range(5)]
    rest = [ExecutedEvent(5 + i, -1, WRITE, "", name, 0, object=name[:3]) for i, name in enumerate(("x", "out[0]"))]
    events = (*first, *rest, ExecutedEvent(7, 0, READ, "ld.u32 %r0, [b]", "b[2]@c0", 2))
    relations: dict[str, tuple[tuple[int, int], ...]] = {"rf": ((2, 7),), "co": ((5, 6),)}
    picture = drawn(Execution(events, relations, (("P0", Placement(0, 0, 0, 0)),), {}))
    assert picture == ["b@c0 = {0, 1, 2, 3, ...}", "ld.u32 %r0, [b]"]


def test_few_initial_writes_stay_as_they_are() -> None:
    assert drawn(message_passing())[:2] == ["x = 0", "f = 0"]


def test_the_order_of_kernels_is_drawn_through_their_ends() -> None:
    places = (("P0", Placement(0, 0, 0, 0)), ("P1", Placement(1, 1, 1, 0)))
    events = (
        ExecutedEvent(0, 0, WRITE, "st.u32 [x], 1", "x", 1), ExecutedEvent(1, -1, KERNEL_EVENT, "the end of kernel a"),
        ExecutedEvent(2, -1, KERNEL_EVENT, "the start of kernel b"), ExecutedEvent(3, 1, READ, "ld.u32 %r0, [x]", "x", 1),
        ExecutedEvent(4, -1, KERNEL_EVENT, "the end of kernel b"),
    )  # fmt: skip
    execution = Execution(events, {"api": ((0, 1), (1, 2), (2, 3), (3, 4))}, places, {})
    assert drawn(execution) == ["st.u32 [x], 1", "ld.u32 %r0, [x]"]
    assert [(e.bundle.source, e.bundle.target, e.label) for e in layout(execution).edges] == [(0, 3, "api")]


def test_of_many_threads_those_that_race_are_drawn() -> None:
    count = 40
    places = tuple((f"P{i}", Placement(i, i, i, 0)) for i in range(count))
    events = tuple(ExecutedEvent(i, i, WRITE, f"st.u32 [x], {i}", "x", i) for i in range(count))
    picture = layout(Execution(events, {"race": ((30, 35),), "co": ((1, 2), (2, 3))}, places, {}, "many"))
    assert [heading.text for heading in picture.headings] == ["P1", "P2", "P3", "P30", "P35"]
    assert picture.title == "many  (5 of 40 threads)"


def test_of_many_that_meet_at_a_barrier_neighbours_are_joined() -> None:
    places = tuple((f"P{i}", Placement(i, 0, 0, 0)) for i in range(4))
    events = tuple(ExecutedEvent(i, i, BARRIER_EVENT, "bar.sync 0") for i in range(4))
    pairs = tuple((i, j) for i in range(4) for j in range(4) if i != j)
    edges = layout(Execution(events, {"barrier": pairs}, places, {})).edges
    assert [(e.bundle.source, e.bundle.target, e.bundle.mutual) for e in edges] == [
        (0, 1, True),
        (1, 2, True),
        (2, 3, True),
    ]


def test_lines_between_places_far_apart_stay_in_the_picture() -> None:
    count = 40
    events = tuple(ExecutedEvent(i, 0, WRITE, f"st.relaxed.gpu.u32 [x], {i}", "x", i, line=i) for i in range(count))
    relations = {
        "po": tuple((i, i + 1) for i in range(count - 1)),
        "co": tuple((i, count - 1 - i) for i in range(8)),
        "rf": tuple((i, count - 3 - i) for i in range(8)),
    }
    picture = layout(Execution(events, relations, (("P0", Placement(0, 0, 0, 0)),), {}, "far"))
    points = [point for edge in picture.edges for point in edge.points]
    assert min(p.x for p in points) > 0 and max(p.x for p in points) < picture.width


def test_names_of_threads_can_be_read_over_lines() -> None:
    root = ElementTree.fromstring(svg(message_passing()))
    (name,) = [text for text in root.iter(f"{SVG}text") if text.text == "P0"]
    assert name.get("paint-order") == "stroke" and name.get("stroke")


def test_pictures_have_time_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def slowly(witness: Witness) -> str:
        clock.seconds += 4000
        return "<svg/>"

    monkeypatch.setattr(checker, "time", clock)
    monkeypatch.setattr(Witness, "svg", slowly)
    path = tmp_path / "sb.litmus"
    path.write_text(
        "PTX sb\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak.u32 [x], 1 | st.weak.u32 [y], 1 ;\n"
        " ld.weak.u32 %r0, [y] | ld.weak.u32 %r0, [x] ;\nexists (0:r0 = 0 /\\ 1:r0 = 0)\n"
    )
    outcome = Checker(Settings(drawings=("svg",), timeout=10_000.0))(str(path))
    assert outcome.result.verdict == "ok"
    assert len(outcome.drawings["svg"]) == 3 and outcome.undrawn == 1
    assert main(["check", str(path), "--timeout", "10000", "--jobs", "1", "--svg", str(tmp_path / "svg")]) == 0
    assert len(list((tmp_path / "svg").iterdir())) == 3
