"""What herd's tests write otherwise than ours: declarations of C, locations nobody declares, operators, several questions."""

from __future__ import annotations

import pytest

import ptxmm
from litmus.formats import read, write
from litmus.test import AddressOf, Location, Test

PROGRAM = """ P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak.u32 [x], 1 | ld.acquire.gpu.u32 %r0, [f] ;
 st.release.gpu.u32 [f], 1 | ld.weak.u32 %r1, [x] ;
"""


def test_of(init: str, tail: str, program: str = PROGRAM) -> Test:
    test = read(f"PTX t\n{{ {init} }}\n{program}{tail}\n")
    assert read(write(test)) == test
    return test


test_of.__test__ = False  # type: ignore[attr-defined]


def locations(init: str, program: str = PROGRAM) -> dict[str, Location]:
    return {l.name: l for l in test_of(init, "exists true", program).locations}


@pytest.mark.parametrize(
    ("herd", "ours"),
    [
        ("int x = 0; int f", ".s32 x = 0; .s32 f = 0"),
        ("uint64_t x = 7; f;", ".u64 x = 7; f = 0"),
        ("int x[2] = {1, 2}; f = 0", ".s32 x[2] = {1, 2}; f = 0"),
        ("_Atomic int x; volatile int f = 1;", ".s32 x; .s32 f = 1;"),
        ("int x; int *f = &x;", ".s32 x; .u64 f = &x;"),
        ("int x; int* f = x;", ".s32 x; .u64 f = &x;"),
        ("int x; f = x;", ".s32 x; .u64 f = &x;"),
        ("*x; f", ".u64 x; f = 0"),
        ("[x] = 3; int [f] = 4;", "x = 3; .s32 f = 4;"),
        ("const = 3; int = 4; x; f", "const = 3; .u32 int = 4; x = 0; f = 0"),
        ("x; f; 0:r7", "x = 0; f = 0; 0:r7 = 0"),
        ("x; f; 0:r7 = x", "x = 0; f = 0; 0:r7 = &x"),
        ("1:r5 = f", "f = 0; x = 0; 1:r5 = &f"),
        ("", "x = 0; f = 0"),
    ],
)
def test_a_declaration_of_herd_is_one_of_ours(herd: str, ours: str) -> None:
    theirs, mine = test_of(herd, "exists true"), test_of(ours, "exists true")
    assert (theirs.locations, theirs.threads) == (mine.locations, mine.threads)


def test_accesses_say_what_an_undeclared_location_is() -> None:
    program = """ P0@cta 0 | P1@cta 0 ;
 st.shared.u8 [s], 1 | mbarrier.init.shared::cta.b64 [m], 2 ;
 st.weak.u16 [w], 1 | ld.weak.f64 %fd0, [w] ;
 ld.weak.u64 %rd1, [%rd7] | ld.const.f32 %f0, [c] ;
"""
    found = locations("0:rd7 = far;", program)
    assert {name: (l.space, l.type) for name, l in found.items()} == {
        "s": ("shared", ".u8"),
        "m": ("shared", ".b64"),
        "w": ("global", ".b64"),
        "far": ("global", ".u64"),
        "c": ("const", ".b32"),
    }
    assert all(l.initial == (0,) for l in found.values())


def test_a_name_near_to_a_declared_one_is_a_mistake() -> None:
    with pytest.raises(ptxmm.InputError, match="'flga' is not declared"):
        test_of("flag = 0; x = 0; f = 0", "exists true", PROGRAM.replace("[f]", "[flga]"))
    with pytest.raises(ptxmm.InputError, match="'z' is not declared"):  # what nobody accesses is not there
        test_of("", "exists (z = 0)")


def test_registers_may_be_declared_with_their_types() -> None:
    test = test_of("0:.reg .s32 r3 = -1; 1:.reg .b64 rd2 = x; 1:.reg .pred p0; x; f", "exists (0:r3 = -1)")
    assert dict(test.threads[1].registers) == {"rd2": AddressOf("x")}
    assert ptxmm.check(test).states == [{"0:r3": -1}]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("exists (1:r0 = 1 && 1:r1 = 0)", "exists (1:r0 = 1 /\\ 1:r1 = 0)"),
        ("exists (1:r0 = 1 || 1:r1 = 0 && x = 1)", "exists (1:r0 = 1 \\/ (1:r1 = 0 /\\ x = 1))"),
        ("not exists (not 1:r0 <> 1)", "~exists (~(1:r0 != 1))"),
        ("forall not (not (x = 1)) /\\ not x = 2;", "forall ~(~(x = 1)) /\\ ~(x = 2)"),
        ("final (x = 1)", "exists (x = 1)"),
        ("(x = 1 /\\ (x <> 2))", "exists (x = 1 /\\ x != 2)"),
        ("filter not x = 0 (x = 1);", "filter ~(x = 0) exists (x = 1)"),
    ],
)
def test_conditions_in_other_words(theirs: str, ours: str) -> None:
    assert test_of("x; f", theirs) == test_of("x; f", ours)


def test_a_register_or_a_location_may_be_called_not() -> None:
    test_of("not = 0; final = 1; x; f", "exists (not = 0 /\\ final = 1 /\\ not (not = 1))")


SEVERAL = """exists (1:r0 = 1 /\\ 1:r1 = 1)
~exists (1:r0 = 1 /\\ 1:r1 = 0)
race_free
forall (1:r0 = 0)
exists (x = 2)
"""


def test_each_of_several_conditions_is_answered() -> None:
    result = ptxmm.check(test_of("x; f", SEVERAL))
    found = [(c.kind, c.holds, c.counts, c.spot and c.spot.line) for c in result.checks]
    assert found == [
        ("exists", True, (1, 2), 6),
        ("~exists", True, (0, 3), 7),
        ("forall", False, (2, 1), 9),
        ("exists", False, (0, 3), 10),
        ("race_free", False, None, 8),
    ]
    assert result.verdict == "no" and result.states[0].keys() == {"1:r0", "1:r1", "x"}


def test_each_condition_has_the_answer_that_it_has_alone() -> None:
    alone = [line for line in SEVERAL.splitlines() if line != "race_free"]
    together = ptxmm.check(test_of("x; f", "\n".join(alone)), engine="enumerate").checks
    for one, check in zip(alone, together, strict=True):
        result = ptxmm.check(test_of("x; f", f"locations [1:r0; 1:r1; x;]\n{one}"))
        assert (check.holds, check.counts) == (result.verdict == "ok", (result.positive, result.negative))
