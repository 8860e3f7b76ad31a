"""Where the variables of a litmus test lie: objects in memory, the addresses at which threads see them, and their names."""

from __future__ import annotations

from collections.abc import Callable

from axioms.events.memory import Object, View
from litmus.test import TYPE_WIDTHS, AddressOf, Location, LocationTerm, Test
from ptxcore.diagnostics import fail
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.ir.windows import CONST, OWN_ALIAS, PARAM, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.syntax.tree import Address, Instruction, Name
from ptxcore.values import terms

#: Where the first location of a state space lies, and how far apart locations are. Far from small numbers that programs
#: compute with, and small enough for the 32-bit registers of the short dialect.
_WINDOWS = {"const": CONST, "param": PARAM, "shared": SHARED}
_GLOBAL = SHARED + (1 << WINDOW_BITS)
_SPACING = 0x1_0000


def names_of_addresses(test: Test) -> Callable[[str, int], str]:
    """What a number in a place of a state (`1:r0`, `x`) points to: `x`, `b+8`; nothing where it is no address. Only a test that
    takes addresses has any."""
    if not takes_addresses(test):
        return lambda place, number: ""
    memory = Addresses(test, own_aliases=False)
    seen = {t.name[1:]: memory.variables(t.place.cta) for t in test.threads}

    def name(place: str, number: int) -> str:
        variables = seen.get(place.partition(":")[0]) or next(iter(seen.values()))
        for location, variable in variables.items():
            offset = number - variable.address
            if 0 <= offset <= variable.elements * variable.width // 8:  # one behind the last is written so, too
                return f"{location}+{offset}" if offset else location
        return ""

    return name


def takes_addresses(test: Test) -> bool:
    """Whether a register or a location may hold an address: from the beginning, or by an operand that is a location's name."""
    values = [v for t in test.threads for _, v in t.registers] + [v for l in test.locations for v in l.initial]
    names = {l.name for l in test.locations}
    operands = (o for t in test.threads for s in t.statements if isinstance(s, Instruction) for o in s.operands)
    return any(isinstance(v, AddressOf) for v in values) or any(
        isinstance(o, Name) and o.name in names for o in operands
    )


class Addresses:
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
        self._ranks = ranks_of(test)
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


def ranks_of(test: Test) -> dict[int, tuple[int, int]]:
    """The cluster of each CTA, and its rank there: CTAs of a cluster are numbered in the order of their numbers."""
    members: dict[int, set[int]] = {}
    for t in test.threads:
        members.setdefault(t.place.cluster, set()).add(t.place.cta)
    return {cta: (cluster, rank) for cluster, ctas in members.items() for rank, cta in enumerate(sorted(ctas))}


def _crosses_ctas(statement: object) -> bool:
    """Whether an instruction may reach the shared memory of another CTA of its cluster."""
    return is_of(statement, "mapa") or (isinstance(statement, Instruction) and "shared::cluster" in statement.modifiers)


def is_of(statement: object, opcode: str) -> bool:
    """Whether a statement is an instruction of that opcode."""
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
