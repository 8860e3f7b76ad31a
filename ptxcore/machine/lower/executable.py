"""Which instructions litmus threads may have: what the table reads, checks and executes beyond that is refused here, by
name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ptxcore.check.constants import has_limits
from ptxcore.check.operands import arrange
from ptxcore.diagnostics import fail
from ptxcore.isa.form import Expected, Form, Use, words
from ptxcore.isa.matching import Misfit
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.isa.table import TYPED, Dialect, candidates, explain
from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.tree import Bracket, Instruction, Name, Operand, Pair, Sink, Vector

if TYPE_CHECKING:
    from ptxcore.machine.ir.operands import Variable
    from ptxcore.machine.ir.steps import ThreadCode

#: What the explorer does with a form.
_KINDS = ("value", "effect", "branch", "exit", "nothing", "warp")
#: Instructions that are executed and not explored: they are about a stack, about launches that are still to come, about
#: products of whole warpgroups, or about Tensor Memory.
_UNEXPLORED = words("alloca stackrestore stacksave clusterlaunchcontrol wgmma tcgen05")

#: Opcodes whose first modifier belongs to the name by which they are refused.
_FAMILIES = words("cp tcgen05 wgmma tensormap clusterlaunchcontrol multimem red")

#: What to write in place of instructions that warps or warpgroups execute together, about what no column has.
_OF_WARPS = {
    "tcgen05": "write a kernel test, whose warps have Tensor Memory: 'ptxmm library tcgen05' lists kernels to begin with",
    "wgmma": "write a kernel test, which has warpgroups: 'ptxmm library wgmma' lists kernels to begin with",
}

#: Spaces that litmus threads do not have.
_SPACES = words("local param param::entry param::func")


def explored(form: Form) -> bool:
    """Whether litmus threads may have instructions of a form. Tensor maps and multimem addresses they have no way to say."""
    return explored_in_kernels(form) and not _has_map(form) and form.mnemonic != "multimem"


def explored_in_kernels(form: Form) -> bool:
    """Whether threads of kernel tests may."""
    executed = form.run is not None or form.kind == "nothing"
    return executed and form.kind in _KINDS and (form.kind == "value" or form.mnemonic not in _UNEXPLORED)


def _has_map(form: Form) -> bool:
    """Whether a form is about a tensor map, which litmus tests have no way to say."""
    return form.mnemonic == "tensormap" or (form.mnemonic == "cp" and "tensor" in form.first.split())


def literal_problem(kind: str, value: int) -> tuple[str, str | None] | None:
    """What is wrong with a number that stands for a barrier, or for how many threads come to one."""
    if kind == "barrier" and not 0 <= value < 16:
        return f"barrier {value} does not exist: a CTA has barriers 0 to 15", None
    if kind == "threads" and (value <= 0 or value % 32):
        return f"{value} is not a thread count of a barrier", "a multiple of the warp size, 32"
    return None


def with_images(code: ThreadCode, variables: Mapping[str, Variable]) -> ThreadCode:
    """The code of a thread with the textures and surfaces that locations are, of which most tests have none."""
    if not any(v.proxy in ("texture", "surface") for v in variables.values()):
        return code
    from ptxcore.machine.lower.references import images_of

    return code._replace(images=images_of(variables))


#: The bits of the register that has a name, as far as they are known; None for everything else.
Bits = Callable[[str], int | None]


def alternatives(instruction: Instruction, dialect: Dialect = TYPED) -> tuple[Use, ...]:
    """The forms that an instruction may have, with its modifiers.

    Raises InputError when it has none, and when it has no meaning here.
    """
    opcode, modifiers = instruction.opcode, instruction.modifiers
    uses = _explored(opcode, modifiers, dialect)
    if uses and not (uses[0].space in _SPACES and _accesses(uses[0])):
        return uses
    found = candidates(opcode, modifiers, dialect)
    if found is None or isinstance(found, Misfit):
        raise explain(instruction, found, dialect)
    if not uses:
        raise fail(
            instruction.span,
            f"'{_refused(opcode, modifiers, dialect)}' is not supported in litmus tests",
            _OF_WARPS.get(opcode),
        )
    raise fail(instruction.span, f"'.{uses[0].space}' memory is not supported in litmus tests")


def _refused(opcode: str, modifiers: tuple[str, ...], dialect: Dialect) -> str:
    """The name of an instruction that threads may not have: as much of it as no instruction has that they may."""
    forms = [form for form in dialect.forms.get(opcode, ()) if explored(form)]
    for length in range(opcode in _FAMILIES, len(modifiers)):
        if not any(form.pattern.by_word.keys() >= set(modifiers[:length]) for form in forms):
            return ".".join((opcode, *modifiers[:length]))
    return ".".join((opcode, *modifiers))


def _accesses(use: Use) -> bool:
    return any(p.role == "memory" for p in use.parameters)


@lru_cache(maxsize=8192)
def _explored(opcode: str, modifiers: tuple[str, ...], dialect: Dialect) -> tuple[Use, ...]:
    found = candidates(opcode, modifiers, dialect)
    if found is None or isinstance(found, Misfit):
        return ()
    return tuple(use for use in found if explored(use.form))


@lru_cache(maxsize=8192)
def limited(use: Use) -> bool:
    """Whether a form limits what numbers may stand as its operands, or wants numbers and nothing else."""
    return has_limits(use) or any(not p.flags.isdisjoint(_LIMITS) for p in use.parameters)


#: Words of a parameter that say so.
_LIMITS = words("imm barrier threads")


def chosen(uses: Sequence[Use], instruction: Instruction, bits: Bits) -> Use:
    """The first form that the operands suit: as many, vectors where it has them, registers of its types."""
    if len(uses) == 1:
        return uses[0]
    return next((use for use in uses if _takes(use, instruction, bits)), uses[0])


def _takes(use: Use, instruction: Instruction, bits: Bits) -> bool:
    """Whether a form has as many operands, and such as these."""
    places = arrange(use, len(instruction.operands))
    if places is None:
        return False
    return all(
        _suits(e, instruction.operands[place], bits)
        for e, place in zip(use.expected, places, strict=True)
        if e is not None and place is not None
    )


def _suits(e: Expected, operand: Operand, bits: Bits) -> bool:
    flags = e.parameter.flags
    second = e.parameter.second
    if isinstance(operand, Pair):
        return second is not None
    if second is not None and not second.optional:
        return False
    if isinstance(operand, Bracket):
        return e.parameter.role == "bracket"
    if isinstance(operand, Vector):
        return len(operand.elements) == (e.length or ("braced" in flags))
    if isinstance(operand, Sink):
        return not flags.isdisjoint(("sink", "dropped")) or (e.length > 0 and e.parameter.role == "destination")
    if "dropped" in flags:
        return False
    if not isinstance(operand, Name):
        return not e.length
    minus = operand.prefix == "-"
    if minus > bool(flags & {"negative", "negated"}) or ("negated" in flags) > minus:
        return False
    if operand.negated and not e.parameter.negatable:
        return False
    if operand.name in SPECIAL_REGISTERS and SPECIAL_REGISTERS[operand.name].vector:
        return bool(e.length)
    has = bits(operand.name) if e.parameter.role == "source" and e.type else None
    if has is not None and (has != WIDTHS[e.type] if "loose" not in flags else has < WIDTHS[e.type]):
        return False
    return not e.length
