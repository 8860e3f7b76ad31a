"""The options that say which cycles are looked for, for every command that takes tests from cycles."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from litmus.cycles.search import MODES

if TYPE_CHECKING:
    from litmus.test import Test


def number_range(text: str) -> tuple[int, int]:
    """`4..6`, or `4` for `4..4`."""
    first, dots, last = text.partition("..")
    try:
        least, most = int(first), int(last if dots else first)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number or a range such as 4..6 is needed, not '{text}'") from None
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(f"numbers from 1 on are needed, the lesser first, not '{text}'")
    return least, most


def _threads(text: str) -> tuple[int, int]:
    least, most = number_range(text)
    return (least, most) if ".." in text else (1, most)


def add_cycle_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--edges`, `--size`, `--threads`, `--places`, `--mode`, `--inner`, `--events`, `--no-cumul` and `--one-location`."""
    group = parser.add_argument_group("tests from cycles", "See docs/generate.md.")
    group.add_argument(
        "--edges", metavar="LIST", help="all cycles of these edges, as in 'Pod**,Rfe,Fre,Coe,Fence.sc.*'"
    )
    group.add_argument(
        "--size", type=number_range, default=(1, 6), metavar="N|N..M", help="so many edges (default: 1..6)"
    )
    group.add_argument(
        "--threads", type=_threads, default=(1, 4), metavar="N|N..M", help="at most so many threads (default: 4)"
    )
    group.add_argument(
        "--places",
        default="",
        metavar="WHERE",
        help="where threads stand: gpu, cta, cluster, sys, all, or as in 01-2 (default: apart on one GPU)",
    )
    group.add_argument(
        "--mode", choices=MODES, default="sc", help="which edges may follow each other (default: %(default)s)"
    )
    group.add_argument(
        "--inner", type=int, default=4, metavar="N", help="at most so many accesses in a thread (default: %(default)s)"
    )
    group.add_argument(
        "--events", default="", metavar="ORDER", help="what events are that no edge tells of, as in weak"
    )
    group.add_argument("--no-cumul", action="store_true", help="no fence next to an Rf")
    group.add_argument("--one-location", action="store_true", help="also cycles with all accesses at one location")


def cycle_tests(options: argparse.Namespace) -> Iterator[Test]:
    """The tests that these options ask for, lazily. Raises InputError and ValueError as `litmus.cycles.enumerate` does."""
    from litmus.cycles import enumerate as every

    return every(
        options.edges,
        size=options.size,
        threads=options.threads,
        places=options.places,
        mode=options.mode,
        inner=options.inner,
        events=options.events,
        cumulative=not options.no_cumul,
        one_location=options.one_location,
    )
