// sequence lock with fences of libcu++, two data words; buggy: no fence before the second look
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
extern "C" __global__ void k(unsigned *seq, unsigned *d, unsigned *out) {
  ref s(*seq), a(d[0]), b(d[1]);
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      s.store(2 * i + 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      a.store(i + 1, cuda::memory_order_relaxed); b.store(i + 1, cuda::memory_order_relaxed);
      s.store(2 * i + 2, cuda::memory_order_release);
    }
  } else {
    unsigned n, x, y, m;
    do {
      n = s.load(cuda::memory_order_acquire);
      x = a.load(cuda::memory_order_relaxed); y = b.load(cuda::memory_order_relaxed);
      if (!BUG) cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      m = s.load(cuda::memory_order_relaxed);
    } while ((n & 1) || n != m);
    out[0] = x; out[1] = y;
  }
}
