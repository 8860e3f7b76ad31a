"""Which of the barriers that may be put in are met: of each, alone, whether it leaves threads waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axioms.errors import EngineDefect
from axioms.program import UnsupportedProgram
from ptxcore.diagnostics import InputError
from ptxmm.repair.guided import places_apart
from ptxmm.repair.judgement import Solution
from ptxmm.repair.sites import EditSite, Vector, edited, edits_of
from ptxmm.repair.subjects import Subject, judging

#: Whether threads wait in a text that is wrong is asked no more after so many times without an answer.
_VAIN = 3
#: So many times its patience a text may take, unless so many others did so in vain.
_PATIENT = 4


def met(
    subject: Subject,
    sites: list[EditSite],
    known: Solution | None = None,
    *,
    every: bool = True,
    patience: float | None = None,
    clues: Iterable[int] = (),
    held: Callable[[Vector], None] = lambda _: None,
) -> list[EditSite]:
    """The sites without those barriers that, put in alone, leave threads waiting or have no meaning; or, where not all threads
    may come by, in a text that is right but for them. Those where all surely come are not asked; those near to lines of what is
    wrong, the `clues`, are asked first. `known` is a solution, whose own barriers are not asked. Unless `every` one is wanted,
    those that cost as much as it, or as one that holds by itself, are not looked at; `held` is told of each that does.
    `patience`: so many seconds for the question whether threads wait in a text that is wrong, and some times that for whether
    one holds. Raises OutOfTime."""
    kept: list[tuple[int, EditSite]] = []
    lost = vain = slow = 0
    least = None if known is None or every else known.cost
    apart = places_apart(sites, clues)
    for number, site in sorted(enumerate(sites), key=lambda place: apart[place[0]]):
        good, used = [0], 0 if known is None else known.vector[number]
        for option in range(1, len(site.options)):
            there = site.options[option]
            if option != used and there.meets and not there.sure and (least is None or there.cost < least):
                alone = tuple(option if s == number else 0 for s in range(len(sites)))
                judged = judging(subject, sites, alone, _time_for_one(patience, slow))
                slow += judged.holds is None
                waits: bool | None = False
                if judged.wrong and there.alters and vain < _VAIN:
                    waits = _spoils(subject, sites, alone, known, patience)
                    vain += waits is None
                if waits or (judged.holds is False and not judged.wrong):
                    lost += 1
                    continue
                if judged.holds and not every:
                    least = there.cost
                    held(alone)
            good.append(option)
        left = site if len(good) == len(site.options) else site.kept(good)
        kept += [(number, left)] if left is not None else []
    if lost:
        subject.left_out.append(f"barriers at {lost} places where not all threads come by, or deadlock")
    return [site for _, site in sorted(kept, key=lambda place: place[0])]


def _time_for_one(patience: float | None, slow: int) -> float | None:
    """The patience with the next barrier, where so many were not decided: it is no longer that of the first ones then."""
    return patience if patience is None or slow >= _VAIN else patience * _PATIENT


def _spoils(
    subject: Subject, sites: list[EditSite], barrier: Vector, known: Solution | None, patience: float | None
) -> bool | None:
    """Whether threads deadlock at a barrier in a text that is wrong for another reason: in one that is right without it,
    where one is `known`, it is no longer. None where that cannot be told in time. Raises OutOfTime."""
    try:
        if known is not None:
            both = tuple(one or other for one, other in zip(barrier, known.vector, strict=True))
            holds = judging(subject, sites, both, patience).holds
            return None if holds is None else not holds
        return subject.waits(edited(subject.text, edits_of(sites, barrier)), patience)
    except (EngineDefect, UnsupportedProgram, InputError):
        return False
