// A barrier of the grid by libcu++: the last to arrive sets the counter back, relaxed, and bumps the generation for which the others wait.
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed, acquire = cuda::memory_order_acquire,
               release = cuda::memory_order_release, both = cuda::memory_order_acq_rel;
__device__ __forceinline__ void meet(unsigned *count, unsigned *generation) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned seen = ref(*generation).load(relaxed);
    if (ref(*count).fetch_add(1, BAD == 1 ? relaxed : BAD == 2 ? release : both) == gridDim.x - 1) {
      if (BAD != 3) ref(*count).store(0, relaxed);
      ref(*generation).fetch_add(1, BAD == 4 ? relaxed : release);
      if (BAD == 3) ref(*count).store(0, relaxed);
    } else {
      while (ref(*generation).load(BAD == 5 ? relaxed : acquire) == seen) ;
    }
  }
  if (BAD != 6) __syncthreads();
}
extern "C" __global__ void k(unsigned *bar, unsigned *x, unsigned *y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 0; round < 3; ++round) {
    y[i] = x[(i + blockDim.x) % n] + 1;
    meet(bar, bar + 1);
    unsigned *t = x; x = y; y = t;
  }
}
