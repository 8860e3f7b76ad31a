"""Kernel tests as TOML: what a file says is taken as it is meant, and every mistake is told by name and place."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest
from files import PTX, TOML, write

from ptxcore.diagnostics import InputError
from ptxmm.kernels.launch import Buffer, Scalar
from ptxmm.kernels.recognise import holds_kernel_tests
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import read


def test_a_file_says_what_is_launched_and_checked(tmp_path: Path) -> None:
    file = read(write(tmp_path))
    assert file.variants == [""]
    test = file.test()
    launch = test.launches[0]
    assert (launch.entry, launch.grid, launch.block, launch.cluster) == ("k", (2, 1, 1), (1, 1, 1), None)
    assert launch.text == PTX and launch.path == str(tmp_path / "k.ptx")
    assert launch.params == (Buffer("x", "u32", 2, (0, 0)), Scalar("n", 4, "u32"))
    assert [str(c) for c in test.checks] == ["forall x[0] == n && x[1] == 0"]
    assert test.expect == ("ok",) and test.identity == str(tmp_path / "k.toml")
    spot = test.checks[0].spot
    assert spot is not None and (spot.line, spot.column) == (11, 1)


def _variants(path: Path) -> dict[str, KernelTest]:
    file = read(path)
    return {name: file.test(name) for name in file.variants}


def test_variants_differ_in_what_they_say_and_keep_the_rest(tmp_path: Path) -> None:
    toml = (
        TOML
        + """race_free = true
[bounds]
default = 3
"$L__BB0_1" = 7
[[variant]]
name = "right"
[[variant]]
name = "weak"
ptx = "weak.ptx"
expect = "no|undefined"
grid = 3
cluster = [3]
check.race_free = false
check.never = ["x[0] == 1", "x[0] == 2"]
params.x = {type = "s64", elements = 3}
bounds.default = 5
"""
    )
    tests = _variants(write(tmp_path, toml, weak__ptx=PTX + "// weak\n"))
    assert list(tests) == ["right", "weak"]
    right, weak = tests["right"], tests["weak"]
    assert right.identity == f"{tmp_path / 'k.toml'}:right"
    assert right.expect == ("ok",) and weak.expect == ("no", "undefined")
    assert right.launches[0].unroll == 3 and right.launches[0].loops == {"$L__BB0_1": 7}
    assert weak.launches[0].unroll == 5 and weak.launches[0].loops == {"$L__BB0_1": 7}
    assert weak.launches[0].text.endswith("// weak\n")
    assert weak.launches[0].grid == (3, 1, 1) and weak.launches[0].cluster == (3, 1, 1)
    assert [p.name for p in weak.parameters] == ["x", "n"]
    assert weak.parameters[0] == Buffer("x", "s64", 3)
    assert [str(c) for c in right.checks] == ["forall x[0] == n && x[1] == 0", "race_free"]
    assert [str(c) for c in weak.checks] == [
        "forall x[0] == n && x[1] == 0",
        "never x[0] == 1",
        "never x[0] == 2",
        "race_free = false",
    ]


def test_arguments_have_the_bits_of_their_types(tmp_path: Path) -> None:
    toml = TOML.replace('n = {type = "u32", value = 4}', 'n = {type = "f32", value = 1.5}').replace(
        'x = {type = "u32", elements = 2, init = [0, 0]}', 'x = {type = "s8", elements = 2, init = -1, align = 128}'
    )
    test = read(write(tmp_path, toml)).test()
    assert test.parameters == (Buffer("x", "s8", 2, (255, 255), 128), Scalar("n", 0x3FC00000, "f32"))
    toml = toml.replace("elements = 2, init = -1, align = 128", "init = [1, 2]")
    assert read(write(tmp_path, toml)).test().parameters[0] == Buffer("x", "s8", 2, (1, 2))


def test_an_array_of_values_fills_a_structure(tmp_path: Path) -> None:
    ptx = PTX.replace(".param .u32 k_param_1", ".param .align 4 .b8 k_param_1[8]")
    toml = TOML.replace("value = 4", "value = [1, 2]").replace("n && ", "4 && ")
    assert read(write(tmp_path, toml, k2__ptx=ptx)).variants == [""]
    (tmp_path / "k.ptx").write_text(ptx, encoding="utf-8")
    assert read(tmp_path / "k.toml").test().parameters[1] == Scalar("n", b"\1\0\0\0\2\0\0\0", "u32")


def test_kernels_in_streams_share_buffers(tmp_path: Path) -> None:
    toml = """[params]
x = {type = "u32", elements = 2}
n = {type = "u32", value = 4}
m = {type = "u32", value = 5}
[check]
exists = "x[0] == 5"
[[kernel]]
name = "first"
ptx = "k.ptx"
grid = 1
block = 1
args = ["x", "n"]
stream = 1
[[kernel]]
ptx = "k.ptx"
grid = 1
block = [2, 2]
args = ["x", "m"]
stream = 1
after = ["first"]
"""
    test = read(write(tmp_path, toml)).test()
    assert [launch.block for launch in test.launches] == [(1, 1, 1), (2, 2, 1)]
    assert [[p.name for p in launch.params] for launch in test.launches] == [["x", "n"], ["x", "m"]]
    assert [launch.entry for launch in test.launches] == ["k", "k"]  # the only kernel of its module


def _said(path: Path, variant: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        file = read(path)
        file.test(file.variants[0] if variant is None else variant)
    return caught.value.render()


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('entry = "k"', 'entyr = "k"', "2:1", "has no 'entyr'\n    entyr = \"k\"\n    ^^^^^\n    hint: did you mean 'entry'?"),
        ("grid = [2, 1, 1]", "grid = [2, 0, 1]", "3:8", "one to three whole numbers from 1 on"),
        ("grid = [2, 1, 1]\n", "", "1:1", "'grid' is missing"),
        ("grid = [2, 1, 1]", "grid = 1048577", "3:8", "a launch of 1048577 threads: at most 1048576 are explored"),
        ("block = [1, 1, 1]", "block = [1025]", "4:9", "at most 1024 threads, not 1025"),
        ("block = [1, 1, 1]", "block = 1\ncluster = 4", "5:11", "the grid [2, 1, 1] is no multiple of the cluster [4, 1, 1]"),
        ("block = [1, 1, 1]", "block = true", "4:9", "not true or false"),
        ('ptx = "k.ptx"', 'ptx = "missing.ptx"', "1:7", "cannot read"),
        ('ptx = "k.ptx"', "ptx = 3", "1:7", "a string is wanted here, not a whole number (3)"),
        ('ptx = "k.ptx"', 'ptx = """\n.version 8.0\n"""', "1:7",
         'not what it holds\n    ptx = """\n          ^^^\n    hint: a module stands in a file beside this one, as in ptx ='),
        ('ptx = "k.ptx"', 'cu = """\nint x;\n"""', "1:6", "the name of a file is wanted here"),
        ('ptx = "k.ptx"', 'ptx = "k\\u0000"', "1:7", "no file has such a name"),
        ('ptx = "k.ptx"\n', "", "1:1", "there is no PTX to check"),
        ('entry = "k"', 'entry = "kk"', "2:9", "no kernel 'kk'\n"),
        ('"u32", elements', '"u33", elements', "7:13", "'u33' is no type"),
        ('type = "u32", elements', "elements", "7:1", "'x' has no type"),
        ("elements = 2", "elements = 0", "7:31", "a number from 1 to"),
        ("elements = 2, init = [0, 0]", "align = 8", "7:1", "a buffer or a number?"),
        ("init = [0, 0]", "init = [0, 0, 0]", "7:41", "3 values for 2 elements"),
        ("init = [0, 0]", "init = [0, -1]", "7:45", "-1 does not fit into u32"),
        ("init = [0, 0]", "init = [0, 4294967296]", "7:45", "does not fit into u32"),
        ("init = [0, 0]", "init = [0, 1.5]", "7:45", "1.5 is no value of u32"),
        ("init = [0, 0]", "init = [0, 'a']", "7:45", "a number is wanted here"),
        ("init = [0, 0]", "align = 3", "7:42", "a power of two"),
        ("init = [0, 0]", "align = 2", "7:42", "at least 4"),
        ("init = [0, 0]", "size = 2", "7:34", "'x' has no 'size'"),
        ("value = 4", "value = 4, elements = 1", "8:31", "so it is a scalar"),
        ("n = {", "n-1 = {", "8:1", "'n-1' is no name"),
        ('n = {type = "u32", value = 4}', "n = 4", "8:5", "must be a table"),
        ("x[0] == n", "x[0] == m", "11:19", "no parameter is called 'm'"),
        ("x[0] == n", "x[2] == n", "11:11", "'x[2]' lies outside of 'x', whose elements are 0 to 1"),
        ("x[0] == n", "x == n", "11:11", "'x' is a buffer of 2"),
        ("x[0] == n", "n[0] == 4", "11:11", "'n' is a scalar"),
        ("x[0] == n", "x[0] = n", "11:16", "'=' assigns"),
        ('forall = "x', 'foral = "x', "11:1", "[check] has no 'foral'"),
        ('forall = "x[0] == n && x[1] == 0"', "forall = 1", "11:10", "a string, or an array of strings"),
        ('forall = "x[0] == n && x[1] == 0"', "race_free = 1", "11:13", "true or false is wanted here"),
        ('[check]\nforall = "x[0] == n && x[1] == 0"', "", "1:1", "nothing is checked here"),
        ("[check]", '[bounds]\ndefault = 0\n[check]', "11:11", "a number of iterations from 1 on"),
        ("[check]", 'expect = "no"\n[check]', "10:10", "'expect' must be a table"),
        ('entry = "k"', 'expect = "maybe"', "2:10", "a test expects ok, bounded, no, undefined or hangs, not 'maybe'"),
        ('entry = "k"', "entry = 'k'\nentry = 'k'", "3:12", "no TOML: cannot overwrite a value"),
        ("[check]", "[check", "10:7", "no TOML: expected ']'"),
    ],
)  # fmt: skip
def test_mistakes_are_told_by_name_and_place(tmp_path: Path, old: str, new: str, place: str, words: str) -> None:
    assert old in TOML
    path = write(tmp_path, TOML.replace(old, new, 1))
    said = _said(path)
    assert f"{path}:{place}: error: " in said
    assert words in said


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    toml = TOML.replace("entry", "entyr").replace("[2, 1, 1]", "[]").replace('"u32", elements', '"u31", elements')
    assert _said(write(tmp_path, toml)).count("error:") == 2  # what depends on these is told once they are right
    toml = TOML.replace("x[0] == n", "x[0] == m").replace('x[1] == 0"', "x[1] == 0\"\nexists = '2 ='\nnever = '('")
    assert _said(write(tmp_path, toml)).count("error:") == 3


def test_parameters_that_do_not_fit_the_kernel_are_told_with_its_own(tmp_path: Path) -> None:
    swapped = TOML.replace(
        'x = {type = "u32", elements = 2, init = [0, 0]}\nn = {type = "u32", value = 4}',
        'n = {type = "u32", value = 4}\nx = {type = "u32", elements = 2}',
    )
    said = _said(write(tmp_path, swapped))
    assert "parameter 1 of 'k' is .u64 k_param_0, and 'n' is u32" in said
    assert "hint: the order of the parameters counts; 'k' takes .u64 k_param_0, .u32 k_param_1" in said
    said = _said(write(tmp_path, TOML.replace('n = {type = "u32", value = 4}\n', "").replace("n &&", "4 &&")))
    assert "k.toml:6:2: error: 'k' takes 2 parameters, not 1" in said


def test_escapes_in_a_string_do_not_move_the_caret(tmp_path: Path) -> None:
    said = _said(write(tmp_path, TOML.replace("x[0] == n", "x[0] == \\u006d")))
    assert said.splitlines()[2] == " " * 13 + "^" * 29  # the whole string
    for new in ("'x[0] == m'", '"""\nx[0] == m"""', '["n == 4", "x[0] == m"]'):
        said = _said(write(tmp_path, TOML.replace('"x[0] == n && x[1] == 0"', new)))
        line, caret = said.splitlines()[1:3]
        assert "m" in line[caret.index("^") : caret.rindex("^") + 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[variant]]\n", "this variant has no name"),
        ('[[variant]]\nname = "a"\n[[variant]]\nname = "a"\n', "two variants are called 'a'"),
        ('[[variant]]\nname = "a/b"\n', "no '/' in it"),
        ('[[variant]]\nname = "a"\ngird = 2\n', "a variant has no 'gird'"),
        ('[[variant]]\nname = "a"\ncheck.forall = "x[9] == 0"\n', "'x[9]' lies outside of 'x'"),
        ('[[kernel]]\nargs = ["y"]\n', "no parameter is called 'y'"),
        ('[[kernel]]\nafter = ["y"]\n', "no kernel before this one is called 'y'"),
        ("[[kernel]]\nstream = -1\n", "a stream is a name or a number"),
        ("variant = 3\n", "[check] has no 'variant'"),
        ('[[variant]]\nname = "a"\nkernel = []\n', "no kernel is launched"),
    ],
)
def test_mistakes_in_variants_and_kernels(tmp_path: Path, text: str, words: str) -> None:
    assert words in _said(write(tmp_path, TOML + text))


def test_a_variant_that_cannot_be_does_not_stop_the_others(tmp_path: Path) -> None:
    toml = TOML + '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\nptx = "missing.ptx"\n'
    path = write(tmp_path, toml)
    assert read(path).test("a").variant == "a"
    assert "cannot read" in _said(path, "b")


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "k.toml"
    path.write_bytes(b'ptx = "k\xff"\n')
    assert f"{path}:1:9: error: byte 0xff is not UTF-8" in _said(path)


def test_windows_line_ends_count_as_lines(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(TOML.replace("x[0] == n", "x[0] == m").replace("\n", "\r\n").encode())
    assert ":11:19: error:" in _said(path)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (TOML, True),
        ('cu = "a.cu"\n', True),
        ('[[variant]]\nname = "a"\nptx = "a.ptx"\n', True),
        ('[tool.ptxmm]\nptx = "a"\n', False),
        ("[project]\nname = 'ptx'\n", False),
        ('ptx = "a.ptx"\nbroken = \n', True),
        ("broken = \n", False),
        ("", False),
    ],
)
def test_other_toml_files_are_told_apart(tmp_path: Path, text: str, ours: bool) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    assert holds_kernel_tests(str(path)) == ours


def test_no_text_makes_the_reader_fall(tmp_path: Path) -> None:
    random_ = random.Random(4)
    whole = TOML + '[[variant]]\nname = "a"\ncheck.never = ["n == 1"]\n[[kernel]]\nargs = ["x", "n"]\n'
    for _ in range(400):
        start = random_.randrange(len(whole))
        text = (
            whole[:start]
            + random_.choice(["", '"', "[", "]", "{", "=", "\n", "0", "x", "'''"])
            + whole[start + random_.randrange(4) :]
        )
        path = write(tmp_path, text)
        try:
            file = read(path)
            for name in file.variants:
                file.test(name)
        except InputError as error:
            assert error.render().startswith(str(path))


CUDA = 'extern "C" __global__ void k(unsigned *x, unsigned n) { x[0] = n; }\n'


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_cuda_source_is_compiled(tmp_path: Path) -> None:
    test = read(write(tmp_path, TOML.replace('ptx = "k.ptx"', 'cu = "k.cu"'), k__cu=CUDA)).test()
    assert ".entry k(" in test.launches[0].text and ".loc" in test.launches[0].text
    said = _said(write(tmp_path, TOML.replace('ptx = "k.ptx"', 'cu = "bad.cu"'), bad__cu="int x = y;\n"))
    assert "nvcc does not compile" in said and 'identifier "y" is undefined' in said


def test_a_cuda_source_without_a_compiler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    said = _said(write(tmp_path, TOML.replace('ptx = "k.ptx"', 'cu = "other.cu"'), other__cu=CUDA))
    assert re.search(r"k\.toml:1:6: error: compiling \S*other\.cu needs nvcc, which is neither in PATH nor ", said)
    assert re.search(
        r"hint: .*nvcc -std=c\+\+17 -arch=sm_90 -lineinfo -ptx -o \S*other\.ptx \S*other\.cu, and give", said
    )


def test_a_bound_of_no_loop_is_told_at_its_place(tmp_path: Path) -> None:
    import ptxmm

    path = write(tmp_path, TOML + '[bounds]\ndefault = 2\n"k.cu:12" = 3\n')
    with pytest.raises(InputError) as caught:
        ptxmm.check(ptxmm.load(path))
    assert f"{path}:14:1: error: no loop of 'k' is at 'k.cu:12'" in caught.value.render()


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('entry = "k"', 'expect = "violated"', "did you mean 'no'?"),
        ('entry = "k"', 'expect = "OK"', "did you mean 'ok'?"),
        ('entry = "k"', 'expect = ["ok", "fails"]', "did you mean 'no'?"),
        ('entry = "k"', "expect = false", 'as in expect = "no"'),
        ('entry = "k"', "timeout = 5", "that is an option of the command: ptxmm check --timeout"),
        ("grid = ", "blocks = ", "did you mean 'grid'?"),
        ("block = ", "threads = ", "did you mean 'block'?"),
        ("forall", "always", "did you mean 'forall'?"),
        ("forall", "forbid", "did you mean 'never'?"),
        ("forall =", "no_races = true\nforall =", "did you mean 'race_free'?"),
        ("forall =", 'race_free = "true"\nforall =', "without quotation marks"),
        ("forall =", "live = true\nforall =", "did you mean 'terminates'?"),
        ('"u32", elements', '"unsigned", elements', "did you mean 'u32'?"),
        ('"u32", elements', '"float", elements', "did you mean 'f32'?"),
        ('"u32", elements', '"u32", length', "did you mean 'elements'?"),
        ('{type = "u32", elements', '{kind = "u32", elements', "did you mean 'type'?"),
    ],
)
def test_words_of_others_are_understood(tmp_path: Path, old: str, new: str, hint: str) -> None:
    assert old in TOML
    with pytest.raises(InputError) as raised:
        read(write(tmp_path, TOML.replace(old, new, 1)))
    assert f"hint: {hint}" in str(raised.value)


def test_no_word_stands_for_one_that_there_is() -> None:
    """What is called otherwise here is no word of the format itself, where it would be taken as it is."""
    from ptxmm.kernels.words import suggested

    for known in (
        ["ok", "no", "undefined"],
        ["forall", "exists", "never", "race_free", "terminates"],
        ["u8", "u32", "s32"],
    ):
        assert [suggested(word, known) for word in known] == [f"did you mean '{word}'?" for word in known]


@pytest.mark.parametrize("check", ["[check]\n", "[check]\nforall = []\n", "[check]\nexists = []\nnever = []\n"])
def test_a_test_that_asks_nothing_is_an_error(tmp_path: Path, check: str) -> None:
    assert "error: nothing is checked here" in _said(write(tmp_path, TOML.partition("[check]")[0] + check))


def test_a_test_that_launches_nothing_is_an_error(tmp_path: Path) -> None:
    """What memory holds at first is no answer to what kernels leave there."""
    assert "error: no kernel is launched" in _said(write(tmp_path, "kernel = []\n" + TOML))


def test_a_variant_may_take_checks_away_but_not_all(tmp_path: Path) -> None:
    variant = "[[variant]]\nname = 'a'\ncheck.forall = []\n"
    assert "error: nothing is checked here" in _said(write(tmp_path, TOML + variant))
    read(write(tmp_path, TOML + variant + "check.race_free = true\n"))


_LONG = {
    "decimal": "9" * 5000, "with underscores": "9_9" * 2000, "hexadecimal": "0x" + "f" * 5000, "binary": "0b" + "1" * 20_000,
    "octal": "0o" + "7" * 9000, "negative": "-" + "9" * 5000, "short enough for Python": "9" * 1200,
}  # fmt: skip


@pytest.mark.parametrize("number", _LONG.values(), ids=_LONG)
@pytest.mark.parametrize("old", ["grid = [2, 1, 1]", "elements = 2"])
def test_an_integer_of_any_length_is_an_error_of_its_file(tmp_path: Path, number: str, old: str) -> None:
    assert old in TOML
    said = _said(write(tmp_path, TOML.replace(old, f"{old.partition('=')[0]}= {number}", 1)))
    assert "error: no TOML: an integer is too long" in said and len(said) < 1000


def test_a_key_of_thousands_of_parts_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for key in ("a" + ".a" * 5000, '"a"' + ' . "a"' * 5000):
        for line in (f"{key} = 1", f"[{key}]", f"[[{key}]]", f"a = {{{key} = 1}}"):
            assert "error: no TOML: a key has too many parts" in _said(write(tmp_path, f"{TOML}\n{line}\n"))
