"""Tests that were decided by one run of all threads, and why others were not, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxmm.words.vectors import BRIEFLY_TORN, BY_ELEMENTS

if TYPE_CHECKING:
    from axioms.dynamic.wrong.torn import TornElement

#: What one run does not decide, by the names of `axioms.dynamic.one_run.determinate.Open`.
OPEN = {
    "order": "unordered strong accesses to the same bytes",
    "unordered": "accesses to the same bytes, of which it is open whether anything orders them",
    "vector": "a strong access to several elements",
    "proxy": "an access through another proxy",
    "fence": "a fence",
    "proxy_fence": "a proxy fence",
    "cluster": "shared memory of another CTA, which may have ended",
    "instance": "a barrier whose instances nothing orders",
    "counts": "a barrier to which threads come with different numbers of threads",
    "unmasked": "an instruction of a warp without a member mask",
    "unknown": "a value that nothing determines",
    "rounding": "a sum of products of matrices, of which the manual leaves open in which order it is added and rounded",
    "outcome": "what writes leave in memory that may come in any order (as sums, which are rounded)",
    "asynchronous": "an asynchronous operation whose effects are open",
    "mbarrier": "an operation on an mbarrier object whose phase is open",
    "warpgroup": "a product of a warpgroup, of which only some threads come behind what it reads",
    "address": "an address of Tensor Memory, of which the manual leaves open what it is",
    "allocation": "an allocation of Tensor Memory, or its end, beside another one that nothing orders",
    "issue": "shared memory that a tcgen05 instruction reads, and that no tcgen05.fence::after_thread_sync puts behind what "
    "comes before: right if asynchronous operations come behind the instructions before them (section 8.9.1.1), and a race if "
    "tcgen05 does so by its fences alone (sections 9.7.16.6.3 and 9.7.16.11.1), of which the manual does not say which it is",
    "pair": "shared memory that a tcgen05 instruction with .cta_group::2 reads in the peer CTA, of which the manual leaves "
    "open in whose name it is read (sections 8.9.5 and 9.7.16.5.1); fence.proxy.async behind the wait orders it either way",
    "unfenced": "a product of a warpgroup in registers that may have been accessed since the last wgmma.fence",
    "tensormap": "a tensor map in memory that threads write, of which it is open whether its reader comes behind that",
    "clock": "a clock, or another special register whose value is open",
    "stack": "a pointer to a thread's stack that others may read",
    "grid": "a dependent launch",
    "streams": "memory that two launches access of which no stream and no event orders one before the other",
    "time": "the run takes too long",
    "limit": "the run takes too long",
    "error": "an error of the run",
    "launch": "the launch",
    "contents": "what buffers hold at first",
    "cycle": "operations on several places in memory, of which each could come before the next one",
    "runs": "too many orders of operations that matter",
    "response": "a response of clusterlaunchcontrol.try_cancel without .multicast::cluster::all, which overwrites what was "
    "read without fence.proxy.async between: the manual does not tell through which proxy it is written (section 9.7.13.17)",
    "cancel": "a request to cancel a cluster in a CTA of which one was refused (PTX ISA 9.0, section 9.7.13.17)",
    "choices": "too many choices of the clusters that begin and that are cancelled",
}


def counted(
    threads: int, accesses: int, meetings: int, waits: int, copies: int, *, commuted: bool, hanging: bool
) -> str:
    """The note of a test that one run decides; `hanging`: what some writes leave hangs on their order."""
    order = ["program order", *["barriers"] * bool(meetings), *[f"{waits:,} waits for what others write"] * bool(waits)]
    order += [f"the completion of {copies:,} asynchronous operations"] * bool(copies)
    ordered = " and ".join(filter(None, (", ".join(order[:-1]), order[-1])))
    one = "s" * (len(order) == 1)
    but = ", but morally strong writes that commute" if commuted else ""
    but += ", or whose order decides nothing but what they leave in memory" if commuted and hanging else ""
    each = (
        f"each of {meetings:,} barriers and collective operations"
        if meetings > 1
        else "the one barrier or collective operation"
    )
    met = f"; who takes part in {each} is determinate" if meetings else ""
    return (
        f"one run of all {threads:,} threads stands for all executions: {ordered} order{one} every pair of its "
        f"{accesses:,} accesses that conflict{but}{met}"
    )


def carried(places: list[str]) -> str:
    """The note of a test in which values that nothing determines lie in memory."""
    more = f" and {len(places) - 1} more" * (len(places) > 1)
    return f"values that nothing determines are put into memory of the CTA or read there, and decide nothing: {places[0]}{more}"


def apart_early(place: str) -> str:
    """The note of launches of which one accesses memory before it waits for the one before."""
    return (
        f"what a launch accesses before griddepcontrol.wait ({place}), those that may still be running then do not write, and "
        "what it writes then they do not access"
    )


def emulated(number: int, place: str, *, hangs: bool) -> str:
    """The note of a test in which loops of compare-and-swap do what atomic operations would; `hangs`: what some of them leave
    hangs on their order."""
    loops = "the loop" if number == 1 else f"each of {number:,} loops"
    leave = (
        "what they leave hangs on their order, and decides nothing" if hangs else "these leave the same in any order"
    )
    return f"{loops} of compare-and-swap ({place}) does what one atomic operation would, whatever it finds, and {leave}"


def numbered(ctas: int, place: str) -> str:
    """The note of a test in which CTAs that are alike take tickets."""
    return (
        f"nothing tells the {ctas:,} CTAs apart but the ticket that each takes ({place}): other executions are the same with "
        "CTAs in other places"
    )


def looked_back(number: int, ways: int) -> str:
    """The note of a test in which threads look back."""
    backs = "the look-back" if number == 1 else f"each of {number:,} look-backs"
    return f"{backs} comes to the same, whichever of the values that others publish its reads find ({ways:,} ways)"


#: What threads do in a deadlock of a run, at a place of the report, in a box of a picture, and in its title.
STOPS = "does not terminate (deadlock)"
STOPS_HERE = "threads do not terminate (deadlock) here"
STOPPED = "deadlock, as one run of all threads shows it"


def others_stop(left: int) -> str:
    """Of threads that wait in other ways, and have no place in a picture."""
    return f"; {left:,} more wait in other ways" if left else ""


def race_shown(kind: str) -> str:
    """What the picture of a race is of that a run found; `kind`: the flag of the model."""
    return f"{'data' if kind == 'war' else kind} race, as one run of all threads shows it"


def undrawn(runs: int) -> str:
    """Why there is no picture of a test that runs decided."""
    several = "one run of all threads" if runs == 1 else f"{runs:,} runs of all threads"
    return f"no picture: {several} decided it, of which nothing is kept to draw"


def by_a_run(broken: str, number: int) -> str:
    """A run showed an outcome that a check forbids."""
    return f"{broken}, after {_run(number)}"


def by_an_error(check: str, number: int, error: str) -> str:
    """A run ended with an error that a check forbids."""
    said = "; ".join(line.strip() for line in error.splitlines())
    return f"{check} does not hold in {_run(number)}: {said}"


def _run(number: int) -> str:
    """One of several runs: the first one, in the order of the threads, or one in a random order."""
    return f"a run of all threads {'in order' if number == 1 else f'in a random order (number {number - 1})'}"


def beside_a_run(text: str) -> str:
    """What is not known of a check where a run showed that another one fails."""
    return f"{text}: not decided, since a run had shown that another check does not hold"


def torn(
    reads: str,
    read_at: str,
    writes: str,
    written_at: str,
    where: str,
    found: list[TornElement],
    missed: list[TornElement],
) -> str:
    """The note of a test that fails where a read of a vector finds some elements of a write and misses others: who reads and
    who writes, where, and what."""
    new, old = (
        " and ".join(f"{e.value} in bytes {e.first} to {e.first + e.size - 1}" for e in elements)
        for elements in (found, missed)
    )
    return (
        f"of what {writes} writes to {where} at {written_at}, {reads} finds {new} at {read_at}, and {old}, which was "
        f"there before: {BY_ELEMENTS}"
    )


def read_torn(mnemonic: str) -> str:
    """What is wrong with such a read, in few words."""
    return f"{BRIEFLY_TORN} ({mnemonic})"


def several(
    runs: int, threads: int, accesses: int, *, changing: bool = False, exchanged: bool = False, groups: int = 0
) -> str:
    """The note of a test that several runs decide; `changing`: other runs are the same with CTAs in other places; `exchanged`:
    so they are with another thread that comes last to a barrier; `groups`: of CTAs that have nothing to do with each other."""
    are = "one run" if runs == 1 else f"{runs:,} runs"
    differ = ", one for each order that matters"
    if groups:
        differ += f" in one of {groups} groups of CTAs, which share nothing that any of them writes"
    if changing:
        differ += " but for which CTA is which: all do the same"
    elif runs == 1:
        differ = ": no order of atomic operations leads a thread elsewhere"
    if exchanged:
        differ += ", but whoever is the last one does the same"
    return (
        f"{are} of all {threads:,} threads stand{'s' * (runs == 1)} for all executions{differ}; program order, barriers and "
        f"what threads find order every other pair of a run's {accesses:,} accesses that conflict"
    )


def of_places(text: str, elements: list[str]) -> str:
    """Why a check of values is not decided by runs of which none is another one with its CTAs in other places."""
    return (
        f"{text}: not decided, since {_named(elements)} may differ where CTAs change places, of which one order was run"
    )


def of_tickets(text: str, elements: list[str]) -> str:
    """Why a check of values is not decided by a run up to the order of its tickets."""
    return f"{text}: not decided, since {_named(elements)} may have other values where atomic operations come in another order"


def ticketed(
    threads: int, accesses: int, taken: list[tuple[str, str, int, str]], handovers: int, walks: int = 0
) -> str:
    """The note of a test that one run decides up to its tickets and claims: of which bytes, how many, and where; and how often
    something is handed over by a flag, and threads walk through lists of which the order hangs on claims."""
    each = [f"{count:,} {what}{'s' * (count != 1)} of {name} ({place})" for what, name, count, place in taken]
    kinds = {what for what, *_ in taken}
    own = ["each thread accesses memory in the places of its own tickets alone"] * ("ticket" in kinds and not handovers)
    if handovers:
        times = "once" if handovers == 1 else f"{handovers:,} times"
        own += [f"by flags at the places of these threads hand over {times}, each time to the same ticket"]
    own += ["of those who claim the same one wins, whoever it is"] * ("claim" in kinds)
    if walks:
        times = "one walk through a list comes" if walks == 1 else f"{walks:,} walks through lists come"
        own.append(f"{times} to the same in any order of these")
    return (
        f"one run of all {threads:,} threads stands for all executions up to the order of {' and '.join(each)}: "
        f"{', '.join(own)}, and program order, barriers and what threads find order every "
        f"other pair of the run's {accesses:,} accesses that conflict"
    )


SAME_IN_ANY_ORDER = (
    "what is stored at the places of tickets stands there in another order in other executions; "
    "the checks say the same of each"
)


def of_searches(text: str, elements: list[str]) -> str:
    """Why a check of values is not decided by a run up to the ways of its searches."""
    return f"{text}: not decided, since {_named(elements)} may have other values where threads go other ways"


def searched(threads: int, accesses: int, searches: int, nodes: int, place: str) -> str:
    """The note of a test that one run decides up to the ways of searches: how many there are, with how many places on their
    ways, and where the first one begins."""
    each = "a search" if searches == 1 else f"{searches:,} searches"
    return (
        f"one run of all {threads:,} threads stands for all executions up to the ways of {each} ({place}): whatever threads "
        f"find there, at {nodes:,} places on all ways together, they come to the same; what they do on any of them is ordered, "
        "morally strong, or of one winner, and program order and barriers order every other pair of the run's "
        f"{accesses:,} accesses that conflict"
    )


def of_sections(text: str, elements: list[str]) -> str:
    """Why a check of values is not decided by a run up to the order of its critical sections."""
    return f"{text}: not decided, since {_named(elements)} may have other values where critical sections come in another order"


def in_sections(threads: int, accesses: int, sections: int, place: str, *, same: bool) -> str:
    """The note of a test that one run decides up to the order of critical sections: how many, and where a lock is taken;
    `same`: they leave the same in any order."""
    each = "the critical section" if sections == 1 else f"the {sections:,} critical sections"
    leave = " and leave the same in any order" if same else ""
    return (
        f"one run of all {threads:,} threads stands for all executions up to the order of {each} ({place}): those of one lock "
        f"exclude each other{leave}; program order, barriers and what threads find order every other "
        f"pair of the run's {accesses:,} accesses that conflict"
    )


def in_rounds(
    threads: int, accesses: int, counters: list[tuple[int, str]], worker: str, *, carries: bool, runs: int = 1,
    waits: int = 0,
) -> str:  # fmt: skip
    """The note of a test that runs of rounds decide: how many tickets were taken, and where, by which workers. `carries`:
    rounds find something of those before them; `runs`: how many show each ticket in rounds that begin otherwise; `waits`: how
    many there are for what other rounds have done."""
    along = ", what goes along from round to round decides nothing" * carries
    each = " and ".join(f"{count:,} ticket{'s' * (count != 1)} ({place})" for count, place in counters)
    beyond = f", but what {waits:,} wait{'s' * (waits != 1)} for them order{'s' * (waits == 1)}" if waits else ""
    stand = "one run of all {} threads stands" if runs == 1 else f"{runs} runs of all {{}} threads stand"
    each_kind = f", whichever way its {worker} has come to it" * (runs > 1)
    return (
        f"{stand.format(f'{threads:,}')} for all executions, whichever {worker} gets which of {each}: a round does what its "
        f"ticket says{each_kind}, and leaves what other rounds write alone{beyond}{along}; program order and barriers order "
        f"every other pair of the run's {accesses:,} accesses that conflict, but morally strong writes that commute"
    )


def replayed(ctas: int, threads: int) -> str:
    """The note of a test of which a run shows that it fails, made from one of a smaller launch."""
    size = f"{ctas:,} CTA{'s' * (ctas != 1)} of {threads:,} thread{'s' * (threads != 1)}"
    return (
        f"found in a smaller launch, {size}: as many threads of this one took the same steps, and what is told is a run of all "
        "its threads"
    )


#: Instructions that only runs follow.
_ALONE = {
    "wgmma": "products of warpgroups (wgmma)",
    "tcgen05": "operations on Tensor Memory (tcgen05)",
    "clusterlaunchcontrol": "requests to cancel clusters (clusterlaunchcontrol)",
    "tensormap::generic": "tensor maps that threads write (tensormap::generic)",
}


def by_runs_alone(instructions: list[str], open_: str) -> str:
    """Why a test is not decided whose instructions only runs follow."""
    return f"{' and '.join(_ALONE[i] for i in instructions)} are followed by runs of all threads alone, and {open_}"


def chosen(runs: int, outcomes: int, accesses: int) -> str:
    """The note of a test that a run decides for each choice of who is cancelled."""
    return (
        f"a run of all threads for each of {runs:,} choices of the clusters that begin and that are cancelled, and by whom: "
        f"each stands for all executions with that choice, {outcomes:,} outcome{'s' * (outcomes != 1)} in all; the last one "
        f"has {accesses:,} accesses"
    )


def not_looked_at(text: str) -> str:
    """What is not known of a check beside one that fails."""
    return f"{text}: not decided, since another check fails"


class LeftOpen(str):
    """A note that says why runs do not decide a test; `what` is the first thing that was open, by its name in `OPEN`."""

    what: str


def left_open(what: str, place: str, more: str = "") -> LeftOpen:
    """The note of a test that one run does not decide; `more`: what is said of it."""
    named = open_at(what, place)
    told = "; ".join(line.strip() for line in more.splitlines())
    found = LeftOpen(f"one run does not stand for all executions: {named}{f' ({told})' if told else ''}")
    found.what = what
    return found


def open_at(what: str, place: str) -> str:
    """What is open, and where."""
    return OPEN.get(what, f"a call of {what}") + (f" at {place}" if place else "")


def unwritten_memory(place: str, said: str, byte: int) -> str:
    """The note of a test that fails where what nothing determines (shared memory that nothing wrote, a value from a lane that
    does not take part) has some byte; `place`: where that decides something, `said`: what is read."""
    read = ", ".join(filter(None, (said, f"at {place}" if place else "")))
    more, held = f" ({read})" if read else "", f"{byte:#04x} in every byte" if byte else "zeros"
    return f"what nothing determines may be anything{more}: this is an execution in which it has {held}"


def contents(free: list[str], deciding: dict[str, list[str]]) -> str:
    """Whose contents decide what threads do: those that do not, and those that do, with the places where they are read."""
    told = [f"no address, branch or count depends on the contents of {', '.join(free)}"] * bool(free)
    if deciding:
        those = ", ".join(f"{name} ({', '.join(places[:_MOST_PLACES])})" for name, places in deciding.items())
        told.append(
            f"some {'do on those' if free else 'addresses, branches or counts depend on the contents'} of {those}, "
            "of which the answer is for those given"
        )
    return "; ".join(told) or "no address, branch or count depends on the contents of any buffer"


#: So many places are told at which the contents of one buffer are read.
_MOST_PLACES = 3


def _named(places: list[str]) -> str:
    more = len(places) - _MOST_PLACES
    return ", ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


def other_contents(buffer: str, place: str) -> str:
    """The note of a test of which one run does not decide what happens with other contents."""
    decides = "decides an address, a branch or a count"
    return f"one run does not stand for all contents of {buffer}: what is read at {place} {decides}"


def holding(buffers: list[str], byte: int) -> str:
    """What buffers hold at first in the run that is shown, which may hold anything."""
    return f"at first {', '.join(buffers)} hold{'s' * (len(buffers) == 1)} {byte:#04x} in every byte"


def shared_at_first(byte: int | None) -> list[str]:
    """What values have in the run that is shown of which nothing is known."""
    those = "what nothing determines (shared memory at first, values from lanes that do not take part)"
    return [] if byte is None else [f"{those} has {byte:#04x} in every byte"]


def reordered(*, in_another: bool) -> list[str]:
    """How the `fence.sc` of a run that is shown are ordered, where it is not as the run came by them."""
    return [
        "the order of fence.sc in it is not that in which the run came by them, but nothing excludes it"
    ] * in_another


def of_contents(text: str, buffers: list[str]) -> str:
    """What is not known of a check whose values are computed from contents that may be any."""
    return f"{text}: not decided, since it is about values that depend on the contents of {_named(buffers)}"


def of_products(text: str, places: list[str]) -> str:
    """What is not known of a check whose values are computed from products of which the manual leaves open what they are."""
    return (
        f"{text}: not decided, since it is about values that depend on sums of products of matrices ({_named(places)}), of "
        "which the manual leaves open in which order they are added and rounded"
    )


#: More additions to one place than these have more orders than the formula tries: of 8 it decides a sum in 5 seconds, of 10 it
#: has not after 60, and each further one makes as many times more orders as there are then.
_MOST_ADDITIONS = 12


class OtherOrders(str):
    """What is not known of a check, of which a run in another order tells no less than this one."""


#: What is said of operations whose order decides what they leave in memory.
BY_ORDER = "the order in which threads come here decides the value"


class SumOrders(OtherOrders):
    """What is not known of a check, of which the formula would not know more either: there are too many orders."""


def of_order(text: str, places: list[str], additions: int) -> str:
    """What is not known of a check whose values are computed from what writes leave in whichever order they come. `additions`:
    to each place of which the order decides, at least."""
    said = (
        f"{text}: not decided, since it is about values that depend on the order of atomic operations or strong writes "
        f"({_named(places)}), as a sum does by how it is rounded"
    )
    if additions <= _MOST_ADDITIONS:
        return OtherOrders(said)
    return SumOrders(f"{said}; a formula does not try the orders of {additions:,} additions to one place")


def of_addresses(text: str, places: list[str]) -> str:
    """What is not known of a check whose values are computed from addresses of Tensor Memory."""
    named = ", ".join(places[:_MOST_PLACES])
    return f"{text}: not decided, since it is about values that depend on {OPEN['address']} ({named})"


#: What would order two accesses to Tensor Memory (section 9.7.16.6.4).
_MISSING = {
    "ld": "tcgen05.wait::ld is missing behind the first one",
    "st": "tcgen05.wait::st is missing behind the first one",
    "fences": "tcgen05.fence::before_thread_sync and tcgen05.fence::after_thread_sync are missing around the synchronization "
    "of their threads",
    "commit": "the first one need not be complete: tcgen05.commit, and a wait for its mbarrier object, are missing",
    "after": "tcgen05.fence::after_thread_sync is missing behind the wait for the mbarrier object that knows of the first one",
    "allocation": "the allocation need not come first",
}


def missing(name: str) -> str:
    """What would order two accesses to Tensor Memory; empty for others."""
    return _MISSING.get(name, "")


def with_a_race(text: str) -> str:
    """What is not known of a check beside a race."""
    return f"{text}: not decided, since the launch has a race"


def deadlocked(first: str, waits: Sequence[str]) -> str:
    """Where threads wait that do not terminate."""
    return f"{first}; {'; '.join(waits)}"


def with_a_deadlock(text: str) -> str:
    """What is not known of a check beside threads that do not terminate."""
    return f"{text}: not decided, since threads do not terminate"
