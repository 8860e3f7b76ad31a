"""What is claimed of values, for a smaller launch of the same kernel.

A claim about a value of the launch that was asked for (`result[0] == 512`) has another value in a smaller one. What its author
means there is taken to be what the kernel computes where its threads take turns, each step seen by all others at once: a
mistake of order does not show in such a run. Where runs in several orders end alike, that is claimed of the smaller launch, of
the elements that the claims name. It is a guess: nothing is concluded from it, and what mends the smaller launch is proven on
the one that was asked for.
"""

from __future__ import annotations

from dataclasses import replace

from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.expressions import TYPES, Element, KernelExpression, Number, OperatorExpression, Typed
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.runs import FinalValues, Runs, truth
from ptxmm.kernels.test import Check, KernelTest, observed

#: The orders in which threads take turns: round-robin, and as these seeds say.
_ORDERS = (None, 1, 2)
#: Instructions after which a run is given up.
_LIMIT = 200_000


def with_expected(small: KernelTest, asked: KernelTest) -> KernelTest:
    """A smaller launch with what is expected there of the values that the test which was asked for claims something of in all
    executions; as it is where runs of it in several orders do not end alike."""
    claims = tuple(c for c in asked.checks if c.kind in ("forall", "never") and not c.of_any_size)
    elements = observed(claims)
    if not elements or not all(_inside(small, name, index) for name, index in elements):
        return small
    state = _alike(replace(small, checks=claims))
    if state is None:
        return small
    expected = [_is(small, name, index, state[f"{name}[{index}]"]) for name, index in elements]
    # what is no number is equal to none
    expected = [check for check in expected if truth(small, check, state)]
    return replace(small, checks=(*small.checks, *expected))


def _alike(small: KernelTest) -> FinalValues | None:
    """The final values of a launch, where those of all orders are the same."""
    try:
        runs = Runs(small)
        states = [runs.run(seed, limit=_LIMIT) for seed in _ORDERS]
    except (KernelError, UsageError, InputError):
        return None
    return states[0] if all(state == states[0] for state in states) else None


def _inside(test: KernelTest, name: str, index: int) -> bool:
    """Whether a buffer has an element, whose value a run tells."""
    return any(isinstance(p, Buffer) and p.name == name and index < p.elements for p in test.parameters)


def _is(test: KernelTest, name: str, index: int, value: int) -> Check:
    """The claim that an element always ends with a value."""
    kind = TYPES[next(p.type for p in test.parameters if isinstance(p, Buffer) and p.name == name)]
    bits = value & (1 << kind.width) - 1
    node = OperatorExpression(0, 0, "==", (Element(0, 0, name, index), Number(0, 0, Typed(bits, kind))), 1)
    return Check("forall", KernelExpression(f"{name}[{index}] == {value}", node))


__all__ = ["with_expected"]
