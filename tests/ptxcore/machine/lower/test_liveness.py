"""Liveness of registers in lowered code, beside its definition: some path reads a register before it is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ptxcore.check.module import read_and_check
from ptxcore.machine.ir.liveness import registers
from ptxcore.machine.lower.liveness import live_registers, reads, writes
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import Code

_EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
_MODULES = sorted(_EXAMPLES.glob("*.ptx"))

_TEXT = """.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 %f) twice(.reg .u32 %a)
{ .reg .pred %p; setp.eq.u32 %p, %a, 0; mov.u32 %f, %a; @%p ret; add.u32 %f, %a, %a; ret; }
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<4>;
 ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, 5; mov.u32 %r3, 7; setp.eq.u32 %p1, %r1, 0;
L: @%p1 mov.u32 %r4, 1; mov.b64 %d2, {%r2, %r3}; add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 9; @%p2 bra L;
 st.global.v2.u32 [%d1], {%r4, %r1}; st.global.u64 [%d1+8], %d2; ret;
}
"""


def _by_paths(code: Code) -> list[set[int]]:
    """From each read backwards, along every edge, up to a write that is made in any case."""
    count = len(code.ops)
    behind: list[set[int]] = []
    for at, op in enumerate(code.ops):
        goes = {code.labels[label] for label in op.labels if label in code.labels}
        if op.guard is not None or op.use.form.kind not in ("branch", "jump", "exit", "return"):
            goes.add(at + 1)
        behind.append(goes)
    results = {r.slot for r in code.results if r.slot is not None}
    live: list[set[int]] = [set() for _ in range(count + 1)]
    for slot in range(len(code.registers)):
        needs = [at for at, op in enumerate(code.ops) if slot in reads(op)]
        if slot in results:
            needs += [at for at, op in enumerate(code.ops) if op.use.form.kind == "return"] + [count]
        seen: set[int] = set()
        while needs:
            at = needs.pop()
            if at in seen:
                continue
            seen.add(at)
            live[at].add(slot)
            for before, goes in enumerate(behind):
                op = code.ops[before]
                if at in goes and not (op.guard is None and slot in writes(op)):
                    needs.append(before)
    return live


def _lowered(text: str) -> Iterable[Code]:
    read, found = read_and_check(text)
    assert not found
    return lower(read).functions.values()


def _compare(text: str) -> int:
    compared = 0
    for code in _lowered(text):
        found = live_registers(code, range(len(code.ops) + 1)).begins
        assert [set(registers(bits)) for bits in found] == _by_paths(code), code.name
        compared += len(found)
    return compared


def test_a_register_is_live_where_some_path_reads_it_before_it_is_written() -> None:
    assert _compare(_TEXT) > 15


@pytest.mark.parametrize("path", _MODULES, ids=lambda p: p.stem)
def test_registers_of_examples_are_live_as_defined(path: Path) -> None:
    assert _compare(path.read_text(encoding="utf-8"))


def test_blocks_have_the_liveness_of_their_instructions() -> None:
    for code in _lowered(_TEXT):
        single = live_registers(code, range(len(code.ops) + 1)).begins
        cuts = sorted({0, len(code.ops), *code.labels.values()})
        assert live_registers(code, cuts).begins == [single[cut] for cut in cuts]


def test_parts_of_operands_and_what_a_guard_may_leave_are_live() -> None:
    code = next(c for c in _lowered(_TEXT) if c.labels)
    [place] = code.labels.values()
    at = live_registers(code, range(len(code.ops) + 1)).begins[place]
    assert at.bit_count() == 6  # %p1, %r1 to %r4, %d1
