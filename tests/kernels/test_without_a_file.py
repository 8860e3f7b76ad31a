"""Kernels without a kernel test: launches of a command line and of annotations are those that a TOML file would have."""

from __future__ import annotations

import random
import shlex
from dataclasses import replace
from math import prod
from pathlib import Path
from xml.etree import ElementTree

import pytest
from campaigns import lengths
from files import PTX
from typed_launches import SAME, bare, typed

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.cli.main import main
from ptxmm.cli.options import FORMATS
from ptxmm.kernels.annotations import AnnotatedFile
from ptxmm.kernels.asked import UNCLAIMED
from ptxmm.kernels.demangled import demangled
from ptxmm.kernels.plain_names import base, meant, plain, shortest
from ptxmm.kernels.toml import KernelFile

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "examples" / "lock.ptx").read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "toml"), SAME, ids=range(len(SAME)))
def test_a_command_line_is_the_kernel_test_that_a_file_would_have(here: Path, words: list[str], toml: str) -> None:
    assert bare(typed(words)) == bare(KernelFile(f'ptx = "k.ptx"\n{toml}', "k.toml").test())


def annotation(words: list[str]) -> str:
    """The same as an annotation."""
    pairs = [(word[2:].replace("-", "_"), words[i + 1]) for i, word in enumerate(words) if word[:2] == "--"]
    said = []
    for key, value in pairs:
        if key == "arg":
            name, _, text = value.partition("=")
            text = text.replace("'", '"')
            said.append(f"{'arg.' if name.isdigit() else ''}{name}={text}")
        elif key == "check":
            said.append(value)
        elif key != "memory":
            said.append(f'{key}="{value}"')
    return f"// ptxmm: {' '.join(said)}\n"


@pytest.mark.parametrize(("words", "toml"), SAME[:2], ids=range(2))
def test_an_annotation_is_it_too(here: Path, words: list[str], toml: str) -> None:
    test = AnnotatedFile(annotation(words) + PTX, "k.ptx").test()
    assert bare(test) == bare(KernelFile(f'ptx = "k.ptx"\n{toml}', "k.toml").test())
    assert {(c.spot.path, c.spot.line) for c in test.checks if c.spot} == {("k.ptx", 1)}


def test_names_are_those_of_the_source() -> None:
    # What nvcc 13.0 made of kernels in namespaces, of templates, static ones, and one of a namespace without a name.
    known = {
        "_Z4incrPjS_": "incr",
        "_Z2stPi": "st",
        "_Z1uIiEvPT_yP1S": "u",
        "_ZN2ns1aEPi": "ns::a",
        "_ZN2ns1tIiEEvPT_f": "ns::t",
        "_ZN2ns1tIdEEvPT_f": "ns::t",
        "_ZN36_GLOBAL__N__4ac94ae9_4_m_cu_4e2f801e3hidEPi": "hid",
        "correct": "correct",
        "_Zed": "_Zed",
        "_Z99short": "_Z99short",
        "_Z0": "_Z0",
    }
    assert {entry: plain(entry) for entry in known} == known
    entries = list(known)
    assert meant("t", entries) == ["_ZN2ns1tIiEEvPT_f", "_ZN2ns1tIdEEvPT_f"] == meant("ns::t", entries)
    assert [meant(name, entries) for name in ("a", "ns::a", "incr", "hid", "correct", "nobody", "s::a")] == [
        ["_ZN2ns1aEPi"], ["_ZN2ns1aEPi"], ["_Z4incrPjS_"], [entries[6]], ["correct"], [], [],
    ]  # fmt: skip
    assert base("_ZN2ns1aEPi") == "a"


def test_a_plain_name_is_taken_and_several_of_it_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy")
    text = PTX.replace("k(", "_ZN2ns1kIiEEvPT_j(").replace("k_param", "p_param")
    other = text[text.index(".visible") :].replace("IiE", "IdE")
    Path("k.ptx").write_text(text, encoding="utf-8")
    words = ["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1"]
    for name in ("k", "ns::k", "_ZN2ns1kIiEEvPT_j"):
        test = typed([*words, "--entry", name])
        assert test.launches[0].entry == "_ZN2ns1kIiEEvPT_j" and test.variant == "ns::k"
        assert main(["run", "k.ptx", *words, "--entry", name]) == 0
    Path("k.ptx").write_text(text + other, encoding="utf-8")
    assert typed([*words, "--entry", "_ZN2ns1kIdEEvPT_j"]).launches[0].entry == "_ZN2ns1kIdEEvPT_j"
    with pytest.raises(InputError) as error:
        typed([*words, "--entry", "k"])
    assert main(["run", "k.ptx", *words, "--entry", "k"]) == 2 and "'k' may be 2 kernels" in capsys.readouterr().err
    (found,) = error.value.diagnostics
    assert found.message == "'k' may be 2 kernels" and found.hint
    assert found.hint == "say which: ns::k<int>, ns::k<double>"
    for name in ("k<int>", "ns::k< int >", "ns::k<int>(int*, unsigned)"):
        assert typed([*words, "--entry", name]).launches[0].entry == "_ZN2ns1kIiEEvPT_j"
    assert error.value.text[found.span.column - 1 : found.span.end - 1] == "k"


#: What nvcc 13.0 made of instances of templates and of two kernels of one name, and what c++filt says of that.
CALLED = {
    "_Z1fIiLi4EEvPT_S0_": "f<int, 4>(int*, int)",
    "_Z1fIfLi8EEvPT_S0_": "f<float, 8>(float*, float)",
    "_Z4onlyIjEvPT_S0_": "only<unsigned int>(unsigned int*, unsigned int)",
    "_ZN36_GLOBAL__N__a12c627f_4_t_cu_884ad2bb1gILb1EEEvPi": "g<true>(int*)",
    "_ZN2ns1hIJiPfNS_1SEEEEvDpT_": "ns::h<int, float*, ns::S>(int, float*, ns::S)",
    "_ZN2ns1kILNS_1EE1ELj3ENS_3AddEEEvT1_Pi": "ns::k<(ns::E)1, 3u, ns::Add>(ns::Add, int*)",
    "_ZN2ns1kILNS_1EE0ELj3EPFiiEEEvT1_Pi": "ns::k<(ns::E)0, 3u, int (*)(int)>(int (*)(int), int*)",
    "_Z5outerI5innerIS0_IiEEEvPKT_PVS2_": "outer<inner<inner<int> > >(inner<inner<int> > const*, inner<inner<int> > volatile*)",
    "_Z5twicePi": "twice(int*)",
    "_Z5twicePA4_f": "twice(float (*) [4])",
}


def test_names_of_instances_are_read_as_others_read_them() -> None:
    assert {entry: str(demangled(entry)) for entry in CALLED} == CALLED
    assert list(shortest(list(CALLED)).values()) == [
        "f<int, 4>", "f<float, 8>", "only", "g", "ns::h", "ns::k<(ns::E)1, 3u, ns::Add>",
        "ns::k<(ns::E)0, 3u, int (*)(int)>", "outer", "twice(int*)", "twice(float (*) [4])",
    ]  # fmt: skip
    for entry, name in shortest(list(CALLED)).items():
        assert meant(name, list(CALLED)) == [entry]
    for name, count in {"f<int>": 1, "f<int,4u>": 1, "f": 2, "f<double>": 0, "only<unsigned>": 1, "k<(ns::E)1, 3>": 1,
                        "f<in>": 0, "twice(int *)": 1, "outer<inner<inner<int>>>": 1, "": 0, "f<": 0}.items():  # fmt: skip
        assert len(meant(name, list(CALLED))) == count, name


def test_whatever_stands_there_is_read_or_left() -> None:
    """Names with letters changed, moved and repeated."""
    draw = random.Random(3)
    read = 0
    for _ in range(3000):
        letters = list(draw.choice(sorted(CALLED)))
        for _ in range(draw.randrange(1, 4)):
            at, other = draw.randrange(2, len(letters)), draw.randrange(2, len(letters))
            letters[at : at + draw.randrange(2)] = letters[other : other + draw.randrange(3)]
        name = "".join(letters)
        found = demangled(name)
        read += found is not None
        assert list(shortest([name])) == [name]
    assert read > 100


def test_names_that_grow_without_end_are_left_as_they_are() -> None:
    """Each parameter is a pair of the one before."""
    bomb = (
        "_Z1fI1aIiiEE" + "v" + "".join(f"1aI{again}{again}E" for again in ("S1_", *(f"S{n:X}_" for n in range(2, 30))))
    )
    assert demangled(bomb) is None and demangled("_Z1f" + "P" * 5000 + "i") is None
    assert demangled("_Z1f" + "1aI" * 5000) is None and demangled("_Z1fL_Z" * 3000) is None
    assert plain(bomb) == "f"


WRONG = [
    (["--entry", "k"],
     ["how large is the grid?", "how large is the block?", "6:17: no argument for parameter 0", "7:17: no argument"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]"], ["7:17: no argument for parameter 1 '.u32 k_param_1'"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1", "--arg", "m=1"], ["has no parameter 'm'"]),
    (["--grid", "1", "--block", "1", "--arg", "0=u32[1]", "--arg", "2=1"], ["has no parameter '2'"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1.5"], ["1.5 is no value of u32"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=nine"], ["'nine' is no number"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u33[1]", "--arg", "n=1"], ["there is no type .u33"]),
    (["--grid", "1", "--block", "1", "--arg", "x={a =", "--arg", "n=1"], ["no structure"]),
    (["--grid", "1", "--block", "1", "--arg", "x=no.npy", "--arg", "n=1"], ["cannot read no.npy"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=u32[1]"], ["cannot take the address of the buffer"]),
    (["--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1", "--forall", "y[0] == 1"],
     ["no parameter is called 'y'"]),
    (["--grid", "1", "--block", "1025", "--arg", "x=u32[1]", "--arg", "n=1"], ["at most 1024 threads"]),
    (["--entry", "kk", "--grid", "1"], ["has no kernel 'kk'"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "messages"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_or_missing_is_told_where_it_is(here: Path, words: list[str], messages: list[str]) -> None:
    with pytest.raises(InputError) as error:
        typed(words)
    shown = [
        f"{d.span.line}:{d.span.column}: {d.message}" if d.span.line else d.message for d in error.value.diagnostics
    ]
    assert len(shown) == len(messages)
    for text, message in zip(shown, messages, strict=True):
        assert message in text
    for d in error.value.diagnostics:
        if d.span.line == 1:  # the command line: the caret stands under a word of the user's
            assert any(error.value.text[d.span.column - 1 : d.span.end - 1].strip("'") in word for word in words)
        elif d.span.line:
            assert error.value.path == "k.ptx"
            assert PTX.split("\n")[d.span.line - 1][d.span.column - 1 : d.span.end - 1] in d.message


def test_from_nothing_to_an_answer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("lock.ptx").write_text(LOCK, encoding="utf-8")
    words = ["check", "lock.ptx", "--grid", "2", "--block", "1", "--arg", "lock=u32[1]", "--arg", "counter=u32[1]"]
    assert main([*words, "--entry", "weak", "--forall", "counter[0] == 2"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("no  lock.ptx:weak") and "fails  forall counter[0] == 2" in printed
    assert main([*words, "--entry", "correct"]) == 0
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.split("\n")[1:4]] == [
        ["holds", "race_free"], ["holds", "terminates"], ["holds", "no_trap"],
    ]  # fmt: skip


def test_a_launch_without_the_dynamic_shared_memory_of_its_module_says_so(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PTX.replace(".visible .entry", ".extern .shared .align 16 .b8 s[];\n.visible .entry")
    Path("k.ptx").write_text(text.replace("    ret;", "    st.shared.u32 [s], %r1;\n    ret;"), encoding="utf-8")
    words = ["check", "k.ptx", "--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1"]
    assert main(words) == 1
    assert "gives none of the dynamic shared memory" in capsys.readouterr().out
    assert main([*words, "--dynamic-shared", "4"]) == 0
    assert "dynamic" not in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMATS)
def test_a_kernel_that_is_the_only_one_is_told_once(here: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its name is not known before it is read. No report says that something was not run."""
    words = ["check", "k.ptx", "--grid", "1", "--block", "1", "--arg", "x=u32[1]", "--arg", "n=1", "--format", form]
    assert main([*words, "--junit", "a.xml", "--sarif", "a.sarif"]) == 0
    said = [capsys.readouterr().out, *(Path(name).read_text(encoding="utf-8") for name in ("a.xml", "a.sarif"))]
    assert not any("not run: " in text for text in said), said
    assert ElementTree.fromstring(said[1]).get("tests") == "1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.litmus", "--grid", "2"], "--grid: that is of a kernel"),
        (["k.ptx", "k.ptx", "--grid", "2"], "write one FILE.cu or FILE.ptx"),
        (["k.ptx", "--arg", "x"], "--arg x: write NAME=VALUE"),
        (["k.ptx", "--grid", "0"], "--grid"),
    ],
)
def test_usage_is_told(here: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["check", *words])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 2
    assert status == 2 and message in capsys.readouterr().err


def test_run_and_check_take_the_same_arguments(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy")
    words = ["k.ptx", "--entry", "k", "--grid", "1", "--block", "1", "--arg", "x=u32[2]", "--arg", "n=0x7"]
    assert main(["run", *words, "--out", "x"]) == 0 and capsys.readouterr().out == "x = [7, 0]\n"
    assert main(["check", *words, "--forall", "x[0] == 7 && x[1] == 0"]) == 0
    capsys.readouterr()
    words[7:9] = ["--arg", 'x={type = "s16", elements = 3, init = [-1, 5]}']
    words[9:] = ["--arg", 'n={type = "u32", value = 0x20003}']
    assert main(["run", *words, "--out", "x"]) == 0 and capsys.readouterr().out == "x = [3, 2, 0]\n"
    assert main(["check", *words, "--forall", "x[0] == 3 && x[1] == 2 && x[2] == 0"]) == 0
    capsys.readouterr()
    words[7:] = ["--arg", "x=u32[2]", "--arg", "n=7"]
    for bad in ("x=u33[2]", "x={", "x=seven", "x=no.npy"):
        told = []
        for command in ("run", "check"):
            assert main([command, *words[:7], "--arg", bad, "--arg", "n=1"]) == 2
            told.append(capsys.readouterr().err)
        assert told[0].removeprefix("ptxmm run: error: ").strip().splitlines()[0] in told[1] or "no.npy" in told[0]
    assert main(["run", *words, "--out", "y"]) == 2 and "no parameter 'y'" in capsys.readouterr().err


def test_a_file_without_annotations_says_what_to_type(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "k.ptx"]) == 2
    said = capsys.readouterr().err
    assert "ptxmm init k.ptx" in said and "--grid 2" in said and "--arg NAME0=u32[4]" in said


def proposed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """The command lines that were printed to be copied, as a shell reads them."""
    said = capsys.readouterr().err.partition("to begin with, as far as the kernel can tell:\n")[2]
    return [shlex.split(line) for line in said.splitlines()]


#: Directories of PTX of which nothing is known here but that it is right.
CODE = sorted(
    (*ROOT.glob("examples/*.ptx"), *ROOT.glob("docs/mistakes/*/*.ptx"), *ROOT.glob("tests/kernels/gate/*/fixed.ptx"))
)


@pytest.mark.parametrize("every", lengths(24, 8))
def test_what_is_missing_is_said_as_one_command_that_is_taken(
    here: Path, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kernel of each file: what is printed can be typed, and asks for a launch of all its parameters."""
    from ptxmm.cli.kernel_options import asked
    from ptxmm.cli.options import parser

    lines = 0
    for path in CODE[::every]:
        assert main(["check", "--no-defaults", str(path)]) == 2
        for command in proposed(capsys):
            found = asked(parser("check").parse_args(command[1:]))
            assert command[:3] == ["ptxmm", "check", str(path)] and found is not None
            test = found.test()
            assert prod((*test.launches[0].grid, *test.launches[0].block)) >= 2 and [
                c.kind for c in test.checks
            ] == list(UNCLAIMED)
            lines += 1
    assert lines > 160 / every


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        ([], "--grid 2 --block 1 --arg arg0=u32[4] --arg arg1=2"),
        (["--grid", "4", "--block", "1,2"], "--arg arg0=u32[32] --arg arg1=8"),
        (["--grid", "2", "--arg", "0=&b", "--memory", "b=u32[1]"], "--block 1 --arg arg1=2"),
    ],
)  # fmt: skip
def test_what_was_said_stays_in_the_command_that_is_proposed(
    here: Path, words: list[str], rest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "k.ptx", *words]) == 2
    assert proposed(capsys) == [["ptxmm", "check", "k.ptx", *words, *rest.split()]]


def test_a_kernel_that_asks_which_thread_it_is_has_two_in_a_cta(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, block in {"%tid.x": "2", "%ctaid.x": "1", "%laneid": "2"}.items():
        Path("k.ptx").write_text(PTX.replace("    ret;", f"    mov.u32 %r1, {number};\n    ret;"), encoding="utf-8")
        assert main(["check", "k.ptx"]) == 2
        (command,) = proposed(capsys)
        assert command[command.index("--block") + 1] == block


def test_a_command_is_proposed_for_each_kernel_where_nobody_said_which(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.ptx").write_text(PTX + PTX[PTX.index(".visible") :].replace(" k(", " other("), encoding="utf-8")
    assert main(["check", "two.ptx"]) == 2
    assert [command[4] for command in proposed(capsys)] == ["k", "other"]
    with pytest.raises(InputError) as error:
        ptxmm.check("k.ptx", grid=2)
    assert not error.value.instead  # of Python there are no command lines


def test_python_asks_the_same(here: Path) -> None:
    numpy = pytest.importorskip("numpy")
    Path("lock.ptx").write_text(LOCK, encoding="utf-8")
    words = "u32[1]"
    result = ptxmm.check(
        "lock.ptx", entry="weak", grid=2, block=1, args={"lock": words, "counter": {"type": "u32", "elements": 1}},
        forall="counter[0] == 2",
    )  # fmt: skip
    assert result.verdict == "no" and [c.text for c in result.checks] == ["forall counter[0] == 2"]
    assert result.path == "lock.ptx:weak"
    args = {"x": numpy.array([5, 6], numpy.uint32), "n": 7}
    result = ptxmm.check(Path("k.ptx"), grid=1, block=(1, 1), args=args, exists=["x[1] == 6", "x[0] == 7"], races=True)
    assert result.verdict == "ok" and [c.kind for c in result.checks] == ["exists", "exists", "race_free"]
    assert [c.kind for c in ptxmm.check("k.ptx", grid=1, block=1, args=args).checks] == list(UNCLAIMED)
    with pytest.raises(InputError, match="grid: one to three"):
        ptxmm.check("k.ptx", grid=0, block=1, args=args)
    with pytest.raises(InputError, match=r"no type \.u33"):
        ptxmm.check("k.ptx", grid=1, block=1, args={"x": "u33[1]", "n": 1})
    with pytest.raises(InputError) as error:
        ptxmm.check("k.ptx")
    assert "ptxmm init k.ptx" in str(error.value)
    with pytest.raises(InputError, match="no argument for parameter 1") as error:
        ptxmm.check("k.ptx", grid=1, block=1, args={"x": words})
    assert 'args={"NAME1": "1"}' in str(error.value)
    annotated = f'// ptxmm: grid=2 block=1 x=u32[1] n=1 forall="x[0] == 1"\n{PTX}'
    Path("k.ptx").write_text(annotated, encoding="utf-8")
    assert ptxmm.check("k.ptx").verdict == "ok" and ptxmm.check("k.ptx:k").verdict == "ok"
    with pytest.raises(TypeError, match="unexpected keyword argument 'gird'"):
        ptxmm.check("k.ptx", gird=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"FILE\.cu or FILE\.ptx"):
        ptxmm.check("mp.litmus", grid=1)
    with pytest.raises(TypeError, match="load or parse"):
        ptxmm.check("mp.litmus")


TWO = PTX + PTX[PTX.index(".visible") :].replace("k(", "second(").replace("k_param", "s_param")
#: Launches as they are typed, and as a TOML file has them.
LAUNCHED = [
    (["--grid", "1", "--block", "1", "--launch", "k", "--launch", "second stream=s grid=2,1"],
     '[[kernel]]\nname = "k"\nentry = "k"\nargs = ["x", "n"]\n'
     '[[kernel]]\nname = "second"\nentry = "second"\nargs = ["x", "n"]\nstream = "s"\ngrid = [2, 1]\n'),
    (["--grid", "1", "--block", "1", "--bound", "default=7", "--launch", "k args=x,n name=a", "--launch",
      "k device=1 stream=t after=a", "--launch", "k"],
     'bounds.default = 7\n[[kernel]]\nname = "a"\nentry = "k"\nargs = ["x", "n"]\n'
     '[[kernel]]\nname = "k.2"\nentry = "k"\nargs = ["x", "n"]\ndevice = 1\nstream = "t"\nafter = ["a"]\n'
     '[[kernel]]\nname = "k.3"\nentry = "k"\nargs = ["x", "n"]\n'),
]  # fmt: skip


@pytest.mark.parametrize(("words", "toml"), LAUNCHED, ids=range(len(LAUNCHED)))
def test_several_launches_are_those_that_a_file_would_have(here: Path, words: list[str], toml: str) -> None:
    Path("k.ptx").write_text(TWO, encoding="utf-8")
    given = 'params.x = {type = "u32", elements = 2}\nparams.n = {type = "u32", value = 4}\ncheck.race_free = true\n'
    file = KernelFile(f'ptx = "k.ptx"\ngrid = 1\nblock = 1\n{given}{toml}', "k.toml").test()
    test = typed([*words, "--arg", "x=u32[2]", "--arg", "n=4", "--check", "race_free"])
    assert replace(bare(test), bounds={}) == replace(bare(file), bounds={}, checks=test.checks)
    assert test.variant in ("k+second", "k")


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--launch", "k", "--launch", "second grd=2"], "did you mean 'grid'?"),
        (["--launch", "k after=second"], "no kernel before this one is called 'second'"),
        (["--launch", "kk"], "no kernel 'kk'"),
        (["--launch", "grid=2"], "which of the 2 kernels is meant?"),
        (["--launch", "k", "--arg", "m=1"], "no launch takes 'm'"),
        (["--launch", "k grid"], "'grid' is no KEY=VALUE"),
        (["--launch", "k grid=1 grid=2"], "'grid' is said twice"),
        (["--launch", ""], "name a kernel"),
        (["--launch", "k 'x"], "no closing quotation"),
        (["--launch", "k args=x"], "no argument for parameter '.u32 n'"),
        (["--launch", "k device=-1"], "a device is a number"),
        (["--launch", "k name=x", "--launch", "second name=x"], "two kernels are called 'x'"),
        (["--launch", "k grid=[1"], "one to three whole numbers"),
        (["--bound", "7"], "write LOOP=N"),
        (["--bound", "L=2", "--bound", "L=3", "--entry", "k"], "'L' is said twice"),
        (["--memory", "b=u32[1]", "--memory", "b=u32[2]", "--entry", "k"], "'b' is said twice"),
        (["--bound", "L=x", "--entry", "k"], "a number of iterations"),
        (["--bound", "L=2", "--entry", "k"], "no loop of 'k' is at 'L'"),
    ],
)
def test_what_is_wrong_with_launches_is_said(
    here: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.ptx").write_text(TWO.replace("k_param_0", "x").replace("k_param_1", "n"), encoding="utf-8")
    given = ["--grid", "1", "--block", "1", "--arg", "x=u32[2]", "--arg", "n=4"]
    assert main(["check", "k.ptx", *given, *words]) == 2
    assert told in capsys.readouterr().err


def test_launches_and_bounds_in_python(here: Path) -> None:
    Path("k.ptx").write_text(TWO, encoding="utf-8")
    result = ptxmm.check(
        "k.ptx", grid=1, block=1, args={"x": "u32[2]", "n": 4}, launches=[{"entry": "k"}, {"entry": "second", "stream": "s"}],
        checks=("race_free",), device=1,
    )  # fmt: skip
    assert result.verdict == "no" and {event.thread for race in result.races for event in race.events} == {
        "CTA 0 thread 0 of k", "CTA 0 thread 0 of second",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("ld.global.u32 %r, [%rd];", "--grid 2 --block 1 x=u32[4]"),
        ("mov.u32 %r, %tid.x; ld.global.u32 %r, [%rd];", "--grid 1 --block 2 x=u32[4]"),
        ("mov.u32 %r, %tid.x; mov.u32 %r, %ctaid.x; ld.global.u32 %r, [%rd];", "--grid 2 --block 2 x=u32[16]"),
        ("mov.u32 %r, %tid.x; red.global.add.u32 [%rd], 1;", "--grid 2 --block 2 x=u32[16]"),
        ("mov.u32 %r, %tid.x; barrier.sync 1, 128; bar.sync 0;", "--grid 1 --block 128 x=u32[512]"),
        ("ld.global.u32 %r, [%rd+400];", "--grid 2 --block 1 x=u32[128]"),
        ("mov.u32 %r, %tid.x; trap;", "--grid 1 --block 2 x=u32[4]"),  # no launch of it ends
    ],
)
def test_the_launch_that_is_proposed_runs_to_its_end(
    here: Path, body: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global x)\n{\n"
    text = f"{head}.reg .b64 %rd; .reg .b32 %r;\nld.param.u64 %rd, [x]; mov.u32 %r, 0;\n{body}\nret;\n}}\n"
    Path("run.ptx").write_text(text, encoding="utf-8")
    assert main(["check", "--no-defaults", "run.ptx"]) == 2
    (command,) = proposed(capsys)
    at = command.index("--grid")
    assert [*command[at : at + 4], command[-1]] == wanted.split()
