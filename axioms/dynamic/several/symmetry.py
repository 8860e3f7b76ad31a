"""Scripts up to the names of CTAs: of those that differ in nothing else one run is enough.

Let p change the places of CTAs, and let the launch be the same for each such p (`ctas.alike` says when): for each run
R there is a run p(R), in which p(c) does what c does in R, with the same values found and written by operations whose order is
open. Then what R shows, p(R) shows with other names: the scripts of how other runs begin, races, circles, threads that wait
without end. Let V be runs such that for each script s which one of them shows, a run of V begins with q(s), for some q. Take
all p(R), of R in V. What p(R) shows is p(s), where R shows s; a run S of V begins with q(s), and p(q'(S)) with p(s), q' being
the inverse of q. So these runs begin with all scripts that they show, which is what docs/whole-launches asks of runs that
stand for all executions; and what the runs of V show that is right, or wrong, all of them show.

The key of a script is the same for all p(s): CTAs are numbered in the order in which they come first in the orders of writes,
byte by byte, then among takers; those that only read or wait, by what they find. CTAs of which all that is the same have any
order.
"""

from __future__ import annotations

from collections.abc import Iterator

from axioms.dynamic.several.plan import Name, Script


class Symmetry:
    """CTAs of so many threads that can change places."""

    def __init__(self, size: int) -> None:
        """`size`: the threads of a CTA."""
        self.size = size

    def key(self, script: Script) -> object:
        """Equal for scripts that are alike but for the names of CTAs, and for no others."""
        numbers: dict[int, int] = {}
        for _, name in _written(script):
            numbers.setdefault(name[1] // self.size, len(numbers))
        others: dict[int, list[tuple[int, int, int, int]]] = {}
        for kind, of in enumerate((script.sources, script.awaits)):
            for (_, thread, count), found in of.items():
                cta, within = divmod(thread, self.size)
                if cta not in numbers:
                    others.setdefault(cta, []).append((kind, within, count, found))
        for cta in sorted(others, key=lambda c: sorted(others[c])):
            numbers[cta] = len(numbers)
        return self._renamed(script, numbers).key()

    def begins(self, done: Script, script: Script) -> bool:
        """Whether a whole run begins as a script says, with other names of CTAs. Where the orders of writes do not name all
        of them, this may be so and is not seen."""
        if not all(len(done.orders.get(where, ())) >= len(order) for where, order in script.orders.items()):
            return False
        numbers: dict[int, int] = {}
        taken = set()
        for place, name in _written(script):
            other = self._at(done, place)
            if other is None:
                return False
            cta, to = name[1] // self.size, other[1] // self.size
            if numbers.setdefault(cta, to) != to:
                return False
            taken.add(to)
        if len(taken) != len(numbers):
            return False
        return all(name[1] // self.size in numbers for name in (*script.sources, *script.awaits)) and _begins(
            done, self._renamed(script, numbers)
        )

    def _at(self, done: Script, place: tuple[object, int]) -> Name | None:
        where, number = place
        order = done.orders.get(where)  # type: ignore[call-overload]
        if order is not None:
            return order[number]  # type: ignore[no-any-return]
        return done.takers.get(where, {}).get(number)  # type: ignore[call-overload, no-any-return]

    def _renamed(self, script: Script, numbers: dict[int, int]) -> Script:
        def named(name: Name) -> Name:
            launch, thread, count = name
            cta, within = divmod(thread, self.size)
            return launch, numbers[cta] * self.size + within, count

        return Script(
            {where: tuple(map(named, order)) for where, order in script.orders.items()},
            {named(name): found for name, found in script.sources.items()},
            {where: {p: named(n) for p, n in of.items()} for where, of in script.takers.items()},
            {named(name): number for name, number in script.awaits.items()},
        )


def _written(script: Script) -> Iterator[tuple[tuple[object, int], Name]]:
    """Who writes, or takes a position, and where, in an order that no names of CTAs decide."""
    for where in sorted(script.orders):
        yield from (((where, number), name) for number, name in enumerate(script.orders[where]))
    for taken in sorted(script.takers):
        yield from (((taken, position), name) for position, name in sorted(script.takers[taken].items()))


class CtaNames(Symmetry):
    """No CTAs can change places."""

    def __init__(self) -> None:
        super().__init__(1)

    def key(self, script: Script) -> object:
        """Equal for scripts that are alike."""
        return script.key()

    def begins(self, done: Script, script: Script) -> bool:
        """Whether a run began as a script says."""
        return _begins(done, script)


def _begins(done: Script, script: Script) -> bool:
    return (
        all(done.orders.get(where, ())[: len(order)] == order for where, order in script.orders.items())
        and all(done.sources.get(name, -2) == source for name, source in script.sources.items())
        and all(done.sources.get(name, -2) > number for name, number in script.awaits.items())
        and all(
            done.takers.get(where, {}).get(position) == name
            for where, of in script.takers.items() for position, name in of.items()
        )
    )  # fmt: skip
