"""Mutants of a test that forbids something: a little weaker each, and then the model allows it.

After "MC Mutants" (ASPLOS 2023). A machine that breaks the rule which forbids an outcome behaves on the test as a sound machine
does on some mutant of it; how often a mutant shows the outcome says how likely it is that such a machine had been caught.
Mutants are of two kinds: an order or a scope weakened, a fence or a barrier dropped; and two accesses of a thread that stand
next to each other the other way round, which any machine may show that takes turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from litmus.relaxations import restated, terms_of
from litmus.test import Condition, Test
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import AnyStatement, Instruction, Name, Vector, names_in
from ptxmm.weakened import target_of, weakened

#: What may be swapped: accesses of a thread, and what a thread of the host does to kernels.
_ACCESSES = ("ld", "st", "atom", "red", "tex", "suld", "sust", "sured", "launch", "sync")


class Mutant(NamedTuple):
    """A test that allows what the other forbids, and how it differs: `what`. `kind` is `weakened` or `swapped`."""

    test: Test
    what: str
    kind: str


def mutants(test: Test, model: str, timeout: float | None) -> Iterator[Mutant]:
    """The mutants under which a model allows the outcome, each once."""
    import ptxmm
    from axioms.program import UnsupportedProgram

    wanted, terms = target_of(test), set(terms_of(test))
    for one in _changed(test):
        if not terms <= set(one.test.observed):
            continue
        asked = replace(one.test, condition=Condition("exists", wanted), observed=())
        try:
            if ptxmm.check(asked, model, timeout=timeout, witnesses=False).verdict == "ok":
                yield Mutant(asked, one.what, one.kind)
        except (InputError, UnsupportedProgram):
            continue


def _changed(test: Test) -> Iterator[Mutant]:
    for one in weakened(test):
        yield Mutant(one.test, one.what, "weakened")
    for t, thread in enumerate(test.threads):
        for i, (a, b) in enumerate(zip(thread.statements, thread.statements[1:], strict=False)):
            if _may_swap(a, b):
                statements = (*thread.statements[:i], b, a, *thread.statements[i + 2 :])
                threads = [replace(x, statements=statements) if x is thread else x for x in test.threads]
                bare = replace(
                    test, threads=tuple(threads), observed=terms_of(test), condition=Condition("exists"), more=(),
                    filter=None, checks=(), meta=(),
                )  # fmt: skip
                read = restated(bare)
                if read is not None:
                    yield Mutant(read, f"P{t}: {print_statement(a)} and {print_statement(b)} swapped", "swapped")


def _may_swap(a: AnyStatement, b: AnyStatement) -> bool:
    """Whether two statements are accesses of which neither computes what the other needs."""
    if not isinstance(a, Instruction) or not isinstance(b, Instruction):
        return False
    if a.opcode not in _ACCESSES or b.opcode not in _ACCESSES or a.guard is not None or b.guard is not None:
        return False
    first, second = set(names_in(*a.operands)), set(names_in(*b.operands))
    written = [set(names_in(*i.operands[:1])) if isinstance(i.operands[0], Name | Vector) else set() for i in (a, b)]
    return not (written[0] & second or written[1] & first)
