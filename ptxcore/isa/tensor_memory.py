"""What `tcgen05` does with Tensor Memory, but for products, copies and shifts: allocation, loads, stores, waits, fences and
commits (PTX ISA 9.0, sections 9.7.16.7, 9.7.16.8, 9.7.16.11 and 9.7.16.12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from ptxcore.isa.atomics import OPERATIONS
from ptxcore.isa.form import Use, Whole
from ptxcore.isa.mbarrier import signal_arrival
from ptxcore.values.floats import fabs, fmax, fmin
from ptxcore.values.tensor_cells import cells, place
from ptxcore.values.terms import Value, extract

if TYPE_CHECKING:
    from ptxcore.isa.thread import TensorMemoryAccess, Thread

_BAD = "bad-tensor-memory"
#: The lanes of each warp of a warpgroup (section 9.7.16.8.1), and the warps of one.
_OWN, _WARPS = 32, 4


def agreed(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
    """Whether all threads of the warp have brought the same"""
    same = int(len(set(lanes.values())) == 1)
    return dict.fromkeys(lanes, (same,))


def _told(how: Use) -> tuple[int, ...]:
    return (1,)


def _least(how: Use) -> int:
    return 4


def together(after: Any, *brings: str) -> Whole:
    """How all threads of a warp execute an instruction, each for itself, once all are there; they must bring the same."""
    return Whole(brings, _told, after, _least)


def _agree(thread: Thread, told: Sequence[Value], what: str) -> None:
    thread.require(told[0], _BAD, f"the threads of the warp have different {what}")


def pair(how: Use) -> bool:
    """Whether an instruction is about the two CTAs of a pair."""
    return how.words["cta_group"] == "cta_group::2"


# Allocation.


def alloc(how: Use, thread: Thread, told: Sequence[Value], dst: Value, n_cols: Value) -> tuple[()]:
    """[dst] = the address of newly allocated columns; waits until there are so many, and with .cta_group::2 for a warp of the
    peer CTA"""
    _agree(thread, told, "numbers of columns")
    thread.require(
        thread.in_space(dst, "shared::cta"), "wrong-space", "the address of tcgen05.alloc is not in shared memory"
    )
    access = how.part(32)
    access.space = "shared"
    memory = thread.tensor_memory(how)
    allocate = memory.allocate_both if pair(how) else memory.allocate
    thread.store(access, dst, allocate(_number(n_cols), told))
    return ()


def dealloc(how: Use, thread: Thread, told: Sequence[Value], taddr: Value, n_cols: Value) -> tuple[()]:
    """the columns from taddr on are allocated no more"""
    _agree(thread, told, "addresses or numbers of columns")
    memory = thread.tensor_memory(how)
    if pair(how):
        memory.free_both(_number(taddr), _number(n_cols), told)
    else:
        memory.free(_number(taddr), _number(n_cols))
    return ()


def relinquish(how: Use, thread: Thread, told: Sequence[Value]) -> tuple[()]:
    """the CTA may allocate no more"""
    memory = thread.tensor_memory(how)
    if pair(how):
        memory.relinquish_both(told)
    else:
        memory.relinquish()
    return ()


# Loads and stores.


def _number(value: Value) -> int:
    """Tensor Memory is not explored: what is said of it are numbers."""
    return int(value)  # type: ignore[arg-type]


def _cells(
    how: Use, thread: Thread, taddr: Value, offset: Value, registers: int, *, other: bool = False
) -> tuple[list[int], list[int]]:
    """The lanes and the columns of a thread's registers; with `.pack` or `.unpack` the two columns of each, one behind the
    other. Behaviour is undefined where they are not its warp's. `other`: those of the thread that has the other half of its
    lane."""
    memory = thread.tensor_memory(how)
    address, second = _number(taddr), _number(offset)
    lane, column = place(address)
    if how.words["shape"] == "16x32bx2" and (memory.lane >= 16) is not other:
        lane, column = place(address + second)
    packed = bool(how.words["pack"] or how.words["unpack"])
    found = cells(how.words["shape"], registers, memory.lane)
    lanes = [lane + down for down, _ in found for _ in range(1 + packed)]
    columns = [column + (right << packed) + i for _, right in found for i in range(1 + packed)]
    own = memory.warp % _WARPS * _OWN
    thread.require(
        int(min(lanes) >= own and max(lanes) < own + _OWN),
        "tensor-lane",
        f"lanes {min(lanes)} to {max(lanes)} of tensor memory are accessed; warp {memory.warp} has lanes {own} to "
        f"{own + _OWN - 1}",
    )
    return lanes, columns


def load(how: Use, thread: Thread, told: Sequence[Value], taddr: Value, second: Value = 0) -> tuple[Any, ...]:
    """r = the thread's cells of Tensor Memory, at any time until `tcgen05.wait::ld`; whoever needs r waits for it"""
    _agree(thread, told, "addresses")
    registers = next(e.length for e in how.wanted if e.parameter.name == "r")
    lanes, columns = _cells(how, thread, taddr, second, registers)
    memory = thread.tensor_memory(how)
    memory.begin("ld")
    memory.touch(lanes, columns, writes=False)
    if how.words["pack"]:
        low = memory.numbers(lanes, columns, 0xFFFF).tolist()
        return tuple(low[i] & 0xFFFF | (low[i + 1] & 0xFFFF) << 16 for i in range(0, len(low), 2))
    return tuple(memory.read(lanes, columns))


def load_reduced(how: Use, thread: Thread, told: Sequence[Value], taddr: Value, second: Value = 0) -> tuple[Any, ...]:
    """r = the thread's cells of Tensor Memory, as `tcgen05.ld`; red_val = the least or greatest of them, as `redux` has it.
    With two halves the manual does not tell whether a lane's columns are those of one half or of both: red_val is unknown
    where that makes a difference"""
    found = load(how, thread, told, taddr, second)
    memory = thread.tensor_memory(how)
    own = _reduced(how, found)
    if how.words["shape"] == "16x32bx2":
        cells_ = _cells(how, thread, taddr, second, len(found), other=True)
        if own is None or own != _reduced(how, (*found, *memory.read(*cells_))):
            own = None
    return found, memory.unknown(_HALVES) if own is None else own


_HALVES = "the manual does not tell what tcgen05.ld.red reduces here: the columns of one half, or of both"


def _reduced(how: Use, values: Sequence[Any]) -> Value | None:
    """The least or greatest of numbers; None where one is unknown."""
    if not all(isinstance(value, int) for value in values):
        return None
    if how.words["type"]:
        folded: Value = reduce(partial(OPERATIONS[how.words["op"]], how), values)
        return folded
    extremum: Callable[..., Value] = fmin if how.words["op"] == "min" else fmax
    operands = [fabs("f32", value) if how.words["abs"] else value for value in values]
    return reduce(partial(extremum, "f32", nan=bool(how.words["NaN"])), operands, operands[0])


def store(how: Use, thread: Thread, told: Sequence[Value], taddr: Value, *more: Any) -> tuple[()]:
    """the thread's cells of Tensor Memory = r, at any time until `tcgen05.wait::st`"""
    *second, r = more
    _agree(thread, told, "addresses")
    lanes, columns = _cells(how, thread, taddr, second[0] if second else 0, len(r))
    memory = thread.tensor_memory(how)
    memory.begin("st")
    memory.touch(lanes, columns, writes=True)
    if how.words["unpack"]:
        halves = [(_number(value) >> shift) & 0xFFFF for value in r for shift in (0, 16)]
        memory.put(lanes, columns, halves, 0xFFFF)
    else:
        memory.write(lanes, columns, list(r))
    return ()


def wait(how: Use, thread: Thread, told: Sequence[Value]) -> tuple[()]:
    """waits for the thread's loads, or stores"""
    thread.tensor_memory(how).wait(how.words["operation"].removeprefix("wait::"))
    return ()


# Order.


def fence(how: Use, thread: Thread) -> None:
    """orders the thread's asynchronous operations before it, or behind it, against those of others"""
    thread.tensor_memory(how).fence(how.words["ordering"])


def commit(how: Use, thread: Thread, address: Value, mask: Value | None = None) -> None:
    """When all that the thread has begun by `tcgen05.mma`, `cp` and `shift` is complete, pending of [mbar] -= 1; with
    `.multicast::cluster` at the same address in each CTA whose bit is set in the mask"""
    memory: TensorMemoryAccess = thread.tensor_memory(how)
    if pair(how):
        memory.both()
    complete = memory.complete()
    targets = [address]
    if mask is not None:
        chosen = [rank for rank in thread.ranks(how) if extract(mask, rank, rank)]
        targets = [thread.map_address(how, address, rank) for rank in chosen]

    def arrive() -> None:
        complete()
        for target in targets:
            signal_arrival(how, thread, target)

    thread.defer(how, arrive)


ALLOC = together(alloc, "n_cols")
DEALLOC = together(dealloc, "taddr", "n_cols")
RELINQUISH = together(relinquish)
LOAD = together(load, "taddr")
LOAD_REDUCED = together(load_reduced, "taddr")
STORE = together(store, "taddr")
WAIT = together(wait)
