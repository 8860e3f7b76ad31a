"""What the command line takes, as values: made from its one parser, for completion and for the man page."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from ptxcore.records import NamedTuple


class OptionValue(NamedTuple):
    """What may stand where a value is wanted: some `words`, files that end in one of `files` (a dot and letters; "" for any
    file), folders, tests of the library (`library:NAME`)."""

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folders: bool = False
    tests: bool = False


class OutlinedArgument(NamedTuple):
    """An option with its `names`, or without any what stands alone. `metavar` is what is shown for its value, empty for a
    flag; `many`: it may be given again; `needed`: it must be given; `value` is None for a flag."""

    names: tuple[str, ...]
    what: str
    metavar: str
    many: bool
    needed: bool
    value: OptionValue | None


class Command(NamedTuple):
    """A command: `what` it does in a line, `description` in sentences, and what stands at the end of its help."""

    name: str
    what: str
    description: str
    ending: str
    arguments: tuple[OutlinedArgument, ...]


#: Endings of files that have tests.
_TESTS = (".litmus", ".toml", ".cu", ".cuh", ".ptx", ".test")


def _models() -> tuple[str, ...]:
    from axioms.models import names

    return tuple(names())


def _topics() -> tuple[str, ...]:
    from ptxmm.topics import names

    return tuple(names())


def library() -> tuple[str, ...]:
    """The names of the tests that ship."""
    from litmus.library import called, every

    return tuple(map(called, every()))


def library_words() -> tuple[str, ...]:
    """The folders of the tests that ship, and their names."""
    from litmus.library import every

    return (*sorted({os.path.basename(os.path.dirname(path)) for path in every()}), *library())


def _progress() -> tuple[str, ...]:
    from axioms.liveness.progress import NAMES

    return NAMES


#: By what an argument is kept as, and what is shown for its value: the words that it may be.
_WORDS: dict[tuple[str, str], Callable[[], tuple[str, ...]]] = {
    ("model", "NAME"): _models,
    ("models", "NAME"): _models,
    ("show", "NAME"): _models,
    ("topic", "TOPIC"): _topics,
    ("words", "WORD"): library_words,
    ("progress", "MODEL"): _progress,
}


def outline() -> list[Command]:
    """Every command, in the order of `ptxmm --help`."""
    from ptxmm.cli.options import parser

    top = parser()
    (commands,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    what = {shown.dest: shown.help or "" for shown in commands._choices_actions}
    return [_command(name, what[name], command) for name, command in commands.choices.items()]


def _command(name: str, what: str, command: argparse.ArgumentParser) -> Command:
    arguments = tuple(_argument(command, action) for action in command._actions)
    return Command(name, what, command.description or "", command.epilog or "", arguments)


def _argument(command: argparse.ArgumentParser, action: argparse.Action) -> OutlinedArgument:
    formatter = command._get_formatter()
    what = " ".join(formatter._expand_help(action).split()) if action.help else ""
    needed = action.required and action.nargs != "*"
    many = action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction | argparse._AppendConstAction)
    if action.nargs == 0:
        return OutlinedArgument(tuple(action.option_strings), what, "", many, needed, None)
    default = action.dest.upper() if action.option_strings else action.dest
    metavar = formatter._metavar_formatter(action, default)(1)[0]
    return OutlinedArgument(tuple(action.option_strings), what, metavar, many, needed, _value(action, metavar))


def _value(action: argparse.Action, metavar: str) -> OptionValue:
    if action.choices is not None:
        return OptionValue(words=tuple(map(str, action.choices)))
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folders = tests = False
    for part in metavar.split("|"):
        alone = not action.option_strings
        if (action.dest, part) in _WORDS:
            words += _WORDS[action.dest, part]()
        elif part in ("FILE", "PATH") and alone:
            files, tests = files + _TESTS, True
        elif part in ("FILE", "PATH", "DATABASE"):
            files += ("",)
        elif part.startswith("FILE."):
            files += (part.removeprefix("FILE"),)
        elif part == "DIR":
            folders = True
        elif part.isalpha() and part.islower():  # as it is typed
            words += (part,)
    return OptionValue(words, files, folders, tests)
