"""Warps that arrive at a barrier and wait for nobody, each with a number of threads: PTX ISA 9.0 lets them use "the same
barrier name and thread count" (section 9.7.13.1). Two numbers in one instance are undefined, whoever waits; in two instances
they are not. Solver, brute force and runs say the same."""

from __future__ import annotations

import pytest
from kernels_campaign import compared

import ptxmm


def arrive(count: int, barrier: int = 1) -> str:
    return f"barrier.arrive {barrier}, {count};"


def sync(count: int, barrier: int = 2) -> str:
    return f"barrier.sync {barrier}, {count};"


def kernel(*warps: str) -> ptxmm.Kernel:
    """One lane of each warp does something."""
    branches = "".join(f"setp.eq.u32 %p2, %r2, {i}; @%p2 bra W{i};\n" for i in range(1, len(warps)))
    text = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .pred %p<3>; .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;
    and.b32 %r3, %r1, 31; setp.ne.u32 %p1, %r3, 0; @%p1 exit;
    {branches}
    {"".join(f"W{i}: {code} bra END;" for i, code in enumerate(warps))}
END:
    ret;
}}
"""
    word = {"type": "u32", "elements": 1}
    return ptxmm.Kernel(
        text, params={"a": word}, grid=1, block=32 * len(warps), never="a[0] == 1", race_free=True, no_deadlock=True,
        terminates=True, no_trap=True,
    )  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("warps", "defined"),
    [
        ((arrive(64), arrive(64)), True),
        ((arrive(64), arrive(96)), False),
        ((arrive(64), arrive(64), arrive(96)), False),
        ((arrive(96), arrive(96), arrive(64)), False),
        # A warp that is all that an instance asks for ends it, if it comes first.
        ((arrive(32), arrive(64)), False),
        ((arrive(32) + sync(64), sync(64) + arrive(64)), True),
        ((sync(64) + arrive(32), arrive(64) + sync(64)), False),
        ((arrive(64) + sync(96), arrive(64) + sync(96), sync(96) + arrive(96)), True),
        ((arrive(64) + sync(96), arrive(96) + sync(96), sync(96) + arrive(64)), False),
        # Another barrier.
        ((arrive(64), arrive(96, barrier=3)), True),
    ],
)
def test_two_numbers_of_threads(warps: tuple[str, ...], defined: bool) -> None:
    result = compared(0, kernel(*warps), runs=4)
    assert (result.differences, result.kind) == ([], "1 outcomes" if defined else "undefined")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("solve", "barrier 1 is used with 96 threads here, and with 64"),  # by a run of all threads
        ("enumerate", "different thread counts in one instance of a barrier"),
    ],
)
def test_the_finding_says_what_is_wrong(engine: str, said: str) -> None:
    result = ptxmm.check(kernel(arrive(64), arrive(96)).test, engine=engine)
    assert (result.verdict, result.error) == ("undefined", said)
