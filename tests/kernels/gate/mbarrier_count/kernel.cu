// two consumers arrive at the empty barrier of a stage; buggy: it is initialised for one
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned m, unsigned parity) {
  asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(m), "r"(parity) : "memory");
}
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  extern __shared__ int unused[];
  __shared__ alignas(16) unsigned s[4];
  __shared__ alignas(8) unsigned long long full, empty;
  unsigned t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(smem(&full)), "r"(1) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(smem(&empty)), "r"(BUG ? 1 : 2) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 2) {
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      if (i) { wait(smem(&empty), 0); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" :: "r"(smem(&full)) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" :: "r"(smem(s)), "l"(src + 4 * i), "r"(smem(&full)) : "memory");
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      wait(smem(&full), i);
      out[2 * t + i] = s[t];
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(smem(&empty)) : "memory");
    }
  }
}
