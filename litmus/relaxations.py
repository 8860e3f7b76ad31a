"""Every way to take something away from a litmus test by one step, as suites of minimal tests have it (ASPLOS'17): a thread, an
instruction, a guard; all barriers of one number; a weaker order; a narrower scope.

What comes out asks nothing (`exists true`) and lists the registers and locations of the test that are still there. It
was written as text and read again, so it is a test that a file may hold. What is none (a branch without its label) does
not come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from litmus.formats.placement import places
from litmus.formats.printer import write
from litmus.test import (
    And,
    Compare,
    Condition,
    Implies,
    Literal,
    LitmusThread,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import InputError
from ptxcore.places import LEVELS, SCOPES
from ptxcore.records import NamedTuple
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction, Name

NamedTerm = RegisterTerm | LocationTerm

#: What an order may become, by the kind of instruction. An order that is gone takes its scope with it.
_ORDERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "fence": {"sc": ("acq_rel",), "acq_rel": ("release", "acquire")},
    "ld": {"acquire": ("relaxed",), "relaxed": ("weak",), "volatile": ("weak",)},
    "st": {"release": ("relaxed",), "relaxed": ("weak",), "volatile": ("weak",)},
    "atom": {"acq_rel": ("release", "acquire"), "acquire": ("relaxed",), "release": ("relaxed",)},
    "red": {"acq_rel": ("release",), "release": ("relaxed",)},
    "mbarrier": {"release": ("relaxed",), "acquire": ("relaxed",)},
    "barrier": {"release": ("relaxed",)},
}
#: How an instruction writes scopes, narrowest first.
_SCOPES: Mapping[str, tuple[str, ...]] = {
    "membar": ("cta", "gl", "sys"),
    **dict.fromkeys(("fence", "ld", "st", "atom", "red", "mbarrier"), SCOPES),
}
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
#: Who arrives at a barrier of a CTA counts as a warp.
_WARP = 32


class Relaxation(NamedTuple):
    """A test with less in it, and what was taken."""

    test: Test
    what: str


def relaxations(test: Test) -> Iterator[Relaxation]:
    """The tests with one thing less: the most first. Each is read from text of its own."""
    for changed, what in _changes(test):
        read = restated(changed)
        if read is not None:
            yield Relaxation(read, what)


def restated(test: Test) -> Test | None:
    """The test as its text says it, with its name as its path; None for what no text can say."""
    from litmus.formats import read

    try:
        return read(write(test), test.name)
    except (InputError, ValueError):
        return None


def terms_of(test: Test) -> tuple[NamedTerm, ...]:
    """The registers and locations that a test speaks of behind its program, each once."""
    found = list(test.observed)
    waiting: list[Proposition] = [p for p in (test.condition.proposition, test.filter) if p is not None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Compare):
            found += [side for side in (part.left, part.right) if isinstance(side, RegisterTerm | LocationTerm)]
        elif isinstance(part, Not):
            waiting.append(part.operand)
        elif isinstance(part, Implies):
            waiting += [part.right, part.left]
        elif isinstance(part, And | Or):
            waiting += reversed(part.operands)
    return tuple(dict.fromkeys(found))


def open_question(test: Test) -> Test:
    """The test that only lists what its terms may be."""
    return replace(
        test, condition=Condition("exists", Literal(True)), observed=terms_of(test), filter=None, checks=(), meta=()
    )


def _changes(test: Test) -> Iterator[tuple[Test, str]]:
    bare = open_question(test)
    if len(bare.threads) > 1:
        for t, thread in enumerate(bare.threads):
            yield _without_thread(bare, t), f"{thread.name} dropped"
    for number in dict.fromkeys(n for t in bare.threads for s in t.statements if (n := _barrier(s)) is not None):
        threads = [replace(t, statements=tuple(s for s in t.statements if _barrier(s) != number)) for t in bare.threads]
        yield _with_threads(bare, threads), f"barrier {number} dropped"
    for t, thread in enumerate(bare.threads):
        for i, statement in enumerate(thread.statements):
            yield _with(bare, t, i, ()), f"{thread.name}: {print_statement(statement)} dropped"
    for t, thread in enumerate(bare.threads):
        for i, statement in enumerate(thread.statements):
            for weaker in _weaker(statement):
                what = f"{thread.name}: {print_statement(statement)} becomes {print_statement(weaker)}"
                yield _with(bare, t, i, (weaker,)), what


def _with(test: Test, thread: int, index: int, statements: tuple[AnyStatement, ...]) -> Test:
    threads = list(test.threads)
    old = threads[thread].statements
    threads[thread] = replace(threads[thread], statements=(*old[:index], *statements, *old[index + 1 :]))
    return _with_threads(test, threads)


def _with_threads(test: Test, threads: Sequence[LitmusThread]) -> Test:
    """The test with other threads of the same names, less what nobody uses any more."""
    used = {thread.name: frozenset(_words(thread)) for thread in threads}
    everywhere = frozenset().union(*used.values())
    locations = tuple(
        l for l in test.locations if l.name in everywhere or any(o.alias_of == l.name for o in test.locations)
    )
    names = {l.name for l in locations}
    threads = [
        replace(t, registers=tuple((name, value) for name, value in t.registers if name in used[t.name]))
        for t in threads
    ]
    observed = tuple(
        term
        for term in test.observed
        if (term.register in used[term.thread] if isinstance(term, RegisterTerm) else term.location in names)
    )
    return replace(test, threads=tuple(threads), locations=locations, observed=observed)


def _words(thread: LitmusThread) -> Iterator[str]:
    """The names in a thread, registers without their %."""
    for statement in thread.statements:
        yield from _WORD.findall(print_statement(statement))


def _barrier(statement: AnyStatement) -> int | None:
    """The number of the barrier of the CTA at which a statement arrives or waits."""
    if isinstance(statement, Instruction) and statement.opcode in ("bar", "barrier") and statement.operands:
        first = statement.operands[0]
        return first.value if isinstance(first, Immediate) and "cluster" not in statement.modifiers else None
    return None


def _without_thread(test: Test, gone: int) -> Test:
    """Less one thread; those behind it move up. Barriers of the CTA that count threads count a warp less."""
    dropped = test.threads[gone]
    left = [t for t in test.threads if t is not dropped]
    names = {t.name: f"P{i}" for i, t in enumerate(left)}
    met = frozenset(n for s in dropped.statements if (n := _barrier(s)) is not None)
    given = [{"host": 0} if t.place.host else {level: getattr(t.place, level) for level in LEVELS} for t in left]
    threads = [
        replace(
            thread,
            name=names[thread.name],
            place=place,
            statements=tuple(
                _fewer(s) if thread.place.cta == dropped.place.cta and _barrier(s) in met else s
                for s in thread.statements
            ),
        )
        for thread, place in zip(left, places(given), strict=True)
    ]
    observed = tuple(
        replace(o, thread=names[o.thread]) if isinstance(o, RegisterTerm) else o
        for o in test.observed
        if not isinstance(o, RegisterTerm) or o.thread in names
    )
    kernels = tuple(
        replace(k, threads=tuple(names[t] for t in k.threads if t in names))
        for k in test.kernels
        if any(t in names for t in k.threads)
    )
    there = {k.name for k in kernels}
    kernels = tuple(replace(k, after=tuple(a for a in k.after if a in there)) for k in kernels)
    return _with_threads(replace(test, observed=observed, kernels=kernels, threads=()), threads)


def _fewer(statement: AnyStatement) -> AnyStatement:
    """An operation on a barrier, with a warp less in its count."""
    assert isinstance(statement, Instruction)
    *first, count = statement.operands
    if first and isinstance(count, Immediate) and count.value > _WARP:
        return _changed(statement, statement.modifiers, (*first, Immediate(count.value - _WARP)))
    return statement


def _weaker(statement: AnyStatement) -> Iterator[Instruction]:
    if not isinstance(statement, Instruction):
        return
    words = statement.modifiers
    if isinstance(statement.guard, Name) and statement.opcode != "bra":
        yield Instruction(statement.opcode, words, statement.operands)
    for i, word in enumerate(words):
        for order in _ORDERS.get(statement.opcode, {}).get(word, ()):
            kept = [w for w in words[i + 1 :] if order != "weak" or w not in SCOPES]
            yield _changed(statement, (*words[:i], order, *kept))
    for i, word in enumerate(words):
        scopes = _SCOPES.get(statement.opcode, ())
        if word in scopes and scopes.index(word) > 0:
            yield _changed(statement, (*words[:i], scopes[scopes.index(word) - 1], *words[i + 1 :]))


def _changed(old: Instruction, modifiers: tuple[str, ...], operands: tuple[object, ...] | None = None) -> Instruction:
    return Instruction(old.opcode, modifiers, old.operands if operands is None else operands, old.guard)  # type: ignore[arg-type]
