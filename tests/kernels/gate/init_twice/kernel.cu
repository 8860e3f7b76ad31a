// a mbarrier is made anew for a second use after it was invalidated; buggy: without that
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *out) {
  __shared__ uint64_t bar; __shared__ unsigned s[2];
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 2);
    __syncthreads();
    s[threadIdx.x] = threadIdx.x + 1;
    uint64_t t = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar);
    while (!ptx::mbarrier_test_wait(ptx::sem_acquire, ptx::scope_cta, &bar, t)) { }
    out[threadIdx.x] = s[1 - threadIdx.x];
    __syncthreads();
    if (!BUG && threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");
    __syncthreads();
  }
}
