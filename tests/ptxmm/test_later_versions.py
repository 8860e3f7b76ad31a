"""Modules of later versions than 9.0: read by its rules, with a warning that nobody overlooks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import ptxmm
from ptxcore.check.module import check_text
from ptxcore.diagnostics import InputError
from ptxmm.cli.main import main

LATER = """.version 9.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
.reg .b64 %rd<3>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [x];
atom.global.add.u32 %r1, [%rd1], 1;
ret;
}
"""
SAYS = "PTX ISA 9.4 is later than 9.0: the module is read by the rules of 9.0"
TOML = """ptx = "k.ptx"
grid = 2
block = 1
[params]
x = {type = "u32", elements = 1}
[check]
forall = "x[0] == 2"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(LATER)
    (tmp_path / "k.toml").write_text(TOML)
    return tmp_path


@pytest.mark.parametrize("manual", [False, True])
def test_a_later_version_is_a_warning_and_what_it_brought_an_error_with_a_hint(manual: bool) -> None:
    (warning,) = check_text(LATER, manual=manual)
    assert (warning.severity, warning.code, warning.message, warning.span.line) == ("warning", "later-version", SAYS, 1)
    told = "the module is of PTX ISA 9.4, and what came after 9.0 is not known"
    for new in ("foo.b32 %r1, 1;", "ld.new.global.u32 %r1, [%rd1];", ".newdirective 1;"):
        text = LATER.replace("ret;", f"{new} ret;")
        errors = [d for d in check_text(text, manual=manual) if d.severity == "error"]
        assert errors and all((d.hint or "").endswith(told) for d in errors)
        old = check_text(text.replace("9.4", "9.0"), manual=manual)
        assert [d.message for d in old] == [d.message for d in errors] and all(told not in (d.hint or "") for d in old)
    (undeclared,) = (d for d in check_text(LATER.replace("%r1", "%q")) if d.severity == "error")
    assert undeclared.hint is None  # no version declares it


def test_targets_that_came_later_have_what_later_ones_keep_and_no_more() -> None:
    def errors(version: str, target: str, statement: str = "") -> list[str]:
        text = LATER.replace("9.4", version).replace("sm_90", target).replace("ret;", statement + "ret;")
        return [d.message for d in check_text(text) if d.severity == "error"]

    assert (
        errors("9.4", "sm_130") == errors("10.0", "sm_130a") == errors("9.4", "sm_130", "fence.acq_rel.cluster;") == []
    )
    assert errors("9.0", "sm_130") == ["unknown target 'sm_130'"]
    assert errors("9.4", "sm_99") == ["unknown target 'sm_99'"]
    own = "setmaxnreg.inc.sync.aligned.u32 64;"
    assert errors("9.4", "sm_90a", own) == [] and len(errors("9.4", "sm_130a", own)) == 1
    assert errors("8.9", "sm_90") == ["PTX ISA 8.9 is not known"]


def test_every_report_of_a_check_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "github", "herd", "sarif", "junit", "json"):
        assert main(["check", "k.toml", "--format", form]) == 0
        said = capsys.readouterr()
        assert SAYS in said.out + said.err
        if form == "github":
            assert "::notice file=k.ptx,line=1," in said.out
        elif form == "json":
            (document,) = json.loads(said.out)["tests"]
            assert document["warnings"] == [{"file": "k.ptx", "line": 1, "message": SAYS}]
    assert main(["check", "k.toml", "k.toml"]) == 0
    assert capsys.readouterr().out.count(f"k.ptx:1: warning: {SAYS}") == 1  # once for all rows
    (folder / "large.toml").write_text(TOML.replace("grid = 2", "grid = 64").replace("== 2", "== 64"))
    for name in ("k.toml", "large.toml"):  # explored, and run as a whole
        result = ptxmm.check(ptxmm.load(name))
        assert [(str(spot), message) for spot, message in result.warnings] == [("k.ptx:1", SAYS)]


def test_run_and_lint_say_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "k.ptx", "--entry", "k", "--grid", "2", "--block", "1", "--arg", "x=u32[1]", "--out", "x"]) == 0
    said = capsys.readouterr()
    assert said.out == "x = [2]\n" and said.err.startswith(f"k.ptx:1:1: warning: {SAYS} [later-version]\n")
    assert main(["lint", "k.ptx"]) == 0 and SAYS in capsys.readouterr().out
    x = numpy.zeros(1, numpy.uint32)
    assert [w.message for w in ptxmm.run("k.ptx", "k", (2,), (1,), [x]).warnings] == [SAYS]
    assert ptxmm.lint("k.ptx", warnings=False) == [] and [d.message for d in ptxmm.lint("k.ptx")] == [SAYS]
    (folder / "k.ptx").write_text(LATER.replace("ret;", "foo; ret;"))
    with pytest.raises(InputError) as refused:
        ptxmm.run("k.ptx", "k", (2,), (1,), [x])
    assert [d.message for d in refused.value.diagnostics] == ["unknown instruction 'foo'"]
