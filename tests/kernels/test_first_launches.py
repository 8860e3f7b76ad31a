"""A launch to begin with, of what is made in several files, or of a template: as CUDA samples are."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.kernels.headers import advice
from ptxmm.kernels.plain_names import by_turns, numbers_in_name

NAMED = """#pragma once
template <unsigned int Size, bool Even> __global__ void last(const float *in, float *out) {
    __shared__ float all[Size];
    all[threadIdx.x] = in[blockIdx.x * Size + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * Size + threadIdx.x] = all[Size - 1 - threadIdx.x];
}
template <unsigned int Size, bool Even> __global__ void first(const float *in, float *out) { out[0] = in[threadIdx.x]; }
"""
SEVERAL = """#include "told.h"
#include "parts/kernels.cuh"
template __global__ void last<64, true>(const float *, float *);
template __global__ void last<32, true>(const float *, float *);
template __global__ void first<64, true>(const float *, float *);
"""


def test_a_header_that_is_missing_is_named_where_one_stands_nearby(tmp_path: Path) -> None:
    source = tmp_path / "samples" / "sum" / "sum.cu"
    source.parent.mkdir(parents=True)
    said = f"{source}:1:10: fatal error: told.h: No such file or directory\n    1 | #include"
    assert advice(said, str(source)) == ""
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "told.h").write_text("", encoding="utf-8")
    folder = os.path.relpath(tmp_path / "common")
    wanted = f"told.h is in {folder}: --nvcc '-I {folder}' says so (nvcc = [...] in a kernel test)"
    assert advice(said, str(source)) == wanted
    assert advice(f"{source}(1): fatal error C1083: Cannot open include file: 'told.h'", str(source)) == wanted
    assert advice("sum.cu(3): error: expected a ';'", str(source)) == ""


def test_of_many_instances_each_kernel_comes_first_once() -> None:
    several = ["_Z4lastILj64ELb1EEvPKfPf", "_Z4lastILj32ELb1EEvPKfPf", "_Z5firstILj64ELb1EEvPKfPf"]
    assert by_turns(several) == [several[0], several[2], several[1]]
    assert [numbers_in_name(entry) for entry in (several[1], "plain")] == [[32], []]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_kernel_of_a_header_is_told_by_its_names_and_has_as_many_threads_as_it_is_an_instance_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sample").mkdir()
    (tmp_path / "common").mkdir()
    monkeypatch.chdir(tmp_path / "sample")
    Path("parts").mkdir()
    Path("../common/told.h").write_text("", encoding="utf-8")
    Path("parts/kernels.cuh").write_text(NAMED, encoding="utf-8")
    Path("all.cu").write_text(SEVERAL, encoding="utf-8")
    assert main(["check", "all.cu"]) == 2
    said = capsys.readouterr().err.splitlines()
    proposed = [shlex.split(line) for line in said if line.startswith("    ptxmm check")]
    words = [dict(zip(line[3::2], line[4::2], strict=True)) for line in proposed]
    assert {w["--nvcc"] for w in words} == {"-I ../common"}  # where a header is that is missing beside the source
    assert [(w["--entry"], w["--block"]) for w in words] == [
        ("last<64u, true>", "64"), ("first", "64"), ("last<32u, true>", "32"),
    ]  # fmt: skip
    assert [line[-3] for line in proposed] == ["in=f32[512]=1", "in=f32[512]=1", "in=f32[256]=1"]
    assert main(proposed[2][1:]) == 0


KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry {}(.param .u64 out)
{{
	.reg .b32 %r<5>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r3, %ctaid.x;
	{}
	ret;
}}
"""
SHUFFLE = "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;"


@pytest.mark.parametrize(
    ("entry", "body", "block"),
    [
        ("k", "", "2"),
        ("k", SHUFFLE, "32"),
        ("k", f"{SHUFFLE} bar.sync 0;", "64"),
        ("_Z3sumILj128EEvPf", SHUFFLE, "128"),
        ("_Z3mulILi16EEvPf", "mov.u32 %r2, %tid.y;", "16,16"),
        ("_Z3mulILi16EEvPf", "", "2"),
        ("_Z3mulILi100EEvPf", "", "2"),
    ],
)
def test_a_block_is_as_large_as_the_kernel_shows(
    entry: str, body: str, block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(KERNEL.format(entry, body), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    words = shlex.split(capsys.readouterr().err.splitlines()[-1])
    assert words[words.index("--block") + 1] == block
    assert main(words[1:]) == 0


LOOP = """mov.u32 %r1, 0;
L:	add.u32 %r1, %r1, 1; shr.u32 %r4, %r1, SHIFT; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r4;
	ld.param.u32 %r2, [n]; shr.u32 %r2, %r2, SHIFT; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;"""
GUARDED = """ld.param.u32 %r2, [n]; setp.ge.u32 %p1, %r1, %r2; @%p1 bra D;
	ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], 1;
D:"""
#: Three stores for each whole 64 of a number, by threads of the second warp.
FAR = """setp.lt.u32 %p1, %r1, 32; @%p1 bra D; mov.u32 %r4, 0;
L:	ld.param.u32 %r2, [n]; shr.u32 %r2, %r2, 6; setp.ge.u32 %p1, %r4, %r2; @%p1 bra D;
	ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r4; st.global.u32 [%rd1], 1; st.global.u32 [%rd1], 2;
	add.u32 %r4, %r4, 1; bra L;
D:"""


def proposed(path: Path, body: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    text = KERNEL.format("k", body).replace(".param .u64 out", ".param .u64 out, .param .u32 n")
    path.write_text(text.replace(".reg .b32 %r<5>;", ".reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .pred %p<2>;"), "utf-8")
    assert main(["check", str(path)]) == 2
    words = shlex.split(capsys.readouterr().err.splitlines()[-1])[3:]
    names = [
        word if word != "--arg" else value.split("=")[0] for word, value in zip(words[::2], words[1::2], strict=True)
    ]
    return dict(zip(names, (value.split("=", 1)[-1] for value in words[1::2]), strict=True))


@pytest.mark.parametrize(
    ("body", "block", "number"),
    [
        (f"{SHUFFLE} {LOOP.replace('SHIFT', '0')}", "32", "4"),  # rounds: four show what sixty-four do
        (f"{SHUFFLE} {GUARDED}", "32", "64"),  # all threads are let in
        (FAR, "64", "512"),  # four rounds
    ],
)
def test_a_number_lets_all_threads_in_and_makes_loops_go_a_few_rounds(
    body: str, block: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = proposed(tmp_path / "k.ptx", body, capsys)
    assert (words["--block"], words["arg1" if "arg1" in words else "n"]) == (block, number)


@pytest.mark.parametrize(
    ("body", "grid", "cluster"),
    [("barrier.cluster.arrive; barrier.cluster.wait;", "4", "2"), ("bar.sync 0;", "2", None)],
)
def test_what_clusters_do_is_launched_in_clusters(
    body: str, grid: str, cluster: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = proposed(tmp_path / "k.ptx", body, capsys)
    assert (words["--grid"], words.get("--cluster")) == (grid, cluster)


EARLY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 data)
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [data]; st.global.u32 [%rd1], 7;
	LETS
	ret;
}
.visible .entry second(.param .u64 data, .param .u64 out)
{
	.reg .b64 %rd<3>; .reg .b32 %r<2>;
	ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out];
	ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;
	ret;
}
"""


@pytest.mark.parametrize("early", [True, False])
def test_kernels_of_which_one_lets_the_next_begin_early_are_launched_together(
    early: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(EARLY.replace("LETS", "griddepcontrol.launch_dependents;" * early), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("    ptxmm check")]
    assert len(lines) == 2 + early and ("--launch first --launch second" in lines[0]) == early
    assert all("--entry" in line for line in lines[early:])
    assert main(shlex.split(lines[0])[1:]) == 1
