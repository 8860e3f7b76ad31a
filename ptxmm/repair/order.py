"""Where something may be put between the statements of a thread, and how often that is executed."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.syntax.tree import AnyStatement, Directive, Instruction, Label

_TOUCHES = frozenset(
    {"ld", "st", "atom", "red", "tex", "suld", "sust", "sured", "tld", "cold", "suatom", "cp", "mbarrier", "multimem"}
)
_BRANCHES = frozenset({"bra", "goto", "beq", "bne", "blt", "bgt", "ble", "bge"})
BARRIERS = frozenset({"bar", "barrier"})
#: Where a thread ends.
ENDS = frozenset({"ret", "exit"})
#: Spaces that no other thread sees.
_OWN = frozenset({"param", "const", "local"})


def start_of(statement: AnyStatement) -> tuple[int, int]:
    """Line and column where a statement begins, with its guard."""
    return statement.start if isinstance(statement, Instruction) else (statement.span.line, statement.span.column)


def gaps(statements: Sequence[AnyStatement]) -> list[int]:
    """The statements before which something put in could order accesses: between the first and the last of them, once for
    each stretch that touches no memory; around a loop also at its ends."""
    looping = bool(_loops(statements))
    touching = [i for i, s in enumerate(statements) if orders(s)]
    if not touching:
        return []
    first = 0 if looping else touching[0] + 1
    last = len(statements) if looping else touching[-1] + 1
    return [i for i in range(first, last) if start_of(statements[i])[0] and matters(statements[i])]


def begun_at(statements: Sequence[AnyStatement], i: int) -> int:
    """The first statement of the stretch before a gap that no access, label or branch is in, where the text says that this
    stretch begins a statement of the source: what is put in there does the same, and can be written there. Else the gap."""
    for j in range(i - 1, -1, -1):
        statement = statements[j]
        if isinstance(statement, Directive):
            if statement.name == "loc":
                return next(k for k in range(j, i + 1) if not isinstance(statements[k], Directive))
        elif matters(statement) or not isinstance(statement, Instruction) or not start_of(statement)[0]:
            break
    return i


def ends(statements: Sequence[AnyStatement]) -> list[int]:
    """The statements of a kernel at which a thread ends."""
    return [i for i, s in enumerate(statements) if isinstance(s, Instruction) and s.opcode in ENDS and start_of(s)[0]]


def orders(statement: AnyStatement) -> bool:
    """Whether a statement accesses memory that others see, or orders what does."""
    if not isinstance(statement, Instruction) or _OWN & set(statement.modifiers):
        return False
    return statement.opcode in _TOUCHES | BARRIERS | {"fence", "membar"}


def matters(statement: AnyStatement) -> bool:
    """Whether it makes a difference to put something before a statement or behind it. So it does at one by which some threads
    end: they have no part in what is behind."""
    if isinstance(statement, Instruction):
        leaves = statement.opcode in ENDS and statement.guard is not None
        access = orders(statement) and statement.opcode not in ("fence", "membar")
        return statement.opcode in _BRANCHES or leaves or access
    return isinstance(statement, Label)


def is_init(statement: AnyStatement | None) -> bool:
    """Whether it makes an mbarrier."""
    return isinstance(statement, Instruction) and statement.opcode == "mbarrier" and "init" in statement.modifiers


def loops_around(statements: Sequence[AnyStatement], i: int) -> int:
    """How many backward branches lead over the place before a statement."""
    return sum(first < i <= last for first, last in _loops(statements))


#: The statements that were asked about last, and their loops: a thread is asked about at each of its places.
_last: tuple[Sequence[AnyStatement], list[tuple[int, int]]] = ((), [])


def _loops(statements: Sequence[AnyStatement]) -> list[tuple[int, int]]:
    """The label and the branch of each loop. Nobody changes statements that he asks about."""
    global _last
    known, found = _last
    if known is not statements:
        labels = {s.name: k for k, s in enumerate(statements) if isinstance(s, Label)}
        found = []
        for k, s in enumerate(statements):
            if isinstance(s, Instruction) and s.opcode in _BRANCHES:
                target = next((labels[n] for o in s.operands if (n := getattr(o, "name", "")) in labels), None)
                if target is not None and target < k:
                    found.append((target, k))
        _last = statements, found
    return found


def alters(statements: Sequence[AnyStatement], kind: str) -> bool:
    """Whether one more barrier of a kind (`warp`, `cta`, `cluster`) may change how those that are there are met: where threads
    arrive and go on, or not all come by."""
    for s in statements:
        if isinstance(s, Instruction) and s.opcode in BARRIERS:
            own = next((k for k in ("warp", "cluster") if k in s.modifiers), "cta")
            plain = "sync" in s.modifiers and s.guard is None and len(s.operands) == 1
            if own == kind and not plain:
                return True
    return False
