"""`ptxmm explain`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.cli.options import Commands


def add(commands: Commands) -> None:
    """The options of the command."""
    explain = commands.add_parser(
        "explain",
        help="tell of a mistake, a race, an axiom, a verdict, a warning",
        description="Tells of a topic: what it is, a small test that shows it, what mends it. Without a topic it lists all.",
        allow_abbrev=False,
    )
    explain.add_argument("topic", nargs="?", metavar="TOPIC", help="such as data-race, causality, relaxed-spin, iriw")


def explain(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0, or 2 for what is no topic."""
    from ptxcore.diagnostics import nearest
    from ptxmm.topics import names, text_of, title_of

    known = names()
    if options.topic is None:
        width = max(map(len, known))
        sys.stdout.write("".join(f"{name.ljust(width)}  {title_of(name)}\n" for name in known))
        return 0
    topic = options.topic.lower().replace("_", "-")
    if topic not in known:
        hint = nearest(topic, known) or "ptxmm explain lists the topics"
        sys.stderr.write(f"ptxmm explain: error: no topic '{options.topic}'\n    hint: {hint}\n")
        return 2
    sys.stdout.write(text_of(topic))
    return 0
