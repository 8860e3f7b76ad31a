"""What became of a check, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from ptxmm.result import ASSERTIONS, Checked

_FOUND = {
    "no_deadlock": "a deadlock",
    "terminates": "a thread that does not terminate",
    "no_trap": "a trap",
    ASSERTIONS: "an assertion that fails",
}


#: So many elements of an outcome say what is wrong with it.
_MOST_ELEMENTS = 8


def state_of(state: Mapping[str, int]) -> str:
    """`x[0] = 1, x[1] = 0`, and how many more there are where there are many."""
    shown = [f"{name} = {value}" for name, value in islice(state.items(), _MOST_ELEMENTS)]
    more = [f"and {len(state) - len(shown):,} more"] if len(state) > len(shown) else []
    return ", ".join([*shown, *more]) or "an outcome"


def broken(checked: Checked, state: Mapping[str, int]) -> str:
    """An outcome is not as it must be; `state` is what of it says so."""
    what = "does not hold" if checked.kind == "forall" else "happens"
    return f"{checked.text} {what}: {state_of(state)}"


def kept(names: Sequence[str]) -> str:
    """What some locations keep at the end is written at one place."""
    shown, more = names[:_MOST_ELEMENTS], len(names) - _MOST_ELEMENTS
    keep = "keeps" if len(names) == 1 else "keep"
    return f"{', '.join(shown)}{f' and {more:,} more' * (more > 0)} {keep} what is written here"


def nothing_to_compare(why: str) -> str:
    """Nothing says what a check of one result for all executions is to compare them with."""
    return f"'deterministic' has nothing to compare with: {why}"


def unsatisfied(checked: Checked) -> str:
    """No outcome is as one must be."""
    return f"{checked.text} does not hold: no outcome satisfies it"


def counted(checked: Checked, positive: int, negative: int, *, all_listed: bool) -> str:
    """So many outcomes satisfy the condition of a litmus test, which does not hold."""
    least = "" if all_listed else "at least "
    return f"{checked.text} does not hold: {least}{positive} of {least}{positive + negative} outcomes satisfy it"


def raced(count: int) -> str:
    return f"{count} race{'s' * (count != 1)} found"


def raceless(checked: Checked) -> str:
    """There should be a race."""
    return f"{checked.text}, but there is no race"


def goes_on(checked: Checked) -> str:
    """There should be an execution that does not end as it should."""
    return f"{checked.text}, but there is no execution with {_FOUND[checked.kind]}"


def no_execution_ends(checked: Checked, waits: str = "") -> str:
    """No execution ends: in one of them, somebody waits so."""
    return f"{checked.text} does not hold: no execution ends{'; ' if waits else ''}{waits}"


def open_for(checked: Checked, why: str) -> str:
    """What one check asks for has no meaning."""
    return f"{checked.text}: {why}"


def without_meaning(waits: str, why: str) -> str:
    """Somebody does not terminate, in an execution that is undefined."""
    return f"{waits}; but the behaviour of that execution is undefined: {why}"
