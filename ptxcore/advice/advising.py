"""All advice about a module, of which each kind stands in a file of this room, and each code in `ptxcore.findings`."""

from __future__ import annotations

from collections.abc import Iterator

from ptxcore.advice.accesses import ACCESSES, AdvisedFunction, order_of
from ptxcore.advice.barriers import divergent_barriers
from ptxcore.advice.fences import needless_sc
from ptxcore.advice.names import told_apart
from ptxcore.advice.orders import unordered_signals, unordered_waits, weak_beside_strong
from ptxcore.advice.proxies import missing_proxy_fences
from ptxcore.advice.scopes import narrow_accesses, narrow_fences
from ptxcore.advice.waits import waits
from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic
from ptxcore.isa.targets import target, version
from ptxcore.syntax.tree import AnyStatement, Close, Directive, Immediate, Instruction, Label, Module, Name, OpenBrace
from ptxcore.syntax.tree import Function as Head

#: `fence`, and orders of accesses, exist from here on.
_ORDERS_SINCE = version("6.0"), 70
#: Opcodes without which a function has nothing to be advised about.
_TELLING = frozenset(("membar", "fence", "bar", "barrier", "mbarrier", "atom", "red", "cp", "wgmma", "tcgen05"))


def advise(module: Module) -> list[Diagnostic]:
    """The advice for a module, in order of its places. It looks at one function at a time (for fences at all of a module),
    along its control flow, and follows addresses through registers as compilers write them; of what it cannot follow it says
    nothing. Raises `ptxcore.clock.OutOfTime`."""
    spaces: dict[str, str] = {}
    for statement in module.statements:
        if hasattr(statement, "space") and hasattr(statement, "names"):
            for declarator in statement.names:
                spaces[declarator.name] = statement.space
    functions = [
        AdvisedFunction(body, spaces, module.source, kernel=kernel)
        for body, kernel in _bodies(module)
        if _is_telling(body)
    ]
    found = [advice for function in functions for advice in _of(function)]
    if not _has_orders(module):
        found = [advice._replace(fix=None) for advice in found]
    elif not any(isinstance(s, Head) and s.kind != "entry" for s in module.statements):
        found += needless_sc(functions)  # of who calls a function, and what it calls, nothing is known
    return sorted(found, key=lambda d: d.span)


def _of(function: AdvisedFunction) -> Iterator[Diagnostic]:
    waiting = waits(function)
    yield from unordered_waits(function, waiting)
    yield from unordered_signals(function, waiting)
    yield from weak_beside_strong(function)
    yield from narrow_accesses(function)
    yield from narrow_fences(function, waiting)
    yield from divergent_barriers(function)
    yield from missing_proxy_fences(function)


def _has_orders(module: Module) -> bool:
    """Whether the module's version and target know `fence` and orders."""
    since, number = _ORDERS_SINCE
    known, targets = False, []
    for statement in module.statements[:16]:
        if isinstance(statement, Directive) and statement.name == "version":
            given = [a.value for a in statement.arguments if isinstance(a, Immediate)]
            known = tuple(given) >= since
        elif isinstance(statement, Directive) and statement.name == "target":
            targets = [t for a in statement.arguments if isinstance(a, Name) and (t := target(a.name)) is not None]
    return known and all(t.number >= number for t in targets)


def _bodies(module: Module) -> Iterator[tuple[list[Instruction | Label], bool]]:
    """The labels and instructions of each function, and whether it is a kernel."""
    body: list[AnyStatement] = []
    depth, kernel = 0, False
    for statement in module.statements:
        if isinstance(statement, Head):
            depth, body, kernel = 0, [], statement.kind == "entry"
            continue
        depth += isinstance(statement, OpenBrace)
        depth -= isinstance(statement, Close)
        if isinstance(statement, Close) and depth == 0:
            yield told_apart(body), kernel
            body = []
        elif depth and not (isinstance(statement, OpenBrace) and depth == 1):
            body.append(statement)


def _is_telling(body: list[Instruction | Label]) -> bool:
    """Whether there is anything to be advised about: something that synchronises, or a loop with a load."""
    loads, places, back = False, dict[str, int](), False
    for i, statement in enumerate(body):
        tick()
        if isinstance(statement, Label):
            places[statement.name] = i
        elif _tells(statement):
            return True
        else:
            loads = loads or statement.opcode == "ld"
            back = back or (
                statement.opcode == "bra" and any(isinstance(o, Name) and o.name in places for o in statement.operands)
            )
    return loads and back


def _tells(statement: Instruction) -> bool:
    """Whether an instruction synchronises, or does something asynchronously."""
    if statement.opcode in _TELLING or "async" in statement.modifiers:
        return True
    return statement.opcode in ACCESSES and order_of(statement) != "weak"
