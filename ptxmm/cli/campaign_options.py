"""What can be said to `ptxmm campaign`."""

from __future__ import annotations

import argparse
from typing import Any

from ptxmm.cli import options as shared
from ptxmm.cli.options import TIME, file_name, seconds


class _Intermixed(shared.OptionParser):
    """Takes what is no option wherever it stands: before options, between and behind them."""

    _inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._inside:  # which is how it is done
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from litmus.test import PROPERTIES
    from ptxmm.campaigns import RETRIES
    from ptxmm.cli.cycles import add_cycle_options

    usual, commands._parser_class = commands._parser_class, _Intermixed
    campaign = shared.command(
        commands,
        "campaign",
        "decide many tests under several models, into a database",
        "Decides litmus tests under each model and keeps what comes out in DATABASE, an SQLite file. What is in it "
        "is not decided again, so the same command goes on where it ended, whatever ended it. --report tells what the last "
        "command came to.",
        "0 every test has a whole answer, whatever it is; 2 bad input or usage, or an error in a test; 3 something is "
        "undecided, bounded, or not decided yet; 130 interrupted",
        "ptxmm campaign runs.db tests --model ptx-7.5 --model ptx-9.0",
        "ptxmm campaign runs.db --edges 'Pod**,Rfe,Fre,Coe,Fence.sc.*' --size 4 --places all",
        "ptxmm campaign runs.db --report --html runs.html",
        "ptxmm campaign runs.db tests --dask tcp://10.0.0.1:8786",
    )
    commands._parser_class = usual
    campaign.add_argument("database", metavar="DATABASE", help="an SQLite file, which is made where there is none")
    campaign.add_argument("paths", nargs="*", metavar="PATH", help="a litmus test, a folder, or @list")
    campaign.add_argument(
        "--model",
        dest="models",
        action="append",
        metavar="NAME|FILE.cat",
        help="a memory model; may be given several times (default: ptx-9.0)",
    )
    shared.add_folders(campaign)
    who = campaign.add_mutually_exclusive_group()
    who.add_argument(
        "--jobs", type=shared.positive_number, metavar="N", help="processes (default: one for each processor)"
    )
    who.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster, whose workers decide")
    campaign.add_argument("--timeout", type=seconds, metavar=TIME, help="for each test under each model")
    campaign.add_argument(
        "--unroll",
        type=shared.positive_number,
        default=4,
        metavar="N",
        help="a loop body executes at most N times (default: %(default)s)",
    )
    campaign.add_argument("--engine", choices=("solve", "enumerate"), default="solve", help="default: %(default)s")
    campaign.add_argument("--backend", choices=("z3", "sat"), help="force a solver (default: the faster one)")
    campaign.add_argument("--all-registers", action="store_true", help="states list every register that a test names")
    campaign.add_argument("--races", action="store_true", help="search for races of every kind; one fails the test")
    campaign.add_argument(
        "--check", action="append", default=[], choices=PROPERTIES, metavar="NAME", help="check this of every test, too"
    )
    campaign.add_argument("--bounded-ok", action="store_true", help="exit with 0 also where answers are bounded")
    campaign.add_argument(
        "--retry",
        choices=RETRIES,
        default="error",
        help="which tests of the database to decide again: those with errors, or with errors or undecided ones, or none "
        "(default: %(default)s)",
    )
    campaign.add_argument("--report", action="store_true", help="decide nothing; tell what the last command came to")
    campaign.add_argument(
        "--html", type=file_name, metavar="FILE", help="write the report there, too, as a page with every test"
    )
    add_cycle_options(campaign)
    campaign.add_argument(
        "--limit", type=shared.positive_number, metavar="N", help="of these cycles, the first N tests"
    )
    shared.add_readings(campaign)
