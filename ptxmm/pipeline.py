"""The way of a test to the engine: names become addresses, threads become events, the condition a truth value.

test -> memory (objects at addresses) -> threads executed once, on symbols -> program
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from axioms.events.memory import Layout, Object, View
from axioms.program import Observable, Program, Thread, final_symbol
from litmus.formats.dialects import dialect_named
from litmus.test import (
    TYPE_WIDTHS,
    AddressOf,
    And,
    Compare,
    Constant,
    Implies,
    Literal,
    Location,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import Diagnostic, InputError, fail
from ptxcore.machine.explore.actions import MAPA_ALIAS
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import FinalRegister
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.machine.ir.windows import CONST, OWN_ALIAS, PARAM, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.machine.lower.code import Variable, prepare
from ptxcore.syntax.tree import Address, Instruction, Name
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.events.launches import Kernel

#: Where the first location of a state space lies, and how far apart locations are. Far from small numbers that programs
#: compute with, and small enough for the 32-bit registers of the short dialect.
_WINDOWS = {"const": CONST, "param": PARAM, "shared": SHARED}
_GLOBAL = SHARED + (1 << WINDOW_BITS)
_SPACING = 0x1_0000

Side = RegisterTerm | LocationTerm | Constant | AddressOf


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


def names_of_addresses(test: Test) -> Callable[[str, int], str]:
    """What a number in a place of a state (`1:r0`, `x`) points to: `x`, `b+8`; nothing where it is no address. Only a test that
    takes addresses has any."""
    if not _takes_addresses(test):
        return lambda place, number: ""
    memory = _Memory(test, own_aliases=False)
    seen = {t.name[1:]: memory.variables(t.place.cta) for t in test.threads}

    def name(place: str, number: int) -> str:
        variables = seen.get(place.partition(":")[0]) or next(iter(seen.values()))
        for location, variable in variables.items():
            offset = number - variable.address
            if 0 <= offset <= variable.elements * variable.width // 8:  # one behind the last is written so, too
                return f"{location}+{offset}" if offset else location
        return ""

    return name


def _takes_addresses(test: Test) -> bool:
    """Whether a register or a location may hold an address: from the beginning, or by an operand that is a location's name."""
    values = [v for t in test.threads for _, v in t.registers] + [v for l in test.locations for v in l.initial]
    names = {l.name for l in test.locations}
    operands = (o for t in test.threads for s in t.statements if isinstance(s, Instruction) for o in s.operands)
    return any(isinstance(v, AddressOf) for v in values) or any(
        isinstance(o, Name) and o.name in names for o in operands
    )


class _Memory:
    """Objects and where they stand. Shared variables exist once for each CTA that uses them, and in each CTA of a cluster
    whose threads compute addresses in each other's: at one offset of each CTA's part of the window.

    `own_aliases`: what `mapa` gives of a CTA's own variables is an alias of them."""

    def __init__(self, test: Test, own_aliases: bool) -> None:
        self.test, self.own_aliases = test, own_aliases
        self.objects: list[Object] = []
        self.views: list[View] = []
        self.locations = {l.name: l for l in test.locations}
        self.of_cta: dict[str, list[int]] = {}
        self._object_of: dict[tuple[str, int | None], int] = {}
        self._variables: dict[tuple[str, int | None], Variable] = {}
        self._next: dict[int, int] = {}
        self._mapping_of: dict[str, int] = {}
        self._ranks = _ranks(test)
        users = _users(test) if any(l.space == "shared" for l in test.locations) else {}
        for family in self._families().values():
            owners: list[int | None] = [None]
            if family[0].space == "shared":
                ctas = list(dict.fromkeys(cta for l in family for cta in users.get(l.name, ())))
                ctas = ctas or [test.threads[0].place.cta]
                self.of_cta |= {l.name: ctas for l in family}
                owners = [*self._reachable(ctas)]
            self._place(family, owners)
        for name, cta in list(self._object_of):
            self._initialise(self.locations[name], cta)

    def _root(self, location: Location) -> Location:
        while location.alias_of is not None:
            location = self.locations[location.alias_of]
        return location

    def _families(self) -> dict[str, list[Location]]:
        """By each name that has storage: its location, then its aliases, each after what it is an alias of."""
        families: dict[str, list[Location]] = {}
        root_of: dict[str, str] = {}
        for location in self.locations.values():
            chain = []
            while location.name not in root_of and location.alias_of is not None:
                chain.append(location)
                location = self.locations[location.alias_of]
            root = root_of.setdefault(location.name, location.name)
            family = families.setdefault(root, [self.locations[root]])
            family += reversed(chain)
            root_of.update((l.name, root) for l in chain)
        return families

    def _reachable(self, ctas: list[int]) -> list[int]:
        """The CTAs, and where threads compute addresses across their clusters those of the clusters too."""
        if not any(_crosses_ctas(s) for t in self.test.threads for s in t.statements):
            return ctas
        clusters = {t.place.cluster for t in self.test.threads if t.place.cta in ctas and not t.place.host}
        return list(dict.fromkeys([*ctas, *(cta for cta, (cluster, _) in self._ranks.items() if cluster in clusters)]))

    def _place(self, family: list[Location], owners: list[int | None]) -> None:
        """Gives a location its objects, and it and its aliases their addresses."""
        root = family[0]
        width, count = TYPE_WIDTHS[root.type], root.elements or 1
        size = count * width // 8
        for cta in owners:
            several = cta is not None and len(self.of_cta[root.name]) > 1
            name = f"@cta{cta}" if several else ""
            self._object_of[root.name, cta] = len(self.objects)
            self.objects.append(Object(root.name, size, b"", width, root.elements, name, root.space, cta))
        for location in family:
            # Another proxy is no other virtual address, though threads name it by another number.
            renamed = location.alias_of is None or location.proxy == "generic"
            before = "" if location.alias_of is None else location.alias_of
            self._mapping_of[location.name] = len(self._mapping_of) if renamed else self._mapping_of[before]
            address = self._room(root.space, size, location.align)
            for cta in owners:
                self._view(location, root, cta, address)

    def _room(self, space: str, size: int, align: int | None) -> int:
        """An address for so many bytes. Locations lie far apart, at multiples of much; where an alignment was declared, at
        a multiple of just that."""
        window = _WINDOWS.get(space, _GLOBAL)
        begin = self._next.get(window, window)
        address = begin + (align or 0)
        self._next[window] = begin + -(-(address + size - begin) // _SPACING) * _SPACING
        return address

    def _view(self, location: Location, root: Location, cta: int | None, address: int) -> None:
        """A location in one CTA, where the threads of the cluster see it; or one that all threads see."""
        threads = None
        if cta is not None:
            cluster, rank = self._ranks[cta]
            address += rank << SHARED_BITS
            there = enumerate(self.test.threads)
            threads = frozenset(t for t, x in there if x.place.cluster == cluster and not x.place.host)
        number = self._object_of[root.name, cta]
        self._object_of[location.name, cta] = number
        self.views.append(View(number, address, self._mapping_of[location.name], threads))
        if cta is not None and self.own_aliases:
            mapping = self._mapping_of.setdefault(f"mapa of {location.name}", len(self._mapping_of))
            own = frozenset(t for t, x in enumerate(self.test.threads) if x.place.cta == cta and not x.place.host)
            self.views.append(View(number, address - SHARED + OWN_ALIAS, mapping, own))
        width, count = TYPE_WIDTHS[root.type], root.elements or 1
        self._variables[location.name, cta] = Variable(address, width, root.space, location.proxy, count)

    def _initialise(self, location: Location, cta: int | None) -> None:
        if location.alias_of is not None:
            return
        width = TYPE_WIDTHS[location.type]
        initial = b""
        for value in location.initial:
            number = self.address(value.location, cta) if isinstance(value, AddressOf) else value
            initial += (number & terms.mask(width)).to_bytes(width // 8, "little")
        number = self._object_of[location.name, cta]
        self.objects[number] = self.objects[number]._replace(initial=initial)

    def _key(self, name: str, cta: int | None) -> tuple[str, int | None]:
        owners = self.of_cta.get(name)
        if owners is None:
            return name, None
        return name, cta if cta in owners else owners[0]

    def address(self, name: str, cta: int | None) -> int:
        return self._variables[self._key(name, cta)].address

    def variables(self, cta: int) -> dict[str, Variable]:
        """What the names mean in a thread of this CTA."""
        return {name: self._variables[self._key(name, cta)] for name in self.locations}

    def object_of(self, term: LocationTerm) -> tuple[int, Location]:
        """The object whose bytes a term of the condition names, and how it was declared."""
        root = self._root(self.locations[term.location])
        owners = self.of_cta.get(term.location, [None])
        if len(owners) > 1:
            raise fail(
                term.span,
                f"'{term.location}' is shared memory of {len(owners)} CTAs, so the condition does not say which",
                "copy it to a register in the CTA that is meant",
            )
        return self._object_of[term.location, owners[0]], root


def _ranks(test: Test) -> dict[int, tuple[int, int]]:
    """The cluster of each CTA, and its rank there: CTAs of a cluster are numbered in the order of their numbers."""
    members: dict[int, set[int]] = {}
    for t in test.threads:
        members.setdefault(t.place.cluster, set()).add(t.place.cta)
    return {cta: (cluster, rank) for cluster, ctas in members.items() for rank, cta in enumerate(sorted(ctas))}


def _special_registers(test: Test, own_aliases: bool) -> dict[str, dict[str, int]]:
    """What threads know of their places in warps and clusters, where some thread asks. `own_aliases`: see `_Memory`."""
    if not own_aliases and not any(_asks_for_its_place(s) for t in test.threads for s in t.statements):
        return {}
    from ptxcore.machine.run.special import LANES, WARP

    more = {MAPA_ALIAS: 1} if own_aliases else {}
    ranks = _ranks(test)
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


#: Instructions that the threads of a warp execute together.
_TOGETHER = frozenset(("shfl", "vote", "match", "redux", "elect", "activemask"))


def _asks_for_its_place(statement: object) -> bool:
    if not isinstance(statement, Instruction):
        return False
    names = (o.name for o in statement.operands if isinstance(o, Name))
    return (
        statement.opcode == "isspacep"
        or statement.opcode in _TOGETHER
        or "multicast::cluster" in statement.modifiers
        or any(name.startswith(("%cluster_", "%lane")) for name in names)
    )


def _crosses_ctas(statement: object) -> bool:
    """Whether an instruction may reach the shared memory of another CTA of its cluster."""
    return _is(statement, "mapa") or (isinstance(statement, Instruction) and "shared::cluster" in statement.modifiers)


def _is(statement: object, opcode: str) -> bool:
    return isinstance(statement, Instruction) and statement.opcode == opcode


def _users(test: Test) -> dict[str, list[int]]:
    """For each variable the CTAs whose threads mention it."""
    found: dict[str, dict[int, None]] = {}
    for thread in test.threads:
        cta = thread.place.cta
        for statement in thread.statements:
            if isinstance(statement, Instruction):
                for operand in statement.operands:
                    base = operand.base if isinstance(operand, Address) else operand
                    if isinstance(base, Name):
                        found.setdefault(base.name, {})[cta] = None
        for _, value in thread.registers:
            if isinstance(value, AddressOf):
                found.setdefault(value.location, {})[cta] = None
    return {name: list(ctas) for name, ctas in found.items()}


# Only tests with kernels and host threads, and those that ask for lanes and warps, import what these are about.


def _checked(test: Test) -> Test:
    """The test, its launches checked."""
    if not test.kernels and not any(t.place.host for t in test.threads):
        return test
    from litmus.launches import checked

    return checked(test)


def _kernels(test: Test) -> list[Kernel]:
    if not test.kernels:
        return []
    from axioms.events.launches import Kernel

    numbers = {t.name: i for i, t in enumerate(test.threads)}
    return [Kernel(k.name, frozenset(numbers[t] for t in k.threads), k.stream, k.after) for k in test.kernels]


class _Builder:
    def __init__(self, test: Test, unroll: int, all_registers: bool, options: frozenset[str]) -> None:
        self.test = test = _checked(test)
        self.unroll, self.all_registers, self.options = unroll, all_registers, options
        self.kernels = _kernels(test)
        own_aliases = "mapa-alias" in options and any(_is(s, "mapa") for t in test.threads for s in t.statements)
        self.memory = _Memory(test, own_aliases)
        self.special = _special_registers(test, own_aliases)
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
                    threads.append(Thread(t.name, t.place, code, execution, source))
            except InputError as error:
                problems += error.diagnostics
        if problems:
            raise InputError(sorted(problems, key=lambda d: d.span))
        self._put_warps_together(threads)
        program = self.assemble(threads)
        if program.grids is not None:
            program.grids.refuse_uncertain_launches()
        return program

    def _put_warps_together(self, threads: list[Thread]) -> None:
        """Threads that compute something together with others of their warp are executed anew, together with these."""
        warps: dict[tuple[int, int], list[int]] = {}
        for i, t in enumerate(threads):
            if not t.place.host:
                warps.setdefault((t.place.gpu, t.place.warp), []).append(i)
        for warp in warps.values():
            if any(e.kind == "collective" for i in warp for e in threads[i].execution.effects):
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

    def assemble(self, threads: Sequence[Thread], layout: Layout | None = None) -> Program:
        """The program of threads that have been executed, on symbols or on numbers."""
        self.registers = {t.name: t.execution.registers for t in threads}
        condition, filter_ = self.test.condition.proposition, self.test.filter
        return Program(
            threads,
            self.memory.objects,
            self.memory.views,
            [self._observable(n) for n in self._listed()],
            self._truth(condition),
            1 if filter_ is None else self._truth(filter_),
            unroll=self.unroll,
            assemble=self.assemble,
            layout=layout,
            kernels=self.kernels,
            options=self.options,
            definitions=self.definitions,
        )

    # What states list.

    def _named_terms(self) -> list[RegisterTerm | LocationTerm]:
        """The terms of condition, filter and `locations`, each once, in the order of appearance."""
        test = self.test
        found: dict[RegisterTerm | LocationTerm, None] = {}
        stack: list[Proposition] = [test.condition.proposition]
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

    def _typed(self, side: Side) -> tuple[Value, int, bool]:
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
