"""Who does not terminate, where and why, and who ends the launch, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from axioms.events.event_kinds import READ
from axioms.explain.claims import Claim, Ground, holds
from axioms.witness.stalls import WAITS
from ptxcore.records import NamedTuple
from ptxmm.result import where_of

if TYPE_CHECKING:
    from axioms.witness.missing_arrivals import Awaited, MissingArrivals
    from axioms.witness.stalls import Repeated, Stall, Wait
    from ptxmm.result import Spot
    from ptxmm.words.linearisation import Cast

#: In which way somebody does not terminate, where there is a word for it.
_WAYS = {"barrier": " (deadlock)", "mbarrier": " (deadlock)", "loop": " (spin loop)", "livelock": " (livelock)"}
#: What one does, and what several do.
_DONE = {
    "trap": ("traps", "trap"),
    "assertion": ("fails an assertion", "fail an assertion"),
    **{kind: (f"does not terminate{_WAYS.get(kind, '')}", f"do not terminate{_WAYS.get(kind, '')}") for kind in WAITS},
    "launch": ("never begins", "never begin"),
}
#: So many places are named at which what is lacking could have been given.
_MOST_OTHERS = 3


class ToldWait(NamedTuple):
    """Those who wait at one place: one of them, a sentence of all, and what they do `here`."""

    wait: Wait
    sentence: str
    here: str


class WaitWords:
    """The words for one execution without an end. `source_of` says where a line of a thread's PTX comes from."""

    def __init__(self, stall: Stall, cast: Cast, source_of: Callable[[int, int], Spot | None]) -> None:
        self.stall, self.cast, self.source_of = stall, cast, source_of

    def places(self) -> list[ToldWait]:
        """Those who wait, by places."""
        places: dict[tuple[str, int, str, tuple[str, ...]], list[Wait]] = {}
        for wait in self.stall.waits:
            places.setdefault((wait.kind, line_of(wait) or 0, wait.says, wait.unended), []).append(wait)
        return [self._told(waits) for waits in places.values()]

    def sentence(self, places: Sequence[ToldWait]) -> str:
        """Who waits where, and who is not gone on with."""
        return "; ".join([*(told.sentence for told in places), *self._others()])

    def _others(self) -> list[str]:
        """Those whom nothing makes the scheduler go on with."""
        begun = {e.thread for e in self.stall.execution.events}
        stopped = self.stall.unscheduled
        found = []
        for some, one, several in (
            ([t for t in stopped if t not in begun], "never begins", "never begin"),
            ([t for t in stopped if t in begun], "is not scheduled any more", "are not scheduled any more"),
        ):
            if some:
                found.append(f"{self._names(some)} {several if some[1:] else one}")
        return found

    def _told(self, waits: Sequence[Wait]) -> ToldWait:
        first = waits[0]
        who, does = self._names(w.thread for w in waits), _DONE[first.kind][len(waits) > 1]
        if first.kind == "launch":
            return ToldWait(first, f"{who} {does}{_unended(first)}", f"{who} {does} here")
        line = line_of(first) or 0
        source = self.source_of(first.thread, line)
        where = where_of(line, source)
        said = f"{who}, {where}: {first.says}" if first.says else ""
        said = said or f"{who} {does} at {where}: {instruction_of(first)}{self._missing(first)}"
        return ToldWait(first, said, f"{who} {does} here")

    def _names(self, threads: Iterable[int]) -> str:
        return _few([self.cast.name(t) for t in threads])

    def _missing(self, first: Wait) -> str:
        """What those who wait at one place wait for."""
        if first.kind == "loop":
            return self._in_loop(first)
        if first.kind == "kernel":
            return _unended(first)
        if first.kind == "livelock":
            return f" (again and again: {_repeated(first)}{', ...' if len(first.again) > _MOST_OTHERS else ''})"
        if first.kind == "mbarrier":
            return f" ({self._of_phase(first.missing)})" if first.missing else " (the phase never completes)"
        away = first.absent
        return f" ({self._names(away)} {'is' if len(away) == 1 else 'are'} not there)" if away else ""

    def _in_loop(self, first: Wait) -> str:
        """What a spin loop sees."""
        stall = self.stall
        written = {r.location for w in stall.waits for r in w.again if r.written is not None}
        if not written.isdisjoint(r.location for r in first.again):
            return f" (again and again: {_repeated(first)})"
        place = first.thread, line_of(first) or 0, READ
        reads = [e for e in stall.execution.events if (e.thread, e.line, e.kind) == place]
        if not reads:
            return ""
        last = holds(Claim("latest", (reads[-1].index,)), Ground(stall.execution))
        more = ", and nobody writes there any more" if last else ""
        wanted = f"; it waits for {_numbers_awaited(first.awaits)}" if first.awaits else ""
        return f" ({reads[-1].location} is {reads[-1].number}{more}{wanted})"

    def _of_phase(self, missing: MissingArrivals) -> str:
        """What a phase lacks, and who did not come to give it."""
        lacking = []
        if missing.arrivals:
            lacking.append(f"{missing.arrivals} of {missing.expected} arrival{'s' * (missing.expected != 1)}")
        if missing.transactions > 0:
            lacking.append(f"{missing.transactions} byte{'s' * (missing.transactions != 1)}")
        found = f"the phase lacks {' and '.join(lacking)}" if lacking else "the phase never completes"
        if missing.transactions < 0:
            found += f", and {-missing.transactions} bytes more have come than were expected"
        places: dict[int, tuple[str, list[int]]] = {}
        for thread, instruction in missing.others:
            text = f"line {instruction.span.line}: {' '.join(instruction.text.split())}"
            places.setdefault(instruction.span.line, (text, []))[1].append(thread)
        who = [
            f"{self._names(threads)} {'has' if len(threads) == 1 else 'have'} not come to {text}"
            for text, threads in places.values()
        ]
        return "; ".join([found, *(who[:_MOST_OTHERS] or ["nothing else comes there any more"])])


def does(wait: Wait) -> str:
    """What one thread does: `does not terminate (deadlock)`"""
    return _DONE[wait.kind][0]


def line_of(wait: Wait) -> int | None:
    return wait.instruction.span.line if wait.instruction else None


def instruction_of(wait: Wait) -> str:
    if wait.instruction is None:
        return "its beginning" if wait.kind == "launch" else "a loop"
    return " ".join(wait.instruction.text.split())


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _unended(wait: Wait) -> str:
    """Which kernels somebody waits for."""
    names = wait.unended
    if not names:
        return " (its kernel is not launched)"
    return f" (kernel{'s' * (len(names) > 1)} {_few([*names])} {'does' if len(names) == 1 else 'do'} not end)"


def _repeated(wait: Wait) -> str:
    return ", ".join(map(_done, wait.again[:_MOST_OTHERS]))


def _done(access: Repeated) -> str:
    """`x is 0, becomes 1`"""
    found = "" if access.found is None else f"{access.location} is {access.found}"
    if access.written is None:
        return found
    return f"{found}, becomes {access.written}" if found else f"{access.location} becomes {access.written}"


def _numbers_awaited(awaited: Awaited) -> str:
    """`2`, `1 or 2`, `something other than 0`, `3 or more`"""
    numbers = [*map(str, awaited.numbers)]
    listed = " or ".join([", ".join(numbers[:-1]), numbers[-1]] if numbers[1:] else numbers)
    last = {"one of": listed, "none of": f"something other than {listed}", "at least": f"{listed} or more"}
    return last.get(awaited.relation, f"{listed} or less")
