"""The axioms that are named as the reason are the reason: without them the outcome is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxmm
from axioms.cat.model import Model, compile_model

MODELS = Path(__file__).resolve().parents[3] / "axioms" / "models"

#: The threads and the question of a test, and the axiom that ptx-9.0 forbids it by.
FORBIDDEN = {
    "MP": (
        "P0@cta 0 { st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1; }\n"
        "P1@cta 1 { ld.acquire.gpu.u32 %r0, [y]; ld.weak.u32 %r1, [x]; }\n~exists (1:r0 = 1 /\\ 1:r1 = 0)",
        "causality",
    ),
    "SB": (
        "P0@cta 0 { st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; ld.relaxed.gpu.u32 %r0, [y]; }\n"
        "P1@cta 1 { st.relaxed.gpu.u32 [y], 1; fence.sc.gpu; ld.relaxed.gpu.u32 %r0, [x]; }\n"
        "~exists (0:r0 = 0 /\\ 1:r0 = 0)",
        "causality",
    ),
    "CoWW": ("P0@cta 0 { st.weak.u32 [x], 1; st.weak.u32 [x], 2; }\nforall (x = 2)", "coherence"),
    "CoWR": ("P0@cta 0 { st.weak.u32 [x], 1; ld.weak.u32 %r0, [x]; }\nforall (0:r0 = 1)", "causality"),
    "atomicity": (
        "P0@cta 0 { atom.relaxed.gpu.add.u32 %r0, [x], 1; }\nP1@cta 1 { atom.relaxed.gpu.add.u32 %r0, [x], 1; }\n"
        "~exists (0:r0 = 0 /\\ 1:r0 = 0)",
        "atomicity",
    ),
    "LB+ctrl": (
        "P0@cta 0 { ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 1; @%p0 st.relaxed.gpu.u32 [y], 1; }\n"
        "P1@cta 1 { ld.relaxed.gpu.u32 %r0, [y]; setp.eq.u32 %p0, %r0, 1; @%p0 st.relaxed.gpu.u32 [x], 1; }\n"
        "~exists (0:r0 = 1)",
        "no-thin-air",
    ),
}


def without(model: str, names: set[str]) -> Model:
    """A shipped model less some of its axioms."""
    lines = (MODELS / f"{model}.cat").read_text(encoding="utf-8").split("\n")
    return compile_model("weaker", "\n".join(l for l in lines if not names & set(re.findall(r"\bas ([\w-]+)\s*$", l))))


def parsed(body: str) -> ptxmm.Test:
    return ptxmm.parse(f"PTX why\n{{ x=0; y=0; }}\n{body}\n")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_right_axiom_is_named(name: str) -> None:
    body, axiom = FORBIDDEN[name]
    result = ptxmm.check(parsed(body), explain=True)
    assert result.verdict == "ok"
    assert axiom in result.forbidding


@pytest.mark.part(3)
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "ptx-9.0"])
@pytest.mark.parametrize("name", FORBIDDEN)
def test_without_the_named_axioms_the_outcome_is_there(name: str, model: str) -> None:
    test = parsed(FORBIDDEN[name][0])
    result = ptxmm.check(test, model, explain=True)
    if result.forbidding:
        assert ptxmm.check(test, without(model, set(result.forbidding))).verdict == "no"
    else:
        assert result.observation == "sometimes" or name == "LB+ctrl"


def test_nothing_is_named_where_no_model_could_allow_it() -> None:
    result = ptxmm.check(parsed("P0@cta 0 { ld.weak.u32 %r0, [x]; }\n~exists (0:r0 = 7)"), explain=True)
    assert result.verdict == "ok" and result.forbidding == ()


def test_nothing_is_named_where_both_kinds_occur() -> None:
    body = "P0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\n~exists (1:r0 = 1)"
    assert ptxmm.check(parsed(body), explain=True).forbidding == ()
