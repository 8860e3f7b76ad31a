"""Loops of compare-and-swap that do what one atomic operation would: one run decides those that commute, as the formula."""

from __future__ import annotations

import struct
import tomllib
from collections import Counter
from functools import partial
from random import Random
from typing import Any

import pytest
from agreement import note
from by_runs import by_formula, by_runs
from campaigns import LONG, lengths, share

from axioms.dynamic.sections import emulated as emulations
from axioms.dynamic.sections.told import Untold
from ptxcore.records import NamedTuple
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import emulates, watched_run
from ptxmm.kernels.whole_contents import ContentsOfRuns

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 m, .param .u64 o)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<8>; .reg .f64 %d<4>; .shared .align 8 .b8 s[8];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [m]; ld.param.u64 %rd3, [o];
 mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
 mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd3, %rd4; ld.global.u32 %r4, [%rd5];
"""
#: The value that is tried, in `%r6`, from what was found, in `%r5`, and what the thread has, in `%r4`.
FUNCTIONS = {
    "maximum": "max.u32 %r6, %r5, %r4;",
    "float": "mov.b32 %f1, %r5; mov.b32 %f2, %r4; max.f32 %f1, %f1, %f2; mov.b32 %r6, %f1;",
    "sum": "add.u32 %r6, %r5, %r4;",
    "product": "mul.lo.u32 %r6, %r5, %r4;",
    "bits": "or.b32 %r6, %r5, %r4;",
    "saturated": "add.u32 %r6, %r5, %r4; min.u32 %r6, %r6, 3;",
    "shifted": "shl.b32 %r6, %r5, 1; add.u32 %r6, %r6, %r4;",  # does not commute
    "exchanged": "mov.u32 %r6, %r4;",  # nor does this
    "added": "mov.b32 %f1, %r5; mov.b32 %f2, %r4; add.f32 %f1, %f1, %f2; mov.b32 %r6, %f1;",  # nor this, where it rounds
}
FIRST = "ld.{first}.global.u32 %r5, [%rd2];"
LOOP = """
L: {function}
 atom.{cas}.global.cas.b32 %r7, [%rd2], %r5, %r6; setp.ne.u32 %p1, %r7, %r5; mov.u32 %r5, %r7; @%p1 bra L;
"""
#: Leaves where what stands there is no less.
EARLY = """
L: setp.ge.u32 %p2, %r5, %r4; @%p2 bra E;
 atom.{cas}.global.cas.b32 %r7, [%rd2], %r5, %r4; setp.ne.u32 %p1, %r7, %r5; mov.u32 %r5, %r7; @%p1 bra L;
E:
"""
#: The same of floats, and with a load between the look and the loop, as compilers put it there.
FLOAT = """
 ld.global.u32 %r4, [%rd5];
L: mov.b32 %f1, %r5; mov.b32 %f2, %r4; setp.leu.f32 %p2, %f2, %f1; @%p2 bra E;
 atom.{cas}.global.cas.b32 %r7, [%rd2], %r5, %r4; setp.ne.u32 %p1, %r7, %r5; mov.u32 %r5, %r7; @%p1 bra L;
E:
"""
#: Looks anew each time.
ANEW = """
L: ld.{first}.global.u32 %r5, [%rd2]; {function}
 atom.{cas}.global.cas.b32 %r7, [%rd2], %r5, %r6; setp.ne.u32 %p1, %r7, %r5; @%p1 bra L;
"""
#: Somebody uses what it found; tries once; forgets what it found.
USED = FIRST + LOOP + " st.global.u32 [%rd6], %r7;"
ONCE = FIRST + " {function} atom.{cas}.global.cas.b32 %r7, [%rd2], %r5, %r6;"
STUCK = FIRST + LOOP.replace("mov.u32 %r5, %r7;", "")
CHECKS = "race_free = true\nterminates = true\n"


class Emulated(NamedTuple):
    """What one run leaves in which loops are taken for atomic operations, and the buffers where that hangs on their order."""

    state: dict[str, int]
    hanging: frozenset[str]


def emulated(test: KernelTest) -> Emulated | None:
    """The same of a test, where what loops leave may hang on their order only if it must; None where no such run stands for all
    executions."""
    runs = Runs(test, watched=True)
    for mixes in (False, True):
        run = partial(watched_run, runs, mixes=mixes)
        ran = emulates(run, run(None))
        if ran.emulated and ran.why is None and ran.state is not None and all(w.unknown is None for w in ran.watchers):
            contents = ContentsOfRuns(test, ran.recorded, [ran.state], Places(test))
            held = {
                p.name for p in contents.buffers if any(not read.buffer for read in contents.dependence.held(p.name))
            }
            return None if contents.open_product() else Emulated(ran.state, frozenset(held))
    return None


def launch(
    body: str, function: str, values: list[int], grid: int, block: int, checks: str = CHECKS, begins: int = 0,
    first: str = "relaxed.gpu", cas: str = "relaxed.gpu",
) -> KernelTest:  # fmt: skip
    text = _HEAD + body.format(function=FUNCTIONS[function], first=first, cas=cas) + "\n ret;\n}\n"
    toml = f"""grid = {grid}
block = {block}
ptx = "k.ptx"
[params]
x = {{type = "u32", elements = {grid * block}, init = {values}}}
m = {{type = "u32", elements = 2, init = [{begins}, 0]}}
o = {{type = "u32", elements = {grid * block}}}
[check]
{checks}
"""
    return KernelFile.of(tomllib.loads(toml), "k.toml", {"k.ptx": text}).test()


SMALL = [i % 5 for i in range(512)]
#: All different, and in no order.
MANY = [i * 293 % 1021 for i in range(512)]
ONES = [1] * 512
FLOATS = [0x3F800000 + 0x400000 * (i % 4) for i in range(512)]


def bits_of(number: float) -> int:
    """A float as a word."""
    return int.from_bytes(struct.pack("<f", number), "little")


#: Floats of which each sum is exact, and some of which none with the others is.
WHOLE = [bits_of(i) for i in range(512)]
ROUNDED = [bits_of(2.0**24 if i % 3 else 1.0) for i in range(512)]


@pytest.mark.parametrize(
    ("body", "function", "values", "outcome"),
    [
        (FIRST + LOOP, "maximum", SMALL, 4),
        (FIRST + LOOP, "float", FLOATS, FLOATS[3]),
        (FIRST + LOOP, "saturated", ONES, 3),
        ("mov.u32 %r5, 0;" + LOOP, "maximum", SMALL, 4),  # a guess
        ("mov.u32 %r5, 77;" + LOOP, "bits", SMALL, 7),  # one that is never right
        (FIRST + EARLY, "maximum", SMALL, 4),
        (FIRST + FLOAT, "float", [0x3F800000 + 977 * i for i in range(512)], 0x3F800000 + 977 * 511),
        (ANEW, "maximum", SMALL, 4),
        (FIRST + EARLY, "maximum", MANY, max(MANY)),
        (FIRST + LOOP, "maximum", MANY, max(MANY)),
        (ANEW, "sum", MANY, sum(MANY)),
        pytest.param(FIRST + LOOP, "added", WHOLE, bits_of(sum(range(512))), marks=LONG),
        pytest.param("mov.u32 %r5, 0;" + LOOP, "added", WHOLE, bits_of(sum(range(512))), marks=LONG),
        pytest.param("mov.u32 %r5, 0;" + EARLY, "maximum", MANY, max(MANY), marks=LONG),
        (
            FIRST + LOOP + " setp.eq.u32 %p3, %r2, 0; @%p3 red.relaxed.gpu.global.add.u32 [%rd2+4], 1;",
            "maximum",
            SMALL,
            4,
        ),
    ],
)
def test_one_run_decides_loops_that_commute_at_512_threads(
    body: str, function: str, values: list[int], outcome: int
) -> None:
    open_, found = by_runs(launch(body, function, values, 4, 128, CHECKS + f'forall = "m[0] == {outcome}"'))
    assert (open_, found.verdict) == ("", "ok")
    assert any("of compare-and-swap" in note and "any order" in note for note in found.notes)


@pytest.mark.parametrize(
    ("body", "function", "values", "more"),
    [
        (USED, "maximum", SMALL, {}),
        (ONCE, "maximum", SMALL, {}),  # whoever finds something else leaves without having written
        (STUCK, "maximum", SMALL, {}),  # and does not terminate
        (FIRST + EARLY.replace("@%p1 bra L", "@%p1 bra E"), "maximum", MANY, {}),
        # What is loaded between the look and the loop hangs on what was found.
        (FIRST + "bfe.u32 %r8, %r5, 23, 1; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd5, %rd1, %rd7;" + FLOAT, "float", FLOATS, {}),
        (FIRST + EARLY.replace("setp.ge.u32 %p2, %r5", "setp.gt.u32 %p2, %r5"), "maximum", [0, *MANY], {"cas": "relaxed.cta"}),
        (USED, "maximum", MANY, {}),
        (FIRST + LOOP, "maximum", SMALL, {"cas": "relaxed.cta"}),
        (FIRST + EARLY, "maximum", [5] + [0] * 511, {"cas": "relaxed.cta"}),
        (FIRST + LOOP, "maximum", SMALL, {"first": "relaxed.cta"}),
        # A store, another operation, and a reader beside them.
        (" setp.eq.u32 %p3, %r3, 0; @%p3 st.relaxed.gpu.global.u32 [%rd2], 9;" + FIRST + LOOP, "maximum", SMALL, {}),
        (FIRST + LOOP + " red.relaxed.gpu.global.add.u32 [%rd2], 1;", "maximum", SMALL, {}),
        (FIRST + LOOP + " ld.relaxed.gpu.global.u32 %r8, [%rd2]; st.global.u32 [%rd6], %r8;", "maximum", SMALL, {}),
    ],
)  # fmt: skip
def test_what_is_no_atomic_operation_or_does_not_commute_is_not_taken_for_one(
    body: str, function: str, values: list[int], more: dict[str, str]
) -> None:
    assert emulated(launch(body, function, values[:64], 2, 32, **more)) is None


def test_loops_that_begin_with_a_guess_add_floats_whose_sums_are_exact() -> None:
    test = launch("mov.u32 %r5, 0;" + LOOP, "added", WHOLE[:64], 2, 32, CHECKS + f'forall = "m[0] == {bits_of(2016)}"')
    assert by_runs(test)[1].verdict == "ok"


@pytest.mark.parametrize(
    ("body", "function", "values"),
    [
        (FIRST + LOOP, "shifted", MANY),
        pytest.param(ANEW, "exchanged", SMALL, marks=LONG),
        ("mov.u32 %r5, 0;" + LOOP, "added", ROUNDED),
    ],
)
def test_of_loops_that_do_not_commute_only_what_they_leave_is_open(body: str, function: str, values: list[int]) -> None:
    body += " bar.sync 0; ld.global.u32 %r8, [%rd2]; st.global.u32 [%rd6], %r8;"
    found = emulated(launch(body, function, values[:64], 1, 64))
    assert found is not None and found.hanging == {"m", "o"}


@LONG
def test_of_what_loops_leave_that_do_not_commute_a_check_is_not_decided() -> None:
    claims = 'forall = "m[0] != 1"\nnever = "o[0] != 0"'
    open_, found = by_runs(launch(FIRST + LOOP, "added", ROUNDED[:40], 1, 40, CHECKS + claims))
    assert open_ == ""
    assert {check.kind: check.holds for check in found.checks} == {
        "race_free": True, "terminates": True, "forall": None, "never": True
    }  # fmt: skip


#: Two threads put 4 or 5 there, as they come; one of them raises that to 4 beside it, and uses what it found.
LEFT = FIRST + LOOP + " bar.sync 0; setp.ne.u32 %p3, %r2, 0; @%p3 bra OUT; ld.global.u32 %r8, [%rd2];"
RAISES = """ st.global.u32 [%rd2+4], %r8; mov.u32 %r5, 0;
R: max.u32 %r6, %r5, 4; atom.relaxed.gpu.global.cas.b32 %r7, [%rd2+4], %r5, %r6;
 setp.ne.u32 %p1, %r7, %r5; mov.u32 %r5, %r7; @%p1 bra R; setp.ne.u32 %p2, %r7, 5; @%p2 st.global.u32 [%rd3+4], 1;
OUT:
"""


def test_what_loops_find_of_an_open_value_must_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    test = launch(LEFT + RAISES, "shifted", [1, 2], 1, 2, CHECKS + 'forall = "o[1] == 1"')
    assert emulated(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"

    def by_values(of: Any) -> bool:
        try:
            return leave_the_same(of)
        except Untold:
            return bool(of.commute())

    leave_the_same = emulations._Checked.leave_the_same
    monkeypatch.setattr(emulations._Checked, "leave_the_same", by_values)
    found = emulated(test)
    assert found is not None and "o" not in found.hanging


def test_what_is_loaded_of_an_open_value_must_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    decides = LEFT + " setp.ne.u32 %p2, %r8, 5; @%p2 st.global.u32 [%rd3+4], 1;\nOUT:"
    test = launch(decides, "shifted", [1, 2], 1, 2, CHECKS + 'forall = "o[1] == 1"')
    assert emulated(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"


def test_what_loops_compare_with_must_not_be_open() -> None:
    guessed = """ st.global.u32 [%rd2+4], %r8;
Q: atom.relaxed.gpu.global.cas.b32 %r7, [%rd2+4], {}, 9; setp.ne.u32 %p1, %r7, 5; @%p1 bra OUT;
 atom.relaxed.gpu.global.cas.b32 %r7, [%rd2+4], 5, 6; setp.eq.u32 %p1, %r7, 4; @%p1 bra Q;
OUT:"""
    assert emulated(launch(LEFT + guessed.format("4"), "shifted", [1, 2], 1, 2)) is not None
    assert emulated(launch(LEFT + guessed.format("%r8"), "shifted", [1, 2], 1, 2)) is None


def test_fences_around_a_loop_are_none_of_its_matter() -> None:
    fence = " fence.acq_rel.gpu; "
    assert emulated(launch(fence + FIRST + LOOP + fence, "maximum", MANY[:64], 2, 32)) is not None


def test_a_weak_first_look_beside_the_others_is_no_emulation() -> None:
    assert emulated(launch(FIRST.replace("ld.{first}", "ld") + LOOP, "maximum", SMALL[:64], 2, 32)) is None


def generated(seed: int) -> KernelTest:
    draw = Random(seed)
    grid, block = draw.choice(((1, 2), (2, 1), (3, 1), (1, 3), (2, 2)))
    function = draw.choice([*FUNCTIONS, "shifted", "exchanged", "added", "added"])
    guess = f"mov.u32 %r5, {draw.choice((0, 0, 2, 0x3F800000))};"
    body = draw.choice((FIRST + LOOP, guess + LOOP, FIRST + EARLY, guess + EARLY, FIRST + FLOAT, ANEW, USED, ONCE))
    if draw.random() < 0.3:
        body = (
            " setp.eq.u32 %p3, %r3, 0; @%p3"
            + draw.choice((" st.relaxed.gpu.global.u32 [%rd2], 2;", " red.relaxed.gpu.global.add.u32 [%rd2], 1;"))
            + draw.choice(("", " bar.sync 0;"))
            + body
        )
    if draw.random() < 0.4:
        body += " bar.sync 0; ld.{first}.global.u32 %r8, [%rd2];" + draw.choice(
            (
                " st.global.u32 [%rd6], %r8;",
                " setp.gt.u32 %p3, %r8, 3; @%p3 st.global.u32 [%rd6], 1;",
                " bar.sync 0;" + FIRST + LOOP.replace("L", "M"),
                " bar.sync 0;" + FIRST.replace("%rd2", "%rd2+4") + LOOP.replace("L", "M").replace("[%rd2]", "[%rd2+4]"),
            )
        )
    sems = ("relaxed.gpu", "relaxed.gpu", "relaxed.gpu", "relaxed.cta")
    more = {"first": draw.choice((*sems, "acquire.gpu")), "cas": draw.choice((*sems, "acq_rel.gpu"))}
    values = [draw.randint(0, 3) for _ in range(grid * block)]
    if function in ("float", "added"):
        values = [draw.choice((0, 0x3F800000, 0x40000000, 0x4B800000)) for _ in values]
    checks = (
        CHECKS + f'forall = "m[0] == {draw.choice((max(values), sum(values) & 0xFFFFFFFF))} && m[1] == 0 && o[0] == 0"'
    )
    return launch(body, function, values, grid, block, checks, draw.choice((0, 1)), **more)


def compare_loops(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What one run says of generated loops, beside what the formula says."""
    counted = Counter[str]()
    for seed in seeds:
        test = generated(seed)
        of_run = emulated(test)
        if of_run is None:
            counted["open"] += 1
            continue
        found = by_formula(test, monkeypatch)
        if found.verdict == "undecided":
            counted["undecided"] += 1
            continue
        assert found.verdict in ("ok", "bounded", "no"), (seed, found.verdict)
        assert all(c.holds is not False for c in found.checks if c.kind != "forall"), seed
        assert found.states, seed
        for state in found.states:
            differ = {label for label, value in state.items() if of_run.state[label] != value}
            assert {label.partition("[")[0] for label in differ} <= of_run.hanging, (seed, differ)
        counted["hanging" if of_run.hanging else "same"] += 1
    note(counted["hanging"] + counted["same"], Counter({"open": counted["open"], "undecided": counted["undecided"]}))
    return counted


@pytest.mark.parametrize("seeds", lengths(range(20), range(20, 36)))
def test_one_run_says_of_loops_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_loops(seeds, monkeypatch)
    assert counted["same"] and counted["hanging"] and counted["same"] + counted["hanging"] >= len(seeds) // 5


@pytest.mark.campaign
def test_one_run_says_of_many_loops_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_loops(range(1000, 1000 + share(20000)), monkeypatch)
