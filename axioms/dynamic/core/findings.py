"""What a watched run may end with before its threads do: a race, misuse, or something of which this way knows nothing."""

from __future__ import annotations

from ptxcore.clock import OutOfTime, look, tick
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple


class Party(NamedTuple):
    """Who does something: the thread by its number, the instruction."""

    thread: int
    op: Op


class ByteRace(NamedTuple):
    """Two conflicting accesses that nothing orders: `where` is the segment, bytes `first` to `last` of it; `kind` the flag
    of the model. In Tensor Memory, columns; `missing` is what would order them (`asynchronous.tensors`), `reading` the name
    of one under which they are ordered. `time` and `until`: those of the threads. `lacks`: what lacks of an asynchronous
    operation: a `wait` for the first one, a `fence` between proxies before the issue of the second, a wait for the `end` of the
    second; or either that or something that orders its `issue` behind the first, or `either` for the first one."""

    before: Party
    after: Party
    where: str
    first: int
    last: int
    kind: str = "data"
    missing: str = ""
    reading: str = ""
    time: int = 0
    until: int = 0
    lacks: str = ""


class Misuse(NamedTuple):
    """What leaves the launch without a meaning: a flag of the model (`axioms.witness.races.UNDEFINED`), or a rule in words."""

    rule: str
    parties: tuple[Party, ...]


class Open(NamedTuple):
    """What this way does not decide: `what` names it (a key of `ptxmm.words.whole.OPEN`)."""

    what: str
    party: Party | None = None


class Stopped(BaseException):
    """The run need not go on: `why` tells. No `Exception`, so that nothing between catches it."""

    def __init__(self, why: ByteRace | Misuse | Open) -> None:
        super().__init__(why)
        self.why = why


def step(*_: object) -> None:
    """A step of the work. Raises Stopped when its time is over."""
    try:
        tick()
    except OutOfTime:
        raise Stopped(Open("time")) from None


def in_time(*_: object) -> None:
    """All threads have gone on a little, which is rare. Raises Stopped when the time is over."""
    try:
        look()
    except OutOfTime:
        raise Stopped(Open("time")) from None
