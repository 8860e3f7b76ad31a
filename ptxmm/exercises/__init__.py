"""The exercises of the tutorial, a file each: a claim that fails as it ships, for whoever reads docs/tutorial to mend.

May import the standard library.
"""

from __future__ import annotations

import os

from ptxcore.records import NamedTuple

_FOLDER = os.path.dirname(__file__)


class Exercise(NamedTuple):
    """An exercise: its `file`, the `step` of the tutorial that it belongs to, the `task` in a line, a `topic` of
    `ptxmm explain` that helps. Of the program orders and scopes may change, and what has an opcode of `adds` may come and go;
    `reordered`: the instructions of a thread may change places. `outcomes`: the program stays, and its condition
    is to list the outcomes. Others are to need all that they have."""

    file: str
    step: int
    task: str
    topic: str
    adds: tuple[str, ...] = ()
    reordered: bool = False
    outcomes: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.file.rpartition(".")[0]

    @property
    def path(self) -> str:
        """Where it is as it ships."""
        return os.path.join(_FOLDER, self.file)

    @property
    def text(self) -> str:
        """Its text as it ships. Raises OSError."""
        with open(self.path, encoding="utf-8") as file:
            return file.read()


_FENCES = ("fence",)
_BARRIERS = ("bar", "barrier")

#: In the order of the tutorial.
EXERCISES = (
    Exercise("01-outcomes.litmus", 1, "list every outcome of a hand-off that nothing orders", "message-passing", outcomes=True),
    Exercise("02-release-acquire.litmus", 2, "make the hand-off right by the weakest orders", "message-passing"),
    Exercise("03-scopes.litmus", 3, "find the narrowest scopes of a hand-off over three threads", "scope"),
    Exercise("04-store-buffering.litmus", 4, "let one of two threads see the other", "store-buffering", _FENCES),
    Exercise("05-iriw.litmus", 5, "make two readers agree on the order of two writes", "iriw", _FENCES),
    Exercise("05-second-hand.litmus", 5, "hand on what another thread wrote", "write-read-causality", _FENCES),
    Exercise("06-coherence.litmus", 6, "list every outcome of two reads of one location", "coherence", outcomes=True),
    Exercise("07-lock.litmus", 7, "make a lock keep every increment", "lock", _FENCES),
    Exercise("07-handshake.litmus", 7, "let two threads that wait for each other end", "livelock", reordered=True),
    Exercise("08-barrier.litmus", 8, "exchange values of shared memory", "barrier", _BARRIERS),
    Exercise("08-reuse.litmus", 8, "use a tile of shared memory twice", "barrier", _BARRIERS),
    Exercise("09-last-block.ptx", 9, "let the last block see the parts of all", "fence", _FENCES),
    Exercise("10-pipeline.litmus", 10, "tell the producer that the stage is empty", "mbarrier", (*_FENCES, "mbarrier")),
)  # fmt: skip


def exercise_of(path: str) -> Exercise | None:
    """The exercise that a file is the edited copy of: its name tells."""
    name = os.path.basename(path)
    return next((exercise for exercise in EXERCISES if exercise.file == name), None)
