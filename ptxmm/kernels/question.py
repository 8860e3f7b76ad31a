"""A kernel test as a question to the engine: its program, what is asked of it, and who is who there."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.engine import decide
from axioms.program import asking
from axioms.witness.execution import ExecutedEvent, Execution
from axioms.witness.result import Decision, Undefined
from axioms.witness.stalls import Bounded, Stall
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.machine.run.launch import NoLoop, UsageError
from ptxcore.values import terms
from ptxcore.values.terms import Value
from ptxmm import judging
from ptxmm.kernels.build import Built, build
from ptxmm.kernels.launch import Buffer, Final, FinalElement
from ptxmm.kernels.numbers import Declared
from ptxmm.kernels.places import Places
from ptxmm.kernels.test import Check, KernelTest, observed, resolver
from ptxmm.result import Spot
from ptxmm.words.linearisation import Cast

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from axioms.program import Program

#: Kinds of checks that every outcome must be as wanted for; of the others, one that is will do.
SAFE = ("forall", "never")

#: With so many elements, states that list all of them can be read.
_MOST_LISTED = 1 << 16


class KernelQuestion:
    """A test, its program, and how long there is to answer."""

    def __init__(
        self,
        test: KernelTest,
        model: Model,
        *,
        engine: str = "solve",
        backend: str | None = None,
        deadline: float | None = None,
        all_elements: bool = False,
        races: bool = False,
        why: bool = False,
        explain: bool = False,
        options: frozenset[str] = frozenset(),
    ) -> None:
        """Raises InputError for PTX that is wrong, UnsupportedProgram for what is not decided."""
        self.test, self.model, self.why, self.explain = test, model, why, explain
        self.places = Places(test)
        self.engine, self.backend, self.deadline = engine, backend, deadline
        self.races = races or any(check.kind == "race_free" for check in test.checks)
        #: Why an execution is undefined that has no end: found where no other is like it.
        self.misuse: Undefined | None = None
        self.stalled: judging.Stalled | None = None
        elements = observed(test.checks)
        buffers = [p for p in test.parameters if isinstance(p, Buffer)]
        if all_elements:
            count = sum(p.elements for p in buffers)
            if count > _MOST_LISTED:
                message = f"the buffers have {count} elements: all of them are listed up to {_MOST_LISTED}"
                raise InputError([Diagnostic(Span(0, 0, 0), message)], test.path, test.text)
            every = ((p.name, i) for p in buffers for i in range(p.elements))
            elements = list(dict.fromkeys([*elements, *every]))
        self.elements: dict[tuple[str, int], FinalElement] = {}
        try:
            self.built: Built = build(
                test.launches, elements, lambda final: self._condition(elements, final), options, buffers
            )
        except UsageError as error:
            nowhere = Span(0, 0, 0)
            place = test.bounds.get(error.place, nowhere) if isinstance(error, NoLoop) else nowhere
            raise InputError([Diagnostic(place, str(error))], test.path, test.text) from None
        self.told: dict[int, str] = {}  # the names of threads that were told
        self.cast = Cast(self._told, self._spot, self._source, self._look)
        self.title = f"{test.name}  ({model.name})"
        self.declared = Declared(buffers)

    def _condition(self, elements: list[tuple[str, int]], final: Final) -> Value:
        self.elements = {key: final(*key) for key in elements}
        safe = [self.truth(c, final) for c in self.test.checks if c.kind in SAFE]
        found = [self.truth(c, final) for c in self.test.checks if c.kind == "exists"]
        return terms.all_of(safe) if safe else terms.all_of(found)

    def truth(self, check: Check, final: Final) -> Value:
        """That an outcome is as a check wants it."""
        assert check.expression is not None
        truth = check.expression.truth(resolver(self.test.parameters, final))
        return terms.negate(truth) if check.kind == "never" else truth

    def holds(self, check: Check, state: dict[str, int]) -> bool:
        """Whether an outcome is as a check wants it."""

        def final(name: str, index: int) -> FinalElement:
            element = self.elements[name, index]
            return replace(element, value=state[element.label] & terms.mask(element.width))

        return bool(self.truth(check, final))

    def decide(self, condition: Value | None = None, settles: bool = True) -> Decision:
        """The outcomes, and races where the test asks for them; with a condition of its own at least one outcome for which
        its truth is `settles`, where there is any."""
        program = self.built.program if condition is None else asking(self.built.program, condition)
        decision = decide(
            program, self.model, engine=self.engine, backend=self.backend, deadline=self.deadline,
            races=self.races and condition is None, settles=self._settles() if condition is None else settles,
            why=self.why and condition is None, explain=self.explain and condition is None, partial=True,
        )  # fmt: skip
        return self.declared(decision)

    def _settles(self) -> bool | None:
        """The truth of the program's condition that fails the test, or passes it, by a single outcome."""
        return (
            None
            if not any(c.expression for c in self.test.checks)
            else not any(c.kind in SAFE for c in self.test.checks)
        )

    @property
    def program(self) -> Program:
        return self.built.program

    def stall(self, kinds: tuple[str, ...]) -> Stall | Bounded | None:
        """An execution in which threads do not terminate in one of these ways, trap, or fail an assertion; None where it is
        proven that there is none."""
        found = judging.stall(
            self.built.program, self.model, kinds, self.test.progress, self.test.resident, self.engine, self.backend,
            self.deadline,
        )  # fmt: skip
        if self.engine == "enumerate" or not isinstance(found, Stall):
            return found
        return found._replace(execution=self.declared.execution(found.execution))

    # Who is who.

    def _name(self, thread: int) -> str:
        info = self.built.threads[thread]
        return self.places.thread(info.launch, info.cta, info.thread)

    def _told(self, thread: int) -> str:
        if thread not in self.told:
            self.told[thread] = self._name(thread)
        return self.told[thread]

    def who(self) -> dict[str, str]:
        """The threads that were told of, in their order: the name of each, and what there is to say of who it is."""
        infos = [self.built.threads[thread] for thread in sorted(self.told)]
        names = [name for _, name in sorted(self.told.items())]
        return {n: self.places.lane(i.launch, i.cta, i.thread) for n, i in zip(names, infos, strict=True)}

    def renamed(self, execution: Execution) -> Execution:
        """An execution whose threads have the names that people know them by, and whose events say where they come from."""
        threads = tuple((self._name(i), place) for i, (_, place) in enumerate(execution.threads))
        events = tuple(self._with_source(e) for e in execution.events)
        return replace(execution, threads=threads, events=events)

    def _with_source(self, event: ExecutedEvent) -> ExecutedEvent:
        launch = self.built.threads[event.thread].launch if event.thread >= 0 else len(self.built.lines)
        found = self.built.lines[launch].get(event.line or 0) if launch < len(self.built.lines) else None
        return event if found is None else replace(event, source=f"{os.path.basename(found[0])}:{found[1]}")

    def named(self, undefined: Undefined) -> Undefined:
        """The same with the names by which people know the threads."""
        sites = tuple(s._replace(name=self._name(s.thread)) if s.thread >= 0 else s for s in undefined.culprits)
        owners = {f"@{info.name}": f"@{self._name(i)}" for i, info in enumerate(self.built.threads)}
        beside = undefined.beside
        if beside is not None:
            beside = beside._replace(owner=owners.get(beside.owner, beside.owner))
        return replace(undefined, culprits=sites, beside=beside)

    def _spot(self, event: ExecutedEvent) -> Spot | None:
        return None if event.thread < 0 else self.ptx_spot(event.thread, event.line or 0)

    def ptx_spot(self, thread: int, line: int) -> Spot:
        return self.places.launch_spot(self.built.threads[thread].launch, line)

    def _source(self, event: ExecutedEvent) -> Spot | None:
        return None if event.thread < 0 or event.line is None else self.source_of(event.thread, event.line)

    def source_of(self, thread: int, line: int) -> Spot | None:
        """Where a line of the PTX comes from."""
        launch = self.built.threads[thread].launch
        lines = self.built.lines[launch] if launch < len(self.built.lines) else {}
        found = lines.get(line)
        return None if found is None else self.places.source_spot(launch, found)

    def pointed(self, thread: int, line: int, what: str) -> tuple[Spot, str]:
        """Where to look for a line of a thread, and what happens there; with the line of the PTX where one looks elsewhere."""
        launch = self.built.threads[thread].launch
        spot = self.places.look(launch, line, self.source_of(thread, line))
        ptx = self.places.launch_spot(launch, line)
        return spot, what if spot == ptx or not line else f"{what} ({ptx})"

    def _look(self, event: ExecutedEvent) -> Spot | None:
        if event.thread < 0:
            return None
        return self.places.look(self.built.threads[event.thread].launch, event.line or 0, self._source(event))
