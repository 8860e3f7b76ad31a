// Bulk copies, tensor maps, mbarriers and proxies through cuda::ptx and libcu++.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda/std/cstdint>
#if __CUDA_ARCH__ >= 900
namespace ptx = cuda::ptx;

__global__ void bulk(const int* in, int* out) {
    __shared__ alignas(128) int stage[1024];
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, blockDim.x);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    uint64_t state;
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage, in, sizeof(stage), &bar);
        state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(stage));
    } else {
        state = ptx::mbarrier_arrive(&bar);
    }
    while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cta, &bar, state)) {}
    while (!ptx::mbarrier_test_wait_parity(&bar, 1)) {}
    stage[threadIdx.x] += 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, stage, sizeof(stage));
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, stage, sizeof(stage));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
__global__ void tensor(const __grid_constant__ CUtensorMap map, int x, int y) {
    __shared__ alignas(128) int tile[32][32];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    tile[threadIdx.x & 31][threadIdx.x >> 5]++;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        const int at[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, &tile);
        ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_max, &map, at, &tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
__global__ void remote(int* out) {
    __shared__ alignas(8) uint64_t bar;
    __shared__ int box[4];
    if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    unsigned rank = ptx::get_sreg_cluster_ctarank() ^ 1;
    uint64_t* there;
    int* their_box;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&bar), "r"(rank));
    asm("mapa.u64 %0, %1, %2;" : "=l"(their_box) : "l"(box), "r"(rank));
    ptx::st_async(their_box, {1, 2, 3, 4}, there);
    ptx::red_async(ptx::op_inc, (unsigned*)their_box, 7u, there);
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, there);
    out[0] = box[0] + ptx::getctarank(ptx::space_cluster, there);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_cluster);
    ptx::fence_proxy_alias();
}
#if __CUDA_ARCH_FEAT_SM90_ALL || __CUDA_ARCH_FEAT_SM100_ALL
__global__ void edit(CUtensorMap* map, const CUtensorMap* from, void* base) {
    __shared__ alignas(128) CUtensorMap copy;
    if (threadIdx.x == 0) copy = *from;
    __syncwarp();
    ptx::tensormap_replace_global_address(ptx::space_shared, &copy, base);
    ptx::tensormap_replace_global_dim(ptx::space_shared, &copy, ptx::n32_t<0>(), 64);
    ptx::tensormap_replace_elemtype(ptx::space_shared, &copy, ptx::n32_t<3>());
    ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, map, &copy, ptx::n32_t<128>());
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, map, ptx::n32_t<128>());
}
__global__ void multimem(unsigned* mc, unsigned* out) {
    *out = ptx::multimem_ld_reduce(ptx::sem_relaxed, ptx::scope_gpu, ptx::op_add, mc);
    ptx::multimem_st(ptx::sem_weak, mc, 1u);
    ptx::multimem_red(ptx::sem_release, ptx::scope_sys, ptx::op_add, mc, 1u);
}
#endif
#else
__global__ void none() {}
#endif
