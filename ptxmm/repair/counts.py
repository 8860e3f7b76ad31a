"""Numbers that decide who waits for what: arrivals that an mbarrier expects, bytes of copies, parities, threads of a barrier.

Another number is neither stronger nor weaker: nothing is concluded from a text with one for a text with another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.syntax.spans import operand_span
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction, Name, Operand
from ptxmm.repair import costs
from ptxmm.repair.building import Lines, Place, head_of
from ptxmm.repair.objects import object_of
from ptxmm.repair.sites import COMPUTED, EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

_WARP = 32
#: So many other numbers of one place are considered, those nearest to what is there first.
_MOST = 6


def count_sites(
    statement: Instruction,
    body: Sequence[AnyStatement],
    threads: int,
    lines: Lines,
    place: Place,
    source: SourceWords | None = None,
) -> Iterator[EditSite]:
    """The number of a statement, where it has such a one, and others that may be meant. `threads`: of a CTA."""
    yield from _told_bytes(statement, body, lines, place, source)
    at = _operand(statement)
    if at is None or at >= len(statement.operands):
        return
    number = value_of(statement.operands[at], body)
    if number is None:
        if statement.opcode == "mbarrier" and "init" in statement.modifiers and statement.guard is None:
            yield from _computed(statement, at, body, lines, place, source)
        return
    line, column, end = operand_span(statement, at)
    start, stop = lines.offset(line, column), lines.offset(line, end)
    about = _about(statement, body)
    options = [Option((), 0, (0,))]
    told = copied_next(statement, body) if "expect_tx" in statement.modifiers else 0
    for other in _others(statement, number, body, threads):
        words = f"{lines.text[start:stop]} of {statement.name} becomes {other}"
        if lines.text[start:stop] != str(number):
            words = f"{lines.text[start:stop]} of {statement.name}, which is {number}, becomes {other}"
        wanted = Wanted("number", statement.span.line, 0, str(number), str(other))
        said = source.of_line(statement.span.line, f"{number} becomes {other}") if source is not None else ""
        edit = TextEdit(start, stop, str(other))
        price = costs.NUMBER + costs.EDIT
        options.append(
            Option(
                (edit,), price, (other,), words, said, alters=True, wanted=wanted, about=about,
                evident=(other == told) - (number == told) if told else 0,
            )
        )  # fmt: skip
    if len(options) > 1:
        below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
        yield EditSite(place.who, statement.span.line, tuple(options), below)


def _computed(
    statement: Instruction,
    at: int,
    body: Sequence[AnyStatement],
    lines: Lines,
    place: Place,
    source: SourceWords | None,
) -> Iterator[EditSite]:
    """The arrivals that an mbarrier waits for, where they are computed (`block.size() - 1`): one more, or one less."""
    line, column, end = operand_span(statement, at)
    start, stop = lines.offset(line, column), lines.offset(line, end)
    ended, first, line = lines.text.find(";", stop) + 1, lines.offset(*statement.start), statement.span.line
    register, about = lines.text[start:stop], _about(statement, body)
    if not (ended and register.startswith("%")):
        return
    options = [Option((), 0, (0,))]
    for more, told in ((1, "one more"), (-1, "one less")):
        before = f"{{ .reg .b32 other; add.s32 other, {register}, {more}; "
        edits = (TextEdit(first, first, before), TextEdit(start, stop, "other"), TextEdit(ended, ended, " }"))
        words = f"{register} of {statement.name} becomes {told}"
        said = source.of_line(line, f"the number of arrivals becomes {told}") if source is not None else ""
        wanted = Wanted(COMPUTED, line, 0, "0", str(more))
        options.append(
            Option(edits, costs.NUMBER + costs.EDIT, (more,), words, said, alters=True, wanted=wanted, about=about)
        )
    yield EditSite(place.who, line, tuple(options), (frozenset({0}), frozenset({0, 1}), frozenset({0, 2})))


def _about(statement: Instruction, body: Sequence[AnyStatement]) -> str:
    """What it is that a statement of a body is about."""
    at = next((k for k, s in enumerate(body) if s is statement), 0)
    return object_of(statement, at, body)


def _told_bytes(
    statement: Instruction, body: Sequence[AnyStatement], lines: Lines, place: Place, source: SourceWords | None
) -> Iterator[EditSite]:
    """An arrival that tells an mbarrier of no bytes, and those of copies that may be meant."""
    head = head_of(statement, lines)
    plain = statement.opcode == "mbarrier" and "arrive" in statement.modifiers and len(statement.operands) == 2
    if head is None or not plain or {"expect_tx", "noComplete", "shared::cluster"} & set(statement.modifiers):
        return
    if not any(modifier.startswith("shared") for modifier in statement.modifiers):
        return  # bytes are told of in shared memory alone
    line, _, end = operand_span(statement, 1)
    at = lines.offset(line, end)
    about = _about(statement, body)
    named = "mbarrier.arrive.expect_tx" + statement.name.removeprefix("mbarrier.arrive")
    options = [Option((), 0, (0,))]
    for size in _sizes(body):
        words = f"{statement.name} becomes {named} of {size} bytes"
        edits = (TextEdit(*head, named), TextEdit(at, at, f", {size}"))
        line = statement.span.line
        said = source.of_line(line, words) if source is not None else ""
        wanted = Wanted("bytes", line, 0, statement.name, named)
        cost = costs.NUMBER + costs.EDIT
        options.append(Option(edits, cost, (size,), words, said, alters=True, wanted=wanted, about=about))
    if len(options) > 1:
        below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
        yield EditSite(place.who, statement.span.line, tuple(options), below)


def _sizes(body: Sequence[AnyStatement]) -> list[int]:
    """The bytes of copies: of each, of all together, and those that something is told of."""
    done = [s for s in body if isinstance(s, Instruction)]
    sizes = [size for s in done if (size := copied(s, body)) is not None]
    told = [
        size for s in done if s.opcode == "mbarrier" and "expect_tx" in s.modifiers
        and (at := _operand(s)) is not None and at < len(s.operands)
        and (size := value_of(s.operands[at], body)) is not None
    ]  # fmt: skip
    return list(dict.fromkeys((*sizes, *([sum(sizes)] if sizes else []), *told)))[:_MOST]


def copied_next(statement: Instruction, body: Sequence[AnyStatement]) -> int:
    """The bytes of all copies that tell the object of a statement of theirs, up to the next one that tells it of bytes; 0 where
    copies of other CTAs may tell it, too."""
    at = next((k for k, s in enumerate(body) if s is statement), len(body))
    about, total = object_of(statement, at, body), 0
    for k in range(at + 1, len(body)):
        s = body[k]
        if object_of(s, k, body) != about:
            continue
        if isinstance(s, Instruction) and s.opcode == "mbarrier":
            break
        if "multicast::cluster" in getattr(s, "modifiers", ()):
            return 0
        total += copied(s, body) or 0
    return total


def value_of(operand: Operand, body: Sequence[AnyStatement]) -> int | None:
    """A number, or what the only `mov` that writes a register puts there."""
    if isinstance(operand, Immediate):
        return operand.value
    if not isinstance(operand, Name):
        return None
    found = [s for s in body if isinstance(s, Instruction) and s.operands and s.operands[0] == operand and _writes(s)]
    if len(found) != 1 or found[0].opcode != "mov" or found[0].guard is not None:
        return None
    value = found[0].operands[1]
    return value.value if isinstance(value, Immediate) else None


def _writes(statement: Instruction) -> bool:
    return statement.opcode not in ("st", "red", "bar", "barrier", "bra", "call", "cp")


def _operand(statement: Instruction) -> int | None:
    """Which operand is a number that others are counted by."""
    words = set(statement.modifiers)
    if statement.opcode == "mbarrier":
        if "init" in words:
            return 1
        if "parity" in words:
            return 2
        if "expect_tx" in words:
            return 2 if {"arrive", "arrive_drop"} & words else 1
    if statement.opcode in ("bar", "barrier") and {"sync", "arrive"} & words and not {"warp", "cluster"} & words:
        return 1
    return None


def _others(statement: Instruction, number: int, body: Sequence[AnyStatement], threads: int) -> list[int]:
    """What else the number may be meant to be."""
    words = set(statement.modifiers)
    if "parity" in words:
        return [1 - number] if number in (0, 1) else []
    first: list[int] = []
    if "expect_tx" in words:
        about = _about(statement, body)
        sizes = [(size, object_of(s, k, body)) for k, s in enumerate(body) if (size := copied(s, body)) is not None]
        told = sum(size for size, to in sizes if to == about)
        meant = [*(size for size, _ in sizes), sum(size for size, _ in sizes), told, number // 2, number * 2]
        first = [copied_next(statement, body)]
    elif statement.opcode == "mbarrier":
        meant = [1, number - 1, number + 1, threads, threads // _WARP, threads + 1, threads // _WARP + 1]
    else:
        meant = [threads, number - _WARP, number + _WARP]
        meant = [n for n in meant if n % _WARP == 0 or n == threads]
    there = sorted({n for n in meant if n > 0}, key=lambda n: (abs(n - number), n))
    return [n for n in dict.fromkeys((*first, *there)) if n not in (0, number)][:_MOST]


def copied(statement: AnyStatement, body: Sequence[AnyStatement]) -> int | None:
    """The bytes that a bulk copy, or an asynchronous store or reduction, tells an mbarrier of, where they are a number."""
    if not isinstance(statement, Instruction):
        return None
    words = statement.modifiers
    if statement.opcode in ("st", "red") and "async" in words and "mbarrier::complete_tx::bytes" in words:
        bits = words[-1].lstrip("bfsu")
        values = next((int(word[1:]) for word in words if word in ("v2", "v4")), 1)
        return values * int(bits) // 8 if bits.isdigit() else None
    if statement.opcode != "cp" or len(statement.operands) < 3:
        return None
    plain = "bulk" in words and "tensor" not in words
    return value_of(statement.operands[2], body) if plain else None
