"""Edits of PTX in the words of CUDA C++, at the line of the source that they come from: the source is not changed."""

from __future__ import annotations

import os

from ptxcore.machine.lower.inlining import source_of
from ptxcore.syntax.reader import read_module

_SCOPES = {
    "cta": "cuda::thread_scope_block", "cluster": "cuda::thread_scope_device", "gpu": "cuda::thread_scope_device",
    "sys": "cuda::thread_scope_system",
}  # fmt: skip
_FENCES = {"cta": "__threadfence_block()", "gpu": "__threadfence()", "sys": "__threadfence_system()"}
_CALLS = {"ld": "load", "st": "store"}
#: What is put in, by the PTX that it becomes.
_PUT_IN = {
    "bar.sync 0": "__syncthreads();",
    "bar.warp.sync 0xffffffff": "__syncwarp();",
    "barrier.cluster.arrive;\n\tbarrier.cluster.wait": "cooperative_groups::this_cluster().sync();",
    "fence.proxy.async": "cuda::ptx::fence_proxy_async();",
    "fence.proxy.async.shared::cta": "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);",
    "fence.mbarrier_init.release.cluster": "cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);",
    "cp.async.wait_all": "__pipeline_wait_prior(0);",
    "cp.async.bulk.wait_group.read 0": "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());",
    "cp.async.bulk.wait_group 0": "cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());",
}


class SourceWords:
    """The source that a module says it comes from."""

    def __init__(self, text: str) -> None:
        self._module = read_module(text)[0] if ".loc" in text else None

    def place(self, line: int) -> str:
        """`lock.cu:9`, for a line of the module; empty where nothing says so."""
        file, number = self.origin(line)
        return f"{os.path.basename(file)}:{number}" if file else ""

    def origin(self, line: int) -> tuple[str, int]:
        """The file and the line that a line of the module comes from; neither where nothing says so."""
        if self._module is None:
            return "", 0
        return source_of(self._module, {line}).get(line, ("", 0))

    def of_line(self, line: int, words: str) -> str:
        """Words at the line of the source; empty where that is not known."""
        place = self.place(line)
        return f"{place}: {words}" if place else ""

    def of_access(self, line: int, kind: str, order: str, scope: str, now: str) -> str:
        """An access, or a fence, with an order and a scope."""
        if kind == "fence":
            return self.of_line(line, fence(order, scope) if order else "no fence here")
        if order == "weak":
            return self.of_line(line, "a plain access")
        if not scope:
            return self.of_line(line, f"cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_{order})")
        what = _CALLS.get(kind, "its operation")
        name = f"cuda::atomic_ref<T, {_SCOPES[scope]}>"
        told = f"{what} with cuda::memory_order_{order}" + (f" on {name}" if scope != now else "")
        return self.of_line(line, told)

    def of_new(self, line: int, statement: str) -> str:
        """A statement that is put in before what stands at a line."""
        words = _PUT_IN.get(statement)
        if words is None and statement.startswith("bar.warp.sync "):
            words = f"__syncwarp({statement.split()[1]});"
        elif words is None and statement.startswith("fence."):
            order, scope = statement.split(".")[1:3]
            words = fence(order, scope)
        return self.of_line(line, f"before this: {words}") if words else ""


def fence(order: str, scope: str) -> str:
    """A fence in CUDA C++."""
    if order == "sc" and scope in _FENCES:
        return f"{_FENCES[scope]};"
    name = "seq_cst" if order == "sc" else order
    exact = f"cuda::atomic_thread_fence(cuda::memory_order_{name}, {_SCOPES[scope]});"
    return f"{exact} or {_FENCES[scope]};, which is stronger" if scope in _FENCES else exact
