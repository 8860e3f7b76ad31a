// split-K with a semaphore as CUTLASS has it; buggy: plain release store
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *d, unsigned *sem) {
  if (threadIdx.x == 0) { unsigned s; do { asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(s) : "l"(sem) : "memory"); } while (s != blockIdx.x); }
  __syncthreads();
  if (threadIdx.x == 1) *d = *d + blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned v = blockIdx.x + 1;
    if (BUG) asm volatile("st.global.relaxed.gpu.b32 [%0], %1;" :: "l"(sem), "r"(v) : "memory");
    else asm volatile("st.global.release.gpu.b32 [%0], %1;" :: "l"(sem), "r"(v) : "memory");
  }
}
