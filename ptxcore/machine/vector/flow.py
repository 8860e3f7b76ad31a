"""Where the basic blocks of a kernel begin, and which registers matter there."""

from __future__ import annotations

from ptxcore.machine.lower.ops import Code, Op, Source
from ptxcore.machine.run.codegen import _cuts, _flat

#: Instructions that end a block.
ENDS = ("branch", "exit", "jump", "call", "return")
#: What makes of an instruction one that each thread executes by itself.
_ALONE = frozenset(("async", "bulk"))


def block_cuts(code: Code) -> list[int]:
    """Where blocks begin: also behind whatever threads meet at."""
    cuts = set(_cuts(code, False))
    for i, op in enumerate(code.ops):
        if meets(op):
            cuts |= {i, i + 1}
    return sorted(cuts - {len(code.ops)} if len(code.ops) not in code.labels.values() else cuts)


def meets(op: Op) -> bool:
    """Whether threads execute an instruction with others, or each by itself."""
    return op.use.form.kind == "warp" or op.instruction.opcode in ("bar", "barrier") or alone(op)


def alone(op: Op) -> bool:
    """Whether each thread executes an instruction by itself: barrier objects, what is asynchronous, what goes in bulk."""
    if op.use.form.kind != "effect" or op.use.form.run is None:
        return False
    return op.instruction.opcode in ("mbarrier", "cp") or not _ALONE.isdisjoint(op.instruction.modifiers)


def leaves(op: Op) -> list[Source]:
    found: list[Source] = []
    for s in op.sources:
        waiting = [s] if s is not None else []
        while waiting:
            source = waiting.pop(0)
            if source.kind == "vector":
                waiting = [*source.parts, *waiting]
            else:
                found.append(source)
    return found


def reads(op: Op, carry: int) -> list[int]:
    """The registers that an instruction reads; those that it writes under a guard, too."""
    found = [s.value for s in leaves(op) if s.kind == "register"]
    if op.guard is not None:
        found += [op.guard[0], *writes(op, carry)]
    return found + ([carry] if "in" in op.use.form.carry.split() else [])


def writes(op: Op, carry: int) -> list[int]:
    """The registers that an instruction writes."""
    found = [t.slot for t in _flat(op.targets) if t is not None]
    return found + ([carry] if "out" in op.use.form.carry.split() else [])


def live(code: Code, cuts: list[int], ends: list[int], carry: int) -> tuple[list[set[int]], list[set[int]]]:
    """The registers of which the value at the beginning and at the end of each block is read later."""
    numbers, count = {cut: i for i, cut in enumerate(cuts)}, len(cuts)
    following: list[list[int]] = []
    need: list[set[int]] = []
    kill: list[set[int]] = []
    for i in range(count):
        ops = code.ops[cuts[i] : ends[i]]
        needed: set[int] = set()
        written: set[int] = set()
        for op in ops:
            needed.update(r for r in reads(op, carry) if r not in written)
            if op.guard is None:
                written.update(writes(op, carry))
        need.append(needed)
        kill.append(written)
        last = ops[-1] if ops else None
        goes = [numbers[code.labels[label]] for op in ops for label in op.labels if label in code.labels]
        stops = last is not None and last.use.form.kind in ENDS and last.call is None and last.guard is None
        following.append(goes + ([] if stops or i + 1 == count else [i + 1]))
    entry: list[set[int]] = [set(n) for n in need]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(count)):
            new = need[i] | (_union(entry, following[i]) - kill[i])
            if new != entry[i]:
                entry[i], changed = new, True
    return entry, [_union(entry, goes) for goes in following]


def _union(sets: list[set[int]], chosen: list[int]) -> set[int]:
    found: set[int] = set()
    for i in chosen:
        found |= sets[i]
    return found
