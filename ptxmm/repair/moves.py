"""What hands something over too early: it may come later, behind accesses and waits that follow on it.

An arrival, a commit or a store that releases tells others that what stands before it is done. Where it stands before what it
is to tell of, no order and no fence mends that: it has to come later. It is moved together with what hands over directly before
it, and its fences, within a stretch without labels and jumps, past nothing that writes what it reads or reads what it writes,
and past nothing about the same object. So the thread does the same things in another order. That is neither stronger nor
weaker: nothing is concluded from a text with one for a text without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptxcore.syntax.tree import AnyStatement, Instruction, Label
from ptxmm.repair import costs
from ptxmm.repair.layout import Layout
from ptxmm.repair.objects import object_of
from ptxmm.repair.order import BARRIERS, ENDS, orders, start_of
from ptxmm.repair.sites import MOVE, EditSite, Option, TextEdit, Wanted
from ptxmm.repair.source_words import SourceWords

_REGISTER = re.compile(r"%[\w$]+")
_JUMPS = frozenset({"bra", "brx", "call", "trap", *ENDS})
#: So many places are considered for each.
_MOST = 6


def moved_sites(body: Sequence[AnyStatement], who: str, layout: Layout, source: SourceWords) -> Iterator[EditSite]:
    """A site for each stretch of statements of a body that hand over, with the places behind which it may come."""
    for i, statement in enumerate(body):
        if hands_over(statement) and not _followed_by_like(body, i):
            run = _run(body, i)
            if all(s.guard is None and start_of(s)[0] for s in run):
                yield from _site(run, body, i, who, layout, source)


def hands_over(statement: AnyStatement) -> bool:
    """Whether a statement tells others that what comes before it is done."""
    if not isinstance(statement, Instruction):
        return False
    words, opcode = set(statement.modifiers), statement.opcode
    if opcode == "mbarrier":
        return bool({"arrive", "arrive_drop"} & words) and "expect_tx" not in words
    if opcode in BARRIERS:
        return "arrive" in words
    if opcode in ("st", "red", "atom"):
        return "release" in words
    if opcode == "cp" and {"mbarrier", "arrive"} <= words:
        return True
    return opcode in ("cp", "tcgen05", "wgmma") and bool({"commit", "commit_group"} & words)


def is_move(option: Option) -> bool:
    """Whether an option moves a statement."""
    return option.wanted is not None and option.wanted.kind == MOVE


def _acts(statement: AnyStatement) -> bool:
    return isinstance(statement, Instruction) and (orders(statement) or statement.opcode in ("tcgen05", "wgmma"))


def _fences(statement: AnyStatement) -> bool:
    """Whether a statement orders what comes before what it stands before, and does nothing else."""
    if not isinstance(statement, Instruction):
        return False
    return statement.opcode in ("fence", "membar") or "fence::before_thread_sync" in statement.modifiers


def _followed_by_like(body: Sequence[AnyStatement], i: int) -> bool:
    """Whether the next statement that acts in the same stretch hands over in the same way."""
    following = next((s for s in body[i + 1 :] if _acts(s) or not _plain(s)), None)
    return following is not None and hands_over(following) and _commits(following) == _commits(body[i])


def _commits(statement: AnyStatement) -> bool:
    """Whether a statement makes a group of what comes before it, which is waited for as such."""
    return "commit_group" in getattr(statement, "modifiers", ())


def _plain(statement: AnyStatement) -> bool:
    """Whether a statement is one of a stretch: no label, no jump."""
    return not isinstance(statement, Label) and getattr(statement, "opcode", "") not in _JUMPS


def _run(body: Sequence[AnyStatement], i: int) -> list[Instruction]:
    """What is moved with statement number `i`: what hands over directly before it, and fences there."""
    run: list[Instruction] = []
    for statement in reversed(body[: i + 1]):
        if not _plain(statement) or (_acts(statement) and not (hands_over(statement) or _fences(statement))):
            break
        if _acts(statement) and _commits(statement) != _commits(body[i]):
            break
        if isinstance(statement, Instruction) and _acts(statement):
            run.append(statement)
    return run[::-1]


def _site(
    run: Sequence[Instruction], body: Sequence[AnyStatement], i: int, who: str, layout: Layout, source: SourceWords
) -> Iterator[EditSite]:
    gone = [layout.gone(statement) for statement in run]
    if None in gone:
        return
    last = run[-1]
    about, line = object_of(last, i, body), last.span.line
    names = " and ".join(dict.fromkeys(statement.name for statement in run))
    new = ";\n\t".join(" ".join(statement.text.strip().rstrip("; ").split()) for statement in run)
    options = [Option((), 0, (0,))]
    for behind in _places(run, body, i):
        offset, put = layout.put_behind(behind, new)
        edits = (*(edit for edit in gone if edit is not None), TextEdit(offset, offset, put))
        words = f"{names} is moved behind {behind.name} of line {behind.span.line}"
        wanted = Wanted(MOVE, line, behind.span.line, last.name, new)
        options.append(
            Option(
                edits, costs.MOVE + costs.EDIT, (len(options),), words, source.of_line(line, words), alters=True,
                wanted=wanted, about=about, far=True,
            )
        )  # fmt: skip
    if len(options) > 1:
        below = (frozenset({0}), *(frozenset({0, k}) for k in range(1, len(options))))
        yield EditSite(who, line, tuple(options), below)


def _places(run: Sequence[Instruction], body: Sequence[AnyStatement], i: int) -> Iterator[Instruction]:
    """The statements behind which a run that ends with number `i` may come, the nearest first."""
    written = {name for statement in run for name in _written(statement)}
    read = {name for statement in run for name in _REGISTER.findall(statement.text)} - written
    about = {object_of(body[k], k, body) for k in range(i + 1) if any(body[k] is s for s in run)} - {""}
    found = 0
    for k in range(i + 1, len(body)):
        statement = body[k]
        if not _plain(statement) or found == _MOST or object_of(statement, k, body) in about:
            return
        if not isinstance(statement, Instruction):
            continue
        if written & set(_REGISTER.findall(statement.text)) or read & _written(statement):
            return
        if _acts(statement) and not _fences(statement) and start_of(statement)[0]:
            found += 1
            yield statement


def _written(statement: Instruction) -> set[str]:
    """The registers that a statement writes, as far as its text shows that: those of its first operand."""
    operands = statement.text.partition(statement.name)[2].lstrip()
    first = operands.partition("}" if operands.startswith("{") else ",")[0]
    return set() if "[" in first else set(_REGISTER.findall(first))
