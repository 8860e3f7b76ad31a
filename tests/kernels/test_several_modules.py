"""Launches of several modules: each has variables of its own, and launches of one module share them."""

from __future__ import annotations

from pathlib import Path

import pytest
from schedules import Runs

import ptxmm
from axioms.errors import UnsupportedProgram

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
WORD = {"type": "u32", "elements": 1}

#: Adds to a counter of the module's own, and stores what it holds then.
COUNTER = """
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [out];
    atom.global.add.u32 %r1, [count], STEP;
    add.u32 %r1, %r1, STEP;
    st.global.u32 [%d1], %r1;
    ret;
}
"""


def module(step: int, declared: str = ".visible .global .u32 count = START;", start: int = 0) -> str:
    return HEAD + declared.replace("START", str(start)) + COUNTER.replace("STEP", str(step))


def of_files(tmp_path: Path, *launches: tuple[str, str], forall: str) -> ptxmm.Kernel:
    """Launches of modules, one after another, each with the name of what it stores to."""
    kernels = []
    for i, (text, out) in enumerate(launches):
        path = tmp_path / f"m{i}.ptx"
        path.write_text(text, encoding="utf-8")
        kernels.append({"name": f"k{i}", "ptx": str(path), "grid": 1, "block": 1, "args": [out]})
    return ptxmm.Kernel(params={out: WORD for _, out in launches}, kernel=kernels, forall=forall, race_free=True)


def test_variables_of_one_name_are_those_of_each_module(tmp_path: Path) -> None:
    made = of_files(
        tmp_path,
        (module(1), "x"),
        (module(2, start=5), "y"),
        (module(1), "z"),
        forall="x[0] == 1 && y[0] == 7 && z[0] == 2",
    )
    assert made.check().verdict == "ok" == made.check(engine="enumerate").verdict
    assert [state for _, state in Runs(made.test).results(3)] == [{"x[0]": 1, "y[0]": 7, "z[0]": 2}] * 3


HANDED = (
    HEAD
    + """
.visible .global .u32 own = 3;
.visible .entry k(.param .u64 out)
{
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.u64 %d2, own; cvta.global.u64 %d2, %d2;
    st.global.u32 [own], 4;
    st.global.u64 [%d1], %d2;
    ret;
}
"""
)
READS = (
    HEAD
    + """
.visible .global .u32 other = 9;
.visible .entry k(.param .u64 from, .param .u64 out)
{
    .reg .b32 %r<2>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [from]; ld.param.u64 %d2, [out];
    ld.global.u64 %d3, [%d1];
    ld.u32 %r1, [%d3];
    st.global.u32 [other], %r1;
    st.global.u32 [%d2], %r1;
    ret;
}
"""
)


def test_a_pointer_to_the_variable_of_another_module(tmp_path: Path) -> None:
    for name, text in (("a", HANDED), ("b", READS)):
        (tmp_path / f"{name}.ptx").write_text(text, encoding="utf-8")
    kernels = [
        {"name": "a", "ptx": str(tmp_path / "a.ptx"), "grid": 1, "block": 1, "args": ["p"]},
        {"name": "b", "ptx": str(tmp_path / "b.ptx"), "grid": 1, "block": 1, "args": ["p", "x"]},
    ]
    params = {"p": {"type": "u64", "elements": 1}, "x": WORD}
    made = ptxmm.Kernel(params=params, kernel=kernels, forall="x[0] == 4", race_free=True)
    assert made.check().verdict == "ok" == made.check(engine="enumerate").verdict
    apart = [kernels[0], kernels[1] | {"stream": 1}]
    assert ptxmm.Kernel(params=params, kernel=apart, forall="x[0] == 4").check().verdict == "undefined"  # too early


def test_modules_that_would_have_to_be_linked_are_refused_by_name(tmp_path: Path) -> None:
    declared = module(2, ".extern .global .u32 count;")
    with pytest.raises(UnsupportedProgram, match=r"'count' is declared \.extern in one module"):
        of_files(tmp_path, (module(1), "x"), (declared, "y"), forall="y[0] == 3").check()
