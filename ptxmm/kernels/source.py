"""What is wrong with PTX that nvcc made just now: told of the CUDA source, since the PTX is in no file."""

from __future__ import annotations

import os

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.machine.lower.inlining import source_of
from ptxcore.machine.run.launch import Device, load
from ptxcore.sources import read_bytes
from ptxcore.syntax.reader import read_module
from ptxmm.kernels.launch import Launch
from ptxmm.kernels.modules import PtxText
from ptxmm.kernels.warp_order import WARP_SYNC_ORDERS, in_warp_order

_LONGEST = 16 << 20  # bytes of a source


def loaded(made: Launch | PtxText, *, watched: bool = False, readings: frozenset[str] = frozenset()) -> Device:
    """A module ready to launch, as some readings of the manual have it. Raises InputError for one that is wrong, at lines of
    its source if nvcc made it just now."""
    try:
        text = in_warp_order(made.text) if WARP_SYNC_ORDERS in readings else made.text
        return load(text, made.path, watched=watched)
    except InputError as error:
        raise (in_source(error, made) if made.source else error) from None


def in_source(error: InputError, launch: Launch | PtxText) -> InputError:
    """The same findings at lines of the source, where the module says from which they come; of others, the source as a whole.
    What the PTX says there stands beside each."""
    try:
        source = read_bytes(launch.source, _LONGEST, "CUDA source").decode("utf-8", "replace")
    except OSError:
        return error
    module, _ = read_module(launch.text)
    places = source_of(module, {d.span.line for d in error.diagnostics})
    lines, ptx = source.split("\n"), launch.text.split("\n")
    found = []
    for d in error.diagnostics:
        file, line = places.get(d.span.line, ("", 0))
        here = os.path.basename(file) == os.path.basename(launch.source) and 1 <= line <= len(lines)
        code = lines[line - 1].rstrip() if here else ""
        span = Span(line, len(code) - len(code.lstrip()) + 1, len(code) + 1) if here else Span(0, 0, 0)
        said = f": {ptx[d.span.line - 1].strip()}" if 1 <= d.span.line <= len(ptx) else ""
        message = f"{d.message} ({launch.path}:{d.span.line}{said})" if d.span.line else d.message
        found.append(Diagnostic(span, message, d.hint, d.severity, d.code))
    return type(error)(dict.fromkeys(found), launch.source, source)
