// one-shot all-reduce with flags at system scope, two buffers, three rounds; buggy: one buffer
__device__ void st_flag(unsigned *p, unsigned v) { asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ unsigned ld_flag(unsigned *p) { unsigned v; asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void k(unsigned *buf, unsigned *flag, unsigned *out) {
  unsigned b = blockIdx.x;
  for (unsigned e = 1; e <= 3; ++e) {
    unsigned s = BUG ? 0 : (e & 1) * 2;
    buf[s + b] = e * 10 + b;
    st_flag(&flag[b], e);
    while (ld_flag(&flag[1 - b]) < e) {}
    out[2 * (e - 1) + b] = buf[s] + buf[s + 1];
  }
}
