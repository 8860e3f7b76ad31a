"""Whether turns (`tickets.turns`) come to the same, whoever has which ticket.

Each counter has its turns, one for each number, which all have the same steps, thread by thread. So for each number it is known
which bytes they access, what they put into flags, and what they wait for. Values of a flag tell who has put them there; so who
waits comes behind one turn, whoever has it. Within a turn, threads are ordered by where they meet.
docs/whole-launches/tickets.md (Turns) has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.tickets.holders import Holder
from axioms.dynamic.tickets.publications import fence_scope
from axioms.dynamic.tickets.slots import Slots
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted
from axioms.dynamic.tickets.turns import Turn, TurnStep, leads_back, with_numbers
from ptxcore.isa.form import ACQUIRES, RELEASES
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term, Value, evaluate, mask

#: Turns of a launch, times the strands of all of them, at most: what each turn knows of each strand is a number.
_MOST_KNOWN = 1 << 24

#: What steps are about flags.
_FLAG_STEPS = ("waits", "posts")

#: A flag, by the identity of its segment and its first byte.
_Flag = tuple[int, int]


class _Open(Exception):
    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.party = party


def check_turns(turns: list[Turn], slots: Slots, first: dict[_Flag, int]) -> Handovers | Party:
    """Holds turns against each other, and against all other accesses. Gives what is known of them then; or who does something
    of which nothing is known. `first`: what flags hold first."""
    handovers = Handovers(turns, slots, first)
    try:
        handovers.check()
    except _Open as found:
        return found.party
    return handovers


@dataclass(eq=False)
class NumberedStrand:
    """A strand of a turn by its number, of the thread at a `place` of its holder: `at` is its own among all, `places` and
    `values` of its `steps`: where they access memory, and what they put there or wait for."""

    counter: Counter
    number: int
    turn: Turn
    place: int
    steps: list[TurnStep]
    at: int
    places: list[int]
    values: list[int]
    #: Of each step, what its thread knows before it of the steps of all strands.
    known: list[Any]


class _Post(NamedTuple):
    """Who puts something into a flag: the step of a turn."""

    of: NumberedStrand
    step: int


class Handovers:
    """All turns of a launch. `of`: by their counters; `strands`: by the identity of a turn and a place in its holder;
    `accesses`: by the identity of a segment and a byte, the steps that access it, and of which strands."""

    def __init__(self, turns: list[Turn], slots: Slots, first: dict[_Flag, int]) -> None:
        self.turns, self.slots, self.first = turns, slots, first
        self.party = turns[0].party
        self.of: dict[Counter, list[Turn]] = {}
        for turn in turns:
            self.of.setdefault(turn.ticket.counter, []).append(turn)
        self.all: list[NumberedStrand] = []
        self.strands: dict[tuple[int, int], NumberedStrand] = {}
        #: What flags hold in the order of time, with who puts it there; None at first.
        self.posts: dict[_Flag, dict[int, _Post | None]] = {}
        self.waits: dict[_Flag, list[tuple[NumberedStrand, int]]] = defaultdict(list)
        self.accesses: dict[tuple[int, int], list[tuple[NumberedStrand, int]]] = defaultdict(list)
        self._outside: set[tuple[int, int]] = set()
        #: Of each post, by its turn and step, what it hands on: how many steps of each turn come before it.
        self.handed: dict[tuple[int, int], Any] = {}

    def check(self) -> None:
        """Raises _Open."""
        if len(self.turns) * sum(len(turn.strands) for turn in self.turns) > _MOST_KNOWN:
            raise _Open(self.party)
        for counter, turns in self.of.items():
            self._are_alike(counter, turns)
            for turn in turns:
                self._number(counter, turn)
        self._find_posts()
        for turn in self.turns:
            self._find_waits(turn)
        for turn in self._in_order():
            self._know(turn)
        for flag in self.posts:
            self._check_flag(flag)
        self._check_against_each_other()
        self._check_outside()

    def written(self) -> list[tuple[Segment, int, int]]:
        """The bytes that turns write weakly: they may be others in other executions."""
        return [
            (made.segment, one.places[i], one.places[i] + made.size)
            for one in self.all
            for i, made in enumerate(one.steps)
            if made.does == "writes" and made.segment is not None
        ]

    def written_outside(self, segment: Segment | None, byte: int) -> bool:
        """Whether something else than turns writes a byte that these access."""
        return (id(segment), byte) in self._outside

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
        program: tuple[int, dict[int, list[tuple[object, ...]]]] | None = None
        for turn in turns:
            step()
            names = turn.names()
            mine = turn.taker, {place: [one.like(names) for one in of] for place, of in turn.strands.items()}
            if program is None:
                program = mine
            elif mine != program:
                raise _Open(turn.party)

    def _number(self, counter: Counter, turn: Turn) -> None:
        """A turn gets its number, and the steps of its strands their places."""
        for place, steps in turn.strands.items():
            made = NumberedStrand(counter, turn.ticket.number, turn, place, steps, len(self.all), [], [], [])
            for one in steps:
                at = value = 0
                if one.segment is not None:
                    address = self._value(one.term, {turn.ticket.symbol: made.number}, turn)
                    at = address + one.beyond
                    assert one.noted is not None
                    inside = at >= 0 and at + one.size <= one.segment.size and not address % one.whole
                    if not inside or at != one.noted.first:
                        raise _Open(turn.party)
                    for byte in range(at, at + one.size):
                        self.accesses[id(one.segment), byte].append((made, len(made.places)))
                if one.does == "posts":
                    value = self._value(one.value, {turn.ticket.symbol: made.number}, turn)
                made.places.append(at)
                made.values.append(value)
            self.all.append(made)
            self.strands[id(turn), place] = made

    @staticmethod
    def _value(term: Value, known: dict[Term, int], turn: Turn) -> int:
        try:
            return evaluate(term, known)
        except KeyError:
            raise _Open(turn.party) from None

    # Flags.

    @staticmethod
    def _flag(one: NumberedStrand, i: int) -> _Flag:
        return id(one.steps[i].segment), one.places[i]

    def _find_posts(self) -> None:
        """Of each flag what it may hold, and who puts it there: each value is put there once."""
        sizes: dict[_Flag, int] = {}
        for one in self.all:
            for i, made in enumerate(one.steps):
                if made.does not in _FLAG_STEPS:
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

    def _strand(self, turn: Turn, made: TurnStep) -> NumberedStrand:
        """The strand of a turn that has a step."""
        return self.strands[id(turn), made.place]

    def _find_waits(self, turn: Turn) -> None:
        """What each wait of a turn goes on with: one value. What is tested comes out as in the run."""
        known = {turn.ticket.symbol: turn.ticket.number}
        for made in turn.steps:
            step()
            if made.does == "waits":
                assert made.found is not None
                one = self._strand(turn, made)
                values = self.posts[self._flag(one, made.at)]
                ways = with_numbers(made.ways, known)
                on = [value for value in values if not leads_back(ways, value, made.size)]
                if len(on) != 1:
                    raise _Open(turn.party)
                one.values[made.at] = known[made.found] = on[0]
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
            if post is not None and not (post.of.turn is one.turn and self.comes_before(one, i, *post)):
                raise _Open(one.turn.party)

    def _before(self, flag: _Flag, post: _Post) -> int:
        """What a flag holds when something is put there: what its turn has last waited for or put there itself, or what stood
        there first. Other threads of its holder have done that, too, before they met."""
        turn, last = post.of.turn, None
        for made in turn.steps:
            if made.does in _FLAG_STEPS:
                one, i = self._strand(turn, made), made.at
                if self._flag(one, i) == flag and self.comes_before(one, i, *post):
                    if last and not self.comes_before(*last, one, i) and last[0].values[last[1]] != one.values[i]:
                        raise _Open(turn.party)
                    last = one, i
        return self.first[flag] if last is None else last[0].values[last[1]]

    def _source(self, one: NumberedStrand, i: int) -> _Post | None:
        """Who has put there what a wait finds."""
        return self.posts[self._flag(one, i)][one.values[i]]

    # That turns end, and in which order.

    def _in_order(self) -> list[Turn]:
        """The turns, so that each waits only for those before it, and in any order of the tickets somebody comes to each."""
        counters = list(self.of)
        follows: dict[Counter, set[Counter]] = {counter: set() for counter in counters}
        waits: list[tuple[Turn, Turn]] = []
        for one in self.all:
            for i, made in enumerate(one.steps):
                if made.does == "waits":
                    post = self._source(one, i)
                    if post is not None and post.of.turn is not one.turn:
                        waits.append((one.turn, post.of.turn))
                        follows[one.counter].add(post.of.counter)
                    elif post is not None and post.of is not one:
                        raise _Open(one.turn.party)
        taken: dict[Holder, list[Counter]] = {}
        for turn in self.turns:
            mine = taken.setdefault(turn.holder, [])
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
        for turn, other in waits:
            one_ticket, ticket = turn.ticket, other.ticket
            if levels[one_ticket.counter] == levels[ticket.counter]:
                if ticket.number > one_ticket.number:
                    raise _Open(turn.party)
                if ticket.number == one_ticket.number:
                    same[one_ticket.counter].add(ticket.counter)
        ranks = _levels(same)
        keys = {id(t): (levels[t.ticket.counter], t.ticket.number, ranks[t.ticket.counter]) for t in self.turns}
        if any(keys[id(turn)] <= keys[id(other)] for turn, other in waits):
            raise _Open(self.party)
        return sorted(self.turns, key=lambda turn: keys[id(turn)])

    # What comes behind what.

    def _know(self, turn: Turn) -> None:
        """What the threads of a turn know of the steps of all turns, before each of their own; all turns that it waits for come
        before."""
        now = dict.fromkeys(turn.strands, np.zeros(len(self.all), dtype=np.int16))
        found: dict[int, list[Any]] = defaultdict(list)
        released: dict[int, Any] = {}
        met = 0
        for made in turn.steps:
            place, one = made.place, self._strand(turn, made)
            if made.does == "meets" and made.truth and made.meeting != met:
                met = made.meeting
                now.update(dict.fromkeys(made.places, self._together(turn, made, now)))
            one.known.append(now[place])
            if made.does == "waits":
                post = self._source(one, made.at)
                handed = None if post is None else self.handed.get((post.of.at, post.step))
                if handed is not None:
                    if made.op.use.sem in ACQUIRES:
                        now[place] = np.maximum(now[place], handed)
                    else:
                        found[place].append(handed)
            elif made.does == "fences" and fence_scope(made.op.use) in WIDE:
                if made.op.use.sem != "release" and found[place]:
                    now[place] = np.maximum.reduce([now[place], *found.pop(place)])
                if made.op.use.sem != "acquire":
                    released[place] = self._with_own(now[place], one)
            elif made.does == "posts":
                handed = released.get(place)
                if made.op.use.sem in RELEASES:
                    handed = self._with_own(now[place], one)
                self.handed[one.at, made.at] = handed

    def _together(self, turn: Turn, made: TurnStep, now: dict[int, Any]) -> Any:
        """What threads know that have met: what each of them knew, and what it did before, of which all has been looked at."""
        known = np.maximum.reduce(list({id(now[place]): now[place] for place in made.places}.values()))
        for place in made.places:
            one = self.strands[id(turn), place]
            known[one.at] = len(one.known)
        return known

    @staticmethod
    def _with_own(now: Any, one: NumberedStrand) -> Any:
        """What a thread knows before its last step, with its own steps before that."""
        known = now.copy()
        known[one.at] = len(one.known) - 1
        return known

    def comes_before(self, one: NumberedStrand, i: int, other: NumberedStrand, j: int) -> bool:
        """Whether one step comes before another one."""
        return i < j if one is other else int(other.known[j][one.at]) > i

    def _ordered(self, one: NumberedStrand, i: int, other: NumberedStrand, j: int) -> bool:
        """Whether one step comes before another one, or behind it."""
        return one is other or self.comes_before(one, i, other, j) or self.comes_before(other, j, one, i)

    # Accesses.

    def _check_against_each_other(self) -> None:
        """Two accesses of turns that conflict are of one flag, or in order."""
        before: list[tuple[NumberedStrand, int]] = []
        for there in self.accesses.values():
            if there == before:  # another byte of the same accesses
                continue
            before = there
            if all(one.steps[i].does in _FLAG_STEPS for one, i in there):
                if len({(one.places[i], one.steps[i].size) for one, i in there}) > 1:
                    raise _Open(there[0][0].turn.party)
                continue
            for n, (one, i) in enumerate(there):
                for other, j in there[:n]:
                    step()
                    if not self._fit(one, i, other, j):
                        raise _Open(one.turn.party)

    def _fit(self, one: NumberedStrand, i: int, other: NumberedStrand, j: int) -> bool:
        a, b = one.steps[i], other.steps[j]
        if a.does in _FLAG_STEPS or b.does in _FLAG_STEPS:
            return False
        return a.does == b.does == "reads" or self._ordered(one, i, other, j)

    def _check_outside(self) -> None:
        """All other accesses of bytes that turns may access come before all of these that conflict, or behind them, whoever has
        which ticket: each thread that has turns does them at the same steps."""
        members: dict[tuple[Counter, int, int], list[Noted]] = {}
        for one in self.all:
            for i, made in enumerate(one.steps):
                if made.noted is not None:
                    members.setdefault((one.counter, one.place, i), []).append(made.noted)
        segments = {id(member.segment) for of in members.values() for member in of}
        for noted in self.slots.noted:
            if id(noted.segment) not in segments:
                continue
            if noted.placed is not None:
                raise _Open(noted.placed.party)
            bytes_ = [(id(noted.segment), byte) for byte in range(noted.first, noted.first + noted.size)]
            classes = {(one.counter, one.place, i) for byte in bytes_ for one, i in self.accesses.get(byte, ())}
            if noted.kind != "R":
                self._outside.update(bytes_)
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


__all__ = ["Handovers", "NumberedStrand", "check_turns"]
