"""What tests promise of themselves: none fails because the machine is slow, and none passes because it compared nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import parsed
import pytest
from campaigns import some

HERE = Path(__file__).resolve().parent
FILES = sorted(path for path in HERE.rglob("*.py") if path.name != Path(__file__).name)
#: Names of times of a clock, and of processor time.
_CLOCKS = {
    "monotonic",
    "perf_counter",
    "process_time",
    "thread_time",
    "time",
    "time_ns",
    "monotonic_ns",
    "perf_counter_ns",
}
#: Who may look at a clock: ratios of times, waiting for processes, tables that are printed, deadlines for what keeps them.
_MAY_LOOK = {
    "growth.py",
    "waiting.py",
    "sizes.py",
    "pairs_campaign.py",
    "test_backends.py",
    "compare.py",
    "agreement.py",
    "repair_campaign.py",
    "repair_kernels_campaign.py",
    "known_fixes.py",
    "weaken_kernels_campaign.py",
}
#: Less than so many seconds may be too few for a process that does not hang.
_PATIENCE = 300
#: And so few are over before anything is decided.
_AT_ONCE = 1e-6
#: What decides a test, or several.
_DECIDES = ("check", "executions", "decide", "explain", "evaluate", "compare", "repair", "weaken")
#: What waits for a process.
_WAIT = ("run", "communicate", "wait", "check_output", "check_call")
#: What brute force raises where it is not up to a question.
_GIVES_UP = {"OutOfTime", "TooLarge"}


def calls(path: Path) -> Iterator[ast.Call]:
    yield from (node for node in parsed.nodes(path) if isinstance(node, ast.Call))


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_no_test_looks_at_a_clock() -> None:
    looks = [
        (path.name, call.lineno)
        for path in FILES
        if path.name not in _MAY_LOOK
        for call in calls(path)
        if isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "time" and call.func.attr in _CLOCKS
    ]
    assert looks == [], "see growth.py"


def test_processes_get_all_the_time_that_a_busy_machine_takes() -> None:
    limits = [
        (path.name, call.lineno, keyword.value.value)
        for path in FILES
        for call in calls(path)
        if name_of(call.func) in _WAIT
        for keyword in call.keywords
        if keyword.arg == "timeout" and isinstance(keyword.value, ast.Constant)
    ]
    assert [limit for limit in limits if limit[2] < _PATIENCE] == []


def test_no_answer_hangs_on_what_a_machine_does_in_some_seconds() -> None:
    """Who decides has all the time that a busy machine takes, or none at all: what must end sooner gets steps (`agreement`),
    and time limits are tested with a clock of the test's own."""
    limits = [
        (path.name, call.lineno, keyword.value.value)
        for path in FILES
        if path.name != "test_fuzz.py"  # to be out of time is an answer there
        for call in calls(path)
        if name_of(call.func) in _DECIDES
        for keyword in call.keywords
        if keyword.arg == "timeout" and isinstance(keyword.value, ast.Constant)
    ]
    assert [limit for limit in limits if _AT_ONCE < limit[2] < _PATIENCE] == []


def test_nothing_is_passed_over_without_being_counted() -> None:
    """`agreement` counts what brute force is not up to; whoever catches that otherwise must say something of it."""
    silent = [
        (path.name, handler.lineno)
        for path in FILES
        if path.name != "test_fuzz.py"  # to be out of time is an answer there
        for handler in parsed.nodes(path)
        if isinstance(handler, ast.ExceptHandler)
        and handler.type is not None
        and _GIVES_UP & {name_of(node) for node in ast.walk(handler.type) if isinstance(node, ast.expr)}
        and all(isinstance(line, ast.Return | ast.Pass | ast.Continue) and not _says(line) for line in handler.body)
    ]
    assert silent == [], "see agreement.py"


def _says(line: ast.stmt) -> bool:
    """Whether something is returned that tells why."""
    return (
        isinstance(line, ast.Return)
        and line.value is not None
        and not (isinstance(line.value, ast.Constant) and line.value.value in (None, True, False))
    )


# Where tests stand.

#: Folders of tests that are not named for a room: what they look at is in several, or is not code.
_ACROSS = {"engines", "gpu", "grammars", "kernels", "project", "support", "tensors"}
#: The meanings of instructions, which are in `ptxcore/isa`, with tables of second meanings.
_MEANINGS = HERE / "ptxcore" / "semantics"


def test_folders_of_tests_are_rooms_of_the_code() -> None:
    folders = {
        path.parent.relative_to(HERE)
        for path in FILES
        if path.name.startswith("test_") and not path.is_relative_to(_MEANINGS)
    }
    rooms = {folder for folder in folders if folder.parts and folder.parts[0] not in _ACROSS}
    assert len(rooms) > 20
    assert sorted(str(room) for room in rooms if not (HERE.parent / room).is_dir()) == []


def test_helpers_stand_beside_their_users_or_in_support() -> None:
    """So that each file of tests runs alone, too: pytest looks in its folder and in `support`."""
    homes: dict[str, set[Path]] = {}
    for path in FILES:
        homes.setdefault(path.stem, set()).add(path.parent)
    far = [
        (str(path.relative_to(HERE)), name)
        for path in FILES
        if path.name.startswith("test_") and "sys.path" not in path.read_text(encoding="utf-8")
        for name in _imported(path)
        if name in homes and not homes[name] & {HERE, HERE / "support", path.parent}
    ]
    assert far == []


def _imported(path: Path) -> Iterator[str]:
    for node in parsed.nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


# Files of the product.

PRODUCT = [path for folder in ("axioms", "ptxcore", "ptxmm", "litmus") for path in (HERE.parent / folder).rglob("*.py")]
#: A file of more lines says in its head why it is one file, with these words.
_MOST_LINES, _REASON = 500, "It is one file because "


def test_a_long_file_says_why_it_is_one() -> None:
    long = [p for p in PRODUCT if p.read_text(encoding="utf-8").count("\n") > _MOST_LINES]
    silent = [str(p.relative_to(HERE.parent)) for p in long if _REASON not in (ast.get_docstring(parsed.tree(p)) or "")]
    assert silent == []


# What a run tells in the end, and how many processes it takes.

PROJECT = {
    "test_some.py": """
import pytest
from agreement import compared, pass_over
@pytest.mark.parametrize("n", range(3))
def test_skipped(n): pytest.skip("no luck" if n else "no GPU")
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("many", [1, 3])
def test_agreement(many):
    for _ in range(many): compared(True)
    pass_over("too large")
@pytest.mark.compares(0.5)
def test_hardly_anything():
    compared(True); pass_over("too large"); pass_over("too large")
@pytest.mark.compares(0.5)
def test_nothing(): pass
def test_another(): pass
""",
    "test_process.py": "import os\ndef test_in_a_worker(): assert 'PYTEST_XDIST_WORKER' in os.environ\n",
    "test_parts.py": """
import pytest
@pytest.mark.part(3)
@pytest.mark.parametrize("n", range(7))
def test_many(n): pass
@pytest.mark.long
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.campaign)])
def test_longer(n): pass
""",
    "pytest.ini": "[pytest]\naddopts = -q\nmarkers =\n    compares: x\n    part: x\n    long: x\n    campaign: x\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {**PROJECT, "conftest.py": (HERE / "conftest.py").read_text(encoding="utf-8")}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def said(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:ptxmm", *arguments]
    environment = {"PYTHONPATH": f"{HERE / 'support'}:{HERE.parent}", "PATH": "", "PYTEST_XDIST_AUTO_NUM_WORKERS": "2"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "arguments", some(3, [["-q", "test_some.py"], ["-n", "2", "test_some.py"], ["-p", "no:xdist", "test_some.py"]])
)
def test_a_run_says_what_it_skipped_and_compared_in_its_last_lines(project: Path, arguments: list[str]) -> None:
    text = said(project, *arguments)
    assert "3 tests were skipped:\n     2  no luck\n     1  no GPU\n" in text
    assert "4 agreement tests compared 5 of 9; the least share is 0 of 0, in test_some.py::test_nothing" in text
    assert "1 of 3 compared (passed over: 2 too large): at least 50% must be" in text
    assert "0 of 0 compared: at least 50% must be" in text


@pytest.mark.long
def test_what_a_run_leaves_of_a_test_that_is_tried_in_part_is_long(project: Path) -> None:
    assert "3 passed, 6 deselected" in said(project, "-v", "-m", "not long", "test_parts.py")
    assert "5 passed, 4 deselected" in said(project, "-v", "-m", "long", "test_parts.py")
    assert "1 passed, 8 deselected" in said(project, "-v", "-m", "campaign", "test_parts.py")
    assert "1 passed" in said(project, "-v", "-m", "not long", "test_parts.py::test_many[5]")


def test_processes_share_byte_code() -> None:
    made = "import sys; print(sys.dont_write_bytecode and sys.pycache_prefix is None)"
    assert subprocess.run([sys.executable, "-c", made], capture_output=True, text=True).stdout == "False\n"


CHOSEN = ("-k", "in_a_worker")


@pytest.mark.long
@pytest.mark.parametrize("arguments", some(2, [[], ["."]]))
def test_a_run_of_folders_takes_every_core_by_itself(project: Path, arguments: list[str]) -> None:
    assert "1 failed" not in said(project, *arguments, *CHOSEN)


@pytest.mark.parametrize("arguments", some(4, [["test_process.py"], ["-n", "0"], ["--pdb"], ["-p", "no:xdist"]]))
def test_a_run_of_files_or_of_one_process_does_not(project: Path, arguments: list[str]) -> None:
    assert "AssertionError" in said(project, *arguments, *CHOSEN)
