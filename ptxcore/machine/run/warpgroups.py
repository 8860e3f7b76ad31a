"""Products that the four warps of a warpgroup compute together, and do not wait for: `wgmma` (PTX ISA 9.0, section 9.7.15).

A product is computed when a thread waits for it, or when a thread ends; random schedules may do so at once. Until a thread has
waited the registers of A and D hold something that nobody can use: to touch them is undefined, and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.warpgroup_product import (
    THREADS,
    WARPS,
    BadMatrixDescriptor,
    Given,
    WarpgroupPlan,
    filled,
    fragments,
    given,
    left_open,
    matrix,
    multiplied,
    planned,
    registers,
    spans,
)
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.asynchronous import AsyncOperation
from ptxcore.machine.run.faults import UndefinedValue, fault
from ptxcore.machine.run.special import WARP
from ptxcore.machine.run.uninitialised import UninitialisedRead, opaque
from ptxcore.records import NamedTuple


class Held(UndefinedValue):
    """What a register holds from `wgmma.mma_async` on until its thread has waited: A keeps its value, D has none yet."""

    __slots__ = ("place", "product", "value")

    def __init__(self, product: Product, place: int, value: Any) -> None:
        self.product, self.place, self.value = product, place, value

    def _use(self, *_: object) -> int:
        line = self.product.instruction.instruction.span.line
        what = "the accumulator" if self.value is None else "A"
        raise fault(
            "unfinished-product",
            f"a register of {what} of 'wgmma.mma_async' in line {line} is used before 'wgmma.wait_group' has waited for it",
        )


class Member(NamedTuple):
    """A thread of the warpgroup: its registers, what those of D held before, and what those of A and D hold meanwhile."""

    thread: Any
    registers: list[Any]
    before: list[Any]
    sources: tuple[Any, ...]
    held: list[tuple[int, Held]]


class Product(AsyncOperation):
    """One product. `earlier`: the one whose D it adds to, if that is not waited for yet. `result`: of each thread the values of
    the registers of D."""

    def __init__(self, thread: Any, how: Use, members: list[tuple[Any, tuple[Any, ...]]]) -> None:
        super().__init__(thread, None)
        self.how, self.plan = how, planned(how)
        self.instruction: Op = thread.launch.compiled.ops[self.op]
        self.to = [target.slot for target in self.instruction.targets[0]]
        self.from_ = _slots_of_a(self.plan, self.instruction)
        self.slots = frozenset((*self.to, *(slot for slot in self.from_ if slot >= 0)))
        self.given = _agreed(self.plan, [sources for _, sources in members])
        self.fences = thread.products.fences
        self.earlier: Product | None = None
        self.result: list[list[Any]] = []
        self.members = [self._member(*member) for member in members]
        self.numbers = {id(m.thread): i for i, m in enumerate(self.members)}

    def _member(self, thread: Any, sources: tuple[Any, ...]) -> Member:
        held_registers = thread.R
        _check_fence(thread, [*self.to, *self.from_])
        checked: set[tuple[int, frozenset[int]]] = set()  # a chain of products has the same registers
        for group in (*thread.products.closed, thread.products.open):
            for product in group:
                member = product.members[product.numbers[id(thread)]]
                held_by = id(member.registers), product.slots
                if held_by not in checked:
                    checked.add(held_by)
                    product.check_written(member)
        before = [held_registers[slot] for slot in self.to]
        self._follow(thread, before)
        held = [(slot, Held(self, i, None)) for i, slot in enumerate(self.to)]
        if self.plan.a is not None:
            a = [value.value if type(value) is Held else value for value in sources[self.plan.at["a"]]]
            for i, slot in enumerate(self.from_):
                if slot >= 0:
                    now = held_registers[slot]
                    if type(now) is Held and now.value is None:
                        now._use()
                    held.append((slot, Held(self, i, a[i])))
            sources = tuple(tuple(a) if i == self.plan.at["a"] else s for i, s in enumerate(sources))
        for slot, value in held:
            held_registers[slot] = value
        return Member(thread, held_registers, before, sources, held)

    def _follow(self, thread: Any, before: list[Any]) -> None:
        """D may be that of a product before, of the same shape, in the same registers (section 9.7.15.7.1)."""
        for i, value in enumerate(before):
            if type(value) is not Held:
                continue
            earlier = value.product
            same = earlier.how.words["shape"] == self.how.words["shape"] or earlier.fences < thread.products.fences
            if value.value is not None or value.place != i or not same or len(earlier.to) != len(self.to):
                value._use()
            if self.earlier not in (None, earlier):
                value._use()
            self.earlier = earlier

    def places(self) -> Iterator[tuple[int, int]]:
        """The bytes of shared memory that it reads, as offsets and sizes. Raises Bad where a descriptor has no meaning."""
        told = self.given
        for name, descriptor, transposed in zip("ab", told[3:5], told.transposed, strict=True):
            if descriptor is not None:
                yield from spans(self.plan, name, descriptor, transposed=transposed)

    def perform(self) -> None:
        """Computes D; `release` gives it to a thread."""
        import numpy as np

        plan, told = self.plan, self.given
        shared = self.thread.cta.shared
        data = np.frombuffer(shared.data, np.uint8)
        known = None if shared.known is None else np.frombuffer(shared.known, np.uint8)
        try:
            b, unknown_b, _ = matrix(plan, "b", told.b_descriptor, data, known, transposed=told.transposed[1])
            if plan.a is None:
                assert told.a_descriptor is not None
                a, unknown_a, _ = matrix(plan, "a", told.a_descriptor, data, known, transposed=told.transposed[0])
                a = a[None]
            else:
                columns, doubt = self._columns([m.sources[plan.at["a"]] for m in self.members], plan.a.registers)
                a, unknown_a = fragments(plan.a, columns), _rows(doubt, plan.a)
        except BadMatrixDescriptor as error:
            raise fault(*error.args) from None
        if plan.sparse is not None:
            metadata, doubt = self._columns([(m.sources[plan.at["sp_meta"]],) for m in self.members], 1)
            if doubt.any():
                raise fault("bad-metadata", "the metadata of a sparse A is not known")
            a, good = filled(self.how, plan, a, metadata[0], np.array([told.selector]))
            if not good.all():
                raise fault("bad-metadata", "the metadata has a pair of positions that has no meaning")
        c, open_ = None, unknown_a[:, None] | unknown_b[None, :]
        if told.adds:
            before = [m.before for m in self.members]
            if self.earlier is not None:
                self.earlier.finish()
                before = self.earlier.result
            columns, doubt = self._columns(before, plan.d.registers)
            c = fragments(plan.d, columns)
            open_ = open_ | (fragments(plan.d._replace(kind="f32"), doubt)[0] != 0)
        watcher = self.thread.launch.watcher
        if watcher is not None and left_open(plan, a, b[None], c):
            watcher.unspecified(self.instruction)
        d = multiplied(plan, a, b[None], c, told.signs)
        self._keep(registers(plan.d, d), registers(plan.d, open_[None].astype(d.dtype)) if open_.any() else None)

    def _columns(self, values: list[Any], count: int) -> tuple[list[Any], Any]:
        """What threads bring, as arrays with a row for each warp; and a 1 in each place that nobody knows."""
        import numpy as np

        doubt = np.zeros((len(values), count), np.uint32)
        numbers = np.zeros((len(values), count), np.uint32)
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if type(value) is int:
                    numbers[i, j] = value
                else:
                    doubt[i, j] = 0xFFFF_FFFF
        spread = numbers.reshape(WARPS, WARP, count)
        return [spread[:, :, j] for j in range(count)], _by_register(doubt.reshape(WARPS, WARP, count))

    def _keep(self, columns: list[Any], doubt: list[Any] | None) -> None:
        import numpy as np

        rows = np.stack(columns, 2).reshape(THREADS, -1).tolist()
        if doubt is not None:
            for i, j in zip(*np.nonzero(np.stack(doubt, 2).reshape(THREADS, -1)), strict=True):
                cause = UninitialisedRead(
                    "uninitialised",
                    "an element of D comes of elements of A, B or D that nobody wrote",
                    self.instruction,
                )
                rows[i][j] = opaque(32, cause)
        self.result = rows

    def check_written(self, member: Member) -> None:
        """Raises Fault where a thread has written a register of A or D that it has not waited for."""
        for slot, _ in member.held:
            if type(member.registers[slot]) is not Held:
                error = fault(
                    "unfinished-product",
                    "a register of this product is written before 'wgmma.wait_group' has waited for it",
                )
                error.blamed = member.thread.name, self.instruction
                raise error

    def release(self, thread: Any) -> None:
        """A thread has waited: its registers hold A again, and D."""
        self.finish()
        number = self.numbers[id(thread)]
        member = self.members[number]
        fenced, snapshot = thread.products.fenced
        self.check_written(member)
        for slot, held in member.held:
            if member.registers[slot] is held:
                value = self.result[number][held.place] if held.value is None else held.value
                member.registers[slot] = value
                if fenced is member.registers:
                    snapshot[slot] = value


class _by_register(list[Any]):
    """Columns with what is said of all of them."""

    def __init__(self, whole: Any) -> None:
        super().__init__(whole[:, :, j] for j in range(whole.shape[2]))
        self.whole = whole

    def any(self) -> bool:
        """Whether some place is not zero."""
        return bool(self.whole.any())


def _rows(doubt: Any, part: Any) -> Any:
    """The rows of A that have elements which nobody knows."""
    return (fragments(part, doubt)[0] != 0).any(1)


def _slots_of_a(plan: WarpgroupPlan, op: Op) -> list[int]:
    """The registers of A; -1 for what is no register."""
    if plan.a is None:
        return []
    source = op.sources[plan.at["a"]]
    assert source is not None
    return [part.value if part.kind == "register" else -1 for part in source.parts]


def _agreed(plan: WarpgroupPlan, sources: list[tuple[Any, ...]]) -> Given:
    """What all threads must say alike. Raises Fault where they do not."""
    first = given(plan, sources[0])
    if any(given(plan, s) != first for s in sources[1:]):
        raise fault(
            "bad-matrix", "the threads of a warpgroup do not give the same descriptors, and the same choice of D"
        )
    return first


def _check_fence(thread: Any, slots: list[int]) -> None:
    """Raises Fault where a register was written since the last fence, or there was none (section 9.7.15.7.1)."""
    fenced, snapshot = thread.products.fenced
    if not thread.products.fences:
        raise fault("unfenced-product", "no 'wgmma.fence' stands before the first 'wgmma.mma_async'")
    if fenced is not thread.R:
        return
    for slot in slots:
        if slot < 0:
            continue
        now, before = fenced[slot], snapshot[slot]
        if now is before or type(now) is Held or (type(now) is type(before) is int and now == before):
            continue
        code = next(c for c in thread.launch.program.functions.values() if len(c.registers) == len(fenced))
        raise fault(
            "unfenced-product",
            f"{code.registers[slot]}, which 'wgmma.mma_async' accesses, was written since the last 'wgmma.fence'",
        )


class Products:
    """The products of a thread that it has not waited for: those in no group yet, and the groups, oldest first; the registers
    at its last fence, and how many there were."""

    def __init__(self) -> None:
        self.open: list[Product] = []
        self.closed: list[list[Product]] = []
        self.fenced: tuple[Any, list[Any]] = (None, [])
        self.fences = 0

    def outstanding(self) -> list[Product]:
        """All that are not complete."""
        return [product for group in (*self.closed, self.open) for product in group if not product.done]


def join(thread: Any, how: Use, sources: tuple[Any, ...]) -> Any:
    """One more thread at a product; gives its registers when all of its warpgroup are there. Raises Suspended."""
    cta = thread.cta
    group = thread.warp // WARPS
    here = cta.products.setdefault((group, thread.op), {})
    here[thread.warp % WARPS * WARP + thread.lane] = thread, sources
    if len(here) < THREADS:
        if len([p for p in thread.launch.places if p.warp // WARPS == group]) < THREADS:
            raise fault(
                "bad-mask", f"all {THREADS} threads of a warpgroup must execute this; here a warpgroup has fewer"
            )
        raise thread.suspend("waits for its warpgroup at 'wgmma.mma_async'")
    del cta.products[group, thread.op]
    product = thread.multiplies(thread, how, [here[number] for number in range(THREADS)])
    for other, _ in here.values():
        other.products.open.append(product)
        other.copied = True
    if thread.launch.random is not None and thread.launch.random.getrandbits(1):
        product.finish()
    for number, (other, _) in here.items():
        answer = tuple(held for _, held in product.members[number].held[: len(product.to)])
        if other is thread:
            mine = answer
        else:
            other.wake(answer)
    return mine


def act(thread: Any, action: str, pending: int) -> list[Product]:
    """`wgmma.fence`, `wgmma.commit_group` and `wgmma.wait_group` by a thread; gives the products that it has waited for."""
    products = thread.products
    if action == "fence":
        products.fenced = thread.R, thread.R[:]
        products.fences += 1
    elif action == "commit_group":
        products.closed.append(products.open)
        products.open = []
    else:
        waited = products.closed[: len(products.closed) - pending] if pending else products.closed
        products.closed = products.closed[len(waited) :]
        complete = [product for group in waited for product in group]
        for product in complete:
            product.release(thread)
        return complete
    return []
