"""Slots that are written again only where somebody has found what they held, whatever that orders: held against the formula."""

from __future__ import annotations

import random

import pytest
from agreement import note
from campaigns import lengths

from axioms.dynamic.core.findings import Open
from axioms.dynamic.one_run.polls import Polling
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import watched_run
from ptxmm.result import Result

_HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd1, %rd3; add.u64 %rd4, %rd1, 256;
 setp.eq.u32 %p, %r1, 1; @%p bra READS;
"""


class Ring:
    """CTA 0 writes numbers into slots of its threads, CTA 1 waits for each and says so by a credit. `early`: it says so before
    it has waited; `ahead`: for so many credits too few the writer waits; `apart`: no barrier stands beside a credit."""

    def __init__(
        self, rounds: int, slots: int, threads: int, *, early: bool, ahead: int, apart: bool, sem: str
    ) -> None:
        self.rounds, self.slots, self.threads = rounds, slots, threads
        self.early, self.ahead, self.apart, self.sem = early, ahead, apart, sem

    def test(self) -> KernelTest:
        ptx = f"{_HEAD}{''.join(map(self._write, range(self.rounds)))} ret;\nREADS:\n"
        ptx += f"{''.join(map(self._read, range(self.rounds)))} st.global.u32 [%rd2+512], %r3; ret;\n}}"
        tree = {
            "ptx": "k.ptx", "entry": "k", "grid": 2, "block": self.threads,
            "params": {"x": {"type": "u32", "elements": 192, "init": [0]}},
            "check": {"forall": f"x[128] == {self.rounds}", "race_free": True, "terminates": True},
        }  # fmt: skip
        return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()

    def _meets(self) -> str:
        return " bar.sync 0;" * (self.threads > 1 and not self.apart)

    def _alone(self, label: str, does: str) -> str:
        """What thread 0 does, between barriers."""
        return f"{self._meets()} setp.ne.u32 %p, %r2, 0; @%p bra {label}; {does} {label}:{self._meets()}\n"

    def _write(self, k: int) -> str:
        wanted = k - self.slots + 1 - self.ahead
        waits = f"W{k}: ld.{self.sem}.gpu.global.u32 %r4, [%rd4]; setp.lt.u32 %p, %r4, {wanted}; @%p bra W{k};"
        before = self._alone(f"A{k}", waits) if wanted > 0 else ""
        return f"{before} st.relaxed.gpu.global.u32 [%rd2+{64 * (k % self.slots)}], {k + 1};\n"

    def _read(self, k: int) -> str:
        credit = self._alone(f"B{k}", f"st.relaxed.gpu.global.u32 [%rd4], {k + 1};")
        slot = f"[%rd2+{64 * (k % self.slots)}]"
        polls = f"R{k}: ld.relaxed.gpu.global.u32 %r3, {slot}; setp.ne.u32 %p, %r3, {k + 1}; @%p bra R{k};\n"
        return credit + polls if self.early else polls + credit


def _verdict(test: KernelTest, engine: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """By the formula, or by runs."""
    with monkeypatch.context() as patched:
        patched.setattr(checking, "may_be_whole", lambda *_: engine == "runs")
        return checking.check(test, model_named("ptx-9.0"), timeout=300)


@pytest.mark.parametrize("threads", [1, 2, 64])
def test_a_slot_that_is_written_again_by_leave_that_orders_nothing_is_decided(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Ring(3, 1, threads, early=False, ahead=0, apart=False, sem="relaxed")
    found = _verdict(ring.test(), "runs", monkeypatch)
    assert found.verdict == "ok"
    assert "one run of all" in found.notes[0]


@pytest.mark.parametrize("wrong", [{"early": True}, {"ahead": 1}])
@pytest.mark.parametrize("threads", [1, 64])
def test_a_slot_that_may_be_written_again_before_it_was_read_is_shown(
    wrong: dict[str, int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One CTA that reads late is enough."""
    how = {"early": False, "ahead": 0, "apart": False, "sem": "relaxed", **wrong}
    assert _verdict(Ring(3, 1, threads, **how).test(), "runs", monkeypatch).verdict == "no"  # type: ignore[arg-type]


@pytest.mark.parametrize(("early", "why"), [(False, None), (True, "order")])
def test_what_a_thread_does_behind_a_store_is_not_executed_for_who_finds_that(early: bool, why: str | None) -> None:
    """Where the credit stands before the wait in program order, nobody who finds it knows that the wait is over."""
    ring = Ring(2, 1, 1, early=early, ahead=0, apart=False, sem="relaxed")
    ran = watched_run(Runs(ring.test(), watched=True), None, polling=Polling(executed=True))
    assert ran.why is None if why is None else isinstance(ran.why, Open) and ran.why.what == why


@pytest.mark.compares(0.7)
@pytest.mark.parametrize("seeds", lengths(range(12), range(200)))
def test_what_runs_say_of_slots_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = passed = 0
    for seed in seeds:
        draw = random.Random(seed)
        rounds, threads = draw.randint(2, 3), draw.choice((1, 1, 2))
        test = Ring(
            rounds, draw.randint(1, rounds - 1), threads, early=draw.random() < 0.3, ahead=int(draw.random() < 0.3),
            apart=draw.random() < 0.3, sem=draw.choice(("relaxed", "acquire")),
        ).test()  # fmt: skip
        found, expected = _verdict(test, "runs", monkeypatch), _verdict(test, "solve", monkeypatch)
        if "undecided" in (found.verdict, expected.verdict):
            passed += 1
            continue
        compared += 1
        assert found.verdict == expected.verdict.replace("bounded", "ok"), seed
    note(compared, {"undecided": passed} if passed else {})
