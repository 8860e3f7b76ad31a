"""Families of litmus tests: functions that return a test of any size, in typed PTX.

Each test states the condition that the ptx-9.0 model makes true, so that its verdict is `ok`: an outcome is asked for
by `exists` where the chosen scope and semantics allow it, and by `~exists` or `forall` where they forbid it.

    >>> from litmus.families import store_buffering_ring
    >>> len(store_buffering_ring(8).threads)
    8
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getdoc, signature

from litmus.families.barriers import all_to_one_barrier
from litmus.families.chains import message_passing_chain
from litmus.families.locks import cas_lock, exchange_lock, ticket_lock
from litmus.families.rings import independent_reads, load_buffering_ring, store_buffering_ring
from litmus.test import Test

#: The families by the names that the command line knows them by.
FAMILIES: dict[str, Callable[..., Test]] = {
    "ring:sb": store_buffering_ring,
    "ring:lb": load_buffering_ring,
    "ring:iriw": independent_reads,
    "chain:mp": message_passing_chain,
    "lock:cas": cas_lock,
    "lock:exchange": exchange_lock,
    "lock:ticket": ticket_lock,
    "barrier:all-to-one": all_to_one_barrier,
}
_TRUTH = {"yes": True, "no": False}


def family(name: str, n: int, options: Mapping[str, str]) -> Test:
    """The test of size `n` of the family with this `name`. `options` are what its function takes beside that, as text: `yes`
    and `no` for what is so or not, `none` for None. Raises `ValueError` for names, sizes and options that there are not."""
    function = FAMILIES.get(name)
    if function is None:
        raise ValueError(f"'{name}' is no family: {', '.join(FAMILIES)}")
    parameters = dict(list(signature(function).parameters.items())[1:])
    given: dict[str, object] = {}
    for option, text in options.items():
        if option not in parameters:
            raise ValueError(f"{name} takes no '{option}': {', '.join(parameters)}")
        if isinstance(parameters[option].default, bool):
            if text not in _TRUTH:
                raise ValueError(f"{option} is yes or no, not '{text}'")
            given[option] = _TRUTH[text]
        else:
            given[option] = None if text == "none" and "None" in str(parameters[option].annotation) else text
    return function(n, **given)


def described(name: str) -> tuple[str, str]:
    """What a family is of, and its options with the values that they have when nothing is said: `scope=gpu relaxed=no`."""
    function = FAMILIES[name]
    options = []
    for option in list(signature(function).parameters.values())[1:]:
        value = {True: "yes", False: "no", None: "none"}.get(option.default, option.default)
        options.append(f"{option.name}={value}")
    return (getdoc(function) or "").split("\n\n")[0].replace("\n", " "), " ".join(options)


__all__ = [
    "FAMILIES",
    "all_to_one_barrier",
    "cas_lock",
    "described",
    "exchange_lock",
    "family",
    "independent_reads",
    "load_buffering_ring",
    "message_passing_chain",
    "store_buffering_ring",
    "ticket_lock",
]
