"""Kernels and host threads of a test, checked against each other: who launches what, where, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from litmus.test import LitmusThread, Test
from ptxcore.diagnostics import Diagnostic, InputError, nearest
from ptxcore.syntax.tree import Immediate, Instruction, Name

#: Levels whose numbers are a kernel's own: CTA 0 of one kernel is not CTA 0 of another.
_OWN = ("warp", "cta", "cluster")


def checked(test: Test) -> Test:
    """The test, with places that tell the CTAs of different kernels apart. Raises InputError for kernels that no program
    can run as the test says."""
    findings = [*_membership(test), *_commands(test)]
    if findings:
        raise InputError(sorted(findings, key=lambda d: d.span))
    return _apart(test) if len(test.kernels) > 1 else test


def _membership(test: Test) -> Iterator[Diagnostic]:
    """Every thread of a GPU is in a kernel, and each kernel on one GPU."""
    if not test.kernels:
        return
    owner = _owners(test)
    gpus: dict[str, int] = {}
    for thread in test.threads:
        if thread.place.host:
            continue
        kernel = owner.get(thread.name)
        if kernel is None:
            hint = "list it with one, or declare no kernel at all"
            yield Diagnostic(thread.span, f"{thread.name} belongs to no kernel, and the test has some", hint)
        elif gpus.setdefault(kernel, thread.place.gpu) != thread.place.gpu:
            yield Diagnostic(thread.span, f"kernel '{kernel}' has threads on several GPUs", "a kernel runs on one")


def _owners(test: Test) -> dict[str, str]:
    """The kernel of each thread that is in one."""
    return {name: kernel.name for kernel in test.kernels for name in kernel.threads}


def _apart(test: Test) -> Test:
    """Gives the warps, CTAs and clusters of kernels numbers of their own, where two kernels use one number."""
    owner = _owners(test)
    place = {t.name: t.place for t in test.threads}
    for level in _OWN:
        users: dict[int, dict[str | None, int]] = {}  # of each number the kernels, and the number that each gets
        fresh = count(1 + max(getattr(p, level) for p in place.values()))
        for name, p in place.items():
            number = getattr(p, level)
            kernels = users.setdefault(number, {})
            kernel = owner.get(name)
            mine = kernels.setdefault(kernel, next(fresh) if kernels else number)
            place[name] = p._replace(**{level: mine})  # type: ignore[arg-type]
    return replace(test, threads=tuple(replace(t, place=place[t.name]) for t in test.threads))


def _commands(test: Test) -> Iterator[Diagnostic]:
    """Host threads name kernels and streams that exist, and launch kernels once and in an order that their streams allow."""
    kernels = {kernel.name: kernel for kernel in test.kernels}
    streams = {kernel.stream for kernel in test.kernels}
    launcher: dict[str, tuple[LitmusThread, int]] = {}
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


def _launch_order(test: Test, launcher: dict[str, tuple[LitmusThread, int]]) -> Iterator[Diagnostic]:
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
