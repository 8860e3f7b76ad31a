"""The whole table: which forms a dialect has, and what an opcode with its modifiers can mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module

from ptxcore.diagnostics import InputError, fail, nearest
from ptxcore.isa.form import Form, Misfit, Use, complain, match
from ptxcore.syntax.tree import Instruction

#: The files of the instruction set, in the manual's order.
SECTIONS = (
    "integer",
    "extended_precision",
    "floating_point",
    "half_precision",
    "mixed_precision",
    "comparison",
    "half_comparison",
    "logic",
    "data_movement",
    "multimem",
    "async_copy",
    "tensor_copy",
    "texture",
    "surface",
    "conversion",
    "control",
    "synchronization",
    "wmma",
    "mma",
    "matrix_moves",
    "warpgroup_matrix",
    "tensor_core",
    "stack",
    "video",
    "miscellaneous",
)


class Dialect:
    """A set of forms, and what its operands mean.

    `bare`: operands are locations or registers without brackets, registers have `register_width` bits, start at 0 and
    need no declaration. Otherwise operands are PTX's.
    """

    __slots__ = ("bare", "forms", "name", "register_width")

    def __init__(self, name: str, forms: Iterable[Form], *, bare: bool = False, register_width: int = 32) -> None:
        self.name, self.bare, self.register_width = name, bare, register_width
        table: dict[str, list[Form]] = {}
        for form in forms:
            table.setdefault(form.mnemonic, []).append(form)
        self.forms = table

    def __repr__(self) -> str:
        return f"Dialect({self.name!r})"


def _all_forms() -> list[Form]:
    return [form for section in SECTIONS for form in import_module(f"ptxcore.isa.{section}").FORMS]


#: PTX as the manual has it.
TYPED = Dialect("typed", _all_forms())


@lru_cache(maxsize=8192)
def candidates(
    opcode: str, modifiers: tuple[str, ...], dialect: Dialect = TYPED, manual: bool = False
) -> tuple[Use, ...] | Misfit | None:
    """What an opcode with these modifiers can mean: every form that takes them, what is wrong with them where none
    does, or None where no form has the opcode. `manual` judges as the manual says rather than as ptxas does."""
    forms = _of_mode(dialect, opcode, manual)
    return match(forms, opcode, modifiers, manual) if forms else None


def _of_mode(dialect: Dialect, opcode: str, manual: bool) -> Sequence[Form]:
    other = "ptxas" if manual else "manual"
    return [form for form in dialect.forms.get(opcode, ()) if form.only != other]


def explain(
    instruction: Instruction, misfit: Misfit | None, dialect: Dialect = TYPED, manual: bool = False
) -> InputError:
    """The error for an instruction that has no `candidates`."""
    opcode = instruction.opcode
    if misfit is not None:
        return complain(_of_mode(dialect, opcode, manual), instruction, misfit)
    if dialect is not TYPED and opcode in TYPED.forms:
        message = f"'{opcode}' is not part of the {dialect.name} dialect"
        return fail(instruction.span, message, "give it a type to make it PTX")
    return fail(instruction.span, f"unknown instruction '{opcode}'", nearest(opcode, dialect.forms))
