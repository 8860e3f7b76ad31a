// a semaphore taken by compare-and-swap on what was found last; buggy: nobody gives it back
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *raw, unsigned *x) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> c(*raw);
  unsigned v = c.load(cuda::memory_order_relaxed);
  for (;;) {
    if (v == 0) {
      v = c.load(cuda::memory_order_relaxed);
      continue;
    }
    if (c.compare_exchange_weak(v, v - 1, cuda::memory_order_acquire)) break;
  }
  *x = *x + 1;
  if (!BUG) c.fetch_add(1, cuda::memory_order_release);
}
