"""What a search for repairs or weakenings gives: solutions, what each rests on, and how far the search went."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ptxcore.records import dataclass
from ptxmm.repair.building import REPAIR
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.sites import TextEdit, Wanted
from ptxmm.repair.stages import TriedStage
from ptxmm.repair.subjects import Larger, Subject

if TYPE_CHECKING:
    from ptxmm.repair.cuda.proof import Rewritten


@dataclass(frozen=True, slots=True)
class Change:
    """One statement changed: in `who`, at `line` of the text, in words. `place` is the line of what the text was compiled from
    (`lock.cu:9`), `source` the change there in words; both empty where nothing says so."""

    who: str
    line: int
    words: str
    source: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What a solution rests on: a change or a statement that is one step weaker, and what fails then; `undecided` are checks of
    which nobody knows whether they fail, too. `launch` is the larger one in which it fails, where everything holds in the
    one given."""

    who: str
    line: int
    words: str
    failed: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    launch: str = ""


@dataclass(kw_only=True)
class Found:
    """A repair or a weakening. `text` is the file with it, `cost` what it adds, or what is left; `bounded` that its checks
    hold within bounds of loops only; `minimal` that each step weaker was shown to fail, `cheapest` that
    nothing cheaper holds but what stands before it; `larger` says what became of a larger launch, where one was tried,
    `enlarged` that there was time for it; `wide` that its barriers are of CTAs where what is cheaper has some of warps, and
    does not hold in the larger launch, or nobody knows; `both` that all this is of both launches, as what is cheaper is not;
    `edits` make the text, and `source` is what it was compiled from, with edits that compile to the changes."""

    changes: tuple[Change, ...]
    needs: tuple[Need, ...]
    text: str
    cost: int
    bounded: bool
    minimal: bool
    cheapest: bool = True
    larger: Larger = field(default_factory=Larger)
    enlarged: bool = False
    wide: bool = False
    both: bool = False
    wanted: tuple[Wanted, ...] = ()
    edits: tuple[TextEdit, ...] = ()
    source: Rewritten | None = None


@dataclass(kw_only=True)
class Answer:
    """`found`, cheapest first. `base` is the judgement of the text as it is. `complete`: there are no others of up to `most`
    edits and, where it is not None, of up to `arrivals` put in; `stopped` says why the search ended early. `asked` texts were
    checked, of `sites` places with `options` changes; `tried` says what by, `seconds` how long the search took.
    `needs`: where nothing can be weaker, what the text as it is rests on."""

    mode: str
    subject: Subject
    base: Judgement
    most: int | None
    found: list[Found] = field(default_factory=list)
    needs: tuple[Need, ...] = ()
    complete: bool = False
    stopped: str = ""
    arrivals: int | None = None
    asked: int = 0
    sites: int = 0
    options: int = 0
    undecided: int = 0
    reasons: list[str] = field(default_factory=list)
    upside_down: bool = False
    tried: list[TriedStage] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> int:
        """The exit status: 0 found (or nothing to do), 1 there is none, 3 nobody knows."""
        if self.found or (self.mode == REPAIR and self.base.holds):
            return 0
        if self.mode != REPAIR and self.base.holds is False:
            return 1
        return 1 if self.complete else 3
