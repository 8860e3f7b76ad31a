"""`ptxmm explain`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.cli.options import Commands

_BAD_INPUT = 2
#: So many topics with a word in their names are told.
_MOST = 6


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli.options import command

    explain = command(
        commands,
        "explain",
        "explain a mistake, a race, an axiom, a relation, a verdict, a warning; or a test that ships",
        "Tells of a topic: what it is, a small test that shows it, what mends it. Without a topic it lists all. Of a test of "
        "the library it shows the text, what is decided of it, and why.",
        "0; 2 for what is no topic and no test",
        "ptxmm explain                      the topics, by kind",
        "ptxmm explain iriw",
        "ptxmm explain morally strong",
        "ptxmm explain IRIW+fence.sc.gpu    a test of the library",
    )
    explain.add_argument(
        "topic", nargs="*", metavar="TOPIC", help="such as data-race, causality, relaxed-spin, iriw, fr"
    )


def explain(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0, or 2 for what is no topic."""
    from litmus.library import PREFIX, named
    from ptxmm.harmless import plain
    from ptxmm.topics import text_of, topic_of

    words = " ".join(options.topic)
    if not words:
        sys.stdout.write("\n".join(_listed()) + "\n")
        return 0
    topic = topic_of(words)
    if topic is not None:
        sys.stdout.write(text_of(topic))
        return 0
    name = words.removeprefix(PREFIX)
    found = named(name) if name else []
    if len(found) == 1:
        return _test(found[0])
    sys.stderr.write(f"ptxmm explain: error: no topic '{plain(words)}'\n    hint: {_hint(name)}\n")
    return _BAD_INPUT


def _listed() -> Iterator[str]:
    from ptxmm.topics import KINDS, names, title_of

    width = max(map(len, names()))
    for number, (kind, members) in enumerate(KINDS.items()):
        yield from [""] * bool(number)
        yield kind
        yield from (f"  {name.ljust(width)}  {title_of(name)}" for name in members.split())


def _hint(words: str) -> str:
    """What may be meant."""
    from litmus.library import near
    from ptxcore.diagnostics import nearest
    from ptxmm.topics import ALSO, names

    word = words.lower().translate(str.maketrans("_. ", "---"))
    close = nearest(word, [*names(), *ALSO])
    if close is not None:
        return close
    having = [name for name in names() if word and word in name]
    if having:
        return f"topics with this in their names: {', '.join(having[:_MOST])}{', ...' * (len(having) > _MOST)}"
    test = near(words)
    return f"of the tests that ship, {test}" if test is not None else "ptxmm explain lists the topics"


def _test(path: str) -> int:
    """Shows a test that ships, what is decided, and why."""
    from ptxmm.cli.check import check
    from ptxmm.cli.options import parser

    with open(path, encoding="utf-8") as file:
        sys.stdout.write(file.read() + "\n")
    sys.stdout.flush()
    return check(parser("check").parse_args(["check", "--why", path]))
