"""Running kernels from the command line and from Python."""

from __future__ import annotations

import ctypes
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from waiting import PATIENCE, wait_until

import ptxmm
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.cli.main import main

SCALE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u32 n, .param .u32 k, .param .u64 x)
{
.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p1;
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [k]; ld.param.u64 %rd1, [x];
mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r3, %r4, %r5, %r3;
setp.ge.u32 %p1, %r3, %r1; @%p1 ret;
mul.wide.u32 %rd2, %r3, 4; add.u64 %rd1, %rd1, %rd2;
ld.global.u32 %r6, [%rd1]; mul.lo.u32 %r6, %r6, %r2; st.global.u32 [%rd1], %r6;
ret;
}
.visible .entry flags(.param .f64 d, .param .align 8 .b8 s[16], .param .u64 out)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [out]; ld.param.b64 %rd2, [d]; st.global.b64 [%rd1], %rd2;
ld.param.b64 %rd2, [s+8]; st.global.b64 [%rd1+8], %rd2;
ret;
}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE)
    return path


def test_arrays_are_updated_in_place(module: Path) -> None:
    x = numpy.arange(10, dtype=numpy.uint32).reshape(2, 5)
    done = ptxmm.run(module, "scale", grid=(3,), block=(4, 1, 1), args=[numpy.uint32(10), 3, x])
    assert x.tolist() == [[0, 3, 6, 9, 12], [15, 18, 21, 24, 27]]
    assert done.executed > 100
    assert (done.printed, done.seed) == ("", None)


def test_numbers_and_bytes_are_passed_by_value(module: Path) -> None:
    out = numpy.zeros(2, dtype=numpy.uint64)
    ptxmm.run(module, "flags", (1,), (1,), [1.5, bytes(8) + (77).to_bytes(8, "little"), out])
    assert out.tolist() == [0x3FF8 << 48, 77]


COPY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)
{
.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p1;
ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.param.u32 %r1, [n];
LOOP: setp.eq.u32 %p1, %r1, 0; @%p1 ret;
ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;
add.u64 %rd1, %rd1, 4; add.u64 %rd2, %rd2, 4; sub.u32 %r1, %r1, 1; bra LOOP;
}
.visible .entry isnull(.param .u64 p, .param .u64 out)
{
.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p1;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [out];
setp.eq.u64 %p1, %rd1, 0; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd2], %r1;
ret;
}
"""


@pytest.fixture
def copying(tmp_path: Path) -> Path:
    path = tmp_path / "copy.ptx"
    path.write_text(COPY)
    return path


def test_an_array_given_twice_is_one_buffer(copying: Path) -> None:
    x = numpy.arange(10, dtype=numpy.uint32)
    ptxmm.run(copying, "copy", (1,), (1,), [x, x, 10])
    assert x.tolist() == list(range(10))
    ptxmm.run(copying, "copy", (1,), (1,), [x, x[1:], 9])  # each one is written before it is read
    assert x.tolist() == [0] * 10


def test_parts_of_an_array_go_their_own_ways(copying: Path) -> None:
    x = numpy.arange(12, dtype=numpy.uint32).reshape(3, 4)
    ptxmm.run(copying, "copy", (1,), (1,), [x[:, 1], x[:, 3], 3])
    assert x.tolist() == [[0, 1, 2, 1], [4, 5, 6, 5], [8, 9, 10, 9]]
    with pytest.raises(UsageError, match="'to' and 'from' share memory"):
        ptxmm.run(copying, "copy", (1,), (1,), [x[0], x.T, 4])
    with pytest.raises(KernelError, match="4 bytes at offset 16 of 'from', which has 16 bytes"):
        ptxmm.run(copying, "copy", (1,), (1,), [x[0], x[1], 5])


def test_arrays_that_are_read_only_cannot_be_written(copying: Path) -> None:
    x, y = numpy.frombuffer(b"12345678", numpy.uint32), numpy.zeros(2, numpy.uint32)
    ptxmm.run(copying, "copy", (1,), (1,), [x, y, numpy.int64(2)])
    assert y.tobytes() == b"12345678"
    with pytest.raises(KernelError, match="'to' cannot be written"):
        ptxmm.run(copying, "copy", (1,), (1,), [y, x, 2])


@pytest.mark.parametrize("null", [None, 0, numpy.int32(0), False])
def test_null_pointers(copying: Path, null: object) -> None:
    out = numpy.zeros(1, numpy.uint32)
    ptxmm.run(copying, "isnull", (1,), (1,), [null, out])
    assert out[0] == 1
    with pytest.raises(KernelError, match="no memory at address 0x0"):
        ptxmm.run(copying, "copy", (1,), (1,), [null, out, 1])


TYPES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry value(.param .u64 out, .param .align 8 .TYPE v)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [out]; ld.param.BITS %rd2, [v]; st.global.u64 [%rd1], %rd2;
ret;
}
"""


class Pair(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_float))


@pytest.mark.parametrize(
    ("declared", "argument", "expected"),
    [
        ("u32", numpy.int64(-1), 0xFFFFFFFF),
        ("s64", numpy.int8(-1), (1 << 64) - 1),
        ("u32", numpy.bool_(True), 1),
        ("u8", True, 1),
        ("u32", numpy.array(7), 7),
        ("u64", 1 << 63, 1 << 63),
        ("f32", 3, 0x40400000),
        ("f32", numpy.int64(3), 0x40400000),
        ("f32", numpy.float64(1.5), 0x3FC00000),
        ("f64", numpy.float32(1.5), 0x3FF8 << 48),
        ("f32", numpy.float32(1.5), 0x3FC00000),
        ("b32", 1.5, 0x3FC00000),
        ("u32", numpy.float32(1.5), 0x3FC00000),
        ("b16", numpy.float16(1.5), 0x3E00),
        ("f16", 1.5, 0x3E00),
        ("b8 v[8]", numpy.array([1, 2], numpy.uint32), 2 << 32 | 1),
        ("b8 v[8]", Pair(5, 1.5), 0x3FC00000 << 32 | 5),
        ("b8 v[8]", numpy.array([(5, 1.5)], "i4, f4")[0], 0x3FC00000 << 32 | 5),
        ("b8 v[8]", numpy.complex64(1.5 + 1.5j), 0x3FC00000 << 32 | 0x3FC00000),
    ],
)
def test_numbers_go_in_the_format_of_their_parameter(
    tmp_path: Path, declared: str, argument: object, expected: int
) -> None:
    path = tmp_path / "value.ptx"
    bits = f"u{'64' if 'v[' in declared else declared[1:]}"
    path.write_text(TYPES.replace("TYPE v" if "v[" in declared else "TYPE", declared).replace("BITS", bits))
    out = numpy.zeros(1, numpy.uint64)
    ptxmm.run(path, "value", 1, 1, [out, argument])
    assert out.tolist() == [expected]


@pytest.mark.parametrize(
    ("entry", "args", "message"),
    [
        ("scale", [numpy.ones(3, numpy.int32), 2, 0], "'n' (.u32) has 4 bytes and takes no buffer"),
        ("scale", [1.5, 2, 0], "'n' (.u32) is no floating-point parameter, 1.5 no integer"),
        ("scale", [numpy.float64(1), 2, 0], "'n' has 4 bytes, the argument 8"),
        ("scale", [numpy.int64(1 << 40), 2, 0], "does not fit into 'n'"),
        ("scale", [None, 2, 0], "'n' takes a number"),
        ("scale", [1, 2, [0]], "'x' takes a number, bytes or a NumPy array, not list"),
        ("scale", [1, 2, numpy.array([None])], "Python objects"),
        ("scal", [], "no kernel 'scal'; it has scale, flags"),
        ("scale", [1, 2], "takes 3 arguments, not 2"),
        ("scale", [1 << 32, 2, 0], "does not fit into 'n', which has 4 bytes"),
        ("scale", [1, "2", 0], "'k' takes a number, bytes or a NumPy array, not str"),
        ("flags", [1.0, bytes(17), 0], "'s' has 16 bytes, the argument 17"),
    ],
)
def test_what_cannot_be_launched(module: Path, entry: str, args: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        ptxmm.run(module, entry, (1,), (1,), args)


def test_errors_name_thread_and_instruction(module: Path) -> None:
    x = numpy.zeros(3, dtype=numpy.uint32)
    with pytest.raises(KernelError) as caught:
        ptxmm.run(module, "scale", (1,), (4,), [4, 1, x])
    assert caught.value.kind == "out-of-bounds"
    assert str(caught.value.thread) == "CTA 0 thread 3"
    assert caught.value.instruction is not None
    assert caught.value.instruction.opcode == "ld"


def test_a_wrong_module_is_an_input_error(module: Path) -> None:
    module.write_text(SCALE.replace("mul.lo.u32", "mul.u32"))
    with pytest.raises(InputError, match=r"scale\.ptx:11:28: error"):
        ptxmm.run(module, "scale", (1,), (1,), [1, 1, 0])


LAUNCH = ["run", "scale.ptx", "--entry", "scale", "--grid", "1", "--block", "4"]


def test_the_command_prints_what_is_asked_for(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numpy.save("x.npy", numpy.arange(4, dtype=numpy.uint32))
    assert main([*LAUNCH, "--arg", "n=4", "--arg", "1=0x10", "--arg", "x=x.npy", "--out", "x", "--out", "0"]) == 0
    assert capsys.readouterr().out == "x = [0, 16, 32, 48]\nn = 4\n"


def test_the_only_kernel_need_not_be_named(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--grid", "1", "--block", "4", "--arg", "n=3", "--arg", "k=2", "--arg", "x=u32[4]=7", "--out", "x"]
    assert main(["run", "scale.ptx", *arguments]) == 2
    assert "which of the 2 kernels is meant? --entry says it: scale, flags" in capsys.readouterr().err
    Path("one.ptx").write_text(SCALE[: SCALE.index(".visible .entry flags")], encoding="utf-8")
    assert main(["run", "one.ptx", *arguments]) == 0
    assert capsys.readouterr().out == "x = [14, 14, 14, 7]\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--arg", "n=9", "--arg", "k=1", "--arg", "x=u32[3]"], 1, "out of bounds"),
        (["--arg", "n=9", "--arg", "k=1"], 2, "no --arg for x"),
        (["--arg", "m=9"], 2, "no parameter 'm'"),
        (["--arg", "n=nine"], 2, "'nine' is no number"),
        (["--arg", "n"], 2, "write NAME=VALUE"),
        (["--arg", "n=1", "--arg", "k=1", "--arg", "x=u32[3]=any"], 2, "'x': a run needs the contents of a buffer"),
        (["--arg", "x=u32[3]=few"], 2, "'few' is no contents of a buffer: a number that all elements hold, or any"),
        (["--arg", "n=1", "--arg", "k=1", "--arg", "x=gone.npy"], 2, "gone.npy"),
        (["--arg", "n=1", "--arg", "k=1", "--arg", "x=u32[99999999999999999]"], 2, "so much memory is not there"),
        (["--arg", "n=1", "--arg", "k=1", "--arg", "x=0", "--out", "y"], 2, "no parameter 'y'; "),
        (["--arg", "n=1", "--arg", "k=1", "--arg", "x=0", "--out", "x=y.txt"], 2, "write NAME or NAME=FILE.npy"),
        (["--arg", "n=4", "--arg", "k=1", "--arg", "x=u32[4]", "--limit", "9"], 1, "more than 9 instructions"),
        (["--arg", "n=4", "--arg", "k=1", "--arg", "x=u32[3]", "--seed", "5"], 1, "in the schedule of --seed 5"),
    ],
)
def test_exit_status(
    module: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    assert main([*LAUNCH, *arguments]) == status
    assert message in capsys.readouterr().err


def test_results_go_to_files(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numpy.save("x.npy", numpy.arange(4, dtype=numpy.uint32))
    assert main([*LAUNCH, "--arg", "n=4", "--arg", "k=3", "--arg", "x=x.npy", "--out", "x=y.npy"]) == 0
    assert numpy.load("y.npy").tolist() == [0, 3, 6, 9]
    assert capsys.readouterr().out == ""
    assert main([*LAUNCH, "--arg", "n=4", "--arg", "k=3", "--arg", "x=x.npy", "--out", "x=gone/y.npy"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_random_schedule_tells_its_seed(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LAUNCH, "--arg", "n=4", "--arg", "k=3", "--arg", "x=u32[4]", "--seed", "random"]) == 0
    assert re.fullmatch(r"schedule: --seed \d+\n", capsys.readouterr().err)


#: The command, which leaves a file where a kernel begins to run.
TELLS = """
import sys
from ptxcore.machine.vector import choice
from ptxmm.cli.main import entry
marker, before = sys.argv.pop(1), choice.launch
def launch(*given, **options):
    open(marker, "w").close()
    return before(*given, **options)
choice.launch = launch
entry()
"""
ENDLESS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u32 n)
{
.reg .b32 %r<4>;
mov.u32 %r1, 0;
LOOP: add.u32 %r1, %r1, 1; bra LOOP;
}
"""


def test_an_interrupt_ends_a_run(tmp_path: Path) -> None:
    path = tmp_path / "endless.ptx"
    path.write_text(ENDLESS)
    arguments = ["run", str(path), "--entry", "endless", "--grid", "1", "--block", "4", "--arg", "n=1"]
    process = subprocess.Popen(
        [sys.executable, "-c", TELLS, str(tmp_path / "running"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until((tmp_path / "running").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_missing_file_is_bad_input(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gone.ptx", *LAUNCH[2:]]) == 2
    assert "gone.ptx: error: cannot read" in capsys.readouterr().err


def test_buffers_stand_in_the_order_of_the_arguments_wherever_the_host_has_them(tmp_path: Path) -> None:
    """So that addresses in messages are the same in every run."""
    path = tmp_path / "where.ptx"
    path.write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry where(.param .u64 a, .param .u64 b, .param .u64 out)\n{\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [out];\n"
        "st.global.u64 [%rd3], %rd1; st.global.u64 [%rd3+8], %rd2; ret;\n}\n"
    )
    arrays = sorted((numpy.zeros(4, dtype=numpy.uint32) for _ in range(2)), key=lambda a: a.ctypes.data)
    found = []
    for a, b in (arrays, reversed(arrays)):
        out = numpy.zeros(2, dtype=numpy.uint64)
        ptxmm.run(path, entry="where", grid=(1, 1, 1), block=(1, 1, 1), args=[a, b, out])
        found.append(out.tolist())
    assert found[0] == found[1] and found[0][0] < found[0][1]
