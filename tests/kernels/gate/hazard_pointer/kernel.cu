// a hazard pointer is announced, then looked at again; buggy: without the fence between
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
extern "C" __global__ void k(unsigned *cur, unsigned *hp, unsigned *node, unsigned *out) {
  ref c(*cur), h(*hp);
  if (blockIdx.x == 0) {
    unsigned p = c.load(cuda::memory_order_acquire);
    h.store(p, cuda::memory_order_relaxed);
    if (!BUG) cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    if (c.load(cuda::memory_order_acquire) == p) { out[0] = node[p]; }
    h.store(0, cuda::memory_order_release);
  } else {
    c.store(2, cuda::memory_order_release);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    if (h.load(cuda::memory_order_acquire) != 1) node[1] = 99;
  }
}
