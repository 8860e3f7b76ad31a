"""Kernels and host threads of a test, checked against each other: who launches what, where, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from litmus.test import Kernel, Test, Thread
from ptxcore.diagnostics import Diagnostic, InputError, nearest
from ptxcore.syntax.tree import Immediate, Instruction, Name

#: Levels of which each holds threads of one kernel only.
_OWN = {"cta": "CTA", "cluster": "cluster"}


def check(test: Test) -> None:
    """Raises InputError for kernels that no program can run as the test says."""
    findings = [*_placement(test), *_commands(test)]
    if findings:
        raise InputError(sorted(findings, key=lambda d: d.span))


def _placement(test: Test) -> Iterator[Diagnostic]:
    """Every thread of a GPU is in a kernel, each kernel on one GPU, no CTA or cluster in two kernels."""
    if not test.kernels:
        return
    owner = {name: kernel for kernel in test.kernels for name in kernel.threads}
    here: dict[tuple[str, int], Kernel] = {}
    gpus: dict[str, int] = {}
    for thread in test.threads:
        if thread.place.host:
            continue
        kernel = owner.get(thread.name)
        if kernel is None:
            hint = "list it with one, or declare no kernel at all"
            yield Diagnostic(thread.span, f"{thread.name} belongs to no kernel, and the test has some", hint)
            continue
        for level, said in _OWN.items():
            other = here.setdefault((level, getattr(thread.place, level)), kernel)
            if other is not kernel:
                message = f"{thread.name} of kernel '{kernel.name}' is in a {said} of kernel '{other.name}'"
                yield Diagnostic(thread.span, message, f"each {said} belongs to one kernel")
                break
        if gpus.setdefault(kernel.name, thread.place.gpu) != thread.place.gpu:
            yield Diagnostic(thread.span, f"kernel '{kernel.name}' has threads on several GPUs", "a kernel runs on one")


def _commands(test: Test) -> Iterator[Diagnostic]:
    """Host threads name kernels and streams that exist, and launch kernels once and in an order that their streams allow."""
    kernels = {kernel.name: kernel for kernel in test.kernels}
    streams = {kernel.stream for kernel in test.kernels}
    launcher: dict[str, tuple[Thread, int]] = {}
    for thread in test.threads:
        for position, instruction in enumerate(thread.statements):
            if not isinstance(instruction, Instruction) or not thread.place.host:
                continue
            if instruction.opcode not in ("launch", "sync"):
                continue
            operand = instruction.operands[0]
            if isinstance(operand, Immediate):
                if operand.value not in streams:
                    hint = f"the streams are {', '.join(map(str, sorted(streams)))}" if streams else "declare a kernel"
                    yield Diagnostic(instruction.span, f"no kernel runs in stream {operand.value}", hint)
            elif isinstance(operand, Name) and operand.name not in kernels:
                hint = nearest(operand.name, kernels) or "declare it in the init block: 'kernel k1 = [P0];'"
                yield Diagnostic(instruction.span, f"kernel '{operand.name}' is not declared", hint)
            elif isinstance(operand, Name) and instruction.opcode == "launch":
                if operand.name in launcher:
                    yield Diagnostic(instruction.span, f"kernel '{operand.name}' is launched a second time")
                launcher.setdefault(operand.name, (thread, position))
    yield from _launch_order(test, launcher)


def _launch_order(test: Test, launcher: dict[str, tuple[Thread, int]]) -> Iterator[Diagnostic]:
    for number, kernel in enumerate(test.kernels):
        for earlier in test.kernels[:number]:
            if earlier.stream != kernel.stream and earlier.name not in kernel.after:
                continue
            mine, first = launcher.get(kernel.name), launcher.get(earlier.name)
            if mine is not None and first is not None and mine[0] is first[0] and mine[1] < first[1]:
                launch = mine[0].statements[mine[1]]
                message = f"'{kernel.name}' runs after '{earlier.name}', but is launched before it"
                hint = "kernels of a stream run in the order in which the init block declares them"
                yield Diagnostic(launch.span, message, hint)
