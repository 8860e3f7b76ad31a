"""Where hardware is known to give something else than a meaning does, and why. docs/gpu-differences.md shows it.

A difference that an entry covers is counted as explained; every other one makes the comparison fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ptxcore.isa.form import Use

#: The operands of one thread, in order, without constants.
Sources = Sequence[int]


def _always(use: Use, sources: Sources) -> bool:
    return True


class Known(NamedTuple):
    """`kind`: `open` where the manual leaves the result open, `deviates` where the manual fixes it. `mnemonics`: the
    instructions in that section, "" for all. `when` is a condition on their modifiers and types (see `Form.rules`), and
    `where` one on the operands; `inputs` says it in words."""

    section: str
    mnemonics: str
    kind: str
    inputs: str
    ours: str
    hardware: str
    when: str = ""
    where: Callable[[Use, Sources], bool] = _always


def _by_zero(use: Use, sources: Sources) -> bool:
    return sources[1] == 0


def _is_f64_nan(use: Use, sources: Sources) -> bool:
    return sources[0] & (1 << 63) - 1 > 0x7FF << 52


def _two_f64_nans(use: Use, sources: Sources) -> bool:
    return sum(x & (1 << 63) - 1 > 0x7FF << 52 for x in sources) > 1


def _base_beyond(use: Use, sources: Sources) -> bool:
    return sources[1] > 31


def _no_saturation(use: Use, sources: Sources) -> bool:
    return use.op in ("min", "max") and not use.words["sat"]


KNOWN = (
    Known("9.7.1.8", "div", "open", "the divisor is 0", "all bits are 1", "that or anything else", where=_by_zero),
    Known("9.7.1.9", "rem", "open", "the divisor is 0", "all bits are 1", "that or anything else", where=_by_zero),
    Known("9.7.1.17", "fns", "open", "the base is above 31", "-1", "that or anything else", where=_base_beyond),
    Known(
        "9.7.3.9", "abs", "deviates", "NaN of `.f64`", "passes unchanged, as the manual says", "has its sign cleared",
        when="f64", where=_is_f64_nan,
    ),
    Known(
        "9.7.3", "add sub mul fma mad min max div", "open", "several NaNs of `.f64`", "one of the payloads",
        "perhaps another of them", when="f64", where=_two_f64_nans,
    ),
    Known(
        "9.7.18.1.1", "vadd vsub", "deviates", "the result overflows in front of `.min` or `.max`, without `.sat`",
        "the second operation sees all 34 bits, as the manual says", "32 bits of it",
        where=_no_saturation,
    ),
)  # fmt: skip


def explanation(use: Use, sources: Sources) -> Known | None:
    """The entry that covers a difference, where there is one."""
    for known in KNOWN:
        if not f"{use.form.section}.".startswith(f"{known.section}."):
            continue
        if known.mnemonics and use.form.mnemonic not in known.mnemonics.split():
            continue
        if (not known.when or use.has(known.when)) and known.where(use, sources):
            return known
    return None
