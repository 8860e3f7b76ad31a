// test-and-test-and-set; buggy: the test acquires, the set does not, and sees a later unlock
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
extern "C" __global__ void k(unsigned *lock, unsigned *x) {
  ref l(*lock);
  do {
    while (l.load(BUG ? cuda::memory_order_acquire : cuda::memory_order_relaxed) == 1) { }
  } while (l.exchange(1u, BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire) == 1);
  x[0] = x[0] + 1;
  l.store(0u, cuda::memory_order_release);
}
