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


def _part(use: Use, operand: str, value: int) -> int:
    """The number that a video instruction selects of an operand."""
    selected = use.words[f"{operand}sel"]
    width = {"": 32, "b": 8, "h": 16}[selected[:1]]
    value = value >> width * int(selected[1:] or 0) & (1 << width) - 1
    negative = use.words[f"{operand}type"][0] == "s" and value >> width - 1
    return value - (1 << width) if negative else value


def _overflows(use: Use, sources: Sources) -> bool:
    if use.op not in ("min", "max") or use.words["sat"]:
        return False
    a, b = _part(use, "a", sources[0]), _part(use, "b", sources[1])
    result = a + b if use.form.mnemonic == "vadd" else a - b
    low = -(1 << 31) if use.words["dtype"][0] == "s" else 0
    return not low <= result < low + (1 << 32)


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
        where=_overflows,
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
