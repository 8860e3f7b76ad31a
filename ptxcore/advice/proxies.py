"""What no path has: a proxy fence between generic writes of shared memory and what accesses it through the async proxy, a
fence behind the initialisation of mbarrier objects that others complete, a wait between an asynchronous write of shared memory
and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptxcore.advice.accesses import AdvisedFunction
from ptxcore.advice.edits import inserted_before, inserted_behind, warning
from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Address, Bracket, Instruction, Operand

ProxyBase = tuple[str, str] | None


class _Rule(NamedTuple):
    """What a fence must stand between, and what is said where none does. `writes` gives what an instruction writes,
    `reads` what it accesses in the other way, as bases in a tuple (None: unknown, which is any). `fence` is what mends it,
    empty where that is no single instruction. `elsewhere`: from which instructions on another CTA may have written so."""

    code: str
    writes: Callable[[AdvisedFunction, int], tuple[ProxyBase] | None]
    reads: Callable[[AdvisedFunction, int], tuple[ProxyBase, ...]]
    fences: Callable[[Instruction], bool]
    message: str
    hint: str
    fence: str
    elsewhere: Callable[[AdvisedFunction, int], tuple[int, ...]] = lambda function, i: ()


def missing_proxy_fences(function: AdvisedFunction) -> Iterator[Diagnostic]:
    """All rules."""
    opcodes = {instruction.opcode for instruction in function.instructions}
    if opcodes & {"cp", "wgmma", "tcgen05", "st", "red"}:
        for rule in _RULES:
            yield from _missing(function, rule)


def _missing(function: AdvisedFunction, rule: _Rule) -> Iterator[Diagnostic]:
    """The reads that a write comes to, with a fence on no path between."""
    writes = {i: found for i in range(len(function.instructions)) if (found := rule.writes(function, i)) is not None}
    reads = {i: bases for i in range(len(function.instructions)) if (bases := rule.reads(function, i))}
    if not writes or not reads:
        return
    groups = {base: bit for bit, base in enumerate(dict.fromkeys(base for (base,) in writes.values()))}
    gained: dict[int, int] = {}
    for i, (base,) in writes.items():
        for at in (i, *rule.elsewhere(function, i)):
            gained[at] = gained.get(at, 0) | 1 << groups[base]
    arriving = _flow(function, gained, rule.fences)
    told: set[ProxyBase] = set()
    for i, wanted in reads.items():
        bare, fenced = arriving.get(i, (0, 0))  # nothing comes to what control does not
        bad = {
            base for base, bit in groups.items()
            if (None in wanted or base is None or base in wanted) and base not in told and bare & ~fenced & 1 << bit
        }  # fmt: skip
        if bad:
            told |= bad
            mine = [j for j, (base,) in writes.items() if base in bad]
            yield _told(function, rule, i, max((j for j in mine if j < i), default=mine[-1]))


def _told(function: AdvisedFunction, rule: _Rule, read: int, write: int) -> Diagnostic:
    reader, writer = function.instructions[read], function.instructions[write]
    fix = inserted_behind(writer, rule.fence, function.source) if rule.fence else None
    if rule.code == "missing-proxy-fence" and "shared::cluster" in reader.modifiers:
        fix = inserted_before(reader, "fence.proxy.async", function.source)  # a proxy fence works in its own CTA
    message = rule.message.format(reader=reader.name, writer=writer.name, line=writer.span.line)
    return warning(rule.code, reader.span, message, rule.hint, fix)


def _flow(
    function: AdvisedFunction, gained: dict[int, int], fences: Callable[[Instruction], bool]
) -> dict[int, tuple[int, int]]:
    """Before each instruction: the groups of which a write may have come so far, and those with a fence behind it, on some
    path, as bits."""
    graph = function.graph
    entry: list[tuple[int, int] | None] = [None] * len(graph.blocks)
    entry[0] = (0, 0)
    waiting = [0]
    found: dict[int, tuple[int, int]] = {}
    while waiting:
        b = waiting.pop()
        bare, fenced = entry[b] or (0, 0)
        for i in graph.blocks[b]:
            tick()
            found[i] = bare, fenced
            bare |= gained.get(i, 0)
            if fences(function.instructions[i]):
                fenced |= bare
        for s in graph.following[b]:
            before = entry[s]
            now = (bare, fenced) if before is None else (before[0] | bare, before[1] | fenced)
            if now != before:
                entry[s] = now
                waiting.append(s)
    return found


def _base(function: AdvisedFunction, operand: Operand) -> ProxyBase:
    return function.registers.base(operand, narrowed=True)


# Generic writes, async reads.


def _shared_write(function: AdvisedFunction, i: int) -> tuple[ProxyBase] | None:
    instruction = function.instructions[i]
    if instruction.opcode == "stmatrix":
        return (_base(function, instruction.operands[0]),) if instruction.operands else None
    access = function.accesses.get(i)
    if access is None or not access.writes or access.space != "shared":
        return None
    return (access.base,)


def _async_access(function: AdvisedFunction, i: int) -> tuple[ProxyBase, ...]:
    """What an instruction accesses of shared memory through the async proxy; matrices stand in descriptors."""
    instruction = function.instructions[i]
    modifiers = instruction.modifiers
    if instruction.opcode == "wgmma":
        return (None,) if "mma_async" in modifiers else ()
    if instruction.opcode == "tcgen05":
        return (None,) if {"mma", "cp"} & {*modifiers} else ()
    if instruction.opcode != "cp" or "bulk" not in modifiers:
        return ()
    spaces = [m.partition("::")[0] for m in modifiers if m.partition("::")[0] in ("global", "shared")]
    places = [
        o for o in instruction.operands if isinstance(o, Address | Bracket)
    ]  # a bracket is a tensor, in global memory
    return tuple(
        _base(function, place)
        for space, place in zip(spaces, places, strict=False)
        if space == "shared" and isinstance(place, Address)
    )


def _is_proxy_fence(instruction: Instruction) -> bool:
    if instruction.opcode == "call":
        return True  # of what it does nothing is known
    return instruction.opcode == "fence" and any(
        m.partition("::")[0] in ("proxy", "async") for m in instruction.modifiers
    )


# Initialised mbarrier objects.


def _initialises(function: AdvisedFunction, i: int) -> tuple[ProxyBase] | None:
    instruction = function.instructions[i]
    if instruction.opcode != "mbarrier" or "init" not in instruction.modifiers or not instruction.operands:
        return None
    return (_base(function, instruction.operands[0]),)


def _completes(function: AdvisedFunction, i: int) -> tuple[ProxyBase, ...]:
    """The mbarrier object that an asynchronous operation completes."""
    instruction = function.instructions[i]
    if not any(m.startswith("mbarrier::") for m in instruction.modifiers):
        return ()
    if instruction.opcode not in ("cp", "st", "red", "tcgen05"):
        return ()
    last = next((o for o in reversed(instruction.operands) if isinstance(o, Address | Bracket)), None)
    return (_base(function, last) if isinstance(last, Address) else None,)


def _makes_visible(instruction: Instruction) -> bool:
    """Whether an instruction may order an initialisation before what others do with the object."""
    if instruction.opcode in ("barrier", "call"):
        return instruction.opcode == "call" or "cluster" in instruction.modifiers
    return instruction.opcode == "fence" and ("mbarrier_init" in instruction.modifiers or _is_proxy_fence(instruction))


# Asynchronous writes of which an mbarrier object is told.


def _written_later(function: AdvisedFunction, i: int) -> tuple[ProxyBase] | None:
    """Where an operation that completes an mbarrier object writes, in this CTA's shared memory or, at the same place, in that
    of another CTA: other CTAs of the kernel do the same."""
    instruction = function.instructions[i]
    spaces = [m.partition("::")[0] for m in instruction.modifiers if m.partition("::")[0] in ("global", "shared")]
    completes = any(m.startswith("mbarrier::complete_tx") for m in instruction.modifiers)
    if not completes or instruction.opcode not in ("cp", "st", "red") or spaces[:1] != ["shared"]:
        return None
    base = _base(function, instruction.operands[0])
    return (base,) if base is not None else None


def _met_before(function: AdvisedFunction, i: int) -> tuple[int, ...]:
    """The waits at the barrier of the cluster that come last before a write to other CTAs: from there on one of them may have
    written here, on whichever path this CTA is."""
    modifiers = function.instructions[i].modifiers
    if function.instructions[i].opcode == "cp" and "multicast::cluster" not in modifiers:
        return ()
    graph, found = function.graph, set[int]()
    waiting = [(graph.block_of[i], i)]
    seen = set[int]()
    while waiting:
        b, end = waiting.pop()
        tick()
        met = [j for j in graph.blocks[b] if j < end and _meets_cluster(function.instructions[j])]
        if met:
            found.add(met[-1])
            continue
        seen.add(b)
        waiting += [(a, len(function.instructions)) for a in graph.before[b] if a not in seen]
    return tuple(sorted(found))


def _meets_cluster(instruction: Instruction) -> bool:
    return instruction.opcode == "barrier" and {"cluster", "wait"} <= {*instruction.modifiers}


def _shared_read(function: AdvisedFunction, i: int) -> tuple[ProxyBase, ...]:
    access = function.accesses.get(i)
    return (access.base,) if access is not None and access.reads and access.base is not None else ()


def _may_await(instruction: Instruction) -> bool:
    return instruction.opcode == "call" or (
        instruction.opcode == "mbarrier" and bool({"test_wait", "try_wait"} & {*instruction.modifiers})
    )


_RULES = (
    _Rule(
        "missing-proxy-fence", _shared_write, _async_access, _is_proxy_fence,
        "'{reader}' accesses shared memory through the async proxy, and '{writer}' on line {line} writes it through the "
        "generic one, with no proxy fence on any path between",
        "each thread that wrote needs fence.proxy.async behind its writes, before the barrier; for memory of another CTA "
        "of the cluster it stands in the CTA that copies, behind the barrier",
        "fence.proxy.async.shared::cta",
    ),
    _Rule(
        "unfenced-mbarrier-init", _initialises, _completes, _makes_visible,
        "'{reader}' completes an mbarrier object that '{writer}' on line {line} initialises, with no fence on any path "
        "between: the async proxy may not see it initialised",
        "fence.mbarrier_init.release.cluster behind the initialisation, before the barrier",
        "fence.mbarrier_init.release.cluster",
    ),
    _Rule(
        "unawaited-write", _written_later, _shared_read, _may_await,
        "'{reader}' reads what '{writer}' on line {line} writes asynchronously, here or in another CTA, with no wait for an "
        "mbarrier object on any path between",
        "mbarrier.try_wait in a loop, on the object that the operation completes, before the read; barriers do not wait for it",
        "", _met_before,
    ),
)  # fmt: skip
