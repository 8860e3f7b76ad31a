"""The two engines agree on generated programs with mbarrier objects and barriers of CTAs, warps and clusters."""

from __future__ import annotations

import pytest
from agreement import STEPS, brute_force
from campaigns import drawn, share
from hypothesis import given, settings
from hypothesis import strategies as st

from axioms.engine import decide
from axioms.models import load
from axioms.sync import arrivals
from axioms.sync.sure_use import may_be_misused
from axioms.witness.result import Decision
from litmus.formats import read
from ptxmm.pipeline import build

#: The rules about barriers that may be broken.
BARRIERS = {value for name, value in vars(arrivals).items() if name.isupper() and isinstance(value, str)}


def _answer(decision: Decision) -> tuple[object, ...]:
    if decision.undefined is not None:
        return ("undefined",)
    return decision.states, decision.positive, decision.complete


def assert_agreement(text: str, steps: int = STEPS) -> None:
    program, model = build(read(text, "generated.litmus")), load("ptx-9.0")
    expected = brute_force(program, model, steps)
    if expected is None:
        return
    assert expected.undefined is None or expected.undefined.rule not in BARRIERS or may_be_misused(program), text
    found = decide(program, model)
    assert _answer(found) == _answer(expected), text
    if not found.races:  # of several kinds of misuse either may be told
        assert (found.undefined is None) == (expected.undefined is None), text


def _written(declarations: str, threads: list[str], observed: list[str]) -> str:
    terms = " ".join(f"{t}:{r};" for t in range(len(threads)) for r in observed)
    return (
        f"PTX generated\n{{ {declarations} .global .u32 x = 0; }}\n"
        + "\n".join(threads)
        + f"\nlocations [{terms} x;]\nexists (true)\n"
    )


@st.composite
def objects(draw: st.DrawFn) -> str:
    """Threads that arrive at one mbarrier object and wait for it, well or not."""
    count = draw(st.sampled_from([2, 2, 3]))
    ctas = [0, *[draw(st.sampled_from([0, 0, 0, 1])) for _ in range(count - 1)]]
    together = "bar.sync 0;" if len(set(ctas)) == 1 else "barrier.cluster.arrive; barrier.cluster.wait;"
    threads = []
    for t, cta in enumerate(ctas):
        body = [".reg .pred p; mov.u32 %r0, 9; mov.u32 %r1, 7;"]
        if t == 0:
            body.append(f"mbarrier.init.shared.b64 [m], {draw(st.integers(1, 2))};")
        if draw(st.integers(0, 9)):
            body.append(together)
        for i in range(draw(st.integers(1, 2))):
            body.append(draw(_step(t, i, own=cta == 0)))
        threads.append(f"P{t}@cta {cta},cluster 0 {{ {' '.join(body)} }}")
    return _written(".shared .u64 m;", threads, ["r0", "r1"])


@st.composite
def _step(draw: st.DrawFn, thread: int, number: int, own: bool) -> str:
    plain = [f"st.weak.u32 [x], {thread + 1};", "ld.relaxed.gpu.u32 %r1, [x];", "fence.acq_rel.gpu;"]
    if not own:
        return draw(st.sampled_from(plain))
    parity, label = draw(st.sampled_from([0, 0, 0, 1])), f"w{thread}_{number}"
    order = draw(st.sampled_from(["", ".relaxed.cta"]))
    return draw(
        st.sampled_from(
            [
                *plain,
                f"mbarrier.arrive{order}.shared.b64 _, [m];",
                f"mbarrier.arrive{order}.shared.b64 _, [m];",
                "mbarrier.arrive_drop.shared.b64 _, [m];",
                "mbarrier.arrive.expect_tx.shared.b64 _, [m], 8;",
                "mbarrier.complete_tx.shared.b64 [m], 8;",
                "mbarrier.arrive.shared.b64 %rd0, [m]; mbarrier.pending_count.b64 %r0, %rd0;",
                f"mbarrier.test_wait.parity{order}.shared.b64 p, [m], {parity}; selp.u32 %r0, 1, 0, p;",
                f"mbarrier.test_wait.parity{order}.shared.b64 p, [m], {parity}; @p ld.weak.u32 %r1, [x];",
                f"{label}: mbarrier.try_wait.parity.shared.b64 p, [m], {parity}; @!p bra {label};",
                "mbarrier.arrive.shared.b64 %rd1, [m]; mbarrier.test_wait.shared.b64 p, [m], %rd1; selp.u32 %r0, 1, 0, p;",
                "mbarrier.inval.shared.b64 [m];",
            ]
        )
    )


@st.composite
def barriers(draw: st.DrawFn) -> str:
    """Threads of which most go through the same barriers, one after the other."""
    count = draw(st.integers(2, 3))
    level = draw(st.sampled_from(["cluster", "cta", "cta", "warp"]))
    ctas = [draw(st.integers(0, 1)) if level == "cluster" else 0 for _ in range(count)]
    warps = [0 if level == "warp" else draw(st.integers(0, t)) if level == "cta" else t for t in range(count)]
    whole = 32 * len(set(warps))
    choices = {
        "cluster": [f"barrier.cluster.arrive{order}; {{}} barrier.cluster.wait;" for order in ("", ".relaxed")],
        "warp": [f"bar.warp.sync {(1 << count) - 1};", f"bar.warp.sync {(1 << count) - 1};", "bar.warp.sync 3;", "bar.sync 0;"],
        "cta": ["bar.sync 0;", "bar.sync 1;", f"bar.sync 0, {whole};", f"bar.arrive 0, {whole};", "bar.sync 0, 64;",
                "setp.ne.u32 p, %r1, 0; bar.red.popc.u32 %r0, 2, p;"],
    }[level]  # fmt: skip
    script = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=2))
    threads = []
    for t in range(count):
        body = [".reg .pred p; mov.u32 %r0, 9; mov.u32 %r1, 0;"]
        for step in script:
            body.append(draw(st.sampled_from(["", f"st.weak.u32 [x], {t + 1};", "ld.relaxed.gpu.u32 %r1, [x];"])))
            luck = draw(st.integers(0, 11))
            inside = draw(st.sampled_from(["", f"st.relaxed.gpu.u32 [x], {t + 4};"]))
            if luck == 0 and "setp" not in step and level != "cluster":
                body.append(f"setp.eq.u32 p, %r1, 0; @p {step}")
            elif luck > 1:
                body.append(step.format(inside))
        threads.append(
            f"P{t}@warp {warps[t] + 10 * ctas[t]},cta {ctas[t]},cluster 0 {{ {' '.join(body)} ld.weak.u32 %r1, [x]; }}"
        )
    return _written("", threads, ["r0", "r1"])


def _of(examples: int) -> settings:
    return settings(max_examples=drawn(examples), deadline=None, database=None, derandomize=True)


@pytest.mark.compares(0.6)
@_of(25)
@given(objects())
def test_the_engines_agree_on_mbarrier_objects(text: str) -> None:
    assert_agreement(text)


@pytest.mark.compares(0.6)
@_of(25)
@given(barriers())
def test_the_engines_agree_on_barriers(text: str) -> None:
    assert_agreement(text)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@settings(max_examples=share(1000), deadline=None, database=None)
@given(st.one_of(objects(), barriers()))
def test_the_engines_agree_on_many_programs_with_barriers(text: str) -> None:
    assert_agreement(text, 30 * STEPS)


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    ("thread", "meaning"),
    [
        ("bar.arrive 1, %r0; bar.sync 1, 64;", False),  # 16 threads are no whole warps
        ("bar.sync 1, 64; bar.arrive 1, %r0;", True),  # nobody comes there
        ("bar.sync 1, 64; bar.sync 1, 96;", True),
    ],
)
def test_a_barrier_owes_nothing_from_its_misuse_on(thread: str, meaning: bool, engine: str) -> None:
    text = f"PTX misuse\n{{ P1:r0 = 16; }}\nP0@cta 0 {{ mov.u32 %r1, 1; }}\nP1@cta 0 {{ {thread} }}\nexists (true)\n"
    decision = decide(build(read(text, "misuse.litmus")), load("ptx-9.0"), engine=engine)
    assert (decision.undefined is None) == meaning
    assert not decision.states


@pytest.mark.long
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_only_threads_that_a_loop_bound_stopped_might_still_come_to_a_barrier(engine: str) -> None:
    """The spin sees at once what came before the barrier, and nobody else could have let its thread through that."""
    text = (
        "PTX spin\n{ f = 0; }\nP0@cta 0 { .reg .pred p; bar.sync 0, 64; w: atom.acquire.gpu.exch.b32 %r0, [f], 0; "
        "setp.eq.u32 p, %r0, 0; @p bra w; }\nP1@cta 0 { st.relaxed.sys.u32 [f], 1; bar.sync 0, 64; }\nexists (true)"
    )
    assert decide(build(read(text, "spin.litmus")), load("ptx-9.0"), engine=engine).complete


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_a_wait_for_no_phase_leaves_the_object_what_it_was(engine: str) -> None:
    """The arrival after it finds an object that is valid; the program is undefined all the same."""
    text = (
        "PTX state\n{ .shared .u64 m; }\nP0@cta 0 { .reg .pred p; mov.u64 %rd1, 0; mbarrier.init.shared.b64 [m], 2; "
        "mbarrier.test_wait.shared.b64 p, [m], %rd1; mbarrier.arrive.shared.b64 %rd1, [m]; }\nexists (true)"
    )
    reason = decide(build(read(text, "state.litmus")), load("ptx-9.0"), engine=engine).undefined
    assert reason is not None and reason.rule.startswith("the state is not of the current phase")


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(("before", "meaning"), [("barrier.sync 1;", True), ("", False)])
def test_no_misuse_excuses_the_wait_that_leads_to_it(before: str, meaning: bool, engine: str) -> None:
    """Who waits for the end of somebody who waits for him never gets to where he would misuse a barrier."""
    text = (
        f"PTX circle\n{{ }}\nP0@cta 0 {{ {before} barrier.sync 0, 32; }}\nP1@cta 0 {{ bar.sync 0; }}\nexists (true)\n"
    )
    decision = decide(build(read(text, "circle.litmus")), load("ptx-9.0"), engine=engine)
    assert (decision.undefined is None) == meaning
