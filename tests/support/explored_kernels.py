"""Kernels of a few statements, and what exploring a thread of them yields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxcore.check.module import read_and_check
from ptxcore.machine.explore.explorable import Explorable, explorable
from ptxcore.machine.explore.instances import SHARED_BASE
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import ThreadExecution
from ptxcore.machine.ir.windows import SHARED
from ptxcore.machine.lower.module import lower

X, Y = 1 << 32, 2 << 32


def kernel(body: str, *, parameters: str = ".param .u64 x, .param .u64 y", before: str = "", given: tuple[int, ...] = (X, Y),
           impossible: Any = lambda condition: False, target: str = "sm_90") -> Explorable:  # fmt: skip
    """A kernel with registers of every kind, ready to explore."""
    text = (
        f".version 9.0\n.target {target}\n.address_size 64\n{before}\n.visible .entry k({parameters})\n{{\n"
        ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n"
        "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n" + body + "\n}\n"
    )
    module, found = read_and_check(text)
    assert not found, found
    program = lower(module)
    data = bytearray()
    for parameter, value in zip(program.functions["k"].parameters, given, strict=True):
        data += value.to_bytes(parameter.size, "little")
    return explorable(program, "k", bytes(data), impossible)


def one(made: Explorable, unroll: int = 4, **special: int) -> ThreadExecution:
    known: Mapping[str, int] = {
        "tid.x": 1, "ntid.x": 4, "ctaid.x": 2, "laneid": 1, "cluster_ctarank": 0, "cluster_nctarank": 1, SHARED_BASE: SHARED,
        **special,
    }  # fmt: skip
    return explore(made.thread(known), unroll=unroll, name="t")


def effects(x: ThreadExecution) -> list[tuple[Any, ...]]:
    """Kind, address, and the value of stores."""
    return [(e.kind, e.address, e.value) if e.kind == "store" else (e.kind, e.address) for e in x.effects]
