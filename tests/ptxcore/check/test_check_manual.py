"""Where ptxas and the manual differ, both ways of judging."""

from __future__ import annotations

import pytest

from ptxcore.check.module import check_text

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"

#: Modules that one of the two accepts: who does.
CASES = (
    ("ptxas", ".version 9.0\n.target sm_90, sm_80\n"),
    ("ptxas", ".version 9.0\n.target compute_90\n"),
    ("ptxas", ".version 8.0\n.target sm_88\n"),
    ("manual", ".version 9.0\n.target sm_80\n.target sm_90\n"),
    ("manual", ".version 9.0\n.target sm_90\n.address_size 32\n"),
    ("manual", HEADER + ".tex .u32 t;"),
    ("manual", HEADER + ".entry k() .maxntid 32 .maxnctapersm 2 { ret; }"),
    ("manual", ".version 2.1\n.target sm_20\n.entry k() { T: .branchtargets L; L: ret; }"),
    ("ptxas", HEADER + ".func (.reg .b32 a, .reg .b32 b) f() { ret; }"),
    ("ptxas", HEADER + ".func f(.reg .b16 a) { ret; }"),
    ("ptxas", HEADER + ".func f(.param .b32 a[]) { ret; }"),
    ("ptxas", HEADER + ".func b(); .visible .func a(); .alias a, b;"),
    ("ptxas", HEADER + ".func f(); .func g(.reg .b32 a); .entry k() { T: .calltargets f, g; ret; }"),
    ("ptxas", ".version 5.0\n.target sm_10\n.common .global .u32 a;"),
    ("ptxas", HEADER + ".section .debug_str { .b32 4294967296 }"),
    ("ptxas", ".version 7.1\n.target sm_80\n.section .debug_str { a: .b8 1 }"),
    ("ptxas", HEADER + ".entry k() { .reg .v2 .u32 v; .reg .u32 r; mov.u32 r, v.z; ret; }"),
    ("ptxas", HEADER + ".global .u32 g[4]; .entry k() { .reg .u32 r; ld.global.u32 r, [g+2]; ret; }"),
    ("ptxas", HEADER + ".global .u32 g[4]; .entry k() { .reg .u32 r<4>; ld.global.v4.u32 {r0,r1,r2,r3}, [g+2]; ret; }"),
    ("manual", HEADER + ".entry k() { .reg .u32 a, b; cvta.to.global.u32 a, b; ret; }"),
    ("ptxas", HEADER + ".entry k() { .reg .u32 r; ld.global.u32 r, [%clock64]; ret; }"),
)


@pytest.mark.parametrize(("accepted_by", "text"), CASES)
def test_each_way_judges_as_it_says(accepted_by: str, text: str) -> None:
    assert (check_text(text + "\n") == []) == (accepted_by == "ptxas")
    assert (check_text(text + "\n", manual=True) == []) == (accepted_by == "manual")


def test_aligned_addresses_are_aligned_for_the_manual_too() -> None:
    text = HEADER + (
        ".global .align 16 .u32 g[8]; .global .b8 c[8]; .entry k() { .reg .u32 r<4>; "
        "ld.global.v4.u32 {r0,r1,r2,r3}, [g+16]; ld.global.u32 r0, g[3]; ld.global.u32 r0, [c+1]; ret; }\n"
    )
    assert check_text(text, manual=True) == []
