"""Which part of a check an outcome is against: of `all(out[i] == 2 * i for i in range(1024))` what is something else."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.kernels.expressions import KernelExpression, KernelNode, OperatorExpression
from ptxmm.kernels.runs import FinalValues, truth
from ptxmm.kernels.test import Check, KernelTest

#: What a check is about, each part of which is enough for an outcome to be against it.
_PARTS = {"forall": "&&", "never": "||"}


def broken_parts(test: KernelTest, check: Check, state: FinalValues) -> Iterator[KernelNode]:
    """The smallest parts of a `forall` or `never` that an outcome is against, in the order of the text; none where it holds."""
    if check.expression is None or truth(test, check, state):
        return
    stack = [check.expression.node]
    while stack:
        node = stack.pop()
        if not isinstance(node, OperatorExpression) or node.op != _PARTS.get(check.kind):
            yield node
            continue
        parts = (Check(check.kind, KernelExpression("", part)) for part in reversed(node.operands))
        stack += [p.expression.node for p in parts if p.expression is not None and not truth(test, p, state)]


def broken_elements(test: KernelTest, check: Check, state: FinalValues) -> dict[str, int]:
    """The elements of an outcome that those parts name, with their values; all of them where a part names none."""
    labels = dict.fromkeys(
        element.label for part in broken_parts(test, check, state) for element in KernelExpression("", part).elements()
    )
    return {label: state[label] for label in labels if label in state} or dict(state)
