"""What can be said of `ptxmm check`."""

from __future__ import annotations

import argparse

from litmus.test import PROPERTIES
from ptxmm.cli.kernel_options import add_kernel, add_parts
from ptxmm.cli.options import (
    FORMATS,
    TIME,
    Commands,
    add_folders,
    add_readings,
    command,
    file_name,
    positive_number,
    progress,
    seconds,
)


def add(commands: Commands) -> None:
    """The command `check`."""
    check = command(
        commands,
        "check",
        "decide litmus tests and kernel tests",
        "Decides litmus tests (*.litmus) and kernel tests (*.toml): which outcomes a memory model allows, and "
        "whether what the test says of them holds.",
        "0 every test answers as it says it should; 1 at least one does not; 2 bad input or usage; "
        "3 nothing failed but something stayed undecided, or holds only within the bounds of loops; 130 interrupted",
        "ptxmm check mp.litmus                    one test, with its outcomes",
        "ptxmm check tests --format junit         all tests below a folder, for a CI system",
        "ptxmm check lock.toml:weak --svg graphs  one variant of a kernel test, with pictures",
        "ptxmm check lock.cu --grid 2 --block 1 --arg lock=u32[1] --arg n=u32[1] --forall 'n[0] == 2'",
    )
    check.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a file, FILE.toml:NAME, a folder, @list, library:NAME, or -; a FILE.cu or FILE.ptx",
    )
    check.add_argument(
        "--model", default="ptx-9.0", metavar="NAME|FILE.cat", help="the memory model (default: %(default)s)"
    )
    add_folders(check)
    check.add_argument("--format", choices=FORMATS, default="text", help="default: %(default)s")
    check.add_argument(
        "--kinds",
        action="append",
        default=[],
        type=file_name,
        metavar="FILE",
        help="change what is asked of tests: lines 'NAME Allow|Forbid|Require'; may be given several times, as --conds",
    )
    check.add_argument(
        "--conds",
        action="append",
        default=[],
        type=file_name,
        metavar="FILE",
        help="likewise: lines 'NAME \"CONDITION\"'",
    )
    check.add_argument("--junit", type=file_name, metavar="FILE", help="also write a report there, as JUnit XML")
    check.add_argument("--sarif", type=file_name, metavar="FILE", help="also write a report there, as SARIF")
    check.add_argument(
        "--html", type=file_name, metavar="DIR", help="also write pages there, with pictures: open index.html"
    )
    check.add_argument("--baseline", type=file_name, metavar="FILE", help="known findings, which do not fail")
    check.add_argument(
        "--write-baseline", type=file_name, metavar="FILE", help="write the findings of this run there, as known ones"
    )
    check.add_argument(
        "--all", action="store_true", help="text leaves out nothing: every step, race and outcome (default: what fits)"
    )
    check.add_argument("--svg", type=file_name, metavar="DIR", help="write a graph for each witness there, as SVG")
    check.add_argument(
        "--svg-engine",
        choices=("own", "dot"),
        default="own",
        help="who lays out what --svg writes (default: %(default)s)",
    )
    check.add_argument("--dot", type=file_name, metavar="DIR", help="likewise, as DOT")
    check.add_argument("--tikz", type=file_name, metavar="DIR", help="likewise, as LaTeX documents with a TikZ picture")
    check.add_argument("--draw", action="store_true", help="draw each witness on the terminal, below what text says")
    check.add_argument(
        "--show",
        action="append",
        default=[],
        metavar="EXPR",
        help="graphs, --executions and their json show this relation or set of the model, too: 'cause', 'rf; co as seen'",
    )
    check.add_argument(
        "--jobs",
        type=positive_number,
        metavar="N",
        help="processes (default: one for one test, else one for each processor)",
    )
    check.add_argument("--timeout", type=seconds, metavar=TIME, help="for each test; it is undecided then")
    check.add_argument(
        "--cache",
        type=file_name,
        metavar="FILE|none",
        help="the database of a campaign: what is known there is not decided again, what is not is kept (default: none)",
    )
    check.add_argument(
        "--unroll",
        type=positive_number,
        default=4,
        metavar="N",
        help="a loop body executes at most N times, where a test does not say (default: %(default)s)",
    )
    check.add_argument("--bounded-ok", action="store_true", help="accept what holds within the bounds of loops")
    check.add_argument("--engine", choices=("solve", "enumerate"), default="solve", help="default: %(default)s")
    check.add_argument("--backend", choices=("z3", "sat"), help="force a solver (default: the faster one)")
    check.add_argument(
        "--executions",
        type=_executions,
        metavar="all|N",
        help="list executions, at most N of each litmus test, and not one for each state: counted by herd and text, whole in "
        "json, drawn by --svg and --dot",
    )
    check.add_argument("--all-registers", action="store_true", help="states list every register that the test names")
    check.add_argument("--races", action="store_true", help="search for races of every kind; one fails the test")
    check.add_argument(
        "--check",
        action="append",
        default=[],
        choices=PROPERTIES,
        metavar="NAME",
        help="check this of every test, too: race_free (as --races), no_deadlock, terminates, no_trap; may be given several "
        "times",
    )
    check.add_argument(
        "--progress",
        type=progress,
        metavar="MODEL",
        help="who is scheduled fairly: fair, hsa, obe, hsa_obe, lobe or unfair, or by scope, as in cta=obe,gpu=fair "
        "(default: what a test says, else fair)",
    )
    check.add_argument(
        "--resident",
        type=positive_number,
        metavar="N",
        help="so many CTAs run at once, for terminates and no_deadlock (default: what a test says, else all)",
    )
    check.add_argument("--why", action="store_true", help="tell why an outcome is forbidden, or how it comes about")
    add_parts(check)
    add_kernel(check)
    add_readings(check)
    check.add_argument(
        "--passes",
        dest="readings",
        action="extend",
        type=_passes,
        metavar="LIST",
        help="for debugging: the passes to run, with commas, or none; -NAME for all but that one (docs/engine.md names them)",
    )


def _executions(text: str) -> int:
    """How many executions are listed."""
    if text == "all":
        from ptxmm.listing import MOST

        return MOST
    return positive_number(text)


def _passes(text: str) -> list[str]:
    """The options that leave out the others."""
    from axioms.passes import PASSES, left_out

    names, every = [name for name in text.split(",") if name and name != "none"], [p.name for p in PASSES]
    out = [name.removeprefix("-") for name in names if name.startswith("-")]
    try:
        left_out(name.removeprefix("-") for name in names)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if 0 < len(out) < len(names):
        raise argparse.ArgumentTypeError(f"names of passes to run, or each with - of those not to run, not '{text}'")
    return left_out(out or [name for name in every if name not in names])
