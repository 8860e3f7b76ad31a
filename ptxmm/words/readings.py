"""Other readings of the manual under which something is right, in words."""

from __future__ import annotations

from collections.abc import Sequence

#: Why two accesses race by the letter that libraries take to be in order, and the reading that follows them.
_BY_THE_LETTER = {
    "cluster-as-cta": "an order within one proxy is one of one CTA (section 8.9.5), and these are of two",
    "one-copy-a-warp": "each of the threads of a warp that executes this issues a copy of its own",
}
_FOLLOWING = {
    "cluster-as-cta": "takes the CTAs of a cluster for one there, as CUTLASS does",
    "one-copy-a-warp": "takes them for one copy, as CUTLASS does",
}


def by_the_letter(reading: str) -> str:
    """What is said of a race that there is not under a reading; nothing without one."""
    if reading not in _FOLLOWING:
        return ""
    return f" ({_BY_THE_LETTER[reading]}; --{reading} {_FOLLOWING[reading]})"


def _options(readings: Sequence[str]) -> str:
    return " ".join(f"--{reading}" for reading in readings)


def under_readings(found: Sequence[tuple[Sequence[str], str]]) -> str:
    """What a test is under each of several readings, which were tried."""
    return "tried: " + ", ".join(f"{verdict} with {_options(readings)}" for readings, verdict in found)


def under_them_all(readings: Sequence[Sequence[str]]) -> str:
    """The note of a test that is wrong under every reading of what the manual leaves open, of which the first is told."""
    *more, last = map(_options, readings)
    return f"wrong under each reading of the manual that was tried: {', '.join(more)} and {last}; told with the first"


def of_runs_alone(reading: str) -> str:
    """Why a litmus test is not decided under a reading."""
    return f"--{reading} is a reading that runs of kernels alone follow: a litmus test is decided without it"
