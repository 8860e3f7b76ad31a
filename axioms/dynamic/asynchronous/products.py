"""Products of warpgroups (`wgmma`) in a launch that is followed: what they come behind, and who knows that they are complete.

A product comes behind what is before the last fences of the threads that issue it, a `wgmma.fence` or a fence of proxies, and
not behind other instructions before it (section 8.9.1.1).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from operator import is_

from axioms.dynamic.asynchronous.agents import Agent, Agents
from axioms.dynamic.asynchronous.fenced import unfenced
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.core.clocks import Arrival, Several, Table, several
from axioms.dynamic.core.findings import Party
from ptxcore.machine.run.watched import WatchedProduct, WatchedThread


class WarpgroupProducts:
    """The products of a launch."""

    def __init__(self, run: LaunchState, agents: Agents) -> None:
        self.run, self.clocks, self._agents = run, run.clocks, agents
        #: What threads knew at their last `wgmma.fence` or fence of proxies, behind which products of theirs come.
        self.fenced: dict[int, Table] = {}
        #: Of the first thread of each warpgroup the tables that its threads had at their last product, and what they said.
        self._products: dict[int, tuple[list[Table], Several, dict[tuple[int, int, int], bool]]] = {}
        #: Of each thread when it issued products with its warpgroup, and what stands for these: one list for all of it.
        self._multiplied: dict[int, tuple[array[int], list[int]]] = {}
        #: The products that may access registers without a fence behind other accesses, by the identities of instructions.
        self._unfenced: set[int] | None = None

    def begins(self, threads: Sequence[WatchedThread], product: WatchedProduct) -> Agent:
        """The threads of a warpgroup issue a product."""
        self._agents.issued += 1
        number, launch = threads[0].number, threads[0].launch
        ops = launch.compiled.ops
        if self._unfenced is None:
            functions = launch.program.functions.values()
            self._unfenced = {id(op.instruction) for code in functions for op in unfenced(code)}
        if id(ops[product.op].instruction) in self._unfenced:
            self.run.doubts(threads[0], "unfenced")
        party, arrival = Party(number, ops[product.op]), self.clocks.release(number)
        first = self._agents.numbered(number, "async", arrival[2])
        fenced, known = self._behind_fences([thread.number for thread in threads])
        agent = Agent(party, product.op, ops, arrival, "async", first, first + 1, 1, (), fenced, known)
        self._agents.finishes(number, agent, agent.reads)
        _, products = self._multiplied.setdefault(number, (array("q"), []))
        products.append(agent.reads)
        for other in (arrival, *(self.clocks.release(thread.number) for thread in threads[1:])):
            self._multiplied.setdefault(other[0], (array("q"), products))[0].append(other[2])
        return agent

    def multiplied(self, arrival: Arrival, other: int, time: int) -> bool:
        """Whether an operation comes behind the end of a product that a thread issued past a time. It is an operation of the
        whole warpgroup (section 9.7.15), so before each of its threads has issued it it cannot be complete: else what it reads
        for that thread would be read behind its end."""
        times, products = self._multiplied.get(other, ((), ()))
        at = bisect_left(times, time)
        return at < len(times) and self.clocks.knows(arrival, products[at], 1)

    def _behind_fences(self, numbers: Sequence[int]) -> tuple[Several, dict[tuple[int, int, int], bool]]:
        """What the threads of a warpgroup knew at their last fences, and what that said so far: the products between two
        fences ask the same."""
        tables = [self.fenced.get(number, {}) for number in numbers]
        last = self._products.get(numbers[0])
        if last is None or not all(map(is_, last[0], tables)):
            last = self._products[numbers[0]] = tables, several(tables), {}
        return last[1:]

    def fences(self, thread: WatchedThread, action: str, complete: Sequence[WatchedProduct]) -> None:
        """A thread executes `wgmma.fence`, or has waited for products."""
        if action == "fence":
            self.fenced[thread.number] = self.clocks.known[thread.number]
        elif complete:
            self._agents.learns(thread.number, *((product.agent.reads, 1) for product in complete))
