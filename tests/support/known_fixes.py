"""The fix that is known of a kernel, as edits that `ptxmm repair` knows, beside the repair that it finds.

    python tests/support/known_fixes.py [--seconds 60] [--log repairs.jsonl] [NAME...]

A kernel of the gate, the museum or the pages of mistakes has a module with a mistake and one without. What differs between
the two in accesses, fences, barriers and their numbers is looked up among the edits; where these make every check hold, they
are a repair, whose cost is known. Each kernel (or those with a NAME in their path) is repaired, with so many seconds. Prints a
line for each, and the sums: how many repairs cost at most what the known fix costs. With a log, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice, product
from pathlib import Path
from typing import Any

import ptxmm
from ptxcore.clock import OutOfTime
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import read
from ptxmm.repair.accesses import family, strength
from ptxmm.repair.counts import _operand, value_of
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.order import ends, gaps, orders, start_of
from ptxmm.repair.sites import MOVE, EditSite, Vector, Wanted
from ptxmm.repair.subjects import How, judging

ROOT = Path(__file__).resolve().parents[2]
#: So many places and ways of the same fix are tried, each for so many seconds.
_WAYS, _PATIENCE = 24, 15.0
#: Seconds for one repair, and for looking the known fix up behind it.
SECONDS, _LOOK_UP = 60.0, 60.0
#: Seconds between two looks at how much was computed.
_LOOK = 0.02
#: Accesses are told apart by these words, and by no order, scope, space or type.
_ATOMIC = frozenset({"cas", "exch", "add", "inc", "dec", "and", "or", "xor", "min", "max"})

#: Of each change of the fix: the sites and options that may be it.
_Choice = tuple[int, int]


class Known(NamedTuple):
    """The known fix as edits: a vector over the sites, what it costs, and how many places it changes."""

    vector: Vector
    cost: int
    edits: int


class _Put(NamedTuple):
    """A statement of the fix that is put in: what it is, its number there, the line that it stands behind, and the statements
    before which it may stand."""

    stem: tuple[str, ...]
    number: int
    behind: int
    places: Sequence[int]


class NotExpressible(Exception):
    """The known fix is none of the edits: says why."""


class Compared(NamedTuple):
    """What became of a kernel, in a word or two, and what was found beside what is known."""

    what: str
    told: str = ""


def pairs() -> Iterator[tuple[str, str]]:
    """The tests with a mistake, and those of the same file without."""
    files = (
        *sorted(ROOT.glob("tests/kernels/museum/*.toml")),
        *sorted(ROOT.glob("tests/kernels/gate/*/test.toml")),
        *sorted(ROOT.glob("docs/mistakes/*/*.toml")),
    )
    for path in files:
        variants = read(path).variants
        for wrong, right in (("buggy", "fixed"), ("wrong", "right")):
            if {wrong, right} <= set(variants):
                yield f"{path}:{wrong}", f"{path}:{right}"


def stem(statement: Instruction) -> tuple[str, ...]:
    """What a statement is beside its order, scope, space and type: statements of one stem are the same, weaker or stronger."""
    kind = family(statement)
    if kind == "fence":
        return ("fence",)
    if statement.opcode in ("ld", "st"):
        return (statement.opcode,)
    if statement.opcode in ("atom", "red"):
        return (statement.opcode, *(w for w in statement.modifiers if w in _ATOMIC))
    dropped = {"aligned", "relaxed", "acquire", "release", "acq_rel", "b64", "shared", "shared::cta"}
    if "wait_group" in statement.modifiers:
        dropped |= {"read"}
    if kind in ("arrive", "wait"):
        dropped |= {"cta", "cluster", "gpu", "sys", "expect_tx"}
    return (statement.opcode, *(w for w in statement.modifiers if w not in dropped))


def counted(body: Sequence[AnyStatement]) -> list[int]:
    """The statements of a body that the comparison is of."""
    return [i for i, s in enumerate(body) if isinstance(s, Instruction) and orders(s)]


def number(statement: Instruction, body: Sequence[AnyStatement]) -> int | None:
    """The number that others are counted by, or that says how many copies may be open."""
    if "wait_group" in statement.modifiers and statement.operands:
        last = statement.operands[-1]
        return last.value if isinstance(last, Immediate) else None
    at = _operand(statement)
    return None if at is None or at >= len(statement.operands) else value_of(statement.operands[at], body)


class Fix:
    """The difference of two modules, looked up among the sites of the one with the mistake."""

    def __init__(self, sites: Sequence[EditSite]) -> None:
        self.sites = sites
        self.changes: list[list[_Choice]] = []

    def bodies(self, wrong: Sequence[AnyStatement], right: Sequence[AnyStatement]) -> None:
        """Adds what differs between two bodies. Raises NotExpressible."""
        here, there = counted(wrong), counted(right)
        ours, theirs = ([stem(body[i]) for i in at] for body, at in ((wrong, here), (right, there)))  # type: ignore[arg-type]
        gone, put = list[int](), list[_Put]()
        for what, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            if what == "equal":
                for i, j in zip(here[a:b], there[c:d], strict=True):
                    self._same(wrong, i, right, j)
                continue
            # what stays of these does no harm
            gone += [i for i, s in zip(here[a:b], ours[a:b], strict=True) if s[0] != "fence" and "wait_group" not in s]
            first = here[a - 1] + 1 if a else 0
            last = here[a] if a < len(here) else len(wrong)
            places = [i for i in (*gaps(wrong), *ends(wrong)) if first <= i <= last]
            behind = wrong[here[a - 1]].span.line if a else 0
            put += [_Put(stem(right[j]), j, behind, places) for j in there[c:d]]  # type: ignore[arg-type]
        self._moved(wrong, gone, put)
        for one in put:
            self._put(right[one.number], [start_of(wrong[i])[0] for i in one.places])  # type: ignore[arg-type]

    def _moved(self, wrong: Sequence[AnyStatement], gone: Sequence[int], put: list[_Put]) -> None:
        """Takes what is gone and put in elsewhere out of `put`, as moves: of what hands over behind an access, or of the access
        before what hands over. Raises NotExpressible."""
        lost = list[str]()
        for i in gone:
            statement = wrong[i]
            assert isinstance(statement, Instruction)
            name, line = stem(statement), statement.span.line
            again = next((one for one in put if one.stem == name), None)
            found = [] if again is None else [
                (cost, s, o)
                for s, o, w, cost in self._options()
                if w.kind == MOVE and ((w.line == line and w.before == again.behind)
                or (w.before == line and again.behind < w.line < line))
            ]  # fmt: skip
            if again is None or not found:
                lost.append(".".join(name))
                continue
            put.remove(again)
            self._add([(s, o) for _, s, o in sorted(found)], f"{statement.name} is moved behind line {again.behind}")
        if lost:
            raise NotExpressible(f"{', '.join(lost)} is gone or other")

    def _same(self, wrong: Sequence[AnyStatement], i: int, right: Sequence[AnyStatement], j: int) -> None:
        one, other = wrong[i], right[j]
        assert isinstance(one, Instruction) and isinstance(other, Instruction)
        line, kind = one.span.line, family(one)
        if kind is not None and kind == family(other) and strength(one, kind) != strength(other, kind):
            now, then = strength(one, kind), strength(other, kind)
            found = [
                (cost, s, o)
                for s, o, w, cost in self._options()
                if w.kind == "order" and line in (w.line, *self.sites[s].copies)
                and w.order == then.order and self._wide(w.scope, then.scope, s)
            ]  # fmt: skip
            self._add([(s, o) for _, s, o in sorted(found)], f"{now.name} becomes {then.name} at line {line}")
        before, after = number(one, wrong), number(other, right)
        told = [family(x) == "arrive" and "expect_tx" in x.modifiers for x in (one, other)]
        if "wait_group" in one.modifiers and one.name != other.name:
            found = [(0, s, o) for s, o, w, _ in self._options() if w.kind == "word" and w.line == line]
            self._add([(s, o) for _, s, o in found], f"{one.name} becomes {other.name} at line {line}")
        if told == [False, True]:
            found = [(0, s, o) for s, o, w, _ in self._options() if w.kind == "bytes" and w.line == line]
            self._add([(s, o) for _, s, o in found], f"{one.name} becomes {other.name} at line {line}")
        elif before != after:
            found = [
                (0, s, o)
                for s, o, w, _ in self._options()
                if w.kind == "number" and w.line == line and w.new == str(after)
            ]
            self._add([(s, o) for _, s, o in found], f"{before} becomes {after} in {one.name} at line {line}")

    def _wide(self, scope: str, wanted: str, site: int) -> bool:
        """The scope that is wanted, or where the launch has no such threads the widest that there is."""
        there = [o.wanted.scope for o in self.sites[site].options if o.wanted is not None and o.wanted.scope]
        if wanted in there or not there:
            return scope == wanted
        return scope == max(there, key=("cta", "cluster", "gpu", "sys").index)

    def _put(self, statement: Instruction, lines: Sequence[int]) -> None:
        """A statement that is put in at one of these lines. Raises NotExpressible."""
        kind, found = family(statement), []
        if kind == "fence" and not lines:  # before all accesses, or behind them: it orders nothing
            return
        for s, o, w, cost in self._options():
            if w.kind != "put" or not {self.sites[s].line, *self.sites[s].copies} & set(lines):
                continue
            if kind == "fence":
                order, scope = strength(statement, kind)
                wanted = w.family == "fence" and w.order == ("sc" if order == "sc" else "acq_rel")
                wanted = wanted and self._wide(w.scope, scope, s)
            else:
                wanted = alike(statement, w.new)
            if wanted:
                found.append((cost, s, o))
        self._add([(s, o) for _, s, o in sorted(found)], f"{statement.name} is put in before {lines}")

    def _options(self) -> Iterator[tuple[int, int, Wanted, int]]:
        for s, site in enumerate(self.sites):
            for o, option in enumerate(site.options):
                if o and option.wanted is not None:
                    yield s, o, option.wanted, option.cost

    def _add(self, choices: list[_Choice], what: str) -> None:
        if not choices:
            raise NotExpressible(what)
        self.changes.append(choices)

    def vectors(self) -> Iterator[Vector]:
        """The ways to make all changes, each at one of its places, the cheapest first."""
        ways = set()
        for chosen in islice(product(*self.changes), 100_000):
            if len({s for s, _ in chosen}) == len(set(chosen)):
                made = dict(chosen)
                ways.add(tuple(made.get(s, 0) for s in range(len(self.sites))))
        yield from islice(sorted(ways, key=lambda v: (cost_of(self.sites, v), v)), _WAYS)


def alike(statement: Instruction, put: str) -> bool:
    """Whether what may be put in is what a statement of the fix is."""
    name, words = put.split(" ")[0].strip().removesuffix(";"), set(statement.modifiers)
    if statement.opcode == "mbarrier" and words & {"try_wait", "test_wait"}:
        return "mbarrier.try_wait" in put
    if statement.opcode == "mbarrier" and "arrive" in words:
        return name.startswith("mbarrier.arrive") and ("expect_tx" in words) == ("expect_tx" in name)
    if statement.opcode == "barrier" and "cluster" in words:
        return name.startswith("barrier.cluster")
    if statement.opcode in ("bar", "barrier") and "sync" in words and "warp" not in words:
        return name == "bar.sync" and statement.operands[0] == Immediate(0)
    if statement.opcode == "cp" and words & {"wait_group", "wait_all"}:
        plain = ("cp.async.wait_all", "cp.async.wait_group")
        return name == f"cp.{'.'.join(statement.modifiers)}" if "bulk" in words else name in plain
    if statement.opcode == "fence" and "proxy" in words:
        return name.startswith("fence.proxy.") and name.split(".")[2] in words
    return name == statement.name


def cost_of(sites: Sequence[EditSite], vector: Vector) -> int:
    return sum(site.options[o].cost for site, o in zip(sites, vector, strict=True))


def known_fix(subject: KernelSubject, right: KernelTest) -> Known:
    """The cheapest of the ways to make the known fix of edits, as far as it makes every check hold. Raises NotExpressible,
    OutOfTime."""
    launches = [replace(launch, text="", path="") for launch in subject.test.launches]
    if launches != [replace(launch, text="", path="") for launch in right.launches]:
        raise NotExpressible("the launches differ, too")
    entries = {launch.entry for launch in right.launches}
    wrong_bodies, right_bodies = (dict(bodies(text, entries)) for text in (subject.text, right.launches[0].text))
    if wrong_bodies.keys() != right_bodies.keys():
        raise NotExpressible("the functions differ")
    fix = Fix(subject.sites("repair", True))
    for name, body in wrong_bodies.items():
        fix.bodies(body, right_bodies[name])
    if not fix.changes:
        raise NotExpressible("the memory accesses, fences and barriers are the same")
    open_ = False
    for vector in fix.vectors():
        judged = judging(subject, fix.sites, vector, _PATIENCE)
        if judged.holds:
            return Known(vector, cost_of(fix.sites, vector), sum(map(bool, vector)))
        open_ = open_ or judged.holds is None
    raise NotExpressible("the edits are not decided in time" if open_ else "the edits do not do what the module does")


def compared(wrong: str, right: str, seconds: float = SECONDS, *, always: bool = False) -> Compared:
    """The repair that is found beside the known fix; `always`: also where that is none of the edits."""
    test, other = ptxmm.load(wrong), ptxmm.load(right)
    assert isinstance(test, KernelTest) and isinstance(other, KernelTest)
    known = None
    try:
        known = known_fix(KernelSubject(test, How(deadline=time.perf_counter() + 120)), other)
    except NotExpressible as error:
        why = str(error)
    except OutOfTime:
        why = "not decided in time"
    if known is None and not always:
        return Compared("known fix not expressible", why)
    answer = answered(
        KernelSubject(test, How(deadline=time.perf_counter() + seconds)), "repair", every=False, most=None
    )
    if known is not None:
        return judged_against(known, answer)
    found = "; ".join(f"found: cost {one.cost}, {len(one.changes)} edits" for one in answer.found[:1])
    return Compared("known fix not expressible", "; ".join(filter(None, (why, found))))


def judged_against(known: Known, answer: Answer) -> Compared:
    """An answer beside the known fix. Barriers of the CTA that stand before those of a warp are not what is cheapest."""
    fix = f"known: cost {known.cost}, {known.edits} edits"
    found = [one for one in answer.found if not one.wide]
    if not found:
        return Compared("no repair found" if answer.complete else "none in time", fix)
    first = found[0]
    told = f"{fix}; found: cost {first.cost}, {len(first.changes)} edits: {'; '.join(c.words for c in first.changes)}"
    if first.cost > known.cost:
        return Compared("dearer than the known fix" if first.cheapest else "dearer, a cheaper one not excluded", told)
    if first.cost == known.cost and len(first.changes) > known.edits:
        return Compared("more edits than the known fix", told)
    return Compared("as the known fix" if first.cost == known.cost else "cheaper than the known fix", told)


def measured(wrong: str, right: str, seconds: float = SECONDS) -> dict[str, Any]:
    """One row of the log: what became of a kernel, in how many seconds, at what cost, beside the known fix where that is one
    of the edits. The fix is looked up behind the repair: much of it is judged by then."""
    test, other = ptxmm.load(wrong), ptxmm.load(right)
    assert isinstance(test, KernelTest) and isinstance(other, KernelTest)
    row: dict[str, Any] = {"kernel": wrong.removeprefix(f"{ROOT}/")}
    began, computed = time.perf_counter(), os.times()
    subject = KernelSubject(test, How(deadline=began + seconds))
    answer = answered(subject, "repair", every=False, most=None)
    row["seconds"] = round(time.perf_counter() - began, 1)
    row["computed"] = round(sum(os.times()[:4]) - sum(computed[:4]), 1)
    row["texts"], row["stopped"], row["complete"] = answer.asked, answer.stopped, answer.complete
    row["stages"] = {tried.stage.name: (tried.texts, round(tried.seconds, 1)) for tried in answer.tried}
    if answer.base.holds:
        return row | {"what": "right as it is"}
    found = [one for one in answer.found if not one.wide][:1]
    for one in found:
        row |= {"cost": one.cost, "edits": len(one.changes), "cheapest": one.cheapest, "minimal": one.minimal}
        row["changes"] = [f"{change.line}: {change.words}" for change in one.changes]
    known, why = None, ""
    subject.how = How(deadline=time.perf_counter() + _LOOK_UP)
    try:
        known = known_fix(subject, other)
        row |= {"known": known.cost, "known_edits": known.edits}
    except NotExpressible as error:
        why = str(error)
    except OutOfTime:
        why = "not decided in time"
    if known is not None:
        row["what"] = judged_against(known, answer).what
    else:
        repaired = "repaired" if found else "none: no set of edits is enough" if answer.complete else "none in time"
        row["what"] = f"{repaired}, known fix not expressible"
        row["why"] = why
    return row


def by_processor_time() -> None:
    """Time limits are of what this process and those it started compute, as if nothing else ran on the machine."""
    passing, looked, computed = time.perf_counter, 0.0, 0.0

    def clock() -> float:
        nonlocal looked, computed
        if (now := passing()) > looked + _LOOK:  # it takes long to ask
            looked, computed = now, sum(os.times()[:4])
        return computed

    time.perf_counter = time.monotonic = clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only kernels with one of these in their paths")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1, help="one kernel in so many, in an order drawn once")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each repair (default: %(default)g)")
    parser.add_argument(
        "--computed", action="store_true", help="seconds of processor time, on a machine that is shared"
    )
    parser.add_argument("--log", type=Path, help="a line of JSON for each; what is there is not measured again")
    given = parser.parse_args()
    if given.computed:
        by_processor_time()
    rows = [json.loads(line) for line in given.log.read_text().splitlines()] if given.log and given.log.exists() else []
    known = {row["kernel"] for row in rows}
    chosen = [p for p in pairs() if not given.names or any(name in p[0] for name in given.names)]
    random.Random(0).shuffle(chosen)
    for wrong, right in chosen[given.first :: given.step]:
        if wrong.removeprefix(f"{ROOT}/") in known:
            continue
        try:
            row = measured(wrong, right, given.seconds)
        except ptxmm.InputError as error:
            row = {"kernel": wrong.removeprefix(f"{ROOT}/"), "what": "not repaired", "why": str(error).splitlines()[0]}
        rows.append(row)
        print(json.dumps(row), flush=True)
        if given.log is not None:
            with given.log.open("a") as out:
                out.write(json.dumps(row) + "\n")
    print(", ".join(f"{count} {what}" for what, count in Counter(row["what"] for row in rows).most_common()))


if __name__ == "__main__":
    main()
