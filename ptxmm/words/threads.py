"""Short names for the threads of kernels, where a page names them again and again: `T0` for `CTA 0 thread 0`, and a line that
says who is who."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ptxmm.result import Cause, Checked, RaceEntry, RaceEvent, Result, Step

#: A name that a page has no more often stays as it is.
_FEW = 2


class ShortNames:
    """Short names for the threads that a result of a kernel speaks of, by their long ones; none where names are rare."""

    def __init__(self, result: Result) -> None:
        found: Counter[str] = Counter()

        def count(text: str) -> str:
            found.update(_found(text, longest))
            return text

        longest = _longest(result.threads)
        if longest:
            _renamed(result, count)
        often = any(number > _FEW for number in found.values())
        told = [name for name in result.threads if name in found] if often else []
        self.short = {name: f"T{number}" for number, name in enumerate(told)}
        self._longest, self._who = _longest(self.short), result.threads

    def renamed(self, result: Result) -> Result:
        """The result with short names."""
        return _renamed(result, self._in) if self.short else result

    def with_legend(self, page: Sequence[str]) -> list[str]:
        """A page, with a line before the first short name that says who they are that it names."""
        shorts = _longest(self.short.values())
        named = [set(_found(line, shorts)) for line in page]
        used = {short for some in named for short in some}
        if not used:
            return list(page)
        at = next(i for i, some in enumerate(named) if some)
        at -= at > 0 and not page[at - 1]  # before the blank line of what it stands in
        legend = ", ".join(f"{short}: {self._who[name]}" for name, short in self.short.items() if short in used)
        return [*page[:at], f"    {legend}", *page[at:]]

    def _in(self, text: str) -> str:
        for name in self._longest:
            text = text.replace(name, self.short[name])
        return text


def _longest(names: Iterable[str]) -> list[str]:
    """Names in an order in which none stands behind one that it begins with."""
    return sorted(names, key=len, reverse=True)


def _found(text: str, names: Sequence[str]) -> list[str]:
    """Which of the names stand in a text, each as often as it does; names are in the order of `_longest`."""
    found: list[str] = []
    for name in names:
        found += [name] * text.count(name)
        text = text.replace(name, "")
    return found


def _renamed(result: Result, new: Callable[[str], str]) -> Result:
    why = {**result.why, "text": [new(line) for line in result.why["text"]]} if result.why else None
    return replace(
        result, checks=[_check(check, new) for check in result.checks], races=[_race(race, new) for race in result.races],
        why=why, notes=[new(note) for note in result.notes],
    )  # fmt: skip


def _check(check: Checked, new: Callable[[str], str]) -> Checked:
    return replace(
        check, message=new(check.message), spots=[(spot, new(what)) for spot, what in check.spots],
        linearisation=_linearisation(check.linearisation, check.steps, new), causes=_causes(check.causes, new),
    )  # fmt: skip


def _race(race: RaceEntry, new: Callable[[str], str]) -> RaceEntry:
    first, second = (_event(event, new) for event in race.events)
    return replace(
        race, events=(first, second), reason=new(race.reason), execution=_linearisation(race.execution, race.steps, new),
        causes=_causes(race.causes, new),
    )  # fmt: skip


def _causes(causes: Sequence[Cause], new: Callable[[str], str]) -> list[Cause]:
    return [cause._replace(what=new(cause.what)) for cause in causes]


def _event(event: RaceEvent, new: Callable[[str], str]) -> RaceEvent:
    return replace(event, thread=new(event.thread))


def _linearisation(lines: Sequence[str], steps: Sequence[Step], new: Callable[[str], str]) -> list[str]:
    """The lines of a linearisation, whose first column has who makes each step."""
    old = max((len(step.who) for step in steps), default=0)
    who = [new(step.who) for step in steps]
    width = max(map(len, who), default=0)
    told = [
        f"{name.ljust(width)}{new(line[old:])}" if name else new(line) for name, line in zip(who, lines, strict=False)
    ]
    return [*told, *map(new, lines[len(told) :])]
