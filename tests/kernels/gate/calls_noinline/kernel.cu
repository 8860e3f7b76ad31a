// the lock is taken and released in functions that are not inlined; buggy: relaxed release
#include <cuda/atomic>
__device__ __noinline__ void lock(unsigned *l) { unsigned o; do { asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(o) : "l"(l) : "memory"); } while (o); }
__device__ __noinline__ void unlock(unsigned *l) { if (BUG) asm volatile("st.relaxed.gpu.u32 [%0], 0;" :: "l"(l) : "memory"); else asm volatile("st.release.gpu.u32 [%0], 0;" :: "l"(l) : "memory"); }
extern "C" __global__ void k(unsigned *l, unsigned *x) { lock(l); *x = *x + 1; unlock(l); }
