// blocks as nodes of a graph (0, then 1 to 3, then 4) count what each needs; buggy: the last one waits for two of three
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *done, unsigned *v) {
  const unsigned t = threadIdx.x, b = blockIdx.x, needs = b == 0 ? 0 : b < 4 ? 1 : 3 - BUG;
  if (t == 0)
    while (Ref(done[b]).load(cuda::memory_order_acquire) < needs) { }
  __syncthreads();
  v[b * 64 + t] = b == 0 ? 1 : b < 4 ? v[63 - t] + 1 : v[64 + t] + v[128 + t] + v[255 - t];
  __syncthreads();
  if (b == 0 && t < 3) Ref(done[1 + t]).fetch_add(1, cuda::memory_order_release);
  if (b > 0 && b < 4 && t == 0) Ref(done[4]).fetch_add(1, cuda::memory_order_release);
}
