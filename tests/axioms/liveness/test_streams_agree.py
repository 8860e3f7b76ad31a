"""Kernels that wait for one another, on streams and for the host: who does not terminate, and who traps, is what brute force
says, and what runs come to is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from agreement import STEPS, either
from campaigns import share
from generated_streams import deadlocks, litmus, program

import ptxmm
from axioms.liveness import search as liveness
from axioms.oracle import liveness as liveness_oracle
from ptxmm.api import model_named
from ptxmm.judging import WAITS
from ptxmm.pipeline import build

#: `livelock` is not what brute force finds; no thread here writes in a loop.
BLOCKED, TRAP = tuple(kind for kind in WAITS if kind != "livelock"), ("trap",)


def compare(seed: int, kinds: Sequence[str], steps: int = STEPS) -> bool | None:
    """Whether there is something to find, of which all ways to the answer say the same; None where brute force is not up to
    it."""
    made = program(seed)
    test = ptxmm.parse(litmus(made, f"streams{seed}"))
    asked, model = build(test), model_named("ptx-9.0")
    expected = either(lambda: [liveness_oracle.find(asked, model, kinds=kinds, steps=steps)])
    if expected is None:
        return None
    found = liveness.find(asked, model, kinds=kinds)
    assert isinstance(found, liveness.Stall) == (expected != [None]), f"seed {seed}: {found}, {expected}"
    stuck, trapped = deadlocks(made)
    if trapped if kinds == TRAP else stuck and not trapped:
        assert found is not None, f"seed {seed}: a run comes to it"
    return found is not None


SPIN = "A: ld.relaxed.sys.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;"
UNLESS = "ld.relaxed.sys.u32 %r1, [y]; setp.eq.u32 %p1, %r1, 1; @%p1 bra E;"
SET = "st.relaxed.sys.u32 [{}], 1;"
K, NEXT, OTHER = "kernel k1 = [P0];", "kernel k2 = [P1];", "kernel k3 = [P2] stream 1;"
FIRST = f"P0@cta 0 {{ {UNLESS} {SPIN} E: ret; }}"
DECIDES = f"P2@cta 2 {{ {SET.format('y')} }}"


@pytest.mark.parametrize(
    ("kernels", "threads", "told"),
    [
        (
            K + NEXT + OTHER,
            f"{FIRST} P1@cta 1 {{ {SET.format('x')} }} {DECIDES}",
            "P1 never begins (kernel k1 does not end)",
        ),
        (
            K + "kernel k2 = [P1] stream 2 after k1;" + OTHER,
            f"{FIRST} P1@cta 1 {{ {SET.format('x')} }} {DECIDES}",
            "P1 never begins (kernel k1 does not end)",
        ),
        (K + OTHER, f"{FIRST} P1@host {{ sync k1; {SET.format('x')} }} {DECIDES}", "sync k1 (kernel k1 does not end)"),
        (
            K + OTHER,
            f"{FIRST} P1@host {{ sync stream 0; {SET.format('x')} }} {DECIDES}",
            "(kernel k1 does not end)",
        ),
        (
            K + NEXT + OTHER,
            f"{FIRST} P1@cta 1 {{ {SET.format('x')} }} {DECIDES} P3@host {{ sync k1; launch k2; }}",
            "P1 never begins (kernel k1 does not end); P3 does not terminate",
        ),
        (
            K + NEXT + OTHER,
            f"P0@cta 0 {{ griddepcontrol.launch_dependents; {UNLESS} {SPIN} E: ret; }}"
            f"P1@cta 1 {{ griddepcontrol.wait; {SET.format('x')} }} {DECIDES}",
            "(kernel k1 does not end)",
        ),
        (
            K + NEXT,
            "P0@cta 0 { ret; } P1@cta 1 { ret; } P2@host { sync k2; launch k1; }",
            "P0 never begins (its kernel is not launched); P1 never begins (kernel k1 does not end)",
        ),
    ],
    ids=["stream", "event", "sync", "sync of a stream", "launch", "dependent grid", "launched too late"],
)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_who_waits_for_a_kernel_that_does_not_end(engine: str, kernels: str, threads: str, told: str) -> None:
    """What would let it end comes from somebody who waits for its end."""
    text = f"PTX waits\n{{ x = 0; y = 0; {kernels} }}\n{threads}\nexists (true)\nterminates\n"
    checked = ptxmm.check(ptxmm.parse(text), engine=engine).checks[1]
    assert checked.holds is False
    assert all(part in checked.message for part in told.split("; ")), checked.message


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    ("first", "second", "traps"),
    [
        (SPIN, f"{SET.format('x')} trap;", False),
        ("bar.sync 0, 64;", "trap;", False),
        (f"griddepcontrol.launch_dependents; {SPIN}", "trap;", True),
        (f"griddepcontrol.launch_dependents; {SPIN}", f"griddepcontrol.wait; {SET.format('x')} trap;", False),
        (f"{SPIN} griddepcontrol.launch_dependents;", f"{SET.format('x')} trap;", False),
        ("ret;", "trap;", True),
    ],
    ids=["behind a wait", "behind a barrier", "early", "early, and waits", "not early", "behind"],
)
def test_a_trap_in_a_kernel_counts_where_it_can_begin(engine: str, first: str, second: str, traps: bool) -> None:
    text = f"PTX traps\n{{ x = 0; {K} {NEXT} }}\nP0@cta 0 {{ {first} }}\nP1@cta 1 {{ {second} }}\nexists (true)\n"
    asked, model = build(ptxmm.parse(text)), model_named("ptx-9.0")
    find = liveness.find if engine == "solve" else liveness_oracle.find
    assert (find(asked, model, kinds=TRAP) is not None) == traps


def test_an_early_beginning_is_no_promise() -> None:
    """Section 9.7.13.13: "There is no guarantee that the dependent will launch before the completion of the current grid"."""
    first = f"griddepcontrol.launch_dependents; {SPIN}"
    text = (
        f"PTX early\n{{ x = 0; {K} {NEXT} }}\nP0@cta 0 {{ {first} }}\nP1@cta 1 {{ {SET.format('x')} }}\nexists (true)\n"
    )
    asked, model = build(ptxmm.parse(text)), model_named("ptx-9.0")
    for find in (liveness.find, liveness_oracle.find):
        assert find(asked, model, kinds=BLOCKED) is not None
    assert ptxmm.check(ptxmm.parse(text)).verdict == "ok"  # it may end


def test_a_livelock_keeps_the_next_kernel_from_beginning() -> None:
    again = "A: atom.relaxed.gpu.exch.b32 %r0, [x], 1; setp.ne.u32 %p0, %r0, 2; @%p0 bra A;"
    threads = f"P0@cta 0 {{ {again} }} P1@cta 1 {{ st.relaxed.gpu.u32 [x], 2; }}"
    text = f"PTX again\n{{ x = 0; {K} {NEXT} }}\n{threads}\nexists (true)\n"
    found = liveness.find(build(ptxmm.parse(text)), model_named("ptx-9.0"), kinds=WAITS)
    assert isinstance(found, liveness.Stall)
    assert [(w.kind, w.thread, w.unended) for w in found.waits] == [("livelock", 0, ()), ("launch", 1, ("k1",))]


HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd1, %rd1;
"""


def test_launches_of_a_kernel_test_wait_for_one_another(tmp_path: Path) -> None:
    bodies = {
        "waits": "A: ld.relaxed.gpu.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;",
        "gives": "st.relaxed.gpu.global.u32 [%rd1], 1;",
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}.ptx").write_text(f"{HEAD}{body} ret;\n}}\n")

    def asked(*streams: int) -> ptxmm.Result:
        kernels = [
            {"name": name, "ptx": str(tmp_path / f"{name}.ptx"), "grid": 1, "block": 1, "stream": stream}
            for name, stream in zip(bodies, streams, strict=True)
        ]
        return ptxmm.Kernel(kernel=kernels, params={"a": {"type": "u32", "elements": 1}}, terminates=True).check()

    assert asked(0, 1).verdict == "ok"
    waiting = asked(0, 0)
    assert waiting.verdict == "no" and "CTA 0 thread 0 of gives never begins (kernel waits does not end)" in str(
        waiting.checks[0].message
    )


@pytest.mark.parametrize(("progress", "ends"), [("fair", True), ("obe", False), ("lobe", True), ("unfair", False)])
def test_who_has_not_begun_is_not_scheduled(progress: str, ends: bool) -> None:
    spins = "A: ld.relaxed.gpu.u32 %r0, [y]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;"
    threads = f"P0@cta 0 {{ {SET.format('x')} }} P1@cta 1 {{ {SET.format('y')} }} P2@cta 2 {{ {spins} }}"
    text = f"PTX order\n{{ x = 0; y = 0; {K} {NEXT} {OTHER} }}\n{threads}\nexists (true)\nterminates\n"
    assert ptxmm.check(ptxmm.parse(text), progress=progress).checks[1].holds is ends


@pytest.mark.compares(0.85)
@pytest.mark.parametrize("kinds", [BLOCKED, TRAP], ids=["no end", "trap"])
def test_of_random_streams(kinds: Sequence[str]) -> None:
    found = [compare(seed, kinds) for seed in range(60)]
    assert min(found.count(True), found.count(False)) > 5


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@pytest.mark.parametrize("kinds", [BLOCKED, TRAP], ids=["no end", "trap"])
def test_of_many_random_streams(kinds: Sequence[str]) -> None:
    for seed in range(1000, 1000 + share(3000)):
        compare(seed, kinds, 4 * STEPS)
