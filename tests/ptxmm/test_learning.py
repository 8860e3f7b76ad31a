"""The exercises of the tutorial: each fails as it ships and holds with its solution; what is stronger than needed, or answers
another question, is no solution."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_blocks import ROOT, blocks

import ptxmm
from ptxmm.api import load_variant
from ptxmm.cli.main import main
from ptxmm.exercises import EXERCISES, Exercise, exercise_of
from ptxmm.kernels.files import Variant
from ptxmm.learning import judged
from ptxmm.result import Result
from ptxmm.topics import names

TUTORIAL = ROOT / "docs" / "tutorial"
_SOLUTIONS = TUTORIAL / "solutions.md"
SOLUTIONS = {
    Path(block.file).name: block.body for block in blocks(_SOLUTIONS.read_text(encoding="utf-8")) if block.file
}
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}


def put(folder: Path, exercise: Exercise, text: str) -> str:
    path = folder / exercise.file
    path.write_text(text, encoding="utf-8")
    return str(path)


def checked(path: str) -> Result:
    return ptxmm.check(load_variant(Variant(path, "")) if path.endswith(".ptx") else ptxmm.load(path))


def test_every_step_has_an_exercise_and_every_exercise_a_solution() -> None:
    assert [exercise.step for exercise in EXERCISES] == sorted(exercise.step for exercise in EXERCISES)
    assert {exercise.step for exercise in EXERCISES} == set(range(1, 11))
    assert set(SOLUTIONS) == {exercise.file for exercise in EXERCISES}
    said = re.findall(r"^(solved|not yet|open)  (\S+):", _SOLUTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    assert said == [("solved", exercise.name) for exercise in EXERCISES]
    assert {exercise.topic for exercise in EXERCISES} <= set(names())
    for exercise in EXERCISES:
        assert f"{exercise.step:02}-" in exercise.file and exercise_of(f"some/where/{exercise.file}") is exercise


def test_the_pages_lead_from_step_to_step() -> None:
    pages = sorted(TUTORIAL.glob("[01]*.md"))
    texts = [path.read_text(encoding="utf-8") for path in pages]
    assert [path.name[:2] for path in pages] == [f"{step:02}" for step in range(1, 11)]
    index = (TUTORIAL / "README.md").read_text(encoding="utf-8")
    for number, text in enumerate(texts, 1):
        assert text.startswith(f"# {number}. ") and f"]({pages[number - 1].name})" in index
        assert number == len(pages) or f"]({pages[number].name})" in text
        for exercise in EXERCISES:
            shown = exercise.file in text or f"{exercise.step:02}-*" in text
            assert shown == (exercise.step == number), (exercise.name, number)
            assert f"`{exercise.name}`" in index
    asked = {word for text in texts for word in re.findall(r"ptxmm explain ([a-z-]+)", text)}
    assert len(asked) > 15 and asked <= set(names())


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_it_fails_as_it_ships_and_holds_with_its_solution(exercise: Exercise, tmp_path: Path) -> None:
    assert checked(exercise.path).verdict == "no"
    found = judged(exercise, exercise.path)
    assert found.solved is False
    assert checked(put(tmp_path, exercise, SOLUTIONS[exercise.file])).verdict == "ok"


#: Of a solution: what is replaced by what, and where something can be weaker then.
STRONGER = [
    ("02-release-acquire", "st.release.gpu", "st.release.sys", 1),
    ("02-release-acquire", "st.weak.u32 [data]", "st.relaxed.gpu.u32 [data]", 1),
    ("03-scopes", ".cta.u32", ".gpu.u32", 2),
    ("04-store-buffering", "fence.sc.gpu", "fence.sc.sys", 1),
    pytest.param("05-iriw", "st.relaxed.gpu", "st.release.gpu", 2, marks=pytest.mark.long),
    ("05-second-hand", "ld.relaxed.gpu.u32 %r0, [x]", "ld.acquire.gpu.u32 %r0, [x]", 1),
    pytest.param("07-lock", "atom.acquire.gpu", "atom.acq_rel.gpu", 2, marks=pytest.mark.long),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("name", "old", "new", "places"), STRONGER)
def test_what_is_stronger_than_needed_is_told(name: str, old: str, new: str, places: int, tmp_path: Path) -> None:
    exercise = BY_NAME[name]
    text = SOLUTIONS[exercise.file].replace(old, new)
    path = put(tmp_path, exercise, text)
    assert text != SOLUTIONS[exercise.file] and checked(path).verdict == "ok"
    found = judged(exercise, path)
    assert found.solved is False and found.lines[0] == "ok, and stronger than it needs to be"
    assert len(found.lines) >= 1 + places


def test_another_solution_that_needs_all_it_has_is_one(tmp_path: Path) -> None:
    """Fences in place of orders, where a solution has those; those of one side, as the other one is not needed."""
    exercise = BY_NAME["09-last-block"]
    text = exercise.text.replace("    atom.", "    fence.release.gpu;\n    atom.")
    text = text.replace("    ld.global.u32 %r4", "    fence.acquire.gpu;\n    ld.global.u32 %r4")
    assert judged(exercise, put(tmp_path, exercise, text)).solved is True
    assert judged(exercise, put(tmp_path, exercise, text.replace("acquire", "acq_rel"))).solved is False


#: Of an exercise: what is replaced by what, so that its claim holds or says nothing, and what is told.
OTHERS = [
    ("02-release-acquire", "1:r1 = 0)", "1:r1 = 7)", "the condition is another one"),
    ("02-release-acquire", "@cta 1", "@cta 0", "where they run"),
    ("02-release-acquire", "data = 0", "data = 1", "the locations are others"),
    ("02-release-acquire", "ld.weak.u32 %r1, [data] ", "ld.weak.u32 %r1, [flag] ", "P1 does something else"),
    (
        "02-release-acquire",
        "st.weak.u32 [data], 1        |",
        "fence.sc.gpu                 |",
        "P0 does something else",
    ),
    ("04-store-buffering", "race_free\n", "", "beside the condition"),
    ("02-release-acquire", "PTX 02-release-acquire\n", "PTX 02-release-acquire\nExpect=no\n", "beside the condition"),
    ("07-handshake", "    st.relaxed.gpu.u32 [a], 1;\n", "", "P0 does something else"),
    ("07-handshake", "    @%p0 bra wait;\n", "", "P0 does something else"),
    ("08-barrier", "%r0, [s+4]", "%r0, [s+0]", "P0 does something else"),
    ("09-last-block", "grid=2", "grid=1", "`ptxmm:`"),
    ("09-last-block", "@%p1 bra DONE;", "", "the module does something else"),
    ("10-pipeline", "cp.async.bulk", "fence.proxy.async; //", "P0 does something else"),
]


@pytest.mark.parametrize(("name", "old", "new", "told"), OTHERS)
def test_an_answer_to_another_question_is_none(name: str, old: str, new: str, told: str, tmp_path: Path) -> None:
    exercise = BY_NAME[name]
    text = exercise.text.replace(old, new)
    assert text != exercise.text
    found = judged(exercise, put(tmp_path, exercise, text))
    assert found.solved is False
    assert told in " ".join(found.lines)


#: Of the exercise on outcomes: its last line, and what is told.
LISTS = [
    (r"forall (true)", "a value of each"),
    (r"forall (1:r0 = 0 \/ 1:r0 = 1)", "a value of each"),
    (r"exists (1:r0 = 1 /\ 1:r1 = 1)", "a value of each"),
    (r"forall (1:r0 = 1 /\ 1:r1 = 1)", "3 outcomes that can happen are missing"),
    (r"forall (1:r0 = 3 /\ 1:r1 = 1)", "1 outcome of the list cannot happen"),
]


@pytest.mark.parametrize(("line", "told"), LISTS)
def test_a_list_of_outcomes_is_to_be_exact(line: str, told: str, tmp_path: Path) -> None:
    exercise = BY_NAME["01-outcomes"]
    text = exercise.text[: exercise.text.index("forall")] + line + "\n"
    found = judged(exercise, put(tmp_path, exercise, text))
    assert found.solved is False
    assert told in " ".join(found.lines)


def test_exercises_are_listed_and_written_over_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [e.file for e in EXERCISES]
    folder = tmp_path / "some" / "where"
    assert main(["learn", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == f"{len(EXERCISES)} exercises are in {folder}\n"
    first = folder / EXERCISES[0].file
    assert first.read_text(encoding="utf-8") == EXERCISES[0].text
    first.write_text("mine", encoding="utf-8")
    assert main(["learn", "--write", str(folder)]) == 0
    assert first.read_text(encoding="utf-8") == "mine"
    assert f"{len(EXERCISES)} were there" in capsys.readouterr().out
    assert main(["learn", "--write", str(first)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_what_is_no_exercise_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text, told in [
        ("05-irwi.litmus", "", "did you mean '05-iriw.litmus'?"),
        ("05-iriw.litmus", None, "cannot read"),
        ("05-iriw.litmus", "PTX x\n{", "error: "),
        ("05-iriw.litmus", "\0", "error: "),
        ("09-last-block.ptx", "// ptxmm: grid=2\n", "error: "),
    ]:
        path = tmp_path / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        assert main(["learn", str(path)]) == 2, name
        assert told in capsys.readouterr().err


def test_the_status_is_that_of_the_worst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = EXERCISES[0], EXERCISES[6]
    solved = put(tmp_path, first, SOLUTIONS[first.file])
    assert main(["learn", solved]) == 0
    assert main(["learn", solved, second.path]) == 1
    said = capsys.readouterr().out
    assert "solved  01-outcomes" in said and "not yet  06-coherence" in said and "ptxmm explain coherence" in said
