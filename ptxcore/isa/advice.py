"""What to say of an instruction that no form takes: what is wrong, and what could stand there instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptxcore.diagnostics import InputError, fail, nearest
from ptxcore.isa.form import Form, words
from ptxcore.isa.matching import Misfit, dotted
from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.spans import modifier_span
from ptxcore.syntax.tree import Instruction


def complain(forms: Sequence[Form], instruction: Instruction, misfit: Misfit) -> InputError:
    """The error for an instruction whose modifiers no form takes, at the modifier's place."""
    patterns = [form.pattern for form in forms]
    known = {word for p in patterns for slot in (*p.slots, *p.types) for word in slot.words}
    for i, word in enumerate(instruction.modifiers):
        if word not in known:
            message = f"unknown modifier '.{word}' on '{instruction.opcode}'"
            return fail(modifier_span(instruction, i), message, _instead(word, known), "unknown-modifier")
    span = instruction.span if misfit.modifier < 0 else modifier_span(instruction, misfit.modifier)
    return fail(span, misfit.message, forms_hint((misfit.form,)), "modifiers")


#: Modifiers that people take for each other, among them words that only other languages have.
_ALIKE = (
    words("weak relaxed acquire release acq_rel sc volatile mmio seq_cst consume acq rel monotonic"),
    words("cta cluster gpu gl sys warp thread block device system workgroup agent grid"),
    words("v1 v2 v3 v4 v8 v16"),
    words("1d 2d 3d 4d 5d 6d a1d a2d cube acube 2dms a2dms"),
    words("rn rz rm rp rna rs rni rzi rmi rpi rnd rd ru"),
    words("ca cg cs lu cv wb wt nc"),
    words("const global local param shared shared::cta shared::cluster generic"),
    words("add sub and or xor exch cas inc dec min max popc"),
)
_MOST_SHOWN = 16


def _instead(word: str, known: Iterable[str]) -> str | None:
    """What may stand where an unknown modifier does."""
    legal = sorted(known)
    if word in WIDTHS:
        alike = [w for w in legal if w in WIDTHS]
        return f"types are {dotted(sorted(alike, key=lambda t: (t[0], WIDTHS[t])))}" if alike else "it has no types"
    alike = [w for w in legal if any(word in group and w in group for group in _ALIKE)]
    close = None if alike else nearest(f".{word.lower()}", (f".{w}" for w in legal))
    if close is not None:
        return close
    if not legal:
        return "it takes no modifiers"
    alike = alike or legal
    return f"legal are {dotted(alike)}" if len(alike) <= _MOST_SHOWN else None


def forms_hint(forms: Iterable[Form]) -> str:
    """The forms that an instruction could have, with the manual's section."""
    several = list(forms)
    # What ptxas alone takes is nothing to recommend.
    several = [form for form in several if not form.only] or several
    shown = list(dict.fromkeys(f"{form.shown()} (section {form.section})" for form in several))[:_MOST_FORMS]
    return f"the form{'s are' if len(shown) > 1 else ' is'}: {'; '.join(shown)}"


_MOST_FORMS = 4
