"""From launches to a program: the interface between what a kernel test says and what is decided.

built = build([launch], [("x", 0)], lambda final: eq(final("x", 0).value, 2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ptxcore.values.terms import Value
from ptxmm.kernels.launch import Final, Launch, Triple

if TYPE_CHECKING:
    from axioms.program import Program


class ThreadInfo(NamedTuple):
    """Who a thread of the program is: `name` as the program has it."""

    name: str
    launch: int
    cta: Triple
    thread: Triple


class LoopNote(NamedTuple):
    """A loop that was not followed to its end, or was reduced to its last turn.

    `kind`: `bounded` (cut after `turns`), `waiting` (its turns but the last were left out, which changes no outcome).
    `label` is where it begins, `line` the line of the PTX, `source` file and line of the source where the module has them.
    `threads` are the names of those threads to which it happened.
    """

    kind: str
    launch: int
    label: str
    line: int
    source: tuple[str, int] | None
    turns: int
    threads: tuple[str, ...]


@dataclass(slots=True)
class Built:
    """A program, and who is who in it. `lines` has for each launch, by line of the PTX, file and line of the source."""

    program: Program
    threads: list[ThreadInfo]
    loops: list[LoopNote]
    lines: list[dict[int, tuple[str, int]]] = field(default_factory=list)
    #: Sentences about what was assumed or left out.
    notes: list[str] = field(default_factory=list)


def build(
    launches: Sequence[Launch],
    observe: Sequence[tuple[str, int]] = (),
    condition: Callable[[Final], Value] = lambda final: 1,
) -> Built:
    """The program of launches. States list the elements `observe` (buffer and number); `condition` makes the question's
    truth value of final elements.

    Raises InputError for modules that are wrong, `ptxcore.machine.kernel.launch.UsageError` for launches that cannot be made,
    UnsupportedProgram for what is not decided.
    """
    from axioms.program import UnsupportedProgram

    raise UnsupportedProgram("kernels are not explored yet")
