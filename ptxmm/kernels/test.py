"""A kernel test as a value: launches, what must hold of them, and the verdict that is expected."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, replace

from ptxcore.diagnostics import Span
from ptxcore.records import dataclass
from ptxmm.kernels.expressions import TYPES, Element, ExpressionError, KernelExpression, Resolver, Typed
from ptxmm.kernels.launch import Argument, Buffer, Final, Imaged, Launch, MultimemBuffers, Scalar, Structure
from ptxmm.result import ASSERTIONS as ASSERTIONS
from ptxmm.result import Spot, identity

#: Checks that an expression goes with, and checks that are true or false of the launches as a whole.
QUANTIFIERS = ("forall", "exists", "never")
PROPERTIES = ("race_free", "no_deadlock", "terminates", "no_trap")
#: A check that goes with a buffer, or an element of one; and all that go with a text.
DETERMINISTIC = "deterministic"
CLAIMS = (*QUANTIFIERS, DETERMINISTIC)

Parameter = Argument


@dataclass(frozen=True, slots=True)
class Check:
    """`kind` is one of `QUANTIFIERS`, with its `expression`, or of `PROPERTIES`: that it is so, or with `wanted` False
    that it is not so; or `ASSERTIONS`. `of_run`: the buffer, or the element of one, that ends as in one run, as
    `deterministic` claims; `ptxmm.kernels.determinism` makes that run and says what the contents are."""

    kind: str
    expression: KernelExpression | None = None
    wanted: bool = True
    spot: Spot | None = field(default=None, compare=False)
    of_run: Element | None = None

    @property
    def condition(self) -> str:
        """What must be so of outcomes, in words; empty for a property."""
        if self.expression is None:
            return ""
        return f"{DETERMINISTIC} {self.expression.text}" if self.of_run else self.expression.text

    @property
    def of_any_size(self) -> bool:
        """Whether it asks the same of launches of other sizes, which claims about values do not."""
        return self.expression is None or (self.of_run is not None and self.of_run.index is None)

    def elements(self) -> set[str]:
        """The elements that it speaks of, as `name[index]`."""
        elements = self.expression.elements() if self.expression is not None else ()
        return {f"{element.name}[{element.index}]" for element in elements}

    def __str__(self) -> str:
        if self.expression is not None:
            return self.condition if self.of_run else f"{self.kind} {self.condition}"
        return self.kind if self.wanted else f"{self.kind} = false"


@dataclass(frozen=True, slots=True)
class KernelTest:
    """`path` is the file it stands in, `variant` its name there (empty where a file is one test).

    `parameters` are all buffers and scalars that expressions may name. `expect` are the verdicts that are right.
    `bounded`: it says itself how many iterations its loops may take; else whoever asks does.
    """

    path: str
    variant: str
    launches: tuple[Launch, ...]
    parameters: tuple[Parameter, ...]
    checks: tuple[Check, ...]
    expect: tuple[str, ...] = ("ok",)
    bounded: bool = False
    #: Who is scheduled fairly (None: every thread), and how many CTAs run at once (None: all).
    progress: str | None = None
    resident: int | None = None
    #: The file's text, and where in it the bounds of loops stand: for messages.
    text: str = field(default="", compare=False, repr=False)
    bounds: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    __test__ = False  # not a test class, whatever pytest thinks of its name

    @property
    def identity(self) -> str:
        """`FILE:NAME`"""
        return identity(self.path, self.variant)

    @property
    def name(self) -> str:
        """`lock.toml:weak`; `lock` where the file is one test."""
        file = os.path.basename(self.path)
        return f"{file}:{self.variant}" if self.variant else os.path.splitext(file)[0] or file


def stored(parameter: Parameter) -> Parameter:
    """What expressions name: of a texture or a surface with texels of its own, these."""
    return parameter.buffer if isinstance(parameter, Imaged) and parameter.own else parameter


def resolver(parameters: tuple[Parameter, ...], final: Final) -> Resolver:
    """What names mean in expressions: elements of buffers as they are at the end, scalars as they were passed."""
    known = {p.name: p for p in parameters}

    def resolve(element: Element) -> Typed:
        parameter = known[element.name]
        assert not isinstance(parameter, Structure | Imaged | MultimemBuffers)
        kind = TYPES[parameter.type]
        if isinstance(parameter, Scalar):
            assert isinstance(parameter.value, int)
            return Typed(parameter.value, kind)
        assert element.index is not None
        return Typed(final(element.name, element.index).value, kind)

    return resolve


def problem_with(expression: KernelExpression, parameters: tuple[Parameter, ...]) -> ExpressionError | None:
    """The first name that means nothing, operator that its operands do not have, or comparison that asks nothing."""
    from ptxcore.diagnostics import nearest
    from ptxcore.values import terms
    from ptxmm.kernels.vacuous import refuse_vacuous

    known = {p.name: p for p in parameters}

    def resolve(element: Element) -> Typed:
        place = element.start, element.end
        parameter = known.get(element.name)
        if parameter is None:
            hint = nearest(element.name, known) or f"the parameters are {', '.join(known) or 'none'}"
            raise ExpressionError(*place, f"no parameter is called '{element.name}'", hint)
        if isinstance(parameter, Imaged):
            raise ExpressionError(*place, f"'{element.name}' is an image: name the buffer that has its texels")
        if isinstance(parameter, MultimemBuffers):
            names = ", ".join(buffer.name for buffer in parameter.buffers)
            raise ExpressionError(*place, f"'{element.name}' is a multimem address: name one of its buffers, {names}")
        if isinstance(parameter, Structure):
            what = "an address" if parameter.is_pointer else "passed as bytes"
            raise ExpressionError(*place, f"'{element.name}' is {what}: it has no value to compare")
        if isinstance(parameter, Scalar):
            if element.index is not None:
                raise ExpressionError(*place, f"'{element.name}' is a scalar: it has no elements")
            if isinstance(parameter.value, bytes):
                raise ExpressionError(*place, f"'{element.name}' is passed as bytes: it has no value to compare")
            return Typed(parameter.value, TYPES[parameter.type])
        if element.index is None:
            hint = f"name an element, as in {element.name}[0]"
            raise ExpressionError(*place, f"'{element.name}' is a buffer of {parameter.elements}", hint)
        if not 0 <= element.index < parameter.elements:
            last = parameter.elements - 1
            message = f"'{element.label}' lies outside of '{element.name}', whose elements are 0 to {last}"
            raise ExpressionError(*place, message)
        kind = TYPES[parameter.type]
        return Typed(terms.symbol(("element", element.label), kind.width), kind)

    try:
        expression.truth(resolve)
        refuse_vacuous(expression.node, resolve)
    except ExpressionError as error:
        return error
    return None


#: So many elements of a buffer are compared at most.
MOST_COMPARED = 262_144


def problem_with_contents(expression: KernelExpression, parameters: tuple[Parameter, ...]) -> ExpressionError | None:
    """Why an expression names no buffer, nor an element of one, whose contents can be compared."""
    node = expression.node
    if not isinstance(node, Element):
        return ExpressionError(
            node.start, node.end, f"'{DETERMINISTIC}' names a buffer", 'as in "x", or an element, "x[0]"'
        )
    elements = next((p.elements for p in parameters if p.name == node.name and isinstance(p, Buffer)), 0)
    if node.index is None and elements > MOST_COMPARED:
        message = f"'{node.name}' has {elements:,} elements, of which at most {MOST_COMPARED:,} are compared"
        return ExpressionError(node.start, node.end, message, f"name those that count, as in {node.name}[0]")
    one = replace(node, index=0) if node.index is None and elements else node
    return problem_with(replace(expression, node=one), parameters)


def observed(checks: tuple[Check, ...]) -> list[tuple[str, int]]:
    """The elements that the checks speak of, each once, in the order of appearance."""
    found: dict[tuple[str, int], None] = {}
    for check in checks:
        if check.expression is not None:
            for element in check.expression.elements():
                if element.index is not None:
                    found[element.name, element.index] = None
    return list(found)
