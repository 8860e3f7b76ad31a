"""Barriers of the whole grid, which are code and no instruction: `cooperative_groups::this_grid().sync()`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.kernels.test import KernelTest
from ptxmm.repair import words
from ptxmm.repair.cuda.spellings import statements
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.grid_barrier import GRID_BARRIER, WORKSPACE
from ptxmm.repair.grid_sites import is_of_grid
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.subjects import How

#: Each block tells its number, and reads what the next one tells, as if all blocks had met in between.
UNMET = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.relaxed.gpu.global.u32 [%rd3], 1;
	xor.b32 %r2, %r1, 1;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.relaxed.gpu.global.u32 %r3, [%rd3];
	st.global.u32 [%rd3+8], %r3;
	ret;
}
"""
#: A block that is not the first one ends at once.
_LEAVES = UNMET.replace("mul.wide", "setp.ne.u32 %p1, %r1, 0;\n\t@%p1 ret;\n\tmul.wide", 1).replace(
    ".reg .b64", ".reg .pred %p<2>;\n\t.reg .b64", 1
)


def _subject(
    folder: Path, text: str = UNMET, forall: str = "out[2] == 1 && out[3] == 1", cluster: int = 1
) -> KernelSubject:
    (folder / "k.ptx").write_text(text, encoding="utf-8")
    (folder / "k.toml").write_text(
        f'ptx = "k.ptx"\nentry = "k"\ngrid = 2\ncluster = {cluster}\nblock = 1\n'
        f'[params]\nout = {{type = "u32", elements = 4}}\n[check]\nforall = "{forall}"\n',
        encoding="utf-8",
    )
    test = ptxmm.load(folder / "k.toml")
    assert isinstance(test, KernelTest)
    return KernelSubject(test, How())


def _answer(subject: KernelSubject) -> Answer:
    return answered(subject, "repair", every=False, most=None)


def test_blocks_that_nothing_else_makes_meet_meet_at_a_barrier_of_the_grid(tmp_path: Path) -> None:
    """It stands between what a block tells and what it reads, and nothing less would do."""
    found = _answer(_subject(tmp_path))
    (change,) = found.found[0].changes
    assert found.status == 0 and "a barrier of the whole grid" in change.words and found.found[0].minimal
    assert (
        found.found[0].text.index("st.relaxed")
        < found.found[0].text.index(WORKSPACE)
        < found.found[0].text.index("ld.relaxed")
    )


def test_blocks_of_a_cluster_meet_at_its_own_barrier(tmp_path: Path) -> None:
    found = _answer(_subject(tmp_path, cluster=2))
    assert found.status == 0 and WORKSPACE not in found.found[0].text and not found.subject.beyond


def test_where_nothing_was_found_it_is_told_which_such_barriers_were_not_tried(tmp_path: Path) -> None:
    found = _answer(_subject(tmp_path, forall="out[2] == 7"))
    (told,) = found.subject.beyond
    assert found.status == 1 and told.startswith("a barrier of the whole grid together with other changes")
    assert told in words.document(found)["not_considered"]


def test_a_block_that_ends_before_it_leaves_the_others_waiting(tmp_path: Path) -> None:
    """Though the test claims nothing of that: no execution ends, and so none is wrong."""
    subject = _subject(tmp_path, _LEAVES)
    judged = subject.judge(_LEAVES.replace("xor.b32", f"{GRID_BARRIER}\n\txor.b32", 1))
    assert judged.holds is False and judged.waits


@pytest.mark.parametrize(("text", "sure"), [(UNMET, True), (_LEAVES, False)])
def test_where_all_come_by_is_known_from_the_text(text: str, sure: bool, tmp_path: Path) -> None:
    """Where some block may have ended before, what is learned from a text with the barrier says nothing of one without."""
    options = [site.options[-1] for site in _subject(tmp_path, text).sites("repair", True)]
    behind = [
        o
        for o in options
        if is_of_grid(o) and o.wanted is not None and "ld.relaxed" in text.split("\n")[o.wanted.line - 1]
    ]
    assert [(o.sure, o.alters) for o in behind] == [(sure, not sure)]


def test_it_is_a_call_in_cuda() -> None:
    assert statements(GRID_BARRIER, "", "", True)[0].code == "cooperative_groups::this_grid().sync();"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_source_gets_it_and_checks_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(const float *a, float *b, float *c, unsigned n) {\n"
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n    b[i] = a[i] * 2;\n    __syncthreads();\n"
        "    c[i] = b[(i + 1) % n];\n}\n",
        encoding="utf-8",
    )
    given = [
        str(source),
        "--grid",
        "2",
        "--block",
        "2",
        "--arg",
        "a=f32[16]",
        "--arg",
        "b=f32[16]",
        "--arg",
        "c=f32[16]",
    ]
    given += ["--arg", "n=4", "--timeout", "300"]
    assert main(["check", *given]) == 1
    assert main(["repair", *given, "--apply"]) == 0
    assert "cooperative_groups::this_grid().sync();" in source.read_text(encoding="utf-8")
    assert main(["check", *given]) == 0
    assert "a barrier of the whole grid (of a cooperative launch) is put in" in capsys.readouterr().out
