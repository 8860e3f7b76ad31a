"""Files that are no tests: every reader says what is wrong, in words that no file can use to steer a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.cli.main import main

GOOD = {
    "ptx": b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
    "litmus": b"PTX t\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n st.relaxed.gpu.u32 [x], 1 ;\nexists (x = 1)\n",
    "toml": b'ptx = "good.ptx"\ngrid = 1\nblock = 1\n[check]\nterminates = true\n',
    "cat": b'"model"\nacyclic po | rf as axiom\n',
}


def _behind(data: bytes, garbage: bytes) -> bytes:
    """A file with garbage behind its first line."""
    return data.replace(b"\n", b"\n" + garbage + b"\n", 1)


GARBAGE = {
    "no UTF-8": lambda data: _behind(data, b"\xe9\xff bad \x9b31m"),
    "escapes": lambda data: _behind(data, b"\x1b]0;title\x07 $$$ \x1b[2J"),
    "NUL": lambda data: _behind(data, b"\0\0 $\0"),
    "a long line": lambda data: data + b" " * 100 + b"@" * 100_000 + b"\x1b[31m",
    "marks of direction": lambda data: _behind(data, " \u202e\u2066 evil \u200b $$".encode()),
    "nothing": lambda data: b"",
    "blanks": lambda data: b" \n\n",
}
TAKEN = {
    "as it is": lambda data: data,
    "Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
}


def _checked(folder: Path, kind: str, data: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    for name, text in GOOD.items():
        (folder / f"good.{name}").write_bytes(text)
    path = folder / f"bad.{kind}"
    path.write_bytes(data)
    if kind == "ptx":
        (folder / "of.toml").write_bytes(GOOD["toml"].replace(b"good.ptx", b"bad.ptx"))
    asked = {
        "ptx": [str(folder / "of.toml")],
        "cat": [str(folder / "good.litmus"), "--model", str(path)],
    }.get(kind, [str(path)])
    status = main(["check", *asked])
    said = capsys.readouterr()
    return status, said.out + said.err


@pytest.mark.part(4)
@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_is_told_plainly(kind: str, garbage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = _checked(tmp_path, kind, GARBAGE[garbage](GOOD[kind]), capsys)
    assert status == 2 and "error: " in said and "Traceback" not in said
    assert all(c.isprintable() or c in "\n\t" for c in said), ascii(said)
    assert max(map(len, said.splitlines())) < 400


@pytest.mark.part(3)
@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("how", TAKEN)
def test_what_editors_do_to_files_is_taken(
    kind: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = _checked(tmp_path, kind, TAKEN[how](GOOD[kind]), capsys)
    refused = (kind, how) == ("ptx", "byte order mark")  # as ptxas does
    assert (status, "is not ASCII" in said) == ((2, True) if refused else (0, False)), said


@pytest.mark.parametrize("kind", ["litmus", "toml", "cat"])
def test_what_is_no_file_is_told(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / f"folder.{kind}").mkdir()
    good = tmp_path / "good.litmus"
    good.write_bytes(GOOD["litmus"])
    for name in (f"folder.{kind}", f"missing.{kind}"):
        asked = [str(good), "--model", str(tmp_path / name)] if kind == "cat" else [str(tmp_path / name)]
        assert main(["check", *asked]) == 2
        assert f"{name}: error: " in capsys.readouterr().err
