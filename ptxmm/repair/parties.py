"""Barriers of those threads alone that come by a place, where not all of a CTA do: the consumers, the warps behind a branch.

Who they are, a run shows: fences are put in at all such places, and who executes each is told. What is put in is a guess by
that run, and proven as every text is. Where all that come by are lanes of one warp, it is `bar.warp.sync` of their mask; where
they are whole warps, `bar.sync` of a barrier that the kernel does not use, for so many threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Instruction
from ptxmm.kernels.quiet_watcher import QuietWatcher, place_of_thread
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest
from ptxmm.repair import costs
from ptxmm.repair.building import Lines
from ptxmm.repair.counts import value_of
from ptxmm.repair.divergence import Divergence
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.layout import Layout
from ptxmm.repair.moves import hands_over
from ptxmm.repair.order import BARRIERS, begun_at, gaps, matters, start_of
from ptxmm.repair.party_sites import BarrierOfSome, BarriersOfSome
from ptxmm.repair.sites import TextEdit, edited

_WARP, _BARRIERS = 32, 16
#: What makes itself known where it is executed, and does nothing else.
_MARK = "fence.acq_rel.cta"
_WAITS = frozenset({"try_wait", "test_wait"})
#: Instructions and seconds after which a run is given up: what it showed until then counts.
_LIMIT, _SECONDS = 200_000, 1.0


class _Mark(NamedTuple):
    """A place of a kernel, before statement number `at` of the body of this number, and what is put in there."""

    body: int
    at: int
    line: int
    edit: TextEdit


def parties(test: KernelTest) -> BarriersOfSome:
    """The barriers of those who come by, at the places of the kernels of a test where not all threads of a CTA come."""
    text = test.launches[0].text
    marks, taken = list[_Mark](), set[int]()
    every = [body for _, body in bodies(text, {launch.entry for launch in test.launches})]
    for number, body in enumerate(every):
        way, layout = Divergence(body), Layout(Lines(text), table=False)
        taken |= _numbers(body)
        for i in sorted({begun_at(body, gap) for gap in gaps(body)}):
            if way.parts(i):
                offset, new = layout.put(start_of(body[i]), _MARK)
                marks.append(_Mark(number, i, start_of(body[i])[0], TextEdit(offset, offset, new)))
    if not marks:
        return {}
    came = _came(test, [mark.edit for mark in marks])
    free = next((number for number in range(1, _BARRIERS) if number not in taken), None)
    size = max(prod(launch.block) for launch in test.launches)
    lacking = set[int]()
    for number, body in enumerate(every):
        places = {mark.at: threads for mark, threads in zip(marks, came, strict=True) if mark.body == number}
        lacking |= {start_of(body[i])[0] for i in _before_leaders(body, places)}
    found = dict[int, BarrierOfSome]()
    for mark, threads in zip(marks, came, strict=True):
        party = _barrier(threads, size, free)
        if party is not None:
            found[mark.line] = party._replace(evident=mark.line in lacking)
    return found


def _before_leaders(body: Sequence[AnyStatement], came: Mapping[int, frozenset[int]]) -> Iterator[int]:
    """The last place before each handing over by some threads alone where others come by with them: what these did may not be
    done yet, unless they have just met. `came` says who comes by each place."""
    for h, statement in enumerate(body):
        places = [i for i in came if i <= h]
        if not hands_over(statement) or not places:
            continue
        leaders = came[max(places)]
        with_others = [i for i in places if leaders < came[i]]
        if not leaders or not with_others:
            continue
        place = max(with_others)
        last = next((s for s in reversed(body[:place]) if isinstance(s, Instruction) and matters(s)), None)
        between = {word for s in body[place:h] if isinstance(s, Instruction) for word in s.modifiers}
        if not _WAITS & between and (last is None or last.opcode not in BARRIERS):
            yield place


def _numbers(body: Sequence[AnyStatement]) -> set[int]:
    """The numbers of the barriers of a CTA that a kernel uses."""
    used = (
        s.operands[0] for s in body
        if isinstance(s, Instruction) and s.opcode in BARRIERS and s.operands and not {"warp", "cluster"} & set(s.modifiers)
    )  # fmt: skip
    return {number for operand in used if (number := value_of(operand, body)) is not None} | {0}


def _came(test: KernelTest, marks: Sequence[TextEdit]) -> list[frozenset[int]]:
    """Of each mark the threads of a CTA that execute it in a run; none where they are not the same in each CTA."""
    text = edited(test.launches[0].text, marks)
    lines, shift, at = Lines(text), 0, dict[int, int]()
    for number, edit in enumerate(marks):
        at[lines.line(edit.start + shift)] = number
        shift += len(edit.new)
    watcher = _Passing()
    try:
        marked = replace(test, launches=tuple(replace(launch, text=text) for launch in test.launches))
        runs = Runs(marked, watched=True)
        with limited(_SECONDS):
            runs.run(None, limit=_LIMIT, watch=lambda *_: Watchers(None, lambda: watcher))
    except (KernelError, UsageError, InputError, OutOfTime, TimeoutError):
        pass  # what it showed until then counts
    found = list[frozenset[int]]()
    by_mark: dict[int, dict[object, set[int]]] = {}
    for line, cta, thread in watcher.seen:
        if line in at:
            by_mark.setdefault(at[line], {}).setdefault(cta, set()).add(thread)
    for number in range(len(marks)):
        several = {frozenset(threads) for threads in by_mark.get(number, {}).values()}
        found.append(several.pop() if len(several) == 1 else frozenset())
    return found


def _barrier(threads: Collection[int], size: int, free: int | None) -> BarrierOfSome | None:
    """The barrier of these threads of a CTA of some size; None where there is none, or it is one of all."""
    if len(threads) < 2 or len(threads) == size:
        return None
    warps = {thread // _WARP for thread in threads}
    if len(warps) == 1:
        mask = sum(1 << thread % _WARP for thread in threads)
        whole = mask == (1 << _WARP) - 1
        return None if whole else BarrierOfSome(f"bar.warp.sync {mask:#x}", costs.WARP_BARRIER)
    whole = {thread for thread in range(size) if thread // _WARP in warps} == set(threads)
    if free is None or not whole:
        return None
    return BarrierOfSome(f"bar.sync {free}, {_WARP * len(warps)}", costs.CTA_BARRIER)


class _Passing(QuietWatcher):
    """Watches who comes by which line."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, object, int]] = set()

    def other(self, thread: Any, what: str, how: Any = None, address: int = 0) -> None:
        self.seen.add((thread.instruction.instruction.span.line, *place_of_thread(thread)))
