"""One machine for operators: it groups as Python does, whose operators are read by somebody else."""

from __future__ import annotations

import ast
import random

from ptxcore.syntax.precedence import LEFT, RIGHT, RUN, Stacks, Waiting, levels

_PYTHON = levels((LEFT, "|"), (LEFT, "^"), (LEFT, "&"), (LEFT, "+ -"), (LEFT, "* / %"))
_SIGN = 10


def _tree(words: list[str], stacks: Stacks[str, int]) -> str:
    """A whole expression of one-letter operands, binary operators, `~` and parentheses, fully in parentheses."""
    operand = True
    for place, word in enumerate(words):
        if word == "(":
            stacks.open(word, place)
        elif word == ")":
            assert stacks.innermost() is not None
            stacks.waiting.pop()
        elif word == "~" and operand:
            stacks.prefix(word, place, _SIGN)
        elif word in stacks.table:
            stacks.binary(word, place)
        else:
            stacks.values.append(word)
        operand = word in stacks.table or word in "(~"
    assert stacks.innermost() is None
    (value,) = stacks.values
    return value


def _joined(waiting: Waiting[int], operands: list[str]) -> str:
    if waiting.arity == 1:
        return f"({waiting.operator}{operands[0]})"
    return "(" + f" {waiting.operator} ".join(operands) + ")"


def _written(random_: random.Random, depth: int) -> list[str]:
    if depth == 0:
        return [random_.choice("abc")]
    kind = random_.randrange(6)
    if kind == 0:
        return ["(", *_written(random_, depth - 1), ")"]
    if kind == 1:
        return ["~", *_written(random_, depth - 1)]
    return [*_written(random_, depth - 1), random_.choice(list(_PYTHON)), *_written(random_, depth - 1)]


def test_operators_group_as_pythons_do() -> None:
    random_ = random.Random(7)
    for _ in range(300):
        words = _written(random_, random_.randrange(1, 6))
        ours = _tree(words, Stacks(_PYTHON, _joined))
        assert ast.dump(ast.parse(ours)) == ast.dump(ast.parse("".join(words)))


def test_levels_group_to_the_left_to_the_right_or_as_a_run() -> None:
    table = levels((RIGHT, ">"), (RUN, "|"), (LEFT, "-"))
    words = ["a", ">", "b", ">", "c", "|", "d", "|", "e", "-", "f", "-", "g"]
    assert _tree(words, Stacks(table, _joined)) == "(a > (b > (c | d | ((e - f) - g))))"
    assert _tree(["(", "a", "|", "b", ")", "|", "c"], Stacks(table, _joined)) == "((a | b) | c)"


def test_no_nesting_is_too_deep() -> None:
    words = ["(", "~"] * 20_000 + ["a"] + [")"] * 20_000
    assert _tree(words, Stacks(_PYTHON, lambda _, operands: operands[0])) == "a"
