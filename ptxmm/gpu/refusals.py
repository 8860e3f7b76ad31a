"""What of a test no launch has, with the reason, where it stands in the test."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import combinations

from litmus.test import LitmusThread, Test
from ptxcore.diagnostics import Diagnostic, Span
from ptxcore.syntax.tree import Instruction
from ptxmm.gpu.host import refused_host
from ptxmm.gpu.images import refused_images, root_of, uses

#: Instructions that a kernel must not execute here, and why.
_REFUSED = {
    "trap": "'trap' ends the whole launch, with all other instances",
    "brkpt": "'brkpt' stops the whole launch",
}
#: Kernels of a test: each has a word of the counters at which threads meet.
MOST_KERNELS = 32


def refusals(test: Test) -> list[Diagnostic]:
    """Every reason for which a test cannot be placed, in the order of its lines."""
    own = [t for t in test.threads if not t.place.host]
    if not own:
        span = test.threads[0].span if test.threads else Span(1, 1, 2)
        return [Diagnostic(span, "a test without threads of a GPU cannot be launched")]
    found = uses(test)
    all_of_them = [
        *_refused_kernels(test, own), *_refused_locations(test, found.of), *refused_images(test, found),
        *_refused_statements(own), *refused_host(test),
    ]  # fmt: skip
    return sorted(all_of_them, key=lambda d: d.span)


def _refused_locations(test: Test, used: Container[str]) -> Iterator[Diagnostic]:
    for l in test.locations:
        if root_of(test, l).name not in used:
            continue
        if l.space not in ("global", "shared"):
            yield Diagnostic(l.span, f"'{l.name}' is in .{l.space}, which is the same for all instances")
        elif l.alias_of is not None and l.proxy == "generic" and root_of(test, l).space != "global":
            yield Diagnostic(l.span, f"'{l.name}' is another address of shared memory, which a launch cannot map")


def _refused_statements(threads: list[LitmusThread]) -> Iterator[Diagnostic]:
    for t in threads:
        for s in t.statements:
            if isinstance(s, Instruction) and s.opcode in _REFUSED:
                yield Diagnostic(s.span, _REFUSED[s.opcode])


def _refused_kernels(test: Test, own: list[LitmusThread]) -> Iterator[Diagnostic]:
    if not test.kernels:
        return
    line = dict(test.lines).get("kernel", 0)
    if len(test.kernels) > MOST_KERNELS:
        where = Span(line, 1, 2) if line else test.threads[0].span
        yield Diagnostic(where, f"{len(test.kernels)} kernels are more than {MOST_KERNELS}")
    kernel_of = {name: kernel for kernel in test.kernels for name in kernel.threads}
    for t in own:
        if t.name not in kernel_of:
            yield Diagnostic(t.span, f"{t.name} is in no kernel, and others are")
    for a, b in combinations([t for t in own if t.name in kernel_of], 2):
        if a.place.cluster == b.place.cluster and kernel_of[a.name] != kernel_of[b.name]:
            yield Diagnostic(b.span, f"{b.name} shares a cluster with {a.name}, which is in another kernel")
    for gpu in {t.place.gpu for t in own} - {own[0].place.gpu}:
        t = next(t for t in own if t.place.gpu == gpu)
        yield Diagnostic(t.span, f"{t.name} is on another GPU, and the harness launches kernels in streams of one")
