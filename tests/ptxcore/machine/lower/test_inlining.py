"""Source lines of inlined code: a kernel's own, not those of the libraries that it calls."""

from __future__ import annotations

from ptxcore.machine.lower.inlining import Callers
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
    module, found = read_module(TEXT)
    assert found == []
    callers = Callers()
    told = [callers.origin(d) for d in module.statements if isinstance(d, Directive) and d.name == "loc"]
    own = [(1, 2), (1, 9), (1, 9), (1, 9), (1, 4), (1, 4), (1, 4)]
    assert told[:8] == [*own, (2, 81)]
    assert told[8] == (6, 1) and len(told) == 10  # and calls that lead in a circle come to an end
