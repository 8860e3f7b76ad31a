"""What a thread does to the world outside its registers: the interface between executing and deciding.

Executing a thread once, on symbols, gives its effects in program order, each with the condition under which it happens.
What a load or an atomic returns is a fresh symbol; whoever takes the effects decides what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ptxcore.isa.effect_kinds import EffectKind
from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.loop_nest import NONE_UNCOUNTED, Uncounted
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value, all_of, eq

if TYPE_CHECKING:
    from ptxcore.isa.form import Use
    from ptxcore.machine.ir.private_memory import PrivateMemory


#: Stands among the special registers of threads whose strong accesses to vectors are one access each.
WHOLE_VECTORS = "whole vectors"
#: The operation of an input that stands for a register that nothing wrote: any number, and the same one from then on.
UNWRITTEN = "undefined"
#: Bits of the largest such vector.
MOST_WHOLE = 128


class Moved(NamedTuple):
    """A piece of a copy: where it writes, where it reads (None: it writes `number`), and how many bytes."""

    to: int
    source: int | None
    size: int
    number: int = 0


@dataclass(kw_only=True, slots=True)
class Effect:
    """One effect of one thread.

    `kind`: what it is, with its traits: `ptxcore.isa.effect_kinds` lists them.
    `guard`: the truth value of "this happens" (path condition and predicate).
    `semantics`: `weak`, `relaxed`, `acquire`, `release`, `acq_rel`, `sc`; volatile and mmio accesses are `relaxed` at
    scope `sys`.
    `scope`: `cta`, `cluster`, `gpu`, `sys`; None for weak accesses, barriers and proxy fences.
    `proxy`: of an access: `generic`, `surface`, `texture`, `constant`, `async`, `tensormap`; of a proxy fence: the one it
    names (`alias`, `async`, `async.global`, `tensormap::generic`, ... as written after `fence.proxy.`).
    """

    index: int
    kind: EffectKind
    guard: Value
    instruction: Instruction
    semantics: str = "weak"
    scope: str | None = None
    proxy: str = "generic"
    #: The first effect of the instruction, where it has several that no order relates: elements of a vector, or of packed
    #: types. -1: it is ordered by itself.
    group: int = -1
    #: The `issue` effect of the asynchronous operation that this is part of, which is not in program order. -1: none.
    agent: int = -1

    # load, store, atom, red, mbarrier, copy, clear, discard
    space: str = "generic"
    width: int = 32  # bits accessed
    address: Value = 0  # 64 bits; of a copy, where it writes
    # What load, atom, red (its inner read), mbarrier (the state of the object before), bar.red, collective, input return: a
    # symbol of `width` bits.
    result: Term | None = None
    # What store, atom, red, mbarrier (the state after; None for a wait) write: a value of `width` bits, over `result` for a
    # read-modify-write.
    value: Value | None = None
    # atom, red, copy: the condition, given `guard`, under which it writes (a failing compare-and-swap does not).
    writes: Value = 1
    returns: bool = True  # atom, mbarrier: False when its destination is the sink `_`
    answer: int | None = None  # concrete runs: the number that came back (`result` is None then)

    # fence: `mbarrier_init`, `shared::cta`, `shared::cluster` where it is about some operations only
    restrict: str = ""

    # mbarrier: `init`, `inval`, `expect_tx`, `complete_tx`, `arrive`, `arrive_drop`, `increment` (an arrival more is expected:
    # `cp.async.mbarrier.arrive` without `.noinc`, when it is issued), `wait`; grid, host: what is done; stop: `trap`, `brkpt`,
    # or what the assertion says that fails; input: the special register that is asked, `try_wait` where a wait may say no
    # although the phase is over; atom, red: what is done to the old value, as `add`, `exch`, `cas`
    operation: str = ""
    type: str = ""  # atom, red: of what is computed with, as `u32`
    fixed: bool = (
        False  # load: nobody writes what it reads, unless behind it in its thread or in another kernel (`ldu`)
    )
    complete: Value = 1  # mbarrier wait: the truth value of "it returned true"; barrier, collective: of "it is over"

    # barrier
    barrier: str = ""  # `sync`, `arrive`, `red`; a cluster's: `arrive`, `wait`
    level: str = "cta"  # `cta`, `cluster`, `warp`
    identity: Value | None = 0  # the barrier resource; None where the short dialect leaves it out
    count: Value | None = None  # threads; None: all of the CTA. Of a proxy fence, a clear and a copy see `size`
    instance: int | None = None  # short dialect only: the name of the dynamic barrier
    aligned: bool = False
    mask: Value = 0  # barrier of a warp, collective: the member mask
    operator: str = ""  # red: `popc`, `and`, `or`
    operand: Value = 0  # red: the predicate that goes in

    # issue: `mbarrier`, `group`, `bulk_group` (how its completion is learnt), `copies` (it waits for the thread's copies by
    # `cp.async`), "" (by nothing). commit, wait_group: `group` or `bulk_group`.
    mechanism: str = ""
    source: Value = 0  # copy: where it reads
    spaces: tuple[str, ...] = ()  # copy: what the instruction says that its two ends lie in, as `shared::cluster`
    size: Value | None = None  # copy, clear, proxy_fence, malloc: bytes
    fill: Value = 0  # copy: zeros that follow
    selected: Value = 0xFFFF  # copy: which of each 16 bytes
    #: copy: the pieces of which it consists, where it is of several; `address`, `source`, `size` are of all then.
    pieces: tuple[Moved, ...] = ()
    combine: Callable[[Value, Value], Value] | None = None  # copy: what becomes of (old, new), element by element
    pending: Value = 0  # wait_group: groups that may be under way
    reads: bool = False  # wait_group: waits for the reading only

    # collective: what the thread brings, and the meaning over all threads that take part. All results are in `result`, the
    # first one lowest: see `ptxcore.machine.ir.collective`. `mask` is 0 where nobody waits: who is there takes part.
    operands: tuple[Any, ...] = ()
    how: Use | None = None
    #: The effects whose operands the result comes from, where that is known: lanes, indices in their threads, and when it is
    #: that one of its lane, given that both are executed.
    met: tuple[tuple[int, int, Value], ...] = ()
    #: Whom it waits for, where it has a member mask: lanes, and for each, likewise, what it does then; index -1 where it never
    #: comes.
    mates: tuple[tuple[int, int, Value], ...] = ()

    address_dependencies: Dependencies = field(default_factory=dict)
    data_dependencies: Dependencies = field(default_factory=dict)
    control_dependencies: Dependencies = field(default_factory=dict)
    #: Those of address and data that carry a value, where some do not: `xor t, r, r` is 0 whatever `r` is.
    address_carrying: Dependencies | None = None
    data_carrying: Dependencies | None = None

    @property
    def values_from(self) -> tuple[Dependencies, Dependencies]:
        """The dependencies of address and data that carry a value."""
        address, data = self.address_carrying, self.data_carrying
        return (
            self.address_dependencies if address is None else address,
            self.data_dependencies if data is None else data,
        )

    @property
    def all_carry(self) -> bool:
        """Whether all dependencies of address and data carry a value."""
        return self.address_carrying is None and self.data_carrying is None


#: State spaces that an instruction may name of one of its two addresses.
_SPACES = ("global", "shared", "shared::cta", "shared::cluster")


def is_whole(special: Mapping[str, int], how: Use, parts: Sequence[object]) -> bool:
    """Whether a strong load or store of a vector's elements is one access: a reading of section 8.2.4, which by its letter
    makes each element one. `parts`: what each is stored from or goes to, None being nothing."""
    strong = how.sem not in ("", "weak")
    return WHOLE_VECTORS in special and strong and None not in parts and len(parts) * how.width <= MOST_WHOLE


def named_spaces(instruction: Instruction) -> tuple[str, ...]:
    """The state spaces that a copy names, in its order: that of where it writes first."""
    return tuple([modifier for modifier in instruction.modifiers if modifier in _SPACES])


class Requirement(NamedTuple):
    """What must hold lest the behaviour be undefined: under `guard`, the truth value `condition`. `kind` is one of the
    machine's kinds of errors (`bad-mbarrier`, `misaligned`, ...), `message` says what is wrong otherwise. `effect`: the last
    effect of the instruction before it, -1 where there is none. `before`: the effects of the thread before it, in number."""

    guard: Value
    condition: Value
    kind: str
    message: str
    instruction: Instruction
    effect: int = -1
    before: int = 0

    @property
    def place(self) -> int:
        """It is asked where the thread has passed so many effects; an effect of its own may wait."""
        return self.before if self.effect < 0 else self.effect


class CutLoop(NamedTuple):
    """A loop whose bound stopped the thread, under `guard`, after so many `iterations`. `label` is where the loop begins (""
    where no label stands there), `instruction` its first instruction (None in a loop without any)."""

    guard: Value
    label: str
    instruction: Instruction | None
    iterations: int


class Stuck(NamedTuple):
    """A waiting loop that was reduced to its last iteration: under `guard` that iteration goes round instead of leaving.

    Such an iteration did nothing but poll. `reads` are its effects that returned something (by index; each happened where
    its own guard holds). Who repeats the iteration sees the same again as long as those reads return the same: a thread may
    stay here without end in an execution in which `repeats` holds and each of those reads reads a write that nothing follows in
    coherence order. What the thread did before is an execution in full, but for what comes behind the loop.
    """

    guard: Value
    label: str
    instruction: Instruction | None
    reads: tuple[int, ...]
    #: The condition under which the next iteration goes round as well, and so without end: as `guard`, but a wait that may say
    #: no for no reason does not always do so; and what a clock says in the iteration it need not say in the next one
    #: (`axioms.liveness.timed`).
    repeats: Value
    #: The first effect of the iteration.
    start: int


class Iteration(NamedTuple):
    """Where an iteration of a loop begins, or would begin that a bound stopped: under `guard`, with `values` in the registers
    that matter (and whether they were written) and `memory` of the thread's own. `loop` is the place of the loop in the
    unrolled graph, `number` counts its iterations from 0, `start` is the first effect of the iteration; `label` and
    `instruction` are those of `CutLoop`."""

    loop: tuple[int, ...]
    number: int
    guard: Value
    values: tuple[tuple[Value, Value], ...]
    memory: PrivateMemory | None
    start: int
    label: str
    instruction: Instruction | None
    cut: bool = False

    def same(self, other: Iteration) -> Value:
        """The truth value of "who begins this iteration is where he was when he began the other"."""
        if any(a[1] != b[1] for a, b in zip(self.values, other.values, strict=True)):
            return 0
        alike = [eq(a, b) for (a, _), (b, _) in zip(self.values, other.values, strict=True)]
        if self.memory is not None and other.memory is not None:
            alike.append(self.memory.same(other.memory))
        return all_of(alike)


@dataclass(slots=True)
class FinalRegister:
    """A register at the end of its thread: its value, its type's width and signedness."""

    value: Value
    width: int
    signed: bool = False


@dataclass(slots=True)
class ThreadExecution:
    """All executions of one thread at once.

    `finishes`: the truth value of "the thread reaches its end". `cut`: that of "a loop bound stopped it". They exclude
    each other; where neither holds, the thread waits in a loop that was reduced to its last iteration (some other choice of
    what the loop reads is the execution that counts). `cuts` and `stuck` say in which loops, each under its guard.
    `repeating` are iterations that a bound stopped, where the next would do the same, and so without end. `iterations` are
    those of loops that a bound may stop, and of others that have one way in. `uncounted` is that of `ThreadCode`.
    `control` are the reads that decided how the thread came to its end, for which others may wait at barriers."""

    effects: list[Effect]
    registers: dict[str, FinalRegister]
    finishes: Value
    cut: Value
    requirements: list[Requirement] = field(default_factory=list)
    cuts: list[CutLoop] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)
    control: Dependencies = field(default_factory=dict)
    repeating: list[Stuck] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    uncounted: Uncounted = NONE_UNCOUNTED
