"""Blocks that repeat others are left out, so that loops are as they were before compilers turned and unrolled them.

    poll; if done: exit      n times, the last of them in a loop       one poll in a loop
    old = load; if old == 0: exit                                      loop: old = load; if old == 0: exit; ...
    loop: ...; old = load; if old != 0: loop

The first is sound since looking once more, or once less, changes nothing for others: what a look finds and leaves with, the
next look, which does the same, can find and leave with. The second only shares code.

And where an iteration begins with a wait, compilers let both loops begin at one block. Here each has its own:

    loop: poll; if not done: loop; ...; if more: loop          loop: wait: poll; if not done: wait; ...; if more: loop
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from ptxcore.machine.ir.loop_nest import nest
from ptxcore.machine.ir.steps import Step
from ptxcore.machine.loops.control_flow import Shape, live_registers, only_looks_at, successors
from ptxcore.syntax.printer import print_operand

#: Comparisons of integers that hold where others do not.
_OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_TOKEN = re.compile(r"[%\w$.]+|\S")


# Straight lines.


def straightened(shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes without empty blocks, and with blocks that only follow each other as one, jumps left out. Labels are kept."""
    last = len(shapes) - 1
    made = [_without_jump(shape, b) for b, shape in enumerate(shapes)]
    behind = [_through(made, b) for b in range(len(made))]
    for b, passed in enumerate(behind):
        if passed != b and made[b].label and passed != last:
            made[passed] = made[passed]._replace(label=_labels(made[b].label, made[passed].label))
    for b, shape in enumerate(made):
        target = None if shape.target is None else behind[shape.target]
        follows = None if shape.follows is None else behind[shape.follows]
        if target is not None and target == follows:  # both ways lead there
            made[b] = shape._replace(end=None, target=None, follows=follows)
        else:
            made[b] = shape._replace(target=target, follows=follows)
    count = _predecessor_counts(made)
    for b in range(len(made)):
        while True:
            shape = made[b]
            n = shape.follows
            if shape.end is not None or n is None or n in (b, 0, last) or count[n] != 1 or not count[b]:
                break
            label = _labels(shape.label, "" if made[n].steps or shape.steps else made[n].label)
            made[b] = made[n]._replace(steps=(*shape.steps, *made[n].steps), label=label)
            made[n] = Shape((), None, None, last)
            count[n] = 0
    return made


def _without_jump(shape: Shape, block: int) -> Shape:
    """A block that always jumps to one other is one that this follows."""
    end = shape.end
    if end is None or end.kind != "branch" or end.predicate is not None or end.sources or shape.target in (None, block):
        return shape
    return shape._replace(end=None, target=None, follows=shape.target)


def _labels(first: str, second: str) -> str:
    return " ".join(dict.fromkeys([*first.split(), *second.split()]))


def _through(shapes: Sequence[Shape], block: int) -> int:
    """The first block from here on that has anything in it."""
    seen = {block}
    while not shapes[block].steps and shapes[block].end is None:
        following = shapes[block].follows
        if following is None or following in seen:
            break
        seen.add(following)
        block = following
    return block


def _predecessor_counts(shapes: Sequence[Shape]) -> list[int]:
    """From how many blocks that can be reached each is entered; the first one from outside as well."""
    count = [0] * len(shapes)
    count[0] = 1
    seen = {0}
    stack = [0]
    while stack:
        for s in successors(shapes[stack.pop()]):
            count[s] += 1
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return count


# Turned loops.


def unrotated(shapes: Sequence[Shape], effect_free: Callable[[Step], bool]) -> list[Shape]:
    """Where the end of a loop's iteration repeats what stands before the loop, the loop begins with it, if it only looks
    then. Other loops stay as they are, since their iterations are counted."""
    made = list(shapes)
    following = [successors(shape) for shape in made]
    live = live_registers(made)
    for loop in {loop.header: loop for around in nest(following).loops for loop in around}.values():
        outside = [b for b in range(len(made)) if loop.header in following[b] and b not in loop.body]
        inside = sorted(b for b in loop.body if loop.header in following[b] and b != loop.header)
        for b in outside if loop.single_entry else ():
            for end in inside:
                split = _repeats(made[b], made[end], live)
                if split is not None:
                    turned = list(made)
                    turned[b] = Shape(made[b].steps[:split], None, None, end, made[b].label)
                    if only_looks_at(turned, end, effect_free):
                        made = turned
                        break
    return made


# Waits that begin a turn.


def waits_inside(shapes: Sequence[Shape], effect_free: Callable[[Step], bool]) -> list[Shape]:
    """A wait that begins an iteration of another loop is a loop inside that one: its iterations are not the other's."""
    made = list(shapes)
    following = [successors(shape) for shape in made]
    for header, loop in {loop.header: loop for around in nest(following).loops for loop in around}.items():
        ends = [b for b in loop.body if header in following[b]]
        turns = [_turn(header, b, loop.body, following) for b in ends]
        inner = frozenset().union(*[t for t in turns if all(effect_free(step) for b in t for step in made[b].steps)])
        if header and inner and any(b not in inner for b in ends):
            apart = _begun_before(made, header, inner)
            if only_looks_at(apart, header, effect_free):
                return waits_inside(apart, effect_free)
    return made


def _turn(header: int, end: int, body: Collection[int], following: Sequence[Sequence[int]]) -> frozenset[int]:
    """The blocks of a loop from which control comes to the end of an iteration before the next one begins."""
    found = {header, end}
    waiting = [end] if end != header else []
    while waiting:
        now = waiting.pop()
        for b in body:
            if now in following[b] and b not in found:
                found.add(b)
                waiting.append(b)
    return frozenset(found)


def _begun_before(shapes: Sequence[Shape], header: int, inner: Collection[int]) -> list[Shape]:
    """The shapes with an empty block before a header, where all come to it that do not come from `inner`. It takes the number
    of the thread's end, which stays the last one."""
    last = len(shapes) - 1

    def moved(block: int | None, source: int) -> int | None:
        if block == header and source not in inner:
            return last
        return last + 1 if block == last else block

    made = [s._replace(target=moved(s.target, b), follows=moved(s.follows, b)) for b, s in enumerate(shapes)]
    return [*made[:last], Shape((), None, None, header), made[last]]


# Looking again.


def one_poll(shapes: Sequence[Shape], effect_free: Callable[[Step], bool]) -> list[Shape]:
    """Leaves out looks behind which the same look follows where they found nothing."""
    made = list(shapes)
    changed = True
    while changed:
        changed = False
        live = live_registers(made)
        for b, shape in enumerate(made):
            for n in successors(shape):
                if n == b or shape.end is None or made[n].end is None:
                    continue
                split = _repeats(shape, made[n], live, n)
                if split is not None and all(effect_free(step) for step in made[n].steps):
                    made[b] = Shape(shape.steps[:split], None, None, n, shape.label)
                    changed = True
                    break
        if changed:
            made = straightened(made)
    return made


def _repeats(shape: Shape, other: Shape, live: Sequence[int], again: int = -1) -> int | None:
    """From which step on a block does what another one does; None where it does not to its end.

    Either both go to the same two blocks under the same conditions; or the block goes to the other one (`again`) where the
    other goes anywhere, and elsewhere both go to the same."""
    count = len(other.steps)
    end, others = shape.end, other.end
    if end is None or others is None or len(shape.steps) < count or shape.follows is None or other.follows is None:
        return None
    if (
        end.predicate is None
        or others.predicate is None
        or end.sources
        or others.sources
        or shape.target == shape.follows
    ):
        return None
    first = len(shape.steps) - count
    names: dict[str, str] = {}
    renamed: dict[int, int] = {}
    opposite: set[int] = set()  # predicates that are the opposite of the other block's
    for step, same in zip(shape.steps[first:], other.steps, strict=True):
        if not _alike(step, same, names, renamed, opposite):
            return None
    if renamed.get(end.predicate, end.predicate) != others.predicate:
        return None
    turned = (end.negated != others.negated) != (end.predicate in opposite)
    goes = (other.follows, other.target) if turned else (other.target, other.follows)
    here = (shape.target, shape.follows)
    leaves = _common(here, goes, again)
    if leaves is None:
        return None
    for register, new in renamed.items():
        changed = register != new or register in opposite
        if changed and any((live[s] >> register | live[s] >> new) & 1 for s in leaves):
            return None
        if again >= 0 and live[again] >> register & 1:
            return None
    return first


def _common(here: tuple[int | None, int | None], there: tuple[int | None, int | None], again: int) -> list[int] | None:
    """Where two blocks both go, by the ways that they take where a condition holds and elsewhere; None where they do not go
    together. Of a block that goes `again` to the other one, the other way."""
    if again < 0:
        return [s for s in here if s is not None] if here == there else None
    for goes_on, leaves, leaves_there in ((here[0], here[1], there[1]), (here[1], here[0], there[0])):
        if goes_on == again and leaves == leaves_there and leaves is not None and leaves != again:
            return [leaves]
    return None


def _alike(step: Step, other: Step, names: dict[str, str], renamed: dict[int, int], opposite: set[int]) -> bool:
    """Whether a step does what another one does, on registers named as `names` and `renamed` say. Notes what it writes."""
    a, b = step.instruction, other.instruction
    turned = _opposite(a.modifiers, b.modifiers) if a.opcode == b.opcode == "setp" else None
    if a.opcode != b.opcode or (a.modifiers != b.modifiers and not turned):
        return False
    if (step.kind, step.space, step.width, step.negated) != (other.kind, other.space, other.width, other.negated):
        return False
    if step.run is not other.run or len(step.targets) != len(other.targets) or len(a.operands) != len(b.operands):
        return False
    if [renamed.get(r, r) for r in step.reads] != list(other.reads) or opposite & set(step.reads):
        return False
    if (step.predicate is None) != (other.predicate is None) or step.predicate in opposite:
        return False
    if step.predicate is not None and renamed.get(step.predicate, step.predicate) != other.predicate:
        return False
    pairs = list(zip(a.operands, b.operands, strict=True))
    written = pairs[:1] if step.targets else []
    for one, same in pairs[len(written) :]:
        tokens, others = (_TOKEN.findall(print_operand(o)) for o in (one, same))
        if [names.get(t, t) for t in tokens] != others:
            return False
    for one, same in written:
        tokens, others = (_TOKEN.findall(print_operand(o)) for o in (one, same))
        if len(tokens) != len(others):
            return False
        names.update(zip(tokens, others, strict=True))
    for target, same_target in zip(step.targets, other.targets, strict=True):
        if (target is None) != (same_target is None):
            return False
        if target is not None and same_target is not None:
            if target[1:] != same_target[1:]:
                return False
            renamed[target.register] = same_target.register
            opposite.discard(target.register)
            if turned:
                opposite.add(target.register)
    return True


def _opposite(modifiers: Sequence[str], others: Sequence[str]) -> bool:
    """Whether comparisons of integers are each other's opposite."""
    if len(modifiers) != 2 or len(others) != 2 or modifiers[1] != others[1] or modifiers[1][0] not in "bus":
        return False
    return _OPPOSITES.get(modifiers[0]) == others[0]
