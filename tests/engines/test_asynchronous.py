"""Asynchronous operations, fences of proxies, kernels and hosts: what the model says of each case, by both engines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agreement import STEPS, brute_force, pass_over
from asynchronous_cases import CASES, Case
from campaigns import drawn, share
from generated_asynchronous import bulk, copies, kernels, proxies
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import ptxmm
from axioms.engine import decide
from axioms.errors import UnsupportedProgram
from axioms.models import load
from axioms.program import with_threads
from axioms.witness.result import Decision
from litmus.formats import read, write
from ptxcore.machine.ir.effects import Effect
from ptxmm.pipeline import build


@pytest.mark.part(8)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_model_says_of_each_case_what_it_should(case: Case, engine: str) -> None:
    result = ptxmm.check(ptxmm.parse(case.litmus()), engine=engine)
    assert result.complete
    assert ("allow" if result.positive else "forbid") == case.verdict, case.litmus()
    assert (result.verdict == "undefined") == case.undefined, (result.error, case.litmus())


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_case_is_read_as_it_is_written(case: Case) -> None:
    test = read(case.litmus())
    assert read(write(test)) == test


REFUSED = (
    (("launch k1;", "sync stream 0;"), "beside a launch of 'k1' by another host thread"),
    (
        ("ld.relaxed.sys.u32 %r0, [x]; setp.eq.u32 p, %r0, 0; @p bra e; launch k1; e:", ""),
        "launched under a condition or in a loop",
    ),
)


@pytest.mark.parametrize(("codes", "message"), REFUSED)
def test_what_hangs_on_the_order_of_hosts_is_refused(codes: tuple[str, str], message: str) -> None:
    threads = ("cta 0: st.weak.u32 [x], 1;", *(f"host: .reg .pred p; {code}" for code in codes))
    case = Case("hosts", "", "x = 0; kernel k1 = [P0];", threads, "true", "allow")
    with pytest.raises(UnsupportedProgram, match=message):
        build(read(case.litmus()))


RELEASE, ACQUIRE = "fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.acquire.gpu"


@pytest.mark.parametrize(
    ("release", "acquire", "allowed"),
    [
        (RELEASE, f"{ACQUIRE} [t], 128;", False),
        (RELEASE, f"{ACQUIRE} [u], 128;", True),
        (RELEASE, "fence.acquire.gpu;", True),
        ("fence.release.gpu;", f"{ACQUIRE} [t], 128;", True),
        ("fence.proxy.async;" + RELEASE, f"{ACQUIRE} [t], 128; fence.proxy.async;", False),
    ],
)
def test_what_the_generic_proxy_wrote_reaches_the_tensormap_proxy(release: str, acquire: str, allowed: bool) -> None:
    """No instruction of litmus tests reads a tensor map, so a plain load is made to go through its proxy: which brute force,
    running threads anew, would undo."""
    writer = f"cta 0: st.weak.u32 [t], 1; {release} st.relaxed.gpu.u32 [f], 1;"
    reader = f"cta 1: ld.relaxed.gpu.u32 %r0, [f]; {acquire} ld.weak.u32 %r1, [t];"
    init = ".global .align 128 .u32 t[32]; .global .align 128 .u32 u[32]; f = 0;"
    case = Case("tensormap", "", init, (writer, reader), r"1:%r0 = 1 /\ 1:%r1 = 0", "")
    program = build(read(case.litmus()))
    effects = [replace(e, proxy=_proxy(e)) for e in program.threads[1].execution.effects]
    execution = replace(program.threads[1].execution, effects=effects)
    changed = with_threads(program, [program.threads[0], program.threads[1]._replace(execution=execution)])
    assert bool(decide(changed, load("ptx-9.0")).positive) == allowed


def _proxy(effect: Effect) -> str:
    return "tensormap" if effect.kind == "load" and effect.semantics == "weak" else effect.proxy


def test_stores_may_go_through_the_async_proxy() -> None:
    case = next(c for c in CASES if c.name == "Q21")
    assert ptxmm.check(ptxmm.parse(case.litmus()), options=["st-async-proxy"]).positive


def answer(decision: Decision) -> object:
    """What must agree; of a program without a meaning only that it has none, and its races."""
    races = sorted((race.kind, str(race.events)) for race in decision.races)
    if decision.undefined is not None:
        return "undefined", races
    return decision.states, decision.positive, decision.negative, decision.complete, races


def assert_agreement(text: str, steps: int = STEPS) -> None:
    model = load("ptx-9.0")
    try:
        program = build(read(text, "generated.litmus"), all_registers=True)
        solved = answer(decide(program, model, races=True))
    except UnsupportedProgram:
        return pass_over("refused")
    expected = brute_force(program, model, steps, races=True)
    assert expected is None or solved == answer(expected), text


def of(count: int, **more: object) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=drawn(count), deadline=None, database=None, suppress_health_check=slow, **more)  # type: ignore[arg-type]


@pytest.mark.compares(0.9)
@of(60, derandomize=True)
@given(st.one_of(bulk(), copies(), kernels(), proxies()))
def test_the_engines_agree(text: str) -> None:
    assert_agreement(text)


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@of(share(3000), phases=[Phase.generate, Phase.shrink])
@given(st.one_of(bulk(), copies(), kernels(), proxies()))
def test_the_engines_agree_on_thousands(text: str) -> None:
    assert_agreement(text, 4 * STEPS)
