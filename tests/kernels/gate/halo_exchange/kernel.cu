// a ring of four blocks of 64 threads: stencils of two steps with two arrays in turns, flags say which step is done; buggy: one array
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *a, unsigned *b, unsigned *flag, unsigned *out) {
  const unsigned t = threadIdx.x, blocks = gridDim.x, n = blockDim.x * blocks, i = blockIdx.x * blockDim.x + t;
  unsigned *from = a, *to = BUG ? a : b;
  from[i] = 1;
  for (unsigned step = 1; step <= 2; ++step) {
    __syncthreads();
    if (t == 0) Ref(flag[blockIdx.x]).store(step, cuda::memory_order_release);
    if (t < 2) {
      const unsigned beside = (blockIdx.x + (t == 0 ? blocks - 1 : 1)) % blocks;
      while (Ref(flag[beside]).load(cuda::memory_order_acquire) < step) { }
    }
    __syncthreads();
    const unsigned sum = from[(i + n - 1) % n] + from[i] + from[(i + 1) % n];
    __syncthreads();
    to[i] = sum;
    unsigned *last = from;
    from = to;
    to = last;
  }
  out[i] = from[i];
}
