"""`ptxmm init`: what it writes is the test that `ptxmm check` makes of the same words, with guesses for the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from files import PTX
from typed_launches import SAME, bare, typed

from ptxmm.cli.main import main
from ptxmm.kernels.asked import UNCLAIMED, AskedKernel, Said
from ptxmm.kernels.modules import PtxText
from ptxmm.kernels.toml import KernelFile

#: Kernels with parameters of every sort; what a test to begin with says of each.
SIGNATURES = [
    ("", 'arg0 = {type = "u32", elements = 4}', 'arg1 = {type = "u32", value = 2}', "block = 1 "),
    (
        ".reqntid 32, 2",
        'arg0 = {type = "u32", elements = 512}',
        'arg1 = {type = "u32", value = 128}',
        "block = [32, 2] ",
    ),
    (".reqnctapercluster 4", "grid = [8] ", "arg0 = {", "[check]"),
]


@pytest.mark.parametrize(("directives", "first", "second", "third"), SIGNATURES, ids=[s[0] for s in SIGNATURES])
def test_what_init_writes_is_taken_at_once(
    here: Path, directives: str, first: str, second: str, third: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src").mkdir()
    (here / "src" / "k.ptx").write_text(PTX.replace(")\n{", f")\n{directives}\n{{"), encoding="utf-8")
    assert main(["init", "src/k.ptx"]) == 0
    assert "ptxmm check src/k.toml" in capsys.readouterr().out
    text = Path("src/k.toml").read_text(encoding="utf-8")
    assert all(part in text for part in (first, second, third, 'ptx = "k.ptx"', 'entry = "k"'))
    test = KernelFile(text, "src/k.toml").test()
    assert [c.kind for c in test.checks] == ["race_free", "terminates", "no_trap"]
    assert [p.name for p in test.parameters] == ["arg0", "arg1"]
    claimed = text.replace("# forall", "forall")
    assert len(KernelFile(claimed, "src/k.toml").test().checks) == 4
    assert main(["init", "src/k.ptx"]) == 2
    assert (
        "there is such a file already" in capsys.readouterr().err
        and Path("src/k.toml").read_text(encoding="utf-8") == text
    )
    assert main(["init", "src/k.ptx", "--force"]) == 0 and main(["init", "src/k.ptx", "-o", "t.toml"]) == 0
    assert 'ptx = "src/k.ptx"' in Path("t.toml").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["init", "src/k.ptx", "-o", "-"]) == 0 and 'ptx = "src/k.ptx"' in capsys.readouterr().out


def test_init_of_structures_and_of_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PTX.replace(".param .u32 k_param_1", ".param .align 8 .b8 k_param_1[16],\n .param .f64 k_param_2")
    Path("k.ptx").write_text(text + ".extern .shared .b8 room[];", encoding="utf-8")
    assert main(["init", "k.ptx"]) == 0
    written = Path("k.toml").read_text(encoding="utf-8")
    assert "arg1 = {bytes = 16, fields = []}" in written and 'arg2 = {type = "f64", value = 1}' in written
    assert "dynamic_shared = 1024" in written and len(KernelFile(written, "k.toml").test().parameters) == 3
    none = "\n".join([*PTX.split("\n")[:4], ".visible .entry none() { ret; }"])
    Path("none.ptx").write_text(none, encoding="utf-8")
    assert main(["init", "none.ptx"]) == 0 and main(["check", "none.toml"]) == 0
    assert main(["check", "none.ptx", "--grid", "1", "--block", "1"]) == 0
    capsys.readouterr()
    for words, message in (
        (["init", "k.toml"], "FILE.cu or FILE.ptx"),
        (["init", "nobody.ptx"], "cannot read nobody.ptx"),
        (["init", "k.ptx", "--entry", "kk"], "no kernel 'kk'"),
        (["init", "k.ptx", "-o", "no/folder.toml"], "cannot write"),
    ):
        assert main(words) == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("words", [words for words, _ in SAME], ids=range(len(SAME)))
def test_init_writes_what_it_is_told(here: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The very test that `ptxmm check` makes of the same words; nothing is left to guess then."""
    assert main(["init", "k.ptx", *words, "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert "<-" not in text.partition("\n")[2]
    assert bare(KernelFile(text, "k.toml").test()) == bare(typed(words))


def test_init_writes_files_as_the_test_sees_them_and_guesses_the_rest(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("in.npy", numpy.array([3, 4], numpy.uint32))
    (here / "tests").mkdir()
    assert main(["init", "k.ptx", "--block", "3", "--arg", "0=in.npy", "-o", "tests/k.toml"]) == 0
    text = Path("tests/k.toml").read_text(encoding="utf-8")
    test = KernelFile(text, "tests/k.toml").test()
    assert 'init = "../in.npy"' in text and "block = 3\n" in text and test.launches[0].block == (3, 1, 1)
    assert "grid = 2  # <-" in text and "value = 6}  # .u32 k_param_1; <-" in text
    assert [c.kind for c in test.checks] == list(UNCLAIMED)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--arg", "7=1"], "ptxmm init:1:"),
        (["--arg", "0=u33[1]"], "no type .u33"),
        (["--forall", "q == 1"], "'q'"),
        (["--grid", "1", "--launch", "k"], "leave out --launch"),
        (["--arg", "0"], "write NAME=VALUE"),
    ],
)
def test_init_refuses_what_check_would(
    here: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "k.ptx", *words]) == 2
    assert message in capsys.readouterr().err and not Path("k.toml").exists()


@pytest.mark.parametrize("words", [["--nvcc", "-DV=1"], ["--nvcc=-DV=1"], ["--nvcc", "-DV=1 -O2"]])
def test_options_of_the_compiler_are_no_options_of_ours(
    here: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-DV=1", "-O2"] if "-O2" in words[-1] else ["-DV=1"]
    assert main(["init", "k.ptx", *words, "-o", "-"]) == 0
    assert f"nvcc = {options}\n".replace("'", '"') in capsys.readouterr().out


def test_init_of_every_kernel_of_the_examples(here: Path) -> None:
    from ptxmm.kernels.skeleton import skeleton

    seen = 0
    for path in sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ptx")):
        for entry in PtxText(path.read_text(encoding="utf-8"), path.name).entries():
            text = skeleton(AskedKernel(str(path), said=(Said("entry", entry),)), str(path.parent))
            test = KernelFile(text, str(path.with_suffix(".toml"))).test()
            assert test.launches[0].entry == entry and '"u64", value' not in text
            seen += 1
    assert seen >= 10
