"""Parities of waits for an mbarrier that are computed: in turn, by a small expression of what counts the turns.

All waits of one place of the source are one site: a loop may be unrolled, and its parities be numbers then. It may become what
the turns of each thread at each object say (`turns.py`), from 0 on or from 1 on. What is not so as it is, in either way, is
certainly wrong where each phase is waited for, and is tried first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.spans import operand_span
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction, Name
from ptxmm.repair import costs
from ptxmm.repair.building import Lines
from ptxmm.repair.counts import value_of
from ptxmm.repair.objects import object_of, place_of
from ptxmm.repair.order import loops_around
from ptxmm.repair.recomputed import KnownRegisters
from ptxmm.repair.sites import PARITY, EditSite, InTurn, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

#: As much as a wait that is lacking for the state that an arrival gives.
_EVIDENT = 3
#: So many turns at most pass before a parity changes, and a counter is off by so much at most; it counts no further.
_LONGEST, _HIGHEST = 8, 1 << 16
_WORDS = frozenset({"b32", "u32", "s32"})


class WaitInTurn(NamedTuple):
    """A wait of a thread by parity, for the `number`th time (from 0) at the object at an address; and what registers hold that
    are numbers. `at`: how many of its waits by parity came before."""

    thread: object
    address: int
    number: int
    at: int
    registers: Mapping[str, int]


#: By the line of the module the turns at the wait there, in the order of the run.
WaitsInTurn = Mapping[int, Sequence[WaitInTurn]]


class _Wait(NamedTuple):
    """A wait of the group: its number in the body, and with each of its turns how many of the thread's there came before."""

    i: int
    statement: Instruction
    turns: Sequence[tuple[WaitInTurn, int]]


class _Operand(NamedTuple):
    """What gives a parity: statements before, and the operand, in words; none for what is there."""

    before: str
    operand: str
    words: str


def by_parity(statement: Instruction) -> bool:
    """Whether a statement looks whether the phase of a parity is over."""
    words = set(statement.modifiers)
    return statement.opcode == "mbarrier" and bool({"try_wait", "test_wait"} & words) and "parity" in words


def parity_of(wait: Instruction, held: Mapping[str, int]) -> int | None:
    """The parity that a wait is for, where registers hold what they hold."""
    operand = wait.operands[2] if len(wait.operands) > 2 else None
    if isinstance(operand, Immediate):
        return operand.value & 1
    return held[operand.name] & 1 if isinstance(operand, Name) and operand.name in held else None


def parity_sites(
    body: Sequence[AnyStatement], who: str, lines: Lines, source: SourceWords, turns: WaitsInTurn,
    places: Mapping[int, Hashable],
) -> Iterator[EditSite]:  # fmt: skip
    """A site for each place of the source with waits by parity, as `places` tell of each line; where they do not, for those who
    wait at the same objects."""
    counters = _Counters(body)
    groups: dict[Hashable, list[tuple[int, Instruction]]] = {}
    for i, statement in enumerate(body):
        if isinstance(statement, Instruction) and by_parity(statement) and turns.get(statement.span.line):
            line, at = statement.span.line, place_of(statement, i, body)
            alike = frozenset(turn.thread for turn in turns[line]), at.base if at is not None else ""
            groups.setdefault(places.get(line, alike), []).append((i, statement))
    for group in groups.values():
        waits = _ordered(group, turns)
        options = [Option((), 0, (0,)), *_options(waits, body, lines, source, counters)]
        if len(options) > 1:
            below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
            yield EditSite(who, waits[0].statement.span.line, tuple(options), below)


def _ordered(group: Sequence[tuple[int, Instruction]], turns: WaitsInTurn) -> list[_Wait]:
    """The waits of a group with their turns, each with its number among those that its thread has at the group."""
    ats: dict[object, list[int]] = {}
    for _, statement in group:
        for turn in turns[statement.span.line]:
            ats.setdefault(turn.thread, []).append(turn.at)
    number = {(who, at): n for who, several in ats.items() for n, at in enumerate(sorted(several))}
    return [
        _Wait(i, statement, [(turn, number[turn.thread, turn.at]) for turn in turns[statement.span.line]])
        for i, statement in group
    ]


def _options(
    waits: Sequence[_Wait], body: Sequence[AnyStatement], lines: Lines, source: SourceWords, counters: _Counters
) -> Iterator[Option]:
    """The parities in turn from 0, and from 1, where they are others than now."""
    now = [parity_of(wait.statement, turn.registers) for wait in waits for turn, _ in wait.turns]
    ways = [[(turn.number + first) % 2 for wait in waits for turn, _ in wait.turns] for first in (0, 1)]
    evident = now not in ways
    names = [object_of(wait.statement, wait.i, body) for wait in waits]
    for first, meant in enumerate(ways):
        if now == meant:
            continue
        numbers = [n for wait in waits for _, n in wait.turns]
        form = _form(list(zip(numbers, meant, strict=True)))
        edits, told, changed = list[TextEdit](), list[str](), list[Instruction]()
        for wait in waits:
            wanted = [(turn.number + first) % 2 for turn, _ in wait.turns]
            made = _operand(wait, wanted, body, counters, form)
            if made is None:
                break
            if made.words:
                edits += _edits(wait.statement, made, lines)
                told.append(f"{made.words}{f' at line {wait.statement.span.line}' * bool(told)}")
                changed.append(wait.statement)
        else:
            old, line = lines.text[slice(*_span(changed[0], lines))], changed[0].span.line
            words = f"{old} of {changed[0].name} becomes {', '.join(told)}"
            in_turn = InTurn(*(form or (0, 0, 0)), flipped=now == ways[1 - first])
            yield Option(
                tuple(edits), costs.NUMBER + costs.EDIT, (1 + first,), words,
                source.of_line(line, f"the parity becomes {told[0]}"), alters=True,
                wanted=Wanted(PARITY, line, 0, old, told[0], in_turn=in_turn), about=names[0],
                others=frozenset(names), far=True, evident=_EVIDENT * evident,
            )  # fmt: skip


def _form(samples: Sequence[tuple[int, int]]) -> tuple[int, int, int] | None:
    """Of numbers with the parity that belongs to each: `every`, `offset` and `more`, where the parity is that of
    (number + offset) / every, plus `more`; the smallest such numbers."""
    for every in range(1, _LONGEST + 1):
        for offset in range(every):
            parities = {(number + offset) // every % 2 ^ parity for number, parity in samples}
            if len(parities) == 1:
                return every, offset, parities.pop()
    return None


def _operand(
    wait: _Wait, wanted: Sequence[int], body: Sequence[AnyStatement], counters: _Counters,
    form: tuple[int, int, int] | None,
) -> _Operand | None:  # fmt: skip
    """What gives the wanted parity in each turn of a wait; None where nothing small does."""
    held = [turn.registers for turn, _ in wait.turns]
    now = [parity_of(wait.statement, registers) for registers in held]
    if now == wanted:
        return _Operand("", "", "")
    fixed = _Operand("", str(wanted[0]), str(wanted[0])) if len(set(wanted)) == 1 else None
    operand = wait.statement.operands[2]
    number = value_of(operand, body)
    often = max(Counter(turn.thread for turn, _ in wait.turns).values(), default=0) > 1
    if fixed is not None and (often or number is not None or not loops_around(body, wait.i)):
        return fixed
    if now == [1 - parity for parity in wanted] and isinstance(operand, Name) and number is None:
        return _Operand(f".reg .b32 turn; xor.b32 turn, {operand.name}, 1; ", "turn", f"{operand.name} ^ 1")
    periods = dict.fromkeys((*((form[0],) if form else ()), *range(1, _LONGEST + 1)))
    for every in periods:
        for name in counters.at(wait.i, held):
            values = [registers[name] for registers in held]
            for offset in sorted(range(-every, every + 1), key=lambda n: (abs(n), n)):
                if min(values) + offset < 0:
                    continue
                parities = {(v + offset) // every % 2 ^ p for v, p in zip(values, wanted, strict=True)}
                if len(parities) == 1:
                    return _computed(name, every, offset, parities.pop())
    return fixed


def _computed(register: str, every: int, offset: int, more: int) -> _Operand:
    """The parity of (register + offset) / every, plus `more`, in PTX."""
    steps = [f".reg .b32 turn; add.s32 turn, {register}, {offset}; "]
    if every & (every - 1) == 0:
        steps.append(f"shr.u32 turn, turn, {every.bit_length() - 1}; " * (every > 1))
    else:
        steps.append(f"div.u32 turn, turn, {every}; ")
    steps.append("and.b32 turn, turn, 1; ")
    steps.append("xor.b32 turn, turn, 1; " * more)
    return _Operand("".join(steps), "turn", in_words(register, every, offset, more))


def in_words(counter: str, every: int | str, offset: int, more: int) -> str:
    """The parity of (counter + offset) / every, plus `more`, as C++ writes it."""
    counted = f"{counter} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else counter
    if every != 1:
        counted = f"({counted}) / {every}" if offset else f"{counted} / {every}"
    counted += " + 1" * more
    return f"({counted}) & 1" if counted != counter else f"{counter} & 1"


def _span(wait: Instruction, lines: Lines) -> tuple[int, int]:
    line, column, end = operand_span(wait, 2)
    return lines.offset(line, column), lines.offset(line, end)


def _edits(wait: Instruction, made: _Operand, lines: Lines) -> Iterator[TextEdit]:
    start, stop = _span(wait, lines)
    if made.before:
        first, ended = lines.offset(*wait.start), lines.text.find(";", stop) + 1
        yield TextEdit(first, first, f"{{ {made.before}")
        yield TextEdit(start, stop, made.operand)
        yield TextEdit(ended, ended, " }")
    else:
        yield TextEdit(start, stop, made.operand)


class _Counters:
    """The registers of a body that may count turns: first those that loops count by, by the least."""

    def __init__(self, body: Sequence[AnyStatement]) -> None:
        self._known = KnownRegisters(body)
        self._rank: dict[str, int] = {}
        for statement in body:
            written = statement.operands[0] if isinstance(statement, Instruction) and statement.operands else None
            if not (isinstance(written, Name) and isinstance(statement, Instruction) and statement.modifiers):
                continue
            if statement.modifiers[-1] in _WORDS and written.name.startswith("%"):
                step = statement.operands[2] if statement.opcode == "add" else None
                counts = isinstance(step, Immediate) and statement.operands[1] == written and step.value > 0
                rank = step.value if isinstance(step, Immediate) and counts else _HIGHEST
                self._rank[written.name] = min(rank, self._rank.get(written.name, rank))

    def at(self, i: int, held: Sequence[Mapping[str, int]]) -> list[str]:
        """Those that hold small numbers before statement number `i` in every turn there."""
        there = [
            name for name in self._rank
            if all(0 <= registers.get(name, -1) < _HIGHEST for registers in held) and self._known.known(name, i)
        ]  # fmt: skip
        return sorted(there, key=lambda name: self._rank[name])


__all__ = ["WaitInTurn", "WaitsInTurn", "by_parity", "in_words", "parity_of", "parity_sites"]
