"""Whether turns (`tickets.turns`) come to the same, whoever has which ticket.

Each counter has its turns, one for each number, which all have the same steps. So for each number it is known which bytes
they access, what they put into flags, and what they wait for. Values of a flag tell who has put them there; so who waits comes
behind one turn, whoever has it. docs/whole-launches/tickets.md (Turns) has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.tickets.publications import fence_scope
from axioms.dynamic.tickets.slots import Slots
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted
from axioms.dynamic.tickets.turns import Turn, leads_back, with_numbers
from ptxcore.isa.form import ACQUIRES, RELEASES
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term, Value, evaluate, mask

#: Turns of a launch, at most: what each knows of each is a number.
_MOST_TURNS = 4096

#: A flag, by the identity of its segment and its first byte.
_Flag = tuple[int, int]


class _Open(Exception):
    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.party = party


def check_turns(turns: list[Turn], slots: Slots, first: dict[_Flag, int]) -> list[tuple[Segment, int, int]] | Party:
    """Holds turns against each other, and against all other accesses. Gives the bytes that may be others in other executions;
    or who does something of which nothing is known. `first`: what flags hold first."""
    try:
        return _Handovers(turns, slots, first).check()
    except _Open as found:
        return found.party


@dataclass(eq=False)
class _Numbered:
    """A turn by its number: `at` is its own among all, `places` and `values` of its steps: where they access memory, and what
    they put there or wait for."""

    counter: Counter
    number: int
    turn: Turn
    at: int
    places: list[int]
    values: list[int]
    #: Of each step, what its thread knows before it of the steps of all turns.
    known: list[Any]


class _Post(NamedTuple):
    """Who puts something into a flag: the step of a turn."""

    of: _Numbered
    step: int


class _Handovers:
    """All turns of a launch."""

    def __init__(self, turns: list[Turn], slots: Slots, first: dict[_Flag, int]) -> None:
        self.turns, self.slots, self.first = turns, slots, first
        self.party = turns[0].party
        self.of: dict[Counter, list[Turn]] = {}
        for turn in turns:
            self.of.setdefault(turn.ticket.counter, []).append(turn)
        self.all: list[_Numbered] = []
        self.by: dict[tuple[Counter, int], _Numbered] = {}
        #: What flags hold in the order of time, with who puts it there; None at first.
        self.posts: dict[_Flag, dict[int, _Post | None]] = {}
        self.waits: dict[_Flag, list[tuple[_Numbered, int]]] = defaultdict(list)
        #: Of each post, by its turn and step, what it hands on: how many steps of each turn come before it.
        self.handed: dict[tuple[int, int], Any] = {}

    def check(self) -> list[tuple[Segment, int, int]]:
        """Raises _Open."""
        if len(self.turns) > _MOST_TURNS:
            raise _Open(self.party)
        for counter, turns in self.of.items():
            self._are_alike(counter, turns)
            for turn in turns:
                self._number(counter, turn)
        self._find_posts()
        for one in self.all:
            self._find_waits(one)
        for flag in self.posts:
            self._check_flag(flag)
        for one in self._in_order():
            self._know(one)
        grains = self._by_grain()
        self._check_against_each_other(grains)
        self._check_outside(grains)
        return [
            (s.segment, one.places[i], one.places[i] + s.size)
            for one in self.all
            for i, s in enumerate(one.turn.steps)
            if s.does == "writes" and s.segment is not None
        ]

    # Turns and numbers.

    def _are_alike(self, counter: Counter, turns: list[Turn]) -> None:
        """All that is added to a counter is turns, each of as many numbers, and they have the same steps."""
        tickets = [ticket for ticket in self.slots.tickets.values() if ticket.counter is counter]
        addend = tickets[0].addend
        alike = {ticket.addend for ticket in tickets} == {addend} and addend * len(tickets) == counter.total
        numbers = {counter.start + addend * i for i in range(len(tickets))}
        if not alike or len(tickets) != len(turns) or {ticket.number for ticket in tickets} != numbers:
            raise _Open(turns[0].party)
        if counter.start + counter.total > mask(8 * counter.size):
            raise _Open(turns[0].party)
        program: list[tuple[object, ...]] | None = None
        for turn in turns:
            step()
            names = turn.names()
            mine = [one.like(names) for one in turn.steps]
            if program is None:
                program = mine
            elif mine != program:
                raise _Open(turn.party)

    def _number(self, counter: Counter, turn: Turn) -> None:
        """A turn gets its number, and its steps their places."""
        symbol, number = turn.ticket.symbol, turn.ticket.number
        made = _Numbered(counter, number, turn, len(self.all), [], [], [])
        for one in turn.steps:
            place = value = 0
            if one.segment is not None:
                at = self._value(one.term, {symbol: number}, turn)
                place = at + one.beyond
                assert one.noted is not None
                inside = place >= 0 and place + one.size <= one.segment.size and not at % one.whole
                if not inside or place != one.noted.first:
                    raise _Open(turn.party)
            if one.does == "posts":
                value = self._value(one.value, {symbol: number}, turn)
            made.places.append(place)
            made.values.append(value)
        self.all.append(made)
        self.by[counter, number] = made

    @staticmethod
    def _value(term: Value, known: dict[Term, int], turn: Turn) -> int:
        try:
            return evaluate(term, known)
        except KeyError:
            raise _Open(turn.party) from None

    # Flags.

    @staticmethod
    def _flag(one: _Numbered, i: int) -> _Flag:
        return id(one.turn.steps[i].segment), one.places[i]

    def _find_posts(self) -> None:
        """Of each flag what it may hold, and who puts it there: each value is put there once."""
        sizes: dict[_Flag, int] = {}
        for one in self.all:
            for i, made in enumerate(one.turn.steps):
                if made.does not in ("waits", "posts"):
                    continue
                flag = self._flag(one, i)
                if sizes.setdefault(flag, made.size) != made.size or flag not in self.first:
                    raise _Open(one.turn.party)
                values = self.posts.setdefault(flag, {self.first[flag]: None})
                if made.does == "waits":
                    self.waits[flag].append((one, i))
                else:
                    if one.values[i] in values:
                        raise _Open(one.turn.party)
                    values[one.values[i]] = _Post(one, i)

    def _find_waits(self, one: _Numbered) -> None:
        """What each wait of a turn goes on with: one value. What is tested comes out as in the run."""
        turn = one.turn
        known = {turn.ticket.symbol: one.number}
        for i, made in enumerate(turn.steps):
            step()
            if made.does == "waits":
                assert made.found is not None
                values = self.posts[self._flag(one, i)]
                ways = with_numbers(made.ways, known)
                on = [value for value in values if not leads_back(ways, value, made.size)]
                if len(on) != 1:
                    raise _Open(turn.party)
                one.values[i] = known[made.found] = on[0]
            elif made.does == "tests" and self._value(made.term, known, turn) != made.truth:
                raise _Open(turn.party)

    def _check_flag(self, flag: _Flag) -> None:
        """Values come into a flag in one order, and whoever waits for one finds it: it stands there until nobody waits."""
        values = self.posts[flag]
        behind: dict[int, _Post] = {}
        for post in values.values():
            if post is not None:
                before = self._before(flag, post)
                if before in behind:
                    raise _Open(post.of.turn.party)
                behind[before] = post
        at, count = self.first[flag], 0
        while at in behind:
            at = behind[at].of.values[behind[at].step]
            count += 1
        if count != len(values) - 1:
            raise _Open(self.party)
        for one, i in self.waits[flag]:
            post = behind.get(one.values[i])
            if post is not None and (post.of is not one or post.step < i):
                raise _Open(one.turn.party)

    def _before(self, flag: _Flag, post: _Post) -> int:
        """What a flag holds when something is put there: what its turn has waited for or put there itself, or what stood
        there first."""
        one = post.of
        for i in range(post.step - 1, -1, -1):
            if one.turn.steps[i].does in ("waits", "posts") and self._flag(one, i) == flag:
                return one.values[i]
        return self.first[flag]

    def _source(self, one: _Numbered, i: int) -> _Post | None:
        """Who has put there what a wait finds."""
        return self.posts[self._flag(one, i)][one.values[i]]

    # That turns end, and in which order.

    def _in_order(self) -> list[_Numbered]:
        """The turns, so that each waits only for those before it, and in any order of the tickets somebody comes to each."""
        counters = list(self.of)
        follows: dict[Counter, set[Counter]] = {counter: set() for counter in counters}
        waits: list[tuple[_Numbered, _Numbered]] = []
        for one in self.all:
            for i, made in enumerate(one.turn.steps):
                if made.does == "waits":
                    post = self._source(one, i)
                    if post is not None and post.of is not one:
                        waits.append((one, post.of))
                        follows[one.counter].add(post.of.counter)
        taken: dict[int, list[Counter]] = {}
        for turn in self.turns:
            mine = taken.setdefault(turn.thread, [])
            if not mine or mine[-1] is not turn.ticket.counter:
                follows[turn.ticket.counter].update(mine)
            mine.append(turn.ticket.counter)
        levels = _levels(follows)
        for mine in taken.values():
            here: dict[int, Counter] = {}
            for counter in mine:
                if here.setdefault(levels[counter], counter) is not counter:
                    raise _Open(self.party)
        same: dict[Counter, set[Counter]] = {counter: set() for counter in counters}
        for one, other in waits:
            if levels[one.counter] == levels[other.counter]:
                if other.number > one.number:
                    raise _Open(one.turn.party)
                if other.number == one.number:
                    same[one.counter].add(other.counter)
        ranks = _levels(same)
        if any(
            ranks[one.counter] <= ranks[other.counter]
            for one, other in waits
            if levels[one.counter] == levels[other.counter] and one.number == other.number
        ):
            raise _Open(self.party)
        return sorted(self.all, key=lambda one: (levels[one.counter], one.number, ranks[one.counter]))

    # What comes behind what.

    def _know(self, one: _Numbered) -> None:
        """What a turn knows of the steps of others, before each of its own; all that it waits for come before."""
        now = np.zeros(len(self.all), dtype=np.int16)
        found: list[Any] = []
        released: Any = None
        for i, made in enumerate(one.turn.steps):
            one.known.append(now)
            if made.does == "waits":
                post = self._source(one, i)
                handed = None if post is None else self.handed.get((post.of.at, post.step))
                if handed is not None:
                    if made.op.use.sem in ACQUIRES:
                        now = np.maximum(now, handed)
                    else:
                        found.append(handed)
            elif made.does == "fences" and fence_scope(made.op.use) in WIDE:
                if made.op.use.sem != "release" and found:
                    now = np.maximum.reduce([now, *found])
                    found = []
                if made.op.use.sem != "acquire":
                    released = now.copy()
                    released[one.at] = i
            elif made.does == "posts":
                handed = released
                if made.op.use.sem in RELEASES:
                    handed = now.copy()
                    handed[one.at] = i
                self.handed[one.at, i] = handed

    def _ordered(self, one: _Numbered, i: int, other: _Numbered, j: int) -> bool:
        """Whether one step comes before another one, or behind it."""
        if one is other:
            return True
        return int(other.known[j][one.at]) > i or int(one.known[i][other.at]) > j

    # Accesses.

    def _by_grain(self) -> dict[tuple[int, int], list[tuple[_Numbered, int]]]:
        found: dict[tuple[int, int], list[tuple[_Numbered, int]]] = defaultdict(list)
        for one in self.all:
            for i, made in enumerate(one.turn.steps):
                if made.segment is not None:
                    for byte in range(one.places[i], one.places[i] + made.size):
                        found[id(made.segment), byte].append((one, i))
        return found

    def _check_against_each_other(self, grains: dict[tuple[int, int], list[tuple[_Numbered, int]]]) -> None:
        """Two accesses of turns that conflict are of one flag, or in order."""
        for there in grains.values():
            for n, (one, i) in enumerate(there):
                for other, j in there[:n]:
                    step()
                    if not self._fit(one, i, other, j):
                        raise _Open(one.turn.party)

    def _fit(self, one: _Numbered, i: int, other: _Numbered, j: int) -> bool:
        a, b = one.turn.steps[i], other.turn.steps[j]
        flags = [made.does in ("waits", "posts") for made in (a, b)]
        if all(flags):
            return one.places[i] == other.places[j]
        if any(flags):
            return False
        return a.does == b.does == "reads" or self._ordered(one, i, other, j)

    def _check_outside(self, grains: dict[tuple[int, int], list[tuple[_Numbered, int]]]) -> None:
        """All other accesses of bytes that turns may access come before all of these that conflict, or behind them, whoever has
        which ticket: each thread that has turns does them at the same steps."""
        members: dict[tuple[Counter, int], list[Noted]] = {}
        for one in self.all:
            for i, made in enumerate(one.turn.steps):
                if made.noted is not None:
                    members.setdefault((one.counter, i), []).append(made.noted)
        segments = {id(member.segment) for of in members.values() for member in of}
        for noted in self.slots.noted:
            if id(noted.segment) not in segments:
                continue
            if noted.placed is not None:
                raise _Open(noted.placed.party)
            classes = {
                (one.counter, i)
                for byte in range(noted.first, noted.first + noted.size)
                for one, i in grains.get((id(noted.segment), byte), ())
            }
            for key in classes:
                self._check_beside(noted, members[key])

    def _check_beside(self, noted: Noted, members: Iterable[Noted]) -> None:
        sides = set[bool]()
        for member in members:
            step()
            if noted.kind == "R" and member.kind == "R" and not member.strong:
                return
            if not self.slots.ordered(noted, member) or noted.strong or noted.kind == "A":
                raise _Open(Party(member.thread, _op(member)))
            sides.add(noted.number < member.number)
        if len(sides) > 1:
            raise _Open(self.party)


def _op(noted: Noted) -> Op:
    assert noted.op is not None
    return noted.op


def _levels(follows: dict[Counter, set[Counter]]) -> dict[Counter, int]:
    """A level for each, not below those that it follows; those have the same that follow each other."""
    reach = {one: set(of) for one, of in follows.items()}
    changed = True
    while changed:
        changed = False
        for of in reach.values():
            more = set[Counter]().union(*(reach[other] for other in of)) - of
            if more:
                of |= more
                changed = True
    levels: dict[Counter, int] = {}
    left = list(follows)
    level = 0
    while left:
        first = next(
            one for one in left if all(other not in left or one in reach[other] or other is one for other in reach[one])
        )
        group = [one for one in left if one is first or (one in reach[first] and first in reach[one])]
        levels.update(dict.fromkeys(group, level))
        left = [one for one in left if one not in group]
        level += 1
    return levels


__all__ = ["check_turns"]
