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
}
OPTIONS = {**OF_MODELS, **OF_PROGRAMS}
#: How the option of a program begins that leaves out a pass: see `axioms.passes`.
WITHOUT = "without="


def of_models(options: Iterable[str]) -> frozenset[str]:
    """Those that a model is read with."""
    return frozenset(o for o in options if o not in OF_PROGRAMS and not o.startswith(WITHOUT))


def of_programs(options: Iterable[str]) -> frozenset[str]:
    """Those that a program is built with."""
    return frozenset(o for o in options if o in OF_PROGRAMS or o.startswith(WITHOUT))


def passes_off(options: Iterable[str]) -> frozenset[str]:
    """The names of the passes that are left out."""
    return frozenset(o.removeprefix(WITHOUT) for o in options if o.startswith(WITHOUT))
