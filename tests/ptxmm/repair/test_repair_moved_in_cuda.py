"""What hands over comes later in the source, too: a statement of its own lines, behind a later one of its block."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.repair.cuda.candidates import candidates
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.sites import MOVE, Wanted, edited

compiled = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")

SOURCE = """__global__ void k(int *x, int *y) {
    commit();
    x[0] = 1;
    for (int i = 0; i < 2; i++) {
        x[i] = 2;
    }
    if (x[3]) {
        arrive();
    }
    first(); second();
    last();
}
"""


def _moved(line: int, behind: int) -> list[str]:
    """The lines of the source with what stands in a line behind that of another one; empty where that cannot be."""
    found = candidates(CudaCode(SOURCE), Wanted(MOVE, 7, 9), [(line, 0)], [(behind, 0)])
    return [line.strip() for line in edited(SOURCE, found[0].edits).split("\n")] if found else []


def test_a_statement_comes_behind_a_later_one() -> None:
    lines = _moved(2, 3)
    assert lines[1:3] == ["x[0] = 1;", "commit();"] and len(lines) == len(SOURCE.split("\n"))


def test_a_statement_comes_behind_the_loop_that_holds_the_later_one() -> None:
    lines = _moved(2, 5)
    assert lines[4:6] == ["}", "commit();"] and lines.count("commit();") == 1


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        (3, 2),  # it would come earlier
        (2, 2),
        (8, 10),  # out of the block that is governed by a condition
        (10, 11),  # one of two on its line
        (4, 7),  # the head of a loop
    ],
)
def test_what_is_no_statement_of_its_own_or_leaves_its_block_stays(line: int, behind: int) -> None:
    assert _moved(line, behind) == []


COMMITTED = """#include <cuda_pipeline.h>
extern "C" __global__ void bring(const int4 *in, int *out) {
    __shared__ int4 tile[2];
    int t = threadIdx.x;
    __pipeline_commit();
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int4));
    __pipeline_wait_prior(0);
    out[t] = tile[t].x;
}
"""


@pytest.mark.long
@compiled
def test_a_commit_before_its_copy_is_moved_in_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "bring.cu"
    source.write_text(COMMITTED, encoding="utf-8")
    words = ["--grid", "1", "--block", "1", "--arg", "in={type='s32',elements=4,init=[7]}", "--arg", "out=s32[1]", "--forall",
             "out[0] == 7"]  # fmt: skip
    assert main(["repair", str(source), *words, "--apply"]) == 0
    assert "compiled again and proven by check" in capsys.readouterr().out
    text = source.read_text(encoding="utf-8")
    assert text.index("memcpy_async") < text.index("__pipeline_commit") < text.index("wait_prior")
    assert sorted(text.split("\n")) == sorted(COMMITTED.split("\n"))
