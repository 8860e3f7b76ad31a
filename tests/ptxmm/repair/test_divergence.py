"""Where all threads of a CTA come equally often: there a barrier that is put in changes no other one."""

from __future__ import annotations

import pytest

from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import AnyStatement, Instruction, Label
from ptxmm.repair.divergence import Divergence
from ptxmm.repair.kernel_sites import bodies

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u32 n)
{
.reg .pred %p<9>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
"""
#: Bodies in which `// same` stands behind what all threads come by, and `// some` behind what only some may.
BODIES = {
    "one way of two": """mov.u32 %r1, %tid.x; // same
setp.ne.u32 %p1, %r1, 0; // same
@%p1 bra A; // same
st.shared.u32 [%r2], 1; // some
bra B; // some
A: // some
st.shared.u32 [%r2], 2; // some
B: // some
ld.shared.u32 %r3, [%r2]; // same""",
    "a loop of as many turns in all": """ld.param.u32 %r1, [n]; // same
mov.u32 %r2, 0; // same
L: // same
add.u32 %r2, %r2, 1; // same
setp.lt.u32 %p1, %r2, %r1; // same
@%p1 bra L; // same
ld.shared.u32 %r3, [%r4]; // same""",
    "a loop that looks at memory": """L: // same
ld.volatile.shared.u32 %r1, [%r4]; // some
setp.eq.u32 %p1, %r1, 0; // some
@%p1 bra L; // some
ld.shared.u32 %r3, [%r4]; // same""",
    "some end early": """mov.u32 %r1, %tid.x; // same
ld.param.u32 %r2, [n]; // same
setp.ge.u32 %p1, %r1, %r2; // same
@%p1 bra E; // same
ld.shared.u32 %r3, [%r4]; // same
E: // same
ret;""",
    "a number that some wrote": """mov.u32 %r1, %tid.x; // same
mov.u32 %r2, 1; // same
setp.ne.u32 %p1, %r1, 0; // same
@%p1 mov.u32 %r2, 2; // same
setp.eq.u32 %p2, %r2, 1; // same
@%p2 bra A; // same
ld.shared.u32 %r3, [%r4]; // some
A: // some
ld.shared.u32 %r3, [%r4]; // same""",
    "a number written on one way": """mov.u32 %r1, %laneid; // same
mov.u32 %r2, 1; // same
setp.ne.u32 %p1, %r1, 0; // same
@%p1 bra A; // same
mov.u32 %r2, 2; // some
A: // some
setp.eq.u32 %p2, %r2, 1; // same
@%p2 bra B; // same
ld.shared.u32 %r3, [%r4]; // some
B: // some
ld.shared.u32 %r3, [%r4]; // same""",
    "the clock": """mov.u32 %r1, %clock; // same
setp.ne.u32 %p1, %r1, 0; // same
@%p1 bra A; // same
ld.shared.u32 %r3, [%r4]; // some
A: // some
ld.shared.u32 %r3, [%r4]; // same""",
    "the block": """mov.u32 %r1, %ctaid.x; // same
setp.ne.u32 %p1, %r1, 0; // same
@%p1 bra A; // same
ld.shared.u32 %r3, [%r4]; // block
A: // block
ld.shared.u32 %r3, [%r4]; // same""",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("clusters", [False, True])
def test_where_all_threads_come(name: str, clusters: bool) -> None:
    text = HEAD + BODIES[name] + "\nret;\n}\n"
    ((_, body),) = bodies(text, {"k"})
    assert read_module(text)[1] == []
    found = Divergence(body, of="cluster" if clusters else "cta")
    told = {line: said.strip() for line, row in enumerate(text.splitlines(), 1) for said in row.split("//")[1:]}
    wrong = {
        line: told[line]
        for i, statement in enumerate(body)
        if (line := _line(statement)) in told
        if found.parts(i) != (told[line] == "some" or (clusters and told[line] == "block"))
    }
    assert wrong == {} and len(told) >= 5


def _line(statement: AnyStatement) -> int:
    if isinstance(statement, Instruction):
        return statement.start[0]
    return statement.span.line if isinstance(statement, Label) else 0
