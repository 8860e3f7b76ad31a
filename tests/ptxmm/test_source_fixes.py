"""Fixes of what lint advises, as edits of CUDA C++: what is proposed compiles, has no such finding any more, and checks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from annotated import missing, of_github
from campaigns import some
from sarif_shape import wrong

from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import Diagnostic, Edit, Fix, Span
from ptxcore.fixes import applied
from ptxmm import linting
from ptxmm.cli.main import main
from ptxmm.kernels.modules import ModuleError, PtxText
from ptxmm.source_fixes import SourceAdvice, _fix_of

ROOT = Path(__file__).resolve().parents[2]
compiled = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")

FLAG = """extern "C" __global__ void k({} *flag, int *data, int *out) {{
    if (blockIdx.x == 0) {{
        data[0] = 42;
        {}
    }} else {{
        {}
        out[0] = data[0];
    }}
}}
"""
LAUNCH = [
    "--entry",
    "k",
    "--grid",
    "2",
    "--block",
    "1",
    "--arg",
    "flag=s32[1]",
    "--arg",
    "data=s32[1]",
    "--arg",
    "out=s32[1]",
]
DIVERGENT = """extern "C" __global__ void k(int *x, int *out) {
    __shared__ int buffer[64];
    int t = threadIdx.x;
    buffer[t] = x[t];
    __syncthreads();
    if (t < 32) {
        buffer[t] += buffer[t + 32];
        __syncthreads();
    }
    out[t] = buffer[t & 31];
}
"""
#: A source, what is found in it, the lines that come, and the launch that is wrong without them and right with them.
CASES: dict[str, tuple[str, list[str], list[str], list[str]]] = {
    "volatile": (
        FLAG.format("volatile int", "*flag = 1;", "while (*flag == 0) ;"), ["volatile-synchronization"] * 2,
        ["#include <cuda/atomic>", "__threadfence_system();",
         "cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system);"], LAUNCH,
    ),
    "narrow": (
        FLAG.format("int", "__threadfence_block(); atomicExch(flag, 1);",
                    "while (atomicAdd(flag, 0) == 0) ; __threadfence_block();"), ["narrow-fence"] * 2,
        ["__threadfence(); atomicExch(flag, 1);", "while (atomicAdd(flag, 0) == 0) ; __threadfence();"], LAUNCH,
    ),
    "weak": (
        FLAG.format("int", "__threadfence(); atomicExch(flag, 1);", "while (flag[0] == 0) __nanosleep(9);"),
        ["weak-spin", "weak-atomic"],
        ["#include <cuda/atomic>",
         "while (cuda::atomic_ref<int, cuda::thread_scope_device>(flag[0]).load(cuda::memory_order_acquire) == 0) "
         "__nanosleep(9);"], LAUNCH,
    ),
    "asm": (
        FLAG.format("int", "__threadfence(); atomicExch(flag, 1);",
                    'int r; do { asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(r) : "l"(flag) : "memory"); } while (!r);'),
        ["relaxed-spin"],
        ['int r; do { asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(r) : "l"(flag) : "memory"); } while (!r);'], LAUNCH,
    ),
    "divergent": (DIVERGENT, ["divergent-barrier"], [], []),
}  # fmt: skip


@compiled
@pytest.mark.parametrize("name", some(3, ("narrow", "volatile", "weak", "divergent", "asm")))
def test_what_is_proposed_mends_the_source(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, codes, lines, launch = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(source, encoding="utf-8")
    assert not launch or main(["check", "k.cu", *launch]) == 1
    capsys.readouterr()
    assert main(["lint", "k.cu", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["files"][0]["diagnostics"]
    assert sorted(d["code"] for d in found) == sorted(codes)
    count = sum(d["fix"] is not None for d in found)  # what mends one may mend another one, too
    assert count >= len(set(codes)) - (name == "weak")
    assert main(["lint", "k.cu", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert Path("k.cu").read_text(encoding="utf-8") == source
    assert main(["lint", "k.cu", "--fix"]) == 0
    assert f"; {count} fixed" in capsys.readouterr().out
    mended = Path("k.cu").read_text(encoding="utf-8").splitlines()
    come = [line.strip() for line in mended if line not in source.splitlines()]
    assert sorted(come) == sorted(lines)
    assert [
        line[1:] for line in shown.splitlines() if line[:1] == "+" and line[:3] != "+++" and line[1:] not in mended
    ] == []
    assert main(["lint", "k.cu"]) == 0 and capsys.readouterr().out == ""
    assert not launch or main(["check", "k.cu", *launch]) == 0


@compiled
@pytest.mark.part(6)
@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/mistakes/*/wrong.cu")), ids=lambda path: path.parent.name)
def test_what_is_found_in_the_museum_has_a_fix_that_leaves_nothing(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(path, tmp_path / "k.cu")
    assert main(["lint", str(tmp_path / "k.cu"), "--fix"]) == 0
    capsys.readouterr()
    assert main(["lint", str(tmp_path / "k.cu")]) == 0
    assert capsys.readouterr().out == ""


# With a compiler of the test's own.

SOURCE = """__global__ void k(int *flag, int *data) {
    while (load(flag, cuda::memory_order_relaxed) == 0) ;
    use(*data);
}
"""
MODULE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
$L1:
	.loc 1 2 12
	ld.relaxed.gpu.global.u32 %r1, [%rd1];
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra $L1;
	.loc 1 3 5
	ld.global.u32 %r2, [%rd2];
	setp.eq.u32 %p2, %r2, 7;
	@%p2 trap;
	ret;
}
	.file 1 "k.cu"
"""


def compile_as(orders: dict[str, str]) -> object:
    """A compiler that knows `SOURCE`, and what becomes of the load in each order."""

    def compile_changed(text: str, path: str, options: Sequence[str], source: str = "") -> str:
        for order, name in orders.items():
            if text == SOURCE.replace("order_relaxed", f"order_{order}"):
                return MODULE.replace("ld.relaxed.gpu", name)
        raise ModuleError("k.cu does not compile", "nvcc says:", "no")

    return compile_changed


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = PtxText(MODULE, "k.cu.ptx", "k.cu")
    monkeypatch.setattr("ptxmm.kernels.modules.of_file", lambda path, options: made)
    Path("k.cu").write_bytes(SOURCE.encode())
    return tmp_path / "k.cu"


def compiler(monkeypatch: pytest.MonkeyPatch, **orders: str) -> None:
    for module in ("ptxmm.repair.cuda.proof", "ptxmm.source_fixes"):
        monkeypatch.setattr(f"{module}.compile_changed", compile_as(orders))


def fixes() -> list[Fix]:
    found = linting.lint_text(MODULE)
    assert [d.code for d in found] == ["relaxed-spin"]
    made = PtxText(MODULE, "k.cu.ptx", "k.cu")
    return list(SourceAdvice(made, SOURCE, found, linting.lint_text).fixes().values())


def test_a_fix_is_one_edit_of_the_words_that_change(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(monkeypatch, acquire="ld.acquire.gpu")
    (fix,) = fixes()
    assert fix.edits == (Edit(Span(2, 42, 49), "acquire"),)
    assert applied(SOURCE, [Diagnostic(Span(2, 5, 9), "", fix=fix)])[0] == SOURCE.replace("relaxed", "acquire")


@pytest.mark.parametrize(
    "becomes",
    [
        "ld.relaxed.sys",  # lint says the same of it
        "ld.acquire.sys",  # more than was wanted
        "ld.acquire.cta",  # less, and another finding
        "fence.sc.gpu;\n\tld.relaxed.gpu",  # a fence in the wrong place
        "st.global.u32 [%rd2], 1;\n\tld.acquire.gpu",  # something else as well
    ],
)
def test_what_does_something_else_is_no_fix(source: Path, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(monkeypatch, acquire=becomes)
    assert fixes() == []


def test_who_cannot_compile_has_no_fix(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(monkeypatch)
    assert fixes() == []


def test_where_the_time_is_over_what_was_found_is_told(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(monkeypatch, acquire="ld.acquire.gpu")
    made = PtxText(MODULE, "k.cu.ptx", "k.cu")

    def late(text: str) -> list[Diagnostic]:
        raise OutOfTime

    found = linting.lint_text(MODULE)
    assert SourceAdvice(made, SOURCE, found, late).fixes() == {}
    (fix,) = fixes()
    two = [d._replace(fix=f) for d, f in zip(found * 2, (fix, Fix("", (Edit(Span(1, 1, 1), "//\n"),))), strict=True)]
    assert SourceAdvice(made, SOURCE, found, late).mended(two) == (SOURCE, [])


def test_fixes_are_annotated_at_lines_of_the_source(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler(monkeypatch, acquire="ld.acquire.gpu")
    assert main(["lint", "k.cu", "--format", "github"]) == 0
    out = capsys.readouterr().out
    places = list(of_github(out))
    assert [(place.path, place.line) for place in places] == [("k.cu", 2)] and not missing(places[0])
    assert "%0Afix: line 2 becomes: while (load(flag, cuda::memory_order_acquire) == 0) ;" in out
    assert main(["lint", "k.cu", "--format", "sarif"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert wrong(document) == [] and "fixes" in document["runs"][0]["results"][0]
    assert main(["lint", "k.cu", "gone.ptx", "--format", "github"]) == 2
    assert list(of_github(capsys.readouterr().out))[-1].path == "gone.ptx"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_source_keeps_the_ends_of_its_lines(
    source: Path, ending: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler(monkeypatch, acquire="ld.acquire.gpu")
    source.write_bytes(SOURCE.replace("\n", ending).encode())
    new = MODULE.replace("ld.relaxed", "ld.acquire")
    assert main(["lint", "k.cu", "--diff"]) == 0
    assert "+    while (load(flag, cuda::memory_order_acquire) == 0) ;" in capsys.readouterr().out
    monkeypatch.setattr(
        "ptxmm.kernels.modules.of_file",
        lambda path, options: PtxText(new if b"acquire" in source.read_bytes() else MODULE, "k.cu.ptx", "k.cu"),
    )
    assert main(["lint", "k.cu", "--fix"]) == 0
    assert capsys.readouterr().out == "1 file: 0 errors, 0 warnings; 1 fixed\n"
    assert source.read_bytes() == SOURCE.replace("relaxed", "acquire").replace("\n", ending).encode()


# Edits of several lines.

OLD = "a\n  b\nc\nd\n"


@pytest.mark.parametrize(
    "new",
    ["a\nc\nd\n", "a\n  b\nc\n", "a\n  b\n  x\nc\nd\n", "a\n  B\nC\nd\n", "x\na\n  b\nd\nc\n", "", "a\n  b\nc\nd",
     "a\n  b\n  b\nc\nd\n"],
)  # fmt: skip
def test_a_fix_makes_one_text_of_another(new: str) -> None:
    fix = _fix_of(OLD, new)
    text, (mended,) = applied(OLD, [Diagnostic(Span(1, 1, 1), "", fix=fix)])
    assert text == new and mended.fix == fix


def test_edits_of_several_lines_that_overlap_are_not_made_together() -> None:
    long, short = (Fix("", (edit,)) for edit in (Edit(Span(2, 3, 2), "x", 1), Edit(Span(3, 1, 1), "y")))
    found = [Diagnostic(Span(1, 1, 1), "", code=code, fix=fix) for code, fix in (("long", long), ("short", short))]
    text, mended = applied(OLD, found)
    assert text == "a\n  x\nd\n" and mended == found[:1]
