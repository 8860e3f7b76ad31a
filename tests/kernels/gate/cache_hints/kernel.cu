// hints of caches change nothing of a message; buggy: the flag is stored relaxed
extern "C" __global__ void k(unsigned *x, unsigned *flag, unsigned *out, unsigned n) {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(policy));
  if (blockIdx.x == 0) {
    asm volatile("st.global.L1::no_allocate.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(x), "r"(n), "l"(policy) : "memory");
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x) : "memory");
    if (BUG) asm volatile("st.relaxed.gpu.global.L1::evict_last.L2::cache_hint.u32 [%0], 1, %1;" ::"l"(flag), "l"(policy) : "memory");
    else asm volatile("st.release.gpu.global.L1::evict_first.L2::cache_hint.u32 [%0], 1, %1;" ::"l"(flag), "l"(policy) : "memory");
  } else {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.L1::evict_unchanged.L2::128B.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(seen) : "l"(flag), "l"(policy) : "memory");
    while (!seen);
    asm volatile("ld.global.L1::evict_last.L2::256B.u32 %0, [%1];" : "=r"(seen) : "l"(x) : "memory");
    out[0] = seen;
  }
}
