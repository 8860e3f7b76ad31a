"""An instruction is lowered to the same step, whether it stands in a litmus thread or in a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import agreement
import pytest
from exploring import SPECIAL
from test_exploring_every_form import FORMS, LOCATIONS, written

from axioms.passes import PASSES
from ptxcore.check.module import read_and_check
from ptxcore.diagnostics import InputError
from ptxcore.isa.table import SECTIONS, TYPED, forms_of
from ptxcore.machine.explore.explorable import explorable
from ptxcore.machine.explore.instances import SHARED_BASE
from ptxcore.machine.ir.steps import CARRY, InstructionStep, ThreadCode
from ptxcore.machine.lower.code import prepare
from ptxcore.machine.lower.module import lower
from ptxcore.syntax.reader import read_statements
from ptxcore.values.terms import Value, symbol

#: What a register is called in a kernel, and in a litmus thread.
NAMES = {"the carry flag": CARRY, f"%{SHARED_BASE}": SHARED_BASE}
HEADER = """.version 9.0
.target sm_100a, texmode_independent
.address_size 64
.global .align 128 .b8 x[128];
.const .align 128 .b8 c[128];
.global .texref t;
.global .samplerref s;
.global .surfref u;
.visible .entry k()
{
.shared .align 128 .b8 m[128];
"""


def in_a_kernel(text: str) -> ThreadCode | None:
    """The only thread of a kernel of these statements; None where the module has mistakes, or exploring refuses it."""
    text = text.replace("[t, t", "[t, s")  # a litmus test has no samplers
    module, found = read_and_check(f"{HEADER}{text} exit;\n}}\n")
    if any(d.severity == "error" for d in found):
        return None
    try:
        return explorable(lower(module), "k", b"", off=[p.name for p in PASSES]).code
    except InputError:
        return None


def told(code: ThreadCode, step: InstructionStep) -> tuple[object, ...]:
    """What a step does, with names for registers; of an address that is known when the thread begins, that it is."""
    names = [NAMES.get(r.name, r.name) for r in code.registers]
    values = [
        0 if name == SHARED_BASE else symbol(("holds", name), r.width)
        for r, name in zip(code.registers, names, strict=True)
    ]

    def shown(value: Value | tuple[Value, ...] | None) -> object:
        if isinstance(value, tuple):
            return tuple(shown(v) for v in value)
        return value if value is None else "known" if isinstance(value, int) else str(value)

    def listed(registers: Sequence[int]) -> list[str]:
        return [names[r] for r in registers if names[r] != SHARED_BASE]

    return (
        step.kind,
        step.how.form.syntax,
        step.width,
        None if step.predicate is None else (names[step.predicate], step.negated),
        [None if f is None else shown(f(values)) for f in step.sources],
        [None if t is None else (names[t.register], *t[1:]) for t in step.targets],
        [listed(registers) for registers in (step.reads, step.address_reads, step.data_reads)],
        [listed(registers) for registers in step.element_reads],
        [(i, listed(registers)) for i, registers in step.memory_reads],
        step.folded,
    )


def steps(code: ThreadCode, mnemonic: str) -> list[tuple[object, ...]]:
    every = [s for b in code.blocks for s in (*b.steps, *(() if b.end is None else (b.end,)))]
    return [told(code, s) for s in every if s.how.form.mnemonic == mnemonic and s.instruction.text != "exit"]


@pytest.mark.part(4)
@pytest.mark.compares(0.6)
@pytest.mark.parametrize("section", [s for s in SECTIONS if any(map(FORMS.__contains__, forms_of(s)))])
def test_a_litmus_thread_and_a_kernel_have_the_same_steps(section: str) -> None:
    random = Random(section)
    for form in forms_of(section):
        if form not in FORMS or form.kind == "nothing":  # what does nothing is no step of a kernel
            continue
        made = next((text for _ in range(30) if (text := written(form, random)) is not None), None)
        if made is None:
            continue
        try:
            thread = prepare(read_statements(made[0]), TYPED, LOCATIONS, made[1], special=SPECIAL)
        except InputError:
            continue  # optional operands that do not go without others
        kernel = in_a_kernel(made[0])
        if kernel is None:
            agreement.pass_over("a module may not have it so")
            continue
        assert agreement.compared(steps(kernel, form.mnemonic)) == steps(thread, form.mnemonic), made[0]
