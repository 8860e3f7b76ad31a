"""What an instruction may ask of the thread that executes it: the seam between meaning and machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ptxcore.isa.effect_kinds import EffectKind
    from ptxcore.isa.form import Use
    from ptxcore.isa.image import Image
    from ptxcore.values.tensor_boxes import BoxPiece
    from ptxcore.values.terms import Value


class Thread(Protocol):
    """Effects on the world outside of registers, as semantic functions name them. `how` is the form in use."""

    def load(self, how: Use, address: Value) -> Value:
        """A read of memory; gives what it returns, with the bits that are accessed."""
        ...

    def store(self, how: Use, address: Value, value: Value) -> None:
        """A write of the low bits of `value`."""
        ...

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Value], tuple[Value, Value]]) -> Value:
        """An atomic read-modify-write: `write(old)` gives the new value and the condition under which it is written.

        `kind`: `atom`, `red`; on a barrier object `init`, `inval`, `expect_tx`, `complete_tx`, `arrive`, `arrive_drop`,
        `increment` (an arrival more is expected) or `wait`, which writes nothing."""
        ...

    def barrier(
        self,
        action: str,
        how: Use,
        *,
        identity: Value | None,
        count: Value | None,
        operator: str = "",
        operand: Value = 0,
        instance: int | None = None,
        level: str = "cta",
    ) -> Value | None:
        """What is done at a barrier of the CTA, or (`level`) of the cluster, which has one only; gives the result of a
        reduction. `action`: `arrive`; `sync` and `red` arrive and wait; `wait`, at a cluster's, waits until the barrier at
        which the thread arrived last is complete. `how.words["aligned"]` says whether all threads of a warp must come
        together."""
        ...

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> object:
        """Any other effect, by its kind and fields (those of `ptxcore.machine.ir.effects.Effect`)."""
        ...

    def require(self, condition: Value, kind: str, message: str) -> None:
        """The manual leaves open what happens where the condition is 0: an error of that kind (short and fixed) there."""
        ...

    def defer(self, how: Use, action: Callable[[], None]) -> None:
        """An asynchronous operation: `action` is done in the name of the thread, now or at any later time."""
        ...

    def after_copies(self, how: Use, action: Callable[[], None]) -> None:
        """As `defer`, but when all of the thread's copies by `cp.async` so far are complete."""
        ...

    def pause(self, how: Use, ready: Value) -> Value:
        """Where `ready` is 0 the thread may sleep and execute the instruction anew later, or go on at once. Gives the answer:
        1 only where `ready` is."""
        ...

    def ranks(self, how: Use) -> range:
        """The ranks of the CTAs of the thread's cluster."""
        ...

    def cancel_cluster(self, how: Use) -> tuple[Value, Value, Value] | None:
        """Takes a cluster of the grid that has not begun from those that are to be launched; gives the index of its first
        CTA, None where there is no such cluster (which may be said at any time)."""
        ...

    def copy(
        self,
        how: Use,
        to: Value,
        source: Value,
        size: Value,
        *,
        fill: Value = 0,
        selected: Value = 0xFFFF,
        combine: Callable[[Value, Value], Value] | None = None,
        when: Value = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        """An asynchronous copy of `size` bytes, then `fill` zeros, done at any later time; none where `when` is 0. Of each
        16 bytes those are written whose bits are set in `selected`. With `combine(old, new)`, elements of `how.width` bits
        are combined with what stands there. `after` is done in the name of the thread when the copy is complete; without
        it, groups learn of that (`commit`, `wait`)."""
        ...

    def tensor_map(self, how: Use, address: Value) -> bytes:
        """The 128 bytes at the generic address of a tensor map, read through its proxy."""
        ...

    def cases(self, how: Use, values: Sequence[Value], when: Value) -> Iterable[tuple[Value, tuple[int, ...]]]:
        """The numbers that values may be, each with the condition under which, besides `when`, they are those."""
        ...

    def copy_box(
        self,
        how: Use,
        pieces: Sequence[BoxPiece],
        *,
        stores: bool,
        filling: tuple[int, int],
        width: int,
        combine: Callable[[Value, Value], Value] | None = None,
        when: Value = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        """An asynchronous copy of several pieces, to shared memory, or from there (`stores`); see `copy`. What is out of bounds
        is filled with a number again and again, of so many bytes (`filling`), or left as it is. `width`: bits of an element."""
        ...

    def leads(self, how: Use) -> bool:
        """Whether this thread does what the threads of a warp do once, together."""
        ...

    def unable(self, how: Use, why: str) -> None:
        """What the instruction does here is not executed."""
        ...

    def clear(self, how: Use, address: Value, size: Value) -> None:
        """Writes zeros to `size` bytes."""
        ...

    def multiply(self, how: Use, sources: Sequence[Any]) -> tuple[Value, ...]:
        """An asynchronous product of the threads of a warpgroup, all of which execute it; gives what the registers of D hold
        until the thread has waited for it."""
        ...

    def products_of_warpgroup(self, how: Use, action: str, pending: Value = 0) -> None:
        """What a thread does about such products: `fence`, its accesses to registers so far come before those of products from
        now on; `commit_group`; `wait_group`, until at most `pending` groups are under way."""
        ...

    def commit(self, how: Use) -> None:
        """Closes the group of the thread's asynchronous copies so far. Those with `.bulk` have groups of their own."""
        ...

    def wait(self, how: Use, pending: Value) -> None:
        """Waits until at most `pending` of the thread's groups are under way; with `.read`, until the others have read."""
        ...

    def in_space(self, address: Value, space: str) -> Value:
        """The truth value of "the generic address lies in that space"."""
        ...

    def map_address(self, how: Use, address: Value, rank: Value) -> Value:
        """The address of the same variable in the shared memory of the CTA `rank` of the cluster."""
        ...

    def rank_of(self, how: Use, address: Value) -> Value:
        """The rank of the CTA in whose shared memory an address lies."""
        ...

    def allocate(self, how: Use, size: Value, alignment: Value) -> Value:
        """Memory of the thread's own, until its function returns or the stack is restored."""
        ...

    def stack_pointer(self, restored: Value | None = None) -> Value:
        """Where the thread's stack stands; with `restored`, puts it back there."""
        ...

    def replicas(self, how: Use, address: Value) -> Iterable[Value]:
        """The addresses of the locations that a multimem address points to, one on each device, in any order. To be gone
        through to the end, with what is done at each."""
        ...

    # Textures and surfaces.

    def image(self, how: Use, handle: Value, kind: str = "") -> Image:
        """The texture, surface or sampler behind a handle, which must be of a kind (a `texref` also is a `samplerref`)."""
        ...

    def is_image(self, handle: Value, kind: str) -> Value:
        """The truth value of "behind the handle is one of that kind"."""
        ...

    def texel(self, how: Use, address: Value, width: int, when: Value = 1) -> Value:
        """A read of `width` bits through the proxy of the form; 0, and no read, where `when` is 0."""
        ...

    def put_texel(self, how: Use, address: Value, width: int, value: Value, when: Value = 1) -> None:
        """Likewise a write."""
        ...

    def reduce_texel(self, how: Use, address: Value, combine: Callable[[Value], Value], when: Value = 1) -> None:
        """Likewise an atomic read-modify-write of `how.width` bits."""
        ...

    def approximated(self, how: Use, value: Value, exact: Value, width: int) -> Value:
        """A value that the documents determine only where `exact` is 1. A run takes it; elsewhere it may be any."""
        ...

    def undetermined(self, how: Use, width: int, why: str, target: int = -1) -> Value:
        """A value that the manual leaves open; of which destination, if only one of them is."""
        ...

    def packed(self, low: Value, high: Value) -> Value:
        """Two halves in one register, of which either may be left open."""
        ...

    def trap(self, how: Use, when: Value, why: str) -> None:
        """Ends the whole launch where `when` is 1."""
        ...

    def refuse_operand(self, how: Use, why: str) -> None:
        """An operand (in words) with which the instruction cannot be executed here."""
        ...

    def tensor_memory(self, how: Use) -> TensorMemoryAccess:
        """The Tensor Memory of the thread's CTA. Only a run has one."""
        ...

    def stop(self, how: Use, reason: str) -> None:
        """Ends the whole launch with an error (`trap`, or an assertion's words), or stops for a debugger (`brkpt`)."""
        ...


class TensorMemoryAccess(Protocol):
    """Tensor Memory, as one thread accesses it by one instruction. Lanes and columns are lists of numbers, or arrays that make
    a grid. What goes wrong there is an error at the instruction."""

    warp: int
    lane: int

    def both(self) -> tuple[TensorMemoryAccess, TensorMemoryAccess]:
        """The Tensor Memories of the even and the odd CTA of the pair that the thread's CTA is in; this one is one of them."""
        ...

    def allocate(self, columns: int, told: Any) -> int:
        """Newly allocated columns, for all threads of a warp together; they wait where there are too few, and are told anew
        what they were told."""
        ...

    def allocate_both(self, columns: int, told: Any) -> int:
        """The same in the two CTAs of the pair, once a warp of each has come."""
        ...

    def free(self, address: int, columns: int) -> None:
        """Columns are allocated no more."""
        ...

    def free_both(self, address: int, columns: int, told: Any) -> None:
        """The same in the two CTAs of the pair, once a warp of each has come."""
        ...

    def relinquish(self) -> None:
        """The CTA may not allocate any more."""
        ...

    def relinquish_both(self, told: Any) -> None:
        """The same for the two CTAs of the pair, once a warp of each has come."""
        ...

    def begin(self, kind: str, place: Any = None, peer: Any = None) -> None:
        """The thread begins an access by an instruction of that kind: `ld`, `st`, `mma`, `shift`, `cp`, `cp.4x256b`. `place`:
        what products have in common that are executed in order. `peer`: the other of `both()`, which it accesses too."""
        ...

    def touch(self, lanes: Any, columns: Any, *, writes: bool) -> None:
        """What was begun reads or writes cells; others that do must be ordered before it."""
        ...

    def read(self, lanes: Any, columns: Any) -> list[Any]:
        """The values of cells."""
        ...

    def unknown(self, why: str) -> Any:
        """A value of 32 bits of which nothing is known; `why`, where it decides something."""
        ...

    def write(self, lanes: Any, columns: Any, values: list[Any]) -> None:
        """Writes values to cells."""
        ...

    def numbers(self, lanes: Any, columns: Any, bits: int = 0xFFFF_FFFF) -> Any:
        """The values of cells as an array; it is an error where one of these bits was not written."""
        ...

    def put(self, lanes: Any, columns: Any, values: Any, bits: Any = 0xFFFF_FFFF) -> None:
        """Writes an array to cells; nothing is known of other bits than these, which may be an array as well."""
        ...

    def shared(self, addresses: Any) -> Any:
        """The bytes of the CTA's shared memory at an array of addresses."""
        ...

    def sums(self, left_open: Callable[[], bool]) -> None:
        """What was begun computes sums of products; whether the manual leaves open what some of them are."""
        ...

    def later(self, action: Callable[[], None]) -> None:
        """What was begun does this at any time before it is complete, behind what was begun before."""
        ...

    def complete(self) -> Callable[[], None]:
        """What completes all that the thread has begun so far and `tcgen05.commit` tracks."""
        ...

    def wait(self, kind: str) -> None:
        """The thread's loads (`ld`) or stores (`st`) are complete."""
        ...

    def fence(self, which: str) -> None:
        """A `tcgen05.fence`."""
        ...
