"""What is said of launches in which whoever comes last goes on."""

from __future__ import annotations


def by_climbs(runs: int, threads: int, accesses: int, counters: int, place: str) -> str:
    """The note of a test that runs decide in which other threads come last: how many counters there are, and where they
    count."""
    stands = "one run of" if runs == 1 else f"{runs:,} runs of"
    verb = "stands" if runs == 1 else "stand"
    each = "the counter" if counters == 1 else f"each of {counters:,} counters"
    return (
        f"{stands} all {threads:,} threads {verb} for all executions, whoever comes last to {each} ({place}): it goes on "
        f"alike, behind all that came there, and the others are done; program order and barriers order every other pair of "
        f"a run's {accesses:,} accesses that conflict, but morally strong writes that commute"
    )
