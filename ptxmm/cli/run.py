"""`ptxmm run`."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxcore.machine.lower.ops import FormalParameter
    from ptxcore.machine.run.faults import KernelError
    from ptxcore.machine.run.launch import Device
    from ptxmm.kernels.modules import PtxText

_FAILED, _BAD_INPUT = 1, 2
#: Seconds after which progress is shown.
_LONG = 0.5


def run(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0 the kernel ran to its end, 1 it went wrong, 2 bad input or usage."""
    from ptxcore.diagnostics import InputError
    from ptxcore.machine.run.faults import KernelError
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.cli.options import DrawnSeed
    from ptxmm.kernels.source import loaded
    from ptxmm.running import entry_named, launch, module_of

    try:
        module = module_of(options.path, options.nvcc)
        device = loaded(module)
        _warn(device, module)
        entry = entry_named(device, options.entry)
        parameters = device.kernel(entry)
        arguments, arrays = _arguments(options, parameters)
        outs = [_out(text, parameters, arrays) for text in options.out]
        with _Progress() as progress:
            done = launch(
                device, entry, options.grid, options.block, arguments, cluster=options.cluster,
                dynamic_shared=options.dynamic_shared, seed=options.seed, limit=options.limit,
                progress=progress.advance,
            )  # fmt: skip
    except OSError as error:
        return _refuse(f"{options.path}: error: cannot read: {error.strerror or error}", _BAD_INPUT)
    except InputError as error:
        return _refuse(error.render(), _BAD_INPUT)
    except UsageError as error:
        return _refuse(f"ptxmm run: error: {error}", _BAD_INPUT)
    except KernelError as error:
        sys.stdout.write(error.printed)
        replay = "" if options.seed is None else f"\n    in the schedule of --seed {options.seed}"
        return _refuse(_told(error, module) + replay, _FAILED)
    except Exception as error:
        from ptxmm.defects import defect
        from ptxmm.words.refusals import written

        return _refuse(
            written(
                defect(error, "the module", f"run --entry {options.entry}" if options.entry else "run"), options.path
            ),
            _BAD_INPUT,
        )
    if isinstance(options.seed, DrawnSeed):
        sys.stderr.write(f"schedule: --seed {options.seed}\n")
    sys.stdout.write(done.printed)
    for name, array, file in outs:
        if file:
            try:
                _numpy(file).save(file, array)
            except OSError as error:
                return _refuse(f"{file}: error: cannot write: {error.strerror or error}", _BAD_INPUT)
        else:
            sys.stdout.write(f"{name} = {_shown(array)}\n")
    return 0


def _warn(device: Device, module: PtxText) -> None:
    """Says what the author of the module should know."""
    if device.warnings:
        from ptxcore.diagnostics import InputError
        from ptxmm.kernels.source import in_source

        found = InputError(device.warnings, module.path, module.text)
        found = in_source(found, module) if module.source else found
        sys.stderr.write(found.render() + "\n")


def _told(error: KernelError, module: PtxText) -> str:
    """What went wrong: of PTX that nvcc made just now, which is in no file, at the line of the source."""
    if not module.source or error.instruction is None:
        return error.render()
    from ptxcore.diagnostics import Diagnostic, InputError
    from ptxmm.kernels.source import in_source

    _, _, *rest = error.render().split("\n")  # without the place in the PTX and the instruction
    found = InputError([Diagnostic(error.instruction.span, error.message)], module.path, module.text)
    return "\n".join([in_source(found, module).render(), *(line for line in rest if not line.startswith("    from "))])


def _refuse(message: str, status: int) -> int:
    sys.stderr.write(message + "\n")
    return status


def _arguments(options: Namespace, parameters: list[FormalParameter]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in the order of the parameters, and everything that has a name, by it."""
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.packing import packed

    found: dict[int, Any] = {}
    names: dict[str, int] = {}
    aimed: dict[int, dict[str, Any]] = {}  # what has pointers in it
    given = [_split(text, "--arg") for text in options.arg]
    for (name, text), index in zip(given, _indices([name for name, _ in given], parameters), strict=True):
        value = _value(text)
        if isinstance(value, dict) and not {"fields", "bytes"} & value.keys() and "type" in value:
            value = _described(name, value)
        names |= {parameters[index].name: index} | ({} if name.isdigit() else {name: index})
        aimed.pop(index, None)
        found[index] = value
        if isinstance(value, dict):
            aimed[index] = value
    named = {name: found[index] for name, index in names.items()}
    named |= _memory(options.memory, named)
    arrays = {name: value for name, value in named.items() if getattr(value, "ndim", 0)}
    for index, table in aimed.items():
        found[index] = packed(parameters[index].name, table, arrays)
    missing = [p.name for i, p in enumerate(parameters) if i not in found]
    if missing:
        raise UsageError(f"no --arg for {', '.join(missing)}")
    return [found[i] for i in range(len(parameters))], named


def _split(text: str, option: str) -> tuple[str, str]:
    from ptxcore.machine.run.launch import UsageError

    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text}: write NAME=VALUE, NAME=TYPE[N] or NAME=FILE.npy")
    return name, value


def _memory(texts: list[str], named: dict[str, Any]) -> dict[str, Any]:
    """Buffers that are no arguments, by name."""
    from ptxcore.machine.run.launch import UsageError

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in named or name in found:
            raise UsageError(f"--memory {text}: write NAME=TYPE[N] or NAME=FILE.npy, with a name that nothing else has")
        found[name] = _value(value)
        if not getattr(found[name], "ndim", 0):
            raise UsageError(f"--memory {text}: this is no buffer")
    return found


def _indices(names: list[str], parameters: list[FormalParameter]) -> list[int]:
    """The parameters of these names, or of these numbers; in order, where only a compiler named them."""
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.takes import numbered

    found = []
    for name, number in zip(names, numbered(names, [(p.name,) for p in parameters]), strict=True):
        if isinstance(number, str):
            raise UsageError(f"the kernel has no parameter '{name}'; {number}")
        found.append(number)
    return found


def _out(text: str, parameters: list[FormalParameter], named: dict[str, Any]) -> tuple[str, Any, str]:
    """What is to be told afterwards: its name, the array, and the file that it goes to, empty for the output."""
    from ptxcore.diagnostics import nearest
    from ptxcore.machine.run.launch import UsageError

    name, _, file = text.partition("=")
    if file and not file.endswith(".npy"):
        raise UsageError(f"--out {text}: write NAME or NAME=FILE.npy")
    if name not in named:
        names = [p.name for p in parameters]
        if not name.isdigit() or int(name) >= len(names):
            hint = nearest(name, named) or f"they are {', '.join(names) or 'none'}"
            raise UsageError(f"the kernel has no parameter '{name}'; {hint}")
        name = names[int(name)]
    return name, named[name], file


def _value(text: str) -> Any:
    """A number, a buffer of zeros, what a file holds, or a structure as a table."""
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.written import Array, Zeros, word

    try:
        said = word(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if isinstance(said, Zeros):
        return _zeros(text, said.type, said.elements)
    if isinstance(said, Array):
        try:
            return _numpy(text).load(text, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"{text}: {error}") from None
    return said


def _described(name: str, table: dict[str, Any]) -> Any:
    """A buffer or a number that a table describes as `[params]` of a kernel test does."""
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.arguments import ArgumentError, described
    from ptxmm.kernels.expressions import TYPES
    from ptxmm.kernels.launch import Buffer, Scalar

    if isinstance(table.get("value"), str):  # a pointer, which is told what it leads to later
        return table
    try:
        made = described(name, table, {})
    except ArgumentError as error:
        raise UsageError(f"'{name}': {error.message}" + (f" ({error.hint})" if error.hint else "")) from None
    if isinstance(made, Scalar):
        size = TYPES[made.type].width // 8
        return made.value if isinstance(made.value, bytes) else made.value.to_bytes(size, "little")
    if isinstance(made, Buffer) and made.open:
        raise UsageError(f"'{name}': a run needs the contents of a buffer; with any contents, 'ptxmm check' decides")
    if not isinstance(made, Buffer):
        raise UsageError(f"'{name}': a run takes a buffer with its contents, or a number")
    array = _zeros(f"{made.type}[{made.elements}]", made.type, made.elements)
    size = array.dtype.itemsize
    data = b"".join(value.to_bytes(size, "little") for value in made.init)
    array.view("u1")[: len(data)] = bytearray(data)
    return array


def _zeros(text: str, written: str, count: int) -> Any:
    from ptxcore.machine.run.launch import UsageError

    numpy = _numpy(text)
    kind = {"b": "u", "u": "u", "s": "i", "f": "f"}[written[0]]
    if written == "bf16":
        raise UsageError(f"{text}: NumPy has no bfloat16: write u16[{count}]")
    try:
        return numpy.zeros(count, dtype=f"<{kind}{int(written[1:]) // 8}")
    except (MemoryError, ValueError, OverflowError):
        raise UsageError(f"{text}: so much memory is not there") from None


def _numpy(text: str) -> Any:
    from ptxcore.machine.run.launch import UsageError

    try:
        import numpy
    except ImportError:
        raise UsageError(f"{text}: buffers need NumPy: pip install 'ptxmm[run]'") from None
    return numpy


def _shown(argument: Any) -> str:
    if not hasattr(argument, "tolist"):
        return str(argument)
    return "[" + ", ".join(str(x) for x in argument.ravel().tolist()) + "]"


class _Progress:
    """A bar of finished CTAs, with the instructions so far, on a terminal, once a launch takes long."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._begun = time.monotonic()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)

    def advance(self, finished: int, total: int, executed: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._begun < _LONG or not sys.stderr.isatty():
                return
            from ptxmm.cli.progress import Bar

            self._bar = Bar(total, "running")
            self._bar.__enter__()
        self._bar.at(finished, f"{executed / 1e6:.1f} M instructions")
