"""What sources and PTX say of the parameters of kernels."""

from __future__ import annotations

from pathlib import Path

from files import PTX

from ptxmm.kernels.cuda_source import element, heads
from ptxmm.kernels.modules import PtxText
from ptxmm.kernels.takes import kernel, pointees

LOCK = (Path(__file__).resolve().parents[2] / "examples" / "lock.ptx").read_text(encoding="utf-8")
SOURCE = """
// __global__ void commented(int *p);
const char *text = "__global__ void quoted(int *p) {";
namespace ns {
template <class T, int N = 3>
__global__ void __launch_bounds__(128, (2)) made(T *out, const float scale, unsigned long long n = 4);
extern "C" __global__ void plain(const cuda::atomic<unsigned, cuda::thread_scope_device> *__restrict__ flag,
                                 __grid_constant__ const CUtensorMap map, float (&x), int tail[]) { }
}
__global__ void none() {}
__global__ void also_none(void);
__global__ int not_a_kernel;
"""


def test_heads_of_kernels_are_read_from_the_source() -> None:
    found = {head.name: head for head in heads(SOURCE)}
    assert {name: [(p.type, p.name) for p in head.parameters] for name, head in found.items()} == {
        "made": [("T*", "out"), ("float", "scale"), ("unsigned long long", "n")],
        "plain": [
            ("cuda::atomic<unsigned, cuda::thread_scope_device>*", "flag"), ("CUtensorMap", "map"), ("float (&x)", ""),
            ("int*", "tail"),
        ],
        "none": [],
        "also_none": [],
    }  # fmt: skip
    assert [name for name, head in found.items() if head.defined] == ["plain", "none"]
    for head in found.values():
        assert SOURCE[head.start :].startswith("__global__") and SOURCE[head.named :].startswith(head.name)
        assert all(SOURCE[p.start : p.end].strip() == SOURCE[p.start : p.end] for p in head.parameters)


def test_types_of_elements_by_the_source_and_by_the_ptx() -> None:
    assert [element(t) for t in ("unsigned*", "cuda::atomic<int>*", "std::uint64_t*", "__half*", "S*", "float", "T*")] == [
        "u32", "s32", "u64", "f16", None, "f32", None,
    ]  # fmt: skip
    assert pointees(LOCK, "weak") == {"weak_param_0": "u32", "weak_param_1": "u32"}
    wide = PTX.replace("st.global.u32", "st.global.v2.f64").replace(
        "cvta.to.global.u64 %rd2, %rd1", "add.s64 %rd2, %rd1, 8"
    )
    assert pointees(wide, "k") == {"k_param_0": "f64"}
    told = kernel(PtxText(wide, "k.ptx"), "k")
    assert (
        told is not None
        and [(p.pointee, p.number_type) for p in told.parameters] == [("f64", "u64"), (None, "u32")]
        and told.line == 5
    )
