"""The whole table: which forms a dialect has, and the form of an instruction."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ptxcore.diagnostics import fail, nearest
from ptxcore.isa import comparison, control, data_movement, integer, logic, synchronization
from ptxcore.isa.form import Form, Use, complain, match, words
from ptxcore.syntax.tree import Instruction


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


#: PTX as the manual has it.
TYPED = Dialect(
    "typed",
    (
        *integer.FORMS,
        *comparison.FORMS,
        *logic.FORMS,
        *data_movement.FORMS,
        *control.FORMS,
        *synchronization.FORMS,
    ),
)

#: Mnemonics of the manual (section 9.7) that have no form yet.
UNSUPPORTED = words(
    """activemask addc alloca applypriority bfe bfi bfind bmsk brev brkpt brx call clusterlaunchcontrol clz cnot
    copysign cos cp createpolicy discard dp2a dp4a elect ex2 fma fns getctarank griddepcontrol isspacep istypep
    ldmatrix ldu lg2 lop3 mad24 madc mapa match mbarrier mma movmatrix mul24 multimem pmevent popc prefetch prefetchu
    prmt rcp redux rsqrt sad set setmaxnreg shf shfl sin slct sqrt stackrestore stacksave stmatrix subc suld suq sured
    sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2
    vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma"""
)

#: Opcode and a modifier that together name another instruction of the manual, not supported yet.
UNSUPPORTED_WITH = {
    "bar": ("warp",),
    "barrier": ("cluster",),
    "cvt": ("pack",),
    "fence": (
        "mbarrier_init",
        "sync_restrict::shared::cta",
        "sync_restrict::shared::cluster",
        "tensormap::generic",
        "async::generic",
    ),
    "red": ("async",),
    "st": ("async", "bulk"),
}


def lookup(instruction: Instruction, dialect: Dialect = TYPED) -> Use:
    """The form that an instruction has, with its modifiers. InputError when it has none: unknown, wrong or not
    supported."""
    use = _match(dialect, instruction.opcode, instruction.modifiers)
    if use is not None:
        return use
    opcode, span = instruction.opcode, instruction.span
    forms = dialect.forms.get(opcode)
    if forms is None:
        if opcode in UNSUPPORTED:
            name = ".".join((opcode, *instruction.modifiers[:1])) if opcode in ("mbarrier", "cp") else opcode
            raise fail(span, f"'{name}' is not supported yet")
        if opcode in TYPED.forms:
            raise fail(span, f"'{opcode}' is not part of the {dialect.name} dialect", "give it a type to make it PTX")
        raise fail(span, f"unknown instruction '{opcode}'", nearest(opcode, {*dialect.forms, *UNSUPPORTED}))
    if dialect is TYPED:
        for word in UNSUPPORTED_WITH.get(opcode, ()):
            if word in instruction.modifiers and "proxy" not in instruction.modifiers[: word == "async"]:
                raise fail(span, f"'{opcode}.{word}' is not supported yet")
    misfit = match(forms, opcode, instruction.modifiers)
    assert not isinstance(misfit, Use)
    raise complain(forms, instruction, misfit)


@lru_cache(maxsize=2048)
def _match(dialect: Dialect, opcode: str, modifiers: tuple[str, ...]) -> Use | None:
    forms = dialect.forms.get(opcode)
    if forms is None:
        return None
    found = match(forms, opcode, modifiers)
    return found if isinstance(found, Use) else None
