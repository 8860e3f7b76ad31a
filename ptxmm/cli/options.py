"""What can be said on the command line."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any, NoReturn, TypeAlias

from ptxmm import __version__

#: How `ptxmm check` prints results: each is a report of `ptxmm.report`.
FORMATS = ("text", "herd", "json", "junit", "sarif", "github")


def positive_number(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a whole number is needed, not '{text}'") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def file_name(text: str) -> str:
    """A name of a file or a folder. An empty one is what a script has whose variable is not set: that asks for a report, or for
    known findings, and must not run without."""
    if not text:
        raise argparse.ArgumentTypeError("a name of a file or a folder is needed, not ''")
    return text


#: Seconds of a unit of time; and how options that take a time name it.
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
TIME = "TIME"
#: Seconds that clocks and timers of every system can count to, more than a century.
_LONGEST = 1_000_000 * UNITS["h"]


def seconds(text: str) -> float:
    """The seconds of a time: a positive number, with its unit or without: 60, 60s, 2m, 1h. Raises
    argparse.ArgumentTypeError for what is none."""
    number = text.rstrip("smh")
    unit = text[len(number) :]
    try:
        value = float(number) * UNITS[unit]
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(
            f"a time is needed, as 60, 60s, 2m or 1h (a number is one of seconds), not '{text}'"
        ) from None
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"must be a positive time, not {text}")
    if value > _LONGEST:
        raise argparse.ArgumentTypeError(f"must be at most {_LONGEST // UNITS['h']}h, not {text}")
    return value


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
CommandParser: TypeAlias = argparse.ArgumentParser


class Help(argparse.HelpFormatter):
    """Fills paragraphs; those that are indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(p if p.startswith(" ") else fill(p, width, indent) for p in text.split("\n\n"))


def ending(status: str, *examples: str) -> str:
    """What stands at the end of a command's help."""
    lines = "\n".join(f"  {example}" for example in examples)
    return f"exit status: {status}\n\nexamples:\n\n{lines}"


class OptionParser(argparse.ArgumentParser):
    """Says what is wrong with a command line in two lines: its list of options would take a page before that. The second one
    names the option, the command or the value that is closest to a mistyped one."""

    #: The words that were given, and the value that is closest to one that none of its choices is.
    _told: Sequence[str] = ()
    _close: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._told = list(args) if args is not None else []
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from ptxcore.diagnostics import nearest

            self._close = nearest(str(value), map(str, action.choices))
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        hint = self._close or self._mistyped() or f"{self.prog} --help tells what may be said"
        self.exit(2, f"{self.prog}: error: {message}\n    hint: {hint}\n")

    def _mistyped(self) -> str | None:
        """What the first option is most like that is none of the command's."""
        from ptxcore.diagnostics import nearest
        from ptxmm.cli.habits import HERE

        words = [word.partition("=")[0] for word in takewhile(lambda word: word != "--", self._told)]
        known = set(self._option_string_actions)
        for action in self._subparsers._group_actions if self._subparsers is not None else ():
            commands: Any = action.choices or {}
            known.update(*(commands[word]._option_string_actions for word in words if word in commands))
        unknown = (w for w in words if w[:1] == "-" and not w[1:2].isdigit() and w not in known and w not in HERE)
        return next(filter(None, (nearest(word, known) for word in unknown)), None)


def parser(command: str = "") -> argparse.ArgumentParser:
    """What reads the command line: of every command, or of one only. What nobody asks for takes no time then."""
    top: argparse.ArgumentParser = OptionParser(
        prog="ptxmm",
        description="Decides what concurrent PTX code may do.",
        epilog="ptxmm COMMAND --help says more about a command, with examples.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ptxmm {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in [command] if command in _COMMANDS else [] if command == "--version" else _COMMANDS:
        add = _COMMANDS[name]
        if isinstance(add, tuple):
            file, function = add
            add = getattr(import_module(f"ptxmm.cli.{file}"), function)
        add(commands)
    return top


def command(commands: Commands, name: str, what: str, description: str, status: str, *examples: str) -> CommandParser:
    """A command with its page of help: `what` it does in a few words, then in sentences, its exit `status`, and examples."""
    return commands.add_parser(
        name,
        help=what,
        description=description,
        epilog=ending(status, *examples),
        formatter_class=Help,
        allow_abbrev=False,
    )


def add_folders(command: argparse.ArgumentParser) -> None:
    """Where models look for what they include."""
    command.add_argument(
        "-I",
        dest="folders",
        action="append",
        default=[],
        type=file_name,
        metavar="DIR",
        help="where a FILE.cat looks for what it includes, behind its own folder; may be given again",
    )


def add_readings(check: argparse.ArgumentParser) -> None:
    """The readings of the manual that differ from ours."""
    from axioms.models.options import OPTIONS

    group = check.add_argument_group("other readings of the manual", "See docs/model.md.")
    for name, what in OPTIONS.items():
        option, _, value = name.partition("=")
        if value:
            group.add_argument(
                f"--{option}",
                dest="readings",
                action="append",
                default=[],
                metavar=value,
                type=_reading(option, value),
                help=what,
            )
        else:
            group.add_argument(f"--{name}", dest="readings", action="append_const", const=name, default=[], help=what)


def _reading(option: str, value: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text != value:
            raise argparse.ArgumentTypeError(f"must be {value}, not '{text}'")
        return f"{option}={value}"

    return read


def progress(text: str) -> str:
    """A progress model, by its name."""
    from axioms.liveness.progress import progress_named

    try:
        return str(progress_named(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def sizes(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"one to three numbers with commas are needed, not '{text}'") from None
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise argparse.ArgumentTypeError(f"one to three numbers from 1 on are needed, not '{text}'")
    return found


def byte_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of bytes is needed, not '{text}'")
    return int(text)


class DrawnSeed(int):
    """A seed that nobody has told, and that must be told."""


def seed(text: str) -> int:
    if text == "random":
        from secrets import randbits

        return DrawnSeed(randbits(32))
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a whole number is needed, or random, not '{text}'") from None


def _add_run(commands: Commands) -> None:
    run = command(
        commands,
        "run",
        "run a kernel",
        "Runs a kernel, of PTX or of CUDA C++ that nvcc compiles, on the written semantics of its instructions. NAME is a "
        "parameter's name or number.",
        "0 the kernel ran to its end; 1 it went wrong; 2 bad input or usage; 130 interrupted",
        "ptxmm run add.ptx --entry add --grid 2 --block 32 --arg x=x.npy --arg n=64 --out x",
        "ptxmm run lock.ptx --entry lock --grid 4 --block 1 --arg lock=u32[1] --arg n=u32[1] --seed random",
    )
    run.add_argument("path", metavar="FILE.ptx|FILE.cu", help="the module, or its source, which nvcc compiles")
    run.add_argument("--entry", metavar="NAME", help="the kernel (default: the only one)")
    run.add_argument("--nvcc", metavar="OPTIONS", type=shlex.split, help="options of the compiler, in one word")
    run.add_argument("--grid", required=True, type=sizes, metavar="X,Y,Z", help="CTAs")
    run.add_argument("--block", required=True, type=sizes, metavar="X,Y,Z", help="threads of a CTA")
    run.add_argument("--cluster", type=sizes, metavar="X,Y,Z", help="CTAs of a cluster (default: as the kernel says)")
    run.add_argument("--dynamic-shared", type=byte_count, default=0, metavar="N", help="bytes of dynamic shared memory")
    run.add_argument(
        "--seed", type=seed, metavar="N|random", help="a random schedule, which the seed replays; random draws a seed"
    )
    run.add_argument("--limit", type=positive_number, metavar="N", help="stop after N instructions (default: none)")
    run.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE|NAME=TYPE[N]|NAME=FILE.npy|NAME={...}|NAME=&BUFFER+N",
        help="an argument: a number, a buffer of N zeros of a type such as f32, an array, a structure as in kernel tests, or a "
        "pointer into a buffer",
    )
    run.add_argument(
        "--memory",
        action="append",
        default=[],
        metavar="NAME=TYPE[N]|NAME=FILE.npy",
        help="a buffer that is no argument, for pointers to lead to",
    )
    run.add_argument(
        "--out",
        action="append",
        default=[],
        metavar="NAME|NAME=FILE.npy",
        help="print this argument afterwards, or save it",
    )


def _add_generate(commands: Commands) -> None:
    from ptxmm.cli.cycles import add_cycle_options

    generate = command(
        commands,
        "generate",
        "make litmus tests from cycles and families",
        "Makes litmus tests: from a cycle of relaxations in the language of diy, from a list of them as diyone7 "
        "reads it, from all cycles of some edges, or of a family such as lock:cas. They go to standard output, or each into a "
        "file.",
        "0; 2 what no test can be made of; 130 interrupted",
        "ptxmm generate 'PodWW.rel.gpu Rfe PodRR.acq.gpu Fre'",
        "ptxmm generate 'PodWW Rfe PodRR Fre' --places all --model ptx-9.0 -o DIR",
        "ptxmm generate --edges 'Pod**,Rfe,Fre,Coe,Fence.*.*' --size 4..6 --threads 4 --places all -o DIR",
        "ptxmm generate --cross 'PodWW,Fence.*.gpudWW' Rfe 'PodRR,DpAddrdR' Fre",
        "ptxmm generate @cycles -o DIR",
        "ptxmm generate lock:cas 4",
        "ptxmm generate --families",
        "ptxmm generate --suite --threads 3 -o DIR                   minimal tests of all that keeps threads in order",
    )
    generate.add_argument(
        "words",
        nargs="*",
        metavar="CYCLE|FAMILY|@LIST",
        help="edges, a family and its size, or a list of cycles (@FILE, or -)",
    )
    add_cycle_options(generate)
    generate.add_argument("--cross", action="store_true", help="each word is a list: one edge of each, in their order")
    generate.add_argument("--families", action="store_true", help="list the families, with their options")
    generate.add_argument(
        "--minimal", action="store_true",
        help="of the tests whose outcome the model forbids, those that nothing can be taken from, each once",
    )  # fmt: skip
    generate.add_argument(
        "--suite",
        action="store_true",
        help="the minimal tests of all that keeps threads in order, of up to --size edges (4)",
    )
    generate.add_argument("-o", "--output", metavar="DIR", help="a file for each test there, and @all, a list of them")
    generate.add_argument(
        "--model", metavar="NAME|FILE.cat",
        help="also tell the verdict under this model, as Expect=; minimal under it (default then: ptx-9.0)",
    )  # fmt: skip
    add_folders(generate)
    generate.add_argument("--limit", type=positive_number, metavar="N", help="no more than N tests")
    generate.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")


#: What adds each command, in the order of `ptxmm --help`: a function here, or one of another file, read when it is asked for.
_COMMANDS: dict[str, Callable[[Commands], None] | tuple[str, str]] = {
    "check": ("check_options", "add"),
    "init": ("kernel_options", "add_init"),
    "lint": ("lint", "add"),
    "models": ("models", "add"),
    "library": ("library", "add"),
    "explain": ("explain", "add"),
    "learn": ("learn", "add"),
    "completion": ("completion", "add"),
    "run": _add_run,
    "generate": _add_generate,
    "classify": ("classify", "add"),
    "campaign": ("campaign_options", "add"),
    "compare": ("compare_options", "add_compare"),
    "repair": ("repair", "add_repair"),
    "weaken": ("repair", "add_weaken"),
    "gpu": ("gpu", "add"),
    "serve": ("serve", "add"),
}
