"""Families of litmus tests: functions that return a test of any size, in typed PTX.

Each test states the condition that the ptx-9.0 model makes true, so that its verdict is `ok`: an outcome is asked for
by `exists` where the chosen scope and semantics allow it, and by `~exists` or `forall` where they forbid it.

    >>> from litmus.families import store_buffering_ring
    >>> len(store_buffering_ring(8).threads)
    8
"""

from __future__ import annotations

from litmus.families.barriers import all_to_one_barrier
from litmus.families.chains import message_passing_chain
from litmus.families.locks import cas_lock, exchange_lock, ticket_lock
from litmus.families.rings import independent_reads, load_buffering_ring, store_buffering_ring

__all__ = [
    "all_to_one_barrier",
    "cas_lock",
    "exchange_lock",
    "independent_reads",
    "load_buffering_ring",
    "message_passing_chain",
    "store_buffering_ring",
    "ticket_lock",
]
