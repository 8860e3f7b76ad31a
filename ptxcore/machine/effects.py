"""What a thread does to the world outside its registers: the interface between executing and deciding.

Executing a thread once, on symbols, gives its effects in program order, each with the condition under which it happens.
What a load or an atomic returns is a fresh symbol; whoever takes the effects decides what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value

#: For each earlier effect of the same thread that returned a value (by its index): the condition under which there is a
#: dependency on it. An absent effect is no dependency.
Dependencies = Mapping[int, Value]

NO_DEPENDENCIES: Dependencies = {}


@dataclass(slots=True, kw_only=True)
class Effect:
    """One effect of one thread.

    `kind`: `load`, `store`, `atom`, `red`, `fence`, `proxy_fence`, `barrier`.
    `guard`: the truth value of "this happens" (path condition and predicate).
    `semantics`: `weak`, `relaxed`, `acquire`, `release`, `acq_rel`, `sc`; volatile and mmio accesses are `relaxed` at
    scope `sys`.
    `scope`: `cta`, `cluster`, `gpu`, `sys`; None for weak accesses, barriers and proxy fences.
    `proxy`: of an access: `generic`, `surface`, `texture`, `constant`; of a proxy fence: the one it names (`alias`,
    `async`, `surface`, ... as written after `fence.proxy.`).
    """

    index: int
    kind: str
    guard: Value
    instruction: Instruction
    semantics: str = "weak"
    scope: str | None = None
    proxy: str = "generic"

    # load, store, atom, red
    space: str = "generic"
    width: int = 32  # bits accessed
    address: Value = 0  # 64 bits
    result: Term | None = None  # what load, atom, red (its inner read) or bar.red returns: a symbol of `width` bits
    # What store, atom, red write: a value of `width` bits, over `result` for a read-modify-write.
    value: Value | None = None
    # atom, red: the condition, given `guard`, under which it writes (a failing compare-and-swap does not).
    writes: Value = 1
    returns: bool = True  # atom: False when its destination is the sink `_`
    answer: int | None = None  # concrete runs: the number that came back (`result` is None then)

    # barrier
    barrier: str = ""  # `sync`, `arrive`, `red`
    identity: Value | None = 0  # the barrier resource; None where the short dialect leaves it out
    count: Value | None = None  # threads; None: all of the CTA
    instance: int | None = None  # short dialect only: the name of the dynamic barrier
    operator: str = ""  # red: `popc`, `and`, `or`
    operand: Value = 0  # red: the predicate that goes in

    address_dependencies: Dependencies = field(default_factory=dict)
    data_dependencies: Dependencies = field(default_factory=dict)
    control_dependencies: Dependencies = field(default_factory=dict)


@dataclass(slots=True)
class FinalRegister:
    """A register at the end of its thread: its value, its type's width and signedness."""

    value: Value
    width: int
    signed: bool = False


@dataclass(slots=True)
class ThreadExecution:
    """All executions of one thread at once.

    `finishes`: the truth value of "the thread reaches its end". `cut`: that of "a loop bound stopped it". They
    exclude each other; where neither holds, the thread waits in a loop that was reduced to its last turn (some other
    choice of what the loop reads is the execution that counts).
    """

    effects: list[Effect]
    registers: dict[str, FinalRegister]
    finishes: Value
    cut: Value
