"""Source lines of inlined code: a kernel's own, not those of the libraries that it calls."""

from __future__ import annotations

from ptxcore.machine.lower.inlining import Callers, calls_of, source_of, told
from ptxcore.machine.lower.module import lower
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Directive

TEXT = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .loc 1 2 0
    .loc 1 9 3, function_name $F, inlined_at 1 2 30
    .loc 2 81 13, function_name $F, inlined_at 1 9 3
    .loc 3 166 3, function_name $F, inlined_at 2 81 13
    .loc 1 4 1
    .loc 2 81 13, function_name $F, inlined_at 1 4 1
    .loc 3 166 3, function_name $F, inlined_at 2 81 13
    .loc 2 81 13
    .loc 5 1 1, function_name $F, inlined_at 6 1 1
    .loc 6 1 1, function_name $F, inlined_at 5 1 1
    ret;
}
"""


def test_the_innermost_call_in_the_kernels_own_file_is_told() -> None:
    module, wrong = read_module(TEXT)
    assert wrong == []
    callers = Callers()
    found = [told(callers.chain(d), 0)[:2] for d in module.statements if isinstance(d, Directive) and d.name == "loc"]
    own = [(1, 2), (1, 9), (1, 9), (1, 9), (1, 4), (1, 4), (1, 4)]
    assert found[:8] == [*own, (2, 81)]
    assert found[8] == (6, 1) and len(found) == 10  # and calls that lead in a circle come to an end


#: A function that is inlined at lines 26 and 42; its waiting loops stand behind both.
_COLD = """.version 9.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.file 2 "wait.h"
.file 3 "asm.h"
.visible .entry k()
{
    .reg .pred %p; .reg .b32 %r<3>;
    .loc 1 26 7
    .loc 2 70 5, function_name $F, inlined_at 1 26 7
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p, %r1, 0;
    @%p bra FIRST;
    .loc 1 27 7
    mov.u32 %r2, 1;
    .loc 1 42 7
    .loc 2 70 5, function_name $F, inlined_at 1 42 7
    mov.u32 %r1, %laneid;
    @%p bra SECOND;
    ret;
FIRST:
    .loc 3 43 5, function_name $G, inlined_at 2 70 5
    mov.u32 %r2, 2;
    bra FIRST;
SECOND:
    .loc 3 43 5, function_name $G, inlined_at 2 70 5
    mov.u32 %r2, 3;
    bra SECOND;
}
"""


def test_a_block_far_behind_is_of_the_call_whose_branch_leads_there() -> None:
    """Both loops are of line 70 of the header, and that was inlined last at line 42."""
    module, found = read_module(_COLD)
    assert found == []
    lines = {n for n, line in enumerate(_COLD.splitlines(), 1) if "%r2, 2" in line or "%r2, 3" in line}
    places = [calls[-1][:2] for _, calls in sorted(calls_of(module, lines).items())]
    assert places == [("k.cu", 26), ("k.cu", 42)]


#: A kernel of a library: one call, of an object that is the kernel. What it reads of its parameters is of its own file.
_WRAPPED = """.version 9.0
.target sm_90
.address_size 64
.file 1 "kernel.h"
.file 2 "gemm.hpp"
.file 3 "pipeline.hpp"
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd; .reg .b32 %r;
    .loc 1 7 0
    ld.param.u64 %rd, [p];
    .loc 1 9 3
    .loc 2 40 5, function_name $F, inlined_at 1 9 3
    ld.global.u32 %r, [%rd];
    .loc 2 44 5, function_name $F, inlined_at 1 9 3
    .loc 3 12 5, function_name $G, inlined_at 2 44 5
    bar.sync 0;
    .loc 1 10 1
    ret;
}
"""


def test_a_call_that_all_code_stands_under_is_not_told() -> None:
    found = _of_instructions(_WRAPPED)
    assert found["ld.global.u32 %r, [%rd]"] == ("gemm.hpp", 40) and found["bar.sync 0"] == ("gemm.hpp", 44)
    assert found["ld.param.u64 %rd, [p]"] == ("kernel.h", 7) and found["ret"] == ("kernel.h", 10)
    lines = {n: line.strip(" ;") for n, line in enumerate(_WRAPPED.splitlines(), 1)}
    said = source_of(read_module(_WRAPPED)[0], lines)
    assert found == {lines[n]: place for n, place in said.items() if lines[n] in found}
    other = _WRAPPED.replace(
        "    ret;", "    st.global.u32 [%rd], %r;\n    ret;"
    )  # now the kernel does something itself
    assert _of_instructions(other)["bar.sync 0"] == ("kernel.h", 9)
    alone = _WRAPPED.replace("    bar.sync 0;\n", "")  # all that it does stands in one place
    assert _of_instructions(alone)["ld.global.u32 %r, [%rd]"] == ("kernel.h", 9)


def _of_instructions(text: str) -> dict[str, tuple[str, int]]:
    """What the program made of a module says, by the instruction."""
    program = lower(read_module(text)[0], 0)
    ops = program.functions["k"].ops
    return {op.instruction.text.strip(): program.locations[op.location] for op in ops if op.location >= 0}


#: A template that is inlined into itself, and a call whose own call the text says elsewhere alone.
_NESTED = """.version 9.0
.target sm_90
.address_size 64
.file 1 "kernel.h"
.file 2 "gemm.hpp"
.file 3 "visitor.hpp"
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd; .reg .b32 %r; .reg .pred %q;
    .loc 1 9 3
    @%q bra FAR;
    .loc 2 40 5, function_name $F, inlined_at 1 9 3
    ld.global.u32 %r, [%rd];
    .loc 3 7 1, function_name $G, inlined_at 2 40 5
    .loc 3 8 1, function_name $G, inlined_at 3 7 1
    .loc 3 7 1, function_name $G, inlined_at 3 8 1
    st.global.u32 [%rd], %r;
    ret;
FAR:
    .loc 3 12 5, function_name $G, inlined_at 2 40 5
    bar.sync 0;
    ret;
}
"""


def test_calls_are_followed_to_the_kernel_where_the_text_is_short_of_them() -> None:
    lines = {n: line.strip(" ;") for n, line in enumerate(_NESTED.splitlines(), 1)}
    found = {lines[n]: [p[1] for p in calls] for n, calls in calls_of(read_module(_NESTED)[0], lines).items()}
    assert found["st.global.u32 [%rd], %r"] == [7, 8, 40, 9] and found["bar.sync 0"] == [12, 40, 9]
    assert _of_instructions(_NESTED)["bar.sync 0"] == ("gemm.hpp", 40)
