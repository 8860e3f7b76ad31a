"""`ptxmm completion`: each script, asked by its own shell what it offers."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from litmus.library import every
from ptxmm.cli.completion import script
from ptxmm.cli.main import main
from ptxmm.cli.outline import library, outline
from ptxmm.topics import names

OUTLINE = outline()
#: What somebody has typed, and what is offered then, in a folder with the files that `folder` makes.
TYPED = {
    "ptxmm che": {"check"},
    "ptxmm check --mode": {"--model"},
    "ptxmm check --model ptx-9": {"ptx-9.0"},
    "ptxmm check --model mi": {"mine.cat"},
    "ptxmm campaign runs.db --model ptx-7": {"ptx-7.5"},
    "ptxmm models --show ptx-6": {"ptx-6.0"},
    "ptxmm check --format j": {"json", "junit"},
    "ptxmm check --check no_": {"no_deadlock", "no_trap"},
    "ptxmm check --progress hsa_": {"hsa_obe"},
    "ptxmm check lo": {"lock.litmus", "lock.ptx", "lock.toml"},
    "ptxmm lint lo": {"lock.ptx"},
    "ptxmm init lo": {"lock.ptx"},
    "ptxmm explain load-b": {"load-buffering"},
    "ptxmm library mess": {"message-passing"},
    "ptxmm library IRIW+fence.sc.g": {"IRIW+fence.sc.gpu", "IRIW+fence.sc.gpu-weak-stores"},
    "ptxmm completion z": {"zsh"},
    "ptxmm repair --apply mi": set(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("lock.litmus", "lock.ptx", "lock.toml", "lock.txt", "mine.cat", "mine.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "script").write_text("", encoding="utf-8")
    return tmp_path


def written(shell: str, folder: Path) -> Path:
    path = folder / "script"
    path.write_text(script(shell, OUTLINE), encoding="utf-8")
    return path


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on this machine")
    return found


def asked_of_bash(line: str, folder: Path, breaks: str = " \t\n\"'><=;|&(:") -> set[str]:
    asks = f". {written('bash', folder)}; COMP_WORDBREAKS=$BREAKS; COMP_POINT=${{#COMP_LINE}}; _ptxmm; "
    asks += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        [shell("bash"), "-c", asks],
        cwd=folder,
        env={**os.environ, "COMP_LINE": line, "BREAKS": breaks},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("line", TYPED)
def test_bash_offers_what_begins_so(line: str, folder: Path) -> None:
    assert asked_of_bash(line, folder) == TYPED[line]


def test_bash_offers_hidden_folders_once_the_point_is_typed(folder: Path) -> None:
    for name in ("seen", ".hidden", "seen/.below", "seen/above"):
        (folder / name).mkdir()
    assert asked_of_bash("ptxmm check --model ", folder) & {"seen", ".hidden"} == {"seen"}
    assert ".hidden" in asked_of_bash("ptxmm check --model .", folder)
    assert asked_of_bash("ptxmm check --model seen/", folder) == {"seen/above"}
    assert asked_of_bash("ptxmm check --model seen/.b", folder) == {"seen/.below"}


def test_bash_offers_options_and_commands_of_the_parser(folder: Path) -> None:
    assert asked_of_bash("ptxmm ", folder) == {*(command.name for command in OUTLINE), "--help", "--version"}
    for command in OUTLINE[::4]:
        offered = asked_of_bash(f"ptxmm {command.name} -", folder)
        assert offered == {name for argument in command.arguments for name in argument.names}


def test_bash_completes_behind_a_colon_and_an_equals_sign(folder: Path) -> None:
    assert asked_of_bash("ptxmm check lib", folder) == {"library:"}
    tests = {name for name in library() if name.startswith("MP+rel+acq")}
    assert len(tests) > 1
    assert asked_of_bash("ptxmm check library:MP+rel+acq", folder) == tests
    assert asked_of_bash("ptxmm check library:MP+rel+acq", folder, " ") == {f"library:{name}" for name in tests}
    assert asked_of_bash("ptxmm check --model=ptx-9", folder) == {"ptx-9.0"}
    assert asked_of_bash("ptxmm check --model=ptx-9", folder, " ") == {"--model=ptx-9.0"}


def test_fish_offers_what_begins_so(folder: Path) -> None:
    path, fish = written("fish", folder), shell("fish")
    asks = [f"source {path}", *(f"echo '>'; complete -C {line!r}" for line in TYPED)]
    done = subprocess.run(
        [fish, "--no-config", "-c", "; ".join(asks)],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    answers = done.stdout.split(">\n")[1:]
    assert len(answers) == len(TYPED)
    for (line, offered), answer in zip(TYPED.items(), answers, strict=True):
        words = {text.split("\t")[0] for text in answer.splitlines()}
        word = line.split()[-1]
        assert {w for w in words if w.startswith(word)} == offered, line


def test_zsh_completes_what_is_the_only_one(folder: Path) -> None:
    """A line is typed with a tab at its end, and a function of the command's name says what it was given."""
    lines = {line: words for line, words in TYPED.items() if len(words) == 1}
    assert len(lines) > 8
    zsh, path = shell("zsh"), written("zsh", folder)
    begin = f'autoload -Uz compinit; compinit -u -D; . {path}; unsetopt promptcr; ptxmm() {{ print -r - "GOT:$*:" }}\n'
    typed = begin + "".join(f"{line}\t\n" for line in lines) + "exit\n"
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [zsh, "-f", "-i"], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TERM": "dumb", "HOME": str(folder)},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    try:
        for part in typed.splitlines(keepends=True):
            os.write(ours, part.encode())
        while part_said := os.read(ours, 1 << 16):
            said += part_said
    except OSError:  # nobody holds the other end any more
        pass
    finally:
        running.wait()
        os.close(ours)
    given = [text.split(":")[0] for text in said.decode(errors="replace").replace("\r", "").split("GOT:")[1:]]
    given = [words.strip() for words in given if not words.startswith("$*")]
    assert given == [" ".join([*line.split()[1:-1], *words]) for line, words in lines.items()]


def test_scripts_know_all_that_there_is() -> None:
    assert len(library()) == len(every()) > 300
    for name in ("bash", "zsh", "fish"):
        text = script(name, OUTLINE)
        words = [*(command.name for command in OUTLINE), *names(), *library()]
        words += [n.lstrip("-") for c in OUTLINE for argument in c.arguments for n in argument.names]
        assert [word for word in words if word not in text] == []
        for word in words:  # so that no shell takes one for more than a word
            assert not set(word) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._"), word


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == script("bash", OUTLINE)
    with pytest.raises(SystemExit) as refused:
        main(["completion", "csh"])
    assert refused.value.code == 2
    assert "bash, zsh, fish" in capsys.readouterr().err.replace("'", "")
