"""How threads of workers begin rounds: what of it is the same for any ticket, and in any worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxcore.machine.lower.liveness import writes
from ptxcore.machine.lower.ops import Code, Op, Source
from ptxcore.machine.run.uninitialised import Uninitialised
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.values.terms import Term, substitute, symbol

#: The threads of a warp.
WARP = 32
#: Special registers that are the same in all threads; and in those of the same place in all CTAs, or warps.
SAME = ("ntid.", "nctaid.")
LANES = ("laneid", "lanemask_")
THREADS = ("tid.", *LANES)


def overwritten(op: Op, threads: Sequence[Any], lane: int) -> frozenset[int]:
    """The registers that an instruction overwrites in all threads of a warp with what one lane has: it is of no matter what the
    others held."""
    if op.use.form.mnemonic != "shfl" or op.use.words["mode"] != "idx" or op.guard is not None:
        return frozenset()
    sources = op.sources[1:3]
    for source, wanted in zip(sources, (lane, WARP - 1), strict=True):
        if source is None or source.kind not in ("constant", "register") or source.offset:
            return frozenset()
        if {source.value if source.kind == "constant" else thread.R[source.value] for thread in threads} != {wanted}:
            return frozenset()
    kept = {source.value for source in op.sources[1:] if source is not None and source.kind == "register"}
    return frozenset(writes(op)) - kept


def without(stands: object, slots: frozenset[int]) -> object:
    """The same but for some registers."""
    if not isinstance(stands, tuple):
        return stands
    name, place, values, *more = stands
    return name, place, tuple(one for one in values if one[0] not in slots), *more


def asks_no_more(entry: Code, op: Op, others: Sequence[Code], names: tuple[str, ...]) -> bool:
    """Whether no special register but some is read by what may come behind an instruction, or by other functions."""
    index = next(i for i, one in enumerate(entry.ops) if one is op)
    seen, todo = {index}, [index]
    while todo:
        at = todo.pop()
        one = entry.ops[at]
        following = [entry.labels[label] for label in one.labels if label in entry.labels]
        jumps = one.use.form.mnemonic in ("bra", "brx", "ret", "exit", "trap")
        if one.guard is not None or not jumps:
            following.append(at + 1)
        if jumps and one.use.form.mnemonic in ("bra", "brx") and not one.labels:
            return False  # it may go anywhere
        fresh = [place for place in following if place < len(entry.ops) and place not in seen]
        seen.update(fresh)
        todo += fresh
    ops = [entry.ops[at] for at in seen] + [one for code in others for one in code.ops]
    return all(name.removeprefix("%").startswith(names) for one in ops for name in _asked(one.sources))


def _asked(sources: Sequence[Source | None]) -> list[str]:
    """The special registers that are read."""
    found = []
    for source in sources:
        if source is not None:
            found += [source.name] if source.kind == "special" else _asked(source.parts)
    return found


def any_ticket(width: int) -> Term:
    """The symbol that stands for any ticket, of so many bits."""
    return symbol(("ticket",), width)


def normal(stands: object, ticket: Term) -> object:
    """How a thread goes on, with the same symbol for any ticket."""
    if not isinstance(stands, tuple):
        return stands
    name, place, values, *more = stands
    return name, place, tuple((slot, normal_value(value, ticket)) for slot, value in values), *more


def normal_value(value: Any, ticket: Term) -> Any:
    """A value with the same symbol for any ticket."""
    return substitute(value, {ticket: any_ticket(ticket.width)}) if isinstance(value, Term) else value


def reads_open(op: Op, thread: WatchedThread) -> bool:
    """Whether an instruction reads a value that varies, or is unknown."""
    waiting = [source for source in op.sources if source is not None]
    while waiting:
        source = waiting.pop()
        if source.kind == "register" and isinstance(thread.R[source.value], Uninitialised):
            return True
        waiting += source.parts
    return False
