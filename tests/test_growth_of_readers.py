"""Twice the input costs a reader twice the work, whatever stands in it. Work is counted, see `steps.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from steps import work

from axioms.cat.model import compile_model
from litmus.formats import find, read
from ptxcore.diagnostics import InputError
from ptxmm.baseline import Baseline, BaselineError
from ptxmm.kernels.files import TESTS
from ptxmm.kernels.modules import PtxText
from ptxmm.kernels.recognise import holds_kernel_tests
from ptxmm.kernels.signature import formals
from ptxmm.kernels.toml import KernelFile
from ptxmm.linting import lint_text

PACKAGES = ("ptxcore", "litmus", "axioms", "ptxmm", "tomllib")
#: Twice the input may take a little more than twice the work: numbers of lines have one digit more.
MOST = 2.5
#: Characters of the smaller text; modules are what takes longest to check.
SIZE, SIZES = 500, {"PTX": 160}

#: Where units stand: what is before them, and what behind.
Frame = tuple[str, str]
Reader = Callable[[str, Path], object]


def litmus(text: str, folder: Path) -> None:
    read(text)


def lint(text: str, folder: Path) -> None:
    found, lines = lint_text(text), text.split("\n")
    for finding in found:
        finding.render("a.ptx", lines)


def kernel_file(text: str, folder: Path) -> None:
    KernelFile(text)


def recognised(text: str, folder: Path) -> None:
    (folder / "a.toml").write_text(text, encoding="utf-8", newline="")
    holds_kernel_tests(str(folder / "a.toml"))


def cat(text: str, folder: Path) -> None:
    compile_model("m", text)


def baseline(text: str, folder: Path) -> None:
    (folder / "known.json").write_text(text, encoding="utf-8", newline="")
    known = Baseline.read(str(folder / "known.json"))
    known.vanished()


def listed(text: str, folder: Path) -> None:
    (folder / "tests").write_text(text, encoding="utf-8", newline="")
    find([f"@{folder / 'tests'}"], TESTS)


def signature(text: str, folder: Path) -> None:
    PtxText(text, "a.ptx").entries()
    formals(text, "k")


PTX = ".version 8.5\n.target sm_90\n.address_size 64\n"
BODY = f"{PTX}.visible .entry k() {{\n.reg .b32 r;\n.reg .pred p;\n"
HEAD = "PTX t\n{ x=0; }\n"
TOML = 'ptx = "a.ptx"\ngrid = 1\nblock = 1\n'
#: What is read by whom, between what, and of what units; `¦` stands between units.
READERS: dict[str, tuple[Reader, list[Frame], str]] = {
    "litmus": (
        litmus,
        [
            ("", ""),
            (HEAD + "P0@cta 0 { st.weak.u32 [x], 1; ", "}\nexists x=1\n"),
            (HEAD + " P0 ;\n", "\n"),
            (HEAD + " P0 ;\n st.weak x, 1 ;\nexists ", "x=1"),
            ("PTX t\n{", "}\n P0 ;\n"),
        ],
        'a¦ ¦\n¦"¦(¦(*¦*)¦/*¦//¦{¦}¦[¦;¦|¦a|¦x=0;¦x=1 /\\ ¦x &¦P0|¦@cta 0,¦st.weak.u32 [x], 1;\n¦l: bra l;\n¦'
        "ld.weak.u32 %r0, [y];\n¦a%¦9¦.u32 y[3];¦~¦scopes:¦0:r0=&",
    ),
    "header of Dat3M": (
        litmus,
        [
            ("PTX t\n", "\n{ x=0; }\n P0 ;\n st.weak x, 1 ;\nexists x=1\n"),
            ("PTX t\n", ""),
        ],
        '"a"¦"¦"a\n¦"\n¦a=b\n¦a¦a.¦(* a *)¦(*¦// a\n¦"a" b "c"\n¦a-¦=¦Expect=ok\n',
    ),
    "PTX": (
        lint,
        [
            ("", ""),
            (BODY, ""),
            (BODY, "\nret;\n}\n"),
            (PTX + ".section .debug_str {\n.b8 95,", "\n}\n"),
            (PTX + ".section .debug_str {\n.b32 ", ",1\n}\n"),
            (PTX + ".global .u32 a[] = {", "}};\n"),
            (PTX + ".visible .entry k(", ")\n{{ret;}}\n"),
        ],
        'a¦a ¦%¦ ¦\n¦/*¦/**¦//¦"¦#¦{¦}¦(¦)¦[¦,¦;¦|¦@¦.¦:¦::¦a:¦a:\n¦0¦1,¦95,a\n.b8 ¦a-b,¦$¦<¦.b8 1\n¦a:\n.b32 1\n¦'
        ".loc 1 2 3\n¦.param .u32 a,¦.reg .b32 a<9>;¦.section .a {\n¦add.u32 r, r, 1;\n¦"
        "ld.relaxed.gpu.u32 r, [r];\nsetp.eq.u32 p, r, 0;\n¦"
        "l: ld.relaxed.gpu.local.u32 r, [r];\nsetp.eq.u32 p, r, 0;\n@p bra l;\n¦"
        "l: ld.volatile.u32 r, [r];\nsetp.eq.u32 p, r, 0;\n@p bra l;\n¦bra l;\n¦call f, (r);\n¦@p ¦mov.b32 r, {a,¦é¦"
        '\0¦.pragma "a";¦.file 1 "a"\n¦.visible .func f() {\n¦.global .u32 a;\n¦'
        "st.weak.u32 [r], 1;\nst.relaxed.gpu.u32 [r], 1;\n¦.extern .func f;\n¦a+¦(1+¦!¦-",
    ),
    "signature": (
        signature,
        [
            ("", ""),
            (".entry k(.param .u64", " x)"),
            (".entry k(", ")"),
            (".entry k(.param .b8 a[", "])"),
        ],
        'a¦ ¦.¦%¦/*¦*/¦//¦"¦(¦)¦[¦]¦,¦1¦.entry¦.entry k(¦.param¦.align¦.align 8 ¦.ptr¦.param .u64 x,',
    ),
    "TOML": (
        kernel_file,
        [
            ("", ""),
            (TOML, ""),
            (TOML + 'check.forall = "', '"\n'),
            (TOML + "check.forall = '", "'\n"),
            (TOML + "a = [", "]\n"),
            (TOML + "a = ", "\n"),
            (TOML + 'check.race_free = true\nparams.a = {type = "u32", values = [', "]}\n"),
            (TOML + "[", "]\n"),
            (TOML + "a", " = 1\n"),
            (TOML + "[a", "]\n"),
        ],
        'a¦1¦1,¦a.¦.a¦a.b¦"¦"a",¦\'¦{¦[¦[[¦]¦}¦=¦a=¦#¦\n¦ ¦\t¦\r¦a = 1\n¦[a]\n¦[[a]]\n¦\\¦\\u0041¦(¦)¦'
        "x[0] == 1 && ¦x[¦!¦-¦1 + ¦[[variant]]\nname='a'\n¦{a=¦a:¦a[0] == ¦0x¦é¦\0¦\"\"\"¦'''¦1_",
    ),
    "recognition of TOML": (
        recognised,
        [
            ("", ""),
            (TOML, ""),
            ("a = 1\n", ""),
            ("a = ", "\n"),
        ],
        'a¦1¦=¦a=1\n¦[¦a.¦ptx¦cu¦\\¦.toml¦\n¦a.toml\n¦ ¦\0¦"¦block¦block_¦123 ',
    ),
    "cat": (
        cat,
        [
            ("", ""),
            ("let a = ", "\nacyclic a\n"),
            ('"t"\nacyclic po as x\n', ""),
        ],
        "a¦a ¦a|¦po|¦po;¦po+¦po^-1¦(¦)¦(*¦*)¦//¦(* a¦\"¦'¦-¦a-¦~¦[¦]¦\n¦ ¦let a = po\n¦let rec a = po and b = ¦"
        "acyclic po\n¦and ¦=¦(po|¦let f(x) = ¦f(¦flag ~empty po as a\n¦if ¦0¦show a\n¦include ¦po \\ ¦po & ¦po * ¦_",
    ),
    "baseline": (
        baseline,
        [
            ("", ""),
            ('{"ptxmm-baseline": 1, "findings": [', "]}"),
        ],
        '[¦{¦{"a":¦"¦1¦1,¦\\¦\n¦ ¦é¦-¦{"test": "a", "kind": "b", "place": "c", "count": 1},',
    ),
    "list": (
        listed,
        [
            ("", ""),
            ("# tests\n", "\n"),
        ],
        "a¦a\n¦\n¦\r¦\r\n¦ ¦#¦#\n¦a/¦./¦.\n¦@a\n¦\0¦é¦a.toml:¦a.toml:b\n",
    ),
}
CASES = [(name, number) for name, (_, frames, _) in READERS.items() for number in range(len(frames))]
#: One unit in so many is tried always, and all of them by `pytest -m mutation`.
SHARES = [8, pytest.param(1, marks=pytest.mark.mutation)]


@pytest.mark.part(13)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("name", "frame"), CASES, ids=[f"{name}-{number}" for name, number in CASES])
def test_twice_the_input_is_twice_the_work(name: str, frame: int, share: int, tmp_path: Path) -> None:
    reader, frames, units = READERS[name]
    length = SIZES.get(name, SIZE)
    before, after = frames[frame]
    steep = {}
    for unit in units.split("¦")[frame % share :: share]:
        texts = [before + unit * (size // len(unit)) + after for size in (length, 2 * length)]
        # What is imported and prepared on first use; another text, since one that is read twice may be remembered. Where all
        # units are tried it is as long as the longer one: what is prepared for the first long name counts as work, too.
        other, short = (before + unit * (size // len(unit) - 1) + after for size in (2 * length, length // 8))
        _take(reader, other, tmp_path)
        first = other if share == 1 else short
        work(lambda first=first: _take(reader, first, tmp_path), PACKAGES)
        small, large = (work(lambda text=text: _take(reader, text, tmp_path), PACKAGES) for text in texts)
        if large > MOST * small:
            steep[unit] = small, large
    assert steep == {}


def _take(reader: Reader, text: str, folder: Path) -> None:
    try:
        reader(text, folder)
    except InputError as error:
        error.render()
    except (BaselineError, OSError) as error:
        str(error)
