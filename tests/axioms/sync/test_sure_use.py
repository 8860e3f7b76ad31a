"""Where nobody can misuse a barrier, executions that never end need no search for it; each rule is one that the check knows."""

from __future__ import annotations

import pytest
from agreement import brute_force

import ptxmm
from axioms.engine import decide
from axioms.liveness import beginnings
from axioms.sync import arrivals
from axioms.sync.sure_use import may_be_misused
from litmus.test import Test
from ptxmm.api import model_named
from ptxmm.pipeline import build

#: Who goes on here has not seen the flag, and spins without end.
SPINS = "A: ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;"
RULES = {
    arrivals.MIXED: ("bar.sync 0;", "bar.red.popc.u32 %r1, 0, %p1;"),
    arrivals.UNLIKE: ("bar.red.and.pred %p2, 0, %p1;", "bar.red.popc.u32 %r1, 0, %p1;"),
    arrivals.DIFFERENT_COUNTS: ("bar.sync 0, 64;", "bar.sync 0, 32;"),
    arrivals.EARLY: ("bar.arrive 0, 64; bar.arrive 0, 64;", "bar.sync 1;"),
    arrivals.NO_BARRIER: ("mov.u32 %r4, 16; bar.sync %r4;", "bar.sync 0;"),
    arrivals.BAD_COUNT: ("mov.u32 %r4, 33; bar.sync 0, %r4;", "bar.sync 0;"),
    "bar.warp.sync by a thread that its member mask does not name": ("bar.warp.sync 2;", ""),
    "barrier.cluster.wait by a thread that has not arrived": ("barrier.cluster.wait;", ""),
    "barrier.cluster.arrive by a thread that has not waited since it arrived before": (
        "barrier.cluster.arrive; barrier.cluster.arrive;",
        "",
    ),
}
SURE = {
    "no number": ("bar.sync 0; bar.sync 0;", "bar.sync 0;"),
    "numbers": ("bar.sync 3, 64; bar.sync 4, 64;", "bar.sync 3, 64; bar.sync 4, 64;"),
    "reductions": ("bar.red.popc.u32 %r1, 0, %p1;", "bar.red.popc.u32 %r1, 0, %p1;"),
    "some never come": ("@%p1 bar.sync 0, 64;", "bar.sync 0, 64;"),
}


def program(first: str, second: str) -> Test:
    sees = "ld.relaxed.gpu.u32 %r9, [x]; setp.ne.u32 %p1, %r9, 0;"
    return ptxmm.parse(
        f"PTX use\n{{ x = 0; f = 0; }}\nP0@warp 0,cta 0,cluster 0 {{ {sees} {first} {SPINS} }}\n"
        f"P1@warp 1,cta 0,cluster 0 {{ {sees} {second} }}\nexists (true)\n"
    )


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_may_be_broken(rule: str) -> None:
    made = build(program(*RULES[rule]))
    assert may_be_misused(made)
    found = decide(made, model_named("ptx-9.0"))
    assert found.undefined is not None and found.undefined.rule == rule


def test_no_rule_is_left_out() -> None:
    names = {value for name, value in vars(arrivals).items() if name.isupper() and type(value) is str}
    assert names - set(RULES) == {arrivals.DIVERGENT}  # of the threads of kernels, below


@pytest.mark.parametrize("name", SURE)
def test_what_nobody_misuses_is_not_searched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, model = build(program(*SURE[name])), model_named("ptx-9.0")
    assert not may_be_misused(made) and beginnings.may_not_end(made, model)
    expected = brute_force(made, model)
    assert expected is not None and expected.undefined is None
    monkeypatch.setattr(beginnings, "_search", None)
    assert decide(made, model).undefined is None


KERNEL = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
    .reg .b32 %r<9>; .reg .pred %p<3>;
    mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;
    {barrier} bra B;
A:  {barrier}
B:  ret;
}}
"""


@pytest.mark.parametrize(("barrier", "verdict"), [("bar.sync 0;", "undefined"), ("barrier.sync 0;", "ok")])
def test_threads_of_a_warp_that_diverge(barrier: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(made: object) -> bool:
        seen.append(may_be_misused(made))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(beginnings, "may_be_misused", noted)
    monkeypatch.setattr(beginnings, "may_not_end", lambda program, model: True)
    params = {"x": {"type": "u32", "elements": 1}}
    made = ptxmm.Kernel(KERNEL.format(barrier=barrier), grid=1, block=2, params=params, forall="x[0] == 0").test
    assert ptxmm.check(made).verdict == verdict
    assert seen in ([], [verdict == "undefined"])
