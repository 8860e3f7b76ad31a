"""Values over finite sets, as literals: which number a term has, when each read can return only finitely many.

A term becomes a map from number to the literal of "it has this number". The maps are exact: in every model of the formula in
which the reads below a term are executed, the literal of its number is true and the others are false.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from axioms.sat.formula import BOTH, FALSE, TRUE, Formula
from ptxcore.clock import paced, tick
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: A value with more possibilities than this is not finite for our purposes.
MAX_NUMBERS = 1024
#: A product of possibilities larger than this is not worth writing out.
MAX_PRODUCT = 65536

NumberLiterals = dict[int, int]


class TooManyValues(Exception):
    """Some value ranges over more numbers than are worth enumerating: the problem needs bit-vectors."""


def numbers_of(term: Term, known: Mapping[Term, frozenset[int]]) -> frozenset[int]:
    """The numbers that `term` can have when its operands have those in `known`."""
    tick()
    sets = [known[a] if type(a) is Term else (a,) for a in term.args]
    if term.width == 1:
        return _TRUTH if all(sets) else _NONE
    product = 1
    for s in sets:
        product *= len(s)
    if product > MAX_PRODUCT:
        raise TooManyValues
    found = {terms.apply(term, combination) for combination in itertools.product(*sets)}
    if len(found) > MAX_NUMBERS:
        raise TooManyValues
    return frozenset(found)


_TRUTH, _NONE = frozenset((0, 1)), frozenset[int]()


def domains(sources: Mapping[Term, list[Value]], others: Iterable[Value], rounds: int) -> dict[Term, frozenset[int]]:
    """The numbers each symbol can have, and each term above symbols.

    `sources` gives for each symbol the values it may take over. What flows in circles is computed in rounds: no value can flow
    through one read twice, so as many rounds as there are reads in such a circle are enough, and at most `rounds` are made.
    """
    known: dict[Term, frozenset[int]] = {}
    for circle in _circles(sources):
        plain = {s: frozenset(v for v in sources[s] if type(v) is int) for s in circle}
        derived = {s: [v for v in sources[s] if type(v) is Term] for s in circle}
        inside = [t for t in terms.subterms([v for values in derived.values() for v in values]) if t not in known]
        known.update(plain)
        for _ in range(min(rounds + 1, len(circle))):
            for t in inside:
                if t.op != "symbol":
                    known[t] = numbers_of(t, known)
            new = {s: plain[s].union(*[known[v] for v in values]) for s, values in derived.items()}
            if any(len(n) > MAX_NUMBERS for n in new.values()):
                raise TooManyValues
            if all(new[s] == known[s] for s in new):
                break
            known.update(new)
        for t in inside:
            if t.op != "symbol":
                known[t] = numbers_of(t, known)
    _extend(known, terms.subterms(others))
    return known


def _circles(sources: Mapping[Term, list[Value]]) -> list[list[Term]]:
    """The symbols whose values flow into each other, together; behind those that only flow into them (Tarjan 1972)."""
    below: dict[Term, list[Term]] = {}
    for s, values in sources.items():
        into = below[s] = []
        for v in paced(values):
            into += [b for b in terms.symbols_of(v) if b in sources]
    found: list[list[Term]] = []
    number: dict[Term, int] = {}
    low: dict[Term, int] = {}
    path: list[Term] = []
    placed: set[Term] = set()
    for root in sources:
        stack = [] if root in number else [(root, iter(below[root]))]
        while stack:
            tick()
            s, rest = stack[-1]
            if s not in number:
                number[s] = low[s] = len(number)
                path.append(s)
            for b in rest:
                if b not in number:
                    stack.append((b, iter(below[b])))
                    break
                if b not in placed:
                    low[s] = min(low[s], low[b])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[s])
                if low[s] == number[s]:
                    at = path.index(s)
                    found.append(path[at:])
                    placed.update(path[at:])
                    del path[at:]
    return found


def _extend(known: dict[Term, frozenset[int]], order: list[Term]) -> None:
    for t in order:
        if t.op != "symbol" and t not in known:
            known[t] = numbers_of(t, known)


class Lowering:
    """Terms to literals. Until `settle` is called the symbols' choices are not known yet: conditions on them get literals
    without a meaning, which `settle` then ties to what the choices say."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.choices: dict[Term, NumberLiterals] = {}
        self.truths: dict[Term, int] = {}
        self.postponed: dict[Term, int] = {}
        self.settled = False

    def settle(self) -> None:
        """To be called once, when every symbol has its entry in `choices`."""
        self.settled = True
        for t, literal in self.postponed.items():
            for below in terms.subterms([t]):
                if below is t:
                    break
                if below.width == 1:
                    if below not in self.truths:
                        self.truths[below] = self._truth(below)
                elif below not in self.choices:
                    self.choices[below] = self._choices(below)
            self.formula.equal(literal, self._truth(t))

    def condition(self, value: Value) -> int:
        """The literal of a truth value, before `settle`."""
        if type(value) is int:
            return TRUE if value else FALSE
        assert type(value) is Term
        stack: list[Term] = [value]
        while stack:
            t = stack[-1]
            if t in self.truths:
                stack.pop()
            elif t.op in ("all", "any", "not"):
                missing = [a for a in t.args if a not in self.truths]
                if missing:
                    stack += missing
                else:
                    self.truths[t] = self._truth(t)
            else:
                self.truths[t] = self.postponed[t] = self.formula.new()
        return self.truths[value]

    def truth(self, value: Value) -> int:
        """The literal of a truth value."""
        if type(value) is int:
            return TRUE if value else FALSE
        assert type(value) is Term
        known = self.truths.get(value)
        if known is None:
            for t in terms.subterms([value]):
                if t.width == 1:
                    if t not in self.truths:
                        self.truths[t] = self._truth(t)
                elif t not in self.choices:
                    self.choices[t] = self._choices(t)
            known = self.truths[value]
        return known

    def value(self, value: Value) -> NumberLiterals:
        """The choices of a value."""
        if type(value) is int:
            return {value: TRUE}
        assert type(value) is Term
        if value.width == 1:
            literal = self.truth(value)
            return {n: l for n, l in ((1, literal), (0, -literal)) if l != FALSE}
        for t in terms.subterms([value]):
            if t.width == 1:
                self.truth(t)
            elif t not in self.choices:
                self.choices[t] = self._choices(t)
        return self.choices[value]

    def fresh(self, numbers: Iterable[int]) -> NumberLiterals:
        """A new variable over `numbers`, of which at most one holds."""
        ordered = sorted(numbers)
        if len(ordered) == 1:
            return {ordered[0]: TRUE}
        new = {n: self.formula.new() for n in ordered}
        self.formula.at_most_one(list(new.values()))
        return new

    def _operand(self, a: Value) -> NumberLiterals:
        if type(a) is int:
            return {a: TRUE}
        assert type(a) is Term
        if a.width == 1:
            literal = self.truths[a]
            return {n: l for n, l in ((1, literal), (0, -literal)) if l != FALSE}
        return self.choices[a]

    def _truth(self, t: Term) -> int:
        formula = self.formula
        op = t.op
        if op == "symbol":
            choices = self.choices.get(t)
            if choices is None:
                return formula.new()
            return choices.get(1, FALSE) if 0 in choices else TRUE
        if op == "not":
            return -self.truths[t.args[0]]
        if op == "all":
            return formula.conj_all((self.truths[a] for a in t.args), BOTH)
        if op == "any":
            return formula.disj((self.truths[a] for a in t.args), BOTH)
        operands = [self._operand(a) if type(a) is Term else {a: TRUE} for a in t.args]
        if op == "eq":
            a, b = operands
            return formula.disj([formula.conj(l, b[n], BOTH) for n, l in a.items() if n in b], BOTH)
        return self._by_table(t, operands).get(1, FALSE)

    def _choices(self, t: Term) -> NumberLiterals:
        if t.op == "ite":
            condition = self.truths[t.args[0]] if type(t.args[0]) is Term else TRUE
            return self._either(condition, self._operand(t.args[1]), self._operand(t.args[2]))
        return self._by_table(t, [self._operand(a) if type(a) is Term else {a: TRUE} for a in t.args])

    def _either(self, condition: int, a: NumberLiterals, b: NumberLiterals) -> NumberLiterals:
        result = self.fresh({*a, *b})
        for n, literal in a.items():
            self.formula.add([-condition, -literal, result[n]])
        for n, literal in b.items():
            self.formula.add([condition, -literal, result[n]])
        return result

    def _by_table(self, t: Term, operands: list[NumberLiterals]) -> NumberLiterals:
        """The operation's graph, combination by combination."""
        formula = self.formula
        size = 1
        for o in operands:
            size *= len(o)
        if size > MAX_PRODUCT:
            raise TooManyValues
        rows: dict[int, list[tuple[int, ...]]] = {}
        for combination in itertools.product(*[o.items() for o in operands]):
            number = terms.apply(t, tuple(n for n, _ in combination))
            rows.setdefault(number, []).append(tuple(l for _, l in combination if l != TRUE))
        if len(rows) == 1:
            return dict.fromkeys(rows, TRUE)
        if all(len(r) <= 1 for row in rows.values() for r in row):  # one uncertain operand: no new variables but unions
            return {n: formula.disj([r[0] for r in row], BOTH) for n, row in rows.items()}
        result = self.fresh(rows)
        for n, row in rows.items():
            for literals in row:
                formula.add([*[-l for l in literals], result[n]])
        return result
