"""The sets and relations that every cat file may use without defining them: one table, for the engine and for the docs."""

from __future__ import annotations

from ptxcore.records import NamedTuple


class BaseName(NamedTuple):
    """`kind` is `set` or `relation`; `meaning` is the sentence that the documentation shows."""

    kind: str
    meaning: str
    transitive: bool = False
    symmetric: bool = False


_SET = "set"
_REL = "relation"

BASE: dict[str, BaseName] = {
    "_": BaseName(_SET, "every event that is executed"),
    "R": BaseName(_SET, "reads"),
    "W": BaseName(_SET, "writes, the initial ones included"),
    "M": BaseName(_SET, "memory events: `R | W`"),
    "F": BaseName(_SET, "fences, proxy fences included"),
    "IW": BaseName(_SET, "initial writes"),
    "FINAL": BaseName(_SET, "writes of the locations whose final values the test looks at"),
    "UNSET": BaseName(
        _SET, "those of memory that may hold anything at first: shared memory of kernels, and what `malloc` gives"
    ),
    "FOREIGN": BaseName(
        _SET,
        "what kernels do to shared memory that ends with its CTA: that of another CTA, operations on mbarrier objects too, and "
        "by asynchronous operations also their own",
    ),
    "SHARED": BaseName(_SET, "what asynchronous operations read and write of shared memory"),
    "RMW": BaseName(_SET, "both halves of atomic operations (`atom`, `red`)"),
    "RED": BaseName(_SET, "both halves of reductions: `red`, and `atom` whose destination is the sink `_`"),
    "SINK": BaseName(_SET, "both halves of an `atom` whose destination is the sink `_`"),
    "TORN": BaseName(_SET, "reads whose bytes may come from different writes"),
    "BA": BaseName(_SET, "arrivals at a barrier of a CTA or of a warp"),
    "BW": BaseName(_SET, "waits at a barrier of a CTA or of a warp (a `sync` or `red` is an arrival and then a wait)"),
    "MB": BaseName(_SET, "operations on mbarrier objects and on cluster barriers; they are no memory events"),
    "MA": BaseName(
        _SET,
        "what an mbarrier object or a cluster barrier counts: arrivals, and completions of transactions; in `REL` or `RLX`",
    ),
    "MW": BaseName(_SET, "waits for a phase of an mbarrier object that returned true; in `ACQ` or `RLX`"),
    "REFUSED": BaseName(_SET, "`try_wait` that returned false: the phase was not over, or it did not wait for that"),
    "MBINIT": BaseName(_SET, "`mbarrier.init`, `mbarrier.inval` and `fence.mbarrier_init`"),
    "INVAL": BaseName(_SET, "`mbarrier.inval`"),
    "I": BaseName(_SET, "asynchronous instructions where they are issued, in program order"),
    "CW": BaseName(_SET, "waits for groups of asynchronous copies"),
    "ASY": BaseName(_SET, "events of asynchronous operations, which are in no program order"),
    "KS": BaseName(_SET, "starts of kernels"),
    "KE": BaseName(_SET, "ends of kernels"),
    "HOST": BaseName(_SET, "what host threads do to kernels: launches, and waits for them"),
    "WEAK": BaseName(_SET, "weak memory events"),
    "RLX": BaseName(_SET, "relaxed memory events (volatile and mmio accesses are relaxed at system scope)"),
    "ACQ": BaseName(_SET, "acquire reads, and acquire fences"),
    "REL": BaseName(_SET, "release writes, and release fences"),
    "ACQ_REL": BaseName(_SET, "acquire-release fences (never a memory event)"),
    "SC": BaseName(_SET, "sequentially consistent fences (not in `ACQ_REL`)"),
    "CTA": BaseName(_SET, "strong events of CTA scope"),
    "CLUSTER": BaseName(_SET, "strong events of cluster scope"),
    "GPU": BaseName(_SET, "strong events of GPU scope"),
    "SYS": BaseName(_SET, "strong events of system scope"),
    "RESTRICT": BaseName(
        _SET,
        "fences that are about some operations only (`.mbarrier_init`, `.sync_restrict`, proxy fences of one state space or "
        "with an address): see `covers`",
    ),
    "GEN": BaseName(_SET, "the generic proxy: its memory events, its proxy fences, and ordinary fences"),
    "SUR": BaseName(_SET, "the surface proxy: its memory events and its proxy fences"),
    "TEX": BaseName(_SET, "the texture proxy (`ld.global.nc` too): its memory events and its proxy fences"),
    "CON": BaseName(_SET, "the constant proxy: its memory events and its proxy fences"),
    "ASYNC": BaseName(_SET, "the async proxy: its memory events, its proxy fences, and those that completions imply"),
    "TMAP": BaseName(_SET, "the tensormap proxy: its memory events and its proxy fences"),
    "NONGEN": BaseName(_SET, "memory events of threads through another proxy than the generic one"),
    "ONEWAY": BaseName(_SET, "proxy fences that work in one direction; in `REL` or `ACQ`"),
    "ALIAS": BaseName(_SET, "alias proxy fences"),
    "id": BaseName(_REL, "every event with itself", transitive=True, symmetric=True),
    "po": BaseName(_REL, "program order", transitive=True),
    "int": BaseName(_REL, "both events in one thread", transitive=True, symmetric=True),
    "ext": BaseName(
        _REL,
        "events of different threads; an initial write is in no thread, and in `ext` with all but initial writes",
        symmetric=True,
    ),
    "loc": BaseName(_REL, "memory events that share a byte of physical memory", symmetric=True),
    "vloc": BaseName(_REL, "memory events at one virtual address: they overlap there", symmetric=True),
    "cov": BaseName(
        _REL, "memory events that overlap completely: one virtual address, one size", transitive=True, symmetric=True
    ),
    "mixed": BaseName(
        _REL,
        "memory events that overlap at one virtual address, but not completely; initial writes overlap nothing in that way",
        symmetric=True,
    ),
    "alias": BaseName(_REL, "memory events that share a byte at different virtual addresses", symmetric=True),
    "po-loc": BaseName(_REL, "`po & loc`", transitive=True),
    "rf": BaseName(_REL, "reads-from: the write whose value a read returns"),
    "co": BaseName(
        _REL, "coherence: a strict partial order on the writes of each location, initial write first", transitive=True
    ),
    "fr": BaseName(
        _REL, "from-reads, byte by byte: from a read of some byte to the writes of it that follow in coherence"
    ),
    "rmw": BaseName(_REL, "from the read of an atomic operation to its write"),
    "addr": BaseName(_REL, "address dependency, from a read"),
    "data": BaseName(_REL, "data dependency, from a read to a write that stores what was computed from it"),
    "ctrl": BaseName(
        _REL,
        "control dependency, from a read to everything after a branch on it, or guarded by it, and to what is after a wait at "
        "a barrier that is over because the thread has ended",
    ),
    "sr": BaseName(_REL, "both events carry a scope, and each scope takes in the other's thread", symmetric=True),
    "scta": BaseName(_REL, "both events in threads of one CTA", transitive=True, symmetric=True),
    "syncbar": BaseName(_REL, "from each arrival at a CTA barrier to each wait of the same barrier instance"),
    "again": BaseName(
        _REL,
        "from each arrival at a CTA barrier to the next one there of a thread that arrived in the same instance, but did not "
        "wait",
    ),
    "mbo": BaseName(_REL, "the order of operations and waits on one mbarrier object or cluster barrier"),
    "mbrf": BaseName(_REL, "from each arrival to each wait for the phase that it counted in"),
    "denied": BaseName(
        _REL,
        "from the operation with which a phase of an mbarrier object was over to each `try_wait` for it that took place later, "
        "and returned false all the same",
    ),
    "object": BaseName(_REL, "from `MBINIT` events to the memory events that access bytes of their object"),
    "issue": BaseName(_REL, "from an asynchronous instruction to the events of its operation"),
    "comp": BaseName(
        _REL,
        "completion of an asynchronous operation: from its reads to its writes to what tells of it (`MA`, `CW`, `KE`)",
    ),
    "api": BaseName(_REL, "what starts and ends of kernels, streams, events and host calls order (8.9.4)"),
    "covers": BaseName(
        _REL,
        "from a fence in `RESTRICT` to the memory events and the `MBINIT` events that it is about, by state space and address",
    ),
    "group": BaseName(_REL, "events of one instruction that no order relates: elements of a vector", symmetric=True),
    "owner": BaseName(
        _REL,
        "from a kernel's access to shared memory, in `FOREIGN`, to what the threads of the CTA do whose memory it is",
    ),
    "freed": BaseName(
        _REL,
        "from a call of `free` to the memory events that access what it takes back, and to other such calls",
    ),
    "sync_barrier": BaseName(_REL, "older name of `syncbar & scta`"),
    "sync_fence": BaseName(
        _REL,
        "a strict order on `fence.sc` events that relates every pair in `sr`; other pairs it may relate",
        transitive=True,
    ),
}
