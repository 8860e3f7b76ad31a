"""Places of a module that are one place of its source are one place of a repair: unrolled loops, functions inlined twice."""

from __future__ import annotations

from typing import Any

import pytest

import ptxmm
from ptxcore.syntax.tree import Directive, Instruction
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.costs import EDIT, access_cost
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.order import begun_at
from ptxmm.repair.subjects import How

HEAD = """.version 9.0
.target sm_90
.address_size 64
.file 1 "lock.cu"
.file 2 "library.h"
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b32 s;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r4, %tid.x;
"""
#: A loop of two rounds, as compilers unroll it: line 7 of the source publishes, line 9 looks.
UNROLLED = """
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READS;
    st.global.u32 [%rd1], 7;
    .loc 1 7 3
    st.relaxed.gpu.global.u32 [%rd1+8], 1;
    st.global.u32 [%rd1+4], 7;
    .loc 1 7 3
    st.relaxed.gpu.global.u32 [%rd1+12], 1;
    bra END;
READS:
    .loc 1 9 3
    ld.relaxed.gpu.global.u32 %r2, [%rd1+8];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra SECOND;
    ld.global.u32 %r3, [%rd1];
SECOND:
    .loc 1 9 3
    ld.relaxed.gpu.global.u32 %r2, [%rd1+12];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra END;
    ld.global.u32 %r3, [%rd1+4];
END:
    ret;
}
"""
#: A function that reads, inlined at two calls; all threads come to the first one, which lacks a barrier before it.
CALLED_TWICE = """
    setp.ne.u32 %p1, %r4, 0;
    .loc 1 12 3
    @%p1 bra ALL;
    st.shared.u32 [s], 7;
ALL:
    .loc 1 13 3
    .loc 1 3 5, inlined_at 1 13 3
    ld.shared.u32 %r2, [s];
    @%p1 st.global.u32 [%rd1], %r2;
    .loc 1 14 3
    @%p1 bra LAST;
    .loc 1 14 9
    .loc 1 3 5, inlined_at 1 14 9
    ld.shared.u32 %r3, [s];
LAST:
    bar.sync 1;
    ret;
}
"""


def subject(body: str, **said: Any) -> KernelSubject:
    kernel = ptxmm.Kernel(HEAD + body, params={"a": {"type": "u32", "elements": 4}}, race_free=True, **said)
    assert isinstance(kernel.test, KernelTest)
    return KernelSubject(kernel.test, How())


def repaired(body: str, **said: Any) -> Answer:
    return answered(subject(body, **said), "repair", every=False, most=None)


@pytest.mark.long
def test_one_place_of_the_source_is_one_edit_that_costs_what_it_costs_once() -> None:
    first = repaired(UNROLLED, grid=2, block=1).found[0]
    assert [change.words.partition(",")[0] for change in first.changes] == [
        "st.relaxed.gpu.global.u32 becomes st.release.gpu.global.u32",
        "ld.relaxed.gpu.global.u32 becomes ld.acquire.gpu.global.u32",
    ]
    assert all(", and so at line " in change.words for change in first.changes)
    assert first.text.count("st.release.gpu") == first.text.count("ld.acquire.gpu") == 2
    stronger = access_cost("release", "gpu") + access_cost("acquire", "gpu") - 2 * access_cost("relaxed", "gpu")
    assert first.cost == 2 * EDIT + stronger


@pytest.mark.long
def test_a_function_that_is_inlined_twice_is_edited_in_both_places_and_else_at_one_call() -> None:
    of = subject(CALLED_TWICE, grid=1, block=2, forall="a[0] == 7")
    reads = [site.copies for site in of.sites("repair") if "ld.shared" in site.options[1].words]
    assert len(reads) == 1 and len(reads[0]) == 1
    assert len([s for s in of.sites("repair", apart=True) if "ld.shared" in s.options[1].words]) == 2
    # a barrier before both leaves the thread waiting that comes to the second one alone
    found = answered(of, "repair", every=False, most=None).found
    assert found and all("and so at line" not in change.words for one in found for change in one.changes)
    before, _, behind = found[-1].text.partition("ld.shared.u32 %r2")
    assert "bar.warp.sync" in before and "bar.warp.sync" not in behind


def test_what_stands_twice_in_one_line_is_no_copy() -> None:
    twice = "    .loc 1 7 3\n    ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1];\n    ret;\n}\n"
    reads = [s for s in subject(twice, grid=2, block=1).sites("repair") if "ld.global" in s.options[1].words]
    assert len(reads) == 2 and not any(site.copies for site in reads)


#: A statement of two loads, in a loop, behind a barrier; what it reads is written at the beginning of the next round.
TWO_LOADS = """
    mul.wide.u32 %rd2, %r4, 4; cvt.u64.u32 %rd3, 0; mov.u32 %r5, 0;
ROUND:
    .loc 1 4 3
    st.shared.u32 [s], %r5;
    .loc 1 5 3
    bar.sync 0;
    .loc 1 6 3
    ld.shared.u32 %r2, [s];
    .loc 2 90 1, inlined_at 1 6 3
    ld.shared.u32 %r3, [s];
    .loc 1 6 9
    add.u32 %r3, %r2, %r3;
    .loc 1 7 3
    add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 2; @%p1 bra ROUND;
    ret;
}
"""


def test_nothing_is_put_in_within_a_statement_but_where_each_place_is_asked_for() -> None:
    of = subject(TWO_LOADS, grid=1, block=2)

    def places(*, apart: bool) -> set[int]:
        return {s.line for s in of.sites("repair", apart=apart) if "bar.sync" in s.options[-1].words}

    lines = of.text.splitlines()
    second = next(n for n, line in enumerate(lines, 1) if "%r3, [s]" in line)
    assert second not in places(apart=False) and second in places(apart=True)
    assert second - 2 in places(apart=False)  # before the first of the two loads


#: A loop of two rounds, unrolled: line 6 of the source reads what a neighbour wrote in line 7, in the statement whose branch
#: comes behind what its condition is computed with.
STEPS = """
    shl.b32 %r5, %r4, 2; mov.u32 %r6, s; add.u32 %r5, %r5, %r6;
    .loc 1 5 3
    st.shared.u32 [%r5], %r4;
    .loc 1 6 3
    setp.gt.u32 %p1, %r4, 1;
    @%p1 bra FIRST;
    ld.shared.u32 %r2, [%r5+4];
FIRST:
    .loc 1 7 3
    st.shared.u32 [%r5+16], %r2;
    .loc 1 6 3
    setp.gt.u32 %p1, %r4, 1;
    @%p1 bra SECOND;
    ld.shared.u32 %r2, [%r5+20];
SECOND:
    .loc 1 7 3
    st.shared.u32 [%r5+32], %r2;
    ret;
}
"""


def test_what_belongs_before_a_statement_stands_before_what_its_condition_is_computed_with() -> None:
    """Behind that the statement has begun, and nobody could write it there. It is one place in all rounds."""
    of = subject(STEPS.replace(".b32 s", ".b32 s[16]"), grid=1, block=2)
    lines = of.text.splitlines()
    conditions = [n for n, line in enumerate(lines, 1) if "setp.gt" in line]
    placed = [(s.line, *s.copies) for s in of.sites("repair") if "bar.sync" in s.options[-1].words]
    assert tuple(conditions) in placed
    branches = {n for n, line in enumerate(lines, 1) if "@%p1 bra" in line}
    assert not branches & {line for lines in placed for line in lines}


def test_two_barriers_of_an_unrolled_loop_are_found() -> None:
    text = STEPS.replace("    shl", "    .shared .align 4 .b32 s2[16];\n    shl").replace("%r6, s;", "%r6, s2;")
    first = repaired(text, grid=1, block=2, terminates=True).found[0]
    assert all("is put in before this" in change.words for change in first.changes)
    assert any("and so at line" in change.words for change in first.changes)


def test_a_place_moves_past_no_access_and_only_to_where_a_statement_begins() -> None:
    ((_, body),) = bodies(HEAD + STEPS, {"k"})
    of = {s.name: i for i, s in reversed([*enumerate(body)]) if isinstance(s, Instruction)}
    branch = next(i for i, s in enumerate(body) if isinstance(s, Instruction) and s.opcode == "bra")
    moved = body[begun_at(body, branch)]
    assert isinstance(moved, Instruction) and moved.opcode == "setp"
    assert begun_at(body, of["st.shared.u32"]) == of["st.shared.u32"]
    bare = [s for s in body if not isinstance(s, Directive)]
    assert all(begun_at(bare, i) == i for i in range(len(bare)))
    behind_load = branch + 2  # a label: the load stands in between
    assert begun_at(body, behind_load) == behind_load
