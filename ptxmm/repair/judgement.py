"""What became of a changed text, and what the search says of one that holds."""

from __future__ import annotations

import math

from ptxcore.records import NamedTuple, dataclass
from ptxmm.repair.sites import Vector
from ptxmm.repair.stages import TriedStages


class Judgement(NamedTuple):
    """What became of the checks: all `hold`, or not, or (None) nobody knows. `wrong`: some execution shows it, or two accesses
    race; `waits`: in some execution threads do not terminate, or wait where they must not; `nonterminating`: none ends; where
    nothing is known to hold or fail, none does within the bounds of loops. `failed` names the checks that fail, `undecided`
    those of which nobody knows beside them. `bounded`: what holds rests on bounds of loops. `launch`: of which larger launch
    this is, where it is not of the one given; what holds there but is not decided in a larger one is `unsure`. `clues`: the
    lines at which threads wait that do not terminate, or else of what is wrong. `between`: what takes in both threads of a race
    (thread, warp, cta or grid), where that is known; `lacking`: at which lines they should have synchronized, and what
    lacks."""

    holds: bool | None
    wrong: bool = False
    failed: tuple[str, ...] = ()
    bounded: bool = False
    reason: str = ""
    waits: bool = False
    undecided: tuple[str, ...] = ()
    nonterminating: bool = False
    launch: str = ""
    unsure: str = ""
    clues: frozenset[int] = frozenset()
    between: str = ""
    lacking: frozenset[tuple[int, str]] = frozenset()

    @property
    def stuck(self) -> bool:
        """Whether threads wait in some execution, or in all."""
        return self.waits or self.nonterminating


class JudgedTexts:
    """Judgements of texts, each by whether it is one that is weaker. What is decided is so for good; what is not, for as long
    as it was looked at."""

    def __init__(self, stages: TriedStages | None = None) -> None:
        """`stages` counts what is judged."""
        self.stages = TriedStages() if stages is None else stages
        self._known: dict[tuple[str, bool], tuple[Judgement, float]] = {}

    def known(self, text: str, weaker: bool, seconds: float | None) -> Judgement | None:
        """What is known of a text; None where nothing is, or where `seconds` (None: no limit) are more than it had."""
        judged, had = self._known.get((text, weaker), (None, 0.0))
        if judged is None or judged.holds is not None:
            return judged
        return judged if seconds is not None and seconds <= had else None

    def keep(self, text: str, weaker: bool, judged: Judgement, seconds: float | None) -> None:
        """Remembers what came out in so many seconds."""
        self.stages.judged += 1
        if not judged.unsure:  # of some larger launch nobody knows
            self._known[text, weaker] = judged, math.inf if seconds is None else seconds


class Weakening(NamedTuple):
    """A site of a solution, one step weaker, and the checks that fail then, or are not decided beside them; `launch` is the
    larger one in which they fail, where they hold in the one given."""

    site: int
    option: int
    failed: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    launch: str = ""


@dataclass
class Solution:
    """A vector with which the checks hold, and what shows that nothing of it can be left out."""

    vector: Vector
    cost: int
    needs: tuple[Weakening, ...]
    bounded: bool = False
    #: Whether each step weaker is known to fail.
    minimal: bool = True
