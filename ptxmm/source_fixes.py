"""Fixes of what lint advises about a compiled module, as edits of the CUDA C++ that it was compiled from.

What may be typed is what `ptxmm.repair` knows. None of it is believed: the changed source is compiled, and what nvcc makes of
it must do what the module does with its fix, access by access and fence by fence, and lint must say of it what it said before,
but for what is mended. An order may be had by a fence as well: then all else is as it was.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import Diagnostic, Edit, Fix, Span
from ptxcore.fixes import applied
from ptxcore.machine.lower.inlining import SourceLine, calls_of
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction, Label, Name
from ptxmm.diffs import lines_of
from ptxmm.kernels.modules import ModuleError, PtxText, compile_changed
from ptxmm.repair.accesses import Strength, family, strength
from ptxmm.repair.cuda.proof import CudaSource
from ptxmm.repair.fixes import Hunk, hunks
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.sites import Wanted

#: What lint says of a module. Raises OutOfTime.
Linter = Callable[[str], list[Diagnostic]]
#: Opcodes that, beside accesses with an order, tell two modules apart.
_SYNCHRONIZE = frozenset(("bar", "barrier", "cp", "fence", "mbarrier", "membar", "tcgen05", "wgmma"))
_LEAVE = ("bra", "ret", "exit")
_FENCE = "fence"
_ACQUIRES, _RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")
#: So many findings of a module get a fix: each may be several compilations.
_MOST = 8

_Statement = Instruction | Label
#: What a statement does to memory and to other threads: its family, order and scope, or its name.
_Effect = tuple[str, ...]


class SourceAdvice:
    """What lint found in the module that nvcc made of a source, and what mends it there."""

    def __init__(self, made: PtxText, text: str, found: Sequence[Diagnostic], linter: Linter) -> None:
        """`text` is the source, with newlines alone."""
        self._made, self._text, self._found, self._linter = made, text, list(found), linter

    def fixes(self) -> dict[Diagnostic, Fix]:
        """For each finding what mends it in the source, as far as that is known. One place of the source is several of the
        module where a loop is unrolled, or a function inlined at several calls: what mends one mends all."""
        source = CudaSource(self._made.source, self._made.text, self._made.options)
        mended: dict[Diagnostic, Fix] = {}
        with contextlib.suppress(OutOfTime):  # what was found is told all the same
            for group in self._groups()[:_MOST]:
                fix = self._fix(source, group)
                mended |= {} if fix is None else dict.fromkeys(group, fix)
        return mended

    def mended(self, found: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
        """The source with the fixes of these findings, which are at its lines, and the findings that are mended by them. Fixes
        that do not go together are made one by one, as long as they do."""
        together = applied(self._text, found)
        if len(together[1]) < 2 or self._holds(together[0], together[1]):
            return together
        kept: list[Diagnostic] = []
        for one in together[1]:
            if self._holds(applied(self._text, [*kept, one])[0], [*kept, one]):
                kept.append(one)
        return applied(self._text, kept)

    def _holds(self, text: str, mended: Sequence[Diagnostic]) -> bool:
        """Whether a source with fixes compiles, and is mended; not, where the time is over."""
        try:
            module = compile_changed(text, self._made.source, self._made.options)
            return self._is_mended(module, mended)
        except (ModuleError, OutOfTime):
            return False

    def _groups(self) -> list[list[Diagnostic]]:
        """The findings that have a fix in the module, those together that are of one kind and one place of the source."""
        found = [d for d in self._found if d.fix is not None and d.severity == "warning"]
        module, _ = read_module(self._made.text)
        calls = calls_of(module, {d.span.line for d in found})
        groups: dict[tuple[str, tuple[SourceLine, ...]], list[Diagnostic]] = {}
        for d in found:
            here = [place for place in calls.get(d.span.line, ()) if self._is_here(place[0])]
            if here:
                groups.setdefault((d.code, (here[0],)), []).append(d)
        return list(groups.values())

    def _is_here(self, file: str) -> bool:
        return os.path.basename(file) == os.path.basename(self._made.source)

    def _fix(self, source: CudaSource, group: Sequence[Diagnostic]) -> Fix | None:
        """What mends findings, as an edit of the source that is compiled and looked at; None where none is known."""
        target, _ = applied(self._made.text, group)
        old, new = _statements(self._made.text), _statements(target)
        changes = list(_changes(old, new))
        if not changes:
            return None
        ordered = all(change.kind == "order" for change in changes)
        before = _effects(old, control=not ordered)
        wished = [_effects(new, control=not ordered)]
        if ordered:
            wished.append(self._everywhere(changes, old, new))

        def judge(module: str) -> Judgement:
            now = _effects(_statements(module), control=not ordered)
            same = any(_has_more_fences(wish, now) for wish in wished)
            fenced = ordered and now != before and _has_more_fences(before, now)
            return Judgement((same or fenced) and self._is_mended(module, group))

        by_fences = list(_as_fences(changes, old))
        for way in [changes, by_fences] if by_fences else [changes]:
            made = source.rewritten(way, judge)
            if made.late:
                raise OutOfTime
            if made.text and made.path == source.path:
                return _fix_of(self._text, made.text)
        return None

    def _everywhere(
        self, changes: Sequence[Wanted], old: Sequence[_Statement], new: Sequence[_Statement]
    ) -> list[_Effect]:
        """What is done with these changes of orders wherever the same is of one place of the source, as where a
        first round of a loop stands by itself."""
        module, _ = read_module(self._made.text)
        places = {line: calls[0] for line, calls in calls_of(module, {s.span.line for s in old}).items()}
        changed = {(places.get(c.line), _effect(o)): _effect(n) for c in changes for o, n in zip(old, new, strict=True)
                   if isinstance(o, Instruction) and isinstance(n, Instruction) and o.span.line == c.line}  # fmt: skip
        done = [(s, _effect(s)) for s in old if isinstance(s, Instruction)]
        return [(*changed.get((places.get(s.span.line), effect), effect), "") for s, effect in done if effect]

    def _is_mended(self, module: str, group: Sequence[Diagnostic]) -> bool:
        """Whether lint says of a module what it said of this one, without these findings, and nothing else."""
        said = self._linter(module)
        left = Counter(d.code for d in self._found) - Counter(d.code for d in group)
        return not Counter(d.code for d in said) - left


def _statements(text: str) -> list[_Statement]:
    """The instructions of a module, and the labels that branches lead to."""
    found = [s for s in read_module(text)[0].statements if isinstance(s, Instruction | Label)]
    branches = [s for s in found if isinstance(s, Instruction) and s.opcode == "bra"]
    led_to = {operand.name for s in branches for operand in s.operands if isinstance(operand, Name)}
    return [s for s in found if isinstance(s, Instruction) or s.name in led_to]


def _effects(statements: Sequence[_Statement], *, control: bool) -> list[_Effect]:
    """What is done, one by one; with `control`, also where ways part and meet: what all threads do, or one of them."""
    found: list[_Effect] = []
    for statement in statements:
        if isinstance(statement, Label):
            found += [("label",)] * control
        elif statement.opcode == "bra":
            found += [("bra", "guarded" * (statement.guard is not None))] * control
        elif effect := _effect(statement):
            found.append((*effect, "guarded" * (control and statement.guard is not None)))
    return found


def _effect(instruction: Instruction) -> _Effect:
    kind = family(instruction)
    if kind is not None:
        return (kind, *strength(instruction, kind))
    if "volatile" in instruction.modifiers or instruction.opcode in _SYNCHRONIZE:
        return (instruction.name,)
    return ()


def _has_more_fences(before: Sequence[_Effect], now: Sequence[_Effect]) -> bool:
    """Whether what is done now is what was done before, in its order, but for further fences: other instances of a template,
    and other calls of a function, get those, too."""
    at = 0
    for effect in now:
        if at < len(before) and effect == before[at]:
            at += 1
        elif not effect[0].startswith(_FENCE):
            return False
    return at == len(before)


def _as_fences(changes: Sequence[Wanted], old: Sequence[_Statement]) -> Iterator[Wanted]:
    """The fences that order accesses as their own orders would; none for those that are weak, which race all the same."""
    lines = [s.span.line for s in old if isinstance(s, Instruction)]
    following, previous = dict(pairwise(lines)), dict(pairwise(lines[::-1]))
    if not all(c.kind == "order" and c.family != _FENCE and c.order != c.old_order and _is_strong(c) for c in changes):
        return
    for wanted in changes:
        name, line = f"fence.acq_rel.{wanted.scope}", wanted.line
        if wanted.order in _RELEASES:
            yield Wanted("put", line, previous.get(line, 0), "", name, _FENCE, "acq_rel", wanted.scope)
        if wanted.order in _ACQUIRES:
            yield Wanted("put", following.get(line, 0), line, "", name, _FENCE, "acq_rel", wanted.scope)


def _is_strong(wanted: Wanted) -> bool:
    """Whether an access is strong as it is: volatile ones are."""
    return wanted.old_order != "weak" or "volatile" in wanted.old.split(".")


def _changes(old: Sequence[_Statement], new: Sequence[_Statement]) -> Iterator[Wanted]:
    """The differences between the statements of two modules, whose labels are the same."""
    done = [s for s in old if isinstance(s, Instruction)]
    first = 0
    for before, now in zip(_stretches(old), _stretches(new), strict=True):
        texts, others = (["".join(s.text.split()) for s in several] for several in (before, now))
        codes = difflib.SequenceMatcher(None, texts, others, autojunk=False).get_opcodes()
        for kind, a, b, c, d in codes:
            for was, becomes in zip_longest(before[a:b], now[c:d]) if kind != "equal" else ():
                if becomes is None:
                    yield Wanted("gone", was.span.line, 0, was.name)
                elif was is None:
                    yield _put(
                        becomes, _first_that_matters(done[first + b :]), _first_that_matters(done[: first + b][::-1])
                    )
                else:
                    yield _order(was, becomes)
        first += len(before)


def _first_that_matters(several: Iterable[Instruction]) -> int:
    """The line of the first instruction that does something to memory or threads, or branches: others may stand anywhere."""
    return next((i.span.line for i in several if i.opcode in _LEAVE or _effect(i)), 0)


def _stretches(statements: Sequence[_Statement]) -> list[list[Instruction]]:
    """The instructions between labels."""
    found: list[list[Instruction]] = [[]]
    for statement in statements:
        if isinstance(statement, Label):
            found.append([])
        else:
            found[-1].append(statement)
    return found


def _put(new: Instruction, behind: int, before: int) -> Wanted:
    kind = family(new)
    level = strength(new, kind) if kind == _FENCE else Strength("", "")
    return Wanted("put", behind, before, "", " ".join(new.text.split()), kind or "", *level)


def _order(was: Instruction, becomes: Instruction) -> Wanted:
    """An access or a fence in another order or scope. What is volatile is one that was plain, but for how it is declared."""
    kind = family(becomes) or becomes.opcode
    before = family(was)
    now = strength(was, before) if before is not None else Strength("weak", "")
    return Wanted("order", was.span.line, 0, was.name, becomes.name, kind, *strength(becomes, kind), *now)


# As fixes.


def _fix_of(old: str, new: str) -> Fix:
    """A fix that makes one text of another."""
    lines = lines_of(old)
    changed = hunks(old, new)
    return Fix("; ".join(_title(hunk) for hunk in changed), tuple(_edit(lines, hunk) for hunk in changed))


def _title(hunk: Hunk) -> str:
    """What becomes of some lines, in words."""
    typed = " ".join(line.strip() for line in hunk.new.splitlines())
    if not hunk.lines:
        return f"put in before line {hunk.first}: {typed}"
    at = f"line {hunk.first}" if hunk.lines == 1 else f"lines {hunk.first} to {hunk.first + hunk.lines - 1}"
    return f"{at} becomes: {typed}" if hunk.new else f"take away {at}"


def _edit(lines: Sequence[str], hunk: Hunk) -> Edit:
    """The characters of a hunk that differ."""
    old = "".join(lines[hunk.first - 1 : hunk.first - 1 + hunk.lines])
    first = _common(old, hunk.new)
    last = _common(old[first:][::-1], hunk.new[first:][::-1])
    gone, put = old[first : len(old) - last], hunk.new[first : len(hunk.new) - last]
    before = old[:first]
    line, column = hunk.first + before.count("\n"), len(before) - (before.rfind("\n") + 1) + 1
    further = gone.count("\n")
    end = len(gone) - gone.rfind("\n") if further else column + len(gone)
    return Edit(Span(line, column, end), put, further)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
