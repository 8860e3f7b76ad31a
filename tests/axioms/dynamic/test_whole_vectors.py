"""Strong accesses to vectors as one access each, a reading of section 8.2.4: by the formula, by brute force and by runs."""

from __future__ import annotations

import generated_lookbacks
import pytest
from agreement import note
from campaigns import lengths

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_WHOLE = frozenset(("whole-vectors",))


def _test(vector: str, values: str, elements: int, found: str = "relaxed") -> KernelTest:
    """CTA 0 stores 1 and then numbers in one vector; CTA 1 waits for the 1, and adds up what else it has found."""
    names = ", ".join(f"%v{i}" for i in range(elements))
    width = "b32" if vector.endswith("32") else "b64"
    sums = " ".join(f"add.{width.replace('b', 'u')} %v0, %v0, %v{i};" for i in range(1, elements))
    ptx = f""".version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<3>; .reg .{width} %v<9>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 1; @%p bra LOOK;
 st.relaxed.gpu.global.{vector} [%rd1+32], {{{values}}};
 ret;
LOOK: ld.{found}.gpu.global.{vector} {{{names}}}, [%rd1+32]; setp.eq.{width} %p, %v0, 0; @%p bra LOOK;
 {sums} st.global.{width} [%rd1], %v0;
 ret;
}}"""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "check": {"forall": "x[0] == 8", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


def _by(test: KernelTest, engine: str, options: frozenset[str], monkeypatch: pytest.MonkeyPatch) -> Result:
    """A verdict by the formula, brute force, or runs alone."""
    with monkeypatch.context() as patched:
        patched.setattr(checking, "may_be_whole", lambda *_: engine == "runs")
        how = "solve" if engine == "runs" else engine
        return checking.check(test, model_named("ptx-9.0"), engine=how, options=options)


@pytest.mark.parametrize("engine", ["solve", "enumerate", "runs"])
@pytest.mark.parametrize(
    ("vector", "values", "elements"),
    [("v2.u32", "1, 7", 2), ("v2.u64", "1, 7", 2), pytest.param("v4.u32", "1, 2, 2, 3", 4, marks=pytest.mark.long)],
)
def test_a_vector_of_sixteen_bytes_is_found_as_a_whole_by_that_reading(
    vector: str, values: str, elements: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _test(vector, values, elements)
    assert _by(test, engine, _WHOLE, monkeypatch).verdict == "ok"
    assert _by(test, engine, frozenset(), monkeypatch).verdict == "no"


@pytest.mark.compares(0.8)
@pytest.mark.parametrize("seeds", lengths(range(4), range(40)))
def test_runs_say_of_words_that_are_vectors_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = passed = 0
    for seed in seeds:
        test = generated_lookbacks.kernel(seed, vectors=True)
        found = _by(test, "runs", _WHOLE, monkeypatch)
        expected = _by(test, "solve", _WHOLE, monkeypatch)
        assert expected.verdict.replace("bounded", "ok") == found.verdict.replace("bounded", "ok"), seed
        passed += "undecided" in (found.verdict, expected.verdict)
        compared += "undecided" not in (found.verdict, expected.verdict)
    note(compared, {"undecided": passed} if passed else {})


_FIRST_COMES = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.ne.u32 %p, %r2, 0; @%p ret;
 atom.relaxed.gpu.global.cas.b32 %r3, [%rd1], 0, 1;
 setp.ne.u32 %p, %r3, 0; @%p bra LATE;
 st.relaxed.gpu.global.v2.u32 [%rd1+16], {{{first}, 3}};
 ret;
LATE: ld.relaxed.gpu.global.v2.u32 {{%r4, %r5}}, [%rd1+16];
 setp.eq.u32 %p, %r4, 0; @%p bra LATE;
 st.global.u32 [%rd1+32], %r5;
 ret;
}}"""


@pytest.mark.parametrize(("first", "verdict"), [("%r1", "no"), ("1", "ok")])
def test_several_runs_take_such_vectors_as_a_whole_too(
    first: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes first leaves a pair, for which the other one waits: for good where CTA 0 writes its number."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 2,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "check": {"forall": "x[8] == 3", "race_free": True, "terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _FIRST_COMES.format(first=first)}).test()
    for engine in ("solve", "enumerate", "runs"):
        assert _by(test, engine, _WHOLE, monkeypatch).verdict == verdict, engine
