"""What `malloc` gives is memory that other threads may use, until `free` takes it back."""

from __future__ import annotations

from typing import Any

import pytest

import ptxmm
from axioms.errors import UnsupportedProgram
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load
from ptxmm.running import launch

HEAD = """.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.func (.param .u64 r) take(.param .u64 n)
{
    .reg .b64 %d<2>; .param .b64 size; .param .b64 got;
    ld.param.u64 %d1, [n]; st.param.b64 [size], %d1;
    call (got), malloc, (size);
    ld.param.b64 %d1, [got]; st.param.u64 [r], %d1;
    ret;
}
.func give(.param .u64 p)
{
    .reg .b64 %d<2>; .param .b64 address;
    ld.param.u64 %d1, [p]; st.param.b64 [address], %d1;
    call free, (address);
    ret;
}
"""
WORD = {"type": "u32", "elements": 4}
POINTER = {"type": "u64", "elements": 1}


def kernel(body: str, *, threads: int = 1, blocks: int = 1, forall: str = "x[0] == 7", **changes: Any) -> ptxmm.Kernel:
    """A kernel whose %d1 is the address of x, %d2 of a pointer, %r1 the number of the thread. `TAKE(register, bytes)` and
    `GIVE(register)` stand for calls."""
    lines = []
    for line in body.split(";"):
        name, _, rest = line.strip().partition("(")
        a, _, b = rest.rstrip(")").partition(",")
        if name.endswith("TAKE"):
            given = f".param .u64 n; .param .u64 r; st.param.u64 [n], {b};"
            line = f"{name[:-4]} {{ {given} call (r), take, (n); ld.param.u64 {a}, [r]; }}"
        elif name.endswith("GIVE"):
            line = f"{name[:-4]} {{ .param .u64 p; st.param.u64 [p], {a}; call give, (p); }}"
        elif line.strip():
            line += ";"
        lines.append(line)
    text = (
        f"{HEAD}.visible .entry k(.param .u64 x, .param .u64 q)\n{{\n"
        ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .shared .align 8 .b64 s;\n"
        "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [q];\nmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
        "add.u32 %r1, %r1, %r2;\n" + "\n".join(lines) + "\n}\n"
    )
    arguments = {"grid": blocks, "block": threads, "params": {"x": WORD, "q": POINTER}, "forall": forall}
    return ptxmm.Kernel(text, **{**arguments, **changes})


def verdicts(made: ptxmm.Kernel) -> set[str]:
    return {made.check(engine=engine).verdict for engine in ("solve", "enumerate")}


def ran(made: ptxmm.Kernel, seed: int | None = None) -> list[int] | str:
    """What x holds after a run, or how that failed."""
    import numpy

    x, q = numpy.zeros(4, "u4"), numpy.zeros(1, "u8")
    test = made.test.launches[0]
    try:
        launch(load(test.text), "k", test.grid, test.block, [x, q], seed=seed)
    except KernelError as error:
        return error.kind
    return [int(n) for n in x]


ALONE = "TAKE(%d3, 16); st.u32 [%d3+4], 7; ld.u32 %r3, [%d3+4]; st.global.u32 [%d1], %r3;"
WRONG = {
    "read after free": (ALONE + "GIVE(%d3); ld.u32 %r4, [%d3+4]; ret;", "certainly come before"),
    "given back twice": (ALONE + "GIVE(%d3); GIVE(%d3); ret;", "certainly come before"),
    "in the middle": (ALONE + "add.u64 %d4, %d3, 4; GIVE(%d4); ret;", "malloc did not give"),
    "a buffer": (ALONE + "GIVE(%d1); ret;", "malloc did not give"),
    "beyond the end": (ALONE + "st.u32 [%d3+16], 1; ret;", "belongs to no location"),
    "no bytes": ("TAKE(%d3, 0); st.u32 [%d3], 1; ret;", "belongs to no location"),
}


def test_memory_of_one_thread() -> None:
    made = kernel(ALONE + "GIVE(%d3); mov.u64 %d4, 0; GIVE(%d4); ret;")
    assert ran(made) == [7, 0, 0, 0] and verdicts(made) == {"ok"}
    assert made.check().notes == ["malloc is taken to find memory whenever it is asked"]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_undefined(name: str) -> None:
    body, why = WRONG[name]
    made = kernel(body, expect="undefined")
    assert ran(made) in ("out-of-bounds", "bad-free")
    for engine in ("solve", "enumerate"):
        result = made.check(engine=engine)
        assert result.verdict == "undefined" and why in str(result.error)


PUBLISHED = """
    setp.ne.u32 %p1, %r1, 0; @%p1 bra READ;
    TAKE(%d3, 8); st.u32 [%d3], 7; st.release.gpu.u64 [%d2], %d3; ret;
READ:
    ld.acquire.gpu.u64 %d4, [%d2]; setp.eq.u64 %p2, %d4, 0; @%p2 bra READ;
    ld.u32 %r3, [%d4]; st.global.u32 [%d1], %r3; GIVE(%d4); ret;
"""


def test_a_pointer_is_handed_over() -> None:
    made = kernel(PUBLISHED, blocks=2, race_free=True)
    assert ran(made) == [7, 0, 0, 0] and verdicts(made) == {"ok"}


NEVER_READ = """
    setp.ne.u32 %p1, %r1, 0; @%p1 bra READ;
    TAKE(%d3, 16); st.u32 [%d3+4], 7; st.release.gpu.u64 [%d2], %d3; ld.u32 %r5, [%d2]; ret;
READ:
    ld.relaxed.gpu.u32 %r4, [%d1+12]; setp.eq.u32 %p2, %r4, 0; @%p2 bra READ;
    ld.acquire.gpu.u64 %d4, [%d2]; setp.eq.u64 %p2, %d4, 0; @%p2 bra END;
    ld.u32 %r3, [%d4+4]; st.global.u32 [%d1], %r3;
END:
    ret;
"""


def test_a_pointer_in_pieces_leads_where_it_led_when_nobody_comes_to_read_it() -> None:
    """Who never passes a wait is searched for in a program of its own, which knows as much of addresses as the first."""
    result = kernel(NEVER_READ, blocks=2, race_free=True).check()
    assert result.verdict == "no" and "does not terminate" in result.checks[0].message


@pytest.mark.parametrize(("strong", "weak"), [("st.release", "st.relaxed"), ("ld.acquire", "ld.relaxed")])
def test_a_pointer_that_publishes_nothing_leaves_open_what_is_found(strong: str, weak: str) -> None:
    body = PUBLISHED.replace(strong, weak)
    assert verdicts(kernel(body, blocks=2, race_free=True)) == {"undefined"}  # nothing orders the store and the free
    made = kernel(body.replace("GIVE(%d4);", ""), blocks=2, race_free=True)
    assert verdicts(made) == {"no"}
    result = made.check()
    assert [c.holds for c in result.checks] == [False, False]
    assert any("may find what nothing wrote" in note for note in result.notes)


def test_what_nothing_wrote_is_tried_with_other_contents() -> None:
    made = kernel("TAKE(%d3, 8); ld.u32 %r3, [%d3]; st.global.u32 [%d1], %r3; ret;", forall="x[0] == 0", expect="no")
    result = made.check()
    assert result.verdict == "no"
    assert any("memory that nothing wrote holds" in note for note in result.notes)


LIST = """
    mov.u64 %d5, 0; mov.u32 %r3, 0;
PUSH:
    TAKE(%d3, 16); st.u64 [%d3], %d5; add.u32 %r3, %r3, 1; st.u32 [%d3+8], %r3; mov.u64 %d5, %d3;
    setp.lt.u32 %p1, %r3, 5; @%p1 bra PUSH;
    mov.u32 %r4, 0;
POP:
    ld.u32 %r5, [%d5+8]; add.u32 %r4, %r4, %r5; ld.u64 %d6, [%d5]; GIVE(%d5); mov.u64 %d5, %d6;
    setp.ne.u64 %p2, %d5, 0; @%p2 bra POP;
    mad.wide.u32 %d7, %r1, 4, %d1; st.global.u32 [%d7], %r4; ret;
"""


def test_each_turn_of_each_thread_gets_memory_of_its_own() -> None:
    made = kernel(LIST, threads=2, forall="x[0] == 15 && x[1] == 15", race_free=True, bounds=6)
    assert ran(made) == [15, 15, 0, 0]
    result = made.check()
    assert result.verdict == "ok"
    assert "memory that free takes back is taken not to be given out again" in result.notes


def test_a_pointer_goes_by_way_of_the_warp() -> None:
    body = """
        setp.ne.u32 %p1, %r1, 0; mov.u64 %d3, 0; @%p1 bra JOIN;
        TAKE(%d3, 8); st.u32 [%d3+4], 7;
    JOIN:
        mov.b64 {%r3, %r4}, %d3;
        shfl.sync.idx.b32 %r3, %r3, 0, 31, 3; shfl.sync.idx.b32 %r4, %r4, 0, 31, 3;
        bar.warp.sync 3;
        mov.b64 %d4, {%r3, %r4}; ld.u32 %r5, [%d4+4];
        mad.wide.u32 %d7, %r1, 4, %d1; st.global.u32 [%d7], %r5; ret;
    """
    made = kernel(body, threads=2, forall="x[0] == 7 && x[1] == 7", race_free=True)
    assert ran(made) == [7, 7, 0, 0] and verdicts(made) == {"ok"}


def test_only_one_of_two_ways_asks_for_memory() -> None:
    body = """
        ld.global.u32 %r3, [%d1+4]; setp.eq.u32 %p1, %r3, 0; mov.u64 %d3, %d1; @%p1 bra HAVE;
        TAKE(%d3, 4);
    HAVE:
        st.u32 [%d3], 7; ld.u32 %r4, [%d3]; st.global.u32 [%d1], %r4; ret;
    """
    for first in (0, 1):
        made = kernel(body, params={"x": WORD | {"init": [0, first]}, "q": POINTER})
        assert verdicts(made) == {"ok"}


def test_a_size_that_is_not_known_is_refused_by_name() -> None:
    body = "ld.global.u32 %r3, [%d1+4]; cvt.u64.u32 %d4, %r3; TAKE(%d3, %d4); ret;"
    with pytest.raises(UnsupportedProgram, match="'malloc' whose size is not known"):
        kernel(body).check()


def test_models_that_say_nothing_of_it_are_not_asked() -> None:
    with pytest.raises(UnsupportedProgram, match="no flag 'freed'"):
        kernel(PUBLISHED, blocks=2).check("ptx-7.5")
    assert kernel(PUBLISHED.replace("GIVE(%d4);", ""), blocks=2).check("ptx-7.5").verdict == "ok"


def test_what_is_printed_is_counted() -> None:
    text = """.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 text[] = {37, 100, 32, 37, 115, 10, 0};
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<2>; .reg .b64 %d<3>; .param .b64 a; .param .b64 b; .param .b32 r;
    ld.param.u64 %d1, [x]; mov.u64 %d2, text; cvta.global.u64 %d2, %d2; st.param.b64 [a], %d2; st.param.b64 [b], 0;
    call (r), vprintf, (a, b);
    ld.param.b32 %r1, [r]; st.global.u32 [%d1], %r1; ret;
}
"""
    made = ptxmm.Kernel(text, grid=1, block=1, params={"x": WORD}, forall="x[0] == 2")
    assert verdicts(made) == {"ok"}


OVER_KERNELS = (
    HEAD
    + """
.visible .entry make(.param .u64 q)
{
    .reg .b64 %d<4>; .param .u64 n; .param .u64 r;
    ld.param.u64 %d1, [q]; st.param.u64 [n], 4; call (r), take, (n); ld.param.u64 %d2, [r];
    st.u32 [%d2], 7; st.global.u64 [%d1], %d2; ret;
}
.visible .entry use(.param .u64 q, .param .u64 x)
{
    .reg .b32 %r<2>; .reg .b64 %d<4>; .param .u64 p;
    ld.param.u64 %d1, [q]; ld.param.u64 %d2, [x]; ld.global.u64 %d3, [%d1]; ld.u32 %r1, [%d3];
    st.global.u32 [%d2], %r1; st.param.u64 [p], %d3; call give, (p); ret;
}
"""
)


@pytest.mark.parametrize(("stream", "verdict"), [(0, "ok"), (1, "undefined")])
def test_memory_outlasts_the_kernel_that_asked_for_it(stream: int, verdict: str) -> None:
    launches = [
        {"name": "make", "entry": "make", "args": ["q"], "stream": 0},
        {"name": "use", "entry": "use", "args": ["q", "x"], "stream": stream},
    ]
    made = ptxmm.Kernel(
        OVER_KERNELS,
        grid=1,
        block=1,
        kernel=launches,
        params={"q": POINTER, "x": WORD},
        forall="x[0] == 7",
        race_free=True,
    )
    assert verdicts(made) == {verdict}
