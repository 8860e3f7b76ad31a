"""Values that nothing determines: a `try_wait` that gives up too early, a clock. They are no events.

A clock may say any number, but most programs only ask few questions of it: whether one reading is later than another by so
much. `samples` has as many numbers for each reading as it takes to give these questions every combination of answers that
they can have. Of a reading that a program computes with otherwise any number is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from weakref import WeakKeyDictionary

from axioms.program import Program
from ptxcore.isa.effect_kinds import INPUT
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: As many combinations of answers are told apart.
_MOST_COMBINATIONS = 64

_Samples = dict[Term, tuple[int, ...] | None]
_samples: WeakKeyDictionary[Program, dict[tuple[Value, ...], _Samples]] = WeakKeyDictionary()


def inputs(program: Program) -> Iterator[Term]:
    """The truth values among them."""
    for thread in program.threads:
        for effect in thread.execution.effects:
            if effect.kind is INPUT and effect.result is not None and effect.result.width == 1:
                yield effect.result


def samples(program: Program, asked: Iterable[Value] = ()) -> Mapping[Term, tuple[int, ...] | None]:
    """The wider ones that matter, each with numbers that stand for all; None: nothing less than all will do. `asked`: what is
    asked of executions beside what the program says itself."""
    known, asked = _samples.setdefault(program, {}), tuple(asked)
    found = known.get(asked)
    if found is None:
        found = known[asked] = _find(program, asked)
    return found


def _find(program: Program, asked: Iterable[Value]) -> _Samples:
    wide = {
        effect.result
        for thread in program.threads
        for effect in thread.execution.effects
        if effect.kind is INPUT and effect.result is not None and effect.result.width > 1
    }
    if not wide:
        return {}
    questions, shown = _questions([*_used(program), *asked], wide)
    found: dict[Term, tuple[int, ...] | None] = dict.fromkeys(shown)
    for group in _together(questions):
        symbols = sorted(set[Term]().union(*map(terms.symbols_of, group)), key=lambda s: s.serial)
        numbers = None if shown.intersection(symbols) else _valuations(group, symbols)
        for i, symbol in enumerate(symbols):
            found[symbol] = None if numbers is None else tuple(sorted({valuation[i] for valuation in numbers}))
    return found


def _questions(values: Iterable[Value], wide: Set[Term]) -> tuple[list[Term], set[Term]]:
    """The truth values that hang on inputs alone, and the inputs that other values hang on."""
    values = [v for v in values if type(v) is Term]
    above: dict[Term, bool] = {}  # of each term with an input below it: whether there is nothing else
    for t in terms.subterms(values):
        if t.op == "symbol":
            if t in wide:
                above[t] = True
            continue
        below = [a for a in t.args if type(a) is Term]
        if any(a in above for a in below):
            above[t] = all(above.get(a, False) for a in below)
    found: dict[Term, None] = {}
    shown: set[Term] = set()
    seen: set[Term] = set()
    stack = [v for v in values if v in above]
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen.add(t)
        if above[t] and t.width == 1:
            found[t] = None
        elif t.op == "symbol":
            shown.add(t)
        else:
            stack += [a for a in t.args if type(a) is Term and a in above]
    return list(found), shown


def _together(questions: Iterable[Term]) -> list[list[Term]]:
    """The questions in groups that have no input in common."""
    groups: list[tuple[set[Term], list[Term]]] = []
    for question in questions:
        symbols, members = terms.symbols_of(question), [question]
        rest = []
        for other, those in groups:
            if symbols & other:
                symbols, members = symbols | other, [*those, *members]
            else:
                rest.append((other, those))
        groups = [*rest, (symbols, members)]
    return [members for _, members in groups]


def _valuations(questions: Sequence[Term], symbols: Sequence[Term]) -> list[tuple[int, ...]] | None:
    """Numbers for the inputs of some questions, for each combination of answers that there is; None where these are many."""
    import z3

    from axioms.sat.backends import check_z3, new_z3_solver
    from axioms.sat.smt import SmtText

    text = SmtText()
    names = [text.define(question, 1) for question in questions]
    asked = [f"(declare-const q!{i} Bool)\n(assert (= q!{i} {name}))" for i, name in enumerate(names)]
    solver = new_z3_solver()
    solver.from_string("\n".join([*text.lines, *asked]))
    found: list[tuple[int, ...]] = []
    while len(found) < _MOST_COMBINATIONS:
        if not check_z3(solver, (), None):
            return found
        model = solver.model()
        numbers = [model.eval(z3.BitVec(text.names[s], s.width), model_completion=True) for s in symbols]
        found.append(tuple(number.as_long() for number in numbers))
        answers = [(z3.Bool(f"q!{i}"), model.eval(z3.Bool(f"q!{i}"), model_completion=True)) for i in range(len(names))]
        solver.add(z3.Or([q != answer for q, answer in answers]))
    return None


def _used(program: Program) -> Iterator[Value]:
    """Whatever is looked at to decide."""
    yield from (program.condition, program.filter, *[o.value for o in program.observed])
    for thread in program.threads:
        yield from (thread.execution.finishes, thread.execution.cut)
        for stuck in thread.execution.stuck:
            yield stuck.guard
    for e in program.events:
        yield e.guard
        yield from e.values or (e.value,)
    for behaviour in program.undefined_behaviours:
        yield behaviour.condition
