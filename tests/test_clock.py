"""Time limits hold in every phase: reading, exploring, building, encoding, races, reasons. No test looks at seconds."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from campaigns import lengths, some

import ptxmm
from axioms.sat import relations
from axioms.sat.formula import UP, Formula
from axioms.sat.relations import Relation
from ptxcore import clock
from ptxcore.clock import Clock, OutOfTime, deadline_after, limited, measured, tick
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels import whole
from ptxmm.kernels.question import KernelQuestion
from ptxmm.result import Checked, Result

MP = "PTX MP\n{ x=0; y=0; }\nP0 | P1 ;\nst.weak x, 1 | ld.weak r0, y ;\nst.weak y, 1 | ld.weak r1, x ;\nexists (1:r0 = 1)\n"


def kernel(threads: int, blocks: int = 1) -> object:
    """Threads that take turns at a counter and hand what they find to each other by way of a barrier."""
    text = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<4>; .shared .align 4 .u32 s[2];
    ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;
AGAIN:
    @%p1 bra WAIT;
    atom.global.add.u32 %r2, [%d1], 1; st.shared.u32 [s], %r2;
WAIT:
    bar.sync 0; ld.shared.u32 %r3, [s]; setp.gt.u32 %p2, %r3, 5; @%p2 bra END;
    atom.global.add.u32 %r4, [%d1+4], %r3; bra AGAIN;
END:
    ret;
}
"""
    params = {"x": {"type": "u32", "elements": 2}}
    return ptxmm.Kernel(text, grid=blocks, block=threads, params=params, forall="x[0] >= 1", race_free=True).test


class Stepped(Clock):
    """A clock that strikes after so many ticks, whatever the time."""

    def __init__(self, most: int) -> None:
        super().__init__(None)
        self.most = most

    def tick(self) -> None:
        self.ticks += 1
        if self.ticks > self.most:
            raise OutOfTime


@contextmanager
def ticking(made: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Checks run on this clock."""
    with monkeypatch.context() as patch:
        patch.setattr(clock, "limited", lambda seconds: measured(made))
        yield made


def test_a_limit_is_kept_by_who_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    tick()
    with limited(5.0), limited(60.0):
        for _ in range(1000):
            tick()
        now[0] += 6
        with pytest.raises(OutOfTime):
            for _ in range(1000):
                tick()
    for _ in range(1000):
        tick()


def test_a_limit_around_another_counts_its_steps() -> None:
    with measured(Clock(None)) as outer:
        with measured(Clock(None)) as inner:
            tick()
        with limited(None):
            tick()
    assert (inner.ticks, outer.ticks) == (1, 2)


def test_no_limit_is_too_long() -> None:
    assert deadline_after(None) is None
    for seconds in (1e7, 1e12, sys.float_info.max):
        for backend in ("sat", "z3"):
            assert ptxmm.check(ptxmm.parse(MP), timeout=seconds, backend=backend).verdict == "ok"


@pytest.mark.parametrize("most", [0, 3, 50, 400, 3000])
def test_exploring_a_kernel_stops_after_its_steps(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "FEWEST", 1000)
    with ticking(Stepped(most), monkeypatch) as made:
        result = ptxmm.check(kernel(threads=96))  # type: ignore[arg-type]
    assert result.verdict == "undecided" and str(result.error).startswith("out of time")
    assert made.ticks <= most + 50, "who was told to stop does not go on"


ENDLESS = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
    .reg .b32 %r<9>; .reg .b64 %d<4>; .shared .align 4 .u32 s[2];
    ld.param.u64 %d1, [x];
AGAIN:
    {body} bra AGAIN;
}}
"""


@pytest.mark.parametrize("body", ["bar.sync 0;", "ld.global.u32 %r1, [%d1];", ""])
def test_a_run_that_never_ends_stops_in_its_time(body: str) -> None:
    params = {"x": {"type": "u32", "elements": 2}}
    test = ptxmm.Kernel(ENDLESS.format(body=body), grid=1, block=64, params=params, race_free=True).test
    result = Result(
        path="k", name="k", model="ptx-9.0", verdict="undecided", checks=[Checked(kind="race_free", text="race_free")]
    )
    with limited(0.3):
        left = whole.decide_whole(test, result, None, ptxmm.api.model_named("ptx-9.0"))
    assert left.endswith("takes too long") or "an error of the run (deadlock: no thread can go on" in left


#: So many calls of functions take about a tenth of a second.
MOST_CALLS = 200_000
#: Far enough to come to solving; what comes behind ticks as it did before.
MOST_TICKS = 40_000


class Watched(Clock):
    """Counts the calls of functions that pass between two ticks; `longest` tells where there were most."""

    def __init__(self) -> None:
        super().__init__(None)
        self.calls = self.last = self.most = 0
        self.longest = ""

    def tick(self) -> None:
        self.ticks += 1
        self.looked()
        if self.ticks > MOST_TICKS:
            raise OutOfTime

    def looked(self) -> None:
        """Somebody looks at a clock, at this one or another."""
        self._note("")
        self.last = self.calls

    def profile(self, frame: object, event: str, arg: object) -> None:
        if event in ("call", "c_call"):
            self.calls += 1
            if (self.calls - self.last) % 1000 == 999:
                self._note(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")  # type: ignore[attr-defined]

    def _note(self, where: str) -> None:
        if self.calls - self.last > self.most:
            self.most, self.longest = self.calls - self.last, where or self.longest


def watched(ask: Callable[[], Result], monkeypatch: pytest.MonkeyPatch) -> Watched:
    made, tick = Watched(), Clock.tick

    def of_another(self: Clock) -> None:
        made.looked()
        tick(self)

    monkeypatch.setattr(Clock, "tick", of_another)  # who sets a limit within another one looks at a clock of its own
    with ticking(made, monkeypatch):
        sys.setprofile(made.profile)
        try:
            ask()
        finally:
            sys.setprofile(None)
    return made


def ring(size: int) -> ptxmm.Test:
    numbers = range(size)
    init = " ".join(f"x{i} = 0;" for i in numbers)
    rows = [
        " | ".join(f"P{i}" for i in numbers),
        " | ".join(f"st.relaxed.gpu x{i}, 1" for i in numbers),
        " | ".join(f"ld.relaxed.gpu r0, x{(i + 1) % size}" for i in numbers),
    ]
    return ptxmm.parse("\n".join(["PTX ring", f"{{ {init} }}", *[f"{row} ;" for row in rows], "exists (0:r0 = 0)", ""]))


QUESTIONS: dict[str, Callable[[int], Result]] = {
    "kernel": lambda size: ptxmm.check(kernel(threads=size), unroll=3),  # type: ignore[arg-type]
    "kernels": lambda size: ptxmm.check(kernel(threads=4, blocks=size), unroll=2),  # type: ignore[arg-type]
    "litmus": lambda size: ptxmm.check(ring(size), races=True, why=True),
}


@pytest.mark.parametrize("largest", lengths(16, 40))
@pytest.mark.parametrize("name", some(2, QUESTIONS))
def test_no_phase_goes_on_for_long_without_a_look_at_the_clock(
    name: str, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "FEWEST", 1000)  # the phases of the formula
    QUESTIONS[name](2)  # what is imported and read once
    for size in (8, *range(16, largest + 1, 12)):
        found = watched(functools.partial(QUESTIONS[name], size), monkeypatch)
        assert found.ticks > 100 and found.most < MOST_CALLS, found.longest


def cross(size: int) -> Relation:
    """Every pair, half of them certain."""
    rows = [sum(1 << j for j in range(size) if (i + j) % 2) for i in range(size)]
    may = {i: {j: 2 + (i * j) % 7 for j in range(size) if not (i + j) % 2} for i in range(size)}
    return Relation(rows, may)


OPERATIONS: dict[str, Callable[[Relation, Formula], object]] = {
    "union": lambda a, f: relations.union([a, relations.inverse(a)], f, UP),
    "intersection": lambda a, f: relations.intersection(a, relations.inverse(a), f, UP),
    "difference": lambda a, f: relations.difference(a, relations.inverse(a), f, UP),
    "inverse": lambda a, f: relations.inverse(a),
    "certain sequence": lambda a, f: relations.certain_sequence(a, a),
    "sequence": lambda a, f: relations.sequence(a, a, f, UP),
    "restriction": lambda a, f: relations.restrict(
        a, None, relations.SetBounds(0, dict.fromkeys(range(len(a.must)), 3)), f, UP
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_relations_look_at_the_clock_in_each_row(name: str) -> None:
    for size in (16, 48):
        formula = Formula()
        for _ in range(8):
            formula.new()
        with measured(Clock(None)) as found:
            OPERATIONS[name](cross(size), formula)
        assert found.ticks >= size, "a row is as long as there are events"


def test_places_of_an_access_are_listed_with_looks_at_the_clock() -> None:
    """Of addresses that only a clock decides, each place is a condition of its own."""
    text = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
    .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d1, [x]; mov.u32 %r1, %clock; and.b32 %r1, %r1, {mask};
    mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], 1;
    ret;
}}
"""
    counts = []
    for size in (16, 64, 256):
        params = {"x": {"type": "u32", "elements": size}}
        made = ptxmm.Kernel(text.format(mask=size - 1), grid=1, block=1, params=params, forall="x[0] != 1").test
        with measured(Clock(None)) as found:
            KernelQuestion(made, model_named("ptx-9.0"))
        counts.append(found.ticks)
    assert counts[2] - counts[1] >= 192 and counts[1] - counts[0] >= 48


def test_a_limit_holds_for_who_sets_none_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of kernels may take no longer than it is told, also where it is not called by those who set a limit."""
    set_: list[float | None] = []
    given = clock.limited

    def noted(seconds: float | None) -> object:
        set_.append(seconds)
        return given(seconds)

    monkeypatch.setattr(clock, "limited", noted)
    monkeypatch.setattr(whole, "FEWEST", 1000)
    checking.check(kernel(threads=1), model_named("ptx-9.0"), timeout=600.0, all_elements=True)  # type: ignore[arg-type]
    assert set_ and all(seconds is not None and seconds <= 660 for seconds in set_)


def test_a_limit_of_all_counts_what_came_before_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that took a while to compile has so much less time, and whoever asks within has what it asks for."""
    now = [100.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])
    with clock.begun():
        now[0] = 103.0
        assert clock.deadline_of_all(10) == 110.0
        assert clock.deadline_of_all(10) == 113.0
    assert clock.deadline_of_all(10) == 113.0
    assert clock.deadline_of_all(None) is None


def test_slow_steps_look_at_the_time_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])
    counted = Clock(106.0)
    steps = 0
    with pytest.raises(OutOfTime):
        while True:
            now[0] += 0.1
            counted.tick()
            steps += 1
    assert now[0] < 108.0 and steps > 50
