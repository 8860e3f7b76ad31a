"""Annotations in sources and PTX: each is a test of the kernel below, and one with a mistake is told at its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from files import PTX

from ptxcore.diagnostics import InputError
from ptxmm.cli.main import main
from ptxmm.kernels.annotations import AnnotatedFile

ANNOTATED = f"""// ptxmm: grid=2 block=1 x=u32[1] n=1 forall="x[0] == 1"
//ptxmm : grid=[1, 1] block=1 x=u32[1] n=2 never="x[0] == 1" terminates expect=no
// ptxmm is no annotation here, and "// ptxmm: grid=1" is none
/* // ptxmm: grid=3 */
{PTX}"""


def test_each_annotation_is_a_test_of_the_kernel_below(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests").mkdir()
    Path("tests/k.ptx").write_text(ANNOTATED, encoding="utf-8")
    Path("tests/other.ptx").write_text(PTX, encoding="utf-8")
    Path("tests/other.cu").write_text("// ptxmm is no annotation\n", encoding="utf-8")
    assert main(["check", "tests"]) == 1
    rows = capsys.readouterr().out.split("\n")
    assert [row.split()[:2] for row in rows[:2]] == [["ok", "tests/k.ptx:k.1"], ["ok", "tests/k.ptx:k.2"]]
    (total,) = (row for row in rows if row.startswith("2 tests"))
    assert "2 ok; 1 not as expected" in total
    assert main(["check", "tests/k.ptx:k.1"]) == 0
    assert "ok  k.ptx:k.1" in capsys.readouterr().out
    assert main(["check", "tests/k.ptx:k.3"]) == 2
    assert "no test here is called 'k.3'" in capsys.readouterr().err


WRONG_LINES = [
    ("// ptxmm: grid=2 blok=1 x=u32[1] n=1", "1:18: 'blok' has no meaning here", "did you mean 'block'?"),
    ("// ptxmm: grid=2 block=1 x=u32[1]", "7:17: no argument for parameter 1", "as in NAME1=2, with"),
    ("// ptxmm: grid=2 block=1 x=u32[1] n=1 forall", "1:39: 'forall' claims nothing", "as in"),
    ("// ptxmm: grid=two block=1 x=u32[1] n=1", "1:16: one to three whole numbers", None),
    ("// ptxmm: grid=2 block=1 x=u32[1] n=1 terminates=yes", "1:50: 'terminates' is true or false", None),
    ('// ptxmm: grid=2 forall="x[0] == 1', "1:25: the value of 'forall' does not end", None),
    ("// ptxmm: grid=2 {}", "1:18: '{}' is no KEY=VALUE", "as in"),
    ("// ptxmm: grid=2 x= n=1", "1:18: 'x' has no value", None),
    ("// PTXMM: grid=2", "1:1: an annotation begins with // ptxmm:", "as in // ptxmm: grid=2"),
    ("/* ptxmm: grid=2 */", "1:1: an annotation begins with // ptxmm:", "as in // ptxmm: grid=2"),
    ("// ptxmm grid=2", "1:1: an annotation begins with // ptxmm:", "as in // ptxmm: grid=2"),
    *(
        (f"{begin}ptxmm: grid=2 */", "1:1: an annotation begins with // ptxmm:", "as in // ptxmm: grid=2")
        for begin in ("/** ", "/*! ", "/// ", "//! ", "/*\t")
    ),
    ("/*\n * ptxmm: grid=2\n */", "2:1: an annotation begins with // ptxmm:", "as in // ptxmm: grid=2"),
    *(
        (f"// ptxmm: grid=2 block=1 x=u32[1] n=1 {end}\n//{more}", "2:1: an annotation is one line: nobody", "behind what")
        for end, more in (("", '  forall="x[0] == 2"'), (" ", " terminates no_trap"), ("", " expect=no"), ("", "/ block=2"))
    ),
    ("// ptxmm: grid=2 block=1 x=u32[1] n=1 expect=fine", "1:46: a test expects", None),
    ('// ptxmm: grid=2 block=1 x=u32[1] n=1 forall="y[0] == 1"', "1:47: no parameter is called 'y'", None),
    ("// ptxmm: grid=2 grid=1 block=1 x=u32[1] n=1", "1:23: 'grid' is said twice", None),
    ("// ptxmm: grid=2 name=a/b", "1:18: a test's name", None),
    ("// ptxmm: entry=nobody", "1:17: the module has no kernel 'nobody'", "it has k"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message", "hint"), WRONG_LINES, ids=[line for line, _, _ in WRONG_LINES])
def test_mistakes_in_annotations_have_a_line_and_a_caret(here: Path, line: str, message: str, hint: str | None) -> None:
    text = line + PTX[PTX.index("\n") :]
    Path("k.ptx").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        AnnotatedFile(text, "k.ptx").test()
    found = error.value.diagnostics[0]
    assert f"{found.span.line}:{found.span.column}: {found.message}".startswith(message)
    assert hint is None or hint in (found.hint or "")
    assert error.value.path == "k.ptx" and "^" in str(error.value)


def test_an_argument_whose_name_is_taken_is_told_as_it_is_written(here: Path) -> None:
    for name, example in (
        ("progress", "as in arg.progress="),
        ("forall", "as in arg.forall="),
        ("other", "as in other="),
    ):
        kernel = f".visible .entry k(.param .u64 {name}) {{ ret; }}\n"
        text = f".version 9.0\n.target sm_90\n.address_size 64\n// ptxmm: grid=2 block=1\n{kernel}"
        Path("k.ptx").write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as error:
            AnnotatedFile(text, "k.ptx").test()
        assert example in (error.value.diagnostics[0].hint or "")
        AnnotatedFile(text.replace("block=1", f"block=1 arg.{name}=u32[1]"), "k.ptx").test()


def test_comments_that_say_nothing_of_a_test_are_left_alone() -> None:
    for line in ("// more", "// terminates when n is 0", "// n = 2 is enough", "// the grid=2 of old", "//"):
        before = "/* ptxmm is a checker:\n * of ptxmm: more\n * // ptxmm: grid=3\n */\n// ptxmm: grid=1\n"
        text = f"{before}{line}\n__global__ void k() {{}}\n"
        assert AnnotatedFile(text, "k.cu").variants == ["k"]


def test_a_header_with_annotations_is_a_test_of_a_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests").mkdir()
    Path("tests/plain.cuh").write_text("__global__ void k(int *x) {}\n", encoding="utf-8")
    Path("tests/k.ptx").write_text(f"{ANNOTATED.splitlines()[0]}\n{PTX}", encoding="utf-8")
    assert main(["check", "tests", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tests"]) == 1
    Path("tests/some.cuh").write_text("// ptxmm: grid=1 blok=1\n__global__ void k() {}\n", encoding="utf-8")
    assert main(["check", "tests"]) == 2 and "some.cuh:1:18: error: 'blok'" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_header_is_compiled_as_a_source_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = '#pragma once\n// ptxmm: grid=1 block=1 x=u32[1] forall="x[0] == 1"\n'
    Path("k.cuh").write_text(f"{head}__global__ void k(unsigned *x) {{ x[0] = 1; }}\n", encoding="utf-8")
    assert main(["check", "k.cuh"]) == 0, capsys.readouterr()


def test_an_annotation_below_its_kernel_is_refused() -> None:
    with pytest.raises(InputError, match="no kernel stands below"):
        AnnotatedFile(PTX + "// ptxmm: grid=1\n", "k.ptx")
    with pytest.raises(InputError, match="no kernel stands below"):
        AnnotatedFile("// ptxmm: grid=1\nint x;\n__global__ void k() {}\n", "k.cu")
    good = '// ptxmm: grid=1\n// more\nextern "C" {\ntemplate <class T>\n__global__ void __launch_bounds__(32) k(T *p) {}\n}'
    assert AnnotatedFile(good, "k.cu").variants == ["k"]
    named = "// ptxmm: entry=a name=one\n// ptxmm: entry=b\n"
    assert AnnotatedFile(named, "k.cu").variants == ["one", "b"]
    with pytest.raises(InputError, match="two tests are called 'one'"):
        AnnotatedFile("// ptxmm: entry=a name=one\n// ptxmm: entry=b name=one\n", "k.cu")
