"""`--format herd`: every line as herd7's tools read it, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from campaigns import LONG
from herd_log import LogError, read

from ptxmm.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
LITMUS = """PTX NAME
{ x = 0; y = 0; }
P0@cta 0,gpu 0 { st.weak.u32 [x], 1; st.relaxed.gpu.u32 [y], 1; }
P1@cta 1,gpu 0 { ld.acquire.gpu.u32 %r0, [y]; ld.weak.u32 %r1, [x]; }
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""


def log(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["check", "--format", "herd", "--jobs", "1", *arguments])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "options"),
    [
        ("message-passing", ()),
        pytest.param("", (), marks=LONG),
        pytest.param("", ("--races", "--all-registers", "--unroll", "2"), marks=LONG),
    ],
)
def test_every_line_of_the_librarys_log_is_read(
    part: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ROOT / "litmus" / "library" / part
    files = sorted(map(str, folder.rglob("*.litmus")))
    blocks = read(log(capsys, *files, *options))
    tests = len(files)
    print(f"{len(blocks)} blocks of {tests} tests, {sum(len(b.states) for b in blocks)} states")
    assert len(blocks) >= 0.98 * tests  # those that are not decided within so few turns have no block
    assert sum(b.condition is not None for b in blocks) == len(blocks)
    assert any(b.flags for b in blocks) == bool(options)
    for block in blocks:
        if block.answer != "Undef" and block.states:
            witnesses = block.negative if block.kind != "Allowed" else block.positive
            assert (block.answer == "Ok") == (witnesses > 0 if block.kind == "Allowed" else witnesses == 0)


@pytest.mark.parametrize(
    "bad",
    [
        "Test a b Allowed\n", "Test a Allowed\nStates 1\n[g[0]]=2;\nOk\n", "Test a Allowed\nStates 1\n1:%r0=2;\nOk\n",
        "Test a Allowed\nStates 1\nx=1\nOk\n", "Test a Allowed\nStates 1\n[x_1]=1;\nOk\n",
        "Test a:b Allowed\n", "Test a Allowed\nStates 0\nno\n", "Test a Allowed\nStates 2\nx=1;\nOk\n",
    ],
)  # fmt: skip
def test_the_reader_refuses_what_their_tools_do(bad: str) -> None:
    with pytest.raises(LogError):
        read(bad)


POINTERS = """PTX pointers
{ x = 0; y = 7; p = &x; big = 0; g[4] = {1,2,3,4}; }
P0@cta 0 { ld.relaxed.gpu.u64 %rd0, [p]; mov.u64 %rd1, g; add.u64 %rd1, %rd1, 8; mov.u64 %rd2, -1; mov.s32 %r6, -5; }
P1@cta 1 { mov.u64 %rd1, y; st.relaxed.gpu.u64 [p], %rd1; }
locations [p; 0:rd1; 0:rd2; g[2]; 0:r6; x;]
exists (0:rd0 = &x /\\ g[0] = 1 /\\ 0:rd2 != 18446744073709551615 \\/ ~(x = 3))
"""


def test_pointers_are_names_and_elements_have_one_bracket(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pointers.litmus"
    path.write_text(POINTERS, encoding="utf-8")
    (block,) = read(log(capsys, str(path)))
    assert sorted(s["0:rd0"] for s in block.states) == ["x", "y"]
    for state in block.states:
        assert (state["[p]"], state["0:rd1"], state["g[2]"], state["g[0]"], state["[x]"]) == ("y", "g.8", "3", "1", "0")
        assert int(state["0:rd2"], 0) in (-1, (1 << 64) - 1) and state["0:r6"] == "-5"
        assert state["0:rd2"].startswith(("0x", "-"))


def test_numbers_are_no_pointers_where_nobody_takes_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "number.litmus"
    path.write_text(
        "PTX n\n{ x = 0; }\nP0 { mov.u32 %r0, 1342177280; }\nexists (0:r0 = 1342177280)\n", encoding="utf-8"
    )
    (block,) = read(log(capsys, str(path)))
    assert block.states == [{"0:r0": "1342177280"}] and block.answer == "Ok"


@pytest.mark.parametrize("name", ["a b", "a\x1b[31mRED", "::stop-commands::x", "ü", "a,b=c;", "MP+rel.gpu@cta"])
def test_names_are_such_as_they_have(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "named.litmus"
    path.write_text(LITMUS.replace("NAME", name), encoding="utf-8")
    text = log(capsys, str(path))
    read(text)
    assert text.isascii() and text.replace("\n", "").isprintable()


def test_races_are_flags_and_the_answer_is_about_the_condition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "race.litmus"
    path.write_text(LITMUS.replace("~exists", "exists"), encoding="utf-8")
    (block,) = read(log(capsys, str(path), "--races"))
    assert (block.answer, block.flags) == ("Ok", ["data-race"])
    assert main(["check", str(path), "--races", "--format", "herd"]) == 1


def test_kernel_tests_have_blocks_too(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = read(log(capsys, str(ROOT / "examples" / "lock.toml"), "--races"))
    assert [(b.name, b.answer) for b in blocks] == [("lock.toml[3a]correct", "Ok"), ("lock.toml[3a]weak", "No")]
    assert [s["counter[0]"] for s in blocks[0].states] == ["2"]


def test_names_of_places_are_such_as_they_have_and_stay_different(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["a_b", "a__b", "_a_b", "u_a_b", "$a", "a$b", "$", "$_a", "ab", "$1", "_"]
    path = tmp_path / "places.litmus"
    init = " ".join(f"{name} = 0;" for name in names)
    asked = " /\\ ".join(f"{name} = 0" for name in names)
    program = "P0 { mov.u32 %r_1, 3; }"
    path.write_text(f"PTX t\n{{ {init} .u32 g_h[2]; }}\n{program}\nexists (0:r_1 = 3 /\\ g_h[1] = 0 /\\ {asked})\n")
    (block,) = read(log(capsys, str(path)))
    assert len(block.states[0]) == len(names) + 2 and block.condition is not None
    assert block.states[0]["0:r..1"] == "3" and block.states[0]["g..h[1]"] == "0"
    assert "0:r..1=3 /\\ g..h[1]=0 /\\ a..b=0" in block.condition


def test_each_of_several_conditions_has_a_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "several.litmus"
    path.write_text(LITMUS.replace("NAME", "t") + "forall (1:r0 = 0)\nexists (1:r1 = 1)\nterminates\n")
    blocks = read(log(capsys, str(path)))
    assert [(b.name, b.kind, b.answer) for b in blocks] == [
        ("t", "Forbidden", "No"),
        ("t.2", "Required", "No"),
        ("t.3", "Allowed", "Ok"),
    ]
    assert [(b.positive, b.negative) for b in blocks] == [(3, 1), (2, 2), (2, 2)]
    assert blocks[0].states == blocks[1].states == blocks[2].states


def test_herds_own_tools_read_the_librarys_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where they are installed."""
    if shutil.which("mlog2cond7") is None:
        pytest.skip("herdtools7 is not installed")
    text = log(capsys, str(ROOT / "litmus" / "library"))
    (tmp_path / "library.log").write_text(text)
    run = subprocess.run(["mlog2cond7", "library.log"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert len(run.stdout.splitlines()) == len([b for b in read(text) if b.states])
