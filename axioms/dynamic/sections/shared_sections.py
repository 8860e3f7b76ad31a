"""Locks that several threads may share: readers, who count themselves in a lock, beside writers, who have it alone.

    do s = lock; while ((s & W) || atomicCAS(&lock, s, s + 1) != s); ... atomicSub(&lock, 1);

In the run no section begins before the last one is over, so that a reader finds a lock which is free, and adds one. In other
executions readers are in sections at the same time, and one finds how many there are. So it has to take the lock just so with
each number of readers, and give it back whatever stands there then, and it writes nothing that the lock guards
(docs/whole-launches/sections.md, Critical sections).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.sections.attempts import check_attempt
from axioms.dynamic.sections.section_records import LockedSection, SectionLock
from axioms.dynamic.sections.told import Untold
from ptxcore.isa.form import Use
from ptxcore.machine.run.watched import Write
from ptxcore.values.terms import mask


def subtracts_one(how: Use, write: Write, size: int) -> bool:
    """Whether an atomic operation subtracts one, whatever it finds."""
    cut = mask(8 * size)
    return how.op == "add" and all(write(number)[0] & cut == (number - 1) & cut for number in (0, 1, 7))


def shared_rightly(lock: SectionLock, by: Set[int], live_of: Callable[[Any], Live], *, alone: bool) -> bool:
    """Whether those attempts (`by` their identities) that do not take a lock as one for a single thread share it. `alone`: all
    threads are of one CTA."""
    readers = [section for section in lock.sections if id(section.attempt) in by]
    writers = [section for section in lock.sections if id(section.attempt) not in by]
    if len(readers) != len(by) or not all(_only_reads(lock, reader) for reader in readers):
        return False
    if any(section.number_drawn is not None or section.attempt is None for section in lock.sections):
        return False
    most = len({reader.holder for reader in readers})
    numbers = range(lock.free, lock.free + most)
    alone_there = {writer.put for writer in writers}
    if not alone_there.isdisjoint((*numbers, lock.free + most)):
        return False
    try:
        for section in lock.sections:
            assert section.attempt is not None
            live = live_of(section.attempt.poll.thread)
            if id(section.attempt) in by:
                check_attempt(section.attempt, live, lock.free, alone_there, alone=alone, shared=numbers)
            else:
                values = alone_there.union(numbers[1:], (lock.free + most,))
                check_attempt(section.attempt, live, lock.free, values, alone=alone)
    except Untold:
        return False
    return True


def _only_reads(lock: SectionLock, section: LockedSection) -> bool:
    """Whether a section adds one to the lock, subtracts it again, and writes nothing that the lock guards."""
    counts = section.put == lock.free + 1 and section.counted_back
    writes = bool(section.left) or any(led.kind == "W" for led in section.led)
    return counts and not writes and not section.members


__all__ = ["shared_rightly", "subtracts_one"]
