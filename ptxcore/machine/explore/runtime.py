"""What the CUDA runtime gives device code to call, explored: printing, failed assertions, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxcore.isa.form import Use
from ptxcore.machine.explore.own_memory import KernelThread
from ptxcore.machine.explore.unspelled import GivenValue, Taken, step_of
from ptxcore.machine.ir.operands import Fetch
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.ir.steps import ResultTarget as StepTarget
from ptxcore.machine.lower.layout import ModuleLayout
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.runtime import conversions
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value


class RuntimeArgument(NamedTuple):
    """Where an argument comes from, and its bytes."""

    given: GivenValue
    size: int


class Runtime:
    """The functions of the runtime, for a module whose variables lie as `layout` says."""

    def __init__(self, layout: ModuleLayout) -> None:
        self.layout = layout

    def call(
        self, op: Op, name: str, arguments: Sequence[RuntimeArgument], result: Taken | None, size: int
    ) -> InstructionStep | None:
        """The step that calls a function; `size` are the bytes of its result. None where there is none of that name."""
        functions: dict[str, Callable[..., Value | None]] = {
            "malloc": KernelThread.malloc, "free": KernelThread.free, "vprintf": self._printed, "__assertfail": self._fails,
        }  # fmt: skip
        return _calling(op, functions[name], arguments, result, size) if name in functions else None

    def _printed(self, thread: KernelThread, how: Use, text: Value, *arguments: Value) -> Value:
        """Printing is nobody's business here. It gives the number of what it was given to print."""
        known = self._text(text)
        return thread.ask_runtime("vprintf", 32) if known is None else conversions(known)

    def _fails(self, thread: KernelThread, how: Use, *arguments: Value) -> None:
        """An assertion that does not hold; its text, and where it stands."""
        told = [self._text(a) for a in arguments[:2]]
        where = f": {told[1]}:{arguments[2]}: '{told[0]}'" if len(arguments) > 2 and told[0] and told[1] else ""
        thread.stop(how, f"assertion failed{where}")

    def _text(self, address: Value) -> str | None:
        """The text at an address, up to a zero, where a variable has it at the start."""
        for placed in self.layout.variables:
            if type(address) is int and placed.address <= address < placed.address + len(placed.data):
                return placed.data[address - placed.address :].partition(b"\0")[0].decode("utf-8", "replace")
        return None


def _calling(
    op: Op, run: Callable[..., Value | None], arguments: Sequence[RuntimeArgument], result: Taken | None, size: int
) -> InstructionStep:
    sources: list[Fetch] = []
    reads: list[int] = []
    for given, _ in arguments:
        if not isinstance(given, int):
            sources.append(given[0])
            reads += given[1]

    def call(how: Use, thread: KernelThread, *values: Value) -> Value | None:
        brought = iter(values)
        passed = [thread.passed(a.given, a.size) if isinstance(a.given, int) else next(brought) for a in arguments]
        value = run(thread, how, *passed)
        if isinstance(result, int) and value is not None:
            thread.put_back(result, size, value)
        return value

    targets = (result,) if isinstance(result, StepTarget) else ()
    return step_of(op, "effect", call, sources=tuple(sources), reads=tuple(reads), targets=targets)
