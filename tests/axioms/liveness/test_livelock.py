"""Livelock and progress models: interleavings, the formula and brute force say the same."""

from __future__ import annotations

from collections import Counter

import pytest
from agreement import compared, pass_over
from campaigns import lengths, share
from generated_loops import loops
from liveness_oracle import Oracle

from axioms.cat.model import Model
from axioms.liveness import interleave
from axioms.liveness import search as liveness
from axioms.liveness.interleave import Interleavings
from axioms.liveness.progress import FAIR, NAMES, Progress, progress_named
from axioms.liveness.search import LivenessQuestion, find
from axioms.program import Program
from axioms.witness.stalls import Bounded, Stall
from litmus.formats import read
from ptxmm.api import model_named
from ptxmm.pipeline import build

WAITS = ("barrier", "mbarrier", "loop", "livelock")
MODELS = ("ptx-6.0", "ptx-7.5", "ptx-9.0")


def by_formula(program: Program, model: Model, progress: Progress = FAIR, resident: int | None = None) -> Stall | None:
    """What the formula finds alone."""
    asked = LivenessQuestion(program, model, WAITS, progress, resident, None, None)
    return liveness._given_up(asked, rounds=False) or liveness._given_up(asked, rounds=True)


def program_of(
    body: str, init: str = "x = 0; y = 0;", places: tuple[str, ...] = ("cta 0", "cta 1", "cta 2")
) -> Program:
    rows = [line for line in body.strip().splitlines() if line.strip()]
    count = rows[0].count("|") + 1
    head = " | ".join(f"P{i}@{places[i]},gpu 0" for i in range(count))
    lines = "\n".join(f" {row} ;" for row in rows)
    return build(read(f"PTX t\n{{ {init} }}\n {head} ;\n{lines}\nexists (true)\n", "t"))


PING_PONG = """
A: atom.relaxed.gpu.exch.b32 %r0, [x], 1 | B: atom.relaxed.gpu.exch.b32 %r0, [x], 0
setp.eq.u32 %p, %r0, 0 | setp.eq.u32 %p, %r0, 1
@%p bra A | @%p bra B
"""


# Two ways and a third.


@pytest.mark.part(3)
@pytest.mark.compares(0.99)
@pytest.mark.parametrize("count", lengths(15, 80))
@pytest.mark.parametrize("progress", NAMES)
def test_brute_force_agrees_on_random_loops(progress: str, count: int) -> None:
    found = Counter[bool]()
    for seed in range(count):
        test = read(loops(seed, locations=1 + seed % 2, rich=seed % 3 == 0), "loops")
        answer = find(build(test), model_named(MODELS[seed % 3]), kinds=WAITS, progress=progress_named(progress))
        if isinstance(answer, Bounded):
            pass_over("not proven")
            continue
        ends = compared(Oracle(test).terminates(progress))
        assert ends == (answer is None), loops(seed, locations=1 + seed % 2, rich=seed % 3 == 0)
        found[ends] += 1
    assert found[False] > count / 6 and (found[True] > count / 27 or progress == "unfair")


@pytest.mark.compares(0.99)
@pytest.mark.parametrize("count", lengths(20, 60))
@pytest.mark.parametrize("resident", [1, 2])
def test_brute_force_agrees_where_few_ctas_run_at_once(resident: int, count: int) -> None:
    for seed in range(count):
        test = read(loops(seed, ctas=True), "loops")
        answer = find(build(test), model_named("ptx-9.0"), kinds=WAITS, resident=resident)
        if isinstance(answer, Bounded):
            pass_over("not proven")
        else:
            assert compared(Oracle(test, resident).terminates("fair")) == (answer is None), loops(seed, ctas=True)


@pytest.mark.part(2)
@pytest.mark.compares(0.99)
@pytest.mark.parametrize("progress", NAMES)
def test_the_formula_finds_what_interleavings_show(progress: str) -> None:
    """Both ways: what an interleaving does is an execution of the formula; where all executions are interleavings, or each
    place alone shows that none goes on, the formula finds none."""
    chosen = progress_named(progress)
    for seed in range(500, 512):
        resident = 1 if seed % 4 == 0 else None
        program = build(read(loops(seed, locations=1 + seed % 2, rich=seed % 3 == 0, ctas=True), "loops"))
        model = model_named(MODELS[seed % 3])
        search = Interleavings(program, resident)
        shown = search.find(chosen)
        if shown is None and not (search.are_all(model) or search.none_goes_on(model, chosen)):
            pass_over("weaker than interleavings")
            continue
        compared(None)
        assert (by_formula(program, model, chosen, resident) is None) == (shown is None), seed


@pytest.mark.campaign
@pytest.mark.compares(0.95)
def test_the_formula_finds_what_many_interleavings_show() -> None:
    for seed in range(2000, 2000 + share(300)):
        for progress in map(progress_named, NAMES):
            program = build(read(loops(seed, locations=1 + seed % 2, rich=True, ctas=True), "loops"))
            model = model_named(MODELS[seed % 3])
            search = Interleavings(program)
            shown = search.find(progress)
            if shown is not None or search.are_all(model) or search.none_goes_on(model, progress):
                compared(None)
                assert (by_formula(program, model, progress) is None) == (shown is None), (seed, progress)
            else:
                pass_over("weaker than interleavings")


# What is found.


def test_who_exchange_a_word_livelock() -> None:
    for stall in (
        find(program_of(PING_PONG), model_named("ptx-9.0"), kinds=WAITS),
        by_formula(program_of(PING_PONG), model_named("ptx-9.0")),
    ):
        assert isinstance(stall, Stall)
        assert [(w.kind, w.thread) for w in stall.waits] == [("livelock", 0), ("livelock", 1)]
        written = {(r.location, r.found, r.written) for w in stall.waits for r in w.again}
        assert written == {("x", 0, 1), ("x", 1, 0)}


def test_an_exchange_that_somebody_ends_ends() -> None:
    third = [*[""] * 1, "st.relaxed.gpu.u32 [x], 7", ""]
    rows = [f"{a} | {b}" for a, b in zip(PING_PONG.strip().splitlines(), third, strict=True)]
    body = "\n".join(rows).replace("exch.b32 %r0, [x], 1", "cas.b32 %r0, [x], 0, 1").replace(
        "exch.b32 %r0, [x], 0", "cas.b32 %r0, [x], 1, 0"
    )  # fmt: skip
    assert find(program_of(body.replace(".eq.u32 %p, %r0, 0", ".lt.u32 %p, %r0, 2").replace(
        ".eq.u32 %p, %r0, 1", ".lt.u32 %p, %r0, 2")), model_named("ptx-9.0"), kinds=WAITS) is None  # fmt: skip


def test_a_lock_that_is_given_back_does_not_starve_anybody() -> None:
    body = "\n".join(
        f"{a} | {b}"
        for a, b in zip(
            [
                "A: atom.acquire.gpu.exch.b32 %r0, [x], 1",
                "setp.ne.u32 %p, %r0, 0",
                "@%p bra A",
                "st.release.gpu.u32 [x], 0",
            ],
            [
                "B: atom.acquire.gpu.exch.b32 %r0, [x], 1",
                "setp.ne.u32 %p, %r0, 0",
                "@%p bra B",
                "st.release.gpu.u32 [x], 0",
            ],
            strict=True,
        )
    )
    assert find(program_of(body), model_named("ptx-9.0"), kinds=WAITS) is None
    kept = "\n".join(line for line in body.splitlines() if "release" not in line)
    stall = find(program_of(kept), model_named("ptx-9.0"), kinds=WAITS)
    assert isinstance(stall, Stall) and [w.kind for w in stall.waits] == ["livelock"]


def test_a_livelock_that_only_weak_memory_has() -> None:
    """Store buffering, and a livelock of those who both missed the other's store: no interleaving has it, the model does; with
    a fence.sc between store and load it does not."""
    body = """
st.relaxed.gpu.u32 [x], 1 | st.relaxed.gpu.u32 [y], 1
ld.relaxed.gpu.u32 %r0, [y] | ld.relaxed.gpu.u32 %r0, [x]
setp.ne.u32 %p, %r0, 0 | setp.ne.u32 %p, %r0, 0
@%p bra E | @%p bra F
A: atom.relaxed.gpu.exch.b32 %r1, [z], 1 | B: atom.relaxed.gpu.exch.b32 %r1, [z], 0
setp.eq.u32 %q, %r1, 0 | setp.eq.u32 %q, %r1, 1
@%q bra A | @%q bra B
E: | F:
"""
    for fence, expected in ((False, Stall), (True, type(None))):
        rows = body.strip().splitlines()
        rows = [rows[0], *([" | ".join(["fence.sc.gpu"] * 2)] if fence else []), *rows[1:]]
        program = program_of("\n".join(rows), "x = 0; y = 0; z = 0;")
        assert Interleavings(program).find(FAIR) is None  # one of the two sees the other
        assert isinstance(by_formula(program, model_named("ptx-9.0")), expected)
        answer = find(program, model_named("ptx-9.0"), kinds=WAITS)
        assert isinstance(answer, Stall if expected is Stall else (type(None), Bounded))


def test_what_breaks_a_model_when_it_is_repeated_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleave, "breaks", lambda *_: ["an axiom"])
    program = program_of(PING_PONG)
    assert interleave.interleaved(program, model_named("ptx-9.0"), FAIR, None, None) is False


@pytest.mark.long
def test_a_counter_that_never_comes_back_is_not_proven() -> None:
    program = program_of("A: atom.relaxed.gpu.add.u32 %r0, [x], 1\nsetp.ne.u32 %p, %r0, 1000000\n@%p bra A")
    answer = find(program, model_named("ptx-9.0"), kinds=WAITS)
    assert isinstance(answer, Bounded) and [threads for _, threads in answer.loops] == [(0,)]


# Progress models.

SPIN = """
L: ld.relaxed.gpu.u32 %r0, [x] | st.relaxed.gpu.u32 [y], 1
setp.eq.u32 %p, %r0, 0 | st.relaxed.gpu.u32 [x], 1
@%p bra L |
"""


def ends(body: str, progress: str, resident: int | None = None, **places: tuple[str, ...]) -> bool:
    program = program_of(body, **places)  # type: ignore[arg-type]
    answer = find(program, model_named("ptx-9.0"), kinds=WAITS, progress=progress_named(progress), resident=resident)
    assert not isinstance(answer, Bounded)
    formula = by_formula(program, model_named("ptx-9.0"), progress_named(progress), resident)
    assert (formula is None) == (answer is None)
    return answer is None


@pytest.mark.parametrize(
    ("progress", "waiting_first", "waiting_last"),
    [
        ("fair", True, True),
        ("hsa", False, True),  # who waits is the one that is scheduled, or it is the last
        ("obe", False, False),  # who writes need not begin
        ("hsa_obe", False, True),
        ("lobe", False, True),  # who has the lower number is scheduled once the other has begun
        ("unfair", False, False),
    ],
)
def test_who_is_scheduled(progress: str, waiting_first: bool, waiting_last: bool) -> None:
    assert ends(SPIN, progress) == waiting_first
    turned = "\n".join(" | ".join(reversed(line.split("|"))) for line in SPIN.strip().splitlines())
    assert ends(turned, progress) == waiting_last


def test_who_has_begun_may_not_be_left_between_two_stores() -> None:
    body = (
        SPIN.replace("[y], 1", "[x], 0").replace("eq.u32 %p, %r0, 0", "eq.u32 %p, %r0, 1").replace("[x], 1", "[x], 2")
    )
    first = body.replace("st.relaxed.gpu.u32 [x], 0", "st.relaxed.gpu.u32 [x], 1")
    assert ends(first, "obe") and not ends(first, "hsa")


def test_by_scope() -> None:
    apart, together = ("cta 0", "cta 1", "cta 2"), ("cta 0", "cta 0", "cta 0")
    assert ends(SPIN, "cta=obe,gpu=fair", places=apart) and not ends(SPIN, "cta=obe,gpu=fair", places=together)
    assert not ends(SPIN, "gpu=obe", places=apart) and ends(SPIN, "gpu=obe", places=together)


@pytest.mark.parametrize("text", ["", "Fair", "cta", "cta=", "warp=obe", "cta=obe,cta=fair", "obe,fair"])
def test_what_is_no_progress_model(text: str) -> None:
    with pytest.raises(ValueError, match="progress model"):
        progress_named(text)


# Resident CTAs.


def barrier_of(ctas: int) -> str:
    """A grid barrier: each arrives, and waits until all have."""
    lines = [
        "atom.relaxed.gpu.add.u32 %r1, [x], 1",
        "{}: ld.relaxed.gpu.u32 %r0, [x]",
        f"setp.ne.u32 %p, %r0, {ctas}",
        "@%p bra {}",
    ]
    return "\n".join(" | ".join(line.replace("{}", "ABC"[c]) for c in range(ctas)) for line in lines)


@pytest.mark.parametrize(("resident", "terminates"), [(1, False), (2, False), (3, True), (4, True), (None, True)])
def test_a_barrier_of_a_grid_needs_all_of_it(resident: int | None, terminates: bool) -> None:
    assert ends(barrier_of(3), "fair", resident) == terminates


def test_no_order_of_ctas_is_promised() -> None:
    assert not ends(SPIN, "fair", 1)  # who waits may be the one that runs


def test_threads_of_one_cta_run_together() -> None:
    assert ends(SPIN, "fair", 1, places=("cta 0", "cta 0", "cta 0"))
