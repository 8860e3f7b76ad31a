// data and flag written as one vector: elements of a vector are separate accesses
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *p, unsigned *out) {
  unsigned a, b;
  if (blockIdx.x == 0) {
    if (BUG) asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" :: "l"(p), "r"(5), "r"(1) : "memory");
    else asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(p), "l"(0x100000005ull) : "memory");
  } else {
    if (BUG) asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(p) : "memory");
    else { unsigned long long v; asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); a = (unsigned)v; b = (unsigned)(v >> 32); }
    out[0] = b && a != 5;
  }
}
