"""Pictures for papers and for terminals: all that the SVG has, in TikZ and in characters."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from campaigns import drawn
from executions import executions, message_passing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import PATIENCE

from axioms.events.event_kinds import WRITE
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import Placement
from ptxmm.cli.main import main
from ptxmm.graphs.layout import layout
from ptxmm.graphs.terminal import text
from ptxmm.graphs.tikz import escaped, tikz

ROOT = Path(__file__).resolve().parents[3]
some_pictures = settings(max_examples=drawn(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
#: What TeX must not meet in words.
_EVIL = "\\input{x} {$&#%_^~<>\"'`|-?!,} \x1b[31m \u2192 \udc80"


def racing() -> Execution:
    base = message_passing()
    return replace(base, relations={**base.relations, "race": ((2, 7),)})


@some_pictures
@given(executions())
def test_tikz_has_every_box_and_line_in_balanced_braces(execution: Execution) -> None:
    document, picture = tikz(execution), layout(execution)
    assert document.isascii() and document.count("{") == document.count("}")
    rectangles = len(picture.frames) + len(picture.boxes) + sum(box.told for box in picture.boxes)
    swatches = sum(entry.kind in ("box", "halo") for entry in picture.legend)
    labels = sum(edge.label_rect is not None for edge in picture.edges)
    assert document.count(" rectangle ") == rectangles + swatches + labels + 1  # and the paper
    assert document.count(",-latex") + document.count(",latex-latex") == len(picture.edges)


def test_words_mean_nothing_to_tex() -> None:
    written = escaped(_EVIL)
    assert "\\input" not in written and "\x1b" not in written and written.isascii()
    for word in written.split("\\ "):  # what is left are numbers of characters
        assert word.replace("\\char", "").replace(" ", "").isalnum() or not set(word) - set("\\char0123456789 []m;")


@pytest.mark.parametrize("words", ["st.weak.u32 [x], 1", _EVIL])
def test_latex_takes_it(words: str, tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex")
    events = tuple(replace(e, text=words) if e.thread >= 0 else e for e in racing().events)
    (tmp_path / "picture.tex").write_text(tikz(replace(racing(), events=events, title=words)), encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "picture.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    if done.returncode and "not found" in done.stdout and ".sty" in done.stdout:
        pytest.skip("no TikZ")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "(1 page," in done.stdout.replace("\n", "") and (tmp_path / "picture.pdf").stat().st_size > 5000
    assert "Missing character" not in done.stdout


@some_pictures
@given(executions(), st.integers(20, 220))
def test_a_terminal_shows_every_event_and_line_within_its_width(execution: Execution, width: int) -> None:
    page, picture = text(execution, width), layout(execution)
    drawn = page.splitlines()
    title_and_names = {execution.title, *(name for name, _ in execution.threads)}
    assert all(len(line) <= max(width, 28) or line in title_and_names for line in drawn)
    boxes = [box for box in picture.boxes if box.kind != "I"]
    assert page.count("┌") + page.count("┏") >= len(boxes)
    for edge in picture.edges:
        if edge.label:
            names = picture.names
            assert (
                f"{names[edge.bundle.source]} {'↔' if edge.bundle.mutual else '→'} {names[edge.bundle.target]}" in page
            )


def test_boxes_of_a_terminal_are_side_by_side_as_far_as_they_fit() -> None:
    events = tuple(ExecutedEvent(i, i, WRITE, f"st.u32 [x], {i}", "x", i) for i in range(6))
    places = tuple((f"P{i}", Placement(i, i, i, 0)) for i in range(6))
    execution = Execution(events, {}, places, {"x": 5}, "six")
    for width, rows in ((200, 1), (100, 2), (60, 3), (30, 6)):
        page = text(execution, width)
        assert len([line for line in page.splitlines() if "┌" in line]) == rows
        assert all(len(line) <= width for line in page.splitlines())
        assert [f"P{i}" in page for i in range(6)] == [True] * 6 and "final state: x = 5" in page


def test_lists_stand_beside_the_columns_where_there_is_room() -> None:
    wide, narrow = text(racing(), 160).splitlines(), text(racing(), 80).splitlines()
    (beside,) = [line for line in wide if "rf: the value is read from there" in line]
    assert "│" in beside or "┃" in beside or "┌" in beside or "└" in beside
    assert "rf: the value is read from there" in narrow
    assert len(wide) < len(narrow)


def test_what_a_verdict_speaks_of_is_heavy_on_a_terminal() -> None:
    page = text(racing(), 100)
    assert page.count("┏") == 2 and "what the verdict speaks of (heavy boxes)\n  P0:0, P1:2" in page
    assert page.index("race: nothing orders the two") < page.index("rf: the value")
    assert "┏" not in text(message_passing(), 100)


def test_the_command_writes_and_draws_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = str(ROOT / "examples/lock.toml:weak")
    assert main(["check", test, "--tikz", str(tmp_path), "--draw"]) == 0
    log = capsys.readouterr().out
    assert log.index("final state: counter[0] = 1") < log.index("final state: counter[0] = 2")
    assert sorted(path.name for path in tmp_path.iterdir())[:2] == ["lock.toml_weak-0.tex", "lock.toml_weak-1.tex"]
    assert "\\begin{tikzpicture}" in (tmp_path / "lock.toml_weak-0.tex").read_text()
    assert main(["check", test, "--draw", "--format", "json"]) == 2
    assert "--draw draws below what text says" in capsys.readouterr().err
