"""Pages that fit: the cause first with its text, nothing twice, and everything with `--all`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from waiting import PATIENCE

import ptxmm
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.cli.main import main
from ptxmm.findings import findings
from ptxmm.kernels.files import expand
from ptxmm.report.text import TextReport
from ptxmm.result import Loop, Spot, Step
from ptxmm.words.brief import LINES, WIDTH, StepLimits, causes, folded, wrapped

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*.toml"))
_MORE = re.compile(r"and (\d+) more steps? \(--all tells them\)")


def decided(paths: Sequence[str] = EXAMPLES) -> list[Outcome]:
    checker = Checker(Settings(timeout=PATIENCE, races=True))
    return [checker(item) for item, problem in expand((path, None) for path in paths) if not problem]


def pages(outcome: Outcome) -> tuple[list[str], list[str]]:
    """A page as wide as it may be, and one with everything."""
    fits = TextReport("ptx-9.0", colour=False, unroll=4, width=WIDTH).page(outcome).splitlines()
    whole = TextReport("ptx-9.0", colour=False, unroll=4, everything=True).page(outcome).splitlines()
    return fits, whole


def is_told(line: str, text: str) -> bool:
    """Whether a page with everything says what a line says; lines that count, or say who is who, are the page's own."""
    words = " ".join(line.split())
    if re.match(r"T\d+: ", words) or "--all" in words or words.endswith(": for the same reason") or words in text:
        return True
    kind, _, rest = words.partition(" does not hold: ")
    if rest:  # a condition, whose text stands above
        return kind in ("forall", "never", "exists") and rest in text
    verdict, _, kinds = words.partition(" ")
    return all(f"{verdict} {kind}" in text for kind in kinds.split(", "))


def test_a_page_about_one_cause_fits_and_says_nothing_that_the_whole_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    failing = [outcome for outcome in decided() if outcome.result.verdict == "no"]
    assert len(failing) >= 4
    folded = 0
    for outcome in failing:
        lines, whole = pages(outcome)
        fits = [part for line in lines for part in wrapped(line, WIDTH)]
        stories = {tuple(check.linearisation) for check in outcome.result.checks if check.linearisation}
        assert len(fits) <= (LINES + 2) * max(1, len(stories)), "\n".join(fits)  # two steps at least, however long
        assert not any("--all" in line for line in whole)
        text = " ".join(" ".join(whole).split())
        for line in lines:
            assert is_told(line, text), line
        for cause in (cause for check in outcome.result.checks for cause in check.causes):
            at = next(i for i, line in enumerate(lines) if line.startswith(f"    {cause.spot}: "))
            assert (
                lines[at + 1].strip() == (ROOT / cause.spot.path).read_text().splitlines()[cause.spot.line - 1].strip()
            )
        left = sum(int(found[1]) for line in fits if (found := _MORE.search(line)))
        shown = sum(re.match(r"      (CTA|T\d)", line) is not None for line in fits)
        steps = {tuple(check.linearisation): len(check.steps) for check in outcome.result.checks}
        folded += bool(left)
        assert not left or left + shown == sum(steps.values())
    assert folded  # there is something to fold


def test_pages_about_kernels_from_bug_reports_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names = (
        "02-",
        "05-",
        "08-",
        "09-",
        "14-",
        "22-",
        "24-",
        "30-",
        "33-",
        "35-",
        "39-",
        "42-",
        "44-",
        "g04",
        "g06",
        "g10",
    )
    files = [str(path) for name in names for path in sorted(Path("tests/kernels/museum").glob(f"{name}*.toml"))]
    heights = {}
    for outcome in decided(files):
        if outcome.result.verdict in ("no", "undefined"):
            heights[outcome.result.path] = sum(len(wrapped(line, WIDTH)) for line in pages(outcome)[0])
    assert len(heights) >= 12
    assert {path: lines for path, lines in heights.items() if lines > LINES} == {}


def test_lines_are_wrapped_at_words_and_indented() -> None:
    line = "    the store to x is not ordered before the load of x"
    assert wrapped(line, 80) == [line]
    found = wrapped(line, 30)
    assert all(len(part) <= 30 for part in found) and all(part.startswith("        ") for part in found[1:])
    assert " ".join(" ".join(found).split()) == line.strip()
    assert wrapped("    " + "x" * 50, 20) == ["    " + "x" * 50]  # a word is one


def test_an_outline_loses_its_details_first_and_keeps_what_closes_it() -> None:
    outline = ["axiom", "  a", "    of a", "  b", "  c", "    of c", "but d", "it rests on", "  e", "  f"]
    assert folded(outline, 10, WIDTH) == outline
    assert folded(outline, 9, WIDTH) == [
        "axiom", "  a", "  b", "  c", "but d", "it rests on", "  e", "  f", "and 2 more lines (--all tells them)",
    ]  # fmt: skip
    assert folded(outline, 6, WIDTH) == ["axiom", "  a", "  b", "  c", "but d", "and 5 more lines (--all tells them)"]
    assert folded(outline, 5, WIDTH) == ["axiom", "  ...", "  c", "but d", "and 7 more lines (--all tells them)"]


def test_all_is_an_option_of_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    main(["check", "examples/lock.toml:weak"])
    short = capsys.readouterr().out
    main(["check", "examples/lock.toml:weak", "--all"])
    whole = capsys.readouterr().out
    assert "--all" in short and "--all" not in whole and whole.count("\n") > short.count("\n")
    assert whole.count("data race between") == 2 and "2 data races for the same reason" in short


def test_gates_get_the_execution_step_by_step_and_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    sarif, junit = tmp_path / "found.sarif", tmp_path / "found.xml"
    text = (ROOT / "examples/lock.toml").read_text()
    unexpected = text.replace('"lock.', f'"{ROOT}/examples/lock.').replace('expect = "no"\n', "")
    (tmp_path / "lock.toml").write_text(unexpected)
    assert main(["check", str(tmp_path / "lock.toml"), "--sarif", str(sarif), "--junit", str(junit)]) == 1
    flows = 0
    for found in json.loads(sarif.read_text())["runs"][0]["results"]:
        for flow in found.get("codeFlows", ()):
            steps = [
                (step["executionOrder"], thread["id"], step["location"])
                for thread in flow["threadFlows"]
                for step in thread["locations"]
            ]
            assert sorted(order for order, _, _ in steps) == [*range(1, len(steps) + 1)] and steps
            flows += 1
            for _, who, location in steps:
                physical = location["physicalLocation"]
                lines = (ROOT / unquote(physical["artifactLocation"]["uri"])).read_text().splitlines()
                assert lines[physical["region"]["startLine"] - 1].strip()
                assert location["message"]["text"].startswith(who) and who.startswith("CTA ")
    assert flows == 3  # the condition, and two races
    bad, good = sorted(ElementTree.parse(junit).iter("testcase"), key=lambda case: not len(case.findall("failure")))
    assert bad.attrib["file"].endswith("lock.cu") and bad.attrib["line"] == "12"
    assert good.attrib["file"].endswith("lock.toml")


def test_a_row_tells_one_cause_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waits = """PTX {name}
{{ x=0; }}
P0@cta 0,gpu 0 {{
    .reg .pred p;
    L: ld.relaxed.gpu.u32 %r0, [x];
    setp.eq.u32 p, %r0, 0;
    @p bra L;
}}
exists true
terminates
no_trap
race_free
"""
    for name in ("one", "two"):
        (tmp_path / f"{name}.litmus").write_text(waits.format(name=name))
    main(["check", str(tmp_path)])
    out = capsys.readouterr().out
    assert out.count("does not terminate (spin loop) here") == 2 and out.count("for the same reason") == 2 * 3


def test_a_race_with_what_has_no_line_of_the_source_says_the_line_of_the_ptx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compiler gives line 0 to what it made of several lines: two such are not one, and "line 0" is no place."""
    (tmp_path / "k.cu").write_text("// where the lines of the PTX come from\n" * 4)
    (tmp_path / "k.ptx").write_text(f"""
.version 9.0
.target sm_90
.address_size 64
.file 1 "{tmp_path}/k.cu"
.visible .entry k(.param .u64 x) {{
    .reg .b64 %x; .reg .b32 %r; .reg .pred %p;
    ld.param.u64 %x, [x];
    mov.u32 %r, %ctaid.x;
    setp.eq.u32 %p, %r, 0;
    @%p bra ONE;
    .loc 1 0 0
    st.global.u32 [%x], 1;
    ret;
ONE:
    .loc 1 LINE 0
    ld.global.u32 %r, [%x];
    ret;
}}""")
    text = (tmp_path / "k.ptx").read_text()
    for line, told in (("0", "races with line 17 of the PTX"), ("3", "k.cu:3: races with line 13 of the PTX")):
        (tmp_path / "k.ptx").write_text(text.replace("LINE", line))
        main(f"check {tmp_path}/k.ptx --grid 2 --block 1 --arg x=u32[1] --timeout {PATIENCE}".split())
        page = capsys.readouterr().out
        assert told in page
        assert "line 0" not in page
        assert "itself" not in page


def test_where_no_read_is_out_of_date_the_places_are_those_that_wrote_what_is_kept() -> None:
    """Another order of the steps than was meant breaks the claim, and nothing is missing: still there are lines to open."""
    gate = ROOT / "tests" / "kernels" / "gate" / "torn_pair"
    found = ptxmm.check(replace(ptxmm.load(f"{gate / 'test.toml'}:buggy"), expect=("ok",)))
    told = [(cause.spot.line, cause.what) for cause in causes(found)]
    assert told == [(34, "out[0] keeps what is written here"), (36, "out[1] keeps what is written here")]
    lines = (gate / "buggy.ptx").read_text(encoding="utf-8").splitlines()
    assert [lines[line - 1].split()[0] for line, _ in told] == ["st.global.u32"] * 2
    (finding,) = (finding for finding in findings(found) if finding.kind == "forall")
    assert [(spot.line, what) for spot, what in finding.spots] == told


def test_what_many_elements_keep_is_told_once_for_each_place_and_only_of_those_that_are_wrong(tmp_path: Path) -> None:
    """One instruction writes all of them: a line each would be as many lines as there are threads."""
    (tmp_path / "k.ptx").write_text("""
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x) {
    .reg .b64 %x; .reg .b32 %r<2>; .reg .b64 %a;
    ld.param.u64 %x, [x];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a, %r0, 4;
    add.u64 %a, %a, %x;
    mov.u32 %r1, %ctaid.x;
    atom.relaxed.gpu.global.exch.b32 %r1, [%a], %r1;
    ret;
}""")
    found = ptxmm.check(
        tmp_path / "k.ptx", grid=2, block=10, args={"x": "u32[12]"}, timeout=PATIENCE,
        forall=["all(x[i] == 1 for i in range(10))", "x[0] == 1 && x[11] == 0"],
    )  # fmt: skip
    told = [cause.what for cause in causes(found)]
    several = f"{', '.join(f'x[{i}]' for i in range(8))} and 2 more keep what is written here"
    assert told == [several, "x[0] keeps what is written here"]


def test_nested_loops_with_one_head_are_told_once() -> None:
    spot = Spot("k.ptx", 31)
    loops = [Loop("waiting", spot, None, label, 1, ("c0",)) for label in ("$L", "")]
    outcome = decided(EXAMPLES[:1])[0]
    whole = outcome._replace(result=replace(outcome.result, loops=loops))
    for page in pages(whole):
        (line,) = (line for line in page if "spin loop" in line)
        assert "31 ($L)" in line


def test_where_there_is_no_room_at_all_steps_are_counted_and_the_reason_stays() -> None:
    lines = ["T0  st x", "T1  ld x", "and 5 more steps", "the two are in no order", "so are these"]
    steps = [Step(None, "T0", 0), Step(None, "T1", 0)]
    found = StepLimits(0, tight=3).linearisation(lines, steps, 5)
    assert found == ["the two are in no order", "7 steps and 1 more reason like it (--all tells them)"]
