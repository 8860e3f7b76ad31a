"""The options that say which cycles are looked for, for every command that takes tests from cycles."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from litmus.cycles.search import MODES, refuse_mode

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


_MODE_HELP = "which edges may follow each other (default: %(default)s)"


def mode(text: str) -> str:
    """A mode, by its name."""
    try:
        refuse_mode(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


#: Where it is noted which options stood on the command line.
_GIVEN = "cycle_options_given"


class _Noted(argparse.Action):
    """Stores a value, and notes that its option was given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, self.const if self.nargs == 0 else values)
        setattr(namespace, _GIVEN, (*getattr(namespace, _GIVEN, ()), self.option_strings[0]))


def add_cycle_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--edges`, `--size`, `--threads`, `--places`, `--mode`, `--inner`, `--events`, `--no-cumul`, `--relax` and
    `--one-location`."""
    group = parser.add_argument_group("tests from cycles", "See docs/generate.md.")
    group.add_argument(
        "--edges", metavar="LIST", help="all cycles of these edges, as in 'Pod**,Rfe,Fre,Coe,Fence.sc.*'"
    )

    def noted(name: str, **how: Any) -> None:
        group.add_argument(name, action=_Noted, **how)

    noted("--size", type=number_range, default=(1, 6), metavar="N|N..M", help="so many edges (default: 1..6)")
    noted("--threads", type=_threads, default=(1, 4), metavar="N|N..M", help="at most so many threads (default: 4)")
    noted(
        "--places",
        default="",
        metavar="WHERE",
        help="where threads stand: gpu, cta, cluster, sys, all, or as in 01-2 (default: apart on one GPU)",
    )
    noted("--mode", type=mode, default="sc", metavar=f"{{{','.join(MODES)}}}", help=_MODE_HELP)
    noted(
        "--inner", type=int, default=4, metavar="N", help="at most so many accesses in a thread (default: %(default)s)"
    )
    noted("--events", default="", metavar="ORDER", help="what events are that no edge tells of, as in weak")
    noted("--no-cumul", nargs=0, const=True, default=False, help="no fence next to an Rf")
    noted("--relax", default="", metavar="LIST", help="in each cycle one of these edges, too, and no other of these")
    noted("--one-location", nargs=0, const=True, default=False, help="also cycles with all accesses at one location")


def given(options: argparse.Namespace) -> tuple[str, ...]:
    """The options of cycles that stand on the command line."""
    names: tuple[str, ...] = getattr(options, _GIVEN, ())
    return names


def refuse_idle(options: argparse.Namespace, what: str, taken: Collection[str] = ()) -> None:
    """Raises ValueError for the first option on the command line that has no effect on `what`: all but those that it takes."""
    for name in given(options):
        if name not in taken:
            raise ValueError(f"{name} bounds the cycles of --edges, and has no effect on {what}")


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
        relaxed=options.relax,
    )
