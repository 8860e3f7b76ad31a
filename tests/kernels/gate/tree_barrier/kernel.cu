// a barrier of four blocks by a tree of counters; buggy: the counter of a pair is not acquired, and the root not cumulative
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
extern "C" __global__ void k(unsigned *x, unsigned *pair, unsigned *root, unsigned *go, unsigned *out) {
  unsigned b = blockIdx.x;
  x[b] = b + 1;
  if (ref(pair[b / 2]).fetch_add(1u, BUG ? cuda::memory_order_release : cuda::memory_order_acq_rel) == 1)
    if (ref(*root).fetch_add(1u, cuda::memory_order_acq_rel) == 1) ref(*go).store(1u, cuda::memory_order_release);
  while (ref(*go).load(cuda::memory_order_acquire) == 0) { }
  out[b] = x[0] + x[1] + x[2] + x[3];
}
