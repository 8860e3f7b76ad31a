"""What a model's name may say: axioms that are left out, and readings. A model less an axiom allows what the whole one does."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import some

import ptxmm
from axioms.models.naming import Named, named
from axioms.models.options import LENIENT, OPTIONS
from ptxcore.diagnostics import InputError
from ptxmm.api import model_named

LIBRARY = sorted((Path(ptxmm.__file__).parents[1] / "litmus" / "library").rglob("*.litmus"))
AXIOMS = [
    (model, axiom) for model in ptxmm.models() for axiom in dict.fromkeys(a.name for a in model_named(model).axioms)
]


@pytest.mark.parametrize(
    ("text", "base", "without", "options"),
    [
        ("ptx-9.0", "ptx-9.0", (), set()),
        ("ptx-9.0/-atomicity", "ptx-9.0", ("atomicity",), set()),
        ("ptx-9.0/-fence-sc/-no-thin-air --dep data", "ptx-9.0", ("fence-sc", "no-thin-air"), {"dep=data"}),
        ("ptx-9.0 --dep=data --war-ok", "ptx-9.0", (), {"dep=data", "war-ok"}),
        ("a b/c.cat/-sc", "a b/c.cat", ("sc",), set()),
        ("a/-b.cat", "a/-b.cat", (), set()),  # a folder, and a file in it
        ("a/-b.cat/-c", "a/-b.cat", ("c",), set()),
    ],
)
def test_what_a_name_says(text: str, base: str, without: tuple[str, ...], options: set[str]) -> None:
    told = named(text)
    assert told == Named(base, without, frozenset(options))
    assert named(str(told)) == told


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("ptx-9.0/-atomicty", "the model has no axiom 'atomicty'", "did you mean 'atomicity'?"),
        ("ptx-9.0/-x", "the model has no axiom 'x'", "its axioms are coherence,"),
        ("ptx-9.0 --dep dat", "unknown reading '--dep dat'", "did you mean 'dep data'?"),
        ("ptx-7.5 --war-ok", "the model has no option 'war-ok'", ""),
        ("ptx-9.1/-causality", "unknown model 'ptx-9.1'", "ptx-9.0"),
    ],
)
def test_a_name_that_says_nothing(name: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        model_named(name)
    assert message in str(error.value) and hint in str(error.value)


@pytest.mark.part(3)
@pytest.mark.parametrize("option", [o for o in OPTIONS if o not in LENIENT])
def test_a_reading_in_the_name_is_the_option(option: str) -> None:
    test = ptxmm.load(next(p for p in LIBRARY if p.stem == "MP+fence.sc+acq"))
    words = option.replace("=", " ")
    by_name = ptxmm.check(test, f"ptx-9.0 --{words}")
    assert by_name.states == ptxmm.check(test, options=[option]).states
    assert by_name.model == f"ptx-9.0 --{words}"


@pytest.mark.part(2)
@pytest.mark.compares(0.7)
@pytest.mark.parametrize(("model", "axiom"), some(3, AXIOMS), ids=lambda v: str(v))
def test_an_axiom_less_forbids_nothing_more(model: str, axiom: str) -> None:
    """By both engines: that the weaker model is decided by fewer passes is not what allows more."""
    start = sum(map(ord, axiom)) % 40
    for path in LIBRARY[start::40]:
        test = ptxmm.load(path)
        whole, less = ptxmm.check(test, model), ptxmm.check(test, f"{model}/-{axiom}")
        if "undefined" in (whole.verdict, less.verdict) or not (whole.complete and less.complete):
            pass_over("no meaning, or a loop was cut")
            continue
        states = compared([tuple(s.items()) for s in less.states])
        assert {tuple(s.items()) for s in whole.states} <= set(states), path.stem
        if sum(len(t.statements) for t in test.threads) <= 5:
            brute = ptxmm.check(test, f"{model}/-{axiom}", engine="enumerate")
            assert brute.states == less.states, path.stem


def test_without_single_copy_atomicity_morally_strong_accesses_tear() -> None:
    text = """PTX tear
{ .global .u16 x = 0; }
 P0@cta 0,gpu 0                | P1@cta 1,gpu 0                 ;
 st.relaxed.gpu.u16 [x], 0x101 | ld.relaxed.gpu.u16 %rs0, [x]   ;
exists (1:%rs0 = 1)
"""
    for engine in ("solve", "enumerate"):
        assert ptxmm.check(ptxmm.parse(text), engine=engine).verdict == "no"
        assert ptxmm.check(ptxmm.parse(text), "ptx-9.0/-single-copy", engine=engine).verdict == "ok"
