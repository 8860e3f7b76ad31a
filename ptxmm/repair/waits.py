"""Waits for an mbarrier that may be missing: a loop of `mbarrier.try_wait` that is put in before an access.

A wait takes executions away, and orders what comes behind it. It changes no object. But where the phase that it waits for is
none that may be waited for, the text with it has no meaning, and one without it may have one: so it counts as what alters
how others meet, and nothing is concluded from a text with it for a text without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Instruction, Name
from ptxmm.repair import costs
from ptxmm.repair.counts import value_of
from ptxmm.repair.objects import place_of
from ptxmm.repair.order import matters, start_of
from ptxmm.repair.recomputed import KnownRegisters
from ptxmm.repair.tensor_sites import works

#: A wait for an object that nothing else in the kernel waits for.
_NAME = "mbarrier.try_wait.parity.shared.b64"
_PLAIN = ("ld", "st", "atom", "red")
#: What orders operations of tensor cores with what comes before it.
_ORDERING = frozenset({"fence", "fence::after_thread_sync"})
#: What stands before a register that holds the other parity.
_OTHER = "!"
#: So many objects are waited for at most: those that nothing waits for, then the first in the text.
_MOST = 6


class MissingWait(NamedTuple):
    """A loop that waits for the object `about` until the phase of a parity is over; `registers` have to be written before.
    `unawaited`: nothing in the kernel waits for it, though something arrives there. `before` is what computes its registers."""

    name: str
    address: str
    parity: str
    about: str
    registers: tuple[str, ...]
    unawaited: bool = False
    before: str = ""

    @property
    def statement(self) -> str:
        """The loop, in a block of its own."""
        wait = f"{self.name} waited, [{self.address}], {self.parity}"
        return f"{{ .reg .pred waited; {self.before}again: {wait}; @!waited bra again; }}"

    @property
    def words(self) -> str:
        """What is waited for."""
        anew = " (again: computed here as elsewhere)" * bool(self.before)
        return f"a loop of {self.name} [{self.address}], {self.parity}{anew}"

    def at(self, known: KnownRegisters, i: int) -> MissingWait | None:
        """The wait before statement number `i`, where what it is about is known there; or where it is evident that a wait is
        lacking, and what it is about can be computed there. None else."""
        inverted = self.parity.startswith(_OTHER)
        if not inverted and all(known.known(register, i) for register in self.registers):
            return self
        if not self.unawaited:
            return None
        statements, widths = list[str](), list[int]()
        address, parity = self.address, self.parity.removeprefix(_OTHER)
        for register in self.registers:
            is_parity = register == parity
            made = known.computed(register, i, len(widths), inverted=inverted and is_parity)
            if made is None:
                return None
            statements += made.statements
            widths += made.widths
            if is_parity:
                parity = made.operand
            else:
                address = address.replace(register, made.operand, 1)
        declared = "".join(f".reg .b{width} again{n}; " for n, width in enumerate(widths))
        return self._replace(
            address=address, parity=parity, before=declared + "".join(f"{statement}; " for statement in statements)
        )


def missing_waits(body: Sequence[AnyStatement]) -> list[MissingWait]:
    """The waits that may be missing: for each mbarrier that the statements are about, for both parities, and for those that
    others wait for in registers; as it is waited for elsewhere. Where nobody waits for it, for the parities that others wait
    for at other objects, too, and for their opposites."""
    objects: dict[str, tuple[str, ...]] = {}
    parities: dict[str, dict[str, None]] = {}
    names: dict[str, dict[str, None]] = {}
    awaited: set[str] = set()
    for at, statement in enumerate(body):
        if not isinstance(statement, Instruction):
            continue
        place = place_of(statement, at, body)
        if place is None or place.remote:
            continue
        objects.setdefault(place.name, () if place.variable else (place.base,))
        words = set(statement.modifiers)
        if {"try_wait", "test_wait"} & words:
            awaited.add(place.name)
        if {"try_wait", "test_wait"} & words and "parity" in words:
            parities.setdefault(place.name, {}).update(dict.fromkeys(_parity(statement, body)))
            names.setdefault(place.name, {})[statement.name.replace("test_wait", "try_wait")] = None
    every = {
        name: None for named in names.values() for name in named
    }  # the scope that others wait in may be needed here
    others = list(dict.fromkeys(parity for known in parities.values() for parity in known))
    found, arrived = [], arrivals_at(body)
    lacking = {about for about in objects if about in arrived and about not in awaited}
    few = sorted(objects, key=lambda about: about not in lacking)[:_MOST]
    for about, registers in ((about, objects[about]) for about in objects if about in few):
        for name in names.get(about, every or {_NAME: None}):
            unawaited = about in lacking
            turning = [p for p in (others if unawaited else parities.get(about, ())) if p.startswith("%")]
            for parity in dict.fromkeys(("0", "1", *turning, *(_OTHER + p for p in turning if unawaited))):
                register = parity.removeprefix(_OTHER)
                needed = (*registers, register) if register.startswith("%") else registers
                found.append(MissingWait(name, about, parity, about, needed, unawaited))
    return found


def arrivals_at(body: Sequence[AnyStatement]) -> dict[str, list[int]]:
    """The numbers of the statements that arrive at each mbarrier, or copy what it is told of."""
    found: dict[str, list[int]] = {}
    for at, statement in enumerate(body):
        place = place_of(statement, at, body) if isinstance(statement, Instruction) else None
        if place is not None and not {"init", "inval", "try_wait", "test_wait"} & set(
            getattr(statement, "modifiers", ())
        ):
            found.setdefault(place.name, []).append(at)
    return found


def waits_at(body: Sequence[AnyStatement]) -> dict[str, list[int]]:
    """The numbers of the statements that wait for each mbarrier."""
    found: dict[str, list[int]] = {}
    for at, statement in enumerate(body):
        if isinstance(statement, Instruction) and {"try_wait", "test_wait"} & set(statement.modifiers):
            place = place_of(statement, at, body)
            if place is not None:
                found.setdefault(place.name, []).append(at)
    return found


def _parity(statement: Instruction, body: Sequence[AnyStatement]) -> Iterator[str]:
    """The parity that a statement of a body waits for, as it is written; of a register that holds one number, that."""
    operand = statement.operands[-1]
    number = value_of(operand, body)
    if number is not None:
        yield str(number)
    elif isinstance(operand, Name):
        yield operand.name


def places_of_waits(body: Sequence[AnyStatement]) -> Iterator[int]:
    """The statements before which a wait may be missing: accesses that follow on none, up to what marks, jumps or meets; fences
    between proxies, and not what follows on these up to there; and operations of tensor cores."""
    fresh, ordered = True, False
    for i, statement in enumerate(body):
        if _between_proxies(statement) and start_of(statement)[0] and not ordered:
            yield i
            ordered = True
        if works(statement) and start_of(statement)[0]:
            if not ordered:
                yield i
            ordered = False
        if not matters(statement):
            continue
        access = isinstance(statement, Instruction) and statement.opcode in (*_PLAIN, "cp")
        arrives = isinstance(statement, Instruction) and bool({"arrive", "expect_tx"} & set(statement.modifiers))
        if start_of(statement)[0] and (access or arrives) and fresh and not ordered:
            yield i
        fresh = not (access and isinstance(statement, Instruction) and _plain(statement))
        ordered = ordered and not fresh


def _between_proxies(statement: AnyStatement) -> bool:
    """Whether a statement is a fence between proxies, or before operations of tensor cores: behind it, a wait is one of the
    proxy alone in which it waits."""
    if not isinstance(statement, Instruction):
        return False
    words = set(statement.modifiers)
    before_tensor_cores = statement.opcode == "wgmma" or "fence::after_thread_sync" in words
    return (statement.opcode == "fence" and "proxy" in words) or (before_tensor_cores and bool(words & _ORDERING))


def _plain(statement: Instruction) -> bool:
    """Whether an access is done when what comes behind it is."""
    return statement.opcode in _PLAIN and "async" not in statement.modifiers


def price_of_wait(loops: int) -> int:
    """What a wait costs that so many loops are around."""
    return costs.MBARRIER_WAIT + costs.EDIT + loops * costs.IN_A_LOOP
