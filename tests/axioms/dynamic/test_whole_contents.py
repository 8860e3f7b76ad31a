"""For which contents of buffers one run stands: every way from a load to what decides is seen, whoever is said to decide
nothing does not, and with contents that are open the formula says the same."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from agreement import note
from campaigns import lengths, share

from axioms.dynamic.code.depends import Ran
from axioms.dynamic.code.recording import Recording
from axioms.dynamic.one_run.determinate import Determinate
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.whole import decide_whole
from ptxmm.kernels.whole_contents import ContentsOfRuns
from ptxmm.result import Checked, Result

_HEAD = """.version 8.0
.target sm_80
.address_size 64
.func (.reg .b32 back) same(.reg .b32 given) { mov.b32 back, given; ret; }
.func (.param .b32 back) kept(.param .b32 given) { .reg .b32 %g; ld.param.b32 %g, [given]; st.param.b32 [back], %g; ret; }
.visible .entry k(.param .u64 px, .param .u64 py)
{
 .reg .pred %p<9>; .reg .b32 %r<30>, %id; .reg .b64 %x, %y, %d<9>; .shared .align 4 .b8 s[256]; .local .align 4 .b8 own[16];
 ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; mov.u32 %id, %tid.x; mul.wide.u32 %d1, %id, 64; add.u64 %y, %y, %d1;
 mov.u32 %r9, s; mad.lo.u32 %r9, %id, 16, %r9; mul.wide.u32 %d2, %id, 16; mov.u64 %d3, s; add.u64 %d3, %d3, %d2;
"""
#: From what was loaded, %r1, to %r2.
WAYS = {
    "register": "mov.b32 %r2, %r1;",
    "computed": "mul.lo.u32 %r3, %r1, 2; shr.u32 %r2, %r3, 1;",
    "chosen": "setp.ne.u32 %p1, %r1, 0; selp.b32 %r2, 1, 0, %p1;",
    "guarded": "mov.b32 %r2, 0; setp.ne.u32 %p1, %r1, 0; @%p1 mov.b32 %r2, 1;",
    "carry": "add.cc.u32 %r3, %r1, -1; addc.u32 %r2, 0, 0;",
    "wide": "cvt.u64.u32 %d4, %r1; mov.b64 {%r2, %r3}, %d4;",
    "shared": "st.shared.u32 [%r9], %r1; ld.shared.u32 %r2, [%r9];",
    "exchanged": "st.shared.u32 [%r9], 0; atom.shared.exch.b32 %r3, [%r9], %r1; ld.shared.u32 %r2, [%r9];",
    "added": "st.shared.u32 [%r9], 0; red.shared.add.u32 [%r9], %r1; ld.shared.u32 %r2, [%r9];",
    "stack": "st.local.u32 [own+4], %r1; ld.local.u32 %r2, [own+4];",
    "buffer": "st.global.u32 [%y+32], %r1; ld.global.u32 %r2, [%y+32];",
    "vector": "st.global.v2.u32 [%y+32], {%r8, %r1}; ld.global.v2.u32 {%r3, %r2}, [%y+32];",
    "shuffle": "shfl.sync.bfly.b32 %r2, %r1, 1, 0x1f, 3;",
    "vote": "setp.ne.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r2, %p1, 3;",
    "barrier": "setp.ne.u32 %p1, %r1, 0; barrier.cta.red.popc.u32 %r2, 0, %p1;",
    "called": "call (%r2), same, (%r1);",
    "passed": "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), kept, (a); ld.param.b32 %r2, [b]; }",
}
#: What %r2, 0 or 1, decides.
DECIDED = {
    "address": "mul.wide.u32 %d5, %r2, 4; add.u64 %d5, %y, %d5; ld.global.u32 %r4, [%d5];",
    "place": "mul.wide.u32 %d5, %r2, 4; add.u64 %d5, %y, %d5; st.global.u32 [%d5], 1;",
    "branch": "setp.eq.u32 %p2, %r2, 3; @%p2 bra END;",
    "store": "setp.eq.u32 %p2, %r2, 3; @%p2 st.global.u32 [%y], 1;",
    "exit": "setp.eq.u32 %p2, %r2, 3; @%p2 exit;",
    "count": "mad.lo.u32 %r5, %r2, 0, 64; barrier.sync %r2, 64;",
    "lane": "shfl.sync.idx.b32 %r5, %id, %r2, 0x1f, 3;",
}


def kernel(body: str, **more: object) -> KernelTest:
    """A launch of two threads, and a value that they store."""
    text = _HEAD + body + "\nEND: ret;\n}\n"
    tree: dict[str, Any] = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 2,
        "params": {"x": {"type": "u32", "elements": 64}, "y": {"type": "u32", "elements": 64}},
        "check": {"race_free": True, "terminates": True},
        **more,
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def with_contents(test: KernelTest, init: tuple[int, ...] | None) -> KernelTest:
    """The test with these contents of x, None for any."""

    def changed(p: Any) -> Any:
        return replace(p, init=init or (), open=init is None) if isinstance(p, Buffer) and p.name == "x" else p

    launches = tuple(replace(l, params=tuple(map(changed, l.params))) for l in test.launches)
    return replace(test, launches=launches, parameters=tuple(map(changed, test.parameters)))


def by_one_run(test: KernelTest) -> tuple[str, Result]:
    checks = [Checked(kind=c.kind, text=str(c)) for c in test.checks]
    result = Result(path=test.identity, name=test.name, model="ptx-9.0", verdict="undecided", checks=checks)
    return decide_whole(test, result, None, model_named("ptx-9.0")), result


def recorded(test: KernelTest) -> list[Ran]:
    """What a run was told, launch by launch."""
    found: list[Ran] = []

    def watch(launch: Any, program: Any) -> Watchers:
        found.append(Ran(Recording(Determinate(launch.block[0])), program, {}))
        return Watchers(None, lambda: found[-1].recording)

    def placed(names: dict[int, str]) -> None:
        found[-1] = found[-1]._replace(buffers=names)

    Runs(test, watched=True).run(watch=watch, placed=placed)
    return found


def places_of(run: list[Ran]) -> list[set[int]]:
    """The places that each instruction has accessed, in their order."""
    (ran,) = run
    touched = ran.recording.touched()
    return [touched.get(id(op.instruction), set()) for code in ran.program.functions.values() for op in code.ops]


LOAD = "mov.b32 %r8, 0; ld.global.u32 %r1, [%x]; "


@pytest.mark.part(3)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_every_decision_is_seen(way: str) -> None:
    for name, decided in DECIDED.items():
        if name == "count":
            continue
        body = LOAD + WAYS[way] + decided
        deciding = ContentsOfRuns((test := kernel(body)), recorded(test), [], Places(test)).dependence.buffers()
        assert "x" in deciding, name
        open_, _ = by_one_run(with_contents(test, None))
        assert "one run does not stand for all contents of x" in open_ or "unknown" in open_, (name, open_)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_is_only_stored_decides_nothing(way: str) -> None:
    more = {"check": {"forall": "y[0] == 0", "race_free": True, "terminates": True}}
    test = kernel(LOAD + WAYS[way] + "st.global.u32 [%y], %r2;", **more)
    open_, found = by_one_run(with_contents(test, None))
    assert not open_ and [c.holds for c in found.checks][1:] == [True, True]
    assert "no address, branch or count depends on the contents of x, y" in found.notes
    forall = found.checks[0]
    if forall.holds is None:  # the runs do not show that it is wrong, and it may be
        assert "depend on the contents of x" in forall.message and found.verdict == "undecided"
    else:
        assert forall.holds is False and found.verdict == "no"
        assert forall.linearisation == ["at first x holds 0xff in every byte"]


def test_a_race_is_told_with_the_contents_that_show_it() -> None:
    guarded = "setp.eq.u32 %p1, %r1, 0; @%p1 bra END; st.global.u32 [%x+64], %id;"
    test = with_contents(kernel(LOAD + guarded), None)
    open_, found = by_one_run(test)
    assert not open_ and found.verdict == "no" and found.races
    assert "at first x holds 0xff in every byte" in found.notes
    with_zeros, _ = by_one_run(with_contents(test, (0,)))
    assert not with_zeros


def test_numbers_of_barriers_are_decisions() -> None:
    test = kernel(LOAD + "mov.b32 %r2, %r1;" + DECIDED["count"], block=64)
    open_, _ = by_one_run(with_contents(test, None))
    assert open_.startswith("one run does not stand for all contents of x: what is read at k.toml:")


def test_contents_flow_from_one_launch_to_the_next() -> None:
    first = "ld.global.u32 %r1, [%x]; st.global.u32 [%y+4], %r1;"
    text = _HEAD + "{}\nEND: ret;\n}}\n".replace("{}", "BODY").replace("}}", "}")
    tree = {
        "grid": 1, "block": 1,
        "params": {"x": {"type": "u32", "elements": 64}, "y": {"type": "u32", "elements": 64}},
        "check": {"race_free": True},
        "kernel": [{"ptx": "a"}, {"ptx": "b"}],
    }  # fmt: skip
    for second, seen in (("branch", {"x", "y"}), ("", set())):
        body = "ld.global.u32 %r2, [%y+4];" + (DECIDED[second] if second else "st.global.u32 [%y+8], %r2;")
        texts = {"a": text.replace("BODY", first), "b": text.replace("BODY", body)}
        test = KernelFile.of(tree, "k.toml", texts).test()
        assert ContentsOfRuns(test, recorded(test), [], Places(test)).dependence.buffers() == seen


def test_what_is_written_in_full_may_hold_anything_at_first() -> None:
    params = {"x": {"type": "u32", "elements": 64, "init": 7}, "y": {"type": "u32", "elements": 64, "init": "any"}}
    stores = "ld.global.u32 %r1, [%x]; st.global.u32 [%y], %r1; st.global.u8 [%y+4], %r1;"
    for body, asked, holds in (
        (stores, "y[0] == 7", True),
        (stores, "y[0] == 6", False),
        (stores, "y[1] == 7", False),
        (stores, "y[1] != 5", None),
        (stores + "red.global.max.u32 [%y+8], %r1;", "y[2] >= 7", None),
    ):
        test = kernel(body, params=params, check={"forall": asked}, block=1)
        _, found = by_one_run(test)
        assert found.checks[0].holds is holds, asked
        formula = checking.check(test, model_named("ptx-9.0"))
        assert holds is None or formula.checks[0].holds is holds, asked


#: Statements over %r1 to %r4; what x holds, what y holds, shared memory.
STATEMENTS = (
    "ld.global.u32 %r{a}, [%x+{o}];",
    "ld.global.u32 %r{a}, [%y+{o}];",
    "st.global.u32 [%y+{o}], %r{a};",
    "st.shared.u32 [%r9+{s}], %r{a};",
    "ld.shared.u32 %r{a}, [%r9+{s}];",
    "add.u32 %r{a}, %r{b}, %r{c};",
    "and.b32 %r{a}, %r{b}, {k};",
    "mov.u32 %r{a}, {k};",
    "and.b32 %r5, %r{a}, 3; mul.wide.u32 %d5, %r5, 4; add.u64 %d5, %y, %d5; ld.global.u32 %r{b}, [%d5];",
    "setp.gt.u32 %p1, %r{a}, {k}; @%p1 add.u32 %r{b}, %r{c}, 1;",
    "setp.gt.u32 %p2, %r{a}, {k}; @%p2 bra S{n}; st.global.u32 [%y+{o}], %r{b}; S{n}:",
)


def generated(seed: int) -> KernelTest:
    choose = random.Random(seed)
    lines = [f"mov.u32 %r{i}, 0;" for i in range(1, 5)] + [f"st.shared.u32 [%r9+{s}], 0;" for s in (0, 4, 8, 12)]
    for n in range(choose.randint(4, 9)):
        a, b, c = (choose.randint(1, 4) for _ in range(3))
        numbers = {"o": 4 * choose.randint(0, 7), "s": 4 * choose.randint(0, 3), "k": choose.randint(0, 3), "n": n}
        lines.append(choose.choice(STATEMENTS).format(a=a, b=b, c=c, **numbers))
    asked = f"y[{choose.randint(0, 7)}] {choose.choice(('== 0', '<= 5'))}"
    return kernel("\n".join(lines), check={"forall": asked, "race_free": True, "terminates": True})


def compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        test = generated(seed)
        runs = [
            recorded(with_contents(test, contents)) for contents in ((0,) * 8, tuple(range(1, 9)), (3, 2**32 - 1) * 4)
        ]
        dependence = ContentsOfRuns(test, runs[0], [], Places(test)).dependence
        free = "x" not in dependence.buffers()
        found["free" if free else "deciding"] += 1
        if free:  # then it is the same run
            assert all(places_of(run) == places_of(runs[0]) for run in runs), seed
        open_test = with_contents(test, None)
        open_, one = by_one_run(open_test)
        assert free is not open_.startswith("one run does not stand for all contents"), (seed, open_)
        if open_ or one.verdict == "undecided":
            found["left open"] += 1
            continue
        with monkeypatch.context() as patch:
            patch.setattr(checking, "may_be_whole", lambda *_: False)
            formula = checking.check(open_test, model_named("ptx-9.0"))
        assert [c.holds for c in one.checks] == [c.holds for c in formula.checks], seed
        found["compared"] += 1
    note(found["compared"], Counter({"left open": found["left open"]}))
    return found


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(8), range(40)))
def test_whose_contents_decide_nothing_changes_nothing(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(seeds, monkeypatch)
    assert min(found["free"], found["deciding"]) >= len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_whose_contents_decide_nothing_changes_nothing_in_many_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(1000, 1000 + share(3000)), monkeypatch)
