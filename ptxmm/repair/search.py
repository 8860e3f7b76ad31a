"""All weakest sets of changes with which the checks hold, cheapest first.

A vector chooses an option at each site. One that fails because some execution is wrong, or threads do not terminate in it,
rules out every vector that is nowhere stronger: what is weaker allows that execution too (docs/repair.md says why). The failing
vector is first made as strong as it can be and still fails, so that it rules out much; barriers that change how others are met
stay as they are, and all barriers where threads wait. What is left is searched for its cheapest vector (a minimal hitting set,
by Z3); that one is checked, and when it holds, so is each vector that is one step weaker: none of them may hold. A vector in
which no execution ends rules out every one that is nowhere weaker and has no further change of how barriers are met: what is
stronger allows nothing that it does not allow. A vector that fails for another reason (a text without meaning) rules out itself
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from ptxcore.records import dataclass
from ptxmm.repair.judgement import Judgement, Solution, Weakening
from ptxmm.repair.pace import Pace
from ptxmm.repair.sites import EditSite, Option, Vector
from ptxmm.repair.vectors_left import VectorsLeft

#: So many times a vector that fails is tried to be made stronger. Small groups of sites that take too long are left alone.
_TRIES, _FEW = 24, 4
#: So many times as long as one such trial may take all of them together; seconds, where there is no limit.
_PATIENCES, _LONG = 2, 60.0


#: So many times its patience a text may take that something which holds is looked for with.
_PATIENT = 4


#: The last of the kinds.
_BARRIER = 3


def _kind(option: Option) -> tuple[int, str]:
    """What an option is: there already, a fence of memory that is put in, another statement, a barrier."""
    if option.meets:
        return _BARRIER, ""
    if any(edit.start < edit.end for edit in option.edits):
        return 0, ""
    return (1, "") if option.level[0] == "fence" else (2, option.words)


def _halves(group: list[int]) -> list[list[int]]:
    half = len(group) // 2
    return [group[:half], group[half:]]


@dataclass
class Search:
    """The search over `sites`, whose vectors `check` judges. `most`: so many sites at most may be changed. `every`: more
    solutions than the first are wanted.

    `exhausted` is True once nothing more can be found and everything was decided; `undecided` counts vectors that were not."""

    sites: Sequence[EditSite]
    check: Callable[[Vector, float | None], Judgement]
    #: Seconds of computing for a vector that is only tried to rule out more; None: no limit.
    patience: float | None = None
    #: Seconds that are left for all. Raises OutOfTime where none are.
    left: Callable[[], float | None] = lambda: None
    #: Likewise for a text that something which holds is looked for with, where that is more than some times its patience.
    ample: float = 0.0
    most: int | None = None
    every: bool = True
    asked: int = 0
    undecided: int = 0
    exhausted: bool = False
    #: There is nothing with up to so many arrivals put in, and all of these was decided.
    none_with: int = 0
    #: What holds, though something cheaper may hold, too.
    best: Solution | None = None
    _looked: bool = False
    #: Why vectors were not decided.
    reasons: list[str] = field(default_factory=list)
    #: A weaker vector held where a stronger one failed: nothing is concluded from failures then.
    upside_down: bool = False
    #: In some text threads do not terminate, or no execution ends.
    stuck: bool = False
    told: Callable[[str], None] = lambda _: None
    pace: Pace = field(default_factory=Pace)
    #: What is known of the vector that changes nothing.
    base: Judgement | None = None
    _known: dict[Vector, Judgement] = field(default_factory=dict)
    #: Only what costs less is looked for.
    _least: int | None = None
    #: The last vector that was made as strong as can be, of those that are wrong, and of those in which threads wait.
    _strong: dict[bool, Vector] = field(default_factory=dict)
    #: How often nothing could be made stronger than what was known.
    _vain: int = 0
    #: Vectors that take long are put off; and some were.
    _hurried: bool = False
    _late: bool = False
    #: Groups of sites that took too long to be made stronger together.
    _slow: set[tuple[int, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.base is not None:
            self._known[(0,) * len(self.sites)] = self.base
            self.stuck = self.base.waits or self.base.nonterminating

    def judge(self, vector: Vector, patience: float | None = None) -> Judgement:
        """The judgement of a vector, once; None where it takes more than `patience` seconds of computing. Raises OutOfTime."""
        known = self._known.get(vector)
        if known is None:
            self.asked += 1
            with self.pace.measured():
                known = self.check(vector, None if patience is None else self.pace.wait(patience))
            self.stuck = self.stuck or known.waits or known.nonterminating
            self.told(f"{self.asked} texts checked")
            if known.holds is not None or patience is None:
                open_ = known.reason if known.holds is None else known.unsure
                self.undecided += known.holds is None or bool(known.unsure)
                if open_ and open_ not in self.reasons:
                    self.reasons.append(open_)
                self._known[vector] = known
        return known

    def solutions(self) -> Iterator[Solution]:
        """Each weakest vector that holds, as it is found, the cheapest first. Raises OutOfTime, KeyboardInterrupt: what came
        before counts."""
        self._left = VectorsLeft(self.sites, self.most)
        if self.best is None and not self._looked:
            self.look_from_above()
        if self.best is not None and not self.every:
            self._only_below(self.best.cost)
        last, nothing = self._left.rounds[-1], self.best is None
        for most in self._left.rounds:
            self._hurried = not self.every
            while (vector := self._following(most)) is not None:
                best = self.best
                if best is not None and self._cost(vector) >= best.cost:  # nothing is cheaper
                    self._left.rule_out_above(best.vector)
                    yield self._last()
                    continue
                judged = self._soon(vector) if self._hurried else self.judge(vector)
                if judged.holds is None and self._hurried:
                    self._put_off(vector)
                    continue
                if not judged.holds:
                    self._learn(vector, judged)
                    continue
                found, nothing = self.least_of(vector), False
                self._left.rule_out_above(found.vector)
                if self.every or (most == last and not self._late and best is None):
                    yield found
                else:  # more arrivals, or what was put off, may cost less
                    self.best = found
                    self._only_below(found.cost)
            decided = not self.undecided and not self.upside_down
            self.none_with = most if nothing and decided else self.none_with
        if self.best is not None:
            yield self._last()
        self.exhausted = decided

    def _only_below(self, cost: int) -> None:
        """Only what costs less is an answer: options that alone cost as much are none, and nothing is learned of them."""
        self._least = cost
        self._left.ask_for_less_than(cost)

    def _last(self) -> Solution:
        """What is the best, with what shows that nothing of it can be left out; it is none that is looked for any more."""
        assert self.best is not None
        best = self.best if self.best.minimal else self.least_of(self.best.vector)
        self.best = None
        return best

    def _following(self, arrivals: int) -> Vector | None:
        """The cheapest vector that is not ruled out, with so many arrivals at most: first of those that nobody put off."""
        vector = self._left.next(arrivals, put_off=not self._hurried, seconds=self.left())
        if vector is None and self._hurried and self._late:
            self._hurried = self._late = False
            vector = self._left.next(arrivals, put_off=not self._hurried, seconds=self.left())
        return vector

    def _put_off(self, vector: Vector) -> None:
        """One that takes long is judged when all others are: one text must not have the time of many."""
        self._late = True
        self._left.put_off(vector)

    def _learn(self, vector: Vector, judged: Judgement) -> None:
        """Rules out a vector that does not hold, and what fails with it."""
        if judged.nonterminating:
            self._left.rule_out_as_nonterminating(vector)
        if judged.wrong or judged.waits:
            grown = (
                vector if judged.nonterminating else self._grown(vector, judged.wrong)
            )  # what is stronger is ruled out already
            self._left.rule_out_below(grown, vector, judged.wrong)
        elif not judged.nonterminating:
            self._left.rule_out(vector)

    def look_from_above(self) -> None:
        """Keeps something that holds as `best`: first what is there is as strong as can be, then what may be put in is there,
        too, then barriers. Of the first of these texts that holds, everything is taken away again that is not needed. Raises
        OutOfTime."""
        self._looked = True
        if self.base is not None and self.base.nonterminating:  # nor does an execution of what is stronger end
            return
        for current in map(list, self._from_below()):
            if self._soon(current, self.ample).holds:
                self._keep(current)
                break
        else:
            return
        for group in reversed(self._groups([s for s, o in enumerate(current) if o])):
            self._without(current, group)
        for s in [s for s, o in enumerate(current) if o]:
            self._lower(current, s)
        self.keep_least_of(current)

    def keep_least_of(self, vector: Sequence[int]) -> None:
        """Keeps what holds as `best`, and then what is needed of it. No step weaker has the time of all that follows: of
        one that is not decided soon, nobody knows. Raises OutOfTime; what holds is kept."""
        self._keep(vector)
        least = self.least_of(tuple(vector), soon=True)
        if self._few_enough(least.vector):
            self.best = least

    def _keep(self, vector: Sequence[int]) -> None:
        """Keeps what holds as `best`, of which nobody knows yet whether less would do."""
        held = tuple(vector)
        if self._few_enough(held):
            self.best = Solution(held, self._cost(held), (), self.judge(held).bounded, minimal=False)

    def _few_enough(self, vector: Sequence[int]) -> bool:
        return self.most is None or sum(map(bool, vector)) <= self.most

    def _from_below(self) -> Iterator[list[int]]:
        """Vectors in which ever more is as strong as can be: of each kind alone, which is decided soonest, then with those
        before it. Of what is put in, first what is second to the strongest: many `fence.sc` take long, and few need them."""
        nothing = current = [0] * len(self.sites)
        groups = self._groups(range(len(self.sites)))
        for number, group in enumerate(groups):
            befores = [nothing]
            if self._meets(group[0], -1):
                group = self._widest(group)  # with one other kind: many of several take long
                every = range(len(self.sites))
                befores += [[self._highest(s, 0) if s in few else 0 for s in every] for few in groups[2:number]]
            for before in [*befores, *([current] if number else [])]:
                yield [self._second(s) if s in group else o for s, o in enumerate(before)]
            current = [self._highest(s, 0) if s in group else o for s, o in enumerate(current)]
            yield current

    def _widest(self, barriers: Sequence[int]) -> list[int]:
        """Of barriers that may be put in at one place the dearest: there it does what the others do."""
        best: dict[object, int] = {}
        for s in barriers:
            last = self.sites[s].options[-1]
            place = tuple(edit.start for edit in last.edits)
            if place not in best or self.sites[best[place]].options[-1].cost < last.cost:
                best[place] = s
        return sorted(best.values())

    def _second(self, s: int) -> int:
        """The strongest option of a site but one, the costlier of two."""
        site, highest = self.sites[s], self._highest(s, 0)
        lower = site.below[highest] - {0, highest}
        return max(lower, key=lambda o: (len(site.below[o]), site.options[o].cost), default=highest)

    def _soon(self, vector: Sequence[int], ample: float = 0.0) -> Judgement:
        return self.judge(tuple(vector), None if self.patience is None else max(self.patience * _PATIENT, ample))

    def _without(self, current: list[int], group: Sequence[int]) -> None:
        """Takes these sites' changes away as far as the rest holds: all together, else by halves."""
        if self._soon([0 if s in group else o for s, o in enumerate(current)]).holds:
            for s in group:
                current[s] = 0
            self._keep(current)
        elif len(group) > 1:
            half = len(group) // 2
            self._without(current, group[:half])
            self._without(current, group[half:])

    def _lower(self, current: list[int], s: int) -> None:
        """Makes one site as weak as the rest lets it be."""
        for lower in self.sites[s].under(current[s]):
            tried = [*current[:s], lower, *current[s + 1 :]]
            if self._soon(tried).holds:
                current[s] = lower
                self._keep(current)
                self._lower(current, s)
                return

    def _cost(self, vector: Vector) -> int:
        return sum(site.options[o].cost for site, o in zip(self.sites, vector, strict=True))

    def _useful(self, site: int, option: int) -> bool:
        return self._least is None or self.sites[site].options[option].cost < self._least

    def _meets(self, site: int, option: int) -> bool:
        return self.sites[site].options[option].meets

    def _alters(self, site: int, option: int) -> bool:
        return self.sites[site].options[option].alters

    # From what fails upwards, and from what holds downwards.

    def _grown(self, vector: Vector, wrong: bool) -> Vector:
        """A vector as strong that is `wrong`, too, and is as strong as can be, as far as whole groups of sites are tried. Where
        threads do not terminate, that is so in every weaker text with the same barriers: those stay as they are. What one
        before it was made stronger by is tried first, as a whole: many texts fail by what one and the same set of changes
        leaves."""
        known = self._as_before(vector, wrong)
        current = list(vector if known is None else known)
        if known is not None and (
            self._vain & (self._vain - 1)
        ):  # it was as strong as can be: that is tried ever less often
            self._vain += 1
            self._strong[wrong] = tuple(current)
            return tuple(current)
        free = [s for s in range(len(self.sites)) if not self._alters(s, vector[s])]
        # What is cheap first: each solution that is ruled out so is a candidate less before the cheapest one is met.
        groups = self._groups([s for s in free if wrong or not self.sites[s].options[-1].meets])
        slow = [group for group in groups if tuple(group) in self._slow]  # last, and in parts
        waiting = [
            *(part for group in slow for part in self._parts(group)),
            *(g for g in groups[::-1] if g not in slow),
        ]
        left, end = _TRIES, self.pace.computed + (self.patience or _LONG) * _PATIENCES
        while waiting and left and self.pace.computed < end:
            group = waiting.pop()
            tried = list(current)
            for s in group:
                tried[s] = self._highest(s, current[s])
            if tried == current:
                continue
            left -= 1
            judged = self.judge(tuple(tried), self.patience)
            if self._fails_so(judged, wrong):
                current = tried
                continue
            if judged.holds is None and len(group) > _FEW:
                self._slow.add(tuple(group))
            if len(group) > 1 and (judged.holds is not None or len(group) > _FEW):
                waiting += _halves(group)[::-1]
            elif judged.holds is not None:
                self._raised(current, group[0], wrong)
        self._vain = self._vain + 1 if current == known else 0
        self._strong[wrong] = tuple(current)
        return tuple(current)

    def _as_before(self, vector: Vector, wrong: bool) -> list[int] | None:
        """A vector as strong that is `wrong`, too: with what the last one was made stronger by, where it is one."""
        known = self._strong.get(wrong)
        if known is None:
            return None
        tried = [self._of_both(s, o, known[s], wrong) for s, o in enumerate(vector)]
        return tried if self._fails_so(self._soon(tried), wrong) else None

    def _of_both(self, s: int, now: int, known: int, wrong: bool) -> int:
        """The `known` option of a site where it is stronger than the one that is there `now`, and changes no barrier."""
        kept = self._alters(s, now) or self._alters(s, known) or not self._useful(s, known)
        if kept or (not wrong and (self._meets(s, now) or self._meets(s, known))):
            return now
        return known if self.sites[s].at_most(now, known) else now

    @staticmethod
    def _fails_so(judged: Judgement, wrong: bool) -> bool:
        return judged.wrong or (judged.waits and not wrong)

    def _parts(self, group: list[int]) -> list[list[int]]:
        """A group of sites; the parts of one that was tried, and took too long."""
        if tuple(group) not in self._slow:
            return [group]
        return [part for half in _halves(group)[::-1] for part in self._parts(half)]

    def _groups(self, sites: Sequence[int]) -> list[list[int]]:
        """Sites by kind: what is there already, fences of memory, each other statement that is put in, barriers. Fences of
        memory are apart, since texts with many of them take longest, and what is wrong with a proxy, a copy or an mbarrier is
        wrong with each."""
        kinds: dict[tuple[int, str], list[int]] = {}
        for s in sites:
            kinds.setdefault(_kind(self.sites[s].options[-1]), []).append(s)
        return [kinds[kind] for kind in sorted(kinds)]

    def _highest(self, s: int, now: int) -> int:
        """The strongest option of a site that is as strong as one, of those that a solution may have."""
        site = self.sites[s]
        good = [o for o in range(len(site.options)) if self._useful(s, o) and not self._alters(s, o)]
        return max((o for o in good if site.at_most(now, o)), key=lambda o: len(site.below[o]), default=now)

    def _raised(self, current: list[int], s: int, wrong: bool) -> None:
        """Makes one site as strong as can be, but not as strong as possible: that was tried."""
        site, highest = self.sites[s], self._highest(s, current[s])
        for option in sorted(range(len(site.options)), key=lambda o: -len(site.below[o])):
            if option in (current[s], highest) or not site.at_most(current[s], option):
                continue
            if self._useful(s, option) and not self._alters(s, option):
                tried = [*current[:s], option, *current[s + 1 :]]
                if self._fails_so(self.judge(tuple(tried), self.patience), wrong):
                    current[s] = option
                    return

    def least_of(self, vector: Vector, *, soon: bool = False) -> Solution:
        """Of a vector that holds: itself, or a weaker one that holds; each step weaker fails. `soon`: or is not decided soon.
        Raises OutOfTime."""
        current = list(vector)
        needs: list[Weakening] = []
        known = again = True
        while again:
            again, needs, known = False, [], True
            for s, o in enumerate(current):
                for lower in self.sites[s].under(o):
                    tried = (*current[:s], lower, *current[s + 1 :])
                    judged = self._soon(tried) if soon else self.judge(tried)
                    if judged.unsure:  # what is stronger failed in the larger launch: so does it, and nobody saw how
                        judged = Judgement(None)
                    if judged.holds:  # cheaper, and ruled out: by a failure of something stronger
                        self.upside_down = self.upside_down or not soon
                        current, again = list(tried), True
                        break
                    known = known and judged.holds is False
                    needs.append(Weakening(s, lower, judged.failed, judged.undecided, judged.launch))
                if again:
                    break
        final = tuple(current)
        return Solution(final, self._cost(final), tuple(needs), self.judge(final).bounded, known)

    def told_fully(self, step: Weakening, of: Vector) -> Weakening:
        """A step from a vector with every check decided that can be: where some text was only tried to rule out more, one
        failure was enough. Raises OutOfTime."""
        if not step.undecided:
            return step
        self.asked += 1
        judged = self.check((*of[: step.site], step.option, *of[step.site + 1 :]), None)
        if judged.holds is not False:
            return step
        return step._replace(failed=judged.failed, undecided=judged.undecided, launch=judged.launch)
