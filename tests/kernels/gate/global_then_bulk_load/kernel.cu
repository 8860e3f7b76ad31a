// one block writes a tile of global memory plainly, another loads it by a bulk copy; buggy: the fence between the proxies is about shared memory
__device__ static inline unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(unsigned *tile, unsigned *flag, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  __shared__ alignas(8) unsigned long long bar;
  unsigned v, ok;
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 4; ++i) tile[i] = i + 1;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
  } else {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(smem(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory"); while (v == 0);
    if (BUG) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    else asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" :: "r"(smem(&bar)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" :: "r"(smem(s)), "l"(tile), "r"(smem(&bar)) : "memory");
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(smem(&bar)) : "memory"); while (!ok);
    for (unsigned i = 0; i < 4; ++i) out[i] = s[i];
  }
}
