"""Waits for the launch before, in kernels that may begin before that one is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.repair.cuda.spellings import statements

_KERNELS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 data)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [data];
    st.global.u32 [%rd1], 7;
    LETS
    ret;
}
.visible .entry second(.param .u64 data, .param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [out];
    st.global.u32 [%rd2+4], 3;
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%rd2], %r1;
    ret;
}
"""
_LAUNCHED = [
    "--grid",
    "1",
    "--block",
    "1",
    "--arg",
    "data=u32[1]",
    "--arg",
    "out=u32[2]",
    "--launch",
    "first",
    "--launch",
]


def test_who_begins_early_waits_before_it_reads_what_the_launch_before_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The wait stands before the first access that needs it, or further up; and a weaker set of atomic accesses costs more."""
    path = tmp_path / "k.ptx"
    path.write_text(_KERNELS.replace("LETS", "griddepcontrol.launch_dependents;"), encoding="utf-8")
    claimed = [str(path), *_LAUNCHED, "second", "--forall", "out[0] == 7", "--timeout", "300"]
    assert main(["check", *claimed]) == 1
    assert main(["repair", *claimed, "--apply"]) == 0
    said = capsys.readouterr().out
    assert "griddepcontrol.wait is put in before this" in said and "repair 1: 1 edit" in said
    assert main(["check", *claimed, "--races"]) == 0


def test_where_none_begins_early_there_is_no_such_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(_KERNELS.replace("LETS", ""), encoding="utf-8")
    assert main(["repair", str(path), *_LAUNCHED, "second", "--forall", "out[0] == 8", "--timeout", "300"]) == 1
    assert "griddepcontrol" not in capsys.readouterr().out


def test_it_is_a_call_in_cuda() -> None:
    assert statements("griddepcontrol.wait", "", "", True)[0].code == "cudaGridDependencySynchronize();"
