"""Which instructions litmus threads may have: what the table reads, checks and executes beyond that is refused here, by
name."""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.check.operands import arrange
from ptxcore.diagnostics import fail
from ptxcore.isa.form import Expected, Form, Misfit, Use, words
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.isa.table import TYPED, Dialect, candidates, explain
from ptxcore.syntax.tree import Instruction, Name, Operand, Sink, Vector

#: What the explorer does with a form.
_KINDS = ("value", "effect", "branch", "exit", "nothing", "warp")
#: Instructions that are executed and not explored: they are about a stack, or about launches that are still to come.
_UNEXPLORED = words("alloca stackrestore stacksave clusterlaunchcontrol")

#: Opcodes whose first modifier belongs to the name by which they are refused.
_FAMILIES = words("cp tcgen05 wgmma tensormap clusterlaunchcontrol multimem red")

#: Spaces that litmus threads do not have.
_SPACES = words("local param param::entry param::func")


def explored(form: Form) -> bool:
    """Whether litmus threads may have instructions of a form."""
    executed = form.run is not None or form.kind == "nothing"
    return executed and form.kind in _KINDS and (form.kind == "value" or form.mnemonic not in _UNEXPLORED)


def lookup(
    instruction: Instruction, dialect: Dialect = TYPED, is_predicate: Callable[[str], bool] | None = None
) -> Use:
    """The form that an instruction has, with its modifiers; where several have, the first that its operands suit: as many,
    vectors where it has them, predicates (as `is_predicate` knows them by name) where it wants some.

    Raises InputError when it has none, and when it has no meaning here.
    """
    opcode, modifiers = instruction.opcode, instruction.modifiers
    found = candidates(opcode, modifiers, dialect)
    if found is None or isinstance(found, Misfit):
        raise explain(instruction, found, dialect)
    uses = [use for use in found if explored(use.form)]
    if not uses:
        name = ".".join((opcode, *modifiers[: opcode in _FAMILIES]))
        raise fail(instruction.span, f"'{name}' is not supported in litmus tests")
    if use_space(uses[0]) in _SPACES:
        raise fail(instruction.span, f"'.{uses[0].space}' memory is not supported in litmus tests")
    if len(uses) == 1:
        return uses[0]
    return next((use for use in uses if _takes(use, instruction, is_predicate)), uses[0])


def use_space(use: Use) -> str:
    """The state space that an access names."""
    return use.space if use.form.kind == "effect" else ""


def _takes(use: Use, instruction: Instruction, is_predicate: Callable[[str], bool] | None) -> bool:
    """Whether a form has as many operands, and such as these."""
    places = arrange(use, len(instruction.operands))
    if places is None:
        return False
    return all(
        _suits(e, instruction.operands[place], is_predicate)
        for e, place in zip(use.expected, places, strict=True)
        if e is not None and place is not None
    )


def _suits(e: Expected, operand: Operand, is_predicate: Callable[[str], bool] | None) -> bool:
    flags = e.parameter.flags
    if isinstance(operand, Vector):
        return len(operand.elements) == (e.length or ("braced" in flags))
    if isinstance(operand, Sink):
        return not flags.isdisjoint(("sink", "dropped")) or (e.length > 0 and e.parameter.role == "destination")
    if "dropped" in flags:
        return False
    if isinstance(operand, Name):
        if (operand.prefix == "-") > bool(flags & {"negative", "negated"}) or ("negated" in flags) > (
            operand.prefix == "-"
        ):
            return False
        if operand.name in SPECIAL_REGISTERS and SPECIAL_REGISTERS[operand.name].vector:
            return bool(e.length)
        if e.parameter.role == "source" and is_predicate is not None and is_predicate(operand.name):
            return e.type == "pred"
        if operand.negated and not e.parameter.negatable:
            return False
    return not e.length
