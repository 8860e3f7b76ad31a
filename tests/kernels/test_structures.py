"""Parameters as people have them: structures with pointers, pointers into buffers, buffers of any size, arrays from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import ptxmm
from ptxcore.machine.run.launch import UsageError
from ptxmm.cli.main import main
from ptxmm.kernels.contents import BufferContents
from ptxmm.kernels.launch import Buffer, Field, Pointer, Structure
from ptxmm.kernels.runs import Runs

#: Adds a number to what two pointers of a structure lead to, and 2 to what a third one does.
PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 8 .b8 s[32], .param .u64 q)
{
.reg .b64 %d<9>; .reg .b32 %r<5>;
ld.param.u64 %d1, [s]; ld.param.u32 %r1, [s+12]; ld.param.u64 %d2, [s+16]; ld.param.u64 %d3, [q];
atom.global.add.u32 %r2, [%d1], %r1;
atom.global.add.u32 %r3, [%d2], 1;
atom.global.add.u32 %r4, [%d3], 2;
ret;
}
"""
S = """{bytes = 32, fields = [{at = 0, value = "&x"}, {at = 12, type = "u32", value = 5}, {at = 16, value = "&x+4"}]}"""
TOML = f"""ptx = "k.ptx"
grid = 2
block = 1
[params]
s = {S}
q = {{value = "&big[9999999]"}}
[memory]
x = {{type = "u32", elements = 2, init = [1, 1]}}
big = {{type = "u32", elements = 10000000, init = 7}}
idle = {{type = "s16", elements = 70000, init = -3}}
[check]
forall = "x[0] == 11 && x[1] == 3 && big[9999999] == 11 && big[5] == 7 && idle[69999] == -3"
race_free = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(PTX)
    return tmp_path


def load(toml: str, folder: Path) -> Any:
    (folder / "k.toml").write_text(toml)
    return ptxmm.load("k.toml")


def test_pointers_lead_to_where_they_say_whether_explored_or_run(folder: Path) -> None:
    test = load(TOML, folder)
    x, big = test.parameters[2:4]
    structure, pointer = test.launches[0].params
    fields = (Field(0, 8, Pointer(x)), Field(12, 4, 5), Field(16, 8, Pointer(x, 4)))
    assert structure == Structure("s", 32, fields) and not structure.is_pointer
    assert pointer == Structure("q", 8, (Field(0, 8, Pointer(big, 39999996)),)) and pointer.is_pointer
    result = ptxmm.check(test)
    assert result.verdict == "ok" == ptxmm.check(test, engine="enumerate").verdict
    small = TOML.replace("10000000", "100000").replace("9999999", "99999")  # runs hold buffers in full
    (state,) = result.states
    assert Runs(load(small, folder)).run(seed=1) == {k.replace("9999999", "99999"): v for k, v in state.items()}
    whole = (
        small.replace("grid = 2", "grid = 64").replace("== 11 && x", "== 321 && x").replace("x[1] == 3", "x[1] == 65")
    )
    decided = ptxmm.check(load(whole.replace("[99999] == 11", "[99999] == 135"), folder))
    assert decided.verdict == "ok" and any("one run of all 64 threads" in note for note in decided.notes)
    large = load(
        whole.replace("elements = 100000", "elements = 500000000").replace("[99999] == 11", "[99999] == 135"), folder
    )
    explored = ptxmm.check(large)  # what is touched of 2 GB
    assert explored.verdict == "ok" and not any("one run" in note for note in explored.notes)
    wrong = ptxmm.check(load(TOML.replace("x[1] == 3", "x[1] == 4"), folder))
    assert wrong.verdict == "no"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("at = 12", "at = 4"), ":5:58: error: this fills bytes 4 to 7, of which the field at 0 has some already"),
        (("at = 16", "at = 28"), ": error: this fills bytes 28 to 35, and 's' has bytes 0 to 31"),
        (('"&x"', '"&xx"'), ":5:45: error: 'xx' is no buffer"),
        (('"&x"', '"&s"'), ":5:45: error: 's' is no buffer"),
        (('"&x"', '"x"'), ":5:45: error: 'x' is no pointer"),
        (("&x+4", "&x+9"), "error: byte 9 lies outside of 'x', which has 8"),
        (("&big[9999999]", "&big[10000001]"), "error: byte 40000004 lies outside of 'big', which has 40000000"),
        (("bytes = 32", "bytes = 40"), "error: parameter 1 of 'k' is .b8 s[32], of 32 bytes, and 's' has 40"),
        (("bytes = 32, ", ""), ":5:1: error: how many bytes does 's' have?"),
        (("bytes = 32", "bytes = 99999"), "error: 'bytes' is a number from 1 to 32764, not 99999"),
        (("at = 0, ", ""), "error: this field of 's' has no 'at'"),
        (("at = 0", "at = -8"), "error: a field begins at a byte from 0 on, not -8"),
        (("at = 0, value", "at = 0, valeu"), "error: a field of 's' has no 'valeu'\n"),
        (('type = "u32", value = 5', "value = 5"), "error: 's' has no type"),
        (('value = "&x"', 'type = "u32", value = "&x"'), "error: a pointer has 64 bits: it is no u32"),
        (("fields = [", "fields = [7, "), "error: a field is a table, not a whole number"),
        (("bytes = 32", 'bytes = 32, type = "u8"'), "error: 's' is a structure: 'type' has no meaning"),
        (("elements = 10000000", "elements = 600000000"), "'elements' is a number from 1 to 536870912, not 600000000"),
        (("x = {type", "q = {type"), "error: 'q' is a parameter already"),
        (
            ("elements = 2, init = [1, 1]", "value = 1"),
            "error: [memory] has buffers, textures and surfaces, and 'x' is none",
        ),
        (("x[0] == 11", "s == 11"), "error: 's' is passed as bytes: it has no value to compare"),
        (("x[0] == 11", "q == 11"), "error: 'q' is an address: it has no value to compare"),
    ],
)
def test_mistakes_are_told_by_place(folder: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in TOML
    with pytest.raises(ptxmm.InputError) as caught:
        load(TOML.replace(*change, 1), folder)
    assert words in caught.value.render()


def test_pointers_fill_pointers_and_structures_of_other_kernels(folder: Path) -> None:
    """A pointer is right for a `.ptr` parameter, a structure that is none is not; numbers stay what they were."""
    (folder / "k.ptx").write_text(PTX.replace(".param .u64 q", ".param .u64 .ptr .align 4 q"))
    assert ptxmm.check(load(TOML, folder)).verdict == "ok"
    with pytest.raises(ptxmm.InputError, match="a pointer, and 'q' is a structure"):
        load(TOML.replace('q = {value = "&big[9999999]"}', "q = {bytes = 8}"), folder)
    made = ptxmm.Kernel(
        PTX,
        params={"s": {"type": "u64", "value": ["&x", 5 << 32, "&x+4", 0]}, "q": {"value": "&x"}},
        memory={"x": numpy.array([1, 1], numpy.uint32)},
        forall="x[0] == 8 && x[1] == 2", grid=1, block=1,
    )  # fmt: skip
    assert made.check().verdict == "ok"
    x = made.test.parameters[2]
    assert isinstance(x, Buffer)
    values = (Pointer(x), 5 << 32, Pointer(x, 4), 0)
    assert made.test.launches[0].params[0] == Structure(
        "s", 32, tuple(Field(8 * i, 8, v) for i, v in enumerate(values))
    )


def test_structures_for_run(folder: Path) -> None:
    x = numpy.array([1, 1, 1], numpy.uint32)
    fields = [{"at": 0, "value": x}, {"at": 12, "type": "u32", "value": numpy.uint32(5)}, {"at": 16, "value": x[1:]}]
    ptxmm.run("k.ptx", "k", (2,), (1,), [{"bytes": 32, "fields": fields}, x[2:]])
    assert x.tolist() == [11, 3, 5]
    for wrong, words in (
        ({"bytes": 24, "fields": fields}, "'s' has 32 bytes, the argument 24"),
        ({"bytes": 32, "fields": [*fields, {"at": 1, "value": x}]}, r"'s'.fields\[3\].at: this fills bytes 1 to 8"),
        ({"type": "u32", "value": 3}, "a structure has bytes and fields"),
    ):
        with pytest.raises(UsageError, match=words):
            ptxmm.run("k.ptx", "k", (1,), (1,), [wrong, x])


def test_structures_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = ["run", "k.ptx", "--entry", "k", "--grid", "2", "--block", "1"]
    given = ["--arg", f"s={S}", "--arg", "q=&x[2]", "--memory", "x=u32[3]", "--out", "x"]
    assert main([*launch, *given]) == 0 and capsys.readouterr().out == "x = [10, 2, 4]\n"
    numpy.save("x.npy", numpy.array([1, 1, 1], numpy.uint32))
    assert main([*launch, "--arg", f"s={S.replace('&x', '&q')}", "--arg", "q=x.npy", "--out", "q"]) == 0
    assert capsys.readouterr().out == "q = [15, 3, 1]\n"
    for wrong, words in (
        ([*given[:3], "q=&y", *given[4:]], "'y' is no buffer"),
        ([*given[:3], "q={value = 3", *given[4:]], "no structure: "),
        ([*given[:3], "q={}\nx = 3", *given[4:]], "one pair of braces"),
        ([*given[:3], "q={value = 3}", *given[4:]], "'q' has no type"),
        ([*given[:5], "x=3", *given[6:]], "--memory x=3: this is no buffer"),
        ([*given[:5], "q=u32[3]", *given[6:]], "with a name that nothing else has"),
        ([*given[:-1], "y"], "the kernel has no parameter 'y'"),
    ):
        assert main([*launch, *wrong]) == 2
        assert words in capsys.readouterr().err


def test_contents_come_from_arrays_in_files(folder: Path) -> None:
    (folder / "data").mkdir()
    values = numpy.arange(6, dtype=numpy.uint32)
    arrays = {"a": values.reshape(2, 3), "f": values.reshape(2, 3).copy(order="F"), "big": values.astype(">u4")}
    for name, array in arrays.items():
        numpy.save(folder / "data" / f"{name}.npy", array)
        toml = TOML.replace("elements = 2, init = [1, 1]", f'elements = 8, init = "data/{name}.npy"')
        test = load(
            toml.replace("x[0] == 11 && x[1] == 3", "x[0] == 10 && x[1] == 3 && x[5] == 5 && x[7] == 0"), folder
        )
        (held,) = (p for p in test.parameters if p.name == "x")
        assert held == Buffer("x", "u32", 8, (0, 1, 2, 3, 4, 5)) and isinstance(held.init, BufferContents)
        assert ptxmm.check(test).verdict == "ok"
    (alone,) = (p for p in load(toml.replace("elements = 8, ", ""), folder).parameters if p.name == "x")
    assert isinstance(alone, Buffer) and alone.elements == 6
    floats = numpy.array([1.5, -2], numpy.float32)
    numpy.save("w.npy", floats)
    kinds = {"f32": True, "b32": True, "u32": False, "f64": False, "u8": False}
    for kind, fits in kinds.items():
        toml = TOML.replace("idle = {", f'w = {{type = "{kind}", init = "w.npy"}}\nidle = {{')
        if fits:
            (w,) = (p for p in load(toml, folder).parameters if p.name == "w")
            assert list(w.init) == floats.view(numpy.uint32).tolist()
        else:
            with pytest.raises(ptxmm.InputError, match=f"w.npy holds elements of float32, not of {kind}"):
                load(toml, folder)


def test_what_no_array_is_told_by_place(folder: Path) -> None:
    numpy.save("many.npy", numpy.zeros(3, numpy.uint32))
    numpy.save("none.npy", numpy.zeros(0, numpy.uint32))
    numpy.save("objects.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    numpy.savez(folder / "several.npz", a=numpy.zeros(1))
    (folder / "several.npz").rename("several.npy")
    (folder / "text.npy").write_text("hello")
    (folder / "cut.npy").write_bytes((folder / "many.npy").read_bytes()[:-1])
    for name, words in {
        "many.npy": "3 values for 2 elements", "none.npy": "holds no elements", "several.npy": "holds several arrays",
        "text.npy": "no array of numbers", "cut.npy": "no array of numbers", "objects.npy": "no array of numbers",
        "gone.npy": "cannot read gone.npy: No such file", "x.bin": "'x.bin' is no contents of a buffer",
    }.items():  # fmt: skip
        with pytest.raises(ptxmm.InputError) as caught:
            load(TOML.replace("[1, 1]", f'"{name}"'), folder)
        assert ":8:" in caught.value.render() and words in caught.value.render()


def test_contents_are_sequences_of_their_elements() -> None:
    sevens, ramp = BufferContents(b"\7\0", 2, 100), BufferContents(bytes(range(6)), 2, 3)
    assert sevens == (7,) * 100 == tuple(sevens) and len(sevens) == 100 and sevens[-1] == 7 and sevens[1:3] == (7, 7)
    assert list(ramp) == [0x100, 0x302, 0x504] == [ramp[i] for i in range(3)] and hash(ramp) == hash(tuple(ramp))
    assert ramp != sevens and (ramp != (1, 2, 3)) and BufferContents(b"\7\0\7\0", 2, 100) == sevens
    with pytest.raises(IndexError):
        ramp[3]


def test_all_elements_are_listed_up_to_a_bound(folder: Path) -> None:
    with pytest.raises(ptxmm.InputError, match="all of them are listed up to 65536"):
        ptxmm.check(load(TOML, folder), all_registers=True)


#: A copy by a tensor map within a structure, as libraries of kernels pass all that they take.
_MAPPED = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 p[256])
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<4>;
    .shared .align 128 .b8 s[128]; .shared .align 8 .b64 m;
    mov.u32 %r0, %tid.x;
    setp.ne.u32 %p, %r0, 0;
    @%p bra READY;
    mbarrier.init.shared.b64 [m], 1;
    fence.mbarrier_init.release.cluster;
    mov.b64 %d1, p; cvta.param.u64 %d1, %d1; add.u64 %d1, %d1, 64; mov.u32 %r1, 4;
    mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {%r1}], [m];
READY: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared.b64 %p, [m], 0;
    @!%p bra WAIT;
    and.b32 %r0, %r0, 3;
    mul.wide.u32 %d2, %r0, 4; mov.u64 %d3, s; add.u64 %d3, %d3, %d2; ld.shared.u32 %r2, [%d3];
    ld.param.u64 %d3, [p+192]; add.u64 %d3, %d3, %d2;
    mov.u32 %r1, %tid.x; setp.gt.u32 %p, %r1, 3; @%p bra END;
    st.global.u32 [%d3], %r2;
END: ret;
}
"""
_MAP = 'tensor_map = {buffer = "x", dims = [16], box = [4]}'


def _mapped(field: str = f"at = 64, {_MAP}", block: int = 64) -> str:
    return f"""ptx = "k.ptx"
grid = 1
block = {block}
[params]
p = {{bytes = 256, fields = [{{at = 192, value = "&y"}}, {{{field}}}]}}
[memory]
x = {{type = "u32", elements = 16, init = [0, 1, 2, 3, 4, 5, 6, 7]}}
y = {{type = "u32", elements = 4}}
[check]
forall = "y[0] == 4 && y[3] == 7"
race_free = true
"""


@pytest.mark.parametrize("block", [4, 64])
def test_a_tensor_map_may_be_a_field(block: int, folder: Path) -> None:
    (folder / "k.ptx").write_text(_MAPPED)
    assert ptxmm.check(load(_mapped(block=block), folder)).verdict == "ok"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (f"at = 32, {_MAP}", "a tensor map begins at a multiple of 64 bytes, not at 32"),
        (f"at = 64, type = 'u32', {_MAP}", "this field of 'p' is a tensor map: 'type' has no meaning"),
        (f"at = 128, {_MAP}", "this fills bytes 128 to 255, of which the field at 192 has some already"),
        ("at = 64, tensor_map = {buffer = 'x', dims = [16], box = [400]}", "box"),
        ("at = 64, tensor_map = {buffer = 'z', dims = [16], box = [4]}", "'z' is no buffer"),
        ("at = 64, tensor_map = 3", "a tensor map is a table"),
    ],
)
def test_a_field_that_is_no_tensor_map_is_told(
    field: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.ptx").write_text(_MAPPED)
    (folder / "k.toml").write_text(_mapped(field))
    assert main(["check", "k.toml"]) == 2
    told = capsys.readouterr()
    assert message in told.out + told.err and "k.toml:5:" in told.out + told.err
