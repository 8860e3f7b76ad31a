// an elected thread of warp 0 issues the copy, warp 1 consumes; buggy: one word too few is expected
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
__device__ bool elected() { unsigned p; asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(p)); return p; }
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ alignas(16) unsigned s[8]; __shared__ uint64_t bar;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (elected()) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BUG ? 16 : 32);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, g, 16, &bar);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s + 4, g + 4, 16, &bar);
    }
  } else {
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    if (threadIdx.x < 40) out[threadIdx.x - 32] = s[threadIdx.x - 32];
  }
}
