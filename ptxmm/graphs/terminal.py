"""An execution drawn with characters: a column for each thread, side by side as far as they fit, with a box for each event; the
lines of the relations are listed beside it, or below where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from axioms.witness.execution import Execution
from ptxmm.harmless import plain

from .boxes import make_boxes, wrap
from .columns import Column, columns, short_names, told_levels
from .figure import INITIAL, PictureBox, label_of
from .layout import LEVEL_NAMES
from .names import event_names
from .outline import outline
from .selection import Bundle, bundles
from .style import MARKS, style_of
from .words import TOLD, line_words

#: No column is narrower, or wider, than this.
_NARROWEST, _WIDEST = 26, 44
_GAP = "  "
#: A list of lines stands beside the columns where there is room for so many characters.
_BESIDE = 34
#: Corners and sides of boxes; those that a verdict speaks of are heavy.
_LIGHT, _HEAVY = tuple("┌┐└┘─│"), tuple("┏┓┗┛━┃")


def text(execution: Execution, width: int = 100) -> str:
    """The picture of one execution, in lines of at most `width` characters, or of 28 where that is less."""
    names, short = event_names(execution), short_names(execution)
    execution = outline(execution)
    shown = columns(execution, short)
    boxes = make_boxes(execution, shown, names)
    known = {half.event: half.name for box in boxes for half in box.halves}
    width = max(width, _NARROWEST + 2)
    told = told_levels(execution.threads)
    groups = _groups(len(shown), width)
    drawn = [line for group in groups for line in ["", *_columns([shown[i] for i in group], group, boxes, told, width)]]
    lists = _lists(bundles(execution), boxes, known)
    used = max((len(line) for line in drawn), default=0)
    room = width - used - len(_GAP) - 1
    page = [execution.title] if execution.title else []
    initial = [half.lines[0] for box in boxes if box.kind == INITIAL for half in box.halves]
    page += _paragraph("initially ", ", ".join(initial), width) if initial else []
    if len(groups) == 1 and room >= _BESIDE:
        listed = [line for head, words in lists for line in ["", *_list(head, words, room)]]
        page += [
            f"{left.ljust(used)}{_GAP} {right}".rstrip() for left, right in zip_longest(drawn, listed, fillvalue="")
        ]
    else:
        page += [*drawn, "", *(line for head, words in lists for line in _list(head, words, width))]
    page += [""] * bool(execution.state)
    page += _paragraph("final state: ", ", ".join(f"{n} = {v}" for n, v in execution.state.items()), width)
    page += _paragraph("", ", ".join(f"{short[n]} = {n}" for n, _ in execution.threads if n in short), width)
    return "\n".join(plain(line).rstrip() for line in page) + "\n"


def _groups(count: int, width: int) -> list[range]:
    """The columns that stand side by side, the same number in each row of them."""
    most = max(1, (width + len(_GAP)) // (_NARROWEST + len(_GAP)))
    rows = -(-count // most) if count else 0
    each = -(-count // rows) if rows else 1
    return [range(i, min(i + each, count)) for i in range(0, count, each)]


def _columns(
    shown: Sequence[Column], numbers: range, boxes: Sequence[PictureBox], told: Sequence[str], width: int
) -> list[str]:
    """Some columns, side by side: where each stands, its name, its boxes, those of a row at one height."""
    each = min(_WIDEST, (width + len(_GAP)) // len(shown) - len(_GAP))
    mine = [[box for box in boxes if box.column == number] for number in numbers]
    blocks = [[[words] for words in _places(shown, told)], [[column.name] for column in shown]]
    for row in range(1 + max((box.row for column in mine for box in column), default=-1)):
        at = [next((box for box in column if box.row == row), None) for column in mine]
        blocks.append([_box(box, each) if box else [] for box in at])
    return [
        _GAP.join(cell[:each].ljust(each) for cell in line).rstrip()
        for block in blocks
        for line in zip_longest(*block, fillvalue="")
    ]


def _places(shown: Sequence[Column], told: Sequence[str]) -> list[str]:
    """Where the threads are, said at the first of those that are together."""
    found, before = [], ""
    for column in shown:
        place = column.place
        words = "host" if place.host else ", ".join(f"{LEVEL_NAMES[level]} {getattr(place, level)}" for level in told)
        found.append("" if words == before else words)
        before = words
    return found


def _box(box: PictureBox, width: int) -> list[str]:
    upper_left, upper_right, lower_left, lower_right, across, down = _HEAVY if box.told else _LIGHT
    inside = width - 4
    name = " ".join(half.name.rpartition(":")[2] for half in box.halves)
    head = f"{across} {name} "[: width - 2]
    lines = [upper_left + head.ljust(width - 2, across) + upper_right]
    for half in box.halves:
        words = [part for line in half.lines for part in wrap(line, inside - 2)]
        if half.effect:
            words += wrap(half.effect, inside - 2)
        if half.note and words and len(words[-1]) + len(half.note) + 2 <= inside:
            words[-1] = words[-1] + half.note.rjust(inside - len(words[-1]))
        elif half.note:
            words.append(half.note.rjust(inside)[:inside])
        lines += [f"{down} {word[:inside].ljust(inside)} {down}" for word in words]
    return [*lines, lower_left + across * (width - 2) + lower_right]


def _lists(drawn: Sequence[Bundle], boxes: Sequence[PictureBox], names: dict[int, str]) -> list[tuple[str, list[str]]]:
    """For each relation its lines: what a verdict speaks of first. Program order is what stands below each other."""
    lines: dict[str, list[str]] = {}
    for bundle in drawn:
        arrow = "↔" if bundle.mutual else "→"
        for name in bundle.relations:
            if name in MARKS or name in label_of(bundle).split(", "):
                lines.setdefault(name, []).append(f"{names[bundle.source]} {arrow} {names[bundle.target]}")
    ranked = sorted(lines, key=lambda n: (n not in MARKS, style_of(n).rank, n))
    told = [half.name for box in boxes if box.told for half in box.halves]
    return [*([(f"{TOLD} (heavy boxes)", told)] if told else []), *((line_words(name), lines[name]) for name in ranked)]


def _list(head: str, words: Sequence[str], width: int) -> list[str]:
    """A relation and its lines, as many in each row as fit."""
    rows: list[str] = []
    for word in words:
        if rows and len(rows[-1]) + len(word) + 3 <= width:
            rows[-1] += f", {word}"
        else:
            rows.append(f"  {word}")
    return [*_paragraph("", head, width), *(f"{row}," for row in rows[:-1]), *rows[-1:]]


def _paragraph(begin: str, words: str, width: int) -> list[str]:
    """Words in lines, broken at spaces, behind a beginning that what goes on stands below."""
    if not words:
        return []
    lines = wrap(words, max(10, width - len(begin) - 2))
    return [(begin if i == 0 else " " * min(2, len(begin))) + line for i, line in enumerate(lines)]
