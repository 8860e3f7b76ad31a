"""The decisions of the model that are options: what the manual leaves open, with the other way to read it."""

from __future__ import annotations

from collections.abc import Iterable

#: Options that the cat files ask for.
OF_MODELS = {
    "war-ok": "a write may follow a read of another proxy, or through another virtual address, without a fence between them",
    "sc-not-acqrel": "fence.sc is no release and no acquire fence",
    "sink-is-atom": "an atom whose destination is the sink _ may start an acquire pattern",
    "async-fence-any-cta": "fence.proxy.async works for accesses of the async proxy by any CTA",
    "dep=data": "control dependencies do not count",
    "bar-is-fence": "CTA barriers are fences of CTA scope too",
    "grid-end-leaves-copies": "what asynchronous operations read and wrote must have been waited for when their kernel ends",
    "mbar-chain": "a wait for a phase of an mbarrier object observes the arrivals of earlier phases too",
}
#: Options that say what a program's events are.
OF_PROGRAMS = {
    "no-tearing": "reads of at most 8 bytes, naturally aligned, never mix bytes of several writes of their size",
    "mapa-alias": "an address that mapa gives of the CTA's own shared memory is an alias",
    "completion-by-issuer": "the completion of an asynchronous operation counts as made by the thread that issued it",
    "plain=relaxed": "ld and st of litmus tests that say no semantics are relaxed.sys, not weak",
    "st-async-proxy": "st.async and red.async work through the async proxy",
    "whole-vectors": "a strong load or store of a vector of at most 16 bytes is one access, as of a scalar",
}
#: Options that say what a run of a whole launch takes from the manual, of instructions that no litmus test has. Without them
#: a test that hangs on one is left undecided, or is told by what the manual asks for in so many words.
OF_LAUNCHES = {
    "tcgen05-by-sync": "synchronization that orders other instructions orders tcgen05 operations too; tcgen05.fence is for "
    "relaxed synchronization alone",
    "tcgen05-by-fence": "tcgen05 operations come behind what is before their last tcgen05.fence::after_thread_sync alone; what "
    "they read of shared memory also behind what is before their last fence.proxy.async",
    "pair-reads-own": "with .cta_group::2 each CTA of the pair reads its own shared memory",
    "pair-reads-by-issuer": "with .cta_group::2 the CTA that issues an operation reads the shared memory of both",
    "cluster-as-cta": "for accesses of the async proxy to shared memory, and for operations on mbarrier objects that name no "
    "scope, the CTAs of a cluster count as one",
    "one-copy-a-warp": "bulk copies to global memory that threads of a warp issue by one instruction, of the same bytes to "
    "the same places, are one copy",
    "warp-sync-orders": "instructions with .sync that threads of a warp execute together order memory among them, as "
    "bar.warp.sync does",
}
#: Of those, what takes for right what the manual says in so many words is wrong, as libraries do that are in use.
LENIENT = ("cluster-as-cta", "one-copy-a-warp", "warp-sync-orders")
#: Of those of programs, what runs follow, too.
OF_RUNS = frozenset(("whole-vectors",))
OPTIONS = {**OF_MODELS, **OF_PROGRAMS, **OF_LAUNCHES}
#: Readings of one sentence, of which nobody can follow both.
CONTRARY = (("tcgen05-by-sync", "tcgen05-by-fence"), ("pair-reads-own", "pair-reads-by-issuer"))
#: How the option of a program begins that leaves out a pass: see `axioms.passes`.
WITHOUT = "without="


def of_models(options: Iterable[str]) -> frozenset[str]:
    """Those that a model is read with, and those of launches that it decides."""
    return frozenset(o for o in options if o not in OF_PROGRAMS and not o.startswith(WITHOUT))


def of_programs(options: Iterable[str]) -> frozenset[str]:
    """Those that a program is built with."""
    return frozenset(o for o in options if o in OF_PROGRAMS or o.startswith(WITHOUT))


def passes_off(options: Iterable[str]) -> frozenset[str]:
    """The names of the passes that are left out."""
    return frozenset(o.removeprefix(WITHOUT) for o in options if o.startswith(WITHOUT))
