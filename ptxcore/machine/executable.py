"""Which instructions litmus threads may have: what the table reads, checks and executes beyond that is refused here, by
name."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.check.operands import arrange
from ptxcore.diagnostics import fail
from ptxcore.isa.form import Misfit, Use, words
from ptxcore.isa.table import TYPED, Dialect, candidates, explain
from ptxcore.syntax.spans import modifier_span
from ptxcore.syntax.tree import Instruction, Name, Operand

#: Modifiers and types that litmus threads do not take yet, also where a form that they take reads them.
NOT_EXPLORED = words(
    """f16 f16x2 bf16 bf16x2 f32 f64 tf32 f32x2 b128 u16x2 s16x2 b16x2 v2 v4 v8 noftz local param param::entry
    param::func unified L2::cache_hint"""
)

#: What the explorer does with a form.
EXPLORED_KINDS = ("value", "effect", "branch", "exit", "nothing")

#: Opcodes whose first modifier belongs to the name by which they are refused.
_FAMILIES = words("mbarrier cp tcgen05 wgmma tensormap clusterlaunchcontrol multimem cvt red st")

#: Opcodes that are refused with all their modifiers: one of them is what is not executed.
_WHOLE = words("bar barrier fence membar")


def lookup(instruction: Instruction, dialect: Dialect = TYPED) -> Use:
    """The form that an instruction has, with its modifiers; where several have, the first that takes as many operands.

    Raises InputError when it has none, and when it has no meaning here yet.
    """
    opcode, modifiers = instruction.opcode, instruction.modifiers
    found = candidates(opcode, modifiers, dialect)
    if found is None or isinstance(found, Misfit):
        raise explain(instruction, found, dialect)
    uses = [use for use in found if use.form.run is not None and use.form.explored and use.form.kind in EXPLORED_KINDS]
    if not uses:
        raise _refusal(instruction)
    for i, word in enumerate(modifiers):
        if word in NOT_EXPLORED:
            raise fail(modifier_span(instruction, i), f"'.{word}' on '{opcode}' is not supported yet")
    return next((use for use in uses if _takes(use, instruction.operands)), uses[0])


def _takes(use: Use, operands: Sequence[Operand]) -> bool:
    """Whether a form has as many operands, and has a `-` where they have one."""
    places = arrange(use, len(operands))
    if places is None:
        return False
    for e, place in zip(use.expected, places, strict=True):
        if e is not None and place is not None:
            operand = operands[place]
            negated = isinstance(operand, Name) and operand.prefix == "-"
            if (
                negated > bool(e.parameter.flags & {"negative", "negated"})
                or ("negated" in e.parameter.flags) > negated
            ):
                return False
    return True


def _refusal(instruction: Instruction) -> Exception:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    for i, word in enumerate(modifiers):
        if word in NOT_EXPLORED:
            return fail(modifier_span(instruction, i), f"'.{word}' on '{opcode}' is not supported yet")
    named = len(modifiers) if opcode in _WHOLE else opcode in _FAMILIES
    name = ".".join((opcode, *modifiers[:named]))
    return fail(instruction.span, f"'{name}' is not supported yet")
