"""Strong reads whose value goes nowhere but into the test of a waiting loop, which would find it there itself.

`Semaphore::fetch` of CUTLASS looks at a lock before the main loop; `wait` tests behind it what was found, and looks again and
again only where that was in vain. Such an *early look* may find one thing or another in different executions. At the head of
the loop it is of no matter which instruction found a value: the early look, or the *poll* within the loop. So an execution
in which the look finds what leads on does what one does in which it finds what is in vain, and the poll what leads on.

That it is so is found in the code alone. Let h be the head of the innermost loop around the poll, and r a register. From the
look, and from the poll, all ways that come to h have what it found in r there, and no instruction before does anything with
it but move it to other registers, of which none but r is live at h. Of the registers that are live at h the loop writes none
but r; and it does nothing but compute, branch, meet at barriers, and poll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from axioms.dynamic.code.depends import computes
from axioms.dynamic.waits.written import WIDTHS
from ptxcore.machine.lower.liveness import live_registers, reads, writes
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.records import NamedTuple

_BARRIERS = ("bar", "barrier")
_LEAVES = ("branch", "jump", "exit", "return")
#: Semantics of strong reads, and of those that acquire.
_STRONG, _ACQUIRES = ("relaxed", "acquire", "volatile"), ("acquire",)


class _Loop(NamedTuple):
    """A loop that is entered at its head alone."""

    head: int
    body: frozenset[int]


class EarlyLook(NamedTuple):
    """Of an early look, the polls in the loops that it leads to, and the barriers there, by the identity of instructions."""

    polls: frozenset[int]
    barriers: frozenset[int]


def early_looks(code: Code) -> Mapping[int, EarlyLook]:
    """By the identity of each early look's instruction, where it leads."""
    strong = [at for at, op in enumerate(code.ops) if op.use.form.mnemonic == "ld" and op.use.sem in _STRONG]
    if len(strong) < 2:
        return {}
    flow = _Flow(code)
    found: dict[int, EarlyLook] = {}
    for at in strong:
        polls = [poll for poll in strong if poll != at and flow.is_early(at, poll)]
        if polls:
            barriers = frozenset[int]().union(*map(flow.barriers_around, polls))
            found[id(code.ops[at].instruction)] = EarlyLook(
                frozenset(id(code.ops[poll].instruction) for poll in polls), barriers
            )
    return found


class _Flow:
    """The control flow of a function, by the places of its instructions."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.behind = [list(self._behind(at)) for at in range(len(code.ops))]
        self.before: list[list[int]] = [[] for _ in code.ops]
        for at, goes in enumerate(self.behind):
            for to in goes:
                self.before[to].append(at)
        self.loop_of = cache(self._loop_of)
        self._results = frozenset(r.slot for r in code.results if r.slot is not None)
        self.live = cache(lambda: live_registers(code, range(len(code.ops) + 1)).begins)
        self._back = cache(lambda: list(self._back_edges()))

    def _behind(self, at: int) -> Iterator[int]:
        op, end = self.code.ops[at], len(self.code.ops)
        goes = {place for label in op.labels if (place := self.code.labels.get(label, end)) < end}
        if (op.guard is not None or op.use.form.kind not in _LEAVES) and at + 1 < end:
            goes.add(at + 1)
        yield from sorted(goes)

    def _back_edges(self) -> Iterator[tuple[int, int]]:
        """The edges of a search in depth that lead back to an instruction on the way to which they begin."""
        begun, ended = {0}, set[int]()
        way = [(0, iter(self.behind[0]))]
        while way:
            at, goes = way[-1]
            to = next(goes, None)
            if to is None:
                ended.add(at)
                way.pop()
            elif to not in begun:
                begun.add(to)
                way.append((to, iter(self.behind[to])))
            elif to not in ended:
                yield at, to

    def _loop_of(self, at: int) -> _Loop | None:
        """The innermost loop around an instruction; None where there is none, or it is entered elsewhere, too."""
        bodies: dict[int, set[int]] = {}
        for last, head in self._back():
            body, left = bodies.setdefault(head, {head}), [last]
            while left:
                place = left.pop()
                if place not in body:
                    body.add(place)
                    left += self.before[place]
        around = [(len(body), head) for head, body in bodies.items() if at in body]
        if not around:
            return None
        head = min(around)[1]
        body = bodies[head]
        entered = all(place == head or all(p in body for p in self.before[place]) for place in body)
        return _Loop(head, frozenset(body)) if entered else None

    def is_early(self, look: int, poll: int) -> bool:
        """Whether what an instruction finds goes nowhere but where that leads which a poll finds."""
        loop, one, other = self.loop_of(poll), self.code.ops[look], self.code.ops[poll]
        if loop is None or look in loop.body or not _takes_in(one, other):
            return False
        if not all(_only_polls(self.code.ops[at]) for at in loop.body):
            return False
        carried = {slot for at in loop.body for slot in writes(self.code.ops[at])}
        kept = {slot for slot in carried if self.live()[loop.head] >> slot & 1}
        if len(kept) != 1:
            return False
        return self._comes_in(look, loop, kept, within=False) and self._comes_in(poll, loop, kept, within=True)

    def barriers_around(self, poll: int) -> frozenset[int]:
        """The barriers in the loop around a poll, by the identity of their instructions."""
        loop, ops = self.loop_of(poll), self.code.ops
        places = loop.body if loop is not None else ()
        return frozenset(id(ops[at].instruction) for at in places if ops[at].use.form.mnemonic in _BARRIERS)

    def _comes_in(self, at: int, loop: _Loop, kept: set[int], *, within: bool) -> bool:
        """Whether what an instruction finds comes to the head of a loop in one register, and nowhere else; `within` the
        loop, all ways lead there."""
        found = frozenset(writes(self.code.ops[at]))
        if len(found) != 1:
            return False
        # Of each place: the registers that hold the value on all ways, and those that may.
        states: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        left = [(to, found, found) for to in self.behind[at]]
        while left:
            place, holds, may = left.pop()
            before = states.get(place)
            now = (holds, may) if before is None else (before[0] & holds, before[1] | may)
            if now == before:
                continue
            states[place] = now
            if place in (loop.head, at):
                continue
            if within and place not in loop.body:
                return False
            after = self._through(self.code.ops[place], *now)
            if after is None:
                return False
            left += [(to, *after) for to in self.behind[place]]
        if loop.head not in states:
            return False
        holds, may = states[loop.head]
        live = {slot for slot in may if self.live()[loop.head] >> slot & 1}
        return live == kept <= holds

    def _through(
        self, op: Op, holds: frozenset[int], may: frozenset[int]
    ) -> tuple[frozenset[int], frozenset[int]] | None:
        """The registers behind an instruction; None where it does more with the value than to move it."""
        written, used = frozenset(writes(op)), may.intersection(reads(op))
        if op.use.form.kind == "return" and not may.isdisjoint(self._results):
            return None
        if not used:
            return holds - written, may if op.guard is not None else may - written
        if op.use.form.mnemonic != "mov" or len(written) != 1 or len(reads(op)) != 1 + (op.guard is not None):
            return None
        if op.guard is not None and op.guard[0] in may:
            return None
        if op.guard is not None:
            return holds - written, may | written
        return holds | written if used <= holds else holds - written, may | written


def _only_polls(op: Op) -> bool:
    """Whether an instruction computes, branches, meets others, or polls."""
    form = op.use.form
    if form.mnemonic == "ld":
        return op.use.sem in _STRONG
    return form.mnemonic in (*_BARRIERS, "nanosleep") or form.kind == "branch" or computes(op)


def _takes_in(look: Op, poll: Op) -> bool:
    """Whether a look takes in no less than a poll: it may be all that is executed."""
    one, other = look.use, poll.use
    wide = WIDTHS.get(one.scope or "sys", 0) >= WIDTHS.get(other.scope or "sys", 0)
    alike = one.type == other.type and not (one.words.get("vec") or other.words.get("vec"))
    return alike and wide and (one.sem in _ACQUIRES or other.sem not in _ACQUIRES)


__all__ = ["EarlyLook", "early_looks"]
