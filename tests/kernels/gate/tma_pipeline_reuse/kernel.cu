// two stages used twice, with empty and full barriers; buggy: the producer does not wait for empty
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[2][4]; __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) { for (int i = 0; i < 2; ++i) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(smem(&full[i])) : "memory"); asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(smem(&empty[i])) : "memory"); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); asm volatile("fence.proxy.async;" ::: "memory"); }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < 3; ++i) {
      unsigned st = i & 1;
      if (!BUG) wait(smem(&empty[st]), ((i >> 1) & 1) ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" :: "r"(smem(&full[st])) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" :: "r"(smem(s[st])), "l"(src + 4 * i), "r"(smem(&full[st])) : "memory");
    }
  } else {
    for (unsigned i = 0; i < 3; ++i) {
      unsigned st = i & 1;
      wait(smem(&full[st]), (i >> 1) & 1);
      out[i] = s[st][0];
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(smem(&empty[st])) : "memory");
    }
  }
}
