"""Where a text may be changed, and into what: values that the search orders and the reports tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise

from ptxcore.records import NamedTuple, dataclass


class TextEdit(NamedTuple):
    """The characters from `start` to `end` of a text become `new`."""

    start: int
    end: int
    new: str


#: The family of what waits for the state that an arrival gives, which comes just before.
STATE = "state"
#: What a statement that is moved behind another one is called in `Wanted.kind`.
MOVE = "move"
#: And a number that is computed, and becomes one more or less.
COMPUTED = "computed"
#: And a parity that is computed, and becomes that of the turn.
PARITY = "parity"


class InTurn(NamedTuple):
    """The parity of a turn: that of (number of the turn + `offset`) / `every`, plus `more`; `every` is 0 where it is no such
    one. `flipped`: it is always the other one than is there."""

    every: int
    offset: int
    more: int
    flipped: bool


class AwaitedMbarrier(NamedTuple):
    """The mbarrier that a wait is for, by its name in the module, and the parity of the phase: a number, a register, or (`!`
    before it) the other one than a register holds."""

    about: str
    parity: str


class Wanted(NamedTuple):
    """What becomes of a statement of a module, for who writes that in the language that it was compiled from. `kind`: its
    `order` (and scope), a statement is `put` in before it, it is `gone` or `move`d, or a `number` in it changes. `line` is
    its own in the module, `before` that of the statement which comes before what is put in, or moved. `old` and `new`:
    opcodes with modifiers, statements or numbers; `family` names the orders that there are; `in_turn` is what a `parity` is,
    `awaited` what a wait that is put in is for."""

    kind: str
    line: int
    before: int = 0
    old: str = ""
    new: str = ""
    family: str = ""
    order: str = ""
    scope: str = ""
    old_order: str = ""
    old_scope: str = ""
    in_turn: InTurn | None = None
    awaited: AwaitedMbarrier | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """What a statement may become. `edits` make it of the text; `cost` is what it costs on hardware, `level` what it is
    compared by, `words` tell it, `source_words` in the language that the text was compiled from. `meets`: threads wait
    there for others; `alters`: it changes how other barriers are met, so that a stronger text may allow what a weaker
    one does not; `arrives`: it is so many more arrivals; `sure`: all whom it is for come by, equally often; `wanted` says what
    becomes of the statement; `spot` who and which line, where that is not the site's; `about` names what threads wait or
    arrive at there, `others` further such objects; `far`: it is only tried where that is known to be waited for, `apart`: so
    many statements from one that is about the same; `evident`: the text itself (or a run of it) shows that it is lacking (1),
    as where nothing waits for what others
    arrive at (2: and who comes by here never arrives there; 3: nor for the state that their arrival gives; or where some hand
    over alone what others with them may still use), or other bytes
    are told of than are copied; or that what is there is right (-1). The first option of a site is no change, or where
    things are weakened the weakest."""

    edits: tuple[TextEdit, ...]
    cost: int
    level: tuple[object, ...]
    words: str = ""
    source_words: str = ""
    meets: bool = False
    alters: bool = False
    sure: bool = False
    wanted: Wanted | None = None
    spot: tuple[str, int] | None = None
    arrives: int = 0
    about: str = ""
    far: bool = False
    apart: int = 0
    evident: int = 0
    others: frozenset[str] = frozenset()

    def concerns(self, objects: frozenset[str]) -> bool:
        """Whether it is about one of these objects."""
        return self.about in objects or not self.others.isdisjoint(objects)


@dataclass(frozen=True, slots=True)
class EditSite:
    """A statement, or a place between two, with all that may be there, the weakest first. `below` has for each option
    those that are as weak or weaker, itself among them. `where` names the place in reports, `line` is that of the text;
    `copies` are lines of others that are changed with it, since they come from one place of a source."""

    where: str
    line: int
    options: tuple[Option, ...]
    below: tuple[frozenset[int], ...] = field(repr=False)
    copies: tuple[int, ...] = ()

    def at_most(self, one: int, other: int) -> bool:
        """Whether an option is as weak as another, or weaker."""
        return one in self.below[other]

    def kept(self, options: Sequence[int]) -> EditSite | None:
        """The site with these options only; None where that leaves no choice, or not the first one."""
        if len(options) < 2 or 0 not in options:
            return None
        number = {old: new for new, old in enumerate(options)}
        below = tuple(frozenset(number[j] for j in self.below[i] if j in number) for i in options)
        return replace(self, options=tuple(self.options[i] for i in options), below=below)

    def told(self, option: int) -> str:
        """An option in words, with the lines of the copies; empty for no change."""
        words = self.options[option].words
        also = ", ".join(map(str, self.copies))
        return f"{words}, and so at line{'s' * (len(self.copies) > 1)} {also}" if words and also else words

    def under(self, option: int) -> list[int]:
        """The strongest of those that are weaker than an option."""
        weaker = self.below[option] - {option}
        return [o for o in sorted(weaker) if not any(o in self.below[p] for p in weaker if p != o)]

    def highest(self) -> list[int]:
        """The options that nothing is stronger than."""
        every = range(len(self.options))
        return [o for o in every if not any(o in self.below[p] for p in every if p != o)]


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with all edits made; of insertions at one place the first given comes first."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        parts += [text[at : edit.start], edit.new]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def separate(edits: Iterable[TextEdit]) -> bool:
    """Whether no two edits are about the same characters."""
    return all(one.end <= other.start for one, other in pairwise(sorted(edits)))


#: For each site the number of its option.
Vector = tuple[int, ...]


def edits_of(sites: Sequence[EditSite], vector: Vector) -> list[TextEdit]:
    """What makes the text that a vector stands for."""
    return [edit for site, option in zip(sites, vector, strict=True) for edit in site.options[option].edits]
