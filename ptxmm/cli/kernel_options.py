"""What `ptxmm check` is told of a kernel that has no kernel test, and of which tests are run; and `ptxmm init`."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from ptxmm.cli.options import TIME, Commands, byte_count, command, seconds, sizes

if TYPE_CHECKING:
    from ptxmm.kernels.asked import AskedKernel, Said

#: Options that stand for one key of a kernel test each.
_KEYS = ("entry", "grid", "block", "cluster", "dynamic_shared", "device", "nvcc", "expect")
_QUANTIFIED = {"forall": "every outcome", "exists": "some outcome", "never": "no outcome"}
_CLAIMS = (*_QUANTIFIED, "deterministic")
_OPTIONS = (*_KEYS, *_CLAIMS, "arg", "memory", "bound", "launch")
#: What a launch of several may say, by the kinds of the values.
_SIZES, _NUMBERS = ("grid", "block", "cluster"), ("dynamic_shared", "device")
_NAMES, _TEXTS = ("args", "after"), ("name", "stream")


def add_kernel(check: argparse.ArgumentParser) -> None:
    """The options of a launch."""
    group = check.add_argument_group(
        "a kernel without a kernel test",
        "For one FILE.cu or FILE.ptx. Without a claim race_free, terminates and no_trap are checked. See docs/kernels.md.",
    )
    group.add_argument("--entry", metavar="NAME", help="the kernel (default: the only one)")
    group.add_argument("--grid", type=sizes, metavar="X,Y,Z", help="CTAs")
    group.add_argument("--block", type=sizes, metavar="X,Y,Z", help="threads of a CTA")
    group.add_argument("--cluster", type=sizes, metavar="X,Y,Z", help="CTAs of a cluster (default: as the kernel says)")
    group.add_argument("--dynamic-shared", type=byte_count, metavar="N", help="bytes of dynamic shared memory")
    group.add_argument(
        "--arg",
        action="append",
        metavar="NAME=VALUE|NAME=TYPE[N]|NAME=FILE.npy|NAME={...}|NAME=&BUFFER+N",
        help="an argument, as for ptxmm run; {...} also as in [params] of kernel tests; one for each parameter",
    )
    group.add_argument(
        "--memory", action="append", metavar="NAME=TYPE[N]|NAME=FILE.npy", help="a buffer for pointers to lead to"
    )
    for kind, what in _QUANTIFIED.items():
        group.add_argument(
            f"--{kind}", action="append", metavar="EXPR", help=f"claim that {what} is so, as in 'counter[0] == 2'"
        )
    group.add_argument(
        "--deterministic", action="append", metavar="BUFFER", help="claim that it ends the same whoever comes first"
    )
    group.add_argument(
        "--bound",
        action="append",
        metavar="LOOP=N",
        help="follow a loop N times: LOOP is a label, a line of the PTX, FILE.cu:LINE",
    )
    group.add_argument("--device", type=int, metavar="N", help="the GPU that it runs on (default: 0)")
    group.add_argument(
        "--launch",
        action="append",
        metavar="'ENTRY KEY=VALUE ...'",
        help="one launch of several, in this order: grid, block, cluster, dynamic_shared, device, args, stream, after, "
        "name; what it leaves out is as the other options say",
    )
    group.add_argument("--expect", metavar="VERDICT", help="the verdict that is right (default: ok)")
    group.add_argument("--nvcc", metavar="OPTIONS", type=shlex.split, help="options of the compiler, in one word")


def add_parts(check: argparse.ArgumentParser) -> None:
    """The options of a part of a run."""
    check.add_argument(
        "--changed",
        action="store_true",
        help="files among PATH are what changed, folders are where the tests are: run those that the files concern",
    )
    check.add_argument("--no-defaults", action="store_true", help="leave out what [tool.ptxmm] of pyproject.toml says")
    check.add_argument(
        "--fail-fast", action="store_true", help="stop at the first test that fails; the rest is not run"
    )
    check.add_argument(
        "--budget", type=seconds, metavar=TIME, help="for the whole run; what it does not reach is undecided"
    )
    check.add_argument(
        "--shard", type=_shard, metavar="NUMBER/COUNT", help="one part of the tests of several, as in 2/4"
    )


def _shard(text: str) -> tuple[int, int]:
    from ptxmm.cli.parts import shard

    try:
        return shard(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_init(commands: Commands) -> None:
    """The command `init`."""
    from litmus.test import PROPERTIES

    init = command(
        commands,
        "init",
        "write a kernel test to begin with",
        "Writes a kernel test of a kernel in CUDA C++ or PTX: what the options and its signature say, and guesses, marked as "
        "such, for the rest.",
        "0 it is written; 2 bad input or usage",
        "ptxmm init lock.cu                      writes lock.toml",
        "ptxmm init lock.cu --entry weak -o tests/weak.toml",
        "ptxmm init lock.cu --grid 2 --block 1 --arg counter=u32[1] --forall 'counter[0] == 2'",
    )
    init.add_argument("path", metavar="FILE.cu|FILE.ptx", help="where the kernel is")
    init.add_argument(
        "-o", "--output", metavar="FILE.toml", help="where the test goes (default: beside the kernel); - prints it"
    )
    init.add_argument("--force", action="store_true", help="write over a file that is there")
    init.add_argument(
        "--check", action="append", default=[], choices=PROPERTIES, metavar="NAME",
        help="claim race_free, no_deadlock, terminates or no_trap",
    )  # fmt: skip
    add_kernel(init)


def asked(options: argparse.Namespace) -> AskedKernel | None:
    """The kernel that is asked for; None where the paths are those of tests. Raises ValueError with what to say."""
    given = [name for name in _OPTIONS if getattr(options, name) is not None]
    if not given and options.command != "init":
        return None
    from ptxmm.kernels.asked import AskedKernel
    from ptxmm.kernels.files import is_code

    shown = ", ".join(f"--{name.replace('_', '-')}" for name in given[:3])
    if len(options.paths) != 1 or not is_code(options.paths[0]):
        raise ValueError(
            f"{shown}: that is of a kernel: write one FILE.cu or FILE.ptx, not '{' '.join(options.paths)}'"
        )
    (path,) = options.paths
    where = f"ptxmm {options.command}"
    line = _Line(f"{where} {shlex.quote(path)}")
    said = [line.add(name, _plain(getattr(options, name))) for name in _KEYS if getattr(options, name) is not None]
    arguments = [line.add_named("arg", text) for text in options.arg or ()]
    memory = [line.add_named("memory", text) for text in options.memory or ()]
    bounds = [_bound(line.add_named("bound", text)) for text in options.bound or ()]
    launches = [_launch(line.add("launch", text)) for text in options.launch or ()]
    checks = [line.add(name, text) for name in _CLAIMS for text in getattr(options, name) or ()]
    checks += [line.add("check", name)._replace(key=name, value=True) for name in dict.fromkeys(options.check)]
    if getattr(options, "races", False) and "race_free" not in options.check:
        checks.append(line.add("races", True)._replace(key="race_free"))
    return AskedKernel(
        path, said=tuple(said), checks=tuple(checks), arguments=tuple(arguments), memory=tuple(memory), text=line.text,
        where=where, bounds=tuple(bounds), launches=tuple(launches),
    )  # fmt: skip


def _bound(said: Said) -> Said:
    """How far one loop is followed; what is no number is said by who reads kernel tests."""
    return said._replace(value=int(said.value)) if said.value.isdecimal() and len(said.value) < 12 else said


def _launch(said: Said) -> tuple[Said, ...]:
    """One launch of several: the kernel, and KEY=VALUE as a kernel test has them. Raises ValueError with what to say."""
    try:
        words = shlex.split(said.value)
    except ValueError as error:
        raise ValueError(f"--launch {said.value}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    found: dict[str, Said] = {}
    for number, word in enumerate(words):
        key, equals, value = word.partition("=")
        if not equals and number == 0:
            key, value = "entry", word
        elif not equals or not key or not value:
            raise ValueError(
                f"--launch {said.value}: '{word}' is no KEY=VALUE, as in --launch 'consume grid=2 stream=s'"
            )
        if key in found:
            raise ValueError(f"--launch {said.value}: '{key}' is said twice")
        found[key] = said._replace(key=key, value=_value_of(key, value))
    if not found:
        raise ValueError("--launch says nothing: name a kernel, as in --launch 'consume grid=2'")
    return tuple(found.values())


def _value_of(key: str, value: str) -> Any:
    """A value of a launch as a kernel test has it; what it must not be is said by who reads those."""
    bracketed = value.startswith("[") and value.endswith("]")
    parts = (value[1:-1] if bracketed else value).split(",")
    if key in _NAMES:
        return [part.strip() for part in parts]
    if (
        key in _TEXTS
        or key not in (*_SIZES, *_NUMBERS)
        or not all(p.strip().isdecimal() and len(p) < 12 for p in parts)
    ):
        return value
    return [int(part) for part in parts] if key in _SIZES else int(parts[0]) if len(parts) == 1 else value


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


class _Line:
    """The command line, written again so that every word has its place in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, name: str, value: Any) -> Said:
        """Adds an option and its value."""
        from ptxmm.kernels.asked import Said

        option = f" --{name.replace('_', '-')}"
        word = "" if value is True else f" {shlex.quote(_written(name, value))}"
        start = len(self.text) + 1
        self.text += option + word
        return Said(name, value, start, start + len(option), len(self.text))

    def add_named(self, option: str, text: str) -> Said:
        """Adds an option whose value is NAME=VALUE. Raises ValueError for one that is none."""
        name, equals, value = text.partition("=")
        if not equals or not name:
            kinds = "LOOP=N" if option == "bound" else "NAME=VALUE, NAME=TYPE[N] or NAME=FILE.npy"
            raise ValueError(f"--{option} {text}: write {kinds}")
        said = self.add(option, text)
        return said._replace(key=name, value=value, start=said.value_start)


def _written(name: str, value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(value) if name == "nvcc" else ",".join(map(str, value))
    return str(value)
