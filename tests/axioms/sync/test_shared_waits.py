"""What is known of barriers before any execution changes no answer: rounds in place of numbered instances, waits that are over
together, waits that are certainly over."""

from __future__ import annotations

import random

import pytest
from agreement import brute_force

from axioms.engine import decide
from axioms.events.encounters import meeting_at
from axioms.liveness import blocking
from axioms.liveness import search as liveness
from litmus.formats import read
from ptxmm.api import model_named
from ptxmm.pipeline import build

WAITS = ("barrier", "loop")


def threads(random_: random.Random) -> list[str]:
    """Threads of warps of their own that meet at two barriers, wait for flags and end early."""
    count = random_.choice([2, 2, 3])
    found = []
    for t in range(count):
        lines = [".reg .pred p; mov.u32 %r0, 9; mov.u32 %r1, 9; mov.u32 %r2, 9;"]
        for i in range(random_.randrange(1, 4)):
            kind = random_.choices(["sync", "arrive", "all", "red", "store", "spin", "maybe"], [6, 3, 1, 1, 2, 1, 1])[0]
            bar, number = random_.randrange(1, 3), 32 * random_.choice([count, count, 2])
            if kind == "store":
                lines.append(f"st.relaxed.gpu.u32 [x], {t + 1};")
            elif kind == "spin":
                lines.append(f"L{t}_{i}: ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 p, %r0, 0; @p bra L{t}_{i};")
            elif kind == "maybe":
                lines.append(f"ld.relaxed.gpu.u32 %r1, [x]; setp.eq.u32 p, %r1, 0; @p barrier.sync {bar}, {number};")
            elif kind == "red":
                lines.append(f"setp.eq.u32 p, {t}, 0; barrier.red.popc.u32 %r2, {bar}, {number}, p;")
            else:
                lines.append(f"barrier.sync {bar};" if kind == "all" else f"barrier.{kind} {bar}, {number};")
        found.append(f"P{t}@cta 0 {{ {' '.join(lines)} }}")
    return found


def text(seed: int) -> str:
    some = threads(random.Random(seed))
    registers = " ".join(f"{t}:r{r};" for t in range(len(some)) for r in range(3))
    body = "\n".join(some)
    return f"PTX generated\n{{ .global .u32 x = 0; }}\n{body}\nlocations [{registers} x;]\nexists (true)\n"


def answers(seed: int) -> tuple[object, object]:
    """The outcomes, and whether all terminate; nothing of the latter where barriers are misused."""
    program, model = build(read(text(seed), "generated.litmus")), model_named("ptx-9.0")
    decision = decide(program, model)
    if decision.undefined is not None:
        return "undefined", None
    waits = isinstance(liveness.find(program, model, kinds=WAITS), liveness.Stall)
    return decision.states, waits


def compare(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    found = answers(seed)
    with monkeypatch.context() as patched:
        general = "axioms.sync.barriers.meeting_at"
        patched.setattr(general, lambda *given: None if _counted(given[2]) else meeting_at(*given))
        patched.setattr(blocking, "SharedWaits", lambda _: None)
        assert found == answers(seed), text(seed)


def _counted(arrivals: list[tuple[int, object]]) -> bool:
    return any(count is not None for _, count in arrivals)


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(40))
def test_a_few_programs_have_the_same_answers_the_general_way(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    compare(monkeypatch, seed)


@pytest.mark.long
@pytest.mark.compares(0.8)
def test_the_engines_agree_on_them() -> None:
    for seed in range(40):
        program, model = build(read(text(seed), "generated.litmus")), model_named("ptx-9.0")
        expected = brute_force(program, model)
        if expected is not None:
            found = decide(program, model)
            assert (found.states, found.undefined is None) == (expected.states, expected.undefined is None), text(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(40, 2000))
def test_programs_have_the_same_answers_the_general_way(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    compare(monkeypatch, seed)
