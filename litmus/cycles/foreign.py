"""Edges of diy7 for other architectures: what is right for PTX in their place."""

from __future__ import annotations

import re

#: Fences, as diy7 names them before `s` or `d`, and the fence of PTX that is nearest.
_FENCES = {
    "sc": "MFence|Sync|DMB|DMB\\.SY|DMB\\.ISH|DSB|DSB\\.SY|DSB\\.ISH|Fence\\.rw\\.rw|Sync\\.?0|FenceSc",
    "acq_rel": "LwSync|Eieio|Fence\\.tso|Fence\\.r?w?\\.r?w?|D[MS]B\\.(?:ISH)?(?:LD|ST)|SFence|LFence",
}
_FENCE = [(sem, re.compile(f"(?:{names})(?P<ends>[sd][RW*][RW*])")) for sem, names in _FENCES.items()]
#: What is said of an event by the letters of AArch64 and C: plain, acquire, release, an exclusive or atomic access, relaxed.
_LETTERS = {
    "P": "_",
    "A": "acq.gpu",
    "Q": "acq.gpu",
    "L": "rel.gpu",
    "X": "atom",
    "Acq": "acq.gpu",
    "Rel": "rel.gpu",
    "Rlx": "rlx.gpu",
}
_LETTER = "|".join(sorted(_LETTERS, key=len, reverse=True))
_ANNOTATED = re.compile(
    "(?P<edge>(?:Po[sd]|Fenced|Fences)[RW*]{2}|Dp(?:Addr|Data|Ctrl)[sd][RW*]|(?:Rf|Fr|Co|Ws)[ei])"
    f"(?P<first>{_LETTER})(?P<last>{_LETTER})?"
)
_INSTRUCTION_FENCE = re.compile("(?:DpCtrl|Ctrl)(?:Isb|Isync|IFence|FenceI|Fencei)|(?:ISB|ISync|FenceI)(?=[sd])")
_ATOMIC = re.compile(r"Amo\b|Amo\.|LrSc|Exch|LdAdd|Swp|Cas\b")


def instead(word: str) -> str | None:
    """What to write for PTX in the place of a word that is an edge of diy7 elsewhere; None where it is none that is known."""
    for sem, form in _FENCE:
        found = form.fullmatch(word)
        if found:
            return f"fences of PTX have an order and a scope, as in Fence.{sem}.gpu{found['ends']}"
    annotated = _ANNOTATED.fullmatch(word)
    if annotated:
        first = _LETTERS[annotated["first"]]
        last = _LETTERS[annotated["last"] or annotated["first"]]
        return f"what is said of events stands behind dots, source and target: {annotated['edge']}.{first}.{last}"
    if _INSTRUCTION_FENCE.match(word):
        return "PTX has no instruction fence: DpCtrldR alone, or Fence.acquire.gpudRR"
    if _ATOMIC.match(word):
        return "an atomic operation is Rmw, from its read to its write, or .atom behind another edge"
    if word == "Hat":
        return "it is Fre Rfe, with the write of both"
    return None
