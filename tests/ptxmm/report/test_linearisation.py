"""An execution told: in an order that people can follow, with what is out of date in it and why."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.result import Spot
from ptxmm.words.linearisation import Cast, LinearisationWords


def linearisation(program: str, condition: str, places: tuple[str, ...] = ("cta 0", "cta 1")) -> LinearisationWords:
    """The linearisation of the first outcome that satisfies the condition."""
    head = " | ".join(f"P{i}@{place},gpu 0" for i, place in enumerate(places))
    test = ptxmm.parse(f"PTX t\n{{ x = 0; y = 0; }}\n {head} ;\n{program}\nexists ({condition})\n")
    result = ptxmm.check(test)
    witness = next(w for w, holds in zip(result.witnesses, result.satisfied, strict=True) if holds)
    return LinearisationWords(witness.execution, Cast(lambda t: f"P{t}", lambda e: Spot("t.litmus", e.line or 0)))


def mp(store: str, load: str, before: str = "", behind: str = "", places: tuple[str, ...] = ("cta 0", "cta 1")) -> str:
    """The reason why message passing with these instructions fails."""
    rows = [("st.weak.u32 [x], 1", load), (before, behind), (store, "ld.weak.u32 %r1, [x]")]
    program = "\n".join(f" {a} | {b} ;" for a, b in rows)
    return "\n".join(linearisation(program, "1:r0 = 1 /\\ 1:r1 = 0", places).reasons())


def test_a_store_without_release_semantics_is_named() -> None:
    reason = mp("st.relaxed.gpu.u32 [y], 1", "ld.acquire.gpu.u32 %r0, [y]")
    assert reason == (
        "the store to x by P0 at line 4 is not ordered before the load of x by P1 at line 6: "
        "the store to y by P0 at line 6, which the other thread saw, has no release semantics"
    )


def test_a_load_without_acquire_semantics_is_named() -> None:
    reason = mp("st.release.gpu.u32 [y], 1", "ld.relaxed.gpu.u32 %r0, [y]")
    assert reason.endswith(": the load of y by P1 at line 4, which saw it, has no acquire semantics")


def test_fences_make_the_semantics() -> None:
    reason = mp("st.relaxed.gpu.u32 [y], 1", "ld.relaxed.gpu.u32 %r0, [y]", before="fence.acq_rel.gpu")
    assert "release" not in reason and reason.endswith("has no acquire semantics")
    reason = mp("st.relaxed.gpu.u32 [y], 1", "ld.relaxed.gpu.u32 %r0, [y]", behind="fence.acq_rel.gpu")
    assert "acquire" not in reason and "has no release semantics" in reason


def test_scopes_that_do_not_reach_are_named() -> None:
    reason = mp("st.release.cta.u32 [y], 1", "ld.acquire.gpu.u32 %r0, [y]")
    assert reason.endswith(": the .cta scope of the store to y by P0 at line 6 does not reach P1")
    reason = mp("st.relaxed.gpu.u32 [y], 1", "ld.acquire.gpu.u32 %r0, [y]", before="fence.acq_rel.cta")
    assert reason.endswith(": the .cta scope of the fence by P0 at line 5 does not reach P1")


def test_weak_accesses_synchronize_nothing() -> None:
    reason = mp("st.weak.u32 [y], 1", "ld.weak.u32 %r0, [y]")
    assert reason.endswith("and weak accesses synchronize nothing")


def test_threads_that_nothing_links_are_told() -> None:
    told = linearisation(" st.weak.u32 [x], 1 | ld.weak.u32 %r1, [x] ;", "1:r1 = 0 /\\ x = 1")
    assert told.reasons() == [
        "the load of x by P1 at line 4 is not ordered before the store to x by P0 at line 4: "
        "before the latter, P0 reads nothing that P1 writes after the former"
    ]


def test_vectors_that_are_seen_in_part_are_told() -> None:
    text = (
        "PTX t\n{ .global .u32 x[2] = {0,0}; }\nP0@cta 0,gpu 0 { st.relaxed.gpu.v2.u32 [x], {1, 2}; }\n"
        "P1@cta 1,gpu 0 { ld.relaxed.gpu.v2.u32 {%r0, %r1}, [x]; }\nexists (1:r0 = 0 /\\ 1:r1 = 2)\n"
    )
    result = ptxmm.check(ptxmm.parse(text), why=True)
    assert result.why is not None and result.why["text"][-1] == (
        "of what P0 writes at line 3, P1 sees x[1] = 2 at line 4 and misses x[0]: the elements of a vector are accessed each "
        "by itself, in any order (section 8.2.4); --whole-vectors takes one of at most 16 bytes for one access"
    )
    whole = text.replace("/\\ 1:r1 = 2", "/\\ 1:r1 = 0")
    result = ptxmm.check(ptxmm.parse(whole), why=True)
    assert result.why is not None and not any("vector" in line for line in result.why["text"])


def test_atomics_that_do_not_reach_each_other_are_told() -> None:
    program = " atom.relaxed.cta.add.u32 %r0, [x], 1 | atom.relaxed.gpu.add.u32 %r0, [x], 1 ;"
    reasons = linearisation(program, "0:r0 = 0 /\\ 1:r0 = 0").reasons()
    assert any("both read 0: the .cta scope of the atomic on x by P0 at line 4 does not reach P1" in r for r in reasons)


def test_the_steps_show_who_does_what_with_which_values() -> None:
    program = " st.weak.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [y] ;\n st.relaxed.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;"
    assert linearisation(program, "1:r0 = 1 /\\ 1:r1 = 0").steps() == [
        "P0  line 4  st.weak.u32 [x], 1           x = 1",
        "P0  line 5  st.relaxed.gpu.u32 [y], 1    y = 1",
        "P1  line 4  ld.relaxed.gpu.u32 %r0, [y]  y is 1",
        "P1  line 5  ld.weak.u32 %r1, [x]         x is 0 (out of date: 1 since P0, line 4)",
    ]


def test_an_order_is_found_in_which_little_is_out_of_date() -> None:
    program = " st.weak.u32 [x], 1 | ld.weak.u32 %r0, [y] ;\n st.weak.u32 [y], 1 | ld.weak.u32 %r1, [x] ;"
    assert linearisation(program, "1:r0 = 0 /\\ 1:r1 = 0").stale == {}
    assert linearisation(program, "1:r0 = 0 /\\ 1:r1 = 1").stale == {}


def test_barriers_order_the_steps_and_carry_news() -> None:
    program = (
        " st.weak.u32 [x], 1 | bar.sync 0 | ld.acquire.gpu.u32 %r0, [y] ;\n"
        " bar.sync 0 | st.relaxed.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;"
    )
    told = linearisation(program, "2:r0 = 1 /\\ 2:r1 = 0", ("cta 0", "cta 0", "cta 1"))
    steps = [told.events[i].text.split()[0] for i in told.order if told.events[i].thread >= 0]
    assert steps.index("st.weak.u32") < steps.index("st.relaxed.gpu.u32")  # for the barrier is between them
    assert told.reasons()[0].endswith(
        "the store to y by P1 at line 5, which the other thread saw, has no release semantics"
    )


@pytest.mark.parametrize("condition", ["0:r0 = 1 /\\ 1:r0 = 1", "0:r0 = 0 /\\ 1:r0 = 1"])
def test_reads_before_their_writes_in_any_order_are_still_told(condition: str) -> None:
    program = " ld.weak.u32 %r0, [x] | ld.weak.u32 %r0, [y] ;\n st.weak.u32 [y], 1 | st.weak.u32 [x], 1 ;"
    assert len(linearisation(program, condition).steps()) == 4


def test_a_torn_read_is_called_so_and_no_other() -> None:
    rows = " st.weak.u32 [x], 0x30001 | ld.weak.u32 %r0, [x] ;"
    torn = "\n".join(linearisation(rows, "1:r0 = 0x30000").steps())
    assert "(torn: a part of what was there at first and a part of 196609 of P0, line 4)" in torn
    for whole in ("0", "0x30001"):
        assert "torn" not in "\n".join(linearisation(rows, f"1:r0 = {whole}").steps())
