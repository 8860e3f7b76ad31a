"""The kinds of events, and what is true of each: one table.

Who asks what an event is asks for the kind itself (`event.kind is READ`) or for a trait (`event.kind.accesses`). A kind is its
letter, too, as models in cat, JSON and pictures have it, but that letter is spelt here alone.
"""

from __future__ import annotations

from typing import Self

#: All of them, by their letters.
EVENT_KINDS: dict[str, EventKind] = {}


class EventKind(str):
    """A kind of events. There is one of each, which copies and pickles give again: kinds compare by identity.

    `accesses`: memory, at cells. `observes`: the thread sees by it what others did. `changes`: others see by it what the thread
    did. `meets`: at a barrier or an mbarrier object.
    """

    __slots__ = ("accesses", "changes", "meets", "observes")
    accesses: bool
    changes: bool
    meets: bool
    observes: bool

    def __new__(cls, letter: str, *traits: str) -> Self:
        assert set(traits) <= set(cls.__slots__), traits
        kind = super().__new__(cls, letter)
        for trait in cls.__slots__:
            setattr(kind, trait, trait in traits)
        EVENT_KINDS[letter] = kind
        return kind

    def __reduce__(self) -> tuple[object, ...]:
        return event_kind_called, (str(self),)


READ = EventKind("R", "accesses", "observes")
WRITE = EventKind("W", "accesses", "changes")
#: Of memory and of proxies, also those that the completion of an asynchronous operation implies.
FENCE_EVENT = EventKind("F")
#: An arrival at a barrier of a CTA or a warp, or the wait there.
BARRIER_EVENT = EventKind("B", "meets")
#: An operation on an mbarrier object, or an arrival or a wait at the barrier of a cluster, which has phases like one.
MBARRIER_EVENT = EventKind("X", "meets", "observes", "changes")
#: Where a thread starts an asynchronous operation; where it waits for groups of copies.
ISSUE_EVENT = EventKind("I")
COPIES_WAIT = EventKind("C")
#: The start or the end of a kernel, of no thread; `griddepcontrol.wait`; what a thread of the host program does.
KERNEL_EVENT = EventKind("K")
GRID_WAIT = EventKind("G")
HOST_EVENT = EventKind("H")
#: A `free`.
FREED = EventKind("D")


def event_kind_called(letter: str) -> EventKind:
    """The kind of events with a letter. Raises KeyError."""
    return EVENT_KINDS[letter]
