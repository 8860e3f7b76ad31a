// The fifth-generation tensor cores through cuda::ptx, where the target has them.
#include <cuda/ptx>
#include <cuda/std/cstdint>
#if __CUDA_ARCH_FEAT_SM100_ALL
namespace ptx = cuda::ptx;
__global__ void gemm(uint64_t a, uint64_t b, uint32_t idesc, uint32_t* out) {
    __shared__ uint32_t address;
    __shared__ alignas(8) uint64_t bar;
    ptx::tcgen05_alloc(ptx::cta_group_1, &address, 256u);
    ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_1);
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    uint32_t t = address;
    ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, t, a, b, idesc, true);
    ptx::tcgen05_mma(ptx::kind_tf32, ptx::cta_group_1, t, a, b, idesc, false);
    ptx::tcgen05_mma(ptx::kind_f8f6f4, ptx::cta_group_1, t, a, b, idesc, true);
    ptx::tcgen05_cp_128x256b(ptx::cta_group_1, t, a);
    ptx::tcgen05_shift_down(ptx::cta_group_1, t);
    ptx::tcgen05_commit(ptx::cta_group_1, &bar);
    uint32_t r[8];
    ptx::tcgen05_ld_32x32b(r, t);
    ptx::tcgen05_wait_ld();
    ptx::tcgen05_st_16x64b(t, r);
    ptx::tcgen05_wait_st();
    for (int i = 0; i < 8; i++) out[i] = r[i];
    ptx::tcgen05_dealloc(ptx::cta_group_1, t, 256u);
}
__global__ void steal(int* out) {
    __shared__ alignas(16) uint4 response;
    __shared__ alignas(8) uint64_t bar;
    ptx::clusterlaunchcontrol_try_cancel(&response, &bar);
    if (ptx::clusterlaunchcontrol_query_cancel_is_canceled(response)) {
        out[0] = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<int>(response);
    }
}
#else
__global__ void none() {}
#endif
