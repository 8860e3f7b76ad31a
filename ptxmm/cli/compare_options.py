"""What can be said to `ptxmm compare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from axioms.models.options import OPTIONS
from ptxmm.cli import options as shared
from ptxmm.cli.options import TIME, file_name, seconds

#: As `ptxmm.comparing.comparison.SIZE`, which need not be read for this.
_SIZE = 6


class _Reading(argparse.Action):
    """A reading, which belongs to the model before it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        models = getattr(namespace, "models", None)
        if not models:
            parser.error(f"{option_string} is a reading of the model before it: --model ptx-9.0 {option_string}")
        words = [str(option_string), *([values] if isinstance(values, str) else [])]
        namespace.models = [*models[:-1], " ".join([models[-1], *words])]


def add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    from litmus.cycles.search import MODES
    from ptxmm.cli.cycles import mode

    compare = shared.command(
        commands,
        "compare",
        "compare models, over tests or by searching for one that tells them apart",
        "Decides tests under several models, and tells where they disagree: states that one allows and another "
        "forbids, with the axiom. With --find it searches for the smallest tests that tell the models apart. A model is a "
        "name of ptxmm models or a file.cat, less axioms (ptx-9.0/-atomicity) and with readings (behind it, or as one word: "
        "'ptx-9.0 --dep data'), or a log of herd7, of litmus7, of ptxmm gpu or of ptxmm check --format herd.",
        "0 the models say the same; 1 they differ; 2 bad input or usage; 3 they do not differ as far as is known, and "
        "something stayed undecided or bounded; 130 interrupted",
        "ptxmm compare --model ptx-7.5 --model ptx-9.0 litmus",
        "ptxmm compare --model ptx-9.0 --model herd.log mp.litmus",
        "ptxmm compare --model ptx-9.0 --model ptx-9.0/-atomicity --find --minimal",
        "ptxmm compare --model ptx-9.0 --model ptx-9.0 --dep data --find --svg pictures",
    )
    compare.add_argument("paths", nargs="*", metavar="PATH", help="tests, as for ptxmm check")
    compare.add_argument(
        "--model",
        dest="models",
        action="append",
        metavar="NAME|FILE",
        help="a model or a log; give two or more (default: all that ship)",
    )
    shared.add_folders(compare)
    compare.add_argument("--find", action="store_true", help="search for the smallest tests that tell the models apart")
    compare.add_argument(
        "--size",
        type=shared.positive_number,
        default=_SIZE,
        metavar="N",
        help="with --find: cycles of at most N edges, tests of at most N accesses (default: %(default)s)",
    )
    compare.add_argument(
        "--edges", metavar="LIST", help="with --find: cycles of these edges, in place of those that it has"
    )
    compare.add_argument(
        "--threads",
        type=shared.positive_number,
        default=4,
        metavar="N",
        help="with --find: cycles of at most N threads (default: %(default)s)",
    )
    compare.add_argument(
        "--places", metavar="WHERE", help="with --find: where threads stand: cta, cluster, gpu, sys, all (default: gpu)"
    )
    compare.add_argument(
        "--mode",
        type=mode,
        metavar=f"{{{','.join(MODES)}}}",
        help="with --find and --edges: which edges may follow each other, as for ptxmm generate (default: sc)",
    )
    compare.add_argument(
        "--most",
        type=shared.positive_number,
        default=1,
        metavar="N",
        help="with --find: so many tests for each two models (default: %(default)s)",
    )
    compare.add_argument(
        "--minimal", action="store_true", help="take from each test that differs all that it does not need for that"
    )
    compare.add_argument("--all", action="store_true", help="list the tests that are the same, too")
    compare.add_argument(
        "--svg", type=file_name, metavar="DIR", help="write pictures there: what one allows and the other forbids"
    )
    compare.add_argument(
        "--html", type=file_name, metavar="DIR", help="also write pages there, with these pictures: open index.html"
    )
    compare.add_argument("--output", "-o", type=file_name, metavar="DIR", help="write the tests that differ there")
    compare.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")
    compare.add_argument("--races", action="store_true", help="compare the kinds of races that are found, too")
    compare.add_argument("--all-registers", action="store_true", help="compare every register that a test names")
    compare.add_argument(
        "--jobs", type=shared.positive_number, metavar="N", help="processes (default: one for each processor)"
    )
    compare.add_argument("--timeout", type=seconds, metavar=TIME, help="for each test under each model")
    compare.add_argument(
        "--unroll",
        type=shared.positive_number,
        default=4,
        metavar="N",
        help="a loop body executes at most N times (default: %(default)s)",
    )
    compare.add_argument("--backend", choices=("z3", "sat"), help="force a solver (default: the faster one)")
    group = compare.add_argument_group("readings of the model before them", "See docs/model.md.")
    for name, what in OPTIONS.items():
        option, _, value = name.partition("=")
        more: dict[str, Any] = {"metavar": value, "choices": (value,)} if value else {"nargs": 0}
        group.add_argument(f"--{option}", dest="models", action=_Reading, help=what, **more)
