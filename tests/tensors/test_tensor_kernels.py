"""Kernels that copy a box in, compute on it and copy it out, right and wrong: checked, and run with many threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import ptxas
import pytest
from tensor_cases import case
from tensor_modules import loading, storing

import ptxmm
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.api import model_named
from ptxmm.cli.main import main
from ptxmm.kernels import whole
from ptxmm.result import Checked, Result

FENCE = "fence.proxy.async.shared::cta;"
WAIT = "L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L;"
LOAD = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%rd2, {%r1, %r2}], [bar];"
)
PTX = f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .align 64 .b8 out[128], .param .u32 x, .param .u32 y, .param .u32 bytes)
{{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
.shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 bar;
ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; ld.param.u32 %r3, [bytes];
mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1; mov.b64 %rd3, out; cvta.param.u64 %rd4, %rd3;
mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0;
@%p0 bra W;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r3;
{LOAD}
W: bar.sync 0;
{WAIT}
mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;
ld.shared.u32 %r7, [%r5]; add.u32 %r7, %r7, 100; st.shared.u32 [%r5], %r7;
{FENCE}
bar.sync 0;
@%p0 bra D;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {{%r1, %r2}}], [s];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
D: ret;
}}
"""
TOML = """ptx = "k.ptx"
grid = 1
block = 4
[params]
map = {tensor_map = {buffer = "a", dims = [8, 2], box = [4, 1]}}
out = {tensor_map = {buffer = "b", dims = [8, 2], box = [4, 1]}}
x = {type = "u32", value = 6}
y = {type = "u32", value = 1}
bytes = {type = "u32", value = 16}
[memory]
a = {type = "u32", init = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]}
b = {type = "u32", elements = 16}
[check]
forall = ["b[13] == 0 && b[14] == 114 && b[15] == 115"]
race_free = true
no_deadlock = true
"""
INIT = "init = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]"
#: What is written instead of what, in the module or the test, and what comes of it.
WRONG: dict[str, tuple[str, str, str, str]] = {
    "no fence between proxies": (FENCE, "", "undefined", "nothing orders"),
    "no wait": (WAIT, "", "undefined", "nothing orders"),
    "too many bytes": ("value = 16}", "value = 32}", "no", "lacks 16 bytes"),
    "too few bytes": ("value = 16}", "value = 8}", "no", "8 bytes more have come"),
    "a box too large": ("box = [4, 1]", "box = [4, 2]", "no", "16 bytes more have come"),
    "another number of dimensions": (LOAD, LOAD.replace("2d", "1d").replace(", %r2}", "}"), "undefined", "1 coordinates"),
    "a misaligned address": ("[s], [%rd2", "[s+16], [%rd2", "undefined", "no multiple of 128"),
    "a buffer too small": (INIT, "elements = 12", "undefined",
                           "belongs to no location"),
    "a negative coordinate of a store": ("value = 6}", "value = 4294967295}", "undefined", "must not be negative"),
}  # fmt: skip


def judged(folder: Path, change: tuple[str, str] = ("", "")) -> str:
    """The path of the test, with one change."""
    (folder / "k.ptx").write_text(PTX.replace(*change))
    (folder / "k.toml").write_text(TOML.replace(*change))
    assert change == ("", "") or change[0] in PTX + TOML
    return str(folder / "k.toml")


def test_a_box_in_and_out_is_right(tmp_path: Path) -> None:
    result = ptxmm.check(ptxmm.load(judged(tmp_path)))
    assert (result.verdict, len(result.states)) == ("ok", 1)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, verdict, said = WRONG[name]
    main(["check", judged(tmp_path, (old, new))])
    told = capsys.readouterr().out
    assert told.split()[0] == verdict
    assert said in told


def test_one_run_says_what_the_formula_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each change whose verdict by the formula is above."""
    monkeypatch.setattr(whole, "FEWEST", 1)
    by_runs = 0
    for change, verdict in [(("", ""), "ok"), *((one[:2], one[2]) for one in WRONG.values())]:
        test = ptxmm.load(judged(tmp_path, change))
        result = Result(path="", name="", model="ptx-9.0", verdict="undecided",
                        checks=[Checked(kind=c.kind, text=str(c)) for c in test.checks])  # fmt: skip
        if not whole.decide_whole(test, result, None, model_named("ptx-9.0")):
            assert result.verdict == verdict, (change, result.error)
            by_runs += 1
    assert by_runs == len(WRONG) + 1


def launched(tmp_path: Path, ptx: str = PTX, box: tuple[int, int] = (32, 4), count: int = 512, **map_: Any) -> Any:
    (tmp_path / "k.ptx").write_text(ptx)
    a, b = np.arange(1024, dtype=np.int32).reshape(16, 64), np.zeros((16, 64), np.int32)
    maps = [ptxmm.TensorMap(array, box=box, **map_) for array in (a, b)]
    ptxmm.run(tmp_path / "k.ptx", "k", (1,), (128,), [*maps, 40, 14, count], limit=100_000)
    return a, b


@pytest.mark.parametrize("swizzle", ["none", "128B", "128B_atom_64B"])
def test_many_threads_run(swizzle: str, tmp_path: Path) -> None:
    a, b = launched(tmp_path, swizzle=swizzle)
    expected = np.zeros_like(b)
    expected[14:, 40:] = a[14:, 40:] + 100
    assert np.array_equal(b, expected)


def test_bytes_that_are_no_map_are_refused(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(PTX)
    for data in (bytes(128), b"\x01" * 128):
        with pytest.raises(KernelError, match="are no tensor map") as caught:
            ptxmm.run(tmp_path / "k.ptx", "k", (1,), (128,), [data, data, 0, 0, 512])
        assert caught.value.kind == "bad-tensor-map"


@pytest.mark.long
def test_a_run_tells_where_it_is_wrong(tmp_path: Path) -> None:
    for ptx, box, count, kind, said in (
        (PTX, (32, 4), 256, "deadlock", "k.ptx:16:"),
        (PTX, (32, 2), 512, "deadlock", "k.ptx:16:"),
        (PTX.replace("[s], [%rd2", "[s+64], [%rd2"), (32, 4), 512, "misaligned", "no multiple of 128"),
        (
            PTX.replace("tensor.2d", "tensor.1d").replace("%r1, %r2}", "%r1}"),
            (32, 4),
            512,
            "bad-tensor-map",
            "1 coordinates",
        ),
    ):
        with pytest.raises(KernelError) as caught:
            launched(tmp_path, ptx, box, count)
        assert caught.value.kind == kind
        assert said in str(caught.value)


# How maps are written.


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("box = [4, 1]}}\nout", "bax = [4, 1]}}\nout", "no 'bax'"),
        ("box = [4, 1]}}\nout", "box = [3, 1]}}\nout", "a multiple of 16 bytes, not 12"),
        ("box = [4, 1]}}\nout", "box = [4]}}\nout", "a box has 2 dimensions here, not 1"),
        ("box = [4, 1]}}\nout", 'box = [4, 1], swizzle = "33B"}}\nout', "'33B' is no swizzle"),
        ("box = [4, 1]}}\nout", 'box = [16, 1], swizzle = "32B"}}\nout', "more than swizzle 32B takes"),
        ("box = [4, 1]}}\nout", 'box = [4, 1], fill = "nan"}}\nout', "u32 has no NaN"),
        ("box = [4, 1]}}\nout", "box = [4, 1], strides = [20]}}\nout", "a multiple of 16 less than"),
        ("box = [4, 1]}}\nout", "box = [4, 1.5]}}\nout", "a whole number is wanted"),
        ("box = [4, 1]}}\nout", 'box = [4, 1], mode = "im2col"}}\nout', "has no 'box'"),
        ('buffer = "a"', 'buffer = "c"', "'c' is no buffer"),
        ('buffer = "a"', 'buffer = "&a+8"', "no multiple of 16"),
        ('buffer = "a", ', "", "which buffer"),
        ("{tensor_map = {buffer", "{align = 8, tensor_map = {buffer", "'align' has no meaning"),
        ("dims = [8, 2], box = [4, 1]}}\nout", "box = [4, 1]}}\nout", "how large is the tensor"),
    ],
)
def test_maps_that_are_wrong_are_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(PTX)
    assert old in TOML
    (tmp_path / "k.toml").write_text(TOML.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        ptxmm.load(str(tmp_path / "k.toml"))
    assert said in str(caught.value)
    assert "k.toml:5:" in str(caught.value)


def test_maps_of_arrays_that_are_wrong_are_refused() -> None:
    for array, keys, said in (
        (np.zeros((4, 4), np.complex64), {"box": (4, 4)}, "complex64"),
        (np.zeros((4, 4), np.float32), {"box": (3, 4)}, "multiple of 16"),
        (np.zeros((4, 4), np.float32), {}, "how large is the box"),
        (3, {"box": (4,)}, "NumPy array"),
    ):
        with pytest.raises(UsageError, match=said):
            ptxmm.TensorMap(array, **keys)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_the_modules() -> None:
    texts = [PTX]
    for number in range(3):
        for mode in ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128"):
            one = case(number, mode)
            texts.append(loading(one.mode, len(one.map["dims"]), one.start, one.size))
        for mode in ("tile", "tile::scatter4", "im2col_no_offs"):
            one = case(number, mode, stores=True)
            texts.append(storing(one.mode, len(one.map["dims"]), one.start))
    for text in texts:
        assert ptxas.check_module(text) == []
