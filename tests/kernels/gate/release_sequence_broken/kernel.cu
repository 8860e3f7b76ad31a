// a count handed on by a read-modify-write keeps the release of the first; buggy: handed on by load and store
__device__ unsigned ld(unsigned *p) { unsigned v; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) { *x = 5; asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(f) : "memory"); }
  else if (blockIdx.x == 1) {
    while (ld(f) != 1) { }
    if (BUG) asm volatile("st.relaxed.gpu.global.u32 [%0], 2;" :: "l"(f) : "memory"); else asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(f) : "memory");
  } else {
    unsigned v;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory"); while (v != 2);
    *out = *x;
  }
}
