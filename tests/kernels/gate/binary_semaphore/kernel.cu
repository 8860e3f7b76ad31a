// cuda::binary_semaphore; buggy: block scope
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *l, unsigned *x) {
  cuda::atomic_ref<unsigned, BUG ? cuda::thread_scope_block : cuda::thread_scope_device> c(*l);
  unsigned e = 0;
  while (!c.compare_exchange_weak(e, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) { e = 0; __nanosleep(20); }
  *x = *x + 1;
  c.store(0, cuda::memory_order_release);
}
