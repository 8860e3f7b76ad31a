"""Options of herdtools7 that somebody types here by habit, and what does the same."""

from __future__ import annotations

from collections.abc import Sequence

#: By the option of herdtools7.
HERE = {
    "-model": "--model",
    "-conds": "--conds",
    "-kinds": "--kinds",
    "-unroll": "--unroll",
    "-timeout": "--timeout",
    "-show": "--svg DIR or --dot DIR, and --executions all",
    "-doshow": "'show R' in the model",
    "-through": "a model less axioms, as in --model ptx-9.0/-causality",
    "-skipcheck": "a model less an axiom, as in --model ptx-9.0/-causality",
    "-skipchecks": "a model less axioms, as in --model ptx-9.0/-causality",
    "-libdir": "-I DIR",
    "-gv": "--svg DIR",
    "-evince": "--svg DIR",
    "-safe": "--edges LIST",
    "-relax": "--relax LIST",
    "-size": "--size 1..N",
    "-exact": "--size N",
    "-nprocs": "--threads N",
    "-eprocs": "--threads N..N",
    "-ins": "--inner N",
    "-mode": "--mode",
    "-cumul": "--no-cumul",
    "-oneloc": "--one-location",
    "-scopes": "--places WHERE",
    "-diyone": "--diyone",
    "-map": "--map FILE",
    "-arch": "nothing: programs are PTX",
    "-bell": "nothing: programs are PTX",
}


def instead(words: Sequence[str]) -> str:
    """What to type for those of the words that are options of herdtools7, as the end of a message; nothing where none is."""
    known = [word for word in dict.fromkeys(words) if word in HERE]
    return "".join(f"; in place of {word}: {HERE[word]}" for word in known)
