"""Asks one execution what its model says of executions by themselves: see `axioms.cat.residual`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from axioms.cat.evaluate import bits
from axioms.cat.model import Model
from axioms.cat.nodes import Rows
from axioms.errors import UnsupportedProgram
from axioms.program import Program

if TYPE_CHECKING:
    from axioms.cat.compiled import ExecutionFacts
    from axioms.witness.judge import Judged


class _Seen(Mapping[str, "int | Rows"]):
    """Base names to values, and which were asked for."""

    def __init__(self, base: Mapping[str, int | Rows]) -> None:
        self._base = base
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> int | Rows:
        self.names.add(name)
        return self._base[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


def refuse(program: Program, model: Model) -> None:
    """Raises UnsupportedProgram for a program whose executions are not asked one by one."""
    if model.residual is None:
        return
    waits = not program.kinds.isdisjoint(("barrier", "mbarrier", "collective")) or program.kernels
    ends = all(t.execution.finishes == 1 for t in program.threads)
    if waits or not ends or program.undetermined or program.open:
        raise UnsupportedProgram(
            f"the model asks each execution by itself ({model.residual.what}), which is decided for programs whose threads end "
            "whatever happens, without barriers, kernels, and values that nothing determines"
        )


def _facts(candidate: Judged) -> tuple[ExecutionFacts, _Seen]:
    from axioms.cat.compiled import ExecutionFacts

    program = candidate.program

    def value(index: int) -> int | None:
        event = program.events[index]
        return (
            candidate.value(event) if event.kind.accesses and candidate.executed[index] and not event.unstable else None
        )

    def place(index: int) -> str | None:
        return program.location_of(program.events[index])

    seen = _Seen(candidate.base())
    return ExecutionFacts(program.size, seen, value, place), seen


def allowed(candidate: Judged) -> bool:
    """Whether the execution passes what its model asks of it."""
    return needed_to_forbid(candidate) is None


def needed_to_forbid(candidate: Judged) -> frozenset[str] | None:
    """None for an execution that passes; else the base names whose values decide that it does not."""
    residual = candidate.model.residual
    if residual is None or candidate.circular:
        return None
    facts, seen = _facts(candidate)
    return None if residual.allows(facts) else frozenset(seen.names)


def flags_asked(candidate: Judged) -> Iterator[tuple[str, int, int]]:
    """The flags that the execution raises when it is asked, with each pair of events."""
    residual = candidate.model.residual
    if residual is None or not residual.raises:
        return
    for name, rows in residual.flags(_facts(candidate)[0]).items():
        for i, row in enumerate(rows):
            for j in bits(row):
                yield name, i, j


def value_of(candidate: Judged, expression: str) -> int | Rows:
    """The set (as bits) or the relation (as rows) that an expression is in an execution, under the names of its model. Raises
    InputError, with the place in the expression."""
    from axioms.cat.algebra import members, rows
    from axioms.cat.asking import names_of

    model = candidate.model
    found = names_of(model.sources, model.readings).value(expression, _facts(candidate)[0])
    return members(found) if found.kind == "set" else rows(found)


def displayed(candidate: Judged, drawn: dict[str, Rows]) -> dict[str, Rows]:
    """What is drawn of an execution, less what its model hides, with what it shows."""
    if not candidate.model.shown and not candidate.model.hidden:
        return drawn
    kept = {name: rows for name, rows in drawn.items() if name not in candidate.model.hidden}
    return kept | _shown(candidate)


def within_identity(rows: Rows) -> bool:
    """Whether a relation has no pair of two events: what `show` makes of a set."""
    return not any(row & ~(1 << i) for i, row in enumerate(rows))


def _shown(candidate: Judged) -> dict[str, Rows]:
    """The relations that the model wants to be shown, by name."""
    model = candidate.model
    residual = model.residual
    if residual is not None:
        answer = next(residual.answers(_facts(candidate)[0]), None)
        return dict(answer.shown) if answer is not None else {}
    from axioms.cat.evaluate import Evaluation
    from axioms.cat.nodes import Node

    evaluation = Evaluation.of(candidate.program.size, candidate.base())
    return {
        name: evaluation.rows(node)
        for name, node in model.shown.items()
        if isinstance(node, Node) and node.kind == "relation"
    }
