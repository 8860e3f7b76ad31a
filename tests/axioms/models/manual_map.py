"""What carries each sentence of the manual's chapter 8, and each sentence of chapter 9 about ordering.

A row has a section, what it says in a few words of ours, and who carries it: `cat NAME`, a definition, an axiom or a flag of
ptx-9.0.cat, or a file. A note stands for what is carried by nothing: advice, properties of implementations, what is outside.
"""

# ruff: noqa: E501
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
CAT = ROOT / "axioms" / "models" / "ptx-9.0.cat"


class Sentence(NamedTuple):
    section: str
    words: str
    carriers: tuple[str, ...] = ()
    note: str = ""


def _s(section: str, words: str, *carriers: str, note: str = "") -> Sentence:
    return Sentence(section, words, carriers, note)


_EVENTS = "axioms/events/event.py"
_KNOWN = "axioms/events/static.py"
_MEMORY = "axioms/events/memory.py"
_MULTIMEM = "ptxcore/isa/multimem.py"
_BOUNDS = "axioms/encode/bounds.py"
_ASYNC = "axioms/events/asynchronous.py"
_MBARRIERS = "axioms/sync/mbarriers.py"
_STATES = "axioms/sync/mbarrier_states.py"
_BARRIERS = "axioms/sync/barriers.py"
_FENCES = "axioms/events/fences.py"
_KERNELS = "axioms/events/launches.py"
_OBLIGATIONS = "axioms/events/preconditions.py"
_COLLECTIVES = "axioms/events/collectives.py"
_MEANINGS = "ptxcore/isa/data_movement.py"
_SYNC_MEANINGS = "ptxcore/isa/atomics.py"
_PLACES = "ptxcore/places.py"
_TEARING = "axioms/witness/tearing.py"

# fmt: off
CHAPTER_8: tuple[Sentence, ...] = (
    _s("8", "effects become visible to threads in part and in different orders; axioms say which contradictions are forbidden",
       "axioms/encode/encoding.py"),
    _s("8", "a read returns what some write to its location wrote, the initial one included", _BOUNDS),
    _s("8.1", "for every version of PTX, on sm_70 and later", note="targets before sm_70 are outside"),
    _s("8.1", "not for textures and surfaces", "cat same-proxy", note="modelled as proxies that no fence of PTX reaches"),
    _s("8.1.1", "atomicity at system scope may be missing on some hosts", note="hosts are taken to have it"),
    _s("8.2", "memory is bytes; a state space is a sequence of them, each with one address", _MEMORY),
    _s("8.2", "an instruction has a virtual address and a type; both make a range of bytes, the location", _EVENTS, _MEMORY),
    _s("8.2", "the operation is done on all bytes of the location", _EVENTS),
    _s("8.2.1", "locations overlap when they share bytes; operations when they do at one virtual address", _KNOWN),
    _s("8.2.1", "overlap is complete when the locations are the same, else partial", _KNOWN),
    _s("8.2.2", "distinct virtual addresses of one location are aliases", _MEMORY, _KNOWN),
    _s("8.2.3", "multimem addresses, and what may access them", _MEMORY, note="litmus tests have none; kernel tests do"),
    _s("8.2.4", "a vector access is scalar accesses in no order; scalars have up to 64 bits", _KNOWN,
       note="one access of 128 bits is one access"),
    _s("8.2.5", "so is an access to packed data", _SYNC_MEANINGS, _KNOWN),
    _s("8.2.6", "a hypothetical write initialises each byte before all threads", _EVENTS, "cat cause"),
    _s("8.3", "relations do not depend on state spaces; only who has access to a space sees what is done there", _MEMORY),
    _s("8.4", "the types of operations; a reduction is no read, a compare-and-swap that fails no write", _EVENTS),
    _s("8.4", "strong operations", "cat strong", note="fence.acquire and fence.release, which the table forgets, are strong"),
    _s("8.4", "synchronizing operations", "cat sync", "cat bars", "cat sc"),
    _s("8.4.1", "mmio means what strong means", _MEANINGS),
    _s("8.4.1", "how devices perform mmio operations", note="implementations, not the model"),
    _s("8.4.2", "volatile means relaxed at system scope", _MEANINGS),
    _s("8.4.2", "numbers of volatile operations are not kept, and they may be reordered", "cat po-same",
       note="nothing orders them but what orders relaxed ones"),
    _s("8.5", "a strong operation has a scope, one of four sets of threads", _PLACES, _KNOWN),
    _s("8.5", "the warp is no scope", _PLACES),
    _s("8.6", "methods of access are proxies; memory operations use the generic one", _EVENTS),
    _s("8.6", "different proxies need a proxy fence", "cat leave", "cat enter"),
    _s("8.6", "aliases need one too, as if they were proxies", "cat other-address"),
    _s("8.7", "morally strong: program order, or both strong and in each other's scope", "cat trusting"),
    _s("8.7", "and one proxy, and complete overlap of memory operations", "cat complete-overlap", "cat ms"),
    _s("8.7.1", "overlapping operations conflict when one writes", "cat conflict"),
    _s("8.7.1", "they race when neither causality nor moral strength relates them", "cat unordered", "cat data", "cat proxy"),
    _s("8.7.2", "a race of complete overlap is uniform-size, of partial overlap mixed-size", "cat data", "cat mixed-size"),
    _s("8.7.2", "with a mixed-size race the axioms do not apply", "cat mixed-size", "axioms/witness/races.py"),
    _s("8.7.2", "overlapping atomic operations in each other's scope are atomic all the same, however they overlap", "cat unlike"),
    _s("8.8", "release patterns make earlier operations visible, acquire patterns see them", "cat release", "cat acquire"),
    _s("8.8", "release 1: a release operation", "cat release", "cat arrive"),
    _s("8.8", "release 2: a release, then a strong write on the same location", "cat release"),
    _s("8.8", "release 3: a release or acquire-release fence, then a strong write", "cat release", "cat release-fences",
       note="fence.sc is one, as both published Alloy models have it"),
    _s("8.8", "it affects what is before its first operation", "cat sync"),
    _s("8.8", "acquire 1: an acquire operation", "cat acquire", "cat await"),
    _s("8.8", "acquire 2: a strong read, then an acquire on the same location", "cat acquire"),
    _s("8.8", "acquire 3: a strong read, then an acquire fence", "cat acquire", "cat acquire-fences"),
    _s("8.8", "it affects what is after its last operation", "cat sync"),
    _s("8.8", "the read of a reduction forms no acquire pattern", "cat silent", "cat strong-read"),
    _s("8.9.1", "program order is total in each thread and relates no others", _KNOWN),
    _s("8.9.1.1", "asynchronous operations are in no program order", _ASYNC),
    _s("8.9.1.1", "they follow prior instructions of their thread", "cat causality-base", _ASYNC),
    _s("8.9.1.1", "loads and stores of one cp.async are ordered, those of two are not", _ASYNC),
    _s("8.9.1.1", "the arrival of cp.async.mbarrier.arrive follows prior cp.async of its thread, and nothing else", "cat done", _ASYNC),
    _s("8.9.1.1", "the complete-tx of a bulk copy follows that copy only, and publishes nothing else of its thread",
       "cat done", "cat causality-base"),
    _s("8.9.2", "a write is observed by a morally strong read of its value", "cat obs-rf"),
    _s("8.9.2", "and through atomic operations", "cat obs"),
    _s("8.9.3", "fence.sc order relates every morally strong pair of fence.sc", "cat sc", _BOUNDS),
    _s("8.9.4", "1: fence.sc synchronizes along fence.sc order", "cat sc"),
    _s("8.9.4", "2: barrier arrivals synchronize with the waits of the same barrier", "cat bars", _BARRIERS),
    _s("8.9.4", "3: barrier.cluster.arrive synchronizes with barrier.cluster.wait", "cat arrive", "cat await", _BARRIERS,
       note="with what 9.7.13.3 says of .relaxed"),
    _s("8.9.4", "4: a release pattern synchronizes with an acquire pattern that observes it, if first and last are morally strong",
       "cat sync"),
    _s("8.9.4", "tasks of a stream, events, kernels and their threads, host calls", _KERNELS, "cat through-api"),
    _s("8.9.4", "the end of threads synchronizes with the end of their kernel", _KERNELS, "cat unfinished",
       "cat completed",
       note="and the completion of what they issued; shared memory that this still accesses is gone, which is undefined"),
    _s("8.9.4", "graphs", note="their edges are written as `after`"),
    _s("8.9.4", "these take part in proxy-preserved base causality", "cat through-api"),
    _s("8.9.5", "base causality: program order, synchronization, and what they add up to", "cat link", "cat links", "cat along"),
    _s("8.9.5", "proxy-preserved 1: one address through the generic proxy", "cat same-address"),
    _s("8.9.5", "proxy-preserved 2: one address, one proxy, one thread block", "cat ppbc", "cat other-proxy"),
    _s("8.9.5", "proxy-preserved 3: aliases with an alias fence on the way", "cat other-address"),
    _s("8.9.5", "causality: proxy-preserved base causality, or observation and then that", "cat cause"),
    _s("8.9.6", "coherence: a partial order of overlapping writes, between those that are morally strong or in causality order",
       "cat coherence", "cat coherence-total", _BOUNDS),
    _s("8.9.6", "racing writes are unrelated", _BOUNDS),
    _s("8.9.7", "communication: from a write to its readers, along coherence, and from a read to later writes, byte by byte", _BOUNDS),
    _s("8.10.1", "causality of overlapping writes is coherence", "cat coherence"),
    _s("8.10.2", "fence.sc order does not contradict causality", "cat fence-sc", note="over base causality"),
    _s("8.10.3", "no read has some bytes of a morally strong write and others of older ones", "cat single-copy", _TEARING),
    _s("8.10.3", "no morally strong write comes between the halves of an atomic operation", "cat atomicity"),
    _s("8.10.4", "no value out of thin air", "cat no-thin-air"),
    _s("8.10.5", "SC per location for sets of pairwise morally strong operations", "cat causality", "cat coherence",
       note="follows; tests/axioms/models/definitions.py compares"),
    _s("8.10.6", "no read from a write that it precedes in causality", "cat causality"),
    _s("8.10.6", "none from a write older than one that precedes it in causality", "cat causality"),
    _s("8.11.1", "a reduction and an acquire fence are no acquire pattern", "cat strong-read"),
)

CHAPTER_9: tuple[Sentence, ...] = (
    _s("9.7.9.1", "cache operators change no ordering", note="read and left alone, as are eviction hints and cache policies"),
    _s("9.7.9.6", "shfl.sync waits for the threads of its mask", _COLLECTIVES, note="says nothing of memory: values flow, no order"),
    _s("9.7.9.8", "ld without qualifier is weak; its effect is seen by others after synchronization only", _MEANINGS),
    _s("9.7.9.8", "ld.relaxed and ld.acquire have a scope; mmio is relaxed at system scope", _MEANINGS),
    _s("9.7.9.8", "strong loads are of global or shared memory", _MEANINGS),
    _s("9.7.9.8", "an element of a vector that goes to _ is not read", _MEANINGS),
    _s("9.7.9.9", "ld.global.nc may use a cache that is not coherent", _EVENTS, "cat other-proxy"),
    _s("9.7.9.10", "ldu reads what nobody writes meanwhile", _OBLIGATIONS),
    _s("9.7.9.11", "st without qualifier is weak; _ elements are not written", _MEANINGS),
    _s("9.7.9.12", "st.async is weak by default; its complete-tx releases at cluster scope", _ASYNC, "cat arrive"),
    _s("9.7.9.12", "st.async.release is strong and releases what its thread did before", "cat link"),
    _s("9.7.9.12", "its completion synchronizes with the end of the CTA", _KERNELS, _ASYNC),
    _s("9.7.9.12", "destination and object lie in one CTA of the cluster", _OBLIGATIONS),
    _s("9.7.9.13", "st.bulk is weak", _ASYNC),
    _s("9.7.9.14", "defaults and scopes of multimem instructions", _MULTIMEM, note="an access to each location, in no order"),
    _s("9.7.9.15", "prefetching has no effect", note="no event"),
    _s("9.7.9.17", "discard is a weak write of an unstable value", _ASYNC),
    _s("9.7.9.23", "mapa gives the same shared memory in another CTA of the cluster", _MEMORY, note="the same virtual address"),
    _s("9.7.9.25.1", "touching what a copy in flight reads or writes is undefined", "cat async"),
    _s("9.7.9.25.1.1", "groups complete in the order of their commits; nothing is ordered inside one", _ASYNC),
    _s("9.7.9.25.1.2", "threads that wait on the object see the copy", "cat done", "cat sync"),
    _s("9.7.9.25.2", "bulk copies work through the async proxy", _ASYNC),
    _s("9.7.9.25.2", "fence.proxy.async stands between that and the generic proxy", "cat enter-async", "cat leave-async"),
    _s("9.7.9.25.2", "completion is followed by an implicit fence between them", _ASYNC, "cat leave-async"),
    _s("9.7.9.25.3.1", "cp.async is weak; nothing but its mechanisms makes sure that it is complete", _ASYNC, "cat done"),
    _s("9.7.9.25.3.1", "bytes behind the size are zeros", _ASYNC),
    _s("9.7.9.25.3.2", "two copies of a group to one location are undefined", "cat async"),
    _s("9.7.9.25.3.3", "wait_group makes copies of older groups visible to the thread, and orders nothing else", _ASYNC, "cat done"),
    _s("9.7.9.25.4.1", "a bulk copy is weak; its complete-tx releases at cluster scope", _ASYNC, "cat arrive"),
    _s("9.7.9.25.4.2", "each reduction of cp.reduce.async.bulk is relaxed at GPU scope", _ASYNC, "cat unlike"),
    _s("9.7.9.25.4.3", "prefetches are weak", note="no event"),
    _s("9.7.9.25.5.2", "tensor copies read their tensor map through the tensormap proxy", "cat oneway", note="maps that are parameters or constants, which nobody writes; others are refused by name"),
    _s("9.7.9.25.6.1", "nothing is ordered between bulk copies of a group", _ASYNC),
    _s("9.7.9.25.6.2", "bulk wait_group waits for writes too, with .read for the reading of sources only", _ASYNC, "cat done"),
    _s("9.7.9.26", "tensormap.replace is a weak write of 128 bytes", note="copies by a map that a kernel wrote are refused by name"),
    _s("9.7.12.7", "exited threads are not waited for by barriers of all threads", _BARRIERS),
    _s("9.7.13.1", "sixteen barriers a CTA; counts in whole warps; reinitialised when complete", _BARRIERS),
    _s("9.7.13.1", "memory accesses before are performed for all who take part; sync and red let none after begin", "cat bars"),
    _s("9.7.13.1", "who arrives and does not wait comes back when the barrier is complete", "cat early"),
    _s("9.7.13.1", "mixing red with sync or arrive, and counts that differ, are undefined", _BARRIERS),
    _s("9.7.13.2", "bar.warp.sync orders memory among its threads", "cat bars", _BARRIERS),
    _s("9.7.13.3", "one arrival of each thread in each phase of the cluster's barrier", _BARRIERS),
    _s("9.7.13.3", "arrive releases and wait acquires by default; asynchronous operations are left out", "cat arrive", "cat await"),
    _s("9.7.13.3", "nothing is said of accesses between arrive and wait, nor of those before arrive.relaxed", "cat arrive"),
    _s("9.7.13.4", "fence orders accesses of its thread; default acq_rel; membar is fence.sc", "cat release-fences", "cat acquire-fences"),
    _s("9.7.13.4", "fence.sc makes a total order for each scope", "cat sc", _BOUNDS),
    _s("9.7.13.4", ".mbarrier_init is about prior mbarrier.init of the thread", "cat along", _FENCES),
    _s("9.7.13.4", ".sync_restrict is about objects in one space, with its own semantics", "cat along", _FENCES),
    _s("9.7.13.4", "an address and 128 bytes limit an acquire of the tensormap proxy", "cat turned", _FENCES),
    _s("9.7.13.4", "one-way proxy fences order accesses through one proxy before those through the other", "cat turned", "cat oneway"),
    _s("9.7.13.4", "two-way ones both ways, between the generic proxy and the one named", "cat leave", "cat enter"),
    _s("9.7.13.4", "limited to a state space where one is named", "cat fenced-some", _FENCES),
    _s("9.7.13.4", "a release proxy fence can synchronize with an acquire one", "cat proxy-sync"),
    _s("9.7.13.5", "atom is relaxed at GPU scope by default; a read and a dependent write", _SYNC_MEANINGS, _EVENTS),
    _s("9.7.13.5", "each element of a vector or of packed data is atomic by itself", _SYNC_MEANINGS),
    _s("9.7.13.5", "an atom with destination _ is a simple reduction", "cat silent"),
    _s("9.7.13.6", "red is relaxed at GPU scope by default, and never acquires", _SYNC_MEANINGS, "cat silent"),
    _s("9.7.13.7", "red.async is relaxed; its complete-tx releases at cluster scope", _ASYNC, "cat arrive"),
    _s("9.7.13.9-12, 14", "vote, match, activemask, redux, elect wait for threads", _COLLECTIVES, note="no order of memory"),
    _s("9.7.13.13", "griddepcontrol.wait sees all of the grid before; without it nothing is ordered", _KERNELS, "cat through-api"),
    _s("9.7.13.15", "other CTAs may arrive, and not wait", _OBLIGATIONS),
    _s("9.7.13.15", "operations on what is no valid object are undefined, so are others on one that is valid", _STATES,
       "cat initialisation", "cat overwritten"),
    _s("9.7.13.15.4", "a phase is current until it is complete; somebody waits for each", _MBARRIERS),
    _s("9.7.13.15.6", "a phase is complete when no arrivals and no transactions are pending", _STATES),
    _s("9.7.13.15.11-12", "expect_tx and complete_tx of threads are relaxed", "axioms/events/barrier_events.py"),
    _s("9.7.13.15.13", "arrive releases at CTA scope by default; relaxed orders nothing; noComplete must not complete", "cat arrive", _STATES),
    _s("9.7.13.15.14", "arrive_drop releases too", "cat arrive"),
    _s("9.7.13.15.15", "cp.async.mbarrier.arrive arrives when prior copies of its thread are complete", _ASYNC, _STATES),
    _s("9.7.13.15.16", "a wait that returns true acquires, at CTA scope by default", "cat await"),
    _s("9.7.13.15.16", "what stood before arrivals of the phase is visible, of copies too", "cat phase", "cat done"),
    _s("9.7.13.15.16", "what stands after an arrival is not visible to what stood before it", note="no relation leads there"),
    _s("9.7.13.15.16", "a wait for a phase that is over returns true; try_wait may give up before that", _STATES, "cat try-wait"),
    _s("9.7.13.15.16", "waiting for phases that are neither current nor the one before is undefined", _STATES),
    _s("9.7.13.16", "tensormap.cp_fenceproxy copies and is a one-way release", "cat turned", note="copies by a map that a kernel wrote are refused by name"),
    _s("9.7.13.17", "clusterlaunchcontrol.try_cancel writes weakly through the async proxy; every choice of who is cancelled",
       "axioms/dynamic/asynchronous/copies.py", "axioms/dynamic/several/choices.py", note="by runs of whole launches; no litmus test has clusters to come"),
    _s("9.7.14", "matrix instructions load and store weakly", note="in kernel tests, each row an access; a litmus test has no whole warps"),
    _s("9.7.15", "wgmma reads through the async proxy; its fence, commit_group and wait_group", "axioms/dynamic/asynchronous/products.py",
       "axioms/dynamic/asynchronous/fenced.py", note="by runs of whole launches: 128 threads execute it together"),
    _s("9.7.16.6.1-4", "what tcgen05 orders: pipelined pairs, commit, wait, the fences around synchronisation, canonical patterns",
       "axioms/dynamic/asynchronous/tensors.py", "axioms/dynamic/asynchronous/tensor_order.py", note="by runs of whole launches: cells of Tensor Memory are no memory that a model relates"),
    _s("9.7.16.6.5", "tcgen05.mma and tcgen05.cp read shared memory through the async proxy", "axioms/dynamic/asynchronous/tensors.py"),
    _s("9.7.19.2", "nanosleep, clocks and timers order nothing", note="no event; what they return is any value"),
)
# fmt: on


def line_of(name: str) -> int:
    """The line of ptx-9.0.cat that defines a name, or states it as an axiom or a flag."""
    import re

    lines = CAT.read_text(encoding="utf-8").split("\n")
    wanted = re.compile(rf"(?:let|let rec|and) {re.escape(name)}(?:\([\w, ]*\))? =|\bas {re.escape(name)}$")
    return next(i for i, line in enumerate(lines, 1) if wanted.search(line))


def table(sentences: tuple[Sentence, ...]) -> str:
    rows = ["| Section | What it says | Where |", "|---|---|---|"]
    for s in sentences:
        where = [_link(c) for c in s.carriers] + ([s.note] if s.note else [])
        rows.append(f"| {s.section} | {s.words} | {'; '.join(where)} |")
    return "\n".join(rows) + "\n"


def _link(carrier: str) -> str:
    kind, _, name = carrier.partition(" ")
    if kind == "cat" and name:
        return f"[`{name}`](../axioms/models/ptx-9.0.cat#L{line_of(name)})"
    return f"[{Path(carrier).name}](../{carrier})"
