"""Kernels run: control, calls, memory, barriers, and what goes wrong in them."""

from __future__ import annotations

import pytest

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, UsageError, load

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body: str, parameters: str = ".param .u64 out", before: str = "", head: str = HEAD) -> Device:
    registers = ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .b16 %h<8>;"
    return load(f"{head}{before}\n.visible .entry k({parameters})\n{{\n{registers}\n{body}\nret;\n}}\n", "k.ptx")


def outcome(
    body: str,
    *,
    before: str = "",
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (1, 1, 1),
    words: int = 1,
    seed: int | None = None,
    dynamic_shared: int = 0,
    initial: tuple[int, ...] = (),
) -> list[int]:
    """The words of the buffer that `out` points to, `%rd0` in the body, afterwards."""
    device = kernel(f"ld.param.u64 %rd0, [out];\n{body}", before=before)
    buffer = device.memory.allocate(4 * words, "out")
    for i, value in enumerate(initial):
        device.memory.at(buffer).write(4 * i, 4, value)
    device.launch("k", grid, block, [buffer], seed=seed, dynamic_shared=dynamic_shared)
    return [device.memory.at(buffer).read(4 * i, 4) for i in range(words)]


FACTORIAL = """
.func (.reg .b32 result) fact (.reg .b32 n)
{
.reg .pred %q; .reg .b32 m, rest;
setp.lt.u32 %q, n, 2;
@%q mov.u32 result, 1;
@%q ret;
sub.u32 m, n, 1;
call (rest), fact, (m);
mul.lo.u32 result, n, rest;
ret;
}
"""

BY_PARAM = """
.func (.param .b32 result) twice (.param .b32 x)
{
.reg .b32 a;
ld.param.b32 a, [x];
add.u32 a, a, a;
st.param.b32 [result], a;
ret;
}
.func (.param .b32 result) square (.param .b32 x)
{
.reg .b32 a;
ld.param.b32 a, [x];
mul.lo.u32 a, a, a;
st.param.b32 [result], a;
ret;
}
.global .u64 table[2] = {twice, square};
"""

CALL_TABLE = """
{ .param .b32 x; .param .b32 y;
st.param.b32 [x], 7;
ld.global.u64 %rd1, [table+8];
P: .callprototype (.param .b32 _) _ (.param .b32 _);
call (y), %rd1, (x), P;
ld.param.b32 %r1, [y]; }
st.global.u32 [%rd0], %r1;
"""


@pytest.mark.parametrize(
    ("body", "before", "expected"),
    [
        ("st.global.u32 [%rd0], 5;", "", 5),
        ("mov.u32 %r1, 0; mov.u32 %r2, 10; L: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; "
         "@%p1 bra L; st.global.u32 [%rd0], %r1;", "", 55),
        ("mov.u32 %r1, 6; call (%r2), fact, (%r1); st.global.u32 [%rd0], %r2;", FACTORIAL, 720),
        (CALL_TABLE, BY_PARAM, 49),
        ("mov.u32 %r1, 1; T: .branchtargets A, B; brx.idx %r1, T; A: st.global.u32 [%rd0], 1; ret; B: "
         "st.global.u32 [%rd0], 2;", "", 2),
        ("{ .reg .u32 x; mov.u32 x, 3; { .reg .u32 x; mov.u32 x, 4; } st.global.u32 [%rd0], x; }", "", 3),
        ("{ L: bra M; M: } L: st.global.u32 [%rd0], 9;", "", 9),
        (".local .u32 a[4]; st.local.u32 [a+8], 11; mov.u64 %rd1, a; ld.local.u32 %r1, [%rd1+8]; "
         "st.global.u32 [%rd0], %r1;", "", 11),
        ("mov.u64 %rd1, v; ld.global.u32 %r1, [%rd1+4]; ld.const.u32 %r2, [c]; add.u32 %r1, %r1, %r2; "
         "st.global.u32 [%rd0], %r1;", ".global .u32 v[2] = {3, 40}; .const .u32 c = 2;", 42),
        ("ld.global.u64 %rd1, [p]; ld.u32 %r1, [%rd1]; st.global.u32 [%rd0], %r1;",
         ".global .u32 v[2] = {3, 40}; .global .u64 p = generic(v)+4;", 40),
        ("mov.u32 %r1, %clock; mov.u32 %r2, %clock; setp.le.u32 %p1, %r1, %r2; selp.u32 %r3, 1, 0, %p1; "
         "st.global.u32 [%rd0], %r3;", "", 1),
        (".reg .v2 .b32 w; mov.u32 w.x, 1; mov.u32 w.y, 2; add.u32 %r1, w.x, w.y; st.global.u32 [%rd0], %r1;", "", 3),
        ("mov.u32 %r1, 0xffffffff; add.cc.u32 %r2, %r1, 1; addc.u32 %r3, 0, 0; st.global.u32 [%rd0], %r3;", "", 1),
        ("mov.u32 %r1, 0x80; mov.u32 %r2, 1; vadd.s32.s32.u32 %r3, %r1.b0, %r2; st.global.u32 [%rd0], %r3;", "",
         0xFFFFFF81),
        ("mov.u32 %r1, 3; mov.u32 %r2, 4; vmad.s32.u32.u32 %r3, %r1, -%r2, %r1; st.global.u32 [%rd0], %r3;", "",
         0xFFFFFFF7),
        ("st.global.u16 [%rd0], 0xffff; ld.global.s16 %r1, [%rd0]; st.global.u32 [%rd0], %r1;", "", 0xFFFFFFFF),
    ],
)  # fmt: skip
def test_one_thread(body: str, before: str, expected: int) -> None:
    assert outcome(body, before=before) == [expected]


SUM = """
.shared .u32 s[64];
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;
mov.u32 %r4, 32;
L: bar.sync 0;
setp.ge.u32 %p1, %r1, %r4;
@%p1 bra M;
shl.b32 %r5, %r4, 2; add.u32 %r6, %r3, %r5; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r3];
add.u32 %r7, %r7, %r8; st.shared.u32 [%r3], %r7;
M: shr.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 0;
@%p2 bra L;
setp.ne.u32 %p3, %r1, 0; @%p3 bra N;
ld.shared.u32 %r9, [s]; st.global.u32 [%rd0], %r9;
N:
"""


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_reduction_in_shared_memory(seed: int | None) -> None:
    assert outcome(SUM, block=(64, 1, 1), seed=seed) == [sum(range(64))]


LOCK = """
L: atom.global.cas.b32 %r1, [%rd0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
ld.global.u32 %r2, [%rd0+4]; add.u32 %r2, %r2, 1; st.global.u32 [%rd0+4], %r2;
atom.global.exch.b32 %r3, [%rd0], 0;
"""


@pytest.mark.parametrize("seed", [None, 7])
def test_a_lock_between_threads_that_spin(seed: int | None) -> None:
    assert outcome(LOCK, grid=(4, 1, 1), block=(8, 1, 1), words=2, seed=seed) == [0, 32]


def test_ctas_that_wait_for_one_another_are_all_let_in() -> None:
    body = """
    mov.u32 %r2, %nctaid.x; atom.global.add.u32 %r1, [%rd0], 1;
    L: ld.volatile.global.u32 %r1, [%rd0]; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;
    """
    assert outcome(body, grid=(40, 1, 1), block=(1, 64, 1), words=1, initial=(-40 * 63 & 0xFFFFFFFF,)) == [40]


@pytest.mark.parametrize("ctas", [1, 2, 3, 4, 8])
def test_every_cta_runs_whatever_their_number(ctas: int) -> None:
    body = "atom.global.add.u32 %r1, [%rd0], 1;"
    assert outcome(body, grid=(ctas, 1, 1), block=(512, 1, 1)) == [512 * ctas]


def test_dynamic_shared_memory_lies_behind_the_static() -> None:
    body = ".shared .u32 a; mov.u32 %r1, d; mov.u32 %r2, a; sub.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1; " \
        "mov.u32 %r3, %dynamic_smem_size; st.global.u32 [%rd0+4], %r3;"  # fmt: skip
    assert outcome(body, before=".extern .shared .align 16 .b8 d[];", dynamic_shared=64, words=2) == [16, 64]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_replays_its_schedule(seed: int) -> None:
    body = "mov.u32 %r1, %tid.x; atom.global.exch.b32 %r2, [%rd0], %r1; atom.global.add.u32 %r3, [%rd0+4], %r2;"
    assert outcome(body, block=(16, 1, 1), words=2, seed=seed) == outcome(body, block=(16, 1, 1), words=2, seed=seed)


@pytest.mark.parametrize(
    ("body", "before", "block", "kind", "words"),
    [
        ("ld.global.u32 %r1, [%rd0+4];", "", 1, "out-of-bounds", ["4 bytes at offset 4 of 'out'", "CTA 0 thread 0"]),
        ("mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1];", "", 1, "out-of-bounds", ["no memory at address 0x0"]),
        ("ld.global.u32 %r1, [%rd0+2];", "", 1, "misaligned", ["4 bytes at address"]),
        ("add.u32 %r1, %r2, 1; st.global.u32 [%rd0], %r1;", "", 1, "undefined-register", ["%r2", "add.u32"]),
        ("@%p1 mov.u32 %r1, 1;", "", 1, "undefined-register", ["%p1"]),
        ("st.global.u32 [%rd0], %r3;", "", 1, "undefined-register", ["%r3"]),
        (".shared .u32 s; ld.shared.u32 %r1, [s]; st.global.u32 [%rd0], %r1;", "", 1, "uninitialised", ["shared memory"]),
        (".local .u32 s; ld.local.u32 %r1, [s]; st.global.u32 [%rd0], %r1;", "", 1, "uninitialised", ["stack"]),
        ("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0, 64; @!%p1 bar.sync 1, 64;", "", 64,
         "deadlock", ["waits at barrier 0, where 1 of 64", "so do 62 more"]),
        ("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0, 64; @!%p1 bar.sync 0, 96;", "", 128,
         "barrier-count", ["64", "96"]),
        ("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bar.arrive 0, 64; @!%p1 bar.arrive 0, 96;", "", 64,
         "barrier-count", ["64", "96"]),
        ("call f, (); ", ".func f () { .local .b8 a[65536]; call f, (); ret; }", 1, "stack-overflow", ["stack overflow"]),
        ("mov.u64 %rd1, 64; P: .callprototype _ (); call %rd1, (), P;", "", 1, "bad-call", ["0x40"]),
        ("mov.u32 %r1, 5; T: .branchtargets A; brx.idx %r1, T; A:", "", 1, "bad-branch", ["index 5"]),
        ("call g, ();", ".extern .func g ();", 1, "bad-call", ["'g' is declared and nowhere defined"]),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_found(body: str, before: str, block: int, kind: str, words: list[str]) -> None:
    with pytest.raises(KernelError) as caught:
        outcome(body, before=before, block=(block, 1, 1))
    assert caught.value.kind == kind
    for word in words:
        assert word in str(caught.value)


def test_an_error_tells_the_source_line() -> None:
    body = ".loc 1 7 3\nld.global.u32 %r1, [%rd0+4];"
    with pytest.raises(KernelError) as caught:
        outcome(body, before='.file 1 "saxpy.cu"')
    assert caught.value.source == ("saxpy.cu", 7)
    assert "from saxpy.cu:7" in str(caught.value)
    assert str(caught.value).startswith("k.ptx:10:1: error: out of bounds")


def test_an_endless_kernel_meets_its_limit() -> None:
    device = kernel("L: bra L;", parameters="")
    with pytest.raises(KernelError, match="more than 1000 instructions"):
        device.launch("k", (1, 1, 1), (1, 1, 1), [], limit=1000)


@pytest.mark.parametrize(
    ("arguments", "grid", "block", "message"),
    [
        ([], (1, 1, 1), (1, 1, 1), "takes 1 arguments, not 0"),
        ([0], (1, 1, 1), (33, 32, 1), "at most 1024 threads"),
        ([0], (0, 1, 1), (1, 1, 1), "at least 1"),
    ],
)
def test_launches_that_cannot_be_made(
    arguments: list[int], grid: tuple[int, int, int], block: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        kernel("").launch("k", grid, block, arguments)


def test_memory_of_a_module_lasts_over_launches() -> None:
    device = kernel("ld.global.u32 %r1, [n]; add.u32 %r1, %r1, 1; st.global.u32 [n], %r1;", "", ".global .u32 n = 5;")
    for _ in range(3):
        device.launch("k", (1, 1, 1), (1, 1, 1), [])
    assert device.memory.at(device.program.layout.names["n"].address).read(0, 4) == 8


SEVERAL = """
.shared .align 4 .b8 common[8]; .extern .shared .align 16 .b8 given[];
.func (.reg .b32 size) first() { .reg .b32 a, b; mov.u32 a, given; mov.u32 b, common; sub.u32 size, a, b; ret; }
.visible .entry large(.param .u64 out)
{ .shared .align 16 .b8 own[100]; .reg .b64 %rd0; .reg .b32 %r<4>;
ld.param.u64 %rd0, [out]; mov.u32 %r0, own; mov.u32 %r1, %total_smem_size; call (%r2), first, ();
st.shared.u32 [own+96], %r2; ld.shared.u32 %r3, [own+96]; st.global.v2.u32 [%rd0], {%r1, %r3}; ret; }
.visible .entry small(.param .u64 out)
{ .shared .b32 own; .reg .b64 %rd0; .reg .b32 %r<4>;
ld.param.u64 %rd0, [out]; mov.u32 %r1, %total_smem_size; call (%r2), first, ();
st.shared.u32 [own], %r2; ld.shared.u32 %r3, [own]; st.global.v2.u32 [%rd0], {%r1, %r3};
ld.shared.u32 %r3, [own+32]; ret; }
"""


@pytest.mark.parametrize(
    ("entry", "dynamic_shared", "expected"), [("large", 32, [256, 128]), ("small", 32, [128, 16]), ("small", 0, None)]
)
def test_each_kernel_has_the_shared_memory_that_it_declares(
    entry: str, dynamic_shared: int, expected: list[int] | None
) -> None:
    """8 bytes for all, then 100 or 4 bytes, then at a multiple of 16 what the launch gives; told in units of 128 bytes."""
    device = load(f"{HEAD}{SEVERAL}", "k.ptx")
    buffer = device.memory.allocate(8, "out")
    if expected is None:
        with pytest.raises(KernelError) as caught:
            device.launch(entry, (1, 1, 1), (1, 1, 1), [buffer], dynamic_shared=dynamic_shared)
        assert caught.value.kind == "out-of-bounds"
        return
    device.launch(entry, (1, 1, 1), (1, 1, 1), [buffer], dynamic_shared=dynamic_shared)
    assert [device.memory.at(buffer).read(4 * i, 4) for i in range(2)] == expected


def test_a_module_with_textures_runs_what_needs_none() -> None:
    texture = (
        ".visible .entry t(.param .u64 h) { .reg .b64 %rd<2>; .reg .f32 %f<5>; .reg .b32 %r<2>; ld.param.u64 %rd0, [h]; "
        "mov.u32 %r0, 0; tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}]; ret; }"
    )
    device = kernel("ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], 5;", before=texture)
    buffer = device.memory.allocate(4, "out")
    device.launch("k", (1, 1, 1), (1, 1, 1), [buffer])
    assert device.memory.at(buffer).read(0, 4) == 5
    with pytest.raises(KernelError, match="0x0 is bound to no texture"):
        device.launch("t", (1, 1, 1), (1, 1, 1), [0])
