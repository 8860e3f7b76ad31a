"""What of searches is certain, whoever wins what (`searches.searches`): which cells are claimed in the end, how much the
winners of claimed cells add to a counter, and what stands at the places of their tickets, in any order.

    if (atomicCAS(&dist[v], INF, d) == INF) { at = atomicAdd(&n, 1); next[at] = v; }

A cell that some search tries to claim on each of its ways is claimed in the end, by one of them. If a number is added by who
wins a cell, and by nobody else, as often as cells are claimed, the sum is certain. What they store at places of their tickets
is a *bag*: each of some different values stands at one of the places. Who reads the places in a later launch finds each value
once, so what a thread does with it is a role that one thread has. docs/whole-launches/searches.md (Frontiers) has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from axioms.dynamic.core.findings import step
from axioms.dynamic.searches.search_cells import SearchBag, SearchedBytes
from axioms.dynamic.searches.search_nodes import DoneInStep, SearchNode, SearchStep, TicketPlace, bits
from axioms.dynamic.searches.searches import Searches
from ptxcore.parts import strongly_connected

_Done = frozenset[DoneInStep]
_NONE: _Done = frozenset()


class CertainClaims:
    """What is certain of the searches of a launch. `most`: the most that is added to cells by who has won others; of those that
    are not there nothing is known."""

    def __init__(self, searches: Searches) -> None:
        self.searches = searches
        self._must = _done_from(searches.nodes)
        self._ends = [edge for node in searches.nodes for edge in node.edges if edge.to is None]
        #: Of each place of a bag the searches that read it on each of their ways, as numbers.
        self._reading: dict[SearchedBytes, list[int]] = defaultdict(list)
        for number, node in enumerate(searches.begins):
            for cell, stores in self._must[node] or ():
                if cell.bag is not None and not stores:
                    self._reading[cell].append(number)
        self._look_at_roles()
        self._certain = set[SearchedBytes]()
        self._done_for_certain()
        self.most: dict[SearchedBytes, int] = {}
        self._settle()

    # Roles.

    def _look_at_roles(self) -> None:
        """Whether a role is one thread's: nobody writes the places of its bag, and each is read by one thread."""
        readers: dict[SearchedBytes, int] = defaultdict(int)
        shared: set[SearchBag] = set()
        for node in self.searches.nodes:
            for reach in node.reaches:
                bag = reach.cell.bag
                if bag is not None:
                    readers[reach.cell] |= node.by
                    if reach.kind != "R":
                        shared.add(bag)
        for cell, by in readers.items():
            assert cell.bag is not None
            if len({self.searches.starts[number].party.thread for number in bits(by)}) > 1:
                shared.add(cell.bag)
        self._written = {
            reach.cell.bag for node in self.searches.nodes for reach in node.reaches if reach.kind != "R"
        } - {None}
        for (bag, _), role in self.searches.roles.items():
            role.once = bag not in shared

    def _done_for_certain(self) -> None:
        """What is done in each execution: by some search whatever way it goes, by whoever has a role that somebody has, or wins
        a cell that somebody wins. Notes the cells that are won."""
        done = {one for node in self.searches.begins for one in self._must[node] or ()}
        done |= self._done_in_roles()
        winners: dict[SearchedBytes, list[_Done]] = defaultdict(list)
        for node in self.searches.nodes:
            for edge in node.edges:
                of = edge.won if edge.to is None else edge.to.won
                for cell in of - node.won:
                    winners[cell].append(self._behind(edge) or _NONE)
        waiting = done
        while waiting:
            won = {
                one.cell for one in waiting if one.cell.counts and not one.stores and not one.cell.top
            } - self._certain
            self._certain |= won
            waiting = {one for cell in won if winners[cell] for one in frozenset.intersection(*winners[cell])} - done
            done |= waiting
        puts: dict[SearchedBytes, set[int | None]] = defaultdict(set)
        for node in self.searches.nodes:
            for cell, value in node.puts:
                puts[cell].add(value)
        for cell in {one.cell for one in done if one.stores}:
            values = puts[cell]
            if None not in values:
                cell.ends = frozenset(value for value in values if value is not None)
        for cell in self._certain:
            if not cell.is_role:
                cell.ends = frozenset(cell.values) - {cell.claimed}

    def _done_in_roles(self) -> set[DoneInStep]:
        """What is done by whoever has a role that somebody has."""
        found: set[DoneInStep] = set()
        places: dict[SearchBag, set[SearchedBytes]] = defaultdict(set)
        for cell in self._reading:
            if cell.bag is not None and cell.bag not in self._written:
                places[cell.bag].add(cell)
        taken: dict[tuple[SearchedBytes, int], list[tuple[int, _Done]]] = defaultdict(list)
        for node in self.searches.nodes:
            for edge in node.edges:
                if edge.took is not None:
                    taken[edge.took].append((node.by, self._behind(edge) or _NONE))
        for bag, cells in places.items():
            if len(cells) != bag.places or not bag.is_full or len(bag.elements) != bag.places:
                continue
            for value in bag.elements:
                of: _Done | None = None
                for cell in cells:
                    step()
                    done = self._done_with(taken[cell, value], self._reading[cell])
                    of = done if of is None else of & done
                found |= of or _NONE
                if (bag, value) in self.searches.roles:
                    self._certain.add(self.searches.roles[bag, value])
        return found

    @staticmethod
    def _done_with(taken: list[tuple[int, _Done]], readers: Iterable[int]) -> _Done:
        """What one of some searches does behind each of some steps that it may go."""
        found = _NONE
        for number in readers:
            own = [done for by, done in taken if by >> number & 1]
            if own:
                found |= frozenset.intersection(*own)
        return found

    def _behind(self, edge: SearchStep) -> _Done | None:
        """What is done in a step, or behind it; None where that leads to no end."""
        return _behind(edge, self._must)

    # Sums and bags.

    def _is_won_once(self, cell: SearchedBytes) -> bool:
        return cell.once and (cell.is_role or cell.counts)

    def _settle(self) -> None:
        """Notes what is certain in the cells themselves."""
        for cell in self.searches.cells.values():
            cell.settled = cell.ends is not None and len(cell.ends) == 1
        added: dict[SearchedBytes, dict[SearchedBytes | None, set[int]]] = defaultdict(lambda: defaultdict(set))
        for node in self.searches.nodes:
            for one in node.sums:
                added[one.cell][one.owner].add(one.addend)
        for cell, by in added.items():
            owners = [owner for owner in by if owner is not None and self._is_won_once(owner)]
            if len(owners) < len(by) or not cell.summed or len(cell.starts) != 1:
                continue
            self.most[cell] = sum(max(by[owner]) for owner in owners)
            least = sum(min(by[owner]) for owner in owners if owner in self._certain)
            cell.settled = least == self.most[cell] and self._adds_always(cell, owners)

    def _adds_always(self, cell: SearchedBytes, owners: Collection[SearchedBytes]) -> bool:
        """Whether whoever has won one of some cells has added to another one in the end."""
        return all((cell, owner) in edge.kept.used for edge in self._ends for owner in edge.won if owner in owners)

    def _is_one_winners(self, won: Iterable[SearchedBytes]) -> bool:
        """Whether one thread at most has won all of these cells."""
        return any(map(self._is_won_once, won))

    def bags(self) -> dict[TicketPlace, frozenset[int]]:
        """What is stored at places of tickets, of each addition one of these values, and each of them by one addition."""
        values: dict[TicketPlace, dict[int, frozenset[SearchedBytes]]] = defaultdict(dict)
        broken: set[TicketPlace] = set()
        for node in self.searches.nodes:
            for store in node.elements:
                if store.value is None or store.again:
                    broken.add(store.place)
                else:
                    of = values[store.place]
                    of[store.value] = of.get(store.value, store.won) & store.won
        for place, of in values.items():
            if place.cell not in self.most or not all(map(self._is_one_winners, of.values())):
                broken.add(place)
        by_cell: dict[SearchedBytes, list[TicketPlace]] = defaultdict(list)
        for place in values:
            by_cell[place.cell].append(place)
        for node in self.searches.nodes:
            for one in node.sums:
                for place in by_cell.get(one.cell, ()):
                    if one.addend != place.addend or not one.alone or (one.again and place not in one.before):
                        broken.add(place)
        for edge in self._ends:
            counted = {cell for cell, _ in edge.kept.used}
            broken |= {place for place in values if place.cell in counted and place not in edge.kept.fresh}
        return {place: frozenset(of) for place, of in values.items() if place not in broken}


def _done_from(nodes: Iterable[SearchNode]) -> dict[SearchNode, _Done | None]:
    """What is done on each way from each node on; None where no way leads to an end."""
    found: dict[SearchNode, _Done | None] = {}
    for part in strongly_connected(nodes, lambda node: [edge.to for edge in node.edges if edge.to is not None]):
        step()
        within = set(part)
        joined: _Done | None = None
        for edge in (edge for node in part for edge in node.edges if edge.to not in within):
            behind = _behind(edge, found)
            if behind is not None:
                joined = behind if joined is None else joined & behind
        found.update(dict.fromkeys(part, joined))
    return found


def _behind(edge: SearchStep, found: Mapping[SearchNode, _Done | None]) -> _Done | None:
    behind = _NONE if edge.to is None else found[edge.to]
    if behind is None:
        return None
    seen = {DoneInStep(cell) for cell, of in edge.finds if cell.counts and not of.holds(cell.claimed)}
    return behind | edge.done | seen  # who finds that somebody has claimed it need not try


__all__ = ["CertainClaims"]
