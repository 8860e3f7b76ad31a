"""What nvcc made before counts as long as nothing that it was made of has changed. The compiler is a script here, which counts
its runs; with an nvcc that is installed the last test is about that one."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmm.kernels import compiled, modules

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the compiler of these tests is a script")
#: Reads `#include "NAME"` in its own folder and where options, files of options and the environment say; heeds `__has_include`;
#: writes everything that it read, and how often it ran; says where it looks, as gcc does.
COMPILER = """#!{python}
import os, re, sys
here = os.path.dirname(os.path.abspath(__file__))
if "--version" in sys.argv:
    print(open(os.path.join(here, "version")).read())
    sys.exit()
runs = os.path.join(here, "runs")
open(runs, "a").write("x")
words, seen = os.environ.get("NVCC_PREPEND_FLAGS", "").split() + sys.argv[1:], []
if "-optf" in words:
    words[:0] = open(words[words.index("-optf") + 1]).read().split()
source = words[-1]
told = "\\n".join(words).replace("-Xcompiler=", "").replace("-I\\n", "-I").split("\\n")
folders = [f.removeprefix("-I") for w in told if w[:2] == "-I" for f in w.split(",")]
folders += [f for f in os.environ.get("CPATH", "").split(":") if f]
if "-v" in words:
    for folder in folders:
        if not os.path.isdir(folder):
            print('ignoring nonexistent directory "%s"' % folder, file=sys.stderr)
    print('#include "..." search starts here:\\n#include <...> search starts here:', file=sys.stderr)
    print("".join(" %s\\n" % f for f in folders if os.path.isdir(f)) + "End of search list.", file=sys.stderr)
def find(name, beside):
    return next((p for f in [beside, *folders] for p in [os.path.join(f, name)] if os.path.isfile(p)), None)
def read(path):
    seen.append(path)
    text = out = open(path).read()
    beside = os.path.dirname(path) or "."
    for name in re.findall('#include "(.*)"', text):
        out += read(find(name, beside))
    for name in re.findall('__has_include[(]"(.*)"[)]', text):
        out += name + (" is there" if find(name, beside) else " is not there")
    return out
text = read(source)
if "error" in text:
    sys.exit("not C++")
if "wgmma" in text and not any(w.endswith("sm_90a") for w in words):
    sys.exit("Instruction 'wgmma' not supported on .target 'sm_90'")
if "-MF" in words:
    escaped = [s.replace(" ", "\\\\ ") for s in seen]
    open(words[words.index("-MF") + 1], "w").write("module.ptx: " + " \\\\\\n    ".join(escaped) + "\\n")
target = "\\n.target sm_90a" if "wgmma" in text else ""
open(words[words.index("-o") + 1], "w").write("// " + " ".join(text.split()) + " " + os.environ.get("CPATH", "") + target)
"""
OLD = 1_600_000_000  # long ago


def forget() -> None:
    """What follows is another process."""
    compiled._of_this_process.cache_clear()  # type: ignore[attr-defined]


class Place:
    """A compiler, a source with two headers, and the cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("bin/version", "1.0")
        self.write("bin/nvcc", COMPILER.format(python=sys.executable)).chmod(0o755)
        self.write("k.cu", '#include "one.h"\n#if __has_include("maybe/x.h")\n#endif\n__global__ void k();')
        self.write("inc/one.h", '#include "a b.h"')
        self.write("late/a b.h", "// b")
        (folder / "early").mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (OLD, OLD))
        return path

    def compile(self, *options: str) -> str:
        forget()
        compiled._version.cache_clear()
        found = modules.compile_cuda("k.cu", ["-Iinc", "-Iearly", "-Ilate", *options])
        assert (found.path, found.source) == ("k.cu.ptx", "k.cu")
        return found.text

    @property
    def runs(self) -> int:
        return len((self.folder / "bin" / "runs").read_text(encoding="utf-8"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NVCC", str(folder / "bin" / "nvcc"))
    monkeypatch.setenv("PTXMM_CACHE", str(tmp_path / "cache"))
    return Place(folder)


def test_the_same_is_compiled_once(place: Place) -> None:
    first = place.compile()
    assert "// b" in first and [place.compile() for _ in range(3)] == [first] * 3
    assert place.runs == 1
    for path in place.folder.rglob("*"):  # times alone change nothing, but for the compiler's
        if path.name != "nvcc":
            os.utime(path, (OLD + 5, OLD + 5))
    assert place.compile() == first and place.runs == 1


CHANGES: dict[str, Callable[[Place, pytest.MonkeyPatch], object]] = {
    "source": lambda place, _: place.write("k.cu", '#include "one.h"\n'),
    "header": lambda place, _: place.write("inc/one.h", '#include "a b.h"\n//'),
    "header of a header": lambda place, _: place.write("late/a b.h", "// c"),
    "header gone": lambda place, _: (place.folder / "late" / "a b.h").rename(place.folder / "early" / "a b.h"),
    "header in front": lambda place, _: place.write("early/a b.h", "// d"),
    "header beside the source": lambda place, _: place.write("one.h", "// e"),
    "compiler": lambda place, _: place.write("bin/version", "1.1"),
    "the compiler's file": lambda place, _: place.write("bin/nvcc", (place.folder / "bin/nvcc").read_text() + "#"),
    "a header that is only asked for": lambda place, _: place.write("inc/maybe/x.h", ""),
    "a header that leads up": lambda place, _: place.write("inc/../maybe/x.h", ""),
    "environment": lambda place, monkeypatch: monkeypatch.setenv("CPATH", "elsewhere"),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_compiled_again(place: Place, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place.compile()
    CHANGES[change](place, monkeypatch)
    again = place.compile()
    assert place.runs == 2
    monkeypatch.setenv("PTXMM_CACHE", "none")
    assert place.compile() == again and place.runs == 3


#: How a compiler is told of the folders `early` and `late`, in which order it looks for headers there.
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "options": (["-Iearly", "-Ilate"], {}),
    "a list": (["-Iearly,late"], {}),
    "two words": (["-I", "early", "-I", "late"], {}),
    "options of the host's compiler": (["-Xcompiler=-Iearly,-Ilate"], {}),
    "CPATH": ([], {"CPATH": "early:late"}),
    "flags in the environment": ([], {"NVCC_PREPEND_FLAGS": "-Iearly -Ilate"}),
    "a file of options": (["-optf", "options"], {}),
}


@pytest.mark.parametrize("there", [True, False], ids=["a folder", "no folder yet"])
@pytest.mark.parametrize("way", WAYS)
def test_a_header_that_comes_in_front_is_seen_whatever_told_the_compiler_of_its_folder(
    place: Place, way: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, variables = WAYS[way]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if not there:
        (place.folder / "early").rmdir()
    place.write("options", "-Iearly -Ilate")
    place.write("k.cu", '#include "a b.h"\n')

    def compiled_now() -> str:
        return modules.compile_cuda("k.cu", options).text

    first = compiled_now()
    assert "// b" in first and compiled_now() == first and place.runs == 1 + (way == "a file of options")
    place.write("early/a b.h", "// in front")
    assert "// in front" in compiled_now(), "in the same process"
    forget()
    assert "// in front" in compiled_now(), "and in another"
    place.write("early/a b.h", "// other")
    assert "// other" in compiled_now()


def test_where_a_compiler_does_not_tell_where_it_looks_nothing_is_kept(place: Place, tmp_path: Path) -> None:
    place.write("bin/nvcc", (place.folder / "bin/nvcc").read_text(encoding="utf-8").replace('"-v"', '"-w"'))
    assert place.compile() == place.compile() and place.runs == 2
    assert not list((tmp_path / "cache").glob("*.json"))


def test_the_variants_of_a_file_are_compiled_once_without_a_cache_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTXMM_CACHE", "none")
    assert len({modules.compile_cuda("k.cu", ["-Iinc", "-Ilate"]).text for _ in range(3)}) == 1 and place.runs == 1


def test_what_was_compiled_can_be_opened(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    first = place.compile()
    for _ in range(2):  # made just now, and found again where somebody wrote into it or took it away
        forget()
        kept = Path(modules.compile_cuda("k.cu", ["-Iinc", "-Iearly", "-Ilate"]).kept)
        assert kept.name == "k.cu.ptx" and kept.read_text(encoding="utf-8") == first
        kept.write_text("// other", encoding="utf-8")
    assert place.runs == 1
    monkeypatch.setenv("PTXMM_CACHE", "none")
    forget()
    assert modules.compile_cuda("k.cu", ["-Iinc", "-Iearly", "-Ilate"]).kept == ""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ([], "-std=c++17 -arch=sm_90 -lineinfo"),
        (["-DBUG"], "-std=c++17 -arch=sm_90 -lineinfo -DBUG"),
        (["-arch", "sm_80"], "-std=c++17 -lineinfo -arch sm_80"),
        (["-gencode=arch=x,code=y", "--std=c++20"], "-lineinfo -gencode=arch=x,code=y --std=c++20"),
        (["-G", "-gencode", "x"], "-std=c++17 -G -gencode x"),
    ],
)  # fmt: skip
def test_what_options_do_not_say_is_the_usual(said: list[str], meant: str) -> None:
    assert " ".join(modules.completed(said)) == meant


def test_an_architecture_that_nobody_named_is_one_that_has_the_instructions(place: Place) -> None:
    place.write("k.cu", "// wgmma")
    made = modules.compile_cuda("k.cu", ["-Iinc"])
    assert made.options == ("-std=c++17", "-arch=sm_90a", "-lineinfo", "-Iinc") and place.runs == 2
    forget()
    assert modules.compile_cuda("k.cu", ["-Iinc"]).options == made.options and place.runs == 2
    with pytest.raises(modules.ModuleError) as raised:
        modules.compile_cuda("k.cu", ["-arch=sm_90"])
    assert "wgmma" in raised.value.details


def test_other_options_are_another_compilation(place: Place) -> None:
    assert [place.compile(*options) for options in ((), ("-O1",), (), ("-O1",))] and place.runs == 2
    assert place.compile("-MD") and place.compile("-MD") and place.runs == 4  # it writes dependencies by itself


def test_what_is_no_entry_does_not_count(place: Place, tmp_path: Path) -> None:
    first = place.compile()
    (entry,) = (tmp_path / "cache").glob("*.json")
    good = entry.read_text(encoding="utf-8")
    spoilt = json.loads(good) | {"text": "// other"}

    def inputs(value: object) -> str:
        return json.dumps(json.loads(good) | {"inputs": value})

    for text in ("", "{}", "[]", good[: len(good) // 2], json.dumps(spoilt), inputs(7), inputs([[], [], [], 0, []])):
        entry.write_text(text, encoding="utf-8")
        assert place.compile() == first
        assert entry.read_text(encoding="utf-8") == good
    assert place.runs == 8


def test_an_entry_that_says_other_inputs_does_not_count(place: Place, tmp_path: Path) -> None:
    """Else what has changed since would not be seen to have: a header that the entry no longer names, or a name that was looked
    for."""
    place.compile()
    (entry,) = (tmp_path / "cache").glob("*.json")
    good = json.loads(entry.read_text(encoding="utf-8"))
    headers, folders, sought, there, tools = good["inputs"]
    assert headers and "maybe/x.h" in sought
    spoilt = (
        [headers[1:], folders, sought, there, tools],
        [headers, folders, [name for name in sought if name != "maybe/x.h"], there, tools],
        [headers, [*folders, "elsewhere"][1:], sought, there, tools],
    )
    for number, inputs in enumerate(spoilt, 2):
        entry.write_text(json.dumps(good | {"inputs": inputs}), encoding="utf-8")
        assert place.compile() and place.runs == number


def test_an_entry_under_the_name_of_another_does_not_count(place: Place, tmp_path: Path) -> None:
    plain = place.compile()
    (first,) = (tmp_path / "cache").glob("*.json")
    place.write("k.cu", "// other")
    other = place.compile()
    (second,) = {*(tmp_path / "cache").glob("*.json")} - {first}
    shutil.copy(first, second)
    assert place.compile() == other != plain and place.runs == 3


#: What a property of the cache is drawn from: what each file may say; None: there is no such file.
TEXTS: dict[str, list[str | None]] = {
    "k.cu": ['#include "one.h"', '#include "a b.h"\n#if __has_include("maybe/x.h")\n#endif'],
    "inc/one.h": ['#include "a b.h"', "// one"],
    "one.h": ["// beside", '#include "a b.h"', None],
    "early/a b.h": ["// early", None],
    "late/a b.h": ["// late", "// later"],
    "inc/maybe/x.h": ["", None],
}


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_changes_and_whatever_is_damaged_the_answer_is_that_of_the_compiler(
    place: Place, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, options, the compiler and bytes of the cache change at random; the same again is never compiled again."""
    draw = random.Random(seed)
    for _ in range(6):
        what = draw.choice(("file", "file", "version", "damage", "damage"))
        if what == "file":
            name = draw.choice(list(TEXTS))
            text = draw.choice(TEXTS[name])
            if text is None:
                (place.folder / name).unlink(missing_ok=True)
            else:
                place.write(name, text)
        elif what == "version":
            place.write("bin/version", draw.choice(("1.0", "1.1")))
        for entry in (tmp_path / "cache").rglob("*") if what == "damage" else ():
            if entry.is_file():
                data = bytearray(entry.read_bytes())
                for _ in range(draw.choice((1, 3))):
                    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
                entry.write_bytes(data[: draw.choice((len(data), len(data) // 2))])
        options = draw.choice(([], ["-DA"]))
        kept, runs = place.compile(*options), place.runs
        assert place.compile(*options) == kept and place.runs == runs, "the same again"
        with monkeypatch.context() as without:
            without.setenv("PTXMM_CACHE", "none")
            assert place.compile(*options) == kept


def test_what_changes_while_it_is_compiled_is_not_kept(place: Place, tmp_path: Path) -> None:
    os.utime(place.folder / "inc" / "one.h")  # now: it may have changed since the compiler read it
    (place.folder / "inc" / "one.h").touch()
    later = (place.folder / "inc" / "one.h").stat().st_mtime + 1_000_000_000  # in the future
    os.utime(place.folder / "inc" / "one.h", (later, later))
    place.compile()
    assert not (tmp_path / "cache").exists()
    place.write("inc/one.h", "// __TIME__")
    place.write("k.cu", "// __DATE__")
    place.compile()
    place.compile()
    assert place.runs == 3


def test_without_a_cache_and_with_one_that_cannot_be_written(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("k.cu", "error")
    with pytest.raises(modules.ModuleError, match="does not compile"):
        place.compile()
    place.write("k.cu", "")
    monkeypatch.setenv("PTXMM_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert place.compile() == place.compile() and place.runs == 4  # a mistake is told by a run that nothing is kept of
    monkeypatch.setenv("PTXMM_CACHE", "none")
    assert compiled.folder() == ""
    monkeypatch.delenv("PTXMM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.folder() == str(tmp_path / "ptxmm" / "nvcc")


def test_the_oldest_entries_go(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MOST", 4)
    for number in range(5):
        place.write("k.cu", f"// {number}")
        place.compile()
    assert [len(list((tmp_path / "cache").glob(names))) for names in ("*.json", "*/k.cu.ptx")] == [2, 2]
    place.compile()
    assert place.runs == 5


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_nvcc_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PTXMM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NVCC", raising=False)
    Path("k.cu").write_text('#include "k.h"\n__global__ void k(unsigned *p) { *p = WORD; }\n', encoding="utf-8")
    Path("k.h").write_text('#include "word.h"\n#ifdef OTHER\n#define WORD OTHER\n#endif\n', encoding="utf-8")
    Path("word.h").write_text("#ifndef OTHER\n#define WORD 77\n#endif\n", encoding="utf-8")
    for name in ("k.cu", "k.h", "word.h"):
        os.utime(name, (OLD, OLD))

    def text(*options: str) -> str:
        forget()
        return modules.compile_cuda("k.cu", options).text

    first = text()
    assert ", 77;" in first and len(list(Path("cache").glob("*.json"))) == 1
    with monkeypatch.context() as without:
        without.setattr(subprocess, "run", None)
        assert text() == first
    assert ", 79;" in text("-DOTHER=79")
    Path("word.h").write_text("#define WORD 78\n", encoding="utf-8")
    assert ", 78;" in text(), "the header of a header"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(str(shutil.which("nvcc")))} -DOTHER=80 "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    Path("word.h").write_text("\n", encoding="utf-8")
    monkeypatch.setenv("NVCC", str(wrapper))
    assert ", 80;" in text(), "another compiler"
