"""Executions that never end: what is undefined in them, and what races, counts as elsewhere, whatever is asked; by the solver
and by brute force."""

from __future__ import annotations

import pytest
from agreement import STEPS, brute_force
from campaigns import share
from generated_streams import litmus, program

import ptxmm
from axioms.engine import decide
from axioms.liveness.beginnings import may_not_end
from ptxmm.api import model_named
from ptxmm.pipeline import build

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])
#: Who reads 0 here goes on, and does not terminate behind it.
IF_SEEN = "ld.relaxed.gpu.u32 %r1, [y]; setp.eq.u32 %p0, %r1, 0; @%p0 bra E;"
SPINS = "A: ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;"
SAYS = "st.relaxed.gpu.u32 [y], 1;"


def asked(text: str, engine: str, tail: str = "exists (true)") -> ptxmm.Result:
    test = ptxmm.parse(f"PTX beginning\n{{ x = 0; y = 0; f = 0; .shared .u64 m; .shared .align 16 .u32 s[4]; "
                       f".global .align 16 .u32 g[4]; }}\n{text}\n{tail}\n")  # fmt: skip
    return ptxmm.check(test, engine=engine)


@ENGINES
@pytest.mark.parametrize(
    "behind",
    [SPINS, "bar.sync 0, 64;", "trap;", "L: atom.relaxed.gpu.exch.b32 %r0, [f], 1; @%p0 bra L; bra.uni L;"],
    ids=["waits", "deadlock", "trap", "livelock"],
)
def test_a_race_counts_that_is_only_where_somebody_never_ends(engine: str, behind: str) -> None:
    first = f"P0@cta 0 {{ {IF_SEEN} st.weak.u32 [x], 1; {behind} E: ret; }}"
    result = asked(f"{first}\nP1@cta 1 {{ st.weak.u32 [x], 2; {SAYS} }}", engine, "exists (true)\nrace_free")
    assert (result.verdict, [r.kind for r in result.races]) == ("no", ["data"])


@ENGINES
def test_no_race_where_the_wait_comes_between(engine: str) -> None:
    first = f"P0@cta 0 {{ {SPINS} fence.acquire.gpu; st.weak.u32 [x], 1; }}"
    result = asked(f"{first}\nP1@cta 1 {{ st.weak.u32 [x], 2; }}", engine, "exists (true)\nrace_free")
    assert [c.holds for c in result.checks] == [False, False] and not result.races  # nothing ends; nothing races
    second = "P1@cta 1 { st.weak.u32 [x], 2; st.release.gpu.u32 [f], 1; }"
    assert asked(f"{first}\n{second}", engine, "exists (true)\nrace_free").verdict == "ok"


@ENGINES
@pytest.mark.parametrize(
    ("does", "reason"),
    [
        (
            "mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.shared.b64 _, [m]; mbarrier.arrive.shared.b64 _, [m];",
            "phase",
        ),
        ("mbarrier.init.shared.b64 [m], 1; mbarrier.init.shared.b64 [m], 1;", "mbarrier"),
        ("mbarrier.arrive.shared.b64 _, [m];", "mbarrier"),
        ("mov.u64 %rd1, 64; st.weak.u32 [%rd1], 1;", "no location"),
        ("mov.u64 %rd1, g; st.weak.u32 [%rd1+2], 1;", "multiple"),
        ("mov.u32 %r4, 33; bar.sync 0, %r4;", "barrier"),
        ("bar.arrive 1, 64; bar.sync 1, 64;", "barrier"),
        ("barrier.cluster.wait;", "barrier"),
        ("st.weak.u16 [x], 1;", "mixed-size"),
        ("cp.async.ca.shared.global [s], [g], 4; ld.weak.shared.u32 %r3, [s];", "asynchronous"),
    ],
    ids=[
        "early arrival",
        "initialised twice",
        "no object",
        "outside",
        "misaligned",
        "count",
        "again",
        "not arrived",
        "sizes",
        "copy",
    ],
)
def test_what_is_undefined_is_so_though_nothing_comes_of_it(engine: str, does: str, reason: str) -> None:
    """Without `terminates`, too: some executions end, and those in which it is done do not."""
    first = f"P0@cta 0 {{ {IF_SEEN} {does} {SPINS} E: ret; }}"
    result = asked(f"{first}\nP1@cta 1 {{ st.weak.u32 [x], 2; {SAYS} }}", engine)
    assert result.verdict == "undefined" and reason in str(result.error), result.error


@ENGINES
def test_what_nobody_comes_to_is_not_undefined(engine: str) -> None:
    wrong = "mov.u64 %rd1, 64; st.weak.u32 [%rd1], 1;"
    assert asked(f"P0@cta 0 {{ {IF_SEEN} {SPINS} {wrong} E: ret; }}\nP1@cta 1 {{ {SAYS} }}", engine).verdict == "ok"
    barrier = f"P0@cta 0 {{ bar.sync 0, 64; {wrong} }}\nP1@cta 0 {{ ld.relaxed.gpu.u32 %r1, [y]; }}"
    assert asked(barrier, engine, "exists (true)").verdict == "no"  # nobody passes it


@ENGINES
def test_a_copy_that_somebody_may_still_wait_for_is_not_left_alone(engine: str) -> None:
    """What a copy writes must have been waited for when the kernel ends, which one that does not terminate has not done."""
    copy = f"cp.async.ca.shared.global [s], [g], 4; {SPINS} cp.async.wait_all;"
    assert asked(f"P0@cta 0 {{ {copy} }}", engine).verdict == "no"
    assert asked("P0@cta 0 { cp.async.ca.shared.global [s], [g], 4; }", engine).verdict == "undefined"


@pytest.mark.parametrize(("bytes_", "count", "may_wait"), [(16, 1, False), (16, 2, True), (32, 1, True)])
def test_a_wait_for_a_phase_that_certainly_comes_needs_no_search(bytes_: int, count: int, may_wait: bool) -> None:
    does = [
        f"mbarrier.init.shared.b64 [m], {count};",
        f"mbarrier.arrive.expect_tx.shared.b64 _, [m], {bytes_};",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];",
        "w: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0; @!%p1 bra w;",
    ]
    memory = ".shared .u64 m; .shared .align 16 .u32 s[4]; .global .align 16 .u32 g[4];"
    test = ptxmm.parse(f"PTX c\n{{ {memory} }}\nP0@cta 0 {{ {' '.join(does)} }}\nexists (true)\n")
    assert may_not_end(build(test), model_named("ptx-9.0")) is may_wait


# Brute force and the solver say the same of random programs, of which many have executions that never end.


def compare(seed: int, steps: int = STEPS) -> bool | None:
    """Whether a program races, or is undefined; None where brute force is not up to it."""
    text = (
        litmus(program(seed), f"beginnings{seed}")
        .replace("relaxed.sys", "weak", 1 + seed % 2)
        .replace("terminates", "")
    )
    asked, model = build(ptxmm.parse(text)), model_named("ptx-9.0")
    expected = brute_force(asked, model, steps, races=True)
    if expected is None:
        return None
    found = decide(asked, model, races=True)
    told = [{(r.kind, r.events) for r in d.races} for d in (expected, found)]
    assert told[0] == told[1] and (expected.undefined is None) == (found.undefined is None), f"seed {seed}: {told}"
    return bool(found.races) or found.undefined is not None


@pytest.mark.compares(0.7)
def test_of_random_streams() -> None:
    found = [compare(seed) for seed in range(40)]
    assert min(found.count(True), found.count(False)) > 5


@pytest.mark.campaign
@pytest.mark.compares(0.7)
def test_of_many_random_streams() -> None:
    for seed in range(1000, 1000 + share(2000)):
        compare(seed, 4 * STEPS)


@ENGINES
def test_flags_of_one_name_are_looked_for_each_by_itself(engine: str) -> None:
    """Of two threads each copies to an object of its own, with nothing between initialisation and copy; one does not
    terminate."""
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 16,"
    waits = "w: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra w; fence.proxy.async.global;"
    test = ptxmm.parse(
        "PTX two\n{ .shared .u64 m; .shared .u64 n; .shared .align 16 .u32 s[4]; .global .align 16 .u32 g[4]; }\n"
        f"P0@cta 0 {{ .reg .pred p; mbarrier.init.shared.b64 [m], 1; {waits} {copy} [m]; }}\n"
        f"P1@cta 0 {{ mbarrier.init.shared.b64 [n], 1; {copy} [n]; }}\nexists true\nrace_free\n"
    )
    result = ptxmm.check(test, engine=engine)
    assert result.verdict == "undefined" and "initialisation" in str(result.error)
