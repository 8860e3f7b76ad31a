"""Orders, scopes, fences and barriers by the names that CUDA C++ has for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ptxcore.records import NamedTuple
from ptxmm.repair.grid_barrier import GRID_BARRIER


class OrderNames(NamedTuple):
    """A way to write orders, or scopes: the pattern of one, whose first group is the word for PTX's."""

    pattern: re.Pattern[str]
    words: Mapping[str, str]


def _names(pattern: str, **words: str) -> OrderNames:
    return OrderNames(re.compile(pattern), words)


ORDERS = (
    _names(
        r"\bmemory_order(?:_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)\b",
        relaxed="relaxed", acquire="acquire", release="release", acq_rel="acq_rel", sc="seq_cst",
    ),
    _names(
        r"\bsem_(relaxed|acquire|release|acq_rel|sc)\b",
        relaxed="relaxed", acquire="acquire", release="release", acq_rel="acq_rel", sc="sc",
    ),
    _names(
        r"\b__NV_ATOMIC_(RELAXED|CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b",
        relaxed="RELAXED", acquire="ACQUIRE", release="RELEASE", acq_rel="ACQ_REL", sc="SEQ_CST",
    ),
)  # fmt: skip
SCOPES = (
    _names(r"\bthread_scope_(block|device|system)\b", cta="block", cluster="device", gpu="device", sys="system"),
    _names(r"\bscope_(cta|cluster|gpu|sys)\b", cta="cta", cluster="cluster", gpu="gpu", sys="sys"),
    _names(
        r"\b__NV_THREAD_SCOPE_(BLOCK|CLUSTER|DEVICE|SYSTEM)\b",
        cta="BLOCK", cluster="CLUSTER", gpu="DEVICE", sys="SYSTEM",
    ),
)  # fmt: skip
ORDER = {"relaxed": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "sc": "seq_cst"}
SCOPE = {"cta": "block", "cluster": "device", "gpu": "device", "sys": "system"}
#: Fences of one order, `fence.sc`, that have a name of their own.
FENCES = {"cta": "__threadfence_block", "gpu": "__threadfence", "sys": "__threadfence_system"}
FENCE = re.compile(r"\b__threadfence(?:_block|_system)?(?=\s*\()")
#: A call of a fence that is a statement, without its semicolon.
FENCE_CALL = re.compile(r"(?:__threadfence\w*+|(?>(?:\w++::)*)(?:atomic_thread_fence|fence))\s*+\([^;]*+(?=;)")
#: How the atomic functions of CUDA C++ are called by scope, and which operation of `cuda::atomic_ref` does the same.
SUFFIXES = {"cta": "_block", "gpu": "", "sys": "_system"}
FUNCTIONS = {
    "Add": "fetch_add", "Sub": "fetch_sub", "And": "fetch_and", "Or": "fetch_or", "Xor": "fetch_xor", "Min": "fetch_min",
    "Max": "fetch_max", "Exch": "exchange", "CAS": "compare_exchange_strong",
}  # fmt: skip
FUNCTION = re.compile(r"\batomic(Add|Sub|And|Or|Xor|Min|Max|Exch|CAS|Inc|Dec)(_block|_system)?\s*(?=\()")


class Spelling(NamedTuple):
    """A statement, and the header that it needs."""

    code: str
    header: str = ""


#: Statements of PTX that are put in, as statements of CUDA C++; any other is written as it is, in `asm`.
_PUT = {
    "bar.sync 0": Spelling("__syncthreads();"),
    "bar.warp.sync 0xffffffff": Spelling("__syncwarp();"),
    "barrier.cluster.arrive;\n\tbarrier.cluster.wait": Spelling(
        "cooperative_groups::this_cluster().sync();", "cooperative_groups.h"
    ),
    GRID_BARRIER: Spelling("cooperative_groups::this_grid().sync();", "cooperative_groups.h"),
    "fence.proxy.async": Spelling("cuda::ptx::fence_proxy_async();", "cuda/ptx"),
    "fence.proxy.async.shared::cta": Spelling("cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);", "cuda/ptx"),
    "fence.proxy.alias": Spelling("cuda::ptx::fence_proxy_alias();", "cuda/ptx"),
    "fence.mbarrier_init.release.cluster": Spelling(
        "cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);", "cuda/ptx"
    ),
    "griddepcontrol.wait": Spelling("cudaGridDependencySynchronize();"),
    "cp.async.wait_all": Spelling("__pipeline_wait_prior(0);", "cuda_pipeline.h"),
    "cp.async.bulk.wait_group.read 0": Spelling(
        "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());", "cuda/ptx"
    ),
    "cp.async.bulk.wait_group 0": Spelling("cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());", "cuda/ptx"),
}
#: What a barrier of some lanes of a warp has before their mask.
_OF_LANES = "bar.warp.sync "


def statements(ptx: str, order: str, scope: str, modern: bool) -> list[Spelling]:
    """A statement of PTX in CUDA C++, the best form first. `order` and `scope`: of a fence. `modern`: the text uses libcu++."""
    found = named(ptx)
    if scope in FENCES:
        plain = Spelling(f"{FENCES[scope]}();")
        exact = _thread_fence(order, scope)
        found += [exact, plain] if modern and order != "sc" else [plain, exact]
    elif scope:
        found.append(_ptx_fence(order, scope))
    lines = " ".join(f"{part.strip()};" for part in ptx.split(";"))
    return [*found, Spelling(f'asm volatile("{lines}" ::: "memory");')]


def named(ptx: str) -> list[Spelling]:
    """The name that CUDA C++ has for a barrier, a fence of proxies or a wait of PTX; none where it has no name."""
    if ptx in _PUT:
        return [_PUT[ptx]]
    return [Spelling(f"__syncwarp({ptx.removeprefix(_OF_LANES)});")] if ptx.startswith(_OF_LANES) else []


def fences(order: str, scope: str) -> list[Spelling]:
    """The fences of CUDA C++ that order as much, the one that orders no more first: `cuda::atomic_thread_fence` of order
    acquire or release compiles to `fence.acq_rel`."""
    found = [Spelling(f"{FENCES[scope]}();")] if order == "sc" and scope in FENCES else []
    return [
        *found,
        *([_thread_fence(order, scope)] if order == "acq_rel" and scope in FENCES else []),
        _ptx_fence(order, scope),
    ]


def _thread_fence(order: str, scope: str) -> Spelling:
    words = f"cuda::memory_order_{ORDER[order]}, cuda::thread_scope_{SCOPE[scope]}"
    return Spelling(f"cuda::atomic_thread_fence({words});", "cuda/atomic")


def _ptx_fence(order: str, scope: str) -> Spelling:
    return Spelling(f"cuda::ptx::fence(cuda::ptx::sem_{order}, cuda::ptx::scope_{scope});", "cuda/ptx")
