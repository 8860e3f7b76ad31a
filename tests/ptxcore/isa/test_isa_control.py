"""Which operands calls, branches and the instructions around them take (sections 9.7.12, 9.7.17 and 9.7.19)."""

from __future__ import annotations

from typing import Any

import pytest

from ptxcore.check.constants import check_values
from ptxcore.check.mismatch import OperandMismatch
from ptxcore.check.operands import arrange, judge
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates

LIST = ("(", "u32")
EMPTY = ("(",)


def judged(instruction: str, kinds: tuple[Any, ...], values: tuple[int | None, ...] = (), manual: bool = False) -> bool:
    opcode, *modifiers = instruction.split(".")
    uses = candidates(opcode, tuple(modifiers), manual=manual)
    assert uses is not None
    if isinstance(uses, Misfit):
        return False
    use = judge(uses, kinds, manual=manual)
    if isinstance(use, OperandMismatch):
        return False
    places = arrange(use, len(kinds))
    assert places is not None
    return not values or check_values(use, places, values) is None


@pytest.mark.parametrize(
    ("kinds", "taken"),
    [
        (("function",), True),
        (("function", EMPTY), True),
        ((LIST, "function", LIST), True),
        (("function", "prototype"), False),
        (("label",), False),
        (("u64", "prototype"), True),
        (("b32", EMPTY, "callees"), True),
        ((LIST, "u64", LIST, "prototype"), True),
        ((LIST, "u64", LIST, ("var", "global", "u64")), True),
        ((LIST, "u64", LIST, ("var", "shared", "u64")), False),
        ((LIST, "u64", LIST, ("var", "global", "s64")), False),
        ((LIST, "u64", LIST, "targets"), False),
        (("u64", LIST), False),
        (("f64", LIST, "prototype"), False),
        (("u16", LIST, "prototype"), False),
        (("function", "u32"), False),
    ],
)
def test_calls(kinds: tuple[Any, ...], taken: bool) -> None:
    assert judged("call.uni", kinds) is taken


def test_results_without_arguments_are_no_call_of_the_manual() -> None:
    assert judged("call", (LIST, "function"))
    assert not judged("call", (LIST, "function"), manual=True)


def test_branches_go_to_labels_and_through_lists_of_them() -> None:
    assert judged("bra.uni", ("label",))
    assert not judged("bra", ("function",))
    assert judged("brx.idx", ("u32", "targets"))
    assert not judged("brx.idx", ("u32", "callees"))
    assert not judged("brx.uni.idx", ("u32", "targets"))


@pytest.mark.parametrize(
    ("instruction", "kinds", "good", "bad"),
    [
        ("alloca.u64", ("u64", "u64", "int"), (1, 8, 1 << 31), (0, 3, -8, 1 << 32)),
        ("pmevent", ("int",), (0, 15), (-1, 16)),
        ("pmevent.mask", ("int",), (0, 65535), (65536,)),
        ("setmaxnreg.inc.sync.aligned.u32", ("int",), (24, 256), (16, 25, 264)),
    ],
)
def test_constants_in_their_ranges(
    instruction: str, kinds: tuple[Any, ...], good: tuple[int, ...], bad: tuple[int, ...]
) -> None:
    before = (None,) * (len(kinds) - 1)
    assert all(judged(instruction, kinds, (*before, value)) for value in good)
    assert not any(judged(instruction, kinds, (*before, value)) for value in bad)
