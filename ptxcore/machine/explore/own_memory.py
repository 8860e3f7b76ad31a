"""A thread of a kernel, explored: what it does to memory of its own stays in its state, and is no effect."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ptxcore.isa.data_movement import pack
from ptxcore.isa.effect_kinds import FREE, INPUT, MALLOC
from ptxcore.isa.form import Use
from ptxcore.machine.explore.actions import AnswerOf
from ptxcore.machine.explore.boxes import Boxes
from ptxcore.machine.explore.engine import Exploration
from ptxcore.machine.explore.state import State
from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES, Dependencies, gather, union
from ptxcore.machine.ir.effects import UNWRITTEN
from ptxcore.machine.ir.private_memory import (
    STACK_ALIGN,
    Grown,
    Private,
    PrivateMemory,
    StoredPiece,
    Top,
    behind,
    chosen,
)
from ptxcore.machine.ir.steps import InstructionStep, ThreadCode
from ptxcore.machine.ir.windows import CONST, LOCAL
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Vector
from ptxcore.values.packed import resize
from ptxcore.values.spread import Spread, spread
from ptxcore.values.terms import (
    Term,
    Value,
    add,
    any_of,
    bit_and,
    conj,
    eq,
    implies,
    ite,
    negate,
    subterms,
    ule,
    ult,
    zext,
)

#: State spaces of the thread's own.
OWN_SPACES = frozenset(("local", "param", "param::func", "param::entry", "const"))
#: An address that is not known is compared with this many at most.
_MOST_PLACES = 2048


#: Bytes that the stack of one thread may take.
_STACK = 512 << 10
#: The most bytes that `malloc` gives.
_LARGEST = 1 << 31
#: Between two pieces of memory that `alloca` gives, so that who leaves one does not come to another.
_GAP = 16
#: An address this far before the stack is one before the first thing that is there.
_BEFORE = 1 << 16


_ADDRESSES = 1 << 64


class OwnRegion(NamedTuple):
    """A stretch of own memory: address, size, and the bytes where those never change. Of what `alloca` gave, `size` is the
    most it may be, `extent` what it is, and `live` the condition under which it is there."""

    start: int
    size: int
    data: bytes | None = None
    live: Value = 1
    extent: Value | None = None

    def holds(self, address: int, size: int) -> Value:
        """The truth value of "an access to so many bytes lies in it"."""
        if address < self.start or address + size > self.start + self.size:
            return 0
        if self.extent is None:
            return self.live
        return conj(self.live, ule(address + size - self.start, self.extent, 64))


class OwnPlace(NamedTuple):
    """Where an access may go: under a condition, to an address; `data` are the bytes of a constant, which begin at `start`."""

    condition: Value
    address: int
    data: bytes | None
    start: int


class KernelThread(Boxes, Exploration):
    """See the module. Accesses whose addresses may lie in either memory are split in two."""

    def __init__(self, code: ThreadCode, answer: AnswerOf, unroll: int) -> None:
        super().__init__(code, answer, unroll)
        self._calls: dict[Hashable, int] = {}  # of malloc, by place
        self._shown, self._looked_through = False, 0  # addresses on the stack, in so many effects

    @property
    def _private(self) -> Private:
        private = self.code.private
        assert private is not None
        return private

    @property
    def _memory(self) -> PrivateMemory:
        memory = self._state.memory
        assert memory is not None
        return memory

    def _check(self, step: InstructionStep, state: State, guard: Value) -> None:
        """Registers that nothing wrote may be copied and computed with, as compilers do where the result is not used. Packed
        with others into a wider one, such a register is any number, and the others stay what they are."""
        self._known = 1
        if step.kind == "warp":
            self._leave_open(step, state, guard)
            return
        if step.kind != "value" and step.space not in OWN_SPACES:
            super()._check(step, state, guard)
            return
        in_part = step.run is pack and _has_parts_written(step, state)
        for register in step.reads:
            defined = state.defined[register]
            if type(defined) is int and (defined or not in_part):
                self._known = conj(self._known, defined)
            elif not implies(guard, defined):
                self._open(register, step, guard, state)

    def _check_register(self, register: int, step: InstructionStep, guard: Value, state: State) -> None:
        """A register that only some paths wrote may hold anything elsewhere; one that no path wrote is a mistake."""
        if type(state.defined[register]) is int:
            super()._check_register(register, step, guard, state)
        elif not implies(guard, state.defined[register]):
            self._open(register, step, guard, state)

    def _leave_open(self, step: InstructionStep, state: State, guard: Value) -> None:
        """A thread may bring a register that nothing wrote to what its warp computes together: a shuffle may not look at it."""
        for register in step.reads:
            if state.defined[register] != 1:
                self._open(register, step, guard, state)

    def _open(self, register: int, step: InstructionStep, guard: Value, state: State) -> None:
        """Where nothing wrote a register, its value is any, and stays what it is."""
        defined, width = state.defined[register], self.code.registers[register].width
        self._step, self._sources, self._control = step, [], state.control
        self._guard = conj(guard, negate(defined))
        value = self._answered(self.effect(INPUT, step.how, operation=UNWRITTEN, width=width), width)
        state.values[register] = ite(defined, state.values[register], value, width)
        if guard is state.guard:
            state.defined[register] = 1

    # Accesses.

    def load(self, how: Use, address: Value) -> Any:
        """A read; of the thread's own memory, what was written there last."""
        inside = self._inside(address)
        if inside == 0:
            return super().load(how, address)
        own, depends = self._here_only(inside, lambda: self._load_own(how, address))
        if inside == 1:
            self._returned, self._elements = depends, None
            return own
        other = self._here_only(negate(inside), lambda: super(KernelThread, self).load(how, address))
        self._returned = union(self._returned, depends)
        if self._elements is not None:
            self._elements = [union(e, depends) for e in self._elements]
        if isinstance(own, tuple):
            return tuple(ite(inside, a, b, how.width) for a, b in zip(own, other, strict=True))
        return ite(inside, own, other, how.width)

    def store(self, how: Use, address: Value, value: Any) -> None:
        """A write."""
        inside = self._inside(address)
        if inside == 0:
            super().store(how, address, value)
            return
        self._here_only(inside, lambda: self._store_own(how, address, value, inside))
        if inside != 1:
            self._here_only(negate(inside), lambda: super(KernelThread, self).store(how, address, value))

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Any], tuple[Any, Value]]) -> Any:
        """An atomic operation, which memory of the thread's own does not take (section 9.7.13.5)."""
        inside = self._inside(address)
        if inside != 0:
            self.require(negate(inside), "wrong-space", "atomic operations go to .global and .shared memory only")
        return self._here_only(negate(inside), lambda: super(KernelThread, self).modify(kind, how, address, write))

    def tensor_map(self, how: Use, address: Value) -> bytes:
        """A tensor map among the kernel's parameters and constants."""
        from ptxcore.values.tensor_map import ALIGNMENT, SIZE

        for constants in self._private.constants:
            if type(address) is int and 0 <= address - constants.address <= len(constants.data) - SIZE:
                aligned = int(address % ALIGNMENT == 0)
                self.require(aligned, "misaligned", f"the address of a tensor map is no multiple of {ALIGNMENT}")
                return constants.data[address - constants.address :][:SIZE]
        self._refuse("cannot be explored: its tensor map is neither a parameter of the kernel nor constant")

    def _here_only(self, condition: Value, access: Callable[[], Any]) -> Any:
        """An access that happens only where a condition holds."""
        before, self._guard = self._guard, conj(self._guard, condition)
        result = access()
        self._guard = before
        return result

    # Where.

    def _regions(self, space: str) -> Iterator[OwnRegion]:
        """The stretches of own memory that a state space has."""
        private = self._private
        if space in ("generic", "local", "param", "param::func"):
            if private.size:
                yield OwnRegion(private.stack, private.size)
            for start, size, live in self._memory.top.grown:
                yield OwnRegion(start, spread(size).high, None, live, None if type(size) is int else size)
        for constants in private.constants:
            yield OwnRegion(constants.address, len(constants.data), constants.data)

    def _inside(self, address: Value) -> Value:
        """The truth value of "the access goes to memory of the thread's own"."""
        space = self._step.space
        if space in OWN_SPACES:
            return 1
        if space not in ("generic", "global"):
            return 0
        regions = list(self._regions(space))
        if type(address) is int:
            return int(any(r.start <= address < r.start + r.size for r in regions))
        # An address that is not computed from one of a region does not lie there, or is out of bounds wherever it lies.
        near = self._near(address, regions)
        low, high, _ = spread(address)
        if any(r.start <= low and high < r.start + r.size for r in near):
            return 1
        return any_of(conj(ule(r.start, address, 64), ult(address, r.start + r.size, 64)) for r in near)

    def _near(self, address: Value, regions: Sequence[OwnRegion]) -> list[OwnRegion]:
        """The regions that an address is computed from: those in which some number in it lies. What is on the stack is near
        to all that is there, since offsets are added to addresses before anything else is known; and to all that may have
        been read where such an address was put."""
        numbers = _numbers(address)
        on_stack = any(r.data is None for r in regions) and (
            any(LOCAL - _BEFORE <= n < CONST for n in numbers) or self._shows_addresses()
        )
        return [
            r
            for r in regions
            if (on_stack if r.data is None else any(r.start <= n < r.start + r.size for n in numbers))
        ]

    def _shows_addresses(self) -> bool:
        """Whether some address on the stack may stand where others see it."""
        while not self._shown and self._looked_through < len(self.effects):
            effect = self.effects[self._looked_through]
            self._looked_through += 1
            numbers = [n for value in (effect.value, *effect.operands) for n in _numbers(value)]
            self._shown = any(self._private.stack <= n < self._private.stack + _STACK for n in numbers)
        return self._shown

    def _places(self, address: Value, size: int) -> list[OwnPlace]:
        """Where an access to own memory may go."""
        regions = list(self._regions(self._step.space))
        if type(address) is int:
            held = [(r, r.holds(address, size)) for r in regions]
            found = [OwnPlace(here, address, r.data, r.start) for r, here in held if here != 0]
        else:
            near = self._near(address, regions) or regions
            found = self._possible(address, size, near)
            low, high, step = spread(address)
            sure = all(r.live == 1 and r.extent is None for r in near)
            if sure and step and len(found) == (high - low) // step + 1:
                # All that it may be: the last one where it is no other.
                found[-1] = found[-1]._replace(condition=negate(any_of(p.condition for p in found[:-1])))
                return found
        self.require(
            eq(bit_and(address, size - 1, 64), 0), "misaligned", "the address is no multiple of the access's size"
        )
        self.require(any_of(p.condition for p in found), "out-of-bounds", "out of bounds of the thread's own memory")
        return found

    def _possible(self, address: Value, size: int, regions: Sequence[OwnRegion]) -> list[OwnPlace]:
        """The places that an address may be."""
        if sum(r.size // size for r in regions) > _MOST_PLACES:
            self._refuse("has an address that is not known, in memory of the thread's own that is too large to explore")
        numbers = spread(address)
        found = []
        for r in regions:
            for at in range(r.start, r.start + r.size - size + 1, size):
                here = conj(eq(address, at), r.holds(at, size))
                if here != 0 and _may_be(numbers, at):
                    found.append(OwnPlace(here, at, r.data, r.start))
        return found

    # The end of the stack.

    def allocate(self, how: Use, size: Value, alignment: Value) -> Value:
        """Memory on top of the stack. Where the stack ends in one of several places, behind all of them."""
        most = _most(size)
        if most > _STACK or type(alignment) is not int:
            self._refuse("has a size that is not known" if type(size) is not int else f"asks for {most} bytes of stack")
        memory = self._memory
        top = memory.top
        start = behind(_most(top.pointer), max(alignment, STACK_ALIGN))
        end = start + behind(most, STACK_ALIGN) + _GAP
        self.require(
            int(end - self._private.stack <= _STACK), "stack-overflow", f"the stack has more than {_STACK} bytes"
        )
        here = self._here()
        memory.forget(start, most)
        memory.top = Top(ite(here, end, top.pointer, 64), (*top.grown, Grown(start, size, here)))
        return start

    def stack_pointer(self, restored: Value | None = None) -> Value:
        """Where the stack ends; whatever lies behind what is restored is gone."""
        memory = self._memory
        top = memory.top
        if restored is None:
            return top.pointer
        known = conj(ule(self._private.top, restored, 64), ule(restored, top.pointer, 64))
        self.require(known, "bad-stack", "the stack is restored to what no stacksave of this call gave")
        here = self._here()
        left = [g._replace(live=conj(g.live, negate(conj(here, ule(restored, g.start, 64))))) for g in top.grown]
        memory.top = Top(ite(here, restored, top.pointer, 64), tuple(g for g in left if g.live != 0))
        return restored

    def _here(self) -> Value:
        """The condition under which the step is executed, where its path is."""
        return 1 if self._step.predicate is None else self._predicate(self._step, self._state)

    # What stands there.

    def _load_own(self, how: Use, address: Value) -> tuple[Any, Dependencies]:
        """What is read, and what that depends on. Where nothing was written, the result counts as not written either."""
        vector = how.words.get("vec")
        size = how.width // 8
        values: list[Value] = []
        depends = NO_DEPENDENCIES if type(address) is int else gather(self._state.sources, self._step.address_reads)
        for i in range(int(vector[1:]) if vector else 1):
            piece = self._read(add(address, i * size, 64), size)
            values.append(piece.value)
            depends = union(depends, piece.sources)
            self._known = conj(self._known, piece.defined)
        return (tuple(values) if vector else values[0]), depends

    def _read(self, address: Value, size: int) -> StoredPiece:
        """What stands at an address. Elsewhere than where it may be, behaviour is undefined, and any value is as good."""
        found: StoredPiece | None = None
        for here, at, data, start in self._places(address, size):
            if data is None:
                piece = self._memory.read(at, size)
            else:
                number = int.from_bytes(data[at - start : at - start + size], "little")
                piece = StoredPiece(size, number, 1, NO_DEPENDENCIES)
            found = piece if found is None or here == 1 else chosen(here, piece, found)
        return StoredPiece(size, 0, 1, NO_DEPENDENCIES) if found is None else found

    def _store_own(self, how: Use, address: Value, value: Any, inside: Value) -> None:
        size = how.width // 8
        step, state = self._step, self._state
        condition = conj(inside, self._here())
        elements = value if isinstance(value, tuple) else (value,)
        address_depends = NO_DEPENDENCIES if type(address) is int else gather(state.sources, step.address_reads)
        for i, element in enumerate(elements):
            if element is None:
                continue
            reads = step.element_reads[i] if step.element_reads else step.data_reads
            known: Value = 1
            for register in reads:
                known = conj(known, state.defined[register])
            depends = union(gather(state.sources, reads), address_depends)
            piece = StoredPiece(size, resize(element, how.width, 8 * size, False), known, depends)
            for here, at, data, _ in self._places(add(address, i * size, 64), size):
                if data is not None:
                    self.require(negate(here), "read-only", "constants and parameters of kernels cannot be written")
                    continue
                when = conj(condition, here)
                self._memory.write(at, piece, when)

    # Calls.

    def put(self, address: int, size: int, value: Value) -> None:
        """An argument or result goes from a register to the stack."""
        step, state = self._step, self._state
        known: Value = 1
        for register in step.reads:
            known = conj(known, state.defined[register])
        self._memory.write(address, StoredPiece(size, value, known, gather(state.sources, step.reads)))

    def get(self, address: int, size: int) -> Value:
        """One goes from the stack to a register."""
        piece = self._memory.read(address, size)
        self._returned, self._known = piece.sources, piece.defined
        return piece.value

    def passed(self, address: int, size: int) -> Value:
        """An argument for the runtime, which is on the stack."""
        piece = self._memory.read(address, size)
        self._returned, self._known = union(self._returned, piece.sources), conj(self._known, piece.defined)
        return piece.value

    def put_back(self, address: int, size: int, value: Value) -> None:
        """What a function of the runtime returns goes to the stack."""
        self._memory.write(address, StoredPiece(size, value, 1, self._returned))

    def move(self, to: int, source: int, size: int) -> None:
        """One goes from a place on the stack to another."""
        self._memory.move(source, to, size)

    def forget(self, address: int, size: int) -> None:
        """A frame begins, in which nothing is written yet."""
        self._memory.forget(address, size)

    # What the runtime gives.

    def malloc(self, how: Use, size: Value) -> Value:
        """Memory on the heap; a null pointer for no bytes, and for too many."""
        self._refuse_unwritten()
        size = zext(size, 64)
        given = conj(ult(0, size, 64), ule(size, _LARGEST, 64))
        if given == 0:
            return 0
        heap = self.code.heap
        if heap is None:
            self._refuse("cannot be explored: there is no heap")
        effect = self.effect(MALLOC, how, address=heap(self._call()), size=size)
        effect.guard = conj(effect.guard, given)
        self._returned = NO_DEPENDENCIES if given == 1 else self._returned
        return ite(given, effect.address, 0, 64)

    def free(self, how: Use, address: Value) -> None:
        """Gives memory back; nothing where the address is null."""
        self._refuse_unwritten()
        address = zext(address, 64)
        before, self._guard = self._guard, conj(self._guard, negate(eq(address, 0)))
        if self._guard != 0:
            effect = self.effect(FREE, how, address=address)
            effect.address_dependencies = union(effect.address_dependencies, self._returned)
        self._guard = before

    def ask_runtime(self, name: str, width: int) -> Value:
        """What a function of the runtime gives may be anything."""
        return self._answered(self.effect(INPUT, self._step.how, operation=name, width=width), width)

    def _refuse_unwritten(self) -> None:
        if not implies(self._guard, self._known):
            self._refuse("is given something that may not have been written")
        self._known = 1

    def _call(self) -> Hashable:
        """Where the call in progress is: the place in the unrolled code, and which of that place's calls it is."""
        span = self._step.instruction.span
        place = self.node, span.line, span.column
        count = self._calls[place] = self._calls.get(place, -1) + 1
        return *place, count


def _has_parts_written(step: InstructionStep, state: State) -> bool:
    """Whether something is packed that has a value: a number, or a register that was written."""
    whole = step.instruction.operands[-1]
    assert isinstance(whole, Vector)
    return len(whole.elements) > sum(state.defined[register] == 0 for register in step.reads)


def _may_be(numbers: Spread, address: int) -> bool:
    """Whether an address is one of some numbers."""
    low, high, step = numbers
    return any(low <= a <= high and not (a - low) % (step or 1) for a in (address, address - _ADDRESSES))


def _most(value: Value) -> int:
    """The largest number that a value may be."""
    low, high, _ = spread(value)
    return high if low >= 0 else _ADDRESSES - 1


def _numbers(value: Value | None) -> list[int]:
    """The numbers that a value is computed from."""
    if type(value) is int:
        return [value]
    return [a for term in subterms([value]) for a in term.args if type(a) is int] if type(value) is Term else []
