"""Multimem addresses in kernel tests: buffers of several devices behind one address, with the manual's memory model
(sections 8.2.2, 8.2.3 and 9.7.9.14)."""

from __future__ import annotations

from typing import Any

import ptxas
import pytest

from ptxcore.diagnostics import InputError
from ptxmm.kernel import Kernel
from ptxmm.kernels.runs import Runs
from ptxmm.undefined import sentence

_HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
_PARAMS: dict[str, Any] = {
    **{name: {"type": "u32", "elements": 4} for name in ("a0", "a1", "f0", "f1")},
    "a": {"multimem": ["a0", "a1"]},
    "f": {"multimem": ["f0", "f1"]},
    "x": {"type": "u32", "elements": 1},
    "o": {"type": "u32", "elements": 4},
}
_NAMES = (*_PARAMS,)


def module(*threads: str) -> str:
    """Kernels `k0`, `k1` ... of one thread each, in which `%a0`, `%a` and so on are the addresses of the parameters."""
    loads = "\n".join(f" ld.param.u64 %{name}, [{name}];" for name in _NAMES)
    registers = ".reg .b64 " + ", ".join(f"%{name}" for name in _NAMES)
    params = ", ".join(f".param .u64 {name}" for name in _NAMES)
    return _HEAD + "\n".join(
        f".visible .entry k{i}({params}) {{\n {registers}; .reg .b32 %r<9>; .reg .f32 %g<9>; .reg .pred %p<4>;\n"
        f"{loads}\n {body}\n ret;\n}}"
        for i, body in enumerate(threads)
    )


def kernel(*threads: str, params: dict[str, Any] | None = None, **checks: Any) -> Kernel:
    """Each thread on a device of its own."""
    text = module(*threads)
    launches = [
        {"name": f"k{i}", "entry": f"k{i}", "grid": 1, "block": 1, "device": i, "args": list(_NAMES)}
        for i in range(len(threads))
    ]
    return Kernel(text, params={**_PARAMS, **(params or {})}, kernel=launches, **checks)


_WAIT = "W: ld.acquire.sys.global.u32 %r1, [%x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;"
_FLAG = "st.release.sys.global.u32 [%x], 1;"
_SUM = "multimem.ld_reduce.{}global.add.u32 %r2, [%a]; st.global.u32 [%o], %r2;"
_PUT = "multimem.st.{}global.u32 [%a], 21;"
_ALL = "o[0] == 42"

#: What the threads do; a check, and whether it holds.
ROWS: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "published by a release": ((_PUT.format("weak.") + _FLAG, _WAIT + _SUM.format("weak.")), {"forall": _ALL}, "ok"),
    "all replicas are written": (
        (_PUT.format("relaxed.sys."),), {"forall": "a0[0] == 21 && a1[0] == 21"}, "ok"
    ),
    "a flag of one device": (
        (_PUT.format("") + _FLAG.replace("sys", "gpu"), _WAIT.replace("sys", "gpu") + _SUM.format("")),
        {"forall": _ALL}, "no",
    ),
    "a relaxed flag": (
        (_PUT.format("relaxed.sys.") + _FLAG.replace("release", "relaxed"), _WAIT + _SUM.format("relaxed.sys.")),
        {"forall": _ALL}, "no",
    ),
    "the flag is a multimem address": (
        (_PUT.format("") + "multimem.st.release.sys.global.u32 [%f], 1;",
         "multimem.ld_reduce.acquire.sys.global.min.u32 %r1, [%f]; setp.eq.u32 %p1, %r1, 0; @%p1 bra E;"
         + _SUM.format("") + "E:"),
        {"never": "o[0] != 42 && o[0] != 0"}, "ok",
    ),
    "the same at the scope of a device": (
        (_PUT.format("") + "multimem.st.release.gpu.global.u32 [%f], 1;",
         "multimem.ld_reduce.acquire.gpu.global.min.u32 %r1, [%f]; setp.eq.u32 %p1, %r1, 0; @%p1 bra E;"
         "multimem.ld_reduce.global.add.u32 %r2, [%a]; add.u32 %r2, %r2, 1; st.global.u32 [%o], %r2; E:"),
        {"exists": "o[0] == 1"}, "ok",
    ),
    "replicas are written in no order, the first late": (
        (_PUT.format("relaxed.sys."), "ld.acquire.sys.global.u32 %r1, [%a1]; ld.acquire.sys.global.u32 %r2, [%a0];"
         "st.global.u32 [%o], %r1; st.global.u32 [%o+4], %r2;"),
        {"exists": "o[0] == 21 && o[1] == 0"}, "ok",
    ),
    "replicas are written in no order, the second late": (
        (_PUT.format("relaxed.sys."), "ld.acquire.sys.global.u32 %r1, [%a0]; ld.acquire.sys.global.u32 %r2, [%a1];"
         "st.global.u32 [%o], %r1; st.global.u32 [%o+4], %r2;"),
        {"exists": "o[0] == 21 && o[1] == 0"}, "ok",
    ),
    "aliases without a fence": (
        ("st.global.u32 [%a0], 21; st.global.u32 [%a1], 21;" + _FLAG, _WAIT + _SUM.format("")), {"forall": _ALL}, "no"
    ),
    "aliases with a fence": (
        ("st.global.u32 [%a0], 21; st.global.u32 [%a1], 21; fence.proxy.alias;" + _FLAG, _WAIT + _SUM.format("")),
        {"forall": _ALL}, "ok",
    ),
    "aliases in one thread": (
        (_PUT.format("") + "ld.global.u32 %r2, [%a1]; st.global.u32 [%o], %r2;",), {"forall": "o[0] == 21"}, "no"
    ),
    "aliases in one thread with a fence": (
        (_PUT.format("") + "fence.proxy.alias; ld.global.u32 %r2, [%a1]; st.global.u32 [%o], %r2;",),
        {"forall": "o[0] == 21"}, "ok",
    ),
    "reductions are atomic": (
        ("multimem.red.global.add.u32 [%a], 1;",) * 2, {"forall": "a0[0] == 2 && a1[0] == 2", "race_free": True}, "ok"
    ),
    "reductions without words reach all devices": (
        ("multimem.red.global.add.u32 [%a], 1;", "multimem.red.relaxed.sys.global.or.b32 [%a], 4;"), {"race_free": True}, "ok"
    ),
    "reductions at the scope of a device race": (
        ("multimem.red.relaxed.gpu.global.add.u32 [%a], 1;",) * 2, {"race_free": True}, "no"
    ),
    "stores without words are weak": ((_PUT.format(""),) * 2, {"race_free": True}, "no"),
    "a release by a reduction": (
        (_PUT.format("") + "multimem.red.release.sys.global.add.u32 [%f], 1;",
         "multimem.ld_reduce.acquire.sys.global.add.u32 %r1, [%f]; setp.lt.u32 %p1, %r1, 2; @%p1 bra E;"
         + _SUM.format("") + "E:"),
        {"never": "o[0] != 42 && o[0] != 0"}, "ok",
    ),
}  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("row", ROWS)
def test_rows_of_the_memory_model(row: str, engine: str) -> None:
    threads, checks, verdict = ROWS[row]
    assert kernel(*threads, **checks).check(engine=engine).verdict == verdict


_VECTOR = "multimem.ld_reduce.global.add.v2.f32 {%g1, %g2}, [%a]; st.global.f32 [%o], %g1; st.global.f32 [%o+4], %g2;"
_FLOATS = {"type": "f32", "elements": 4, "init": [1.0, 16777216.0]}


def test_sums_of_which_every_order_gives_the_same() -> None:
    floats = {**_PARAMS, **dict.fromkeys(("a0", "a1"), _FLOATS), "o": {"type": "f32", "elements": 4}}
    result = kernel(_VECTOR, params=floats, forall=["o[0] == 2.0", "o[1] == 33554432.0"]).check()
    assert result.verdict == "ok" and not any("any value" in note for note in result.notes)


@pytest.mark.long
def test_sums_that_depend_on_the_order_are_any_value_and_told() -> None:
    third = {"a2": {"type": "f32", "elements": 1, "init": [-16777216.0]}, "a": {"multimem": ["a0", "a1", "a2"]}}
    first = {f"a{i}": {"type": "f32", "elements": 1, "init": [value]} for i, value in enumerate((16777216.0, 1.0))}
    text = "multimem.ld_reduce.global.add.f32 %g1, [%a]; st.global.f32 [%o], %g1;"
    result = kernel(text, params={**first, **third, "o": {"type": "f32", "elements": 1}}, forall="o[0] == 1.0").check()
    assert result.verdict == "no"
    assert any("order of its additions" in note for note in result.notes)


@pytest.mark.parametrize(
    ("thread", "message"),
    [
        ("st.global.u32 [%a], 1;", "multimem instructions alone may access"),
        ("ld.global.u32 %r1, [%a+8];", "multimem instructions alone may access"),
        ("atom.global.add.u32 %r1, [%a], 1;", "multimem instructions alone may access"),
        ("multimem.st.global.u32 [%a0], 1;", "at an address that is no multimem address"),
        ("multimem.st.global.u32 [%a+16], 1;", "belongs to no location"),
    ],
)
def test_what_has_no_meaning(thread: str, message: str) -> None:
    test = kernel(thread, forall="a0[0] == 0")
    result = test.check()
    assert result.verdict == "undefined"
    assert result.undefined is not None and message in sentence(result.undefined)


def test_runs_agree_with_exploration() -> None:
    test = kernel(*ROWS["published by a release"][0], forall=["o[0] == 42", "a0[0] == 21", "a1[0] == 21"])
    assert Runs(test.test).run(seed=3) == {"o[0]": 42, "a0[0]": 21, "a1[0]": 21}


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_every_module() -> None:
    texts = [module(*threads) for threads, _, _ in ROWS.values()]
    assert [ptxas.check_module(text) for text in texts] == [[]] * len(texts)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"multimem": ["a0", "nothing"]}, "'nothing' is no buffer"),
        ({"multimem": ["a0", "a0"]}, "'a0' is there twice"),
        ({"multimem": ["a0", "x"]}, "'x' has 1 u32, 'a0' 4 u32"),
        ({"multimem": []}, "a list of buffers is wanted here"),
        ({"multimem": "a0"}, "a list of buffers is wanted here"),
        ({"multimem": ["a0"], "type": "u32"}, "'type' has no meaning"),
    ],
)
def test_what_is_no_multimem_address(written: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel("", params={"a": written}, forall="a0[0] == 0")
    with pytest.raises(InputError, match="'a' is a multimem address: name one of its buffers, a0, a1"):
        kernel("", forall="a[0] == 0")
