// four byte flags polled as one word: accesses of two sizes race
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) {
    if (BUG) asm volatile("st.relaxed.gpu.u8 [%0], 1;" :: "l"(f) : "memory");
    else asm volatile("st.relaxed.gpu.u32 [%0], 1;" :: "l"(f) : "memory");
  } else { unsigned v; asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory"); out[0] = v; }
}
