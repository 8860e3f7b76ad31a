// ticket lock; buggy: now serving is advanced relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *n, unsigned *s, unsigned *x) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> next(*n), serving(*s);
  unsigned t = next.fetch_add(1, cuda::memory_order_relaxed);
  while (serving.load(cuda::memory_order_acquire) != t) {}
  *x = *x + 1;
  serving.store(t + 1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
}
