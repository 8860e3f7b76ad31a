"""Who is in which critical section, as threads meet: those who come behind the holder of a lock take part in its section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.sections.section_records import NOTHING, LockedSection, Past, Place
from ptxcore.isa.form import Use
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread

_WARP = 32


class MeetingSections(Determinate):
    """Watches one launch. Which threads are in sections, others say."""

    def __init__(self, size: int, *, first: bool) -> None:
        """`first`: the run that tells what is guarded, and holds nothing against the conditions."""
        super().__init__(size)
        self._first = first
        self._in: dict[int, LockedSection] = {}
        #: The sections that begin before what a thread does next; before those that come to a barrier; and before the writes
        #: to bytes for which threads may wait, in the order of the run.
        self._past: dict[int, Past] = {}
        self._come: dict[tuple[int, int], tuple[Past, set[LockedSection]]] = {}
        self._written_behind: dict[int, list[Past]] = {}
        self._joined = False  # whether threads met in a section
        #: Whether some thread in a section tried to take another lock; and the pairs of locks of which somebody who held one
        #: tried to take the other.
        self._nested = False
        self._after: set[tuple[Place, Place]] = set()

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        super().arrives(thread, level, identity, waits, count)
        self._meets([thread.number])
        key = thread.number // self.size, identity
        past, sections = self._come.get(key, (NOTHING, set()))
        more = self._sections_of([thread.number])
        self._come[key] = past.and_behind(self._past_of(thread.number)), sections | more

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        super().released(cta, level, identity, whole)
        number = next(iter(cta.threads)).number
        past, sections = self._come.pop((number // self.size, identity), (NOTHING, set()))
        waited = self.last[number // self.size, identity].waited
        self._come_behind(waited, past.and_behind(self._past_of_ended(cta.threads)), sections)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        super().met(how, threads, masked)
        numbers = [thread.number for thread in threads]
        warp = numbers[0] % self.size // _WARP * _WARP
        past = self._past_of_ended(threads[0].cta.threads[warp : warp + _WARP])
        self._meets(numbers)
        for number in numbers:
            past = past.and_behind(self._past_of(number))
        self._come_behind(numbers, past, self._sections_of(numbers) if how.form.mnemonic == "bar" else set())

    def _meets(self, numbers: Sequence[int]) -> None:
        """Threads meet others, maybe in a section: its end may have to wait for these."""
        self._joined = self._joined or any(number in self._in for number in numbers)
        if self._joined and self._nested:
            raise Stopped(Open("order"))

    def _past_of(self, number: int) -> Past:
        return self._past.get(number, NOTHING)

    def _past_of_ended(self, threads: Sequence[Any]) -> Past:
        """The sections before the ends of some threads: who waits for others waits for these no longer."""
        past = NOTHING
        for thread in threads if self._past else ():
            if thread.done:
                past = past.and_behind(self._past_of(thread.number))
        return past

    def _sections_of(self, numbers: Sequence[int]) -> set[LockedSection]:
        """The sections that threads are in now, and in which they have acquired what those before them did."""
        sections = {self._in[number] for number in numbers if number in self._in}
        return {section for section in sections if section.acquired or self._first}

    def _come_behind(self, numbers: Sequence[int] | frozenset[int], past: Past, sections: set[LockedSection]) -> None:
        """Threads have met; they come behind what was done in some sections, and are in them now as long as these last."""
        if any(past):
            self._past.update(dict.fromkeys(numbers, past))
        lasting = [section for section in sections if section.lock.owner is section]
        for section in lasting:
            alone = all(self._in.get(number) in (None, section) for number in numbers)
            if len(lasting) > 1 or not alone:
                raise Stopped(Open("order", section.party))
            section.members.update(numbers)
            section.members.discard(section.holder)
            self._in.update(dict.fromkeys(numbers, section))

    # Sections before what threads wait for.

    def _communicate(self, thread: WatchedThread, access: Access, segment: Segment, value: Any) -> None:
        super()._communicate(thread, access, segment, value)
        place = self.places.get(id(segment), {}).get(access.first)
        if access.kind != "R" and place is not None:
            self._written_behind.setdefault(id(place[1]), []).append(self._past_of(thread.number))

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        """A thread goes on: it does so in any execution in which all has been written that the run had written, and in none
        without the writes that it is certain of."""
        written = self._written_behind.get(id(self.places[id(segment)][access.first][1]), [])
        past = self._past_of(thread.number)
        for number, other in enumerate(written):
            past = past.and_behind(other if number in fresh else Past(needed=other.needed))
        if any(past):
            self._past[thread.number] = past

    # Sections in sections.

    def _nests(self, thread: WatchedThread, section: LockedSection, place: Place) -> None:
        """A thread in a section tries to take another lock: nobody meets others in any section then."""
        self._nested = True
        self._after.update((held, place) for held in section.locks)
        if self._joined:
            raise self.leaves(thread, "order")

    def _leaves(self, number: int, section: LockedSection) -> None:
        """A thread is in a section no longer."""
        inner = self._in.get(number)
        if inner is section and section.outer is not None:
            self._in[number] = section.outer
        elif inner is section or inner is None:
            self._in.pop(number, None)
        for other in inner.all() if inner is not None else ():
            if other.outer is section:
                other.outer = section.outer


__all__ = ["MeetingSections"]
