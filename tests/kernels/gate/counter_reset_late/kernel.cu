// a grid barrier by a counter and a sense, used twice; buggy: the counter is reset behind the release of the others
__device__ static inline unsigned ld_rlx(const unsigned *p) { unsigned v; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ static inline void st_rlx(unsigned *p, unsigned v) { asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ static void sync(unsigned *count, unsigned *flag, unsigned &sense) {
  sense ^= 1;
  __threadfence();
  if (atomicAdd(count, 1u) == gridDim.x - 1) {
    if (!BUG) st_rlx(count, 0);
    __threadfence();
    st_rlx(flag, sense);
    if (BUG) st_rlx(count, 0);
  } else {
    while (ld_rlx(flag) != sense) { }
  }
  __threadfence();
}
extern "C" __global__ void k(unsigned *x, unsigned *count, unsigned *flag, unsigned *out) {
  unsigned b = blockIdx.x, sense = 0;
  x[b] = b + 1;
  sync(count, flag, sense);
  out[b] = x[1 - b];
  sync(count, flag, sense);
  x[b] = 10;
}
