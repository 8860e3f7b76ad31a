"""Where findings point: one rule, whatever the finding. At the source where it is known and there to look at, with the
line of the PTX beside it; PTX that a compiler made just now has a name of its own, and its lines are never lines of the source.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ptxmm.checker import Checker, Settings
from ptxmm.cli.main import main
from ptxmm.findings import assumptions, findings

SOURCE = """extern "C" __global__ void flag(unsigned *x, unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) { x[0] = 1; f[0] = 1; }
  else { while (f[0] == 0) {}
    out[0] = x[0]; } }
"""
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry flag(.param .u64 a, .param .u64 b, .param .u64 c) {
.reg .pred p;
.reg .b32 r, v;
.reg .b64 x, f, out;
ld.param.u64 x, [a];
ld.param.u64 f, [b];
ld.param.u64 out, [c];
{loc2}
mov.u32 r, %ctaid.x;
setp.ne.s32 p, r, 0;
@p bra OTHER;
{loc2}
st.global.u32 [x], 1;
{loc2}
st.relaxed.gpu.global.u32 [f], 1;
ret;
OTHER:
{loc3}
ld.relaxed.gpu.global.u32 r, [f];
setp.eq.s32 p, r, 0;
@p bra {target};
{loc4}
ld.global.u32 v, [x];
{loc4}
st.global.u32 [out], v;
ret;
}
{file}
"""
TEST = """{module}
entry = "flag"
grid = 2
block = 1
[params]
x = {{ type = "u32", elements = 1 }}
f = {{ type = "u32", elements = 1 }}
out = {{ type = "u32", elements = 1 }}
[bounds]
default = 2
[check]
{checks}
"""
ALL = 'forall = "out[0] == 1"\nrace_free = true\nterminates = true'


def written(folder: Path, how: str, *, lines: bool = True, source: bool = True, spins: bool = True) -> Path:
    """A test of a kernel that is compiled from `k.cu` (`how` is `cu`) or lies there as `k.ptx`; with line information or
    without; its source beside it or gone; its loop spinning on the flag, or trying once and going on."""
    (folder / "k.cu").write_text(SOURCE)
    text = PTX.replace("{file}", '.file 1 "k.cu"' if lines else "").replace("{target}", "OTHER" if spins else "END")
    text = re.sub(r"\{loc(\d)\}", r".loc 1 \1 1" if lines else "// nothing", text)
    text = text if spins else text.replace("ret;\n}", "END: ret;\n}")
    module = folder / "k.ptx"
    module.write_text(text)
    test = folder / "k.toml"
    test.write_text(TEST.format(module=f'{how} = "k.{how}"', checks=ALL))
    if not source:
        (folder / "k.cu").write_text("") if how == "cu" else (folder / "k.cu").unlink()
    return test


@pytest.fixture
def nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that gives the PTX that lies beside the source."""
    script = tmp_path / "nvcc"
    script.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "${3%.cu}.ptx" "$2"\n')
    script.chmod(0o755)
    monkeypatch.setenv("NVCC", str(script))
    monkeypatch.chdir(tmp_path)


def places(test: Path, **settings: object) -> set[tuple[str, int, str]]:
    """Every place of every finding: the file's name, the line, and what is said of it."""
    result = Checker(Settings(**settings))(str(test)).result  # type: ignore[arg-type]
    found = [*findings(result), *assumptions(result)]
    assert found
    return {(Path(spot.path).name, spot.line, what) for finding in found for spot, what in finding.spots}


@pytest.mark.usefixtures("nvcc")
@pytest.mark.parametrize("how", ["cu", "ptx"])
def test_every_finding_points_at_the_source_where_it_is_there_to_look_at(tmp_path: Path, how: str) -> None:
    """Of `forall`, of races, of a loop: the same files and lines, whether the PTX was compiled just now or lies there."""
    found = places(written(tmp_path, how), races=True)
    assert {(file, line) for file, line, _ in found if file != "k.toml"} <= {("k.cu", n) for n in (2, 3, 4)}
    assert {line for file, line, _ in found if file == "k.cu"} == {2, 3, 4}
    assert any(f"k.{'cu.' if how == 'cu' else ''}ptx:22)" in what for _, _, what in found)


@pytest.mark.usefixtures("nvcc")
def test_lines_of_compiled_ptx_are_never_lines_of_the_source(tmp_path: Path) -> None:
    """Without line information nobody knows the line of the source: its file is told, and the line of the PTX beside it."""
    found = places(written(tmp_path, "cu", lines=False))
    there = [(line, what) for file, line, what in found if file == "k.cu"]
    assert there and all(line == 0 for line, _ in there)
    assert {file for file, _, _ in found} == {"k.cu"}


#: Mistakes in the PTX that a compiler made: what is written in place of the last store, and what is said of it.
WRONG = {
    "add.u32 r, q, 1;": "'q' is not declared",
    "tcgen05.wait::ld.sync.aligned;": "",
    "bogus.u32 r;": "unknown instruction 'bogus'",
    "mov.u32 r, r, r, r;": "",
}


@pytest.mark.usefixtures("nvcc")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("lines", [True, False])
def test_errors_in_compiled_ptx_stand_at_lines_of_the_source(tmp_path: Path, wrong: str, lines: bool) -> None:
    test = written(tmp_path, "cu", lines=lines)
    text = (tmp_path / "k.ptx").read_text()
    at = text.rindex("st.")
    (tmp_path / "k.ptx").write_text(text[:at] + wrong + text[text.index(";", at) + 1 :])
    line = text.count("\n", 0, at) + 1
    result = Checker(Settings())(str(test)).result
    assert result.verdict == "error" and result.error is not None
    first = result.error.split("\n")[0]
    assert (
        f"k.cu:{4 if lines else ''}".rstrip(":") + (":" if not lines else "") in first
        and "error: " + WRONG[wrong] in first
    )
    assert f"(k.cu.ptx:{line}: {wrong})" in first.replace(str(tmp_path) + "/", "")
    assert ("out[0] = x[0]" in result.error) == lines


@pytest.mark.usefixtures("nvcc")
def test_ptx_in_a_file_is_pointed_at_where_its_source_is_gone(tmp_path: Path) -> None:
    found = places(written(tmp_path, "ptx", source=False))
    assert {file for file, _, _ in found} == {"k.ptx"}


@pytest.mark.usefixtures("nvcc")
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_no_report_names_a_line_that_the_source_does_not_have(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", str(written(tmp_path, "cu")), "--races", "--format", form])
    text = capsys.readouterr().out
    assert "k.cu" in text
    assert all(int(line) <= SOURCE.count("\n") for line in re.findall(r"k\.cu(?::|,line=)(\d+)", text))
    if form == "sarif":
        for run in json.loads(text)["runs"]:
            for result in run["results"]:
                for place in [*result["locations"], *result.get("relatedLocations", ())]:
                    physical = place["physicalLocation"]
                    assert physical["artifactLocation"]["uri"] == "k.cu"
                    assert physical["region"]["startLine"] <= SOURCE.count("\n")
