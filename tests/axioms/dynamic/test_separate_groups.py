"""Groups of CTAs that have nothing to do with each other: runs of each beside the formula for all, and what joins groups."""

from __future__ import annotations

import random

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from axioms.dynamic.several.separate import TouchedWords
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: CTAs 0 and 1 are a group, 2 and 3 another one: each has 32 bytes of its own, of which the first word is a counter.
_PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; shr.u32 %r2, %r1, 1; and.b32 %r3, %r1, 1;
 mul.wide.u32 %rd2, %r2, 32; add.u64 %rd2, %rd1, %rd2; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd2, %rd3;
 {steps}
END: ret; }}"""
_WORDS = ("[%rd3+8]", "[%rd2+8]", "[%rd2+12]", "[%rd2+16]")


def _step(choose: random.Random, label: int) -> str:
    word, other = choose.choice(_WORDS), choose.choice(_WORDS)
    return choose.choice((
        f"st.global.u32 {word}, {label};",
        f"ld.global.u32 %r9, {word}; st.global.u32 [%rd3+20], %r9;",
        f"st.relaxed.gpu.global.u32 [%rd2+16], {label};",
        "ld.relaxed.gpu.global.u32 %r9, [%rd2+16]; st.global.u32 [%rd3+20], %r9;",
        "atom.relaxed.gpu.global.add.u32 %r10, [%rd2], 1; st.global.u32 [%rd3+8], %r10;",
        f"atom.acq_rel.gpu.global.add.u32 %r10, [%rd2], 1; setp.eq.u32 %p1, %r10, 0; @!%p1 st.global.u32 {other}, 5;",
        "fence.acq_rel.gpu;",
    ))  # fmt: skip


def _kernel(seed: int) -> KernelTest:
    """Random steps of each group; once in a while somebody accesses what is another group's."""
    choose = random.Random(seed)
    steps = [_step(choose, i + 1) for i in range(choose.choice((1, 2, 3)))]
    steps.insert(0, "st.global.u32 [%rd3+8], 1;")
    steps.append("fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r11, [%rd2+4], 1; fence.acq_rel.gpu;")
    last = choose.choice(
        ("ld.global.u32 %r12, [%rd2+8]; st.global.u32 [%rd2+28], %r12;", "st.global.u32 [%rd2+28], %r1;", "")
    )
    steps.append(f"setp.ne.u32 %p2, %r11, 1; @%p2 bra END; {last}")
    if choose.random() < 0.2:
        joins = choose.choice(
            (
                "ld.global.u32 %r13, [%rd1+28];",
                "st.global.u32 [%rd1+28], 3;",
                "ld.relaxed.gpu.global.u32 %r13, [%rd1+16];",
            )
        )
        steps.append(f"setp.ne.u32 %p3, %r1, 3; @%p3 bra END; {joins}")
    return _test("\n ".join(steps), 4)


def _test(steps: str, ctas: int, wanted: str = "x[7] < 100 && x[15] < 100 && x[5] < 100") -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": ctas, "block": 1,
        "params": {"x": {"type": "u32", "elements": 16 * ctas, "init": [0]}},
        "check": {"race_free": True, "terminates": True, "forall": wanted},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _PTX.format(steps=steps)}).test()


@pytest.mark.long
@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(12), range(60)))
def test_runs_of_each_group_say_what_the_formula_says_of_all(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_kernel, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 0


@pytest.mark.campaign
@pytest.mark.compares(0.4)
def test_runs_of_many_groups_say_what_the_formula_says_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(2000)), monkeypatch)


_LAST = """st.global.u32 [%rd3+8], 1; fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r11, [%rd2], 1; fence.acq_rel.gpu;
 setp.ne.u32 %p2, %r11, 1; @%p2 bra END; ld.global.u32 %r12, [%rd2+12]; {last}"""


def test_the_runs_of_groups_are_added_up_and_their_outcomes_multiplied() -> None:
    """Which CTA is the last one of each pair is in the end there: two runs for each of four pairs, sixteen outcomes."""
    _, found = by_runs(_test(_LAST.format(last="st.global.u32 [%rd2+28], %r1;"), 8))
    assert found.verdict == "ok" and found.notes[0].startswith("8 runs of all 8 threads stand for all executions")
    assert "4 groups of CTAs" in found.notes[0]
    assert {(state["x[7]"], state["x[15]"]) for state in found.states} == {(a, b) for a in (0, 1) for b in (2, 3)}


@pytest.mark.parametrize("one", [0, 1])
@pytest.mark.parametrize("other", [2, 3])
def test_a_check_is_asked_of_outcomes_that_no_run_has(one: int, other: int) -> None:
    """Each fails in one of four outcomes, of which three are those of runs."""
    _, found = by_runs(
        _test(_LAST.format(last="st.global.u32 [%rd2+28], %r1;"), 4, f"x[7] == {one} || x[15] == {other}")
    )
    assert found.verdict == "no" and any(check.holds is False for check in found.checks)


@pytest.mark.parametrize("joins", ["ld.global.u32 %r13, [%rd1+28];", "st.global.u32 [%rd1+28], 9;"])
def test_groups_that_meet_only_in_some_order_are_not_apart(joins: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTA 2 reaches for what the first group writes, if it is the last one of its pair: in the first run it is not."""
    last = f"st.global.u32 [%rd2+28], 1; setp.ne.u32 %p3, %r1, 2; @%p3 bra END; {joins}"
    test = _test(_LAST.format(last=last), 4)
    assert by_formula(test, monkeypatch).verdict == "no"
    open_, found = by_runs(test)
    assert open_ or found.verdict == "no"


def test_words_that_nobody_writes_join_nobody() -> None:
    touched, base = TouchedWords(), 1 << 33
    for cta in range(4):
        touched.note(cta, base, 8, writes=False)
        touched.note(cta, base + 16 + 4 * (cta // 2), 4, writes=cta % 2 == 0)
    assert touched.groups(4) == [{0, 1}, {2, 3}]
    touched.note(3, base + 4, 1, writes=True)
    assert touched.groups(4) == [{0, 1, 2, 3}]
