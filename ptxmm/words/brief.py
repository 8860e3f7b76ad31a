"""A page that fits: what caused a failure first, at the line of the source with its text; of what follows from it no more than
a reader takes in at a glance. `--all` tells everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptxcore.sources import read_bytes, remembered
from ptxmm.harmless import plain
from ptxmm.result import Cause, Checked, RaceEntry, RaceEvent, Result, Spot, Step, event_text, undefined_by_race

#: Lines of a page about one cause, at `WIDTH` columns.
LINES, WIDTH = 25, 100
#: Lines of steps of an execution that a page has whatever else it says.
FEWEST_STEPS = 3
#: Lines of a reason on a page that has no room.
_REASON_LINES = 4
#: Lines of a reason that was asked for, on a page that has no room.
_FEWEST_LINES = 6
_MARGIN = " " * 6
_MOST_RACES = 12
#: Lines of races and their reasons on a page, and pairs that are told whatever they take.
_RACE_LINES, _FEWEST_RACES = 12, 1
#: Lines of two instructions that race, on a page that has no room.
_LINES_OF_A_PAIR = 2
_MOST_CAUSES, _FEWEST_CAUSES = 4, 2
#: Characters of a line that names a cause and its instruction, too.
_LONGEST_HEAD = WIDTH - 4
_LONGEST_TEXT = WIDTH - 6
_LONGEST = 16 << 20  # bytes of a source file


class StepLimits:
    """How many lines steps of executions may still take on a page of a `width`; None: as many as there are. `tight`: the page
    has no room for more than one race, nor for why there is one where an execution was told before (1); nor for more than few
    causes, for a race beside an execution that was told, for what follows from another thing, for each thing that the answer
    rests on (2); nor for any step of an execution (3)."""

    def __init__(self, room: int | None, width: int = WIDTH, *, tight: int = 0) -> None:
        self.room, self.width, self.tight = room, width, tight

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self.room is None

    @property
    def tightest(self) -> bool:
        """Whether what follows from something else is left out."""
        return self.tight > 1

    def linearisation(self, lines: Sequence[str], steps: Sequence[Step], left: int) -> list[str]:
        """A linearisation with the steps for which there is room, the most telling ones, and the first of its reasons."""
        if self.room is None:
            return list(lines)
        told, reasons = [self._squeezed(line) for line in lines[: len(steps)]], lines[len(steps) + bool(left) :]
        kept = [] if self.tight > 2 else self._kept(told, steps)
        out = len(told) - len(kept) + left
        more = [more_steps(out, bool(kept)) + (" (--all tells them)" if len(kept) < len(told) else "")] if out else []
        others = len(reasons) - 1 if steps else 0
        again = [f"and {others} more like it (--all tells them)"] if others > 0 else []
        if self.tightest and more and again:
            more, again = (
                [],
                [
                    f"{more_steps(out, bool(kept))} and {others} more reason{'s' * (others != 1)} like it (--all tells them)"
                ],
            )
        reasons = [self._cut(reason) for reason in (reasons[:1] if again else reasons)]
        return [*(told[i] for i in kept), *more, *reasons, *again]

    def _cut(self, reason: str) -> str:
        """A reason, of which a page without room tells the beginning."""
        return self.beginning(reason, _REASON_LINES - self.tightest) if self.tight else reason

    def beginning(self, text: str, most: int, *, margin: str = _MARGIN) -> str:
        """As much of a text as so many lines have."""
        lines = wrapped(margin + text, self.width)
        if len(lines) <= most:
            return text
        indent = text[: len(text) - len(text.lstrip(" "))]
        return f"{indent}{' '.join(line.strip() for line in lines[: most - 1])} ... (--all tells the rest)"

    def outline(self, lines: Sequence[str], above: Sequence[str]) -> list[str]:
        """A reason below what stands on the page already; where there is no room, no more of it than fits."""
        if not self.tight:
            return list(lines)
        most = _REASON_LINES - self.tightest
        cut = [self.beginning(line, most, margin="    ") for line in lines]
        return folded(cut, max(_FEWEST_LINES, LINES - height(above, self.width)), self.width - 4)

    def _squeezed(self, line: str) -> str:
        """A step whose columns are together where they are too wide apart for the page."""
        most = self.width - len(_MARGIN)
        if len(line) <= most:
            return line
        before, _, last = line.rpartition("  ")
        closer = f"{before.rstrip()}  {last}"
        if before.strip() and len(closer) <= most:
            return closer
        return "  ".join(part.strip() for part in line.split("  ") if part.strip())

    def _kept(self, lines: Sequence[str], steps: Sequence[Step]) -> list[int]:
        """The most telling steps for which there is room."""
        kept: list[int] = []
        for i in sorted(range(len(steps)), key=lambda i: steps[i].rank):
            needed = len(wrapped(_MARGIN + lines[i], self.width))
            if self.room is None or self.room <= 0 or (needed > self.room and len(kept) > 1):
                break
            self.room -= needed
            kept.append(i)
        return sorted(kept)


def folded(lines: Sequence[str], room: int, width: int) -> list[str]:
    """An outline in so many lines: each line is indented below what it belongs to. What is deepest is left out first, and of
    what is equally deep the last but one of those that belong together: the last one closes a circle."""
    kept = list(range(len(lines)))

    def depth(i: int) -> int:
        return len(lines[i]) - len(lines[i].lstrip(" "))

    def shown() -> list[str]:
        found: list[str] = []
        for at, i in enumerate(kept):
            missing = range(kept[at - 1] + 1, i) if at else range(i)
            found += [" " * depth(i) + "..."] * any(depth(j) == depth(i) for j in missing)
            found.append(lines[i])
        left = len(lines) - len(kept)
        return [*found, *([f"and {left} more line{'s' * (left != 1)} (--all tells them)"] if left else [])]

    while height(shown(), width) > room and len(kept) > 2:
        deepest = max(map(depth, kept))
        last = max(at for at, i in enumerate(kept) if depth(i) == deepest)
        siblings = last > 0 and depth(kept[last - 1]) == deepest
        del kept[last - siblings]
        if not siblings and 0 < last == len(kept) and deepest > depth(kept[-1]) and len(kept) > 2:
            del kept[-1]  # the head of what is left out as a whole
    return shown()


def more_steps(count: int, some: bool = True) -> str:
    """What a list of steps says of those that it leaves out, where it has some."""
    return f"{'and ' * some}{count} {'more ' * some}step{'s' * (count != 1)}"


def height(page: Sequence[str], width: int) -> int:
    """How many lines a page takes."""
    return sum(len(wrapped(line, width)) for line in page)


def room_for_steps(page: Sequence[str], width: int) -> int:
    """For how many steps there is room on a page that has none yet."""
    return max(FEWEST_STEPS, LINES - height(page, width))


def wrapped(line: str, width: int) -> list[str]:
    """A line in as many as it takes; what goes on is indented further."""
    if len(line) <= width:
        return [line]
    import textwrap

    indent = " " * (len(line) - len(line.lstrip(" ")) + 4)
    found = textwrap.wrap(
        line, width, subsequent_indent=indent, drop_whitespace=True, break_long_words=False, break_on_hyphens=False
    )
    first = line[: len(line) - len(line.lstrip(" "))] + found[0].lstrip(" ")
    return [first, *found[1:]]


# Causes.

#: What is said of an instruction that races.
_RACES = "races with"


def causes(result: Result) -> list[Cause]:
    """What to look at first, each once: what caused checks to fail, what has no meaning, or what caused the first race. Where
    nothing is known to be missing, the places that a failure is about: where threads wait, what is out of date, what races, or
    what wrote the values that break a claim."""
    found = dict.fromkeys(c for check in failing(result) for c in check.causes)
    if not found and result.undefined is not None and not undefined_by_race(result):
        does = [site for site in result.undefined.culprits if site.thread >= 0]
        if len(does) == len(result.places):
            pairs = zip(does, result.places, strict=True)
            found = dict.fromkeys(Cause(spot, f"{site.name} does this", site.instruction) for site, (spot, _) in pairs)
    if not found and result.races:
        found = dict.fromkeys(result.races[0].causes)
    if not found and result.of_kernel:
        found = dict.fromkeys(Cause(spot, what, "") for check in failing(result) for spot, what in check.spots if what)
    raced = undefined_by_race(result) or any(result.of_kernel or c.kind == "race_free" for c in failing(result))
    if not found and raced and result.races:
        found = dict.fromkeys(_parties(result.races[0]))
    if not found and result.of_kernel:
        found = dict.fromkeys(Cause(spot, what, "") for check in failing(result) for spot, what in check.keeps)
    return list(found)


def _parties(race: RaceEntry) -> Iterator[Cause]:
    """The two instructions of a race that has no other cause than that nothing orders them."""
    one, other = race.events
    if one.at is None or other.at is None:
        return
    if one.at == other.at and (one.at.line or one.line == other.line):
        yield Cause(one.at, f"{_RACES} itself", one.instruction if one.instruction == other.instruction else "")
        return
    for event, at, by in ((one, one.at, other), (other, other.at, one)):
        there = by.at or at
        if not there.line:  # a compiler says so of what it made of several lines
            told = f"line {by.line} of the PTX"
        else:
            told = f"line {there.line}" if there.path == at.path else str(there)
        yield Cause(at, f"{_RACES} {told}", event.instruction)


def failing(result: Result) -> list[Checked]:
    """The checks of a kernel test, and those of a litmus test besides its condition, that do not hold."""
    return [check for check in result.checks if check.holds is False]


def told_first(spot: Spot, what: str, found: Sequence[Cause]) -> bool:
    """Whether a place is among these causes."""
    return any(spot == cause.spot and what.startswith(cause.what) for cause in found)


def cause_lines(found: Sequence[Cause], *, everything: bool, fewest: bool = False) -> list[str]:
    """Two lines for each place of a cause: where and what, and the text there; of many places some, or the `fewest`."""
    places: dict[tuple[Spot, str], list[str]] = {}
    for cause in found:
        places.setdefault((cause.spot, cause.text), []).append(cause.what)
    joined = [Cause(spot, "; ".join(dict.fromkeys(whats)), text) for (spot, text), whats in places.items()]
    most = len(joined) if everything else _FEWEST_CAUSES if fewest else _MOST_CAUSES
    shown = joined[:most]
    lines = [line for cause in shown for line in _cause(cause)]
    more = len(joined) - len(shown)
    return [*lines, *([f"and {more} more (--all tells them)"] if more else [])]


def _cause(cause: Cause) -> list[str]:
    text = _text_at(cause.spot.path, cause.spot.line)
    head = f"{cause.spot}: {cause.what}"
    if not cause.text:
        return [plain(head), *([f"  {shortened(plain(text))}"] if text else [])]
    if not text or _squeezed(text).startswith(_squeezed(cause.text)):  # the PTX itself
        return [plain(head), f"  {plain(cause.text)}"]
    name = cause.text.split()[0]
    races = cause.what.startswith(_RACES)
    named = f"{cause.spot}: {name} {cause.what}" if races else f"{head} ({name})"
    return [plain(named if len(named) <= _LONGEST_HEAD else head), f"  {shortened(plain(text))}"]


def shortened(text: str) -> str:
    """A line of a source, of which one that a program wrote may be endless."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 4]} ..."


def _squeezed(text: str) -> str:
    return "".join(text.split())


@remembered(256)
def _text_at(path: str, line: int) -> str:
    """A line of a source file; empty where there is none."""
    try:
        lines = read_bytes(path, _LONGEST, "a source file").decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[line - 1].strip().replace("\t", " ") if 0 < line <= len(lines) else ""


# Races.


def race_lines(result: Result, told: Iterable[Cause], limits: StepLimits) -> list[str]:
    """Each race in a line, and why; of the races of two instructions, whoever executes them, the first. The execution of
    the first one of all, unless one was told already. What was told already is not told again: races of which all causes
    are among those are counted, unless everything is wanted."""
    found: dict[tuple[object, ...], list[str]] = {}
    others: dict[tuple[object, ...], int] = {}
    known = {line for check in result.checks if check.holds is False for line in check.linearisation}
    causes = {cause.spot for cause in told}
    folded: dict[tuple[object, ...], RaceEntry] = {}
    if limits.tightest and known:
        return _counted(result.races)
    for race in result.races:
        pair: tuple[object, ...] = (race.kind, *sorted((e.line, e.instruction) for e in race.events))
        others[pair] = others.get(pair, -1) + 1
        if pair in found or pair in folded:
            continue
        own = {cause.spot for cause in race.causes}
        if own and own <= causes and (known or found) and not limits.everything:
            folded[pair] = race
            continue
        causes |= own
        found[pair], known = _race(race, known, limits)
    for pair, lines in found.items():
        if others[pair]:
            lines[0] += f", and {others[pair]} more race{'s' * (others[pair] != 1)} of these instructions"
    shown = list(found.values())
    left = 0 if limits.everything else len(shown) - (1 if limits.tight else _fitting(shown, limits.width))
    lines = [line for lines in shown[: len(shown) - left] for line in lines]
    lines += [f"and {left} more pair{'s' * (left != 1)} of instructions (--all tells them)"] if left > 0 else []
    return [*lines, *_folded(list(folded.values()))]


def _counted(races: Sequence[RaceEntry]) -> list[str]:
    """How many races there are, where there is no room to tell of them."""
    kinds = "/".join(dict.fromkeys(race.kind for race in races))
    return [f"{len(races)} {kinds} race{'s' * (len(races) != 1)} (--all tells of them)"] * bool(races)


def _fitting(races: Sequence[Sequence[str]], width: int) -> int:
    """How many races there is room for."""
    used = 0
    for i, lines in enumerate(races):
        used += sum(len(wrapped(f"    {line}", width)) for line in lines)
        if i >= _FEWEST_RACES and used > _RACE_LINES:
            return i
    return len(races)


def _race(race: RaceEntry, known: set[str], limits: StepLimits) -> tuple[list[str], set[str]]:
    first, second = (plain(event_text(event)) for event in race.events)
    between = f"{first} and {second}" if first != second else f"{first} and itself"
    lines = [] if known else limits.linearisation(race.execution, race.steps, race.left)
    lines += [race.reason] if race.reason and race.reason not in known else []
    told = {*known, *race.execution, *([race.reason] if race.reason else [])}
    if limits.tightest:
        between = limits.beginning(between, _LINES_OF_A_PAIR)
    return [f"{race.kind} race between {between}", *(f"    {plain(line)}" for line in lines)], told


def _line(event: RaceEvent, of_one: bool) -> str:
    """The line of the source, of one file or of several; that of the PTX where there is no source."""
    if event.source is None:
        return str(event.line)
    return str(event.source.line if of_one else event.source)


def _folded(races: Sequence[RaceEntry]) -> list[str]:
    if not races:
        return []
    of_one = len({event.source and event.source.path for race in races for event in race.events}) == 1
    places = ", ".join(" and ".join(_line(e, of_one) for e in race.events) for race in races[:_MOST_RACES])
    more = ", ..." if len(races) > _MOST_RACES else ""
    kinds = "/".join(dict.fromkeys(race.kind for race in races))
    count = f"{len(races)} {kinds} race{'s' * (len(races) != 1)}"
    return [f"{count} for the same reason, of lines {places}{more} (--all tells them)"]
