"""The whole table: which forms a dialect has, and what an opcode with its modifiers can mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module

from ptxcore.diagnostics import InputError, fail, nearest
from ptxcore.isa.advice import complain, forms_hint
from ptxcore.isa.form import Form, Use
from ptxcore.isa.matching import Misfit, match
from ptxcore.syntax.tree import Instruction

#: The files of the instruction set, in the manual's order, and the mnemonics that each declares: a file is read when one of
#: its mnemonics is first met.
SECTIONS: dict[str, str] = {
    "integer": (
        "abs add bfe bfi bfind bmsk brev clz div dp2a dp4a fns mad mad24 max min mul mul24 neg popc rem sad sub szext"
    ),
    "extended_precision": "add addc mad madc sub subc",
    "floating_point": "abs add copysign cos div ex2 fma lg2 mad max min mul neg rcp rsqrt sin sqrt sub tanh testp",
    "half_precision": "abs add ex2 fma max min mul neg sub tanh",
    "mixed_precision": "add fma sub",
    "comparison": "selp set setp slct",
    "half_comparison": "set setp",
    "logic": "and cnot lop3 not or shf shl shr xor",
    "data_movement": (
        "applypriority createpolicy discard getctarank isspacep ld ldu mapa mov prefetch prefetchu prmt shfl st"
    ),
    "multimem": "multimem",
    "async_copy": "cp st",
    "tensor_copy": "cp tensormap",
    "texture": "istypep tex tld4 txq",
    "surface": "suld suq sured sust",
    "conversion": "cvt cvta",
    "control": "bra brx call exit ret",
    "synchronization": (
        "activemask atom bar barrier clusterlaunchcontrol cp elect fence griddepcontrol match mbarrier membar "
        "red redux tensormap vote"
    ),
    "wmma": "wmma",
    "mma": "mma",
    "matrix_moves": "ldmatrix movmatrix stmatrix",
    "warpgroup_matrix": "wgmma",
    "tensor_core": "tcgen05",
    "stack": "alloca stackrestore stacksave",
    "video": (
        "vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 "
        "vset vset2 vset4 vshl vshr vsub vsub2 vsub4"
    ),
    "miscellaneous": "brkpt nanosleep pmevent setmaxnreg trap",
}

#: The mnemonics that a file declares with certain modifiers only: without these it is not read for them.
WITH = {("async_copy", "st"): frozenset(("async", "bulk"))}


def by_mnemonic(forms: Iterable[Form]) -> dict[str, Sequence[Form]]:
    """Forms sorted by their mnemonics."""
    table: dict[str, list[Form]] = {}
    for form in forms:
        table.setdefault(form.mnemonic, []).append(form)
    return dict(table)


class Forms(Mapping[str, Sequence[Form]]):
    """The forms of each mnemonic, from the files that declare it."""

    def __init__(self, sections: Mapping[str, str]) -> None:
        self._homes: dict[str, list[str]] = {}
        for section, mnemonics in sections.items():
            for mnemonic in mnemonics.split():
                self._homes.setdefault(mnemonic, []).append(section)
        self._found: dict[str, Sequence[Form]] = {}

    def __getitem__(self, mnemonic: str) -> Sequence[Form]:
        found = self._found.get(mnemonic)
        if found is None:
            found = self._found[mnemonic] = self._of(mnemonic, self._homes[mnemonic])
        return found

    def with_modifiers(self, mnemonic: str, modifiers: Sequence[str]) -> Sequence[Form]:
        """Those of a mnemonic's forms that may take these modifiers, as far as that is known without reading a file."""
        homes = self._homes.get(mnemonic, [])
        near = [h for h in homes if (h, mnemonic) not in WITH or not WITH[h, mnemonic].isdisjoint(modifiers)]
        return self._of(mnemonic, near) if len(near) < len(homes) else self.get(mnemonic, ())

    @staticmethod
    def _of(mnemonic: str, homes: Sequence[str]) -> Sequence[Form]:
        return tuple(form for home in homes for form in forms_of(home) if form.mnemonic == mnemonic)

    def __contains__(self, mnemonic: object) -> bool:
        return mnemonic in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def forms_of(section: str) -> Sequence[Form]:
    """What one file of the instruction set declares."""
    forms: Sequence[Form] = import_module(f"ptxcore.isa.{section}").FORMS
    return forms


class Dialect:
    """A set of forms, and what its operands mean.

    `bare`: operands are locations or registers without brackets, registers have `register_width` bits, start at 0 and
    need no declaration. Otherwise operands are PTX's.
    """

    __slots__ = ("bare", "forms", "name", "register_width")

    def __init__(
        self, name: str, forms: Mapping[str, Sequence[Form]], *, bare: bool = False, register_width: int = 32
    ) -> None:
        self.name, self.forms, self.bare, self.register_width = name, forms, bare, register_width

    def __repr__(self) -> str:
        return f"Dialect({self.name!r})"


#: PTX as the manual has it.
TYPED = Dialect("typed", Forms(SECTIONS))


@lru_cache(maxsize=8192)
def candidates(
    opcode: str, modifiers: tuple[str, ...], dialect: Dialect = TYPED, manual: bool = False
) -> tuple[Use, ...] | Misfit | None:
    """What an opcode with these modifiers can mean: every form that takes them, what is wrong with them where none
    does, or None where no form has the opcode. `manual` judges as the manual says rather than as ptxas does."""
    if isinstance(dialect.forms, Forms):
        near = _of_mode(dialect.forms.with_modifiers(opcode, modifiers), manual)
        found = match(near, opcode, modifiers, manual) if near else None
        if isinstance(found, tuple):
            return found
    forms = _of_mode(dialect.forms.get(opcode, ()), manual)  # what is wrong is told of all of them
    return match(forms, opcode, modifiers, manual) if forms else None


def _of_mode(forms: Sequence[Form], manual: bool) -> Sequence[Form]:
    other = "ptxas" if manual else "manual"
    return [form for form in forms if form.only != other]


def explain(
    instruction: Instruction, misfit: Misfit | None, dialect: Dialect = TYPED, manual: bool = False
) -> InputError:
    """The error for an instruction that has no `candidates`."""
    opcode = instruction.opcode
    if misfit is not None:
        return complain(_of_mode(dialect.forms.get(opcode, ()), manual), instruction, misfit)
    if dialect is not TYPED and opcode in TYPED.forms:
        message = f"'{opcode}' is not part of the {dialect.name} dialect"
        return fail(instruction.span, message, "give it a type to make it PTX")
    hint = nearest(opcode.lower(), dialect.forms)
    return fail(instruction.span, f"unknown instruction '{opcode}'", hint, "unknown-instruction")


def successor(instruction: Instruction, manual: bool = False) -> str | None:
    """What to write for an instruction whose form is gone; None where its modifiers say nothing else."""
    forms = [form for form in _of_mode(TYPED.forms.get(instruction.opcode, ()), manual) if not form.until]
    result = match(forms, instruction.opcode, instruction.modifiers, manual) if forms else ()
    if not isinstance(result, Misfit):
        return None
    return f"now {result.message}" if result.missing else forms_hint((result.form,))
