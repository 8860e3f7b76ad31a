"""The accesses of a test as a cycle knows them: what threads read and write, what stands in between, what depends on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from litmus.cycles.annotations import PLAIN, UNSCOPED, Annotation, Unfit, settled
from litmus.test import AddressOf, Test
from ptxcore.places import SCOPES
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Address, AnyStatement, Declaration, Immediate, Instruction, Label, Name, Operand, Sink

#: Orders that an instruction may name, and the fence that a membar is.
_ORDERS = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile")
_MEMBAR = {"cta": "sc.cta", "gl": "sc.gpu", "sys": "sc.sys"}
_EXCHANGES = ("exch", "cas", "add", "inc", "dec", "and", "or", "xor", "min", "max")
#: A location is a name and how many bytes behind it.
ElementCell = tuple[str, int]


class Unread(ValueError):
    """A thread does what no edge of a cycle is."""


@dataclass(eq=False, slots=True)
class CycleAccess:
    """A read or a write.

    `value` is a number that a write writes, None where that is not known; else `adds` may be what it adds to what the read
    `source` returns, a reduction without `source` to what is there. `register` is where a read puts its value, `result` where
    a copy does. `before` has the fences and waits for copies between the access before and this one; `depends` the accesses
    that it depends on, with `Addr`, `Data` or `Ctrl`. `paired` is whether it is the write of an atomic operation that reads
    before.
    """

    thread: int
    direction: str
    cell: ElementCell
    annotation: Annotation
    register: str | None = None
    value: int | None = None
    adds: int | None = None
    source: CycleAccess | None = None
    paired: bool = False
    before: tuple[str, ...] = ()
    result: ElementCell | None = None
    depends: dict[CycleAccess, str] = field(default_factory=dict)


@dataclass(slots=True)
class Walk:
    """A thread: its accesses, and the marks of what synchronises it with others, before the first (`enters`) and after the
    last (`leaves`)."""

    accesses: list[CycleAccess] = field(default_factory=list)
    enters: set[str] = field(default_factory=set)
    leaves: set[str] = field(default_factory=set)


class _Sum(NamedTuple):
    """What a read returns, and a number."""

    read: CycleAccess
    adds: int


#: What a register holds: a number, the address of a cell, a sum, or what is not known.
_Value = int | ElementCell | _Sum | None


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a register, and the reads that it depends on."""

    value: _Value = None
    reads: frozenset[CycleAccess] = frozenset()


_NOTHING = _Known()


def walks(test: Test) -> list[Walk]:
    """The threads of a test. Raises `Unread` with the reason for a test that has what no edge is, such as a loop."""
    ways = {loc.name: (loc.alias_of, loc.proxy) for loc in test.locations if loc.alias_of is not None}
    ends = _ends_of_copies(test)
    found = []
    for number, thread in enumerate(test.threads):
        walker = _Walker(number, {loc.name for loc in test.locations}, ways, ends)
        for register, value in thread.registers:
            known = (value.location, 0) if isinstance(value, AddressOf) else value
            walker.registers[_plain(register)] = _Known(known)
        try:
            found.append(walker.walk(thread.statements))
        except Unread as unread:
            raise Unread(f"{thread.name} {unread}") from None
    return found


def _ends_of_copies(test: Test) -> dict[str, int]:
    """The locations that one instruction alone names, with what is there first: other ends of copies."""
    named: Counter[str] = Counter()
    for thread in test.threads:
        for one in thread.statements:
            for operand in one.operands if isinstance(one, Instruction) else ():
                base = operand.base if isinstance(operand, Address) else operand
                named.update([base.name] if isinstance(base, Name) else [])
    first = ((loc.name, loc.initial[0] if loc.initial else None) for loc in test.locations if named[loc.name] == 1)
    return {name: value for name, value in first if isinstance(value, int)}


def _plain(register: str) -> str:
    return register.removeprefix("%")


class _Walker:
    def __init__(
        self, thread: int, locations: set[str], ways: Mapping[str, tuple[str | None, str]], ends: Mapping[str, int]
    ) -> None:
        self.thread, self.locations, self.ways, self.ends = thread, locations, ways, ends
        self.registers: dict[str, _Known] = {}
        self.result = Walk()
        self.fences: list[str] = []
        self.controls: frozenset[CycleAccess] = frozenset()
        self.marks: set[str] = set()  # of what synchronises, since the last access
        self.mapped: dict[str, str] = {}  # locations by the registers with their addresses in another CTA
        self.ungrouped = {"CpAsync": 0, "Bulk": 0}  # copies that no group has yet
        self.crowded: set[str] = set()  # where a group has not one copy, but none or several

    def walk(self, statements: Sequence[AnyStatement]) -> Walk:
        passed: set[str] = set()
        for statement in statements:
            if isinstance(statement, Label):
                passed.add(statement.name)
            elif isinstance(statement, Declaration) and statement.space == "reg":
                continue
            elif not isinstance(statement, Instruction):
                raise Unread("declares memory of its own")
            elif statement.opcode == "bra":
                self._branch(statement, passed)
            else:
                self._instruction(statement)
        self.result.leaves = self.marks
        if not self.result.accesses:
            raise Unread("accesses no location")
        return self.result

    def _branch(self, statement: Instruction, passed: set[str]) -> None:
        target = statement.operands[0]
        if isinstance(target, Name) and target.name in passed:
            if any(mark.startswith("wait ") for mark in self.marks):
                return  # an mbarrier object is waited for
            raise Unread("has a loop")
        if statement.guard is not None:
            self.controls |= self._of(statement.guard).reads

    def _instruction(self, one: Instruction) -> None:
        controls = self.controls
        if one.guard is not None:
            self.controls |= self._of(one.guard).reads
        self._effect(one)
        if one.opcode in ("ld", "st", "atom", "red"):
            self.controls = controls

    def _effect(self, one: Instruction) -> None:
        opcode, words = one.opcode, one.modifiers
        if opcode in ("ld", "st", "atom", "red"):
            self._access(one)
        elif opcode == "membar" and words and words[0] in _MEMBAR:
            self.fences.append(_MEMBAR[words[0]])
        elif opcode == "fence":
            self._fence(words)
        elif opcode == "cp" and words[:1] == ("async",):
            self._asynchronous(one)
        elif opcode == "cp" and words[:3] == ("reduce", "async", "bulk"):
            self._copy(one, "reduce")
        elif opcode in ("bar", "barrier", "mbarrier"):
            self._synchronisation(one)
        elif opcode in ("ret", "exit"):
            return
        elif one.operands and isinstance(one.operands[0], Name):
            self._computed(one, one.operands[0])
        else:
            raise Unread(f"has {one.name}, which no edge is")

    def _fence(self, words: tuple[str, ...]) -> None:
        if words and words[0] == "proxy":
            self.fences.append(".".join(words))
            return
        if words and words[0] == "mbarrier_init":
            return  # it is about what synchronises, as the barrier behind it
        scopes = [w for w in words if w in SCOPES]
        orders = [w for w in words if w in ("sc", "acq_rel", "acquire", "release")]
        if len(words) != len(scopes) + len(orders) or len(scopes) != 1:
            raise Unread(f"has fence.{'.'.join(words)}, which no edge is")
        self.fences.append(f"{orders[0] if orders else 'acq_rel'}.{scopes[0]}")

    def _synchronisation(self, one: Instruction) -> None:
        """Marks that a barrier, or a step of an mbarrier object, was come to."""
        first = next(iter(one.operands), None)
        number = first.value if isinstance(first, Immediate) else None
        if one.opcode == "mbarrier":
            cell = next((o for o in one.operands if isinstance(o, Address)), None)
            name = str(cell.base.name) if cell is not None and isinstance(cell.base, Name) else ""
            kind = {"arrive": "arrive", "try_wait": "wait", "test_wait": "wait"}.get(one.modifiers[0])
            if kind is not None:
                self.marks.add(f"{kind} {name}")
        elif one.modifiers[:1] == ("cluster",):
            self.marks.add("cluster")
        else:
            self.marks.add(f"barrier {number or 0}")

    def _computed(self, one: Instruction, result: Name) -> None:
        sources = one.operands[1:]
        if one.opcode == "mapa" and isinstance(sources[0], Name) and sources[0].name in self.locations:
            self.mapped[_plain(result.name)] = sources[0].name
        known = [self._of(operand) for operand in sources]
        reads = frozenset(read for one in known for read in one.reads)
        self.registers[_plain(result.name)] = _Known(_value(one, sources, [k.value for k in known]), reads)

    def _of(self, operand: Operand) -> _Known:
        if isinstance(operand, Immediate):
            return _Known(operand.value)
        if isinstance(operand, Name):
            if operand.name in self.locations:
                return _Known((operand.name, 0))
            return self.registers.get(_plain(operand.name), _NOTHING)
        return _NOTHING

    def _access(self, one: Instruction) -> None:
        told = ""
        if one.opcode in ("st", "red") and one.modifiers[:1] == ("async",):
            if one.opcode == "red" or len(one.operands) != 3:
                raise Unread(f"has {one.name}, which no edge is")
            told = self._there(one.operands[2])
            one = Instruction("st", ("async",), (Address(Name(self._there(one.operands[0]))), one.operands[1]))
        where = next((o for o in one.operands if isinstance(o, Address)), None)
        if where is None:
            raise Unread(f"has {one.name}, which no edge is")
        address = self._of(where.base)
        if not isinstance(address.value, tuple) or isinstance(address.value, _Sum) or where.index is not None:
            raise Unread("accesses what only running it tells")
        name, offset = address.value
        base, proxy = self.ways.get(name, (None, ""))
        way = {"generic": "alias", "constant": "const"}.get(proxy, "")
        cell: ElementCell = (base or name, offset + where.offset)
        at = one.operands.index(where)
        operands = one.operands[at + 1 :]
        for access in self._accesses(one, cell, way, operands):
            self._add(access, address, operands)
        if told:
            self.marks.add(f"stasync {told}")

    def _there(self, operand: Operand) -> str:
        """What `mapa` has made an address of, in another CTA."""
        found = self.mapped.get(_plain(_base(operand)))
        if found is None:
            raise Unread("accesses what only running it tells")
        return found

    def _asynchronous(self, one: Instruction) -> None:
        """A copy, or what tells that it is over."""
        words = one.modifiers[1:]
        bulk = words[:1] == ("bulk",)
        step = words[bulk] if len(words) > bulk else ""
        kind = "Bulk" if bulk else "CpAsync"
        if step in ("wait_all", "wait_group"):
            self.fences.append(f"wait {kind}{self._left(one, kind)}")
        elif step == "mbarrier":
            self.marks.add(f"copies {_base(one.operands[0])}")
        elif step == "commit_group":
            if self.ungrouped[kind] != 1:
                self.crowded.add(kind)
            self.ungrouped[kind] = 0
        else:
            self._copy(one, "bulk" if bulk else "cp")

    def _left(self, one: Instruction, kind: str) -> str:
        """What a wait for groups of copies leaves, as edges tell it: `.1` where each copy is a group of its own."""
        left = one.operands[0] if one.operands else Immediate(0)
        number = left.value if isinstance(left, Immediate) else 0
        read = one.modifiers[-1] == "read"
        known = isinstance(left, Immediate) and not (number and (read or kind in self.crowded or self.ungrouped[kind]))
        if not known:
            raise Unread(f"has {one.name}, which no edge is")
        return ".read" if read else f".{number}" if number else ""

    def _copy(self, one: Instruction, operation: str) -> None:
        cells = [self._of(o.base) for o in one.operands if isinstance(o, Address)]
        if len(cells) not in (2, 3) or not all(isinstance(c.value, tuple) and len(c.value) == 2 for c in cells):
            raise Unread(f"has {one.name}, which no edge is")
        target, source = cells[:2]
        annotation = Annotation(operation=operation)
        to, origin = _cell_of(target), _cell_of(source)
        # Where nothing else names either end, who copies a 0 does not write: nothing tells it from what is there.
        if operation == "reduce" and origin[0] in self.ends:
            access, address = CycleAccess(self.thread, "W", to, annotation, adds=self.ends[origin[0]]), target
        elif self.ends.get(origin[0], 0) or (origin[0] in self.ends and to[0] not in self.ends):
            access, address = CycleAccess(self.thread, "W", to, annotation, value=self.ends[origin[0]]), target
        elif to[0] in self.ends and operation != "reduce":
            access, address = CycleAccess(self.thread, "R", origin, annotation, result=to), source
        else:
            raise Unread("copies between locations that are accessed elsewhere, which no edge is")
        self._add(access, address, ())
        if len(cells) < 3:
            self.ungrouped["CpAsync" if operation == "cp" else "Bulk"] += 1
        else:
            multicast = "multicast::cluster" in one.modifiers
            self.marks.add(f"{'multicast' if multicast else 'bulk'} {_cell_of(cells[2])[0]}")

    def _accesses(
        self, one: Instruction, cell: ElementCell, way: str, operands: Sequence[Operand]
    ) -> Iterator[CycleAccess]:
        register = _plain(one.operands[0].name) if isinstance(one.operands[0], Name) else None
        known = self._of(operands[-1]).value if operands else None
        value = known if isinstance(known, int) else None
        if one.opcode == "ld":
            yield CycleAccess(self.thread, "R", cell, _annotation(one, "R", "", way), register)
        elif one.opcode == "st":
            read, plus = (known.read, known.adds) if isinstance(known, _Sum) else (None, None)
            stored = "stasync" if "async" in one.modifiers else ""
            annotation = Annotation(operation=stored) if stored else _annotation(one, "W", "", way)
            yield CycleAccess(self.thread, "W", cell, annotation, None, value, plus, read)
        elif one.opcode == "red":
            adds = value if "add" in one.modifiers else None
            yield CycleAccess(self.thread, "W", cell, _annotation(one, "W", "red", way), adds=adds)
        else:
            yield from self._atomic(one, cell, way, operands, register, value)

    def _atomic(
        self,
        one: Instruction,
        cell: ElementCell,
        way: str,
        operands: Sequence[Operand],
        register: str | None,
        value: int | None,
    ) -> Iterator[CycleAccess]:
        what = next((w for w in one.modifiers if w in _EXCHANGES), "")
        if what == "cas" and len(operands) == 2 and operands[0] == operands[1]:
            # It writes what is there, if anything: no other access sees that.
            yield CycleAccess(self.thread, "R", cell, _annotation(one, "R", "atom", way), register)
        elif what == "exch" and isinstance(one.operands[0], Sink):
            yield CycleAccess(self.thread, "W", cell, _annotation(one, "W", "atom", way), value=value)
        else:
            annotation = _annotation(one, "RW", "", way)
            read = CycleAccess(self.thread, "R", cell, annotation, register)
            yield read
            writes = value if what in ("exch", "cas") else None
            adds = value if what == "add" else None
            yield CycleAccess(self.thread, "W", cell, annotation, None, writes, adds, read, paired=True)

    def _add(self, access: CycleAccess, address: _Known, operands: Sequence[Operand]) -> None:
        found = self.result.accesses
        if not found:
            self.result.enters = self.marks
        access.before = tuple(self.fences)
        self.fences, self.marks = [], set()
        for read in self.controls:
            access.depends[read] = "Ctrl"
        for read in (r for operand in operands for r in self._of(operand).reads):
            access.depends[read] = "Data"
        for read in address.reads:
            access.depends[read] = "Addr"
        found.append(access)
        if access.direction == "R" and access.register is not None:
            self.registers[access.register] = _Known(_Sum(access, 0), frozenset([access]))


def _base(operand: Operand) -> str:
    return operand.base.name if isinstance(operand, Address) and isinstance(operand.base, Name) else ""


def _cell_of(known: _Known) -> ElementCell:
    assert isinstance(known.value, tuple) and not isinstance(known.value, _Sum)
    return known.value


def _value(one: Instruction, sources: Sequence[Operand], values: Sequence[_Value]) -> _Value:
    """What an instruction computes, where that is a number, an address, or what was read and a number."""
    if one.opcode in ("mov", "cvt", "cvta") and len(values) == 1:
        return values[0]
    if one.opcode in ("xor", "sub") and len(sources) == 2 and sources[0] == sources[1]:
        return 0
    if one.opcode == "and" and 0 in values:
        return 0
    if one.opcode == "add" and len(values) == 2:
        return _sum(values[0], values[1])
    return None


def _sum(a: _Value, b: _Value) -> _Value:
    if isinstance(a, int):
        a, b = b, a
    if not isinstance(b, int):
        return None
    if isinstance(a, _Sum):
        return _Sum(a.read, a.adds + b)
    if isinstance(a, tuple):
        return a[0], a[1] + b
    return None if a is None else a + b


def _annotation(one: Instruction, direction: str, operation: str, way: str) -> Annotation:
    """What an access says of its event: for an instruction without an order what PTX has it be."""
    words = one.modifiers
    plain = "relaxed" if one.opcode in ("atom", "red") else "weak"
    semantics = next((w for w in words if w in _ORDERS), plain)
    scope = "" if semantics in UNSCOPED else next((w for w in words if w in SCOPES), "gpu")
    try:
        return settled(Annotation(semantics, scope, operation, way), direction)
    except Unfit:
        return PLAIN if semantics == "relaxed" else Annotation(semantics, scope, operation, way)
