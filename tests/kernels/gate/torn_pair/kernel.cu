// a pair of words written and read as one; buggy: by two plain stores and loads
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *p, unsigned *out) {
  unsigned long long *q = (unsigned long long *)p;
  if (blockIdx.x == 0) { if (BUG) { *(volatile unsigned *)p = 1; *(volatile unsigned *)(p + 1) = 1; } else asm volatile("st.relaxed.gpu.u64 [%0], %1;" :: "l"(q), "l"(0x100000001ull) : "memory"); }
  else {
    if (BUG) { out[0] = *(volatile unsigned *)p; out[1] = *(volatile unsigned *)(p + 1); }
    else { unsigned long long v; asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(q) : "memory"); out[0] = (unsigned)v; out[1] = (unsigned)(v >> 32); }
  }
}
