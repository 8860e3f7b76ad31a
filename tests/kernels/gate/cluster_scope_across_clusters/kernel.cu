// a flag for blocks of two clusters; buggy: released at cluster scope
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(unsigned *x, unsigned *flag, unsigned *out) {
  unsigned b = blockIdx.x, v;
  if (b == 0) {
    x[0] = 5;
    if (BUG) asm volatile("st.release.cluster.global.u32 [%0], 1;" :: "l"(flag) : "memory");
    else asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
  } else {
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory"); while (v == 0);
    out[b] = x[0];
  }
}
