"""Edits of PTX in the words of CUDA C++, at the line of the source that they come from: the source is not changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from ptxcore.machine.lower.inlining import source_of
from ptxcore.syntax.reader import read_module
from ptxmm.repair.cuda.spellings import SCOPE, fences, named

_CALLS = {"ld": "load", "st": "store"}


@lru_cache(maxsize=4)
def _origins(text: str) -> Mapping[int, tuple[str, int]]:
    """File and line of the source for each line of a module that says so: of all at once, since a module is read as a whole."""
    if ".loc" not in text:
        return {}
    return source_of(read_module(text)[0], range(1, text.count("\n") + 2))


class SourceWords:
    """The source that a module says it comes from."""

    def __init__(self, text: str) -> None:
        self._origins = _origins(text)

    def place(self, line: int) -> str:
        """`lock.cu:9`, for a line of the module; empty where nothing says so."""
        file, number = self.origin(line)
        return f"{os.path.basename(file)}:{number}" if file else ""

    def origin(self, line: int) -> tuple[str, int]:
        """The file and the line that a line of the module comes from; neither where nothing says so."""
        return self._origins.get(line, ("", 0))

    def of_line(self, line: int, words: str) -> str:
        """Words at the line of the source; empty where that is not known."""
        place = self.place(line)
        return f"{place}: {words}" if place else ""

    def of_access(self, line: int, kind: str, order: str, scope: str, now: str) -> str:
        """An access, or a fence, with an order and a scope."""
        if kind == "fence":
            return self.of_line(line, fences(order, scope)[0].code if order else "no fence here")
        if order == "weak":
            return self.of_line(line, "a plain access")
        if not scope:
            return self.of_line(line, f"cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_{order})")
        what = _CALLS.get(kind, "its operation")
        name = f"cuda::atomic_ref<T, cuda::thread_scope_{SCOPE[scope]}>"
        told = f"{what} with cuda::memory_order_{order}" + (f" on {name}" if scope != now else "")
        return self.of_line(line, told)

    def of_new(self, line: int, statement: str) -> str:
        """A statement that is put in before what stands at a line."""
        words = named(statement)
        if not words and statement.startswith("fence."):
            words = fences(*statement.split(".")[1:3])
        return self.of_line(line, f"before this: {words[0].code}") if words else ""
