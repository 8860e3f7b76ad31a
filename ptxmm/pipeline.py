"""The way of a test to the engine: names become addresses, threads become events, the condition a truth value.

test -> memory (objects at addresses) -> threads executed once, on symbols -> program
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from axioms.program import AskedValues, Observable, Program, ProgramSource, ProgramThread, final_symbol
from axioms.program import build as assembled
from litmus.formats.dialects import dialect_named
from litmus.test import (
    TYPE_WIDTHS,
    AddressOf,
    And,
    Compare,
    Constant,
    Implies,
    Literal,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import Diagnostic, InputError, fail
from ptxcore.isa.effect_kinds import COLLECTIVE
from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.actions import MAPA_ALIAS
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import WHOLE_VECTORS, FinalRegister
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.machine.lower.code import prepare
from ptxcore.syntax.tree import AnyStatement, Instruction, Name
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value
from ptxmm.addresses import Addresses, is_of, ranks_of

if TYPE_CHECKING:
    from axioms.events.launches import KernelThreads

SideOfCondition = RegisterTerm | LocationTerm | Constant | AddressOf


def build(test: Test, unroll: int = 4, all_registers: bool = False, options: frozenset[str] = frozenset()) -> Program:
    """The program that a test stands for. Loop bodies run at most `unroll` times. `options` are those of
    `axioms.models.options.OF_PROGRAMS`.

    Raises InputError for mistakes of the test, UnsupportedProgram for what the engine does not decide yet.
    """
    try:
        return _Builder(test, unroll, all_registers, options).program()
    except InputError as error:
        if not error.text:
            error.path, error.text = test.path, test.text
        raise


def _special_registers(test: Test, more: dict[str, int]) -> dict[str, dict[str, int]]:
    """What threads know of their places in warps and clusters, where some thread asks; `more`: readings that they follow."""
    if not more and not any(_asks_for_its_place(s) for t in test.threads for s in t.statements):
        return {}
    from ptxcore.machine.run.special import LANES, WARP

    ranks = ranks_of(test)
    sizes = Counter(cluster for cluster, _ in ranks.values())
    lanes: Counter[tuple[int, int]] = Counter()
    found: dict[str, dict[str, int]] = {}
    for t in test.threads:
        if not t.place.host:
            warp = t.place.gpu, t.place.warp
            lane = lanes[warp]
            lanes[warp] += 1
            found[t.name] = {
                "cluster_ctarank": ranks[t.place.cta][1],
                "cluster_nctarank": sizes[t.place.cluster],
                **LANES[lane % WARP],
                **more,
            }
    return found


@cache
def _together(opcode: str) -> bool:
    """Whether the threads of a warp compute something together by such instructions; at a barrier they only wait."""
    return opcode != "bar" and any(form.kind == "warp" for form in TYPED.forms.get(opcode, ()))


def _asks_for_its_place(statement: object) -> bool:
    if not isinstance(statement, Instruction):
        return False
    names = (o.name for o in statement.operands if isinstance(o, Name))
    return (
        statement.opcode == "isspacep"
        or _together(statement.opcode)
        or "multicast::cluster" in statement.modifiers
        or any(name.startswith(("%cluster_", "%lane")) for name in names)
    )


#: The option that reads plain accesses otherwise, and what tells that one is not plain.
PLAIN_RELAXED = "plain=relaxed"
_NOT_PLAIN = frozenset(("weak", "relaxed", "acquire", "release", "volatile", "mmio", "nc", "const", "param", "async"))
_CACHE_OPERATORS = frozenset(("ca", "cg", "cs", "cv", "lu", "wb", "wt"))


def _strengthened(test: Test) -> Test:
    """The test with its plain loads and stores as `relaxed.sys`, whatever their cache operators."""
    threads = [replace(t, statements=tuple(map(_relaxed, t.statements))) for t in test.threads if t.dialect == "typed"]
    changed = {t.name: t for t in threads}
    return replace(test, threads=tuple(changed.get(t.name, t) for t in test.threads))


def _relaxed(s: AnyStatement) -> AnyStatement:
    if not isinstance(s, Instruction) or s.opcode not in ("ld", "st") or not _NOT_PLAIN.isdisjoint(s.modifiers):
        return s
    kept = tuple(m for m in s.modifiers if m not in _CACHE_OPERATORS)
    return Instruction(s.opcode, ("relaxed", "sys", *kept), s.operands, s.guard, s.span, s.text, s.start)


# Only tests with kernels and host threads, and those that ask for lanes and warps, import what these are about.


def _checked(test: Test) -> Test:
    """The test, its launches checked."""
    if not test.kernels and not any(t.place.host for t in test.threads):
        return test
    from litmus.launches import checked

    return checked(test)


def _kernels(test: Test) -> list[KernelThreads]:
    if not test.kernels:
        return []
    from axioms.events.launches import KernelThreads

    numbers = {t.name: i for i, t in enumerate(test.threads)}
    return [KernelThreads(k.name, frozenset(numbers[t] for t in k.threads), k.stream, k.after) for k in test.kernels]


class _Builder:
    def __init__(self, test: Test, unroll: int, all_registers: bool, options: frozenset[str]) -> None:
        self.test = test = _checked(_strengthened(test) if PLAIN_RELAXED in options else test)
        self.unroll, self.all_registers, self.options = unroll, all_registers, options
        self.kernels = _kernels(test)
        own_aliases = "mapa-alias" in options and any(is_of(s, "mapa") for t in test.threads for s in t.statements)
        self.memory = Addresses(test, own_aliases)
        readings = {MAPA_ALIAS: own_aliases, WHOLE_VECTORS: "whole-vectors" in options}
        self.special = _special_registers(test, {name: 1 for name, follows in readings.items() if follows})
        self.registers: dict[str, dict[str, FinalRegister]] = {}
        self.definitions: dict[Term, Value] = {}  # what the threads of warps compute together
        self.named = self._named_terms()

    def program(self) -> Program:
        """The program, each thread executed on symbols."""
        threads = []
        problems: list[Diagnostic] = []
        for t, code in zip(self.test.threads, self._codes(problems), strict=True):
            try:
                if code is not None:
                    execution = explore(code, unroll=self.unroll, name=t.name)
                    kernel = next((k.name for k in self.test.kernels if t.name in k.threads), None)
                    cta = t.place.cta if self.memory.of_cta else None
                    source = (t.statements, t.dialect, t.registers, cta, kernel, tuple(code.special.items()))
                    threads.append(ProgramThread(t.name, t.place, code, execution, source))
            except InputError as error:
                problems += error.diagnostics
        if problems:
            raise InputError(sorted(problems, key=lambda d: d.span))
        self._put_warps_together(threads)
        program = assembled(
            ProgramSource(
                threads, self.memory.objects, self.memory.views, self.asked, self.unroll, self.definitions,
                tuple(self.kernels), self.options,
            )
        )  # fmt: skip
        if program.grids is not None:
            program.grids.refuse_uncertain_launches()
        return program

    def _put_warps_together(self, threads: list[ProgramThread]) -> None:
        """Threads that compute something together with others of their warp are executed anew, together with these."""
        warps: dict[tuple[int, int], list[int]] = {}
        for i, t in enumerate(threads):
            if not t.place.host:
                warps.setdefault((t.place.gpu, t.place.warp), []).append(i)
        for warp in warps.values():
            if any(e.kind is COLLECTIVE for i in warp for e in threads[i].execution.effects):
                from ptxcore.machine.explore.warps import Lane, explore_warp

                lanes = [Lane(threads[i].code.special["laneid"], threads[i].code, threads[i].name) for i in warp]
                executions, definitions = explore_warp(lanes, self.unroll, one_code=False)
                self.definitions |= definitions
                for i, execution in zip(warp, executions, strict=True):
                    threads[i] = threads[i]._replace(execution=execution, source=None)

    def _codes(self, problems: list[Diagnostic]) -> list[ThreadCode | None]:
        """Each thread made ready; None for one with mistakes."""
        codes: list[ThreadCode | None] = []
        for t in self.test.threads:
            observed = (
                None
                if self.all_registers
                else {n.register for n in self.named if isinstance(n, RegisterTerm) and n.thread == t.name}
            )
            initial = {
                name: self.memory.address(v.location, t.place.cta) if isinstance(v, AddressOf) else v
                for name, v in t.registers
            }
            variables = self.memory.variables(t.place.cta)
            dialect = dialect_named(t.dialect, host=t.place.host)
            try:
                special = self.special.get(t.name)
                codes.append(prepare(t.statements, dialect, variables, initial, observed=observed, special=special))
            except InputError as error:
                problems += error.diagnostics
                codes.append(None)
        return codes

    def asked(self, threads: Sequence[ProgramThread]) -> AskedValues:
        """What is asked of threads that have been executed, on symbols or on numbers."""
        self.registers = {t.name: t.execution.registers for t in threads}
        condition, filter_ = self.test.condition.proposition, self.test.filter
        return AskedValues(
            [self._observable(n) for n in self._listed()],
            self._truth(condition),
            1 if filter_ is None else self._truth(filter_),
        )

    # What states list.

    def _named_terms(self) -> list[RegisterTerm | LocationTerm]:
        """The terms of condition, filter and `locations`, each once, in the order of appearance."""
        test = self.test
        found: dict[RegisterTerm | LocationTerm, None] = {}
        stack: list[Proposition] = [c.proposition for c in reversed(test.conditions)]
        if test.filter is not None:
            stack.append(test.filter)
        while stack:
            p = stack.pop()
            if isinstance(p, Compare):
                for side in (p.left, p.right):
                    if isinstance(side, (RegisterTerm, LocationTerm)):
                        found[side] = None
            elif isinstance(p, Not):
                stack.append(p.operand)
            elif isinstance(p, (And, Or)):
                stack += p.operands
            elif isinstance(p, Implies):
                stack += (p.left, p.right)
        found.update(dict.fromkeys(test.observed))
        return list(found)

    def _listed(self) -> list[RegisterTerm | LocationTerm]:
        """Registers by thread, then locations; all registers of the test where asked for."""
        terms_ = list(self.named)
        if self.all_registers:
            for name, registers in self.registers.items():
                terms_ += [RegisterTerm(name, r) for r in registers]
        unique = {str(t): t for t in reversed(terms_)}
        order = {t.name: i for i, t in enumerate(self.test.threads)}
        registers_ = [t for t in unique.values() if isinstance(t, RegisterTerm)]
        locations = [t for t in unique.values() if isinstance(t, LocationTerm)]
        return [
            *sorted(registers_, key=lambda t: (order[t.thread], t.register)),
            *sorted(locations, key=lambda t: (t.location, t.element or 0, t.type or "")),
        ]

    def _observable(self, term: RegisterTerm | LocationTerm) -> Observable:
        value, width, signed = self._term(term)
        return Observable(str(term), value, width, signed)

    def _term(self, term: RegisterTerm | LocationTerm) -> tuple[Value, int, bool]:
        """A term's value, width and signedness."""
        if isinstance(term, RegisterTerm):
            register = self.registers[term.thread].get(term.register)
            if register is None:
                return 0, 32, False  # never written: the reader has refused that where it is a mistake
            return register.value, register.width, register.signed
        number, location = self.memory.object_of(term)
        width = TYPE_WIDTHS[term.type or location.type]
        offset = (term.element or 0) * width // 8
        if offset + width // 8 > self.memory.objects[number].size:
            raise fail(term.span, f"'{term}' lies outside of '{term.location}'")
        return final_symbol(number, offset, width), width, (term.type or location.type).startswith(".s")

    # The condition.

    def _truth(self, proposition: Proposition) -> Value:
        """A proposition as a truth value, bottom up over an explicit stack."""
        done: list[Value] = []
        stack: list[tuple[Proposition, bool]] = [(proposition, False)]
        while stack:
            p, ready = stack.pop()
            if isinstance(p, Literal):
                done.append(int(p.value))
            elif isinstance(p, Compare):
                done.append(self._compare(p))
            elif not ready:
                stack.append((p, True))
                stack += [(o, False) for o in reversed(_operands(p))]
            else:
                count = len(_operands(p))
                operands = done[len(done) - count :]
                del done[len(done) - count :]
                done.append(_joined(p, operands))
        return done[0]

    def _compare(self, p: Compare) -> Value:
        left, right = self._typed(p.left), self._typed(p.right)
        typed = [t for t in (left, right) if t[1]]
        # A plain number takes the type of the other side; between two types the wider one, signed if both are.
        width = max((t[1] for t in typed), default=128)
        signed = all(t[2] for t in typed) if typed else True
        a, b = (_widened(t, width) for t in (left, right))
        if p.op in ("==", "!="):
            equal = terms.eq(a, b)
            return equal if p.op == "==" else terms.negate(equal)
        if p.op in (">", ">="):
            a, b = b, a
        if p.op in ("<", ">"):
            return terms.slt(a, b, width) if signed else terms.ult(a, b, width)
        return terms.sle(a, b, width) if signed else terms.ule(a, b, width)

    def _typed(self, side: SideOfCondition) -> tuple[Value, int, bool]:
        if isinstance(side, Constant):
            return side.value, 0, False
        if isinstance(side, AddressOf):
            return self.memory.address(side.location, None), 0, False
        return self._term(side)


def _operands(p: Proposition) -> tuple[Proposition, ...]:
    if isinstance(p, Not):
        return (p.operand,)
    if isinstance(p, (And, Or)):
        return p.operands
    assert isinstance(p, Implies)
    return (p.left, p.right)


def _joined(p: Proposition, operands: list[Value]) -> Value:
    if isinstance(p, Not):
        return terms.negate(operands[0])
    if isinstance(p, And):
        return terms.all_of(operands)
    if isinstance(p, Or):
        return terms.any_of(operands)
    return terms.disj(terms.negate(operands[0]), operands[1])


def _widened(side: tuple[Value, int, bool], width: int) -> Value:
    value, own, signed = side
    if type(value) is int and own == 0:
        return value & terms.mask(width)
    return terms.sext(value, own, width) if signed else terms.zext(value, width)
