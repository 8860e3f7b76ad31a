// two threads wait for each of three tiles, one of them tells when the stage is free; buggy: not after the other has come along,
// which misses a phase, then another, and deadlocks
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ uint64_t full, empty;
  __shared__ alignas(16) unsigned stage[4];
  unsigned t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_init(&empty, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  for (int i = 0; i < 3; i++)
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty, (i & 1) ^ 1)) {}
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, 16);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage, in + 4 * i, 16, &full);
    } else {
      while (!ptx::mbarrier_try_wait_parity(&full, i & 1)) {}
      if (!BUG) __syncwarp(6);
      if (t == 1) {
        out[i] = stage[0];
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::mbarrier_arrive(&empty);
      }
    }
}
