"""The kinds of effects, and what is true of each: one table.

Who asks what an effect is asks for a trait (`effect.kind.writes`) or for the kind itself (`effect.kind is COPY`). A kind is its
word, too, as JSON and pages print it, but that word is spelt here alone.
"""

from __future__ import annotations

from functools import cache
from typing import Self

#: All of them, by their words.
EFFECT_KINDS: dict[str, EffectKind] = {}


class EffectKind(str):
    """A kind of effects, as one word. There is one of each, which copies and pickles give again: kinds compare by identity.

    `accesses`: to memory, of one value at one address. `writes`, `updates`: those of them that write, and those that read and
    write at once. `ranges`: it writes many bytes, whose number may be computed. `memory`: one or the other, a memory operation.
    `background`: an access that may be part of an asynchronous operation instead. `heap`: about memory that `malloc` gives.
    `fences`: a fence, of memory or of proxies.
    `event`: others can tell when it happens; False: it is no event. `effect_free`: an iteration of a loop that does it is
    still effect-free, others see nothing of it (a wait at an mbarrier object is, too; a `stop` does not go round).
    `observes`: the thread sees by it what others did. `meets`: other threads may be needed for it to be over, or take part.
    """

    __slots__ = (
        "accesses", "background", "effect_free", "event", "fences", "heap", "meets", "memory", "observes", "ranges",
        "updates", "writes",
    )  # fmt: skip
    accesses: bool
    background: bool
    effect_free: bool
    event: bool
    fences: bool
    heap: bool
    meets: bool
    memory: bool
    observes: bool
    ranges: bool
    updates: bool
    writes: bool

    def __new__(cls, word: str, *traits: str, event: bool = True) -> Self:
        assert set(traits) <= set(cls.__slots__), traits
        kind = super().__new__(cls, word)
        for trait in cls.__slots__:
            setattr(kind, trait, trait in traits)
        kind.event, kind.memory = event, kind.accesses or kind.ranges
        EFFECT_KINDS[word] = kind
        return kind

    def __reduce__(self) -> tuple[object, ...]:
        return kind_called, (str(self),)


# Memory.
LOAD = EffectKind("load", "accesses", "effect_free", "observes")
STORE = EffectKind("store", "accesses", "writes", "background")
ATOM = EffectKind("atom", "accesses", "writes", "updates", "observes")
RED = EffectKind("red", "accesses", "writes", "updates", "background")
CLEAR = EffectKind("clear", "ranges")
DISCARD = EffectKind("discard", "ranges")
# Fences, of memory and of proxies.
FENCE = EffectKind("fence", "fences", "effect_free")
PROXY_FENCE = EffectKind("proxy_fence", "fences", "effect_free")
#: At a barrier of a CTA, a cluster, a warp; an operation on an mbarrier object.
BARRIER = EffectKind("barrier", "meets")
MBARRIER = EffectKind("mbarrier", "observes")
# Asynchronous operations.
ISSUE = EffectKind("issue")
COPY = EffectKind("copy", "ranges")
COMMIT = EffectKind("commit")
WAIT_GROUP = EffectKind("wait_group")
#: What the threads of a warp compute together.
COLLECTIVE = EffectKind("collective", "meets", event=False)
#: A value that nothing determines: a clock.
INPUT = EffectKind("input", "effect_free", event=False)
#: `griddepcontrol`; what a thread of the host program does.
GRID = EffectKind("grid")
HOST = EffectKind("host")
#: `trap`, `brkpt`, an assertion that fails.
STOP = EffectKind("stop", "effect_free", event=False)
# Memory at `address`.
MALLOC = EffectKind("malloc", "heap")
FREE = EffectKind("free", "heap")


def kind_called(word: str) -> EffectKind:
    """The kind of effects with a name. Raises KeyError."""
    return EFFECT_KINDS[word]


@cache
def kinds_with(*traits: str) -> frozenset[EffectKind]:
    """The kinds that have one of some traits."""
    return frozenset(kind for kind in EFFECT_KINDS.values() if any(getattr(kind, trait) for trait in traits))


#: What `Thread.modify` is asked for beside operations on mbarrier objects.
UPDATES = kinds_with("updates")
