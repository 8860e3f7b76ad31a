// reader-writer lock; buggy: the reader leaves relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *lp, unsigned *x, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> l(*lp);
  if (blockIdx.x == 0) {
    unsigned e = 0;
    while (!l.compare_exchange_weak(e, 0x80000000u, cuda::memory_order_acquire, cuda::memory_order_relaxed)) e = 0;
    x[0] = 1; x[1] = 1;
    l.store(0, cuda::memory_order_release);
  } else {
    while (l.fetch_add(1, cuda::memory_order_acquire) & 0x80000000u) { l.fetch_sub(1, cuda::memory_order_relaxed); }
    out[0] = x[0]; out[1] = x[1];
    l.fetch_sub(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
  }
}
