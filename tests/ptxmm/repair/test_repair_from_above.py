"""Where there are many changes, something that holds is found from above: in few checks, and nothing of it can be left out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from ptxcore.clock import OutOfTime
from ptxmm.repair.judgement import JudgedTexts, Judgement
from ptxmm.repair.search import Search
from ptxmm.repair.sites import EditSite, Option, TextEdit, Vector

Check = Callable[[Vector, float | None], Judgement]


def _site(number: int, options: int, kind: str) -> EditSite:
    """A place with options in a row; `kind`: what is `there`, what is `put` in, a `barrier`."""
    edits = (TextEdit(number, number + (kind == "there"), "new"),)
    every = [
        Option((), 0, (0,)),
        *(Option(edits, 2 + o, (o,), f"{kind} {o}", meets=kind == "barrier") for o in range(1, options)),
    ]
    return EditSite("P0", number, tuple(every), tuple(frozenset(range(o + 1)) for o in range(options)))


def _needing(several: list[dict[int, int]], seen: list[Vector]) -> Check:
    """Judges that one of these sets of options is reached, and keeps what it was asked."""

    def check(vector: Vector, patience: float | None) -> Judgement:
        seen.append(vector)
        holds = any(all(vector[s] >= o for s, o in needed.items()) for needed in several)
        return Judgement(holds, wrong=not holds)

    return check


@pytest.mark.parametrize("kind", ["there", "put", "barrier"])
def test_three_changes_of_two_hundred_are_found_in_few_checks(kind: str) -> None:
    sites = [_site(n, 3, kind if n in (17, 62, 90) else "there") for n in range(100)]
    seen: list[Vector] = []
    search = Search(sites, _needing([{17: 1, 62: 2, 90: 1}], seen))
    search.look_from_above()
    assert search.best is not None
    assert {s: o for s, o in enumerate(search.best.vector) if o} == {17: 1, 62: 2, 90: 1}
    assert search.best.minimal
    assert len(seen) < 60  # single changes alone are 200, and none of them holds


def test_what_is_found_from_above_holds_and_each_step_weaker_fails() -> None:
    draw = random.Random(5)
    for _ in range(100):
        sites = [_site(n, draw.choice((2, 3)), draw.choice(("there", "put", "barrier"))) for n in range(8)]
        needed = [{s: draw.randrange(1, len(sites[s].options)) for s in draw.sample(range(8), draw.randrange(1, 4))}
                  for _ in range(draw.randrange(1, 4))]  # fmt: skip
        check = _needing(needed, [])
        search = Search(sites, check)
        search.look_from_above()
        assert search.best is not None
        assert not search.upside_down
        vector = search.best.vector
        assert check(vector, None).holds
        for s, o in enumerate(vector):
            assert not o or not check((*vector[:s], o - 1, *vector[s + 1 :]), None).holds


def test_what_is_found_from_above_is_the_bound_for_what_is_cheaper() -> None:
    sites = [_site(n, 2, "there") for n in range(8)]
    search = Search(sites, _needing([{3: 1, 4: 1}, {6: 1}], []))
    found = [s.vector for s in search.solutions()]
    assert sorted(tuple(s for s, o in enumerate(v) if o) for v in found) == [(3, 4), (6,)]
    assert tuple(s for s, o in enumerate(found[0]) if o) == (6,)  # the cheapest first, whichever was met from above
    assert search.exhausted


@pytest.mark.parametrize("every", [True, False])
def test_the_first_one_is_the_cheapest_of_all(every: bool) -> None:
    """As trying all vectors tells, whether more are wanted or not."""
    draw = random.Random(8)
    for _ in range(60):
        sites = [_site(n, draw.choice((2, 3, 4)), draw.choice(("there", "put", "barrier"))) for n in range(5)]
        needed = [{s: draw.randrange(1, len(sites[s].options)) for s in draw.sample(range(5), draw.randrange(1, 4))}
                  for _ in range(draw.randrange(0, 4))]  # fmt: skip
        check = _needing(needed, [])
        costs = [sum(site.options[o].cost for site, o in zip(sites, v, strict=True))
                 for v in product(*(range(len(s.options)) for s in sites)) if check(v, None).holds]  # fmt: skip
        first = next(Search(sites, check, every=every).solutions(), None)
        assert (first.cost if first is not None else None) == min(costs, default=None)


def test_of_what_is_too_dear_for_a_cheaper_one_nothing_is_asked() -> None:
    """A hundred places whose changes cost more than what is known: it is the cheapest, and few checks say so."""
    dear = [replace(_site(n, 2, "put"), options=(Option((), 0, (0,)), replace(_site(n, 2, "put").options[1], cost=20)))
            for n in range(1, 101)]  # fmt: skip
    seen: list[Vector] = []
    search = Search([_site(0, 2, "there"), *dear], _needing([{0: 1}, {17: 1}], seen), every=False)
    (found,) = search.solutions()
    assert found.cost == 3 and search.exhausted and len(seen) < 10


def test_where_nothing_holds_nothing_is_found_from_above() -> None:
    search = Search([_site(n, 2, "there") for n in range(8)], _needing([], []))
    search.look_from_above()
    assert search.best is None
    assert not list(search.solutions())
    assert search.exhausted


def _nonterminating(check: Check, above: list[dict[int, int]], alone: set[int], seen: list[Vector]) -> Check:
    """Judges likewise, but no execution ends in what is nowhere weaker than one of `above`, unless one of the sites `alone`,
    where barriers are met otherwise, has another option than there."""

    def judge(vector: Vector, patience: float | None) -> Judgement:
        seen.append(vector)
        judged = check(vector, patience)
        ends = not any(
            all(o >= least.get(s, 0) if s not in alone else o == least.get(s, 0) for s, o in enumerate(vector))
            for least in above
        )
        return judged if ends else judged._replace(holds=False, nonterminating=True)

    return judge


def test_what_ends_in_no_execution_rules_out_what_is_stronger_and_nothing_else() -> None:
    """As trying all vectors tells, where some change how barriers are met."""
    draw = random.Random(9)
    missing = 0
    for _ in range(25):
        sites = [_site(n, draw.choice((2, 3)), draw.choice(("there", "put", "barrier"))) for n in range(5)]
        alone = set(draw.sample(range(5), 2))
        for s in alone:
            options = tuple(replace(o, alters=bool(o.words), meets=bool(o.words)) for o in sites[s].options)
            sites[s] = replace(sites[s], options=options)

        def some() -> dict[int, int]:
            return {s: draw.randrange(1, len(sites[s].options)) for s in draw.sample(range(5), draw.randrange(0, 4))}  # noqa: B023

        seen: list[Vector] = []
        needed, above = [some() for _ in range(draw.randrange(1, 3))], [some() for _ in range(draw.randrange(1, 3))]
        check = _nonterminating(_needing(needed, []), above, alone, seen)
        every = list(product(*(range(len(site.options)) for site in sites)))
        good = [v for v in every if check(v, None).holds]
        least = {v for v in good if not any(w != v and all(a <= b for a, b in zip(w, v, strict=True)) for w in good)}
        seen.clear()
        search = Search(sites, check, base=check((0,) * 5, None))
        assert {found.vector for found in search.solutions()} == least
        assert search.exhausted
        missing += len(good) < len([v for v in every if _needing(needed, [])(v, None).holds])
    assert missing > 8


def test_where_no_execution_ends_nothing_stronger_is_asked_of() -> None:
    """A thousand places, and the text as it is waits for an arrival that nothing makes: what orders alone is no repair."""
    seen: list[Vector] = []
    sites = [_site(n, 3, "there") for n in range(1000)]
    check = _nonterminating(_needing([{3: 1}], []), [{}], set(), seen)
    search = Search(sites, check, base=check((0,) * 1000, None))
    assert not list(search.solutions())
    assert search.exhausted and len(seen) == 1


def test_what_holds_is_kept_although_the_time_is_over_before_the_least_of_it_is_known() -> None:
    """After each number of texts: what is kept then holds, and it is not said that nothing of it can be left out."""
    sites = [_site(n, 3, "there") for n in range(40)]
    kept = set()
    for most in range(1, 24):
        seen: list[Vector] = []
        holds = _needing([{7: 1, 21: 2}], seen)

        def check(vector: Vector, patience: float | None, most: int = most, holds: Check = holds) -> Judgement:
            if len(seen) >= most:  # noqa: B023
                raise OutOfTime
            return holds(vector, patience)

        search = Search(sites, check)
        try:
            search.look_from_above()
        except OutOfTime:
            assert search.best is None or not search.best.minimal
        assert (search.best is not None) == any(holds(v, None).holds for v in list(seen))
        if search.best is not None:
            assert holds(search.best.vector, None).holds
            kept.add(sum(map(bool, search.best.vector)))
    assert max(kept) == 40 and min(kept) < 6  # ever less of it


def test_a_text_that_takes_long_is_put_off_until_all_others_are_judged() -> None:
    """The cheapest vector is not decided soon: what costs more is found first, and it is asked again at the end."""
    sites = [_site(n, 2, "there") for n in range(6)]
    slow = (0, 0, 1, 0, 0, 0)
    for right in (True, False):
        seen: list[Vector] = []
        holds = _needing([{2: 1}, {4: 1, 5: 1}] if right else [{4: 1, 5: 1}], seen)
        asked: list[tuple[Vector, bool]] = []

        def check(
            vector: Vector, patience: float | None, asked: list[tuple[Vector, bool]] = asked, holds: Check = holds
        ) -> Judgement:
            asked.append((vector, patience is None))
            return Judgement(None) if vector == slow and patience is not None else holds(vector, patience)

        search = Search(sites, check, patience=1.0, every=False)
        (found,) = search.solutions()
        assert found.vector == (slow if right else (0, 0, 0, 0, 1, 1)) and search.exhausted and not search.undecided
        if right:  # else a text that is stronger fails, and rules it out
            assert asked.index((slow, True)) > asked.index((slow, False))
            assert asked.index((slow, True)) > asked.index(((0, 0, 0, 0, 1, 1), False))


def test_a_text_is_judged_again_only_where_it_has_more_time() -> None:
    judged = JudgedTexts()
    assert judged.known("a", False, 1.0) is None
    judged.keep("a", False, Judgement(None), 1.0)
    assert judged.known("a", False, 1.0) == Judgement(None) and judged.known("a", True, 1.0) is None
    assert judged.known("a", False, 1.1) is None and judged.known("a", False, None) is None
    judged.keep("a", False, Judgement(True), 1.1)
    assert judged.known("a", False, None) == judged.known("a", False, 9.0) == Judgement(True)
    judged.keep("b", True, Judgement(True, unsure="of a larger launch"), None)
    assert judged.known("b", True, None) is None
