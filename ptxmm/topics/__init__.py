"""Pages that `ptxmm explain` prints: mistakes, races, axioms, verdicts and classic shapes, a file each.

A page begins `# NAME: TITLE`. A block of a litmus test says behind `litmus` which verdict `ptxmm check` gives, perhaps an axiom
that forbids its outcome; a block of PTX which warning or error `ptxmm lint` gives. Tests hold both to that.
May import the standard library.
"""

from __future__ import annotations

import os

_FOLDER = os.path.dirname(__file__)

#: The topics by kind, in the order in which they are listed.
KINDS = {
    "to begin with": "message-passing store-buffering load-buffering iriw write-read-causality lock",
    "verdicts": "ok no bounded undecided undefined error",
    "checks and findings": "condition forall exists never race-free no-deadlock terminates no-trap assertions expectation "
    "assumption deadlock livelock",
    "races": "data-race mixed-size-race proxy-race async-race initialisation-race war-race",
    "misuse": "overwritten early unfinished exited freed unset barrier-misuse",
    "relations": "po rf co fr rmw sync cause dependency issue stream",
    "words": "strong weak relaxed morally-strong scope release-pattern acquire-pattern observation proxy fence "
    "barrier mbarrier progress",
    "axioms": "causality coherence coherence-total fence-sc atomicity single-copy no-thin-air mbarrier-order try-wait",
    "warnings of lint": "later-version relaxed-spin relaxed-release weak-spin volatile-synchronization weak-atomic "
    "cta-scope-global narrow-fence membar divergent-barrier missing-proxy-fence unfenced-mbarrier-init "
    "unawaited-write",
    "errors of lint": "encoding syntax header version target directive declaration function initialiser alignment redeclared "
    "undeclared label unknown-instruction unknown-modifier modifiers operands value call debugging",
}
#: Other names of topics.
ALSO = {
    "mp": "message-passing",
    "sb": "store-buffering",
    "dekker": "store-buffering",
    "lb": "load-buffering",
    "wrc": "write-read-causality",
    "multi-copy-atomicity": "iriw",
    "cumulativity": "write-read-causality",
    "program-order": "po",
    "reads-from": "rf",
    "coherence-order": "co",
    "from-reads": "fr",
    "synchronizes": "sync",
    "causality-order": "cause",
    "ms": "morally-strong",
    "release": "release-pattern",
    "acquire": "acquire-pattern",
    "fences": "fence",
    "threadfence": "fence",
    "syncthreads": "barrier",
    "mutex": "lock",
    "spin-lock": "lock",
    "volatile": "volatile-synchronization",
    "atomic": "atomicity",
    "atomics": "atomicity",
    "async": "async-race",
    "tma": "mbarrier",
    "initialisation": "initialisation-race",
    "obs": "observation",
    "addr": "dependency",
    "data": "dependency",
    "ctrl": "dependency",
    "comp": "issue",
    "api": "stream",
    "mbrf": "mbarrier",
    "mbo": "mbarrier-order",
    "syncbar": "barrier",
    "sync-barrier": "barrier",
    "sc": "fence-sc",
    "why": "no",
    "race": "data-race",
    "races": "race-free",
    "~exists": "condition",
    "out-of-thin-air": "no-thin-air",
    "torn": "single-copy",
}


def names() -> list[str]:
    """The topics, by name."""
    return sorted(name.removesuffix(".md") for name in os.listdir(_FOLDER) if name.endswith(".md"))


def topic_of(words: str) -> str | None:
    """The topic that is meant by a name, in upper case or lower, with `_`, dots or blanks for `-`; None where there is none."""
    name = words.lower().strip("_").translate(str.maketrans("_. ", "---"))
    name = ALSO.get(name, name)
    return name if name in names() else None


def text_of(name: str) -> str:
    """The page of a topic. Raises OSError where there is none."""
    with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def title_of(name: str) -> str:
    """What a topic is about, in a line."""
    return text_of(name).partition("\n")[0].partition(": ")[2]
