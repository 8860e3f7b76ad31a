"""Memory that `alloca` gives is the thread's own: explored it is as a run has it, and there no longer than it should be."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import ptxmm
from ptxcore.machine.run.launch import load
from ptxmm.running import launch

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
X = {"type": "u32", "elements": 4}


def kernel(body: str, before: str = "", forall: str = "x[0] == 7", **changes: Any) -> ptxmm.Kernel:
    """A kernel of one thread with registers of every kind; %d1 is the address of x."""
    text = (
        f"{HEAD}{before}\n.visible .entry k(.param .u64 x)\n{{\n"
        ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\nld.param.u64 %d1, [x];\n" + body + "\n}\n"
    )
    return ptxmm.Kernel(text, **{"grid": 1, "block": 1, "params": {"x": X}, "forall": forall, **changes})


def ran(made: ptxmm.Kernel, *given: int) -> list[int]:
    """What x holds after a run."""
    x = numpy.array([*given, *[0] * (4 - len(given))], "u4")
    launch(load(made.test.launches[0].text), "k", (1,), (1,), [x])
    return x.tolist()


ELEMENT = """
    ld.global.u32 %r1, [%d1+4];
    and.b32 %r1, %r1, 3;
    alloca.u64 %d2, 16, 16;
    cvta.local.u64 %d3, %d2;
    st.local.v4.u32 [%d2], {10, 11, 12, 13};
    mad.wide.u32 %d4, %r1, 4, %d3;
    st.u32 [%d4], 7;
    ld.local.u32 %r2, [%d2+8];
    ld.u32 %r3, [%d4];
    st.global.u32 [%d1], %r3;
    st.global.u32 [%d1+8], %r2;
    ret;
"""


@pytest.mark.parametrize(("index", "second"), [(2, 7), (1, 12)])
def test_an_element_whose_number_is_read(index: int, second: int) -> None:
    made = kernel(ELEMENT, forall=f"x[0] == 7 && x[2] == {second}", params={"x": X | {"init": [0, index]}})
    assert ran(made, 0, index) == [7, index, second, 0]
    for engine in ("solve", "enumerate"):
        assert made.check(engine=engine).verdict == "ok"


FUNCTION = """
.func (.param .u32 r) f(.param .u64 p, .param .u32 n)
{
    .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];
    mul.wide.u32 %d2, %r1, 4;
    alloca.u64 %d3, %d2;
    st.local.u32 [%d3], 5;
    ld.u32 %r2, [%d1];
    ld.local.u32 %r3, [%d3];
    add.u32 %r2, %r2, %r3;
    st.u32 [%d1], %r2;
    st.param.u32 [r], %r2;
    ret;
}
"""
CALLS = """
    alloca.u64 %d2, 8;
    cvta.local.u64 %d3, %d2;
    st.local.u32 [%d2], 2;
    stacksave.u64 %d4;
    .param .u64 p; .param .u32 n; .param .u32 r;
    st.param.u64 [p], %d3; st.param.u32 [n], 3;
    call (r), f, (p, n);
    ld.param.u32 %r1, [r];
    stacksave.u64 %d5;
    setp.eq.u64 %p1, %d4, %d5;
    selp.u32 %r3, 1, 0, %p1;
    ld.local.u32 %r2, [%d2];
    st.global.u32 [%d1], %r1;
    st.global.u32 [%d1+4], %r2;
    st.global.u32 [%d1+8], %r3;
    ret;
"""


def test_a_function_gets_a_pointer_and_gives_back_what_it_took() -> None:
    made = kernel(CALLS, FUNCTION, "x[0] == 7 && x[1] == 7 && x[2] == 1")
    assert ran(made) == [7, 7, 1, 0]
    assert made.check().verdict == "ok"


TWO_WAYS = """
    ld.global.u32 %r1, [%d1+4];
    stacksave.u64 %d5;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra SMALL;
    alloca.u64 %d2, 64;
    st.local.u32 [%d2], 7;
    bra BOTH;
SMALL:
    alloca.u64 %d2, 4;
    st.local.u32 [%d2], 7;
BOTH:
    alloca.u64 %d3, 4;
    st.local.u32 [%d3], 1;
    ld.local.u32 %r2, [%d2+OFFSET];
    stackrestore.u64 %d5;
    stacksave.u64 %d6;
    sub.u64 %d6, %d6, %d5;
    st.global.u32 [%d1], %r2;
    st.global.u64 [%d1+8], %d6;
    ret;
"""


@pytest.mark.parametrize("first", [0, 1])
def test_paths_on_which_the_stack_has_different_ends_meet(first: int) -> None:
    made = kernel(
        TWO_WAYS.replace("OFFSET", "0"), forall="x[0] == 7 && x[2] == 0", params={"x": X | {"init": [0, first]}}
    )
    assert ran(made, 0, first)[0] == 7
    for engine in ("solve", "enumerate"):
        assert made.check(engine=engine).verdict == "ok"


def test_what_only_one_path_asked_for_is_there_on_that_path_only() -> None:
    for first, verdict in ((0, "undefined"), (1, "ok")):
        body = TWO_WAYS.replace("st.local.u32 [%d2], 7;", "st.local.u32 [%d2], 7;", 1).replace("OFFSET", "60")
        body = body.replace("ld.local.u32 %r2, [%d2+60];", "st.local.u32 [%d2+60], 7; ld.local.u32 %r2, [%d2+60];")
        made = kernel(body, forall="x[0] == 7", params={"x": X | {"init": [0, first]}}, expect=verdict)
        for engine in ("solve", "enumerate"):
            result = made.check(engine=engine)
            assert result.verdict == verdict, (first, engine, result.error)


@pytest.mark.parametrize(
    "body",
    [
        "stacksave.u64 %d5; alloca.u64 %d2, 8; stackrestore.u64 %d5; st.local.u32 [%d2], 7;",
        "alloca.u64 %d2, 8; st.local.u32 [%d2+8], 7;",
        "alloca.u64 %d2, 8; alloca.u64 %d3, 8; st.local.u32 [%d2+8], 7;",
        "alloca.u64 %d2, 8; stackrestore.u64 %d1;",
    ],
)
def test_what_is_gone_or_never_was_there_is_not_accessed(body: str) -> None:
    result = kernel(body + "st.global.u32 [%d1], 7; ret;", expect="undefined").check()
    assert result.verdict == "undefined", result.error


def test_memory_of_a_function_that_has_returned_is_gone() -> None:
    before = """
.func (.param .u64 r) f()
{
    .reg .b64 %d<6>;
    alloca.u64 %d3, 8;
    st.local.u32 [%d3], 7;
    st.param.u64 [r], %d3;
    ret;
}
"""
    body = ".param .u64 r; call (r), f; ld.param.u64 %d2, [r]; ld.local.u32 %r1, [%d2]; st.global.u32 [%d1], %r1; ret;"
    assert kernel(body, before).check().verdict == "undefined"


def test_a_size_that_is_not_known_is_refused_by_name() -> None:
    body = "ld.global.u32 %r1, [%d1+4]; mul.wide.u32 %d3, %r1, 4; alloca.u64 %d2, %d3; ret;"
    with pytest.raises(ptxmm.InputError, match=r"'alloca\.u64' has a size that is not known"):
        kernel(body).check()


def test_a_size_that_is_one_of_a_few_is_not() -> None:
    body = """
    ld.global.u32 %r1, [%d1+4];
    and.b32 %r1, %r1, 3;
    mul.wide.u32 %d3, %r1, 4;
    alloca.u64 %d2, %d3;
    st.local.u32 [%d2+4], 7;
    ld.local.u32 %r2, [%d2+4];
    st.global.u32 [%d1], %r2;
    ret;
    """
    for given, verdict in ((1, "undefined"), (2, "ok"), (3, "ok")):
        assert kernel(body, params={"x": X | {"init": [0, given]}}).check().verdict == verdict


LOOP = """
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
L:
    stacksave.u64 %d3;
    alloca.u64 %d2, 1024;
    st.local.u32 [%d2+1020], %r1;
    ld.local.u32 %r3, [%d2+1020];
    add.u32 %r2, %r2, %r3;
    stackrestore.u64 %d3;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 600;
    @%p1 bra L;
    st.global.u32 [%d1], %r2;
    ret;
"""


@pytest.mark.long
def test_a_loop_takes_and_gives_back_again_and_again() -> None:
    assert kernel(LOOP, forall="x[0] == 179700").check().verdict == "ok"
    told = kernel(LOOP.replace("stackrestore.u64 %d3;", ""), forall="x[0] == 179700").check()
    assert told.verdict == "undefined" and "stack" in (told.error or "")


SHOWN = """
    .shared .align 8 .b64 s; .local .align 8 .b32 v[2];
    alloca.u64 %d2, 8;
    mov.u64 %d3, v;
    setp.ne.u32 %p1, WHICH, 0;
    selp.b64 %d2, %d2, %d3, %p1;
    st.local.u32 [%d2+4], 7;
    cvta.local.u64 %d3, %d2;
    st.shared.u64 [s], %d3;
    ld.shared.u64 %d4, [s];
    ld.u32 %r1, [%d4+4];
    st.u32 [%d4+4], 9;
    ld.local.u32 %r2, [%d2+4];
    st.global.u32 [%d1], %r1;
    st.global.u32 [%d1+4], %r2;
    ret;
"""


@pytest.mark.parametrize("which", [0, 1])
def test_an_address_that_stood_where_others_see_it_is_still_the_threads_own(which: int) -> None:
    made = kernel(SHOWN.replace("WHICH", str(which)), forall="x[0] == 7 && x[1] == 9")
    assert ran(made) == [7, 9, 0, 0]
    for engine in ("solve", "enumerate"):
        assert made.check(engine=engine).verdict == "ok"


WIDE_INDEX = """
    .local .align 8 .b32 v[4];
    ld.global.u64 %d5, [%d1+8];
    mov.u64 %d2, v;
    cvta.local.u64 %d3, %d2;
    st.local.v4.u32 [v], {5, 6, 7, 8};
    shl.b64 %d6, %d5, 2;
    add.u64 %d4, %d3, %d6;
    ld.u32 %r1, [%d4];
    ld.local.u32 %r2, [%d4];
    st.global.u32 [%d1], %r1;
    st.global.u32 [%d1+4], %r2;
    ret;
"""


def test_an_index_that_may_be_any_number_leads_where_it_leads() -> None:
    for index, verdict in ((2, "ok"), (4, "undefined")):
        made = kernel(
            WIDE_INDEX, forall="x[0] == 7 && x[1] == 7", params={"x": X | {"init": [0, 0, index]}}, expect=verdict
        )
        for engine in ("solve", "enumerate"):
            assert made.check(engine=engine).verdict == verdict, (index, engine)
    assert ran(made, 0, 0, 2) == [7, 7, 2, 0]


EITHER = """
    .local .align 8 .b32 v[2];
    ld.global.u32 %r1, [%d1+4];
    setp.ne.u32 %p1, %r1, 0;
    mov.u64 %d2, v;
    cvta.local.u64 %d2, %d2;
    selp.b64 %d3, %d2, %d1, %p1;
    st.local.u32 [v], 5;
    st.u32 [%d3], 7;
    ld.u32 %r2, [%d3];
    ld.local.u32 %r3, [v];
    st.global.u32 [%d1+8], %r2;
    st.global.u32 [%d1+12], %r3;
    ret;
"""


def test_a_pointer_that_is_one_of_the_threads_own_or_not() -> None:
    for first, found in ((0, "x[0] == 7 && x[3] == 5"), (1, "x[0] == 0 && x[3] == 7")):
        made = kernel(EITHER, forall=f"x[2] == 7 && {found}", params={"x": X | {"init": [0, first]}})
        assert ran(made, 0, first)[2:] == [7, 7 if first else 5]
        for engine in ("solve", "enumerate"):
            result = made.check(engine=engine)
            assert result.verdict == "ok", (first, engine, result.error)
