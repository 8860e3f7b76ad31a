"""What the lines and boxes of a picture mean, in words: its legend, and what is read out in place of a line."""

from __future__ import annotations

#: Relations: what the legend says of each; another that a model shows is told by its name alone.
LINES = {
    "po": "program order",
    "rmw": "read and write of one atomic",
    "rf": "the value is read from there",
    "co": "written before",
    "fr": "read before that write",
    "sync": "synchronizes with",
    "barrier": "meet at a barrier",
    "syncbar": "meet at a barrier",
    "sync_barrier": "meet at a barrier",
    "sc": "order of fence.sc",
    "cause": "happens before (causality)",
    "causality": "happens before (causality)",
    "mbrf": "the phase that a wait sees",
    "mbo": "order of operations on an mbarrier",
    "issue": "starts what runs asynchronously",
    "comp": "completes",
    "api": "order of kernels and copies of a stream",
    "obs": "observes",
    "addr": "address depends on",
    "data": "value depends on",
    "ctrl": "executed or not depends on",
    "why": "the reason of the verdict",
    "race": "nothing orders the two",
}

#: Boxes, by their kinds.
BOXES = {
    "I": "initial value",
    "R": "load",
    "W": "store",
    "A": "atomic: reads and writes at once",
    "F": "fence",
    "B": "barrier",
    "M": "mbarrier",
    "C": "starts an asynchronous operation",
    "S": "goes no further",
}

#: What stands around boxes that the verdict speaks of.
TOLD = "what the verdict speaks of"


def line_words(relation: str) -> str:
    """`rf: the value is read from there`"""
    return f"{relation}: {LINES[relation]}" if relation in LINES else relation
